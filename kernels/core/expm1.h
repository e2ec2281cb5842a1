/* e^x - 1, binary32 to binary32, correctly rounded for all 2^32 inputs (certified by `phibal verify
   --exhaustive`). */
#ifndef PHIBAL_CORE_EXPM1_H
#define PHIBAL_CORE_EXPM1_H

#include "dd_elementary.h"
#include "exp64.h"
#include "rounding.h"

/* e^d - 1 in binary64, |d| <= 600, relative error <= 4 u = 2^-51, u = 2^-53.
   As exp64, without its last sum: t = e^r - 1 = fma(r^2, q, r) (proofs/gappa/expm1.gappa).
   For k = 0, r = d is exact and t the result: u for its own rounding; q's errors and r^2's are at
   most 4.2 u of r^2 q, which is at most 0.184 |t|: together 1.69 u.
   Otherwise t is off absolutely by what exp64.h adds up, 0.63 u for r <= 0 and, times e^r, 0.85 u
   for r >= 0. The difference 2^k - 1 is exact for |k| <= 53 and rounds by u / 2 of itself beyond,
   where it is all of the result. The last fma rounds once, u at most. 2^k t + (2^k - 1) is smallest
   beside 2^k for k = 1 and e^r = 0.7071: 0.414, of which t's error makes 3.02 u and the last
   rounding, u / 4, 0.6 u. For k = -1 and e^r = 1.4143 it is 0.29, and t's error makes 1.5 u of it.
 */
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
