/* How the ranks come together, each showing that it has the job's key K:

     rank 0  to a guest   greeting: a nonce a
     guest   to rank 0    visit: rank, ranks, a nonce b, and the code of these and a under K
     rank 0  to a rank    answer, when all have come or the job cannot begin: what, and the code of
                          it, a and b under K

   The connection's key is the code of a and b under K. Who gives no right code is sent away without
   a word, and nothing that it says has an effect. */
#include "rendezvous_internal.h"

#include "moe/machine/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stddef.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

static const char magic[8] = "phibal 2";

typedef struct greeting {
  char magic[8];
  unsigned char nonce[NONCE_BYTES];
} greeting;

typedef struct visit {
  char magic[8];
  int32_t rank, ranks;
  unsigned char nonce[NONCE_BYTES], mac[MAC_BYTES];
} visit;

enum { ALL_HERE, OTHER_SIZE, SAME_RANK, NOT_COME };
typedef struct answer {
  char magic[8];
  int32_t what, number; /* of ranks, or which one */
  unsigned char mac[MAC_BYTES];
} answer;

typedef struct nonces {
  unsigned char a[NONCE_BYTES], b[NONCE_BYTES]; /* rank 0's, the guest's */
} nonces;

/* Connections that have not said yet who they are. */
enum { GUESTS = 32, GUEST_SECONDS = 5 };
typedef struct guest {
  int socket; /* -1: none */
  double until;
  size_t got;
  greeting greeted;
  visit said;
} guest;

/* A rank that has come, as rank 0 has it. */
typedef struct present {
  connection to;
  nonces drawn;
} present;

static void draw(unsigned char *nonce) {
  for (size_t got = 0; got < NONCE_BYTES;) {
    const ssize_t n = getrandom(nonce + got, NONCE_BYTES - got, 0);
    if (n > 0) got += (size_t)n;
  }
}

/* The code of a visit is over the nonce that it answers. */
static void seal_visit(const launcher *l, const greeting *g, visit *v) {
  rendezvous_mac(l->key, "visit", v, offsetof(visit, mac), g->nonce, sizeof g->nonce, v->mac);
}

static bool visit_is_right(const launcher *l, const greeting *g, const visit *v) {
  return memcmp(v->magic, magic, sizeof magic) == 0 &&
         rendezvous_mac_is(l->key, "visit", v, offsetof(visit, mac), g->nonce, sizeof g->nonce,
                           v->mac);
}

static void connection_key(const launcher *l, const nonces *n, connection *c) {
  rendezvous_mac(l->key, "connection", n, sizeof *n, NULL, 0, c->key);
}

static void prepare(int socket, double seconds) {
  const struct timeval most = {(time_t)seconds + 1, 0}; /* that a rank takes what it is sent */
  setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
  const int yes = 1, idle = 30, every = 10, times = 3;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  /* A machine that has gone away is noticed after a minute. */
  setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &every, sizeof every);
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof times);
}

static phibal_status place_error(const launcher *l, const char *what, const char *why) {
  return phibal_status_set(PHIBAL_ERROR_IO,
                           "rank %d of %d: %s %s:%d (MASTER_ADDR, MASTER_PORT): %s", l->rank,
                           l->ranks, what, l->host, l->port, why);
}

/* At this address, host null: at every one of the family. */
static int find_addresses(const launcher *l, const char *host, int family,
                          struct addrinfo **found) {
  const struct addrinfo hints = {.ai_family = family,
                                 .ai_socktype = SOCK_STREAM,
                                 .ai_flags = AI_NUMERICSERV | (host ? 0 : AI_PASSIVE)};
  char port[16];
  snprintf(port, sizeof port, "%d", l->port);
  return getaddrinfo(host, port, &hints, found);
}

static phibal_status resolve(const launcher *l, struct addrinfo **found) {
  const int wrong = find_addresses(l, l->host, AF_UNSPEC, found);
  return wrong ? place_error(l, "cannot find", gai_strerror(wrong)) : PHIBAL_OK;
}

/* -1 with errno. */
static int listen_on(const struct addrinfo *at) {
  const int no = 0, yes = 1;
  const int s = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (s < 0) return -1;
  setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (at->ai_family == AF_INET6) setsockopt(s, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
  if (bind(s, at->ai_addr, at->ai_addrlen) == 0 && listen(s, 128) == 0) return s;
  const int wrong = errno;
  close(s);
  errno = wrong;
  return -1;
}

static bool is_loopback(const struct addrinfo *a) {
  if (a->ai_family == AF_INET) {
    const struct sockaddr_in *at = (const void *)a->ai_addr;
    return ntohl(at->sin_addr.s_addr) >> 24 == 127;
  }
  const struct sockaddr_in6 *at = (const void *)a->ai_addr;
  return a->ai_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&at->sin6_addr);
}

/* Whether the others, too, mean their own machine by this name. */
static bool means_this_machine(const launcher *l) {
  return strcmp(l->host, "localhost") == 0 || strcmp(l->host, "::1") == 0 ||
         strncmp(l->host, "127.", 4) == 0;
}

/* At the address that was named. At every address, which standard error says, where that cannot be:
   the name is no address of this machine (a network between translates it), or one that the others
   do not reach, as where /etc/hosts gives a machine's own name to 127.0.1.1. -1 with errno. */
static int listen_at(const launcher *l, const struct addrinfo *named) {
  int wrong = EADDRNOTAVAIL;
  for (const struct addrinfo *a = named; a; a = a->ai_next) {
    if (is_loopback(a) && !means_this_machine(l)) continue;
    const int s = listen_on(a);
    if (s >= 0) return s;
    wrong = errno;
    if (wrong != EADDRNOTAVAIL) break;
  }
  const int families[] = {AF_INET6, AF_INET}; /* the first for both, where there is IPv6 */
  int s = -1;
  for (int i = 0; i < 2 && s < 0 && wrong == EADDRNOTAVAIL; i++) {
    struct addrinfo *found;
    if (find_addresses(l, NULL, families[i], &found)) continue;
    s = listen_on(found);
    if (s < 0 && i == 1) wrong = errno;
    freeaddrinfo(found);
  }
  if (s >= 0)
    fprintf(stderr, "phibal: rank 0 listens on all addresses: '%s' is none that it can listen at\n",
            l->host);
  errno = wrong;
  return s;
}

static void tell(const launcher *l, int socket, const nonces *n, int what, int32_t number) {
  answer a = {.what = what, .number = number};
  memcpy(a.magic, magic, sizeof magic);
  rendezvous_mac(l->key, "answer", &a, offsetof(answer, mac), n, sizeof *n, a.mac);
  rendezvous_send(socket, &a, sizeof a);
}

static void tell_all(const launcher *l, const present *here, int what, int32_t number) {
  for (int32_t i = 1; i < l->ranks; i++)
    if (here[i].to.socket >= 0) tell(l, here[i].to.socket, &here[i].drawn, what, number);
}

/* What an answer other than ALL_HERE means, for who gets it or gives it. */
static phibal_status refusal(const launcher *l, int what, int32_t number) {
  char why[160];
  if (what == OTHER_SIZE)
    snprintf(why, sizeof why, "another process was started as one of %d (WORLD_SIZE)", number);
  else if (what == SAME_RANK)
    snprintf(why, sizeof why, "two processes say that they are rank %d (RANK)", number);
  else
    snprintf(why, sizeof why, "rank %d has not come in time", number);
  return place_error(l, "meeting at", why);
}

/* A guest has said all; 1 if it is a rank that was awaited, 0 if it has been sent away. */
static int admit(const launcher *l, guest *g, present *here, phibal_status *status) {
  const visit *v = &g->said;
  const int s = g->socket;
  g->socket = -1;
  if (!visit_is_right(l, &g->greeted, v)) {
    close(s);
    return 0;
  }
  nonces n;
  memcpy(n.a, g->greeted.nonce, sizeof n.a);
  memcpy(n.b, v->nonce, sizeof n.b);
  const bool fits = v->ranks == l->ranks && v->rank >= 1 && v->rank < l->ranks;
  if (fits && here[v->rank].to.socket < 0) {
    here[v->rank] = (present){.to = {.socket = s}, .drawn = n};
    connection_key(l, &n, &here[v->rank].to);
    return 1;
  }
  /* The guest hears of the others' size, the others and this rank of the guest's. */
  const int what = fits ? SAME_RANK : OTHER_SIZE;
  const int32_t number = fits ? v->rank : v->ranks;
  tell(l, s, &n, what, fits ? v->rank : l->ranks);
  close(s);
  tell_all(l, here, what, number);
  *status = refusal(l, what, number);
  return 0;
}

/* The guest's place for a new connection: a free one, or that of who has waited longest. */
static guest *seat(guest *guests) {
  guest *oldest = guests;
  for (int i = 0; i < GUESTS; i++) {
    if (guests[i].socket < 0) return &guests[i];
    if (guests[i].until < oldest->until) oldest = &guests[i];
  }
  close(oldest->socket);
  return oldest;
}

static phibal_status await_all(const launcher *l, int door, double seconds, guest *guests,
                               present *here) {
  const double until = seconds_now() + seconds;
  phibal_status status = PHIBAL_OK;
  for (int32_t missing = l->ranks - 1; missing > 0 && !status;) {
    struct pollfd ready[GUESTS + 1];
    const double now = seconds_now();
    for (int i = 0; i < GUESTS; i++) {
      if (guests[i].socket >= 0 && guests[i].until < now) {
        close(guests[i].socket);
        guests[i].socket = -1;
      }
      ready[i] = (struct pollfd){.fd = guests[i].socket, .events = POLLIN};
    }
    ready[GUESTS] = (struct pollfd){.fd = door, .events = POLLIN};
    if (now > until) {
      int32_t absent = 1;
      while (here[absent].to.socket >= 0) absent++;
      tell_all(l, here, NOT_COME, absent);
      return refusal(l, NOT_COME, absent);
    }
    poll(ready, GUESTS + 1, 100);
    for (int i = 0; i < GUESTS && !status; i++) {
      guest *g = &guests[i];
      if (g->socket < 0 || !ready[i].revents) continue;
      const ssize_t n =
          recv(g->socket, (char *)&g->said + g->got, sizeof g->said - g->got, MSG_DONTWAIT);
      if (n > 0) g->got += (size_t)n;
      if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
        close(g->socket);
        g->socket = -1;
      } else if (g->got == sizeof g->said) {
        missing -= admit(l, g, here, &status);
      }
    }
    if (ready[GUESTS].revents && !status) {
      const int s = accept4(door, NULL, NULL, SOCK_CLOEXEC);
      if (s < 0) continue;
      prepare(s, seconds);
      guest *g = seat(guests);
      *g = (guest){.socket = s, .until = now + GUEST_SECONDS};
      memcpy(g->greeted.magic, magic, sizeof magic);
      draw(g->greeted.nonce);
      rendezvous_send(s, &g->greeted, sizeof g->greeted); /* an empty buffer takes it */
    }
  }
  if (!status) tell_all(l, here, ALL_HERE, l->ranks);
  return status;
}

phibal_status rendezvous_await(const launcher *l, double seconds, connection *to) {
  struct addrinfo *named;
  present *here = calloc((size_t)l->ranks, sizeof *here);
  if (!here) return phibal_status_set(PHIBAL_ERROR_MEMORY, "no memory to meet %d ranks", l->ranks);
  for (int32_t i = 0; i < l->ranks; i++) here[i].to.socket = -1;
  phibal_status status = resolve(l, &named);
  if (status) {
    free(here);
    return status;
  }
  const int door = listen_at(l, named);
  const int wrong = errno;
  freeaddrinfo(named);
  if (door < 0) {
    free(here);
    return place_error(l, "cannot listen at",
                       wrong == EADDRINUSE ? "another program does" : strerror(wrong));
  }
  guest guests[GUESTS];
  for (int i = 0; i < GUESTS; i++) guests[i] = (guest){.socket = -1};
  status = await_all(l, door, seconds, guests, here);
  for (int i = 0; i < GUESTS; i++)
    if (guests[i].socket >= 0) close(guests[i].socket);
  close(door);
  for (int32_t i = 1; i < l->ranks; i++) to[i] = here[i].to;
  free(here);
  return status;
}

/* One attempt at one address, for two seconds at most; -1 with errno. */
static int connect_once(const struct addrinfo *to, double seconds) {
  const int s = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (s < 0) return -1;
  int wrong = connect(s, to->ai_addr, to->ai_addrlen) ? errno : 0;
  if (wrong == EINPROGRESS) {
    struct pollfd ready = {.fd = s, .events = POLLOUT};
    socklen_t size = sizeof wrong;
    wrong = ETIMEDOUT;
    if (poll(&ready, 1, 2000) > 0) getsockopt(s, SOL_SOCKET, SO_ERROR, &wrong, &size);
  }
  if (!wrong && fcntl(s, F_SETFL, 0) == 0) {
    prepare(s, seconds);
    return s;
  }
  close(s);
  errno = wrong;
  return -1;
}

/* Rank 0 may come later, and so may its name. */
static phibal_status connect_to(const launcher *l, double seconds, double until, int *found) {
  const struct timespec pause = {0, 50000000};
  for (;;) {
    struct addrinfo *addresses;
    phibal_status status = resolve(l, &addresses);
    *found = -1;
    int wrong = 0;
    for (const struct addrinfo *a = addresses; !status && a && *found < 0; a = a->ai_next) {
      *found = connect_once(a, seconds);
      wrong = errno;
    }
    if (!status) freeaddrinfo(addresses);
    if (*found >= 0) return PHIBAL_OK;
    if (seconds_now() > until)
      return status ? status : place_error(l, "rank 0 was not reached at", strerror(wrong));
    nanosleep(&pause, NULL);
  }
}

phibal_status rendezvous_visit(const launcher *l, double seconds, connection *to) {
  const double until = seconds_now() + seconds;
  phibal_status status = connect_to(l, seconds, until, &to->socket);
  if (status) return status;
  greeting g;
  visit v = {.rank = l->rank, .ranks = l->ranks};
  answer a;
  const char *gone = "it is no rank 0 of this job (it may have another secret), or has ended";
  if (!rendezvous_receive(to->socket, &g, sizeof g, until))
    return place_error(l, "no answer from", seconds_now() > until ? "rank 0 says nothing" : gone);
  if (memcmp(g.magic, magic, sizeof magic))
    return place_error(l, "a strange answer from", "it is no rank 0 of phibal");
  nonces n;
  draw(n.b);
  memcpy(n.a, g.nonce, sizeof n.a);
  memcpy(v.magic, magic, sizeof magic);
  memcpy(v.nonce, n.b, sizeof v.nonce);
  seal_visit(l, &g, &v);
  /* Rank 0 itself gives up after as many seconds, and says so. */
  if (!rendezvous_send(to->socket, &v, sizeof v) ||
      !rendezvous_receive(to->socket, &a, sizeof a, until + seconds))
    return place_error(l, "no answer from",
                       seconds_now() > until + seconds ? "rank 0 says nothing" : gone);
  if (memcmp(a.magic, magic, sizeof magic) ||
      !rendezvous_mac_is(l->key, "answer", &a, offsetof(answer, mac), &n, sizeof n, a.mac))
    return place_error(l, "a strange answer from", "it is no rank 0 of this job");
  connection_key(l, &n, to);
  return a.what == ALL_HERE ? PHIBAL_OK : refusal(l, a.what, a.number);
}
