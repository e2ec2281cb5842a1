/* Balancing on a device (model_balance.c): loads, prices and losses between the passes of a call,
   and what a finished step leaves behind, of all layers at once. Loads are exact and the rest is
   the CPU's operations in the CPU's order, so that from the same logits m, biases and prices have
   the CPU's bits, on any number of ranks. */
#include "device_internal.h"

/* The step's loads of all layers += this call's, of all ranks. */
static phibal_status add_loads(device *d) {
  const device_library *l = &d->library;
  const int32_t E = d->model.config.experts, L = d->model.moe_layers;
  if (!d->ranks) return l->loads_add(L, E, d->step_loads, d->call_loads, &d->call);
  uint64_t *probability = d->loads_sum + L;
  const phibal_cuda_loads sum = {(int64_t *)d->loads_sum, probability,
                                 (int64_t *)(probability + (int64_t)L * E * PHIBAL_LOAD_LIMBS)};
  const size_t bytes = sizeof *d->loads_sum * (size_t)d->loads_sum_count;
  phibal_status status = l->zero(d->loads_sum, bytes, &d->call);
  RUN(l->loads_add(L, E, sum, d->call_loads, &d->call));
  /* A rank's limbs are below 2^32: sums of 2^31 ranks fit, and the addition carries. */
  RUN(l->ranks_sum_integers(d->ranks, d->loads_sum_count, d->loads_sum, &d->call));
  RUN(l->loads_add(L, E, d->step_loads, sum, &d->call));
  return status;
}

static phibal_cuda_balance of_layers(const device *d) {
  const model *m = &d->model;
  return (phibal_cuda_balance){
      .layers = m->moe_layers, .experts = m->config.experts, .active = m->config.active};
}

/* (M5) next = (1 - eta) m + eta (mean or frequency of the step's loads so far). */
static phibal_cuda_balance tracked(const device *d, float *next) {
  const model *m = &d->model;
  phibal_cuda_balance b = of_layers(d);
  b.tokens = d->step_loads.tokens;
  b.loads = d->mean;
  if (balance_tracks_frequency(&m->balance)) { /* in the place of the means */
    b.count = d->step_loads.count;
    b.frequencies = d->mean;
  } else {
    b.probability = d->step_loads.probability;
  }
  b.eta = m->balance.eta;
  b.m = m->m;
  b.next = next;
  return b;
}

/* (M5) into `next`, and into d->prices the prices (M3) there; where the start is corrected, (M6),
   at next over 1 - (1 - eta)^t in d->state, which may be `next`. */
static phibal_status track_and_price(device *d, float *next) {
  const model *m = &d->model;
  const int64_t n = (int64_t)m->moe_layers * m->config.experts;
  phibal_cuda_balance b = tracked(d, next);
  if (m->balance.start == START_ZERO_CORRECTED) {
    phibal_status status = d->library.balance_step(&b, &d->call);
    RUN(d->library.scale(n, next, 1.0, balance_correction(m), d->state, &d->call));
    if (status) return status;
    b = of_layers(d);
    b.m = d->state;
  }
  b.potential = m->balance.potential;
  b.centred = d->prices;
  return d->library.balance_step(&b, &d->call);
}

phibal_status device_balance(device *d) {
  const device_library *l = &d->library;
  const model *m = &d->model;
  const balance_config *b = &m->balance;
  float *loss = d->losses + 2 * (int64_t)d->calls * m->moe_layers;
  if (m->moe_layers == 0) return PHIBAL_OK;
  phibal_status status = add_loads(d);
  d->has_price = d->shares[d->calls] > 0 && balance_has_loss(m);
  if (!d->has_price) return check_call(d, status);
  phibal_cuda_balance of_call = of_layers(d);
  of_call.tokens = d->call_loads.tokens;
  of_call.probability = d->call_loads.probability;
  of_call.loads = d->mean;
  of_call.alpha = b->alpha;
  if (b->method == BALANCE_SEQUENCE) { /* (L4): (L3) of each sequence; 0 of those without tokens */
    of_call.layers = m->moe_layers * d->parts;
    of_call.tokens = d->sequence_loads.tokens;
    of_call.probability = d->sequence_loads.probability;
    of_call.count = d->sequence_loads.count;
    of_call.frequencies = d->state;
    of_call.frequency_centred = d->prices;
    of_call.switch_loss = d->sequence_losses + (int64_t)d->calls * m->moe_layers * d->parts;
  } else if (b->method == BALANCE_PHI) { /* (L1) at m^(a) of the step's loads */
    RUN(track_and_price(d, d->state));
    of_call.m = d->state;
    of_call.potential = b->potential;
    of_call.balance_loss = loss;
  } else { /* (L3) by frequencies of this call, or of the step so far */
    of_call.frequencies = d->state;
    of_call.frequency_centred = d->prices;
    of_call.switch_loss = loss;
    if (b->method == BALANCE_SWITCH) {
      of_call.count = d->call_loads.count;
    } else {
      phibal_cuda_balance of_step = of_layers(d);
      of_step.tokens = d->step_loads.tokens;
      of_step.count = d->step_loads.count;
      of_step.frequencies = d->state;
      RUN(l->balance_step(&of_step, &d->call));
    }
  }
  RUN(l->balance_step(&of_call, &d->call));
  return check_call(d, status);
}

phibal_status device_balance_require(device *d, int32_t layer, int32_t moe_layer, int64_t tokens,
                                     const float *probabilities) {
  const model *m = &d->model;
  const device_quantiles *q = &d->quantiles;
  phibal_router router = model_router(&m->config);
  if (probabilities) router.score = PHIBAL_SCORE_OF_GATE;
  float *to = q->required + (int64_t)moe_layer * m->config.experts * q->room + q->tokens;
  return d->library.quantile_required(
      &router, tokens, probabilities ? probabilities : m->layers[layer].logits,
      m->bias + (int64_t)moe_layer * m->config.experts, m->scratch.mask, q->room, to, &d->call);
}

/* (L7) The place-th of each row's numbers, of all ranks. */
static phibal_status order_statistic(device *d, int64_t place, float *quantile) {
  const device_library *l = &d->library;
  const device_quantiles *q = &d->quantiles;
  const int64_t rows = (int64_t)d->model.moe_layers * d->model.config.experts;
  phibal_status status = PHIBAL_OK;
  for (int32_t round = 0; round <= PHIBAL_CUDA_QUANTILE_ROUNDS && !status; round++) {
    status = l->quantile_round(round, rows, q->tokens, q->room, q->required, place, q->low, q->high,
                               q->counts, quantile, &d->call);
    if (round < PHIBAL_CUDA_QUANTILE_ROUNDS && d->ranks)
      RUN(l->ranks_sum_integers(d->ranks, rows * PHIBAL_CUDA_QUANTILE_BOUNDS, q->counts, &d->call));
  }
  return status;
}

/* (L8) of every layer, into d->state. */
static phibal_status of_histograms(device *d) {
  const device_library *l = &d->library;
  const model *m = &d->model;
  const device_quantiles *q = &d->quantiles;
  const int32_t E = m->config.experts, bins = m->balance.quantile_bins;
  const bool known = m->config.gate == PHIBAL_GATE_SIGMOID;
  const float *low = known ? m->bias : d->state, *high = known ? m->bias : d->prices;
  phibal_status status = PHIBAL_OK;
  if (!known) status = order_statistic(d, 1, d->state);
  if (!known) RUN(order_statistic(d, m->global.tokens, d->prices));
  RUN(l->quantile_range(m->moe_layers, E, low, high, known ? 1.0 : 0.0, q->range, &d->call));
  for (int32_t i = 0; i < m->moe_layers; i++) {
    RUN(l->quantile_histogram(E, q->tokens, q->room, q->required + (int64_t)i * E * q->room,
                              q->range + 2 * (int64_t)i, bins, q->histogram, &d->call));
    if (d->ranks) RUN(l->ranks_sum_integers(d->ranks, (int64_t)E * bins, q->histogram, &d->call));
    RUN(l->quantile_interpolated(E, m->config.active, m->global.tokens, q->range + 2 * (int64_t)i,
                                 bins, q->histogram, d->state + (int64_t)i * E, &d->call));
  }
  return status;
}

static phibal_status quantile_biases(device *d) {
  const model *m = &d->model;
  const int32_t E = m->config.experts;
  const int64_t place = phibal_quantile_place(E, m->config.active, m->global.tokens);
  phibal_status status =
      m->balance.quantile_bins ? of_histograms(d) : order_statistic(d, place, d->state);
  phibal_cuda_balance b = of_layers(d);
  b.frequencies = d->state;
  b.frequency_centred = d->prices;
  RUN(d->library.balance_step(&b, &d->call));
  RUN(d->library.average((int64_t)m->moe_layers * E, m->balance.quantile_eta, d->prices, m->bias,
                         &d->call));
  return status;
}

phibal_status device_balance_finish(device *d) {
  const model *m = &d->model;
  const int64_t n = (int64_t)m->moe_layers * m->config.experts;
  phibal_cuda_balance b = of_layers(d);
  phibal_status status = PHIBAL_OK;
  if (n == 0) return PHIBAL_OK;
  switch (m->balance.method) {
  case BALANCE_PHI:
    b = tracked(d, m->m);
    return d->library.balance_step(&b, &d->call);
  case BALANCE_PHI_BIAS: /* (L9) */
    status = track_and_price(d, m->m);
    RUN(d->library.scale(n, d->prices, -m->balance.bias_scale, 1.0, m->bias, &d->call));
    return status;
  case BALANCE_LOSS_FREE:
    b.tokens = d->step_loads.tokens;
    b.count = d->step_loads.count;
    b.rate = m->balance.bias_rate;
    b.bias = m->bias;
    return d->library.balance_step(&b, &d->call);
  case BALANCE_QUANTILE:
    return quantile_biases(d);
  default:
    return PHIBAL_OK;
  }
}
