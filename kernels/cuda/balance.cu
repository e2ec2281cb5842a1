/* Balancing of all layers in one launch: a block for each layer does what the CPU's functions do
   one after another, with their operations and their trees (kernels/cpu/balance*.c).

   A layer of E experts reads and writes less than 100 E bytes: what it costs is the launch and the
   longest chain of dependent operations: for every vector of prices a logarithm or an exponential
   in double-double, and eight or ten levels of a tree. */
#include "kernels/core/balance.h"
#include "kernels/core/quotient.h"
#include "block.h"

enum { BALANCE_THREADS = 256 };

#define EACH_EXPERT(e, experts) for (int e = (int)threadIdx.x; e < (experts); e += BALANCE_THREADS)

/* Whether a number is finite and at least `low`. */
static __device__ __forceinline__ bool acceptable(float x, bool signed_too) {
  return x - x == 0.0f && (signed_too || x >= 0.0f);
}

/* True, for all threads, if an element of the vector is refused, which is reported. */
static __device__ bool refuses(const phibal_cuda_balance &b, const float *x, bool signed_too,
                               uint64_t *failure) {
  bool bad = false;
  EACH_EXPERT(e, b.experts) {
    if (acceptable(x[e], signed_too)) continue;
    failure_report(failure, blockIdx.x, e, FAILURE_LOAD);
    bad = true;
  }
  return block_any(bad);
}

static __device__ void layer_loads(const phibal_cuda_balance &b, int64_t layer) {
  const int64_t first = layer * b.experts, tokens = b.tokens[layer];
  EACH_EXPERT(e, b.experts) {
    if (b.loads && b.probability)
      b.loads[first + e] =
          tokens > 0 ? core_limbs_quotient(b.probability + (first + e) * PHIBAL_LOAD_LIMBS,
                                           (unsigned __int128)tokens)
                     : 0.0f;
    if (b.frequencies && b.count) {
      uint64_t limb[PHIBAL_LOAD_LIMBS] = {(uint64_t)b.count[first + e]};
      b.frequencies[first + e] =
          tokens > 0 ? core_limbs_quotient(limb, (unsigned __int128)tokens * (unsigned)b.active)
                     : 0.0f;
    }
  }
}

/* Smallest and largest of m[E] >= 0, and how many are the largest. */
struct load_range {
  float low, high;
  int32_t ties;
};

static __device__ load_range layer_range(const phibal_cuda_balance &b, const float *m) {
  int32_t high = 0, low = INT32_MAX, ties = 0; /* m >= 0: order of bits */
  EACH_EXPERT(e, b.experts) {
    int32_t key = (int32_t)core_bits32(m[e] + 0.0f);
    high = key > high ? key : high;
    low = key < low ? key : low;
  }
  high = block_max(high);
  low = -block_max(-low);
  EACH_EXPERT(e, b.experts) ties += (int32_t)core_bits32(m[e] + 0.0f) == high;
  ties = (int32_t)block_sum((uint64_t)ties);
  return {core_float((uint32_t)low), core_float((uint32_t)high), ties};
}

/* core_price_prepare. */
static __device__ core_price layer_plan(const phibal_cuda_balance &b, core_price_form form,
                                        const float *m, const load_range &range,
                                        shared_pointer<core_dd> scratch) {
  core_price plan = core_price_start(b.potential, form);
  core_dd sum = core_dd_from(1.0);
  if (core_price_has_sum(b.potential.id)) {
    EACH_EXPERT(e, b.experts) scratch[e] = core_price_term(&plan, m[e]);
    sum = block_dd_tree_sum(scratch, b.experts);
  }
  core_price_finish(&plan, (double)range.low, (double)range.high, range.ties, sum);
  return plan;
}

static __device__ void layer_centred(const phibal_cuda_balance &b, const float *m,
                                     const load_range &range, float *centred,
                                     shared_pointer<core_dd> scratch) {
  core_price plan = layer_plan(b, CORE_PRICE_REDUCED, m, range, scratch);
  core_dd price[PHIBAL_MAX_EXPERTS / BALANCE_THREADS]; /* of this thread's experts */
  int i = 0;
  EACH_EXPERT(e, b.experts) price[i++] = core_price_value(&plan, m[e]);
  if (threadIdx.x == 0) scratch[0] = price[0];
  __syncthreads();
  const core_dd first = scratch[0];
  __syncthreads();
  i = 0;
  EACH_EXPERT(e, b.experts) {
    price[i] = m[e] == m[0] ? core_dd_from(0.0) : core_dd_sub(price[i], first);
    scratch[e] = price[i++];
  }
  core_dd mean = core_dd_div_d(block_dd_tree_sum(scratch, b.experts), (double)b.experts);
  i = 0;
  EACH_EXPERT(e, b.experts)
  centred[e] = core_price_unshift(&plan, core_dd_sub(price[i++], mean));
}

static __device__ void layer_prices(const phibal_cuda_balance &b, int64_t layer, const float *m,
                                    const load_range &range, shared_pointer<core_dd> scratch) {
  const int64_t first = layer * b.experts;
  if (b.floored) {
    core_price plan = core_price_start(b.potential, CORE_PRICE_FULL);
    uint64_t n = 0;
    EACH_EXPERT(e, b.experts) n += (double)m[e] < plan.smallest;
    n = block_sum(n);
    if (threadIdx.x == 0) b.floored[layer] = (int32_t)n;
  }
  if (b.price) {
    core_price plan = layer_plan(b, CORE_PRICE_FULL, m, range, scratch);
    EACH_EXPERT(e, b.experts) b.price[first + e] = core_dd_to_float(core_price_value(&plan, m[e]));
  }
  if (b.centred) layer_centred(b, m, range, b.centred + first, scratch);
}

/* (L1) */
static __device__ void layer_balance_loss(const phibal_cuda_balance &b, const float *m,
                                          const load_range &range, const float *loads, float *loss,
                                          shared_pointer<core_dd> term) {
  core_price plan = layer_plan(b, CORE_PRICE_FULL, m, range, term);
  bool infinite = false;
  EACH_EXPERT(e, b.experts) {
    core_dd price = core_price_value(&plan, m[e]);
    infinite |= loads[e] > 0.0f && b.alpha != 0.0 && price.hi > 0x1p800;
    term[e] = loads[e] > 0.0f ? core_dd_mul_d(price, (double)loads[e]) : core_dd_from(0.0);
  }
  infinite = block_any(infinite);
  core_dd sum = core_dd_mul_d(block_dd_tree_sum(term, b.experts), (double)b.experts);
  if (threadIdx.x != 0) return;
  *loss =
      infinite ? (float)(b.alpha < 0 ? -CORE_INFINITY : CORE_INFINITY) : core_loss(sum, b.alpha);
}

/* (L3) */
static __device__ void layer_switch_loss(const phibal_cuda_balance &b, const float *frequency,
                                         const float *loads, float *loss,
                                         shared_pointer<core_dd> term) {
  EACH_EXPERT(e, b.experts)
  term[e] = core_dd_from((double)frequency[e] * (double)loads[e]);
  core_dd sum = core_dd_mul_d(block_dd_tree_sum(term, b.experts), (double)b.experts);
  if (threadIdx.x == 0) *loss = core_loss(sum, b.alpha);
}

static __device__ void layer_frequency_centred(const phibal_cuda_balance &b, const float *frequency,
                                               float *centred) {
  SHARED_ARRAY(device_sum, total, 2 * CORE_FREQUENCY_LIMBS);
  for (int j = (int)threadIdx.x; j < 2 * CORE_FREQUENCY_LIMBS; j += BALANCE_THREADS) total[j] = 0;
  __syncthreads();
  core_signed_sum sum = {{0}, {0}};
  EACH_EXPERT(e, b.experts) core_signed_sum_add(&sum, -(double)frequency[e]);
  for (int j = 0; j < 2 * CORE_FREQUENCY_LIMBS; j++) { /* most are 0 in a whole warp */
    const uint64_t part =
        j < CORE_FREQUENCY_LIMBS ? sum.positive[j] : sum.negative[j - CORE_FREQUENCY_LIMBS];
    if (!__any_sync(ALL_LANES, part != 0)) continue;
    const uint64_t of_warp = warp_sum(part);
    if (threadIdx.x % WARP == 0) shared_add(total, j, (device_sum)of_warp);
  }
  __syncthreads();
  EACH_EXPERT(e, b.experts) {
    for (int j = 0; j < CORE_FREQUENCY_LIMBS; j++) {
      sum.positive[j] = total[j];
      sum.negative[j] = total[CORE_FREQUENCY_LIMBS + j];
    }
    core_signed_sum_add(&sum, (double)b.experts * (double)frequency[e]);
    centred[e] = core_dd_to_float(core_dd_div_d(core_signed_sum_value(&sum), (double)b.experts));
  }
}

/* (L6) */
static __device__ void layer_loss_free(const phibal_cuda_balance &b, const int64_t *count,
                                       float *bias, uint64_t *failure) {
  uint64_t sum = 0;
  bool bad = false;
  EACH_EXPERT(e, b.experts) {
    bad |= count[e] < 0 || count[e] > (int64_t)1 << 53;
    if (bad) failure_report(failure, blockIdx.x, e, FAILURE_COUNT);
    sum += (uint64_t)count[e];
  }
  int64_t total = (int64_t)block_sum(sum);
  if (block_any(bad)) return;
  if (total > (int64_t)1 << 53) {
    if (threadIdx.x == 0) failure_report(failure, blockIdx.x, 0, FAILURE_COUNT);
    return;
  }
  EACH_EXPERT(e, b.experts) {
    int64_t share = count[e] * b.experts;
    if (share < total) bias[e] += b.rate;
    if (share > total) bias[e] -= b.rate;
  }
}

static __global__ void __launch_bounds__(BALANCE_THREADS, 1)
    balance_kernel(phibal_cuda_balance b, uint64_t *failure) {
  SHARED_ARRAY(core_dd, scratch, PHIBAL_MAX_EXPERTS);
  const int64_t layer = blockIdx.x, first = layer * b.experts;
  if (b.tokens) layer_loads(b, layer);
  __syncthreads();
  if (b.loads && refuses(b, b.loads + first, false, failure)) return;
  /* The Switch loss wants f >= 0; centring takes any. */
  if (b.frequencies && refuses(b, b.frequencies + first, !b.switch_loss, failure)) return;
  if (b.m && refuses(b, b.m + first, false, failure)) return;
  const float *m = b.m + (b.m ? first : 0);
  if (b.next) {
    EACH_EXPERT(e, b.experts)
    b.next[first + e] = core_ema_element((double)b.eta, (double)m[e], (double)b.loads[first + e]);
    __syncthreads();
    m = b.next + first;
  }
  load_range range = {};
  if (b.price || b.centred || b.balance_loss) range = layer_range(b, m);
  if (m) layer_prices(b, layer, m, range, scratch);
  if (b.balance_loss)
    layer_balance_loss(b, m, range, b.loads + first, b.balance_loss + layer, scratch);
  if (b.switch_loss)
    layer_switch_loss(b, b.frequencies + first, b.loads + first, b.switch_loss + layer, scratch);
  if (b.frequency_centred)
    layer_frequency_centred(b, b.frequencies + first, b.frequency_centred + first);
  if (b.bias) layer_loss_free(b, b.count + first, b.bias + first, failure);
}

static phibal_status balance_check(const phibal_cuda_balance *b) {
  const char *name = "balance step";
  if (!b) return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null argument", name);
  if (b->layers < 0 || b->experts < 1 || b->experts > PHIBAL_MAX_EXPERTS)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: %d layers of %d experts", name, b->layers,
                             b->experts);
  if ((b->probability || b->frequencies) && b->tokens && b->active < 1)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: %d active experts", name, b->active);
  if (b->next && !(b->eta > 0.0f && b->eta <= 1.0f))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: eta is %g; it must be in (0, 1]", name,
                             (double)b->eta);
  bool prices = b->price || b->centred || b->floored || b->balance_loss;
  bool missing = ((b->next || prices) && !b->m) ||
                 ((b->next || b->balance_loss || b->switch_loss) && !b->loads) ||
                 ((b->switch_loss || b->frequency_centred) && !b->frequencies) ||
                 (b->bias && !b->count) || ((b->probability != nullptr) && !b->tokens);
  if (missing)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "%s: an output is asked for whose input is null", name);
  if (!(b->alpha - b->alpha == 0.0) || !(b->rate - b->rate == 0.0f))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: alpha is %g, rate %g; they must be finite",
                             name, b->alpha, (double)b->rate);
  return prices ? phibal_potential_check(&b->potential) : PHIBAL_OK;
}

phibal_status phibal_cuda_balance_step(const phibal_cuda_balance *balance,
                                       const phibal_cuda *call) {
  phibal_status status = balance_check(balance);
  if (status == PHIBAL_OK) status = call_check("balance step", call, 0);
  if (status != PHIBAL_OK || balance->layers == 0) return status;
  launch_shape shape = {balance->layers, BALANCE_THREADS, 0};
  return launch("balance step", balance_kernel, shape, call, *balance, call->failure);
}
