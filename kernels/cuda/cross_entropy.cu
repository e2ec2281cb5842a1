/* Cross-entropy and its gradient in place of the logits: probabilities exist a number at a time.

   A block has a row, and its threads as many interleaved sums, each with the largest logit that it
   has met; a sum is taken over to a larger one by a factor exp(old - new). Then the tree of a
   butterfly, and of the warps. The first reading finds largest and sum, the second writes the
   gradient.

   Error of the sum, u = 2^-53: exponentials are good to 1.63 u. A thread with V / 512 logits adds
   as often, and moves its sum no oftener, each time with an exponential and a rounding: 3.63 u V /
   512. Nine steps of the tree add 3.63 u each, the last exponential 1.63 u: 40 u with what is left.

   Bytes of a logit in binary32: 8 must move (4 in bfloat16); the second reading is from the cache
   as far as the rows at work fit there: a block a multiprocessor (512 threads of 76 registers leave
   no room for a second), 132 rows of 102400 logits, are 54 MB, and an H100's cache is 50 MB.
   Arithmetic: two exponentials, about 40 binary64 operations: 2.7 ps a logit by the count of
   README.md, and 8 bytes at 3.35 TB/s are 2.4 ps. So arithmetic is the floor, narrowly in binary32
   and twofold in bfloat16. Not measured yet. */
#include "kernels/core/log64.h"
#include "kernels/core/softcap.h"
#include "trainer.h"
#include "vector.h"

enum {
  LOSS_THREADS = 512,
  LOSS_WARPS = LOSS_THREADS / WARP,
  LOSS_PER_MULTIPROCESSOR = 1,
  SUM_THREADS = 256,
};

typedef struct loss_arguments {
  int64_t rows, vocabulary;
  double cap, scale;
  bool gradient;
  const int32_t *targets;
  void *logits;
  double *row_loss;
  double *loss;
  device_sum *correct, *counted;
  uint64_t *failure;
} loss_arguments;

/* sum of exp(z - largest), and the first index where z is the largest: INT32_MAX for none. */
typedef struct running {
  float largest;
  int32_t first;
  double sum;
} running;

static __device__ __forceinline__ running running_add(running a, running b) {
  const float largest = a.largest > b.largest ? a.largest : b.largest;
  running r;
  r.largest = largest;
  r.sum = a.sum * core_exp64((double)a.largest - (double)largest) +
          b.sum * core_exp64((double)b.largest - (double)largest);
  const int32_t first_a = a.largest == largest ? a.first : INT32_MAX;
  const int32_t first_b = b.largest == largest ? b.first : INT32_MAX;
  r.first = first_a < first_b ? first_a : first_b;
  return r;
}

/* Over `width` lanes; all get the result. The two sides of an addition commute. */
static __device__ __forceinline__ running running_reduce(running a, int width) {
  for (int s = width / 2; s >= 1; s /= 2) {
    running b;
    b.largest = __shfl_xor_sync(ALL_LANES, a.largest, s, width);
    b.first = __shfl_xor_sync(ALL_LANES, a.first, s, width);
    b.sum = __shfl_xor_sync(ALL_LANES, a.sum, s, width);
    a = running_add(a, b);
  }
  return a;
}

static __device__ __forceinline__ running block_reduce(running a) {
  SHARED_ARRAY(float, largest, LOSS_WARPS);
  SHARED_ARRAY(int32_t, first, LOSS_WARPS);
  SHARED_ARRAY(double, sum, LOSS_WARPS);
  const int warp = (int)threadIdx.x / WARP, lane = (int)threadIdx.x % WARP % LOSS_WARPS;
  a = running_reduce(a, WARP);
  __syncthreads(); /* the last row's readers are done */
  if (threadIdx.x % WARP == 0) {
    largest[warp] = a.largest;
    first[warp] = a.first;
    sum[warp] = a.sum;
  }
  __syncthreads();
  running b;
  b.largest = largest[lane];
  b.first = first[lane];
  b.sum = sum[lane];
  return running_reduce(b, LOSS_WARPS);
}

static __device__ __forceinline__ float capped(float z, double cap) {
  return SELDOM(cap > 0) ? core_softcap(z, cap) : z;
}

#define EACH_IN_ROW(j, N, n)                                                                       \
  for (int64_t j = (int64_t)threadIdx.x * (N); j < (n); j += (int64_t)LOSS_THREADS * (N))

template <int N, class S>
static __device__ __forceinline__ running row_sum(const S *z, int64_t n, double cap) {
  running a;
  a.largest = -3.402823466e38f; /* finite, so that no difference is NaN before a logit is */
  a.first = INT32_MAX;
  a.sum = 0.0;
  EACH_IN_ROW(j, N, n) {
    floats<N> x = floats_load<N>(z + j);
    float largest = a.largest;
#pragma unroll
    for (int l = 0; l < N; l++) {
      x.x[l] = capped(x.x[l], cap);
      if (x.x[l] > largest) {
        largest = x.x[l];
        a.first = (int32_t)(j + l);
      }
    }
    if (largest > a.largest) {
      a.sum *= core_exp64((double)a.largest - (double)largest);
      a.largest = largest;
    }
#pragma unroll
    for (int l = 0; l < N; l++) a.sum += core_exp64((double)x.x[l] - (double)a.largest);
  }
  return a;
}

/* The gradient of scale times the row's loss, in place. */
template <int N, class S>
static __device__ __forceinline__ void row_gradient(S *z, int64_t n, double cap, int32_t target,
                                                    float kept, running a, double scale) {
  const double factor = scale / a.sum;
  EACH_IN_ROW(j, N, n) {
    floats<N> x = floats_load<N>(z + j);
#pragma unroll
    for (int l = 0; l < N; l++) {
      const float value = capped(x.x[l], cap);
      const double t = SELDOM(cap > 0) ? (double)value / cap : 0.0;
      x.x[l] = (float)(factor * core_exp64((double)value - (double)a.largest) * (1.0 - t * t));
      if (SELDOM(j + l == target)) {
        const double p = core_exp64((double)kept - (double)a.largest) / a.sum;
        const float at = (float)(scale * (p - 1.0));
        x.x[l] =
            cap > 0 ? (float)((double)at * (1.0 - (double)kept / cap * ((double)kept / cap))) : at;
      }
    }
    floats_store<N>(z + j, x);
  }
}

template <int N, class S> static __device__ __forceinline__ void row_zero(S *z, int64_t n) {
  EACH_IN_ROW(j, N, n) {
    floats<N> zero = {};
    floats_store<N>(z + j, zero);
  }
}

template <class S, int N>
static __global__ void __launch_bounds__(LOSS_THREADS) loss_kernel(loss_arguments a) {
  device_sum correct = 0, counted = 0;
  for (int64_t row = blockIdx.x; row < a.rows; row += gridDim.x) {
    S *z = (S *)a.logits + row * a.vocabulary;
    const int32_t target = __ldg(a.targets + row);
    if (target < 0 || target >= a.vocabulary) {
      if (threadIdx.x == 0) {
        a.row_loss[row] = 0.0;
        if (target != -1) failure_report(a.failure, row, 0, FAILURE_TARGET);
      }
      if (a.gradient) row_zero<N>(z, a.vocabulary);
      continue;
    }
    const float kept = capped(widen(z[target]), a.cap);
    const running sum = block_reduce(row_sum<N>(z, a.vocabulary, a.cap));
    /* Behind the barriers above all have read the target's logit. */
    if (threadIdx.x == 0) {
      const double loss = core_log64(sum.sum) + ((double)sum.largest - (double)kept);
      a.row_loss[row] = loss;
      if (!(core_abs(sum.sum) < CORE_INFINITY) || !(core_abs(loss) < CORE_INFINITY))
        failure_report(a.failure, row, 0, FAILURE_LOSS);
      correct += sum.first == target;
      counted++;
    }
    if (a.gradient) row_gradient<N>(z, a.vocabulary, a.cap, target, kept, sum, a.scale);
  }
  if (threadIdx.x != 0 || counted == 0) return;
  atomicAdd(a.correct, correct);
  atomicAdd(a.counted, counted);
}

/* One block: interleaved sums, then a halving tree. */
static __global__ void __launch_bounds__(SUM_THREADS) loss_sum_kernel(loss_arguments a) {
  SHARED_ARRAY(double, part, SUM_THREADS);
  const int me = (int)threadIdx.x;
  double sum = 0.0;
#pragma unroll 8
  for (int64_t i = me; i < a.rows; i += SUM_THREADS) sum += a.row_loss[i];
  part[me] = sum;
  for (int s = SUM_THREADS / 2; s >= 1; s /= 2) {
    __syncthreads();
    if (me < s) part[me] = part[me] + part[me + s];
  }
  if (me == 0) *a.loss += part[0];
}

phibal_status phibal_cuda_cross_entropy(const phibal_cuda_loss *shape, const int32_t *targets,
                                        void *logits, double *row_loss, double *loss,
                                        int64_t *correct, int64_t *counted,
                                        const phibal_cuda *call) {
  const char *name = "cross-entropy";
  if (!shape || shape->rows < 0 || shape->vocabulary < 1 || !(shape->softcap >= 0) ||
      (shape->type != PHIBAL_ROWS_F32 && shape->type != PHIBAL_ROWS_BF16))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null or invalid shape of the logits",
                             name);
  if (!loss || !correct || !counted || (shape->rows > 0 && (!targets || !logits || !row_loss)))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: a null array", name);
  phibal_status status = call_check(name, call, 0);
  if (status != PHIBAL_OK || shape->rows == 0) return status;
  loss_arguments a = {};
  a.rows = shape->rows;
  a.vocabulary = shape->vocabulary;
  a.cap = (double)shape->softcap;
  a.scale = shape->scale;
  a.gradient = shape->gradient != 0;
  a.targets = targets;
  a.logits = logits;
  a.row_loss = row_loss;
  a.loss = loss;
  a.correct = (device_sum *)correct;
  a.counted = (device_sum *)counted;
  a.failure = call->failure;
  const bool four = shape->vocabulary % 4 == 0 && aligned16(logits);
  launch_shape rows = {blocks_for(call, shape->rows, LOSS_PER_MULTIPROCESSOR), LOSS_THREADS, 0};
  void (*kernel)(loss_arguments) = shape->type == PHIBAL_ROWS_F32
                                       ? four ? loss_kernel<float, 4> : loss_kernel<float, 1>
                                   : four ? loss_kernel<bfloat16, 4>
                                          : loss_kernel<bfloat16, 1>;
  status = launch(name, kernel, rows, call, a);
  launch_shape one = {1, SUM_THREADS, 0};
  return status == PHIBAL_OK ? launch(name, loss_sum_kernel, one, call, a) : status;
}
