/* Experts divided over ranks with a device each: what model_exchange.c is to the host, in its
   orders and so with its sums. The experts' offsets of a whole group come to the host in the one
   wait that a layer has anyway. How many rows arrive is known only then: the arrays for them grow,
   which waits for the device and is seldom. */
#include "device_internal.h"
#include "moe/model/exchange_rows.h"

#include <stdlib.h>
#include <string.h>

/* Saved by a layer for the backward pass. */
typedef struct exchange_layer {
  int64_t *offsets;    /* pinned [group ranks][E + 1]: of every rank's routes */
  int64_t *own;        /* host [own experts + 1]: of the rows that came, by expert */
  int64_t *device_own; /* the same, there */
  exchange_rows rows;  /* device */
} exchange_layer;

struct device_exchange {
  phibal_cuda_members group, replicas;
  int32_t me; /* which one of the group */
  int32_t own_experts;
  exchange_layer *layers; /* [L] */
  int64_t *all_offsets;   /* device [group ranks][E + 1] */
  int64_t *device_own;    /* device [L][own experts + 1] */
  exchange_space space;   /* device */
  int64_t *counts;        /* host [4][job's ranks]: to, to_at, from, from_at */
  int64_t blocks;         /* of this rank's gradient */
  double *sums;           /* device [blocks], then [group ranks][blocks] */
  int64_t *index;         /* device [all blocks]: where each lies in the latter */
};

/* Where the blocks of the whole gradient's norm lie among those of the group's ranks. */
static phibal_status plan_norm(device *d) {
  device_exchange *x = d->exchange;
  const device_library *l = &d->library;
  int64_t *index = malloc(sizeof *index * (size_t)(d->block_count + 1));
  if (!index) return exchange_no_memory(d->name, 0);
  int64_t global = 0, local = 0;
  for (int32_t t = 0; t < d->model.tensor_count; t++) {
    const model_tensor *tensor = &d->model.tensors[t];
    int64_t units, elements, blocks = optimizer_unit(tensor, &units, &elements);
    const int64_t all = optimizer_tensor_blocks(tensor), own = units * blocks;
    for (int64_t b = 0; b < all; b++) {
      const int64_t rank = own == all ? x->me : b / own;
      index[global++] = rank * x->blocks + local + b % own;
    }
    local += own;
  }
  phibal_status status = l->copy(x->index, index, sizeof *index * (size_t)global, &d->call);
  RUN(l->wait(&d->call));
  free(index);
  return check_call(d, status);
}

phibal_status device_exchange_create(device *d, const parallel *ranks) {
  const model_expert_ranks *e = d->host->expert_ranks;
  if (!e) return PHIBAL_OK;
  const device_library *l = &d->library;
  const int64_t E = model_real_experts(&d->model.config), L = d->model.config.layers,
                own = E / e->ranks;
  device_exchange *x = d->exchange = calloc(1, sizeof *x);
  if (!x) return exchange_no_memory(d->name, 0);
  const int32_t first = ranks->rank - e->rank;
  x->group = (phibal_cuda_members){first, 1, e->ranks};
  x->replicas = (phibal_cuda_members){e->rank, e->ranks, ranks->ranks / e->ranks};
  x->me = e->rank;
  x->own_experts = (int32_t)own;
  x->blocks = optimizer_own_blocks(d->model.tensor_count, d->model.tensors, NULL);
  x->layers = calloc((size_t)L, sizeof *x->layers);
  x->counts = calloc(4 * (size_t)d->rank_count, sizeof *x->counts);
  x->all_offsets = l->allocate(sizeof(int64_t) * (size_t)(e->ranks * (E + 1)));
  x->device_own = l->allocate(sizeof(int64_t) * (size_t)(L * (own + 1)));
  x->sums = l->allocate(sizeof(double) * (size_t)((1 + e->ranks) * x->blocks));
  x->index = l->allocate(sizeof(int64_t) * (size_t)(d->block_count + 1));
  if (!x->layers || !x->counts || !x->all_offsets || !x->device_own || !x->sums || !x->index)
    return exchange_no_memory(d->name, 0);
  for (int64_t i = 0; i < L; i++) {
    exchange_layer *to = &x->layers[i];
    const size_t bytes = sizeof *to->offsets * (size_t)(e->ranks * (E + 1) + own + 1);
    to->offsets = l->allocate_host(bytes);
    if (!to->offsets) return exchange_no_memory(d->name, 0);
    memset(to->offsets, 0, bytes);
    to->own = to->offsets + e->ranks * (E + 1);
    to->device_own = x->device_own + i * (own + 1);
  }
  return plan_norm(d);
}

void device_exchange_destroy(device *d) {
  device_exchange *x = d->exchange;
  if (!x) return;
  for (int32_t i = 0; x->layers && i < d->model.config.layers; i++) {
    if (x->layers[i].offsets) d->library.free_host(x->layers[i].offsets);
    d->library.free(x->layers[i].rows.x);
  }
  void *const there[] = {x->all_offsets, x->device_own, x->space.wire, x->sums, x->index};
  for (size_t i = 0; i < sizeof there / sizeof *there; i++) d->library.free(there[i]);
  free(x->layers);
  free(x->counts);
  free(x);
  d->exchange = NULL;
}

/* All-gather of n numbers within the group; those of rank i arrive at offset i n. */
static phibal_status group_gather(device *d, int64_t n, const float *send, float *receive) {
  device_exchange *x = d->exchange;
  int64_t *to = x->counts, *to_at = to + d->rank_count, *from = to_at + d->rank_count,
          *from_at = from + d->rank_count;
  memset(to, 0, sizeof *to * 4 * (size_t)d->rank_count);
  for (int32_t i = 0; i < x->group.count; i++) {
    const int32_t r = x->group.first + i;
    to[r] = from[r] = n;
    from_at[r] = n * i;
  }
  return d->library.ranks_exchange(d->ranks, to, to_at, send, from, from_at, receive, &d->call);
}

/* Rows that rank i of the group sends to rank j's experts. */
static int64_t rows_between(const device *d, const exchange_layer *l, int32_t i, int32_t j) {
  const int32_t own = d->exchange->own_experts;
  const int64_t *offsets = l->offsets + (int64_t)i * (model_real_experts(&d->model.config) + 1);
  return offsets[(j + 1) * own] - offsets[j * own];
}

/* Of a row of the model's width, which travels as binary32 numbers: two of bfloat16 are one. */
static int64_t numbers_of_row(const device *d) {
  return d->model.config.width * (int64_t)device_row_size(d) / (int64_t)sizeof(float);
}

/* So many numbers of each route to the ranks that have their experts, or back from there. */
static phibal_status exchange(device *d, const exchange_layer *l, bool back, int64_t row,
                              const float *send, float *receive) {
  device_exchange *x = d->exchange;
  int64_t *there = x->counts, *there_at = there + d->rank_count, *here = there_at + d->rank_count,
          *here_at = here + d->rank_count, sent = 0, came = 0;
  memset(there, 0, sizeof *there * 4 * (size_t)d->rank_count);
  for (int32_t i = 0; i < x->group.count; i++) {
    const int32_t r = x->group.first + i;
    there[r] = rows_between(d, l, x->me, i) * row;
    here[r] = rows_between(d, l, i, x->me) * row;
    there_at[r] = sent;
    here_at[r] = came;
    sent += there[r];
    came += here[r];
  }
  return back ? d->library.ranks_exchange(d->ranks, here, here_at, send, there, there_at, receive,
                                          &d->call)
              : d->library.ranks_exchange(d->ranks, there, there_at, send, here, here_at, receive,
                                          &d->call);
}

/* Between the two orders: from that of the ranks to that of the experts, or back. */
static phibal_status reorder(device *d, const exchange_layer *l, bool by_expert, int64_t row,
                             const float *from, float *to) {
  const device_exchange *x = d->exchange;
  const int32_t own = x->own_experts, first = x->me * own;
  int64_t next[PHIBAL_MAX_EXPERTS], wire = 0;
  phibal_status status = PHIBAL_OK;
  memcpy(next, l->own, (size_t)own * sizeof *next);
  for (int32_t r = 0; r < x->group.count; r++)
    for (int32_t e = 0; e < own; e++) {
      const int64_t *offsets =
          l->offsets + (int64_t)r * (model_real_experts(&d->model.config) + 1) + first + e;
      const int64_t rows = offsets[1] - offsets[0], sorted = next[e];
      if (rows > 0)
        RUN(d->library.copy(to + (by_expert ? sorted : wire) * row,
                            from + (by_expert ? wire : sorted) * row,
                            (size_t)(rows * row) * sizeof *to, &d->call));
      next[e] += rows;
      wire += rows;
    }
  return status;
}

/* Sends `row` numbers of each of this rank's routes to the ranks of their experts; receives those
   for its own, ordered by expert. */
static phibal_status dispatch_rows(device *d, const exchange_layer *l, int64_t row,
                                   const float *routes, float *rows) {
  float *wire = d->exchange->space.wire;
  phibal_status status = exchange(d, l, false, row, routes, wire);
  RUN(reorder(d, l, true, row, wire, rows));
  return status;
}

/* Returns their results; `wire` has the same capacity. */
static phibal_status return_rows(device *d, const exchange_layer *l, int64_t row, const float *rows,
                                 float *wire, float *routes) {
  phibal_status status = reorder(d, l, false, row, rows, wire);
  RUN(exchange(d, l, true, row, wire, routes));
  return status;
}

static phibal_ffn shape_of(const device *d) {
  return model_ffn_shape(&d->model.config, d->exchange->own_experts, d->model.config.hidden);
}

phibal_status device_exchange_offsets(device *d, int32_t layer, int64_t *offsets) {
  const device_library *l = &d->library;
  device_exchange *x = d->exchange;
  exchange_layer *on = &x->layers[layer];
  const int64_t n = model_real_experts(&d->model.config) + 1;
  const int32_t own = x->own_experts, first = x->me * own;
  /* 64-bit numbers travel as pairs of 32-bit ones. */
  phibal_status status = group_gather(d, 2 * n, (const float *)d->model.layers[layer].offsets,
                                      (float *)x->all_offsets);
  RUN(l->copy(on->offsets, x->all_offsets, sizeof(int64_t) * (size_t)(x->group.count * n),
              &d->call));
  RUN(device_result(d));
  if (status) return status;
  memcpy(offsets, on->offsets + x->me * n, sizeof *offsets * (size_t)n);
  on->own[0] = 0;
  for (int32_t e = 0; e < own; e++) {
    on->own[e + 1] = on->own[e];
    for (int32_t r = 0; r < x->group.count; r++)
      on->own[e + 1] += on->offsets[r * n + first + e + 1] - on->offsets[r * n + first + e];
  }
  const exchange_memory memory = {d->name, device_row_size(d), true, l->allocate, l->free};
  RUN(exchange_reserve(&memory, on->own[own], d->model.config.width, d->model.config.hidden,
                       &on->rows, &x->space));
  RUN(l->copy(on->device_own, on->own, sizeof(int64_t) * (size_t)(own + 1), &d->call));
  return status;
}

phibal_status device_exchange_forward(device *d, int32_t layer, const float *rows, float *output) {
  const layer_weights *w = &d->model.weights.layers[layer];
  const exchange_layer *l = &d->exchange->layers[layer];
  const exchange_rows *kept = &l->rows;
  const exchange_space *space = &d->exchange->space;
  const phibal_ffn shape = shape_of(d);
  const int64_t row = numbers_of_row(d);
  const phibal_cuda_groups groups = {l->device_own, l->own, l->own[d->exchange->own_experts]};
  phibal_status status = dispatch_rows(d, l, row, rows, kept->x);
  RUN(d->library.ffn_forward_groups(&shape, d->rows, &groups, kept->x, device_weight(d, w->gate),
                                    device_weight(d, w->up), device_weight(d, w->down), kept->a,
                                    kept->b, space->h_gradient, space->rows, &d->call));
  RUN(return_rows(d, l, row, space->rows, space->wire, output));
  return status;
}

phibal_status device_exchange_backward(device *d, int32_t layer, const float *gates,
                                       const float *gradient, float *gate_gradient,
                                       float *input_gradient) {
  const layer_weights *w = &d->model.weights.layers[layer];
  const layer_weights *g = &d->model.weight_gradients.layers[layer];
  const exchange_layer *l = &d->exchange->layers[layer];
  const exchange_rows *kept = &l->rows;
  const exchange_space *space = &d->exchange->space;
  const phibal_ffn shape = shape_of(d);
  const int64_t row = numbers_of_row(d);
  const phibal_cuda_routes routes = {l->own[d->exchange->own_experts], 1, NULL, space->gates,
                                     space->gate_gradient};
  const phibal_cuda_groups groups = {l->device_own, l->own, routes.tokens};
  phibal_status status = dispatch_rows(d, l, 1, gates, space->gates);
  RUN(dispatch_rows(d, l, row, gradient, space->rows));
  RUN(d->library.ffn_backward_recompute(
      &shape, d->rows, &groups, &routes, kept->x, device_weight(d, w->gate),
      device_weight(d, w->up), device_weight(d, w->down), kept->a, kept->b, space->rows,
      space->h_gradient, kept->x, g->gate, g->up, g->down, d->calls > 0, &d->call));
  RUN(return_rows(d, l, 1, space->gate_gradient, space->wire, gate_gradient));
  RUN(return_rows(d, l, row, kept->x, space->wire, input_gradient));
  return status;
}

phibal_status device_exchange_gradients(device *d) {
  const device_library *l = &d->library;
  const model *m = &d->model;
  device_exchange *x = d->exchange;
  const phibal_cuda_members all = {0, 1, d->rank_count};
  phibal_status status = PHIBAL_OK;
  for (int32_t t = 0, end; t < m->tensor_count; t = end) {
    const bool experts = m->tensors[t].dimensions == 3;
    for (end = t + 1; end < m->tensor_count && (m->tensors[end].dimensions == 3) == experts;) end++;
    const int64_t begin = m->tensors[t].offset;
    const int64_t behind = end < m->tensor_count ? m->tensors[end].offset : m->parameter_count;
    RUN(l->ranks_sum(d->ranks, experts ? x->replicas : all, behind - begin, m->gradients + begin,
                     &d->call));
  }
  RUN(l->gradient_blocks(x->blocks, d->blocks, m->gradients, x->sums, &d->call));
  RUN(group_gather(d, 2 * x->blocks, (const float *)x->sums, (float *)(x->sums + x->blocks)));
  RUN(l->gradient_norm_of(d->block_count, x->sums + x->blocks, x->index, &d->sums->norm, &d->call));
  return status;
}
