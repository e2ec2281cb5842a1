/* Selections (R2) of a routing case, and those that could stand in their place: how far scores must
   change, in the largest change of one of them, for a token to be routed so. A selection
   S(1) .. S(k) is that of scores at most X away, in some order of ties, if and only if

     v_j - v_S(s) <= 2 X  for each s, and each j behind it: S(s+1) .. S(k) and all not selected

   (each score of a pair moves by half their gap; clamping v to its running maximum from behind and
   minimum from before moves none by more than half the largest gap). With X = 0 these are the
   selections that differ in the order of equal scores alone. */
#ifndef PHIBAL_VERIFY_SELECTION_H
#define PHIBAL_VERIFY_SELECTION_H

#include <phibal/reference_moe.h>
#include <stdbool.h>
#include <string.h>

/* Whether an operation with logits selects experts of its own. */
static inline bool selection_is_made(const char *name) {
  static const char *const all[] = {"router-forward", "loads", "sequence-loss", "balance-step",
                                    "switch-step"};
  for (int i = 0; i < 5; i++)
    if (strcmp(name, all[i]) == 0) return true;
  return false;
}

typedef struct routed_rows {
  phibal_router router;
  int64_t tokens, rows; /* rows: of logits, tokens times layers */
  const float *logits;  /* [rows][E] */
  const float *bias;    /* [E] or null */
  const uint8_t *mask;  /* [tokens] or null */
} routed_rows;

static inline bool routed_padding(const routed_rows *s, int64_t row) {
  return s->mask && !s->mask[row % s->tokens];
}

/* t->score and t->selection of a row that is no padding. */
phibal_status selection_of_row(const routed_rows *s, int64_t row, phibal_reference_token *t);

/* Half the gap between the scores on both sides of the cut, rounded down: scores nearer than this
   to the token's select the same experts. Infinite for k = E. */
double selection_margin(const phibal_reference_token *t);

/* What is in each selection that differs in ties alone (2), in some (1), in none (0): to[E].
   Returns how many of those marked 1 each such selection has. */
int32_t selection_admissible(const phibal_reference_token *t, uint8_t *to);

/* The least 2 X for which experts[k] is admissible, rounded up, so that comparing it with a number
   is exact; infinite if they are not k different experts. */
double selection_gap(const phibal_reference_token *t, const int32_t *experts);

/* count[E] of slots; -1 is padding. */
static inline void selection_count(const int32_t *experts, int64_t slots, int32_t E,
                                   int64_t *count) {
  for (int32_t e = 0; e < E; e++) count[e] = 0;
  for (int64_t i = 0; i < slots; i++)
    if (experts[i] >= 0) count[experts[i]]++;
}

#endif
