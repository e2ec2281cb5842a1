/* Token embeddings in and out, and the addition and conversion of rows, with the CPU's bits.

   Bytes of a number: forward 8; addition 12, or 10 of bfloat16; conversion 6. Backward, all rows of
   a token are added to it in their order, which is part of the result. A block has the tokens of
   one value of a hash. It reads all tokens, a window of them at a time, and lists the rows that are
   its own in their order; then its warps take a row each, and 32 N columns: where the list has no
   earlier row of that token, the warp adds all the later ones. So tokens are read once for each
   block, 4 n bytes of the cache, and a number takes 4 bytes, and 8 more once for each of a window's
   different tokens. For 16384 rows of 512 an H200 took 990 us when each row looked through all
   rows, and takes 41 us with lists, but 503 us where a token is there 2636 times: its rows are
   added one after another, as many as registers allow being on their way at once. */
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

enum {
  WINDOW_STEPS = 16,
  WINDOW_WARPS = PIECE_THREADS / WARP,
  WINDOW_OF_WARP = WINDOW_STEPS * WARP,
  WINDOW = WINDOW_WARPS * WINDOW_OF_WARP, /* rows */
  ROWS_TOGETHER = 8,                      /* on their way at once, of a token with so many */
  ROWS_LEFT = 2,                          /* and of the rest */
  EMBEDDING_PER_MULTIPROCESSOR = 4,
};

/* Which of `blocks` blocks has a token. */
static __device__ __forceinline__ uint32_t block_of(int32_t token, uint32_t blocks) {
  return (uint32_t)((uint64_t)((uint32_t)token * 0x9e3779b1u) * blocks >> 32);
}

/* The window's own rows from `base`, in order: how many, place[] within the window and token[]. All
   that a warp did before, it did before any other writes the list. */
static __device__ __forceinline__ int window_list(const embedding_arguments &a, int64_t base,
                                                  shared_pointer<int32_t> place,
                                                  shared_pointer<int32_t> token,
                                                  shared_pointer<int32_t> count) {
  const int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP;
  const int first = warp * WINDOW_OF_WARP + lane;
  int32_t t[WINDOW_STEPS];
  int found = 0, at = 0, all = 0;
#pragma unroll
  for (int s = 0; s < WINDOW_STEPS; s++) {
    const int64_t row = base + first + s * WARP;
    t[s] = row < a.rows ? __ldg(a.tokens + row) : -1;
  }
#pragma unroll
  for (int s = 0; s < WINDOW_STEPS; s++) {
    if (t[s] >= 0 && block_of(t[s], gridDim.x) != blockIdx.x) t[s] = -1;
    found += __popc(__ballot_sync(ALL_LANES, t[s] >= 0));
  }
  if (lane == 0) count[warp] = found;
  __syncthreads();
  for (int w = 0; w < WINDOW_WARPS; w++) {
    const int of_warp = count[w];
    at += w < warp ? of_warp : 0;
    all += of_warp;
  }
#pragma unroll
  for (int s = 0; s < WINDOW_STEPS; s++) {
    const unsigned own = __ballot_sync(ALL_LANES, t[s] >= 0);
    if (t[s] >= 0) {
      const int i = at + __popc(own & ((1u << lane) - 1u));
      place[i] = first + s * WARP;
      token[i] = t[s];
    }
    at += __popc(own);
  }
  __syncthreads(); /* the list is there */
  return all;
}

/* Adds the columns at `from` of the first MOST, or `count` if that is less, of the rows at `row`.
 */
template <int N, int MOST, bool ALL>
static __device__ __forceinline__ void rows_sum(const embedding_arguments &a, const float *from,
                                                shared_pointer<int32_t> row, int count,
                                                floats<N> *sum) {
  floats<N> x[MOST];
#pragma unroll
  for (int r = 0; r < MOST; r++)
    x[r] = floats_load<N>(from + (int64_t)row[ALL || r < count ? r : count - 1] * a.width);
  __syncwarp(); /* no load is put off until its sum, and all have read the rows */
#pragma unroll
  for (int r = 0; r < MOST; r++)
#pragma unroll
    for (int l = 0; l < N; l++) {
      const float more = sum->x[l] + a.scale * x[r].x[l];
      if (ALL || r < count) sum->x[l] = more;
    }
}

/* N columns j .. of the i-th of the list's `all` rows and of the later ones of its token, unless an
   earlier one is of that token. Called by a whole warp; lanes with j >= width only help to look.
   `row` is the warp's own: what a part of the list has of the token. */
template <int N>
static __device__ __forceinline__ void
token_sum(const embedding_arguments &a, int64_t base, shared_pointer<int32_t> place,
          shared_pointer<int32_t> token, shared_pointer<int32_t> row, int i, int all, int64_t j) {
  const int lane = (int)threadIdx.x % WARP;
  const int32_t mine = token[i];
  for (int first = 0; first < i; first += WARP) {
    const bool earlier = first + lane < i && token[first + lane] == mine;
    if (__any_sync(ALL_LANES, earlier)) return;
  }
  float *to = a.to + (int64_t)mine * a.width + j;
  const float *from = a.from + base * a.width + (j < a.width ? j : 0);
  floats<N> sum = {};
  if (j < a.width) sum = floats_load<N>(to);
  for (int first = i; first < all; first += WARP) {
    const bool same = first + lane < all && token[first + lane] == mine;
    const unsigned own = __ballot_sync(ALL_LANES, same);
    const int count = __popc(own);
    if (same) row[__popc(own & ((1u << lane) - 1u))] = place[first + lane];
    __syncwarp();
    int r = 0;
    for (; r + ROWS_TOGETHER <= count; r += ROWS_TOGETHER)
      rows_sum<N, ROWS_TOGETHER, true>(a, from, row + r, ROWS_TOGETHER, &sum);
    for (; r < count; r += ROWS_LEFT)
      rows_sum<N, ROWS_LEFT, false>(a, from, row + r, count - r, &sum);
  }
  if (j < a.width) floats_store<N>(to, sum);
}

template <int N>
static __global__ void __launch_bounds__(PIECE_THREADS, EMBEDDING_PER_MULTIPROCESSOR)
    embedding_backward_kernel(embedding_arguments a) {
  SHARED_ARRAY(int32_t, place, WINDOW);
  SHARED_ARRAY(int32_t, token, WINDOW);
  SHARED_ARRAY(int32_t, count, WINDOW_WARPS);
  SHARED_ARRAY(int32_t, row, WINDOW_WARPS * WARP);
  const int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP;
  const int64_t of_warp = (int64_t)WARP * N, across = (a.width + of_warp - 1) / of_warp;
  for (int64_t base = 0; base < a.rows; base += WINDOW) {
    const int all = window_list(a, base, place, token, count);
    for (int i = warp / (int)across, k = warp % (int)across; i < all;) {
      token_sum<N>(a, base, place, token, row + warp * WARP, i, all,
                   k * of_warp + (int64_t)lane * N);
      for (k += WINDOW_WARPS; k >= across; k -= (int)across) i++;
    }
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
  launch_shape shape = {blocks_for(call, rows, EMBEDDING_PER_MULTIPROCESSOR), PIECE_THREADS, 0};
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
