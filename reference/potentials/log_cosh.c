/* (P8) phi(x) = log cosh(beta x) / beta. */
#include "potentials.h"
#include <phibal/acsl/contracts/inside/enclosure_success.h>
#include <phibal/acsl/contracts/inside/potentials/log_cosh_static.h>

/* t[1] = log1p(e^(-2 t[0])). */
static phibal_status log_of_one_plus_decay(phibal_enclosure *t) {
  //@ assert use_enclosure && use_exp;
  multiply_by_power_of_two(&t[1], &t[0], 1);
  phibal_enclosure_neg(&t[1], &t[1]);
  //@ assert exponent: \forall real r; in{Pre}(t, r) ==> in(t + 1, -(r * 2.0));
  phibal_enclosure_exp(&t[1], &t[1]);
  //@ assert power: \forall real r; in{Pre}(t, r) ==> in(t + 1, e(-(r * 2.0)));
  return phibal_enclosure_log1p(&t[1], &t[1]);
}

/* z = log cosh t[0] = t[0] - log 2 + log1p(e^(-2 t[0])), which cannot overflow. Uses t[1], t[2]. */
static phibal_status log_of_cosh_far(phibal_enclosure *z, phibal_enclosure *t) {
  //@ assert use_enclosure && use_log_cosh;
  TRY(log_of_one_plus_decay(t));
  phibal_enclosure_set_si(&t[2], 2);
  TRY(phibal_enclosure_log(&t[2], &t[2]));
  /*@ assert constant: scratch_kept{Pre, Here}(t) && in(t + 2, \log(2.0)) && \forall real r;
        in{Pre}(t, r) ==> in(t, r) && in(t + 1, \log(1.0 + e(-(r * 2.0)))); */
  TRY(phibal_enclosure_sub(&t[2], &t[0], &t[2]));
  /*@ assert terms: scratch_kept{Pre, Here}(t) && \forall real r; in{Pre}(t, r) ==>
        in(t + 1, \log(1.0 + e(-(r * 2.0)))) && in(t + 2, r - \log(2.0)); */
  return phibal_enclosure_add(z, &t[1], &t[2]);
}

/* t[1] = cosh t[0] - 1 = (e^t[0] - 1)^2 / (2 e^t[0]); uses t[2]. */
static phibal_status cosh_less_one(phibal_enclosure *t) {
  //@ assert use_enclosure && use_exp && open_cosh_excess;
  phibal_enclosure_expm1(&t[1], &t[0]);
  add_integer(&t[2], &t[1], 1);
  /*@ assert power: scratch_kept{Pre, Here}(t) && \forall real r; in{Pre}(t, r) ==>
        in(t + 1, e(r) - 1.0) && in(t + 2, e(r)) && e(r) > 0.0; */
  TRY(phibal_enclosure_mul(&t[1], &t[1], &t[1]));
  /*@ assert square: scratch_kept{Pre, Here}(t) && \forall real r; in{Pre}(t, r) ==>
        in(t + 1, expm1_square(r)) && in(t + 2, e(r)) && e(r) > 0.0; */
  TRY(phibal_enclosure_div(&t[1], &t[1], &t[2]));
  /*@ assert quotient: scratch_kept{Pre, Here}(t) && \forall real r; in{Pre}(t, r) ==>
        in(t + 1, cosh_excess(r)); */
  multiply_by_power_of_two(&t[1], &t[1], -1);
  return PHIBAL_OK;
}

static bool is_above_two(const phibal_enclosure *x) {
  //@ assert open_enclosure;
  return mpfr_cmp_si(x->lo, 2) > 0;
}

/* z = log cosh t[0]; from cosh t[0] - 1 it loses nothing as t[0] -> 0. Uses t[1], t[2]. */
static phibal_status log_of_cosh(phibal_enclosure *z, phibal_enclosure *t) {
  //@ assert use_enclosure && use_log_cosh;
  if (is_above_two(&t[0])) return log_of_cosh_far(z, t);
  TRY(cosh_less_one(t));
  return phibal_enclosure_log1p(z, &t[1]);
}

phibal_status log_cosh_value(phibal_enclosure *z, const phibal_enclosure *x,
                             const phibal_enclosure *beta, phibal_enclosure *t) {
  //@ assert use_enclosure && use_log_cosh;
  phibal_enclosure_abs(&t[0], x);
  TRY(phibal_enclosure_mul(&t[0], &t[0], beta));
  /*@ assert argument: scratch_kept{Pre, Here}(t) && same{Pre, Here}(beta) &&
        \forall real p, r; in{Pre}(beta, p) && in{Pre}(x, r) ==> in(t, \abs(r) * p); */
  TRY(log_of_cosh(z, t));
  /*@ assert logarithm: same{Pre, Here}(beta) && \forall real p, r;
        in{Pre}(beta, p) && in{Pre}(x, r) ==> in(z, log_of_cosh(\abs(r) * p)) && p > 0.0; */
  //@ assert kept: scratch(t) && only_point_written{Pre, Here}(z, t);
  return phibal_enclosure_div(z, z, beta);
}

//@ terminates always; ensures success: bounded{Pre}(beta) ==> \result == PHIBAL_OK;
phibal_status log_cosh_gradient(phibal_enclosure *z, const phibal_enclosure *x,
                                const phibal_enclosure *beta, phibal_enclosure *t) {
  //@ assert use_enclosure;
  TRY(phibal_enclosure_mul(&t[0], x, beta));
  phibal_enclosure_tanh(z, &t[0]);
  return PHIBAL_OK;
}

/* t[0] = exp(-2 beta |x|). */
static phibal_status decay(phibal_enclosure *t, const phibal_enclosure *x,
                           const phibal_enclosure *beta) {
  //@ assert use_enclosure && use_exp && open_log_cosh_decay;
  phibal_enclosure_abs(&t[0], x);
  TRY(phibal_enclosure_mul(&t[0], &t[0], beta));
  /*@ assert argument: \forall real p, r; in{Pre}(beta, p) && in{Pre}(x, r) ==>
        in(t, \abs(r) * p); */
  multiply_by_power_of_two(&t[0], &t[0], 1);
  phibal_enclosure_neg(&t[0], &t[0]);
  /*@ assert exponent: \forall real p, r; in{Pre}(beta, p) && in{Pre}(x, r) ==>
        in(t, -(\abs(r) * p * 2.0)); */
  phibal_enclosure_exp(&t[0], &t[0]);
  return PHIBAL_OK;
}

/* beta / cosh^2(beta x) = 4 beta u / (1 + u)^2 with u = exp(-2 beta |x|). */
phibal_status log_cosh_second(phibal_enclosure *z, const phibal_enclosure *x,
                              const phibal_enclosure *beta, phibal_enclosure *t) {
  //@ assert use_enclosure && use_log_cosh;
  TRY(decay(t, x, beta));
  add_integer(&t[1], &t[0], 1);
  TRY(phibal_enclosure_mul(&t[1], &t[1], &t[1]));
  /*@ assert divisor: scratch_kept{Pre, Here}(t) && same{Pre, Here}(beta) &&
        \forall real p, r; in{Pre}(beta, p) && in{Pre}(x, r) ==> in(t, log_cosh_decay(p, r)) &&
          in(t + 1, (1.0 + log_cosh_decay(p, r)) * (1.0 + log_cosh_decay(p, r))); */
  TRY(phibal_enclosure_mul(&t[0], &t[0], beta));
  //@ assert kept: scratch_kept{Pre, Here}(t);
  /*@ assert product: \forall real p, r; in{Pre}(beta, p) && in{Pre}(x, r) ==>
        in(t, log_cosh_decay(p, r) * p) && log_cosh_decay(p, r) > 0.0 &&
        in(t + 1, (1.0 + log_cosh_decay(p, r)) * (1.0 + log_cosh_decay(p, r))); */
  multiply_by_power_of_two(&t[0], &t[0], 2);
  //@ assert kept_after: scratch_kept{Pre, Here}(t);
  /*@ assert dividend: \forall real p, r; in{Pre}(beta, p) && in{Pre}(x, r) ==>
        in(t, log_cosh_decay(p, r) * p * 4.0) && log_cosh_decay(p, r) > 0.0 &&
        in(t + 1, (1.0 + log_cosh_decay(p, r)) * (1.0 + log_cosh_decay(p, r))); */
  return phibal_enclosure_div(z, &t[0], &t[1]);
}

/* z = 2 artanh(y) = log1p(y) - log1p(-y) for |y| < 1: terms of opposite signs, so nothing cancels.
   Uses t[0]. */
static phibal_status twice_artanh(phibal_enclosure *z, const phibal_enclosure *y,
                                  phibal_enclosure *t) {
  //@ assert use_enclosure && open_twice_artanh;
  phibal_enclosure_neg(&t[0], y);
  TRY(phibal_enclosure_log1p(&t[0], &t[0]));
  /*@ assert second: same{Pre, Here}(y) && \forall real r; in{Pre}(y, r) && \abs(r) < 1.0 ==>
        in(t, \log(1.0 + -r)); */
  TRY(phibal_enclosure_log1p(z, y));
  return phibal_enclosure_sub(z, z, &t[0]);
}

/* z = (1+y) log(1+y) + (1-y) log(1-y) = log(1 - y^2) + 2 y artanh y for small |y|, about
   -y^2 + 2 y^2: one bit is lost instead of all. Uses t[0], t[1]. */
static phibal_status entropy_near_zero(phibal_enclosure *z, const phibal_enclosure *y,
                                       phibal_enclosure *t) {
  //@ assert use_enclosure && use_symmetric_entropy;
  TRY(twice_artanh(z, y, t));
  TRY(phibal_enclosure_mul(z, z, y));
  //@ assert kept: scratch(t) && only_point_written{Pre, Here}(z, t) && same{Pre, Here}(y);
  /*@ assert first: \forall real r; in{Pre}(y, r) && \abs(r) < 1.0 ==>
        in(z, twice_artanh(r) * r); */
  TRY(phibal_enclosure_mul(&t[1], y, y));
  phibal_enclosure_neg(&t[1], &t[1]);
  /*@ assert square: \forall real r; in{Pre}(y, r) && \abs(r) < 1.0 ==>
        in(t + 1, -(r * r)) && -(r * r) > -1.0; */
  TRY(phibal_enclosure_log1p(&t[1], &t[1]));
  //@ assert kept_after: scratch(t) && only_point_written{Pre, Here}(z, t);
  /*@ assert second: \forall real r; in{Pre}(y, r) && \abs(r) < 1.0 ==>
        in(z, twice_artanh(r) * r) && in(t + 1, \log(1.0 + -(r * r))); */
  return phibal_enclosure_add(z, z, &t[1]);
}

/* z = s log s with 0 log 0 = 0, s = 1 + y or 1 - y in t[0] and log s in t[1]. */
static phibal_status times_log(phibal_enclosure *z, const phibal_enclosure *t) {
  //@ assert use_enclosure;
  if (phibal_enclosure_is_zero(&t[0])) {
    phibal_enclosure_set_si(z, 0);
    return PHIBAL_OK;
  }
  return phibal_enclosure_mul(z, &t[0], &t[1]);
}

/* The same sum term by term, for |y| <= 1 away from 0. Uses t[0] to t[3]. */
static phibal_status entropy(phibal_enclosure *z, const phibal_enclosure *y, phibal_enclosure *t) {
  //@ assert use_enclosure && open_symmetric_entropy;
  add_integer(&t[0], y, 1);
  TRY(phibal_enclosure_log1p(&t[1], y));
  /*@ assert factors: scratch_kept{Pre, Here}(t) &&
        \forall real r; in{Pre}(y, r) && \abs(r) <= 1.0 ==> in(t, 1.0 + r) &&
          (1.0 + r == 0.0 ? point(t) : 1.0 + r > 0.0 && in(t + 1, \log(1.0 + r))); */
  TRY(times_log(&t[2], t));
  /*@ assert first: scratch_kept{Pre, Here}(t) && same{Pre, Here}(y) &&
        \forall real r; in{Pre}(y, r) && \abs(r) <= 1.0 ==> in(t + 2, x_log_x(1.0 + r)); */
  //@ ghost first: ;
  subtract_from_integer(&t[0], 1, y);
  phibal_enclosure_neg(&t[3], y);
  /*@ assert negated: scratch_kept{Pre, Here}(t) && same{first, Here}(t + 2) &&
        \forall real r; in{Pre}(y, r) ==>
          in(t, 1.0 - r) && in(t + 3, -r) && (1.0 - r == 0.0 ==> point(t)); */
  TRY(phibal_enclosure_log1p(&t[1], &t[3]));
  /*@ assert factors_then: scratch_kept{Pre, Here}(t) && same{first, Here}(t + 2) &&
        \forall real r; in{Pre}(y, r) && \abs(r) <= 1.0 ==> in(t, 1.0 - r) &&
          (1.0 - r == 0.0 ? point(t) : 1.0 - r > 0.0 && in(t + 1, \log(1.0 - r))); */
  TRY(times_log(&t[3], t));
  /*@ assert terms: scratch_kept{Pre, Here}(t) && \forall real r;
        in{Pre}(y, r) && \abs(r) <= 1.0 ==> in(t + 2, x_log_x(1.0 + r)) &&
          in(t + 3, x_log_x(1.0 - r)); */
  return phibal_enclosure_add(z, &t[2], &t[3]);
}

/* log 2 / beta at |y| = 1, where one of the terms is 0 log 0. */
phibal_status log_cosh_conjugate(phibal_enclosure *z, const phibal_enclosure *y,
                                 const phibal_enclosure *beta, phibal_enclosure *t) {
  //@ assert use_enclosure && use_log_cosh_dual;
  if (point_compare_magnitude_with_one(y) > 0) {
    set_infinity(z);
    return PHIBAL_OK;
  }
  //@ assert inside: \forall real r; in(y, r) ==> \abs(r) <= 1.0;
  TRY(is_between(y, -0.5, 0.5) ? entropy_near_zero(z, y, t) : entropy(z, y, t));
  multiply_by_power_of_two(z, z, -1);
  //@ assert kept: scratch(t) && only_point_written{Pre, Here}(z, t);
  /*@ assert half: same{Pre, Here}(beta) && \forall real r; in{Pre}(y, r) ==>
        \abs(r) <= 1.0 && in(z, symmetric_entropy(r) / 2.0); */
  return phibal_enclosure_div(z, z, beta);
}

phibal_status log_cosh_conjugate_gradient(phibal_enclosure *z, const phibal_enclosure *y,
                                          const phibal_enclosure *beta, phibal_enclosure *t) {
  //@ assert use_enclosure && use_log_cosh_dual;
  if (point_compare_magnitude_with_one(y) >= 0) return outside_domain("|y| < 1");
  TRY(twice_artanh(z, y, t));
  multiply_by_power_of_two(z, z, -1);
  //@ assert kept: scratch(t) && only_point_written{Pre, Here}(z, t);
  /*@ assert half: same{Pre, Here}(beta) && \forall real r; in{Pre}(y, r) ==>
        \abs(r) < 1.0 && in(z, twice_artanh(r) / 2.0); */
  return phibal_enclosure_div(z, z, beta);
}
