/* The gated FFN over the rows of one expert, forward (E2) and backward (E3), with first-order
   conditions carried along the chain. */
#include "activation.h"
#include "expert.h"

/* At least sup |act'|: 1.0998 for SiLU (at 2.40), 1.1290 for GELU's tanh form (at 1.42). */
#define ACTIVATION_LIPSCHITZ 1.140625

typedef struct ffn_shape {
  int64_t rows, width, hidden;
} ffn_shape;

/* Each intermediate of one call: value and condition, [rows][hidden]. */
typedef struct ffn_scratch {
  phibal_reference_result a, b, h, back;
  phibal_enclosure *t; /* temporaries [FFN_TEMPORARIES] */
} ffn_scratch;

#define FFN_TEMPORARIES 4
#define FFN_VECTORS 8

static phibal_reference_result ffn_scratch_pair(phibal_enclosure **next, size_t n) {
  phibal_reference_result pair = {*next, *next + n};
  *next += 2 * n;
  return pair;
}

/* Cuts `all`, of FFN_TEMPORARIES + FFN_VECTORS rows hidden enclosures, into its parts. */
static ffn_scratch ffn_scratch_cut(phibal_enclosure *all, size_t n) {
  phibal_enclosure *next = all + FFN_TEMPORARIES;
  ffn_scratch s = {.t = all};
  s.a = ffn_scratch_pair(&next, n);
  s.b = ffn_scratch_pair(&next, n);
  s.h = ffn_scratch_pair(&next, n);
  s.back = ffn_scratch_pair(&next, n);
  return s;
}

static phibal_status ffn_check(const char *name, const phibal_ffn *ffn, int64_t rows,
                               const float *x, const float *w_gate, const float *w_up,
                               const float *w_down, mpfr_prec_t precision) {
  if (!ffn || rows < 0 || ffn->width < 1 || ffn->hidden < 1)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null FFN or bad shape", name);
  TRY(operation_check_precision(name, precision));
  int64_t d = ffn->width, f = ffn->hidden;
  TRY(reference_matrix_check(name, "x", rows, d, &(phibal_reference_matrix){x, d, 1}));
  TRY(reference_matrix_check(name, "w_gate", f, d, &(phibal_reference_matrix){w_gate, d, 1}));
  TRY(reference_matrix_check(name, "w_up", f, d, &(phibal_reference_matrix){w_up, d, 1}));
  return reference_matrix_check(name, "w_down", d, f, &(phibal_reference_matrix){w_down, f, 1});
}

/* h = act(a) b and its condition L cond(a) |b| + |act(a)| cond(b), of one element. */
static phibal_status ffn_gate(activation_work *work, phibal_enclosure *t, const phibal_enclosure *a,
                              const phibal_enclosure *a_condition, const phibal_enclosure *b,
                              const phibal_enclosure *b_condition, phibal_enclosure *h,
                              phibal_enclosure *h_condition) {
  TRY(activation_evaluate(work, a, &t[0], NULL, NULL));
  TRY(phibal_enclosure_mul(h, &t[0], b));
  phibal_enclosure_set_d(&t[1], ACTIVATION_LIPSCHITZ);
  TRY(phibal_enclosure_mul(&t[1], &t[1], a_condition));
  phibal_enclosure_set_si(h_condition, 0);
  TRY(operation_add_magnitude(h_condition, b, &t[1], &t[2]));
  return operation_add_magnitude(h_condition, &t[0], b_condition, &t[2]);
}

/* value += sum_l x[l x_stride] w[l w_stride], condition += sum_l x_condition |w|, over n terms. */
static phibal_status chain_dot(int64_t n, phibal_reference_result x, int64_t x_stride,
                               const float *w, int64_t w_stride, phibal_enclosure *t,
                               phibal_enclosure *value, phibal_enclosure *condition) {
  for (int64_t l = 0; l < n; l++) {
    double weight = (double)w[l * w_stride];
    TRY(operation_add_scaled(value, &x.value[l * x_stride], weight, &t[0], &t[1]));
    TRY(operation_add_scaled(condition, &x.condition[l * x_stride], fabs(weight), &t[0], &t[1]));
  }
  return PHIBAL_OK;
}

/* result[rows][columns] = X W over `inner`, or added to it, X with strides, W too; a null condition
   is computed into t[3] and dropped. */
static phibal_status chain_product(int64_t rows, int64_t inner, int64_t columns,
                                   phibal_reference_result x, int64_t x_row, int64_t x_column,
                                   const phibal_reference_matrix *w, bool add, phibal_enclosure *t,
                                   phibal_reference_result result) {
  if (!result.value) return PHIBAL_OK;
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns; j++) {
      phibal_enclosure *value = &result.value[i * columns + j];
      phibal_enclosure *condition = result.condition ? &result.condition[i * columns + j] : &t[3];
      if (!add) phibal_enclosure_set_si(value, 0);
      if (!add || !result.condition) phibal_enclosure_set_si(condition, 0);
      phibal_reference_result row = {x.value + i * x_row, x.condition + i * x_row};
      TRY(chain_dot(inner, row, x_column, w->data + j * w->column_stride, w->row_stride, t, value,
                    condition));
    }
  return PHIBAL_OK;
}

static void result_copy(int64_t n, phibal_reference_result from, phibal_reference_result to) {
  for (int64_t i = 0; to.value && i < n; i++) phibal_enclosure_set(&to.value[i], &from.value[i]);
  for (int64_t i = 0; to.condition && i < n; i++)
    phibal_enclosure_set(&to.condition[i], &from.condition[i]);
}

static phibal_status ffn_forward_group(ffn_shape shape, activation_work *work, ffn_scratch *s,
                                       const float *x, const float *w_gate, const float *w_up,
                                       const float *w_down, mpfr_prec_t precision,
                                       phibal_reference_result y) {
  int64_t d = shape.width, f = shape.hidden;
  phibal_reference_matrix left = {x, d, 1}, gate = {w_gate, 1, d}, up = {w_up, 1, d};
  phibal_reference_matrix down = {w_down, 1, f};
  TRY(phibal_reference_product(shape.rows, d, f, &left, &gate, precision, s->a.value,
                               s->a.condition));
  TRY(phibal_reference_product(shape.rows, d, f, &left, &up, precision, s->b.value,
                               s->b.condition));
  for (int64_t i = 0; i < shape.rows * f; i++)
    TRY(ffn_gate(work, s->t, &s->a.value[i], &s->a.condition[i], &s->b.value[i], &s->b.condition[i],
                 &s->h.value[i], &s->h.condition[i]));
  return chain_product(shape.rows, f, d, s->h, f, 1, &down, false, s->t, y);
}

phibal_status phibal_reference_ffn_forward(const phibal_ffn *ffn, int64_t rows, const float *x,
                                           const float *w_gate, const float *w_up,
                                           const float *w_down, mpfr_prec_t precision,
                                           phibal_reference_result a, phibal_reference_result b,
                                           phibal_reference_result h, phibal_reference_result y) {
  const char *name = "phibal_reference_ffn_forward";
  TRY(ffn_check(name, ffn, rows, x, w_gate, w_up, w_down, precision));
  ffn_shape shape = {rows, ffn->width, ffn->hidden};
  size_t n = (size_t)(rows * shape.hidden), all = FFN_TEMPORARIES + FFN_VECTORS * n;
  activation_work work;
  TRY(activation_work_init(name, &work, ffn->activation, precision));
  phibal_enclosure *scratch = NULL;
  phibal_status status = operation_scratch(name, all, precision, &scratch);
  if (status == PHIBAL_OK) {
    ffn_scratch s = ffn_scratch_cut(scratch, n);
    status = ffn_forward_group(shape, &work, &s, x, w_gate, w_up, w_down, precision, y);
    if (status == PHIBAL_OK) {
      result_copy((int64_t)n, s.a, a);
      result_copy((int64_t)n, s.b, b);
      result_copy((int64_t)n, s.h, h);
    }
    operation_scratch_clear(scratch, all);
  }
  activation_work_clear(&work);
  return status;
}

/* a' = h' b act'(a), b' = h' act(a) of one element; back: h' and its condition. */
static phibal_status ffn_gate_backward(activation_work *work, phibal_enclosure *t, float a, float b,
                                       const phibal_enclosure *back,
                                       const phibal_enclosure *back_condition,
                                       phibal_enclosure *a_gradient, phibal_enclosure *a_condition,
                                       phibal_enclosure *b_gradient,
                                       phibal_enclosure *b_condition) {
  phibal_enclosure_set_d(&t[3], (double)a);
  TRY(activation_evaluate(work, &t[3], &t[0], &t[1], &t[2]));
  TRY(phibal_enclosure_mul(b_gradient, back, &t[0]));
  phibal_enclosure_abs(&t[0], &t[0]);
  TRY(phibal_enclosure_mul(b_condition, back_condition, &t[0]));
  phibal_enclosure_set_d(&t[3], (double)b);
  TRY(phibal_enclosure_mul(&t[1], &t[1], &t[3]));
  TRY(phibal_enclosure_mul(a_gradient, back, &t[1]));
  phibal_enclosure_abs(&t[3], &t[3]);
  TRY(phibal_enclosure_mul(&t[2], &t[2], &t[3]));
  return phibal_enclosure_mul(a_condition, back_condition, &t[2]);
}

/* x' = a' W_gate + b' W_up, W_gate' = a'^T x, W_up' = b'^T x. */
static phibal_status ffn_backward_products(ffn_shape shape, ffn_scratch *s, const float *x,
                                           const float *w_gate, const float *w_up,
                                           const phibal_reference_ffn_gradients *g) {
  int64_t n = shape.rows, d = shape.width, f = shape.hidden;
  phibal_reference_matrix gate = {w_gate, d, 1}, up = {w_up, d, 1}, right = {x, d, 1};
  TRY(chain_product(n, f, d, s->a, f, 1, &gate, false, s->t, g->x));
  TRY(chain_product(n, f, d, s->b, f, 1, &up, true, s->t, g->x));
  TRY(chain_product(f, n, d, s->a, 1, f, &right, false, s->t, g->w_gate));
  return chain_product(f, n, d, s->b, 1, f, &right, false, s->t, g->w_up);
}

static phibal_status ffn_backward_group(ffn_shape shape, activation_work *work, ffn_scratch *s,
                                        const float *x, const float *w_gate, const float *w_up,
                                        const float *w_down, const float *a, const float *b,
                                        const float *h, const float *y_gradient,
                                        mpfr_prec_t precision,
                                        const phibal_reference_ffn_gradients *g) {
  int64_t n = shape.rows, d = shape.width, f = shape.hidden;
  phibal_reference_matrix left = {y_gradient, d, 1}, down = {w_down, f, 1};
  phibal_reference_matrix transposed = {y_gradient, 1, d}, right = {h, f, 1};
  TRY(phibal_reference_product(n, d, f, &left, &down, precision, s->back.value, s->back.condition));
  for (int64_t i = 0; i < n * f; i++)
    TRY(ffn_gate_backward(work, s->t, a[i], b[i], &s->back.value[i], &s->back.condition[i],
                          &s->a.value[i], &s->a.condition[i], &s->b.value[i], &s->b.condition[i]));
  TRY(ffn_backward_products(shape, s, x, w_gate, w_up, g));
  if (!g->w_down.value) return PHIBAL_OK;
  return phibal_reference_product(d, n, f, &transposed, &right, precision, g->w_down.value,
                                  g->w_down.condition);
}

static phibal_status ffn_backward_check(const char *name, ffn_shape shape, const float *a,
                                        const float *b, const float *h, const float *y_gradient,
                                        const phibal_reference_ffn_gradients *gradients) {
  int64_t n = shape.rows, d = shape.width, f = shape.hidden;
  if (!gradients) return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null gradients", name);
  TRY(reference_matrix_check(name, "a", n, f, &(phibal_reference_matrix){a, f, 1}));
  TRY(reference_matrix_check(name, "b", n, f, &(phibal_reference_matrix){b, f, 1}));
  TRY(reference_matrix_check(name, "h", n, f, &(phibal_reference_matrix){h, f, 1}));
  return reference_matrix_check(name, "y_gradient", n, d,
                                &(phibal_reference_matrix){y_gradient, d, 1});
}

phibal_status phibal_reference_ffn_backward(const phibal_ffn *ffn, int64_t rows, const float *x,
                                            const float *w_gate, const float *w_up,
                                            const float *w_down, const float *a, const float *b,
                                            const float *h, const float *y_gradient,
                                            mpfr_prec_t precision,
                                            const phibal_reference_ffn_gradients *gradients) {
  const char *name = "phibal_reference_ffn_backward";
  TRY(ffn_check(name, ffn, rows, x, w_gate, w_up, w_down, precision));
  ffn_shape shape = {rows, ffn->width, ffn->hidden};
  TRY(ffn_backward_check(name, shape, a, b, h, y_gradient, gradients));
  size_t n = (size_t)(rows * shape.hidden), all = FFN_TEMPORARIES + FFN_VECTORS * n;
  activation_work work;
  TRY(activation_work_init(name, &work, ffn->activation, precision));
  phibal_enclosure *scratch = NULL;
  phibal_status status = operation_scratch(name, all, precision, &scratch);
  if (status == PHIBAL_OK) {
    ffn_scratch s = ffn_scratch_cut(scratch, n);
    status = ffn_backward_group(shape, &work, &s, x, w_gate, w_up, w_down, a, b, h, y_gradient,
                                precision, gradients);
    if (status == PHIBAL_OK) {
      result_copy((int64_t)n, s.back, gradients->h);
      result_copy((int64_t)n, s.a, gradients->a);
      result_copy((int64_t)n, s.b, gradients->b);
    }
    operation_scratch_clear(scratch, all);
  }
  activation_work_clear(&work);
  return status;
}
