/* Expert parallelism: the rows of a layer's routes go to the ranks that have their experts, and
   come back. A rank has its rows sorted by expert, so by rank too. What arrives lies by the rank it
   came from and then by expert; it is put in order of the expert and then of the rank, where each
   expert's rows stand in the order of the tokens of all the ranks' sequences, and each of its
   products is one. A row's result does not depend on the rows beside it (gemm.h), so the forward
   pass has the bits that it has where every rank has every expert. An expert's gradient is one sum
   over the rows of all ranks, where else each rank's sum is rounded before they are added. */
#include "exchange_rows.h"
#include "model_internal.h"

#include <stdlib.h>
#include <string.h>

/* What a layer keeps for the backward pass. */
typedef struct exchange_layer {
  int64_t *counts;    /* [ranks][own experts] rows that came from each rank for each expert */
  int64_t *to, *from; /* [ranks] rows that went to each rank, and that came from it */
  int64_t *offsets;   /* [own experts + 1] */
  exchange_rows rows;
} exchange_layer;

struct model_exchange {
  exchange_layer *layers; /* [L] */
  exchange_space space;
};

static int32_t own_experts(const model *m) {
  return model_real_experts(&m->config) / m->expert_ranks->ranks;
}

static const exchange_memory memory = {"experts", sizeof(float), false, malloc, free};

phibal_status exchange_create(model *m) {
  const size_t ranks = (size_t)m->expert_ranks->ranks, own = (size_t)own_experts(m);
  model_exchange *x = m->exchange = calloc(1, sizeof *x);
  if (x) x->layers = calloc((size_t)m->config.layers, sizeof *x->layers);
  if (!x || !x->layers) return exchange_no_memory(memory.name, 0);
  for (int32_t i = 0; i < m->config.layers; i++) {
    exchange_layer *l = &x->layers[i];
    l->counts = calloc(ranks * own + 2 * ranks + own + 1, sizeof *l->counts);
    if (!l->counts) return exchange_no_memory(memory.name, 0);
    l->to = l->counts + ranks * own;
    l->from = l->to + ranks;
    l->offsets = l->from + ranks;
  }
  return PHIBAL_OK;
}

void exchange_destroy(model *m) {
  model_exchange *x = m->exchange;
  if (!x) return;
  for (int32_t i = 0; x->layers && i < m->config.layers; i++) {
    free(x->layers[i].counts);
    free(x->layers[i].rows.x);
  }
  free(x->layers);
  free(x->space.wire);
  free(x);
  m->exchange = NULL;
}

/* Tells every rank how many rows of each of its experts come; finds how many come here. */
static void exchange_counts(model *m, exchange_layer *l, const int64_t *offsets) {
  const model_expert_ranks *ranks = m->expert_ranks;
  const int32_t own = own_experts(m);
  int64_t send[PHIBAL_MAX_EXPERTS];
  for (int32_t e = 0; e < model_real_experts(&m->config); e++)
    send[e] = offsets[e + 1] - offsets[e];
  ranks->counts(ranks->context, own, send, l->counts);
  memset(l->offsets, 0, ((size_t)own + 1) * sizeof *l->offsets);
  for (int32_t r = 0; r < ranks->ranks; r++) {
    l->to[r] = offsets[(r + 1) * own] - offsets[r * own];
    l->from[r] = 0;
    for (int32_t e = 0; e < own; e++) {
      l->from[r] += l->counts[r * own + e];
      l->offsets[e + 1] += l->counts[r * own + e];
    }
  }
  for (int32_t e = 0; e < own; e++) l->offsets[e + 1] += l->offsets[e];
}

/* Between the two orders: from that of the ranks to that of the experts, or back. */
static void reorder(const model *m, const exchange_layer *l, bool by_expert, const float *from,
                    float *to) {
  const int32_t own = own_experts(m);
  const int64_t d = m->config.width;
  int64_t next[PHIBAL_MAX_EXPERTS], wire = 0;
  memcpy(next, l->offsets, (size_t)own * sizeof *next);
  for (int32_t r = 0; r < m->expert_ranks->ranks; r++)
    for (int32_t e = 0; e < own; e++) {
      const int64_t rows = l->counts[r * own + e], sorted = next[e];
      memcpy(to + (by_expert ? sorted : wire) * d, from + (by_expert ? wire : sorted) * d,
             (size_t)(rows * d) * sizeof *to);
      next[e] += rows;
      wire += rows;
    }
}

/* Sends rows of this rank's routes to the ranks of their experts; receives those for its own,
   ordered by expert. */
static phibal_status dispatch_rows(const model *m, const exchange_layer *l, const float *routes,
                                   float *rows) {
  const model_expert_ranks *ranks = m->expert_ranks;
  float *wire = m->exchange->space.wire;
  phibal_status status = ranks->rows(ranks->context, m->config.width, l->to, routes, l->from, wire);
  if (!status) reorder(m, l, true, wire, rows);
  return status;
}

/* Returns their results; `wire` has the same capacity. */
static phibal_status return_rows(const model *m, const exchange_layer *l, const float *rows,
                                 float *wire, float *routes) {
  const model_expert_ranks *ranks = m->expert_ranks;
  reorder(m, l, false, rows, wire);
  return ranks->rows(ranks->context, m->config.width, l->from, wire, l->to, routes);
}

static phibal_ffn shape_of(const model *m) {
  return model_ffn_shape(&m->config, own_experts(m), m->config.hidden);
}

phibal_status exchange_forward(model *m, int32_t layer, const int64_t *offsets, const float *x,
                               float *y) {
  const layer_weights *w = &m->weights.layers[layer];
  exchange_layer *l = &m->exchange->layers[layer];
  exchange_rows *kept = &l->rows;
  exchange_space *space = &m->exchange->space;
  const phibal_ffn shape = shape_of(m);
  exchange_counts(m, l, offsets);
  phibal_status status = exchange_reserve(&memory, l->offsets[own_experts(m)], m->config.width,
                                          m->config.hidden, kept, space);
  if (!status) status = dispatch_rows(m, l, x, kept->x);
  if (!status)
    status = phibal_ffn_forward(&shape, l->offsets, kept->x, w->gate, w->up, w->down, kept->a,
                                kept->b, kept->h, space->rows);
  return status ? status : return_rows(m, l, space->rows, space->wire, y);
}

phibal_status exchange_backward(model *m, int32_t layer, const float *y_gradient,
                                float *x_gradient) {
  const layer_weights *w = &m->weights.layers[layer], *g = &m->weight_gradients.layers[layer];
  const exchange_layer *l = &m->exchange->layers[layer];
  const exchange_rows *kept = &l->rows;
  const exchange_space *space = &m->exchange->space;
  const phibal_ffn shape = shape_of(m);
  phibal_status status = dispatch_rows(m, l, y_gradient, space->rows);
  if (!status)
    status = phibal_ffn_backward(&shape, l->offsets, kept->x, w->gate, w->up, w->down, kept->a,
                                 kept->b, kept->h, space->rows, space->h_gradient, space->wire,
                                 g->gate, g->up, g->down);
  return status ? status : return_rows(m, l, space->wire, space->rows, x_gradient);
}

void exchange_call(const model *m, int64_t *evaluates) {
  if (m->expert_ranks) m->expert_ranks->broadcast(m->expert_ranks->context, evaluates);
}

void model_serve_end(model *m) {
  exchange_call(m, &(int64_t){0});
}

phibal_status model_serve_experts(model *m) {
  static const int64_t none[PHIBAL_MAX_EXPERTS + 1];
  const float nothing = 0;
  float back;
  phibal_status status = PHIBAL_OK;
  for (;;) {
    int64_t evaluates = 0;
    exchange_call(m, &evaluates);
    if (!evaluates) return status;
    for (int32_t layer = 0; layer < m->config.layers && !status; layer++)
      if (m->weights.layers[layer].router)
        status = exchange_forward(m, layer, none, &nothing, &back);
    if (status) return status;
  }
}
