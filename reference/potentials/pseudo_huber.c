/* (P7) phi(x) = sqrt(x^2 + delta^2) - delta. */
#include "potentials.h"
#include <phibal/acsl/contracts/inside/enclosure_success.h>
#include <phibal/acsl/contracts/inside/potentials/pseudo_huber_static.h>

/* z = sqrt(x^2 + delta^2); leaves x^2 + delta^2 in t[0] and delta^2 in t[1]. */
static phibal_status hypotenuse(phibal_enclosure *z, const phibal_enclosure *x,
                                const phibal_enclosure *delta, phibal_enclosure *t) {
  //@ assert use_enclosure && use_hypotenuse && use_pseudo_huber && use_signs;
  TRY(phibal_enclosure_mul(&t[0], x, x));
  TRY(phibal_enclosure_mul(&t[1], delta, delta));
  TRY(phibal_enclosure_add(&t[0], &t[0], &t[1]));
  return phibal_enclosure_sqrt(z, &t[0]);
}

/* x^2 / (sqrt(x^2 + delta^2) + delta), where nothing cancels. */
phibal_status pseudo_huber_value(phibal_enclosure *z, const phibal_enclosure *x,
                                 const phibal_enclosure *delta, phibal_enclosure *t) {
  //@ assert use_enclosure && use_hypotenuse && use_pseudo_huber && use_signs;
  TRY(hypotenuse(&t[2], x, delta, t));
  TRY(phibal_enclosure_add(&t[2], &t[2], delta));
  TRY(phibal_enclosure_mul(&t[0], x, x));
  /*@ assert divisor: \forall real p, r; in{Pre}(delta, p) && in{Pre}(x, r) ==>
        in(t, r * r) && in(t + 2, \sqrt(r * r + p * p) + p) && \sqrt(r * r + p * p) + p > 0.0; */
  return phibal_enclosure_div(z, &t[0], &t[2]);
}

/* It fails only where the hypotenuse, rounded outward, holds 0. */
phibal_status pseudo_huber_gradient(phibal_enclosure *z, const phibal_enclosure *x,
                                    const phibal_enclosure *delta, phibal_enclosure *t) {
  //@ assert use_enclosure && use_hypotenuse && use_pseudo_huber && use_signs;
  TRY(hypotenuse(&t[2], x, delta, t));
  return phibal_enclosure_div(z, x, &t[2]);
}

/* delta^2 / (x^2 + delta^2)^(3/2); hypotenuse leaves x^2 + delta^2 and delta^2 in t[0], t[1]. */
phibal_status pseudo_huber_second(phibal_enclosure *z, const phibal_enclosure *x,
                                  const phibal_enclosure *delta, phibal_enclosure *t) {
  //@ assert use_enclosure && use_hypotenuse && use_pseudo_huber;
  TRY(hypotenuse(&t[2], x, delta, t));
  TRY(phibal_enclosure_mul(&t[2], &t[2], &t[0]));
  /*@ assert divisor: \forall real p, r; in{Pre}(delta, p) && in{Pre}(x, r) ==>
        in(t + 1, p * p) && in(t + 2, (r * r + p * p) * \sqrt(r * r + p * p)) &&
        (r * r + p * p) * \sqrt(r * r + p * p) > 0.0; */
  const phibal_status status = phibal_enclosure_div(z, &t[1], &t[2]);
  /*@ assert quotient: \forall real p, r; in{Pre}(delta, p) && in{Pre}(x, r) ==>
        in(z, p * p / ((r * r + p * p) * \sqrt(r * r + p * p))); */
  //@ assert use_signs;
  return status;
}

/* z = sqrt(1 - y^2) = sqrt((1 - |y|)(1 + |y|)) for |y| <= 1; uses t[0], t[1]. */
static phibal_status cosine(phibal_enclosure *z, const phibal_enclosure *y, phibal_enclosure *t) {
  //@ assert use_enclosure && use_hypotenuse && use_pseudo_huber;
  subtract_from_integer(&t[0], 1, y);
  add_integer(&t[1], y, 1);
  TRY(phibal_enclosure_mul(&t[0], &t[0], &t[1]));
  return phibal_enclosure_sqrt(z, &t[0]);
}

/* delta - delta sqrt(1 - y^2) = delta y^2 / (1 + sqrt(1 - y^2)) for |y| <= 1: delta at |y| = 1. */
static phibal_status conjugate_inside(phibal_enclosure *z, const phibal_enclosure *y,
                                      const phibal_enclosure *delta, phibal_enclosure *t) {
  //@ assert use_enclosure && use_hypotenuse && use_pseudo_huber;
  TRY(cosine(&t[2], y, t));
  add_integer(&t[2], &t[2], 1);
  TRY(phibal_enclosure_mul(&t[0], y, y));
  //@ assert square: same{Pre, Here}(delta) && \forall real r; in{Pre}(y, r) ==> in(t, r * r);
  TRY(phibal_enclosure_mul(&t[0], &t[0], delta));
  /*@ assert dividend: \forall real p, r; in{Pre}(delta, p) && in{Pre}(y, r) ==>
        in(t, r * r * p); */
  /*@ assert divisor: \forall real r; in{Pre}(y, r) ==>
        in(t + 2, \sqrt(1.0 - r * r) + 1.0) && \sqrt(1.0 - r * r) + 1.0 > 0.0; */
  return phibal_enclosure_div(z, &t[0], &t[2]);
}

phibal_status pseudo_huber_conjugate(phibal_enclosure *z, const phibal_enclosure *y,
                                     const phibal_enclosure *delta, phibal_enclosure *t) {
  //@ assert use_enclosure;
  if (point_compare_magnitude_with_one(y) > 0) {
    set_infinity(z);
    return PHIBAL_OK;
  }
  return conjugate_inside(z, y, delta, t);
}

phibal_status pseudo_huber_conjugate_gradient(phibal_enclosure *z, const phibal_enclosure *y,
                                              const phibal_enclosure *delta, phibal_enclosure *t) {
  //@ assert use_enclosure && use_hypotenuse && use_pseudo_huber;
  if (point_compare_magnitude_with_one(y) >= 0) return outside_domain("|y| < 1");
  TRY(cosine(&t[2], y, t));
  TRY(phibal_enclosure_mul(&t[0], y, delta));
  return phibal_enclosure_div(z, &t[0], &t[2]);
}
