/* The norm of the gradient, and AdamW over all parameters in one launch, with the CPU's bits.

   Bytes of a parameter: norm 4, AdamW 28 (w, m, v, g read, w, m, v written), and 2 with weights in
   bfloat16 besides. AdamW has about 50 binary64 operations, two quotients and a root among them:
   3.4 ps by the count of README.md, and 28 bytes at 3.35 TB/s take 8.4 ps. The sum of the norm's
   blocks has one order and so one thread, beside which the others bring what it adds next: an
   addition for 4096 numbers, one after another. An H200 takes 128 us for 21505 of them, and reaches
   78 % of a copy's speed in the blocks before it and 88 % in AdamW. */
#include "trainer.h"
#include "vector.h"
#include <math.h>

enum {
  OPTIMIZER_THREADS = 256,
  OPTIMIZER_PER_MULTIPROCESSOR = 8,
  UPDATE_CHUNK = 4 * OPTIMIZER_THREADS * 4,
  BLOCK_LANES = 8,
};

typedef struct gradient_norm_arguments {
  int64_t blocks;
  const int64_t *begin;
  const float *gradients;
  double *partial;
  uint64_t *failure;
} gradient_norm_arguments;

/* A warp for four blocks of numbers, eight lanes with a sum each for every one of them. The warp
   loads 128 neighbours of each block at a time, which change lanes in shared memory: number 8 i + l
   of block q is at 136 q + 8 i + l, and so no two of what is read at once in one bank. */
enum { NORM_TOGETHER = WARP / BLOCK_LANES, NORM_STEP = 128, NORM_PLACES = NORM_STEP + BLOCK_LANES };

static __global__ void __launch_bounds__(OPTIMIZER_THREADS)
    gradient_norm_kernel(gradient_norm_arguments a) {
  SHARED_ARRAY(float, places, OPTIMIZER_THREADS / WARP * NORM_TOGETHER * NORM_PLACES);
  const int lane = (int)threadIdx.x % WARP, mine = lane % BLOCK_LANES, group = lane / BLOCK_LANES;
  const int64_t warps = OPTIMIZER_THREADS / WARP, warp = threadIdx.x / WARP;
  const shared_pointer<float> place = places + (int)warp * NORM_TOGETHER * NORM_PLACES;
  for (int64_t first = ((int64_t)blockIdx.x * warps + warp) * NORM_TOGETHER; first < a.blocks;
       first += (int64_t)gridDim.x * warps * NORM_TOGETHER) {
    const float *from[NORM_TOGETHER];
    int64_t begin = 0, end = 0, steps[NORM_TOGETHER], most = 0;
#pragma unroll
    for (int q = 0; q < NORM_TOGETHER; q++) {
      const bool there = first + q < a.blocks;
      const int64_t from_q = there ? __ldg(a.begin + first + q) : 0;
      const int64_t end_q = there ? __ldg(a.begin + first + q + 1) : 0;
      from[q] = a.gradients + from_q + lane;
      steps[q] = (end_q - from_q) / NORM_STEP;
      most = steps[q] > most ? steps[q] : most;
      if (q == group) begin = from_q, end = end_q;
    }
    double sum = 0.0;
    bool finite = true;
    for (int64_t step = 0; step < most; step++) {
      float x[NORM_TOGETHER][NORM_STEP / WARP] = {};
#pragma unroll
      for (int q = 0; q < NORM_TOGETHER; q++) {
        if (step < steps[q]) {
#pragma unroll
          for (int c = 0; c < NORM_STEP / WARP; c++) x[q][c] = __ldg(from[q] + c * WARP);
        }
        from[q] += NORM_STEP;
      }
#pragma unroll
      for (int q = 0; q < NORM_TOGETHER; q++)
#pragma unroll
        for (int c = 0; c < NORM_STEP / WARP; c++)
          place[q * NORM_PLACES + c * WARP + lane] = x[q][c];
      __syncwarp();
#pragma unroll
      for (int i = 0; i < NORM_STEP; i += BLOCK_LANES) {
        const float g = place[group * NORM_PLACES + i + mine];
        sum += (double)g * (double)g; /* + 0 where there is nothing more */
        finite &= fabsf(g) < (float)CORE_INFINITY;
      }
      __syncwarp(); /* all have read them */
    }
    int64_t i = begin + (end - begin) / NORM_STEP * NORM_STEP + mine;
    for (; i - mine + BLOCK_LANES <= end; i += BLOCK_LANES) {
      const double g = (double)__ldg(a.gradients + i);
      sum += g * g;
      finite &= core_abs(g) < CORE_INFINITY;
    }
    if (mine == 0)
      for (; i < end; i++) {
        const double g = (double)a.gradients[i];
        sum += g * g;
        finite &= core_abs(g) < CORE_INFINITY;
      }
    if (SELDOM(!finite)) /* look for it */
      for (i = begin; i < end; i++)
        if (!(core_abs((double)a.gradients[i]) < CORE_INFINITY)) {
          failure_report(a.failure, i, 0, FAILURE_GRADIENT);
          break;
        }
#pragma unroll
    for (int s = 1; s < BLOCK_LANES; s *= 2) sum += __shfl_xor_sync(ALL_LANES, sum, s, BLOCK_LANES);
    if (mine == 0 && first + group < a.blocks) a.partial[first + group] = sum;
  }
}

template <bool INDEXED>
static __global__ void __launch_bounds__(OPTIMIZER_THREADS)
    gradient_norm_sum_kernel(int64_t blocks, const double *sums, const int64_t *index,
                             double *norm) {
  SHARED_ARRAY(double, next, 2 * OPTIMIZER_THREADS); /* what is added, and what will be */
  const int me = (int)threadIdx.x;
  double sum = 0.0;
  int half = 0;
  for (int64_t first = 0; first < blocks; first += OPTIMIZER_THREADS) {
    const int64_t b = first + me, left = blocks - first;
    if (b < blocks) next[half + me] = sums[INDEXED ? index[b] : b];
    __syncthreads();
    const int count = left < OPTIMIZER_THREADS ? (int)left : OPTIMIZER_THREADS;
    if (me == 0) {
#pragma unroll 16
      for (int i = 0; i < count; i++) sum += next[half + i];
    }
    half = OPTIMIZER_THREADS - half;
  }
  if (me == 0) *norm = CORE_SQRT(sum);
}

size_t phibal_cuda_gradient_norm_workspace(int64_t blocks) {
  return blocks > 0 ? sizeof(double) * (size_t)blocks : 0;
}

phibal_status phibal_cuda_gradient_blocks(int64_t blocks, const int64_t *begin,
                                          const float *gradients, double *sums,
                                          const phibal_cuda *call) {
  const char *name = "gradient norm";
  if (blocks < 0 || (blocks > 0 && (!begin || !gradients || !sums)))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: %lld blocks, or a null array", name,
                             (long long)blocks);
  phibal_status status = call_check(name, call, 0);
  if (status != PHIBAL_OK || blocks == 0) return status;
  gradient_norm_arguments a = {blocks, begin, gradients, sums, call->failure};
  const int64_t of_block = OPTIMIZER_THREADS / BLOCK_LANES;
  launch_shape shape = {
      blocks_for(call, (blocks + of_block - 1) / of_block, OPTIMIZER_PER_MULTIPROCESSOR),
      OPTIMIZER_THREADS, 0};
  return launch(name, gradient_norm_kernel, shape, call, a);
}

phibal_status phibal_cuda_gradient_norm_of(int64_t blocks, const double *sums, const int64_t *index,
                                           double *norm, const phibal_cuda *call) {
  const char *name = "gradient norm";
  if (blocks < 0 || !norm || (blocks > 0 && !sums))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: %lld blocks, or a null array", name,
                             (long long)blocks);
  phibal_status status = call_check(name, call, 0);
  if (status != PHIBAL_OK) return status;
  launch_shape one = {1, OPTIMIZER_THREADS, 0};
  return launch(name, index ? gradient_norm_sum_kernel<true> : gradient_norm_sum_kernel<false>, one,
                call, blocks, sums, index, norm);
}

phibal_status phibal_cuda_gradient_norm(int64_t blocks, const int64_t *begin,
                                        const float *gradients, double *norm,
                                        const phibal_cuda *call) {
  phibal_status status =
      call_check("gradient norm", call, phibal_cuda_gradient_norm_workspace(blocks));
  if (status != PHIBAL_OK) return status;
  double *sums = (double *)call->workspace;
  status = phibal_cuda_gradient_blocks(blocks, begin, gradients, sums, call);
  return status == PHIBAL_OK ? phibal_cuda_gradient_norm_of(blocks, sums, nullptr, norm, call)
                             : status;
}

static __global__ void __launch_bounds__(WARP)
    stop_kernel(int32_t n, const uint64_t *failures, float *gradient) {
  int failed = 0;
  for (int32_t i = (int32_t)threadIdx.x; i < n; i += WARP) failed |= failures[i] != UINT64_MAX;
  if (__any_sync(ALL_LANES, failed) && threadIdx.x == 0) *gradient = core_float(0x7fc00000u);
}

phibal_status phibal_cuda_stop_on_failure(int32_t n, const uint64_t *failures, float *gradient,
                                          const phibal_cuda *call) {
  const char *name = "stop on failure";
  if (n < 0 || !failures || !gradient)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: %d places, or a null array", name, n);
  phibal_status status = call_check(name, call, 0);
  launch_shape one = {1, WARP, 0};
  return status == PHIBAL_OK ? launch(name, stop_kernel, one, call, n, failures, gradient) : status;
}

typedef struct update_arguments {
  phibal_cuda_adamw step;
  const double *norm;
  const float *gradients;
  float *first, *second, *weights;
  bfloat16 *narrow;
} update_arguments;

/* The stretch that holds place i: the first that ends behind it. */
static __device__ __forceinline__ int32_t stretch_of(const phibal_cuda_adamw &step, int64_t i) {
  int32_t low = 0, high = step.segments - 1;
  while (low < high) {
    const int32_t middle = (low + high) / 2;
    if (__ldg(step.end + middle) > i)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

template <int N>
static __global__ void __launch_bounds__(OPTIMIZER_THREADS) adamw_kernel(update_arguments a) {
  const phibal_cuda_adamw &o = a.step;
  double scale = 1.0;
  if (a.norm) {
    const double norm = *a.norm;
    if (!(core_abs(norm) < CORE_INFINITY)) return;
    if (o.clip > 0.0 && norm > o.clip) scale = o.clip / norm;
  }
  for (int64_t begin = (int64_t)blockIdx.x * UPDATE_CHUNK; begin < o.parameters;
       begin += (int64_t)gridDim.x * UPDATE_CHUNK) {
    const int64_t end = begin + UPDATE_CHUNK < o.parameters ? begin + UPDATE_CHUNK : o.parameters;
    int64_t i = begin + (int64_t)threadIdx.x * N;
    if (i >= end) continue;
    int32_t stretch = stretch_of(o, i);
    for (; i < end; i += (int64_t)OPTIMIZER_THREADS * N) {
      const floats<N> g = floats_load<N>(a.gradients + i);
      floats<N> m = floats_load<N>(a.first + i), v = floats_load<N>(a.second + i);
      floats<N> w = floats_load<N>(a.weights + i);
#pragma unroll
      for (int l = 0; l < N; l++) {
        while (SELDOM(i + l >= __ldg(o.end + stretch))) stretch++;
        const double decay = __ldg(o.decays + stretch) ? o.weight_decay : 0.0;
        const double gradient = scale * (double)g.x[l], weight = (double)w.x[l];
        const double first = o.beta1 * (double)m.x[l] + (1.0 - o.beta1) * gradient;
        const double second = o.beta2 * (double)v.x[l] + (1.0 - o.beta2) * gradient * gradient;
        m.x[l] = (float)first;
        v.x[l] = (float)second;
        const double step =
            first * o.first_scale / (CORE_SQRT(second * o.second_scale) + o.epsilon) +
            decay * weight;
        w.x[l] = (float)(weight - o.lr * step);
      }
      floats_store<N>(a.first + i, m);
      floats_store<N>(a.second + i, v);
      floats_store<N>(a.weights + i, w);
      if (a.narrow) floats_store<N>(a.narrow + i, w);
    }
  }
}

phibal_status phibal_cuda_adamw_update(const phibal_cuda_adamw *step, const double *norm,
                                       const float *gradients, float *first, float *second,
                                       float *weights, uint16_t *narrow, const phibal_cuda *call) {
  const char *name = "AdamW";
  if (!step || step->parameters < 0 || (step->parameters > 0 && step->segments < 1))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: no parameters or no stretches of them",
                             name);
  if (step->parameters > 0 &&
      (!step->end || !step->decays || !gradients || !first || !second || !weights))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: a null array", name);
  phibal_status status = call_check(name, call, 0);
  if (status != PHIBAL_OK || step->parameters == 0) return status;
  update_arguments a = {*step, norm, gradients, first, second, weights, (bfloat16 *)narrow};
  const bool four = step->parameters % 4 == 0 && aligned16(gradients) && aligned16(first) &&
                    aligned16(second) && aligned16(weights) && (uintptr_t)narrow % 8 == 0;
  launch_shape shape = {blocks_for(call, (step->parameters + UPDATE_CHUNK - 1) / UPDATE_CHUNK,
                                   OPTIMIZER_PER_MULTIPROCESSOR),
                        OPTIMIZER_THREADS, 0};
  return launch(name, four ? adamw_kernel<4> : adamw_kernel<1>, shape, call, a);
}
