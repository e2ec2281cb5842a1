/* A model on a device: the training step, and transfers to and from the host. */
#include "device_adamw.h"
#include "device_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Features without device kernels. */
static phibal_status check(const model *m, const lora *adapters, model_precision precision) {
  const model_config *c = &m->config;
  const balance_config *b = &m->balance;
  const struct {
    bool asked;
    const char *what;
  } missing[] = {
      {c->latent_width > 0, "latent attention"},
      {!c->latent_width && c->rope_width && c->rope_width < c->head_width, "rope_width"},
      {c->qkv_bias, "qkv_bias"},
      {c->post_norm, "post_norm"},
      {c->shared_gate, "shared_gate"},
      {c->window > 0, "window"},
      {c->sinks, "sinks"},
      {c->output_bias, "output_bias"},
      {c->expert_limit > 0, "expert_limit"},
      {c->attention_multiplier != 0 && c->attention_multiplier != 1, "scaled scores of attention"},
      {c->heads > PHIBAL_MAX_EXPERTS, "more than 1024 heads"},
      {adapters && adapters->dropout > 0, "lora.dropout"},
      {precision == PRECISION_BFLOAT16 && m->expert_ranks && c->width % 2,
       "parallel.experts with rows in bfloat16 of an odd width"},
      {b->external != NULL, "a potential from a file"},
  };
  for (size_t i = 0; i < sizeof missing / sizeof *missing; i++)
    if (missing[i].asked)
      return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED, "training on a device has no %s yet",
                               missing[i].what);
  return PHIBAL_OK;
}

/* Waits for the stream. */
static phibal_status wait_for(device *d) {
  phibal_status status =
      d->ranks ? d->library.ranks_wait(d->ranks, &d->call) : d->library.wait(&d->call);
  d->waited = true;
  return check_call(d, status);
}

/* What of a device's results came to the host. */
static const void *come(const device *d, const void *result) {
  return d->host_results + ((const unsigned char *)result - d->results);
}

/* What data has broken, by the failures that came to the host. */
static phibal_status broken(const device *d) {
  const uint64_t *failures = come(d, d->failures);
  for (int32_t i = 0; i < d->model.config.layers + 2; i++) {
    const phibal_status status = d->library.failure(failures[i]);
    if (!status) continue;
    if (i >= d->model.config.layers) return check_call(d, status);
    return phibal_status_set(status, "%s: layer %d: %s", d->name, i, d->library.message());
  }
  return PHIBAL_OK;
}

phibal_status device_result(device *d) {
  phibal_status status = check_call(
      d, d->library.copy((void *)come(d, d->failures), d->failures,
                         sizeof *d->failures * (size_t)(d->model.config.layers + 2), &d->call));
  RUN(wait_for(d));
  return status ? status : broken(d);
}

static void model_on_device(device *d, const model *host, model_precision precision) {
  d->rows = precision == PRECISION_BFLOAT16 ? PHIBAL_ROWS_BF16 : PHIBAL_ROWS_F32;
  d->model = (model){.config = host->config,
                     .balance = host->balance,
                     .precision = precision,
                     .on_device = true,
                     .batch = host->batch,
                     .moe_layers = host->moe_layers,
                     .tensor_count = host->tensor_count,
                     .parameter_count = host->parameter_count,
                     .tensors = host->tensors,
                     .expert_ranks = host->expert_ranks,
                     .steps = host->steps};
}

/* What the host has now. */
static phibal_status push(device *d) {
  const device_library *l = &d->library;
  const model *host = d->host;
  model *m = &d->model;
  const size_t n = sizeof(float) * (size_t)m->parameter_count;
  const size_t balance = sizeof(float) * (size_t)m->moe_layers * (size_t)m->config.experts;
  const size_t rotation =
      sizeof(float) * (size_t)m->config.sequence * (size_t)(model_rope_width(&m->config) / 2);
  const size_t moments = sizeof(float) * (size_t)d->optimizer->parameters;
  phibal_status status = l->copy(m->parameters, host->parameters, n, &d->call);
  if (d->narrow) RUN(l->narrow(m->parameter_count, m->parameters, d->narrow, &d->call));
  RUN(l->copy(d->first, d->optimizer->first, moments, &d->call));
  RUN(l->copy(d->second, d->optimizer->second, moments, &d->call));
  RUN(l->copy(m->m, host->m, balance, &d->call));
  RUN(l->copy(m->bias, host->bias, balance, &d->call));
  RUN(l->copy(m->scratch.rotation_cosine, host->scratch.rotation_cosine, rotation, &d->call));
  RUN(l->copy(m->scratch.rotation_sine, host->scratch.rotation_sine, rotation, &d->call));
  RUN(l->wait(&d->call));
  RUN(device_adapters_push(d));
  return check_call(d, status);
}

static phibal_status create_host_side(device *d) {
  model *m = &d->model;
  const size_t L = (size_t)m->config.layers, calls = (size_t)d->most_calls;
  m->weights.layers = calloc(L, sizeof *m->weights.layers);
  m->weight_gradients.layers = calloc(L, sizeof *m->weight_gradients.layers);
  m->layers = calloc(L, sizeof *m->layers);
  d->inputs = calloc(calls + 1, sizeof *d->inputs);
  d->shares = calloc(calls + 1, sizeof *d->shares);
  d->seen = calloc(calls + 1, sizeof *d->seen);
  if (m->weights.layers && m->weight_gradients.layers && m->layers && d->inputs && d->shares &&
      d->seen)
    return PHIBAL_OK;
  return phibal_status_set(PHIBAL_ERROR_MEMORY, "%s: out of memory", d->name);
}

static phibal_status join(device *d, const parallel *ranks) {
  if (!ranks) return PHIBAL_OK;
  d->rank_count = ranks->ranks;
  const phibal_cuda_peers peers = {.context = ranks,
                                   .rank = ranks->rank,
                                   .ranks = ranks->ranks,
                                   .local = ranks->local,
                                   .seconds = parallel_timeout(),
                                   .gather = parallel_gather,
                                   .lost = parallel_lost};
  return check_call(d, d->library.ranks_create(&peers, &d->ranks));
}

phibal_status device_create_with(const device_library *library, const char *kind, model *m,
                                 lora *adapters, optimizer *o, model_precision precision,
                                 int32_t calls, const parallel *ranks, device **created) {
  *created = NULL;
  phibal_status status = check(m, adapters, precision);
  if (!status && o->parts)
    status = phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                               "training on a device has no sharded optimizer yet");
  if (status) return status;
  device *d = calloc(1, sizeof *d);
  if (!d) return phibal_status_set(PHIBAL_ERROR_MEMORY, "device: out of memory");
  snprintf(d->name, sizeof d->name, "%s", kind);
  d->host = m;
  d->optimizer = o;
  d->lora = adapters;
  d->most_calls = calls;
  d->block_count = optimizer_blocks(o->tensor_count, o->tensors);
  d->step = device_adamw(&o->config);
  d->starts = (int32_t *)m->starts;
  d->routed = m->routes != NULL;
  d->waited = true;
  model_on_device(d, m, precision);
  if (library)
    d->library = *library;
  else
    status = device_library_open(kind, &d->library);
  RUN(join(d, ranks));
  RUN(check_call(d, d->library.describe(&d->call)));
  RUN(check_call(d, d->library.stream_create(&d->call)));
  RUN(check_call(d, d->library.products_create(&d->call)));
  const phibal_cuda_attention attention = device_attention(d, d->model.batch);
  if (precision == PRECISION_BFLOAT16)
    RUN(check_call(d, d->library.attention_create(&attention, &d->call)));
  RUN(create_host_side(d));
  RUN(device_plan_memory(d));
  RUN(device_plan_optimizer(d));
  RUN(device_exchange_create(d, ranks));
  RUN(push(d));
  if (status) {
    device_destroy(d);
    return status;
  }
  *created = d;
  return PHIBAL_OK;
}

phibal_status device_create(const char *kind, model *m, lora *adapters, optimizer *o,
                            model_precision precision, int32_t calls, const parallel *ranks,
                            device **created) {
  return device_create_with(NULL, kind, m, adapters, o, precision, calls, ranks, created);
}

const char *device_attention_by(const device *d) {
  const phibal_cuda_attention attention = device_attention(d, d->model.batch);
  return d->library.attention_by(&attention, &d->call);
}

void device_destroy(device *d) {
  if (!d) return;
  if (!d->waited) d->library.wait(&d->call); /* what is freed may be on its way */
  device_exchange_destroy(d);
  for (int i = 0; i < 3; i++)
    if (d->memory[i]) d->library.free(d->memory[i]);
  if (d->call.attention) d->library.attention_destroy(&d->call);
  if (d->call.products) d->library.products_destroy(&d->call);
  if (d->ranks) d->library.ranks_destroy(d->ranks);
  if (d->pinned) d->library.free_host(d->pinned);
  if (d->call.stream) d->library.stream_destroy(&d->call);
  free(d->seen);
  free(d->shares);
  free(d->inputs);
  free(d->model.layers);
  free(d->model.weight_gradients.layers);
  free(d->model.weights.layers);
  device_library_close(&d->library);
  free(d);
}

/* Of so many layers, or sequences of all. */
static phibal_status zero_loads(device *d, int32_t layers, const phibal_cuda_loads *loads) {
  const device_library *l = &d->library;
  const size_t E = (size_t)d->model.config.experts, L = (size_t)layers;
  phibal_status status = l->zero(loads->tokens, sizeof(int64_t) * L, &d->call);
  RUN(l->zero(loads->probability, sizeof(uint64_t) * L * E * PHIBAL_LOAD_LIMBS, &d->call));
  RUN(l->zero(loads->count, sizeof(int64_t) * L * E, &d->call));
  return status;
}

bool device_gradient_is_product(const model *m, const float *gradient) {
  const model_config *c = &m->config;
  const int64_t qkv = (int64_t)(c->heads + 2 * c->key_value_heads) * c->head_width * c->width;
  if (gradient == m->weight_gradients.head) return true;
  for (int32_t i = 0; i < c->layers; i++) {
    const layer_weights *g = &m->weight_gradients.layers[i];
    const float *const products[] = {g->o,    g->router,      g->gate,      g->up,
                                     g->down, g->shared_gate, g->shared_up, g->shared_down};
    if (gradient >= g->qkv && gradient < g->qkv + qkv) return true; /* three tensors, one product */
    for (size_t j = 0; j < sizeof products / sizeof *products; j++)
      if (products[j] && gradient == products[j]) return true;
  }
  return false;
}

/* 0 where the first call's backward pass adds: norms, and the embedding where the head is another.
   What products make they overwrite in the first call. Neighbours at once. */
static phibal_status zero_gradients(device *d) {
  const model *m = &d->model;
  phibal_status status = PHIBAL_OK;
  int64_t begin = 0;
  for (int32_t t = 0; t <= m->tensor_count; t++) {
    const int64_t at = t < m->tensor_count ? m->tensors[t].offset : m->parameter_count;
    if (t < m->tensor_count && !device_gradient_is_product(m, m->gradients + at)) continue;
    if (at > begin)
      RUN(d->library.zero(m->gradients + begin, sizeof(float) * (size_t)(at - begin), &d->call));
    if (t < m->tensor_count)
      begin = t + 1 < m->tensor_count ? m->tensors[t + 1].offset : m->parameter_count;
  }
  return status;
}

phibal_status device_step_begin(device *d, model_batch global) {
  const device_library *l = &d->library;
  model *m = &d->model;
  phibal_status status = model_check_begin(global);
  if (status) return status;
  m->global = global;
  m->step = (model_batch){0, 0};
  d->calls = 0;
  d->quantiles.tokens = 0;
  if (!d->waited) status = wait_for(d); /* a step that has failed may still be reading its inputs */
  device_failures_in(d, m->config.layers);
  RUN(l->zero(d->results, d->results_bytes, &d->call));
  RUN(l->expect_all(m->config.layers + 2, d->failures, &d->call));
  RUN(zero_gradients(d));
  return check_call(d, status);
}

static int64_t call_tokens(const device *d, int32_t batch) {
  return (int64_t)batch * d->model.config.sequence;
}

static phibal_status embedding(void *of, int32_t batch) {
  device *d = of;
  const model *m = &d->model;
  return check_call(d,
                    d->library.embedding_forward(call_tokens(d, batch), m->config.width, d->tokens,
                                                 model_embedding_scale(&m->config),
                                                 m->weights.embedding, m->layers[0].x, &d->call));
}

static phibal_status in_layer(const device *d, int32_t layer, phibal_status status) {
  return status ? phibal_status_set(status, "layer %d: %s", layer, d->library.message())
                : PHIBAL_OK;
}

static phibal_status attention(void *of, int32_t layer, int32_t batch) {
  device *d = of;
  device_failures_in(d, layer);
  return in_layer(d, layer, device_attention_forward(d, layer, batch));
}

static phibal_status ffn(void *of, int32_t layer, int32_t moe_layer, int32_t batch, float *out) {
  device *d = of;
  return in_layer(d, layer, device_ffn_forward(d, layer, moe_layer, batch, out));
}

static phibal_status last_norm(void *of, int32_t batch) {
  device *d = of;
  model *m = &d->model;
  const phibal_cuda_norm norm = device_norm(d, call_tokens(d, batch));
  device_failures_in(d, m->config.layers);
  return check_call(d, d->library.norm_forward(&norm, m->last, m->config.width, m->weights.norm,
                                               d->rows, m->scratch.output, m->config.width,
                                               m->scratch.output_inverse, &d->call));
}

static phibal_status recompute(void *of, int32_t layer, int32_t batch) {
  device *d = of;
  phibal_status status = device_attention_forward(d, layer, batch);
  RUN(device_ffn_recompute(d, layer, batch));
  return check_call(d, status);
}

static phibal_status ffn_gradient(void *of, int32_t layer, int32_t batch) {
  return check_call(of, device_ffn_backward(of, layer, batch));
}

static phibal_status attention_gradient(void *of, int32_t layer, int32_t batch) {
  return check_call(of, device_attention_backward(of, layer, batch));
}

static phibal_status embedding_gradient(void *of, int32_t batch) {
  device *d = of;
  const model *m = &d->model;
  return check_call(d, d->library.embedding_backward(call_tokens(d, batch), m->config.width,
                                                     d->tokens, model_embedding_scale(&m->config),
                                                     m->scratch.stream_gradient,
                                                     m->weight_gradients.embedding, &d->call));
}

static const model_pass on_device = {.embedding = embedding,
                                     .attention = attention,
                                     .ffn = ffn,
                                     .norm = last_norm,
                                     .recompute = recompute,
                                     .ffn_backward = ffn_gradient,
                                     .attention_backward = attention_gradient,
                                     .embedding_backward = embedding_gradient};

/* Logits exist for a block of rows at a time. */
static phibal_status head(device *d, int32_t batch) {
  const device_library *l = &d->library;
  model *m = &d->model;
  const model_config *c = &m->config;
  model_scratch *s = &m->scratch;
  const int64_t tokens = (int64_t)batch * c->sequence, width = c->width, V = c->vocabulary;
  const head_shape shape = {tokens, c->width, c->vocabulary, c->logit_softcap};
  const int64_t block = model_head_block(m, &shape);
  const void *head = device_weight(d, m->weights.head);
  phibal_status status = PHIBAL_OK;
  for (int64_t first = 0; first < tokens && !status; first += block) {
    const int64_t rows = block < tokens - first ? block : tokens - first;
    const phibal_cuda_loss loss = {.rows = rows,
                                   .vocabulary = c->vocabulary,
                                   .softcap = c->logit_softcap,
                                   .type = d->rows,
                                   .gradient = 1,
                                   .scale = 1.0 / (double)m->global.targets};
    const void *x = device_row_at(d, s->output, first * width);
    status = l->linear(rows, V, width, d->rows, x, head, NULL, d->rows, s->head_logits, &d->call);
    RUN(l->cross_entropy(&loss, d->targets + first, s->head_logits, s->row_loss + first,
                         &d->sums->cross_entropy, &d->sums->correct, &d->sums->targets, &d->call));
    RUN(l->linear_input_gradient(rows, V, width, d->rows, s->head_logits, head, PHIBAL_ROWS_F32,
                                 s->normed_gradient + first * width, &d->call));
    RUN(l->linear_weight_gradient(rows, V, width, d->rows, s->head_logits, x,
                                  m->weight_gradients.head, d->calls > 0 || first > 0, &d->call));
  }
  const phibal_cuda_norm norm = device_norm(d, tokens);
  RUN(l->norm_backward(&norm, m->last, width, m->weights.norm, s->output_inverse,
                       s->normed_gradient, width, 0, s->stream_gradient, width,
                       m->weight_gradients.norm, &d->call));
  return check_call(d, status);
}

/* Routes that are given, to where each layer has its own. */
static phibal_status give_routes(device *d, int32_t batch, const int32_t *tokens) {
  model *m = &d->model;
  const int64_t n = (int64_t)batch * m->config.sequence, routes = n * m->config.active;
  const device_input *in = &d->inputs[d->calls];
  phibal_status status = PHIBAL_OK;
  d->host->tokens = tokens;
  for (int32_t i = 0; in->given && i < m->moe_layers; i++) {
    layer_activations *on = &m->layers[m->config.dense_layers + i];
    layer_activations host = {.experts = in->given + i * routes};
    on->given = model_give(d->host, &host, i, n, true);
    if (!on->given) break; /* hashes are those of the first layers */
    RUN(d->library.copy(on->experts, host.experts, sizeof *on->experts * (size_t)routes, &d->call));
  }
  return status;
}

static phibal_status take_routes(device *d, int32_t batch) {
  const model *m = &d->model;
  const int64_t routes = (int64_t)batch * m->config.sequence * m->config.active;
  device_input *in = &d->inputs[d->calls];
  phibal_status status = PHIBAL_OK;
  in->recorded = d->host->taken;
  in->batch = batch;
  for (int32_t i = 0; in->taken && i < m->moe_layers; i++)
    RUN(d->library.copy(in->taken + i * routes, m->layers[m->config.dense_layers + i].experts,
                        sizeof *in->taken * (size_t)routes, &d->call));
  return check_call(d, status);
}

/* Those of the step's calls, which have come to the host. */
static void keep_routes(const device *d) {
  const model *m = &d->model;
  for (int32_t call = 0; call < d->calls; call++) {
    const device_input *in = &d->inputs[call];
    const int64_t routes = (int64_t)in->batch * m->config.sequence * m->config.active;
    for (int32_t i = 0; in->taken && i < m->moe_layers; i++)
      model_take_routes(d->host, i, in->batch, in->taken + i * routes, in->recorded);
  }
}

/* Tokens, targets, mask and the rows of dense layers to the device; the call's tokens are counted
   here. */
static phibal_status accept(device *d, int32_t batch, const int32_t *tokens,
                            const int32_t *targets) {
  const device_library *l = &d->library;
  model *m = &d->model;
  const size_t n = (size_t)batch * (size_t)m->config.sequence;
  if (batch < 1 || batch > m->batch || d->calls >= d->most_calls)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "device: %d sequences in call %d, but %d in each of %d were planned",
                             batch, d->calls + 1, m->batch, d->most_calls);
  if (!d->starts != !d->host->starts)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "device: isolated documents (model_set_starts) must be set at the "
                             "beginning, for all calls or none");
  const device_input *in = &d->inputs[d->calls];
  if (d->routed != (d->host->routes != NULL) || !in->taken != !d->host->taken)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "device: routes (model_set_routes) must be set at the beginning, for "
                             "all calls or none");
  phibal_status status = model_check_call(&m->config, batch, tokens, targets, in->mask);
  if (status) return status;
  const model_batch seen = model_batch_count((int64_t)n, tokens, targets);
  m->step.targets += seen.targets;
  m->step.tokens += seen.tokens;
  d->seen[d->calls] = seen.tokens;
  d->shares[d->calls] = (double)seen.tokens / (double)m->global.tokens;
  d->host_dense[1] = (int64_t)n;
  memcpy(in->tokens, tokens, sizeof *tokens * n);
  memcpy(in->targets, targets, sizeof *targets * n);
  if (d->starts) memcpy(in->starts, d->host->starts, sizeof *in->starts * n);
  memcpy(in->dense_offsets, d->host_dense, sizeof d->host_dense);
  d->waited = false;
  status = l->copy(d->tokens, in->tokens, sizeof *tokens * n, &d->call);
  RUN(l->copy(d->targets, in->targets, sizeof *targets * n, &d->call));
  if (d->starts) RUN(l->copy(d->starts, in->starts, sizeof *d->starts * n, &d->call));
  RUN(l->copy(m->scratch.mask, in->mask, n, &d->call));
  RUN(l->copy(d->dense_offsets, in->dense_offsets, sizeof d->host_dense, &d->call));
  RUN(give_routes(d, batch, tokens));
  RUN(zero_loads(d, m->moe_layers, &d->call_loads));
  if (d->sequence_losses) RUN(zero_loads(d, m->moe_layers * d->parts, &d->sequence_loads));
  return check_call(d, status);
}

phibal_status device_forward_backward(device *d, int32_t batch, const int32_t *tokens,
                                      const int32_t *targets) {
  phibal_status status = accept(d, batch, tokens, targets);
  RUN(model_pass_forward(&on_device, d, &d->model, batch));
  RUN(take_routes(d, batch));
  RUN(device_balance(d));
  RUN(head(d, batch));
  RUN(model_pass_backward(&on_device, d, &d->model, batch));
  d->quantiles.tokens += (int64_t)batch * d->model.config.sequence;
  d->calls++;
  return status;
}

/* The step's loads, for its metrics, of what came to the host. */
static void keep_loads(device *d) {
  const int64_t E = d->model.config.experts;
  const int64_t *tokens = come(d, d->step_loads.tokens), *count = come(d, d->step_loads.count);
  const uint64_t *probability = come(d, d->step_loads.probability);
  for (int32_t i = 0; i < d->model.moe_layers; i++) {
    phibal_loads *to = &d->host->step_loads[i];
    to->tokens = tokens[i];
    memcpy(to->probability, probability + i * E * PHIBAL_LOAD_LIMBS,
           sizeof *probability * (size_t)(E * PHIBAL_LOAD_LIMBS));
    memcpy(to->count, count + i * E, sizeof *count * (size_t)E);
  }
}

/* Over the ranks, and the norm. */
static phibal_status sum_gradients(device *d) {
  const device_library *l = &d->library;
  if (d->exchange) return device_exchange_gradients(d);
  const phibal_cuda_members all = {0, 1, d->rank_count};
  phibal_status status = PHIBAL_OK;
  float *gradients = d->trained_gradients;
  if (d->ranks) status = l->ranks_sum(d->ranks, all, d->optimizer->parameters, gradients, &d->call);
  RUN(l->gradient_norm(d->block_count, d->blocks, gradients, &d->sums->norm, &d->call));
  return status;
}

phibal_status device_finish_start(device *d, double lr) {
  const device_library *l = &d->library;
  model *m = &d->model;
  const optimizer *o = d->optimizer;
  const int32_t places = m->config.layers + 1; /* without the optimizer's own */
  d->step.lr = lr;
  d->step.first_scale = 1.0 / (1.0 - o->beta1_power * o->config.beta1);
  d->step.second_scale = 1.0 / (1.0 - o->beta2_power * o->config.beta2);
  phibal_status status = device_adapters_gradients(d);
  RUN(l->stop_on_failure(places, d->failures, d->trained_gradients, &d->call));
  device_failures_in(d, places);
  RUN(sum_gradients(d));
  RUN(l->adamw_update(&d->step, &d->sums->norm, d->trained_gradients, d->first, d->second,
                      d->trained, d->lora ? NULL : d->narrow, &d->call));
  RUN(device_adapters_apply(d));
  RUN(device_balance_finish(d));
  RUN(l->copy(d->host_results, d->results, d->results_bytes, &d->call));
  return check_call(d, status);
}

/* (L4) Of one layer in one call: each sequence by its tokens. */
static double sequence_loss(const device *d, int32_t call, int32_t layer) {
  const model *m = &d->model;
  const int64_t at = ((int64_t)call * m->moe_layers + layer) * d->parts, S = m->config.sequence;
  const float *losses = (const float *)come(d, d->sequence_losses) + at;
  double sum = 0;
  for (int32_t s = 0; s < d->inputs[call].batch; s++) {
    int64_t tokens = 0;
    for (int64_t i = 0; i < S; i++) tokens += d->inputs[call].mask[s * S + i];
    sum += (double)losses[s] * ((double)tokens / (double)m->global.tokens);
  }
  return sum;
}

phibal_status device_finish_wait(device *d, model_losses *losses, double *norm) {
  model *m = &d->model;
  optimizer *o = d->optimizer;
  phibal_status status = wait_for(d);
  RUN(broken(d));
  if (status) return status;
  keep_loads(d);
  keep_routes(d);
  const device_sums *sums = come(d, d->sums);
  o->beta1_power *= o->config.beta1;
  o->beta2_power *= o->config.beta2;
  m->steps = ++d->host->steps;
  *losses = (model_losses){
      .cross_entropy = sums->cross_entropy, .correct = sums->correct, .targets = sums->targets};
  const float *all = come(d, d->losses);
  const int64_t *kept = d->kept ? come(d, d->kept) : NULL;
  for (int32_t call = 0; call < d->calls; call++)
    for (int32_t i = 0; i < m->moe_layers; i++) {
      const float *of_call = all + 2 * (int64_t)call * m->moe_layers;
      if (balance_acts(&m->config, i))
        losses->balance +=
            d->sequence_losses ? sequence_loss(d, call, i) : (double)of_call[i] * d->shares[call];
      losses->z += (double)of_call[m->moe_layers + i] * d->shares[call];
      if (!kept) continue;
      const int64_t routes = d->seen[call] * m->config.active;
      losses->routes += routes;
      losses->dropped += routes - kept[(int64_t)call * m->moe_layers + i];
    }
  *norm = sums->norm;
  return PHIBAL_OK;
}

phibal_status device_step_finish(device *d, double lr, model_losses *losses, double *norm) {
  model *m = &d->model;
  if (d->host->ranks) {
    d->host->ranks->sum(d->host->ranks->context, &m->step.targets);
    d->host->ranks->sum(d->host->ranks->context, &m->step.tokens);
  }
  phibal_status status = model_check_finish(m->global, m->step);
  RUN(device_finish_start(d, lr));
  RUN(device_finish_wait(d, losses, norm));
  return status;
}

phibal_status device_fetch(device *d) {
  const device_library *l = &d->library;
  const model *m = &d->model;
  const size_t n = sizeof(float) * (size_t)m->parameter_count;
  const size_t moments = sizeof(float) * (size_t)d->optimizer->parameters;
  /* Those of layers with hash routing stay what they are on the host: here they are nobody's. */
  const int64_t first = (int64_t)m->config.hash_layers * m->config.experts;
  const int64_t all = (int64_t)m->moe_layers * m->config.experts;
  const size_t balance = sizeof(float) * (size_t)(all - first);
  phibal_status status = l->copy(d->host->parameters, m->parameters, n, &d->call);
  RUN(l->copy(d->optimizer->first, d->first, moments, &d->call));
  RUN(l->copy(d->optimizer->second, d->second, moments, &d->call));
  RUN(l->copy(d->host->m + first, m->m + first, balance, &d->call));
  RUN(l->copy(d->host->bias + first, m->bias + first, balance, &d->call));
  RUN(l->wait(&d->call));
  RUN(device_adapters_fetch(d));
  return check_call(d, status);
}
