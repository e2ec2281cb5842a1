/* The FFN branch of a layer on a device (model_ffn.c), and its routes (model_balance.c). */
#include "device_internal.h"

static phibal_cuda_loads loads_of(const device *d, const phibal_cuda_loads *all, int32_t layer) {
  const int64_t E = d->model.config.experts;
  return (phibal_cuda_loads){all->tokens + layer, all->probability + layer * E * PHIBAL_LOAD_LIMBS,
                             all->count + layer * E};
}

/* The rows of a layer's experts, and those of a dense FFN: the call's tokens. */
static phibal_cuda_groups experts_groups(const device *d, int32_t layer, int64_t tokens) {
  const int64_t n = model_real_experts(&d->model.config) + 1;
  return (phibal_cuda_groups){d->model.layers[layer].offsets,
                              d->sizes_on_device ? NULL : d->host_offsets + layer * n,
                              tokens * d->model.config.active};
}
static phibal_cuda_groups dense_groups(const device *d) {
  return (phibal_cuda_groups){d->dense_offsets, d->host_dense, d->host_dense[1]};
}

/* The rows of a layer's experts, of x's tokens. */
static phibal_status gather_rows(device *d, int32_t layer, int64_t tokens, const float *x,
                                 float *gathered) {
  const model_config *c = &d->model.config;
  const layer_activations *on = &d->model.layers[layer];
  if (d->sizes_on_device)
    return d->library.gather_counted(on->offsets + model_real_experts(c), tokens * c->active,
                                     c->active, c->width, d->rows, on->source, x, gathered,
                                     &d->call);
  const int32_t real = model_real_experts(c);
  const int64_t *offsets = d->host_offsets + (int64_t)layer * (real + 1);
  return d->library.gather(offsets[real], c->active, c->width, d->rows, on->source, x, gathered,
                           &d->call);
}

/* One dense gated FFN, added to `out`: that of an only expert, who has the call's tokens. */
static phibal_status dense_forward(device *d, int64_t tokens, int32_t hidden, const float *x,
                                   const float *gate, const float *up, const float *down, float *a,
                                   float *b, float *out) {
  const device_library *l = &d->library;
  const phibal_ffn shape = model_ffn_shape(&d->model.config, 1, hidden);
  float *branch = d->model.scratch.branch, *h = d->model.scratch.h_gradient;
  const phibal_cuda_groups groups = dense_groups(d);
  phibal_status status = l->ffn_forward_groups(&shape, d->rows, &groups, x, device_weight(d, gate),
                                               device_weight(d, up), device_weight(d, down), a, b,
                                               h, branch, &d->call);
  RUN(l->add(tokens * d->model.config.width, d->rows, branch, out, &d->call));
  return status;
}

/* (L4) Sequence by sequence; the call's loads are their sum, exactly. */
static phibal_status route_sequences(device *d, const phibal_router *router, int32_t layer,
                                     int32_t moe_layer, int64_t tokens, const float *bias) {
  const device_library *l = &d->library;
  const model_config *c = &d->model.config;
  const layer_activations *on = &d->model.layers[layer];
  const phibal_cuda_loads call = loads_of(d, &d->call_loads, moe_layer);
  phibal_status status = PHIBAL_OK;
  for (int32_t s = 0; s < tokens / c->sequence; s++) {
    const int64_t first = (int64_t)s * c->sequence;
    const phibal_cuda_loads own = loads_of(d, &d->sequence_loads, moe_layer * d->parts + s);
    RUN(l->router_forward(router, c->sequence, PHIBAL_LOGITS_F32, on->logits + first * c->experts,
                          bias, d->model.scratch.mask + first, NULL,
                          on->experts + first * c->active, on->gates + first * c->active,
                          on->logsumexp + first, own, &d->zeroed));
    RUN(l->loads_add(1, c->experts, call, own, &d->call));
  }
  return status;
}

static phibal_status route(device *d, int32_t layer, int32_t moe_layer, int64_t tokens) {
  const device_library *l = &d->library;
  model *m = &d->model;
  layer_activations *on = &m->layers[layer];
  const phibal_router router = model_layer_router(&m->config, on);
  const phibal_cuda_loads call = loads_of(d, &d->call_loads, moe_layer);
  const float *bias = model_has_bias(&m->config, m->balance.method) && !on->given
                          ? m->bias + (int64_t)moe_layer * m->config.experts
                          : NULL;
  float *probabilities = balance_probabilities(m);
  phibal_status status = d->sequence_losses
                             ? route_sequences(d, &router, layer, moe_layer, tokens, bias)
                             : l->router_forward(&router, tokens, PHIBAL_LOGITS_F32, on->logits,
                                                 bias, m->scratch.mask, probabilities, on->experts,
                                                 on->gates, on->logsumexp, call, &d->zeroed);
  if (m->config.gate_floor > 0)
    RUN(l->gate_floor(tokens, m->config.active, m->config.route_scale, m->config.gate_floor,
                      on->gates, on->gate_sum, &d->call));
  if (m->balance.method == BALANCE_QUANTILE)
    RUN(device_balance_require(d, layer, moe_layer, tokens, probabilities));
  if (m->balance.z_coefficient > 0 && d->shares[d->calls] > 0)
    RUN(l->z_loss(tokens, m->balance.z_coefficient, on->logsumexp, m->scratch.mask,
                  d->losses + (2 * (int64_t)d->calls + 1) * m->moe_layers + moe_layer, &d->zeroed));
  return status;
}

/* (E10), (E8): the rows of the routes to experts that have weights, and of these, where there is a
   capacity, those within it; the gates of the others nothing reads then. By slots, gate_gradient
   has the experts meanwhile. Then the gates that the experts' outputs are multiplied by (R5f). */
static phibal_status permute(device *d, int32_t layer, int32_t moe_layer, int64_t tokens) {
  const device_library *l = &d->library;
  const model *m = &d->model;
  const model_config *c = &m->config;
  const balance_config *b = &m->balance;
  const layer_activations *on = &m->layers[layer];
  const int32_t k = c->active, E = c->experts, real = model_real_experts(c);
  int32_t *slots = (int32_t *)m->scratch.gate_gradient;
  const float *factor = m->weights.layers[layer].factor;
  phibal_status status = PHIBAL_OK;
  if (c->zero_experts)
    status = l->zero_experts_dispatch(tokens, k, E, c->zero_experts, on->experts, slots, &d->call);
  RUN(l->permutation(tokens, k, real, c->zero_experts ? slots : on->experts, on->offsets,
                     on->source, on->row, &d->call));
  if (b->capacity_factor > 0) {
    int64_t limit = 0;
    RUN(phibal_capacity_limit(b->capacity_factor, b->capacity_minimum, d->seen[d->calls], k, E,
                              &limit));
    RUN(l->capacity(b->capacity_policy, tokens, k, E, limit, on->offsets, on->source, on->gates,
                    slots, NULL, &d->call));
    RUN(l->permutation(tokens, k, E, slots, on->offsets, on->source, on->row, &d->call));
    RUN(l->copy(d->kept + (int64_t)d->calls * m->moe_layers + moe_layer, on->offsets + E,
                sizeof *d->kept, &d->call));
  }
  if (factor)
    RUN(l->gate_factor(tokens, k, E, on->experts, on->gates, factor, on->scaled_gates, &d->call));
  return status;
}

static const float *experts_gates(const device *d, int32_t layer) {
  const layer_activations *on = &d->model.layers[layer];
  return d->model.weights.layers[layer].factor ? on->scaled_gates : on->gates;
}

static phibal_zero_output zero_output(const device *d) {
  return d->model.config.zero_output == ZERO_NOTHING ? PHIBAL_ZERO_NULL : PHIBAL_ZERO_IDENTITY;
}

/* The offsets on the host, where the products need them there: cublasGemmGroupedBatchedEx, products
   made each by itself, and phibal_cuda_ranks_exchange (ncclSend, ncclRecv) between ranks. Then each
   layer waits. */
static phibal_status fetch_offsets(device *d, int32_t layer) {
  const device_library *l = &d->library;
  const int64_t n = model_real_experts(&d->model.config) + 1;
  if (d->sizes_on_device) return PHIBAL_OK;
  if (d->exchange) return device_exchange_offsets(d, layer, d->host_offsets + layer * n);
  phibal_status status = l->copy(d->host_offsets + layer * n, d->model.layers[layer].offsets,
                                 sizeof(int64_t) * (size_t)n, &d->call);
  RUN(device_result(d));
  return status;
}

static phibal_status experts_forward(device *d, int32_t layer, int32_t moe_layer, int64_t tokens,
                                     float *out) {
  const device_library *l = &d->library;
  model *m = &d->model;
  const model_config *c = &m->config;
  const layer_weights *w = &m->weights.layers[layer];
  layer_activations *on = &m->layers[layer];
  const int64_t width = c->width;
  const phibal_cuda_groups groups = experts_groups(d, layer, tokens);
  const float *x = d->rows == PHIBAL_ROWS_F32 ? on->ffn_normed : m->scratch.router_input;
  phibal_status status = l->linear(tokens, c->experts, width, PHIBAL_ROWS_F32, x, w->router, NULL,
                                   PHIBAL_ROWS_F32, on->logits, &d->call);
  RUN(route(d, layer, moe_layer, tokens));
  RUN(permute(d, layer, moe_layer, tokens));
  RUN(fetch_offsets(d, layer));
  if (status) return status;
  const phibal_ffn shape = model_ffn_shape(c, model_real_experts(c), c->hidden);
  float *gathered = m->scratch.gathered_gradient, *expert_output = m->scratch.route_gradient;
  status = gather_rows(d, layer, tokens, on->ffn_normed, gathered);
  if (d->exchange)
    RUN(device_exchange_forward(d, layer, gathered, expert_output));
  else
    RUN(l->ffn_forward_groups(&shape, d->rows, &groups, gathered, device_weight(d, w->gate),
                              device_weight(d, w->up), device_weight(d, w->down), on->a, on->b,
                              m->scratch.h_gradient, expert_output, &d->call));
  if (w->shared_gate)
    RUN(dense_forward(d, tokens, c->shared_experts * c->hidden, on->ffn_normed, w->shared_gate,
                      w->shared_up, w->shared_down, on->shared_a, on->shared_b, out));
  RUN(l->combine(tokens, c->active, width, d->rows, on->row, experts_gates(d, layer), expert_output,
                 out, &d->call));
  if (c->zero_experts) /* x unrounded, as the router has it */
    RUN(l->zero_experts(zero_output(d), tokens, c->active, c->experts, c->zero_experts, width,
                        on->experts, experts_gates(d, layer), x, out, &d->call));
  return status;
}

/* The FFN's input; in binary32 too for a router, whatever the experts have. */
static phibal_status input_norm(device *d, int32_t layer, int64_t tokens) {
  const device_library *l = &d->library;
  model *m = &d->model;
  const layer_weights *w = &m->weights.layers[layer];
  layer_activations *on = &m->layers[layer];
  const int64_t width = m->config.width;
  const phibal_cuda_norm norm = device_norm(d, tokens);
  if (w->router && d->rows == PHIBAL_ROWS_BF16)
    return l->norm_forward_both(&norm, on->middle, width, w->ffn_norm, m->scratch.router_input,
                                on->ffn_normed, width, on->ffn_inverse, &d->call);
  return l->norm_forward(&norm, on->middle, width, w->ffn_norm, d->rows, on->ffn_normed, width,
                         on->ffn_inverse, &d->call);
}

phibal_status device_ffn_forward(device *d, int32_t layer, int32_t moe_layer, int32_t batch,
                                 float *out) {
  const device_library *l = &d->library;
  model *m = &d->model;
  const model_config *c = &m->config;
  const layer_weights *w = &m->weights.layers[layer];
  layer_activations *on = &m->layers[layer];
  const int64_t tokens = (int64_t)batch * c->sequence;
  phibal_status status = input_norm(d, layer, tokens);
  RUN(l->copy(out, on->middle, sizeof(float) * (size_t)(tokens * c->width), &d->call));
  if (w->router)
    RUN(experts_forward(d, layer, moe_layer, tokens, out));
  else
    RUN(dense_forward(d, tokens, c->dense_hidden, on->ffn_normed, w->gate, w->up, w->down, on->a,
                      on->b, out));
  return status;
}

phibal_status device_ffn_recompute(device *d, int32_t layer, int32_t batch) {
  const device_library *l = &d->library;
  model *m = &d->model;
  const model_config *c = &m->config;
  const layer_weights *w = &m->weights.layers[layer];
  layer_activations *on = &m->layers[layer];
  const int64_t tokens = (int64_t)batch * c->sequence, width = c->width;
  const phibal_cuda_norm norm = device_norm(d, tokens);
  phibal_status status = l->norm_forward(&norm, on->middle, width, w->ffn_norm, d->rows,
                                         on->ffn_normed, width, on->ffn_inverse, &d->call);
  if (!w->router) {
    const phibal_ffn dense = model_ffn_shape(c, 1, c->dense_hidden);
    const phibal_cuda_groups all = dense_groups(d);
    RUN(l->ffn_gate_up(&dense, d->rows, &all, on->ffn_normed, device_weight(d, w->gate),
                       device_weight(d, w->up), on->a, on->b, &d->call));
    return status;
  }
  const phibal_ffn routed = model_ffn_shape(c, model_real_experts(c), c->hidden);
  const phibal_cuda_groups groups = experts_groups(d, layer, tokens), all = dense_groups(d);
  RUN(gather_rows(d, layer, tokens, on->ffn_normed, m->scratch.gathered_gradient));
  RUN(l->ffn_gate_up(&routed, d->rows, &groups, m->scratch.gathered_gradient,
                     device_weight(d, w->gate), device_weight(d, w->up), on->a, on->b, &d->call));
  if (!w->shared_gate) return status;
  const phibal_ffn shared = model_ffn_shape(c, 1, c->shared_experts * c->hidden);
  RUN(l->ffn_gate_up(&shared, d->rows, &all, on->ffn_normed, device_weight(d, w->shared_gate),
                     device_weight(d, w->shared_up), on->shared_a, on->shared_b, &d->call));
  return status;
}

/* From dy, the stream's gradient as products multiply it, to that of the FFN's input, which is
   added to normed_gradient. */
static phibal_status dense_backward(device *d, int64_t tokens, int32_t hidden, const float *x,
                                    const float *dy, const float *gate, const float *up,
                                    const float *down, float *a, float *b, float *g_gate,
                                    float *g_up, float *g_down) {
  const device_library *l = &d->library;
  model_scratch *s = &d->model.scratch;
  const phibal_ffn shape = model_ffn_shape(&d->model.config, 1, hidden);
  const phibal_cuda_groups all = dense_groups(d);
  phibal_status status = l->ffn_backward_recompute(
      &shape, d->rows, &all, NULL, x, device_weight(d, gate), device_weight(d, up),
      device_weight(d, down), a, b, dy, s->h_gradient, s->branch, g_gate, g_up, g_down,
      d->calls > 0, &d->call);
  RUN(l->add(tokens * d->model.config.width, d->rows, s->branch, s->normed_gradient, &d->call));
  return status;
}

/* routes_backward where ranks divide the experts; route_gradient has dy by row. Gates and their
   gradients travel with the rows, and lie between in the place of rows that are not there yet, or
   no more. */
static phibal_status exchanged_backward(device *d, int32_t layer, int64_t tokens, int64_t rows) {
  const device_library *l = &d->library;
  const layer_activations *on = &d->model.layers[layer];
  model_scratch *s = &d->model.scratch;
  const int64_t slots = tokens * d->model.config.active;
  phibal_status status = l->gather(rows, 1, 1, PHIBAL_ROWS_F32, on->source, experts_gates(d, layer),
                                   s->gathered_gradient, &d->call);
  RUN(device_exchange_backward(d, layer, s->gathered_gradient, s->route_gradient, s->route_gradient,
                               s->gathered_gradient));
  RUN(l->zero(s->gate_gradient, sizeof(float) * (size_t)slots, &d->call));
  RUN(l->gather_backward(slots, 1, 1, PHIBAL_ROWS_F32, on->row, s->route_gradient, s->gate_gradient,
                         &d->call));
  return status;
}

/* From dy to scratch.gate_gradient and, of the experts' inputs by row, gathered_gradient. */
static phibal_status routes_backward(device *d, int32_t layer, int64_t tokens, const float *dy) {
  const device_library *l = &d->library;
  model *m = &d->model;
  const model_config *c = &m->config;
  const layer_weights *w = &m->weights.layers[layer], *g = &m->weight_gradients.layers[layer];
  layer_activations *on = &m->layers[layer];
  model_scratch *s = &m->scratch;
  const phibal_ffn shape = model_ffn_shape(c, model_real_experts(c), c->hidden);
  const phibal_cuda_groups groups = experts_groups(d, layer, tokens);
  const phibal_cuda_routes routes = {tokens, c->active, on->row, experts_gates(d, layer),
                                     s->gate_gradient};
  phibal_status status = gather_rows(d, layer, tokens, dy, s->route_gradient);
  if (d->exchange)
    return status
               ? status
               : exchanged_backward(d, layer, tokens, groups.host_offsets[model_real_experts(c)]);
  RUN(gather_rows(d, layer, tokens, on->ffn_normed, s->gathered_gradient));
  RUN(l->ffn_backward_recompute(
      &shape, d->rows, &groups, &routes, s->gathered_gradient, device_weight(d, w->gate),
      device_weight(d, w->up), device_weight(d, w->down), on->a, on->b, s->route_gradient,
      s->h_gradient, s->gathered_gradient, g->gate, g->up, g->down, d->calls > 0, &d->call));
  return status;
}

/* Recomputes the router's input of the forward pass. */
static float *router_input(device *d, int32_t layer, int64_t tokens, phibal_status *status) {
  model *m = &d->model;
  layer_activations *on = &m->layers[layer];
  const int64_t width = m->config.width;
  const phibal_cuda_norm norm = device_norm(d, tokens);
  if (d->rows == PHIBAL_ROWS_F32) return on->ffn_normed;
  if (!*status)
    *status = d->library.norm_forward(&norm, on->middle, width, m->weights.layers[layer].ffn_norm,
                                      PHIBAL_ROWS_F32, m->scratch.router_input, width,
                                      on->ffn_inverse, &d->call);
  return m->scratch.router_input;
}

/* From the gradient of the gates that the outputs were multiplied by that of the router's, in its
   place. x: the router's input. Identities write the first that reaches it into normed_gradient. */
static phibal_status gates_backward(device *d, int32_t layer, int64_t tokens, const float *x) {
  const device_library *l = &d->library;
  const model *m = &d->model;
  const model_config *c = &m->config;
  const layer_weights *w = &m->weights.layers[layer], *g = &m->weight_gradients.layers[layer];
  const layer_activations *on = &m->layers[layer];
  const model_scratch *s = &m->scratch;
  const int64_t n = tokens * c->width;
  phibal_status status = PHIBAL_OK;
  if (c->zero_experts) {
    status = l->zero(s->normed_gradient, sizeof(float) * (size_t)n, &d->call);
    RUN(l->zero_experts_backward(zero_output(d), tokens, c->active, c->experts, c->zero_experts,
                                 c->width, on->experts, experts_gates(d, layer), x,
                                 s->stream_gradient, s->normed_gradient, s->gate_gradient,
                                 &d->call));
  }
  if (w->factor) {
    RUN(l->gate_factor_backward(tokens, c->active, c->experts, on->experts, on->gates, w->factor,
                                s->gate_gradient, s->gate_gradient, d->factor_gradient,
                                &d->zeroed));
    RUN(l->add(c->experts, PHIBAL_ROWS_F32, d->factor_gradient, g->factor, &d->call));
  }
  if (c->gate_floor > 0)
    RUN(l->gate_floor_backward(tokens, c->active, c->route_scale, c->gate_floor, on->gates,
                               on->gate_sum, s->gate_gradient, &d->call));
  return status;
}

/* normed_gradient is overwritten with what reaches the FFN's input. */
static phibal_status experts_backward(device *d, int32_t layer, int64_t tokens) {
  const device_library *l = &d->library;
  model *m = &d->model;
  const model_config *c = &m->config;
  const layer_weights *w = &m->weights.layers[layer], *g = &m->weight_gradients.layers[layer];
  layer_activations *on = &m->layers[layer];
  model_scratch *s = &m->scratch;
  const int64_t width = c->width;
  const phibal_router router = model_layer_router(c, on);
  const double global = (double)m->global.tokens;
  const bool priced = d->has_price && balance_acts(c, layer - c->dense_layers);
  phibal_status status = PHIBAL_OK;
  const float *dy = device_stream_gradient(d, tokens * width, &status);
  RUN(routes_backward(d, layer, tokens, dy));
  float *x = router_input(d, layer, tokens, &status);
  RUN(gates_backward(d, layer, tokens, x));
  const int64_t rows = d->sequence_losses ? c->sequence : tokens; /* that have one price */
  for (int64_t first = 0; first < tokens; first += rows)
    RUN(l->router_backward(
        &router, rows, PHIBAL_LOGITS_F32, on->logits + first * c->experts, s->mask + first,
        on->experts + first * c->active, s->gate_gradient + first * c->active,
        priced ? on->price + first / rows * c->experts : NULL,
        m->balance.alpha * (double)c->experts / global, 2.0 * m->balance.z_coefficient / global,
        s->logit_gradient + first * c->experts, &d->call));
  RUN(l->linear_weight_gradient(tokens, c->experts, width, PHIBAL_ROWS_F32, s->logit_gradient, x,
                                g->router, d->calls > 0, &d->call));
  /* Beside that of identities it takes binary32 rows that are free by now. */
  float *to = !c->zero_experts ? s->normed_gradient : d->rows == PHIBAL_ROWS_F32 ? s->branch : x;
  RUN(l->linear_input_gradient(tokens, c->experts, width, PHIBAL_ROWS_F32, s->logit_gradient,
                               w->router, PHIBAL_ROWS_F32, to, &d->call));
  if (c->zero_experts)
    RUN(l->add(tokens * width, PHIBAL_ROWS_F32, to, s->normed_gradient, &d->call));
  if (w->shared_gate)
    RUN(dense_backward(d, tokens, c->shared_experts * c->hidden, on->ffn_normed, dy, w->shared_gate,
                       w->shared_up, w->shared_down, on->shared_a, on->shared_b, g->shared_gate,
                       g->shared_up, g->shared_down));
  RUN(l->gather_backward(tokens, c->active, width, d->rows, on->row, s->gathered_gradient,
                         s->normed_gradient, &d->call));
  return status;
}

phibal_status device_ffn_backward(device *d, int32_t layer, int32_t batch) {
  const device_library *l = &d->library;
  model *m = &d->model;
  const model_config *c = &m->config;
  const layer_weights *w = &m->weights.layers[layer], *g = &m->weight_gradients.layers[layer];
  layer_activations *on = &m->layers[layer];
  model_scratch *s = &m->scratch;
  const int64_t tokens = (int64_t)batch * c->sequence;
  phibal_status status = PHIBAL_OK;
  if (w->router) {
    status = experts_backward(d, layer, tokens);
  } else {
    status = l->zero(s->normed_gradient, sizeof(float) * (size_t)(tokens * c->width), &d->call);
    const float *dy = device_stream_gradient(d, tokens * c->width, &status);
    RUN(dense_backward(d, tokens, c->dense_hidden, on->ffn_normed, dy, w->gate, w->up, w->down,
                       on->a, on->b, g->gate, g->up, g->down));
  }
  const phibal_cuda_norm norm = device_norm(d, tokens);
  RUN(l->norm_backward(&norm, on->middle, c->width, w->ffn_norm, on->ffn_inverse,
                       s->normed_gradient, c->width, 1, s->stream_gradient, c->width, g->ffn_norm,
                       &d->call));
  return status;
}
