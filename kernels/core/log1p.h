/* log(1 + x), binary32 to binary32, correctly rounded for all 2^32 inputs (certified by `phibal
   verify --exhaustive`). */
#ifndef PHIBAL_CORE_LOG1P_H
#define PHIBAL_CORE_LOG1P_H

#include "dd_elementary.h"
#include "log64.h"
#include "rounding.h"

/* log(1 + d) in binary64 for a binary32 d > -1, relative error <= 2^-52.
   Where |d| < 2^-28: d - d^2 / 2 + d^3 / 3; what is left out is below 2^-86 |d|, d d is exact, the
   inner fma is off by 2^-54 of 1/2 and counts d^2 <= 2^-28 |d|, and the sum rounds once: 1.0001 u.
   Else 1 + d is exact as long as d < 2^53 (24 bits of d, the last not below 2^-52), and beyond that
   its rounding, 2^-53 relative, moves a logarithm of at least 36 by 2^-58 of itself.
   (proofs/gappa/log1p.gappa.) */
CORE_FUNCTION double core_log1p64(double d) {
  double small = CORE_FMA(d * d, CORE_FMA(d, 0x1.5555555555555p-2, -0.5), d);
  return core_abs(d) < 0x1p-28 ? small : core_log64(1.0 + d);
}

CORE_FUNCTION float core_log1p(float x) {
  if (!(x > -1.0f && x <= 0x1.fffffep127f)) {
    if (x == -1.0f) return (float)-CORE_INFINITY;
    return x > 0.0f ? x : core_nan(); /* +inf; below -1 and NaN */
  }
  if (x == 0.0f) return x; /* keeps the sign */
  float y;
  if (core_round_certainly(core_log1p64((double)x), &y)) return y;
  return core_dd_to_float(core_dd_log1p((double)x));
}

#endif
