/* The attention branch of a layer: norm, projections, rotation, attention, projection, residual.
   With post_norm the norm is between the last two. */
#include "model_internal.h"

#include "norm.h"
#include "rope.h"

#include "kernels/cpu/gemm.h"

#include <omp.h>
#include <string.h>

typedef struct widths {
  int64_t tokens;
  int32_t d, n;
  int32_t queries, keys; /* numbers in a row of q, of k */
  int64_t all;           /* of qkv */
  int32_t values;        /* of what all heads attend to */
  int64_t first;         /* the position of the call's first row */
} widths;

static widths widths_of(const model *m, const attention_shape *shape) {
  const model_config *c = &m->config;
  return (widths){.tokens = model_call_rows(m, shape->batch),
                  .d = c->width,
                  .n = c->head_width,
                  .queries = c->heads * c->head_width,
                  .keys = c->key_value_heads * c->head_width,
                  .all = attention_row(shape),
                  .values = c->heads * shape->value_width,
                  .first = m->first};
}

attention_shape model_attention_shape(const model *m, int32_t batch) {
  const model_config *c = &m->config;
  return (attention_shape){.batch = batch,
                           .sequence = c->sequence,
                           .heads = c->heads,
                           .key_value_heads = c->key_value_heads,
                           .head_width = c->head_width,
                           .value_width = c->latent_width ? c->value_width : c->head_width,
                           .multiplier = (double)c->attention_multiplier,
                           .starts = m->starts,
                           .first = m->first,
                           .rows = m->rows};
}

/* Of a layer: with its window and its sinks. */
static attention_shape layer_shape(const model *m, int32_t layer, int32_t batch) {
  const int32_t every = m->config.full_attention_every;
  attention_shape shape = model_attention_shape(m, batch);
  if (every < 1 || (layer + 1) % every) shape.window = m->config.window;
  shape.sinks = m->weights.layers[layer].sinks;
  return shape;
}

int32_t model_rope_width(const model_config *config) {
  return config->rope_width ? config->rope_width : config->head_width;
}

/* Turns model_rope_width numbers of each head's query and key, which lie side by side: the last of
   latent attention, else the first. */
static void rotate(const model *m, const widths *at, float direction, float *qkv) {
  const model_config *c = &m->config;
  const rope_shape shape = {.rows = at->tokens,
                            .sequence = c->sequence,
                            .heads = c->heads + c->key_value_heads,
                            .n = model_rope_width(c),
                            .head_stride = at->n,
                            .row_stride = at->all,
                            .interleaved = c->rope_interleaved};
  const int64_t turned = at->first * (shape.n / 2);
  rope_apply(&shape, m->scratch.rotation_cosine + turned, m->scratch.rotation_sine + turned,
             direction, qkv + (c->latent_width ? at->n - shape.n : 0));
}

static void head_norms(const model *m, const widths *at, norm_shape *q, norm_shape *k) {
  const model_config *c = &m->config;
  const bool whole = c->qk_norm == QK_NORM_PROJECTION;
  *q = (norm_shape){at->tokens, whole ? 1 : c->heads, whole ? at->queries : at->n, c->norm_epsilon};
  *k = (norm_shape){at->tokens, whole ? 1 : c->key_value_heads, whole ? at->keys : at->n,
                    c->norm_epsilon};
}

/* Rows of n numbers; by all threads of a parallel region, as norm_forward. */
static void copy_rows(int64_t rows, int64_t n, const float *from, int64_t from_stride, float *to,
                      int64_t to_stride) {
  if (!omp_get_level()) {
#pragma omp parallel
    copy_rows(rows, n, from, from_stride, to, to_stride);
    return;
  }
#pragma omp for schedule(static)
  for (int64_t i = 0; i < rows; i++)
    memcpy(to + i * to_stride, from + i * from_stride, (size_t)n * sizeof(float));
}

void model_add_rows(int64_t rows, int64_t n, const float *x, int64_t x_stride, float *to) {
  if (!omp_get_level()) {
#pragma omp parallel
    model_add_rows(rows, n, x, x_stride, to);
    return;
  }
#pragma omp for schedule(static)
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < n; j++) to[i * n + j] += x[i * x_stride + j];
}

void model_add_columns(int64_t rows, int64_t n, const float *x, float *gradient) {
  enum { COLUMNS = 16 };
  if (!omp_get_level()) {
#pragma omp parallel
    model_add_columns(rows, n, x, gradient);
    return;
  }
#pragma omp for schedule(static)
  for (int64_t first = 0; first < n; first += COLUMNS) {
    const int64_t columns = n - first < COLUMNS ? n - first : COLUMNS;
    double sum[COLUMNS] = {0};
    for (int64_t i = 0; i < rows; i++)
      for (int64_t j = 0; j < columns; j++) sum[j] += (double)x[i * n + first + j];
    for (int64_t j = 0; j < columns; j++) gradient[first + j] += (float)sum[j];
  }
}

/* Norm of the queries and keys; the raw ones are kept. */
static void normalise_heads(const model *m, const layer_weights *w, layer_activations *on,
                            const widths *at, float *qkv) {
  int64_t raw = at->queries + at->keys;
  copy_rows(at->tokens, raw, qkv, at->all, on->qk_raw, raw);
  norm_shape q, k;
  head_norms(m, at, &q, &k);
  norm_forward(&q, qkv, at->all, w->q_norm, qkv, at->all, on->q_inverse);
  norm_forward(&k, qkv + at->queries, at->all, w->k_norm, qkv + at->queries, at->all,
               on->k_inverse);
}

static void plain_forward(model *m, int32_t layer, const widths *at) {
  const layer_weights *w = &m->weights.layers[layer];
  layer_activations *on = &m->layers[layer];
  float *qkv = on->qkv + at->first * at->all;
  phibal_gemm_linear(at->tokens, at->all, at->d, on->normed, w->qkv, false, qkv);
  const int64_t first[] = {0, at->queries, at->queries + at->keys}; /* of q, k, v in a row */
  for (int i = 0; i < 3; i++)
    adapted_forward(m, w->qkv + first[i] * at->d, at->tokens, on->normed, at->all, qkv + first[i]);
  if (w->qkv_bias) model_add_rows(at->tokens, at->all, w->qkv_bias, 0, qkv);
  if (m->config.qk_norm) normalise_heads(m, w, on, at, qkv);
}

/* scratch.qkv_gradient, turned back, to scratch.normed_gradient. */
static void plain_backward(model *m, int32_t layer, const widths *at) {
  const layer_weights *w = &m->weights.layers[layer], *g = &m->weight_gradients.layers[layer];
  const layer_activations *on = &m->layers[layer];
  model_scratch *s = &m->scratch;
  if (m->config.qk_norm) {
    int64_t raw = at->queries + at->keys;
    norm_shape q, k;
    head_norms(m, at, &q, &k);
    norm_backward(&q, on->qk_raw, raw, w->q_norm, on->q_inverse, s->qkv_gradient, at->all, 0,
                  s->qkv_gradient, at->all, g->q_norm, s->norm);
    norm_backward(&k, on->qk_raw + at->queries, raw, w->k_norm, on->k_inverse,
                  s->qkv_gradient + at->queries, at->all, 0, s->qkv_gradient + at->queries, at->all,
                  g->k_norm, s->norm);
  }
  if (g->qkv_bias) model_add_columns(at->tokens, at->all, s->qkv_gradient, g->qkv_bias);
  phibal_gemm_linear_weight_gradient(at->tokens, at->all, at->d, s->qkv_gradient, on->normed,
                                     g->qkv);
  phibal_gemm_linear_input_gradient(at->tokens, at->all, at->d, s->qkv_gradient, w->qkv, false,
                                    s->normed_gradient);
  const int64_t first[] = {0, at->queries, at->queries + at->keys};
  for (int i = 0; i < 3; i++)
    adapted_backward(m, w->qkv + first[i] * at->d, at->tokens, on->normed, at->all,
                     s->qkv_gradient + first[i], s->normed_gradient);
}

/* Whether the whole branch is one parallel region, of whose threads each calls what lies in it. Not
   where adapters come between the products: they have regions of their own. */
static bool is_one_region(const model *m) {
  return !m->config.latent_width && !model_is_adapted(m);
}

static void branch_forward(model *m, int32_t layer, int32_t batch) {
  const model_config *c = &m->config;
  const layer_weights *w = &m->weights.layers[layer];
  layer_activations *on = &m->layers[layer];
  const attention_shape shape = layer_shape(m, layer, batch);
  const widths at = widths_of(m, &shape);
  norm_shape norm = {at.tokens, 1, at.d, c->norm_epsilon};
  if (!c->post_norm)
    norm_forward(&norm, on->x, at.d, w->attention_norm, on->normed, at.d, on->inverse);
  if (c->latent_width)
    latent_forward(m, layer, batch);
  else
    plain_forward(m, layer, &at);
  rotate(m, &at, 1.0f, on->qkv + at.first * at.all);
  attention_forward(&shape, on->qkv, on->attended, on->largest, on->inverse_sum, m->threads,
                    m->scratch.attention);
  float *to = c->post_norm ? on->attention_output : on->middle;
  if (!c->post_norm) copy_rows(at.tokens, at.d, on->x, at.d, to, at.d);
  phibal_gemm_linear(at.tokens, at.d, at.values, on->attended, w->o, !c->post_norm, to);
  adapted_forward(m, w->o, at.tokens, on->attended, at.d, to);
  if (w->o_bias) model_add_rows(at.tokens, at.d, w->o_bias, 0, to);
  if (!c->post_norm) return;
  norm_forward(&norm, to, at.d, w->attention_norm, on->middle, at.d, on->inverse);
  model_add_rows(at.tokens, at.d, on->x, at.d, on->middle);
}

void attention_branch_forward(model *m, int32_t layer, int32_t batch) {
  if (!is_one_region(m)) {
    branch_forward(m, layer, batch);
    return;
  }
#pragma omp parallel num_threads(m->threads)
  branch_forward(m, layer, batch);
}

static void branch_backward(model *m, int32_t layer, int32_t batch) {
  const model_config *c = &m->config;
  const layer_weights *w = &m->weights.layers[layer], *g = &m->weight_gradients.layers[layer];
  layer_activations *on = &m->layers[layer];
  model_scratch *s = &m->scratch;
  const attention_shape shape = layer_shape(m, layer, batch);
  const widths at = widths_of(m, &shape);
  const norm_shape norm = {at.tokens, 1, at.d, c->norm_epsilon};
  if (c->post_norm)
    norm_backward(&norm, on->attention_output, at.d, w->attention_norm, on->inverse,
                  s->stream_gradient, at.d, 0, s->branch_gradient, at.d, g->attention_norm,
                  s->norm);
  const float *from = c->post_norm ? s->branch_gradient : s->stream_gradient;
  if (g->o_bias) model_add_columns(at.tokens, at.d, from, g->o_bias);
  phibal_gemm_linear_weight_gradient(at.tokens, at.d, at.values, from, on->attended, g->o);
  phibal_gemm_linear_input_gradient(at.tokens, at.d, at.values, from, w->o, false,
                                    s->attended_gradient);
  adapted_backward(m, w->o, at.tokens, on->attended, at.d, from, s->attended_gradient);
  attention_backward(&shape, on->qkv, on->attended, on->largest, on->inverse_sum,
                     s->attended_gradient, s->qkv_gradient, s->sink_gradient, m->threads,
                     s->attention);
  if (g->sinks) model_add_columns(at.tokens, c->heads, s->sink_gradient, g->sinks);
  rotate(m, &at, -1.0f, s->qkv_gradient);
  if (c->latent_width)
    latent_backward(m, layer, batch);
  else
    plain_backward(m, layer, &at);
  if (c->post_norm) {
    model_add_rows(at.tokens, at.d, s->normed_gradient, at.d, s->stream_gradient);
    return;
  }
  norm_backward(&norm, on->x, at.d, w->attention_norm, on->inverse, s->normed_gradient, at.d, 1,
                s->stream_gradient, at.d, g->attention_norm, s->norm);
}

void attention_branch_backward(model *m, int32_t layer, int32_t batch) {
  if (!is_one_region(m)) {
    branch_backward(m, layer, batch);
    return;
  }
#pragma omp parallel num_threads(m->threads)
  branch_backward(m, layer, batch);
}
