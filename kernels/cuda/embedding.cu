/* Token embeddings in and out, and the addition and conversion of rows, with the CPU's bits.

   Bytes of a number: forward 8; addition 12, or 10 of bfloat16; conversion 6. Backward, the
   first row of a token adds all rows of that token, in their order, which is part of the result: a
   block a row looks whether an earlier one is of its token, and if not, its warps look for the
   later ones. That reads the tokens once for each row, n^2 / 2 words of the cache for n rows: 134
   MB for 8192. Not measured yet. */
#include "trainer.h"
#include "vector.h"

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

/* N columns j .. of the token that `row` is the first of. Called by a whole warp; lanes with j >=
   width only help to look. */
template <int N>
static __device__ __forceinline__ void token_sum(const embedding_arguments &a, int64_t row,
                                                 int32_t token, int64_t j) {
  const int lane = (int)threadIdx.x % WARP;
  float *to = a.to + (int64_t)token * a.width + j;
  floats<N> sum = {};
  if (j < a.width) sum = floats_load<N>(to);
#pragma unroll 4
  for (int64_t first = row; first < a.rows; first += WARP) {
    const bool same = first + lane < a.rows && __ldg(a.tokens + first + lane) == token;
    for (unsigned left = __ballot_sync(ALL_LANES, same); left; left &= left - 1) {
      if (j >= a.width) break;
      const floats<N> x = floats_load<N>(a.from + (first + __ffs((int)left) - 1) * a.width + j);
#pragma unroll
      for (int l = 0; l < N; l++) sum.x[l] += a.scale * x.x[l];
    }
  }
  if (j < a.width) floats_store<N>(to, sum);
}

template <int N>
static __global__ void __launch_bounds__(PIECE_THREADS)
    embedding_backward_kernel(embedding_arguments a) {
  SHARED_ARRAY(int32_t, earlier, 1);
  const int64_t me = threadIdx.x, of_warp = (int64_t)WARP * N;
  for (int64_t row = blockIdx.x; row < a.rows; row += gridDim.x) {
    const int32_t token = __ldg(a.tokens + row);
    if (token < 0) continue;
    if (me == 0) earlier[0] = 0;
    __syncthreads();
    bool found = false;
    for (int64_t r = me; r < row; r += PIECE_THREADS) found |= __ldg(a.tokens + r) == token;
    if (found) shared_add(earlier, 0, 1);
    __syncthreads();
    const bool first = earlier[0] == 0;
    __syncthreads(); /* all have read it */
    if (!first) continue;
    for (int64_t j = me / WARP * of_warp; j < a.width; j += PIECE_THREADS * N)
      token_sum<N>(a, row, token, j + me % WARP * N);
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
  const bool four = width % 4 == 0 && aligned16(x_gradient) && aligned16(weight_gradient);
  launch_shape shape = {blocks_for(call, rows, PIECE_PER_MULTIPROCESSOR), PIECE_THREADS, 0};
  return launch(name, four ? embedding_backward_kernel<4> : embedding_backward_kernel<1>, shape,
                call, a);
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
