/* Whole matrices on all threads, by tiles. A tile computes its part of the result whole: no chain
   is cut, so the bits depend neither on the tiles nor on the threads. */
#include "gemm.h"

#include <omp.h>

enum { LEAST = 64 };

/* The edges of the tiles of an [m][n] result: small enough that each of several threads gets a few.
   A copy of a panel of columns serves all rows of its tile, so tiles
   get narrower before they get lower. */
typedef struct tiling {
  int64_t rows, columns;
} tiling;

static tiling tiles_of(int64_t m, int64_t n) {
  tiling t = {GEMM_TILE_ROWS, GEMM_TILE_COLUMNS};
  const int threads = omp_get_num_threads(), wanted = threads > 1 ? 4 * threads : 1;
  while ((m + t.rows - 1) / t.rows * ((n + t.columns - 1) / t.columns) < wanted) {
    if (t.columns >= 2 * LEAST)
      t.columns /= 2;
    else if (t.rows >= 2 * LEAST)
      t.rows /= 2;
    else
      break;
  }
  return t;
}

void phibal_gemm_linear(int64_t rows, int64_t out, int64_t in, const float *x, const float *w,
                        bool add, float *y) {
  if (!omp_get_level()) {
#pragma omp parallel
    phibal_gemm_linear(rows, out, in, x, w, add, y);
    return;
  }
  const tiling t = tiles_of(rows, out);
#pragma omp for collapse(2) schedule(dynamic)
  for (int64_t j = 0; j < out; j += t.columns)
    for (int64_t i = 0; i < rows; i += t.rows)
      phibal_gemm_nt(smaller(t.rows, rows - i), smaller(t.columns, out - j), in, x + i * in, in,
                     w + j * in, in, add, y + i * out + j, out);
}

void phibal_gemm_linear_input_gradient(int64_t rows, int64_t out, int64_t in,
                                       const float *y_gradient, const float *w, bool add,
                                       float *x_gradient) {
  if (!omp_get_level()) {
#pragma omp parallel
    phibal_gemm_linear_input_gradient(rows, out, in, y_gradient, w, add, x_gradient);
    return;
  }
  const tiling t = tiles_of(rows, in);
#pragma omp for collapse(2) schedule(dynamic)
  for (int64_t j = 0; j < in; j += t.columns)
    for (int64_t i = 0; i < rows; i += t.rows)
      phibal_gemm_nn(smaller(t.rows, rows - i), smaller(t.columns, in - j), out,
                     y_gradient + i * out, out, w + j, in, add, x_gradient + i * in + j, in);
}

void phibal_gemm_linear_weight_gradient(int64_t rows, int64_t out, int64_t in,
                                        const float *y_gradient, const float *x,
                                        float *w_gradient) {
  if (!omp_get_level()) {
#pragma omp parallel
    phibal_gemm_linear_weight_gradient(rows, out, in, y_gradient, x, w_gradient);
    return;
  }
  const tiling t = tiles_of(out, in);
#pragma omp for collapse(2) schedule(dynamic)
  for (int64_t i = 0; i < out; i += t.rows)
    for (int64_t j = 0; j < in; j += t.columns)
      phibal_gemm_tn(smaller(t.rows, out - i), smaller(t.columns, in - j), rows, y_gradient + i,
                     out, x + j, in, true, w_gradient + i * in + j, in);
}
