/* (P7) phi(x) = sqrt(x^2 + delta^2) - delta. */
#include "potentials.h"

/* z = sqrt(x^2 + delta^2); uses t[0], t[1]. */
static phibal_status hypotenuse(phibal_enclosure *z, const phibal_enclosure *x,
                                const phibal_enclosure *delta, phibal_enclosure *t) {
  TRY(phibal_enclosure_mul(&t[0], x, x));
  TRY(phibal_enclosure_mul(&t[1], delta, delta));
  TRY(phibal_enclosure_add(&t[0], &t[0], &t[1]));
  return phibal_enclosure_sqrt(z, &t[0]);
}

/* x^2 / (sqrt(x^2 + delta^2) + delta), where nothing cancels. */
phibal_status pseudo_huber_value(phibal_enclosure *z, const phibal_enclosure *x,
                                 const phibal_enclosure *delta, phibal_enclosure *t) {
  TRY(hypotenuse(&t[2], x, delta, t));
  TRY(phibal_enclosure_add(&t[2], &t[2], delta));
  TRY(phibal_enclosure_mul(&t[0], x, x));
  return phibal_enclosure_div(z, &t[0], &t[2]);
}

phibal_status pseudo_huber_gradient(phibal_enclosure *z, const phibal_enclosure *x,
                                    const phibal_enclosure *delta, phibal_enclosure *t) {
  TRY(hypotenuse(&t[2], x, delta, t));
  return phibal_enclosure_div(z, x, &t[2]);
}

/* delta^2 / (x^2 + delta^2)^(3/2); hypotenuse leaves x^2 + delta^2 and delta^2 in t[0], t[1]. */
phibal_status pseudo_huber_second(phibal_enclosure *z, const phibal_enclosure *x,
                                  const phibal_enclosure *delta, phibal_enclosure *t) {
  TRY(hypotenuse(&t[2], x, delta, t));
  TRY(phibal_enclosure_mul(&t[2], &t[2], &t[0]));
  return phibal_enclosure_div(z, &t[1], &t[2]);
}

/* z = sqrt(1 - y^2) = sqrt((1 - |y|)(1 + |y|)) for |y| <= 1; uses t[0], t[1]. */
static phibal_status cosine(phibal_enclosure *z, const phibal_enclosure *y, phibal_enclosure *t) {
  subtract_from_integer(&t[0], 1, y);
  add_integer(&t[1], y, 1);
  TRY(phibal_enclosure_mul(&t[0], &t[0], &t[1]));
  return phibal_enclosure_sqrt(z, &t[0]);
}

/* delta - delta sqrt(1 - y^2) = delta y^2 / (1 + sqrt(1 - y^2)): delta at |y| = 1. */
phibal_status pseudo_huber_conjugate(phibal_enclosure *z, const phibal_enclosure *y,
                                     const phibal_enclosure *delta, phibal_enclosure *t) {
  if (point_compare_magnitude_with_one(y) > 0) {
    set_infinity(z);
    return PHIBAL_OK;
  }
  TRY(cosine(&t[2], y, t));
  add_integer(&t[2], &t[2], 1);
  TRY(phibal_enclosure_mul(&t[0], y, y));
  TRY(phibal_enclosure_mul(&t[0], &t[0], delta));
  return phibal_enclosure_div(z, &t[0], &t[2]);
}

phibal_status pseudo_huber_conjugate_gradient(phibal_enclosure *z, const phibal_enclosure *y,
                                              const phibal_enclosure *delta, phibal_enclosure *t) {
  if (point_compare_magnitude_with_one(y) >= 0) return outside_domain("|y| < 1");
  TRY(cosine(&t[2], y, t));
  TRY(phibal_enclosure_mul(&t[0], y, delta));
  return phibal_enclosure_div(z, &t[0], &t[2]);
}
