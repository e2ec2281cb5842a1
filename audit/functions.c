/* Enclosures under the functions that <phibal/enclosure.h> does not have. Monotone functions take
   each end of the result from one end of the argument; the end is computed as an enclosure of a
   point, and its side that points outward is kept. */
#include "functions.h"

static phibal_status undefined(phibal_enclosure *z, const char *message) {
  function_forget(z);
  return phibal_status_set(PHIBAL_ERROR_DOMAIN, "%s", message);
}

/* Guard bits of the value at an end: a few operations are rounded before. */
enum { END_GUARD = 16 };

/* Sets z to an enclosure of a function at the finite or infinite point t. */
typedef void (*at_point)(phibal_enclosure *z, mpfr_srcptr t);

/* end = f(t), rounded outward: downward if `low`. */
static void set_end(mpfr_ptr end, at_point f, mpfr_srcptr t, bool low) {
  phibal_enclosure y;
  phibal_enclosure_init(&y, mpfr_get_prec(end) + END_GUARD);
  f(&y, t);
  mpfr_set(end, low ? y.lo : y.hi, low ? MPFR_RNDD : MPFR_RNDU);
  phibal_enclosure_clear(&y);
}

/* z = f(t), for which f is computed once. */
static void set_both_ends(phibal_enclosure *z, at_point f, mpfr_srcptr t) {
  phibal_enclosure y;
  phibal_enclosure_init(&y, mpfr_get_prec(z->lo) + END_GUARD);
  f(&y, t);
  phibal_enclosure_set(z, &y);
  phibal_enclosure_clear(&y);
}

/* z = [f(a), f(b)]; a and b may be ends of z. */
static void set_ends(phibal_enclosure *z, at_point f, mpfr_srcptr a, mpfr_srcptr b) {
  phibal_enclosure t;
  phibal_enclosure_init(&t, mpfr_get_prec(z->lo));
  if (mpfr_equal_p(a, b)) {
    set_both_ends(&t, f, a);
  } else {
    set_end(t.lo, f, a, true);
    set_end(t.hi, f, b, false);
  }
  phibal_enclosure_swap(z, &t);
  phibal_enclosure_clear(&t);
}

static void increasing(phibal_enclosure *z, at_point f, const phibal_enclosure *x) {
  set_ends(z, f, x->lo, x->hi);
}

/* f is even and grows with |x|. */
static void even(phibal_enclosure *z, at_point f, const phibal_enclosure *x) {
  phibal_enclosure magnitude;
  const mpfr_prec_t lo = mpfr_get_prec(x->lo), hi = mpfr_get_prec(x->hi);
  phibal_enclosure_init(&magnitude, lo > hi ? lo : hi);
  phibal_enclosure_abs(&magnitude, x);
  increasing(z, f, &magnitude);
  phibal_enclosure_clear(&magnitude);
}

static void sinh_at(phibal_enclosure *z, mpfr_srcptr t) {
  mpfr_sinh(z->lo, t, MPFR_RNDD);
  mpfr_sinh(z->hi, t, MPFR_RNDU);
}

static void cosh_at(phibal_enclosure *z, mpfr_srcptr t) {
  mpfr_cosh(z->lo, t, MPFR_RNDD);
  mpfr_cosh(z->hi, t, MPFR_RNDU);
}

void function_sinh(phibal_enclosure *z, const phibal_enclosure *x) {
  increasing(z, sinh_at, x);
}

void function_cosh(phibal_enclosure *z, const phibal_enclosure *x) {
  even(z, cosh_at, x);
}

/* z = e^(scale t) for t of the precision of z or less. */
static void exponential_at(phibal_enclosure *z, mpfr_srcptr t, long scale) {
  mpfr_t u;
  mpfr_init2(u, mpfr_get_prec(t) + 2);
  mpfr_mul_si(u, t, scale, MPFR_RNDN); /* exact: scale is 1, -1 or -2 */
  mpfr_exp(z->lo, u, MPFR_RNDD);
  mpfr_exp(z->hi, u, MPFR_RNDU);
  mpfr_clear(u);
}

/* log(1 + e^t): for t > 0 as t + log(1 + e^-t). Both ends of e^t are >= 0, so that log1p is
   defined. */
static void softplus_at(phibal_enclosure *z, mpfr_srcptr t) {
  const bool positive = mpfr_sgn(t) > 0;
  exponential_at(z, t, positive ? -1 : 1);
  phibal_enclosure_log1p(z, z);
  if (!positive) return;
  mpfr_add(z->lo, z->lo, t, MPFR_RNDD);
  mpfr_add(z->hi, z->hi, t, MPFR_RNDU);
}

void function_softplus(phibal_enclosure *z, const phibal_enclosure *x) {
  increasing(z, softplus_at, x);
}

/* 1/(1 + e^-t): for t < 0 as e^t/(1 + e^t), which keeps its relative accuracy. */
static void sigmoid_at(phibal_enclosure *z, mpfr_srcptr t) {
  const bool negative = mpfr_sgn(t) < 0;
  phibal_enclosure power, sum;
  phibal_enclosure_init(&power, mpfr_get_prec(z->lo));
  phibal_enclosure_init(&sum, mpfr_get_prec(z->lo));
  exponential_at(&power, t, negative ? 1 : -1);
  mpfr_add_ui(sum.lo, power.lo, 1, MPFR_RNDD);
  mpfr_add_ui(sum.hi, power.hi, 1, MPFR_RNDU);
  if (!negative) phibal_enclosure_set_si(&power, 1);
  phibal_enclosure_div(z, &power, &sum);
  phibal_enclosure_clear(&power);
  phibal_enclosure_clear(&sum);
}

void function_sigmoid(phibal_enclosure *z, const phibal_enclosure *x) {
  increasing(z, sigmoid_at, x);
}

/* t - log 2 + log(1 + e^-2t), t > 2: no cancellation, no overflow. */
static void logcosh_far(phibal_enclosure *z, mpfr_srcptr t) {
  phibal_enclosure rest;
  phibal_enclosure_init(&rest, mpfr_get_prec(z->lo));
  exponential_at(&rest, t, -2);
  phibal_enclosure_log1p(&rest, &rest);
  mpfr_const_log2(z->lo, MPFR_RNDU);
  mpfr_const_log2(z->hi, MPFR_RNDD);
  mpfr_sub(z->lo, t, z->lo, MPFR_RNDD);
  mpfr_sub(z->hi, t, z->hi, MPFR_RNDU);
  phibal_enclosure_add(z, z, &rest);
  phibal_enclosure_clear(&rest);
}

/* log(1 + 2 sinh^2(t/2)), t >= 0: loses nothing as t -> 0. */
static void logcosh_near(phibal_enclosure *z, mpfr_srcptr t) {
  mpfr_t half;
  mpfr_init2(half, mpfr_get_prec(t));
  mpfr_div_2ui(half, t, 1, MPFR_RNDN);
  sinh_at(z, half);
  mpfr_sqr(z->lo, z->lo, MPFR_RNDD);
  mpfr_sqr(z->hi, z->hi, MPFR_RNDU);
  mpfr_mul_2ui(z->lo, z->lo, 1, MPFR_RNDD);
  mpfr_mul_2ui(z->hi, z->hi, 1, MPFR_RNDU);
  phibal_enclosure_log1p(z, z);
  mpfr_clear(half);
}

static void logcosh_at(phibal_enclosure *z, mpfr_srcptr t) {
  if (mpfr_cmp_ui(t, 2) > 0)
    logcosh_far(z, t);
  else
    logcosh_near(z, t);
}

void function_logcosh(phibal_enclosure *z, const phibal_enclosure *x) {
  even(z, logcosh_at, x);
}

static int sign_of(mpfr_srcptr t) {
  return (mpfr_sgn(t) > 0) - (mpfr_sgn(t) < 0);
}

void function_sgn(phibal_enclosure *z, const phibal_enclosure *x) {
  const int lo = sign_of(x->lo), hi = sign_of(x->hi);
  mpfr_set_si(z->lo, lo, MPFR_RNDD);
  mpfr_set_si(z->hi, hi, MPFR_RNDU);
}

void function_max(phibal_enclosure *z, const phibal_enclosure *x, const phibal_enclosure *y) {
  mpfr_max(z->lo, x->lo, y->lo, MPFR_RNDD);
  mpfr_max(z->hi, x->hi, y->hi, MPFR_RNDU);
}

/* t log t, t >= 0 */
static void xlogx_at(phibal_enclosure *z, mpfr_srcptr t) {
  if (mpfr_zero_p(t)) {
    phibal_enclosure_set_si(z, 0);
    return;
  }
  phibal_enclosure point;
  phibal_enclosure_init(&point, mpfr_get_prec(t));
  phibal_enclosure_set_fr(&point, t);
  phibal_enclosure_log(z, &point);
  phibal_enclosure_mul(z, z, &point);
  phibal_enclosure_clear(&point);
}

/* Over members on both sides of 1/e, perhaps: from -1/e to the greater end. */
static void xlogx_around_least(phibal_enclosure *z, const phibal_enclosure *x) {
  phibal_enclosure least, ends, other;
  phibal_enclosure_init(&least, mpfr_get_prec(z->lo) + END_GUARD);
  phibal_enclosure_init(&ends, mpfr_get_prec(z->lo));
  phibal_enclosure_init(&other, mpfr_get_prec(z->lo));
  phibal_enclosure_set_si(&least, -1);
  phibal_enclosure_exp(&least, &least);
  const bool above = mpfr_cmp(x->lo, least.hi) >= 0, below = mpfr_cmp(x->hi, least.lo) <= 0;
  set_ends(&ends, xlogx_at, x->lo, x->lo);
  set_ends(&other, xlogx_at, x->hi, x->hi);
  phibal_enclosure_hull(z, &ends, &other);
  phibal_enclosure_neg(&least, &least);
  if (!above && !below) mpfr_min(z->lo, z->lo, least.lo, MPFR_RNDD);
  phibal_enclosure_clear(&least);
  phibal_enclosure_clear(&ends);
  phibal_enclosure_clear(&other);
}

/* Falls to -1/e at 1/e = 0.36787.., and grows from there. */
phibal_status function_xlogx(phibal_enclosure *z, const phibal_enclosure *x) {
  if (mpfr_sgn(x->lo) < 0) return undefined(z, "xlogx of a negative number");
  if (mpfr_cmp_d(x->lo, 0.368) >= 0)
    set_ends(z, xlogx_at, x->lo, x->hi);
  else if (mpfr_cmp_d(x->hi, 0.3678) <= 0)
    set_ends(z, xlogx_at, x->hi, x->lo);
  else
    xlogx_around_least(z, x);
  return PHIBAL_OK;
}

/* 0^n = +inf for n < 0, whatever the sign of the zero. */
static void power_end(mpfr_ptr end, mpfr_srcptr a, mpz_srcptr n, mpfr_rnd_t direction) {
  if (mpfr_zero_p(a) && mpz_sgn(n) < 0)
    mpfr_set_inf(end, 1);
  else
    mpfr_pow_z(end, a, n, direction);
}

/* z = [a^n, b^n]; a and b may be ends of z. */
static void power_ends(phibal_enclosure *z, mpfr_srcptr a, mpfr_srcptr b, mpz_srcptr n) {
  phibal_enclosure t;
  phibal_enclosure_init(&t, mpfr_get_prec(z->lo));
  power_end(t.lo, a, n, MPFR_RNDD);
  power_end(t.hi, b, n, MPFR_RNDU);
  phibal_enclosure_swap(z, &t);
  phibal_enclosure_clear(&t);
}

/* x^n for x >= 0 */
static void power_of_nonnegative(phibal_enclosure *z, const phibal_enclosure *x, mpz_srcptr n) {
  if (mpz_sgn(n) >= 0)
    power_ends(z, x->lo, x->hi, n);
  else
    power_ends(z, x->hi, x->lo, n);
}

/* x^n for odd n */
static phibal_status power_odd(phibal_enclosure *z, const phibal_enclosure *x, mpz_srcptr n) {
  if (mpz_sgn(n) < 0 && phibal_enclosure_contains_zero(x))
    return undefined(z, "a negative odd power of numbers around zero");
  if (mpz_sgn(n) > 0)
    power_ends(z, x->lo, x->hi, n);
  else
    power_ends(z, x->hi, x->lo, n);
  return PHIBAL_OK;
}

phibal_status function_power(phibal_enclosure *z, const phibal_enclosure *x, mpz_srcptr n) {
  if (mpz_sgn(n) == 0 && (mpfr_inf_p(x->lo) || mpfr_inf_p(x->hi)))
    return undefined(z, "infinity to the power 0");
  if (mpfr_sgn(x->lo) >= 0) {
    power_of_nonnegative(z, x, n);
    return PHIBAL_OK;
  }
  if (mpz_odd_p(n)) return power_odd(z, x, n);
  phibal_enclosure magnitude;
  const mpfr_prec_t lo = mpfr_get_prec(x->lo), hi = mpfr_get_prec(x->hi);
  phibal_enclosure_init(&magnitude, lo > hi ? lo : hi);
  phibal_enclosure_abs(&magnitude, x);
  power_of_nonnegative(z, &magnitude, n);
  phibal_enclosure_clear(&magnitude);
  return PHIBAL_OK;
}
