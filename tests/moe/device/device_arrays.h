/* What tests of a device in bfloat16 compute beside it: arrays that are new each time. */
#ifndef PHIBAL_TESTS_DEVICE_ARRAYS_H
#define PHIBAL_TESTS_DEVICE_ARRAYS_H

#include "kernels/cpu/gemm.h"
#include "kernels/core/core.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static inline uint16_t rounded(float x) {
  const uint32_t u = core_bits32(x);
  return (uint16_t)((u + 0x7fffu + (u >> 16 & 1u)) >> 16);
}

/* n numbers, new: what these bfloat16 are, or what binary32 ones are after rounding. */
static inline float *widened(const void *rows, int64_t n) {
  float *x = malloc(sizeof *x * (size_t)n);
  for (int64_t i = 0; i < n; i++) x[i] = core_float((uint32_t)((const uint16_t *)rows)[i] << 16);
  return x;
}

static inline float *narrowed(const float *from, int64_t n) {
  float *x = malloc(sizeof *x * (size_t)n);
  for (int64_t i = 0; i < n; i++) x[i] = core_float((uint32_t)rounded(from[i]) << 16);
  return x;
}

static inline float *copied(const float *from, int64_t n) {
  float *x = malloc(sizeof *x * (size_t)n);
  memcpy(x, from, sizeof *x * (size_t)n);
  return x;
}

/* `want` is freed. */
static inline void check_wide(const char *what, float *want, const float *got, int64_t n) {
  for (int64_t i = 0; i < n; i++)
    cr_assert_eq(core_bits32(want[i]), core_bits32(got[i]), "%s, number %d: %a, not %a", what,
                 (int)i, (double)got[i], (double)want[i]);
  free(want);
}

static inline void check_rows(const char *what, float *want, const void *got, int64_t n) {
  float *w = narrowed(want, n);
  free(want);
  check_wide(what, w, widened(got, n), n); /* the test's process is short */
}

/* y = x w^T, or that added to `to`; x and w are freed. */
static inline float *product(int64_t rows, int64_t out, int64_t in, float *x, float *w,
                             const float *to) {
  float *y = to ? copied(to, rows * out) : calloc((size_t)(rows * out), sizeof *y);
  phibal_gemm_linear(rows, out, in, x, w, to != NULL, y);
  free(x);
  free(w);
  return y;
}

/* `before` + dy^T x, rows one after another. */
static inline float *outer(int64_t rows, int64_t out, int64_t in, const float *dy, const float *x,
                           const float *before) {
  float *g = copied(before, out * in);
  for (int64_t t = 0; t < rows; t++)
    for (int64_t o = 0; o < out; o++)
      for (int64_t i = 0; i < in; i++)
        g[o * in + i] = fmaf(dy[t * out + o], x[t * in + i], g[o * in + i]);
  return g;
}

/* dx = dy w, or that added to `to`; in order, as outer. */
static inline float *transposed(int64_t rows, int64_t out, int64_t in, const float *dy,
                                const float *w, const float *to) {
  float *dx = to ? copied(to, rows * in) : calloc((size_t)(rows * in), sizeof *dx);
  for (int64_t t = 0; t < rows; t++)
    for (int64_t o = 0; o < out; o++)
      for (int64_t i = 0; i < in; i++)
        dx[t * in + i] = fmaf(dy[t * out + o], w[o * in + i], dx[t * in + i]);
  return dx;
}

#endif
