/* Matrix products whose bits do not depend on the number of threads. Row-major binary32.

   The products of the forward pass are our own (gemm_rows.c): each row's result depends on that row
   alone, so that a token's logits, and with them its experts and the loads, do not depend on which
   tokens are computed beside it, nor on the processor. So are attention's where the rows are
   queries, because OpenBLAS is slower at such shapes. The others are OpenBLAS's. bench/gemm.c
   measures what ours cost beside OpenBLAS's.

   OpenBLAS is only ever called from inside a parallel region, where it does not split the work
   itself; the work is split here, into tiles whose edges depend on the shapes alone. A tile
   computes its part of the result whole: the sum over the inner dimension is never split over
   threads.

   Error of every product below, n being the length of the inner sum: n products are added in some
   order, each product and each addition rounded once or fused, so with u = 2^-24 and
   gamma_n = n u / (1 - n u),
     |computed - exact| <= gamma_n (|A| |B|)            for beta = 0, or without `add`,
     |computed - exact| <= gamma_(n+1) (|C| + |A| |B|)  for beta = 1, or with it,
   whatever the order (Higham, Accuracy and Stability, section 3.1), plus n 2^-149 where products
   underflow. */
#ifndef PHIBAL_CPU_GEMM_H
#define PHIBAL_CPU_GEMM_H

#include <phibal/status.h>
#include <stdint.h>

/* Edges of a tile of rows (tokens), of columns (features), and of rows of a weight gradient. */
#define GEMM_TILE_ROWS 256
#define GEMM_TILE_COLUMNS 512
#define GEMM_TILE_WEIGHT_ROWS 64

/* How much of a tile, or of a block, is left. */
static inline int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/* Keeps OpenBLAS from using threads of its own. To be called before a parallel region that calls
   the products of one tile below. */
void phibal_gemm_begin(void);

/* One product on the calling thread, inside a parallel region: C = A B^T + beta C with
   A [m][k], B [n][k], C [m][n] and row strides lda, ldb, ldc. */
void phibal_gemm_nt(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda, const float *b,
                    int64_t ldb, float beta, float *c, int64_t ldc);
/* C = A B + beta C with A [m][k], B [k][n]. */
void phibal_gemm_nn(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda, const float *b,
                    int64_t ldb, float beta, float *c, int64_t ldc);
/* C = A^T B + beta C with A [k][m], B [k][n]. */
void phibal_gemm_tn(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda, const float *b,
                    int64_t ldb, float beta, float *c, int64_t ldc);

/* C = A B^T, or with `add` (not 0) C + A B^T; operands as phibal_gemm_nt. Row i of C depends on row
   i of A and on B alone, not on m or i (k >= 1): each element is the chain c <- fma(a_l, b_l, c)
   for l = 0
   .. k-1. On the calling thread; allocates nothing. */
void phibal_gemm_rows(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda, const float *b,
                      int64_t ldb, int add, float *c, int64_t ldc);
/* The same for C = A B or C + A B, B [k][n]. */
void phibal_gemm_rows_nn(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda,
                         const float *b, int64_t ldb, int add, float *c, int64_t ldc);

/* Whole matrices, on all threads. y [rows][out] = x [rows][in] w^T, w [out][in], added to y with
   `add`; by phibal_gemm_rows, so that a row of y depends on its row of x alone. */
void phibal_gemm_linear(int64_t rows, int64_t out, int64_t in, const float *x, const float *w,
                        int add, float *y);
/* x_gradient [rows][in] = y_gradient [rows][out] w + beta x_gradient. */
void phibal_gemm_linear_input_gradient(int64_t rows, int64_t out, int64_t in,
                                       const float *y_gradient, const float *w, float beta,
                                       float *x_gradient);
/* w_gradient [out][in] += y_gradient^T x. */
void phibal_gemm_linear_weight_gradient(int64_t rows, int64_t out, int64_t in,
                                        const float *y_gradient, const float *x, float *w_gradient);

/* OpenBLAS takes memory for each thread at its first product and keeps it; where the system refuses
   it asks again for ever. Takes it now, for as many threads as there will be, where there is room;
   else PHIBAL_ERROR_MEMORY. */
phibal_status phibal_gemm_take_memory(void);

#endif
