/* Shared by the handshake (rendezvous_handshake.c) and the connections (rendezvous.c). */
#ifndef PHIBAL_MOE_RENDEZVOUS_INTERNAL_H
#define PHIBAL_MOE_RENDEZVOUS_INTERNAL_H

#include "rendezvous.h"

#include <stdbool.h>

enum { MAC_BYTES = 32, NONCE_BYTES = 32 };

/* A connection to another rank. Every message ends with a MAC (HMAC-SHA-512-256) under a key of
   this connection, over the direction, the message number and the message. */
typedef struct connection {
  int socket; /* -1: none */
  unsigned char key[LAUNCHER_KEY_BYTES];
  uint64_t sent, received; /* messages */
} connection;

struct rendezvous {
  int32_t rank, ranks;
  double seconds; /* timeout of a rank waiting for another */
  connection *to; /* [ranks]: of rank 0, to each of the others; of another, [0] to rank 0 */
  char lost[160]; /* empty: all are there */
};

/* Sends or receives all bytes; false if the other side has ended, or at the deadline `until`
   (seconds_now; 0: none). */
bool rendezvous_send(int socket, const void *data, size_t bytes);
bool rendezvous_receive(int socket, void *data, size_t bytes, double until);

/* The MAC of the concatenation of `what`, a and b. */
void rendezvous_mac(const unsigned char *key, const char *what, const void *a, size_t a_bytes,
                    const void *b, size_t b_bytes, unsigned char *mac);
bool rendezvous_mac_is(const unsigned char *key, const char *what, const void *a, size_t a_bytes,
                       const void *b, size_t b_bytes, const unsigned char *mac);

/* Rank 0 waits until every rank is connected, the others until rank 0 says so. */
phibal_status rendezvous_accept(const launcher *l, double seconds, connection *to);
phibal_status rendezvous_connect(const launcher *l, double seconds, connection *to);

#endif
