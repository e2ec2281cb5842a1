#include "selection.h"
#include <math.h>
#include <phibal/reference_router.h>
#include <string.h>

const char *const selection_gates[] = {"topk-softmax", "probability", "sigmoid", "sqrt-softplus"};
const char *const selection_group_scores[] = {"none", "largest", "two-largest", "share"};
const char *const selection_scores[] = {"of-gate", "probability"};

static int place_of(const char *text, const char *const *names, int n) {
  for (int i = 0; text && i < n; i++)
    if (strcmp(text, names[i]) == 0) return i;
  return -1;
}

phibal_router selection_router(int32_t experts, int32_t active, const char *gate, const char *score,
                               const char *group_score, int64_t groups, int64_t active_groups) {
  const int of_gate = place_of(gate, selection_gates, 4);
  const int of_score = place_of(score, selection_scores, 2);
  const int of_group = place_of(group_score, selection_group_scores, 4);
  const bool fit =
      groups >= 0 && groups <= experts && active_groups >= 0 && active_groups <= groups;
  return (phibal_router){.experts = experts,
                         .active = active,
                         .gate = of_gate < 0 ? PHIBAL_GATE_PROBABILITY : (phibal_gate)of_gate,
                         .scale = 1,
                         .score = of_score < 0 ? PHIBAL_SCORE_OF_GATE : (phibal_score)of_score,
                         .group_score =
                             of_group < 0 ? PHIBAL_GROUP_NONE : (phibal_group_score)of_group,
                         .groups = fit ? (int32_t)groups : -1,
                         .active_groups = fit ? (int32_t)active_groups : -1};
}

/* t->score and t->selection. */
static phibal_status select_row(phibal_reference_token *t, const phibal_router *router,
                                const float *logits, const float *bias) {
  if (router->score == PHIBAL_SCORE_OF_GATE && router->gate != PHIBAL_GATE_SQRT_SOFTPLUS)
    return phibal_reference_token_select(t, router, logits, bias);
  return phibal_reference_router_forward(t, router, logits, bias, NULL);
}

phibal_status selection_of_row(const routed_rows *s, int64_t row, phibal_reference_token *t,
                               compared_scores *to) {
  const phibal_router *router = &s->router;
  const float *logits = s->logits + row * router->experts;
  const int32_t E = router->experts, k = router->active;
  phibal_router ungrouped = *router;
  ungrouped.group_score = PHIBAL_GROUP_NONE;
  ungrouped.groups = ungrouped.active_groups = 0;
  to->experts = E;
  to->active = k;
  to->groups = to->active_groups = to->summed = 0;
  phibal_status status = select_row(t, &ungrouped, logits, s->bias);
  if (status != PHIBAL_OK) return status;
  memcpy(to->score, t->score, sizeof *to->score * (size_t)E);
  if (router->group_score != PHIBAL_GROUP_NONE || router->groups != 0) {
    status = select_row(t, router, logits, s->bias); /* which refuses what are no groups */
    if (status != PHIBAL_OK) return status;
    to->groups = router->groups;
    to->active_groups = router->active_groups;
    to->summed = router->group_score == PHIBAL_GROUP_LARGEST       ? 1
                 : router->group_score == PHIBAL_GROUP_TWO_LARGEST ? 2
                                                                   : k / router->active_groups;
  }
  memcpy(to->selection, t->selection, sizeof *to->selection * (size_t)k);
  return PHIBAL_OK;
}

/* a - b in 53 bits and MPFR's exponents, over a power of two or another number. */
static double difference(double a, double b, mpfr_rnd_t rounding, unsigned long over) {
  mpfr_t x, y;
  mpfr_init2(x, 53);
  mpfr_init2(y, 53);
  mpfr_set_d(x, a, MPFR_RNDN);
  mpfr_set_d(y, b, MPFR_RNDN);
  mpfr_sub(x, x, y, rounding);
  mpfr_div_ui(x, x, over, rounding);
  const double to = mpfr_get_d(x, rounding);
  mpfr_clear(x);
  mpfr_clear(y);
  return to;
}

/* (R2g)'s score of a group: the n largest of its scores, from the largest down. */
static double group_sum(const double *score, int32_t each, int32_t n) {
  bool taken[PHIBAL_MAX_EXPERTS] = {0};
  double sum = 0;
  for (int32_t i = 0; i < n; i++) {
    int32_t best = -1;
    for (int32_t e = 0; e < each; e++)
      if (!taken[e] && (best < 0 || score[e] > score[best])) best = e;
    taken[best] = true;
    sum = i ? sum + score[best] : score[best];
  }
  return sum;
}

/* The groups' sums, and which are ahead of the cut whatever the order of equal ones (2), at it (1)
   or behind it (0). Returns how many at it are selected: all, unless they tie. One group of all
   experts where there are none. */
static int32_t rank_groups(const compared_scores *c, double *sum, uint8_t *rank) {
  const int32_t G = c->groups ? c->groups : 1, each = c->experts / G;
  const int32_t g = c->groups ? c->active_groups : 1;
  int32_t ahead = 0;
  for (int32_t q = 0; q < G; q++)
    sum[q] = c->groups ? group_sum(c->score + q * each, each, c->summed) : 0;
  for (int32_t q = 0; q < G; q++) {
    int32_t above = 0, level = 0;
    for (int32_t i = 0; i < G; i++) above += sum[i] > sum[q], level += sum[i] == sum[q];
    rank[q] = above + level <= g ? 2 : above < g ? 1 : 0;
    ahead += rank[q] == 2;
  }
  return g - ahead;
}

double selection_margin(const compared_scores *c) {
  const int32_t E = c->experts, G = c->groups ? c->groups : 1, each = E / G;
  double sum[PHIBAL_MAX_EXPERTS], cut = (double)INFINITY, behind = (double)-INFINITY;
  uint8_t rank[PHIBAL_MAX_EXPERTS], held[PHIBAL_MAX_EXPERTS] = {0};
  if (c->active == E) return (double)INFINITY;
  if (rank_groups(c, sum, rank) > 0) return 0;
  for (int32_t q = 0; q < G; q++)
    if (rank[q] == 2)
      cut = fmin(cut, sum[q]);
    else
      behind = fmax(behind, sum[q]);
  double margin = (double)INFINITY, outside = (double)-INFINITY;
  if (behind > (double)-INFINITY)
    margin = difference(cut, behind, MPFR_RNDD, 2 * (unsigned long)c->summed);
  for (int32_t s = 0; s < c->active; s++) held[c->selection[s]] = 1;
  for (int32_t e = 0; e < E; e++)
    if (!held[e] && rank[e / each] == 2) outside = fmax(outside, c->score[e]);
  if (outside > (double)-INFINITY)
    margin = fmin(margin, difference(c->score[c->selection[c->active - 1]], outside, MPFR_RNDD, 2));
  return margin;
}

/* How many experts of the selected groups are not below a score, or are above it: the least or the
   most number, over the orders of equal sums, if group `with` is one of those selected. */
static int32_t count_beside(const compared_scores *c, const uint8_t *rank, int32_t open,
                            int32_t with, double score, bool most) {
  const int32_t G = c->groups ? c->groups : 1, each = c->experts / G;
  int32_t total = 0, left = open, of[PHIBAL_MAX_EXPERTS];
  for (int32_t q = 0; q < G; q++) {
    of[q] = 0;
    for (int32_t e = q * each; e < (q + 1) * each; e++)
      of[q] += most ? c->score[e] >= score : c->score[e] > score;
    if (rank[q] == 2 || q == with) total += of[q];
  }
  left -= rank[with] == 1;
  for (; left > 0; left--) {
    int32_t best = -1;
    for (int32_t q = 0; q < G; q++)
      if (rank[q] == 1 && q != with && of[q] >= 0 &&
          (best < 0 || (most ? of[q] > of[best] : of[q] < of[best])))
        best = q;
    total += of[best];
    of[best] = -1;
  }
  return total;
}

int32_t selection_admissible(const compared_scores *c, uint8_t *to) {
  const int32_t E = c->experts, G = c->groups ? c->groups : 1, each = E / G;
  double sum[PHIBAL_MAX_EXPERTS];
  uint8_t rank[PHIBAL_MAX_EXPERTS];
  const int32_t open = rank_groups(c, sum, rank);
  const double cut = c->score[c->selection[c->active - 1]];
  int32_t always = 0, level = 0;
  for (int32_t e = 0; e < E; e++) {
    if (rank[e / each] == 2) always += c->score[e] > cut, level += c->score[e] == cut;
    to[e] = rank[e / each] < 2 || c->score[e] < cut ? 0 : 2;
  }
  if (open == 0) {
    const bool tied = always + level > c->active;
    for (int32_t e = 0; tied && e < E; e++) to[e] = to[e] && c->score[e] > cut ? 2 : to[e] ? 1 : 0;
    return tied ? c->active - always : 0;
  }
  always = 0;
  for (int32_t e = 0; e < E; e++) {
    const int32_t q = e / each;
    to[e] = 0;
    if (!rank[q]) continue;
    if (count_beside(c, rank, open, q, c->score[e], false) < c->active) to[e] = 1;
    /* The count of those not below it has the expert itself. */
    if (rank[q] == 2 && count_beside(c, rank, open, q, c->score[e], true) <= c->active) to[e] = 2;
    always += to[e] == 2;
  }
  return c->active - always;
}

static double above(double v, double x) {
  return x > 0 ? nextafter(v + x, (double)INFINITY) : v;
}

static double below(double v, double x) {
  return x > 0 ? nextafter(v - x, (double)-INFINITY) : v;
}

/* Whether g groups, `needed` among them, can be selected: within[q] is the greatest sum of a group
   that is, -infinity if it cannot be, outside[q] the least of one that is not. If the greatest sum
   outside is t, all groups with more are in. */
static bool groups_fit(int32_t G, int32_t g, const bool *needed, const double *within,
                       const double *outside) {
  for (int32_t i = -1; i < G; i++) {
    const double t = i < 0 ? (double)-INFINITY : outside[i];
    int32_t must = 0, may = 0;
    bool fits = true;
    for (int32_t q = 0; q < G; q++) {
      const bool has_to = needed[q] || outside[q] > t,
                 can = within[q] > (double)-INFINITY && within[q] >= t;
      must += has_to;
      may += can;
      fits &= can || !has_to;
    }
    if (fits && must <= g && g <= may) return true;
  }
  return false;
}

bool selection_admits(const compared_scores *c, const int32_t *experts, double x) {
  const int32_t E = c->experts, G = c->groups ? c->groups : 1, each = E / G;
  bool held[PHIBAL_MAX_EXPERTS] = {0}, needed[PHIBAL_MAX_EXPERTS] = {0};
  double greatest[PHIBAL_MAX_EXPERTS], least = (double)INFINITY;
  for (int32_t s = 0; s < c->active; s++) { /* by pairs: the gap is at most 2 x */
    const int32_t e = experts[s];
    if (e < 0 || e >= E || held[e]) return false;
    held[e] = needed[e / each] = true;
    if (c->score[e] > least && difference(c->score[e], least, MPFR_RNDU, 1) > 2 * x) return false;
    least = fmin(least, c->score[e]);
    greatest[e] = above(least, x);
  }
  double within[PHIBAL_MAX_EXPERTS], outside[PHIBAL_MAX_EXPERTS], lowered[PHIBAL_MAX_EXPERTS];
  for (int32_t e = 0; e < E; e++) lowered[e] = below(c->score[e], x);
  for (int32_t q = 0; q < G; q++) {
    bool can = true;
    for (int32_t e = q * each; e < (q + 1) * each; e++) {
      if (held[e]) continue;
      can &= c->score[e] <= least || difference(c->score[e], least, MPFR_RNDU, 1) <= 2 * x;
      greatest[e] = fmin(above(c->score[e], x), above(least, x));
    }
    within[q] = !can        ? (double)-INFINITY
                : c->groups ? group_sum(greatest + q * each, each, c->summed)
                            : 0;
    outside[q] = c->groups ? group_sum(lowered + q * each, each, c->summed) : 0;
  }
  return groups_fit(G, c->groups ? c->active_groups : 1, needed, within, outside);
}
