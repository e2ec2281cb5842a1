/* How ranks authenticate each other with the job's key K, by challenge and response:

     rank 0  to client   challenge: nonce a
     client  to rank 0   hello: rank, ranks, nonce b, MAC over these and a under K
     rank 0  to rank     reply, when all ranks are connected or the job cannot start: status, MAC
                         over it, a and b under K

   The connection's key is the MAC of a and b under K. A client whose hello has a wrong MAC is
   disconnected without a reply; nothing it sends has any effect. */
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

typedef struct challenge {
  char magic[8];
  unsigned char nonce[NONCE_BYTES];
} challenge;

typedef struct hello {
  char magic[8];
  int32_t rank, ranks;
  unsigned char nonce[NONCE_BYTES], mac[MAC_BYTES];
} hello;

enum { COMPLETE, SIZE_MISMATCH, DUPLICATE_RANK, TIMED_OUT };
typedef struct reply {
  char magic[8];
  int32_t what, number; /* of ranks, or which one */
  unsigned char mac[MAC_BYTES];
} reply;

typedef struct nonces {
  unsigned char a[NONCE_BYTES], b[NONCE_BYTES]; /* rank 0's, the client's */
} nonces;

/* Connections whose hello is not complete yet. */
enum { PENDING = 32, PENDING_SECONDS = 5 };
typedef struct pending {
  int socket; /* -1: none */
  double until;
  size_t got;
  challenge sent;
  hello received;
} pending;

/* Rank 0's record of a connected rank. */
typedef struct peer {
  connection to;
  nonces drawn;
} peer;

static void draw_nonce(unsigned char *nonce) {
  for (size_t got = 0; got < NONCE_BYTES;) {
    const ssize_t n = getrandom(nonce + got, NONCE_BYTES - got, 0);
    if (n > 0) got += (size_t)n;
  }
}

/* A hello's MAC covers the challenge's nonce too. */
static void sign_hello(const launcher *l, const challenge *g, hello *v) {
  rendezvous_mac(l->key, "hello", v, offsetof(hello, mac), g->nonce, sizeof g->nonce, v->mac);
}

static bool hello_is_valid(const launcher *l, const challenge *g, const hello *v) {
  return memcmp(v->magic, magic, sizeof magic) == 0 &&
         rendezvous_mac_is(l->key, "hello", v, offsetof(hello, mac), g->nonce, sizeof g->nonce,
                           v->mac);
}

static void connection_key(const launcher *l, const nonces *n, connection *c) {
  rendezvous_mac(l->key, "connection", n, sizeof *n, NULL, 0, c->key);
}

static void prepare(int socket, double seconds) {
  const struct timeval most = {(time_t)seconds + 1, 0}; /* for a rank to take what it is sent */
  setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
  const int yes = 1, idle = 30, every = 10, times = 3;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  /* A dead machine is noticed after a minute. */
  setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &every, sizeof every);
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof times);
}

static phibal_status address_error(const launcher *l, const char *what, const char *why) {
  return phibal_status_set(PHIBAL_ERROR_IO,
                           "rank %d of %d: %s %s:%d (MASTER_ADDR, MASTER_PORT): %s", l->rank,
                           l->ranks, what, l->host, l->port, why);
}

/* The addresses of host; null: the wildcard address of the family. */
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
  return wrong ? address_error(l, "cannot find", gai_strerror(wrong)) : PHIBAL_OK;
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

/* Whether the name is a loopback address for every rank. */
static bool names_this_machine(const launcher *l) {
  return strcmp(l->host, "localhost") == 0 || strcmp(l->host, "::1") == 0 ||
         strncmp(l->host, "127.", 4) == 0;
}

/* Listens at the named address. Falls back to all addresses, with a line on standard error, if that
   fails: the name is not an address of this machine (NAT), or one that the other ranks cannot
   reach, as when /etc/hosts maps the machine's own name to 127.0.1.1. -1 with errno. */
static int listen_at(const launcher *l, const struct addrinfo *named) {
  int wrong = EADDRNOTAVAIL;
  for (const struct addrinfo *a = named; a; a = a->ai_next) {
    if (is_loopback(a) && !names_this_machine(l)) continue;
    const int s = listen_on(a);
    if (s >= 0) return s;
    wrong = errno;
    if (wrong != EADDRNOTAVAIL) break;
  }
  const int families[] = {AF_INET6, AF_INET}; /* with IPv6, the first serves both */
  int s = -1;
  for (int i = 0; i < 2 && s < 0 && wrong == EADDRNOTAVAIL; i++) {
    struct addrinfo *found;
    if (find_addresses(l, NULL, families[i], &found)) continue;
    s = listen_on(found);
    if (s < 0 && i == 1) wrong = errno;
    freeaddrinfo(found);
  }
  if (s >= 0)
    fprintf(stderr, "phibal: rank 0 listens on all addresses: it cannot listen at '%s'\n", l->host);
  errno = wrong;
  return s;
}

static void send_reply(const launcher *l, int socket, const nonces *n, int what, int32_t number) {
  reply a = {.what = what, .number = number};
  memcpy(a.magic, magic, sizeof magic);
  rendezvous_mac(l->key, "reply", &a, offsetof(reply, mac), n, sizeof *n, a.mac);
  rendezvous_send(socket, &a, sizeof a);
}

static void send_reply_to_all(const launcher *l, const peer *peers, int what, int32_t number) {
  for (int32_t i = 1; i < l->ranks; i++)
    if (peers[i].to.socket >= 0) send_reply(l, peers[i].to.socket, &peers[i].drawn, what, number);
}

/* The error of a reply other than COMPLETE, on either side. */
static phibal_status refusal(const launcher *l, int what, int32_t number) {
  char why[160];
  if (what == SIZE_MISMATCH)
    snprintf(why, sizeof why, "another process was started as one of %d (WORLD_SIZE)", number);
  else if (what == DUPLICATE_RANK)
    snprintf(why, sizeof why, "two processes claim rank %d (RANK)", number);
  else
    snprintf(why, sizeof why, "timed out waiting for rank %d", number);
  return address_error(l, "rendezvous at", why);
}

/* Checks a complete hello: 1 if a missing rank is now connected, 0 if the client was rejected. */
static int check_hello(const launcher *l, pending *g, peer *peers, phibal_status *status) {
  const hello *v = &g->received;
  const int s = g->socket;
  g->socket = -1;
  if (!hello_is_valid(l, &g->sent, v)) {
    close(s);
    return 0;
  }
  nonces n;
  memcpy(n.a, g->sent.nonce, sizeof n.a);
  memcpy(n.b, v->nonce, sizeof n.b);
  const bool fits = v->ranks == l->ranks && v->rank >= 1 && v->rank < l->ranks;
  if (fits && peers[v->rank].to.socket < 0) {
    peers[v->rank] = (peer){.to = {.socket = s}, .drawn = n};
    connection_key(l, &n, &peers[v->rank].to);
    return 1;
  }
  /* The client is sent the job's size, rank 0 and the others the client's. */
  const int what = fits ? DUPLICATE_RANK : SIZE_MISMATCH;
  const int32_t number = fits ? v->rank : v->ranks;
  send_reply(l, s, &n, what, fits ? v->rank : l->ranks);
  close(s);
  send_reply_to_all(l, peers, what, number);
  *status = refusal(l, what, number);
  return 0;
}

/* A slot for a new connection: a free one, or that of the oldest. */
static pending *pending_slot(pending *waiting) {
  pending *oldest = waiting;
  for (int i = 0; i < PENDING; i++) {
    if (waiting[i].socket < 0) return &waiting[i];
    if (waiting[i].until < oldest->until) oldest = &waiting[i];
  }
  close(oldest->socket);
  return oldest;
}

static phibal_status accept_all(const launcher *l, int listener, double seconds, pending *waiting,
                                peer *peers) {
  const double until = seconds_now() + seconds;
  phibal_status status = PHIBAL_OK;
  for (int32_t missing = l->ranks - 1; missing > 0 && !status;) {
    struct pollfd ready[PENDING + 1];
    const double now = seconds_now();
    for (int i = 0; i < PENDING; i++) {
      if (waiting[i].socket >= 0 && waiting[i].until < now) {
        close(waiting[i].socket);
        waiting[i].socket = -1;
      }
      ready[i] = (struct pollfd){.fd = waiting[i].socket, .events = POLLIN};
    }
    ready[PENDING] = (struct pollfd){.fd = listener, .events = POLLIN};
    if (now > until) {
      int32_t absent = 1;
      while (peers[absent].to.socket >= 0) absent++;
      send_reply_to_all(l, peers, TIMED_OUT, absent);
      return refusal(l, TIMED_OUT, absent);
    }
    poll(ready, PENDING + 1, 100);
    for (int i = 0; i < PENDING && !status; i++) {
      pending *g = &waiting[i];
      if (g->socket < 0 || !ready[i].revents) continue;
      const ssize_t n =
          recv(g->socket, (char *)&g->received + g->got, sizeof g->received - g->got, MSG_DONTWAIT);
      if (n > 0) g->got += (size_t)n;
      if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
        close(g->socket);
        g->socket = -1;
      } else if (g->got == sizeof g->received) {
        missing -= check_hello(l, g, peers, &status);
      }
    }
    if (ready[PENDING].revents && !status) {
      const int s = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
      if (s < 0) continue;
      prepare(s, seconds);
      pending *g = pending_slot(waiting);
      *g = (pending){.socket = s, .until = now + PENDING_SECONDS};
      memcpy(g->sent.magic, magic, sizeof magic);
      draw_nonce(g->sent.nonce);
      rendezvous_send(s, &g->sent, sizeof g->sent); /* an empty buffer takes it */
    }
  }
  if (!status) send_reply_to_all(l, peers, COMPLETE, l->ranks);
  return status;
}

phibal_status rendezvous_accept(const launcher *l, double seconds, connection *to) {
  struct addrinfo *named;
  peer *peers = calloc((size_t)l->ranks, sizeof *peers);
  if (!peers)
    return phibal_status_set(PHIBAL_ERROR_MEMORY, "no memory for a rendezvous of %d ranks",
                             l->ranks);
  for (int32_t i = 0; i < l->ranks; i++) peers[i].to.socket = -1;
  phibal_status status = resolve(l, &named);
  if (status) {
    free(peers);
    return status;
  }
  const int listener = listen_at(l, named);
  const int wrong = errno;
  freeaddrinfo(named);
  if (listener < 0) {
    free(peers);
    return address_error(l, "cannot listen at",
                         wrong == EADDRINUSE ? "the port is in use" : strerror(wrong));
  }
  pending waiting[PENDING];
  for (int i = 0; i < PENDING; i++) waiting[i] = (pending){.socket = -1};
  status = accept_all(l, listener, seconds, waiting, peers);
  for (int i = 0; i < PENDING; i++)
    if (waiting[i].socket >= 0) close(waiting[i].socket);
  close(listener);
  for (int32_t i = 1; i < l->ranks; i++) to[i] = peers[i].to;
  free(peers);
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

/* Rank 0, or its name, may appear later. */
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
      return status ? status : address_error(l, "cannot reach rank 0 at", strerror(wrong));
    nanosleep(&pause, NULL);
  }
}

phibal_status rendezvous_connect(const launcher *l, double seconds, connection *to) {
  const double until = seconds_now() + seconds;
  phibal_status status = connect_to(l, seconds, until, &to->socket);
  if (status) return status;
  challenge g;
  hello v = {.rank = l->rank, .ranks = l->ranks};
  reply a;
  const char *gone = "it is not rank 0 of this job (its secret may differ), or has ended";
  if (!rendezvous_receive(to->socket, &g, sizeof g, until))
    return address_error(l, "no reply from",
                         seconds_now() > until ? "rank 0 does not answer" : gone);
  if (memcmp(g.magic, magic, sizeof magic))
    return address_error(l, "an invalid reply from", "it is not rank 0 of a phibal job");
  nonces n;
  draw_nonce(n.b);
  memcpy(n.a, g.nonce, sizeof n.a);
  memcpy(v.magic, magic, sizeof magic);
  memcpy(v.nonce, n.b, sizeof v.nonce);
  sign_hello(l, &g, &v);
  /* Rank 0 times out after as many seconds itself and replies. */
  if (!rendezvous_send(to->socket, &v, sizeof v) ||
      !rendezvous_receive(to->socket, &a, sizeof a, until + seconds))
    return address_error(l, "no reply from",
                         seconds_now() > until + seconds ? "rank 0 does not answer" : gone);
  if (memcmp(a.magic, magic, sizeof magic) ||
      !rendezvous_mac_is(l->key, "reply", &a, offsetof(reply, mac), &n, sizeof n, a.mac))
    return address_error(l, "an invalid reply from", "it is not rank 0 of this job");
  connection_key(l, &n, to);
  return a.what == COMPLETE ? PHIBAL_OK : refusal(l, a.what, a.number);
}
