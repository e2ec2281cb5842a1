/* Exact sums of nonnegative binary64 numbers in fixed point: integers, so that no order and no
   grouping of the additions changes a bit.

   An accumulator is an array of `limbs` uint64, most significant first; limb j counts units of
   2^(top - 32 j). An addition puts at most 2^32 - 1 on a limb, so 2^32 - 1 additions fit between
   two calls of core_exact_carry, which makes the limbs 1 .. limbs-1 smaller than 2^32 (canonical
   form: one value, one representation). */
#ifndef PHIBAL_CORE_EXACT_SUM_H
#define PHIBAL_CORE_EXACT_SUM_H

#include "dd.h"

/* limb += x for finite 0 <= x < 2^(top + 32). Bits of x below the last limb's unit are cut off:
   x is taken rounded down to a multiple of it, whatever is in the accumulator. limbs >= 3. */
CORE_FUNCTION void core_exact_add(uint64_t *limb, int limbs, int top, double x) {
  uint64_t u = core_bits64(x);
  int exponent = (int)(u >> 52);
  uint64_t m = u & 0xfffffffffffffu;
  if (exponent == 0)
    exponent = 1; /* subnormal, or 0 */
  else
    m |= (uint64_t)1 << 52;
  /* x = m 2^(exponent - 1075): its last bit counts 2^shift units of the last limb. */
  int shift = exponent - 1075 - (top - 32 * (limbs - 1));
  if (shift < 0) {
    m = shift > -64 ? m >> -shift : 0;
    shift = 0;
  }
  int j = limbs - 1 - shift / 32;
  int b = shift % 32;
  uint64_t low = m << b;
  uint64_t high = (m >> 1) >> (63 - b);
  limb[j] += low & 0xffffffffu;
  /* Where j is 0 or 1 the digits that would fall off the front are 0, for x is small enough. */
  if (j >= 1) limb[j - 1] += low >> 32;
  if (j >= 2) limb[j - 2] += high;
}

/* Canonical form. The sum itself must be below 2^(top + 64). */
CORE_FUNCTION void core_exact_carry(uint64_t *limb, int limbs) {
  for (int j = limbs - 1; j >= 1; j--) {
    limb[j - 1] += limb[j] >> 32;
    limb[j] &= 0xffffffffu;
  }
}

/* The value of a canonical accumulator, rounded: relative error <= 2^-95. Four limbs from the first
   that is not 0 hold at least 97 bits; the sums make 6 2^-106. |top| and the last limb's unit must
   be well within binary64's range. */
CORE_FUNCTION core_dd core_exact_value(const uint64_t *limb, int limbs, int top) {
  int j = 0;
  while (j < limbs - 1 && limb[j] == 0) j++;
  core_dd sum = core_dd_from(0.0);
  for (int end = j + 4 < limbs ? j + 4 : limbs; j < end; j++) {
    double unit = core_power_of_two(top - 32 * j);
    core_dd digits =
        core_two_sum((double)(limb[j] >> 32) * 0x1p32, (double)(limb[j] & 0xffffffffu));
    sum = core_dd_add(sum, core_dd_scale(digits, unit));
  }
  return sum;
}

#endif
