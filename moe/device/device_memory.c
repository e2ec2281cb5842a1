/* The memory of a model on a device, planned once. */
#include "device_internal.h"

#include <stdlib.h>
#include <string.h>

/* Of quantile balancing (model_balance.c). */
static void allocate_quantiles(device *d, arena *a) {
  const model *m = &d->model;
  device_quantiles *q = &d->quantiles;
  const int64_t E = m->config.experts, rows = m->moe_layers * E;
  if (m->balance.method != BALANCE_QUANTILE) return;
  q->room = (int64_t)d->most_calls * m->batch * m->config.sequence;
  q->required = arena_take(a, rows * q->room, sizeof *q->required);
  q->low = arena_take(a, rows, sizeof *q->low);
  q->high = arena_take(a, rows, sizeof *q->high);
  q->counts = arena_take(a, rows * PHIBAL_CUDA_QUANTILE_BOUNDS, sizeof *q->counts);
  if (!m->balance.quantile_bins) return;
  q->range = arena_take(a, 2 * m->moe_layers, sizeof *q->range);
  q->histogram = arena_take(a, E * m->balance.quantile_bins, sizeof *q->histogram);
}

/* Allocates or measures parameters, gradients, moments and balancing state. */
static void allocate_state(device *d, arena *a) {
  model *m = &d->model;
  const int64_t n = m->parameter_count, E = m->config.experts, L = m->moe_layers;
  m->parameters = arena_take(a, n, sizeof(float));
  d->narrow = m->precision == PRECISION_BFLOAT16 ? arena_take(a, n, sizeof *d->narrow) : NULL;
  m->gradients = arena_take(a, n, sizeof(float));
  d->trained = m->parameters;
  d->trained_gradients = m->gradients;
  device_adapters_allocate(d, a);
  d->first = arena_take(a, d->optimizer->parameters, sizeof(float));
  d->second = arena_take(a, d->optimizer->parameters, sizeof(float));
  m->m = arena_take(a, L * E, sizeof(float));
  m->bias = arena_take(a, L * E, sizeof(float));
  d->call_loads.tokens = arena_take(a, L, sizeof(int64_t));
  d->call_loads.probability = arena_take(a, L * E * PHIBAL_LOAD_LIMBS, sizeof(uint64_t));
  d->call_loads.count = arena_take(a, L * E, sizeof(int64_t));
  const size_t begin = a->used; /* of what comes to the host, one behind the other */
  d->sums = arena_take(a, 1, sizeof *d->sums);
  d->failures = arena_take(a, m->config.layers + 2, sizeof *d->failures);
  d->losses = arena_take(a, 2 * (int64_t)d->most_calls * L, sizeof(float));
  if (m->balance.method == BALANCE_SEQUENCE)
    d->sequence_losses = arena_take(a, (int64_t)d->most_calls * L * m->batch, sizeof(float));
  if (m->balance.capacity_factor > 0)
    d->kept = arena_take(a, (int64_t)d->most_calls * L, sizeof *d->kept);
  d->step_loads.tokens = arena_take(a, L, sizeof(int64_t));
  d->step_loads.probability = arena_take(a, L * E * PHIBAL_LOAD_LIMBS, sizeof(uint64_t));
  d->step_loads.count = arena_take(a, L * E, sizeof(int64_t));
  d->results = a->base ? a->base + begin : NULL;
  d->results_bytes = a->used - begin;
  d->parts = m->balance.method == BALANCE_SEQUENCE ? m->batch : 1;
  const int64_t parts = L * d->parts;
  d->mean = arena_take(a, parts * E, sizeof(float));
  d->state = arena_take(a, parts * E, sizeof(float));
  d->prices = arena_take(a, parts * E, sizeof(float));
  if (m->balance.method == BALANCE_SEQUENCE) {
    d->sequence_loads.tokens = arena_take(a, parts, sizeof(int64_t));
    d->sequence_loads.probability = arena_take(a, parts * E * PHIBAL_LOAD_LIMBS, sizeof(uint64_t));
    d->sequence_loads.count = arena_take(a, parts * E, sizeof(int64_t));
  }
  if (m->config.expert_factor) d->factor_gradient = arena_take(a, E, sizeof(float));
  allocate_quantiles(d, a);
  d->loads_sum_count = L * (1 + E * (PHIBAL_LOAD_LIMBS + 1));
  d->loads_sum = d->ranks ? arena_take(a, d->loads_sum_count, sizeof(uint64_t)) : NULL;
  d->blocks = arena_take(a, d->block_count + 1, sizeof(int64_t));
  d->step.end = arena_take(a, d->optimizer->tensor_count, sizeof(int64_t));
  d->step.decays = arena_take(a, d->optimizer->tensor_count, 1);
  d->dense_offsets = arena_take(a, 2, sizeof(int64_t));
  const int64_t tokens = (int64_t)m->batch * m->config.sequence;
  d->tokens = arena_take(a, tokens, sizeof(int32_t));
  d->targets = arena_take(a, tokens, sizeof(int32_t));
  if (d->host->starts) d->starts = arena_take(a, tokens, sizeof(int32_t));
}

/* Allocates or measures what is pinned. */
static void allocate_pinned(device *d, arena *a) {
  const model *m = &d->model;
  const int64_t tokens = (int64_t)m->batch * m->config.sequence;
  const int64_t routes = m->moe_layers * tokens * m->config.active;
  for (int32_t i = 0; i < d->most_calls; i++)
    d->inputs[i] = (device_input){
        .tokens = arena_take(a, tokens, sizeof(int32_t)),
        .targets = arena_take(a, tokens, sizeof(int32_t)),
        .starts = d->host->starts ? arena_take(a, tokens, sizeof(int32_t)) : NULL,
        .mask = arena_take(a, tokens, 1),
        .dense_offsets = arena_take(a, 2, sizeof(int64_t)),
        .given = d->routed || m->config.hash_layers ? arena_take(a, routes, sizeof(int32_t)) : NULL,
        .taken = d->host->taken ? arena_take(a, routes, sizeof(int32_t)) : NULL,
    };
  d->host_offsets =
      arena_take(a, m->config.layers * (m->config.experts + 1), sizeof *d->host_offsets);
  d->host_results = arena_take(a, (int64_t)d->results_bytes, 1);
}

static size_t larger(size_t a, size_t b) {
  return a > b ? a : b;
}

static size_t workspace_bytes(const device *d) {
  const device_library *l = &d->library;
  const model_config *c = &d->model.config;
  const int64_t tokens = (int64_t)d->model.batch * c->sequence;
  const phibal_cuda_attention attention = device_attention(d, d->model.batch);
  const phibal_cuda_attention last = device_attention(d, 1); /* a call of fewer sequences */
  const int32_t heads = c->heads * c->head_width;
  const phibal_cuda_norm widest = {tokens, 1, c->width > heads ? c->width : heads, 0,
                                   PHIBAL_ROWS_F32};
  const phibal_ffn ffn = model_ffn_shape(c, model_real_experts(c), c->hidden);
  size_t bytes =
      larger(l->attention_workspace(&attention, &d->call), l->attention_workspace(&last, &d->call));
  bytes = larger(bytes, l->norm_backward_workspace(&widest));
  bytes = larger(bytes, l->ffn_workspace(&ffn));
  bytes = larger(bytes, l->gradient_norm_workspace(d->block_count));
  if (d->ranks)
    bytes = larger(bytes, l->ranks_sum_workspace(d->rank_count, d->optimizer->parameters));
  return larger(bytes, l->permutation_workspace(tokens, c->active, c->experts, &d->call));
}

static phibal_status take(device *d, int which, size_t bytes) {
  d->memory[which] = d->library.allocate(bytes ? bytes : 1);
  if (d->memory[which]) return PHIBAL_OK;
  return phibal_status_set(PHIBAL_ERROR_MEMORY,
                           "%s: no memory for %.2f GiB; a smaller micro-batch needs less", d->name,
                           (double)bytes * 0x1p-30);
}

static phibal_status take_pinned(device *d) {
  arena measured = {0};
  allocate_pinned(d, &measured);
  d->pinned = d->library.allocate_host(measured.used);
  if (!d->pinned)
    return phibal_status_set(PHIBAL_ERROR_MEMORY, "%s: no pinned memory for %.2f GiB", d->name,
                             (double)measured.used * 0x1p-30);
  memset(d->pinned, 0, measured.used);
  arena pinned = {.base = d->pinned, .capacity = measured.used};
  allocate_pinned(d, &pinned);
  return PHIBAL_OK;
}

/* Whether the products of every layer's experts read their sizes on the device. */
static bool sizes_on_device(const device *d) {
  const model *m = &d->model;
  const model_config *c = &m->config;
  const phibal_ffn ffn = model_ffn_shape(c, model_real_experts(c), c->hidden);
  const int64_t most = (int64_t)m->batch * c->sequence * c->active;
  if (d->host->expert_ranks) return false; /* rows travel, by counts of the host */
  uintptr_t places = 0;
  for (int32_t i = 0; i < c->layers; i++) {
    const layer_weights *w = &m->weights.layers[i], *g = &m->weight_gradients.layers[i];
    const layer_activations *on = &m->layers[i];
    if (!w->router) continue;
    const void *const used[] = {device_weight(d, w->gate),
                                device_weight(d, w->up),
                                device_weight(d, w->down),
                                g->gate,
                                g->up,
                                g->down,
                                on->a,
                                on->b,
                                m->scratch.gathered_gradient,
                                m->scratch.route_gradient,
                                m->scratch.h_gradient};
    for (size_t j = 0; j < sizeof used / sizeof *used; j++) places |= (uintptr_t)used[j];
  }
  return d->library.ffn_sizes_on_device(&ffn, d->rows, most, places, &d->call);
}

phibal_status device_plan_memory(device *d) {
  const device_library *l = &d->library;
  model *m = &d->model;
  arena measured = {0};
  allocate_state(d, &measured);
  phibal_status status = take(d, 0, measured.used);
  if (status) return status;
  arena state = {.base = d->memory[0], .capacity = measured.used};
  allocate_state(d, &state);
  model_bind(m, m->parameters, &m->weights);
  model_bind(m, m->gradients, &m->weight_gradients);
  measured = (arena){0};
  model_allocate_activations(m, &measured);
  status = take(d, 1, measured.used);
  if (status) return status;
  arena activations = {.base = d->memory[1], .capacity = measured.used};
  model_allocate_activations(m, &activations);
  int32_t moe_layer = 0;
  for (int32_t i = 0; i < m->config.layers; i++)
    if (m->weights.layers[i].router)
      m->layers[i].price = d->prices + (int64_t)moe_layer++ * d->parts * m->config.experts;
  const phibal_router router = model_router(&m->config);
  const size_t any = (workspace_bytes(d) + 255) / 256 * 256;
  size_t zeroed = larger(l->router_forward_workspace(&router), l->z_loss_workspace());
  if (m->config.expert_factor) zeroed = larger(zeroed, l->gate_factor_workspace(m->config.experts));
  status = take(d, 2, any + zeroed);
  if (status) return status;
  d->zeroed = d->call;
  d->call.workspace = d->memory[2];
  d->call.workspace_bytes = any;
  d->zeroed.workspace = d->memory[2] + any;
  d->zeroed.workspace_bytes = zeroed;
  device_failures_in(d, m->config.layers);
  d->sizes_on_device = sizes_on_device(d);
  RUN(take_pinned(d));
  RUN(check_call(d, l->zero(d->memory[0], state.used, &d->call)));
  RUN(check_call(d, l->zero(d->zeroed.workspace, zeroed, &d->call)));
  return status;
}

/* Where the norm's blocks begin, and the stretches of tensors that decay: the tensors lie one after
   another. */
phibal_status device_plan_optimizer(device *d) {
  const device_library *l = &d->library;
  const optimizer *o = d->optimizer;
  int64_t *blocks = malloc(sizeof *blocks * (size_t)(d->block_count + 1));
  int64_t *end = malloc(sizeof *end * (size_t)o->tensor_count);
  uint8_t *decays = malloc((size_t)o->tensor_count);
  phibal_status status = PHIBAL_OK;
  int64_t at = 0;
  if (!blocks || !end || !decays)
    status = phibal_status_set(PHIBAL_ERROR_MEMORY, "%s: out of memory", d->name);
  for (int32_t t = 0; t < o->tensor_count && !status; t++) {
    int64_t units, elements;
    optimizer_unit(&o->tensors[t], &units, &elements);
    if (o->tensors[t].offset != at)
      status = phibal_status_set(PHIBAL_ERROR_UNSUPPORTED, "%s: %s is not contiguous", d->name,
                                 o->tensors[t].name);
    at += units * elements;
    end[t] = at;
    decays[t] = o->tensors[t].decay;
  }
  if (!status) {
    const int64_t n = optimizer_own_blocks(o->tensor_count, o->tensors, blocks);
    RUN(check_call(d, l->copy(d->blocks, blocks, sizeof *blocks * (size_t)(n + 1), &d->call)));
    RUN(check_call(
        d, l->copy((void *)d->step.end, end, sizeof *end * (size_t)o->tensor_count, &d->call)));
    RUN(check_call(d, l->copy((void *)d->step.decays, decays, (size_t)o->tensor_count, &d->call)));
    RUN(check_call(d, l->wait(&d->call)));
  }
  free(decays);
  free(end);
  free(blocks);
  d->step.parameters = o->parameters;
  d->step.segments = o->tensor_count;
  return status;
}
