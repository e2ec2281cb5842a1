/* (P3) phi(x) = |x| - delta log(|x|/delta + 1). */
#include "potentials.h"

/* Below 2^-(precision + this) two terms of the series say all that the precision can hold. */
enum { SERIES_MARGIN = 8 };

/* [lo, hi] holds g(s) = s - log(1+s) for |s| < 1/2 so small that the direct difference would need
   far more bits: |g(s) - s^2/2| <= |s|^3/3 (1 + |s| + |s|^2 + ...) <= |s|^3. */
static void remainder_of_small(mpfr_ptr lo, mpfr_ptr hi, mpfr_srcptr s) {
  mpfr_t cube;
  mpfr_init2(cube, mpfr_get_prec(hi));
  mpfr_abs(cube, s, MPFR_RNDU);
  mpfr_pow_ui(cube, cube, 3, MPFR_RNDU);
  mpfr_sqr(lo, s, MPFR_RNDD);
  mpfr_div_2ui(lo, lo, 1, MPFR_RNDD);
  mpfr_sub(lo, lo, cube, MPFR_RNDD);
  mpfr_sqr(hi, s, MPFR_RNDU);
  mpfr_div_2ui(hi, hi, 1, MPFR_RNDU);
  mpfr_add(hi, hi, cube, MPFR_RNDU);
  mpfr_clear(cube);
}

/* [lo, hi] holds g(s) for one s > -1. Where |s| = 2^e is small, g is about s^2/2 = s 2^(e-1): the
   difference loses 1-e leading bits relative to s, and the logarithm is taken with as many more. */
static void remainder_at(mpfr_ptr lo, mpfr_ptr hi, mpfr_srcptr s) {
  if (mpfr_zero_p(s)) {
    mpfr_set_zero(lo, 1);
    mpfr_set_zero(hi, 1);
    return;
  }
  mpfr_prec_t precision = mpfr_get_prec(lo);
  mpfr_exp_t exponent = mpfr_get_exp(s);
  if (exponent < -(precision + SERIES_MARGIN)) {
    remainder_of_small(lo, hi, s);
    return;
  }
  mpfr_t logarithm;
  mpfr_init2(logarithm, precision + SERIES_MARGIN + (exponent < 0 ? -exponent : 0));
  mpfr_log1p(logarithm, s, MPFR_RNDU);
  mpfr_sub(lo, s, logarithm, MPFR_RNDD);
  mpfr_log1p(logarithm, s, MPFR_RNDD);
  mpfr_sub(hi, s, logarithm, MPFR_RNDU);
  mpfr_clear(logarithm);
}

/* z = s - log(1+s) for s in (-1, 0] or in [0, inf), on each of which it is monotone; t is a
   temporary. Taken at both ends of s, which would else count twice and not cancel. */
static void remainder_of_log1p(phibal_enclosure *z, const phibal_enclosure *s,
                               phibal_enclosure *t) {
  remainder_at(t->lo, t->hi, s->lo);
  remainder_at(z->lo, z->hi, s->hi);
  phibal_enclosure_hull(z, z, t);
}

/* delta (s - log(1+s)), s = |x|/delta. */
phibal_status soft_l1_value(phibal_enclosure *z, const phibal_enclosure *x,
                            const phibal_enclosure *delta, phibal_enclosure *t) {
  phibal_enclosure_abs(&t[0], x);
  TRY(phibal_enclosure_div(&t[1], &t[0], delta));
  remainder_of_log1p(z, &t[1], &t[2]);
  return phibal_enclosure_mul(z, z, delta);
}

phibal_status soft_l1_gradient(phibal_enclosure *z, const phibal_enclosure *x,
                               const phibal_enclosure *delta, phibal_enclosure *t) {
  phibal_enclosure_abs(&t[0], x);
  TRY(phibal_enclosure_add(&t[0], &t[0], delta));
  return phibal_enclosure_div(z, x, &t[0]);
}

phibal_status soft_l1_second(phibal_enclosure *z, const phibal_enclosure *x,
                             const phibal_enclosure *delta, phibal_enclosure *t) {
  phibal_enclosure_abs(&t[0], x);
  TRY(phibal_enclosure_add(&t[0], &t[0], delta));
  TRY(phibal_enclosure_mul(&t[0], &t[0], &t[0]));
  return phibal_enclosure_div(z, delta, &t[0]);
}

/* delta (s - log(1+s)), s = -|y|: +inf from |y| = 1 on. */
phibal_status soft_l1_conjugate(phibal_enclosure *z, const phibal_enclosure *y,
                                const phibal_enclosure *delta, phibal_enclosure *t) {
  if (point_compare_magnitude_with_one(y) >= 0) {
    set_infinity(z);
    return PHIBAL_OK;
  }
  phibal_enclosure_abs(&t[0], y);
  phibal_enclosure_neg(&t[0], &t[0]);
  remainder_of_log1p(z, &t[0], &t[1]);
  return phibal_enclosure_mul(z, z, delta);
}

phibal_status soft_l1_conjugate_gradient(phibal_enclosure *z, const phibal_enclosure *y,
                                         const phibal_enclosure *delta, phibal_enclosure *t) {
  if (point_compare_magnitude_with_one(y) >= 0) return outside_domain("|y| < 1");
  phibal_enclosure_abs(&t[0], y);
  subtract_from_integer(&t[1], 1, &t[0]);
  TRY(phibal_enclosure_mul(z, y, delta));
  return phibal_enclosure_div(z, z, &t[1]);
}
