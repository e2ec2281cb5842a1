/* What the balancing kernels of all backends compute for one expert. */
#ifndef PHIBAL_CORE_BALANCE_H
#define PHIBAL_CORE_BALANCE_H

#include "exact_sum.h"
#include "price.h"

/* (1 - eta) m + eta loads, correctly rounded. The products of two binary32 are exact in binary64;
   m - eta m is exact as h + l, h >= 0, |l| <= 2^-53 h; h + b is exact as s + t. What is left, t +
   l, only breaks ties: its exact two-part sum is folded in before the one rounding. */
CORE_FUNCTION float core_ema_element(double eta, double m, double loads) {
  core_dd kept = core_two_sum(m, -eta * m);
  core_dd sum = core_two_sum(kept.hi, eta * loads);
  core_dd rest = core_two_sum(sum.lo, kept.lo);
  core_dd top = core_two_sum(sum.hi, rest.hi);
  core_dd tail = core_two_sum(top.lo, rest.lo);
  return core_dd_to_float(core_two_sum(top.hi, tail.hi));
}

/* Fixed point for 2^10 sums of 2^10 times a finite binary32: units of 2^-160, below 2^192. */
enum { CORE_FREQUENCY_LIMBS = 10, CORE_FREQUENCY_TOP = 128 };

typedef struct core_signed_sum {
  uint64_t positive[CORE_FREQUENCY_LIMBS], negative[CORE_FREQUENCY_LIMBS];
} core_signed_sum;

/* sum += x, |x| < 2^140 exact in binary64. */
CORE_FUNCTION void core_signed_sum_add(core_signed_sum *sum, double x) {
  core_exact_add(x < 0 ? sum->negative : sum->positive, CORE_FREQUENCY_LIMBS, CORE_FREQUENCY_TOP,
                 core_abs(x));
}

/* positive - negative, relative error <= 2^-95: subtracted as integers. */
CORE_FUNCTION core_dd core_signed_sum_value(core_signed_sum *sum) {
  core_exact_carry(sum->positive, CORE_FREQUENCY_LIMBS);
  core_exact_carry(sum->negative, CORE_FREQUENCY_LIMBS);
  int first = 0;
  while (first < CORE_FREQUENCY_LIMBS - 1 && sum->positive[first] == sum->negative[first]) first++;
  int sign = sum->positive[first] < sum->negative[first];
  uint64_t *large = sign ? sum->negative : sum->positive;
  const uint64_t *small = sign ? sum->positive : sum->negative;
  uint64_t borrow = 0;
  for (int j = CORE_FREQUENCY_LIMBS - 1; j >= 0; j--) {
    uint64_t take = small[j] + borrow;
    borrow = j > 0 && large[j] < take;
    large[j] += (borrow << 32) - take;
  }
  core_dd value = core_exact_value(large, CORE_FREQUENCY_LIMBS, CORE_FREQUENCY_TOP);
  return sign ? core_dd_neg(value) : value;
}

/* x e^shift of a reduced price as a binary32. */
CORE_FUNCTION float core_price_unshift(const core_price *plan, core_dd x) {
  if (plan->shift.hi == 0.0 || x.hi == 0.0) return core_dd_to_float(x);
  core_dd shift = plan->shift.hi > 700.0 ? core_dd_from(700.0) : plan->shift;
  double k = core_nearest_log2(shift.hi);
  core_dd unit = core_dd_exp(core_dd_sub_log2(shift, k));
  return core_dd_to_float_scaled(core_dd_mul(x, unit), (int)k);
}

/* The square of a finite binary32 is below 2^256 and a multiple of 2^-298; 2^63 of them are below
   2^319 <= 2^(TOP + 64), and the last unit is 2^-320. */
enum { CORE_SQUARE_LIMBS = 19, CORE_SQUARE_TOP = 256 };

/* mantissa 2^exponent = x for finite x, 1/2 <= |mantissa| < 1, or 0 and 0: frexp without a call. */
CORE_FUNCTION double core_split(double x, int *exponent) {
  uint64_t u = core_bits64(x);
  int biased = (int)(u >> 52 & 0x7ff);
  *exponent = 0;
  if (x == 0.0) return x;
  if (biased == 0) { /* subnormal */
    u = core_bits64(x * 0x1p64);
    biased = (int)(u >> 52 & 0x7ff) - 64;
  }
  *exponent = biased - 1022;
  return core_double((u & 0x800fffffffffffffu) | (uint64_t)1022 << 52);
}

/* scale x, rounded once: losses. */
CORE_FUNCTION float core_loss(core_dd x, double scale) {
  int k;
  double mantissa = core_split(scale, &k);
  return core_dd_to_float_scaled(core_dd_mul_d(x, mantissa), k);
}

#endif
