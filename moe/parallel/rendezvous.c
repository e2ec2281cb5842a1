#include "rendezvous_internal.h"

#include "moe/machine/clock.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#if PHIBAL_HAVE_SODIUM
#include <sodium.h>
#endif

/* Every message: a frame, its bytes, the MAC of both. */
typedef struct frame {
  uint64_t bytes; /* LOST: none follow */
  int32_t rank;   /* which one is lost */
  int32_t silent; /* it is there, and says nothing */
} frame;
#define LOST UINT64_MAX

#if PHIBAL_HAVE_SODIUM
static void mac_of(const unsigned char *key, const char *what, const void *a, size_t a_bytes,
                   const void *b, size_t b_bytes, unsigned char *mac) {
  crypto_auth_hmacsha512256_state state;
  crypto_auth_hmacsha512256_init(&state, key, LAUNCHER_KEY_BYTES);
  crypto_auth_hmacsha512256_update(&state, (const unsigned char *)what, strlen(what) + 1);
  crypto_auth_hmacsha512256_update(&state, a, a_bytes);
  if (b_bytes) crypto_auth_hmacsha512256_update(&state, b, b_bytes);
  crypto_auth_hmacsha512256_final(&state, mac);
}

void rendezvous_mac(const unsigned char *key, const char *what, const void *a, size_t a_bytes,
                    const void *b, size_t b_bytes, unsigned char *mac) {
  mac_of(key, what, a, a_bytes, b, b_bytes, mac);
}

bool rendezvous_mac_is(const unsigned char *key, const char *what, const void *a, size_t a_bytes,
                       const void *b, size_t b_bytes, const unsigned char *mac) {
  unsigned char right[MAC_BYTES];
  mac_of(key, what, a, a_bytes, b, b_bytes, right);
  return sodium_memcmp(right, mac, sizeof right) == 0; /* in the same time, equal or not */
}
#else
/* Without libsodium launcher_find refuses several ranks. */
void rendezvous_mac(const unsigned char *key, const char *what, const void *a, size_t a_bytes,
                    const void *b, size_t b_bytes, unsigned char *mac) {
  (void)key, (void)what, (void)a, (void)a_bytes, (void)b, (void)b_bytes;
  memset(mac, 0, MAC_BYTES);
}

bool rendezvous_mac_is(const unsigned char *key, const char *what, const void *a, size_t a_bytes,
                       const void *b, size_t b_bytes, const unsigned char *mac) {
  (void)key, (void)what, (void)a, (void)a_bytes, (void)b, (void)b_bytes, (void)mac;
  return false;
}
#endif

/* A frame with its message number, which the MAC covers. */
typedef struct numbered {
  frame head;
  uint64_t number;
} numbered;

static const char *direction(bool from_rank_0) {
  return from_rank_0 ? "from rank 0" : "to rank 0";
}

static bool send_message(const rendezvous *r, connection *c, frame head, const void *data) {
  unsigned char mac[MAC_BYTES];
  const size_t bytes = head.bytes == LOST ? 0 : head.bytes;
  const numbered n = {head, c->sent++};
  rendezvous_mac(c->key, direction(r->rank == 0), &n, sizeof n, data, bytes, mac);
  return rendezvous_send(c->socket, &head, sizeof head) &&
         rendezvous_send(c->socket, data, bytes) && rendezvous_send(c->socket, mac, sizeof mac);
}

static bool message_is_right(const rendezvous *r, const connection *c, frame head, const void *data,
                             const unsigned char *mac) {
  const numbered n = {head, c->received};
  return rendezvous_mac_is(c->key, direction(r->rank != 0), &n, sizeof n, data,
                           head.bytes == LOST ? 0 : head.bytes, mac);
}

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
static const char *lose(rendezvous *r, int32_t rank, bool silent) {
  if (*r->lost) return r->lost;
  if (silent)
    snprintf(r->lost, sizeof r->lost, "no message from rank %d for %g s (PHIBAL_TIMEOUT)", rank,
             r->seconds);
  else
    snprintf(r->lost, sizeof r->lost, "rank %d has ended", rank);
  for (int32_t i = 1; i < r->ranks && r->rank == 0; i++)
    if (i != rank) send_message(r, &r->to[i], (frame){LOST, rank, silent}, NULL);
  return r->lost;
}

/* The message is not from this job: somebody has tampered with the connection. */
static const char *forged(rendezvous *r, int32_t rank) {
  lose(r, rank, false);
  snprintf(r->lost, sizeof r->lost, "a message from rank %d failed authentication", rank);
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
      if (ended(r->to[i].socket)) return lose(r, i, false);
    return NULL;
  }
  /* The only unsolicited message of rank 0 is that a rank is lost. */
  struct {
    frame head;
    unsigned char mac[MAC_BYTES];
  } said;
  if (recv(r->to[0].socket, &said, sizeof said, MSG_PEEK | MSG_DONTWAIT) == sizeof said &&
      said.head.bytes == LOST)
    return message_is_right(r, &r->to[0], said.head, NULL, said.mac)
               ? lose(r, said.head.rank, said.head.silent)
               : forged(r, 0);
  return ended(r->to[0].socket) ? lose(r, 0, false) : NULL;
}

/* Data received from a rank: a frame, its bytes, their MAC. */
typedef struct arriving {
  frame head;
  size_t got;
  unsigned char mac[MAC_BYTES];
} arriving;

/* Receives what is available; false if the rank has ended. */
static bool take(int socket, size_t bytes, arriving *a, unsigned char *to) {
  const size_t data = sizeof a->head, mac = data + bytes;
  unsigned char *place = a->got < data  ? (unsigned char *)&a->head + a->got
                         : a->got < mac ? to + (a->got - data)
                                        : a->mac + (a->got - mac);
  const size_t end = a->got < data ? data : a->got < mac ? mac : mac + MAC_BYTES;
  const ssize_t n = recv(socket, place, end - a->got, MSG_DONTWAIT);
  if (n > 0) a->got += (size_t)n;
  return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

/* Rank 0 polls all the others at once, so a rank that ends is noticed whoever is late. */
static const char *collect(rendezvous *r, size_t bytes, unsigned char *all, arriving *from,
                           struct pollfd *others) {
  const size_t whole = sizeof(frame) + bytes + MAC_BYTES;
  const double until = seconds_now() + r->seconds;
  for (int32_t missing = r->ranks - 1; missing > 0;) {
    for (int32_t i = 1; i < r->ranks; i++)
      others[i - 1] = (struct pollfd){.fd = r->to[i].socket,
                                      .events = (short)(from[i].got < whole ? POLLIN : POLLRDHUP)};
    if (poll(others, (nfds_t)r->ranks - 1, 1000) < 0 && errno != EINTR)
      return "waiting for the other ranks failed";
    for (int32_t i = 1; i < r->ranks; i++) {
      if (!others[i - 1].revents) continue;
      unsigned char *place = all + (size_t)i * bytes;
      if (from[i].got == whole) return lose(r, i, false);
      if (!take(r->to[i].socket, bytes, &from[i], place)) return lose(r, i, false);
      if (from[i].got >= sizeof(frame) && from[i].head.bytes != bytes) {
        snprintf(r->lost, sizeof r->lost, "rank %d gives %llu bytes where rank 0 gives %zu", i,
                 (unsigned long long)from[i].head.bytes, bytes);
        return r->lost;
      }
      if (from[i].got < whole) continue;
      if (!message_is_right(r, &r->to[i], from[i].head, place, from[i].mac)) return forged(r, i);
      r->to[i].received++;
      missing--;
    }
    for (int32_t i = 1; missing > 0 && seconds_now() > until && i < r->ranks; i++)
      if (from[i].got < whole) return lose(r, i, true);
  }
  for (int32_t i = 1; i < r->ranks; i++)
    if (!send_message(r, &r->to[i], (frame){(uint64_t)r->ranks * bytes, 0, 0}, all))
      return lose(r, i, false);
  return NULL;
}

/* The others wait a little longer than rank 0, which knows which rank is missing. */
enum { RANK_0_SECONDS = 5 };

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
  connection *c = &r->to[0];
  const double until = seconds_now() + r->seconds + RANK_0_SECONDS;
  const size_t everything = bytes * (size_t)r->ranks;
  frame head = {0};
  unsigned char mac[MAC_BYTES];
  if (send_message(r, c, (frame){bytes, 0, 0}, own) &&
      rendezvous_receive(c->socket, &head, sizeof head, until) &&
      (head.bytes == LOST || head.bytes == everything) &&
      (head.bytes == LOST || rendezvous_receive(c->socket, all, everything, until)) &&
      rendezvous_receive(c->socket, mac, sizeof mac, until)) {
    if (!message_is_right(r, c, head, all, mac)) return forged(r, 0);
    c->received++;
    return head.bytes == LOST ? lose(r, head.rank, head.silent) : NULL;
  }
  const char *why = rendezvous_lost(r); /* rank 0 may have said who */
  return why ? why : lose(r, 0, seconds_now() > until);
}

phibal_status rendezvous_open(const launcher *l, double seconds, rendezvous **opened) {
  *opened = NULL;
  rendezvous *r = calloc(1, sizeof *r);
  if (r) r->to = calloc((size_t)l->ranks, sizeof *r->to);
  if (!r || !r->to) {
    free(r);
    return phibal_status_set(PHIBAL_ERROR_MEMORY, "no memory to meet %d ranks", l->ranks);
  }
  r->rank = l->rank;
  r->ranks = l->ranks;
  r->seconds = seconds;
  for (int32_t i = 0; i < l->ranks; i++) r->to[i].socket = -1;
  phibal_status status = PHIBAL_OK;
  if (l->ranks > 1)
    status =
        l->rank == 0 ? rendezvous_accept(l, seconds, r->to) : rendezvous_connect(l, seconds, r->to);
  if (status)
    rendezvous_close(r);
  else
    *opened = r;
  return status;
}

void rendezvous_close(rendezvous *r) {
  if (!r) return;
  for (int32_t i = 0; i < r->ranks; i++)
    if (r->to[i].socket >= 0) close(r->to[i].socket);
  free(r->to);
  free(r);
}
