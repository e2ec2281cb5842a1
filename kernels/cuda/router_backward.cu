/* Router backward (G1, G2): the gradients through the gates, the prices and the z-loss in one pass
   over the logits; probabilities and gates are made again, with the CPU's operations in its order
   (kernels/cpu/router_backward.c has the terms and their errors).

   Bytes of a token: 4 E of logits (2 E as bfloat16), 4 E of gradients, and 8 k of experts and gate
   gradients where there are any. About 28 binary64 operations of a logit, 22 of them with neither
   price nor z-loss: see router_forward.cu for what that means. Measured: bench/RESULTS.md. */
#include "row.h"

template <int LANES, int COLUMNS> using token_row = row<LANES, COLUMNS, int64_t>;

typedef struct backward_arguments {
  phibal_router router;
  core_gates form;
  tree_of of_experts, of_active;
  int64_t tokens;
  phibal_logits type;
  const void *logits;
  const uint8_t *mask;
  const int32_t *experts;
  const float *gate_gradient;
  const float *price;
  double price_scale;
  double z_scale;
  float *logit_gradient;
  uint64_t *failure;
} backward_arguments;
typedef router_arguments<backward_arguments> backward_known;

static __device__ NOT_INLINE double score_slope(phibal_gate gate, double x) {
  return core_gate_slope(gate, x);
}

/* The routes of a token, rank s in lane s % LANES, column s / LANES, of GATES columns. */
template <int GATES> struct row_routing {
  int32_t selected[GATES];
  float gate_gradient[GATES];
  float chosen[GATES];    /* the selected logits */
  double incoming[GATES]; /* scale dL/dgate */
  double gate[GATES];     /* unscaled */
  double inner;           /* sum of gate incoming */
  double rest;            /* epsilon over the sum of the selection and epsilon */
};

/* Asks for the routes, beside the logits: neither waits for the other. */
template <int LANES, int GATES>
static __device__ __forceinline__ void routing_fetch(row_routing<GATES> *g, int64_t token,
                                                     const backward_known &a) {
#pragma unroll
  for (int c = 0; c < GATES; c++) {
    const int s = row_lane<LANES>() + LANES * c;
    const bool there = s < a.router.active && token < a.of.tokens;
    const int64_t slot = token * a.router.active + s;
    g->selected[c] = there ? __ldg(a.of.experts + slot) : 0;
    g->gate_gradient[c] = there ? __ldg(a.of.gate_gradient + slot) : 0.0f;
  }
}

/* An expert that does not exist is reported, and counts as 0. */
template <int LANES, int COLUMNS, int GATES>
static __device__ __forceinline__ void
routing_load(row_routing<GATES> *g, const token_row<LANES, COLUMNS> *r, const backward_known &a) {
  const int active = a.router.active, experts = a.router.experts;
#pragma unroll
  for (int c = 0; c < GATES; c++) {
    const int s = row_lane<LANES>() + LANES * c;
    g->chosen[c] = 0.0f;
    g->incoming[c] = 0.0;
    if (s >= active || !r->live) {
      g->selected[c] = 0;
      continue;
    }
    if (SELDOM(g->selected[c] < 0 || g->selected[c] >= experts)) {
      failure_report(a.of.failure, r->token, 0, FAILURE_ROUTE);
      g->selected[c] = 0;
    }
    g->chosen[c] = logit_of_route(
        a.router, logit_at(a.of.type, a.of.logits, r->token * experts + g->selected[c]),
        g->selected[c]);
    g->incoming[c] = (double)a.router.scale * (double)g->gate_gradient[c];
  }
}

template <int LANES, int COLUMNS, int GATES>
static __device__ __forceinline__ void routing_products(row_routing<GATES> *g,
                                                        const token_row<LANES, COLUMNS> *r,
                                                        const backward_known &a, double inverse) {
  double product[GATES];
  g->rest = row_gates<LANES, GATES>(a.router, a.form, a.of_active, g->chosen, r->largest, inverse,
                                    g->gate);
#pragma unroll
  for (int c = 0; c < GATES; c++) {
    int s = row_lane<LANES>() + LANES * c;
    product[c] = s < a.router.active ? g->gate[c] * g->incoming[c] : 0.0;
  }
  g->inner = row_sum<LANES, GATES>(product, a.of_active.width);
}

/* The selected experts' own part, rank after rank as on the CPU. */
template <int LANES, int COLUMNS, int GATES>
static __device__ __forceinline__ void routing_gradient(const row_routing<GATES> *g,
                                                        const backward_known &a, double *gradient) {
  const bool scores = a.form == CORE_GATES_SCORES;
  double part[GATES];
#pragma unroll
  for (int c = 0; c < GATES; c++) {
    part[c] = scores ? g->gate[c] * g->incoming[c] : g->gate[c] * (g->incoming[c] - g->inner);
    if (core_gate_has_scores(a.router.gate))
      part[c] *= score_slope(a.router.gate, (double)g->chosen[c]);
  }
#pragma unroll
  for (int c = 0; c < GATES; c++)
#pragma unroll 1
    for (int s = LANES * c; s < LANES * (c + 1) && s < a.router.active; s++) {
      int32_t expert = row_from<LANES>(g->selected[c], s % LANES);
      double x = row_from<LANES>(part[c], s % LANES);
#pragma unroll
      for (int o = 0; o < COLUMNS; o++)
        if (expert == row_lane<LANES>() + LANES * o) gradient[o] += x;
    }
}

/* What multiplies every p_j: price_scale (c_j - sum p c) + z_scale lse - sum_e p_e dg_e. p is
   overwritten with the gradient. */
template <int LANES, int COLUMNS>
static __device__ __forceinline__ void row_common_gradient(const token_row<LANES, COLUMNS> *r,
                                                           const backward_known &a, double total,
                                                           double inner, double rest, double *p) {
  const int experts = a.router.experts;
  float price[COLUMNS];
  double product[COLUMNS];
#pragma unroll
  for (int c = 0; c < COLUMNS; c++) {
    int e = row_lane<LANES>() + LANES * c;
    price[c] = a.of.price && e < experts ? __ldg(a.of.price + e) : 0.0f;
    product[c] = e < experts ? p[c] * (double)price[c] : 0.0;
  }
  double mean = row_sum<LANES, COLUMNS>(product, a.of_experts.width);
  double constant = 0.0;
  if (a.of.z_scale != 0.0) constant = a.of.z_scale * row_logsumexp(r, a.of_experts, total);
  if (a.of.gate_gradient && gates_need_probabilities(a.router.gate, a.form))
    constant -= a.form == CORE_GATES_EPSILON ? inner * rest : inner;
#pragma unroll
  for (int c = 0; c < COLUMNS; c++) {
    p[c] *= a.of.price_scale * ((double)price[c] - mean) + constant;
  }
  if (!core_gate_has_scores(a.router.gate)) return;
#pragma unroll
  for (int c = 0; c < COLUMNS; c++) p[c] *= score_slope(a.router.gate, (double)r->x[c]);
}

/* One token of each group of lanes, with at most LANES GATES routes. */
template <int LANES, int COLUMNS, int GATES>
static __device__ __forceinline__ void backward_row(token_row<LANES, COLUMNS> *r,
                                                    const backward_known &a) {
  const int experts = a.router.experts;
  row_routing<GATES> routing = {};
  if (a.of.gate_gradient) routing_fetch<LANES>(&routing, r->token, a); /* before the first use */
  row_largest(r, experts, a.of.failure);
  if (a.of.gate_gradient) routing_load(&routing, r, a);
  bool through_gates = a.of.gate_gradient && gates_need_probabilities(a.router.gate, a.form);
  double gradient[COLUMNS];
  if (a.of.price || a.of.z_scale != 0.0 || through_gates) {
    double inverse;
    double total = row_probabilities(r, a.router.gate, a.of_experts, gradient, &inverse);
    if (a.of.gate_gradient) routing_products(&routing, r, a, inverse);
    row_common_gradient(r, a, total, routing.inner, routing.rest, gradient);
  } else {
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) gradient[c] = 0.0;
    if (a.of.gate_gradient) routing_products(&routing, r, a, 0.0);
  }
  if (a.of.gate_gradient) routing_gradient<LANES, COLUMNS, GATES>(&routing, a, gradient);
  if (r->token >= a.of.tokens) return;
  float rounded[COLUMNS];
#pragma unroll
  for (int c = 0; c < COLUMNS; c++) rounded[c] = r->live ? (float)gradient[c] : 0.0f;
  row_store<LANES, COLUMNS>(a.of.logit_gradient + r->token * experts, experts, rounded);
}

/* Warps of a block. With eight columns four blocks fit a multiprocessor: on an H200 137 us instead
   of 158 at E = 256, T = 65536, when that took a few spilled numbers. */
enum { BACKWARD_WARPS = 4 };

template <int LANES, int COLUMNS, router_kind KIND>
static __global__ void __launch_bounds__(WARP *BACKWARD_WARPS, COLUMNS == 8 ? 4 : 1)
    backward_kernel(backward_arguments arguments) {
  const backward_known a = router_known<LANES, COLUMNS, KIND>(arguments);
  constexpr int ROWS = WARP / LANES; /* of a warp */
  const int64_t stride = (int64_t)gridDim.x * BACKWARD_WARPS * ROWS;
  int64_t token = ((int64_t)blockIdx.x * BACKWARD_WARPS + threadIdx.x / WARP) * ROWS;
  const int mine = (int)(threadIdx.x % WARP) / LANES;
  if (blockIdx.x == 0 && a.of.price)
    for (int e = (int)threadIdx.x; e < a.router.experts; e += (int)blockDim.x)
      if (!(a.of.price[e] - a.of.price[e] == 0.0f))
        failure_report(a.of.failure, 0, e, FAILURE_PRICE);
  for (; token < a.of.tokens; token += stride) {
    token_row<LANES, COLUMNS> r;
    row_load(&r, token + mine, a.of.tokens, a.router.experts, a.of.type, a.of.logits, a.of.mask);
    constexpr int FEWER = GATE_COLUMNS<LANES>;
    if constexpr (KIND == ROUTER_ANY)
      if (SELDOM(a.router.active > LANES * FEWER)) {
        backward_row<LANES, COLUMNS, COLUMNS>(&r, a);
        continue;
      }
    backward_row<LANES, COLUMNS, FEWER>(&r, a);
  }
}

template <int LANES, int COLUMNS>
static phibal_status backward_launch(const backward_arguments &a, const phibal_cuda *call) {
  const int rows = BACKWARD_WARPS * WARP / LANES;
  launch_shape shape = {blocks_for(call, (a.tokens + rows - 1) / rows, MOST_RESIDENT),
                        BACKWARD_WARPS * WARP, 0, true};
  static void (*const kernels[])(backward_arguments) =
      ROUTER_KERNELS(backward_kernel, LANES, COLUMNS);
  return launch("router backward", kernels[router_kind_of<LANES, COLUMNS>(a.router, false, false)],
                shape, call, a);
}

phibal_status phibal_cuda_router_backward(const phibal_router *router, int64_t tokens,
                                          phibal_logits type, const void *logits,
                                          const uint8_t *mask, const int32_t *experts,
                                          const float *gate_gradient, const float *price,
                                          double price_scale, double z_scale, float *logit_gradient,
                                          const phibal_cuda *call) {
  const char *name = "router backward";
  phibal_status status = cuda_router_check(name, router, tokens);
  if (status == PHIBAL_OK) status = call_check(name, call, 0);
  if (status != PHIBAL_OK) return status;
  if (tokens > 0 && (!logits || !logit_gradient || (gate_gradient && !experts)))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null argument", name);
  if (!(price_scale - price_scale == 0.0) || !(z_scale - z_scale == 0.0))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "%s: price scale %g and z scale %g must be finite", name, price_scale,
                             z_scale);
  if (z_scale != 0.0 && core_gate_has_scores(router->gate))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "%s: the z-loss is for softmax routers, not for %s", name,
                             router->gate == PHIBAL_GATE_SIGMOID ? "sigmoid" : "sqrt(softplus)");
  backward_arguments a = {*router,
                          core_gates_of(router),
                          tree_over(router->experts),
                          tree_over(router->active),
                          tokens,
                          type,
                          logits,
                          mask,
                          experts,
                          gate_gradient,
                          price,
                          price ? price_scale : 0.0,
                          z_scale,
                          logit_gradient,
                          call->failure};
#define BACKWARD(lanes, columns) backward_launch<lanes, columns>(a, call)
  return ROW_DISPATCH(router->experts, BACKWARD);
#undef BACKWARD
}
