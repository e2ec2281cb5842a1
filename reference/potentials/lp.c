/* (P2) phi(x) = |x|^p / p for 1 < p < inf; (P2.1) its limit |x|, which is not strictly convex. */
#include "potentials.h"

/* z = sgn(x) |x|^e with the exponent e in t[1]. */
static phibal_status odd_power(phibal_enclosure *z, const phibal_enclosure *x,
                               phibal_enclosure *t) {
  phibal_enclosure_abs(&t[0], x);
  TRY(phibal_enclosure_pow(z, &t[0], &t[1]));
  if (point_sign(x) < 0) phibal_enclosure_neg(z, z);
  return PHIBAL_OK;
}

phibal_status lp_value(phibal_enclosure *z, const phibal_enclosure *x, const phibal_enclosure *p,
                       phibal_enclosure *t) {
  phibal_enclosure_abs(&t[0], x);
  TRY(phibal_enclosure_pow(z, &t[0], p));
  return phibal_enclosure_div(z, z, p);
}

phibal_status lp_gradient(phibal_enclosure *z, const phibal_enclosure *x, const phibal_enclosure *p,
                          phibal_enclosure *t) {
  add_integer(&t[1], p, -1);
  return odd_power(z, x, t);
}

/* (p-1) |x|^(p-2): at x = 0 it is +inf for p < 2, 1 for p = 2, 0 for p > 2. */
phibal_status lp_second(phibal_enclosure *z, const phibal_enclosure *x, const phibal_enclosure *p,
                        phibal_enclosure *t) {
  phibal_enclosure_abs(&t[0], x);
  add_integer(&t[1], p, -2);
  TRY(phibal_enclosure_pow(&t[2], &t[0], &t[1]));
  add_integer(&t[1], p, -1);
  return phibal_enclosure_mul(z, &t[1], &t[2]);
}

/* |y|^r / r with 1/r = (p-1)/p. */
phibal_status lp_conjugate(phibal_enclosure *z, const phibal_enclosure *y,
                           const phibal_enclosure *p, phibal_enclosure *t) {
  add_integer(&t[1], p, -1);
  TRY(phibal_enclosure_div(&t[2], p, &t[1]));
  phibal_enclosure_abs(&t[0], y);
  TRY(phibal_enclosure_pow(z, &t[0], &t[2]));
  TRY(phibal_enclosure_mul(z, z, &t[1]));
  return phibal_enclosure_div(z, z, p);
}

/* sgn(y) |y|^(r-1), and r - 1 = 1/(p-1). */
phibal_status lp_conjugate_gradient(phibal_enclosure *z, const phibal_enclosure *y,
                                    const phibal_enclosure *p, phibal_enclosure *t) {
  phibal_enclosure_set_si(&t[0], 1);
  add_integer(&t[2], p, -1);
  TRY(phibal_enclosure_div(&t[1], &t[0], &t[2]));
  return odd_power(z, y, t);
}

phibal_status lp_one_value(phibal_enclosure *z, const phibal_enclosure *x,
                           const phibal_enclosure *p, phibal_enclosure *t) {
  (void)p, (void)t;
  phibal_enclosure_abs(z, x);
  return PHIBAL_OK;
}

phibal_status lp_one_gradient(phibal_enclosure *z, const phibal_enclosure *x,
                              const phibal_enclosure *p, phibal_enclosure *t) {
  (void)p, (void)t;
  if (point_sign(x) == 0) return outside_domain("x != 0 (at p = 1 the gradient jumps there)");
  phibal_enclosure_set_si(z, point_sign(x));
  return PHIBAL_OK;
}

phibal_status lp_one_second(phibal_enclosure *z, const phibal_enclosure *x,
                            const phibal_enclosure *p, phibal_enclosure *t) {
  TRY(lp_one_gradient(z, x, p, t));
  phibal_enclosure_set_si(z, 0);
  return PHIBAL_OK;
}

/* The indicator of [-1, 1]. */
phibal_status lp_one_conjugate(phibal_enclosure *z, const phibal_enclosure *y,
                               const phibal_enclosure *p, phibal_enclosure *t) {
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
  (void)p, (void)t;
  if (point_compare_magnitude_with_one(y) >= 0) return outside_domain("|y| < 1 (at p = 1)");
  phibal_enclosure_set_si(z, 0);
  return PHIBAL_OK;
}
