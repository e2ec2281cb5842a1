/* sqrt(log(1 + e^x)), binary32 to binary32, correctly rounded for all 2^32 inputs (certified by
   `phibal verify --exhaustive`). */
#ifndef PHIBAL_CORE_SQRT_SOFTPLUS_H
#define PHIBAL_CORE_SQRT_SOFTPLUS_H

#include "dd_elementary.h"
#include "exp64.h"
#include "log64.h"
#include "rounding.h"

/* log(1 + e) for 0 <= e <= 1, relative error <= 4 u, u = 2^-53: with v = 1 + e rounded, log(1 + e)
   = log v + log(1 + r / v), r = e - (v - 1) exact and at most u. Where v = 1, r = e is all of it
   and e^2 / 2 <= u e / 2 is left out; elsewhere e >= u, and what is left out, r^2 / 2 <= u^2 / 2,
   is at most u e / 2. The logarithm makes 1.94 u (v - 1 is exact, so it keeps its digits near 1),
   the quotient and the sum u each. */
CORE_FUNCTION double core_log1p_of_weight(double e) {
  double v = 1.0 + e;
  return core_log64(v) + (e - (v - 1.0)) / v;
}

/* In binary64, relative error <= 4.9 u < 2^-50.7. With e = e^-|x| (1.63 u, which counts e / ((1 +
   e) log(1 + e)) <= 1 times) and l = log(1 + e): the square is l for x < 0, off by 5.63 u, and x +
   l for x >= 0, where l counts less and the sum makes u: 6.63 u. The square root halves that and
   rounds once. 0 for x < -708. */
CORE_FUNCTION double core_sqrt_softplus64(double x) {
  double e = core_exp64(x < 0 ? x : -x);
  double l = core_log1p_of_weight(e);
  return CORE_SQRT(x < 0 ? l : x + l);
}

/* As above in double-double for finite x >= -660, error <= 30 u^2: e = e^-|x| 9 u^2; log(1 + e.hi)
   35 u^2 and e.lo / (1 + e.hi) 2 u^2, beside u^2 / 2 for the next term and 2 u^2 for the sum; x + l
   2 u^2; the square root halves 50.5 u^2 and makes 3.13 u^2. */
CORE_FUNCTION core_dd core_dd_sqrt_softplus(double x) {
  core_dd e = core_dd_exp(core_dd_from(-core_abs(x)));
  core_dd l = core_dd_add_d(core_dd_log1p(e.hi), e.lo / (1.0 + e.hi));
  return core_dd_sqrt(x < 0 ? l : core_dd_add_d(l, x));
}

CORE_FUNCTION float core_sqrt_softplus(float x) {
  float y;
  if (core_round_certainly(core_sqrt_softplus64((double)x), &y)) return y;
  if (x != x) return core_nan();
  if (x > 0x1.fffffep127f) return x;
  return core_dd_to_float(core_dd_sqrt_softplus((double)x));
}

#endif
