/* Router forward (R1 to R8): one pass over the logits, a warp's share of lanes for each token.

   Bytes of a token: 4 E of logits (2 E as bfloat16), 8 k of experts and gates, and 4 E for
   probabilities and 4 for logsumexp where they are asked for; nothing else is read or written but
   the sums, once a block. That over the memory's bandwidth is the floor of the memory. Same bits as
   the CPU means binary64: about 26 operations of a logit (18 in core_exp64, the row's sum, the
   quotient, four for the exact loads), so where the device does r binary64 operations while memory
   moves a byte, arithmetic is the floor if 26 > 4 r (E large, binary32 logits alone). On an
   H200 instructions are: 33 us at E = 64, k = 8, T = 65536, of which issue alone needs 15
   (bench/RESULTS.md).

   Loads (R6) are exact: integers have no order, so neither which thread adds a probability nor the
   atomic additions at a block's end change a bit. Each thread has a sum of its own for each of its
   experts, in units of 2^-83: a probability of at least 2^-31 is a multiple of that, and its
   mantissa shifted by its exponent counts them. What is left of smaller ones is split as in
   kernels/cpu/load_sum.h into multiples of 2^-120 and 2^-160: after adding 1.5 2^(52 - b), the bits
   of the sum count the multiples of 2^-b. Where E > 256 all is, in levels of 2^-40, 2^-80, 2^-120
   and 2^-160 in shared memory. The last block to end adds the sums to the loads. */
#include "load_levels.h"

template <int LANES, int COLUMNS> using token_row = row<LANES, COLUMNS, int32_t>;

typedef struct forward_arguments {
  phibal_router router;
  core_gates form;
  tree_of of_experts, of_active;
  int32_t tokens;
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
typedef router_arguments<forward_arguments> forward_known;

/* What the selection compares: binary32 without a bias, binary64 with one. */
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

/* (R2g) Which of the lane's experts are in its token's best groups: bit c for the expert of column
   c. Group g's sum is in lane g % LANES, column g / LANES, as an expert's logit would be. */
template <int LANES, int COLUMNS>
static __device__ __forceinline__ uint32_t row_groups(const token_row<LANES, COLUMNS> *r,
                                                      const forward_known &a, const double *p) {
  const int lane = row_lane<LANES>(), experts = a.router.experts, groups = a.router.groups;
  const int each = experts / groups, summed = core_group_summed(&a.router);
  int64_t key[COLUMNS], rank[COLUMNS];
#pragma unroll
  for (int c = 0; c < COLUMNS; c++) {
    int e = lane + LANES * c;
    float score = score_of(a.router.gate, r->x[c]);
    if (a.router.score == PHIBAL_SCORE_PROBABILITY) score = (float)p[c];
    score_key(&key[c], score, a.of.bias && e < experts ? (double)__ldg(a.of.bias + e) : 0.0);
    no_key(&rank[c]);
  }
#pragma unroll 1
  for (int g = 0; g < groups; g++) {
    double sum = 0.0;
    uint32_t taken = 0;
#pragma unroll 1
    for (int s = 0; s < summed; s++) {
      int64_t best = INT64_MIN;
#pragma unroll
      for (int c = 0; c < COLUMNS; c++) {
        int e = lane + LANES * c;
        if (e >= g * each && e < (g + 1) * each && !(taken >> c & 1) && key[c] > best)
          best = key[c];
      }
      int64_t most = row_max<LANES>(best);
      int mine = INT_MAX;
#pragma unroll
      for (int c = COLUMNS - 1; c >= 0; c--) {
        int e = lane + LANES * c;
        if (e >= g * each && e < (g + 1) * each && !(taken >> c & 1) && key[c] == most) mine = e;
      }
      if (mine == row_min<LANES>(mine) && mine != INT_MAX) taken |= 1u << (mine / LANES);
      double score = core_score_from_key(most);
      sum = s == 0 ? score : sum + score; /* from the largest down */
    }
#pragma unroll
    for (int c = 0; c < COLUMNS; c++)
      if (g == lane + LANES * c) rank[c] = core_score_key(sum);
  }
  uint32_t inside = 0;
#pragma unroll 1
  for (int i = 0; i < a.router.active_groups; i++) {
    int64_t best = INT64_MIN;
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) best = rank[c] > best ? rank[c] : best;
    int64_t most = row_max<LANES>(best);
    int mine = INT_MAX;
#pragma unroll
    for (int c = COLUMNS - 1; c >= 0; c--)
      if (rank[c] == most && lane + LANES * c < groups) mine = lane + LANES * c;
    int winner = row_min<LANES>(mine);
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) {
      int e = lane + LANES * c;
      if (e == winner) no_key(&rank[c]);
      if (e >= winner * each && e < (winner + 1) * each) inside |= 1u << c;
    }
  }
  return inside;
}

/* The selection that the caller gives; it is reported where it is not k different experts. */
template <int LANES, int COLUMNS, int GATES>
static __device__ __forceinline__ void row_given(const token_row<LANES, COLUMNS> *r,
                                                 const forward_known &a, int32_t *selected,
                                                 float *chosen, int32_t *count) {
  const int lane = row_lane<LANES>(), experts = a.router.experts, active = a.router.active;
  uint32_t taken = 0;
  bool bad = false;
#pragma unroll
  for (int c = 0; c < GATES; c++) {
    int s = lane + LANES * c;
    selected[c] = r->live && s < active ? a.of.experts[(int64_t)r->token * active + s] : 0;
    bad = bad || selected[c] < 0 || selected[c] >= experts;
  }
#pragma unroll
  for (int c = 0; c < GATES; c++)
#pragma unroll 1
    for (int s = LANES * c; s < LANES * (c + 1) && s < active; s++) {
      int32_t expert = row_from<LANES>(selected[c], s % LANES);
#pragma unroll
      for (int o = 0; o < COLUMNS; o++)
        if (expert == lane + LANES * o) {
          bad = bad || (r->live && (taken >> o & 1) != 0);
          taken |= 1u << o;
        }
    }
  if (SELDOM(bad)) {
    failure_report(a.of.failure, r->token, 0, FAILURE_ROUTE);
    sum_add(a.of.sums.failed, 1);
  }
#pragma unroll
  for (int c = 0; c < COLUMNS; c++) count[c] += r->live ? (int)(taken >> c & 1) : 0;
#pragma unroll
  for (int c = 0; c < GATES; c++) {
    bool there = r->live && lane + LANES * c < active && selected[c] >= 0 && selected[c] < experts;
    chosen[c] = there ? logit_of_route(a.router,
                                       logit_at(a.of.type, a.of.logits,
                                                (int64_t)r->token * experts + selected[c]),
                                       selected[c])
                      : 0.0f;
  }
}

/* Sorts the keys of each 8 lanes, the largest first, that rise and then fall, or fall and then rise
   (a bitonic network). */
static __device__ __forceinline__ int32_t lanes_merge(int32_t key) {
#pragma unroll
  for (int mask = 4; mask >= 1; mask /= 2) {
    const int32_t other = __shfl_xor_sync(ALL_LANES, key, mask);
    const bool first = ((int)threadIdx.x & mask) == 0;
    const int32_t most = other > key ? other : key, least = other > key ? key : other;
    key = first ? most : least;
  }
  return key;
}

enum { FEW = 8 }; /* routes that are selected by sorting */

/* The larger of two keys to i, the other to j. */
static __device__ __forceinline__ void keys_order(int32_t *key, int i, int j) {
  const int32_t larger = key[i] > key[j] ? key[i] : key[j];
  key[j] = key[i] > key[j] ? key[j] : key[i];
  key[i] = larger;
}

/* Sorts a lane's 8 keys, the largest first (Batcher's network of 19). In a lane an exchange takes
   half of what it takes between lanes. */
static __device__ __forceinline__ void keys_sort(int32_t *key) {
  constexpr int pairs[19][2] = {{0, 1}, {2, 3}, {4, 5}, {6, 7}, {0, 2}, {1, 3}, {4, 6},
                                {5, 7}, {1, 2}, {5, 6}, {0, 4}, {1, 5}, {2, 6}, {3, 7},
                                {2, 4}, {3, 5}, {1, 2}, {3, 4}, {5, 6}};
#pragma unroll
  for (int i = 0; i < 19; i++) keys_order(key, pairs[i][0], pairs[i][1]);
}

/* Of a lane's 8 sorted keys and those of another the 8 largest, sorted. */
static __device__ __forceinline__ void keys_merge(int32_t *key, int mask) {
  int32_t other[8];
#pragma unroll
  for (int c = 0; c < 8; c++) other[c] = __shfl_xor_sync(ALL_LANES, key[7 - c], mask);
#pragma unroll
  for (int c = 0; c < 8; c++) key[c] = other[c] > key[c] ? other[c] : key[c];
#pragma unroll
  for (int half = 4; half >= 1; half /= 2)
#pragma unroll
    for (int c = 0; c < 8; c++)
      if (!(c & half)) keys_order(key, c, c + half);
}

/* The 8 largest keys of 8 lanes with 8 each, sorted, one a lane. Twice a lane takes the 8 largest
   of its own and another's, the third time it keeps one of them. */
static __device__ __forceinline__ int32_t lanes_largest_of_8(int32_t *key) {
  keys_sort(key);
  keys_merge(key, 1);
  keys_merge(key, 2);
  /* The third time a lane keeps the half that the other lane, in reverse, does not. */
  int32_t other[4];
#pragma unroll
  for (int c = 0; c < 4; c++) other[c] = __shfl_xor_sync(ALL_LANES, key[7 - c], 4);
#pragma unroll
  for (int c = 0; c < 4; c++) key[c] = other[c] > key[c] ? other[c] : key[c];
  const int lane = (int)threadIdx.x, place = lane & 4 ? ~lane : lane;
#pragma unroll
  for (int half = 2; half >= 1; half /= 2)
#pragma unroll
    for (int c = 0; c < half; c++) key[c] = place & half ? key[c + half] : key[c];
  return lanes_merge(key[0]);
}

/* (R2) for at most FEW routes by logits: keys whose last bits are replaced by the expert's, so that
   the lower index is the larger key. False for the whole warp where the replaced bits could have
   decided: then nothing is selected and counted. That takes two logits among the k largest and the
   next that agree in all other bits, and a bit of a logit that was replaced and is not 0: in no row
   of bfloat16 numbers. */
template <int LANES, int COLUMNS, int GATES>
static __device__ __forceinline__ bool row_select_few(const token_row<LANES, COLUMNS> *r,
                                                      const forward_known &a, int32_t *selected,
                                                      int32_t *count) {
  constexpr int LAST = LANES * COLUMNS - 1;
  constexpr int ROUTES = LANES * GATES;                   /* at most */
  constexpr int NEEDED = ROUTES < FEW ? ROUTES + 1 : FEW; /* sorted keys, the next one's too */
  const int lane = row_lane<LANES>(), active = a.router.active;
  int32_t key[COLUMNS];
#pragma unroll
  for (int c = 0; c < COLUMNS; c++) {
    score_key(&key[c], r->x[c], 0.0);
    key[c] = (key[c] & ~LAST) | (LAST - LANES * c - lane);
    if (lane + LANES * c >= a.router.experts) no_key(&key[c]);
  }
  int32_t rank[GATES] = {}, chosen; /* as `selected`; the smallest key that is selected */
  bool near;                        /* two that are compared agree in all other bits */
  if constexpr (LANES < FEW) {      /* all lanes have the sorted keys */
    int32_t sorted[FEW];
#pragma unroll
    for (int c = 0; c < FEW; c++) sorted[c] = key[c];
    keys_sort(sorted);
#pragma unroll
    for (int mask = 1; mask < LANES; mask *= 2) keys_merge(sorted, mask);
    chosen = sorted[0];
    near = false;
#pragma unroll
    for (int s = 0; s < ROUTES && s < FEW; s++) {
      if (s % LANES == lane) rank[s / LANES] = sorted[s];
      if (s == active - 1) chosen = sorted[s];
      if (s < NEEDED - 1 && s < active) near |= (uint32_t)(sorted[s] ^ sorted[s + 1]) <= LAST;
    }
  } else {
    int32_t sorted[COLUMNS];
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) sorted[c] = key[c];
    rank[0] = lanes_largest_of_8(sorted);
#pragma unroll
    for (int s = FEW; s < LANES; s *= 2) { /* of the next 8 lanes, reversed */
      const int32_t other = __shfl_xor_sync(ALL_LANES, rank[0], 2 * s - 1);
      rank[0] = lanes_merge(other > rank[0] ? other : rank[0]);
    }
    const int32_t next = __shfl_sync(ALL_LANES, rank[0], (lane + 1) % LANES, LANES);
    chosen = __shfl_sync(ALL_LANES, rank[0], active - 1, LANES);
    near = lane < active - 1 && (uint32_t)(rank[0] ^ next) <= LAST;
  }
  if (LANES >= FEW || (NEEDED <= ROUTES && active == FEW)) { /* the next one is not among them */
    int reach = near ? LANES * COLUMNS : 0;
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) reach += key[c] >= (chosen & ~LAST);
#pragma unroll
    for (int s = LANES / 2; s >= 1; s /= 2) reach += __shfl_xor_sync(ALL_LANES, reach, s, LANES);
    near = reach != active;
  }
  if (SELDOM(__any_sync(ALL_LANES, r->live && near))) {
    uint32_t bits = 0;
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) bits |= core_bits32(r->x[c]);
    if (__any_sync(ALL_LANES, r->live && (bits & LAST) != 0)) return false;
  }
#pragma unroll
  for (int c = 0; c < COLUMNS; c++) count[c] += r->live && key[c] >= chosen;
#pragma unroll
  for (int c = 0; c < GATES; c++) selected[c] = LAST - (rank[c] & LAST);
  return true;
}

/* (R2), (R2p) The k largest keys, one after another; ties to the lower index. Rank s of `selected`
   is in lane s % LANES, column s / LANES, of GATES columns.
   Counts the selections of live rows; what it counts beyond E is not looked at. A key is above
   no_key as long as its expert is not selected: rows that are not finite are zeros here. */
template <int LANES, int COLUMNS, int GATES, class K>
static __device__ __forceinline__ void row_select_ranks(const token_row<LANES, COLUMNS> *r,
                                                        const forward_known &a, const double *p,
                                                        int32_t *selected, int32_t *count) {
  const int lane = row_lane<LANES>(), experts = a.router.experts;
  K key[COLUMNS];
  uint32_t taken = 0, inside = UINT32_MAX;
  if (a.router.group_score != PHIBAL_GROUP_NONE) inside = row_groups(r, a, p);
#pragma unroll
  for (int c = 0; c < COLUMNS; c++) {
    int e = lane + LANES * c;
    float score = score_of(a.router.gate, r->x[c]);
    if (a.router.score == PHIBAL_SCORE_PROBABILITY) score = (float)p[c];
    score_key(&key[c], score, a.of.bias && e < experts ? (double)__ldg(a.of.bias + e) : 0.0);
    if (e >= experts || !(inside >> c & 1)) no_key(&key[c]);
  }
#pragma unroll
  for (int c = 0; c < GATES; c++) selected[c] = 0;
#pragma unroll 1 /* twice as much code for nothing, and tools/cuda_budgets.py counts ranks */
  for (int s = 0; s < a.router.active; s++) {
    int column;
    const int winner = row_best<LANES, COLUMNS>(key, &column);
    if (column >= 0) taken |= 1u << column;
#pragma unroll
    for (int c = 0; c < COLUMNS; c++)
      if (c == column) no_key(&key[c]);
#pragma unroll
    for (int c = 0; c < GATES; c++)
      if (s == lane + LANES * c) selected[c] = winner;
  }
#pragma unroll
  for (int c = 0; c < COLUMNS; c++) count[c] += r->live ? (int)(taken >> c & 1) : 0;
}

/* The same, by sorting where that can be done. */
template <int LANES, int COLUMNS, int GATES, class K>
static __device__ __forceinline__ void row_select(const token_row<LANES, COLUMNS> *r,
                                                  const forward_known &a, const double *p,
                                                  int32_t *selected, int32_t *count) {
  constexpr bool SORTS =
      sizeof(K) == sizeof(int32_t) && COLUMNS == FEW && (LANES < FEW || GATES == 1);
  if constexpr (SORTS) {
    bool done = false;
    if (a.router.active <= FEW && !core_gate_has_scores(a.router.gate) &&
        a.router.score == PHIBAL_SCORE_OF_GATE && a.router.group_score == PHIBAL_GROUP_NONE)
      done = row_select_few<LANES, COLUMNS, GATES>(r, a, selected, count);
    if (SELDOM(!done)) row_select_ranks<LANES, COLUMNS, GATES, K>(r, a, p, selected, count);
  } else {
    row_select_ranks<LANES, COLUMNS, GATES, K>(r, a, p, selected, count);
  }
}

/* The selected logits, in the places of the selection. */
template <int LANES, int COLUMNS, int GATES>
static __device__ __forceinline__ void row_chosen(const token_row<LANES, COLUMNS> *r,
                                                  const forward_known &a, const int32_t *selected,
                                                  float *chosen) {
  const int experts = a.router.experts;
#pragma unroll
  for (int c = 0; c < GATES; c++)
    chosen[c] = r->live && row_lane<LANES>() + LANES * c < a.router.active
                    ? logit_of_route(a.router,
                                     logit_at(a.of.type, a.of.logits,
                                              (int64_t)r->token * experts + selected[c]),
                                     selected[c])
                    : 0.0f;
}

/* x[column] of 8. */
static __device__ __forceinline__ double column_of(const double *x, int column) {
  double part[FEW];
#pragma unroll
  for (int c = 0; c < FEW; c++) part[c] = x[c];
#pragma unroll
  for (int half = FEW / 2; half >= 1; half /= 2)
#pragma unroll
    for (int c = 0; c < half; c++) part[c] = column & half ? part[c + half] : part[c];
  return part[0];
}

/* A thread that has a whole token, all of whose weights are a softmax's, takes its gates' weights
   from these: the largest logit is always chosen, so that shares have the same. */
template <int LANES, int COLUMNS, router_kind KIND>
static constexpr bool GATES_OF_WEIGHTS = LANES == 1 && COLUMNS == FEW &&
                                         (KIND == ROUTER_FULL || KIND == ROUTER_SOFTMAX);

/* (R2) to (R5e): the routes, at most LANES GATES of them. p[COLUMNS] are probabilities, or weights
   where gates are made of these. */
template <int LANES, int COLUMNS, int GATES, router_kind KIND>
static __device__ __forceinline__ void row_routes(const token_row<LANES, COLUMNS> *r,
                                                  const forward_known &a, const double *p,
                                                  double inverse, int32_t *count) {
  int32_t selected[GATES];
  double gate[GATES];
  if constexpr (GATES_OF_WEIGHTS<LANES, COLUMNS, KIND>) {
    row_select<LANES, COLUMNS, GATES, int32_t>(r, a, p, selected, count);
#pragma unroll
    for (int c = 0; c < GATES; c++) gate[c] = c < a.router.active ? column_of(p, selected[c]) : 0.0;
    if (a.form == CORE_GATES_SHARES)
      row_shares<LANES, GATES>(a.of_active, gate);
    else
      row_parts<LANES, GATES>(a.router, a.form, a.of_active, inverse, gate);
  } else {
    float chosen[GATES];
    /* phi-balancing has no bias; ROUTER_ANY compares as with one, so that it has one selection. */
    if (KIND == ROUTER_ANY && a.router.selection == PHIBAL_SELECTION_GIVEN) {
      row_given<LANES, COLUMNS, GATES>(r, a, selected, chosen, count);
    } else {
      if (KIND == ROUTER_ANY || (KIND == ROUTER_SCORES && SELDOM(a.of.bias != nullptr)))
        row_select<LANES, COLUMNS, GATES, int64_t>(r, a, p, selected, count);
      else
        row_select<LANES, COLUMNS, GATES, int32_t>(r, a, p, selected, count);
      row_chosen<LANES, COLUMNS, GATES>(r, a, selected, chosen);
    }
    row_gates<LANES, GATES>(a.router, a.form, a.of_active, chosen, r->largest, inverse, gate);
  }
  if (r->token >= a.of.tokens) return;
#pragma unroll
  for (int c = 0; c < GATES; c++) {
    int s = row_lane<LANES>() + LANES * c;
    if (s >= a.router.active) continue;
    int64_t slot = (int64_t)r->token * a.router.active + s;
    a.of.experts[slot] = r->live ? selected[c] : -1;
    a.of.gates[slot] = r->live ? (float)(gate[c] * (double)a.router.scale) : 0.0f;
  }
}

template <int LANES, int COLUMNS>
static __device__ __forceinline__ void row_logsumexp_out(const token_row<LANES, COLUMNS> *r,
                                                         const forward_known &a, double total) {
  if (core_gate_has_scores(a.router.gate)) {
    double weight[COLUMNS], inverse;
    total = row_probabilities(r, PHIBAL_GATE_PROBABILITY, a.of_experts, weight, &inverse);
  }
  double result = row_logsumexp(r, a.of_experts, total);
  if (row_lane<LANES>() == 0 && r->token < a.of.tokens)
    a.of.logsumexp[r->token] = r->live ? (float)result : 0.0f;
}

/* One token of each group of lanes. */
template <int LANES, int COLUMNS, router_kind KIND>
static __device__ __forceinline__ void forward_row(token_row<LANES, COLUMNS> *r,
                                                   const forward_known &a,
                                                   load_levels<LANES, COLUMNS> *levels) {
  const int experts = a.router.experts;
  if (row_largest(r, experts, a.of.failure)) levels->failed = 1;
  double p[COLUMNS], inverse;
  double total = row_total(r, a.router.gate, a.of_experts, p, &inverse);
  constexpr int FEWER = GATE_COLUMNS<LANES>;
  constexpr bool BEFORE = GATES_OF_WEIGHTS<LANES, COLUMNS, KIND>;
  if (BEFORE) row_routes<LANES, COLUMNS, FEWER, KIND>(r, a, p, inverse, levels->count);
#pragma unroll
  for (int c = 0; c < COLUMNS; c++) p[c] *= inverse;
  if (a.of.probabilities && r->token < a.of.tokens) {
    float rounded[COLUMNS];
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) rounded[c] = (float)p[c];
    row_store<LANES, COLUMNS>(a.of.probabilities + (int64_t)r->token * experts, experts, rounded);
  }
  levels_add(levels, experts, p);
  levels->tokens += r->live;
  bool routed = BEFORE;
  if constexpr (KIND == ROUTER_ANY)
    if (SELDOM(a.router.active > LANES * FEWER)) {
      row_routes<LANES, COLUMNS, COLUMNS, KIND>(r, a, p, inverse, levels->count);
      routed = true;
    }
  if (!routed) row_routes<LANES, COLUMNS, FEWER, KIND>(r, a, p, inverse, levels->count);
  if (a.of.logsumexp) row_logsumexp_out(r, a, total);
}

template <int LANES, int COLUMNS, router_kind KIND>
static __global__ void __launch_bounds__(load_levels<LANES, COLUMNS>::THREADS,
                                         load_levels<LANES, COLUMNS>::RESIDENT)
    forward_kernel(forward_arguments arguments) {
  const forward_known a = router_known<LANES, COLUMNS, KIND>(arguments);
  constexpr int ROWS = WARP / LANES; /* of a warp */
  const int warps = (int)blockDim.x / WARP;
  const int32_t stride = (int32_t)gridDim.x * warps * ROWS;
  int32_t token = ((int32_t)blockIdx.x * warps + (int32_t)threadIdx.x / WARP) * ROWS;
  const int mine = (int)(threadIdx.x % WARP) / LANES;
  load_levels<LANES, COLUMNS> levels;
  levels_start(&levels);
  if (blockIdx.x == 0 && a.of.bias)
    for (int e = (int)threadIdx.x; e < a.router.experts; e += (int)blockDim.x)
      if (!(a.of.bias[e] - a.of.bias[e] == 0.0f)) {
        failure_report(a.of.failure, 0, e, FAILURE_BIAS);
        sum_add(a.of.sums.failed, 1);
      }
  /* The next row is on its way while this one is worked on, where registers allow. */
  constexpr bool AHEAD = COLUMNS <= 16;
  token_row<LANES, COLUMNS> now, next;
  if (AHEAD && token < a.of.tokens)
    row_load(&next, token + mine, a.of.tokens, a.router.experts, a.of.type, a.of.logits, a.of.mask);
  for (; token < a.of.tokens; token += stride) {
    int32_t load = AHEAD ? token + stride : token;
    if (AHEAD) now = next;
    row_load(AHEAD ? &next : &now, load + mine, a.of.tokens, a.router.experts, a.of.type,
             a.of.logits, a.of.mask);
    forward_row<LANES, COLUMNS, KIND>(&now, a, &levels);
  }
  levels_finish(&levels, a.router.experts, a.of.sums, a.of.loads);
}

template <int LANES, int COLUMNS>
static phibal_status forward_launch(const forward_arguments &a, const phibal_cuda *call) {
  typedef load_levels<LANES, COLUMNS> levels;
  const int rows = levels::THREADS / LANES;
  launch_shape shape = {blocks_for(call, (a.tokens + rows - 1) / rows, MOST_RESIDENT),
                        levels::THREADS, levels::shared_bytes(a.router.experts), true};
  static void (*const kernels[])(forward_arguments) =
      ROUTER_KERNELS(forward_kernel, LANES, COLUMNS);
  return launch("router forward", kernels[router_kind_of<LANES, COLUMNS>(a.router, true, a.bias)],
                shape, call, a);
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
  if (bias && router->selection == PHIBAL_SELECTION_GIVEN)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "router forward: a selection that is given, and a bias");
  /* 2^40 times the tokens must stay below 2^63 (load_levels.h). */
  if (tokens > (int64_t)1 << 22)
    return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                             "router forward: %lld tokens in one call, 2^22 are possible",
                             (long long)tokens);
  forward_arguments a = {*router,
                         core_gates_of(router),
                         tree_over(router->experts),
                         tree_over(router->active),
                         (int32_t)tokens,
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
