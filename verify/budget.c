#include "budget.h"
#include "vectors.h"
#include <stdio.h>
#include <string.h>
#include <time.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Every output of a function of one number is certified over all its inputs elsewhere. */
static int weight_of(const operation *o) {
  if (strcmp(o->family, "core") == 0) return 0;
  int weight = 0;
  for (int i = 0; i < OUTPUT_COUNT; i++) weight += operation_owns(o, (output_id)i);
  return weight;
}

static void run_case(budget_share *s, const backend *b, uint64_t seed, tally *tallies) {
  bool pass = s->cases < BUDGET_PASS;
  uint64_t number = operation_number(s->operation, (uint64_t)(s->cases - (pass ? 0 : BUDGET_PASS)));
  if (pass) number += VECTORS_FIRST;
  double start = now();
  if (verify_case(s->operation, b, seed, number, tallies) != PHIBAL_OK) {
    s->broken = true;
    snprintf(s->message, sizeof s->message, "%s", phibal_status_message());
  }
  s->cases++;
  s->seconds += now() - start;
}

/* The one whose turn it is; null where none has any weight. */
static budget_share *choose(budget_share *shares, int n) {
  budget_share *best = NULL;
  for (int i = 0; i < n; i++) {
    budget_share *s = &shares[i];
    if (s->broken || !s->weight) continue;
    if (!best || s->seconds * best->weight < best->seconds * s->weight) best = s;
  }
  return best;
}

void verify_within(budget_share *shares, int n, const backend *b, uint64_t seed, double seconds,
                   tally *tallies) {
  double start = now();
  for (int i = 0; i < n; i++) {
    budget_share *s = &shares[i];
    *s = (budget_share){.operation = s->operation, .weight = weight_of(s->operation)};
    verify_start(s->operation, tallies);
    while (s->cases < BUDGET_PASS && !s->broken) run_case(s, b, seed, tallies);
  }
  for (budget_share *s; now() - start < seconds && (s = choose(shares, n));)
    run_case(s, b, seed, tallies);
}
