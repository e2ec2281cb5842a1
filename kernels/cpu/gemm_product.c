/* One product of matrices in three forms, on the calling thread:
     C = A B^T,  C = A B,  C = A^T B,  or each added to C.

   Every element is one chain of fused multiplications and additions over the inner dimension,
     c <- fma(a_l, b_l, c),  l = 0 .. k-1,
   from its first term to its last, whatever is computed beside it. So an element's bits depend on
   its own row of A and column of B alone: not on the tile it stands in, the width of the
   processor's vectors or the number of threads. A chain that is interrupted after INNER terms goes
   on from the binary32 number that it has reached, which is what an uninterrupted one would do.

   A panel of columns of B is copied so that a step of the chain reads it in a row, and a block of a
   few rows of A passes along it: their sums stay in registers. In A^T B the "rows" of A are its
   columns. A step in a training run finds little of its operands in the caches, so each block also
   fetches what the next one and the next panel read and add to: lines noted in `ahead`. */
#include "gemm.h"

#include <stdbool.h>
#include <string.h>

#if defined(__AVX512F__)
#include <immintrin.h>
typedef __m512 lanes;
typedef __m256 few;
enum { LANES = 16, FEW = 8 };
#define ROWS_WIDE 12
#define ROWS_NARROW 12
#define lanes_load(p) _mm512_loadu_ps(p)
#define lanes_store(p, v) _mm512_storeu_ps(p, v)
#define lanes_all(x) _mm512_set1_ps(x)
#define lanes_fma(x, y, z) _mm512_fmadd_ps(x, y, z)
#define few_load(p) _mm256_loadu_ps(p)
#define few_store(p, v) _mm256_storeu_ps(p, v)
#define few_all(x) _mm256_set1_ps(x)
#define few_fma(x, y, z) _mm256_fmadd_ps(x, y, z)
#elif defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
typedef __m256 lanes;
typedef __m128 few;
enum { LANES = 8, FEW = 4 };
#define ROWS_WIDE 6
#define ROWS_NARROW 12
#define lanes_load(p) _mm256_loadu_ps(p)
#define lanes_store(p, v) _mm256_storeu_ps(p, v)
#define lanes_all(x) _mm256_set1_ps(x)
#define lanes_fma(x, y, z) _mm256_fmadd_ps(x, y, z)
#define few_load(p) _mm_loadu_ps(p)
#define few_store(p, v) _mm_storeu_ps(p, v)
#define few_all(x) _mm_set1_ps(x)
#define few_fma(x, y, z) _mm_fmadd_ps(x, y, z)
#else
typedef float lanes __attribute__((vector_size(16)));
enum { LANES = 4 };
static inline lanes lanes_load(const float *p) {
  lanes v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
static inline void lanes_store(float *p, lanes v) {
  __builtin_memcpy(p, &v, sizeof v);
}
static inline lanes lanes_all(float x) {
  return (lanes){x, x, x, x};
}
#if defined(__aarch64__)
#include <arm_neon.h>
#define ROWS_WIDE 12
#define ROWS_NARROW 12
static inline lanes lanes_fma(lanes x, lanes y, lanes z) {
  return (lanes)vfmaq_f32((float32x4_t)z, (float32x4_t)x, (float32x4_t)y);
}
#elif defined(__SSE2__)
#include <emmintrin.h>
/* Without the instruction: x y is exact in binary64. Its sum with z is rounded to odd (where it is
   inexact, to that neighbour whose last bit is 1), and an odd binary64 number rounds to binary32 as
   the exact sum does (Boldo and Melquiond, Emulation of FMA and correctly rounded sums, theorem 3:
   53 >= 24 + 2 bits). The error of the sum is Knuth's two-sum: exact, since nothing overflows and
   underflow in binary64 is 2^-1074, below every bit of a product and of z. */
#define ROWS_WIDE 4
#define ROWS_NARROW 4
static inline __m128d sum_to_odd(__m128d product, __m128d z) {
  const __m128d sum = _mm_add_pd(product, z), back = _mm_sub_pd(sum, product);
  const __m128d error = _mm_add_pd(_mm_sub_pd(product, _mm_sub_pd(sum, back)), _mm_sub_pd(z, back));
  /* Inexact, and the last bit 0; never where the sum is infinite or not a number, whose error is
     not a number. All ones, or 0. */
  const __m128i one = _mm_set1_epi64x(1), bits = _mm_castpd_si128(sum);
  const __m128d inexact =
      _mm_and_pd(_mm_cmpneq_pd(error, _mm_setzero_pd()), _mm_cmpord_pd(error, error));
  const __m128i even = _mm_sub_epi64(_mm_and_si128(bits, one), one);
  /* Away from zero (+1 in the bits) if the error has the sum's sign, else towards it (-1). */
  const __m128i towards = _mm_srli_epi64(_mm_castpd_si128(_mm_xor_pd(sum, error)), 63);
  const __m128i step = _mm_sub_epi64(one, _mm_slli_epi64(towards, 1));
  const __m128i change = _mm_and_si128(_mm_and_si128(_mm_castpd_si128(inexact), even), step);
  return _mm_castsi128_pd(_mm_add_epi64(bits, change));
}
static inline lanes lanes_fma(lanes x, lanes y, lanes z) {
  const __m128 a = (__m128)x, b = (__m128)y, c = (__m128)z;
  const __m128d low = sum_to_odd(_mm_mul_pd(_mm_cvtps_pd(a), _mm_cvtps_pd(b)), _mm_cvtps_pd(c));
  const __m128d high =
      sum_to_odd(_mm_mul_pd(_mm_cvtps_pd(_mm_movehl_ps(a, a)), _mm_cvtps_pd(_mm_movehl_ps(b, b))),
                 _mm_cvtps_pd(_mm_movehl_ps(c, c)));
  return (lanes)_mm_movelh_ps(_mm_cvtpd_ps(low), _mm_cvtpd_ps(high));
}
#else
#define ROWS_WIDE 4
#define ROWS_NARROW 4
static inline lanes lanes_fma(lanes x, lanes y, lanes z) {
  for (int i = 0; i < LANES; i++) z[i] = __builtin_fmaf(x[i], y[i], z[i]);
  return z;
}
#endif
typedef lanes few;
enum { FEW = LANES };
#define few_load lanes_load
#define few_store lanes_store
#define few_all lanes_all
#define few_fma lanes_fma
#endif

/* A block fetches a line for what comes after it in every FETCH steps: more of them at once would
   wait for each other, and the block for them. */
enum { WIDE = 2 * LANES, INNER = 256, FETCH = 2, LINE = 16 };

#if defined(__AVX2__)
enum { SQUARE = 8 };
/* to [SQUARE][width], its first SQUARE columns: w [SQUARE][SQUARE], transposed. */
static void transpose(const float *w, int64_t ldw, int64_t width, float *restrict to) {
  /* Halves of rows i and i + 4 side by side, so that no vector has to cross its middle later. */
  for (int half = 0; half < 2; half++) {
    __m256 row[4], low[2], high[2];
    for (int i = 0; i < 4; i++) {
      const float *from = w + i * ldw + 4 * half;
      row[i] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(from)),
                                    _mm_loadu_ps(from + 4 * ldw), 1);
    }
    for (int i = 0; i < 2; i++) {
      low[i] = _mm256_unpacklo_ps(row[2 * i], row[2 * i + 1]);
      high[i] = _mm256_unpackhi_ps(row[2 * i], row[2 * i + 1]);
    }
    float *at = to + 4 * half * width;
    _mm256_storeu_ps(at, _mm256_shuffle_ps(low[0], low[1], 0x44));
    _mm256_storeu_ps(at + width, _mm256_shuffle_ps(low[0], low[1], 0xee));
    _mm256_storeu_ps(at + 2 * width, _mm256_shuffle_ps(high[0], high[1], 0x44));
    _mm256_storeu_ps(at + 3 * width, _mm256_shuffle_ps(high[0], high[1], 0xee));
  }
}
#else
enum { SQUARE = 4 };
static void transpose(const float *w, int64_t ldw, int64_t width, float *restrict to) {
  for (int i = 0; i < SQUARE; i++)
    for (int j = 0; j < SQUARE; j++) to[j * width + i] = w[i * ldw + j];
}
#endif

/* panel [k][width] from n <= width rows of b [.][k], zeros beyond. */
static void pack_rows(int64_t n, int64_t k, const float *b, int64_t ldb, int64_t width,
                      float *restrict panel) {
  const int64_t squares = n / SQUARE * SQUARE, done = k / SQUARE * SQUARE;
  for (int64_t l = 0; l < done; l += SQUARE)
    for (int64_t j = 0; j < squares; j += SQUARE)
      transpose(b + j * ldb + l, ldb, width, panel + l * width + j);
  for (int64_t l = 0; l < k; l++) {
    for (int64_t j = l < done ? squares : 0; j < n; j++) panel[l * width + j] = b[j * ldb + l];
    for (int64_t j = n; j < width; j++) panel[l * width + j] = 0.0f;
  }
}

/* The same from n <= width columns of b [k][.]. */
static void pack_columns(int64_t n, int64_t k, const float *b, int64_t ldb, int64_t width,
                         float *restrict panel) {
  for (int64_t l = 0; l < k; l++) {
    const float *from = b + l * ldb;
    float *to = panel + l * width;
    if (n == WIDE) {
      lanes_store(to, lanes_load(from));
      lanes_store(to + LANES, lanes_load(from + LANES));
    } else {
      for (int64_t j = 0; j < width; j++) to[j] = j < n ? from[j] : 0.0f;
    }
  }
}

/* `rows` rows by a panel of VECTORS vectors, the steps of which lie ldp apart: c += a panel, from c
   where `from_c`, else from 0. Of A, element (r, l) is a[r lda + l], or with `columns` a[l lda +
   r]. Every third row has a pointer of its own, which the compiler must not derive from another:
   the rest are at most 2 lda beyond one, so that all addresses stay in registers. */
#define DEFINE_BLOCK(NAME, VECTOR, WIDTH, VECTORS, ROWS)                                           \
  static inline __attribute__((always_inline)) void NAME##_block(                                  \
      int rows, bool columns, int64_t k, const float *a, int64_t lda, const float *panel,          \
      int64_t ldp, bool from_c, float *c, int64_t ldc, const float *const *ahead) {                \
    enum { THIRDS = (ROWS + 2) / 3 };                                                              \
    VECTOR sum[ROWS][VECTORS];                                                                     \
    const float *at[THIRDS];                                                                       \
    _Pragma("GCC unroll 12") for (int r = 0; r < rows; r++)                                        \
        _Pragma("GCC unroll 2") for (int v = 0; v < VECTORS; v++) sum[r][v] =                      \
            from_c ? VECTOR##_load(c + r * ldc + v * WIDTH) : VECTOR##_all(0.0f);                  \
    _Pragma("GCC unroll 4") for (int t = 0; t < THIRDS; t++) at[t] = a + 3 * t * lda;              \
    for (int64_t l = 0; l < k; l++) {                                                              \
      VECTOR b[VECTORS];                                                                           \
      if (l % FETCH == 0) __builtin_prefetch(ahead[l / FETCH]);                                    \
      _Pragma("GCC unroll 2") for (int v = 0; v < VECTORS; v++) b[v] =                             \
          VECTOR##_load(panel + v * WIDTH);                                                        \
      panel += ldp;                                                                                \
      if (!columns)                                                                                \
        _Pragma("GCC unroll 4") for (int t = 0; t < THIRDS; t++) __asm__("" : "+r"(at[t]));        \
      _Pragma("GCC unroll 12") for (int r = 0; r < rows; r++) {                                    \
        const VECTOR x = VECTOR##_all(columns ? a[r] : at[r / 3][r % 3 * lda]);                    \
        _Pragma("GCC unroll 2") for (int v = 0; v < VECTORS; v++) sum[r][v] =                      \
            VECTOR##_fma(x, b[v], sum[r][v]);                                                      \
      }                                                                                            \
      if (columns)                                                                                 \
        a += lda;                                                                                  \
      else                                                                                         \
        _Pragma("GCC unroll 4") for (int t = 0; t < THIRDS; t++) at[t]++;                          \
    }                                                                                              \
    _Pragma("GCC unroll 12") for (int r = 0; r < rows; r++)                                        \
        _Pragma("GCC unroll 2") for (int v = 0; v < VECTORS; v++)                                  \
            VECTOR##_store(c + r * ldc + v * WIDTH, sum[r][v]);                                    \
  }                                                                                                \
  static void NAME(int rows, bool columns, int64_t k, const float *a, int64_t lda,                 \
                   const float *panel, int64_t ldp, bool from_c, float *c, int64_t ldc,            \
                   const float *const *ahead) {                                                    \
    switch (rows) {                                                                                \
      BLOCKS_TO(ROWS, NAME)                                                                        \
    default:                                                                                       \
      __builtin_unreachable();                                                                     \
    }                                                                                              \
  }
#define BLOCK(NAME, N)                                                                             \
  case N:                                                                                          \
    if (columns)                                                                                   \
      NAME##_block(N, true, k, a, lda, panel, ldp, from_c, c, ldc, ahead);                         \
    else                                                                                           \
      NAME##_block(N, false, k, a, lda, panel, ldp, from_c, c, ldc, ahead);                        \
    break;
#define BLOCKS_TO_4(NAME) BLOCK(NAME, 1) BLOCK(NAME, 2) BLOCK(NAME, 3) BLOCK(NAME, 4)
#define BLOCKS_TO_6(NAME) BLOCKS_TO_4(NAME) BLOCK(NAME, 5) BLOCK(NAME, 6)
#define BLOCKS_TO_12(NAME)                                                                         \
  BLOCKS_TO_6(NAME)                                                                                \
  BLOCK(NAME, 7)                                                                                   \
  BLOCK(NAME, 8) BLOCK(NAME, 9) BLOCK(NAME, 10) BLOCK(NAME, 11) BLOCK(NAME, 12)
#define BLOCKS_TO(ROWS, NAME) BLOCKS_TO_OF(ROWS, NAME)
#define BLOCKS_TO_OF(ROWS, NAME) BLOCKS_TO_##ROWS(NAME)
DEFINE_BLOCK(wide, lanes, LANES, 2, ROWS_WIDE)
DEFINE_BLOCK(narrow, lanes, LANES, 1, ROWS_NARROW)
DEFINE_BLOCK(narrowest, few, FEW, 1, ROWS_NARROW)

/* How m rows are cut into blocks of at most `most`: as evenly as can be, so that none is left with
   too few sums to keep the multipliers busy. The first `longer` have one row more than `rows`. */
typedef struct cut {
  int64_t rows, longer;
} cut;

static cut cut_of(int64_t m, int64_t most) {
  const int64_t blocks = (m + most - 1) / most;
  return m ? (cut){m / blocks, m % blocks} : (cut){0, 0};
}

/* How A lies in memory: element (i, l) is a[i lda + l], a[l lda + i], or in strips. */
typedef enum form { BY_ROWS, BY_COLUMNS, IN_STRIPS } form;

/* A strip has the rows of one block as its steps take them, element (r, l) at r + l rows; the slack
   is for what copy_strips writes past a strip's end. */
enum { STRIP = INNER * ROWS_WIDE + ROWS_WIDE };

/* Notes the lines of `rows` rows of n numbers, and returns how many are noted then; what there is
   no room for is fetched at once. */
static inline int64_t note(const float *from, int64_t ld, int64_t rows, int64_t n,
                           const float **ahead, int64_t noted, int64_t room) {
  for (int64_t r = 0; r < rows; r++)
    for (int64_t q = 0; q < n; q += LINE)
      if (noted < room)
        ahead[noted++] = from + r * ld + q;
      else
        __builtin_prefetch(from + r * ld + q);
  return noted;
}

/* C [m][n] += A times n columns of panels, from 0 without `add`. b: [n][k] if `transposed`, else
   [k][n]. In strips, k <= INNER. */
static void product(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda, form a_form,
                    const float *b, int64_t ldb, bool transposed, bool add, float *c, int64_t ldc) {
  float panel[INNER * WIDE] __attribute__((aligned(64)));
  const float *ahead[INNER / FETCH];
  float edge[ROWS_NARROW > ROWS_WIDE ? ROWS_NARROW * WIDE : ROWS_WIDE * WIDE];
  if (k == 0 && !add)
    for (int64_t i = 0; i < m; i++) memset(c + i * ldc, 0, (size_t)n * sizeof *c);
  /* What fits into the nearest caches is there already, and what one or two blocks of rows need
     they ask for themselves. */
  const bool fetches = m > 2 * ROWS_NARROW && m * n + (m + n) * k > 1 << 15;
  for (int64_t i = 0; i < INNER / FETCH; i++) ahead[i] = a;
  for (int64_t l = 0; l < k; l += INNER) {
    const int64_t terms = smaller(INNER, k - l);
    const bool from_c = add || l;
    for (int64_t j = 0, width; j < n; j += width) {
      /* A last panel that is not full has the narrowest vectors that it fits; strips have ROWS_WIDE
         rows, so they meet wide panels alone. */
      const int64_t left = n - j;
      width = left > LANES || a_form == IN_STRIPS ? WIDE : left > FEW ? LANES : FEW;
      const int64_t present = smaller(width, left), most = width == WIDE ? ROWS_WIDE : ROWS_NARROW;
      /* Where one or two blocks of rows pass, whole panels are read where they are. */
      const bool in_place = m <= 2 * most && !transposed && present == width;
      const float *steps = in_place ? b + l * ldb + j : panel;
      const int64_t ldp = in_place ? ldb : width;
      if (transposed)
        pack_rows(present, terms, b + j * ldb + l, ldb, width, panel);
      else if (!in_place)
        pack_columns(present, terms, b + l * ldb + j, ldb, width, panel);
      const float *strip = a;
      const cut blocks = cut_of(m, most);
      for (int64_t i = 0, block = 0, rows; i < m; i += rows, block++, strip += STRIP) {
        rows = blocks.rows + (block < blocks.longer);
        const int64_t next = smaller(rows, m - i - rows), after = smaller(width, left - width);
        const float *from = strip;
        int64_t ld = rows;
        if (a_form != IN_STRIPS)
          ld = lda, from = a_form == BY_ROWS ? a + i * lda + l : a + l * lda + i;
        float *to = c + i * ldc + j, *into = to;
        int64_t ldi = ldc;
        if (fetches) {
          /* Of the next block: C, and in the first panel A. Of the next panel: this block's share
             of B, and C at last. */
          const int64_t room = (terms + FETCH - 1) / FETCH;
          int64_t noted = 0;
          if (next > 0)
            noted = note(to + rows * ldc, ldc, next, present, ahead, noted, room);
          else if (after > 0)
            noted = note(c + j + width, ldc, rows, after, ahead, noted, room);
          if (next > 0 && j == 0 && a_form == BY_ROWS)
            noted = note(from + rows * lda, lda, next, terms, ahead, noted, room);
          if (next > 0 && j == 0 && a_form == BY_COLUMNS)
            noted = note(from + rows, lda, terms, next, ahead, noted, room);
          if (after > 0) {
            const int64_t of = transposed ? after : terms, first = i * of / m;
            const int64_t count = (i + rows) * of / m - first;
            if (transposed)
              noted =
                  note(b + (j + width + first) * ldb + l, ldb, count, terms, ahead, noted, room);
            else
              noted =
                  note(b + (l + first) * ldb + j + width, ldb, count, after, ahead, noted, room);
          }
          while (noted < room) ahead[noted++] = a;
        }
        if (present < width) { /* through a copy that has all the panel's columns */
          into = edge, ldi = width;
          for (int64_t r = 0; r < rows; r++)
            for (int64_t q = 0; q < width; q++)
              edge[r * width + q] = from_c && q < present ? to[r * ldc + q] : 0.0f;
        }
        const bool columns = a_form != BY_ROWS;
        if (width == WIDE)
          wide((int)rows, columns, terms, from, ld, steps, ldp, from_c, into, ldi, ahead);
        else if (width == LANES)
          narrow((int)rows, columns, terms, from, ld, steps, ldp, from_c, into, ldi, ahead);
        else
          narrowest((int)rows, columns, terms, from, ld, steps, ldp, from_c, into, ldi, ahead);
        if (present < width)
          for (int64_t r = 0; r < rows; r++)
            for (int64_t q = 0; q < present; q++) to[r * ldc + q] = edge[r * width + q];
      }
    }
  }
}

/* The strips of m columns of A, each as many steps: by rows of A, which lie in a row in memory. A
   strip of fewer than ROWS_WIDE rows is copied with ROWS_WIDE, of which its next step overwrites
   the excess, except at the end of A's last row, past which nothing is read. */
static void copy_strips(int64_t m, int64_t terms, const float *a, int64_t lda, float *restrict to) {
  enum { AHEAD = 8 };
  const cut strips = cut_of(m, ROWS_WIDE);
  for (int64_t l = 0; l < terms; l++, a += lda) {
    float *at = to;
    for (int64_t q = 0; l + AHEAD < terms && q < m; q += LINE)
      __builtin_prefetch(a + AHEAD * lda + q);
    for (int64_t i = 0, strip = 0, rows; i < m; i += rows, strip++, at += STRIP) {
      rows = strips.rows + (strip < strips.longer);
      if (i + ROWS_WIDE <= m)
        __builtin_memcpy(at + l * rows, a + i, ROWS_WIDE * sizeof *a);
      else
        for (int64_t r = 0; r < rows; r++) at[l * rows + r] = a[i + r];
    }
  }
}

void phibal_gemm_nt(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda, const float *b,
                    int64_t ldb, bool add, float *c, int64_t ldc) {
  product(m, n, k, a, lda, BY_ROWS, b, ldb, true, add, c, ldc);
}

void phibal_gemm_nn(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda, const float *b,
                    int64_t ldb, bool add, float *c, int64_t ldc) {
  product(m, n, k, a, lda, BY_ROWS, b, ldb, false, add, c, ldc);
}

void phibal_gemm_tn(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda, const float *b,
                    int64_t ldb, bool add, float *c, int64_t ldc) {
  /* Where enough panels pass along them, columns of A are copied: a step of theirs is a line of its
     own, and a page of its own where A's rows are long. */
  enum { CHUNK = 256 };
  if (k == 0 || m < 96 || n < 4 * WIDE) {
    product(m, n, k, a, lda, BY_COLUMNS, b, ldb, false, add, c, ldc);
    return;
  }
  float strips[(CHUNK / ROWS_WIDE + 1) * STRIP] __attribute__((aligned(64)));
  for (int64_t i = 0; i < m; i += CHUNK)
    for (int64_t l = 0; l < k; l += INNER) {
      const int64_t rows = smaller(CHUNK, m - i), terms = smaller(INNER, k - l);
      copy_strips(rows, terms, a + l * lda + i, lda, strips);
      product(rows, n, terms, strips, 0, IN_STRIPS, b + l * ldb, ldb, false, add || l, c + i * ldc,
              ldc);
    }
}
