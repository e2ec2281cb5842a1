/* Selections (R2) of a routing case, and those that could stand in their place: how far scores must
   change, in the largest change of one of them, for a token to be routed so. A selection
   S(1) .. S(k) is that of scores at most X away, in some order of ties, if and only if

     v_j - v_S(s) <= 2 X  for each s, and each j behind it: S(s+1) .. S(k) and all not selected

   (each score of a pair moves by half their gap; clamping v to its running maximum from behind and
   minimum from before moves none by more than half the largest gap). With X = 0 these are the
   selections that differ in the order of equal scores alone.

   In groups (R2g) a set C of g groups is selected first, by sums of n scores, and S from C, where j
   above is one of C. The experts outside of C are best at v - X. Those of C are best where they are
   greatest, which makes all sums the greatest as well, and the greatest scores that select S are

     w_S(s) = min(v_S(1), .., v_S(s)) + X  and  w_j = min(v_j + X, w_S(k))  for the others,

   if none of them is below v - X. So S is a selection if C has its groups and the least sum of w in
   C is not below the greatest sum of v - X outside. */
#ifndef PHIBAL_VERIFY_SELECTION_H
#define PHIBAL_VERIFY_SELECTION_H

#include <phibal/reference_moe.h>
#include <stdbool.h>
#include <string.h>

/* Whether an operation with logits selects experts of its own, unless its parameter `selection`
   says that they are given. */
static inline bool selection_is_made(const char *name, const char *selection) {
  static const char *const all[] = {"router-forward", "loads",       "sequence-loss",
                                    "balance-step",   "switch-step", "described-router"};
  if (selection && strcmp(selection, "given") == 0) return false;
  for (int i = 0; i < 6; i++)
    if (strcmp(name, all[i]) == 0) return true;
  return false;
}

/* The texts of cases, by phibal_gate, phibal_group_score and phibal_score. */
extern const char *const selection_gates[4], *const selection_group_scores[4],
                                                 *const selection_scores[2];

/* The router of a case's parameters, as far as they decide about a selection; null texts where it
   has none, as softmax routers without groups. */
phibal_router selection_router(int32_t experts, int32_t active, const char *gate, const char *score,
                               const char *group_score, int64_t groups, int64_t active_groups);

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

/* Bits of the tokens below: with so many it is certain which numbers are compared. */
static inline mpfr_prec_t selection_precision(const phibal_router *router) {
  return router->score == PHIBAL_SCORE_PROBABILITY || router->gate == PHIBAL_GATE_SQRT_SOFTPLUS
             ? 256
             : 96;
}

/* What is compared of a token, and what (R2) makes of it. */
typedef struct compared_scores {
  int32_t experts, active;
  int32_t groups, active_groups, summed; /* 0 without groups */
  double score[PHIBAL_MAX_EXPERTS];
  int32_t selection[PHIBAL_MAX_EXPERTS]; /* [k] */
} compared_scores;

/* Of a row that is no padding. t is scratch. */
phibal_status selection_of_row(const routed_rows *s, int64_t row, phibal_reference_token *t,
                               compared_scores *to);

/* Half the gap between the scores on both sides of the cut, rounded down: scores nearer than this
   to the token's select the same experts. With groups it is that of the groups that are selected,
   or if it is less the gap between the sums on both sides of the groups' cut over 2 n; so, but for
   the rounding of sums, scores that are nearer select the same ones. Infinite for k = E. */
double selection_margin(const compared_scores *c);

/* What is in each selection that differs in ties alone (2), in some (1), in none (0): to[E].
   Returns how many of those marked 1 each such selection has. */
int32_t selection_admissible(const compared_scores *c, uint8_t *to);

/* Whether scores at most x away select experts[k], in some order of ties; with x > 0 they may be an
   ULP of binary64 further. False if they are not k different experts. */
bool selection_admits(const compared_scores *c, const int32_t *experts, double x);

/* count[E] of slots; -1 is padding. */
static inline void selection_count(const int32_t *experts, int64_t slots, int32_t E,
                                   int64_t *count) {
  for (int32_t e = 0; e < E; e++) count[e] = 0;
  for (int64_t i = 0; i < slots; i++)
    if (experts[i] >= 0) count[experts[i]]++;
}

#endif
