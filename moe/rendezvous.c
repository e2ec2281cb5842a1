#include "rendezvous_internal.h"

#include "clock.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Before what every rank has: its bytes, or that a rank is lost. */
typedef struct frame {
  uint64_t bytes; /* UINT64_MAX: lost */
  int64_t rank;   /* which one */
} frame;

bool rendezvous_send(int socket, const void *data, size_t bytes) {
  for (size_t sent = 0; sent < bytes;) {
    const ssize_t n = send(socket, (const char *)data + sent, bytes - sent, MSG_NOSIGNAL);
    if (n > 0)
      sent += (size_t)n;
    else if (n == 0 || errno != EINTR)
      return false;
  }
  return true;
}

bool rendezvous_receive(int socket, void *data, size_t bytes, double until) {
  for (size_t got = 0; got < bytes;) {
    struct pollfd ready = {.fd = socket, .events = POLLIN};
    const double left = until > 0 ? until - seconds_now() : 1;
    if (left <= 0) return false;
    const int found = poll(&ready, 1, left < 1 ? (int)(1000 * left) + 1 : 1000);
    if (found == 0 || (found < 0 && errno == EINTR)) continue;
    const ssize_t n = recv(socket, (char *)data + got, bytes - got, 0);
    if (n > 0)
      got += (size_t)n;
    else if (n == 0 || errno != EINTR)
      return false;
  }
  return true;
}

/* Rank 0 tells the others, so that all name the same rank. */
static const char *lose(rendezvous *r, int64_t rank) {
  if (*r->lost) return r->lost;
  snprintf(r->lost, sizeof r->lost, "rank %lld has ended", (long long)rank);
  const frame told = {UINT64_MAX, rank};
  for (int32_t i = 1; i < r->ranks && r->rank == 0; i++)
    if (i != rank) rendezvous_send(r->sockets[i], &told, sizeof told);
  return r->lost;
}

static bool ended(int socket) {
  struct pollfd asked = {.fd = socket, .events = POLLRDHUP};
  return poll(&asked, 1, 0) > 0 && asked.revents & (POLLRDHUP | POLLHUP | POLLERR);
}

const char *rendezvous_lost(rendezvous *r) {
  if (*r->lost) return r->lost;
  if (r->rank == 0) {
    for (int32_t i = 1; i < r->ranks; i++)
      if (ended(r->sockets[i])) return lose(r, i);
    return NULL;
  }
  /* Rank 0 says nothing of itself but that a rank is lost. */
  frame said;
  if (recv(r->sockets[0], &said, sizeof said, MSG_PEEK | MSG_DONTWAIT) == sizeof said &&
      said.bytes == UINT64_MAX)
    return lose(r, said.rank);
  return ended(r->sockets[0]) ? lose(r, 0) : NULL;
}

/* What has come from a rank: a frame, then its bytes. */
typedef struct arriving {
  frame head;
  size_t got;
} arriving;

/* Takes what is there; false where the rank has ended. */
static bool take(int socket, size_t bytes, arriving *a, unsigned char *to) {
  unsigned char *place =
      a->got < sizeof a->head ? (unsigned char *)&a->head + a->got : to + (a->got - sizeof a->head);
  const size_t end = a->got < sizeof a->head ? sizeof a->head : sizeof a->head + bytes;
  const ssize_t n = recv(socket, place, end - a->got, MSG_DONTWAIT);
  if (n > 0) a->got += (size_t)n;
  return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

/* Rank 0 looks at all the others at once, so that one that ends is seen whoever is late. */
static const char *collect(rendezvous *r, size_t bytes, unsigned char *all, arriving *from,
                           struct pollfd *others) {
  const size_t whole = sizeof(frame) + bytes;
  for (int32_t missing = r->ranks - 1; missing > 0;) {
    for (int32_t i = 1; i < r->ranks; i++)
      others[i - 1] = (struct pollfd){.fd = r->sockets[i],
                                      .events = (short)(from[i].got < whole ? POLLIN : POLLRDHUP)};
    if (poll(others, (nfds_t)r->ranks - 1, -1) < 0 && errno != EINTR)
      return "the connections to the other ranks cannot be waited for";
    for (int32_t i = 1; i < r->ranks; i++) {
      if (!others[i - 1].revents) continue;
      if (from[i].got == whole) return lose(r, i);
      if (!take(r->sockets[i], bytes, &from[i], all + (size_t)i * bytes)) return lose(r, i);
      if (from[i].got >= sizeof(frame) && from[i].head.bytes != bytes) {
        snprintf(r->lost, sizeof r->lost, "rank %d gives %llu bytes where rank 0 gives %zu", i,
                 (unsigned long long)from[i].head.bytes, bytes);
        return r->lost;
      }
      missing -= from[i].got == whole;
    }
  }
  const frame head = {bytes, 0};
  for (int32_t i = 1; i < r->ranks; i++)
    if (!rendezvous_send(r->sockets[i], &head, sizeof head) ||
        !rendezvous_send(r->sockets[i], all, bytes * (size_t)r->ranks))
      return lose(r, i);
  return NULL;
}

const char *rendezvous_gather(rendezvous *r, const void *own, size_t bytes, void *all) {
  if (*r->lost) return r->lost;
  memmove((unsigned char *)all + (size_t)r->rank * bytes, own, bytes);
  if (r->ranks == 1) return NULL;
  if (r->rank == 0) {
    arriving *from = calloc((size_t)r->ranks, sizeof *from);
    struct pollfd *others = calloc((size_t)r->ranks, sizeof *others);
    const char *wrong = from && others ? collect(r, bytes, all, from, others)
                                       : "no memory to wait for the other ranks";
    free(from);
    free(others);
    return wrong;
  }
  frame head = {bytes, 0};
  if (!rendezvous_send(r->sockets[0], &head, sizeof head) ||
      !rendezvous_send(r->sockets[0], own, bytes) ||
      !rendezvous_receive(r->sockets[0], &head, sizeof head, 0)) {
    const char *why = rendezvous_lost(r); /* rank 0 may have said who */
    return why ? why : lose(r, 0);
  }
  if (head.bytes == UINT64_MAX) return lose(r, head.rank);
  if (head.bytes == bytes && rendezvous_receive(r->sockets[0], all, bytes * (size_t)r->ranks, 0))
    return NULL;
  return lose(r, 0);
}

phibal_status rendezvous_open(const launcher *l, double seconds, rendezvous **opened) {
  *opened = NULL;
  rendezvous *r = calloc(1, sizeof *r);
  if (r) r->sockets = malloc(sizeof *r->sockets * (size_t)l->ranks);
  if (!r || !r->sockets) {
    free(r);
    return phibal_status_set(PHIBAL_ERROR_MEMORY, "no memory to meet %d ranks", l->ranks);
  }
  r->rank = l->rank;
  r->ranks = l->ranks;
  for (int32_t i = 0; i < l->ranks; i++) r->sockets[i] = -1;
  phibal_status status = PHIBAL_OK;
  if (l->ranks > 1)
    status = l->rank == 0 ? rendezvous_await(l, seconds, r->sockets)
                          : rendezvous_visit(l, seconds, r->sockets);
  if (status)
    rendezvous_close(r);
  else
    *opened = r;
  return status;
}

void rendezvous_close(rendezvous *r) {
  if (!r) return;
  for (int32_t i = 0; i < r->ranks; i++)
    if (r->sockets[i] >= 0) close(r->sockets[i]);
  free(r->sockets);
  free(r);
}
