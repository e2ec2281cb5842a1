/* The FFN branch of a layer, dense or mixture of experts, and its residual. */
#include "model_internal.h"

#include "norm.h"

#include "moe/machine/lanes.h"

#include "kernels/core/sigmoid.h"
#include "kernels/cpu/gemm.h"

#include <phibal/gate_factor.h>
#include <phibal/zero_experts.h>

#include <stdio.h>
#include <string.h>

/* The FFN that every token passes: a dense layer's, or the shared experts'. */
static ffn_call dense_call(const model *m, int32_t layer, const int64_t offsets[2]) {
  const model_config *c = &m->config;
  const layer_weights *w = &m->weights.layers[layer], *g = &m->weight_gradients.layers[layer];
  const layer_activations *on = &m->layers[layer];
  const bool shared = w->router;
  return (ffn_call){
      .shape = model_ffn_shape(c, 1, shared ? c->shared_experts * c->hidden : c->dense_hidden),
      .offsets = offsets,
      .x = on->ffn_normed,
      .gate = shared ? w->shared_gate : w->gate,
      .up = shared ? w->shared_up : w->up,
      .down = shared ? w->shared_down : w->down,
      .a = shared ? on->shared_a : on->a,
      .b = shared ? on->shared_b : on->b,
      .h = shared ? on->shared_h : on->h,
      .gate_gradient = shared ? g->shared_gate : g->gate,
      .up_gradient = shared ? g->shared_up : g->up,
      .down_gradient = shared ? g->shared_down : g->down};
}

/* That of the experts, of gathered rows. */
static ffn_call experts_call(const model *m, int32_t layer) {
  const model_config *c = &m->config;
  const layer_weights *w = &m->weights.layers[layer], *g = &m->weight_gradients.layers[layer];
  const layer_activations *on = &m->layers[layer];
  return (ffn_call){.shape = model_ffn_shape(c, model_real_experts(c), c->hidden),
                    .offsets = on->offsets,
                    .source = on->source,
                    .x = on->gathered,
                    .gate = w->gate,
                    .up = w->up,
                    .down = w->down,
                    .a = on->a,
                    .b = on->b,
                    .h = on->h,
                    .gate_gradient = g->gate,
                    .up_gradient = g->up,
                    .down_gradient = g->down,
                    .weights = w->gate_bias ? w : NULL,
                    .gradients = w->gate_bias ? g : NULL};
}

/* Added to `out`; with shared_gate, sigmoid(z_t) y_t with z_t = <w, x_t> and y the FFN's output. */
static phibal_status dense_forward(model *m, int32_t layer, int64_t tokens, float *out) {
  const int64_t offsets[2] = {0, tokens}, d = m->config.width;
  const ffn_call call = dense_call(m, layer, offsets);
  const float *w = m->weights.layers[layer].shared_scale;
  layer_activations *on = &m->layers[layer];
  if (!w) {
    phibal_status status = adapted_ffn_forward(m, &call, m->scratch.branch);
    if (!status) model_add_rows(tokens, d, m->scratch.branch, d, out);
    return status;
  }
  phibal_status status = adapted_ffn_forward(m, &call, on->shared_output);
  if (status) return status;
  phibal_gemm_linear(tokens, 1, d, on->ffn_normed, w, false, on->shared_logit);
  adapted_forward(m, w, tokens, on->ffn_normed, 1, on->shared_logit);
#pragma omp parallel for schedule(static)
  for (int64_t t = 0; t < tokens; t++) {
    const float scale = core_sigmoid(on->shared_logit[t]);
    const float *restrict y = on->shared_output + t * d;
    for (int64_t j = 0; j < d; j++) out[t * d + j] += scale * y[j];
  }
  return PHIBAL_OK;
}

/* The shared experts' part of the backward pass: adds to normed_gradient what reaches their input
   and, with shared_gate, what reaches it through z:
     dL/dy_t = sigmoid(z_t) dL/dout_t,  dL/dz_t = sigmoid(z_t) sigmoid(-z_t) <dL/dout_t, y_t>.
   route_gradient and gate_gradient, which the experts are done with, hold these. */
static phibal_status shared_backward(model *m, int32_t layer, int64_t tokens,
                                     const float *out_gradient) {
  const int64_t offsets[2] = {0, tokens}, d = m->config.width;
  const ffn_call shared = dense_call(m, layer, offsets);
  const layer_activations *on = &m->layers[layer];
  const float *w = m->weights.layers[layer].shared_scale;
  model_scratch *s = &m->scratch;
  const float *y_gradient = out_gradient;
  if (w) {
    float *z_gradient = s->gate_gradient;
    y_gradient = s->route_gradient;
#pragma omp parallel for schedule(static)
    for (int64_t t = 0; t < tokens; t++) {
      const double scale = core_sigmoid64((double)on->shared_logit[t]);
      const double rest = core_sigmoid64(-(double)on->shared_logit[t]);
      const float *from = out_gradient + t * d;
      z_gradient[t] = (float)(scale * rest * lanes_dot(d, from, on->shared_output + t * d));
      for (int64_t j = 0; j < d; j++) s->route_gradient[t * d + j] = (float)scale * from[j];
    }
#pragma omp parallel
    {
      phibal_gemm_linear_weight_gradient(tokens, 1, d, z_gradient, on->ffn_normed,
                                         m->weight_gradients.layers[layer].shared_scale);
      phibal_gemm_linear_input_gradient(tokens, 1, d, z_gradient, w, true, s->normed_gradient);
    }
    adapted_backward(m, w, tokens, on->ffn_normed, 1, z_gradient, s->normed_gradient);
  }
  phibal_status status = adapted_ffn_backward(m, &shared, y_gradient, s->h_gradient, s->branch);
  if (!status) model_add_rows(tokens, d, s->branch, d, s->normed_gradient);
  return status;
}

/* (R5f) The gates that the experts' outputs are multiplied by. */
static const float *experts_gates(const layer_weights *w, const layer_activations *on) {
  return w->factor ? on->scaled_gates : on->gates;
}

/* (R5f) From the gradient of the scaled gates that of the router's, in its place, and that of the
   factors. A route that was dropped has none. */
static phibal_status factor_backward(model *m, int32_t layer, int64_t tokens) {
  const model_config *c = &m->config;
  const layer_activations *on = &m->layers[layer];
  float gradient[PHIBAL_MAX_EXPERTS], *total = m->weight_gradients.layers[layer].factor;
  phibal_status status = phibal_gate_factor_backward(
      tokens, c->active, c->experts, on->experts, on->gates, m->weights.layers[layer].factor,
      m->scratch.gate_gradient, m->scratch.gate_gradient, gradient);
  if (status) return phibal_status_set(status, "layer %d: %s", layer, phibal_status_message());
  for (int32_t e = 0; e < c->experts; e++) total[e] += gradient[e];
  return PHIBAL_OK;
}

/* (E10) Rows of the routes to experts that have weights. `scratch` holds [T][k] numbers. */
static phibal_status experts_permute(const model_config *c, int64_t tokens, float *scratch,
                                     layer_activations *on) {
  int32_t *real = c->zero_experts ? (int32_t *)scratch : on->experts;
  phibal_status status = PHIBAL_OK;
  if (c->zero_experts)
    status = phibal_zero_experts_dispatch(tokens, c->active, c->experts, c->zero_experts,
                                          on->experts, real);
  return status ? status
                : phibal_permutation(tokens, c->active, model_real_experts(c), real, on->offsets,
                                     on->source, on->row);
}

static phibal_zero_output zero_output(const model_config *c) {
  return c->zero_output == ZERO_NOTHING ? PHIBAL_ZERO_NULL : PHIBAL_ZERO_IDENTITY;
}

/* (E10) What the experts without weights give: the gradients of their gates, in their slots of
   gate_gradient, and in normed_gradient the only one of the FFN's input so far. */
static phibal_status identities_backward(model *m, int32_t layer, int64_t tokens,
                                         const float *out_gradient) {
  const model_config *c = &m->config;
  const layer_activations *on = &m->layers[layer];
  model_scratch *s = &m->scratch;
  memset(s->normed_gradient, 0, (size_t)(tokens * c->width) * sizeof(float));
  return phibal_zero_experts_backward(zero_output(c), tokens, c->active, c->experts,
                                      c->zero_experts, c->width, on->experts,
                                      experts_gates(&m->weights.layers[layer], on), on->ffn_normed,
                                      out_gradient, s->normed_gradient, s->gate_gradient);
}

/* (E7), (E8): permutes once more, without what is dropped, whose gates nothing then reads. f and P
   have been counted before. */
static phibal_status experts_limit(model *m, layer_activations *on, int64_t tokens,
                                   model_losses *losses) {
  const model_config *c = &m->config;
  const balance_config *b = &m->balance;
  int32_t *kept = (int32_t *)m->scratch.gate_gradient; /* which the backward pass fills later */
  const int64_t routes = on->offsets[c->experts];
  int64_t limit;
  phibal_status status = phibal_capacity_limit(b->capacity_factor, b->capacity_minimum,
                                               routes / c->active, c->active, c->experts, &limit);
  if (!status)
    status = phibal_capacity(b->capacity_policy, tokens, c->active, c->experts, limit, on->offsets,
                             on->source, on->gates, kept, NULL);
  if (!status)
    status =
        phibal_permutation(tokens, c->active, c->experts, kept, on->offsets, on->source, on->row);
  if (status) return status;
  losses->routes += routes;
  losses->dropped += routes - on->offsets[c->experts];
  return PHIBAL_OK;
}

static phibal_status experts_forward(model *m, int32_t layer, int32_t moe_layer, int32_t batch,
                                     bool training, model_losses *losses, float *out,
                                     double *mark) {
  const model_config *c = &m->config;
  const layer_weights *w = &m->weights.layers[layer];
  layer_activations *on = &m->layers[layer];
  int64_t tokens = model_call_rows(m, batch), d = c->width;
  phibal_gemm_linear(tokens, c->experts, d, on->ffn_normed, w->router, false, on->logits);
  adapted_forward(m, w->router, tokens, on->ffn_normed, c->experts, on->logits);
  if (w->router_bias) model_add_rows(tokens, c->experts, w->router_bias, 0, on->logits);
  phibal_status status = balance_route(m, layer, moe_layer, batch, training, losses);
  if (status) return phibal_status_set(status, "layer %d: %s", layer, phibal_status_message());
  model_clock(mark, &m->times.router);
  status = experts_permute(c, tokens, m->scratch.gate_gradient, on);
  if (!status && training && m->balance.capacity_factor > 0)
    status = experts_limit(m, on, tokens, losses);
  if (status) return status;
  if (w->factor)
    status = phibal_gate_factor(tokens, c->active, c->experts, on->experts, on->gates, w->factor,
                                on->scaled_gates);
  if (status) return phibal_status_set(status, "layer %d: %s", layer, phibal_status_message());
  int64_t routes = on->offsets[model_real_experts(c)];
  float *gathered = m->expert_ranks ? m->scratch.gathered_gradient : on->gathered;
  status = phibal_gather(routes, c->active, d, on->source, on->ffn_normed, gathered);
  if (status) return status;
  model_clock(mark, &m->times.permutation);
  const ffn_call call = experts_call(m, layer);
  if (m->expert_ranks)
    status = exchange_forward(m, layer, on->offsets, gathered, on->expert_output);
  else
    status = adapted_ffn_forward(m, &call, on->expert_output);
  if (!status && w->shared_gate) status = dense_forward(m, layer, tokens, out);
  if (status) return status;
  model_clock(mark, &m->times.experts);
  status =
      phibal_combine(tokens, c->active, d, on->row, experts_gates(w, on), on->expert_output, out);
  if (!status && c->zero_experts)
    status = phibal_zero_experts(zero_output(c), tokens, c->active, c->experts, c->zero_experts, d,
                                 on->experts, experts_gates(w, on), on->ffn_normed, out);
  model_clock(mark, &m->times.permutation);
  return status;
}

phibal_status ffn_branch_forward(model *m, int32_t layer, int32_t moe_layer, int32_t batch,
                                 bool training, model_losses *losses, float *out) {
  const model_config *c = &m->config;
  const layer_weights *w = &m->weights.layers[layer];
  layer_activations *on = &m->layers[layer];
  int64_t tokens = model_call_rows(m, batch);
  double mark = model_now();
  const norm_shape norm = {tokens, 1, c->width, c->norm_epsilon};
  /* The experts add to it. */
  float *to = c->post_norm ? on->ffn_output : out;
#pragma omp parallel
  {
    if (!c->post_norm)
      norm_forward(&norm, on->middle, c->width, w->ffn_norm, on->ffn_normed, c->width,
                   on->ffn_inverse);
#pragma omp for schedule(static)
    for (int64_t t = 0; t < tokens; t++)
      if (c->post_norm)
        memset(to + t * c->width, 0, (size_t)c->width * sizeof(float));
      else
        memcpy(to + t * c->width, on->middle + t * c->width, (size_t)c->width * sizeof(float));
  }
  model_clock(&mark, &m->times.experts);
  phibal_status status =
      w->router ? experts_forward(m, layer, moe_layer, batch, training, losses, to, &mark)
                : dense_forward(m, layer, tokens, to);
  if (!status && c->post_norm) {
    norm_forward(&norm, to, c->width, w->ffn_norm, out, c->width, on->ffn_inverse);
    model_add_rows(tokens, c->width, on->middle, c->width, out);
  }
  model_clock(&mark, &m->times.experts);
  return status;
}

phibal_status ffn_branch_recompute(model *m, int32_t layer, int32_t batch) {
  const model_config *c = &m->config;
  const layer_weights *w = &m->weights.layers[layer];
  layer_activations *on = &m->layers[layer];
  const int64_t tokens = model_call_rows(m, batch), offsets[2] = {0, tokens};
  phibal_status status = PHIBAL_OK;
  double mark = model_now();
  norm_shape norm = {tokens, 1, c->width, c->norm_epsilon};
  if (!c->post_norm)
    norm_forward(&norm, on->middle, c->width, w->ffn_norm, on->ffn_normed, c->width,
                 on->ffn_inverse);
  if (w->router) {
    const ffn_call call = experts_call(m, layer);
    status = phibal_gather(on->offsets[model_real_experts(c)], c->active, c->width, on->source,
                           on->ffn_normed, on->gathered);
    if (!status) status = adapted_ffn_forward(m, &call, on->expert_output);
  }
  if (!status && (!w->router || w->shared_gate)) {
    const ffn_call dense = dense_call(m, layer, offsets);
    status =
        adapted_ffn_forward(m, &dense, w->shared_scale ? on->shared_output : m->scratch.branch);
  }
  if (!status && w->shared_scale) {
    phibal_gemm_linear(tokens, 1, c->width, on->ffn_normed, w->shared_scale, false,
                       on->shared_logit);
    adapted_forward(m, w->shared_scale, tokens, on->ffn_normed, 1, on->shared_logit);
  }
  model_clock(&mark, &m->times.experts);
  return status;
}

/* normed_gradient is overwritten with what reaches the FFN's input from its output. Identities
   write it first, and the router adds to it then. */
static phibal_status experts_backward(model *m, int32_t layer, int32_t batch,
                                      const float *out_gradient, double *mark) {
  const model_config *c = &m->config;
  const layer_weights *w = &m->weights.layers[layer], *g = &m->weight_gradients.layers[layer];
  layer_activations *on = &m->layers[layer];
  model_scratch *s = &m->scratch;
  int64_t tokens = model_call_rows(m, batch), d = c->width;
  phibal_status status =
      phibal_combine_backward(tokens, c->active, d, on->row, experts_gates(w, on),
                              on->expert_output, out_gradient, s->route_gradient, s->gate_gradient);
  if (!status && c->zero_experts) status = identities_backward(m, layer, tokens, out_gradient);
  if (!status && w->factor) status = factor_backward(m, layer, tokens);
  if (status) return status;
  model_clock(mark, &m->times.permutation);
  status = balance_route_backward(m, layer, batch);
  if (status) return status;
#pragma omp parallel
  {
    phibal_gemm_linear_weight_gradient(tokens, c->experts, d, s->logit_gradient, on->ffn_normed,
                                       g->router);
    phibal_gemm_linear_input_gradient(tokens, c->experts, d, s->logit_gradient, w->router,
                                      c->zero_experts > 0, s->normed_gradient);
    if (w->router_bias) model_add_columns(tokens, c->experts, s->logit_gradient, g->router_bias);
  }
  adapted_backward(m, w->router, tokens, on->ffn_normed, c->experts, s->logit_gradient,
                   s->normed_gradient);
  model_clock(mark, &m->times.router);
  const ffn_call call = experts_call(m, layer);
  if (m->expert_ranks)
    status = exchange_backward(m, layer, s->route_gradient, s->gathered_gradient);
  else
    status = adapted_ffn_backward(m, &call, s->route_gradient, s->h_gradient, s->gathered_gradient);
  if (!status && w->shared_gate) status = shared_backward(m, layer, tokens, out_gradient);
  if (status) return status;
  model_clock(mark, &m->times.experts);
  status = phibal_gather_backward(tokens, c->active, d, on->row, s->gathered_gradient,
                                  s->normed_gradient);
  model_clock(mark, &m->times.permutation);
  return status;
}

phibal_status ffn_branch_backward(model *m, int32_t layer, int32_t batch) {
  const model_config *c = &m->config;
  const layer_weights *w = &m->weights.layers[layer], *g = &m->weight_gradients.layers[layer];
  layer_activations *on = &m->layers[layer];
  model_scratch *s = &m->scratch;
  int64_t tokens = model_call_rows(m, batch);
  double mark = model_now();
  phibal_status status;
  const norm_shape norm = {tokens, 1, c->width, c->norm_epsilon};
  if (c->post_norm)
    norm_backward(&norm, on->ffn_output, c->width, w->ffn_norm, on->ffn_inverse, s->stream_gradient,
                  c->width, 0, s->branch_gradient, c->width, g->ffn_norm, s->norm);
  const float *from = c->post_norm ? s->branch_gradient : s->stream_gradient;
  if (w->router) {
    status = experts_backward(m, layer, batch, from, &mark);
  } else {
    const int64_t offsets[2] = {0, tokens};
    const ffn_call call = dense_call(m, layer, offsets);
    status = adapted_ffn_backward(m, &call, from, s->h_gradient, s->normed_gradient);
  }
  if (status) return status;
  if (c->post_norm) {
    model_add_rows(tokens, c->width, s->normed_gradient, c->width, s->stream_gradient);
    model_clock(&mark, &m->times.experts);
    return PHIBAL_OK;
  }
  norm_backward(&norm, on->middle, c->width, w->ffn_norm, on->ffn_inverse, s->normed_gradient,
                c->width, 1, s->stream_gradient, c->width, g->ffn_norm, s->norm);
  model_clock(&mark, &m->times.experts);
  return PHIBAL_OK;
}
