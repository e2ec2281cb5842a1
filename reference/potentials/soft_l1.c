/* (P3) phi(x) = |x| - delta log(|x|/delta + 1). */
#include "potentials.h"
#include <phibal/acsl/contracts/inside/enclosure_success.h>
#include <phibal/acsl/contracts/inside/potentials/soft_l1_static.h>

/* Below 2^-(precision + this) two terms of the series say all that the precision can hold. */
enum { SERIES_MARGIN = 8 };

/* z holds g(s) = s - log(1+s) for |s| < 1/2 so small that the direct difference would need far more
   bits: |g(s) - s^2/2| <= |s|^3/3 (1 + |s| + |s|^2 + ...) <= |s|^3. */
static void remainder_of_small(phibal_enclosure *z, mpfr_srcptr s) {
  //@ assert powers: open_enclosure && use_remainder && power_of_two(1) == 2.0;
  mpfr_t cube;
  mpfr_init2(cube, mpfr_get_prec(z->hi));
  mpfr_abs(cube, s, MPFR_RNDU);
  //@ assert magnitude: mkind(cube[0].number) == 1 || \abs(mval(s->number)) <= mval(cube[0].number);
  mpfr_pow_ui(cube, cube, 3, MPFR_RNDU);
  /*@ assert third: above(cube[0].number, \abs(mval(s->number)) * \abs(mval(s->number)) *
        \abs(mval(s->number))); */
  mpfr_sqr(z->lo, s, MPFR_RNDD);
  mpfr_div_2ui(z->lo, z->lo, 1, MPFR_RNDD);
  //@ assert less: below(z->lo[0].number, mval(s->number) * mval(s->number) / 2.0);
  mpfr_sub(z->lo, z->lo, cube, MPFR_RNDD);
  //@ assert least: below(z->lo[0].number, remainder(mval(s->number)));
  mpfr_sqr(z->hi, s, MPFR_RNDU);
  mpfr_div_2ui(z->hi, z->hi, 1, MPFR_RNDU);
  //@ assert more: above(z->hi[0].number, mval(s->number) * mval(s->number) / 2.0);
  mpfr_add(z->hi, z->hi, cube, MPFR_RNDU);
  //@ assert most: above(z->hi[0].number, remainder(mval(s->number)));
  mpfr_clear(cube);
}

/* z holds g(s), by a logarithm of so many bits. */
static void remainder_by_log1p(phibal_enclosure *z, mpfr_srcptr s, mpfr_prec_t precision) {
  //@ assert open_enclosure && open_remainder;
  mpfr_t logarithm;
  mpfr_init2(logarithm, precision);
  mpfr_log1p(logarithm, s, MPFR_RNDU);
  mpfr_sub(z->lo, s, logarithm, MPFR_RNDD);
  mpfr_log1p(logarithm, s, MPFR_RNDD);
  mpfr_sub(z->hi, s, logarithm, MPFR_RNDU);
  mpfr_clear(logarithm);
}

/* z holds g(s) for one s, and is +inf for s <= -1 and for s = +inf. Where |s| = 2^e is small, g is
   about s^2/2 = s 2^(e-1): the difference loses 1-e leading bits relative to s, and the logarithm
   is taken with as many more. No number has a quarter of the greatest precision. */
static void remainder_at(phibal_enclosure *z, mpfr_srcptr s) {
  //@ assert open_enclosure && open_remainder;
  if (mpfr_zero_p(s)) {
    phibal_enclosure_set_si(z, 0);
    return;
  }
  if (mpfr_inf_p(s) || mpfr_cmp_si(s, -1) <= 0) {
    set_infinity(z);
    return;
  }
  mpfr_prec_t precision = mpfr_get_prec(z->lo);
  if (precision > MPFR_PREC_MAX / 4) precision = MPFR_PREC_MAX / 4;
  mpfr_exp_t exponent = mpfr_get_exp(s);
  if (exponent < -(precision + SERIES_MARGIN)) {
    //@ assert small: use_powers_of_two && \abs(mval(s->number)) < 0.5;
    remainder_of_small(z, s);
    return;
  }
  remainder_by_log1p(z, s, precision + SERIES_MARGIN + (exponent < 0 ? -exponent : 0));
}

/* z = s - log(1+s) for s in (-1, 0] or in [0, inf), on each of which it is monotone; t is a
   temporary. Taken at both ends of s, which would else count twice and not cancel. */
static void remainder_of_log1p(phibal_enclosure *z, const phibal_enclosure *s,
                               phibal_enclosure *t) {
  //@ assert open_enclosure && use_enclosure && use_remainder;
  remainder_at(t, s->lo);
  remainder_at(z, s->hi);
  /*@ assert rising: nonnegative{Pre}(s) ==> \forall real r; in{Pre}(s, r) ==>
        in(t, remainder(mval(\at(s->lo[0].number, Pre)))) &&
        remainder(mval(\at(s->lo[0].number, Pre))) <= remainder(r) &&
        (mkind(\at(s->hi[0].number, Pre)) == 0 ?
          in(z, remainder(mval(\at(s->hi[0].number, Pre)))) &&
          remainder(r) <= remainder(mval(\at(s->hi[0].number, Pre))) : in_plus(z)); */
  /*@ assert falling: nonpositive{Pre}(s) ==> \forall real r; in{Pre}(s, r) && r > -1.0 ==>
        in(z, remainder(mval(\at(s->hi[0].number, Pre)))) &&
        remainder(mval(\at(s->hi[0].number, Pre))) <= remainder(r) &&
        (mkind(\at(s->lo[0].number, Pre)) == 0 && mval(\at(s->lo[0].number, Pre)) > -1.0 ?
          in(t, remainder(mval(\at(s->lo[0].number, Pre)))) &&
          remainder(r) <= remainder(mval(\at(s->lo[0].number, Pre))) : in_plus(t)); */
  phibal_enclosure_hull(z, z, t);
}

/* delta (s - log(1+s)), s = |x/delta|. */
phibal_status soft_l1_value(phibal_enclosure *z, const phibal_enclosure *x,
                            const phibal_enclosure *delta, phibal_enclosure *t) {
  //@ assert use_enclosure && use_soft_l1;
  TRY(phibal_enclosure_div(&t[0], x, delta));
  phibal_enclosure_abs(&t[1], &t[0]);
  /*@ assert ratio: scratch_kept{Pre, Here}(t) && same{Pre, Here}(delta) &&
        \forall real p, r; in{Pre}(delta, p) && in{Pre}(x, r) ==> in(t + 1, \abs(r / p)); */
  remainder_of_log1p(z, &t[1], &t[2]);
  /*@ assert part: scratch(t) && same{Pre, Here}(delta) && \forall real p, r;
        in{Pre}(delta, p) && in{Pre}(x, r) ==> in(z, remainder(\abs(r / p))); */
  //@ assert kept: only_point_written{Pre, Here}(z, t);
  return phibal_enclosure_mul(z, z, delta);
}

/* It and the second derivative fail only where |x| + delta, rounded outward, holds 0. */
phibal_status soft_l1_gradient(phibal_enclosure *z, const phibal_enclosure *x,
                               const phibal_enclosure *delta, phibal_enclosure *t) {
  //@ assert use_enclosure && use_signs;
  phibal_enclosure_abs(&t[0], x);
  TRY(phibal_enclosure_add(&t[0], &t[0], delta));
  /*@ assert divisor: same{Pre, Here}(x) && \forall real p, r;
        in{Pre}(delta, p) && in{Pre}(x, r) ==> in(t, \abs(r) + p) && \abs(r) + p > 0.0; */
  return phibal_enclosure_div(z, x, &t[0]);
}

phibal_status soft_l1_second(phibal_enclosure *z, const phibal_enclosure *x,
                             const phibal_enclosure *delta, phibal_enclosure *t) {
  //@ assert use_enclosure && use_signs;
  phibal_enclosure_abs(&t[0], x);
  TRY(phibal_enclosure_add(&t[0], &t[0], delta));
  /*@ assert root: same{Pre, Here}(delta) && \forall real p, r;
        in{Pre}(delta, p) && in{Pre}(x, r) ==> in(t, \abs(r) + p) && \abs(r) + p > 0.0; */
  TRY(phibal_enclosure_mul(&t[0], &t[0], &t[0]));
  /*@ assert square: same{Pre, Here}(delta) && \forall real p, r;
        in{Pre}(delta, p) && in{Pre}(x, r) ==> in(t, (\abs(r) + p) * (\abs(r) + p)); */
  /*@ assert divisor: \forall real p, r; in{Pre}(delta, p) && in{Pre}(x, r) ==>
        (\abs(r) + p) * (\abs(r) + p) > 0.0; */
  return phibal_enclosure_div(z, delta, &t[0]);
}

/* delta (s - log(1+s)), s = -|y|: +inf from |y| = 1 on. */
phibal_status soft_l1_conjugate(phibal_enclosure *z, const phibal_enclosure *y,
                                const phibal_enclosure *delta, phibal_enclosure *t) {
  //@ assert use_enclosure && use_soft_l1;
  if (point_compare_magnitude_with_one(y) >= 0) {
    set_infinity(z);
    return PHIBAL_OK;
  }
  phibal_enclosure_abs(&t[0], y);
  phibal_enclosure_neg(&t[0], &t[0]);
  /*@ assert argument: scratch_kept{Pre, Here}(t) && same{Pre, Here}(delta) &&
        \forall real r; in{Pre}(y, r) ==> in(t, -\abs(r)) && \abs(r) < 1.0; */
  remainder_of_log1p(z, &t[0], &t[1]);
  /*@ assert part: scratch(t) && same{Pre, Here}(delta) && \forall real r;
        in{Pre}(y, r) ==> in(z, remainder(-\abs(r))) && \abs(r) < 1.0; */
  //@ assert kept: only_point_written{Pre, Here}(z, t);
  return phibal_enclosure_mul(z, z, delta);
}

phibal_status soft_l1_conjugate_gradient(phibal_enclosure *z, const phibal_enclosure *y,
                                         const phibal_enclosure *delta, phibal_enclosure *t) {
  //@ assert use_enclosure;
  //@ assert open_enclosure && in(y, mval(y->lo[0].number));
  if (point_compare_magnitude_with_one(y) >= 0) return outside_domain("|y| < 1");
  phibal_enclosure_abs(&t[0], y);
  subtract_from_integer(&t[1], 1, &t[0]);
  /*@ assert divisor: scratch_kept{Pre, Here}(t) && same{Pre, Here}(delta) &&
        \forall real r; in{Pre}(y, r) ==> in(t + 1, 1.0 - \abs(r)) && \abs(r) < 1.0; */
  //@ assert sides: without_zero(t + 1) || in(t + 1, 0.0) || !bounded(t + 1);
  TRY(phibal_enclosure_mul(z, y, delta));
  return phibal_enclosure_div(z, z, &t[1]);
}
