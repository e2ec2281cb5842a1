/* log x, binary32 to binary32, correctly rounded for all 2^32 inputs (certified by `phibal verify
   --exhaustive`). */
#ifndef PHIBAL_CORE_LOG_H
#define PHIBAL_CORE_LOG_H

#include "dd_elementary.h"
#include "log64.h"
#include "rounding.h"

CORE_FUNCTION float core_log(float x) {
  if (!(x > 0.0f && x <= 0x1.fffffep127f)) {
    if (x == 0.0f) return (float)-CORE_INFINITY;
    return x > 0.0f ? x : core_nan(); /* +inf; below 0 and NaN */
  }
  float y;
  if (core_round_certainly(core_log64((double)x), &y)) return y; /* log64: 2^-52 */
  return core_dd_to_float(core_dd_log((double)x));
}

#endif
