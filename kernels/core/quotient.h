/* Exact sums of loads, read: one rounding of a quotient of integers. */
#ifndef PHIBAL_CORE_QUOTIENT_H
#define PHIBAL_CORE_QUOTIENT_H

#include "core.h"
#include <phibal/router.h>

/* A step of long division in base 2^32: puts the next limb of the dividend behind the rest, and
   returns the quotient's digit. rest < divisor < 2^95 before and after, so nothing overflows. */
CORE_FUNCTION uint64_t core_quotient_digit(unsigned __int128 *rest, uint64_t limb,
                                           unsigned __int128 divisor) {
  const unsigned __int128 part = *rest << 32 | limb;
  if (divisor >> 32 == 0) { /* in 64 bits: a device divides 128 bits in a long loop */
    *rest = (uint64_t)part % (uint64_t)divisor;
    return (uint64_t)part / (uint64_t)divisor;
  }
  *rest = part % divisor;
  return (uint64_t)(part / divisor);
}

/* (sum_j limb[j] 2^(-32 j)) / divisor, rounded once to binary32, ties to even. Long division in
   base 2^32. The first nonzero digit and the next make an integer of at least 33 significant bits;
   "odd if anything is cut off", a rest or a limb behind them, keeps its 53 leading bits enough for
   one correct rounding to 24, or to fewer in the subnormal range. */
CORE_FUNCTION float core_limbs_quotient(const uint64_t limb[PHIBAL_LOAD_LIMBS],
                                        unsigned __int128 divisor) {
  unsigned __int128 rest = 0;
  int first = 0;
  uint64_t digit = core_quotient_digit(&rest, limb[0], divisor);
  while (digit == 0 && first < PHIBAL_LOAD_LIMBS) {
    first++;
    digit = core_quotient_digit(&rest, first < PHIBAL_LOAD_LIMBS ? limb[first] : 0, divisor);
  }
  const uint64_t next =
      core_quotient_digit(&rest, first + 1 < PHIBAL_LOAD_LIMBS ? limb[first + 1] : 0, divisor);
  uint64_t leading = digit << 32 | next;
  int inexact = rest != 0;
  for (int j = first + 2; j < PHIBAL_LOAD_LIMBS; j++) inexact |= limb[j] != 0;
  double unit = 0x1p-32;
  for (int j = 0; j < first; j++) unit *= 0x1p-32;
  if (leading >> 53) {
    inexact |= (leading & 0x7ff) != 0;
    leading >>= 11;
    unit *= 0x1p11;
  }
  return (float)((double)(leading | (uint64_t)inexact) * unit);
}

#endif
