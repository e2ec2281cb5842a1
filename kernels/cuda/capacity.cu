/* Capacity (E8), (E9): a block for each expert and its list of routes, then a thread for each
   token's gates. Same bits as the CPU (kernels/cpu/capacity.c): what is kept is counted, and the
   gates are the same operations of binary64, slot after slot.

   In an ordered pass over the list a thread's route stands behind those of the lower threads of its
   chunk that are taken too, and those of the chunks before. By gate there are the 8 rounds of
   order_statistic.h and one more before, by slot k passes. Bytes of a route: 8 for each pass, and 4
   for its gate. Not measured yet. */
#include "device.h"
#include "order_statistic.h"
#include <phibal/capacity.h>

enum { CAPACITY_THREADS = 256, CAPACITY_WARPS = CAPACITY_THREADS / WARP, CAPACITY_BLOCKS = 4 };

typedef struct capacity_arguments {
  phibal_capacity_policy policy;
  int64_t slots, limit;
  int32_t active, experts_count;
  const int64_t *offsets, *source;
  const float *gates;
  int32_t *kept;
  int64_t *place;
  uint64_t *failure;
} capacity_arguments;

/* How many of the block's lower threads have the flag; *all of them together. All threads call it,
   and `part` [CAPACITY_WARPS] is free again when they do so the next time. */
static __device__ int flagged_before(bool flag, shared_pointer<int32_t> part, int *all) {
  const int warp = (int)threadIdx.x / WARP, lane = (int)threadIdx.x % WARP;
  const unsigned ballot = __ballot_sync(ALL_LANES, flag);
  if (lane == 0) part[warp] = __popc(ballot);
  __syncthreads();
  int before = __popc(ballot & ((1u << lane) - 1u)), sum = 0;
  for (int w = 0; w < CAPACITY_WARPS; w++) {
    const int of_warp = part[w];
    before += w < warp ? of_warp : 0;
    sum += of_warp;
  }
  __syncthreads();
  *all = sum;
  return before;
}

static __device__ void keep(const capacity_arguments &a, int expert, int64_t route, int64_t place) {
  a.kept[route] = expert;
  if (a.place) a.place[route] = place;
}

static __global__ void __launch_bounds__(CAPACITY_THREADS) clear_kernel(capacity_arguments a) {
  EACH_OF_THREAD(i, a.slots, CAPACITY_THREADS) {
    a.kept[i] = -1;
    if (a.place) a.place[i] = -1;
  }
}

static __global__ void __launch_bounds__(CAPACITY_THREADS) capacity_kernel(capacity_arguments a) {
  SHARED_ARRAY(device_sum, count, ORDER_BOUNDS);
  SHARED_ARRAY(int32_t, part, CAPACITY_WARPS);
  SHARED_ARRAY(int32_t, refused, 1);
  const int thread = (int)threadIdx.x;
  const bool by_gate = a.policy == PHIBAL_CAPACITY_GATE;
  for (int e = (int)blockIdx.x; e < a.experts_count; e += (int)gridDim.x) {
    const int64_t n = a.offsets[e + 1] - a.offsets[e];
    const int64_t *source = a.source + a.offsets[e];
    if (thread == 0) refused[0] = 0;
    __syncthreads();
    int32_t bad = 0;
    for (int64_t i = thread; i < n; i += CAPACITY_THREADS) {
      const int64_t route = source[i];
      const bool there = route >= 0 && route < a.slots;
      const bool finite = !by_gate || !there || a.gates[route] - a.gates[route] == 0.0f;
      if (!there || !finite) {
        failure_report(a.failure, e, e, there ? FAILURE_GATE : FAILURE_ROW);
        bad = 1;
      }
    }
    if (bad) shared_add(refused, 0, bad);
    __syncthreads();
    const bool stop = refused[0] != 0;
    __syncthreads();
    if (stop) continue;
    /* The gate of rank `limit`, and how many that equal it are kept. */
    const bool ranked = by_gate && n > a.limit && a.limit > 0;
    const auto gate = [&](int64_t i) { return a.gates[source[i]]; };
    key_range keys = {-ORDER_INFINITE, ORDER_INFINITE};
    for (int round = 0; ranked && round <= ORDER_ROUNDS; round++) {
      if (round > 0) keys = order_narrowed(keys, n - a.limit + 1, count);
      order_count(n, gate, keys, count);
    }
    const float cut = core_float_from_key(keys.low);
    const int64_t equal = ranked ? a.limit - (n - (int64_t)(device_sum)count[0]) : 0;
    /* By slot one pass for each; otherwise one for all. */
    int64_t place = 0, equals = 0;
    const int passes = a.policy == PHIBAL_CAPACITY_SLOT ? a.active : 1;
    for (int s = 0; s < passes; s++)
      for (int64_t first = 0; first < n; first += CAPACITY_THREADS) {
        const int64_t i = first + thread, route = i < n ? source[i] : 0;
        bool taken = i < n && (passes == 1 || route % a.active == s);
        if (ranked) {
          const bool same = i < n && a.gates[route] == cut;
          int all;
          const int64_t before = equals + flagged_before(same, part, &all);
          taken = i < n && (a.gates[route] > cut || (same && before < equal));
          equals += all;
        }
        int all;
        const int64_t mine = place + flagged_before(taken, part, &all);
        if (taken && mine < a.limit) keep(a, e, route, mine);
        place += all;
      }
  }
}

phibal_status phibal_cuda_capacity(phibal_capacity_policy policy, int64_t tokens, int32_t active,
                                   int32_t experts_count, int64_t limit, const int64_t *offsets,
                                   const int64_t *source, const float *gates, int32_t *kept,
                                   int64_t *place, const phibal_cuda *call) {
  const char *name = "capacity";
  phibal_status status = call_check(name, call, 0);
  if (status != PHIBAL_OK) return status;
  if (policy < PHIBAL_CAPACITY_TOKEN || policy > PHIBAL_CAPACITY_GATE || tokens < 0 || active < 1 ||
      active > PHIBAL_MAX_EXPERTS || experts_count < 1 || experts_count > PHIBAL_MAX_EXPERTS ||
      tokens > PHIBAL_CAPACITY_ROUTES / active || limit < 0 || !offsets ||
      (tokens > 0 && (!source || !kept || (policy == PHIBAL_CAPACITY_GATE && !gates))))
    return phibal_status_set(
        PHIBAL_ERROR_ARGUMENT,
        "%s: policy %d, %lld tokens, %d active of %d experts, a limit of %lld, "
        "or a null array",
        name, (int)policy, (long long)tokens, active, experts_count, (long long)limit);
  if (policy == PHIBAL_CAPACITY_GATE && tokens * active > ORDER_NUMBERS)
    return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED, "%s: more than 2^34 routes by gate", name);
  const capacity_arguments a = {policy, tokens * active, limit, active, experts_count, offsets,
                                source, gates,           kept,  place,  call->failure};
  const launch_shape clear = {
      blocks_for(call, (a.slots + CAPACITY_THREADS - 1) / CAPACITY_THREADS, CAPACITY_BLOCKS),
      CAPACITY_THREADS, 0};
  const launch_shape each = {blocks_for(call, experts_count, CAPACITY_BLOCKS), CAPACITY_THREADS, 0};
  status = launch(name, clear_kernel, clear, call, a);
  return status == PHIBAL_OK ? launch(name, capacity_kernel, each, call, a) : status;
}

typedef struct gates_arguments {
  int64_t tokens;
  int32_t active;
  bool renormalise;
  const int32_t *kept;
  const float *gates, *gradient; /* gradient: of the gates after dropping, or null */
  float *out;
  uint64_t *failure;
} gates_arguments;

static __global__ void __launch_bounds__(CAPACITY_THREADS) gates_kernel(gates_arguments a) {
  EACH_OF_THREAD(t, a.tokens, CAPACITY_THREADS) {
    const int32_t *kept = a.kept + t * a.active;
    const float *gates = a.gates + t * a.active;
    const float *gradient = a.gradient ? a.gradient + t * a.active : nullptr;
    float *out = a.out + t * a.active;
    double sum = a.renormalise ? 0 : 1, mean = 0;
    for (int s = 0; s < a.active; s++) {
      if (kept[s] < 0) continue;
      if (!(gates[s] - gates[s] == 0.0f) || (a.renormalise && gates[s] < 0))
        failure_report(a.failure, t, s, FAILURE_SLOT_GATE);
      if (!a.renormalise) continue;
      sum += (double)gates[s];
      if (gradient) mean += (double)gates[s] * (double)gradient[s];
    }
    if (sum > 0) mean /= sum;
    for (int s = 0; s < a.active; s++) {
      const double x = gradient ? (double)gradient[s] - mean : (double)gates[s];
      out[s] = kept[s] >= 0 && sum > 0 ? (float)(x / sum) : 0.0f;
    }
  }
}

static phibal_status launch_gates(const gates_arguments &a, const phibal_cuda *call) {
  const char *name = "gates after dropping";
  phibal_status status = call_check(name, call, 0);
  if (status != PHIBAL_OK) return status;
  if (a.tokens < 0 || a.active < 1 || a.active > PHIBAL_MAX_EXPERTS ||
      a.tokens > PHIBAL_CAPACITY_ROUTES / a.active ||
      (a.tokens > 0 && (!a.kept || !a.gates || !a.out)))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: %lld tokens, %d slots, or a null array",
                             name, (long long)a.tokens, a.active);
  const launch_shape shape = {
      blocks_for(call, (a.tokens + CAPACITY_THREADS - 1) / CAPACITY_THREADS, CAPACITY_BLOCKS),
      CAPACITY_THREADS, 0};
  return launch(name, gates_kernel, shape, call, a);
}

phibal_status phibal_cuda_capacity_gates(int64_t tokens, int32_t active, bool renormalise,
                                         const int32_t *kept, const float *gates, float *kept_gates,
                                         const phibal_cuda *call) {
  const gates_arguments a = {tokens, active,  renormalise, kept,
                             gates,  nullptr, kept_gates,  call ? call->failure : nullptr};
  return launch_gates(a, call);
}

phibal_status phibal_cuda_capacity_gates_backward(int64_t tokens, int32_t active, bool renormalise,
                                                  const int32_t *kept, const float *gates,
                                                  const float *kept_gradient, float *gate_gradient,
                                                  const phibal_cuda *call) {
  if (tokens > 0 && !kept_gradient)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "gates after dropping: no gradient");
  const gates_arguments a = {tokens, active,        renormalise,   kept,
                             gates,  kept_gradient, gate_gradient, call ? call->failure : nullptr};
  return launch_gates(a, call);
}
