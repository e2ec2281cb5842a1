/* e^d in binary32 for d <= 0, as a product of two numbers: one of them a power of 2, so that the
   product is exact, and a sum takes it by a fused multiply-add. u = 2^-24. No table, no branch; the
   bits are those of any machine. */
#ifndef PHIBAL_CORE_EXP32_H
#define PHIBAL_CORE_EXP32_H

#include "core.h"

#ifdef __CUDA_ARCH__
#define CORE_FMA32(a, b, c) __fmaf_rn((a), (b), (c))
#else
#define CORE_FMA32(a, b, c) __builtin_fmaf((a), (b), (c))
#endif

/* p scale, where scale is 2^k, or 0 for k = -127. */
typedef struct core_scaled32 {
  float p, scale;
} core_scaled32;

/* a 2^r for |r| <= 1/2 + 2^-10: the polynomial of core_exp_below32, to 2^-22.2, times a. */
typedef struct core_exp2_polynomial {
  float c[6];
} core_exp2_polynomial;

CORE_FUNCTION core_exp2_polynomial core_exp2_times(float a) {
  core_exp2_polynomial q;
  q.c[5] = 0x1.5ec9a8p-10f * a;
  q.c[4] = 0x1.3cc0f6p-7f * a;
  q.c[3] = 0x1.c6afecp-5f * a;
  q.c[2] = 0x1.ebfa48p-3f * a;
  q.c[1] = 0x1.62e430p-1f * a;
  q.c[0] = a;
  return q;
}

/* a e^d for d <= 2^-20, q = core_exp2_times(a). NaN counts as -88.

   d log2 e = k + r, k an integer and |r| <= 1/2 + 2^-10. The constant for log2 e is 0.33 u too
   small: of the result 0.23 |d| u. r rounds by u / 2 at most: 0.4 u. As in core_exp_below32 the
   polynomial makes 3.5 u, its roundings 2.5 u: e^d is within (6.4 + 0.23 |d|) u of itself for a =
   1. For other a each coefficient is off by u: 2 u more, as sum |c r^i| <= 2^|r|, and where a
   coefficient is subnormal 2^-148.
   Below -88, k is -127, the scale is 0 and so is the result; it is 0 from about -87.7 on, where e^d
   < 2^-126. */
CORE_FUNCTION core_scaled32 core_exp_scaled32(float d, const core_exp2_polynomial *q) {
  /* After the addition the low bits of the sum are the biased exponent k + 127. */
  const float shifter = 0x1.8p23f + 127.0f;
  d = d > -88.0f ? d : -88.0f;
  const float s = CORE_FMA32(d, 0x1.715476p+0f, shifter), k = s - shifter;
  const float r = CORE_FMA32(d, 0x1.715476p+0f, -k);
  float p = CORE_FMA32(q->c[5], r, q->c[4]);
  p = CORE_FMA32(p, r, q->c[3]);
  p = CORE_FMA32(p, r, q->c[2]);
  p = CORE_FMA32(p, r, q->c[1]);
  core_scaled32 e;
  e.p = CORE_FMA32(p, r, q->c[0]);
  e.scale = core_float(core_bits32(s) << 23);
  return e;
}

#endif
