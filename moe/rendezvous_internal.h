/* What the meeting (rendezvous_meet.c) and what goes on afterwards (rendezvous.c) share. */
#ifndef PHIBAL_MOE_RENDEZVOUS_INTERNAL_H
#define PHIBAL_MOE_RENDEZVOUS_INTERNAL_H

#include "rendezvous.h"

#include <stdbool.h>

struct rendezvous {
  int32_t rank, ranks;
  int *sockets; /* [ranks]: of rank 0, to each of the others; of another, [0] to rank 0. -1: none */
  char lost[160]; /* empty: all are there */
};

/* Sends or receives all of it; false where the other side has ended, or at this time of seconds_now
   (0: never). */
bool rendezvous_send(int socket, const void *data, size_t bytes);
bool rendezvous_receive(int socket, void *data, size_t bytes, double until);

/* Rank 0: until every rank is connected. The others: until rank 0 says so. */
phibal_status rendezvous_await(const launcher *l, double seconds, int *sockets);
phibal_status rendezvous_visit(const launcher *l, double seconds, int *sockets);

#endif
