/* <x, y> of binary32 numbers, of which all kernels of expert outputs have the same bits. */
#ifndef PHIBAL_CPU_DOT_H
#define PHIBAL_CPU_DOT_H

#include "../core/core.h"

#define DOT_LANES 16

/* <x, y> in binary64, where products of binary32 numbers are exact: DOT_LANES interleaved sums,
   then a halving tree. At most n / DOT_LANES + 1 + log2(DOT_LANES) additions touch a term, so the
   error is below (n / 16 + 5) 2^-53 sum |x_j y_j|, and once rounded to binary32 at most (1 + (n /
   16 + 5) 2^-29) u sum |x_j y_j|. */
static inline double dot(int64_t n, const float *restrict x, const float *restrict y) {
  double sum[DOT_LANES] = {0};
  int64_t j = 0;
  for (; j + DOT_LANES <= n; j += DOT_LANES)
    for (int64_t l = 0; l < DOT_LANES; l++)
      sum[l] = CORE_FMA((double)x[j + l], (double)y[j + l], sum[l]);
  for (int64_t l = 0; j + l < n; l++) sum[l] = CORE_FMA((double)x[j + l], (double)y[j + l], sum[l]);
  for (int s = DOT_LANES / 2; s >= 1; s /= 2)
    for (int l = 0; l < s; l++) sum[l] += sum[l + s];
  return sum[0];
}

#endif
