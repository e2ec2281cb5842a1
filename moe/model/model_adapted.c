/* Products in training that adapters with dropout add to: what they add, and the FFN in pieces,
   where they reach between its products. */
#include "model_internal.h"

#include "kernels/cpu/ffn.h"
#include "kernels/cpu/gemm.h"

bool model_is_adapted(const model *m) {
  return m->adapting && m->adapters;
}

static model_product product(const model *m, const float *weight, int64_t rows, const float *x,
                             int64_t stride) {
  return (model_product){.weight = weight,
                         .rows = rows,
                         .stride = stride,
                         .first_token = m->first_token,
                         .active = 1,
                         .x = x};
}

void adapted_forward(const model *m, const float *weight, int64_t rows, const float *x,
                     int64_t stride, float *y) {
  if (!model_is_adapted(m)) return;
  const model_product p = product(m, weight, rows, x, stride);
  m->adapters->forward(m->adapters->context, &p, y);
}

void adapted_backward(const model *m, const float *weight, int64_t rows, const float *x,
                      int64_t stride, const float *y_gradient, float *x_gradient) {
  if (!model_is_adapted(m)) return;
  const model_product p = product(m, weight, rows, x, stride);
  m->adapters->backward(m->adapters->context, &p, y_gradient, x_gradient);
}

/* The rows of expert e: x is theirs. */
static model_product expert_product(const model *m, const ffn_call *c, int64_t e,
                                    const float *weight, const float *x, int64_t stride) {
  model_product p = product(m, weight, c->offsets[e + 1] - c->offsets[e], x, stride);
  if (c->source) {
    p.source = c->source + c->offsets[e];
    p.active = m->config.active;
  }
  return p;
}

static void expert_forward(const model *m, const ffn_call *c, int64_t e, float *y) {
  const model_adapters *to = m->adapters;
  const int64_t d = c->shape.width, f = c->shape.hidden, row = c->offsets[e];
  const int64_t n = c->offsets[e + 1] - row;
  const float *gate = c->gate + e * f * d, *up = c->up + e * f * d, *down = c->down + e * d * f;
  const float *x = c->x + row * d;
  float *a = c->a + row * f, *b = c->b + row * f, *h = c->h + row * f;
  phibal_gemm_linear(n, f, d, x, gate, false, a);
  phibal_gemm_linear(n, f, d, x, up, false, b);
  const model_product of_gate = expert_product(m, c, e, gate, x, f);
  const model_product of_up = expert_product(m, c, e, up, x, f);
  const model_product of_down = expert_product(m, c, e, down, h, d);
  to->forward(to->context, &of_gate, a);
  to->forward(to->context, &of_up, b);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; i++)
    phibal_ffn_activate(c->shape.activation, f, a + i * f, b + i * f, h + i * f);
  phibal_gemm_linear(n, d, f, h, down, false, y + row * d);
  to->forward(to->context, &of_down, y + row * d);
}

phibal_status adapted_ffn_forward(const model *m, const ffn_call *c, float *y) {
  if (c->weights) {
    clamped_ffn_forward(m, c, y);
    return PHIBAL_OK;
  }
  if (!model_is_adapted(m))
    return phibal_ffn_forward(&c->shape, c->offsets, c->x, c->gate, c->up, c->down, c->a, c->b,
                              c->h, y);
  for (int64_t e = 0; e < c->shape.experts; e++)
    if (c->offsets[e + 1] > c->offsets[e]) expert_forward(m, c, e, y);
  return PHIBAL_OK;
}

static void expert_backward(const model *m, const ffn_call *c, int64_t e, const float *y_gradient,
                            float *h_gradient, float *x_gradient) {
  const model_adapters *to = m->adapters;
  const int64_t d = c->shape.width, f = c->shape.hidden, row = c->offsets[e];
  const int64_t n = c->offsets[e + 1] - row, matrix = e * f * d;
  const float *gate = c->gate + matrix, *up = c->up + matrix, *down = c->down + matrix;
  const float *x = c->x + row * d, *h = c->h + row * f, *dy = y_gradient + row * d;
  float *a = c->a + row * f, *b = c->b + row * f, *dh = h_gradient + row * f;
  float *dx = x_gradient + row * d;
  const model_product of_gate = expert_product(m, c, e, gate, x, f);
  const model_product of_up = expert_product(m, c, e, up, x, f);
  const model_product of_down = expert_product(m, c, e, down, h, d);
  phibal_gemm_linear_weight_gradient(n, d, f, dy, h, c->down_gradient + matrix);
  phibal_gemm_linear_input_gradient(n, d, f, dy, down, false, dh);
  to->backward(to->context, &of_down, dy, dh);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; i++)
    phibal_ffn_activate_backward(c->shape.activation, f, a + i * f, b + i * f, dh + i * f);
  phibal_gemm_linear_weight_gradient(n, f, d, a, x, c->gate_gradient + matrix);
  phibal_gemm_linear_weight_gradient(n, f, d, b, x, c->up_gradient + matrix);
  phibal_gemm_linear_input_gradient(n, f, d, a, gate, false, dx);
  phibal_gemm_linear_input_gradient(n, f, d, b, up, true, dx);
  to->backward(to->context, &of_gate, a, dx);
  to->backward(to->context, &of_up, b, dx);
}

phibal_status adapted_ffn_backward(const model *m, const ffn_call *c, const float *y_gradient,
                                   float *h_gradient, float *x_gradient) {
  if (c->weights) {
    clamped_ffn_backward(m, c, y_gradient, h_gradient, x_gradient);
    return PHIBAL_OK;
  }
  if (!model_is_adapted(m))
    return phibal_ffn_backward(&c->shape, c->offsets, c->x, c->gate, c->up, c->down, c->a, c->b,
                               c->h, y_gradient, h_gradient, x_gradient, c->gate_gradient,
                               c->up_gradient, c->down_gradient);
  for (int64_t e = 0; e < c->shape.experts; e++)
    if (c->offsets[e + 1] > c->offsets[e])
      expert_backward(m, c, e, y_gradient, h_gradient, x_gradient);
  return PHIBAL_OK;
}
