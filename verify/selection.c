#include "selection.h"
#include <math.h>
#include <string.h>

phibal_status selection_of_row(const routed_rows *s, int64_t row, phibal_reference_token *t) {
  return phibal_reference_token_select(t, &s->router, s->logits + row * s->router.experts, s->bias);
}

static void mark_selected(const int32_t *experts, int32_t k, uint8_t *held) {
  for (int32_t s = 0; s < k; s++) held[experts[s]] = 1;
}

/* a - b in 53 bits and MPFR's exponents. */
static double difference(double a, double b, mpfr_rnd_t rounding, bool half) {
  mpfr_t x, y;
  mpfr_init2(x, 53);
  mpfr_init2(y, 53);
  mpfr_set_d(x, a, MPFR_RNDN);
  mpfr_set_d(y, b, MPFR_RNDN);
  mpfr_sub(x, x, y, rounding);
  if (half) mpfr_div_2ui(x, x, 1, rounding);
  const double to = mpfr_get_d(x, rounding);
  mpfr_clear(x);
  mpfr_clear(y);
  return to;
}

static double largest_outside(const phibal_reference_token *t, const uint8_t *held) {
  double largest = (double)-INFINITY;
  for (int32_t e = 0; e < t->experts; e++)
    if (!held[e] && t->score[e] > largest) largest = t->score[e];
  return largest;
}

double selection_margin(const phibal_reference_token *t) {
  if (t->active == t->experts) return (double)INFINITY;
  uint8_t held[PHIBAL_MAX_EXPERTS] = {0};
  mark_selected(t->selection, t->active, held);
  return difference(t->score[t->selection[t->active - 1]], largest_outside(t, held), MPFR_RNDD,
                    true);
}

int32_t selection_admissible(const phibal_reference_token *t, uint8_t *to) {
  const double cut = t->score[t->selection[t->active - 1]];
  int32_t above = 0, equal = 0;
  for (int32_t e = 0; e < t->experts; e++) {
    above += t->score[e] > cut;
    equal += t->score[e] == cut;
  }
  const bool tied = above + equal > t->active;
  for (int32_t e = 0; e < t->experts; e++)
    to[e] = t->score[e] > cut ? 2 : t->score[e] < cut ? 0 : tied ? 1 : 2;
  return tied ? t->active - above : 0;
}

double selection_gap(const phibal_reference_token *t, const int32_t *experts) {
  uint8_t held[PHIBAL_MAX_EXPERTS] = {0};
  double gap = 0, least = (double)INFINITY;
  for (int32_t s = 0; s < t->active; s++) {
    const int32_t e = experts[s];
    if (e < 0 || e >= t->experts || held[e]) return (double)INFINITY;
    held[e] = 1;
    if (t->score[e] > least) gap = fmax(gap, difference(t->score[e], least, MPFR_RNDU, false));
    least = fmin(least, t->score[e]);
  }
  const double outside = largest_outside(t, held);
  return outside > least ? fmax(gap, difference(outside, least, MPFR_RNDU, false)) : gap;
}
