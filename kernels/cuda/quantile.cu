/* Quantile balancing (L7): a warp's share of lanes for each token's required biases, and a block
   for each expert's order statistic. Same bits as the CPU (kernels/cpu/quantile.c): scores and
   differences are the same operations of binary64, and the rest is comparing and counting.

   Required biases: the cut-off is the score of the expert of rank k (R2), which is the largest that
   is left after k others. Rows are held as the router's are (row.h). Results go through shared
   memory, so that those of an expert are stored for 8 tokens or more at once: a sector of 32 bytes.
   8 bytes of a logit.

   An order statistic: order_statistic.h, 8 rounds that each read the row once, 4 bytes of a token.
   Not measured yet. */
#include "order_statistic.h"
#include "row.h"
#include <phibal/quantile.h>

enum { REQUIRED_THREADS = 256, QUANTILE_THREADS = 256, QUANTILE_BLOCKS = 4 };

static __device__ __forceinline__ bool is_number(float x) {
  return x - x == 0.0f;
}

/* A block's tokens, and the numbers of a token's row in shared memory, padded so that a warp reads
   without bank conflicts. */
template <int LANES> static constexpr int REQUIRED_TOKENS = REQUIRED_THREADS / LANES;
template <int LANES, int COLUMNS>
static constexpr int REQUIRED_ROW = LANES *COLUMNS + (REQUIRED_TOKENS<LANES> < WARP
                                                          ? WARP / REQUIRED_TOKENS<LANES>
                                                          : 1);

/* The expert of rank `rank` (R2), of the keys of lane + LANES c: the largest, ties to the lower
   index, after `rank` of them. All lanes of the row get it. */
template <int LANES, int COLUMNS>
static __device__ __forceinline__ int of_rank(int rank, int64_t *key) {
  int last = 0;
#pragma unroll 1
  for (int s = 0; s <= rank; s++) {
    int column;
    last = row_best<LANES, COLUMNS>(key, &column);
#pragma unroll
    for (int c = 0; c < COLUMNS; c++)
      if (c == column) key[c] = INT64_MIN;
  }
  return last;
}

typedef struct required_arguments {
  phibal_router router;
  int64_t tokens, stride;
  const float *logits, *bias;
  const uint8_t *mask;
  float *required;
  uint64_t *failure;
} required_arguments;

template <int LANES, int COLUMNS>
static __global__ void __launch_bounds__(REQUIRED_THREADS) required_kernel(required_arguments a) {
  constexpr int TOKENS = REQUIRED_TOKENS<LANES>, ROW = REQUIRED_ROW<LANES, COLUMNS>;
  SHARED_DYNAMIC(float, tile); /* [TOKENS][ROW] */
  const int thread = (int)threadIdx.x, lane = row_lane<LANES>(), experts = a.router.experts;
  if (a.bias && blockIdx.x == 0)
    for (int e = thread; e < experts; e += REQUIRED_THREADS)
      if (!is_number(a.bias[e])) failure_report(a.failure, 0, e, FAILURE_BIAS);
  for (int64_t first = (int64_t)blockIdx.x * TOKENS; first < a.tokens;
       first += (int64_t)gridDim.x * TOKENS) {
    /* All lanes of a warp take part; a token that is not live has some token's logits. */
    const int64_t t = first + thread / LANES, there = t < a.tokens ? t : a.tokens - 1;
    const bool live = t < a.tokens && !(a.mask && a.mask[there] == 0);
    const float *x = a.logits + there * experts;
    float score[COLUMNS];
    int64_t key[COLUMNS];
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) {
      const int e = lane + LANES * c;
      const float logit = e < experts ? x[e] : 0.0f;
      if (SELDOM(live && !is_number(logit))) failure_report(a.failure, t, e, logit_failure(logit));
      score[c] = score_of(a.router.gate, logit);
      const double biased = (double)score[c] + (a.bias && e < experts ? (double)a.bias[e] : 0.0);
      key[c] = e < experts ? core_score_key(biased) : INT64_MIN;
    }
    const int last = of_rank<LANES, COLUMNS>(a.router.active, key);
    const double cut =
        (double)score_of(a.router.gate, x[last]) + (a.bias ? (double)a.bias[last] : 0.0);
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) {
      const int e = lane + LANES * c;
      const float difference = (float)(cut - ((double)score[c] + 0.0));
      if (SELDOM(live && e < experts && !is_number(difference)))
        failure_report(a.failure, t, e, FAILURE_REQUIRED);
      tile[thread / LANES * ROW + e] = live ? difference : (float)CORE_INFINITY;
    }
    __syncthreads();
    const int of = thread % TOKENS;
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) {
      const int e = thread / TOKENS + LANES * c;
      if (e < experts && first + of < a.tokens)
        a.required[e * a.stride + first + of] = tile[of * ROW + e];
    }
    __syncthreads();
  }
}

template <int LANES, int COLUMNS>
static phibal_status required_launch(const required_arguments &a, const phibal_cuda *call) {
  constexpr int TOKENS = REQUIRED_TOKENS<LANES>;
  const launch_shape shape = {blocks_for(call, (a.tokens + TOKENS - 1) / TOKENS, MOST_RESIDENT),
                              REQUIRED_THREADS,
                              sizeof(float) * TOKENS * REQUIRED_ROW<LANES, COLUMNS>, true};
  return launch("quantile", required_kernel<LANES, COLUMNS>, shape, call, a);
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
  if (tokens == 0) return PHIBAL_OK;
  const required_arguments a = {*router, tokens, stride,   logits,
                                bias,    mask,   required, call->failure};
#define REQUIRED(lanes, columns) required_launch<lanes, columns>(a, call)
  return ROW_DISPATCH(router->experts, REQUIRED);
#undef REQUIRED
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
