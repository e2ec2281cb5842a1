/* Sums and dot products of binary32 rows in binary64, in one fixed order that vector units like:
   16 interleaved sums, then a halving tree. A term goes through at most n / 16 + 5 additions, so
   the error is below (n / 16 + 5) 2^-53 times the sum of the absolute values of the terms. */
#ifndef PHIBAL_MOE_LANES_H
#define PHIBAL_MOE_LANES_H

#include <stdint.h>

#define LANES 16

static inline double lanes_reduce(double *sum) {
  for (int s = LANES / 2; s >= 1; s /= 2)
    for (int l = 0; l < s; l++) sum[l] += sum[l + s];
  return sum[0];
}

/* sum_j x_j y_j; the products of binary32 numbers are exact. */
static inline double lanes_dot(int64_t n, const float *restrict x, const float *restrict y) {
  double sum[LANES] = {0};
  int64_t j = 0;
  for (; j + LANES <= n; j += LANES)
    for (int64_t l = 0; l < LANES; l++)
      sum[l] = __builtin_fma((double)x[j + l], (double)y[j + l], sum[l]);
  for (int64_t l = 0; j + l < n; l++)
    sum[l] = __builtin_fma((double)x[j + l], (double)y[j + l], sum[l]);
  return lanes_reduce(sum);
}

/* The largest element, n >= 1. */
static inline float lanes_max(int64_t n, const float *x) {
  float most[LANES];
  int64_t j = 0;
  for (int l = 0; l < LANES; l++) most[l] = x[0];
  for (; j + LANES <= n; j += LANES)
    for (int64_t l = 0; l < LANES; l++) most[l] = x[j + l] > most[l] ? x[j + l] : most[l];
  for (int64_t l = 0; j + l < n; l++) most[l] = x[j + l] > most[l] ? x[j + l] : most[l];
  for (int s = LANES / 2; s >= 1; s /= 2)
    for (int l = 0; l < s; l++) most[l] = most[l + s] > most[l] ? most[l + s] : most[l];
  return most[0];
}

#endif
