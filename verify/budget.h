/* `phibal verify --budget`: as many cases as fit into a time, the most valuable first.

   First each operation's small cases, PASS of them from number VECTORS_FIRST on: every kind of
   every operation, regardless of the time. Then its usual cases 0, 1, 2, ..., the large ones among
   them, one at a time: always the operation whose time so far, divided by its weight, is least. The
   weight is the number of outputs in the catalogue, since each can be wrong; functions of one
   number have weight 0, since `--exhaustive` covers all their inputs. So the same seed gives the
   same cases in the same order for each operation on every machine, and the time determines how
   many. */
#ifndef PHIBAL_VERIFY_BUDGET_H
#define PHIBAL_VERIFY_BUDGET_H

#include "verify.h"

enum { BUDGET_PASS = 24 };

typedef struct budget_share {
  const operation *operation;
  int64_t cases;  /* run, BUDGET_PASS of them small ones */
  double seconds; /* spent */
  int weight;     /* outputs in the catalogue; 0 for functions of one number */
  bool broken;    /* a case could not be run: message says why */
  char message[512];
} budget_share;

/* Fills shares[0 .. n-1] (operation set by the caller) and tallies[OUTPUT_COUNT]. */
void verify_within(budget_share *shares, int n, const backend *b, uint64_t seed, double seconds,
                   tally *tallies);

#endif
