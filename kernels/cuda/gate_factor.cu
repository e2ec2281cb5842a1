/* A factor for each expert (R5f): a thread for each slot. Same bits as the CPU
   (kernels/cpu/gate_factor.c): products are rounded once, and the gradient of the factors is an
   exact sum, whose digits are added to the workspace by integer atomics, so that no order shows. A
   second kernel rounds the sums and clears them.

   Bytes of a slot: 12 forward, 16 backward and three atomic additions of 8. Not measured yet. */
#include "kernels/core/product_sum.h"
#include "device.h"
#include <phibal/gate_factor.h>

enum { FACTOR_THREADS = 256, FACTOR_BLOCKS = 4 };

typedef struct factor_arguments {
  int64_t slots;
  int32_t active, experts_count;
  const int32_t *experts;
  const float *gates, *factor, *gradient; /* gradient: of the scaled gates, or null */
  float *out, *factor_gradient;
  device_sum *sum; /* [E][CORE_PRODUCT_SUM], 0 between calls */
  uint64_t *failure;
} factor_arguments;

static __device__ __forceinline__ bool is_finite(float x) {
  return x - x == 0.0f;
}

static __global__ void __launch_bounds__(FACTOR_THREADS) factor_kernel(factor_arguments a) {
  const int64_t thread = (int64_t)blockIdx.x * FACTOR_THREADS + threadIdx.x;
  const int64_t stride = (int64_t)gridDim.x * FACTOR_THREADS;
  for (int64_t e = thread; e < a.experts_count; e += stride)
    if (!is_finite(a.factor[e])) failure_report(a.failure, 0, (int)e, FAILURE_FACTOR);
  for (int64_t i = thread; i < a.slots; i += stride) {
    const int32_t e = a.experts[i];
    float out = 0.0f;
    if (e < -1 || e >= a.experts_count) {
      failure_report(a.failure, i / a.active + 1, (int)(i % a.active), FAILURE_FACTOR_EXPERT);
    } else if (e >= 0) {
      const float gate = a.gates[i], gradient = a.gradient ? a.gradient[i] : 0.0f;
      if (!is_finite(gate) || !is_finite(gradient)) {
        failure_report(a.failure, i / a.active + 1, (int)(i % a.active), FAILURE_FACTOR_GATE);
        continue;
      }
      out = (a.gradient ? gradient : gate) * a.factor[e];
      if (a.gradient) {
        uint64_t digit[3];
        const int j = core_product_digits((double)gate * (double)gradient, digit);
        for (int d = 0; d < 3; d++)
          if (digit[d] != 0)
            atomicAdd(a.sum + (int64_t)e * CORE_PRODUCT_SUM + j - d, (device_sum)digit[d]);
      }
    }
    a.out[i] = out;
  }
}

static __global__ void __launch_bounds__(FACTOR_THREADS) factor_sum_kernel(factor_arguments a) {
  EACH_OF_THREAD(e, a.experts_count, FACTOR_THREADS) {
    uint64_t sum[CORE_PRODUCT_SUM];
    for (int j = 0; j < CORE_PRODUCT_SUM; j++) {
      sum[j] = a.sum[e * CORE_PRODUCT_SUM + j];
      a.sum[e * CORE_PRODUCT_SUM + j] = 0;
    }
    core_product_carry(sum);
    a.factor_gradient[e] = core_product_round(sum);
  }
}

static factor_arguments arguments_of(int64_t tokens, int32_t active, int32_t experts_count,
                                     const int32_t *experts, const float *gates,
                                     const float *factor, float *out, const phibal_cuda *call) {
  factor_arguments a = {};
  a.slots = tokens > 0 ? tokens * active : 0;
  a.active = active;
  a.experts_count = experts_count;
  a.experts = experts;
  a.gates = gates;
  a.factor = factor;
  a.out = out;
  a.failure = call->failure;
  return a;
}

static phibal_status launch_factor(const char *name, const factor_arguments &a, int64_t tokens,
                                   const phibal_cuda *call) {
  if (tokens < 0 || a.active < 1 || a.active > PHIBAL_MAX_EXPERTS || a.experts_count < 1 ||
      a.experts_count > PHIBAL_MAX_EXPERTS || tokens > PHIBAL_CUDA_GATE_FACTOR_ROUTES / a.active ||
      !a.factor || (tokens > 0 && (!a.experts || !a.gates || !a.out)))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "%s: %lld tokens of %d slots, %d experts, or a null array", name,
                             (long long)tokens, a.active, a.experts_count);
  const int64_t work = a.slots > a.experts_count ? a.slots : a.experts_count;
  const launch_shape shape = {
      blocks_for(call, (work + FACTOR_THREADS - 1) / FACTOR_THREADS, FACTOR_BLOCKS), FACTOR_THREADS,
      0};
  return launch(name, factor_kernel, shape, call, a);
}

phibal_status phibal_cuda_gate_factor(int64_t tokens, int32_t active, int32_t experts_count,
                                      const int32_t *experts, const float *gates,
                                      const float *factor, float *scaled, const phibal_cuda *call) {
  const char *name = "gate factor";
  phibal_status status = call_check(name, call, 0);
  if (status != PHIBAL_OK) return status;
  const factor_arguments a =
      arguments_of(tokens, active, experts_count, experts, gates, factor, scaled, call);
  return launch_factor(name, a, tokens, call);
}

size_t phibal_cuda_gate_factor_workspace(int32_t experts_count) {
  return sizeof(device_sum) * CORE_PRODUCT_SUM * (size_t)(experts_count > 0 ? experts_count : 1);
}

phibal_status phibal_cuda_gate_factor_backward(int64_t tokens, int32_t active,
                                               int32_t experts_count, const int32_t *experts,
                                               const float *gates, const float *factor,
                                               const float *scaled_gradient, float *gate_gradient,
                                               float *factor_gradient, const phibal_cuda *call) {
  const char *name = "gradient of gate factors";
  phibal_status status = call_check(name, call, phibal_cuda_gate_factor_workspace(experts_count));
  if (status != PHIBAL_OK) return status;
  if (!factor_gradient || (tokens > 0 && !scaled_gradient))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null array", name);
  factor_arguments a =
      arguments_of(tokens, active, experts_count, experts, gates, factor, gate_gradient, call);
  a.gradient = scaled_gradient;
  a.factor_gradient = factor_gradient;
  a.sum = (device_sum *)call->workspace;
  status = launch_factor(name, a, tokens, call);
  if (status != PHIBAL_OK) return status;
  const launch_shape shape = {
      blocks_for(call, (experts_count + FACTOR_THREADS - 1) / FACTOR_THREADS, FACTOR_BLOCKS),
      FACTOR_THREADS, 0};
  return launch(name, factor_sum_kernel, shape, call, a);
}
