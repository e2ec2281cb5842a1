/* The activations of bfloat16 rows and their derivatives, in binary32, without branches; (E2n) of
   SPEC.md. u = 2^-24. Every operation is rounded once to nearest, subnormals are kept: the bits are
   those of any machine.

   As in activation.h both are x sigma(w), w = x or 2 v, but with E = e^-|w|, which does not
   overflow: sigma(|w|) = 1 / (1 + E), sigma(-|w|) = E / (1 + E). Where |w| > 105 (or x < -16 in
   gelu), 105 (and -16) stand for it: E is 0 then, and so is what is rounded from it. */
#ifndef PHIBAL_CORE_ACTIVATION32_H
#define PHIBAL_CORE_ACTIVATION32_H

#include "core.h"

#ifdef __CUDA_ARCH__
#define CORE_FMA32(a, b, c) __fmaf_rn((a), (b), (c))
#else
#define CORE_FMA32(a, b, c) __builtin_fmaf((a), (b), (c))
#endif

typedef struct core_activation32 {
  float value, derivative;
} core_activation32;

/* 2^r, r = y log2 e - k with k the integer next to it: |r| <= 1/2 + 2^-10. r is made with log2 e in
   two parts, to 2^-25: 0.4 u of the result. The polynomial agrees with (2^r - 1) / r at the 5
   Chebyshev nodes of that interval, to 2^-22.2 of 2^r with its coefficients rounded: 3.5 u; its
   roundings make 1 u, the last fma 1.5 u below 1. */
CORE_FUNCTION float core_exp2_rest32(float y, float k) {
  const float r = CORE_FMA32(y, 0x1.4ae0c0p-26f, CORE_FMA32(y, 0x1.715476p+0f, -k));
  float p = 0x1.5ec9a8p-10f;
  p = CORE_FMA32(p, r, 0x1.3cc0f6p-7f);
  p = CORE_FMA32(p, r, 0x1.c6afecp-5f);
  p = CORE_FMA32(p, r, 0x1.ebfa48p-3f);
  p = CORE_FMA32(p, r, 0x1.62e430p-1f);
  return CORE_FMA32(p, r, 1.0f);
}

/* e^y = 2^k 2^r for -105 <= y <= 0: within 7 u of itself, and 2^-149 where it is subnormal. NaN
   gives NaN. The scale is two powers of 2, of which the second alone may round. */
CORE_FUNCTION float core_exp_below32(float y) {
  const float shifter = 0x1.8p23f;
  const float s = y * 0x1.715476p+0f + shifter;
  const float p = core_exp2_rest32(y, s - shifter);
  /* k + 256, and half of it: 128 more than half of k, rounded down. */
  const uint32_t up = core_bits32(s) - 0x4b400000u + 256u, half = up >> 1;
  return p * core_float((half - 1u) << 23) * core_float((up - half - 1u) << 23);
}

/* x sigma(w), and sigma(w) + g sigma(w) sigma(-w), from |w| <= 105 and g = x w'. */
CORE_FUNCTION core_activation32 core_gated32(float x, float w, float g) {
  const int below = w < 0.0f;
  const float e = core_exp_below32(below ? w : -w);
  const float s = 1.0f / (1.0f + e), t = e * s;
  const float sigma = below ? t : s;
  core_activation32 r;
  r.value = x * sigma;
  r.derivative = CORE_FMA32(sigma, g * (below ? s : t), sigma);
  return r;
}

CORE_FUNCTION float core_within32(float x, float low, float high) {
  return x < low ? low : x > high ? high : x;
}

/* silu(x) = x sigma(x). E is off by 7 u, 1 + E and the quotient by u each: s by 5.5 u, E s by 13.5
   u. The value: 6.5 u for x >= 0, 14.5 u below, and 2^-142 where it is subnormal. The derivative,
   absolutely: sigma's 7.3 u, 22 u of |x| sigma (1 - sigma) <= 0.224, and a rounding: 14 u < 2^-20.

   For every x of bfloat16: the test `activations_of_bfloat16_keep_their_bounds`. */
CORE_FUNCTION core_activation32 core_silu32(float x) {
  const float low = x < -105.0f ? -105.0f : x, c = core_within32(x, -105.0f, 105.0f);
  return core_gated32(low, c, c);
}

/* Of gelu, for |c| <= 16. */
typedef struct core_gelu_argument32 {
  float w, g; /* 2 v and x 2 v' */
} core_gelu_argument32;

CORE_FUNCTION core_gelu_argument32 core_gelu_argument32_of(float c) {
  const float square = c * c, linear = 0x1.988454p+0f * c; /* 2 sqrt(2 / pi) */
  core_gelu_argument32 a;
  a.w = linear * CORE_FMA32(0x1.6e4e26p-5f, square, 1.0f);
  a.g = linear * CORE_FMA32(0x1.12ba9ep-3f, square, 1.0f);
  return a;
}

/* gelu(x) = x sigma(2 v), x of bfloat16, so that its square is exact. 2 v is off by 5 u (two
   constants, the fma, two products), and so E by (7 + 5 |2 v|) u. The value: |2 v| E / (1 + E) <=
   0.28, 8 u for x >= 0; (16 + 5 |2 v|) u below, and 2^-144 where it is subnormal. The derivative,
   absolutely: sigma's 9.4 u, 25 u and 5 |2 v| u of |x 2 v'| sigma (1 - sigma), |x 2 v'| <= 3 |2 v|:
   17 u and 7 u, and a rounding: 35 u < 2^-18. */
CORE_FUNCTION core_activation32 core_gelu32(float x) {
  const float low = x < -16.0f ? -16.0f : x, c = core_within32(x, -16.0f, 16.0f);
  const core_gelu_argument32 a = core_gelu_argument32_of(c);
  return core_gated32(low, core_within32(a.w, -105.0f, 105.0f), a.g);
}

#endif
