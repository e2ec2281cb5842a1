/* (P9) phi(x) = log(1 + e^x); its conjugate is the binary negative entropy. */
#include "potentials.h"

/* z = exp(-|x|); uses t[0]. */
static void decay(phibal_enclosure *z, const phibal_enclosure *x, phibal_enclosure *t) {
  phibal_enclosure_abs(&t[0], x);
  phibal_enclosure_neg(&t[0], &t[0]);
  phibal_enclosure_exp(z, &t[0]);
}

/* max(x, 0) + log1p(exp(-|x|)). */
phibal_status softplus_value(phibal_enclosure *z, const phibal_enclosure *x,
                             const phibal_enclosure *a, phibal_enclosure *t) {
  (void)a;
  decay(&t[1], x, t);
  TRY(phibal_enclosure_log1p(z, &t[1]));
  return point_sign(x) > 0 ? phibal_enclosure_add(z, z, x) : PHIBAL_OK;
}

/* 1/(1+u) for x >= 0 and u/(1+u) for x < 0, u = exp(-|x|). */
phibal_status softplus_gradient(phibal_enclosure *z, const phibal_enclosure *x,
                                const phibal_enclosure *a, phibal_enclosure *t) {
  (void)a;
  decay(&t[1], x, t);
  add_integer(&t[2], &t[1], 1);
  if (point_sign(x) >= 0) phibal_enclosure_set_si(&t[1], 1);
  return phibal_enclosure_div(z, &t[1], &t[2]);
}

/* u/(1+u)^2. */
phibal_status softplus_second(phibal_enclosure *z, const phibal_enclosure *x,
                              const phibal_enclosure *a, phibal_enclosure *t) {
  (void)a;
  decay(&t[1], x, t);
  add_integer(&t[2], &t[1], 1);
  TRY(phibal_enclosure_mul(&t[2], &t[2], &t[2]));
  return phibal_enclosure_div(z, &t[1], &t[2]);
}

/* y log y + (1-y) log(1-y), both terms negative; 0 at 0 and at 1. */
phibal_status softplus_conjugate(phibal_enclosure *z, const phibal_enclosure *y,
                                 const phibal_enclosure *a, phibal_enclosure *t) {
  (void)a;
  if (point_sign(y) < 0 || mpfr_cmp_si(y->lo, 1) > 0) {
    set_infinity(z);
    return PHIBAL_OK;
  }
  if (point_sign(y) == 0 || mpfr_cmp_si(y->lo, 1) == 0) {
    phibal_enclosure_set_si(z, 0);
    return PHIBAL_OK;
  }
  TRY(phibal_enclosure_log(&t[0], y));
  TRY(phibal_enclosure_mul(&t[0], &t[0], y));
  phibal_enclosure_neg(&t[1], y);
  TRY(phibal_enclosure_log1p(&t[1], &t[1]));
  subtract_from_integer(&t[2], 1, y);
  TRY(phibal_enclosure_mul(&t[1], &t[1], &t[2]));
  return phibal_enclosure_add(z, &t[0], &t[1]);
}

/* log(y/(1-y)); near y = 1/2, where its terms cancel, log1p((2y-1)/(1-y)). */
phibal_status softplus_conjugate_gradient(phibal_enclosure *z, const phibal_enclosure *y,
                                          const phibal_enclosure *a, phibal_enclosure *t) {
  (void)a;
  if (point_sign(y) <= 0 || mpfr_cmp_si(y->lo, 1) >= 0) return outside_domain("0 < y < 1");
  subtract_from_integer(&t[0], 1, y);
  if (is_between(y, 0.25, 0.75)) {
    multiply_by_power_of_two(&t[1], y, 1);
    add_integer(&t[1], &t[1], -1);
    TRY(phibal_enclosure_div(&t[1], &t[1], &t[0]));
    return phibal_enclosure_log1p(z, &t[1]);
  }
  phibal_enclosure_neg(&t[1], y);
  TRY(phibal_enclosure_log1p(&t[1], &t[1]));
  TRY(phibal_enclosure_log(z, y));
  return phibal_enclosure_sub(z, z, &t[1]);
}
