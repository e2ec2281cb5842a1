/* e^x, binary32 to binary32, correctly rounded for all 2^32 inputs (certified by `phibal verify
   --exhaustive`). */
#ifndef PHIBAL_CORE_EXP_H
#define PHIBAL_CORE_EXP_H

#include "dd_elementary.h"
#include "exp64.h"
#include "rounding.h"

CORE_FUNCTION float core_exp(float x) {
  /* Beyond +-200 the result is 0 or infinite as at +-200; exp64 wants no more than 709. */
  double d = x > 200.0f ? 200.0 : x < -200.0f ? -200.0 : (double)x;
  float y;
  if (core_round_certainly(core_exp64(d), &y)) return y; /* exp64: 2^-51 */
  if (x != x) return core_nan();
  return core_dd_to_float(core_dd_exp(core_dd_from(d)));
}

#endif
