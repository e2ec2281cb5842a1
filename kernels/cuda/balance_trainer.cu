/* What the trainer's balancing has beside the operations of the catalogue:
   moe/model/model_balance.c with its operations, in their order, and so its bits. Counts are
   integers, which have no order.

   Scaled numbers and averages: a thread for each, 8 bytes. A round of the order statistic: a block
   for each row, 4 bytes of a token; quantile.cu makes all rounds in one launch.
   Histograms: a block for each expert, 4 bytes and an atomic addition of a token; the bins are read
   once by one warp of each expert. Not measured yet. */
#include "kernels/core/balance.h"
#include "kernels/core/router.h"
#include "block.h"
#include "order_statistic.h"
#include "kernels/cuda/trainer.h"

enum { STATE_THREADS = 256, STATE_BLOCKS = 4 };
static_assert(PHIBAL_CUDA_QUANTILE_ROUNDS == ORDER_ROUNDS &&
                  PHIBAL_CUDA_QUANTILE_BOUNDS == ORDER_BOUNDS,
              "the rounds of trainer.h are those of order_statistic.h");

static launch_shape state_shape(int64_t n, const phibal_cuda *call) {
  return {blocks_for(call, (n + STATE_THREADS - 1) / STATE_THREADS, STATE_BLOCKS), STATE_THREADS,
          0};
}

static __global__ void __launch_bounds__(STATE_THREADS)
    scale_kernel(int64_t n, const float *x, double factor, double divisor, float *to) {
  EACH_OF_THREAD(i, n, STATE_THREADS) {
    to[i] = (float)((double)x[i] * factor / divisor);
  }
}

static __global__ void __launch_bounds__(STATE_THREADS)
    average_kernel(int64_t n, double eta, const float *x, float *to) {
  EACH_OF_THREAD(i, n, STATE_THREADS) {
    to[i] = core_ema_element(eta, (double)to[i], (double)x[i]);
  }
}

static phibal_status numbers_check(const char *name, int64_t n, const float *x, const float *to,
                                   const phibal_cuda *call) {
  phibal_status status = call_check(name, call, 0);
  if (status != PHIBAL_OK) return status;
  if (n < 0 || (n > 0 && (!x || !to)))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: %lld numbers, or a null array", name,
                             (long long)n);
  return PHIBAL_OK;
}

phibal_status phibal_cuda_scale(int64_t n, const float *x, double factor, double divisor, float *to,
                                const phibal_cuda *call) {
  const char *name = "scaling";
  phibal_status status = numbers_check(name, n, x, to, call);
  if (status != PHIBAL_OK) return status;
  if (divisor == 0 || !(factor - factor == 0) || !(divisor - divisor == 0))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: %g over %g", name, factor, divisor);
  if (n == 0) return PHIBAL_OK;
  return launch(name, scale_kernel, state_shape(n, call), call, n, x, factor, divisor, to);
}

phibal_status phibal_cuda_average(int64_t n, float eta, const float *x, float *to,
                                  const phibal_cuda *call) {
  const char *name = "moving average";
  phibal_status status = numbers_check(name, n, x, to, call);
  if (status != PHIBAL_OK) return status;
  if (!(eta > 0.0f && eta <= 1.0f))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: eta is %g; it must be in (0, 1]", name,
                             (double)eta);
  if (n == 0) return PHIBAL_OK;
  return launch(name, average_kernel, state_shape(n, call), call, n, (double)eta, x, to);
}

typedef struct required_rows {
  int64_t rows, tokens, stride, place;
  const float *required;
  uint64_t *failure;
} required_rows;

/* As quantile.cu, a round at a time. */
static __global__ void __launch_bounds__(STATE_THREADS)
    round_kernel(required_rows a, int round, int32_t *low, int32_t *high, uint64_t *counts,
                 float *quantile) {
  SHARED_ARRAY(int32_t, range, 2);
  SHARED_ARRAY(device_sum, count, ORDER_BOUNDS);
  const int thread = (int)threadIdx.x;
  for (int64_t e = blockIdx.x; e < a.rows; e += gridDim.x) {
    uint64_t *of_row = counts + e * ORDER_BOUNDS;
    if (thread == 0) {
      key_range keys = {-ORDER_INFINITE, ORDER_INFINITE};
      if (round > 0) keys = order_narrowed({low[e], high[e]}, a.place, of_row);
      range[0] = low[e] = keys.low;
      range[1] = high[e] = keys.high;
    }
    __syncthreads();
    const key_range keys = {range[0], range[1]};
    if (round == PHIBAL_CUDA_QUANTILE_ROUNDS) {
      if (thread == 0) {
        if (keys.low == ORDER_INFINITE) failure_report(a.failure, e, 0, FAILURE_REQUIRED);
        quantile[e] = core_float_from_key(keys.low) + 0.0f;
      }
    } else {
      const auto number = [&](int64_t t) { return a.required[e * a.stride + t]; };
      if (order_count(a.tokens, number, keys, count) && round == 0)
        failure_report(a.failure, e, 0, FAILURE_REQUIRED);
      if (thread < ORDER_BOUNDS) of_row[thread] = count[thread];
    }
    __syncthreads();
  }
}

static phibal_status rows_check(const char *name, const required_rows &a, const phibal_cuda *call) {
  phibal_status status = call_check(name, call, 0);
  if (status != PHIBAL_OK) return status;
  if (a.rows < 1 || a.tokens < 0 || a.tokens > ORDER_NUMBERS || a.stride < a.tokens ||
      a.place < 1 || (a.tokens > 0 && !a.required))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "%s: place %lld of %lld rows, %lld tokens in rows of %lld, or a null "
                             "array",
                             name, (long long)a.place, (long long)a.rows, (long long)a.tokens,
                             (long long)a.stride);
  return PHIBAL_OK;
}

phibal_status phibal_cuda_quantile_round(int32_t round, int64_t rows, int64_t tokens,
                                         int64_t stride, const float *required, int64_t place,
                                         int32_t *low, int32_t *high, uint64_t *counts,
                                         float *quantile, const phibal_cuda *call) {
  const char *name = "round of a quantile";
  const required_rows a = {rows, tokens, stride, place, required, call ? call->failure : nullptr};
  phibal_status status = rows_check(name, a, call);
  if (status != PHIBAL_OK) return status;
  if (round < 0 || round > PHIBAL_CUDA_QUANTILE_ROUNDS || !low || !high || !counts || !quantile)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s %d, or a null array", name, round);
  const launch_shape shape = {blocks_for(call, rows, STATE_BLOCKS), STATE_THREADS, 0};
  return launch(name, round_kernel, shape, call, a, (int)round, low, high, counts, quantile);
}

static __global__ void __launch_bounds__(STATE_THREADS)
    range_kernel(int experts, const float *low, const float *high, double by, float *range) {
  const int64_t first = (int64_t)blockIdx.x * experts;
  int32_t least = INT32_MAX, most = INT32_MIN; /* keys, which have the numbers' order */
  for (int e = (int)threadIdx.x; e < experts; e += STATE_THREADS) {
    const int32_t below = core_float_key((float)((double)low[first + e] - by) + 0.0f);
    const int32_t above = core_float_key((float)((double)high[first + e] + by) + 0.0f);
    if (below < least) least = below;
    if (above > most) most = above;
  }
  most = block_max(most);
  least = ~block_max(~least);
  if (threadIdx.x == 0) {
    range[2 * blockIdx.x] = core_float_from_key(least);
    range[2 * blockIdx.x + 1] = core_float_from_key(most);
  }
}

phibal_status phibal_cuda_quantile_range(int32_t layers, int32_t experts, const float *low,
                                         const float *high, double by, float *range,
                                         const phibal_cuda *call) {
  const char *name = "range of a histogram";
  phibal_status status = call_check(name, call, 0);
  if (status != PHIBAL_OK) return status;
  if (layers < 1 || experts < 1 || experts > PHIBAL_MAX_EXPERTS || !low || !high || !range ||
      !(by - by == 0))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: %d layers of %d experts, or a null array",
                             name, layers, experts);
  const launch_shape shape = {layers, STATE_THREADS, 0};
  return launch(name, range_kernel, shape, call, (int)experts, low, high, by, range);
}

static __global__ void __launch_bounds__(STATE_THREADS)
    histogram_kernel(required_rows a, const float *range, int32_t bins, uint64_t *count) {
  const float low = range[0], high = range[1];
  const double width = ((double)high - (double)low) / (double)bins;
  for (int64_t e = blockIdx.x; e < a.rows; e += gridDim.x)
    for (int64_t t = threadIdx.x; low < high && t < a.tokens; t += STATE_THREADS) {
      const float r = a.required[e * a.stride + t];
      if (r == (float)CORE_INFINITY) continue;
      if (!(r >= low && r <= high)) {
        failure_report(a.failure, e, (int)e, FAILURE_REQUIRED);
        continue;
      }
      const double place = ((double)r - (double)low) / width;
      const int32_t i = place < (double)bins ? (int32_t)place : bins - 1;
      atomicAdd((device_sum *)count + e * bins + i, (device_sum)1);
    }
}

phibal_status phibal_cuda_quantile_histogram(int32_t experts, int64_t tokens, int64_t stride,
                                             const float *required, const float *range,
                                             int32_t bins, uint64_t *count,
                                             const phibal_cuda *call) {
  const char *name = "histogram";
  const required_rows a = {experts, tokens, stride, 1, required, call ? call->failure : nullptr};
  phibal_status status = rows_check(name, a, call);
  if (status != PHIBAL_OK) return status;
  if (!range || !count || bins < 1)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: %d bins, or a null array", name, bins);
  const launch_shape shape = {blocks_for(call, experts, STATE_BLOCKS), STATE_THREADS, 0};
  return launch(name, histogram_kernel, shape, call, a, range, bins, count);
}

/* A block for each expert. Each thread has a stretch of bins, and the one in whose stretch the
   count reaches k n / E goes through it. */
static __global__ void __launch_bounds__(STATE_THREADS)
    interpolated_kernel(int experts, int active, int64_t tokens, const float *range, int32_t bins,
                        uint64_t *count, float *quantile, uint64_t *failure) {
  SHARED_ARRAY(device_sum, part, STATE_THREADS);
  const float low = range[0], high = range[1];
  const double width = ((double)high - (double)low) / (double)bins;
  const int thread = (int)threadIdx.x;
  const int32_t of_thread = (bins + STATE_THREADS - 1) / STATE_THREADS;
  const int32_t begin = thread * of_thread < bins ? thread * of_thread : bins;
  const int32_t end = begin + of_thread < bins ? begin + of_thread : bins;
  for (int e = (int)blockIdx.x; e < experts; e += (int)gridDim.x) {
    uint64_t *row = count + (int64_t)e * bins;
    uint64_t own = 0;
    for (int32_t i = begin; i < end; i++) own += row[i];
    part[thread] = own;
    __syncthreads();
    int64_t before = 0, all = 0;
    for (int i = 0; i < STATE_THREADS; i++) {
      const int64_t n = (int64_t)(device_sum)part[i];
      before += i < thread ? n : 0;
      all += n;
    }
    const int64_t wanted = (int64_t)active * tokens;
    if (low == high) {
      if (thread == 0) quantile[e] = low;
    } else if (all != tokens) {
      if (thread == 0) failure_report(failure, e, e, FAILURE_REQUIRED);
    } else if (before * experts < wanted && (before + (int64_t)own) * experts >= wanted) {
      int32_t i = begin;
      while ((before + (int64_t)row[i]) * experts < wanted) before += (int64_t)row[i++];
      const double share =
          (double)(wanted - before * experts) / ((double)(int64_t)row[i] * (double)experts);
      quantile[e] = (float)((double)low + ((double)i + share) * width);
    }
    for (int32_t i = begin; i < end; i++) row[i] = 0;
    __syncthreads();
  }
}

phibal_status phibal_cuda_quantile_interpolated(int32_t experts, int32_t active, int64_t tokens,
                                                const float *range, int32_t bins, uint64_t *count,
                                                float *quantile, const phibal_cuda *call) {
  const char *name = "quantile of a histogram";
  phibal_status status = call_check(name, call, 0);
  if (status != PHIBAL_OK) return status;
  if (experts < 1 || experts > PHIBAL_MAX_EXPERTS || active < 1 || active > experts || tokens < 1 ||
      bins < 1 || !range || !count || !quantile)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "%s: %d of %d experts active, %lld tokens, %d bins, or a null array",
                             name, active, experts, (long long)tokens, bins);
  const launch_shape shape = {blocks_for(call, experts, STATE_BLOCKS), STATE_THREADS, 0};
  return launch(name, interpolated_kernel, shape, call, (int)experts, (int)active, tokens, range,
                bins, count, quantile, call->failure);
}
