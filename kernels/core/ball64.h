/* Running error analysis in binary64: a computed value and an absolute bound of what separates it
   from the exact one, both carried through every operation. For kernels that are generated from an
   expression, where nobody derives a bound by hand.

   Contract of every function: if |a.value - A| <= a.error (and so for b), then the result r has
   |r.value - f(A, B)| <= r.error, f in exact arithmetic. Where f(A, B) may not exist, where the
   value overflows, or where the arguments' errors are too large for a bound, r.error is +inf or
   NaN: comparisons with it are false, and stay so through every later operation.

   u = 2^-53. Errors are added up in binary64, rounded to nearest. All terms are nonnegative, so
   that n roundings make the sum too small by a factor (1 - u)^n at most, and by 2^-1074 for each
   product or quotient that underflows: BALL_UP = 1 + 2^-49 covers 15 roundings, BALL_TINY 16
   underflows. */
#ifndef PHIBAL_CORE_BALL64_H
#define PHIBAL_CORE_BALL64_H

#include "exp64.h"
#include "expm1.h"
#include "log64.h"

typedef struct core_ball64 {
  double value, error;
} core_ball64;

#define BALL_UP 0x1.0000000000008p+0
#define BALL_TINY 0x1p-1070
#define BALL_U 0x1p-53
/* Above e^-708 e^1: what exponentials that are taken for 0 may be. */
#define BALL_EXP_TINY 0x1p-1018

CORE_FUNCTION core_ball64 core_ball64_make(double value, double error) {
  core_ball64 r;
  r.value = value;
  r.error = error;
  return r;
}

/* Rounds a bound up over the roundings that went into it. */
CORE_FUNCTION double core_ball_up(double error) {
  return CORE_FMA(error, BALL_UP, BALL_TINY);
}

CORE_FUNCTION core_ball64 core_ball64_point(double x) {
  return core_ball64_make(x, 0.0);
}

/* -1, 0 or 1 for the value's sign, 0 for NaN; a lower bound of the value's size. */
CORE_FUNCTION int core_ball64_sign(core_ball64 a) {
  return (a.value > 0.0) - (a.value < 0.0);
}

CORE_FUNCTION double core_ball64_least(core_ball64 a) {
  return core_abs(a.value);
}

/* log 2, off by 0.26 of a unit in the last place. */
CORE_FUNCTION core_ball64 core_ball64_log2(void) {
  return core_ball64_make(0x1.62e42fefa39efp-1, 0x1p-55);
}

/* The same value, `error` more of error. */
CORE_FUNCTION core_ball64 core_ball64_widen(core_ball64 a, double error) {
  return core_ball64_make(a.value, core_ball_up(a.error + error));
}

/* A bound of |A|. */
CORE_FUNCTION double core_ball64_magnitude(core_ball64 a) {
  return core_ball_up(core_abs(a.value) + a.error);
}

CORE_FUNCTION core_ball64 core_ball64_neg(core_ball64 a) {
  return core_ball64_make(-a.value, a.error);
}

CORE_FUNCTION core_ball64 core_ball64_abs(core_ball64 a) {
  return core_ball64_make(core_abs(a.value), a.error);
}

/* x 2^k, exact for a power of two where nothing underflows. */
CORE_FUNCTION core_ball64 core_ball64_scale(core_ball64 a, double power_of_two) {
  return core_ball64_make(a.value * power_of_two, core_ball_up(a.error * power_of_two));
}

/* What rounds is known exactly. Nothing is added to no error, so that what cancels is 0. */
CORE_FUNCTION core_ball64 core_ball64_add(core_ball64 a, core_ball64 b) {
  core_dd s = core_two_sum(a.value, b.value);
  double error = (a.error + b.error) + core_abs(s.lo);
  return core_ball64_make(s.hi, error == 0.0 ? 0.0 : core_ball_up(error));
}

CORE_FUNCTION core_ball64 core_ball64_sub(core_ball64 a, core_ball64 b) {
  return core_ball64_add(a, core_ball64_neg(b));
}

/* AB - ab = a (B - b) + b (A - a) + (A - a)(B - b). */
CORE_FUNCTION core_ball64 core_ball64_mul(core_ball64 a, core_ball64 b) {
  double p = a.value * b.value;
  double x = core_abs(a.value), y = core_abs(b.value);
  double error = CORE_FMA(y + b.error, a.error, x * b.error);
  /* By +-1, as signs are taken: exact. */
  int exact = error == 0.0 && a.error == 0.0 && b.error == 0.0 && (x == 1.0 || y == 1.0);
  error = core_ball_up(CORE_FMA(core_abs(p), BALL_U, error));
  return core_ball64_make(p, exact ? 0.0 : error);
}

/* A/B - a/b = ((A - a) - (a/b)(B - b)) / B, and |B| >= |b| - b.error. Errors above |b| / 2 are too
   large: so b.error / least is 1 at most, and what underflow takes from it is nothing beside u. */
CORE_FUNCTION core_ball64 core_ball64_div(core_ball64 a, core_ball64 b) {
  double q = a.value / b.value;
  double least = core_abs(b.value) - b.error;
  double error = core_ball_up(CORE_FMA(core_abs(q), b.error / least + BALL_U, a.error / least));
  return core_ball64_make(q, 2.0 * b.error <= core_abs(b.value) ? error : CORE_INFINITY);
}

/* |sqrt A - sqrt a| = |A - a| / (sqrt A + sqrt a), at most |A - a| / sqrt a. Where a <= a.error,
   both roots are at most sqrt(2 a.error). A negative a stands for an A of at most a.error, and is
   taken for 0. */
CORE_FUNCTION core_ball64 core_ball64_sqrt(core_ball64 a) {
  double x = a.value > 0.0 ? a.value : 0.0;
  double root = CORE_SQRT(x);
  double error = x > a.error ? a.error / root : 2.0 * CORE_SQRT(a.error);
  error = core_ball_up(CORE_FMA(root, BALL_U, error));
  return core_ball64_make(root, -a.value <= a.error ? error : CORE_INFINITY);
}

/* e^t - 1 <= t + t^2 for 0 <= t <= 1: how far an exponential moves, as a part of itself, when its
   argument moves by t. */
CORE_FUNCTION double core_ball_growth(double t) {
  return t <= 1.0 ? CORE_FMA(t, t, t) : CORE_INFINITY;
}

/* core_exp64 is good to 1.63 u. Growth of 1 at most: what is below e^-708 stays below 2^-1019. */
CORE_FUNCTION core_ball64 core_ball64_exp(core_ball64 a) {
  double r = core_exp64(a.value);
  double error = core_ball_up(r * (core_ball_growth(a.error) + 2.0 * BALL_U));
  error = a.value < -708.0 ? core_ball_growth(a.error) + BALL_EXP_TINY : error;
  return core_ball64_make(r, a.value <= 709.0 ? error : CORE_INFINITY);
}

/* core_expm164 is good to 4 u up to 600; beyond, 1 is below u / 2^800 of e^a, and e^a of 1. The
   error of a moves e^a, which is r + 1, r off by 4 u. */
CORE_FUNCTION core_ball64 core_ball64_expm1(core_ball64 a) {
  double x = a.value < -600.0 ? -600.0 : a.value;
  double r = x > 600.0 ? core_exp64(x) : core_expm164(x);
  double size = core_abs(r + 1.0) + 8.0 * BALL_U * core_abs(r) + 8.0 * BALL_U;
  double error =
      core_ball_up(CORE_FMA(size, core_ball_growth(a.error), 5.0 * BALL_U * core_abs(r)));
  return core_ball64_make(r, a.value <= 709.0 ? error : CORE_INFINITY);
}

/* How far a logarithm moves when its argument a >= least > 0 moves by t: t / (a - t). */
CORE_FUNCTION double core_ball_log_growth(double a, double t) {
  return 2.0 * t <= a ? t / (a - t) : CORE_INFINITY;
}

/* core_log64 is good to 1.94 u for normal arguments. */
CORE_FUNCTION core_ball64 core_ball64_log(core_ball64 a) {
  double x = a.value >= 0x1p-1022 && a.value < CORE_INFINITY ? a.value : 1.0;
  double r = core_log64(x);
  double error = core_ball_log_growth(x, a.error);
  error = core_ball_up(CORE_FMA(core_abs(r), 2.0 * BALL_U, error));
  return core_ball64_make(r, x == a.value ? error : CORE_INFINITY);
}

/* 1 + a = h + l exactly, |l| <= u h; log(h + l) = log h + l / h - .., what is left out at most
   (l / h)^2 <= u |l / h|. Where h is not 1, |log h| is at least twice |l / h| but for u of it, so
   that the sum r is at least half of |log h|: log h makes 4 u of r, l / h 2 u, the sum u. The
   error of a counts as in a logarithm of h, off by u. */
CORE_FUNCTION core_ball64 core_ball64_log1p(core_ball64 a) {
  core_dd s = core_two_sum(1.0, a.value);
  int valid = s.hi >= 0x1p-53 && s.hi < CORE_INFINITY;
  double h = valid ? s.hi : 1.0;
  double r = core_log64(h) + s.lo / h;
  double error = core_ball_log_growth(h, a.error);
  error = core_ball_up(CORE_FMA(core_abs(r), 8.0 * BALL_U, error));
  return core_ball64_make(r, valid ? error : CORE_INFINITY);
}

/* True if every number within the bound rounds to *result. The two ends are off by u of themselves,
   2 u of the value more than covers it where the error is not larger than the value; where it is,
   the ends have two signs, and none of them rounds to what the other does, save both to 0. */
CORE_FUNCTION int core_ball64_rounds(core_ball64 a, float *result) {
  double error = core_ball_up(CORE_FMA(core_abs(a.value), 4.0 * BALL_U, a.error));
  float low = (float)(a.value - error);
  *result = (float)(a.value + error);
  return low == *result;
}

#define BALL_TYPE core_ball64
#define BALL_TIED ball64
#include "ball_functions.h"
#undef BALL_TYPE
#undef BALL_TIED

#endif
