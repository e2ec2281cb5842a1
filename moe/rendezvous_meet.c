/* How the ranks come together. A visitor says who it is; rank 0 answers when all have come, or why
   the job cannot begin. */
#include "rendezvous_internal.h"

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
#include <time.h>
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

/* On this machine's own address only, where the others will call it so; else on every one: the name
   of a machine may be another address here than elsewhere. */
static int listen_at(const launcher *l, const struct addrinfo *named) {
  const bool local =
      (named->ai_family == AF_INET &&
       ntohl(((const struct sockaddr_in *)(const void *)named->ai_addr)->sin_addr.s_addr) >> 24 ==
           127 &&
       strncmp(l->host, "127.", 4) == 0) ||
      strcmp(l->host, "localhost") == 0 || strcmp(l->host, "::1") == 0;
  struct addrinfo hints = {.ai_family = AF_INET6, .ai_socktype = SOCK_STREAM};
  struct addrinfo *found = NULL;
  char port[16];
  snprintf(port, sizeof port, "%d", l->port);
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  const struct addrinfo *at = named;
  if (!local && getaddrinfo(NULL, port, &hints, &found) == 0) at = found;
  const int no = 0, yes = 1;
  int wrong = 0, s = -1;
  for (int attempt = 0; attempt < 2 && s < 0; attempt++) {
    if (attempt == 1) { /* no IPv6 here */
      if (local) break;
      if (found) freeaddrinfo(found);
      hints.ai_family = AF_INET;
      found = NULL;
      if (getaddrinfo(NULL, port, &hints, &found)) break;
      at = found;
    }
    s = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (s < 0) continue;
    setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (at->ai_family == AF_INET6) setsockopt(s, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
    if (bind(s, at->ai_addr, at->ai_addrlen) == 0 && listen(s, 128) == 0) break;
    wrong = errno;
    close(s);
    s = -1;
    if (wrong == EADDRINUSE) break;
  }
  if (found) freeaddrinfo(found);
  errno = wrong;
  return s;
}

static phibal_status resolve(const launcher *l, struct addrinfo **found) {
  const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
  char port[16];
  snprintf(port, sizeof port, "%d", l->port);
  const int wrong = getaddrinfo(l->host, port, &hints, found);
  return wrong ? place_error(l, "cannot find", gai_strerror(wrong)) : PHIBAL_OK;
}

static void tell_all(const launcher *l, const int *sockets, int what, int32_t number) {
  answer a = {.what = what, .number = number};
  memcpy(a.magic, magic, sizeof magic);
  for (int32_t i = 1; i < l->ranks; i++)
    if (sockets[i] >= 0) rendezvous_send(sockets[i], &a, sizeof a);
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
  answer a = {.what = SAME_RANK, .number = v->rank};
  memcpy(a.magic, magic, sizeof magic);
  if (v->ranks != l->ranks || v->rank < 1 || v->rank >= l->ranks) {
    a.what = OTHER_SIZE;
    a.number = l->ranks;
    rendezvous_send(s, &a, sizeof a);
    close(s);
    tell_all(l, sockets, OTHER_SIZE, v->ranks);
    *status = refusal(l, OTHER_SIZE, v->ranks);
    return 0;
  }
  if (sockets[v->rank] >= 0) {
    rendezvous_send(s, &a, sizeof a);
    close(s);
    tell_all(l, sockets, SAME_RANK, v->rank);
    *status = refusal(l, SAME_RANK, v->rank);
    return 0;
  }
  sockets[v->rank] = s;
  return 1;
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
    const double now = rendezvous_now();
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
  status = await_all(l, door, rendezvous_now() + seconds, guests, sockets);
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
    if (rendezvous_now() > until)
      return status ? status : place_error(l, "rank 0 was not reached at", strerror(wrong));
    nanosleep(&pause, NULL);
  }
}

phibal_status rendezvous_visit(const launcher *l, double seconds, int *sockets) {
  const double until = rendezvous_now() + seconds;
  phibal_status status = connect_to(l, until, &sockets[0]);
  if (status) return status;
  visit v = {.rank = l->rank, .ranks = l->ranks, .job = l->job};
  memcpy(v.magic, magic, sizeof magic);
  answer a;
  /* Rank 0 itself gives up after as many seconds, and says so. */
  if (!rendezvous_send(sockets[0], &v, sizeof v) ||
      !rendezvous_receive(sockets[0], &a, sizeof a, until + seconds))
    return place_error(l, "no answer from",
                       rendezvous_now() > until + seconds
                           ? "rank 0 says nothing"
                           : "it is no rank 0 of this job, or has ended");
  if (memcmp(a.magic, magic, sizeof magic))
    return place_error(l, "a strange answer from", "it is no rank 0 of phibal");
  return a.what == ALL_HERE ? PHIBAL_OK : refusal(l, a.what, a.number);
}
