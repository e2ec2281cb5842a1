/* The attention branch of a layer on a device (model_attention.c). */
#include "device_internal.h"

typedef struct widths {
  int64_t tokens, d, n, queries, keys, all;
} widths;

static widths widths_of(const device *d, int32_t batch) {
  const model_config *c = &d->model.config;
  return (widths){.tokens = (int64_t)batch * c->sequence,
                  .d = c->width,
                  .n = c->head_width,
                  .queries = (int64_t)c->heads * c->head_width,
                  .keys = (int64_t)c->key_value_heads * c->head_width,
                  .all = (int64_t)(c->heads + 2 * c->key_value_heads) * c->head_width};
}

static phibal_cuda_rope_shape rotation(const device *d, const widths *at) {
  const model_config *c = &d->model.config;
  return (phibal_cuda_rope_shape){.rows = at->tokens,
                                  .sequence = c->sequence,
                                  .heads = c->heads + c->key_value_heads,
                                  .n = c->head_width,
                                  .head_stride = at->n,
                                  .row_stride = at->all,
                                  .interleaved = c->rope_interleaved,
                                  .type = d->rows};
}

static void head_norms(const device *d, const widths *at, phibal_cuda_norm *q,
                       phibal_cuda_norm *k) {
  const model_config *c = &d->model.config;
  const bool whole = c->qk_norm == QK_NORM_PROJECTION;
  *q = (phibal_cuda_norm){at->tokens, whole ? 1 : c->heads, (int32_t)(whole ? at->queries : at->n),
                          c->norm_epsilon, d->rows};
  *k = (phibal_cuda_norm){at->tokens, whole ? 1 : c->key_value_heads,
                          (int32_t)(whole ? at->keys : at->n), c->norm_epsilon, d->rows};
}

/* Norm of the queries and keys; the raw ones are kept. */
static phibal_status normalise_heads(device *d, const layer_weights *w, layer_activations *on,
                                     const widths *at) {
  const device_library *l = &d->library;
  phibal_cuda_norm q, k;
  head_norms(d, at, &q, &k);
  const size_t raw = device_row_size(d) * (size_t)(at->queries + at->keys);
  void *keys = device_row_at(d, on->qkv, at->queries);
  phibal_status status = l->copy_rows(at->tokens, raw, on->qk_raw, raw, on->qkv,
                                      device_row_size(d) * (size_t)at->all, &d->call);
  RUN(l->norm_forward(&q, on->qkv, at->all, w->q_norm, d->rows, on->qkv, at->all, on->q_inverse,
                      &d->call));
  RUN(l->norm_forward(&k, keys, at->all, w->k_norm, d->rows, keys, at->all, on->k_inverse,
                      &d->call));
  return status;
}

phibal_status device_attention_forward(device *d, int32_t layer, int32_t batch) {
  const device_library *l = &d->library;
  model *m = &d->model;
  const layer_weights *w = &m->weights.layers[layer];
  layer_activations *on = &m->layers[layer];
  const widths at = widths_of(d, batch);
  const phibal_cuda_norm norm = device_norm(d, at.tokens);
  const phibal_cuda_rope_shape rope = rotation(d, &at);
  const phibal_cuda_attention shape = device_attention(d, batch);
  phibal_status status = l->norm_forward(&norm, on->x, at.d, w->attention_norm, d->rows, on->normed,
                                         at.d, on->inverse, &d->call);
  RUN(l->linear(at.tokens, at.all, at.d, d->rows, on->normed, device_weight(d, w->qkv), NULL,
                d->rows, on->qkv, &d->call));
  if (m->config.qk_norm) RUN(normalise_heads(d, w, on, &at));
  RUN(l->rope(&rope, m->scratch.rotation_cosine, m->scratch.rotation_sine, 1.0f, on->qkv,
              &d->call));
  RUN(l->attention_forward(&shape, on->qkv, on->attended, on->attention_logsumexp, &d->call));
  RUN(l->linear(at.tokens, at.d, at.queries, d->rows, on->attended, device_weight(d, w->o), on->x,
                PHIBAL_ROWS_F32, on->middle, &d->call));
  return status;
}

phibal_status device_attention_backward(device *d, int32_t layer, int32_t batch) {
  const device_library *l = &d->library;
  model *m = &d->model;
  const layer_weights *w = &m->weights.layers[layer], *g = &m->weight_gradients.layers[layer];
  layer_activations *on = &m->layers[layer];
  model_scratch *s = &m->scratch;
  const widths at = widths_of(d, batch);
  const phibal_cuda_rope_shape rope = rotation(d, &at);
  const phibal_cuda_attention shape = device_attention(d, batch);
  phibal_status status = PHIBAL_OK;
  const float *dy = device_stream_gradient(d, at.tokens * at.d, &status);
  RUN(l->linear_weight_gradient(at.tokens, at.d, at.queries, d->rows, dy, on->attended, g->o,
                                d->calls > 0, &d->call));
  RUN(l->linear_input_gradient(at.tokens, at.d, at.queries, d->rows, dy, device_weight(d, w->o),
                               d->rows, s->attended_gradient, &d->call));
  RUN(l->attention_backward(&shape, on->qkv, on->attended, on->attention_logsumexp,
                            s->attended_gradient, s->qkv_gradient, &d->call));
  RUN(l->rope(&rope, s->rotation_cosine, s->rotation_sine, -1.0f, s->qkv_gradient, &d->call));
  if (m->config.qk_norm) {
    const int64_t raw = at.queries + at.keys;
    phibal_cuda_norm q, k;
    head_norms(d, &at, &q, &k);
    RUN(l->norm_backward(&q, on->qk_raw, raw, w->q_norm, on->q_inverse, s->qkv_gradient, at.all, 0,
                         s->qkv_gradient, at.all, g->q_norm, &d->call));
    void *keys = device_row_at(d, s->qkv_gradient, at.queries);
    RUN(l->norm_backward(&k, device_row_at(d, on->qk_raw, at.queries), raw, w->k_norm,
                         on->k_inverse, keys, at.all, 0, keys, at.all, g->k_norm, &d->call));
  }
  RUN(l->linear_weight_gradient(at.tokens, at.all, at.d, d->rows, s->qkv_gradient, on->normed,
                                g->qkv, d->calls > 0, &d->call));
  RUN(l->linear_input_gradient(at.tokens, at.all, at.d, d->rows, s->qkv_gradient,
                               device_weight(d, w->qkv), PHIBAL_ROWS_F32, s->normed_gradient,
                               &d->call));
  const phibal_cuda_norm norm = device_norm(d, at.tokens);
  RUN(l->norm_backward(&norm, on->x, at.d, w->attention_norm, on->inverse, s->normed_gradient, at.d,
                       1, s->stream_gradient, at.d, g->attention_norm, &d->call));
  return status;
}
