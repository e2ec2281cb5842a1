/* e^d in binary64, least 1e-304, in fewer operations than core_exp64: for the sums of the
   cross-entropy on devices, whose bound depends on d. No table, no branch; u = 2^-53. */
#ifndef PHIBAL_CORE_EXP_BELOW64_H
#define PHIBAL_CORE_EXP_BELOW64_H

#include "core.h"

/* d log2 e = k + r, the integer k in the low bits of `shifted` and |r| <= 1/2 + 2^-10. */
typedef struct core_exp2_argument {
  double r, shifted;
} core_exp2_argument;

/* Below -700 d counts as -700 to -700.001: its upper half is compared as a number without sign,
   which grows with |d|. The constant for log2 e makes 0.13 |d| u of the result, and the rounding of
   r 0.35 u. A NaN whose sign is clear stays one. */
CORE_FUNCTION core_exp2_argument core_exp2_argument_of(double d) {
  const uint64_t bits = core_bits64(d);
  const uint32_t high = (uint32_t)(bits >> 32), least = 0xc085e000u; /* of -700 */
  d = core_double((uint64_t)(high < least ? high : least) << 32 | (uint32_t)bits);
  const double shifter = 0x1.8p52;
  core_exp2_argument x;
  x.shifted = CORE_FMA(d, 0x1.71547652b82fep+0, shifter);
  x.r = CORE_FMA(d, 0x1.71547652b82fep+0, -(x.shifted - shifter));
  return x;
}

/* 2^k 2^r, by the polynomial (2^r - 1) / r whose n coefficients begin with the highest power's. 2^r
   is between 0.7 and 1.5 and |k| <= 1011: adding k to its exponent is exact. */
CORE_FUNCTION double core_exp2_of(core_exp2_argument x, const double *coefficient, int n) {
  double p = coefficient[0];
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
  for (int i = 1; i < n; i++) p = CORE_FMA(p, x.r, coefficient[i]);
  p = CORE_FMA(p, x.r, 1.0);
  return core_double(core_bits64(p) + (core_bits64(x.shifted) << 52));
}

/* Within (7.2 + 0.13 |d|) u for -700 <= d <= 700; e^0 is 1. The polynomial agrees with (2^r - 1)
   / r at the 10 Chebyshev nodes of the interval, to 5.35 u of 2^r with its coefficients rounded;
   its roundings make 1.5 u. */
CORE_FUNCTION double core_exp_below64(double d) {
  const double coefficient[] = {0x1.e5eb10817e399p-28, 0x1.b65850728f198p-24, 0x1.62bfe3e4f13dbp-20,
                                0x1.ffcb756bd65c5p-17, 0x1.4309130399977p-13, 0x1.5d87fe90d7a92p-10,
                                0x1.3b2ab6fba3806p-7,  0x1.c6b08d7043f98p-5,  0x1.ebfbdff82c590p-3,
                                0x1.62e42fefa39f7p-1};
  return core_exp2_of(core_exp2_argument_of(d), coefficient, 10);
}

/* Within 2^-38.7 for such d, where the result is rounded to binary32: 8 nodes. */
CORE_FUNCTION double core_exp_below64_short(double d) {
  const double coefficient[] = {0x1.63b3cad748381p-20, 0x1.00c1c05353bcfp-16, 0x1.4308c67feafc9p-13,
                                0x1.5d877485611a5p-10, 0x1.3b2ab70b001ecp-7,  0x1.c6b08da7b202ep-5,
                                0x1.ebfbdff82a6b9p-3,  0x1.62e42fef9caafp-1};
  return core_exp2_of(core_exp2_argument_of(d), coefficient, 8);
}

#endif
