/* (P9) phi(x) = log(1 + e^x); its conjugate is the binary negative entropy. */
#include "potentials.h"
#include <phibal/acsl/contracts/inside/enclosure_success.h>
#include <phibal/acsl/contracts/inside/potentials/softplus_static.h>

/* z = exp(-|x|); uses t[0]. */
static void decay(phibal_enclosure *z, const phibal_enclosure *x, phibal_enclosure *t) {
  //@ assert use_enclosure && open_decay && use_exp;
  phibal_enclosure_abs(&t[0], x);
  phibal_enclosure_neg(&t[0], &t[0]);
  phibal_enclosure_exp(z, &t[0]);
}

/* max(x, 0) + log1p(exp(-|x|)). */
//@ terminates always; ensures success: \result == PHIBAL_OK;
phibal_status softplus_value(phibal_enclosure *z, const phibal_enclosure *x,
                             const phibal_enclosure *a, phibal_enclosure *t) {
  //@ assert use_enclosure && use_softplus && use_signs;
  (void)a;
  decay(&t[1], x, t);
  /*@ assert inside: !in_minus(t + 1) && \forall real a; in(t + 1, a) ==> a >= -1.0; */
  TRY(phibal_enclosure_log1p(z, &t[1]));
  /*@ assert logarithm: only_point_written{Pre, Here}(z, t) && scratch(t) && same{Pre, Here}(x) &&
        \forall real r; in{Pre}(x, r) ==> in(z, \log(1.0 + decay(r))); */
  //@ assert finite: open_enclosure && !in_plus(x) && !in_minus(x);
  return point_sign(x) > 0 ? phibal_enclosure_add(z, z, x) : PHIBAL_OK;
}

/* 1/(1+u) for x >= 0 and u/(1+u) for x < 0, u = exp(-|x|). */
phibal_status softplus_gradient(phibal_enclosure *z, const phibal_enclosure *x,
                                const phibal_enclosure *a, phibal_enclosure *t) {
  //@ assert use_enclosure && use_softplus;
  (void)a;
  decay(&t[1], x, t);
  add_integer(&t[2], &t[1], 1);
  /*@ assert divisor: only_scratch_written{Pre, Here}(t) && same{Pre, Here}(x) && scratch(t) &&
        \forall real r; in{Pre}(x, r) ==> in(t + 1, decay(r)) && in(t + 2, 1.0 + decay(r)); */
  if (point_sign(x) >= 0) phibal_enclosure_set_si(&t[1], 1);
  //@ assert kept: only_scratch_written{Pre, Here}(t);
  /*@ assert dividend: only_scratch_written{Pre, Here}(t) && scratch(t) &&
        \forall real r; in{Pre}(x, r) ==>
          in(t + 1, r >= 0.0 ? 1.0 : decay(r)) && in(t + 2, 1.0 + decay(r)) && 0.0 < decay(r); */
  return phibal_enclosure_div(z, &t[1], &t[2]);
}

/* u/(1+u)^2. */
phibal_status softplus_second(phibal_enclosure *z, const phibal_enclosure *x,
                              const phibal_enclosure *a, phibal_enclosure *t) {
  //@ assert use_enclosure && use_softplus;
  (void)a;
  decay(&t[1], x, t);
  add_integer(&t[2], &t[1], 1);
  TRY(phibal_enclosure_mul(&t[2], &t[2], &t[2]));
  /*@ assert divisor: \forall real r; in{Pre}(x, r) ==>
        in(t + 1, decay(r)) && in(t + 2, (1.0 + decay(r)) * (1.0 + decay(r))) && 0.0 < decay(r); */
  return phibal_enclosure_div(z, &t[1], &t[2]);
}

/* How a point compares with 1: negative, 0, positive. */
static int compare_with_one(const phibal_enclosure *x) {
  //@ assert open_enclosure;
  return mpfr_cmp_si(x->lo, 1);
}

/* y log y + (1-y) log(1-y) for 0 < y < 1, both terms negative. */
static phibal_status binary_entropy(phibal_enclosure *z, const phibal_enclosure *y,
                                    phibal_enclosure *t) {
  //@ assert use_enclosure;
  TRY(phibal_enclosure_log(&t[0], y));
  TRY(phibal_enclosure_mul(&t[0], &t[0], y));
  /*@ assert first: only_scratch_written{Pre, Here}(t) && scratch(t) &&
        \forall real r; in{Pre}(y, r) && 0.0 < r ==> in(t, r * \log(r)); */
  phibal_enclosure_neg(&t[1], y);
  TRY(phibal_enclosure_log1p(&t[1], &t[1]));
  /*@ assert logarithm: only_scratch_written{Pre, Here}(t) && scratch(t) &&
        \forall real r; in{Pre}(y, r) && 0.0 < r < 1.0 ==>
          in(t, r * \log(r)) && in(t + 1, \log(1.0 + -r)); */
  subtract_from_integer(&t[2], 1, y);
  /*@ assert factor: only_scratch_written{Pre, Here}(t) && scratch(t) &&
        \forall real r; in{Pre}(y, r) && 0.0 < r < 1.0 ==>
          in(t, r * \log(r)) && in(t + 1, \log(1.0 + -r)) && in(t + 2, 1.0 - r); */
  TRY(phibal_enclosure_mul(&t[1], &t[1], &t[2]));
  /*@ assert second: only_scratch_written{Pre, Here}(t) && scratch(t) &&
        \forall real r; in{Pre}(y, r) && 0.0 < r < 1.0 ==>
          in(t, r * \log(r)) && in(t + 1, (1.0 - r) * \log(1.0 + -r)); */
  return phibal_enclosure_add(z, &t[0], &t[1]);
}

/* 0 at 0 and at 1. */
phibal_status softplus_conjugate(phibal_enclosure *z, const phibal_enclosure *y,
                                 const phibal_enclosure *a, phibal_enclosure *t) {
  //@ assert use_enclosure && use_softplus;
  (void)a;
  if (point_sign(y) < 0 || compare_with_one(y) > 0) {
    set_infinity(z);
    return PHIBAL_OK;
  }
  if (point_sign(y) == 0 || compare_with_one(y) == 0) {
    phibal_enclosure_set_si(z, 0);
    return PHIBAL_OK;
  }
  return binary_entropy(z, y, t);
}

/* log1p((2y-1)/(1-y)) for 0 < y < 1: near y = 1/2, where log y - log(1-y) cancels. */
static phibal_status logit_near_half(phibal_enclosure *z, const phibal_enclosure *y,
                                     phibal_enclosure *t) {
  //@ assert use_enclosure && use_softplus;
  subtract_from_integer(&t[0], 1, y);
  //@ assert divisor: same{Pre, Here}(y) && \forall real r; in{Pre}(y, r) ==> in(t, 1.0 - r);
  multiply_by_power_of_two(&t[1], y, 1);
  add_integer(&t[1], &t[1], -1);
  /*@ assert dividend: only_scratch_written{Pre, Here}(t) && scratch(t) &&
        \forall real r; in{Pre}(y, r) ==> in(t + 1, 2.0 * r - 1.0) && in(t, 1.0 - r); */
  TRY(phibal_enclosure_div(&t[1], &t[1], &t[0]));
  /*@ assert quotient: only_scratch_written{Pre, Here}(t) && scratch(t) &&
        \forall real r; in{Pre}(y, r) ==> in(t + 1, (2.0 * r - 1.0) / (1.0 - r)); */
  return phibal_enclosure_log1p(z, &t[1]);
}

/* log y - log(1-y) for 0 < y < 1. */
static phibal_status logit_split(phibal_enclosure *z, const phibal_enclosure *y,
                                 phibal_enclosure *t) {
  //@ assert use_enclosure && use_softplus;
  phibal_enclosure_neg(&t[1], y);
  TRY(phibal_enclosure_log1p(&t[1], &t[1]));
  /*@ assert logarithm: same{Pre, Here}(y) && \forall real r; in{Pre}(y, r) ==>
        in(t + 1, \log(1.0 + -r)); */
  TRY(phibal_enclosure_log(z, y));
  //@ assert both: \forall real r; in{Pre}(y, r) ==> in(z, \log(r)) && in(t + 1, \log(1.0 + -r));
  return phibal_enclosure_sub(z, z, &t[1]);
}

/* log(y/(1-y)). */
phibal_status softplus_conjugate_gradient(phibal_enclosure *z, const phibal_enclosure *y,
                                          const phibal_enclosure *a, phibal_enclosure *t) {
  //@ assert use_enclosure;
  (void)a;
  if (point_sign(y) <= 0 || compare_with_one(y) >= 0) return outside_domain("0 < y < 1");
  //@ assert inside: \forall real r; in(y, r) ==> 0.0 < r < 1.0;
  return is_between(y, 0.25, 0.75) ? logit_near_half(z, y, t) : logit_split(z, y, t);
}
