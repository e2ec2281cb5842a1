/* Multi-head latent attention: queries, keys and values of all heads, and back.

   A row of on->qkv holds every head's query and key in full, n numbers each, and its values:
     query of head h   [n - r not turned | r turned]
     key of head h     [n - r of the latent | r turned, the same for all heads] */
#include "model_internal.h"

#include "norm.h"

#include "kernels/cpu/gemm.h"

#include <string.h>

typedef struct widths {
  int64_t tokens, d, heads, n, rope, plain, value, latent, query_latent;
  int64_t first;    /* the position of the call's first row */
  int64_t row;      /* of qkv */
  int64_t expanded; /* of the latent's expansion, all heads: plain and value of each in turn */
} widths;

static widths widths_of(const model *m, int32_t batch) {
  const model_config *c = &m->config;
  const attention_shape shape = model_attention_shape(m, batch);
  widths at = {.tokens = model_call_rows(m, batch),
               .first = m->first,
               .d = c->width,
               .heads = c->heads,
               .n = c->head_width,
               .rope = c->rope_width,
               .plain = c->head_width - c->rope_width,
               .value = c->value_width,
               .latent = c->latent_width,
               .query_latent = c->query_latent_width,
               .row = attention_row(&shape)};
  at.expanded = at.heads * (at.plain + at.value);
  return at;
}

static norm_shape latent_norm(const model *m, const widths *at, int64_t width) {
  return (norm_shape){at->tokens, 1, (int32_t)width, m->config.latent_norm_epsilon};
}

static void project_queries(model *m, const layer_weights *w, layer_activations *on,
                            const widths *at) {
  const float *from = on->normed;
  int64_t width = at->d;
  if (w->q_down) {
    phibal_gemm_linear(at->tokens, at->query_latent, at->d, on->normed, w->q_down, false,
                       on->q_latent);
    adapted_forward(m, w->q_down, at->tokens, on->normed, at->query_latent, on->q_latent);
    const norm_shape norm = latent_norm(m, at, at->query_latent);
    norm_forward(&norm, on->q_latent, at->query_latent, w->q_down_norm, on->q_latent_normed,
                 at->query_latent, on->q_latent_inverse);
    from = on->q_latent_normed;
    width = at->query_latent;
  }
  const int64_t queries = at->heads * at->n;
  phibal_gemm_linear(at->tokens, queries, width, from, w->q, false, m->scratch.projected);
  adapted_forward(m, w->q, at->tokens, from, queries, m->scratch.projected);
#pragma omp parallel for schedule(static)
  for (int64_t t = 0; t < at->tokens; t++)
    memcpy(on->qkv + (at->first + t) * at->row, m->scratch.projected + t * queries,
           (size_t)queries * sizeof(float));
}

/* Gives each head its part of the latent's expansion, and all the shared key. */
static void place_keys_and_values(const model *m, layer_activations *on, const widths *at) {
#pragma omp parallel for schedule(static)
  for (int64_t t = 0; t < at->tokens; t++) {
    const float *from = m->scratch.projected + t * at->expanded;
    const float *shared = on->latent + t * (at->latent + at->rope) + at->latent;
    float *key = on->qkv + (at->first + t) * at->row + at->heads * at->n;
    float *value = key + at->heads * at->n;
    for (int64_t head = 0; head < at->heads; head++) {
      memcpy(key, from, (size_t)at->plain * sizeof(float));
      memcpy(key + at->plain, shared, (size_t)at->rope * sizeof(float));
      memcpy(value, from + at->plain, (size_t)at->value * sizeof(float));
      key += at->n, value += at->value, from += at->plain + at->value;
    }
  }
}

void latent_forward(model *m, int32_t layer, int32_t batch) {
  const layer_weights *w = &m->weights.layers[layer];
  layer_activations *on = &m->layers[layer];
  const widths at = widths_of(m, batch);
  project_queries(m, w, on, &at);
  const int64_t wide = at.latent + at.rope;
  phibal_gemm_linear(at.tokens, wide, at.d, on->normed, w->kv_down, false, on->latent);
  adapted_forward(m, w->kv_down, at.tokens, on->normed, wide, on->latent);
  const norm_shape norm = latent_norm(m, &at, at.latent);
  norm_forward(&norm, on->latent, wide, w->kv_down_norm, on->latent_normed, at.latent,
               on->latent_inverse);
  phibal_gemm_linear(at.tokens, at.expanded, at.latent, on->latent_normed, w->kv_up, false,
                     m->scratch.projected);
  adapted_forward(m, w->kv_up, at.tokens, on->latent_normed, at.expanded, m->scratch.projected);
  place_keys_and_values(m, on, &at);
}

/* scratch.normed_gradient is overwritten. */
static void queries_backward(model *m, const layer_weights *w, const layer_weights *g,
                             const layer_activations *on, const widths *at) {
  model_scratch *s = &m->scratch;
  const int64_t queries = at->heads * at->n, narrow = at->query_latent;
#pragma omp parallel for schedule(static)
  for (int64_t t = 0; t < at->tokens; t++)
    memcpy(s->projected + t * queries, s->qkv_gradient + t * at->row,
           (size_t)queries * sizeof(float));
  if (!w->q_down) {
    phibal_gemm_linear_weight_gradient(at->tokens, queries, at->d, s->projected, on->normed, g->q);
    phibal_gemm_linear_input_gradient(at->tokens, queries, at->d, s->projected, w->q, false,
                                      s->normed_gradient);
    adapted_backward(m, w->q, at->tokens, on->normed, queries, s->projected, s->normed_gradient);
    return;
  }
  phibal_gemm_linear_weight_gradient(at->tokens, queries, narrow, s->projected, on->q_latent_normed,
                                     g->q);
  phibal_gemm_linear_input_gradient(at->tokens, queries, narrow, s->projected, w->q, false,
                                    s->latent_gradient);
  adapted_backward(m, w->q, at->tokens, on->q_latent_normed, queries, s->projected,
                   s->latent_gradient);
  const norm_shape norm = latent_norm(m, at, narrow);
  norm_backward(&norm, on->q_latent, narrow, w->q_down_norm, on->q_latent_inverse,
                s->latent_gradient, narrow, 0, s->latent_gradient, narrow, g->q_down_norm, s->norm);
  phibal_gemm_linear_weight_gradient(at->tokens, narrow, at->d, s->latent_gradient, on->normed,
                                     g->q_down);
  phibal_gemm_linear_input_gradient(at->tokens, narrow, at->d, s->latent_gradient, w->q_down, false,
                                    s->normed_gradient);
  adapted_backward(m, w->q_down, at->tokens, on->normed, narrow, s->latent_gradient,
                   s->normed_gradient);
}

/* The expansion's gradient into scratch.projected, that of the shared key, summed over the heads in
   order, to the end of each row of scratch.latent_gradient. */
static void gather_keys_and_values(model *m, const widths *at) {
  model_scratch *s = &m->scratch;
#pragma omp parallel for schedule(static)
  for (int64_t t = 0; t < at->tokens; t++) {
    const float *key = s->qkv_gradient + t * at->row + at->heads * at->n;
    const float *value = key + at->heads * at->n;
    float *to = s->projected + t * at->expanded;
    float *restrict shared = s->latent_gradient + t * (at->latent + at->rope) + at->latent;
    for (int64_t j = 0; j < at->rope; j++) shared[j] = 0.0f;
    for (int64_t head = 0; head < at->heads; head++) {
      memcpy(to, key, (size_t)at->plain * sizeof(float));
      memcpy(to + at->plain, value, (size_t)at->value * sizeof(float));
      for (int64_t j = 0; j < at->rope; j++) shared[j] += key[at->plain + j];
      key += at->n, value += at->value, to += at->plain + at->value;
    }
  }
}

void latent_backward(model *m, int32_t layer, int32_t batch) {
  const layer_weights *w = &m->weights.layers[layer], *g = &m->weight_gradients.layers[layer];
  const layer_activations *on = &m->layers[layer];
  model_scratch *s = &m->scratch;
  const widths at = widths_of(m, batch);
  queries_backward(m, w, g, on, &at);
  gather_keys_and_values(m, &at);
  phibal_gemm_linear_weight_gradient(at.tokens, at.expanded, at.latent, s->projected,
                                     on->latent_normed, g->kv_up);
  phibal_gemm_linear_input_gradient(at.tokens, at.expanded, at.latent, s->projected, w->kv_up,
                                    false, s->latent_normed_gradient);
  adapted_backward(m, w->kv_up, at.tokens, on->latent_normed, at.expanded, s->projected,
                   s->latent_normed_gradient);
  const int64_t wide = at.latent + at.rope;
  const norm_shape norm = latent_norm(m, &at, at.latent);
  norm_backward(&norm, on->latent, wide, w->kv_down_norm, on->latent_inverse,
                s->latent_normed_gradient, at.latent, 0, s->latent_gradient, wide, g->kv_down_norm,
                s->norm);
  phibal_gemm_linear_weight_gradient(at.tokens, wide, at.d, s->latent_gradient, on->normed,
                                     g->kv_down);
  phibal_gemm_linear_input_gradient(at.tokens, wide, at.d, s->latent_gradient, w->kv_down, true,
                                    s->normed_gradient);
  adapted_backward(m, w->kv_down, at.tokens, on->normed, wide, s->latent_gradient,
                   s->normed_gradient);
}
