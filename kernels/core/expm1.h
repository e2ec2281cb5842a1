/* e^x - 1, binary32 to binary32, correctly rounded for all 2^32 inputs (certified by `phibal verify
   --exhaustive`). */
#ifndef PHIBAL_CORE_EXPM1_H
#define PHIBAL_CORE_EXPM1_H

#include "dd_elementary.h"
#include "exp64.h"
#include "rounding.h"

/* e^d - 1 in binary64, |d| <= 600, relative error <= 2^-50.5.
   As exp64, without its last sum: t = e^r - 1 = fma(r^2, q, r). For k = 0, r = d is exact: t is off
   by u (u/2 of the next power of two) and r^2 q's 1.5 u + 0.3 u of at most 0.2 |t|: below 1.5 u.
   Otherwise t is off by 1.1 u / 2 absolutely (see exp64.h, times e^r), and the result 2^k t + (2^k
   - 1), at least 0.29 max(1, 2^k) in size, by u / 2 of itself for the difference's rounding (exact
   for |k| <= 53), and by u for the sum: below (0.55 + 0.5) / 0.29 u + u < 5 u < 2^-50.6. */
CORE_FUNCTION double core_expm164(double d) {
  const double shifter = 0x1.8p52 + 1023.0;
  double s = CORE_FMA(d, 0x1.71547652b82fep+0, shifter);
  double k = s - shifter;
  double r = CORE_FMA(-k, 0x1.62e42fefa39efp-1, d);
  r = CORE_FMA(-k, 0x1.abc9e3b39803fp-56, r);
  double t = CORE_FMA(r * r, core_exp_tail(r), r);
  double scale = core_double(core_bits64(s) << 52);
  return CORE_FMA(t, scale, scale - 1.0);
}

CORE_FUNCTION float core_expm1(float x) {
  if (x == 0.0f) return x; /* keeps the sign */
  double d = x > 200.0f ? 200.0 : x < -200.0f ? -200.0 : (double)x;
  float y;
  if (core_round_certainly(core_expm164(d), &y)) return y;
  if (x != x) return core_nan();
  return core_dd_to_float(core_dd_expm1(core_dd_from(d)));
}

#endif
