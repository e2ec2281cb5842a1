/* The tensors of a model: names, shapes, places, initial values. */
#include "model_internal.h"

#include "formats/file.h"
#include "moe/machine/random.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

typedef struct builder {
  model_tensor *tensors; /* null: only counts */
  int32_t count;
  int64_t total, active;
} builder;

bool layer_is_dense(const model_config *config, balance_method method, int32_t layer) {
  return method == BALANCE_DENSE || layer < config->dense_layers;
}

/* Appends a tensor [s0][s1][s2], of which one token touches touched / of: of experts k / E, also
   where only the first of the E have weights, and a token's share of those varies. */
static void append(builder *to, bool decay, int32_t dimensions, int64_t s0, int64_t s1, int64_t s2,
                   int64_t touched, int64_t of, const char *format, ...)
    __attribute__((format(printf, 9, 10)));
static void append(builder *to, bool decay, int32_t dimensions, int64_t s0, int64_t s1, int64_t s2,
                   int64_t touched, int64_t of, const char *format, ...) {
  int64_t elements = s0 * s1 * s2;
  if (to->tensors) {
    model_tensor *tensor = &to->tensors[to->count];
    *tensor = (model_tensor){.offset = to->total,
                             .shape = {s0, s1, s2},
                             .dimensions = dimensions,
                             .decay = decay,
                             .whole = s0};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(tensor->name, sizeof tensor->name, format, arguments);
    va_end(arguments);
  }
  to->count++;
  to->total += elements;
  to->active += elements / of * touched + elements % of * touched / of;
}

static void append_vector(builder *to, int64_t n, const char *format, int32_t layer) {
  char name[64];
  snprintf(name, sizeof name, "model.layers.%d.%s", layer, format);
  append(to, false, 1, n, 1, 1, 1, 1, "%s", name);
}

static void append_matrix(builder *to, int64_t rows, int64_t columns, const char *format,
                          int32_t layer) {
  append(to, true, 2, rows, columns, 1, 1, 1, "model.layers.%d.%s", layer, format);
}

static void append_latent(builder *to, const model_config *c, int32_t layer) {
  int64_t d = c->width, queries = c->heads * c->head_width, narrow = c->query_latent_width;
  int64_t plain = c->head_width - c->rope_width;
  if (narrow) {
    append_matrix(to, narrow, d, "self_attn.q_a_proj.weight", layer);
    append_vector(to, narrow, "self_attn.q_a_layernorm.weight", layer);
    append_matrix(to, queries, narrow, "self_attn.q_b_proj.weight", layer);
  } else {
    append_matrix(to, queries, d, "self_attn.q_proj.weight", layer);
  }
  append_matrix(to, c->latent_width + c->rope_width, d, "self_attn.kv_a_proj_with_mqa.weight",
                layer);
  append_vector(to, c->latent_width, "self_attn.kv_a_layernorm.weight", layer);
  append_matrix(to, c->heads * (plain + c->value_width), c->latent_width,
                "self_attn.kv_b_proj.weight", layer);
  append_matrix(to, d, c->heads * c->value_width, "self_attn.o_proj.weight", layer);
}

static void append_heads(builder *to, const model_config *c, int32_t layer) {
  int64_t d = c->width, n = c->head_width, queries = c->heads * n, keys = c->key_value_heads * n;
  append_matrix(to, queries, d, "self_attn.q_proj.weight", layer);
  append_matrix(to, keys, d, "self_attn.k_proj.weight", layer);
  append_matrix(to, keys, d, "self_attn.v_proj.weight", layer);
  append_matrix(to, d, queries, "self_attn.o_proj.weight", layer);
  if (c->qkv_bias) {
    append_vector(to, queries, "self_attn.q_proj.bias", layer);
    append_vector(to, keys, "self_attn.k_proj.bias", layer);
    append_vector(to, keys, "self_attn.v_proj.bias", layer);
  }
  if (c->output_bias) append_vector(to, d, "self_attn.o_proj.bias", layer);
  if (c->sinks) append_vector(to, c->heads, "self_attn.sinks", layer);
  if (c->qk_norm) {
    bool whole = c->qk_norm == QK_NORM_PROJECTION;
    append_vector(to, whole ? queries : n, "self_attn.q_norm.weight", layer);
    append_vector(to, whole ? keys : n, "self_attn.k_norm.weight", layer);
  }
}

static void append_attention(builder *to, const model_config *c, int32_t layer) {
  int64_t d = c->width;
  append_vector(to, d, c->post_norm ? "post_attention_layernorm.weight" : "input_layernorm.weight",
                layer);
  if (c->latent_width)
    append_latent(to, c, layer);
  else
    append_heads(to, c, layer);
  append_vector(
      to, d, c->post_norm ? "post_feedforward_layernorm.weight" : "post_attention_layernorm.weight",
      layer);
}

static void append_ffn(builder *to, const model_config *c, int32_t layer, bool dense) {
  int64_t d = c->width, f = c->hidden, experts = c->experts, k = c->active;
  const int64_t real = model_real_experts(c);
  if (dense) {
    append_matrix(to, c->dense_hidden, d, "mlp.gate_proj.weight", layer);
    append_matrix(to, c->dense_hidden, d, "mlp.up_proj.weight", layer);
    append_matrix(to, d, c->dense_hidden, "mlp.down_proj.weight", layer);
    return;
  }
  append_matrix(to, experts, d, "mlp.gate.weight", layer);
  if (c->expert_factor) append_vector(to, experts, "mlp.gate.per_expert_scale", layer);
  if (c->expert_limit > 0) {
    append_vector(to, experts, "mlp.gate.bias", layer);
    const struct {
      const char *name;
      int64_t n;
    } biases[] = {{"gate_proj", f}, {"up_proj", f}, {"down_proj", d}};
    for (int i = 0; i < 3; i++)
      append(to, false, 2, experts, biases[i].n, 1, k, experts,
             "model.layers.%d.mlp.experts.%s.bias", layer, biases[i].name);
  }
  append(to, true, 3, real, f, d, k, experts, "model.layers.%d.mlp.experts.gate_proj.weight",
         layer);
  append(to, true, 3, real, f, d, k, experts, "model.layers.%d.mlp.experts.up_proj.weight", layer);
  append(to, true, 3, real, d, f, k, experts, "model.layers.%d.mlp.experts.down_proj.weight",
         layer);
  if (c->shared_experts) {
    int64_t shared = c->shared_experts * f;
    append_matrix(to, shared, d, "mlp.shared_experts.gate_proj.weight", layer);
    append_matrix(to, shared, d, "mlp.shared_experts.up_proj.weight", layer);
    append_matrix(to, d, shared, "mlp.shared_experts.down_proj.weight", layer);
    if (c->shared_gate) append_matrix(to, 1, d, "mlp.shared_expert_gate.weight", layer);
  }
}

int32_t model_layout(const model_config *config, balance_method method, model_tensor *tensors,
                     int64_t *total, int64_t *active) {
  builder to = {.tensors = tensors};
  /* A token multiplies with the whole head and reads one row of an embedding of its own. */
  append(&to, true, 2, config->vocabulary, config->width, 1, 1,
         config->untied_head ? config->vocabulary : 1, "model.embed_tokens.weight");
  for (int32_t layer = 0; layer < config->layers; layer++) {
    append_attention(&to, config, layer);
    append_ffn(&to, config, layer, layer_is_dense(config, method, layer));
  }
  append(&to, false, 1, config->width, 1, 1, 1, 1, "model.norm.weight");
  if (config->untied_head)
    append(&to, true, 2, config->vocabulary, config->width, 1, 1, 1, "lm_head.weight");
  *total = to.total;
  *active = to.active;
  return to.count;
}

/* The tensors of experts are those of three dimensions. */
int64_t model_layout_divide(int32_t count, model_tensor *tensors, int32_t rank, int32_t ranks) {
  int64_t total = 0;
  for (int32_t i = 0; i < count; i++) {
    model_tensor *t = &tensors[i];
    if (t->dimensions == 3) {
      t->shape[0] = t->whole / ranks;
      t->first = t->shape[0] * rank;
    }
    t->offset = total;
    total += t->shape[0] * t->shape[1] * t->shape[2];
  }
  return total;
}

void model_count(const model_config *config, balance_method method, int64_t *total,
                 int64_t *active) {
  model_layout(config, method, NULL, total, active);
}

/* Takes the next tensor's place; the order is that of model_layout. */
static float *next(const model *m, float *base, int32_t *tensor) {
  return base + m->tensors[(*tensor)++].offset;
}

static void bind_attention(const model *m, float *base, int32_t *tensor, layer_weights *w) {
  if (m->config.latent_width) {
    if (m->config.query_latent_width) {
      w->q_down = next(m, base, tensor);
      w->q_down_norm = next(m, base, tensor);
    }
    w->q = next(m, base, tensor);
    w->kv_down = next(m, base, tensor);
    w->kv_down_norm = next(m, base, tensor);
    w->kv_up = next(m, base, tensor);
    w->o = next(m, base, tensor);
    return;
  }
  w->qkv = next(m, base, tensor);
  *tensor += 2; /* k_proj and v_proj follow q_proj without a gap: one matrix */
  w->o = next(m, base, tensor);
  if (m->config.qkv_bias) {
    w->qkv_bias = next(m, base, tensor);
    *tensor += 2; /* likewise */
  }
  if (m->config.output_bias) w->o_bias = next(m, base, tensor);
  if (m->config.sinks) w->sinks = next(m, base, tensor);
  if (m->config.qk_norm) {
    w->q_norm = next(m, base, tensor);
    w->k_norm = next(m, base, tensor);
  }
}

void model_bind(const model *m, float *base, model_weights *weights) {
  int32_t tensor = 0;
  weights->embedding = next(m, base, &tensor);
  for (int32_t layer = 0; layer < m->config.layers; layer++) {
    layer_weights *w = &weights->layers[layer];
    *w = (layer_weights){0};
    w->attention_norm = next(m, base, &tensor);
    bind_attention(m, base, &tensor, w);
    w->ffn_norm = next(m, base, &tensor);
    bool dense = layer_is_dense(&m->config, m->balance.method, layer);
    if (!dense) w->router = next(m, base, &tensor);
    if (!dense && m->config.expert_factor) w->factor = next(m, base, &tensor);
    if (!dense && m->config.expert_limit > 0) {
      w->router_bias = next(m, base, &tensor);
      w->gate_bias = next(m, base, &tensor);
      w->up_bias = next(m, base, &tensor);
      w->down_bias = next(m, base, &tensor);
    }
    w->gate = next(m, base, &tensor);
    w->up = next(m, base, &tensor);
    w->down = next(m, base, &tensor);
    if (!dense && m->config.shared_experts) {
      w->shared_gate = next(m, base, &tensor);
      w->shared_up = next(m, base, &tensor);
      w->shared_down = next(m, base, &tensor);
      if (m->config.shared_gate) w->shared_scale = next(m, base, &tensor);
    }
  }
  weights->norm = next(m, base, &tensor);
  weights->head = m->config.untied_head ? next(m, base, &tensor) : weights->embedding;
}

/* The standard deviation of a tensor's initial values: 1 / sqrt(inputs of the matrix), so that a
   product has the size of what goes in; divided by sqrt(2 L) where it is added to the residual
   stream, which 2 L branches feed. The router starts near the uniform distribution. So do the
   tied embedding's logits: with 1 / sqrt(d) a token's own logit would start at sqrt(d), and the
   first hundred steps would go into unlearning that each token repeats itself. */
static double deviation(const model_config *c, const model_tensor *tensor) {
  double inputs = (double)tensor->shape[tensor->dimensions - 1];
  if (string_ends_with(tensor->name, "embed_tokens.weight")) return 0.02;
  if (string_ends_with(tensor->name, "lm_head.weight")) return 0.02;
  if (string_ends_with(tensor->name, "mlp.gate.weight")) return 0.02;
  if (string_ends_with(tensor->name, "o_proj.weight") ||
      string_ends_with(tensor->name, "down_proj.weight"))
    return 1.0 / sqrt(inputs * 2.0 * (double)c->layers);
  return 1.0 / sqrt(inputs);
}

void model_initialise(model *m, uint64_t seed) {
  for (int32_t i = 0; i < m->tensor_count; i++) {
    const model_tensor *tensor = &m->tensors[i];
    float *to = m->parameters + tensor->offset;
    int64_t n = tensor->shape[0] * tensor->shape[1] * tensor->shape[2];
    /* Its place in the whole tensor draws an element, whichever rank has it. */
    int64_t first = tensor->first * tensor->shape[1] * tensor->shape[2];
    double spread = deviation(&m->config, tensor);
    const bool is_bias =
        string_ends_with(tensor->name, ".bias") || string_ends_with(tensor->name, ".sinks");
    const bool is_factor = tensor->dimensions == 1 && !is_bias; /* of a norm, or of experts */
#pragma omp parallel for schedule(static)
    for (int64_t j = 0; j < n; j++)
      to[j] = is_factor ? 1.0f
              : is_bias ? 0.0f
                        : (float)(spread * random_normal(seed, (uint64_t)i, (uint64_t)(first + j)));
  }
}
