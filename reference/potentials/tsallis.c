/* (P5) phi(x) = (x^a - x)/(a-1) on x >= 0. With b = a-1 and the deformed logarithm
   E(x) = (x^b - 1)/b, which tends to log x as b -> 0: phi = x E, phi' = a E + 1. */
#include "potentials.h"

/* z = E(x) for x > 0. (x^b - 1)/b cancels where x^b is near 1 and expm1(b log x)/b does not; away
   from 1 the power is taken, which is exact where it can be. b is t[0]; t[1], t[2] are used. */
static phibal_status deformed_log(phibal_enclosure *z, const phibal_enclosure *x,
                                  phibal_enclosure *t) {
  TRY(phibal_enclosure_log(&t[1], x));
  TRY(phibal_enclosure_mul(&t[1], &t[1], &t[0]));
  if (is_between(&t[1], -0.5, 0.5)) {
    phibal_enclosure_expm1(&t[2], &t[1]);
  } else {
    TRY(phibal_enclosure_pow(&t[2], x, &t[0]));
    add_integer(&t[2], &t[2], -1);
  }
  return phibal_enclosure_div(z, &t[2], &t[0]);
}

phibal_status tsallis_value(phibal_enclosure *z, const phibal_enclosure *x,
                            const phibal_enclosure *a, phibal_enclosure *t) {
  if (point_sign(x) < 0) {
    set_infinity(z);
    return PHIBAL_OK;
  }
  if (point_sign(x) == 0) {
    phibal_enclosure_set_si(z, 0);
    return PHIBAL_OK;
  }
  add_integer(&t[0], a, -1);
  TRY(deformed_log(z, x, t));
  return phibal_enclosure_mul(z, z, x);
}

/* At x = 0 and a > 1 the one-sided derivative -1/(a-1). */
phibal_status tsallis_gradient(phibal_enclosure *z, const phibal_enclosure *x,
                               const phibal_enclosure *a, phibal_enclosure *t) {
  add_integer(&t[0], a, -1);
  bool closed = phibal_enclosure_is_positive(&t[0]);
  if (point_sign(x) < 0 || (point_sign(x) == 0 && !closed))
    return outside_domain(closed ? "x >= 0" : "x > 0 (alpha < 1)");
  if (point_sign(x) == 0) {
    phibal_enclosure_set_si(&t[1], -1);
    return phibal_enclosure_div(z, &t[1], &t[0]);
  }
  TRY(deformed_log(z, x, t));
  TRY(phibal_enclosure_mul(z, z, a));
  add_integer(z, z, 1);
  return PHIBAL_OK;
}

/* a x^(a-2); at x = 0 and a > 1 its limit: +inf for a < 2, 2 for a = 2, 0 for a > 2. */
phibal_status tsallis_second(phibal_enclosure *z, const phibal_enclosure *x,
                             const phibal_enclosure *a, phibal_enclosure *t) {
  bool closed = mpfr_cmp_si(a->lo, 1) > 0;
  if (point_sign(x) < 0 || (point_sign(x) == 0 && !closed))
    return outside_domain(closed ? "x >= 0" : "x > 0 (alpha < 1)");
  add_integer(&t[0], a, -2);
  TRY(phibal_enclosure_pow(z, x, &t[0]));
  return phibal_enclosure_mul(z, z, a);
}

/* The base s = (1 + b y)/a of the conjugate's powers, its negative part cut off (t[1]); b is t[0].
   With a > 1 a power of positive exponent is then 0 where the supremum is attained at x = 0; with
   a < 1 one of negative exponent is +inf where the supremum is: both as they should be. */
static phibal_status conjugate_base(const phibal_enclosure *y, const phibal_enclosure *a,
                                    phibal_enclosure *t) {
  add_integer(&t[0], a, -1);
  TRY(phibal_enclosure_mul(&t[1], &t[0], y));
  add_integer(&t[1], &t[1], 1);
  TRY(phibal_enclosure_div(&t[1], &t[1], a));
  if (mpfr_sgn(t[1].lo) < 0) mpfr_set_zero(t[1].lo, 1);
  if (mpfr_sgn(t[1].hi) < 0) mpfr_set_zero(t[1].hi, 1);
  return PHIBAL_OK;
}

/* z = s^e with the base in t[1] and the exponent e (of order 1/b) in t[2]. Near s = 1 the power is
   exp(e log1p(s - 1)) with s - 1 = b (y - 1)/a, which keeps every bit as b -> 0. */
static phibal_status conjugate_power(phibal_enclosure *z, const phibal_enclosure *y,
                                     const phibal_enclosure *a, phibal_enclosure *t) {
  if (!is_between(&t[1], 0.5, 2.0)) return phibal_enclosure_pow(z, &t[1], &t[2]);
  add_integer(&t[3], y, -1);
  TRY(phibal_enclosure_mul(&t[3], &t[3], &t[0]));
  TRY(phibal_enclosure_div(&t[3], &t[3], a));
  TRY(phibal_enclosure_log1p(&t[3], &t[3]));
  TRY(phibal_enclosure_mul(&t[3], &t[3], &t[2]));
  phibal_enclosure_exp(z, &t[3]);
  return PHIBAL_OK;
}

/* s^(a/b). */
phibal_status tsallis_conjugate(phibal_enclosure *z, const phibal_enclosure *y,
                                const phibal_enclosure *a, phibal_enclosure *t) {
  TRY(conjugate_base(y, a, t));
  TRY(phibal_enclosure_div(&t[2], a, &t[0]));
  return conjugate_power(z, y, a, t);
}

/* s^(1/b). For a < 1 there is none where 1 + b y <= 0. */
phibal_status tsallis_conjugate_gradient(phibal_enclosure *z, const phibal_enclosure *y,
                                         const phibal_enclosure *a, phibal_enclosure *t) {
  TRY(conjugate_base(y, a, t));
  bool bounded_above = phibal_enclosure_is_negative(&t[0]);
  if (bounded_above && mpfr_zero_p(t[1].hi)) return outside_domain("y < 1/(1 - alpha)");
  if (bounded_above && mpfr_zero_p(t[1].lo))
    return phibal_status_set(PHIBAL_ERROR_UNDECIDED,
                             "too near the end of the domain y < 1/(1 - alpha) to tell");
  phibal_enclosure_set_si(&t[3], 1);
  TRY(phibal_enclosure_div(&t[2], &t[3], &t[0]));
  return conjugate_power(z, y, a, t);
}
