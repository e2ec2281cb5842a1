/* e^d in binary64 for the softmax: no table, no branch, so that compilers can vectorise loops of
 * it.
 */
#ifndef PHIBAL_CORE_EXP64_H
#define PHIBAL_CORE_EXP64_H

#include "core.h"

/* q(r) ~ (e^r - 1 - r) / r^2 for |r| <= 0.34658: the polynomial of degree 9 that agrees with it at
   the 10 Chebyshev nodes of the interval, coefficients rounded to nearest.
   There |q(r) - (e^r - 1 - r) / r^2| <= 2^-52.89 and |r^2 q(r) - (e^r - 1 - r)| <= 2^-55.67 e^r
   (proofs/gappa/approximation.py, in rational arithmetic). */
CORE_FUNCTION double core_exp_tail(double r) {
  double q = 0x1.af389eea54156p-26;
  q = CORE_FMA(q, r, 0x1.28917c9f3a495p-22);
  q = CORE_FMA(q, r, 0x1.71de0db2eb873p-19);
  q = CORE_FMA(q, r, 0x1.a019b914881bap-16);
  q = CORE_FMA(q, r, 0x1.a01a01a7c2f2cp-13);
  q = CORE_FMA(q, r, 0x1.6c16c17889f3cp-10);
  q = CORE_FMA(q, r, 0x1.11111111109b5p-7);
  q = CORE_FMA(q, r, 0x1.5555555553d68p-5);
  q = CORE_FMA(q, r, 0x1.5555555555556p-3);
  return CORE_FMA(q, r, 0x1.0000000000001p-1);
}

/* e^d for d <= 709, with relative error <= 1.63 u < 2^-52.2, u = 2^-53; 0 for d < -708, where e^d <
   2^-1021. NaN gives NaN. Above 709 the result has no meaning.

   d = k log 2 + r, |r| <= 0.34658 (proofs/gappa/exp_reduction.gappa, exp64.gappa). Absolute errors:
   - k: the integer nearest to d / log 2, or next to it; t - shifter is exact.
   - r: fma(-k, log2_high, d) is exact, a number below 1/2 and a multiple of 2^-54; adding -k
     log2_low rounds to |r| < 1/2, u / 4; what is left of log 2 makes |k| 2^-109. As a factor of
     e^r: 0.26 u.
   - q: 2^-52.89 from the polynomial and 0.55 u from its roundings: times r^2 <= 0.1202, 0.2 u.
   - r r: u / 16 of a number below 1/8, times q <= 0.57: 0.04 u.
   - fma(r^2, q, r), below 1/2 in size: u / 4.
   - 1 + ..: u / 2 below 1, u above.
   Where e^r is near 0.7071 the last makes 0.71 u and the others 0.88 u of it; above 1 the last
   makes u / e^r, and the others grow from 0.26 u to 0.6 u. The scaling is exact. */
CORE_FUNCTION double core_exp64(double d) {
  /* 1.5 2^52 + 1023: after the addition the low bits of the sum are the biased exponent k + 1023.
   */
  const double shifter = 0x1.8p52 + 1023.0;
  double t = CORE_FMA(d, 0x1.71547652b82fep+0, shifter); /* 1 / log 2 */
  double k = t - shifter;
  double r = CORE_FMA(-k, 0x1.62e42fefa39efp-1, d); /* log 2, its nearest binary64 */
  r = CORE_FMA(-k, 0x1.abc9e3b39803fp-56, r);       /* and the nearest to what is left */
  double e = 1.0 + CORE_FMA(r * r, core_exp_tail(r), r);
  double scaled = e * core_double(core_bits64(t) << 52);
  return d < -708.0 ? 0.0 : scaled;
}

#endif
