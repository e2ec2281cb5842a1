/* (P2) phi(x) = |x|^p / p for 1 < p < inf; (P2.1) its limit |x|, which is not strictly convex. */
#include "potentials.h"
#include <phibal/acsl/contracts/inside/potentials/lp_static.h>

/* z = sgn(x) |x|^e with the exponent e > 0 in t[1]; uses t[0]. */
static phibal_status odd_power(phibal_enclosure *z, const phibal_enclosure *x,
                               phibal_enclosure *t) {
  //@ assert use_enclosure && open_odd_power;
  phibal_enclosure_abs(&t[0], x);
  TRY(phibal_enclosure_pow(z, &t[0], &t[1]));
  /*@ assert magnitude: same{Pre, Here}(x) && \forall real q, r;
        in{Pre}(t + 1, q) && in{Pre}(x, r) && q > 0.0 ==> in(z, power(\abs(r), q)); */
  //@ assert kept: scratch(t) && only_point_written{Pre, Here}(z, t);
  if (point_sign(x) < 0) phibal_enclosure_neg(z, z);
  return PHIBAL_OK;
}

phibal_status lp_value(phibal_enclosure *z, const phibal_enclosure *x, const phibal_enclosure *p,
                       phibal_enclosure *t) {
  //@ assert use_enclosure;
  phibal_enclosure_abs(&t[0], x);
  TRY(phibal_enclosure_pow(z, &t[0], p));
  /*@ assert power: same{Pre, Here}(p) && \forall real q, r;
        in{Pre}(p, q) && in{Pre}(x, r) ==> in(z, power(\abs(r), q)) && q > 1.0; */
  return phibal_enclosure_div(z, z, p);
}

phibal_status lp_gradient(phibal_enclosure *z, const phibal_enclosure *x, const phibal_enclosure *p,
                          phibal_enclosure *t) {
  //@ assert use_enclosure && use_lp;
  add_integer(&t[1], p, -1);
  /*@ assert exponent: scratch_kept{Pre, Here}(t) && same{Pre, Here}(x) &&
        \forall real q; in{Pre}(p, q) ==> in(t + 1, q - 1.0) && q - 1.0 > 0.0; */
  return odd_power(z, x, t);
}

/* (p-1) |x|^(p-2): at x = 0 it is +inf for p < 2, 1 for p = 2, 0 for p > 2. */
phibal_status lp_second(phibal_enclosure *z, const phibal_enclosure *x, const phibal_enclosure *p,
                        phibal_enclosure *t) {
  //@ assert use_enclosure;
  phibal_enclosure_abs(&t[0], x);
  add_integer(&t[1], p, -2);
  /*@ assert exponent: scratch_kept{Pre, Here}(t) && same{Pre, Here}(p) &&
        \forall real q, r; in{Pre}(p, q) && in{Pre}(x, r) ==>
          in(t, \abs(r)) && in(t + 1, q - 2.0); */
  TRY(phibal_enclosure_pow(&t[2], &t[0], &t[1]));
  /*@ assert power: scratch_kept{Pre, Here}(t) && same{Pre, Here}(p) &&
        \forall real q, r; in{Pre}(p, q) && in{Pre}(x, r) ==>
          (r != 0.0 || 2.0 <= q ? in(t + 2, power(\abs(r), q - 2.0)) : in_plus(t + 2)); */
  add_integer(&t[1], p, -1);
  //@ assert kept: scratch_kept{Pre, Here}(t);
  //@ assert first: \forall real q; in{Pre}(p, q) ==> in(t + 1, q - 1.0) && q - 1.0 > 0.0;
  /*@ assert second: \forall real q, r; in{Pre}(p, q) && in{Pre}(x, r) ==>
        (r != 0.0 || 2.0 <= q ? in(t + 2, power(\abs(r), q - 2.0)) : in_plus(t + 2)); */
  return phibal_enclosure_mul(z, &t[1], &t[2]);
}

/* z = |y|^r with 1/r = (p-1)/p; leaves p-1 in t[1], uses t[0], t[2]. */
static phibal_status conjugate_power(phibal_enclosure *z, const phibal_enclosure *y,
                                     const phibal_enclosure *p, phibal_enclosure *t) {
  //@ assert use_enclosure && use_lp;
  add_integer(&t[1], p, -1);
  /*@ assert divisor: scratch_kept{Pre, Here}(t) && same{Pre, Here}(p) &&
        \forall real q; in{Pre}(p, q) ==> q > 1.0 && in(t + 1, q - 1.0); */
  TRY(phibal_enclosure_div(&t[2], p, &t[1]));
  /*@ assert exponent: scratch_kept{Pre, Here}(t) && same{Pre, Here}(y) &&
        \forall real q; in{Pre}(p, q) ==>
          q > 1.0 && in(t + 1, q - 1.0) && in(t + 2, q / (q - 1.0)); */
  phibal_enclosure_abs(&t[0], y);
  //@ assert kept: scratch_kept{Pre, Here}(t);
  /*@ assert base: (\forall real r; in{Pre}(y, r) ==> in(t, \abs(r))) &&
        \forall real q; in{Pre}(p, q) ==>
          q > 1.0 && in(t + 1, q - 1.0) && in(t + 2, q / (q - 1.0)); */
  return phibal_enclosure_pow(z, &t[0], &t[2]);
}

/* |y|^r / r. */
phibal_status lp_conjugate(phibal_enclosure *z, const phibal_enclosure *y,
                           const phibal_enclosure *p, phibal_enclosure *t) {
  //@ assert use_enclosure;
  TRY(conjugate_power(z, y, p, t));
  TRY(phibal_enclosure_mul(z, z, &t[1]));
  //@ assert kept: scratch(t) && only_point_written{Pre, Here}(z, t) && same{Pre, Here}(p);
  /*@ assert product: \forall real q, r; in{Pre}(p, q) && in{Pre}(y, r) ==>
        q > 1.0 && in(z, power(\abs(r), q / (q - 1.0)) * (q - 1.0)); */
  return phibal_enclosure_div(z, z, p);
}

/* sgn(y) |y|^(r-1), and r - 1 = 1/(p-1). */
phibal_status lp_conjugate_gradient(phibal_enclosure *z, const phibal_enclosure *y,
                                    const phibal_enclosure *p, phibal_enclosure *t) {
  //@ assert use_enclosure && use_lp;
  phibal_enclosure_set_si(&t[0], 1);
  add_integer(&t[2], p, -1);
  //@ assert divisor: in(t, 1.0) && \forall real q; in{Pre}(p, q) ==> in(t + 2, q - 1.0) && q > 1.0;
  TRY(phibal_enclosure_div(&t[1], &t[0], &t[2]));
  /*@ assert exponent: scratch_kept{Pre, Here}(t) && same{Pre, Here}(y) &&
        \forall real q; in{Pre}(p, q) ==> in(t + 1, 1.0 / (q - 1.0)) && q > 1.0; */
  return odd_power(z, y, t);
}

phibal_status lp_one_value(phibal_enclosure *z, const phibal_enclosure *x,
                           const phibal_enclosure *p, phibal_enclosure *t) {
  //@ assert use_enclosure;
  (void)p, (void)t;
  phibal_enclosure_abs(z, x);
  return PHIBAL_OK;
}

phibal_status lp_one_gradient(phibal_enclosure *z, const phibal_enclosure *x,
                              const phibal_enclosure *p, phibal_enclosure *t) {
  //@ assert use_enclosure;
  (void)p, (void)t;
  if (point_sign(x) == 0) return outside_domain("x != 0 (at p = 1 the gradient jumps there)");
  phibal_enclosure_set_si(z, point_sign(x));
  return PHIBAL_OK;
}

phibal_status lp_one_second(phibal_enclosure *z, const phibal_enclosure *x,
                            const phibal_enclosure *p, phibal_enclosure *t) {
  //@ assert use_enclosure;
  TRY(lp_one_gradient(z, x, p, t));
  phibal_enclosure_set_si(z, 0);
  return PHIBAL_OK;
}

/* The indicator of [-1, 1]. */
phibal_status lp_one_conjugate(phibal_enclosure *z, const phibal_enclosure *y,
                               const phibal_enclosure *p, phibal_enclosure *t) {
  //@ assert use_enclosure;
  (void)p, (void)t;
  if (point_compare_magnitude_with_one(y) > 0)
    set_infinity(z);
  else
    phibal_enclosure_set_si(z, 0);
  return PHIBAL_OK;
}

/* On [-1, 1] every subgradient at an inner point is 0; at the ends there are many. */
phibal_status lp_one_conjugate_gradient(phibal_enclosure *z, const phibal_enclosure *y,
                                        const phibal_enclosure *p, phibal_enclosure *t) {
  //@ assert use_enclosure;
  (void)p, (void)t;
  if (point_compare_magnitude_with_one(y) >= 0) return outside_domain("|y| < 1 (at p = 1)");
  phibal_enclosure_set_si(z, 0);
  return PHIBAL_OK;
}
