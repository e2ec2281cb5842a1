/* Enclosures under elementary functions. All but the power increase, so that each end of the result
   comes from the same end of the argument; MPFR rounds each correctly in the direction asked for,
   overflow (largest finite number downward, infinity upward) and underflow included. */
#include "enclosure_internal.h"
#include <phibal/acsl/contracts/inside/enclosure_elementary_static.h>

phibal_status phibal_enclosure_sqrt(phibal_enclosure *z, const phibal_enclosure *x) {
  //@ assert open_enclosure && use_sqrt;
  if (mpfr_sgn(x->lo) < 0)
    return enclosure_undefined(z, "phibal_enclosure_sqrt", x, "must not be negative");
  mpfr_sqrt(z->lo, x->lo, MPFR_RNDD);
  mpfr_sqrt(z->hi, x->hi, MPFR_RNDU);
  return PHIBAL_OK;
}

void phibal_enclosure_exp(phibal_enclosure *z, const phibal_enclosure *x) {
  //@ assert open_enclosure && use_exp;
  mpfr_exp(z->lo, x->lo, MPFR_RNDD);
  mpfr_exp(z->hi, x->hi, MPFR_RNDU);
}

void phibal_enclosure_expm1(phibal_enclosure *z, const phibal_enclosure *x) {
  //@ assert open_enclosure && use_exp;
  mpfr_expm1(z->lo, x->lo, MPFR_RNDD);
  mpfr_expm1(z->hi, x->hi, MPFR_RNDU);
}

void phibal_enclosure_tanh(phibal_enclosure *z, const phibal_enclosure *x) {
  //@ assert open_enclosure && use_tanh;
  mpfr_tanh(z->lo, x->lo, MPFR_RNDD);
  mpfr_tanh(z->hi, x->hi, MPFR_RNDU);
}

phibal_status phibal_enclosure_log(phibal_enclosure *z, const phibal_enclosure *x) {
  //@ assert open_enclosure && use_log;
  if (mpfr_sgn(x->lo) < 0)
    return enclosure_undefined(z, "phibal_enclosure_log", x, "must not be negative");
  mpfr_log(z->lo, x->lo, MPFR_RNDD);
  mpfr_log(z->hi, x->hi, MPFR_RNDU);
  return PHIBAL_OK;
}

phibal_status phibal_enclosure_log1p(phibal_enclosure *z, const phibal_enclosure *x) {
  //@ assert open_enclosure && use_log1p;
  //@ assert least: mkind(x->lo[0].number) == 0 ==> in(x, mval(x->lo[0].number));
  if (mpfr_cmp_si(x->lo, -1) < 0)
    return enclosure_undefined(z, "phibal_enclosure_log1p", x, "must not be below -1");
  mpfr_log1p(z->lo, x->lo, MPFR_RNDD);
  mpfr_log1p(z->hi, x->hi, MPFR_RNDU);
  return PHIBAL_OK;
}

/* r = x^y for one x >= 0, rounded; 0^0 = 1 and 0^y = +inf for y < 0 whatever the sign of the zero
   (mpfr_pow makes (-0)^-1 minus infinity). r is apart from both. */
static void power_end(mpfr_ptr r, mpfr_srcptr x, mpfr_srcptr y, mpfr_rnd_t direction) {
  //@ assert open_raised;
  if (!mpfr_zero_p(x))
    mpfr_pow(r, x, y, direction);
  else if (mpfr_sgn(y) > 0)
    mpfr_set_zero(r, 1);
  else if (mpfr_sgn(y) < 0)
    mpfr_set_inf(r, 1);
  else
    mpfr_set_ui(r, 1, direction);
}

/* z = [a^b rounded down, c^d rounded up]; z is apart from all four. */
static void power_ends(phibal_enclosure *z, mpfr_srcptr a, mpfr_srcptr b, mpfr_srcptr c,
                       mpfr_srcptr d) {
  //@ assert open_enclosure;
  power_end(z->lo, a, b, MPFR_RNDD);
  power_end(z->hi, c, d, MPFR_RNDU);
}

static bool at_least_one(mpfr_srcptr x) {
  return mpfr_cmp_ui(x, 1) >= 0;
}

/* z = x^y with y >= 0. */
static void power_nonnegative(phibal_enclosure *z, const phibal_enclosure *x,
                              const phibal_enclosure *y) {
  //@ assert open_enclosure && use_raised;
  power_ends(z, x->lo, at_least_one(x->lo) ? y->lo : y->hi, x->hi,
             at_least_one(x->hi) ? y->hi : y->lo);
}

/* z = x^y with y <= 0. */
static void power_nonpositive(phibal_enclosure *z, const phibal_enclosure *x,
                              const phibal_enclosure *y) {
  //@ assert open_enclosure && use_raised;
  power_ends(z, x->hi, at_least_one(x->hi) ? y->lo : y->hi, x->lo,
             at_least_one(x->lo) ? y->hi : y->lo);
}

/* z = the smaller and the greater of the ends of z and t, and t is gone; neither pair of ends need
   be in order. */
static void join_ends(phibal_enclosure *z, phibal_enclosure *t) {
  //@ assert open_enclosure;
  mpfr_min(z->lo, z->lo, t->lo, MPFR_RNDD);
  mpfr_max(z->hi, z->hi, t->hi, MPFR_RNDU);
  mpfr_clear(t->lo);
  mpfr_clear(t->hi);
}

/* z = x^y with y < 0 < y' in y: growing and falling powers compete at both ends. */
static void power_straddling(phibal_enclosure *z, const phibal_enclosure *x,
                             const phibal_enclosure *y) {
  //@ assert open_enclosure && use_raised && use_raised_mixed;
  phibal_enclosure t;
  enclosure_temporary(&t, z);
  power_ends(z, x->lo, y->hi, x->lo, y->lo);
  /*@ assert small: \forall real a, b; a <= 1.0 && in{Pre}(x, a) && in{Pre}(y, b) &&
        (a > 0.0 || b >= 0.0) ==>
        below(z->lo[0].number, raised(a, b)) && above(z->hi[0].number, raised(a, b)); */
  power_ends(&t, x->hi, y->lo, x->hi, y->hi);
  /*@ assert great: \forall real a, b; a >= 1.0 && in{Pre}(x, a) && in{Pre}(y, b) ==>
        below(t.lo[0].number, raised(a, b)) && above(t.hi[0].number, raised(a, b)); */
  join_ends(z, &t);
  /*@ assert both: \forall real a, b; in{Pre}(x, a) && in{Pre}(y, b) && (a > 0.0 || b >= 0.0) ==>
        below(z->lo[0].number, raised(a, b)) && above(z->hi[0].number, raised(a, b)); */
  //@ assert exponent: in{Pre}(y, 0.0);
  //@ ghost struct mpfr_number *base = x->lo[0].number;
  //@ assert base: in{Pre}(x, mval(base));
  /*@ assert some: below(z->lo[0].number, raised(mval(base), 0.0)) &&
        above(z->hi[0].number, raised(mval(base), 0.0)); */
}

/* x^y = exp(y log x): in x it increases for y >= 0 and decreases for y <= 0, in y it increases for
   x >= 1 and decreases for x <= 1. So for y of one sign an end of x is settled by that sign, and
   then an end of y by which side of 1 that end of x lies on. The conventions at 0 keep these
   monotonies, as limits with 0^0 = 1 between. */
phibal_status phibal_enclosure_pow(phibal_enclosure *z, const phibal_enclosure *x,
                                   const phibal_enclosure *y) {
  //@ assert open_enclosure;
  if (mpfr_sgn(x->lo) < 0)
    return enclosure_undefined(z, "phibal_enclosure_pow", x, "as a base must not be negative");
  if (mpfr_inf_p(x->hi) && phibal_enclosure_contains_zero(y))
    return enclosure_undefined_pair(z, "phibal_enclosure_pow", x, y,
                                    "hold inf and 0, and inf^0 has no meaning");
  if (enclosure_has_infinity(y) && mpfr_cmp_ui(x->lo, 1) <= 0 && at_least_one(x->hi))
    return enclosure_undefined_pair(z, "phibal_enclosure_pow", x, y,
                                    "hold 1 and an infinity, and 1^inf has no meaning");
  phibal_enclosure t;
  enclosure_temporary(&t, z);
  if (mpfr_sgn(y->lo) >= 0)
    power_nonnegative(&t, x, y);
  else if (mpfr_sgn(y->hi) <= 0)
    power_nonpositive(&t, x, y);
  else
    power_straddling(&t, x, y);
  //@ assert open_raised;
  /*@ assert power: \forall real a, b; in{Pre}(x, a) && in{Pre}(y, b) && a >= 0.0 &&
        (a > 0.0 || b >= 0.0) ==> in(&t, power(a, b)); */
  enclosure_move(z, &t);
  return PHIBAL_OK;
}
