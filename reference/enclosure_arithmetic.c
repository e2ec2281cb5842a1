/* Enclosures under the four operations. A result is least and greatest at ends of the arguments;
   which ends is decided by signs, and a result whose ends would be overwritten while they are still
   needed is first made in a temporary of z's precision. */
#include "enclosure_internal.h"
#include <phibal/acsl/contracts/inside/enclosure_arithmetic_static.h>

static bool holds_minus_infinity(const phibal_enclosure *x) {
  //@ assert open_enclosure;
  return mpfr_inf_p(x->lo) && mpfr_sgn(x->lo) < 0;
}

static bool holds_plus_infinity(const phibal_enclosure *x) {
  //@ assert open_enclosure;
  return mpfr_inf_p(x->hi) && mpfr_sgn(x->hi) > 0;
}

phibal_status phibal_enclosure_add(phibal_enclosure *z, const phibal_enclosure *x,
                                   const phibal_enclosure *y) {
  //@ assert open_enclosure;
  if ((holds_plus_infinity(x) && holds_minus_infinity(y)) ||
      (holds_minus_infinity(x) && holds_plus_infinity(y)))
    return enclosure_undefined_pair(z, "phibal_enclosure_add", x, y,
                                    "hold opposite infinities, whose sum has no meaning");
  mpfr_add(z->lo, x->lo, y->lo, MPFR_RNDD);
  mpfr_add(z->hi, x->hi, y->hi, MPFR_RNDU);
  return PHIBAL_OK;
}

phibal_status phibal_enclosure_sub(phibal_enclosure *z, const phibal_enclosure *x,
                                   const phibal_enclosure *y) {
  //@ assert open_enclosure;
  if ((holds_plus_infinity(x) && holds_plus_infinity(y)) ||
      (holds_minus_infinity(x) && holds_minus_infinity(y)))
    return enclosure_undefined_pair(z, "phibal_enclosure_sub", x, y,
                                    "hold equal infinities, whose difference has no meaning");
  phibal_enclosure t;
  enclosure_temporary(&t, z);
  mpfr_sub(t.lo, x->lo, y->hi, MPFR_RNDD);
  mpfr_sub(t.hi, x->hi, y->lo, MPFR_RNDU);
  enclosure_move(z, &t);
  return PHIBAL_OK;
}

void phibal_enclosure_neg(phibal_enclosure *z, const phibal_enclosure *x) {
  //@ assert open_enclosure;
  phibal_enclosure t;
  enclosure_temporary(&t, z);
  mpfr_neg(t.lo, x->hi, MPFR_RNDD);
  mpfr_neg(t.hi, x->lo, MPFR_RNDU);
  enclosure_move(z, &t);
}

void phibal_enclosure_abs(phibal_enclosure *z, const phibal_enclosure *x) {
  //@ assert open_enclosure;
  if (mpfr_sgn(x->lo) >= 0) {
    phibal_enclosure_set(z, x);
  } else if (mpfr_sgn(x->hi) <= 0) {
    phibal_enclosure_neg(z, x);
  } else {
    mpfr_abs(z->hi, mpfr_cmpabs(x->lo, x->hi) > 0 ? x->lo : x->hi, MPFR_RNDU);
    mpfr_set_zero(z->lo, 1);
  }
}

/* z = [a b rounded down, c d rounded up]; z is apart from all four. */
static void product_ends(phibal_enclosure *z, mpfr_srcptr a, mpfr_srcptr b, mpfr_srcptr c,
                         mpfr_srcptr d) {
  //@ assert open_enclosure && open_times;
  mpfr_mul(z->lo, a, b, MPFR_RNDD);
  mpfr_mul(z->hi, c, d, MPFR_RNDU);
}

/* z = x y where 0 is inside both: the least product is one of two, and so is the greatest. */
static void product_straddling(phibal_enclosure *z, const phibal_enclosure *x,
                               const phibal_enclosure *y) {
  //@ assert open_enclosure && use_times;
  phibal_enclosure t;
  enclosure_temporary(&t, z);
  product_ends(z, x->lo, y->hi, x->lo, y->lo);
  /*@ assert below0: \forall real a, b; a <= 0.0 && in{Pre}(x, a) && in{Pre}(y, b) ==>
        in(z, times(a, b)); */
  product_ends(&t, x->hi, y->lo, x->hi, y->hi);
  /*@ assert above0: \forall real a, b; a >= 0.0 && in{Pre}(x, a) && in{Pre}(y, b) ==>
        in(&t, times(a, b)); */
  phibal_enclosure_hull(z, z, &t);
  phibal_enclosure_clear(&t);
}

/* z = x y with x >= 0. */
static void product_nonnegative(phibal_enclosure *z, const phibal_enclosure *x,
                                const phibal_enclosure *y) {
  //@ assert open_enclosure && use_times;
  product_ends(z, mpfr_sgn(y->lo) >= 0 ? x->lo : x->hi, y->lo, mpfr_sgn(y->hi) >= 0 ? x->hi : x->lo,
               y->hi);
}

/* z = x y with x <= 0. */
static void product_nonpositive(phibal_enclosure *z, const phibal_enclosure *x,
                                const phibal_enclosure *y) {
  //@ assert open_enclosure && use_times;
  product_ends(z, mpfr_sgn(y->hi) >= 0 ? x->lo : x->hi, y->hi, mpfr_sgn(y->lo) >= 0 ? x->hi : x->lo,
               y->lo);
}

phibal_status phibal_enclosure_mul(phibal_enclosure *z, const phibal_enclosure *x,
                                   const phibal_enclosure *y) {
  //@ assert open_enclosure;
  if ((phibal_enclosure_contains_zero(x) && enclosure_has_infinity(y)) ||
      (enclosure_has_infinity(x) && phibal_enclosure_contains_zero(y)))
    return enclosure_undefined_pair(z, "phibal_enclosure_mul", x, y,
                                    "hold 0 and an infinity, whose product has no meaning");
  //@ assert open_times;
  phibal_enclosure t;
  enclosure_temporary(&t, z);
  if (mpfr_sgn(x->lo) >= 0)
    product_nonnegative(&t, x, y);
  else if (mpfr_sgn(x->hi) <= 0)
    product_nonpositive(&t, x, y);
  else if (mpfr_sgn(y->lo) >= 0)
    product_nonnegative(&t, y, x);
  else if (mpfr_sgn(y->hi) <= 0)
    product_nonpositive(&t, y, x);
  else
    product_straddling(&t, x, y);
  /*@ assert product: \forall real a, b; in{Pre}(x, a) && in{Pre}(y, b) ==> in(&t, a * b); */
  enclosure_move(z, &t);
  return PHIBAL_OK;
}

/* z = [a / b rounded down, c / d rounded up]; z is apart from all four. */
static void quotient_ends(phibal_enclosure *z, mpfr_srcptr a, mpfr_srcptr b, mpfr_srcptr c,
                          mpfr_srcptr d) {
  //@ assert open_enclosure && open_times;
  mpfr_div(z->lo, a, b, MPFR_RNDD);
  mpfr_div(z->hi, c, d, MPFR_RNDU);
}

phibal_status phibal_enclosure_div(phibal_enclosure *z, const phibal_enclosure *x,
                                   const phibal_enclosure *y) {
  //@ assert open_enclosure && open_times && use_over;
  if (phibal_enclosure_contains_zero(y))
    return enclosure_undefined(z, "phibal_enclosure_div", y, "as a divisor must not contain 0");
  if (enclosure_has_infinity(x) && enclosure_has_infinity(y))
    return enclosure_undefined_pair(z, "phibal_enclosure_div", x, y,
                                    "hold infinities, whose quotient has no meaning");
  phibal_enclosure t;
  enclosure_temporary(&t, z);
  if (phibal_enclosure_is_positive(y))
    quotient_ends(&t, x->lo, mpfr_sgn(x->lo) >= 0 ? y->hi : y->lo, x->hi,
                  mpfr_sgn(x->hi) >= 0 ? y->lo : y->hi);
  else
    quotient_ends(&t, x->hi, mpfr_sgn(x->hi) >= 0 ? y->hi : y->lo, x->lo,
                  mpfr_sgn(x->lo) >= 0 ? y->lo : y->hi);
  /*@ assert quotient: \forall real a, b; in{Pre}(x, a) && in{Pre}(y, b) ==>
        in(&t, over(a, b)); */
  enclosure_move(z, &t);
  return PHIBAL_OK;
}

phibal_status phibal_enclosure_sum(phibal_enclosure *z, size_t n, const phibal_enclosure *x) {
  //@ assert use_enclosure;
  phibal_enclosure_set_si(z, 0);
  /*@ loop invariant index: 0 <= i <= n;
      loop invariant frame: only_written{Pre, Here}(z);
      loop invariant result: enclosure(z) && bits_kept{Pre, Here}(z);
      loop invariant partial: \forall sequence s; members{Pre}(x, n, s) ==> in(z, sum(s, i));
      loop assigns i, *z;
      loop variant n - i; */
  for (size_t i = 0; i < n; i++) {
    phibal_status status = phibal_enclosure_add(z, z, &x[i]);
    if (status != PHIBAL_OK) return status;
  }
  return PHIBAL_OK;
}
