/* What the meeting (rendezvous_handshake.c) and what goes on afterwards (rendezvous.c) share. */
#ifndef PHIBAL_MOE_RENDEZVOUS_INTERNAL_H
#define PHIBAL_MOE_RENDEZVOUS_INTERNAL_H

#include "rendezvous.h"

#include <stdbool.h>

enum { MAC_BYTES = 32, NONCE_BYTES = 32 };

/* To another rank. Everything that goes through it ends with a code (HMAC-SHA-512-256) under a key
   of this connection alone, over the direction, the number of the message and the message. */
typedef struct connection {
  int socket; /* -1: none */
  unsigned char key[LAUNCHER_KEY_BYTES];
  uint64_t sent, received; /* messages */
} connection;

struct rendezvous {
  int32_t rank, ranks;
  double seconds; /* that a rank waits for another */
  connection *to; /* [ranks]: of rank 0, to each of the others; of another, [0] to rank 0 */
  char lost[160]; /* empty: all are there */
};

/* Sends or receives all of it; false where the other side has ended, or at this time of seconds_now
   (0: never). */
bool rendezvous_send(int socket, const void *data, size_t bytes);
bool rendezvous_receive(int socket, void *data, size_t bytes, double until);

/* The code of `what`, a and b one after the other. */
void rendezvous_mac(const unsigned char *key, const char *what, const void *a, size_t a_bytes,
                    const void *b, size_t b_bytes, unsigned char *mac);
bool rendezvous_mac_is(const unsigned char *key, const char *what, const void *a, size_t a_bytes,
                       const void *b, size_t b_bytes, const unsigned char *mac);

/* Rank 0: until every rank is connected. The others: until rank 0 says so. */
phibal_status rendezvous_accept(const launcher *l, double seconds, connection *to);
phibal_status rendezvous_connect(const launcher *l, double seconds, connection *to);

#endif
