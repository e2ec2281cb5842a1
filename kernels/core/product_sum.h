/* Exact sums of products of two binary32 numbers, of either sign, in fixed point: no order and no
   grouping of the additions changes a bit, and the sum is rounded to binary32 once.

   A product is a binary64 number below 2^256 whose last bit counts a multiple of 2^-298. There are
   two accumulators of exact_sum.h, one for each sign: 19 limbs, of 2^256 down to 2^-320, so that
   nothing is cut off and 2^63 products fit. */
#ifndef PHIBAL_CORE_PRODUCT_SUM_H
#define PHIBAL_CORE_PRODUCT_SUM_H

#include "exact_sum.h"

enum { CORE_PRODUCT_TOP = 256, CORE_PRODUCT_LIMBS = 19, CORE_PRODUCT_SUM = 2 * 19 };

/* Where the product x belongs in sum[CORE_PRODUCT_SUM], whose first limbs are of the positive
   products and whose others are of the negative ones: digit[0] is to be added to the limb that is
   returned, digit[1] to the one before it, digit[2] to the one before that. */
CORE_FUNCTION int core_product_digits(double x, uint64_t digit[3]) {
  const uint64_t u = core_bits64(x);
  const int exponent = (int)(u >> 52 & 0x7ff);
  uint64_t m = exponent > 0 ? (u & 0xfffffffffffffu) | (uint64_t)1 << 52 : 0;
  /* |x| = m 2^(exponent - 1075), and bits below 2^-320 are 0. */
  int shift = exponent - 1075 + 320;
  if (shift < 0) {
    m = shift > -64 ? m >> -shift : 0;
    shift = 0;
  }
  const uint64_t low = m << shift % 32;
  digit[0] = low & 0xffffffffu;
  digit[1] = low >> 32;
  digit[2] = (m >> 1) >> (63 - shift % 32);
  return (u >> 63 ? CORE_PRODUCT_SUM : CORE_PRODUCT_LIMBS) - 1 - shift / 32;
}

/* 2^32 - 1 additions fit between two carries. */
CORE_FUNCTION void core_product_add(uint64_t *sum, float x, float y) {
  uint64_t digit[3];
  const int j = core_product_digits((double)x * (double)y, digit);
  for (int i = 0; i < 3; i++) sum[j - i] += digit[i];
}

CORE_FUNCTION void core_product_carry(uint64_t *sum) {
  core_exact_carry(sum, CORE_PRODUCT_LIMBS);
  core_exact_carry(sum + CORE_PRODUCT_LIMBS, CORE_PRODUCT_LIMBS);
}

/* Bit `place` of canonical limbs, which counts 2^(place - 320). */
CORE_FUNCTION uint32_t core_product_bit(const uint64_t *limb, int place) {
  return (uint32_t)(limb[CORE_PRODUCT_LIMBS - 1 - place / 32] >> (place % 32)) & 1;
}

/* The nearest binary32 number, ties to even: +0 for 0, an infinity from 2^128 - 2^103 on. The sum
   must be canonical; it is overwritten. */
CORE_FUNCTION float core_product_round(uint64_t *sum) {
  uint64_t *more = sum, *less = sum + CORE_PRODUCT_LIMBS;
  int j = 0;
  while (j < CORE_PRODUCT_LIMBS && more[j] == less[j]) j++;
  if (j == CORE_PRODUCT_LIMBS) return 0.0f;
  const uint32_t negative = more[j] < less[j];
  if (negative) {
    more = less;
    less = sum;
  }
  uint64_t borrow = 0;
  for (int i = CORE_PRODUCT_LIMBS - 1; i >= 1; i--) {
    const uint64_t digits = more[i] - less[i] - borrow;
    borrow = digits >> 63;
    more[i] = digits & 0xffffffffu;
  }
  more[0] -= less[0] + borrow;
  if (more[0] >> 32 != 0) return core_float(negative << 31 | 0x7f800000u);
  int first = 0;
  while (more[first] == 0) first++;
  int highest = 32 * (CORE_PRODUCT_LIMBS - 1 - first) + 31;
  while (core_product_bit(more, highest) == 0) highest--;
  /* The last bit that binary32 has there: 23 places below, and none below 2^-149, place 171. */
  const int last = highest - 23 > 320 - 149 ? highest - 23 : 320 - 149;
  uint32_t m = 0;
  for (int place = highest; place >= last; place--) m = m << 1 | core_product_bit(more, place);
  const uint32_t half = core_product_bit(more, last - 1);
  int rest = 0;
  for (int place = last - 2; place >= 0 && !rest; place--)
    rest = core_product_bit(more, place) != 0;
  m += half && (rest || (m & 1));
  /* m 2^(last - 320): a carry out of m goes into the exponent as it should. */
  const int exponent = last - (320 - 149);
  const uint64_t bits = ((uint64_t)(uint32_t)exponent << 23) + m;
  return core_float(negative << 31 | (bits >= 0x7f800000u ? 0x7f800000u : (uint32_t)bits));
}

#endif
