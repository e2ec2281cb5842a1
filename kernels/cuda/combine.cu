/* Rows to the experts and back: gather (E1), its gradient (E1b), the weighted combination of the
   experts' outputs (E4) and its gradients (E5). The order of a token's slots is that of the CPU,
   and so are the bits; no two threads write one place, so there are no atomics. The experts' rows
   are binary32 or bfloat16, sums over a token's slots and their gradients binary32.

   Bytes, d the width: gather 8 d of a row; its gradient and combine 8 d + 4 k d of a token; the
   gradients of combine 4 d + 8 k d of a token, y's gradient being read k times, but at once and so
   from the cache but once; with rows in bfloat16 4 d, 8 d + 2 k d and 4 d + 4 k d. Beside these, 8
   or 12 of a slot. Of a copy's speed an H200 reaches 87 to 105 % in gather, 55 to 100 % in combine
   (more where the cache has the rows), and in combine's gradients of 65536 tokens 90 % with two
   routes, but 48 % with eight of bfloat16 rows: of a slot's sixteen sums four a thread, and 8 loads
   of 16 bytes on their way. */
#include "trainer.h"
#include "vector.h"

enum { COMBINE_THREADS = 256, COMBINE_PER_MULTIPROCESSOR = 8 };

typedef struct combine_arguments {
  int64_t rows;         /* or tokens */
  const int64_t *count; /* null, or on the device: so many of them */
  int32_t active;
  int64_t width;
  const int64_t *row; /* or source */
  const float *gates; /* null: 1 */
  const void *in;
  void *out;
} combine_arguments;

/* A warp for each row: what is divided is divided once a row. */
#define EACH_ROW(n, rows) EACH_OF_WARP(n, rows, PIECE_THREADS)
#define EACH_IN_ROW(j, N, width)                                                                   \
  for (int64_t j = (int64_t)(threadIdx.x % WARP) * (N); j < (width); j += (int64_t)WARP * (N))

template <class S, int N>
static __global__ void __launch_bounds__(PIECE_THREADS) gather_kernel(combine_arguments a) {
  constexpr int64_t TOGETHER = 4, STEP = WARP * N; /* pieces on their way at once */
  const int64_t rows = a.count ? __ldg(a.count) : a.rows;
  EACH_ROW(n, rows) {
    const S *in = (const S *)a.in + __ldg(a.row + n) / a.active * a.width;
    S *out = (S *)a.out + n * a.width;
#pragma unroll 1
    for (int64_t j = threadIdx.x % WARP * N; j < a.width; j += TOGETHER * STEP) {
      floats<N> piece[TOGETHER] = {};
#pragma unroll
      for (int64_t i = 0; i < TOGETHER; i++)
        if (j + i * STEP < a.width) piece[i] = floats_load<N>(in + j + i * STEP);
#pragma unroll
      for (int64_t i = 0; i < TOGETHER; i++)
        if (j + i * STEP < a.width) floats_store<N>(out + j + i * STEP, piece[i]);
    }
  }
}

/* out += sum of gate in[row], or without gates of in[row], slot after slot. */
template <class S, int N>
static __global__ void __launch_bounds__(PIECE_THREADS) combine_kernel(combine_arguments a) {
  float *y = (float *)a.out;
  EACH_ROW(t, a.rows) EACH_IN_ROW(j, N, a.width) {
    floats<N> sum = floats_load<N>(y + t * a.width + j);
    for (int32_t s = 0; s < a.active; s++) {
      int64_t n = __ldg(a.row + t * a.active + s);
      if (n < 0) continue;
      float gate = a.gates ? __ldg(a.gates + t * a.active + s) : 1.0f;
      floats<N> in = floats_load<N>((const S *)a.in + n * a.width + j);
#pragma unroll
      for (int l = 0; l < N; l++)
        sum.x[l] = a.gates ? fused(gate, in.x[l], sum.x[l]) : sum.x[l] + in.x[l];
    }
    floats_store<N>(y + t * a.width + j, sum);
  }
}

/* The CPU's sixteen interleaved sums of a slot, N in each of 16 / N threads: of 16 neighbours each
   belongs to another sum. */
enum { DOT_SUMS = 16, DOT_TOGETHER = 8 };

template <class S, int N>
static __global__ void __launch_bounds__(COMBINE_THREADS)
    combine_backward_kernel(combine_arguments a, const float *y_gradient, S *expert_gradient,
                            float *gate_gradient) {
  constexpr int OF_SLOT = DOT_SUMS / N, OF_BLOCK = COMBINE_THREADS / OF_SLOT;
  constexpr int OF_WARP = WARP / OF_SLOT;
  const int lane = (int)threadIdx.x % OF_SLOT;
  const int64_t slots = a.rows * a.active, stride = (int64_t)gridDim.x * OF_BLOCK;
  int64_t slot = (int64_t)blockIdx.x * OF_BLOCK + threadIdx.x / OF_SLOT;
  /* All of a warp make as many rounds. */
  for (int64_t first = slot - threadIdx.x / OF_SLOT % OF_WARP; first < slots;
       first += stride, slot += stride) {
    const int64_t n = slot < slots ? __ldg(a.row + slot) : -1;
    double sum[N] = {};
    if (n >= 0) {
      const float *gradient = y_gradient + slot / a.active * a.width, gate = __ldg(a.gates + slot);
      const S *in = (const S *)a.in + n * a.width;
      S *out = expert_gradient + n * a.width;
#pragma unroll 1
      for (int64_t j = lane * N; j < a.width; j += DOT_TOGETHER * DOT_SUMS) {
        floats<N> g[DOT_TOGETHER], x[DOT_TOGETHER];
#pragma unroll
        for (int i = 0; i < DOT_TOGETHER; i++)
          if (j + i * DOT_SUMS < a.width) {
            g[i] = floats_load<N>(gradient + j + i * DOT_SUMS);
            x[i] = floats_load<N>(in + j + i * DOT_SUMS);
          }
#pragma unroll
        for (int i = 0; i < DOT_TOGETHER; i++)
          if (j + i * DOT_SUMS < a.width) {
#pragma unroll
            for (int l = 0; l < N; l++) {
              sum[l] = CORE_FMA((double)g[i].x[l], (double)x[i].x[l], sum[l]);
              g[i].x[l] = gate * g[i].x[l];
            }
            floats_store<N>(out + j + i * DOT_SUMS, g[i]);
          }
      }
    }
    /* The tree: between threads, then within one. */
#pragma unroll
    for (int s = OF_SLOT / 2; s >= 1; s /= 2)
#pragma unroll
      for (int l = 0; l < N; l++) sum[l] += __shfl_xor_sync(ALL_LANES, sum[l], s, OF_SLOT);
#pragma unroll
    for (int s = N / 2; s >= 1; s /= 2)
#pragma unroll
      for (int l = 0; l < s; l++) sum[l] += sum[l + s];
    if (lane == 0 && slot < slots) gate_gradient[slot] = n < 0 ? 0.0f : (float)sum[0];
  }
}

static phibal_status combine_check(const char *name, const combine_arguments *a, phibal_rows type,
                                   bool null, const phibal_cuda *call) {
  if (type != PHIBAL_ROWS_F32 && type != PHIBAL_ROWS_BF16)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: no type %d of rows", name, (int)type);
  if (a->rows < 0 || a->active < 1 || a->width < 1 || (a->rows > 0 && null))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "%s: %lld rows or tokens of %lld numbers, %d active, or a null array",
                             name, (long long)a->rows, (long long)a->width, a->active);
  return call_check(name, call, 0);
}

typedef void combine_function(combine_arguments);

/* By type, and by four where everything lies so. */
static phibal_status combine_launch(const char *name, combine_function *const kernels[2][2],
                                    const combine_arguments &a, phibal_rows type, bool null,
                                    const phibal_cuda *call) {
  phibal_status status = combine_check(name, &a, type, null, call);
  if (status != PHIBAL_OK || a.rows == 0) return status;
  const bool four = a.width % 4 == 0 && aligned16(a.in) && aligned16(a.out);
  const launch_shape shape = pieces_shape(call, a.rows * WARP);
  return launch(name, kernels[type][four], shape, call, a);
}

static combine_function *const sum_kernels[2][2] = {
    {combine_kernel<float, 1>, combine_kernel<float, 4>},
    {combine_kernel<bfloat16, 1>, combine_kernel<bfloat16, 4>}};

static phibal_status gather(combine_arguments a, phibal_rows type, const phibal_cuda *call) {
  static combine_function *const kernels[2][2] = {
      {gather_kernel<float, 1>, gather_kernel<float, 4>},
      {gather_kernel<bfloat16, 1>, gather_kernel<bfloat16, 4>}};
  return combine_launch("gather", kernels, a, type, !a.row || !a.in || !a.out, call);
}

phibal_status phibal_cuda_gather(int64_t rows, int32_t active, int64_t width, phibal_rows type,
                                 const int64_t *source, const void *x, void *gathered,
                                 const phibal_cuda *call) {
  return gather({rows, nullptr, active, width, source, nullptr, x, gathered}, type, call);
}

phibal_status phibal_cuda_gather_counted(const int64_t *count, int64_t most, int32_t active,
                                         int64_t width, phibal_rows type, const int64_t *source,
                                         const void *x, void *gathered, const phibal_cuda *call) {
  if (!count) return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "gather: no count");
  return gather({most, count, active, width, source, nullptr, x, gathered}, type, call);
}

phibal_status phibal_cuda_gather_backward(int64_t tokens, int32_t active, int64_t width,
                                          phibal_rows type, const int64_t *row,
                                          const void *gathered_gradient, float *x_gradient,
                                          const phibal_cuda *call) {
  const combine_arguments a = {tokens,  nullptr,           active,    width, row,
                               nullptr, gathered_gradient, x_gradient};
  return combine_launch("gather backward", sum_kernels, a, type,
                        !row || !gathered_gradient || !x_gradient, call);
}

phibal_status phibal_cuda_combine(int64_t tokens, int32_t active, int64_t width, phibal_rows type,
                                  const int64_t *row, const float *gates, const void *expert_output,
                                  float *y, const phibal_cuda *call) {
  const combine_arguments a = {tokens, nullptr, active, width, row, gates, expert_output, y};
  return combine_launch("combine", sum_kernels, a, type, !row || !gates || !expert_output || !y,
                        call);
}

phibal_status phibal_cuda_combine_backward(int64_t tokens, int32_t active, int64_t width,
                                           phibal_rows type, const int64_t *row, const float *gates,
                                           const void *expert_output, const float *y_gradient,
                                           void *expert_gradient, float *gate_gradient,
                                           const phibal_cuda *call) {
  const char *name = "combine backward";
  const combine_arguments a = {tokens, nullptr, active, width, row, gates, expert_output, nullptr};
  const bool null =
      !row || !gates || !expert_output || !y_gradient || !expert_gradient || !gate_gradient;
  phibal_status status = combine_check(name, &a, type, null, call);
  if (status != PHIBAL_OK || tokens == 0) return status;
  const bool four = width % 4 == 0 && aligned16(expert_output) && aligned16(y_gradient) &&
                    aligned16(expert_gradient);
  const int64_t of_block = COMBINE_THREADS / (DOT_SUMS / (four ? 4 : 1));
  const launch_shape shape = {
      blocks_for(call, (tokens * active + of_block - 1) / of_block, COMBINE_PER_MULTIPROCESSOR),
      COMBINE_THREADS, 0, true};
  if (type == PHIBAL_ROWS_BF16)
    return launch(
        name, four ? combine_backward_kernel<bfloat16, 4> : combine_backward_kernel<bfloat16, 1>,
        shape, call, a, y_gradient, (bfloat16 *)expert_gradient, gate_gradient);
  return launch(name, four ? combine_backward_kernel<float, 4> : combine_backward_kernel<float, 1>,
                shape, call, a, y_gradient, (float *)expert_gradient, gate_gradient);
}
