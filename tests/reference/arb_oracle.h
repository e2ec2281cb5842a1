/* Holding enclosures against Arb, an independent implementation of ball arithmetic.

   A `truth` is an Arb ball known to contain the real number in question. Compute it from exact
   inputs at 64 bits or more beyond the precision of the enclosure (more where terms cancel), so
   that its radius is next to nothing in the enclosure's units in the last place: an end that was
   rounded inward misses the number by a good fraction of a unit, and is then seen to. A ball that
   says nothing (NaN, or an infinite radius) never passes. The one infinite truth is an exact
   infinity. */
#ifndef PHIBAL_TESTS_ARB_ORACLE_H
#define PHIBAL_TESTS_ARB_ORACLE_H

#include <phibal/enclosure.h>
#include <arb.h>
#include <stdbool.h>

/* a = x, exactly. */
static inline void oracle_set_fr(arb_t a, mpfr_srcptr x) {
  arf_set_mpfr(arb_midref(a), x);
  mag_zero(arb_radref(a));
}

/* a = the exact rational q, to precision bits. */
static inline void oracle_set_q(arb_t a, mpq_srcptr q, slong precision) {
  fmpq_t f;
  fmpq_init(f);
  fmpq_set_mpq(f, q);
  arb_set_fmpq(a, f, precision);
  fmpq_clear(f);
}

static inline bool oracle_says_something(const arb_t truth) {
  return arb_is_finite(truth) || (arf_is_inf(arb_midref(truth)) && arb_is_exact(truth));
}

/* Bits kept of a ball's ends, which are rounded outward to it: the exact ends may have a gap of
   billions of bits between midpoint and radius. Far beyond any precision under test. */
enum { ORACLE_END_PRECISION = 1 << 14 };

/* x = a rounded in `direction` (MPFR_RNDD or MPFR_RNDU), which at either end of MPFR's exponents
   says whether the largest number or infinity, 0 or the least number (arf_get_mpfr does not). */
static inline void oracle_get_fr(mpfr_ptr x, const arf_t a, mpfr_rnd_t direction) {
  bool outward = direction == (arf_sgn(a) < 0 ? MPFR_RNDD : MPFR_RNDU);
  if (!arf_is_finite(a) || arf_is_zero(a)) {
    arf_get_mpfr(x, a, direction);
  } else if (arf_cmpabs_2exp_si(a, mpfr_get_emax()) >= 0) {
    mpfr_set_inf(x, arf_sgn(a));
    if (!outward) arf_sgn(a) < 0 ? mpfr_nextabove(x) : mpfr_nextbelow(x);
  } else if (arf_cmpabs_2exp_si(a, mpfr_get_emin() - 1) < 0) {
    mpfr_set_zero(x, arf_sgn(a));
    if (outward) arf_sgn(a) < 0 ? mpfr_nextbelow(x) : mpfr_nextabove(x);
  } else {
    arf_get_mpfr(x, a, direction);
  }
}

/* The ends of a ball rounded to an MPFR number that the caller has initialised. */
static inline void oracle_lower_end(mpfr_ptr lo, const arb_t truth, mpfr_rnd_t direction) {
  arf_t end;
  arf_init(end);
  arb_get_lbound_arf(end, truth, ORACLE_END_PRECISION);
  oracle_get_fr(lo, end, direction);
  arf_clear(end);
}

static inline void oracle_upper_end(mpfr_ptr hi, const arb_t truth, mpfr_rnd_t direction) {
  arf_t end;
  arf_init(end);
  arb_get_ubound_arf(end, truth, ORACLE_END_PRECISION);
  oracle_get_fr(hi, end, direction);
  arf_clear(end);
}

/* x compared with the lower (upper) end of the ball: negative, 0, positive. */
static inline int oracle_compare_lower(mpfr_srcptr x, const arb_t truth) {
  arf_t a, end;
  arf_init(a);
  arf_init(end);
  arf_set_mpfr(a, x);
  arb_get_lbound_arf(end, truth, ORACLE_END_PRECISION);
  int order = arf_cmp(a, end);
  arf_clear(a);
  arf_clear(end);
  return order;
}

static inline int oracle_compare_upper(mpfr_srcptr x, const arb_t truth) {
  arf_t a, end;
  arf_init(a);
  arf_init(end);
  arf_set_mpfr(a, x);
  arb_get_ubound_arf(end, truth, ORACLE_END_PRECISION);
  int order = arf_cmp(a, end);
  arf_clear(a);
  arf_clear(end);
  return order;
}

/* The number in the ball can be in z: z meets the ball. With a ball as narrow as said above, this
   is containment but for exact results, which a ball with a radius can not show. */
static inline bool oracle_contains(const phibal_enclosure *z, const arb_t truth) {
  return oracle_says_something(truth) && mpfr_lessequal_p(z->lo, z->hi) &&
         oracle_compare_upper(z->lo, truth) <= 0 && oracle_compare_lower(z->hi, truth) >= 0;
}

/* Stricter, for inexact results: the whole ball is in z. */
static inline bool oracle_contains_ball(const phibal_enclosure *z, const arb_t truth) {
  return oracle_says_something(truth) && oracle_compare_lower(z->lo, truth) <= 0 &&
         oracle_compare_upper(z->hi, truth) >= 0;
}

/* `end` is the number in the ball rounded correctly to end's precision in `direction` (MPFR_RNDD or
   MPFR_RNDU): between what the two ends of the ball round to, which are the same number unless the
   ball holds a number of that precision. */
static inline bool oracle_end_is_rounded(mpfr_srcptr end, mpfr_rnd_t direction, const arb_t truth) {
  if (!oracle_says_something(truth)) return false;
  mpfr_t lower, upper;
  mpfr_inits2(mpfr_get_prec(end), lower, upper, (mpfr_ptr)0);
  oracle_lower_end(lower, truth, direction);
  oracle_upper_end(upper, truth, direction);
  bool rounded = mpfr_lessequal_p(lower, end) && mpfr_lessequal_p(end, upper);
  mpfr_clears(lower, upper, (mpfr_ptr)0);
  return rounded;
}

/* hi - lo, rounded up, in units in the last place of the end of larger magnitude; 0 for a point,
   infinite if an end is. A result with nothing lost has at most 1. */
static inline double oracle_width_in_ulps(const phibal_enclosure *z) {
  if (mpfr_equal_p(z->lo, z->hi)) return 0.0;
  mpfr_srcptr larger = mpfr_cmpabs(z->lo, z->hi) > 0 ? z->lo : z->hi;
  if (!mpfr_number_p(larger)) return 1.0 / 0.0;
  mpfr_t width;
  mpfr_init2(width, 53);
  mpfr_sub(width, z->hi, z->lo, MPFR_RNDU);
  mpfr_mul_2si(width, width, (long)mpfr_get_prec(larger) - (long)mpfr_get_exp(larger), MPFR_RNDU);
  double ulps = mpfr_get_d(width, MPFR_RNDU);
  mpfr_clear(width);
  return ulps;
}

#endif
