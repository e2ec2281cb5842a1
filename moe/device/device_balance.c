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
  if (m->balance.track == TRACK_PROBABILITY && m->balance.method != BALANCE_PHI_BIAS) {
    b.probability = d->step_loads.probability;
  } else { /* frequencies in the place of the means */
    b.count = d->step_loads.count;
    b.frequencies = d->mean;
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
  d->has_price =
      d->shares[d->calls] > 0 && (b->method == BALANCE_PHI || b->method == BALANCE_SWITCH ||
                                  b->method == BALANCE_SWITCH_GLOBAL);
  if (!d->has_price) return check_call(d, status);
  phibal_cuda_balance of_call = of_layers(d);
  of_call.tokens = d->call_loads.tokens;
  of_call.probability = d->call_loads.probability;
  of_call.loads = d->mean;
  of_call.alpha = b->alpha;
  if (b->method == BALANCE_PHI) { /* (L1) at m^(a) of the step's loads */
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

phibal_status device_balance_finish(device *d) {
  const model *m = &d->model;
  if (m->moe_layers == 0) return PHIBAL_OK;
  if (m->balance.method == BALANCE_PHI) {
    const phibal_cuda_balance b = tracked(d, m->m);
    return d->library.balance_step(&b, &d->call);
  }
  if (m->balance.method != BALANCE_LOSS_FREE) return PHIBAL_OK;
  phibal_cuda_balance b = of_layers(d);
  b.tokens = d->step_loads.tokens;
  b.count = d->step_loads.count;
  b.rate = m->balance.bias_rate;
  b.bias = m->bias;
  return d->library.balance_step(&b, &d->call);
}
