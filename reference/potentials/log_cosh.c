/* (P8) phi(x) = log cosh(beta x) / beta. */
#include "potentials.h"

/* z = log cosh t[0] for t[0] >= 0. cosh t = 1 + (e^t - 1)^2 / (2 e^t) loses nothing as t -> 0; from
   t = 2 on, t - log 2 + log1p(e^(-2t)) cannot overflow. Uses t[1], t[2]. */
static phibal_status log_of_cosh(phibal_enclosure *z, phibal_enclosure *t) {
  if (mpfr_cmp_si(t[0].lo, 2) > 0) {
    multiply_by_power_of_two(&t[1], &t[0], 1);
    phibal_enclosure_neg(&t[1], &t[1]);
    phibal_enclosure_exp(&t[1], &t[1]);
    TRY(phibal_enclosure_log1p(&t[1], &t[1]));
    phibal_enclosure_set_si(&t[2], 2);
    TRY(phibal_enclosure_log(&t[2], &t[2]));
    TRY(phibal_enclosure_sub(&t[2], &t[0], &t[2]));
    return phibal_enclosure_add(z, &t[1], &t[2]);
  }
  phibal_enclosure_expm1(&t[1], &t[0]);
  add_integer(&t[2], &t[1], 1);
  TRY(phibal_enclosure_mul(&t[1], &t[1], &t[1]));
  TRY(phibal_enclosure_div(&t[1], &t[1], &t[2]));
  multiply_by_power_of_two(&t[1], &t[1], -1);
  return phibal_enclosure_log1p(z, &t[1]);
}

phibal_status log_cosh_value(phibal_enclosure *z, const phibal_enclosure *x,
                             const phibal_enclosure *beta, phibal_enclosure *t) {
  phibal_enclosure_abs(&t[0], x);
  TRY(phibal_enclosure_mul(&t[0], &t[0], beta));
  TRY(log_of_cosh(z, t));
  return phibal_enclosure_div(z, z, beta);
}

phibal_status log_cosh_gradient(phibal_enclosure *z, const phibal_enclosure *x,
                                const phibal_enclosure *beta, phibal_enclosure *t) {
  TRY(phibal_enclosure_mul(&t[0], x, beta));
  phibal_enclosure_tanh(z, &t[0]);
  return PHIBAL_OK;
}

/* beta / cosh^2(beta x) = 4 beta u / (1 + u)^2 with u = exp(-2 beta |x|). */
phibal_status log_cosh_second(phibal_enclosure *z, const phibal_enclosure *x,
                              const phibal_enclosure *beta, phibal_enclosure *t) {
  phibal_enclosure_abs(&t[0], x);
  TRY(phibal_enclosure_mul(&t[0], &t[0], beta));
  multiply_by_power_of_two(&t[0], &t[0], 1);
  phibal_enclosure_neg(&t[0], &t[0]);
  phibal_enclosure_exp(&t[0], &t[0]);
  add_integer(&t[1], &t[0], 1);
  TRY(phibal_enclosure_mul(&t[1], &t[1], &t[1]));
  TRY(phibal_enclosure_mul(&t[0], &t[0], beta));
  multiply_by_power_of_two(&t[0], &t[0], 2);
  return phibal_enclosure_div(z, &t[0], &t[1]);
}

/* z = 2 artanh(y) = log1p(y) - log1p(-y) for |y| < 1: terms of opposite signs, so nothing cancels.
   Uses t[0]. */
static phibal_status twice_artanh(phibal_enclosure *z, const phibal_enclosure *y,
                                  phibal_enclosure *t) {
  phibal_enclosure_neg(&t[0], y);
  TRY(phibal_enclosure_log1p(&t[0], &t[0]));
  TRY(phibal_enclosure_log1p(z, y));
  return phibal_enclosure_sub(z, z, &t[0]);
}

/* z = (1+y) log(1+y) + (1-y) log(1-y) = log(1 - y^2) + 2 y artanh y for small |y|, about
   -y^2 + 2 y^2: one bit is lost instead of all. Uses t[0], t[1]. */
static phibal_status entropy_near_zero(phibal_enclosure *z, const phibal_enclosure *y,
                                       phibal_enclosure *t) {
  TRY(twice_artanh(z, y, t));
  TRY(phibal_enclosure_mul(z, z, y));
  TRY(phibal_enclosure_mul(&t[1], y, y));
  phibal_enclosure_neg(&t[1], &t[1]);
  TRY(phibal_enclosure_log1p(&t[1], &t[1]));
  return phibal_enclosure_add(z, z, &t[1]);
}

/* z = s log s with 0 log 0 = 0, s = 1 + y or 1 - y in t[0] and log s in t[1]. */
static phibal_status times_log(phibal_enclosure *z, const phibal_enclosure *t) {
  if (phibal_enclosure_is_zero(&t[0])) {
    phibal_enclosure_set_si(z, 0);
    return PHIBAL_OK;
  }
  return phibal_enclosure_mul(z, &t[0], &t[1]);
}

/* The two terms as they stand. Uses t[0] to t[3]. */
static phibal_status entropy(phibal_enclosure *z, const phibal_enclosure *y, phibal_enclosure *t) {
  add_integer(&t[0], y, 1);
  TRY(phibal_enclosure_log1p(&t[1], y));
  TRY(times_log(&t[2], t));
  subtract_from_integer(&t[0], 1, y);
  phibal_enclosure_neg(&t[3], y);
  TRY(phibal_enclosure_log1p(&t[1], &t[3]));
  TRY(times_log(&t[3], t));
  return phibal_enclosure_add(z, &t[2], &t[3]);
}

/* log 2 / beta at |y| = 1, where one of the terms is 0 log 0. */
phibal_status log_cosh_conjugate(phibal_enclosure *z, const phibal_enclosure *y,
                                 const phibal_enclosure *beta, phibal_enclosure *t) {
  if (point_compare_magnitude_with_one(y) > 0) {
    set_infinity(z);
    return PHIBAL_OK;
  }
  if (is_between(y, -0.5, 0.5))
    TRY(entropy_near_zero(z, y, t));
  else
    TRY(entropy(z, y, t));
  multiply_by_power_of_two(z, z, -1);
  return phibal_enclosure_div(z, z, beta);
}

phibal_status log_cosh_conjugate_gradient(phibal_enclosure *z, const phibal_enclosure *y,
                                          const phibal_enclosure *beta, phibal_enclosure *t) {
  if (point_compare_magnitude_with_one(y) >= 0) return outside_domain("|y| < 1");
  TRY(twice_artanh(z, y, t));
  multiply_by_power_of_two(z, z, -1);
  return phibal_enclosure_div(z, z, beta);
}
