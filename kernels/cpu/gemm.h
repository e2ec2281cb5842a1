/* Matrix products of binary32, row-major. Each element of a result is one chain of fused
   multiplications and additions (gemm_product.c), so that its bits depend on its row and column
   alone: not on the number of threads, on the processor, or on which other rows are computed beside
   it. bench/gemm.c measures them beside other libraries.

   Error, n being the length of the inner sum: each of n products is added with one rounding, so with
   u = 2^-24 and gamma_n = n u / (1 - n u),
     |computed - exact| <= gamma_n (|A| |B|)          alone,
     |computed - exact| <= gamma_n (|C| + |A| |B|)    added to C,
   (Higham, Accuracy and Stability, section 3.1: a term is in at most n of the roundings), plus
   n 2^-149 where results underflow. */
#ifndef PHIBAL_CPU_GEMM_H
#define PHIBAL_CPU_GEMM_H

#include <stdbool.h>
#include <stdint.h>

/* Rows (tokens) and columns (features) that one thread multiplies at a time. */
#define GEMM_TILE_ROWS 256
#define GEMM_TILE_COLUMNS 512

/* How much of a tile, or of a block, is left. */
static inline int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/* One product on the calling thread, which allocates nothing:
     C = A B^T,  A [m][k], B [n][k];   C = A B,  A [m][k], B [k][n];   C = A^T B,  A [k][m], B [k][n];
   with `add`, added to C [m][n]. lda, ldb, ldc: distances of rows. Each element is the chain
   c <- fma(a_l, b_l, c) for l = 0 .. k-1, from 0 or with `add` from C. */
void phibal_gemm_nt(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda, const float *b,
                    int64_t ldb, bool add, float *c, int64_t ldc);
void phibal_gemm_nn(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda, const float *b,
                    int64_t ldb, bool add, float *c, int64_t ldc);
void phibal_gemm_tn(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda, const float *b,
                    int64_t ldb, bool add, float *c, int64_t ldc);

/* Whole matrices. Outside of a parallel region, on all threads. Inside, by all of its threads: each has
   to make the call, and returns when all is done.
   y [rows][out] = x [rows][in] w^T, w [out][in], or with `add` added to y. */
void phibal_gemm_linear(int64_t rows, int64_t out, int64_t in, const float *x, const float *w,
                        bool add, float *y);
/* x_gradient [rows][in] = y_gradient [rows][out] w, or added to it. */
void phibal_gemm_linear_input_gradient(int64_t rows, int64_t out, int64_t in,
                                       const float *y_gradient, const float *w, bool add,
                                       float *x_gradient);
/* w_gradient [out][in] += y_gradient^T x. */
void phibal_gemm_linear_weight_gradient(int64_t rows, int64_t out, int64_t in,
                                        const float *y_gradient, const float *x, float *w_gradient);

#endif
