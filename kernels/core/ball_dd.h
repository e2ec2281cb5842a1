/* Running error analysis in double-double: as ball64.h, with values of about 106 bits and the
   bounds of dd.h and dd_elementary.h, and errors in binary64.

   Those bounds are relative and hold while nothing underflows. Sums never do. A product's or a
   quotient's low part may: what is lost is a few times 2^-1075, or that over the divisor, which
   BALL_TINY covers. u^2 = 2^-106; |hi + lo| <= (1 + u) |hi|, which BALL_UP covers. */
#ifndef PHIBAL_CORE_BALL_DD_H
#define PHIBAL_CORE_BALL_DD_H

#include "ball64.h"
#include "dd_elementary.h"

typedef struct core_ball_dd {
  core_dd value;
  double error;
} core_ball_dd;

#define BALL_U2 0x1p-106

CORE_FUNCTION core_ball_dd core_ball_dd_make(core_dd value, double error) {
  core_ball_dd r;
  r.value = value;
  r.error = error;
  return r;
}

/* With u^2 `rounding` times the value's size added to the error. */
CORE_FUNCTION core_ball_dd core_ball_dd_rounded(core_dd value, double rounding, double error) {
  return core_ball_dd_make(value,
                           core_ball_up(CORE_FMA(core_abs(value.hi), rounding * BALL_U2, error)));
}

CORE_FUNCTION core_ball_dd core_ball_dd_point(double x) {
  return core_ball_dd_make(core_dd_from(x), 0.0);
}

CORE_FUNCTION int core_ball_dd_sign(core_ball_dd a) {
  return (a.value.hi > 0.0) - (a.value.hi < 0.0);
}

CORE_FUNCTION double core_ball_dd_least(core_ball_dd a) {
  return core_abs(a.value.hi) * (1.0 - 4.0 * BALL_U); /* |lo| <= u |hi| */
}

/* log 2 as dd_elementary.h has it, cut after its third part. */
CORE_FUNCTION core_ball_dd core_ball_dd_log2(void) {
  return core_ball_dd_make(core_dd_make(0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56), 0x1p-109);
}

CORE_FUNCTION core_ball_dd core_ball_dd_widen(core_ball_dd a, double error) {
  return core_ball_dd_make(a.value, core_ball_up(a.error + error));
}

CORE_FUNCTION double core_ball_dd_magnitude(core_ball_dd a) {
  return core_ball_up(core_abs(a.value.hi) + a.error);
}

CORE_FUNCTION core_ball64 core_ball64_from_dd(core_ball_dd a) {
  return core_ball64_make(a.value.hi, core_ball_up(core_abs(a.value.lo) + a.error));
}

CORE_FUNCTION core_ball_dd core_ball_dd_neg(core_ball_dd a) {
  return core_ball_dd_make(core_dd_neg(a.value), a.error);
}

CORE_FUNCTION core_ball_dd core_ball_dd_abs(core_ball_dd a) {
  return a.value.hi < 0.0 ? core_ball_dd_neg(a) : a;
}

CORE_FUNCTION core_ball_dd core_ball_dd_scale(core_ball_dd a, double power_of_two) {
  return core_ball_dd_make(core_dd_scale(a.value, power_of_two),
                           core_ball_up(a.error * power_of_two));
}

/* Two binary64 add up exactly; and nothing is added to no error, so that what cancels is 0. */
CORE_FUNCTION core_ball_dd core_ball_dd_add(core_ball_dd a, core_ball_dd b) {
  int exact = a.value.lo == 0.0 && b.value.lo == 0.0;
  double error = a.error + b.error;
  if (exact && error == 0.0) return core_ball_dd_make(core_dd_add(a.value, b.value), 0.0);
  return core_ball_dd_rounded(core_dd_add(a.value, b.value), exact ? 0.0 : 3.1, error);
}

CORE_FUNCTION core_ball_dd core_ball_dd_sub(core_ball_dd a, core_ball_dd b) {
  return core_ball_dd_add(a, core_ball_dd_neg(b));
}

CORE_FUNCTION core_ball_dd core_ball_dd_mul(core_ball_dd a, core_ball_dd b) {
  double x = core_abs(a.value.hi), y = core_abs(b.value.hi);
  double error = CORE_FMA(y + b.error, a.error, x * b.error);
  /* By +-1, as signs are taken: exact. */
  if (a.error == 0.0 && b.error == 0.0 && a.value.lo == 0.0 && b.value.lo == 0.0 &&
      (x == 1.0 || y == 1.0))
    return core_ball_dd_make(core_dd_mul(a.value, b.value), 0.0);
  return core_ball_dd_rounded(core_dd_mul(a.value, b.value), 5.0, error);
}

CORE_FUNCTION core_ball_dd core_ball_dd_div(core_ball_dd a, core_ball_dd b) {
  core_dd q = core_dd_div(a.value, b.value);
  double size = core_abs(b.value.hi), least = size - b.error;
  double error = CORE_FMA(core_abs(q.hi), b.error / least, (a.error + BALL_TINY) / least);
  if (!(2.0 * b.error <= size)) error = CORE_INFINITY;
  return core_ball_dd_rounded(q, 12.2, error);
}

CORE_FUNCTION core_ball_dd core_ball_dd_sqrt(core_ball_dd a) {
  core_dd x = a.value.hi > 0.0 ? a.value : core_dd_from(0.0);
  core_dd root = core_dd_sqrt(x);
  double error = x.hi > a.error ? (a.error + BALL_TINY) / root.hi : 2.0 * CORE_SQRT(a.error);
  if (!(-a.value.hi <= a.error)) error = CORE_INFINITY;
  return core_ball_dd_rounded(root, 3.13, error);
}

CORE_FUNCTION core_ball_dd core_ball_dd_exp(core_ball_dd a) {
  core_dd r = core_dd_exp(a.value);
  double growth = core_ball_growth(a.error);
  double error = r.hi * growth;
  if (a.value.hi < -708.0) error = growth + BALL_EXP_TINY;
  if (!(a.value.hi <= 709.0)) error = CORE_INFINITY;
  return core_ball_dd_rounded(r, 9.0, error);
}

CORE_FUNCTION core_ball_dd core_ball_dd_expm1(core_ball_dd a) {
  core_dd r = core_dd_expm1(a.value);
  double size = core_abs(r.hi + 1.0) + 8.0 * BALL_U * core_abs(r.hi) + 8.0 * BALL_U;
  double error = size * core_ball_growth(a.error);
  if (!(a.value.hi <= 709.0)) error = CORE_INFINITY;
  return core_ball_dd_rounded(r, 25.0, error);
}

/* log(h + l) = log h + l / h - .., |l / h| <= u: log h is good to 27 u^2 of itself; the quotient's
   rounding and what is left out make u^2 and u^2 / 2, absolutely; the sum 2 u^2 of the result. */
CORE_FUNCTION core_ball_dd core_ball_dd_log(core_ball_dd a) {
  double h = a.value.hi >= 0x1p-1022 && a.value.hi < CORE_INFINITY ? a.value.hi : 1.0;
  core_dd log_h = core_dd_log(h);
  core_dd r = core_dd_add_d(log_h, a.value.lo / h);
  double least = h * (1.0 - 2.0 * BALL_U);
  double error = core_ball_log_growth(least, a.error);
  error += BALL_U2 * CORE_FMA(27.0, core_abs(log_h.hi), a.value.lo == 0.0 ? 0.0 : 1.6);
  if (h != a.value.hi) error = CORE_INFINITY;
  return core_ball_dd_rounded(r, 2.0, error);
}

/* Where 1 + a is near 1, log((1 + s) / (1 - s)) with s = a / (2 + a): the sum's 2 u^2 and the
   quotient's 12.2 u^2 count at most 1 / (1 - s^2) < 1.04 times, and 7.2 u^2 for the ratio. */
CORE_FUNCTION core_ball_dd core_ball_dd_log1p(core_ball_dd a) {
  double x = a.value.hi;
  if (!(x > -0.2928 && x < 0.4142))
    return core_ball_dd_log(core_ball_dd_add(a, core_ball_dd_point(1.0)));
  core_dd s = core_dd_div(a.value, core_dd_add_d(a.value, 2.0));
  return core_ball_dd_rounded(core_dd_log_ratio(s), 22.0, core_ball_log_growth(0.7, a.error));
}

/* pi/2 = the sum of the four within 2^-150: the first three are cut after 32 bits, so that products
   with an integer below 2^20 are exact. */
#define BALL_HALF_PI_1 0x1.921fb544p+0
#define BALL_HALF_PI_2 0x1.0b4611a6p-34
#define BALL_HALF_PI_3 0x1.3198a2ep-69
#define BALL_HALF_PI_4 0x1.b839a252049c1p-104

/* a - k pi/2 for the integer k nearest to 2 a / pi or next to it; |a| <= 2^20. */
CORE_FUNCTION core_ball_dd core_ball_dd_reduce(core_ball_dd a, double *k) {
  const double shifter = 0x1.8p52;
  *k = CORE_FMA(a.value.hi, 0x1.45f306dc9c883p-1, shifter) - shifter;
  core_ball_dd r = core_ball_dd_add(a, core_ball_dd_point(-*k * BALL_HALF_PI_1));
  r = core_ball_dd_add(r, core_ball_dd_point(-*k * BALL_HALF_PI_2));
  r = core_ball_dd_add(r, core_ball_dd_point(-*k * BALL_HALF_PI_3));
  double last = -*k * BALL_HALF_PI_4; /* below 2^-83, and rounds once */
  return core_ball_dd_add(r, core_ball_dd_make(core_dd_from(last), *k == 0.0 ? 0.0 : 0x1p-135));
}

/* sum_(j < 15) (-z)^j / (first .. (first + 2 j + 1)), z = r^2 < 0.7, by Horner's rule: what follows
   is below z^15 / 30! < 2^-115. */
CORE_FUNCTION core_ball_dd core_ball_dd_alternating(core_ball_dd z, int first) {
  core_ball_dd one = core_ball_dd_point(1.0), b = one;
  for (int j = 14; j >= 1; j--) {
    double divisor = (double)((first + 2 * j - 2) * (first + 2 * j - 1));
    core_ball_dd term = core_ball_dd_div(core_ball_dd_mul(z, b), core_ball_dd_point(divisor));
    b = core_ball_dd_sub(one, term);
  }
  return core_ball_dd_widen(b, 0x1p-114);
}

/* sin(a + quarters pi/2): sin r = r (1 - r^2 / (2 3) (1 - r^2 / (4 5) ..)), cos r = 1 - r^2 / (1 2)
   (1 - r^2 / (3 4) ..). |sin'|, |cos'| <= 1. */
CORE_FUNCTION core_ball_dd core_ball_dd_sine(core_ball_dd a, int quarters) {
  if (!(core_abs(a.value.hi) <= 0x1p20)) return core_ball_dd_make(a.value, CORE_INFINITY);
  double k;
  core_ball_dd r = core_ball_dd_reduce(core_ball_dd_make(a.value, 0.0), &k);
  int quadrant = ((int)k + quarters) & 3;
  core_ball_dd z = core_ball_dd_mul(r, r);
  core_ball_dd s = quadrant & 1 ? core_ball_dd_alternating(z, 1)
                                : core_ball_dd_mul(r, core_ball_dd_alternating(z, 2));
  return core_ball_dd_widen(quadrant & 2 ? core_ball_dd_neg(s) : s, a.error);
}

CORE_FUNCTION core_ball_dd core_ball_dd_sin(core_ball_dd a) {
  return core_ball_dd_sine(a, 0);
}

CORE_FUNCTION core_ball_dd core_ball_dd_cos(core_ball_dd a) {
  return core_ball_dd_sine(a, 1);
}

/* binary64 has no sine of its own here: few potentials have one. */
CORE_FUNCTION core_ball64 core_ball64_sin(core_ball64 a) {
  core_ball_dd r = core_ball_dd_sin(core_ball_dd_make(core_dd_from(a.value), a.error));
  return core_ball64_from_dd(r);
}

CORE_FUNCTION core_ball64 core_ball64_cos(core_ball64 a) {
  core_ball_dd r = core_ball_dd_cos(core_ball_dd_make(core_dd_from(a.value), a.error));
  return core_ball64_from_dd(r);
}

/* True if every number within the bound rounds to *result: as core_ball64_rounds. The sums add
   2 u^2 of themselves, and rounding to odd keeps the sides. */
CORE_FUNCTION int core_ball_dd_rounds(core_ball_dd a, float *result) {
  double error = core_ball_up(CORE_FMA(core_abs(a.value.hi), 8.0 * BALL_U2, a.error));
  float low = core_dd_to_float(core_dd_add_d(a.value, -error));
  *result = core_dd_to_float(core_dd_add_d(a.value, error));
  return low == *result;
}

#define BALL_TYPE core_ball_dd
#define BALL_TIED ball_dd
#include "ball_functions.h"
#undef BALL_TYPE
#undef BALL_TIED

#endif
