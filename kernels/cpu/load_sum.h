/* Exact sums of probabilities (R6): each p in [0, 1] is cut to a multiple of 2^-160 (towards zero;
   exact for every p that is 0 or at least 2^-108), and the sum of those is exact: what
   core_exact_add would leave, from a loop over experts that compilers can vectorise.

   A p is split into four multiples of 2^-40, 2^-80, 2^-120 and 2^-160 by adding and subtracting
   1.5 2^(52 - b), which leaves the nearest multiple of 2^-b and an exact remainder of at most
   2^-(b+1). Level j of an accumulator is a binary64 that holds a multiple of its unit: with at most
   LOAD_SUM_TOKENS = 2^13 terms of magnitude <= 1 it stays within 2^53 units, so that no addition
   rounds. Before that it is emptied into six digits of 32 bits, and integers cannot round. */
#ifndef PHIBAL_CPU_LOAD_SUM_H
#define PHIBAL_CPU_LOAD_SUM_H

#include "../core/exact_sum.h"
#include <phibal/router.h>

#define LOAD_SUM_LEVELS 4
#define LOAD_SUM_TOKENS 8192

typedef struct load_sum {
  _Alignas(64) double level[LOAD_SUM_LEVELS][PHIBAL_MAX_EXPERTS];
  int64_t tokens; /* terms in the levels since they were emptied */
  /* Digits 1 .. 5 are kept in 0 .. 2^32 - 1. */
  int64_t digit[PHIBAL_MAX_EXPERTS][PHIBAL_LOAD_LIMBS];
  int64_t count[PHIBAL_MAX_EXPERTS];
} load_sum;

/* Levels 2 and 3, for what levels 0 and 1 leave of p. The last is cut towards zero, which the
   nearest multiple exceeds by one unit at most; the remainder may be negative only where level 2 is
   positive, and then the floor of the remainder is still the floor of the whole. */
static inline void load_sum_low(load_sum *sum, int32_t n, const double *p) {
#pragma GCC ivdep
  for (int32_t i = 0; i < n; i++) {
    double rest = p[i] - ((p[i] + 0x1.8p12) - 0x1.8p12);
    rest -= (rest + 0x1.8p-28) - 0x1.8p-28;
    double nearest = (rest + 0x1.8p-68) - 0x1.8p-68;
    double below = rest - nearest;
    double last = (below + 0x1.8p-108) - 0x1.8p-108;
    last = last > below ? last - 0x1p-160 : last;
    sum->level[2][i] += nearest;
    sum->level[3][i] += last;
  }
}

/* Adds p[i] to accumulator i. Probabilities of at least 2^-28 end in level 1; only a row that holds
   a smaller one pays for the levels below. */
static inline void load_sum_add(load_sum *sum, int32_t n, const double *p) {
  int64_t left = 0;
#pragma GCC ivdep
  for (int32_t i = 0; i < n; i++) {
    double nearest = (p[i] + 0x1.8p12) - 0x1.8p12;
    double below = p[i] - nearest;
    double second = (below + 0x1.8p-28) - 0x1.8p-28;
    sum->level[0][i] += nearest;
    sum->level[1][i] += second;
    left |= below != second;
  }
  if (left) load_sum_low(sum, n, p);
}

/* digit += units 2^(shift - 160), for |units| <= 2^53 and a shift of 0, 40, 80 or 120. */
static inline void load_sum_digits(int64_t digit[PHIBAL_LOAD_LIMBS], int64_t units, int shift) {
  int low = PHIBAL_LOAD_LIMBS - 1 - shift / 32;
  __int128 v = (__int128)units * (1 << shift % 32);
  digit[low] += (int64_t)((uint64_t)v & 0xffffffffu);
  digit[low - 1] += (int64_t)(v >> 32);
}

static inline void load_sum_carry(int64_t digit[PHIBAL_LOAD_LIMBS]) {
  for (int j = PHIBAL_LOAD_LIMBS - 1; j > 0; j--) {
    digit[j - 1] += digit[j] >> 32;
    digit[j] &= 0xffffffff;
  }
}

/* Empties the levels into the digits; accumulator e lanes + l belongs to expert e. */
static inline void load_sum_flush(load_sum *sum, int32_t experts, int lanes) {
  static const double scale[LOAD_SUM_LEVELS] = {0x1p40, 0x1p80, 0x1p120, 0x1p160};
  if (sum->tokens == 0) return;
  for (int32_t i = 0; i < experts * lanes; i++) {
    int64_t *digit = sum->digit[i / lanes];
    for (int j = 0; j < LOAD_SUM_LEVELS; j++) {
      load_sum_digits(digit, (int64_t)(sum->level[j][i] * scale[j]), 120 - 40 * j);
      sum->level[j][i] = 0.0;
    }
    load_sum_carry(digit);
  }
  sum->tokens = 0;
}

static inline void load_sum_clear(load_sum *sum, int32_t experts, int lanes) {
  for (int j = 0; j < LOAD_SUM_LEVELS; j++)
    for (int32_t i = 0; i < experts * lanes; i++) sum->level[j][i] = 0.0;
  for (int32_t e = 0; e < experts; e++) {
    for (int j = 0; j < PHIBAL_LOAD_LIMBS; j++) sum->digit[e][j] = 0;
    sum->count[e] = 0;
  }
  sum->tokens = 0;
}

/* loads += sum. Digits are canonical, so digit 0 is not negative either. */
static inline void load_sum_merge(const load_sum *sum, phibal_loads *loads) {
  for (int32_t e = 0; e < loads->experts; e++) {
    uint64_t *limb = loads->probability + (int64_t)e * PHIBAL_LOAD_LIMBS;
    for (int j = 0; j < PHIBAL_LOAD_LIMBS; j++) limb[j] += (uint64_t)sum->digit[e][j];
    core_exact_carry(limb, PHIBAL_LOAD_LIMBS);
    loads->count[e] += sum->count[e];
  }
}

#endif
