/* Products: each element the chain that gemm.h states, to the bit, in all forms and through
   strides; and whole matrices against loops in binary64, within gamma_n of gemm.h. Run for each
   instruction set (meson.build). */
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
  double gamma = (double)p->k * U / (1 - (double)p->k * U);
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
    phibal_gemm_linear_input_gradient(rows, out, in, dy, w, beta, dx);
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
  check_linear(GEMM_TILE_ROWS, 64, 7);
  check_linear(3, 5, GEMM_TILE_COLUMNS);
  check_linear(GEMM_TILE_ROWS + 45, GEMM_TILE_COLUMNS + 19, GEMM_TILE_COLUMNS + 30);
  check_linear(2 * GEMM_TILE_ROWS + 1, 2 * 96 + 1, 33);
}

/* The forms: C = A B^T, A B, A^T B. Rows of every operand lie further apart than they are long, and
   what lies between is not written. */
typedef enum form { NT, NN, TN } form;
static const char *const form_names[] = {"nt", "nn", "tn"};

static void multiply(form f, int64_t m, int64_t n, int64_t k, const float *a, int64_t lda,
                     const float *b, int64_t ldb, bool add, float *c, int64_t ldc) {
  (f == NT   ? phibal_gemm_nt
   : f == NN ? phibal_gemm_nn
             : phibal_gemm_tn)(m, n, k, a, lda, b, ldb, add, c, ldc);
}

static void check_chain_of(form f, int64_t m, int64_t n, int64_t k, int64_t apart, bool add) {
  const int64_t lda = (f == TN ? m : k) + apart, ldb = (f == NT ? k : n) + apart, ldc = n + 3;
  float *a = make((f == TN ? k : m) * lda), *b = make((f == NT ? n : k) * ldb);
  float *c = make(m * ldc), *before = copy(m * ldc, c);
  multiply(f, m, n, k, a, lda, b, ldb, add, c, ldc);
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < ldc; j++) {
      float sum = j >= n || add ? before[i * ldc + j] : 0.0f;
      for (int64_t l = 0; l < k && j < n; l++)
        sum = fmaf(f == TN ? a[l * lda + i] : a[i * lda + l],
                   f == NT ? b[j * ldb + l] : b[l * ldb + j], sum);
      cr_assert_eq(memcmp(&c[i * ldc + j], &sum, sizeof sum), 0,
                   "%s %ld x %ld x %ld, %d: [%ld][%ld] is %a, not %a", form_names[f], (long)m,
                   (long)n, (long)k, (int)add, (long)i, (long)j, (double)c[i * ldc + j],
                   (double)sum);
    }
  free(a), free(b), free(c), free(before);
}

static void check_chain(int64_t m, int64_t n, int64_t k) {
  for (form f = NT; f <= TN; f++)
    for (int add = 0; add < 2; add++) check_chain_of(f, m, n, k, 5, add);
}

Test(gemm, elements_are_chains) {
  /* Every number of rows in a block, of columns in a panel, and around the inner dimension's cut.
   */
  for (int64_t m = 0; m <= 26; m++) check_chain(m, 37, 19);
  for (int64_t n = 0; n <= 70; n++) check_chain(5, n, 9);
  for (int64_t k = 0; k <= 17; k++) check_chain(13, 33, k);
  for (int64_t k = 255; k <= 258; k++) check_chain(7, 70, k);
  check_chain(29, 40, 1100);
}

/* Where the rows of A^T lie pages apart and their columns are copied first. */
Test(gemm, far_apart_rows_are_chains) {
  const int64_t sizes[][3] = {
      {48, 512, 3}, {97, 513, 260}, {300, 700, 2}, {47, 512, 5}, {290, 141, 520}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    for (int add = 0; add < 2; add++)
      check_chain_of(TN, sizes[i][0], sizes[i][1], sizes[i][2], 1024, add);
}

/* Numbers whose fused multiply-add differs from a product and a sum, from a sum in binary64, and
   from one rounded twice; with results that are subnormal, infinite, signed zeros and no numbers.
 */
Test(gemm, a_step_is_one_rounding) {
  static const float numbers[] = {0x1p-149f,
                                  -0x1p-149f,
                                  0x1.fffffep-126f,
                                  0x1.000002p-75f,
                                  0x1.000002p0f,
                                  -0x1.000002p0f,
                                  0x1.fffffep0f,
                                  0x1.8p-24f,
                                  0x1.000002p-24f,
                                  0x1p-48f,
                                  -0x1.fffffep-49f,
                                  0x1.fffffep127f,
                                  0x1.000ffep0f,
                                  0x1.001002p0f,
                                  0.0f,
                                  -0.0f,
                                  0x1.aaaaaap-63f,
                                  0x1.555556p62f,
                                  INFINITY,
                                  3.0f};
  enum { COUNT = sizeof numbers / sizeof *numbers };
  for (int x = 0; x < COUNT; x++)
    for (int z = 0; z < COUNT; z++) {
      /* c [1][COUNT] = z + x numbers. */
      float c[COUNT];
      for (int y = 0; y < COUNT; y++) c[y] = numbers[z];
      phibal_gemm_nn(1, COUNT, 1, &numbers[x], 1, numbers, COUNT, true, c, COUNT);
      for (int y = 0; y < COUNT; y++) {
        const float right = fmaf(numbers[x], numbers[y], numbers[z]);
        cr_assert((isnan(right) && isnan(c[y])) || !memcmp(&c[y], &right, sizeof right),
                  "%a %a + %a is %a, not %a", (double)numbers[x], (double)numbers[y],
                  (double)numbers[z], (double)c[y], (double)right);
      }
    }
}

/* Any rows of a product, computed by themselves, have the same bits, through strides too. */
Test(gemm, rows_do_not_see_each_other) {
  enum { M = 80, N = 75, K = 300, WIDE = 90 };
  float *x = make(M * K), *w = make(N * K), *whole = make(M * N), *part = make(M * WIDE);
  phibal_gemm_nt(M, N, K, x, K, w, K, false, whole, N);
  for (int64_t first = 0; first < M; first += 3)
    for (int64_t rows = 1; first + rows <= M; rows += 7) {
      phibal_gemm_nt(rows, N, K, x + first * K, K, w, K, false, part, WIDE);
      for (int64_t i = 0; i < rows; i++)
        cr_assert_eq(memcmp(part + i * WIDE, whole + (first + i) * N, N * sizeof(float)), 0);
    }
  free(x), free(w), free(whole), free(part);
}

Test(gemm, no_rows_change_nothing) {
  float w[4] = {1, 2, 3, 4}, dw[4] = {5, 6, 7, 8};
  phibal_gemm_linear(0, 2, 2, w, w, false, dw);
  phibal_gemm_linear_input_gradient(0, 2, 2, w, w, false, dw);
  phibal_gemm_linear_weight_gradient(0, 2, 2, w, w, dw);
  for (int i = 0; i < 4; i++) cr_assert_eq(dw[i], 5.0f + (float)i);
}

/* Products leave the program's number of threads as it was. */
Test(gemm, threads_are_kept) {
  float *x = make(600 * 70), *w = make(70 * 70), *one = make(600 * 70), *many = make(600 * 70);
  omp_set_num_threads(1);
  phibal_gemm_linear(600, 70, 70, x, w, false, one);
  omp_set_num_threads(3);
  phibal_gemm_linear(600, 70, 70, x, w, false, many);
  cr_assert_eq(omp_get_max_threads(), 3);
  cr_assert_eq(memcmp(one, many, 600 * 70 * sizeof(float)), 0);
  free(x), free(w), free(one), free(many);
}
