/* 2^t in binary64 for results that are rounded to binary32: activations, weights of a softmax. No
   table, no branch, and fewer operations than exp64.h. */
#ifndef PHIBAL_CORE_EXP2_H
#define PHIBAL_CORE_EXP2_H

#include "core.h"

/* log2 e, to nearest. */
#define CORE_LOG2_E 0x1.71547652b82fep+0

/* p(r) ~ (2^r - 1) / r for |r| <= 1/2: the polynomial of degree 9 that agrees with it at the 10
   Chebyshev nodes of the interval, coefficients rounded to nearest.
   There |r p(r) - (2^r - 1)| <= 2^-50.6 2^r (proofs/gappa/approximation.py). */
CORE_FUNCTION double core_exp2_slope(double r) {
  double p = 0x1.e5e9f548e5725p-28;
  p = CORE_FMA(p, r, 0x1.b6571de2f2351p-24);
  p = CORE_FMA(p, r, 0x1.62bfe46117445p-20);
  p = CORE_FMA(p, r, 0x1.ffcb76789860fp-17);
  p = CORE_FMA(p, r, 0x1.4309130378460p-13);
  p = CORE_FMA(p, r, 0x1.5d87fe908f88ap-10);
  p = CORE_FMA(p, r, 0x1.3b2ab6fba385fp-7);
  p = CORE_FMA(p, r, 0x1.c6b08d7044119p-5);
  p = CORE_FMA(p, r, 0x1.ebfbdff82c590p-3);
  return CORE_FMA(p, r, 0x1.62e42fefa39f7p-1);
}

/* 2^t for |t| <= 1000, with relative error <= 7 u < 2^-50.1, u = 2^-53; 1 for t = 0. NaN gives
   NaN. Elsewhere the result has no meaning.

   t = k + r, |r| <= 1/2, both exact. The polynomial makes 5.3 u, its roundings 0.4 u, the last fma
   u / 2 below 1, where 2^r >= 0.7071, and u above: 6.6 u together. The scaling is exact
   (proofs/gappa/exp2.gappa). */
CORE_FUNCTION double core_exp2(double t) {
  /* As in exp64.h: the low bits of the sum are the biased exponent. */
  const double shifter = 0x1.8p52 + 1023.0;
  double s = t + shifter;
  double k = s - shifter;
  double r = t - k;
  double e = CORE_FMA(r, core_exp2_slope(r), 1.0);
  return e * core_double(core_bits64(s) << 52);
}

#endif
