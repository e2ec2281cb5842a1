/* Router forward (R1 to R8): one pass over the logits, tile by tile. */
#include "load_sum.h"
#include "router_tile.h"
#include "select.h"
#include "select_groups.h"

typedef struct forward_call {
  const phibal_router *router;
  int64_t tokens;
  const float *logits;
  const float *bias;
  const uint8_t *mask;
  float *probabilities;
  int32_t *experts;
  float *gates;
  float *logsumexp;
} forward_call;

/* One thread's memory, on its stack. */
typedef struct forward_work {
  router_tile tile;
  _Alignas(64) int64_t key[PHIBAL_MAX_EXPERTS];
  int32_t selected[PHIBAL_MAX_EXPERTS]; /* [k][lanes] */
  float chosen[PHIBAL_MAX_EXPERTS];     /* [k][lanes], the selected logits */
  double gate[PHIBAL_MAX_EXPERTS];      /* [k][lanes]; before that, weights [E][lanes] */
  float rounded[PHIBAL_MAX_EXPERTS];    /* [E][lanes], the probabilities */
  double bias[PHIBAL_MAX_EXPERTS];      /* zeros for none */
  load_sum sum;
  int64_t counted;
} forward_work;

/* What the selection compares (R2), (R2p), of a logit x and its probability p: of the latter the
   binary32 number that is returned. */
static inline double tile_score(const phibal_router *router, float x, double p, double bias) {
  if (router->score == PHIBAL_SCORE_PROBABILITY) return (double)(float)p + bias;
  return select_score(router->gate, x, bias);
}

/* For tokens of which a key did not hold all of a score, and for groups. */
static __attribute__((noinline)) void tile_select_by_scores(const phibal_router *router, int lanes,
                                                            const float *x, forward_work *work) {
  int32_t experts = router->experts, active = router->active;
  double *score = work->tile.scratch; /* of one token */
  int32_t selected[PHIBAL_MAX_EXPERTS];
  for (int l = 0; l < lanes; l++) {
    for (int32_t e = 0; e < experts; e++)
      score[e] = tile_score(router, x[e * lanes + l], work->tile.p[e * lanes + l], work->bias[e]);
    if (router->group_score != PHIBAL_GROUP_NONE) select_groups(router, score);
    select_by_scores(experts, active, score, selected);
    for (int32_t s = 0; s < active; s++) work->selected[s * lanes + l] = selected[s];
  }
}

_Static_assert(ROUTER_LANES == SELECT_LANES, "a tile's tokens are selected side by side");

/* The selection that the caller gives; false, with the token, where it is not k different experts.
 */
ROUTER_INLINE bool tile_given(const forward_call *call, int lanes, int64_t token,
                              forward_work *work, router_failure *failure) {
  const router_tile *tile = &work->tile;
  const int32_t experts = call->router->experts, active = call->router->active;
  tile_transpose(tile->tokens, active, call->experts + token * active, active, work->selected,
                 lanes);
  for (int l = 0; l < lanes; l++) {
    bool taken[PHIBAL_MAX_EXPERTS] = {false};
    for (int32_t s = 0; s < active; s++) {
      int32_t *expert = &work->selected[s * lanes + l];
      if (!tile->live[l]) *expert = 0;
      if (!tile->live[l]) continue;
      if (*expert < 0 || *expert >= experts || taken[*expert]) {
        failure->token = token + l;
        failure->expert = -1; /* no logit's */
        return false;
      }
      taken[*expert] = true;
    }
  }
  return true;
}

/* (R2), (R2g) */
ROUTER_INLINE void tile_select(const phibal_router *router, int lanes, const float *x,
                               forward_work *work) {
  int32_t experts = router->experts, active = router->active;
  if (router->group_score != PHIBAL_GROUP_NONE) {
    tile_select_by_scores(router, lanes, x, work);
    return;
  }
  int64_t lost[ROUTER_LANES] = {0}, any = 0;
  if (core_gate_has_scores(router->gate)) {
    for (int32_t e = 0; e < experts; e++)
      for (int l = 0; l < lanes; l++)
        work->key[e * lanes + l] =
            select_key(select_score(router->gate, x[e * lanes + l], work->bias[e]), e, &lost[l]);
  } else if (router->score == PHIBAL_SCORE_PROBABILITY) {
    for (int32_t e = 0; e < experts; e++)
#pragma omp simd
      for (int l = 0; l < lanes; l++)
        work->key[e * lanes + l] =
            select_key((double)(float)work->tile.p[e * lanes + l] + work->bias[e], e, &lost[l]);
  } else {
    for (int32_t e = 0; e < experts; e++)
#pragma omp simd
      for (int l = 0; l < lanes; l++)
        work->key[e * lanes + l] = select_key(
            select_score(PHIBAL_GATE_PROBABILITY, x[e * lanes + l], work->bias[e]), e, &lost[l]);
  }
  for (int l = 0; l < lanes; l++) any |= lost[l];
  if (any != 0)
    tile_select_by_scores(router, lanes, x, work);
  else if (lanes == 1)
    select_row(experts, active, work->key, work->selected);
  else
    select_lanes(experts, active, work->key, work->selected);
}

ROUTER_INLINE void tile_logsumexp_out(const forward_call *call, int lanes, const float *x,
                                      int64_t token, forward_work *work) {
  router_tile *tile = &work->tile;
  int32_t experts = call->router->experts;
  if (core_gate_has_scores(call->router->gate)) {
    tile_weights(PHIBAL_GATE_PROBABILITY, experts, lanes, x, tile->largest, work->gate);
    tile_sum(experts, lanes, work->gate, tile->scratch, tile->total);
  }
  double result[ROUTER_LANES];
  float rounded[ROUTER_LANES];
  tile_logsumexp(tile, experts, lanes, x, result);
  for (int l = 0; l < lanes; l++) rounded[l] = (float)result[l];
  memcpy(call->logsumexp + token, rounded, (size_t)tile->tokens * sizeof(float));
}

/* (R3) to (R5e), and the routes. */
ROUTER_INLINE void tile_routes(const forward_call *call, int lanes, const float *x, int64_t token,
                               forward_work *work) {
  const phibal_router *router = call->router;
  router_tile *tile = &work->tile;
  int32_t active = router->active;
  const int32_t *selected = work->selected;
  tile_gates(router, lanes, x, selected, tile, work->chosen, work->gate, NULL);
  double scale = (double)router->scale;
  float *gates = work->chosen; /* which have been used */
  for (int32_t s = 0; s < active; s++)
#pragma omp simd
    for (int l = 0; l < lanes; l++)
      gates[s * lanes + l] = (float)(work->gate[s * lanes + l] * scale);
  tile_transpose(active, tile->tokens, selected, lanes, call->experts + token * active, active);
  tile_transpose(active, tile->tokens, gates, lanes, call->gates + token * active, active);
  if (tile->all_live) {
    for (int32_t i = 0; i < active * lanes; i++) work->sum.count[selected[i]]++;
    work->counted += lanes;
  } else {
    for (int l = 0; l < lanes; l++) {
      for (int32_t s = 0; s < active; s++)
        work->sum.count[selected[s * lanes + l]] += tile->live[l];
      work->counted += tile->live[l];
    }
  }
}

ROUTER_INLINE void tile_probabilities_out(const forward_call *call, int lanes, int64_t token,
                                          forward_work *work) {
  int32_t experts = call->router->experts;
  float *row = call->probabilities + token * experts;
  float *rounded = lanes == 1 ? row : work->rounded;
  for (int32_t i = 0; i < experts * lanes; i++) rounded[i] = (float)work->tile.p[i];
  if (lanes > 1) tile_transpose(experts, work->tile.tokens, rounded, lanes, row, experts);
}

static void forward_padding(const forward_call *call, int64_t token) {
  int32_t experts = call->router->experts, active = call->router->active;
  for (int32_t s = 0; s < active; s++) {
    call->experts[token * active + s] = -1;
    call->gates[token * active + s] = 0.0f;
  }
  if (call->probabilities)
    memset(call->probabilities + token * experts, 0, (size_t)experts * sizeof(float));
  if (call->logsumexp) call->logsumexp[token] = 0.0f;
}

/* False, with the place, at a logit that is not finite, or at routes that are none. */
ROUTER_INLINE bool forward_tile(const forward_call *call, int lanes, int64_t token,
                                forward_work *work, router_failure *failure) {
  int32_t experts = call->router->experts;
  router_tile *tile = &work->tile;
  const float *x = tile_load(tile, experts, lanes, call->tokens, call->logits, call->mask, token);
  if (!tile_largest(tile, experts, lanes, x, token, failure)) return false;
  tile_probabilities(tile, call->router->gate, experts, lanes, x);
  if (call->probabilities) tile_probabilities_out(call, lanes, token, work);
  if (call->logsumexp) tile_logsumexp_out(call, lanes, x, token, work);
  load_sum_add(&work->sum, experts * lanes, tile->p);
  if (call->router->selection != PHIBAL_SELECTION_GIVEN)
    tile_select(call->router, lanes, x, work);
  else if (!tile_given(call, lanes, token, work, failure))
    return false;
  tile_routes(call, lanes, x, token, work);
  for (int l = 0; l < tile->tokens && !tile->all_live; l++)
    if (!tile->live[l]) forward_padding(call, token + l);
  return true;
}

/* The tokens from .. to - 1. */
__attribute__((flatten)) static bool forward_block(const forward_call *call, int64_t from,
                                                   int64_t to, forward_work *work,
                                                   router_failure *failure) {
  int32_t experts = call->router->experts;
  bool side_by_side = experts <= ROUTER_LANES_EXPERTS;
  int lanes = side_by_side ? ROUTER_LANES : 1;
  if (work->sum.tokens + (to - from) > LOAD_SUM_TOKENS) load_sum_flush(&work->sum, experts, lanes);
  work->sum.tokens += to - from;
  for (int64_t token = from; token < to; token += lanes) {
    if (side_by_side) {
      if (!forward_tile(call, ROUTER_LANES, token, work, failure)) return false;
    } else if (call->mask && call->mask[token] == 0) {
      forward_padding(call, token);
    } else if (!forward_tile(call, 1, token, work, failure)) {
      return false;
    }
  }
  return true;
}

static phibal_status forward_check(const forward_call *call, const phibal_loads *loads) {
  const phibal_router *router = call->router;
  phibal_status status = router_check("router forward", router, call->tokens);
  if (status != PHIBAL_OK) return status;
  if (!loads || !loads->probability || !loads->count)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "router forward: the loads are null or were not created");
  if (loads->experts != router->experts || loads->active != router->active)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "router forward: loads of %d of %d experts for a router of %d of %d",
                             loads->active, loads->experts, router->active, router->experts);
  if (call->tokens > 0 && (!call->logits || !call->experts || !call->gates))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "router forward: the logits, experts or gates are null");
  if (call->bias && router->selection == PHIBAL_SELECTION_GIVEN)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "router forward: a selection that is given, and a bias");
  int32_t bad = first_not_finite(router->experts, call->bias);
  if (bad >= 0)
    return phibal_status_set(PHIBAL_ERROR_NONFINITE,
                             "router forward: the bias of expert %d is %g, not a finite number",
                             bad, (double)call->bias[bad]);
  return PHIBAL_OK;
}

phibal_status phibal_router_forward(const phibal_router *router, int64_t tokens,
                                    const float *logits, const float *bias, const uint8_t *mask,
                                    float *probabilities, int32_t *experts, float *gates,
                                    float *logsumexp, phibal_loads *loads) {
  forward_call call = {router,        tokens,  logits, bias,     mask,
                       probabilities, experts, gates,  logsumexp};
  phibal_status status = forward_check(&call, loads);
  if (status != PHIBAL_OK) return status;
  int lanes = router->experts <= ROUTER_LANES_EXPERTS ? ROUTER_LANES : 1;
  int64_t size = router_block(router->experts);
  int64_t blocks = tokens / size + (tokens % size != 0);
  router_failure first = {INT64_MAX, 0};
#pragma omp parallel if (blocks > 1)
  {
    phibal_environment_watch("a thread of OpenMP began");
    forward_work work;
    load_sum_clear(&work.sum, router->experts, lanes);
    work.counted = 0;
    for (int32_t e = 0; e < router->experts; e++) work.bias[e] = bias ? (double)bias[e] : 0.0;
      /* Every block before the first bad token is looked at, so the token named is the lowest. */
#pragma omp for schedule(dynamic)
    for (int64_t b = 0; b < blocks; b++) {
      int64_t from = b * size, to = tokens - from < size ? tokens : from + size;
      int64_t known;
#pragma omp atomic read
      known = first.token;
      router_failure failure;
      if (from < known && !forward_block(&call, from, to, &work, &failure)) {
#pragma omp critical(phibal_router_failure)
        if (failure.token < first.token) {
#pragma omp atomic write
          first.token = failure.token;
          first.expert = failure.expert;
        }
      }
    }
    /* All blocks are done here: the loads change only if all of them were good. */
    if (first.token == INT64_MAX) {
      load_sum_flush(&work.sum, router->experts, lanes);
#pragma omp critical(phibal_router_loads)
      {
        load_sum_merge(&work.sum, loads);
        loads->tokens += work.counted;
      }
    }
  }
  if (first.token != INT64_MAX && first.expert < 0)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "router forward: the experts given for token %lld are not %d "
                             "different ones from 0 to %d",
                             (long long)first.token, router->active, router->experts - 1);
  if (first.token != INT64_MAX)
    return phibal_status_set(
        PHIBAL_ERROR_NONFINITE,
        "router forward: the logit of token %lld for expert %d is %g, not a finite number",
        (long long)first.token, first.expert,
        (double)logits[first.token * router->experts + first.expert]);
  return phibal_environment_check("router forward");
}
