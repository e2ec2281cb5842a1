/* How the ranks come together. A visitor says who it is; rank 0 answers when all have come, or why
   the job cannot begin. */
#include "rendezvous_internal.h"

#include "clock.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const char magic[8] = "phibal 1";

typedef struct visit {
  char magic[8];
  int32_t rank, ranks;
  uint64_t job;
} visit;

enum { ALL_HERE, OTHER_SIZE, SAME_RANK, NOT_COME };
typedef struct answer {
  char magic[8];
  int32_t what, number; /* of ranks, or which one */
} answer;

/* Connections that have not said yet who they are. */
enum { GUESTS = 32, GUEST_SECONDS = 5 };
typedef struct guest {
  int socket; /* -1: none */
  double until;
  size_t got;
  visit said;
} guest;

static void prepare(int socket) {
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

/* Whether the others, too, call this machine so. */
static bool is_local(const launcher *l, const struct addrinfo *named) {
  if (strcmp(l->host, "localhost") == 0 || strcmp(l->host, "::1") == 0) return true;
  return named->ai_family == AF_INET && strncmp(l->host, "127.", 4) == 0 &&
         ntohl(((const struct sockaddr_in *)(const void *)named->ai_addr)->sin_addr.s_addr) >> 24 ==
             127;
}

/* On this machine's own address only, where the others will call it so; else on every one: the name
   of a machine may be another address here than elsewhere. -1 with errno. */
static int listen_at(const launcher *l, const struct addrinfo *named) {
  if (is_local(l, named)) return listen_on(named);
  const int families[] = {AF_INET6, AF_INET}; /* the first for both, where there is IPv6 */
  int s = -1, wrong = EADDRNOTAVAIL;
  for (int i = 0; i < 2 && s < 0 && wrong != EADDRINUSE; i++) {
    struct addrinfo *found;
    if (find_addresses(l, NULL, families[i], &found)) continue;
    s = listen_on(found);
    wrong = errno;
    freeaddrinfo(found);
  }
  errno = wrong;
  return s;
}

static void tell(int socket, int what, int32_t number) {
  answer a = {.what = what, .number = number};
  memcpy(a.magic, magic, sizeof magic);
  rendezvous_send(socket, &a, sizeof a);
}

static void tell_all(const launcher *l, const int *sockets, int what, int32_t number) {
  for (int32_t i = 1; i < l->ranks; i++)
    if (sockets[i] >= 0) tell(sockets[i], what, number);
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
static int admit(const launcher *l, guest *g, int *sockets, phibal_status *status) {
  const visit *v = &g->said;
  const int s = g->socket;
  g->socket = -1;
  if (memcmp(v->magic, magic, sizeof magic) || v->job != l->job) {
    close(s);
    return 0;
  }
  const bool fits = v->ranks == l->ranks && v->rank >= 1 && v->rank < l->ranks;
  if (fits && sockets[v->rank] < 0) {
    sockets[v->rank] = s;
    return 1;
  }
  /* The guest hears of the others' size, the others and this rank of the guest's. */
  const int what = fits ? SAME_RANK : OTHER_SIZE;
  const int32_t number = fits ? v->rank : v->ranks;
  tell(s, what, fits ? v->rank : l->ranks);
  close(s);
  tell_all(l, sockets, what, number);
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

static phibal_status await_all(const launcher *l, int door, double until, guest *guests,
                               int *sockets) {
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
      while (sockets[absent] >= 0) absent++;
      tell_all(l, sockets, NOT_COME, absent);
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
        missing -= admit(l, g, sockets, &status);
      }
    }
    if (ready[GUESTS].revents && !status) {
      const int s = accept4(door, NULL, NULL, SOCK_CLOEXEC);
      if (s < 0) continue;
      prepare(s);
      *seat(guests) = (guest){.socket = s, .until = now + GUEST_SECONDS};
    }
  }
  if (!status) tell_all(l, sockets, ALL_HERE, l->ranks);
  return status;
}

phibal_status rendezvous_await(const launcher *l, double seconds, int *sockets) {
  struct addrinfo *named;
  phibal_status status = resolve(l, &named);
  if (status) return status;
  const int door = listen_at(l, named);
  const int wrong = errno;
  freeaddrinfo(named);
  if (door < 0)
    return place_error(l, "cannot listen at",
                       wrong == EADDRINUSE ? "another program does" : strerror(wrong));
  guest guests[GUESTS];
  for (int i = 0; i < GUESTS; i++) guests[i] = (guest){.socket = -1};
  status = await_all(l, door, seconds_now() + seconds, guests, sockets);
  for (int i = 0; i < GUESTS; i++)
    if (guests[i].socket >= 0) close(guests[i].socket);
  close(door);
  return status;
}

/* One attempt at one address, for two seconds at most; -1 with errno. */
static int connect_once(const struct addrinfo *to) {
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
    prepare(s);
    return s;
  }
  close(s);
  errno = wrong;
  return -1;
}

/* Rank 0 may come later, and so may its name. */
static phibal_status connect_to(const launcher *l, double until, int *found) {
  const struct timespec pause = {0, 50000000};
  for (;;) {
    struct addrinfo *addresses;
    phibal_status status = resolve(l, &addresses);
    *found = -1;
    int wrong = 0;
    for (const struct addrinfo *a = addresses; !status && a && *found < 0; a = a->ai_next) {
      *found = connect_once(a);
      wrong = errno;
    }
    if (!status) freeaddrinfo(addresses);
    if (*found >= 0) return PHIBAL_OK;
    if (seconds_now() > until)
      return status ? status : place_error(l, "rank 0 was not reached at", strerror(wrong));
    nanosleep(&pause, NULL);
  }
}

phibal_status rendezvous_visit(const launcher *l, double seconds, int *sockets) {
  const double until = seconds_now() + seconds;
  phibal_status status = connect_to(l, until, &sockets[0]);
  if (status) return status;
  visit v = {.rank = l->rank, .ranks = l->ranks, .job = l->job};
  memcpy(v.magic, magic, sizeof magic);
  answer a;
  /* Rank 0 itself gives up after as many seconds, and says so. */
  if (!rendezvous_send(sockets[0], &v, sizeof v) ||
      !rendezvous_receive(sockets[0], &a, sizeof a, until + seconds))
    return place_error(l, "no answer from",
                       seconds_now() > until + seconds
                           ? "rank 0 says nothing"
                           : "it is no rank 0 of this job, or has ended");
  if (memcmp(a.magic, magic, sizeof magic))
    return place_error(l, "a strange answer from", "it is no rank 0 of phibal");
  return a.what == ALL_HERE ? PHIBAL_OK : refusal(l, a.what, a.number);
}
