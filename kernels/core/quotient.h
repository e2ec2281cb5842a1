/* Exact sums of loads, read: one rounding of a quotient of integers. */
#ifndef PHIBAL_CORE_QUOTIENT_H
#define PHIBAL_CORE_QUOTIENT_H

#include "core.h"
#include <phibal/router.h>

/* (sum_j limb[j] 2^(-32 j)) / divisor, rounded once to binary32, ties to even. Long division in
   base 2^32: the remainder stays below divisor < 2^95, so nothing overflows. The first nonzero
   digit and the next make an integer of at least 33 significant bits; "odd if anything is cut off"
   keeps its 53 leading bits enough for one correct rounding to 24, or to fewer in the subnormal
   range. */
CORE_FUNCTION float core_limbs_quotient(const uint64_t limb[PHIBAL_LOAD_LIMBS],
                                        unsigned __int128 divisor) {
  uint64_t digit[PHIBAL_LOAD_LIMBS + 2];
  unsigned __int128 remainder;
  if (divisor >> 32 == 0) { /* in 64 bits: a device divides 128 bits in a long loop */
    const uint64_t by = (uint64_t)divisor;
    uint64_t rest = limb[0] % by;
    digit[0] = limb[0] / by;
    for (int j = 1; j < PHIBAL_LOAD_LIMBS + 2; j++) {
      const uint64_t part = rest << 32 | (j < PHIBAL_LOAD_LIMBS ? limb[j] : 0);
      digit[j] = part / by;
      rest = part % by;
    }
    remainder = rest;
  } else {
    remainder = limb[0] % divisor;
    digit[0] = (uint64_t)(limb[0] / divisor);
    for (int j = 1; j < PHIBAL_LOAD_LIMBS + 2; j++) {
      unsigned __int128 part = (remainder << 32) | (j < PHIBAL_LOAD_LIMBS ? limb[j] : 0);
      digit[j] = (uint64_t)(part / divisor);
      remainder = part % divisor;
    }
  }
  int first = 0;
  while (first < PHIBAL_LOAD_LIMBS && digit[first] == 0) first++;
  uint64_t leading = (digit[first] << 32) | digit[first + 1];
  int inexact = remainder != 0;
  for (int j = first + 2; j < PHIBAL_LOAD_LIMBS + 2; j++) inexact |= digit[j] != 0;
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
