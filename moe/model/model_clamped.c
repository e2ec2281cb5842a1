/* The experts of gpt-oss: an FFN whose projections have biases and are clamped. For a row x of an
   expert, with limit L and slope c:
     a = G x + bg,  b = U x + bu,  g = min(a, L),  u = min(max(b, -L), L),
     h = (u + 1) g sigmoid(c g),   y = D h + bd;
   backward, with s = sigmoid(c g), from dy:
     dh = D^T dy,  da = [a <= L] dh (u + 1) (s + c g s (1 - s)),  db = [-L <= b <= L] dh g s,
     dx = G^T da + U^T db,
   and biases get the sums of da, db and dy over an expert's rows. The experts come one after
   another, each on all threads; every sum has one order. */
#include "model_internal.h"

#include "kernels/core/sigmoid.h"
#include "kernels/cpu/gemm.h"

/* Elementwise: a h and a gradient within a few roundings of binary64, and one of binary32. */
typedef struct clamped {
  double g, u, s;
  bool g_free, u_free; /* not beyond the limit */
} clamped;

static inline clamped clamp(const model_config *c, float a, float b) {
  const double limit = (double)c->expert_limit;
  clamped at = {.g_free = (double)a <= limit, .u_free = (double)b <= limit && (double)b >= -limit};
  at.g = at.g_free ? (double)a : limit;
  at.u = at.u_free ? (double)b : b > 0 ? limit : -limit;
  at.s = core_sigmoid64((double)c->expert_slope * at.g);
  return at;
}

static void activate(const model_config *c, int64_t n, const float *a, const float *b, float *h) {
  for (int64_t i = 0; i < n; i++) {
    const clamped at = clamp(c, a[i], b[i]);
    h[i] = (float)((at.u + 1.0) * at.g * at.s);
  }
}

/* a, b to their gradients, in place. */
static void activate_backward(const model_config *c, int64_t n, const float *h_gradient, float *a,
                              float *b) {
  const double slope = (double)c->expert_slope;
  for (int64_t i = 0; i < n; i++) {
    const clamped at = clamp(c, a[i], b[i]);
    const double dh = (double)h_gradient[i];
    a[i] = at.g_free ? (float)(dh * (at.u + 1.0) * at.s * (1.0 + slope * at.g * (1.0 - at.s))) : 0;
    b[i] = at.u_free ? (float)(dh * at.g * at.s) : 0;
  }
}

void clamped_ffn_forward(const model *m, const ffn_call *c, float *y) {
  const int64_t d = c->shape.width, f = c->shape.hidden;
  for (int64_t e = 0; e < c->shape.experts; e++) {
    const int64_t row = c->offsets[e], n = c->offsets[e + 1] - row;
    const layer_weights *w = c->weights;
    const float *x = c->x + row * d;
    float *a = c->a + row * f, *b = c->b + row * f, *h = c->h + row * f;
    if (!n) continue;
#pragma omp parallel num_threads(m->threads)
    {
      phibal_gemm_linear(n, f, d, x, c->gate + e * f * d, false, a);
      phibal_gemm_linear(n, f, d, x, c->up + e * f * d, false, b);
      model_add_rows(n, f, w->gate_bias + e * f, 0, a);
      model_add_rows(n, f, w->up_bias + e * f, 0, b);
#pragma omp for schedule(static)
      for (int64_t i = 0; i < n; i++) activate(&m->config, f, a + i * f, b + i * f, h + i * f);
      phibal_gemm_linear(n, d, f, h, c->down + e * d * f, false, y + row * d);
      model_add_rows(n, d, w->down_bias + e * d, 0, y + row * d);
    }
  }
}

void clamped_ffn_backward(const model *m, const ffn_call *c, const float *y_gradient,
                          float *h_gradient, float *x_gradient) {
  const int64_t d = c->shape.width, f = c->shape.hidden;
  for (int64_t e = 0; e < c->shape.experts; e++) {
    const int64_t row = c->offsets[e], n = c->offsets[e + 1] - row, matrix = e * f * d;
    const layer_weights *g = c->gradients;
    const float *x = c->x + row * d, *h = c->h + row * f, *dy = y_gradient + row * d;
    float *a = c->a + row * f, *b = c->b + row * f, *dh = h_gradient + row * f;
    float *dx = x_gradient + row * d;
    if (!n) continue;
#pragma omp parallel num_threads(m->threads)
    {
      model_add_columns(n, d, dy, g->down_bias + e * d);
      phibal_gemm_linear_weight_gradient(n, d, f, dy, h, c->down_gradient + matrix);
      phibal_gemm_linear_input_gradient(n, d, f, dy, c->down + matrix, false, dh);
#pragma omp for schedule(static)
      for (int64_t i = 0; i < n; i++)
        activate_backward(&m->config, f, dh + i * f, a + i * f, b + i * f);
      model_add_columns(n, f, a, g->gate_bias + e * f);
      model_add_columns(n, f, b, g->up_bias + e * f);
      phibal_gemm_linear_weight_gradient(n, f, d, a, x, c->gate_gradient + matrix);
      phibal_gemm_linear_weight_gradient(n, f, d, b, x, c->up_gradient + matrix);
      phibal_gemm_linear_input_gradient(n, f, d, a, c->gate + matrix, false, dx);
      phibal_gemm_linear_input_gradient(n, f, d, b, c->up + matrix, true, dx);
    }
  }
}
