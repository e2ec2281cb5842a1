/* The processes of a job connect over TCP and stay connected: rank 0 listens, the others connect.
   Little data is exchanged: the identifier of a communicator, the sums of a step, and the end of a
   rank, which closes its connection. */
#ifndef PHIBAL_MOE_RENDEZVOUS_H
#define PHIBAL_MOE_RENDEZVOUS_H

#include "launcher.h"

typedef struct rendezvous rendezvous;

/* Connects to the other ranks of l, with a timeout in seconds. Both sides prove that they have l's
   key; unknown clients are rejected and delay nobody. Errors on every connected rank: a missing
   rank, a port in use, different WORLD_SIZE, duplicate ranks; they name the rank and the address. A
   single rank connects to nobody. */
phibal_status rendezvous_open(const launcher *l, double seconds, rendezvous **opened);

/* All-gather: all [ranks][bytes] from own [bytes] of every rank; all ranks call it with the same
   bytes. Waits while the others are connected, with the same timeout. Returns null, or which rank
   has ended, is silent, or sent a message that failed authentication: then every later call returns
   that at once. */
const char *rendezvous_gather(rendezvous *r, const void *own, size_t bytes, void *all);

/* Null, or which rank has ended; does not wait. Between calls of gather. */
const char *rendezvous_lost(rendezvous *r);

/* Disconnects from the others. Accepts null. */
void rendezvous_close(rendezvous *r);

#endif
