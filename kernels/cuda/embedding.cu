/* Token embeddings in and out, and the addition and conversion of rows, with the CPU's bits.

   Bytes of a number: forward 8; addition 12, or 10 of bfloat16; conversion 6. Backward adds a
   column by one thread, row after row, because two rows may be of one token and their order is part
   of the result: it is bound by the latency of as many dependent additions as there are rows, not
   by bytes. Not measured yet. */
#include "trainer.h"
#include "vector.h"

enum { COLUMN_THREADS = 32 };

typedef struct embedding_arguments {
  int64_t rows, width;
  const int32_t *tokens;
  float scale;
  const float *from;
  float *to;
} embedding_arguments;

template <int N>
static __global__ void __launch_bounds__(PIECE_THREADS) embedding_kernel(embedding_arguments a) {
  const int64_t of_row = a.width / N;
  EACH_PIECE(i, a.rows * of_row) {
    const int64_t row = i / of_row, j = i % of_row * N;
    const int32_t token = __ldg(a.tokens + row);
    floats<N> x = floats_load<N>(a.from + (token < 0 ? 0 : (int64_t)token * a.width) + j);
#pragma unroll
    for (int l = 0; l < N; l++) x.x[l] = a.scale * x.x[l];
    floats_store<N>(a.to + row * a.width + j, x);
  }
}

static __global__ void __launch_bounds__(COLUMN_THREADS)
    embedding_backward_kernel(embedding_arguments a) {
  for (int64_t j = (int64_t)blockIdx.x * COLUMN_THREADS + threadIdx.x; j < a.width;
       j += (int64_t)gridDim.x * COLUMN_THREADS)
    for (int64_t row = 0; row < a.rows; row++) {
      const int32_t token = __ldg(a.tokens + row);
      if (token >= 0)
        a.to[(int64_t)token * a.width + j] += a.scale * __ldg(a.from + row * a.width + j);
    }
}

/* to += from, or to = from. */
template <class S, class T, int N, bool ADD>
static __global__ void __launch_bounds__(PIECE_THREADS)
    rows_kernel(int64_t n, const S *from, T *to) {
  EACH_PIECE(i, n / N) {
    floats<N> x = floats_load<N>(from + i * N), y = {};
    if (ADD) y = floats_load<N>(to + i * N);
#pragma unroll
    for (int l = 0; l < N; l++) y.x[l] = ADD ? y.x[l] + x.x[l] : x.x[l];
    floats_store<N>(to + i * N, y);
  }
}

static phibal_status embedding_check(const char *name, const embedding_arguments &a,
                                     const phibal_cuda *call) {
  if (a.rows < 0 || a.width < 1 || (a.rows > 0 && (!a.tokens || !a.from || !a.to)))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: %lld rows of %lld, or a null array", name,
                             (long long)a.rows, (long long)a.width);
  return call_check(name, call, 0);
}

phibal_status phibal_cuda_embedding_forward(int64_t rows, int32_t width, const int32_t *tokens,
                                            float scale, const float *weight, float *x,
                                            const phibal_cuda *call) {
  const char *name = "embedding";
  embedding_arguments a = {rows, width, tokens, scale, weight, x};
  phibal_status status = embedding_check(name, a, call);
  if (status != PHIBAL_OK || rows == 0) return status;
  const bool four = width % 4 == 0 && aligned16(weight) && aligned16(x);
  return launch(name, four ? embedding_kernel<4> : embedding_kernel<1>,
                pieces_shape(call, rows * (four ? width / 4 : width)), call, a);
}

phibal_status phibal_cuda_embedding_backward(int64_t rows, int32_t width, const int32_t *tokens,
                                             float scale, const float *x_gradient,
                                             float *weight_gradient, const phibal_cuda *call) {
  const char *name = "embedding backward";
  embedding_arguments a = {rows, width, tokens, scale, x_gradient, weight_gradient};
  phibal_status status = embedding_check(name, a, call);
  if (status != PHIBAL_OK || rows == 0) return status;
  launch_shape shape = {blocks_for(call, (width + COLUMN_THREADS - 1) / COLUMN_THREADS, 16),
                        COLUMN_THREADS, 0};
  return launch(name, embedding_backward_kernel, shape, call, a);
}

template <class S, class T, bool ADD>
static phibal_status rows_launch(const char *name, int64_t n, const void *from, void *to,
                                 const phibal_cuda *call) {
  if (n < 0 || (n > 0 && (!from || !to)))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: %lld numbers, or a null array", name,
                             (long long)n);
  phibal_status status = call_check(name, call, 0);
  if (status != PHIBAL_OK || n == 0) return status;
  const bool four = n % 4 == 0 && aligned16(from) && aligned16(to);
  return launch(name, four ? rows_kernel<S, T, 4, ADD> : rows_kernel<S, T, 1, ADD>,
                pieces_shape(call, four ? n / 4 : n), call, n, (const S *)from, (T *)to);
}

phibal_status phibal_cuda_add(int64_t n, phibal_rows type, const void *x, float *to,
                              const phibal_cuda *call) {
  return type == PHIBAL_ROWS_F32 ? rows_launch<float, float, true>("addition", n, x, to, call)
                                 : rows_launch<bfloat16, float, true>("addition", n, x, to, call);
}

phibal_status phibal_cuda_narrow(int64_t n, const float *x, void *to, const phibal_cuda *call) {
  return rows_launch<float, bfloat16, false>("conversion", n, x, to, call);
}
