/* Y = X W^T, or Y + X W^T: each row of Y a function of its row of X (and of Y) alone.

   Every element is one chain of fused multiplications and additions over the inner dimension, from
   its first term to its last, whatever is computed beside it: how many rows there are, where a row
   stands among them, and how many threads there are change no bit. OpenBLAS promises no such thing,
   and its bits do change (Haswell's kernel sums other columns of a block in another order). A chain
   that is interrupted after INNER terms goes on from the binary32 number that it has reached, which
   is what an uninterrupted one would go on from.

   A panel of PANEL rows of W is copied so that a step of the chain reads it in a row, and ROWS rows
   of X pass along it together: ROWS times two vectors of sums stay in registers. */
#include "gemm.h"

#include <stdbool.h>

#if defined(__AVX512F__) || defined(__FMA__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
enum { LANES = 16, ROWS = 12 };
typedef __m512 lanes;
#define lanes_load(p) _mm512_loadu_ps(p)
#define lanes_store(p, v) _mm512_storeu_ps(p, v)
#define lanes_all(x) _mm512_set1_ps(x)
#define lanes_fma(x, y, z) _mm512_fmadd_ps(x, y, z)
#elif defined(__FMA__)
enum { LANES = 8, ROWS = 6 };
typedef __m256 lanes;
#define lanes_load(p) _mm256_loadu_ps(p)
#define lanes_store(p, v) _mm256_storeu_ps(p, v)
#define lanes_all(x) _mm256_set1_ps(x)
#define lanes_fma(x, y, z) _mm256_fmadd_ps(x, y, z)
#else
/* Slow where fmaf is a function; the bits are the same. */
enum { LANES = 4, ROWS = 4 };
typedef float lanes __attribute__((vector_size(16)));
static inline lanes lanes_load(const float *p) {
  return (lanes){p[0], p[1], p[2], p[3]};
}
static inline void lanes_store(float *p, lanes v) {
  for (int i = 0; i < LANES; i++) p[i] = v[i];
}
static inline lanes lanes_all(float x) {
  return (lanes){x, x, x, x};
}
static inline lanes lanes_fma(lanes x, lanes y, lanes z) {
  for (int i = 0; i < LANES; i++) z[i] = __builtin_fmaf(x[i], y[i], z[i]);
  return z;
}
#endif

enum { PANEL = 2 * LANES, INNER = 256 };

#if defined(__FMA__) || defined(__AVX512F__)
enum { SQUARE = 8 };
/* panel [SQUARE][PANEL], its first SQUARE columns: w [SQUARE][SQUARE], transposed. */
static void transpose(const float *w, int64_t ldw, float *restrict panel) {
  __m256 row[SQUARE], pair[SQUARE], four[SQUARE];
  for (int i = 0; i < SQUARE; i++) row[i] = _mm256_loadu_ps(w + i * ldw);
  for (int i = 0; i < SQUARE; i += 2) {
    pair[i] = _mm256_unpacklo_ps(row[i], row[i + 1]);
    pair[i + 1] = _mm256_unpackhi_ps(row[i], row[i + 1]);
  }
  for (int i = 0; i < SQUARE; i += 4)
    for (int half = 0; half < 2; half++) {
      four[i + 2 * half] = _mm256_shuffle_ps(pair[i + half], pair[i + 2 + half], 0x44);
      four[i + 2 * half + 1] = _mm256_shuffle_ps(pair[i + half], pair[i + 2 + half], 0xee);
    }
  for (int i = 0; i < SQUARE / 2; i++) {
    _mm256_storeu_ps(panel + i * PANEL, _mm256_permute2f128_ps(four[i], four[i + 4], 0x20));
    _mm256_storeu_ps(panel + (i + 4) * PANEL, _mm256_permute2f128_ps(four[i], four[i + 4], 0x31));
  }
}
#else
enum { SQUARE = 1 };
static void transpose(const float *w, int64_t ldw, float *restrict panel) {
  (void)ldw;
  *panel = *w;
}
#endif

/* panel [k][PANEL] from n <= PANEL rows of w, zeros beyond. */
static void pack(int64_t n, int64_t k, const float *w, int64_t ldw, float *restrict panel) {
  int64_t done = n == PANEL ? k / SQUARE * SQUARE : 0;
  for (int64_t l = 0; l < done; l += SQUARE)
    for (int64_t j = 0; j < PANEL; j += SQUARE)
      transpose(w + j * ldw + l, ldw, panel + l * PANEL + j);
  for (int64_t l = done; l < k; l++)
    for (int64_t j = 0; j < n; j++) panel[l * PANEL + j] = w[j * ldw + l];
  if (n == PANEL) return;
  for (int64_t l = 0; l < k; l++)
    for (int64_t j = n; j < PANEL; j++) panel[l * PANEL + j] = 0.0f;
}

/* The same of n <= PANEL columns of b [k][.]. */
static void pack_columns(int64_t n, int64_t k, const float *b, int64_t ldb, float *restrict panel) {
  for (int64_t l = 0; l < k; l++) {
    const float *from = b + l * ldb;
    float *to = panel + l * PANEL;
    if (n == PANEL) {
      lanes_store(to, lanes_load(from));
      lanes_store(to + LANES, lanes_load(from + LANES));
    } else {
      for (int64_t j = 0; j < PANEL; j++) to[j] = j < n ? from[j] : 0.0f;
    }
  }
}

/* `rows` rows by a whole panel: y += x panel, from y where `from_y`, else from 0. */
static inline __attribute__((always_inline)) void block(int rows, int64_t k, const float *x,
                                                        int64_t ldx, const float *panel, int from_y,
                                                        float *y, int64_t ldy) {
  lanes sum[ROWS][2];
  for (int r = 0; r < rows; r++)
    for (int v = 0; v < 2; v++)
      sum[r][v] = from_y ? lanes_load(y + r * ldy + v * LANES) : lanes_all(0.0f);
  for (int64_t l = 0; l < k; l++) {
    const lanes first = lanes_load(panel + l * PANEL),
                second = lanes_load(panel + l * PANEL + LANES);
    for (int r = 0; r < rows; r++) {
      const lanes at = lanes_all(x[r * ldx + l]);
      sum[r][0] = lanes_fma(at, first, sum[r][0]);
      sum[r][1] = lanes_fma(at, second, sum[r][1]);
    }
  }
  for (int r = 0; r < rows; r++)
    for (int v = 0; v < 2; v++) lanes_store(y + r * ldy + v * LANES, sum[r][v]);
}

static void block_of(int64_t rows, int64_t k, const float *x, int64_t ldx, const float *panel,
                     int from_y, float *y, int64_t ldy) {
  switch (rows) {
#define BLOCK(n)                                                                                   \
  case n:                                                                                          \
    block(n, k, x, ldx, panel, from_y, y, ldy);                                                    \
    break;
    BLOCK(1)
    BLOCK(2)
    BLOCK(3)
    BLOCK(4)
#if defined(__FMA__) || defined(__AVX512F__)
    BLOCK(5)
    BLOCK(6)
#endif
#if defined(__AVX512F__)
    BLOCK(7)
    BLOCK(8)
    BLOCK(9)
    BLOCK(10)
    BLOCK(11)
    BLOCK(12)
#endif
#undef BLOCK
  default:
    __builtin_unreachable();
  }
}

/* n < PANEL columns: through a copy that has all of them. */
static void narrow_block(int64_t rows, int64_t n, int64_t k, const float *x, int64_t ldx,
                         const float *panel, int from_y, float *y, int64_t ldy) {
  float copy[ROWS * PANEL] = {0};
  for (int64_t r = 0; r < rows && from_y; r++)
    for (int64_t j = 0; j < n; j++) copy[r * PANEL + j] = y[r * ldy + j];
  block_of(rows, k, x, ldx, panel, from_y, copy, PANEL);
  for (int64_t r = 0; r < rows; r++)
    for (int64_t j = 0; j < n; j++) y[r * ldy + j] = copy[r * PANEL + j];
}

/* y [m][n] += x by n columns of panels, from 0 without `add`. b: [n][k] if `transposed`, or [k][n].
 */
static void product(int64_t m, int64_t n, int64_t k, const float *x, int64_t ldx, const float *b,
                    int64_t ldb, bool transposed, int add, float *y, int64_t ldy) {
  float panel[INNER * PANEL] __attribute__((aligned(64)));
  for (int64_t l = 0; l < k; l += INNER)
    for (int64_t j = 0; j < n; j += PANEL) {
      const int64_t terms = smaller(INNER, k - l), columns = smaller(PANEL, n - j);
      if (transposed)
        pack(columns, terms, b + j * ldb + l, ldb, panel);
      else
        pack_columns(columns, terms, b + l * ldb + j, ldb, panel);
      for (int64_t i = 0; i < m; i += ROWS) {
        const int64_t rows = smaller(ROWS, m - i);
        const float *from = x + i * ldx + l;
        float *to = y + i * ldy + j;
        if (columns == PANEL)
          block_of(rows, terms, from, ldx, panel, add || l, to, ldy);
        else
          narrow_block(rows, columns, terms, from, ldx, panel, add || l, to, ldy);
      }
    }
}

void phibal_gemm_rows(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda, const float *b,
                      int64_t ldb, int add, float *c, int64_t ldc) {
  product(m, n, k, a, lda, b, ldb, true, add, c, ldc);
}

void phibal_gemm_rows_nn(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda,
                         const float *b, int64_t ldb, int add, float *c, int64_t ldc) {
  product(m, n, k, a, lda, b, ldb, false, add, c, ldc);
}
