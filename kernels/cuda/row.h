/* A token's row of logits, held by `LANES` lanes of a warp: lane l has the experts l, l + LANES,
   l + 2 LANES, .., COLUMNS of them, in registers. The halving tree of core/tree.h adds first within
   lanes and then between them, and WARP / LANES tokens go side by side: what is done once for a
   token or once for a lane costs least where a lane has many experts, up to a thread for a token of
   8 or fewer.

   All functions are called by the whole warp. */
#ifndef PHIBAL_CUDA_ROW_H
#define PHIBAL_CUDA_ROW_H

#include "kernels/core/router.h"
#include "kernels/core/router_form.h"
#include "kernels/core/sigmoid.h"
#include "kernels/core/tree.h"
#include "vector.h"
#include <climits>

template <int LANES> static __device__ __forceinline__ int row_lane() {
  return (int)(threadIdx.x % LANES);
}

/* x of a lane of the row. */
template <int LANES, class T> static __device__ __forceinline__ T row_from(T x, int lane) {
  return LANES == 1 ? x : __shfl_sync(ALL_LANES, x, lane, LANES);
}

/* Columns of gates that are enough for most routers: rank s in lane s % LANES, column s / LANES. */
template <int LANES> static constexpr int GATE_COLUMNS = LANES < 8 ? 2 : 1;

/* Routers that have kernels of their own, so that what the others need costs them neither
   instructions nor registers, nor nvcc its time. All but ROUTER_ANY have at most
   LANES GATE_COLUMNS routes a token. */
enum router_kind {
  ROUTER_FULL,    /* softmax, as ROUTER_SOFTMAX, of as many experts as a row has places */
  ROUTER_SOFTMAX, /* softmax, selected by logits without a bias, all gates counted */
  ROUTER_SCORES,  /* the same of scores, with a bias or without */
  ROUTER_ANY,     /* the rest: more routes, a bias of logits, groups, selected by probabilities, a
                     selection that is given, gates left out */
};

/* In rows of so many lanes and columns. How experts are selected is nothing to the backward
   pass. */
template <int LANES, int COLUMNS>
static inline router_kind router_kind_of(const phibal_router &router, bool selects, bool biased) {
  const bool selects_otherwise = router.group_score != PHIBAL_GROUP_NONE ||
                                 router.score != PHIBAL_SCORE_OF_GATE ||
                                 router.selection == PHIBAL_SELECTION_GIVEN;
  if ((selects && selects_otherwise) || router.active > LANES * GATE_COLUMNS<LANES> ||
      router.zero_gates == PHIBAL_ZERO_GATES_LEFT_OUT)
    return ROUTER_ANY;
  if (core_gate_has_scores(router.gate)) return ROUTER_SCORES;
  if (biased) return ROUTER_ANY;
  return router.experts == LANES * COLUMNS ? ROUTER_FULL : ROUTER_SOFTMAX;
}

/* n elements, and the width of the tree that adds them. */
struct tree_of {
  int n, width;
};
static inline tree_of tree_over(int n) {
  return {n, core_tree_width(n)};
}

/* A kernel's arguments, and of the router what its kind knows as constants. The arguments are not
   copied: pointers of a copy would no longer be known to be of global memory. */
template <class A> struct router_arguments {
  phibal_router router;
  core_gates form;
  tree_of of_experts, of_active;
  const A &of;
};

template <int LANES, int COLUMNS, router_kind KIND, class A>
static __device__ __forceinline__ router_arguments<A> router_known(const A &a) {
  router_arguments<A> known = {a.router, a.form, a.of_experts, a.of_active, a};
  if (KIND == ROUTER_FULL) {
    known.router.experts = LANES * COLUMNS;
    known.of_experts.n = known.of_experts.width = LANES * COLUMNS;
  }
  if (KIND == ROUTER_FULL || KIND == ROUTER_SOFTMAX) known.router.gate = PHIBAL_GATE_TOPK_SOFTMAX;
  if (KIND != ROUTER_ANY) {
    known.router.group_score = PHIBAL_GROUP_NONE;
    known.router.score = PHIBAL_SCORE_OF_GATE;
    known.router.selection = PHIBAL_SELECTION_OF_SCORES;
    known.router.zero_gates = PHIBAL_ZERO_GATES_COUNTED;
  }
  return known;
}

/* Largest and smallest over the lanes of a row, and of two keys the larger: all lanes get them. */
template <int LANES> static __device__ __forceinline__ int32_t row_max(int32_t key) {
  if constexpr (LANES == WARP) {
    return __reduce_max_sync(ALL_LANES, key);
  } else {
    for (int s = LANES / 2; s >= 1; s /= 2) {
      int32_t other = __shfl_xor_sync(ALL_LANES, key, s, LANES);
      key = other > key ? other : key;
    }
    return key;
  }
}

template <int LANES> static __device__ __forceinline__ int32_t row_min(int32_t key) {
  if constexpr (LANES == WARP) {
    return __reduce_min_sync(ALL_LANES, key);
  } else {
    for (int s = LANES / 2; s >= 1; s /= 2) {
      int32_t other = __shfl_xor_sync(ALL_LANES, key, s, LANES);
      key = other < key ? other : key;
    }
    return key;
  }
}

template <int LANES> static __device__ __forceinline__ int64_t row_max(int64_t key) {
  if constexpr (LANES == WARP) { /* two halves: the device reduces 32 bits at once */
    int32_t high = (int32_t)(key >> 32);
    int32_t most = __reduce_max_sync(ALL_LANES, high);
    uint32_t low = high == most ? (uint32_t)key : 0;
    return (int64_t)((uint64_t)(uint32_t)most << 32 | __reduce_max_sync(ALL_LANES, low));
  } else {
    for (int s = LANES / 2; s >= 1; s /= 2) {
      int64_t other = __shfl_xor_sync(ALL_LANES, key, s, LANES);
      key = other > key ? other : key;
    }
    return key;
  }
}

/* The expert of the largest key of a row, ties to the lower index, which all lanes get; its column
   in the lane that has it, -1 in the others. */
template <int LANES, int COLUMNS, class K>
static __device__ __forceinline__ int row_best(const K *key, int *column) {
  K best = key[0];
  int of_best = 0;
#pragma unroll
  for (int c = 1; c < COLUMNS; c++)
    if (key[c] > best) {
      best = key[c];
      of_best = c;
    }
  const K most = row_max<LANES>(best);
  const int mine = best == most ? row_lane<LANES>() + LANES * of_best : INT_MAX;
  const int winner = row_min<LANES>(mine);
  *column = mine == winner ? of_best : -1;
  return winner;
}

/* Sum of the first n elements of a row in the order of core_tree_sum, whose bits it has, for width
   = core_tree_width(n); columns beyond n hold +0. All lanes get it. */
template <int LANES, int COLUMNS>
static __device__ __forceinline__ double row_sum(const double *a, int width) {
  double part[COLUMNS];
#pragma unroll
  for (int c = 0; c < COLUMNS; c++) part[c] = a[c];
#pragma unroll
  for (int half = COLUMNS / 2; half >= 1; half /= 2) {
    if (width <= LANES * half) continue;
#pragma unroll
    for (int c = 0; c < half; c++) part[c] += part[c + half];
  }
  double sum = part[0];
#pragma unroll
  for (int s = LANES / 2; s >= 1; s /= 2)
    if (width > s) sum += __shfl_xor_sync(ALL_LANES, sum, s, LANES);
  /* Lanes beyond the tree have added nothing but zeros. */
  return width < LANES ? row_from<LANES>(sum, 0) : sum;
}

/* A row's logits; TOKEN is the integer that counts tokens. */
template <int LANES, int COLUMNS, class TOKEN> struct row {
  TOKEN token; /* beyond the last token: not live */
  bool live;   /* a token that is neither padding nor bad */
  float x[COLUMNS];
  double largest;
};

/* core_exp64(d) for d <= 0, bit by bit, with fewer instructions: 2^k is added to the exponent of
   e^r, which is what a product with it does where d >= -708, for then e^d >= 2^-1022 is normal. The
   low bits of t count k, without core_exp64's 1023: that shifts no rounding to nearest but of ties
   to even, and d / log 2 has none for |d| < 2^50. */
static __device__ __forceinline__ double row_exp64(double d) {
  const double shifter = 0x1.8p52;
  double t = CORE_FMA(d, 0x1.71547652b82fep+0, shifter);
  double k = t - shifter;
  double r = CORE_FMA(-k, 0x1.62e42fefa39efp-1, d);
  r = CORE_FMA(-k, 0x1.abc9e3b39803fp-56, r);
  uint64_t e = core_bits64(1.0 + CORE_FMA(r * r, core_exp_tail(r), r));
  uint32_t high = (uint32_t)(e >> 32) + ((uint32_t)core_bits64(t) << 20);
  double scaled = core_double((uint64_t)high << 32 | (uint32_t)e);
  return d < -708.0 ? 0.0 : scaled;
}

/* What the selection compares, but for the bias. */
static __device__ NOT_INLINE float gate_score(phibal_gate gate, float x) {
  return core_gate_score(gate, x);
}
static __device__ __forceinline__ float score_of(phibal_gate gate, float x) {
  return core_gate_has_scores(gate) ? gate_score(gate, x) : x;
}

/* How a logit that is not finite is reported. */
static __device__ __forceinline__ auto logit_failure(float x) {
  return x != x     ? FAILURE_LOGIT_NAN
         : x > 0.0f ? FAILURE_LOGIT_INFINITE
                    : FAILURE_LOGIT_MINUS_INFINITE;
}

/* The weight of a logit beside the largest of its row: unnormalised probability or gate. A score's
   is seldom wanted, and would be copied into every column. */
static __device__ NOT_INLINE double score_weight(phibal_gate gate, double x, double largest) {
  return core_gate_weight(gate, x, largest);
}

/* weight[COLUMNS] of the logits of the first n places, 0 beyond them. Which router it is, is asked
   once for all columns, and a place beyond is computed too and then not taken: so that the columns'
   exponentials overlap. */
template <int LANES, int COLUMNS>
static __device__ __forceinline__ void row_weights(phibal_gate gate, int n, const float *x,
                                                   double largest, double *weight) {
  if (core_gate_has_scores(gate)) {
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) {
      double w = score_weight(gate, (double)x[c], largest);
      weight[c] = row_lane<LANES>() + LANES * c < n ? w : 0.0;
    }
  } else {
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) {
      double w = row_exp64((double)x[c] - largest);
      weight[c] = row_lane<LANES>() + LANES * c < n ? w : 0.0;
    }
  }
}

static __device__ __forceinline__ float logit_at(phibal_logits type, const void *logits,
                                                 int64_t i) {
  if (type == PHIBAL_LOGITS_F32) return __ldg((const float *)logits + i);
  return core_float((uint32_t)__ldg((const uint16_t *)logits + i) << 16);
}

/* Whether a thread has rows of 8 numbers that begin at multiples of 16 bytes. */
template <int LANES, int COLUMNS>
static __device__ __forceinline__ bool row_aligned(int experts, const void *rows) {
  return LANES == 1 && COLUMNS == 8 && experts == COLUMNS && !SELDOM(!aligned16(rows));
}

/* The logits of token `token` < tokens; zeros beyond the experts. A token that is not live has some
   token's logits, and nothing of them is given out. */
template <int LANES, int COLUMNS, class TOKEN>
static __device__ __forceinline__ void row_load(row<LANES, COLUMNS, TOKEN> *r, TOKEN token,
                                                TOKEN tokens, int experts, phibal_logits type,
                                                const void *logits, const uint8_t *mask) {
  const TOKEN there = token < tokens ? token : tokens - 1;
  const int64_t first = (int64_t)there * experts + row_lane<LANES>();
  r->token = token;
  r->live = token < tokens && (!mask || __ldg(mask + there) != 0);
  const bool aligned = row_aligned<LANES, COLUMNS>(experts, logits);
  if (aligned && type == PHIBAL_LOGITS_F32) {
#pragma unroll
    for (int c = 0; c < COLUMNS; c += 4) {
      const floats<4> x = floats_load<4>((const float *)logits + first + c);
#pragma unroll
      for (int l = 0; l < 4; l++) r->x[c + l] = x.x[l];
    }
  } else if (aligned) {
    const floats<8> x = floats_load<8>((const bfloat16 *)logits + first);
#pragma unroll
    for (int c = 0; c < 8; c++) r->x[c] = x.x[c];
  } else if (type == PHIBAL_LOGITS_F32) {
    const float *x = (const float *)logits + first;
#pragma unroll
    for (int c = 0; c < COLUMNS; c++)
      r->x[c] = row_lane<LANES>() + LANES * c < experts ? __ldg(x + LANES * c) : 0.0f;
  } else {
    const uint16_t *x = (const uint16_t *)logits + first;
#pragma unroll
    for (int c = 0; c < COLUMNS; c++)
      r->x[c] = row_lane<LANES>() + LANES * c < experts
                    ? core_float((uint32_t)__ldg(x + LANES * c) << 16)
                    : 0.0f;
  }
}

/* A row of results to `to` [experts]. */
template <int LANES, int COLUMNS>
static __device__ __forceinline__ void row_store(float *to, int experts, const float *x) {
  if (row_aligned<LANES, COLUMNS>(experts, to)) {
#pragma unroll
    for (int c = 0; c < COLUMNS; c += 4) {
      floats<4> four;
#pragma unroll
      for (int l = 0; l < 4; l++) four.x[l] = x[c + l];
      floats_store<4>(to + c, four);
    }
    return;
  }
#pragma unroll
  for (int c = 0; c < COLUMNS; c++)
    if (row_lane<LANES>() + LANES * c < experts) to[row_lane<LANES>() + LANES * c] = x[c];
}

/* The largest logit. A live row that holds one that is not finite is reported, and from here on not
   live; true for it. */
template <int LANES, int COLUMNS, class TOKEN>
static __device__ __forceinline__ bool row_largest(row<LANES, COLUMNS, TOKEN> *r, int experts,
                                                   uint64_t *failure) {
  int32_t most = INT32_MIN, least = INT32_MAX;
#pragma unroll
  for (int c = 0; c < COLUMNS; c++) {
    if (row_lane<LANES>() + LANES * c >= experts) continue;
    int32_t key = core_float_key(r->x[c]);
    most = key > most ? key : most;
    least = key < least ? key : least;
  }
  most = row_max<LANES>(most);
  least = row_min<LANES>(least);
  const int32_t infinite = core_float_key((float)CORE_INFINITY);
  const int32_t minus_infinite = core_float_key((float)-CORE_INFINITY);
  bool bad = most >= infinite || least <= minus_infinite;
  if (SELDOM(bad)) {
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) {
      int e = row_lane<LANES>() + LANES * c;
      float x = r->x[c];
      if (r->live && e < experts && !(x - x == 0.0f))
        failure_report(failure, r->token, e, logit_failure(x));
      r->x[c] = 0.0f;
    }
    bad = r->live;
    r->live = false;
    most = 0;
  }
  r->largest = (double)core_float_from_key(most);
  return bad;
}

/* The row's weights, 0 beyond E, and their sum; `inverse` is its reciprocal, 0 in rows that are not
   live. */
template <int LANES, int COLUMNS, class TOKEN>
static __device__ __forceinline__ double row_total(const row<LANES, COLUMNS, TOKEN> *r,
                                                   phibal_gate gate, tree_of experts,
                                                   double *weight, double *inverse) {
  row_weights<LANES, COLUMNS>(gate, experts.n, r->x, r->largest, weight);
  double total = row_sum<LANES, COLUMNS>(weight, experts.width);
  *inverse = r->live ? 1.0 / total : 0.0;
  return total;
}

/* p[COLUMNS] normalised, 0 beyond E and in rows that are not live; the sum of the weights. */
template <int LANES, int COLUMNS, class TOKEN>
static __device__ __forceinline__ double row_probabilities(const row<LANES, COLUMNS, TOKEN> *r,
                                                           phibal_gate gate, tree_of experts,
                                                           double *p, double *inverse) {
  double total = row_total(r, gate, experts, p, inverse);
#pragma unroll
  for (int c = 0; c < COLUMNS; c++) p[c] *= *inverse;
  return total;
}

/* (R8), from the total of a softmax; kernels/cpu/router_tile.h says why small results are made
   again. */
template <int LANES, int COLUMNS, class TOKEN>
static __device__ __forceinline__ double row_logsumexp(const row<LANES, COLUMNS, TOKEN> *r,
                                                       tree_of experts, double total) {
  double result = r->largest + core_log64(total);
  bool again = r->live && core_abs(result) < CORE_LOGSUMEXP_SMALL;
  if (!SELDOM(__any_sync(ALL_LANES, again))) return result;
  int first = INT_MAX; /* of the largest logits */
#pragma unroll
  for (int c = COLUMNS - 1; c >= 0; c--) {
    int e = row_lane<LANES>() + LANES * c;
    if (e < experts.n && (double)r->x[c] - r->largest == 0.0) first = e;
  }
  first = row_min<LANES>(first);
  double rest[COLUMNS];
#pragma unroll
  for (int c = 0; c < COLUMNS; c++) {
    int e = row_lane<LANES>() + LANES * c;
    rest[c] = e < experts.n && e != first ? row_exp64((double)r->x[c] - r->largest) : 0.0;
  }
  double others = row_sum<LANES, COLUMNS>(rest, experts.width);
  return again ? core_logsumexp_small(r->largest, others) : result;
}

/* The logit of a route, -infinity of an expert that is left out (R5z): its weight is 0. */
static __device__ __forceinline__ float logit_of_route(const phibal_router &router, float x,
                                                       int32_t expert) {
  return core_gate_left_out(&router, expert) ? (float)-CORE_INFINITY : x;
}

/* Weights of the k chosen logits to shares of their sum. */
template <int LANES, int COLUMNS>
static __device__ __forceinline__ void row_shares(tree_of active, double *gate) {
  double total = row_sum<LANES, COLUMNS>(gate, active.width);
  double inverse = total > 0.0 ? 1.0 / total : 0.0;
#pragma unroll
  for (int c = 0; c < COLUMNS; c++) gate[c] *= inverse;
}

/* Weights of the k chosen logits beside the row's largest, or scores, to gates that are not shares;
   `inverse` is the row's. Returns epsilon over the sum with epsilon, and 0 for gates without one
   (kernels/cpu/router_tile.h). */
template <int LANES, int COLUMNS>
static __device__ __forceinline__ double row_parts(const phibal_router &router, core_gates form,
                                                   tree_of active, double inverse, double *gate) {
  if (!core_gate_has_scores(router.gate)) {
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) gate[c] *= inverse;
  }
  if (form == CORE_GATES_SCORES) return 0.0;
  double total = 1.0 / (row_sum<LANES, COLUMNS>(gate, active.width) + (double)router.epsilon);
#pragma unroll
  for (int c = 0; c < COLUMNS; c++) gate[c] *= total;
  return (double)router.epsilon * total;
}

/* Unscaled gates (R3) to (R5z) of the k chosen logits, rank s in lane s % LANES, column s / LANES;
   `largest` and `inverse` are the row's. Probabilities are made again as they were. Returns what
   row_parts returns. */
template <int LANES, int COLUMNS>
static __device__ __forceinline__ double row_gates(const phibal_router &router, core_gates form,
                                                   tree_of active, const float *chosen,
                                                   double largest, double inverse, double *gate) {
  if (form == CORE_GATES_SHARES) {
    int32_t most = INT32_MIN;
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) {
      int32_t key = core_float_key(chosen[c]);
      if (row_lane<LANES>() + LANES * c < active.n && key > most) most = key;
    }
    double of_chosen = (double)core_float_from_key(row_max<LANES>(most));
    if (!(of_chosen >= -0x1p128)) of_chosen = 0.0; /* all are left out */
    row_weights<LANES, COLUMNS>(router.gate, active.n, chosen, of_chosen, gate);
    row_shares<LANES, COLUMNS>(active, gate);
    return 0.0;
  }
  row_weights<LANES, COLUMNS>(router.gate, active.n, chosen,
                              core_gate_has_scores(router.gate) ? 0.0 : largest, gate);
  return row_parts<LANES, COLUMNS>(router, form, active, inverse, gate);
}

/* Whether gates need the probabilities of the row. */
static __device__ __forceinline__ bool gates_need_probabilities(phibal_gate gate, core_gates form) {
  return !core_gate_has_scores(gate) && form != CORE_GATES_SHARES;
}

/* Calls a function template for the smallest row that holds E experts: F<LANES, COLUMNS>. */
#ifndef ROW_DISPATCH
#define ROW_DISPATCH(experts, F)                                                                   \
  ((experts) <= 8     ? F(1, 8)                                                                    \
   : (experts) <= 16  ? F(2, 8)                                                                    \
   : (experts) <= 32  ? F(4, 8)                                                                    \
   : (experts) <= 64  ? F(8, 8)                                                                    \
   : (experts) <= 128 ? F(16, 8)                                                                   \
   : (experts) <= 256 ? F(32, 8)                                                                   \
   : (experts) <= 512 ? F(32, 16)                                                                  \
                      : F(32, 32))
#endif

/* The kernels of a shape of rows, by router_kind. With more than 8 columns they take long to
   compile, and ROUTER_FULL has none of its own. */
#ifndef ROUTER_KERNELS
#define ROUTER_KERNELS(kernel, LANES, COLUMNS)                                                     \
  {                                                                                                \
    kernel<LANES, COLUMNS, (COLUMNS <= 8 ? ROUTER_FULL : ROUTER_SOFTMAX)>,                         \
        kernel<LANES, COLUMNS, ROUTER_SOFTMAX>, kernel<LANES, COLUMNS, ROUTER_SCORES>,             \
        kernel<LANES, COLUMNS, ROUTER_ANY>                                                         \
  }
#endif

static inline phibal_status cuda_router_check(const char *name, const phibal_router *router,
                                              int64_t tokens) {
  if (!router || router->experts < 1 || router->experts > PHIBAL_MAX_EXPERTS ||
      router->active < 1 || router->active > router->experts || tokens < 0 ||
      !(router->scale - router->scale == 0.0f) || router->gate < PHIBAL_GATE_TOPK_SOFTMAX ||
      router->gate > PHIBAL_GATE_SQRT_SOFTPLUS)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "%s: no such router, or a number of tokens below 0", name);
  const char *fault = core_router_fault(router);
  if (fault) return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: %s", name, fault);
  return PHIBAL_OK;
}

#endif
