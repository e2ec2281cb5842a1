/* Router forward (R1 to R8): one pass over the logits, a warp's share of lanes for each token.

   Bytes of a token: 4 E of logits (2 E as bfloat16), 8 k of experts and gates, and 4 E for
   probabilities and 4 for logsumexp where they are asked for; nothing else is read or written but
   the sums, once a block. That over the memory's bandwidth is the floor of the memory. Same bits as
   the CPU means binary64: about 26 operations of a logit (18 in core_exp64, the row's sum, the
   quotient, four for the exact loads), so where the device does r binary64 operations while memory
   moves a byte, arithmetic is the floor if 26 > 4 r (E large, binary32 logits alone). Neither has
   been measured yet.

   Loads (R6) are exact. A probability is split as in kernels/cpu/load_sum.h into multiples of
   2^-40, 2^-80, 2^-120 and 2^-160, here kept as integers: after adding 1.5 2^(52 - b), the bits of
   the sum count the multiples of 2^-b. So each thread has its own int64 for each of its experts and
   levels: the first two in registers (in shared memory where E > 256), the last two, which only
   probabilities below 2^-28 reach, in shared memory. Integers have no order, so the atomic
   additions at a block's end change no bit. The last block to end adds the sums to the loads. */
#include "load_levels.h"
#include "row.h"

typedef struct forward_arguments {
  phibal_router router;
  tree_of of_experts, of_active;
  int64_t tokens;
  phibal_logits type;
  const void *logits;
  const float *bias;
  const uint8_t *mask;
  float *probabilities;
  int32_t *experts;
  float *gates;
  float *logsumexp;
  phibal_cuda_loads loads;
  load_sums sums;
  uint64_t *failure;
} forward_arguments;

/* What the selection compares: binary32 without a bias, binary64 with one. */
static __device__ NOT_INLINE float sigmoid_score(float x) {
  return core_sigmoid(x);
}
static __device__ __forceinline__ void score_key(int32_t *key, float score, double) {
  *key = core_float_key(score + 0.0f);
}
static __device__ __forceinline__ void score_key(int64_t *key, float score, double bias) {
  *key = core_score_key((double)score + bias);
}
static __device__ __forceinline__ void no_key(int32_t *key) {
  *key = INT32_MIN;
}
static __device__ __forceinline__ void no_key(int64_t *key) {
  *key = INT64_MIN;
}

/* (R2) The k largest keys, one after another; ties to the lower index. Rank s of `selected` and of
   `chosen`, the selected logits, is in lane s % LANES, column s / LANES, of GATES columns. Counts
   the selections of live rows; what it counts beyond E is not looked at. A key is above no_key as
   long as its expert is not selected: rows that are not finite are zeros here. */
template <int LANES, int COLUMNS, int GATES, class K>
static __device__ __forceinline__ void row_select(const row<LANES, COLUMNS> *r,
                                                  const forward_arguments &a, int32_t *selected,
                                                  float *chosen, int32_t *count) {
  const int lane = row_lane<LANES>(), experts = a.router.experts;
  const bool sigmoid = a.router.gate == PHIBAL_GATE_SIGMOID;
  K key[COLUMNS];
  uint32_t taken = 0;
#pragma unroll
  for (int c = 0; c < COLUMNS; c++) {
    int e = lane + LANES * c;
    float score = sigmoid ? sigmoid_score(r->x[c]) : r->x[c];
    score_key(&key[c], score, a.bias && e < experts ? (double)__ldg(a.bias + e) : 0.0);
    if (e >= experts) no_key(&key[c]);
  }
#pragma unroll
  for (int c = 0; c < GATES; c++) selected[c] = 0;
#pragma unroll 1 /* twice as much code for nothing, and tools/cuda_budgets.py counts ranks */
  for (int s = 0; s < a.router.active; s++) {
    K best = key[0];
    int best_column = 0;
#pragma unroll
    for (int c = 1; c < COLUMNS; c++)
      if (key[c] > best) {
        best = key[c];
        best_column = c;
      }
    K most = row_max<LANES>(best);
    int mine = best == most ? lane + LANES * best_column : INT_MAX;
    int winner = row_min<LANES>(mine);
    if (mine == winner) {
      taken |= 1u << best_column;
#pragma unroll
      for (int c = 0; c < COLUMNS; c++)
        if (c == best_column) no_key(&key[c]);
    }
#pragma unroll
    for (int c = 0; c < GATES; c++)
      if (s == lane + LANES * c) selected[c] = winner;
  }
#pragma unroll
  for (int c = 0; c < COLUMNS; c++) count[c] += r->live ? (int)(taken >> c & 1) : 0;
#pragma unroll
  for (int c = 0; c < GATES; c++)
    chosen[c] = r->live && lane + LANES * c < a.router.active
                    ? logit_at(a.type, a.logits, r->token * experts + selected[c])
                    : 0.0f;
}

/* (R2) to (R5): the routes, at most LANES GATES of them. */
template <int LANES, int COLUMNS, int GATES>
static __device__ __forceinline__ void row_routes(const row<LANES, COLUMNS> *r,
                                                  const forward_arguments &a, double inverse,
                                                  int32_t *count) {
  const bool sigmoid = a.router.gate == PHIBAL_GATE_SIGMOID;
  int32_t selected[GATES];
  float chosen[GATES];
  if (SELDOM(a.bias != nullptr)) /* not with phi-balancing */
    row_select<LANES, COLUMNS, GATES, int64_t>(r, a, selected, chosen, count);
  else
    row_select<LANES, COLUMNS, GATES, int32_t>(r, a, selected, chosen, count);
  double gate[GATES];
  if (probability_gates(a.router)) {
    /* The selected experts' probabilities, again as they were made. */
    row_weights<LANES, GATES>(sigmoid, a.router.active, chosen, r->largest, gate);
#pragma unroll
    for (int c = 0; c < GATES; c++) gate[c] *= inverse;
  } else {
    row_gates<LANES, GATES>(sigmoid, a.of_active, chosen, gate);
  }
  if (r->token >= a.tokens) return;
#pragma unroll
  for (int c = 0; c < GATES; c++) {
    int s = row_lane<LANES>() + LANES * c;
    if (s >= a.router.active) continue;
    int64_t slot = r->token * a.router.active + s;
    a.experts[slot] = r->live ? selected[c] : -1;
    a.gates[slot] = r->live ? (float)(gate[c] * (double)a.router.scale) : 0.0f;
  }
}

template <int LANES, int COLUMNS>
static __device__ __forceinline__ void row_logsumexp_out(const row<LANES, COLUMNS> *r,
                                                         const forward_arguments &a, double total) {
  if (a.router.gate == PHIBAL_GATE_SIGMOID) {
    double weight[COLUMNS], inverse;
    total = row_probabilities(r, false, a.of_experts, weight, &inverse);
  }
  double result = row_logsumexp(r, a.of_experts, total);
  if (row_lane<LANES>() == 0 && r->token < a.tokens)
    a.logsumexp[r->token] = r->live ? (float)result : 0.0f;
}

/* One token of each group of lanes. */
template <int LANES, int COLUMNS>
static __device__ __forceinline__ void forward_row(row<LANES, COLUMNS> *r,
                                                   const forward_arguments &a,
                                                   load_levels<LANES, COLUMNS> *levels) {
  const int experts = a.router.experts;
  if (row_largest(r, experts, a.failure)) levels->failed = 1;
  double p[COLUMNS], inverse;
  double total =
      row_probabilities(r, a.router.gate == PHIBAL_GATE_SIGMOID, a.of_experts, p, &inverse);
  if (a.probabilities && r->token < a.tokens) {
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) {
      int e = row_lane<LANES>() + LANES * c;
      if (e < experts) a.probabilities[r->token * experts + e] = (float)p[c];
    }
  }
  levels_add(levels, p);
  levels->tokens += r->live;
  if (SELDOM(a.router.active > LANES)) /* more routes than lanes */
    row_routes<LANES, COLUMNS, COLUMNS>(r, a, inverse, levels->count);
  else
    row_routes<LANES, COLUMNS, 1>(r, a, inverse, levels->count);
  if (a.logsumexp) row_logsumexp_out(r, a, total);
}

template <int LANES, int COLUMNS>
static __global__ void __launch_bounds__(load_levels<LANES, COLUMNS>::THREADS)
    forward_kernel(forward_arguments a) {
  constexpr int ROWS = WARP / LANES; /* of a warp */
  const int warps = (int)blockDim.x / WARP;
  const int64_t stride = (int64_t)gridDim.x * warps * ROWS;
  int64_t token = ((int64_t)blockIdx.x * warps + threadIdx.x / WARP) * ROWS;
  const int mine = (int)(threadIdx.x % WARP) / LANES;
  load_levels<LANES, COLUMNS> levels;
  levels_start(&levels);
  if (blockIdx.x == 0 && a.bias)
    for (int e = (int)threadIdx.x; e < a.router.experts; e += (int)blockDim.x)
      if (!(a.bias[e] - a.bias[e] == 0.0f)) {
        failure_report(a.failure, 0, e, FAILURE_BIAS);
        sum_add(a.sums.failed, 1);
      }
  /* The next row is on its way while this one is worked on, where registers allow. */
  constexpr bool AHEAD = COLUMNS <= 16;
  row<LANES, COLUMNS> now, next;
  if (AHEAD) row_load(&next, token + mine, a.tokens, a.router.experts, a.type, a.logits, a.mask);
  for (; token < a.tokens; token += stride) {
    int64_t load = AHEAD ? token + stride : token;
    if (AHEAD) now = next;
    row_load(AHEAD ? &next : &now, load + mine, a.tokens, a.router.experts, a.type, a.logits,
             a.mask);
    forward_row(&now, a, &levels);
  }
  levels_finish(&levels, a.router.experts, a.sums, a.loads);
}

template <int LANES, int COLUMNS>
static phibal_status forward_launch(const forward_arguments &a, const phibal_cuda *call) {
  typedef load_levels<LANES, COLUMNS> levels;
  const int rows = levels::THREADS / LANES;
  launch_shape shape = {blocks_for(call, (a.tokens + rows - 1) / rows, MOST_RESIDENT),
                        levels::THREADS, levels::shared_bytes(a.router.experts), true};
  return launch("router forward", forward_kernel<LANES, COLUMNS>, shape, call, a);
}

size_t phibal_cuda_router_forward_workspace(const phibal_router *router) {
  return load_sums_bytes(router->experts);
}

phibal_status phibal_cuda_router_forward(const phibal_router *router, int64_t tokens,
                                         phibal_logits type, const void *logits, const float *bias,
                                         const uint8_t *mask, float *probabilities,
                                         int32_t *experts, float *gates, float *logsumexp,
                                         phibal_cuda_loads loads, const phibal_cuda *call) {
  phibal_status status = cuda_router_check("router forward", router, tokens);
  if (status == PHIBAL_OK)
    status = call_check("router forward", call, phibal_cuda_router_forward_workspace(router));
  if (status != PHIBAL_OK) return status;
  if (!loads.tokens || !loads.probability || !loads.count ||
      (tokens > 0 && (!logits || !experts || !gates)))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "router forward: null argument");
  /* 2^40 times the tokens must stay below 2^63 (load_levels.h). */
  if (tokens > (int64_t)1 << 22)
    return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                             "router forward: %lld tokens in one call, 2^22 are possible",
                             (long long)tokens);
  forward_arguments a = {*router,
                         tree_over(router->experts),
                         tree_over(router->active),
                         tokens,
                         type,
                         logits,
                         bias,
                         mask,
                         probabilities,
                         experts,
                         gates,
                         logsumexp,
                         loads,
                         load_sums_in(call->workspace, router->experts),
                         call->failure};
#define FORWARD(lanes, columns) forward_launch<lanes, columns>(a, call)
  return ROW_DISPATCH(router->experts, FORWARD);
#undef FORWARD
}
