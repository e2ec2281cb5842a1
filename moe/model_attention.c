/* The attention branch of a layer: norm, projections, rotation, attention, projection, residual. */
#include "model_internal.h"

#include "norm.h"
#include "rope.h"

#include "../kernels/cpu/gemm.h"

#include <string.h>

typedef struct widths {
  int64_t tokens;
  int32_t d, n, queries, keys, all; /* queries, keys, all: numbers in a row of q, of k, of qkv */
} widths;

static widths widths_of(const model *m, int32_t batch) {
  const model_config *c = &m->config;
  return (widths){.tokens = (int64_t)batch * c->sequence,
                  .d = c->width,
                  .n = c->head_width,
                  .queries = c->heads * c->head_width,
                  .keys = c->key_value_heads * c->head_width,
                  .all = (c->heads + 2 * c->key_value_heads) * c->head_width};
}

static attention_shape shape_of(const model *m, int32_t batch) {
  const model_config *c = &m->config;
  return (attention_shape){batch, c->sequence, c->heads, c->key_value_heads, c->head_width};
}

/* Norm of each head's queries and keys; the raw ones are kept. */
static void normalise_heads(const model *m, const layer_weights *w, layer_activations *on,
                            const widths *at) {
  const model_config *c = &m->config;
  int64_t raw = at->queries + at->keys;
#pragma omp parallel for schedule(static)
  for (int64_t t = 0; t < at->tokens; t++)
    memcpy(on->qk_raw + t * raw, on->qkv + t * at->all, (size_t)raw * sizeof(float));
  norm_shape q = {at->tokens, c->heads, at->n, c->norm_epsilon};
  norm_shape k = {at->tokens, c->key_value_heads, at->n, c->norm_epsilon};
  norm_forward(&q, on->qkv, at->all, w->q_norm, on->qkv, at->all, on->q_inverse);
  norm_forward(&k, on->qkv + at->queries, at->all, w->k_norm, on->qkv + at->queries, at->all,
               on->k_inverse);
}

void attention_branch_forward(model *m, int32_t layer, int32_t batch) {
  const model_config *c = &m->config;
  const layer_weights *w = &m->weights.layers[layer];
  layer_activations *on = &m->layers[layer];
  widths at = widths_of(m, batch);
  norm_shape norm = {at.tokens, 1, at.d, c->norm_epsilon};
  norm_forward(&norm, on->x, at.d, w->attention_norm, on->normed, at.d, on->inverse);
  gemm_linear(at.tokens, at.all, at.d, on->normed, w->qkv, 0, on->qkv);
  if (c->qk_norm) normalise_heads(m, w, on, &at);
  rope_apply(at.tokens, c->sequence, c->heads + c->key_value_heads, at.n,
             m->scratch.rotation_cosine, m->scratch.rotation_sine, 1.0f, on->qkv, at.all);
  attention_shape shape = shape_of(m, batch);
  attention_forward(&shape, on->qkv, on->attended, on->largest, on->inverse_sum, m->threads,
                    m->scratch.attention);
  memcpy(on->middle, on->x, (size_t)(at.tokens * at.d) * sizeof(float));
  gemm_linear(at.tokens, at.d, at.queries, on->attended, w->o, 1, on->middle);
}

void attention_branch_backward(model *m, int32_t layer, int32_t batch) {
  const model_config *c = &m->config;
  const layer_weights *w = &m->weights.layers[layer], *g = &m->weight_gradients.layers[layer];
  layer_activations *on = &m->layers[layer];
  model_scratch *s = &m->scratch;
  widths at = widths_of(m, batch);
  gemm_linear_weight_gradient(at.tokens, at.d, at.queries, s->stream_gradient, on->attended, g->o);
  gemm_linear_input_gradient(at.tokens, at.d, at.queries, s->stream_gradient, w->o, 0.0f,
                             s->attended_gradient);
  attention_shape shape = shape_of(m, batch);
  attention_backward(&shape, on->qkv, on->attended, on->largest, on->inverse_sum,
                     s->attended_gradient, s->qkv_gradient, m->threads, s->attention);
  rope_apply(at.tokens, c->sequence, c->heads + c->key_value_heads, at.n, s->rotation_cosine,
             s->rotation_sine, -1.0f, s->qkv_gradient, at.all);
  if (c->qk_norm) {
    int64_t raw = at.queries + at.keys;
    norm_shape q = {at.tokens, c->heads, at.n, c->norm_epsilon};
    norm_shape k = {at.tokens, c->key_value_heads, at.n, c->norm_epsilon};
    norm_backward(&q, on->qk_raw, raw, w->q_norm, on->q_inverse, s->qkv_gradient, at.all, 0,
                  s->qkv_gradient, at.all, g->q_norm, s->norm);
    norm_backward(&k, on->qk_raw + at.queries, raw, w->k_norm, on->k_inverse,
                  s->qkv_gradient + at.queries, at.all, 0, s->qkv_gradient + at.queries, at.all,
                  g->k_norm, s->norm);
  }
  gemm_linear_weight_gradient(at.tokens, at.all, at.d, s->qkv_gradient, on->normed, g->qkv);
  gemm_linear_input_gradient(at.tokens, at.all, at.d, s->qkv_gradient, w->qkv, 0.0f,
                             s->normed_gradient);
  norm_shape norm = {at.tokens, 1, at.d, c->norm_epsilon};
  norm_backward(&norm, on->x, at.d, w->attention_norm, on->inverse, s->normed_gradient, at.d, 1,
                s->stream_gradient, at.d, g->attention_norm, s->norm);
}
