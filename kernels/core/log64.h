/* log x in binary64: no table, no branch. */
#ifndef PHIBAL_CORE_LOG64_H
#define PHIBAL_CORE_LOG64_H

#include "core.h"

/* L(z) ~ (log((1 + s) / (1 - s)) - 2 s) / s^3 for z = s^2 <= 0.02945: the polynomial of degree 6
   that agrees with it at the 7 Chebyshev nodes of [0, 0.02945], coefficients rounded to nearest.
   |s^3 (L(z) - exact)| <= 2^-57.5 |2 s| there (tests/test_core.c measures it with MPFR). */
CORE_FUNCTION double core_log_tail(double z) {
  double p = 0x1.2b5b5fb2eac92p-3;
  p = CORE_FMA(p, z, 0x1.39fe208c33457p-3);
  p = CORE_FMA(p, z, 0x1.7462b69705382p-3);
  p = CORE_FMA(p, z, 0x1.c71c62debf86bp-3);
  p = CORE_FMA(p, z, 0x1.2492492df6947p-2);
  p = CORE_FMA(p, z, 0x1.99999999952b2p-2);
  return CORE_FMA(p, z, 0x1.5555555555558p-1);
}

/* log x for finite normal x > 0, with relative error <= 2^-52; log 1 = 0 exactly. Elsewhere the
   result has no meaning.

   x = 2^k (1 + f) with sqrt(1/2) <= 1 + f < sqrt 2, f exact. With s = f / (2 + f), h = f^2 / 2 and
   R = s^2 L(s^2): log(1 + f) = 2 s + s R = f - (h - s (h + R)), because f - 2 s = s f and h - s h =
   s f. k times the high part of log 2 (42 bits) is exact. The correction h - s (h + R) is at most
   0.22 |f|, and its few roundings, each 2^-53 of a number that size, make less than 2^-53.9 of
   |log(1 + f)| >= 0.83 |f| with the polynomial; the two sums at the end make half a ULP each at
   most, the first of a number below 1/2 where k is not 0 (and then |log x| >= 0.3465). */
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
