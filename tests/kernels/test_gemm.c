/* The tiled products against loops in binary64, within gamma_n of gemm.h, at shapes of less than a
   tile, of whole tiles, and of several with a rest in every dimension. */
#include "kernels/cpu/gemm.h"

#include <criterion/criterion.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#define U 0x1p-24

static uint64_t state = 9;

static float *make(int64_t n) {
  float *v = malloc((size_t)(n + 1) * sizeof *v);
  for (int64_t i = 0; i <= n; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    v[i] = (float)((double)(state >> 11) * 0x1p-52 - 1.0);
  }
  return v;
}

/* got [m][n] against before beta + sum over l < k of left(i, l) right(l, j), elements of which lie
   left_row i + left_step l and right_step l + right_column j away from the start. */
typedef struct product {
  int64_t m, n, k;
  const float *left, *right, *before, *got;
  int64_t left_row, left_step, right_step, right_column;
  double beta;
} product;

static void check(const char *what, const product *p) {
  double gamma = (double)(p->k + 1) * U / (1 - (double)(p->k + 1) * U);
  for (int64_t i = 0; i < p->m; i++)
    for (int64_t j = 0; j < p->n; j++) {
      double sum = p->beta * (double)p->before[i * p->n + j], size = fabs(sum);
      for (int64_t l = 0; l < p->k; l++) {
        double term = (double)p->left[p->left_row * i + p->left_step * l] *
                      (double)p->right[p->right_step * l + p->right_column * j];
        sum += term, size += fabs(term);
      }
      double got = (double)p->got[i * p->n + j];
      cr_assert(fabs(got - sum) <= gamma * size * (1 + 1e-6), "%s[%ld][%ld] is %g, not %g", what,
                (long)i, (long)j, got, sum);
    }
  cr_assert_eq(p->got[p->m * p->n], p->before[p->m * p->n], "%s: written past its end", what);
}

static float *copy(int64_t n, const float *v) {
  float *to = malloc((size_t)(n + 1) * sizeof *to);
  memcpy(to, v, (size_t)(n + 1) * sizeof *to);
  return to;
}

static void check_linear(int64_t rows, int64_t out, int64_t in) {
  float *x = make(rows * in), *w = make(out * in), *dy = make(rows * out);
  for (int beta = 0; beta < 2; beta++) {
    float *y = make(rows * out), *y_before = copy(rows * out, y);
    float *dx = make(rows * in), *dx_before = copy(rows * in, dx);
    phibal_gemm_linear(rows, out, in, x, w, beta, y);
    phibal_gemm_linear_input_gradient(rows, out, in, dy, w, (float)beta, dx);
    check("y", &(product){rows, out, in, x, w, y_before, y, in, 1, 1, in, beta});
    check("dx", &(product){rows, in, out, dy, w, dx_before, dx, out, 1, in, 1, beta});
    free(y), free(y_before), free(dx), free(dx_before);
  }
  float *dw = make(out * in), *dw_before = copy(out * in, dw);
  phibal_gemm_linear_weight_gradient(rows, out, in, dy, x, dw);
  check("dw", &(product){out, in, rows, dy, x, dw_before, dw, 1, out, in, 1, 1});
  free(x), free(w), free(dy), free(dw), free(dw_before);
}

Test(gemm, within_gamma_for_any_shape) {
  check_linear(1, 1, 1);
  check_linear(GEMM_TILE_ROWS, GEMM_TILE_WEIGHT_ROWS, 7);
  check_linear(3, 5, GEMM_TILE_COLUMNS);
  check_linear(GEMM_TILE_ROWS + 45, GEMM_TILE_COLUMNS + 19, GEMM_TILE_COLUMNS + 30);
  check_linear(2 * GEMM_TILE_ROWS + 1, 2 * GEMM_TILE_WEIGHT_ROWS + 1, 33);
}

/* The chain that gemm.h says, to the bit, at shapes with a rest in every dimension; w is [n][k], or
   [k][n] where `plain`, and its rows lie further apart. */
static void check_chain_of(int64_t m, int64_t n, int64_t k, int add, int plain) {
  const int64_t stride = (plain ? n : k) + 3;
  const int64_t along = plain ? stride : 1, across = plain ? 1 : stride;
  float *x = make(m * k), *w = make((n + k) * stride), *y = make(m * n), *before = copy(m * n, y);
  (plain ? phibal_gemm_rows_nn : phibal_gemm_rows)(m, n, k, x, k, w, stride, add, y, n);
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) {
      float sum = add ? before[i * n + j] : 0.0f;
      for (int64_t l = 0; l < k; l++) sum = fmaf(x[i * k + l], w[j * across + l * along], sum);
      cr_assert_eq(y[i * n + j], sum, "%ld x %ld x %ld, %d: [%ld][%ld]", (long)m, (long)n, (long)k,
                   plain, (long)i, (long)j);
    }
  cr_assert_eq(y[m * n], before[m * n], "written past its end");
  free(x), free(w), free(y), free(before);
}

static void check_chain(int64_t m, int64_t n, int64_t k, int add) {
  for (int plain = 0; plain < 2; plain++) check_chain_of(m, n, k, add, plain);
}

Test(gemm, rows_are_chains) {
  for (int64_t m = 1; m <= 14; m++)
    for (int add = 0; add < 2; add++) check_chain(m, 37, 19, add);
  for (int64_t n = 1; n <= 66; n += 5) check_chain(5, n, 3, 0);
  for (int64_t k = 255; k <= 258; k++) check_chain(7, 70, k, 1);
  check_chain(29, 40, 1100, 0);
}

/* Any rows of a product, computed by themselves, have the same bits, through strides too. */
Test(gemm, rows_do_not_see_each_other) {
  enum { M = 80, N = 75, K = 300, WIDE = 90 };
  float *x = make(M * K), *w = make(N * K), *whole = make(M * N), *part = make(M * WIDE);
  phibal_gemm_rows(M, N, K, x, K, w, K, 0, whole, N);
  for (int64_t first = 0; first < M; first += 3)
    for (int64_t rows = 1; first + rows <= M; rows += 7) {
      phibal_gemm_rows(rows, N, K, x + first * K, K, w, K, 0, part, WIDE);
      for (int64_t i = 0; i < rows; i++)
        cr_assert_eq(memcmp(part + i * WIDE, whole + (first + i) * N, N * sizeof(float)), 0);
    }
  free(x), free(w), free(whole), free(part);
}

Test(gemm, no_rows_change_nothing) {
  float w[4] = {1, 2, 3, 4}, dw[4] = {5, 6, 7, 8};
  phibal_gemm_linear(0, 2, 2, w, w, 0, dw);
  phibal_gemm_linear_input_gradient(0, 2, 2, w, w, 0.0f, dw);
  phibal_gemm_linear_weight_gradient(0, 2, 2, w, w, dw);
  for (int i = 0; i < 4; i++) cr_assert_eq(dw[i], 5.0f + (float)i);
}

/* Products leave the program's number of threads as it was. */
Test(gemm, threads_are_kept) {
  float *x = make(600 * 70), *w = make(70 * 70), *one = make(600 * 70), *many = make(600 * 70);
  omp_set_num_threads(1);
  phibal_gemm_linear(600, 70, 70, x, w, 0, one);
  omp_set_num_threads(3);
  phibal_gemm_linear(600, 70, 70, x, w, 0, many);
  cr_assert_eq(omp_get_max_threads(), 3);
  cr_assert_eq(memcmp(one, many, 600 * 70 * sizeof(float)), 0);
  free(x), free(w), free(one), free(many);
}
