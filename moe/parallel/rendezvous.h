/* The processes of a job find each other by TCP and stay connected: rank 0 listens, the others come
   to it. What goes through it is small: the identifier of a communicator, the sums of a step, and
   whether a rank has ended, which closes its connection. */
#ifndef PHIBAL_MOE_RENDEZVOUS_H
#define PHIBAL_MOE_RENDEZVOUS_H

#include "launcher.h"

typedef struct rendezvous rendezvous;

/* Meets the other ranks of l, for at most so many seconds. Each side shows the other that it has
   l's key; who has not is sent away, whatever it says, and keeps nobody waiting. Errors on every
   rank that was there: a rank that does not come, a port that is taken, ranks of different
   WORLD_SIZE, two of one rank; they name the rank and the place. One rank meets nobody. */
phibal_status rendezvous_open(const launcher *l, double seconds, rendezvous **opened);

/* all [ranks][bytes] becomes what every rank has in own [bytes]; all ranks call it with the same
   bytes. Waits as long as the others are there, and for the same seconds at most. Returns null, or
   which rank has ended, or says nothing, or not what only a rank of the job can say: then every
   later call does so at once. */
const char *rendezvous_gather(rendezvous *r, const void *own, size_t bytes, void *all);

/* Null, or which rank has ended; does not wait. Between calls of gather. */
const char *rendezvous_lost(rendezvous *r);

/* The others see this rank end. Null: nothing. */
void rendezvous_close(rendezvous *r);

#endif
