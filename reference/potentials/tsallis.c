/* (P5) phi(x) = (x^a - x)/(a-1) on x >= 0. With b = a-1 and the deformed logarithm
   E(x) = (x^b - 1)/b, which tends to log x as b -> 0: phi = x E, phi' = a E + 1. */
#include "potentials.h"
#include <phibal/acsl/contracts/inside/potentials/tsallis_static.h>

/* z = E(x) for x > 0. x^b - 1 cancels where x^b is near 1, and expm1(b log x) does not; away from 1
   the power is taken, which is exact where it can be. b is t[0]; t[1], t[2] are used. */
static phibal_status deformed_log(phibal_enclosure *z, const phibal_enclosure *x,
                                  phibal_enclosure *t) {
  //@ assert use_enclosure && use_power && use_exp && open_deformed_log;
  TRY(phibal_enclosure_log(&t[1], x));
  TRY(phibal_enclosure_mul(&t[1], &t[1], &t[0]));
  //@ assert kept: scratch_kept{Pre, Here}(t) && same{Pre, Here}(t) && same{Pre, Here}(x);
  /*@ assert exponent: \forall real b, r;
        in{Pre}(t, b) && in{Pre}(x, r) && r > 0.0 ==> in(t + 1, \log(r) * b); */
  if (is_between(&t[1], -0.5, 0.5)) {
    phibal_enclosure_expm1(&t[2], &t[1]);
  } else {
    TRY(phibal_enclosure_pow(&t[2], x, &t[0]));
    add_integer(&t[2], &t[2], -1);
  }
  /*@ assert power: scratch_kept{Pre, Here}(t) && same{Pre, Here}(t) && \forall real b, r;
        in{Pre}(t, b) && in{Pre}(x, r) && r > 0.0 ==> in(t + 2, power(r, b) - 1.0); */
  return phibal_enclosure_div(z, &t[2], &t[0]);
}

/* x E(x) for x > 0. */
phibal_status tsallis_value(phibal_enclosure *z, const phibal_enclosure *x,
                            const phibal_enclosure *a, phibal_enclosure *t) {
  //@ assert use_enclosure && use_tsallis;
  if (point_sign(x) < 0) {
    set_infinity(z);
    return PHIBAL_OK;
  }
  if (point_sign(x) == 0) {
    phibal_enclosure_set_si(z, 0);
    return PHIBAL_OK;
  }
  add_integer(&t[0], a, -1);
  /*@ assert exponent: scratch_kept{Pre, Here}(t) && same{Pre, Here}(x) && \forall real p;
        in{Pre}(a, p) ==> in(t, p - 1.0) && p - 1.0 != 0.0; */
  TRY(deformed_log(z, x, t));
  //@ assert kept: scratch(t) && only_point_written{Pre, Here}(z, t) && same{Pre, Here}(x);
  /*@ assert logarithm: \forall real p, r; in{Pre}(a, p) && in{Pre}(x, r) && r > 0.0 ==>
        in(z, deformed_log(p - 1.0, r)) && p != 1.0; */
  return phibal_enclosure_mul(z, z, x);
}

/* a E(x) + 1 for x > 0; at x = 0 and a > 1 the one-sided derivative -1/(a-1). */
phibal_status tsallis_gradient(phibal_enclosure *z, const phibal_enclosure *x,
                               const phibal_enclosure *a, phibal_enclosure *t) {
  //@ assert use_enclosure && use_tsallis;
  add_integer(&t[0], a, -1);
  /*@ assert exponent: scratch_kept{Pre, Here}(t) && same{Pre, Here}(x) && same{Pre, Here}(a) &&
        \forall real p; in{Pre}(a, p) ==> in(t, p - 1.0) && p - 1.0 != 0.0; */
  bool closed = phibal_enclosure_is_positive(&t[0]);
  if (point_sign(x) < 0 || (point_sign(x) == 0 && !closed))
    return outside_domain(closed ? "x >= 0" : "x > 0 (alpha < 1)");
  if (point_sign(x) == 0) {
    phibal_enclosure_set_si(&t[1], -1);
    /*@ assert zero: scratch_kept{Pre, Here}(t) && in(t + 1, -1.0) && \forall real p, r;
          in{Pre}(a, p) && in{Pre}(x, r) ==> in(t, p - 1.0) && p > 1.0 && r == 0.0; */
    return phibal_enclosure_div(z, &t[1], &t[0]);
  }
  TRY(deformed_log(z, x, t));
  //@ assert kept: same{Pre, Here}(a);
  /*@ assert logarithm: \forall real p, r; in{Pre}(a, p) && in{Pre}(x, r) && r > 0.0 ==>
        in(z, deformed_log(p - 1.0, r)) && p != 1.0; */
  TRY(phibal_enclosure_mul(z, z, a));
  //@ assert kept_after: scratch(t) && only_point_written{Pre, Here}(z, t);
  /*@ assert product: \forall real p, r; in{Pre}(a, p) && in{Pre}(x, r) && r > 0.0 ==>
        in(z, deformed_log(p - 1.0, r) * p) && p != 1.0; */
  add_integer(z, z, 1);
  return PHIBAL_OK;
}

/* x is certain to be above 1. */
static bool is_above_one(const phibal_enclosure *x) {
  //@ assert open_enclosure;
  return mpfr_cmp_si(x->lo, 1) > 0;
}

/* a x^(a-2); at x = 0 and a > 1 its limit: +inf for a < 2, 2 for a = 2, 0 for a > 2. */
phibal_status tsallis_second(phibal_enclosure *z, const phibal_enclosure *x,
                             const phibal_enclosure *a, phibal_enclosure *t) {
  //@ assert use_enclosure;
  bool closed = is_above_one(a);
  if (point_sign(x) < 0 || (point_sign(x) == 0 && !closed))
    return outside_domain(closed ? "x >= 0" : "x > 0 (alpha < 1)");
  /*@ assert inside: \forall real p, r; in(a, p) && in(x, r) ==>
        r > 0.0 || (r == 0.0 && p > 1.0); */
  add_integer(&t[0], a, -2);
  /*@ assert exponent: scratch_kept{Pre, Here}(t) && same{Pre, Here}(x) && same{Pre, Here}(a) &&
        \forall real p; in{Pre}(a, p) ==> in(t, p - 2.0); */
  TRY(phibal_enclosure_pow(z, x, &t[0]));
  //@ assert kept: scratch(t) && same{Pre, Here}(a) && only_point_written{Pre, Here}(z, t);
  /*@ assert power: \forall real p, r; in{Pre}(a, p) && in{Pre}(x, r) ==>
        p > 0.0 && (r > 0.0 || (r == 0.0 && p > 1.0)) &&
        (r > 0.0 || 2.0 <= p ? in(z, power(r, p - 2.0)) : in_plus(z)); */
  return phibal_enclosure_mul(z, z, a);
}

/* x without its negative part. */
static void cut_off(phibal_enclosure *x) {
  //@ assert open_enclosure;
  if (mpfr_sgn(x->lo) < 0) mpfr_set_zero(x->lo, 1);
  if (mpfr_sgn(x->hi) < 0) mpfr_set_zero(x->hi, 1);
}

/* The base s = (1 + b y)/a of the conjugate's powers, its negative part cut off (t[1]); b is t[0].
   With a > 1 a power of positive exponent is then 0 where the supremum is attained at x = 0; with
   a < 1 one of negative exponent is +inf where the supremum is: both as they should be. */
static phibal_status conjugate_base(const phibal_enclosure *y, const phibal_enclosure *a,
                                    phibal_enclosure *t) {
  //@ assert use_enclosure && open_tsallis_dual;
  add_integer(&t[0], a, -1);
  TRY(phibal_enclosure_mul(&t[1], &t[0], y));
  /*@ assert product: scratch_kept{Pre, Here}(t) && same{Pre, Here}(a) && \forall real p, r;
        in{Pre}(a, p) ==> in(t, p - 1.0) && (in{Pre}(y, r) ==> in(t + 1, (p - 1.0) * r)); */
  add_integer(&t[1], &t[1], 1);
  /*@ assert dividend: scratch_kept{Pre, Here}(t) && same{Pre, Here}(a) && \forall real p, r;
        in{Pre}(a, p) ==> in(t, p - 1.0) && (in{Pre}(y, r) ==> in(t + 1, 1.0 + (p - 1.0) * r)); */
  TRY(phibal_enclosure_div(&t[1], &t[1], a));
  /*@ assert quotient: scratch_kept{Pre, Here}(t) && \forall real p, r;
        in{Pre}(a, p) ==> in(t, p - 1.0) && (in{Pre}(y, r) ==> in(t + 1, tsallis_base(p, r))); */
  cut_off(&t[1]);
  return PHIBAL_OK;
}

/* z = s^e with the base in t[1] and the exponent e (of order 1/b) in t[2]. Near s = 1 it is
   exp(e log s) with log s = log1p(s - 1) and s - 1 = b (y - 1)/a, which keeps every bit as b -> 0.
   Uses t[3]. */
static phibal_status conjugate_power(phibal_enclosure *z, const phibal_enclosure *y,
                                     const phibal_enclosure *a, phibal_enclosure *t) {
  //@ assert use_enclosure && use_exp && use_tsallis_dual;
  if (!is_between(&t[1], 0.5, 2.0)) return phibal_enclosure_pow(z, &t[1], &t[2]);
  add_integer(&t[3], y, -1);
  TRY(phibal_enclosure_mul(&t[3], &t[3], &t[0]));
  /*@ assert product: only_written{Pre, Here}(t + 3) && \forall real p, r;
        in{Pre}(a, p) && in{Pre}(y, r) ==> in(t + 3, (r - 1.0) * (p - 1.0)) && p > 0.0; */
  TRY(phibal_enclosure_div(&t[3], &t[3], a));
  //@ assert open_tsallis_dual;
  /*@ assert quotient: only_written{Pre, Here}(t + 3) && \forall real p, r;
        in{Pre}(a, p) && in{Pre}(y, r) ==> in(t + 3, tsallis_excess(p, r)) && p > 0.0; */
  TRY(phibal_enclosure_log1p(&t[3], &t[3]));
  //@ assert logarithm: scratch_kept{Pre, Here}(t) && same{Pre, Here}(t + 2);
  TRY(phibal_enclosure_mul(&t[3], &t[3], &t[2]));
  //@ assert kept: scratch_kept{Pre, Here}(t);
  /*@ assert exponent: \forall real p, q, r;
        in{Pre}(a, p) && in{Pre}(t + 2, q) && in{Pre}(y, r) && cut_base(p, r) > 0.0 ==>
          in(t + 3, \log(1.0 + tsallis_excess(p, r)) * q) && p > 0.0; */
  phibal_enclosure_exp(z, &t[3]);
  return PHIBAL_OK;
}

/* s^(a/b). */
phibal_status tsallis_conjugate(phibal_enclosure *z, const phibal_enclosure *y,
                                const phibal_enclosure *a, phibal_enclosure *t) {
  //@ assert use_enclosure && use_tsallis_dual;
  TRY(conjugate_base(y, a, t));
  //@ assert arguments: same{Pre, Here}(a) && same{Pre, Here}(y);
  TRY(phibal_enclosure_div(&t[2], a, &t[0]));
  //@ assert kept: scratch_kept{Pre, Here}(t) && same{Pre, Here}(a) && same{Pre, Here}(y);
  //@ assert carried: conjugate_base{Pre, Here}(y, a, t);
  //@ assert base: conjugate_base{Here, Here}(y, a, t);
  //@ assert valid: \forall real p; in{Pre}(a, p) ==> tsallis_valid(p);
  //@ assert quotient: \forall real p; in{Pre}(a, p) ==> in(t + 2, p / (p - 1.0));
  /*@ assert exponent: \forall real p; in{Pre}(a, p) ==>
        (p > 1.0 ==> p / (p - 1.0) > 0.0) && (p < 1.0 ==> p / (p - 1.0) < 0.0); */
  return conjugate_power(z, y, a, t);
}

/* x is certain to be below 1; else, if 1 is no member, it is above 1. */
static bool is_below_one(const phibal_enclosure *x) {
  //@ assert open_enclosure;
  return mpfr_cmp_si(x->hi, 1) < 0;
}

/* Of an x >= 0, whether it begins, whether it ends at 0. */
static bool begins_at_zero(const phibal_enclosure *x) {
  //@ assert open_enclosure;
  return mpfr_zero_p(x->lo);
}
static bool ends_at_zero(const phibal_enclosure *x) {
  //@ assert open_enclosure;
  return mpfr_zero_p(x->hi);
}

/* s^(1/b). For a < 1 there is none where 1 + b y <= 0. */
phibal_status tsallis_conjugate_gradient(phibal_enclosure *z, const phibal_enclosure *y,
                                         const phibal_enclosure *a, phibal_enclosure *t) {
  //@ assert use_enclosure && use_tsallis_dual;
  TRY(conjugate_base(y, a, t));
  bool bounded_above = is_below_one(a);
  if (bounded_above && ends_at_zero(&t[1])) return outside_domain("y < 1/(1 - alpha)");
  if (bounded_above && begins_at_zero(&t[1]))
    return phibal_status_set(PHIBAL_ERROR_UNDECIDED,
                             "too near the end of the domain y < 1/(1 - alpha) to tell");
  /*@ assert inside: same{Pre, Here}(a) && same{Pre, Here}(y) && \forall real p, r;
        in{Pre}(a, p) && in{Pre}(y, r) ==> p > 1.0 || cut_base(p, r) > 0.0; */
  phibal_enclosure_set_si(&t[3], 1);
  TRY(phibal_enclosure_div(&t[2], &t[3], &t[0]));
  //@ assert kept: scratch_kept{Pre, Here}(t) && same{Pre, Here}(a) && same{Pre, Here}(y);
  //@ assert carried: conjugate_base{Pre, Here}(y, a, t);
  //@ assert base: conjugate_base{Here, Here}(y, a, t);
  /*@ assert exponent: \forall real p; in{Pre}(a, p) ==>
        in(t + 2, 1.0 / (p - 1.0)) && tsallis_valid(p) && (p > 1.0 ==> 1.0 / (p - 1.0) > 0.0); */
  return conjugate_power(z, y, a, t);
}
