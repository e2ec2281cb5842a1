/* Random numbers by counter: pure, different for every seed, stream and index, and of the right
   distribution as far as a million numbers can tell. */
#include "moe/machine/random.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#define COUNT (1 << 20)

static int compare(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

/* 2^18 numbers of 64 bits collide with probability 2^-29. */
Test(random, seeds_streams_and_indices_differ) {
  uint64_t *all = malloc((1 << 18) * sizeof *all);
  for (uint64_t i = 0; i < 1 << 18; i++) all[i] = random_bits(i & 63, (i >> 6) & 63, i >> 12);
  cr_assert_eq(all[12345], random_bits(12345 & 63, (12345 >> 6) & 63, 12345 >> 12));
  qsort(all, 1 << 18, sizeof *all, compare);
  for (int i = 1; i < 1 << 18; i++) cr_assert_neq(all[i], all[i - 1]);
  free(all);
}

/* Each bit is 1 half of the time: 5 standard deviations of sqrt(n) / 2. */
Test(random, bits_are_fair) {
  int64_t ones[64] = {0};
  for (uint64_t i = 0; i < COUNT; i++) {
    uint64_t bits = random_bits(1, 2, i);
    for (int b = 0; b < 64; b++) ones[b] += (int64_t)(bits >> b & 1);
  }
  for (int b = 0; b < 64; b++)
    cr_assert_float_eq((double)ones[b], COUNT / 2.0, 5 * sqrt((double)COUNT) / 2, "bit %d", b);
}

/* Moments 0, 1, 0, 3 with standard errors sqrt(1/n), sqrt(2/n), sqrt(15/n), sqrt(96/n); neighbours
   uncorrelated, sqrt(1/n). */
Test(random, normal_has_its_moments) {
  double sum[5] = {0}, last = 0, n = COUNT;
  for (uint64_t i = 0; i < COUNT; i++) {
    double x = random_normal(3, 4, i);
    cr_assert(isfinite(x));
    sum[0] += x, sum[1] += x * x, sum[2] += x * x * x, sum[3] += x * x * x * x, sum[4] += x * last;
    last = x;
  }
  const double mean[5] = {0, 1, 0, 3, 0}, variance[5] = {1, 2, 15, 96, 1};
  for (int i = 0; i < 5; i++)
    cr_assert_float_eq(sum[i] / n, mean[i], 5 * sqrt(variance[i] / n), "moment %d is %g", i,
                       sum[i] / n);
}
