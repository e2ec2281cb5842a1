/* Balancing inside a step: routes, loads, prices, losses, the gradient of the logits, and what a
   finished step leaves behind. Every MoE layer is balanced by itself. */
#include "model_internal.h"

#include "kernels/core/gate_floor.h"

#include <math.h>
#include <phibal/environment.h>
#include <stdlib.h>
#include <string.h>

phibal_status balance_create(model *m) {
  phibal_router router = model_router(&m->config);
  size_t n = (size_t)m->moe_layers;
  if (n == 0) return PHIBAL_OK;
  m->step_loads = calloc(n, sizeof *m->step_loads);
  m->loads = calloc(n, sizeof *m->loads);
  const bool quantile = m->balance.method == BALANCE_QUANTILE;
  if (quantile) m->required = calloc(n, sizeof *m->required);
  if (!m->step_loads || !m->loads || (quantile && !m->required))
    return phibal_status_set(PHIBAL_ERROR_MEMORY, "model: no memory for the loads");
  for (size_t i = 0; i < n; i++) {
    phibal_status status = phibal_loads_create(&router, &m->step_loads[i]);
    if (!status) status = phibal_loads_create(&router, &m->loads[i]);
    if (status) return status;
  }
  float start = m->balance.start == START_UNIFORM ? 1.0f / (float)m->config.experts : 0.0f;
  for (int64_t i = 0; i < (int64_t)n * m->config.experts; i++) {
    m->m[i] = start;
    m->bias[i] = 0.0f;
  }
  return PHIBAL_OK;
}

void balance_destroy(model *m) {
  for (int32_t i = 0; i < m->moe_layers; i++) {
    if (m->step_loads) phibal_loads_destroy(&m->step_loads[i]);
    if (m->loads) phibal_loads_destroy(&m->loads[i]);
    if (m->required) free(m->required[i].bias);
  }
  free(m->required);
  free(m->step_loads);
  free(m->loads);
}

bool balance_tracks_frequency(const balance_config *b) {
  return b->track == TRACK_FREQUENCY || b->method == BALANCE_PHI_BIAS;
}

/* (M5) next = (1 - eta) m + eta (mean or frequency of the step's loads so far). */
static phibal_status track(const model *m, int32_t moe_layer, float *next) {
  float loads[PHIBAL_MAX_EXPERTS];
  const phibal_loads *step = &m->step_loads[moe_layer];
  phibal_status status = balance_tracks_frequency(&m->balance) ? phibal_loads_frequency(step, loads)
                                                               : phibal_loads_mean(step, loads);
  if (status) return status;
  int32_t experts = m->config.experts;
  return phibal_ema(experts, m->balance.eta, m->m + (int64_t)moe_layer * experts, loads, next);
}

double balance_correction(const model *m) {
  if (m->balance.start != START_ZERO_CORRECTED) return 1.0;
  double kept = 1.0, factor = 1.0 - (double)m->balance.eta;
  for (int64_t t = m->steps + 1; t > 0; t /= 2) {
    if (t % 2) kept *= factor;
    factor *= factor;
  }
  return 1.0 - kept;
}

/* (M6) what the price is taken at. */
static void correct(const model *m, float *next) {
  const double by = balance_correction(m);
  for (int32_t e = 0; e < m->config.experts; e++) next[e] = (float)((double)next[e] / by);
}

static phibal_status external_refusal(const model_potential *p, int refused) {
  return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                           "model: the kernel of %s rejects the load of expert %d", p->name,
                           refused - 1);
}

/* (M3) by an external potential. */
static phibal_status external_centred(const balance_config *b, int32_t experts, const float *state,
                                      float *centred) {
  const model_potential *p = b->external;
  int refused = p->price_centred(experts, state, centred, NULL);
  if (refused) return external_refusal(p, refused);
  phibal_environment_watch("a generated kernel");
  for (int32_t e = 0; e < experts; e++)
    if (!isfinite(centred[e]))
      return phibal_status_set(PHIBAL_ERROR_NONFINITE,
                               "model: the price of %s at load %g is not finite", p->name,
                               (double)state[e]);
  return PHIBAL_OK;
}

/* (M3), (L1) by an external potential: the loss is good to binary32 of the sum of its terms' sizes,
   and no gradient depends on it. */
static phibal_status external_price(const balance_config *b, int32_t experts, const float *mean,
                                    const float *state, float *centred, float *loss) {
  const model_potential *p = b->external;
  float price[PHIBAL_MAX_EXPERTS];
  phibal_status status = external_centred(b, experts, state, centred);
  if (status) return status;
  const int refused = p->price(experts, state, price, NULL);
  if (refused) return external_refusal(p, refused);
  phibal_environment_watch("a generated kernel");
  double sum = 0;
  for (int32_t e = 0; e < experts; e++)
    if (mean[e] > 0) sum += (double)mean[e] * (double)price[e];
  *loss = (float)(b->alpha * (double)experts * sum);
  return PHIBAL_OK;
}

/* The price of `loads` (of the call, or of one sequence) and the loss (L1), (L3) or (L4) itself. */
static phibal_status price(const model *m, int32_t moe_layer, const phibal_loads *loads,
                           float *centred, float *loss) {
  const balance_config *b = &m->balance;
  int32_t experts = m->config.experts;
  float mean[PHIBAL_MAX_EXPERTS], state[PHIBAL_MAX_EXPERTS];
  phibal_status status = phibal_loads_mean(loads, mean);
  if (status) return status;
  if (b->method == BALANCE_PHI) {
    status = track(m, moe_layer, state);
    if (status) return status;
    correct(m, state);
    if (b->external) return external_price(b, experts, mean, state, centred, loss);
    status = phibal_price_centred(&b->potential, experts, state, centred, NULL);
    if (status) return status;
    return phibal_balance_loss(&b->potential, experts, b->alpha, mean, state, loss);
  }
  const phibal_loads *counted =
      b->method == BALANCE_SWITCH_GLOBAL ? &m->step_loads[moe_layer] : loads;
  status = phibal_loads_frequency(counted, state);
  if (!status) status = phibal_frequency_centred(experts, state, centred);
  if (!status) status = phibal_switch_loss(experts, b->alpha, state, mean, loss);
  return status;
}

bool balance_has_loss(const model *m) {
  balance_method method = m->balance.method;
  return method == BALANCE_PHI || method == BALANCE_SWITCH || method == BALANCE_SWITCH_GLOBAL ||
         method == BALANCE_SEQUENCE;
}

float *balance_probabilities(const model *m) {
  return m->balance.method == BALANCE_QUANTILE &&
                 m->config.selection_score == PHIBAL_SCORE_PROBABILITY
             ? m->scratch.logit_gradient
             : NULL;
}

static void divide_gates(const model_config *c, int64_t tokens, float *gates, float *sums) {
#pragma omp parallel for schedule(static)
  for (int64_t t = 0; t < tokens; t++)
    sums[t] = core_gates_over_sum(c->active, c->route_scale, c->gate_floor, gates + t * c->active);
}

static void divide_gates_backward(const model_config *c, int64_t tokens, const float *gates,
                                  const float *sums, float *gradient) {
#pragma omp parallel for schedule(static)
  for (int64_t t = 0; t < tokens; t++)
    core_gates_over_sum_backward(c->active, c->route_scale, c->gate_floor, gates + t * c->active,
                                 sums[t], gradient + t * c->active);
}

static phibal_status route(model *m, layer_activations *on, const float *bias, int64_t first,
                           int64_t tokens, phibal_loads *loads) {
  phibal_router router = model_layer_router(&m->config, on);
  float *probabilities = balance_probabilities(m);
  const int64_t slot = first * m->config.active;
  phibal_status status = phibal_router_forward(
      &router, tokens, on->logits + first * m->config.experts, on->given ? NULL : bias,
      m->scratch.mask + first, probabilities ? probabilities + first * m->config.experts : NULL,
      on->experts + slot, on->gates + slot, on->logsumexp + first, loads);
  if (!status && m->config.gate_floor > 0)
    divide_gates(&m->config, tokens, on->gates + slot, on->gate_sum + first);
  return status;
}

static const float *selection_bias(const model *m, int32_t moe_layer) {
  return model_has_bias(&m->config, m->balance.method)
             ? m->bias + (int64_t)moe_layer * m->config.experts
             : NULL;
}

/* (L4) Routes sequence by sequence; the call's loads are their sum, exactly. */
static phibal_status route_sequences(model *m, layer_activations *on, int32_t moe_layer,
                                     int32_t batch, model_losses *losses) {
  int32_t experts = m->config.experts;
  phibal_loads sequence;
  phibal_router router = model_router(&m->config);
  phibal_status status = phibal_loads_create(&router, &sequence);
  for (int32_t s = 0; s < batch && !status; s++) {
    phibal_loads_clear(&sequence);
    status = route(m, on, selection_bias(m, moe_layer), (int64_t)s * m->config.sequence,
                   m->config.sequence, &sequence);
    float *centred = on->price + (int64_t)s * experts;
    if (!status && sequence.tokens > 0) {
      float loss;
      status = price(m, moe_layer, &sequence, centred, &loss);
      if (status) break;
      losses->balance += (double)loss * ((double)sequence.tokens / (double)m->global.tokens);
    } else {
      for (int32_t e = 0; e < experts; e++) centred[e] = 0.0f;
    }
    if (!status) status = phibal_loads_add(&m->loads[moe_layer], &sequence);
  }
  phibal_loads_destroy(&sequence);
  on->has_price = true;
  return status;
}

/* (L7) What the call's tokens would need, behind those of the step's earlier calls. Where the
   scores are probabilities, these stand for the logits of a router that selects by logits: it
   compares the same binary32 numbers. */
static phibal_status require(model *m, const layer_activations *on, int32_t moe_layer,
                             int64_t tokens) {
  const int32_t experts = m->config.experts;
  model_required *r = &m->required[moe_layer];
  if (r->tokens + tokens > r->room) {
    const int64_t room = r->tokens + tokens;
    float *grown = calloc((size_t)experts, (size_t)room * sizeof *grown);
    if (!grown)
      return phibal_status_set(PHIBAL_ERROR_MEMORY,
                               "quantile balancing: no memory for %lld tokens and %d experts",
                               (long long)room, experts);
    for (int32_t e = 0; e < experts && r->tokens > 0; e++)
      memcpy(grown + e * room, r->bias + e * r->room, (size_t)r->tokens * sizeof *grown);
    free(r->bias);
    r->bias = grown;
    r->room = room;
  }
  phibal_router router = model_router(&m->config);
  const float *scores = balance_probabilities(m);
  if (scores) router.score = PHIBAL_SCORE_OF_GATE;
  phibal_status status = phibal_quantile_required(&router, tokens, scores ? scores : on->logits,
                                                  selection_bias(m, moe_layer), m->scratch.mask,
                                                  r->room, r->bias + r->tokens);
  r->tokens += tokens;
  return status;
}

int64_t model_sequence_counts(const model *m, int32_t moe_layer, int32_t sequence,
                              int64_t *counts) {
  const model_config *c = &m->config;
  const int64_t first = (int64_t)sequence * c->sequence;
  const int32_t *experts = m->layers[c->dense_layers + moe_layer].experts + first * c->active;
  int64_t tokens = 0;
  for (int32_t e = 0; e < c->experts; e++) counts[e] = 0;
  for (int64_t i = 0; i < c->sequence; i++) {
    if (!m->scratch.mask[first + i]) continue;
    tokens++;
    for (int32_t s = 0; s < c->active; s++) counts[experts[i * c->active + s]]++;
  }
  return tokens;
}

phibal_status balance_route(model *m, int32_t layer, int32_t moe_layer, int32_t batch,
                            bool training, model_losses *losses) {
  layer_activations *on = &m->layers[layer];
  int64_t tokens = model_call_rows(m, batch);
  phibal_loads *loads = &m->loads[moe_layer];
  phibal_loads_clear(loads);
  on->has_price = false;
  on->given = model_give(m, on, moe_layer, tokens, training);
  const bool balanced = balance_acts(&m->config, moe_layer);
  if (training && balanced && m->balance.method == BALANCE_SEQUENCE) {
    phibal_status status = route_sequences(m, on, moe_layer, batch, losses);
    if (status) return status;
  } else {
    phibal_status status = route(m, on, selection_bias(m, moe_layer), 0, tokens, loads);
    if (status) return status;
  }
  if (!training) return PHIBAL_OK;
  if (m->required && balanced) {
    phibal_status status = require(m, on, moe_layer, tokens);
    if (status) return status;
  }
  phibal_loads *step = &m->step_loads[moe_layer];
  phibal_status status = m->ranks ? m->ranks->add_loads(m->ranks->context, loads, step)
                                  : phibal_loads_add(step, loads);
  if (status || loads->tokens == 0) return status;
  double share = (double)loads->tokens / (double)m->global.tokens;
  if (balanced && balance_has_loss(m) && m->balance.method != BALANCE_SEQUENCE) {
    float loss;
    status = price(m, moe_layer, loads, on->price, &loss);
    if (status) return status;
    on->has_price = true;
    losses->balance += (double)loss * share;
  }
  if (m->balance.z_coefficient > 0) {
    float loss;
    status = phibal_z_loss(tokens, m->balance.z_coefficient, on->logsumexp, m->scratch.mask, &loss);
    losses->z += (double)loss * share;
  }
  return status;
}

phibal_status balance_route_backward(model *m, int32_t layer, int32_t batch) {
  const model_config *c = &m->config;
  layer_activations *on = &m->layers[layer];
  model_scratch *s = &m->scratch;
  phibal_router router = model_layer_router(c, on);
  double global = (double)m->global.tokens;
  double price_scale = m->balance.alpha * (double)c->experts / global;
  double z_scale = 2.0 * m->balance.z_coefficient / global;
  bool by_sequence = m->balance.method == BALANCE_SEQUENCE;
  int64_t tokens = by_sequence ? c->sequence : (int64_t)batch * c->sequence;
  phibal_status status = PHIBAL_OK;
  if (c->gate_floor > 0)
    divide_gates_backward(c, (int64_t)batch * c->sequence, on->gates, on->gate_sum,
                          s->gate_gradient);
  for (int64_t part = 0; part < (by_sequence ? batch : 1) && !status; part++) {
    int64_t first = part * tokens;
    status = phibal_router_backward(&router, tokens, on->logits + first * c->experts,
                                    s->mask + first, on->experts + first * c->active,
                                    s->gate_gradient + first * c->active,
                                    on->has_price ? on->price + part * c->experts : NULL,
                                    price_scale, z_scale, s->logit_gradient + first * c->experts);
  }
  return status;
}

/* (L9) b = -c (price - mean) of the loads that are followed. */
static phibal_status phi_bias(model *m, int32_t moe_layer) {
  const balance_config *b = &m->balance;
  const int32_t experts = m->config.experts;
  float *tracked = m->m + (int64_t)moe_layer * experts;
  float *bias = m->bias + (int64_t)moe_layer * experts;
  float state[PHIBAL_MAX_EXPERTS], centred[PHIBAL_MAX_EXPERTS];
  phibal_status status = track(m, moe_layer, tracked);
  if (status) return status;
  memcpy(state, tracked, (size_t)experts * sizeof *state);
  correct(m, state);
  status = b->external ? external_centred(b, experts, state, centred)
                       : phibal_price_centred(&b->potential, experts, state, centred, NULL);
  for (int32_t e = 0; e < experts && !status; e++)
    bias[e] = (float)(-b->bias_scale * (double)centred[e]);
  return status;
}

/* (L7), or (L8) over the range that holds every number: that of sigmoid scores, which are 0 to 1,
   or the least and the greatest one. */
static phibal_status quantile_bias(model *m, int32_t moe_layer) {
  const int32_t experts = m->config.experts, active = m->config.active;
  const int32_t bins = m->balance.quantile_bins;
  model_required *r = &m->required[moe_layer];
  float *bias = m->bias + (int64_t)moe_layer * experts;
  float quantile[PHIBAL_MAX_EXPERTS], ends[PHIBAL_MAX_EXPERTS];
  const int64_t tokens = m->step_loads[moe_layer].tokens, own = r->tokens;
  const phibal_quantile_ranks all = {m->ranks ? m->ranks->context : NULL,
                                     m->ranks ? m->ranks->sums : NULL};
  const phibal_quantile_ranks *ranks = m->ranks ? &all : NULL;
  r->tokens = 0;
  if (tokens == 0) return PHIBAL_OK;
  if (bins == 0) {
    phibal_status status =
        phibal_quantile(experts, own, r->room, r->bias,
                        phibal_quantile_place(experts, active, tokens), ranks, quantile);
    return status ? status : phibal_quantile_bias(experts, m->balance.quantile_eta, quantile, bias);
  }
  phibal_status status = PHIBAL_OK;
  float low = INFINITY, high = -INFINITY;
  if (m->config.gate == PHIBAL_GATE_SIGMOID) {
    for (int32_t e = 0; e < experts; e++) {
      const float below = (float)((double)bias[e] - 1.0), above = (float)((double)bias[e] + 1.0);
      if (below < low) low = below;
      if (above > high) high = above;
    }
  } else {
    status = phibal_quantile(experts, own, r->room, r->bias, 1, ranks, ends);
    for (int32_t e = 0; e < experts && !status; e++)
      if (ends[e] < low) low = ends[e];
    if (!status) status = phibal_quantile(experts, own, r->room, r->bias, tokens, ranks, ends);
    for (int32_t e = 0; e < experts && !status; e++)
      if (ends[e] > high) high = ends[e];
  }
  if (status) return status;
  if (low == high) { /* all numbers are the same */
    for (int32_t e = 0; e < experts; e++) quantile[e] = low;
    return phibal_quantile_bias(experts, m->balance.quantile_eta, quantile, bias);
  }
  const int64_t n = (int64_t)experts * bins;
  int64_t *count = calloc((size_t)n, sizeof *count);
  if (!count)
    return phibal_status_set(PHIBAL_ERROR_MEMORY,
                             "quantile balancing: no memory for %d bins for each of %d experts",
                             bins, experts);
  status = phibal_quantile_histogram(experts, own, r->room, r->bias, low, high, bins, count);
  if (ranks) ranks->sum(ranks->context, n, count);
  if (!status)
    status = phibal_quantile_interpolated(experts, active, low, high, bins, count, quantile);
  free(count);
  return status ? status : phibal_quantile_bias(experts, m->balance.quantile_eta, quantile, bias);
}

phibal_status balance_finish(model *m) {
  int32_t experts = m->config.experts;
  for (int32_t i = m->config.hash_layers; i < m->moe_layers; i++) {
    phibal_status status = PHIBAL_OK;
    if (m->balance.method == BALANCE_PHI)
      status = track(m, i, m->m + (int64_t)i * experts);
    else if (m->balance.method == BALANCE_LOSS_FREE)
      status = phibal_loss_free_update(experts, m->balance.bias_rate, m->step_loads[i].count,
                                       m->bias + (int64_t)i * experts);
    else if (m->balance.method == BALANCE_PHI_BIAS)
      status = phi_bias(m, i);
    else if (m->balance.method == BALANCE_QUANTILE)
      status = quantile_bias(m, i);
    if (status) return status;
  }
  return PHIBAL_OK;
}
