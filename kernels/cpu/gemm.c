#include "gemm.h"

#include <cblas.h>
#include <omp.h>
#include <phibal/environment.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

void phibal_gemm_begin(void) {
  /* Where OpenBLAS has threads of its own. Built on OpenMP it needs no telling, and telling it
     would change the whole program's number of threads. */
  if (openblas_get_parallel() == OPENBLAS_THREAD && openblas_get_num_threads() != 1)
    openblas_set_num_threads(1);
}

phibal_status phibal_gemm_take_memory(void) {
  enum { SIZE = 160, BUFFER_MB = 136 }; /* a product too large to do without a buffer */
  struct rlimit space;
  if (!getrlimit(RLIMIT_AS, &space) && space.rlim_cur == RLIM_INFINITY) return PHIBAL_OK;
  const int threads = omp_get_max_threads();
  const size_t bytes = ((size_t)threads * BUFFER_MB) << 20;
  void *room = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED)
    return phibal_status_set(PHIBAL_ERROR_MEMORY,
                             "too little memory: OpenBLAS needs %zu MB of addresses for %d threads "
                             "(ulimit -v; fewer threads by OMP_NUM_THREADS)",
                             bytes >> 20, threads);
  munmap(room, bytes);
  float *zeros = calloc((size_t)SIZE * SIZE, sizeof *zeros);
  float *products = calloc((size_t)threads * SIZE * SIZE, sizeof *products);
  if (zeros && products) {
    phibal_gemm_begin();
#pragma omp parallel num_threads(threads)
    {
#pragma omp barrier
      phibal_gemm_nt(SIZE, SIZE, SIZE, zeros, SIZE, zeros, SIZE, 0.0f,
                     products + (size_t)omp_get_thread_num() * SIZE * SIZE, SIZE);
    }
  }
  const bool good = zeros && products;
  free(zeros);
  free(products);
  return good
             ? PHIBAL_OK
             : phibal_status_set(PHIBAL_ERROR_MEMORY, "too little memory for products of matrices");
}

/* OpenBLAS on OpenMP asks whether it is inside an active parallel region, which one of a single
   thread is not. The setting belongs to the calling thread's part of the region and ends with it.
 */
static void stay_single(void) {
  omp_set_num_threads(1);
}

/* beta C for beta = 0, faster than OpenBLAS clears; what OpenBLAS is to be given for beta then. */
static float clear(int64_t m, int64_t n, float beta, float *c, int64_t ldc) {
  if (beta != 0.0f) return beta;
  for (int64_t i = 0; i < m; i++) memset(c + i * ldc, 0, (size_t)n * sizeof *c);
  return 1.0f;
}

void phibal_gemm_nt(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda, const float *b,
                    int64_t ldb, float beta, float *c, int64_t ldc) {
  stay_single();
  beta = clear(m, n, beta, c, ldc);
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (blasint)m, (blasint)n, (blasint)k, 1.0f, a,
              (blasint)lda, b, (blasint)ldb, beta, c, (blasint)ldc);
  phibal_environment_watch("cblas_sgemm");
}

void phibal_gemm_nn(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda, const float *b,
                    int64_t ldb, float beta, float *c, int64_t ldc) {
  stay_single();
  beta = clear(m, n, beta, c, ldc);
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (blasint)m, (blasint)n, (blasint)k, 1.0f,
              a, (blasint)lda, b, (blasint)ldb, beta, c, (blasint)ldc);
  phibal_environment_watch("cblas_sgemm");
}

void phibal_gemm_tn(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda, const float *b,
                    int64_t ldb, float beta, float *c, int64_t ldc) {
  stay_single();
  beta = clear(m, n, beta, c, ldc);
  cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (blasint)m, (blasint)n, (blasint)k, 1.0f, a,
              (blasint)lda, b, (blasint)ldb, beta, c, (blasint)ldc);
  phibal_environment_watch("cblas_sgemm");
}

void phibal_gemm_linear(int64_t rows, int64_t out, int64_t in, const float *x, const float *w,
                        int add, float *y) {
#pragma omp parallel for collapse(2) schedule(dynamic)
  for (int64_t j = 0; j < out; j += GEMM_TILE_COLUMNS)
    for (int64_t i = 0; i < rows; i += GEMM_TILE_ROWS)
      phibal_gemm_rows(smaller(GEMM_TILE_ROWS, rows - i), smaller(GEMM_TILE_COLUMNS, out - j), in,
                       x + i * in, in, w + j * in, in, add, y + i * out + j, out);
}

void phibal_gemm_linear_input_gradient(int64_t rows, int64_t out, int64_t in,
                                       const float *y_gradient, const float *w, float beta,
                                       float *x_gradient) {
  phibal_gemm_begin();
#pragma omp parallel for collapse(2) schedule(dynamic)
  for (int64_t j = 0; j < in; j += GEMM_TILE_COLUMNS)
    for (int64_t i = 0; i < rows; i += GEMM_TILE_ROWS)
      phibal_gemm_nn(smaller(GEMM_TILE_ROWS, rows - i), smaller(GEMM_TILE_COLUMNS, in - j), out,
                     y_gradient + i * out, out, w + j, in, beta, x_gradient + i * in + j, in);
}

void phibal_gemm_linear_weight_gradient(int64_t rows, int64_t out, int64_t in,
                                        const float *y_gradient, const float *x,
                                        float *w_gradient) {
  if (rows == 0) return;
  phibal_gemm_begin();
#pragma omp parallel for collapse(2) schedule(dynamic)
  for (int64_t i = 0; i < out; i += GEMM_TILE_WEIGHT_ROWS)
    for (int64_t j = 0; j < in; j += GEMM_TILE_COLUMNS)
      phibal_gemm_tn(smaller(GEMM_TILE_WEIGHT_ROWS, out - i), smaller(GEMM_TILE_COLUMNS, in - j),
                     rows, y_gradient + i, out, x + j, in, 1.0f, w_gradient + i * in + j, in);
}
