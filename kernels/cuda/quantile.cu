/* Quantile balancing (L7): a block for each token's required biases, and a block for each expert's
   order statistic. Same bits as the CPU (kernels/cpu/quantile.c): scores and differences are the
   same operations of binary64, and the rest is counting, which has no order.

   Required biases: an expert's rank is how many come before it (R2), so the cut-off is the score of
   the one of rank k. E comparisons of binary64 for each logit, E^2 of a token.

   An order statistic: order_statistic.h, 8 rounds that each read the row once, 4 bytes of a token.
   Not measured yet. */
#include "kernels/core/router.h"
#include "kernels/core/router_form.h"
#include "order_statistic.h"
#include <climits>
#include <phibal/quantile.h>

enum { QUANTILE_THREADS = 256, QUANTILE_BLOCKS = 4 };

static __device__ __forceinline__ bool is_number(float x) {
  return x - x == 0.0f;
}

static __device__ NOT_INLINE double required_score(phibal_gate gate, float x, double bias) {
  return (core_gate_has_scores(gate) ? (double)core_gate_score(gate, x) : (double)x) + bias;
}

static __global__ void __launch_bounds__(QUANTILE_THREADS)
    required_kernel(phibal_router router, int64_t tokens, const float *logits, const float *bias,
                    const uint8_t *mask, int64_t stride, float *required, uint64_t *failure) {
  SHARED_ARRAY(double, score, PHIBAL_MAX_EXPERTS);
  SHARED_ARRAY(double, cutoff, 1);
  const int thread = (int)threadIdx.x, experts = router.experts;
  if (bias && blockIdx.x == 0)
    for (int e = thread; e < experts; e += QUANTILE_THREADS)
      if (!is_number(bias[e])) failure_report(failure, 0, e, FAILURE_BIAS);
  for (int64_t t = blockIdx.x; t < tokens; t += gridDim.x) {
    const float *x = logits + t * experts;
    if (mask && mask[t] == 0) {
      for (int e = thread; e < experts; e += QUANTILE_THREADS)
        required[e * stride + t] = (float)CORE_INFINITY;
      continue;
    }
    for (int e = thread; e < experts; e += QUANTILE_THREADS) {
      if (!is_number(x[e]))
        failure_report(failure, t, e,
                       x[e] != x[e] ? FAILURE_LOGIT_NAN
                       : x[e] > 0   ? FAILURE_LOGIT_INFINITE
                                    : FAILURE_LOGIT_MINUS_INFINITE);
      score[e] = required_score(router.gate, x[e], bias ? (double)bias[e] : 0.0);
    }
    __syncthreads();
    for (int e = thread; e < experts; e += QUANTILE_THREADS) {
      const double own = score[e];
      int rank = 0;
      for (int j = 0; j < experts; j++) {
        const double other = score[j];
        rank += other > own || (other == own && j < e);
      }
      if (rank == router.active) cutoff[0] = own;
    }
    __syncthreads();
    const double cut = cutoff[0];
    for (int e = thread; e < experts; e += QUANTILE_THREADS) {
      const float difference = (float)(cut - required_score(router.gate, x[e], 0.0));
      if (!is_number(difference)) failure_report(failure, t, e, FAILURE_REQUIRED);
      required[e * stride + t] = difference;
    }
  }
}

phibal_status phibal_cuda_quantile_required(const phibal_router *router, int64_t tokens,
                                            const float *logits, const float *bias,
                                            const uint8_t *mask, int64_t stride, float *required,
                                            const phibal_cuda *call) {
  phibal_status status = call_check("quantile", call, 0);
  if (status != PHIBAL_OK) return status;
  const char *fault = router ? core_router_fault(router) : nullptr;
  if (fault) return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "quantile: %s", fault);
  if (!router || router->gate < PHIBAL_GATE_TOPK_SOFTMAX ||
      router->gate > PHIBAL_GATE_SQRT_SOFTPLUS || router->experts > PHIBAL_MAX_EXPERTS ||
      router->active < 1 || router->active >= router->experts || tokens < 0 || stride < tokens ||
      (tokens > 0 && (!logits || !required)))
    return phibal_status_set(
        PHIBAL_ERROR_ARGUMENT,
        "quantile: %lld tokens in rows of %lld, a router of which no expert is "
        "cut off, or a null argument",
        (long long)tokens, (long long)stride);
  if (router->group_score != PHIBAL_GROUP_NONE || router->selection == PHIBAL_SELECTION_GIVEN)
    return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                             "quantile: what a bias would need to select an expert is not known in "
                             "groups, nor where the selection is given");
  if (router->score != PHIBAL_SCORE_OF_GATE)
    return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                             "quantile: quantiles of probabilities are not supported");
  launch_shape shape = {blocks_for(call, tokens, QUANTILE_BLOCKS), QUANTILE_THREADS, 0};
  return launch("quantile", required_kernel, shape, call, *router, tokens, logits, bias, mask,
                stride, required, call->failure);
}

static __global__ void __launch_bounds__(QUANTILE_THREADS)
    quantile_kernel(int experts, int64_t tokens, int64_t stride, const float *required,
                    int64_t place, float *quantile, uint64_t *failure) {
  SHARED_ARRAY(device_sum, count, ORDER_BOUNDS);
  for (int e = (int)blockIdx.x; e < experts; e += (int)gridDim.x) {
    const auto number = [&](int64_t t) { return required[e * stride + t]; };
    key_range keys = {-ORDER_INFINITE, ORDER_INFINITE};
    for (int round = 0; round < ORDER_ROUNDS; round++) {
      if (order_count(tokens, number, keys, count) && round == 0)
        failure_report(failure, e, e, FAILURE_REQUIRED);
      keys = order_narrowed(keys, place, count);
    }
    if (threadIdx.x == 0) {
      if (keys.low == ORDER_INFINITE) failure_report(failure, e, e, FAILURE_REQUIRED);
      quantile[e] = core_float_from_key(keys.low) + 0.0f;
    }
  }
}

phibal_status phibal_cuda_quantile(int32_t experts, int64_t tokens, int64_t stride,
                                   const float *required, int64_t place, float *quantile,
                                   const phibal_cuda *call) {
  phibal_status status = call_check("quantile", call, 0);
  if (status != PHIBAL_OK) return status;
  if (experts < 1 || experts > PHIBAL_MAX_EXPERTS || tokens < 1 || tokens > ORDER_NUMBERS ||
      stride < tokens || !required || !quantile || place < 1 || place > tokens)
    return phibal_status_set(
        PHIBAL_ERROR_ARGUMENT,
        "quantile: place %lld of %lld tokens in rows of %lld, %d experts, or a "
        "null argument",
        (long long)place, (long long)tokens, (long long)stride, experts);
  launch_shape shape = {blocks_for(call, experts, QUANTILE_BLOCKS), QUANTILE_THREADS, 0};
  return launch("quantile", quantile_kernel, shape, call, experts, tokens, stride, required, place,
                quantile, call->failure);
}
