/* The model's life: creation, the optimizer step as a caller sees it, evaluation. */
#include "model_internal.h"

#include "embedding.h"
#include "kernels/core/router.h"
#include "norm.h"
#include "rope.h"

#include <math.h>
#include <omp.h>
#include <phibal/environment.h>
#include <phibal/quantile.h>
#include <stdlib.h>
#include <string.h>

double model_now(void) {
  return omp_get_wtime();
}

void model_clock(double *mark, double *section) {
  double now = model_now();
  *section += now - *mark;
  *mark = now;
}

static phibal_status check(const model_config *c, const balance_config *b, int32_t batch) {
  const struct {
    const char *name;
    int64_t value, low, high;
  } bounds[] = {{"vocabulary", c->vocabulary, 1, 1 << 30},
                {"width", c->width, 1, 1 << 20},
                {"layers", c->layers, 1, 1 << 16},
                {"heads", c->heads, 1, 1 << 16},
                {"key_value_heads", c->key_value_heads, 1, c->heads},
                {"head_width", c->head_width, 2, 1 << 16},
                {"sequence", c->sequence, 1, 1 << 24},
                {"experts", c->experts, 1, PHIBAL_MAX_EXPERTS},
                {"zero_experts", c->zero_experts, 0, c->experts - 1},
                {"active", c->active, 1, c->experts},
                {"hidden", c->hidden, 1, 1 << 24},
                {"shared_experts", c->shared_experts, 0, 1 << 10},
                {"dense_layers", c->dense_layers, 0, c->layers},
                {"dense_hidden", c->dense_hidden, 0, 1 << 24},
                {"expert_groups", c->expert_groups, 0, c->experts},
                {"active_groups", c->active_groups, 0, c->experts},
                {"hash_layers", c->hash_layers, 0, c->layers},
                {"rope_original", c->rope_original, 0, 1 << 30},
                {"latent_width", c->latent_width, 0, 1 << 20},
                {"query_latent_width", c->query_latent_width, 0, 1 << 20},
                {"rope_width", c->rope_width, 0, 1 << 16},
                {"value_width", c->value_width, 0, 1 << 16},
                {"window", c->window, 0, 1 << 30},
                {"full_attention_every", c->full_attention_every, 0, 1 << 16},
                {"batch", batch, 1, 1 << 24}};
  for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++)
    if (bounds[i].value < bounds[i].low || bounds[i].value > bounds[i].high)
      return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "model: %s is %lld, not in %lld .. %lld",
                               bounds[i].name, (long long)bounds[i].value, (long long)bounds[i].low,
                               (long long)bounds[i].high);
  phibal_status status = model_check_size(c, batch);
  if (status) return status;
  if (c->heads % c->key_value_heads)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "model: key_value_heads %d does not divide heads %d",
                             c->key_value_heads, c->heads);
  if (c->head_width % 2)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "model: head_width %d is odd", c->head_width);
  if ((c->dense_layers > 0 || b->method == BALANCE_DENSE) && c->dense_hidden < 1)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "model: dense layers need dense_hidden");
  if (!(c->norm_epsilon >= 0) || !(c->rope_theta > 0) || !(c->logit_softcap >= 0))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "model: norm_epsilon and logit_softcap must not be negative, and "
                             "rope_theta must be positive");
  if (balance_has_potential(b->method)) {
    if (!(b->eta > 0 && b->eta <= 1))
      return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "model: eta %g is not in (0, 1]",
                               (double)b->eta);
    status = b->external ? PHIBAL_OK : phibal_potential_check(&b->potential);
    if (status) return status;
  }
  if (b->method == BALANCE_QUANTILE) {
    if (c->active == c->experts)
      return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                               "model: quantile balancing of %d of %d experts: with all active "
                               "there is nothing to balance",
                               c->active, c->experts);
    if (c->expert_groups > 1)
      return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                               "model: quantile balancing does not know groups of experts: what a "
                               "bias would need to select an expert depends on its group");
    if (!(b->quantile_eta > 0 && b->quantile_eta <= 1) || b->quantile_bins < 0 ||
        b->quantile_bins > PHIBAL_QUANTILE_MAX_BINS)
      return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                               "model: quantile_eta %g is not in (0, 1], or quantile_bins %d not "
                               "in 0 .. %d",
                               (double)b->quantile_eta, b->quantile_bins, PHIBAL_QUANTILE_MAX_BINS);
  }
  if (b->capacity_factor > 0 && b->method == BALANCE_DENSE)
    return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                             "model: capacity_factor is for experts: not with method dense");
  if (!(b->capacity_factor >= 0 && b->capacity_factor <= PHIBAL_CAPACITY_MOST_FACTOR) ||
      b->capacity_minimum < 0 || b->capacity_policy < PHIBAL_CAPACITY_TOKEN ||
      b->capacity_policy > PHIBAL_CAPACITY_GATE)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "model: capacity_factor %g is not in [0, %g], capacity_minimum %lld "
                             "below 0, or capacity_policy %d not known",
                             (double)b->capacity_factor, (double)PHIBAL_CAPACITY_MOST_FACTOR,
                             (long long)b->capacity_minimum, (int)b->capacity_policy);
  if (b->capacity_factor > 0 && c->zero_experts)
    return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                             "model: capacity_factor with zero_experts is not supported: what a "
                             "limit means for experts that compute nothing is not specified");
  if (c->zero_experts && b->method == BALANCE_DENSE)
    return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                             "model: zero_experts are experts: not with method dense");
  if (c->hash_layers && b->method == BALANCE_DENSE)
    return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                             "model: hash_layers have experts: not with method dense");
  if (c->expert_limit > 0 && b->method == BALANCE_DENSE)
    return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                             "model: expert_limit is for experts: not with method dense");
  if (c->expert_factor && b->method == BALANCE_DENSE)
    return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                             "model: expert_factor is for experts: not with method dense");
  if (b->z_coefficient > 0 && core_gate_has_scores(c->gate))
    return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED, "model: the z-loss needs a softmax router");
  return model_config_check(c);
}

static phibal_status create_parameters(model *m, uint64_t seed) {
  int64_t active;
  const model_config *c = &m->config;
  m->tensor_count = model_layout(c, m->balance.method, NULL, &m->parameter_count, &active);
  m->tensors = calloc((size_t)m->tensor_count, sizeof *m->tensors);
  m->weights.layers = calloc((size_t)c->layers, sizeof *m->weights.layers);
  m->weight_gradients.layers = calloc((size_t)c->layers, sizeof *m->weight_gradients.layers);
  m->layers = calloc((size_t)c->layers, sizeof *m->layers);
  if (!m->tensors || !m->weights.layers || !m->weight_gradients.layers || !m->layers)
    return phibal_status_set(PHIBAL_ERROR_MEMORY, "model: no memory for %d layers", c->layers);
  model_layout(c, m->balance.method, m->tensors, &m->parameter_count, &active);
  if (m->expert_ranks)
    m->parameter_count = model_layout_divide(m->tensor_count, m->tensors, m->expert_ranks->rank,
                                             m->expert_ranks->ranks);
  int64_t balance = (int64_t)m->moe_layers * c->experts;
  size_t bytes = 4 * 64 + 2 * sizeof(float) * (size_t)(m->parameter_count + balance);
  phibal_status status = arena_create(bytes, &m->state);
  if (status) return status;
  m->parameters = arena_take(&m->state, m->parameter_count, sizeof(float));
  m->gradients = arena_take(&m->state, m->parameter_count, sizeof(float));
  m->m = arena_take(&m->state, balance, sizeof(float));
  m->bias = arena_take(&m->state, balance, sizeof(float));
  model_bind(m, m->parameters, &m->weights);
  model_bind(m, m->gradients, &m->weight_gradients);
  model_initialise(m, seed);
  return PHIBAL_OK;
}

static int32_t count_moe_layers(const model_config *config, balance_method method) {
  int32_t count = 0;
  for (int32_t layer = 0; layer < config->layers; layer++)
    if (!layer_is_dense(config, method, layer)) count++;
  return count;
}

int64_t model_activation_bytes(const model_config *config, balance_method method,
                               model_precision precision, bool on_device, int32_t batch) {
  model m = {.config = *config,
             .balance = {.method = method},
             .precision = precision,
             .on_device = on_device,
             .batch = batch,
             .threads = omp_get_max_threads(),
             .moe_layers = count_moe_layers(config, method)};
  arena measured = {0};
  model_allocate_activations(&m, &measured);
  return measured.used > INT64_MAX ? INT64_MAX : (int64_t)measured.used;
}

static phibal_status create_activations(model *m) {
  arena measured = {0};
  model_allocate_activations(m, &measured);
  phibal_status status = arena_create(measured.used, &m->activations);
  if (status) return status;
  model_allocate_activations(m, &m->activations);
  const model_config *c = &m->config;
  const rope_frequencies frequencies = {.theta = (double)c->rope_theta,
                                        .factor = (double)c->rope_factor,
                                        .scaling = c->rope_scaling,
                                        .original = (double)c->rope_original,
                                        .fast = (double)c->rope_fast,
                                        .slow = (double)c->rope_slow,
                                        .whole = !c->rope_fraction,
                                        .magnitude = (double)c->rope_magnitude};
  if (c->hash_layers) model_fill_hash(m);
  rope_table(c->sequence, model_rope_width(c), &frequencies, m->scratch.rotation_cosine,
             m->scratch.rotation_sine);
  return PHIBAL_OK;
}

phibal_status model_create(const model_config *config, const balance_config *balance, int32_t batch,
                           uint64_t seed, model **created) {
  return model_create_part(config, balance, batch, seed, NULL, created);
}

phibal_status model_create_part(const model_config *config, const balance_config *balance,
                                int32_t batch, uint64_t seed, const model_expert_ranks *ranks,
                                model **created) {
  *created = NULL;
  phibal_status status = check(config, balance, batch);
  if (!status && ranks && model_real_experts(config) % ranks->ranks)
    status = phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                               "model: %d experts cannot be divided evenly among %d ranks",
                               model_real_experts(config), ranks->ranks);
  if (!status && ranks && config->expert_limit > 0)
    status = phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                               "parallel.experts does not support model.expert_limit yet");
  if (!status && ranks && config->recompute != RECOMPUTE_NONE)
    status = phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                               "training.recompute does not support parallel.experts yet");
  if (status) return status;
  model *m = calloc(1, sizeof *m);
  if (!m) return phibal_status_set(PHIBAL_ERROR_MEMORY, "model: out of memory");
  m->config = *config;
  m->balance = *balance;
  m->batch = batch;
  m->threads = omp_get_max_threads();
  m->moe_layers = count_moe_layers(config, balance->method);
  m->expert_ranks = ranks;
  status = create_parameters(m, seed);
  if (!status && ranks) status = exchange_create(m);
  if (!status) status = create_activations(m);
  if (!status) status = balance_create(m);
  if (status) {
    model_destroy(m);
    return status;
  }
  *created = m;
  return PHIBAL_OK;
}

void model_destroy(model *m) {
  if (!m) return;
  balance_destroy(m);
  exchange_destroy(m);
  arena_destroy(&m->activations);
  arena_destroy(&m->state);
  free(m->layers);
  free(m->weight_gradients.layers);
  free(m->weights.layers);
  free(m->tensors);
  free(m);
}

int64_t model_parameter_count(const model *m) {
  return m->parameter_count;
}

float *model_parameters(model *m) {
  return m->parameters;
}

float *model_gradients(model *m) {
  return m->gradients;
}

int32_t model_tensor_count(const model *m) {
  return m->tensor_count;
}

const model_tensor *model_tensors(const model *m) {
  return m->tensors;
}

int32_t model_moe_layers(const model *m) {
  return m->moe_layers;
}

float *model_balance_state(model *m, int32_t moe_layer) {
  return m->m + (int64_t)moe_layer * m->config.experts;
}

float *model_bias(model *m, int32_t moe_layer) {
  return m->bias + (int64_t)moe_layer * m->config.experts;
}

int64_t *model_steps(model *m) {
  return &m->steps;
}

void model_set_ranks(model *m, const model_ranks *ranks) {
  m->ranks = ranks;
}

void model_set_adapters(model *m, const model_adapters *adapters, int64_t first_token) {
  m->adapters = adapters;
  m->first_token = first_token;
}

void model_set_starts(model *m, const int32_t *starts) {
  m->starts = starts;
}

const phibal_loads *model_step_loads(const model *m, int32_t moe_layer) {
  return &m->step_loads[moe_layer];
}

const double *model_position_losses(const model *m) {
  return m->scratch.row_loss;
}

void model_logits(const model *m, int64_t position, float *logits) {
  const model_config *c = &m->config;
  const head_shape shape = {1, c->width, c->vocabulary, c->logit_softcap};
  head_logits(&shape, m->scratch.output + position * c->width, m->weights.head, logits);
}

bool model_has_bias(const model_config *config, balance_method method) {
  return config->selection_bias || balance_sets_bias(method);
}

const model_times *model_step_times(const model *m) {
  return &m->times;
}

phibal_status model_step_begin(model *m, model_batch global) {
  phibal_status status = model_check_begin(global);
  if (status) return status;
  double start = model_now();
  m->global = global;
  m->step = (model_batch){0, 0};
  m->times = (model_times){0};
  for (int32_t i = 0; i < m->moe_layers; i++) {
    phibal_loads_clear(&m->step_loads[i]);
    if (m->required) m->required[i].tokens = 0;
  }
  float *gradients = m->gradients;
  int64_t count = m->parameter_count;
#pragma omp parallel for simd schedule(static)
  for (int64_t i = 0; i < count; i++) gradients[i] = 0.0f;
  m->times.total = model_now() - start;
  return PHIBAL_OK;
}

static phibal_status accept(model *m, int32_t batch, const int32_t *tokens,
                            const int32_t *targets) {
  if (batch < 1 || batch > m->batch)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "model: a batch of %d sequences; this model was made for 1 .. %d",
                             batch, m->batch);
  m->held = 0;
  return model_check_call(&m->config, batch, tokens, targets, m->scratch.mask);
}

float model_embedding_scale(const model_config *c) {
  return c->embedding_scale ? (float)sqrt((double)c->width) : 1.0f;
}

/* A call on the host. */
typedef struct host_call {
  model *m;
  const int32_t *tokens;
  bool training;
  model_losses *losses;
} host_call;

static phibal_status embedding(void *of, int32_t batch) {
  const host_call *call = of;
  model *m = call->m;
  const model_config *c = &m->config;
  double mark = model_now();
  m->tokens = call->tokens;
  embedding_forward(model_call_rows(m, batch), c->width, call->tokens, model_embedding_scale(c),
                    m->weights.embedding, m->layers[0].x);
  model_clock(&mark, &m->times.embedding);
  return PHIBAL_OK;
}

static phibal_status attention(void *of, int32_t layer, int32_t batch) {
  model *m = ((const host_call *)of)->m;
  double mark = model_now();
  m->reached = layer;
  attention_branch_forward(m, layer, batch);
  model_clock(&mark, &m->times.attention);
  return PHIBAL_OK;
}

static phibal_status ffn(void *of, int32_t layer, int32_t moe_layer, int32_t batch, float *out) {
  const host_call *call = of;
  return ffn_branch_forward(call->m, layer, moe_layer, batch, call->training, call->losses, out);
}

static phibal_status last_norm(void *of, int32_t batch) {
  model *m = ((const host_call *)of)->m;
  const model_config *c = &m->config;
  const norm_shape norm = {model_call_rows(m, batch), 1, c->width, c->norm_epsilon};
  double mark = model_now();
  m->reached = c->layers;
  norm_forward(&norm, m->last, c->width, m->weights.norm, m->scratch.output, c->width,
               m->scratch.output_inverse);
  model_clock(&mark, &m->times.head);
  return PHIBAL_OK;
}

static phibal_status recompute(void *of, int32_t layer, int32_t batch) {
  model *m = ((const host_call *)of)->m;
  double mark = model_now();
  attention_branch_forward(m, layer, batch);
  model_clock(&mark, &m->times.attention);
  return ffn_branch_recompute(m, layer, batch);
}

static phibal_status ffn_gradient(void *of, int32_t layer, int32_t batch) {
  return ffn_branch_backward(((const host_call *)of)->m, layer, batch);
}

static phibal_status attention_gradient(void *of, int32_t layer, int32_t batch) {
  model *m = ((const host_call *)of)->m;
  double mark = model_now();
  attention_branch_backward(m, layer, batch);
  model_clock(&mark, &m->times.attention);
  return PHIBAL_OK;
}

static phibal_status embedding_gradient(void *of, int32_t batch) {
  const host_call *call = of;
  model *m = call->m;
  const model_config *c = &m->config;
  double mark = model_now();
  embedding_backward((int64_t)batch * c->sequence, c->width, call->tokens, model_embedding_scale(c),
                     m->scratch.stream_gradient, m->weight_gradients.embedding);
  model_clock(&mark, &m->times.embedding);
  return PHIBAL_OK;
}

static const model_pass on_host = {.embedding = embedding,
                                   .attention = attention,
                                   .ffn = ffn,
                                   .norm = last_norm,
                                   .recompute = recompute,
                                   .ffn_backward = ffn_gradient,
                                   .attention_backward = attention_gradient,
                                   .embedding_backward = embedding_gradient};

static phibal_status forward(model *m, int32_t batch, const int32_t *tokens, bool training,
                             model_losses *losses) {
  host_call call = {m, tokens, training, losses};
  return model_pass_forward(&on_host, &call, m, batch);
}

/* The loss, and in training the gradient of the residual stream after the last layer. */
static void head(model *m, int32_t batch, const int32_t *targets, bool training,
                 model_losses *losses) {
  const model_config *c = &m->config;
  model_scratch *s = &m->scratch;
  double mark = model_now();
  head_shape shape = {(int64_t)batch * c->sequence, c->width, c->vocabulary, c->logit_softcap};
  double scale = training ? 1.0 / (double)m->global.targets : 0.0;
  head_loss(&shape, s->output, m->weights.head, targets, scale,
            training ? s->normed_gradient : NULL, m->weight_gradients.head, s->head_logits,
            s->row_loss, &losses->cross_entropy, &losses->correct, &losses->targets);
  if (training) {
    norm_shape norm = {shape.rows, 1, c->width, c->norm_epsilon};
    norm_backward(&norm, m->last, c->width, m->weights.norm, s->output_inverse, s->normed_gradient,
                  c->width, 0, s->stream_gradient, c->width, m->weight_gradients.norm, s->norm);
  }
  model_clock(&mark, &m->times.head);
}

static phibal_status backward(model *m, int32_t batch, const int32_t *tokens) {
  host_call call = {m, tokens, true, NULL};
  return model_pass_backward(&on_host, &call, m, batch);
}

/* Says in the message of the failure where it came from. */
static void say_origin(const model *m, int32_t batch) {
  char origin[MODEL_ORIGIN];
  char *said = strdup(phibal_status_message());
  model_name_origin(m, batch, origin);
  phibal_status_set(PHIBAL_ERROR_NONFINITE, "%s%s%s", said ? said : "", *origin ? "; " : "",
                    origin);
  free(said);
}

phibal_status model_forward_backward(model *m, int32_t batch, const int32_t *tokens,
                                     const int32_t *targets, model_losses *losses) {
  *losses = (model_losses){0};
  if (m->global.targets < 1)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "model: forward_backward outside a step");
  double start = model_now();
  phibal_status status = accept(m, batch, tokens, targets);
  m->adapting = true;
  if (!status) status = forward(m, batch, tokens, true, losses);
  if (status == PHIBAL_ERROR_NONFINITE) say_origin(m, batch);
  if (!status) head(m, batch, targets, true, losses);
  /* The backward pass writes over some of it. Other ranks learn it from the sum of the losses. */
  const double sum = losses->cross_entropy + losses->balance + losses->z;
  if (!status && !isfinite(sum) && !*m->origin) model_name_origin(m, batch, m->origin);
  if (!status) status = backward(m, batch, tokens);
  m->adapting = false;
  if (status) return status;
  const model_batch seen = model_batch_count((int64_t)batch * m->config.sequence, tokens, targets);
  m->step.targets += seen.targets;
  m->step.tokens += seen.tokens;
  for (int32_t i = 0; m->taken && i < m->moe_layers; i++)
    model_take_routes(m, i, batch, m->layers[m->config.dense_layers + i].experts, m->taken);
  m->times.total += model_now() - start;
  return status;
}

phibal_status model_step_finish(model *m) {
  if (m->ranks) {
    m->ranks->sum(m->ranks->context, &m->step.targets);
    m->ranks->sum(m->ranks->context, &m->step.tokens);
  }
  phibal_status status = model_check_finish(m->global, m->step);
  if (!status) status = balance_finish(m);
  if (status) return status;
  m->steps++;
  m->global = (model_batch){0, 0};
  return PHIBAL_OK;
}

phibal_status model_evaluate(model *m, int32_t batch, const int32_t *tokens, const int32_t *targets,
                             model_losses *losses, phibal_loads *loads) {
  *losses = (model_losses){0};
  model_times kept = m->times;
  phibal_status status = accept(m, batch, tokens, targets);
  if (!status) exchange_call(m, &(int64_t){1});
  if (!status) status = forward(m, batch, tokens, false, losses);
  if (!status) head(m, batch, targets, false, losses);
  if (!status && !isfinite(losses->cross_entropy))
    status = phibal_status_set(PHIBAL_ERROR_NONFINITE, "the loss is %f", losses->cross_entropy);
  if (status == PHIBAL_ERROR_NONFINITE) say_origin(m, batch);
  while (!status && m->held < m->config.sequence && tokens[m->held] >= 0) m->held++;
  for (int32_t i = 0; loads && i < m->moe_layers && !status; i++)
    status = phibal_loads_add(&loads[i], &m->loads[i]);
  m->times = kept;
  return status ? status : phibal_environment_check_threads("evaluation");
}

phibal_status model_continue(model *m, int32_t first, int32_t count, const int32_t *tokens) {
  const model_config *c = &m->config;
  if (c->recompute != RECOMPUTE_NONE || m->expert_ranks)
    return phibal_status_set(
        PHIBAL_ERROR_UNSUPPORTED, "model: no keys and values are kept where %s",
        m->expert_ranks ? "ranks divide the experts" : "layers are recomputed");
  if (first < 0 || first > m->held || count < 1 || count > c->sequence - first)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "model: %d tokens from position %d on; keys and values of %d are "
                             "there, and room for %d",
                             count, first, m->held, c->sequence);
  for (int32_t i = 0; i < count; i++) {
    if (tokens[i] < 0 || tokens[i] >= c->vocabulary)
      return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                               "model: token %d is not below the vocabulary %d", tokens[i],
                               c->vocabulary);
    m->scratch.mask[i] = 1;
  }
  const model_times kept = m->times;
  model_losses losses = {0};
  m->held = first;
  m->first = first;
  m->rows = count;
  phibal_status status = forward(m, 1, tokens, false, &losses);
  if (status == PHIBAL_ERROR_NONFINITE) say_origin(m, 1);
  m->first = m->rows = 0;
  m->times = kept;
  if (!status) m->held = first + count;
  return status ? status : phibal_environment_check_threads("evaluation");
}
