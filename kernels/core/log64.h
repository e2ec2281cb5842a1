/* log x in binary64: no table, no branch. */
#ifndef PHIBAL_CORE_LOG64_H
#define PHIBAL_CORE_LOG64_H

#include "core.h"

/* L(z) ~ (log((1 + s) / (1 - s)) - 2 s) / s^3 for z = s^2 <= 0.02945: the polynomial of degree 6
   that agrees with it at the 7 Chebyshev nodes of [0, 0.02945], coefficients rounded to nearest.
   There |L(z) - exact| <= 2^-51.47 (proofs/gappa/approximation.py, in rational arithmetic), so that
   |s^3 (L(z) - exact)| <= 2^-57.5 |2 s|. */
CORE_FUNCTION double core_log_tail(double z) {
  double p = 0x1.2b5b5fb2eac92p-3;
  p = CORE_FMA(p, z, 0x1.39fe208c33457p-3);
  p = CORE_FMA(p, z, 0x1.7462b69705382p-3);
  p = CORE_FMA(p, z, 0x1.c71c62debf86bp-3);
  p = CORE_FMA(p, z, 0x1.2492492df6947p-2);
  p = CORE_FMA(p, z, 0x1.99999999952b2p-2);
  return CORE_FMA(p, z, 0x1.5555555555558p-1);
}

/* log x for finite normal x > 0, with relative error <= 1.94 u < 2^-52, u = 2^-53; log 1 = 0
   exactly. Elsewhere the result has no meaning.

   x = 2^k (1 + f) with sqrt(1/2) <= 1 + f < sqrt 2, f exact. With s = f / (2 + f), h = f^2 / 2 and
   R = s^2 L(s^2): log(1 + f) = 2 s + s R = f - (h - s (h + R)), because f - 2 s = s f and h - s h =
   s f. Relative errors of the parts: 2 + f u, the quotient u: s 2 u; z with its product 5 u; R with
   its product, the polynomial's roundings and 4.3 u for L 11.2 u; h u. R is at most 0.33 of h + R:
   with s, the sum's rounding and the fma's, s (h + R) is off by 8.3 u. h <= 0.21 |f|, s (h + R) <=
   0.045 |f|, and the correction, below 0.19 |f|, rounds once: it is off by 0.75 u |f|, and |log(1 +
   f)| >= 0.83 |f|. Going through f piece by piece, proofs/gappa/log64.gappa finds:
   - k = 0: f - correction rounds once and the last fma adds 0: 1.69 u.
   - k = +-1: k times the high part of log 2 (42 bits) is exact. The correction is off by 0.28 u
     absolutely; f - correction and the last sum round by u / 4 each below 1/2, and |log x| >=
   0.3465: 1.94 u.
   - |k| >= 2: the same errors beside at least 1.03, and u for the last sum. */
CORE_FUNCTION double core_log64(double x) {
  uint64_t u = core_bits64(x);
  /* The bits of sqrt(1/2), rounded up, taken from those of x: the exponent field of what is left is
     k, biased by 0. */
  uint64_t t = u - 0x3fe6a09e667f3bcdu;
  int64_t k = (int64_t)t >> 52;
  double f = core_double(u - ((uint64_t)k << 52)) - 1.0;
  double s = f / (2.0 + f);
  double z = s * s;
  double h = 0.5 * f * f;
  double r = z * core_log_tail(z);
  double n = (double)k;
  double correction = h - CORE_FMA(s, h + r, n * 0x1.ef35793c76730p-45); /* log 2, the rest */
  return CORE_FMA(n, 0x1.62e42fefa3800p-1, f - correction); /* log 2, its first 42 bits */
}

#endif
