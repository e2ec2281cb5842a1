/* tanh x, binary32 to binary32, correctly rounded for all 2^32 inputs (certified by `phibal verify
   --exhaustive`). */
#ifndef PHIBAL_CORE_TANH_H
#define PHIBAL_CORE_TANH_H

#include "expm1.h"

/* tanh d for 0 <= d <= 300: t / (t + 2) with t = e^2d - 1. The relative error 4 u of t counts
   2 / (t + 2) <= 1 times; the sum and the quotient add u = 2^-53 each: 6.01 u < 2^-50.3
   (proofs/gappa/tanh.gappa). */
CORE_FUNCTION double core_tanh64(double d) {
  double t = core_expm164(2.0 * d);
  return t / (t + 2.0);
}

CORE_FUNCTION float core_tanh(float x) {
  uint32_t sign = core_bits32(x) & 0x80000000u;
  double d = core_abs((double)x);
  if (d == 0.0) return x;
  if (d > 100.0) d = 100.0; /* already 1 there */
  float y;
  if (!core_round_certainly(core_tanh64(d), &y)) {
    if (x != x) return core_nan();
    y = core_dd_to_float(core_dd_tanh(core_dd_from(d)));
  }
  return core_float(core_bits32(y) | sign);
}

#endif
