/* Experts that compute nothing (E10): half a warp for each token, as in combine.cu. Same bits as
   the CPU (kernels/cpu/zero_experts.c): gates are added slot after slot in binary64, and the scalar
   product is of 16 interleaved sums and a halving tree.

   Bytes: 4 of a slot; of a token with an identity 12 of a number forward and 16 backward. Not
   measured yet. */
#include "kernels/core/core.h"
#include "device.h"
#include <phibal/zero_experts.h>

enum { ZERO_THREADS = 256, ZERO_BLOCKS = 8, ZERO_LANES = 16 };

typedef struct zero_arguments {
  phibal_zero_output output;
  int64_t tokens, width;
  int32_t active, experts_count, first;
  const int32_t *experts;
  const float *gates, *of, *x; /* to += c of; x: for <of, x>, or null */
  float *to, *gate_gradient;
  uint64_t *failure;
} zero_arguments;

static __global__ void __launch_bounds__(ZERO_THREADS) zero_kernel(zero_arguments a) {
  const int lane = (int)threadIdx.x % ZERO_LANES, of_block = ZERO_THREADS / ZERO_LANES;
  const int64_t stride = (int64_t)gridDim.x * of_block;
  int64_t t = (int64_t)blockIdx.x * of_block + threadIdx.x / ZERO_LANES;
  /* Both halves of a warp make as many rounds. */
  for (int64_t first = t - (threadIdx.x / ZERO_LANES) % 2; first < a.tokens;
       first += stride, t += stride) {
    double c = 0.0, sum = 0.0;
    bool some = false, bad = false;
    for (int s = 0; t < a.tokens && s < a.active; s++) {
      const int32_t e = a.experts[t * a.active + s];
      if (e < -1 || e >= a.experts_count) {
        if (lane == 0) failure_report(a.failure, t, s, FAILURE_ZERO_EXPERT);
        bad = true;
      } else if (e >= a.first) {
        c += (double)a.gates[t * a.active + s];
        some = true;
      }
    }
    const bool scaled = some && !bad && a.output == PHIBAL_ZERO_IDENTITY;
    for (int64_t j = lane; scaled && j < a.width; j += ZERO_LANES) {
      const int64_t i = t * a.width + j;
      const double of = (double)a.of[i];
      if (a.x) sum = CORE_FMA(of, (double)a.x[i], sum);
      a.to[i] = (float)CORE_FMA(c, of, (double)a.to[i]);
    }
    for (int s = ZERO_LANES / 2; s >= 1; s /= 2)
      sum += __shfl_xor_sync(ALL_LANES, sum, s, ZERO_LANES);
    for (int s = lane; a.gate_gradient && some && !bad && s < a.active; s += ZERO_LANES)
      if (a.experts[t * a.active + s] >= a.first) a.gate_gradient[t * a.active + s] = (float)sum;
  }
}

static __global__ void __launch_bounds__(ZERO_THREADS)
    zero_dispatch_kernel(zero_arguments a, int32_t *real) {
  EACH_OF_THREAD(i, a.tokens * a.active, ZERO_THREADS) {
    const int32_t e = a.experts[i];
    if (e < -1 || e >= a.experts_count)
      failure_report(a.failure, i / a.active, (int)(i % a.active), FAILURE_ZERO_EXPERT);
    real[i] = e >= 0 && e < a.first ? e : -1;
  }
}

static phibal_status zero_check(const char *name, const zero_arguments &a, int32_t zero_experts,
                                bool null, const phibal_cuda *call) {
  phibal_status status = call_check(name, call, 0);
  if (status != PHIBAL_OK) return status;
  if (a.tokens < 0 || a.active < 1 || a.active > PHIBAL_MAX_EXPERTS || a.experts_count < 1 ||
      a.experts_count > PHIBAL_MAX_EXPERTS || zero_experts < 0 || zero_experts > a.experts_count ||
      a.width < 1 || (a.tokens > 0 && null) || a.output < PHIBAL_ZERO_NULL ||
      a.output > PHIBAL_ZERO_IDENTITY)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "%s: %lld tokens of %d slots and %lld numbers, %d of %d experts, "
                             "output %d, or a null array",
                             name, (long long)a.tokens, a.active, (long long)a.width, zero_experts,
                             a.experts_count, (int)a.output);
  return PHIBAL_OK;
}

static launch_shape zero_shape(const zero_arguments &a, int64_t of_block, const phibal_cuda *call) {
  return {blocks_for(call, (a.tokens * a.active + of_block - 1) / of_block, ZERO_BLOCKS),
          ZERO_THREADS, 0};
}

phibal_status phibal_cuda_zero_experts_dispatch(int64_t tokens, int32_t active,
                                                int32_t experts_count, int32_t zero_experts,
                                                const int32_t *experts, int32_t *real,
                                                const phibal_cuda *call) {
  const char *name = "dispatch without zero experts";
  zero_arguments a = {};
  a.tokens = tokens;
  a.width = 1;
  a.active = active;
  a.experts_count = experts_count;
  a.first = experts_count - zero_experts;
  a.experts = experts;
  phibal_status status = zero_check(name, a, zero_experts, !experts || !real, call);
  if (status != PHIBAL_OK || tokens == 0) return status;
  a.failure = call->failure;
  return launch(name, zero_dispatch_kernel, zero_shape(a, ZERO_THREADS, call), call, a, real);
}

phibal_status phibal_cuda_zero_experts(phibal_zero_output output, int64_t tokens, int32_t active,
                                       int32_t experts_count, int32_t zero_experts, int64_t width,
                                       const int32_t *experts, const float *gates, const float *x,
                                       float *y, const phibal_cuda *call) {
  const char *name = "zero experts";
  zero_arguments a = {
      output, tokens,  width, active,  experts_count, experts_count - zero_experts, experts, gates,
      x,      nullptr, y,     nullptr, nullptr};
  phibal_status status = zero_check(name, a, zero_experts, !experts || !gates || !x || !y, call);
  if (status != PHIBAL_OK || tokens == 0) return status;
  a.failure = call->failure;
  return launch(name, zero_kernel, zero_shape(a, ZERO_THREADS / ZERO_LANES, call), call, a);
}

phibal_status phibal_cuda_zero_experts_backward(
    phibal_zero_output output, int64_t tokens, int32_t active, int32_t experts_count,
    int32_t zero_experts, int64_t width, const int32_t *experts, const float *gates, const float *x,
    const float *y_gradient, float *x_gradient, float *gate_gradient, const phibal_cuda *call) {
  const char *name = "gradient of zero experts";
  zero_arguments a = {
      output,  tokens, width,      active, experts_count, experts_count - zero_experts,
      experts, gates,  y_gradient, x,      x_gradient,    gate_gradient,
      nullptr};
  phibal_status status =
      zero_check(name, a, zero_experts,
                 !experts || !gates || !x || !y_gradient || !x_gradient || !gate_gradient, call);
  if (status != PHIBAL_OK || tokens == 0) return status;
  a.failure = call->failure;
  return launch(name, zero_kernel, zero_shape(a, ZERO_THREADS / ZERO_LANES, call), call, a);
}
