/* Router backward (G1, G2): probabilities and gates are made again from the logits, in binary64, as
   the forward pass made them; one pass over the logits, tile by tile.

   The terms of (G2) for element j of a softmax router are
     p_j price_scale c_j,  -p_j price_scale sum_e p_e c_e,  p_j z_scale lse,
     and of the gates: scale g_s dg_s and -scale g_s sum_r g_r dg_r (topk_softmax), or
     [j selected] scale p_j dg_j and -scale p_j sum_e p_e dg_e (probability);
   for a router of scores p_j becomes p_j times the slope of the score's logarithm, 1 - sigma_j or
   sigma_j / (2 softplus_j), and g_s likewise. Of gates (R5e) the terms
   are those of topk_softmax with their g_s, and for softmax routers -scale p_j r sum_s g_s dg_s,
   r = epsilon over the sum with epsilon; of scores y as they are, scale y_s dg_s times the slope.
   Rounding: p and g are within 2^-45 (router_tile.h); 1 - sigma_j = 1 / (1 + e^x) is not a
   difference and errs by 2^-50, as does the other slope; lse by 2^-48 of max(1, |lse|) and 2^-52 of
   its terms; a halving tree of at most 1024 products adds 11 roundings of the sum of absolute
   values; every term is then the product of at most six such factors, and at most six sums follow.
   So before its last rounding an element errs by less than 2^-42 of the sum of the absolute values
   of its terms, with the inner sums' terms counted one by one, and after it by (1 + 2^-18) u of the
   same, within the promised 1.001 u. A result below 2^-126 errs by half of 2^-149 instead. */
#include "router_tile.h"

typedef struct backward_call {
  const phibal_router *router;
  int64_t tokens;
  const float *logits;
  const uint8_t *mask;
  const int32_t *experts;
  const float *gate_gradient;
  const float *price;
  double price_scale;
  double z_scale;
  float *logit_gradient;
} backward_call;

/* One thread's memory, on its stack. */
typedef struct backward_work {
  router_tile tile;
  double gradient[PHIBAL_MAX_EXPERTS];  /* [E][lanes] */
  float rounded[PHIBAL_MAX_EXPERTS];    /* [E][lanes] */
  double price[PHIBAL_MAX_EXPERTS];     /* [E] times price_scale is the price's part */
  int32_t selected[PHIBAL_MAX_EXPERTS]; /* [k][lanes]; 0 in dead lanes */
  float chosen[PHIBAL_MAX_EXPERTS];     /* [k][lanes], dL/dgate, and then the selected logits */
  double gate[PHIBAL_MAX_EXPERTS];      /* [k][lanes], unscaled */
  double incoming[PHIBAL_MAX_EXPERTS];  /* [k][lanes], scale dL/dgate; 0 in dead lanes */
  double inner[ROUTER_LANES];           /* sum over the selection of gate incoming */
  double rest[ROUTER_LANES];            /* epsilon over the sum of the selection and epsilon */
} backward_work;

typedef struct backward_failure {
  router_failure place;
  bool logit; /* a logit, otherwise a route to an expert that does not exist */
} backward_failure;

/* The place of the first route to an expert that does not exist, of a tile that has one. */
static __attribute__((noinline)) void tile_no_expert(int32_t experts, int32_t active, int lanes,
                                                     const int32_t *selected, int64_t token,
                                                     router_failure *failure) {
  for (int l = 0; l < lanes; l++) {
    for (int32_t s = 0; s < active; s++) {
      int32_t expert = selected[s * lanes + l];
      if (expert < 0 || expert >= experts) {
        failure->token = token + l;
        failure->expert = expert;
        return;
      }
    }
  }
}

/* Reads the tile's routes; false, with the place, at an expert outside 0 .. E-1. */
ROUTER_INLINE bool tile_routes(const backward_call *call, int lanes, int64_t token,
                               backward_work *work, router_failure *failure) {
  const router_tile *tile = &work->tile;
  int32_t experts = call->router->experts, active = call->router->active;
  double scale = (double)call->router->scale;
  int32_t *selected = work->selected;
  float *arriving = work->chosen;
  tile_transpose(tile->tokens, active, call->experts + token * active, active, selected, lanes);
  tile_transpose(tile->tokens, active, call->gate_gradient + token * active, active, arriving,
                 lanes);
  for (int l = 0; l < lanes && !tile->all_live; l++) {
    for (int32_t s = 0; s < active && !tile->live[l]; s++) {
      selected[s * lanes + l] = 0;
      arriving[s * lanes + l] = 0.0f;
    }
  }
  int32_t bad[ROUTER_LANES] = {0}, any = 0;
  for (int32_t s = 0; s < active; s++)
#pragma omp simd
    for (int l = 0; l < lanes; l++)
      bad[l] |= selected[s * lanes + l] < 0 || selected[s * lanes + l] >= experts;
  for (int l = 0; l < lanes; l++) any |= bad[l];
  if (any) {
    tile_no_expert(experts, active, lanes, selected, token, failure);
    return false;
  }
  for (int32_t s = 0; s < active; s++)
#pragma omp simd
    for (int l = 0; l < lanes; l++)
      work->incoming[s * lanes + l] = scale * (double)arriving[s * lanes + l];
  return true;
}

/* Gates of the given selection, and their inner product with what comes in. */
ROUTER_INLINE void tile_gate_products(const phibal_router *router, int lanes, const float *x,
                                      backward_work *work) {
  int32_t active = router->active;
  double product[PHIBAL_MAX_EXPERTS];
  tile_gates(router, lanes, x, work->selected, &work->tile, work->chosen, work->gate, work->rest);
  for (int32_t i = 0; i < active * lanes; i++) product[i] = work->gate[i] * work->incoming[i];
  tile_sum(active, lanes, product, work->tile.scratch, work->inner);
}

/* Adds the selected experts' own part: for gates that are probabilities the sum over e was taken
   care of with the other terms that every p_j multiplies. */
ROUTER_INLINE void tile_gate_gradient(const phibal_router *router, int lanes, backward_work *work) {
  bool scores = core_gates_of(router) == CORE_GATES_SCORES;
  double *part = work->tile.scratch;
  for (int32_t s = 0; s < router->active; s++) {
#pragma omp simd
    for (int l = 0; l < lanes; l++) {
      double g = work->gate[s * lanes + l];
      double incoming = work->incoming[s * lanes + l];
      part[s * lanes + l] = scores ? g * incoming : g * (incoming - work->inner[l]);
    }
  }
  if (router->gate == PHIBAL_GATE_SIGMOID)
    for (int32_t s = 0; s < router->active; s++)
#pragma omp simd
      for (int l = 0; l < lanes; l++)
        part[s * lanes + l] *= core_one_minus_sigmoid((double)work->chosen[s * lanes + l]);
  if (router->gate == PHIBAL_GATE_SQRT_SOFTPLUS)
    for (int32_t s = 0; s < router->active; s++)
#pragma omp simd
      for (int l = 0; l < lanes; l++)
        part[s * lanes + l] *= core_sqrt_softplus_slope((double)work->chosen[s * lanes + l]);
  for (int32_t s = 0; s < router->active; s++)
    for (int l = 0; l < lanes; l++) {
      work->gradient[work->selected[s * lanes + l] * lanes + l] += part[s * lanes + l];
    }
}

/* What multiplies every p_j: price_scale (c_j - sum p c) + z_scale lse - sum_e p_e dg_e. */
ROUTER_INLINE void tile_common_gradient(const backward_call *call, int lanes, const float *x,
                                        backward_work *work) {
  router_tile *tile = &work->tile;
  int32_t experts = call->router->experts;
  bool sigmoid = call->router->gate == PHIBAL_GATE_SIGMOID;
  double price_scale = call->price_scale, mean[ROUTER_LANES];
  double constant[ROUTER_LANES], logsumexp[ROUTER_LANES];
  for (int32_t e = 0; e < experts; e++) {
    double price = work->price[e];
#pragma omp simd
    for (int l = 0; l < lanes; l++) work->gradient[e * lanes + l] = tile->p[e * lanes + l] * price;
  }
  tile_sum(experts, lanes, work->gradient, tile->scratch, mean);
  if (call->z_scale != 0.0) tile_logsumexp(tile, experts, lanes, x, logsumexp);
  for (int l = 0; l < lanes; l++) {
    constant[l] = call->z_scale != 0.0 ? call->z_scale * logsumexp[l] : 0.0;
    if (call->gate_gradient && gates_need_probabilities(call->router))
      constant[l] -= core_gates_of(call->router) == CORE_GATES_EPSILON
                         ? work->inner[l] * work->rest[l]
                         : work->inner[l];
  }
  for (int32_t e = 0; e < experts; e++) {
    double price = work->price[e];
#pragma omp simd
    for (int l = 0; l < lanes; l++)
      work->gradient[e * lanes + l] =
          tile->p[e * lanes + l] * (price_scale * (price - mean[l]) + constant[l]);
  }
  if (sigmoid)
    for (int32_t e = 0; e < experts; e++)
#pragma omp simd
      for (int l = 0; l < lanes; l++)
        work->gradient[e * lanes + l] *= core_one_minus_sigmoid((double)x[e * lanes + l]);
  if (call->router->gate == PHIBAL_GATE_SQRT_SOFTPLUS)
    for (int32_t e = 0; e < experts; e++)
#pragma omp simd
      for (int l = 0; l < lanes; l++)
        work->gradient[e * lanes + l] *= core_sqrt_softplus_slope((double)x[e * lanes + l]);
}

static void backward_padding(const backward_call *call, int64_t token) {
  int32_t experts = call->router->experts;
  memset(call->logit_gradient + token * experts, 0, (size_t)experts * sizeof(float));
}

ROUTER_INLINE bool backward_tile(const backward_call *call, int lanes, int64_t token,
                                 backward_work *work, backward_failure *failure) {
  const phibal_router *router = call->router;
  int32_t experts = router->experts;
  router_tile *tile = &work->tile;
  const float *x = tile_load(tile, experts, lanes, call->tokens, call->logits, call->mask, token);
  failure->logit = true;
  if (!tile_largest(tile, experts, lanes, x, token, &failure->place)) return false;
  failure->logit = false;
  if (call->gate_gradient && !tile_routes(call, lanes, token, work, &failure->place)) return false;
  bool through_gates = call->gate_gradient && gates_need_probabilities(router);
  if (call->price || call->z_scale != 0.0 || through_gates) {
    tile_probabilities(tile, router->gate, experts, lanes, x);
    if (call->gate_gradient) tile_gate_products(router, lanes, x, work);
    tile_common_gradient(call, lanes, x, work);
  } else {
    for (int32_t i = 0; i < experts * lanes; i++) work->gradient[i] = 0.0;
    if (call->gate_gradient) tile_gate_products(router, lanes, x, work);
  }
  if (call->gate_gradient) tile_gate_gradient(router, lanes, work);
  float *row = call->logit_gradient + token * experts;
  float *rounded = lanes == 1 ? row : work->rounded;
  for (int32_t i = 0; i < experts * lanes; i++) rounded[i] = (float)work->gradient[i];
  if (lanes > 1) tile_transpose(experts, tile->tokens, rounded, lanes, row, experts);
  for (int l = 0; l < tile->tokens && !tile->all_live; l++)
    if (!tile->live[l]) backward_padding(call, token + l);
  return true;
}

__attribute__((flatten)) static bool backward_block(const backward_call *call, int64_t from,
                                                    int64_t to, backward_work *work,
                                                    backward_failure *failure) {
  int32_t experts = call->router->experts;
  bool side_by_side = experts <= ROUTER_LANES_EXPERTS;
  for (int64_t token = from; token < to; token += side_by_side ? ROUTER_LANES : 1) {
    if (side_by_side) {
      if (!backward_tile(call, ROUTER_LANES, token, work, failure)) return false;
    } else if (call->mask && call->mask[token] == 0) {
      backward_padding(call, token);
    } else if (!backward_tile(call, 1, token, work, failure)) {
      return false;
    }
  }
  return true;
}

static phibal_status backward_check(const backward_call *call) {
  const phibal_router *router = call->router;
  phibal_status status = router_check("router backward", router, call->tokens);
  if (status != PHIBAL_OK) return status;
  if (call->tokens > 0 && (!call->logits || !call->logit_gradient))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "router backward: the logits or their gradient are null");
  if (call->tokens > 0 && call->gate_gradient && !call->experts)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "router backward: a gradient of the gates, but the experts are null");
  if (!__builtin_isfinite(call->price_scale) || !__builtin_isfinite(call->z_scale))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "router backward: price scale %g and z scale %g must be finite",
                             call->price_scale, call->z_scale);
  if (call->z_scale != 0.0 && core_gate_has_scores(router->gate))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "router backward: the z-loss is for softmax routers, not for %s",
                             router->gate == PHIBAL_GATE_SIGMOID ? "sigmoid" : "sqrt(softplus)");
  int32_t bad = first_not_finite(router->experts, call->price);
  if (bad >= 0)
    return phibal_status_set(PHIBAL_ERROR_NONFINITE,
                             "router backward: the price of expert %d is %g, not a finite number",
                             bad, (double)call->price[bad]);
  return PHIBAL_OK;
}

static phibal_status backward_report(const backward_call *call, const backward_failure *first) {
  int64_t token = first->place.token;
  int32_t expert = first->place.expert;
  if (first->logit)
    return phibal_status_set(
        PHIBAL_ERROR_NONFINITE,
        "router backward: the logit of token %lld for expert %d is %g, not a finite number",
        (long long)token, expert, (double)call->logits[token * call->router->experts + expert]);
  return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                           "router backward: token %lld is routed to expert %d, there are 0 to %d",
                           (long long)token, expert, call->router->experts - 1);
}

phibal_status phibal_router_backward(const phibal_router *router, int64_t tokens,
                                     const float *logits, const uint8_t *mask,
                                     const int32_t *experts, const float *gate_gradient,
                                     const float *price, double price_scale, double z_scale,
                                     float *logit_gradient) {
  backward_call call = {router,  tokens,        logits, mask,
                        experts, gate_gradient, price,  price ? price_scale : 0.0,
                        z_scale, logit_gradient};
  phibal_status status = backward_check(&call);
  if (status != PHIBAL_OK) return status;
  int64_t size = router_block(router->experts);
  int64_t blocks = tokens / size + (tokens % size != 0);
  backward_failure first = {{INT64_MAX, 0}, false};
#pragma omp parallel if (blocks > 1)
  {
    phibal_environment_watch("a thread of OpenMP began");
    backward_work work;
    for (int32_t e = 0; e < router->experts; e++) work.price[e] = price ? (double)price[e] : 0.0;
#pragma omp for schedule(dynamic)
    for (int64_t b = 0; b < blocks; b++) {
      int64_t from = b * size, to = tokens - from < size ? tokens : from + size;
      int64_t known;
#pragma omp atomic read
      known = first.place.token;
      backward_failure failure;
      if (from < known && !backward_block(&call, from, to, &work, &failure)) {
#pragma omp critical(phibal_router_failure)
        if (failure.place.token < first.place.token) {
#pragma omp atomic write
          first.place.token = failure.place.token;
          first.place.expert = failure.place.expert;
          first.logit = failure.logit;
        }
      }
    }
  }
  if (first.place.token != INT64_MAX) return backward_report(&call, &first);
  return phibal_environment_check("router backward");
}
