#include "compare.h"
#include <math.h>
#include <phibal/rounding.h>
#include <stdio.h>
#include <string.h>

const output_promise *output_describe(output_id id) {
  static const output_promise promises[] = {
#define PHIBAL_OUTPUT(ID, operation, output, measure, bound, slack, equation)                      \
  {operation, output, MEASURE_##measure, bound, slack, equation},
#include <phibal/ops.def>
  };
  return &promises[id];
}

const char *measure_name(output_measure m) {
  static const char *const names[] = {"exact", "ulp32", "ulp64", "componentwise", "fraction"};
  return names[m];
}

const char *measure_unit(output_measure m) {
  static const char *const units[] = {"exact", "ULP", "ULP64", "u|terms|", "of bound"};
  return units[m];
}

shown_error show_error(double error) {
  shown_error shown;
  snprintf(shown.text, sizeof shown.text, fabs(error) < 1e5 ? "%.4f" : "%.3g", error);
  return shown;
}

void tally_start(tally *t, output_id output) {
  memset(t, 0, sizeof *t);
  t->output = output;
}

void tally_case(tally *t, uint64_t number) {
  t->cases++;
  t->current_case = number;
}

static void record(tally *t, int64_t element, double error, double got, const char *expected) {
  t->elements++;
  bool over = !(error <= output_describe(t->output)->bound);
  t->failures += over;
  /* A NaN error counts as infinite; the first of equals is kept. */
  if (isnan(error)) error = INFINITY;
  if (error > t->worst || (over && t->failures == 1)) {
    t->worst = error;
    t->worst_case = t->current_case;
    t->worst_element = element;
    t->worst_got = got;
    snprintf(t->worst_expected, sizeof t->worst_expected, "%s", expected);
  }
}

void enclosure_distance_up(mpfr_t d, const phibal_enclosure *truth, double got) {
  mpfr_t other;
  mpfr_init2(other, mpfr_get_prec(d));
  mpfr_sub_d(d, truth->lo, got, MPFR_RNDA);
  mpfr_abs(d, d, MPFR_RNDU);
  mpfr_sub_d(other, truth->hi, got, MPFR_RNDA);
  mpfr_abs(other, other, MPFR_RNDU);
  mpfr_max(d, d, other, MPFR_RNDU);
  mpfr_clear(other);
}

/* The unit in the last place of the smallest member, so that no error looks smaller than it is. */
static double truth_ulp(const phibal_enclosure *truth, phibal_format format) {
  double lo = fabs(mpfr_get_d(truth->lo, MPFR_RNDZ)), hi = fabs(mpfr_get_d(truth->hi, MPFR_RNDZ));
  if (mpfr_sgn(truth->lo) * mpfr_sgn(truth->hi) < 0) lo = 0;
  return phibal_format_ulp(format, lo < hi ? lo : hi);
}

/* The error of `got` in the promise's measure, rounded up. */
static double measured_error(const output_promise *p, const phibal_enclosure *truth,
                             const phibal_enclosure *terms, double got) {
  if (isnan(got) || (terms == NULL && p->measure >= MEASURE_COMPONENTWISE)) return INFINITY;
  if (isinf(got)) {
    /* Right only where every member rounds to that infinity. */
    double nearest;
    phibal_format format =
        p->measure == MEASURE_ULP64 ? PHIBAL_FORMAT_BINARY64 : PHIBAL_FORMAT_BINARY32;
    return phibal_round_enclosure(truth, format, PHIBAL_ROUND_NEAREST, &nearest) && nearest == got
               ? 0
               : INFINITY;
  }
  mpfr_t d, allowed;
  mpfr_init2(d, 64);
  mpfr_init2(allowed, 64);
  enclosure_distance_up(d, truth, got);
  if (p->slack > 0 && terms) {
    mpfr_mul_d(allowed, terms->hi, p->slack, MPFR_RNDD);
    mpfr_sub(d, d, allowed, MPFR_RNDU);
    if (mpfr_sgn(d) < 0) mpfr_set_zero(d, 1);
  }
  switch (p->measure) {
  case MEASURE_ULP32:
    mpfr_div_d(d, d, truth_ulp(truth, PHIBAL_FORMAT_BINARY32), MPFR_RNDU);
    break;
  case MEASURE_ULP64:
    mpfr_div_d(d, d, truth_ulp(truth, PHIBAL_FORMAT_BINARY64), MPFR_RNDU);
    break;
  case MEASURE_COMPONENTWISE:
  case MEASURE_FRACTION:
    /* 0 terms allow no error; results in the subnormal range may lose half their unit. */
    if (mpfr_zero_p(d)) break;
    if (p->measure == MEASURE_COMPONENTWISE) mpfr_sub_d(d, d, 0x1p-150, MPFR_RNDU);
    if (mpfr_sgn(d) <= 0) {
      mpfr_set_zero(d, 1);
      break;
    }
    mpfr_div(d, d, terms->lo, MPFR_RNDU);
    if (p->measure == MEASURE_COMPONENTWISE) mpfr_mul_2si(d, d, 24, MPFR_RNDU);
    break;
  case MEASURE_EXACT:
    break;
  }
  double error = mpfr_get_d(d, MPFR_RNDU);
  mpfr_clear(d);
  mpfr_clear(allowed);
  return error;
}

void promise_allowance(const output_promise *p, const phibal_enclosure *truth,
                       const phibal_enclosure *terms, mpfr_ptr allowed) {
  mpfr_set_zero(allowed, 1);
  switch (p->measure) {
  case MEASURE_ULP32:
    mpfr_set_d(allowed, p->bound * truth_ulp(truth, PHIBAL_FORMAT_BINARY32), MPFR_RNDD);
    break;
  case MEASURE_ULP64:
    mpfr_set_d(allowed, truth_ulp(truth, PHIBAL_FORMAT_BINARY64), MPFR_RNDD);
    mpfr_mul_d(allowed, allowed, p->bound, MPFR_RNDD);
    break;
  case MEASURE_COMPONENTWISE:
  case MEASURE_FRACTION:
    mpfr_mul_d(allowed, terms->lo, p->bound, MPFR_RNDD);
    if (p->measure == MEASURE_FRACTION) break;
    mpfr_mul_2si(allowed, allowed, -24, MPFR_RNDD);
    mpfr_add_d(allowed, allowed, 0x1p-150, MPFR_RNDD);
    break;
  case MEASURE_EXACT:
    break;
  }
  if (p->slack > 0 && terms) {
    mpfr_t slack;
    mpfr_init2(slack, 64);
    mpfr_mul_d(slack, terms->hi, p->slack, MPFR_RNDD);
    mpfr_add(allowed, allowed, slack, MPFR_RNDD);
    mpfr_clear(slack);
  }
}

void tally_real(tally *t, int64_t element, const phibal_enclosure *truth,
                const phibal_enclosure *terms, double got) {
  double error = measured_error(output_describe(t->output), truth, terms, got);
  char expected[96] = "";
  /* Only what will be kept is formatted. */
  if (error > t->worst) mpfr_snprintf(expected, sizeof expected, "%.12Rg", truth->lo);
  record(t, element, error, got, expected);
}

void tally_within(tally *t, int64_t element, double expected, double bound, double got) {
  char text[32];
  double promised = output_describe(t->output)->bound;
  double error = bound > 0 ? fabs(got - expected) / bound * promised : (double)INFINITY;
  if (got == expected || (isnan(got) && isnan(expected))) error = 0;
  if (isnan(error)) error = (double)INFINITY;
  snprintf(text, sizeof text, "%.12g", expected);
  record(t, element, error, got, text);
}

void tally_exact(tally *t, int64_t element, double expected, double got) {
  char text[32];
  snprintf(text, sizeof text, "%.12g", expected);
  record(t, element, expected == got ? 0 : (double)INFINITY, got, text);
}

void tally_integer(tally *t, int64_t element, int64_t expected, int64_t got) {
  char text[32];
  snprintf(text, sizeof text, "%lld", (long long)expected);
  record(t, element, expected == got ? 0 : INFINITY, (double)got, text);
}
