/* What the expert FFN's outputs must be, from its inputs alone: exact values, and the bounds (E2b)
   and (E3b) at the head of kernels/cpu/ffn.c carried from stage to stage, so that they hold for
   every implementation that keeps its promise at each stage.

   Forward, with A = |W_gate||x|, B = |W_up||x|, g = gamma_d:
     |da| <= g A, |db| <= g B,
     |dh| <= H = (|act(a)| + L g A) (|b| + g B) (1 + u + 2^-40) - |act(a)||b|, L = 1.13 >= |act'|,
     |dy| <= |W_down| H + gamma_f |W_down| (|h| + H).
   Backward: the exact gradients are those of the correctly rounded a, b, h of the forward pass
   (call them a^, b^, h^); an implementation's own differ from them by at most g A + u |a| =: da,
   and so on. With C = 1 >= |act''| (SiLU's is at most 1/2, that of GELU's tanh form at most 0.81,
   both at 0) and D = gamma_d |W_down|^T |dy|: b': (|dh| + D) (|act(a^)| + L da) (1 + u + 2^-40) -
   |dh||act(a^)| =: D_b a': (|dh| + D) (|b^| + db) (|act'(a^)| + C da + 2^-41) (1 + u) -
   |dh||b^||act'(a^)| =: D_a x': as in (E3b); W_down': as there, and besides |dy|^T dh; W_gate',
   W_up': as in (E3b). Each bound is a sum of products of positive numbers, in binary64: fewer than
   2^12 roundings each, which the last factor 1 + 2^-40 outweighs, and differences of the form (x +
   y) - x are written out so that nothing cancels. Underflow adds 2^-149 to h, a' and b' and (n + 1)
   2^-149 to a sum of n terms. */
#include "bounds.h"
#include "ffn_case.h"
#include <math.h>

static const double SLOPE = 1.13, CURVATURE = 1, ROUNDED = 1 + 0x1p-24 + 0x1p-40;

/* Values of one expert's rows: magnitudes in binary64, rounded up, and bounds. */
typedef struct block {
  int64_t n, d, f;
  const float *x, *w_gate, *w_up, *w_down, *y_gradient;
  float *a, *b, *h;                /* [n][f] correctly rounded */
  double *da, *db, *dh;            /* [n][f] how far an implementation's may be from these */
  double *act, *slope;             /* [n][f] |act(a^)|, |act'(a^)| */
  double *up, *D, *D_a, *D_b;      /* [n][f] |dL/dh| and the errors of it and of a', b' */
  double *a_gradient, *b_gradient; /* [n][f] magnitudes */
} block;

static double gamma_of(int64_t n) {
  double nu = (double)n * U;
  return nu / (1 - nu);
}

static float nearest(const phibal_enclosure *x) {
  return mpfr_get_flt(x->lo, MPFR_RNDN);
}

/* Records a block of an output; bound is multiplied by what covers its own roundings. */
static void expect_element(judgement *j, const operation_case *c, const char *output, int64_t place,
                           const phibal_enclosure *truth, double bound) {
  phibal_enclosure terms;
  phibal_enclosure_init(&terms, 53);
  phibal_enclosure_set_d(&terms, bound * (1 + 0x1p-40));
  judge_real(j, OUTPUT_FFN_OUTPUT, case_output(c, output), place, truth, &terms);
  phibal_enclosure_clear(&terms);
}

/* sum_i |left[i ls]| right[i rs] */
static double product(int64_t n, const float *left, int64_t ls, const double *right, int64_t rs) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++) sum += fabs((double)left[i * ls]) * right[i * rs];
  return sum;
}

static double product_floats(int64_t n, const float *left, int64_t ls, const float *right,
                             int64_t rs) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++) sum += fabs((double)left[i * ls] * (double)right[i * rs]);
  return sum;
}

static bool block_create(arena *a, block *k) {
  size_t cells = (size_t)(k->n * k->f);
  float **floats[] = {&k->a, &k->b, &k->h};
  double **doubles[] = {&k->da, &k->db,  &k->dh,  &k->act,        &k->slope,     &k->up,
                        &k->D,  &k->D_a, &k->D_b, &k->a_gradient, &k->b_gradient};
  for (size_t i = 0; i < sizeof floats / sizeof *floats; i++)
    *floats[i] = arena_take(a, sizeof(float) * cells, 0);
  for (size_t i = 0; i < sizeof doubles / sizeof *doubles; i++)
    *doubles[i] = arena_take(a, sizeof(double) * cells, 0);
  return !a->failed;
}

/* Forward: a, b, h, y; leaves a^, b^, h^ and their distances in the block. */
static phibal_status expect_forward(const operation_case *c, const ffn_case *s, block *k,
                                    int64_t first, judgement *j) {
  int64_t n = k->n, d = k->d, f = k->f;
  size_t thin = (size_t)(n * f), wide = (size_t)(n * d);
  phibal_enclosure *v = phibal_enclosure_vector(3 * thin + wide + 1, PRECISION);
  if (!v) return arena_out_of_memory();
  phibal_reference_result a = {v, NULL}, b = {v + thin, NULL}, h = {v + 2 * thin, NULL};
  phibal_reference_result y = {v + 3 * thin, NULL};
  phibal_enclosure act;
  phibal_enclosure_init(&act, PRECISION);
  phibal_status status = phibal_reference_ffn_forward(
      &s->ffn, n, (phibal_reference_ffn_inputs){k->x, k->w_gate, k->w_up, k->w_down}, PRECISION,
      (phibal_reference_ffn_results){a, b, h, y});
  for (int64_t i = 0; status == PHIBAL_OK && i < n * f; i++) {
    int64_t row = i / f, column = i % f, place = first * f + i;
    const float *x = k->x + row * d;
    double least = (double)(d + 1) * 0x1p-149;
    double A = gamma_of(d) * product_floats(d, x, 1, k->w_gate + column * d, 1) + least;
    double B = gamma_of(d) * product_floats(d, x, 1, k->w_up + column * d, 1) + least;
    k->a[i] = nearest(&a.value[i]);
    k->b[i] = nearest(&b.value[i]);
    k->h[i] = nearest(&h.value[i]);
    status = phibal_reference_activation(s->ffn.activation, k->a[i], PRECISION, &act, NULL, NULL);
    /* |act(a)| of the exact a, from that of the rounded one. */
    double size = magnitude(&act) + SLOPE * U * magnitude(&a.value[i]) + 0x1p-149;
    double b_size = magnitude(&b.value[i]);
    double H = ((size + SLOPE * A) * B + SLOPE * A * b_size) * ROUNDED +
               (ROUNDED - 1) * size * b_size + 0x1p-149;
    expect_element(j, c, "a", place, &a.value[i], A);
    expect_element(j, c, "b", place, &b.value[i], B);
    expect_element(j, c, "h", place, &h.value[i], H);
    k->da[i] = A + U * magnitude(&a.value[i]) + 0x1p-149;
    k->db[i] = B + U * b_size + 0x1p-149;
    k->dh[i] = H + U * magnitude(&h.value[i]) + 0x1p-149;
  }
  for (int64_t i = 0; status == PHIBAL_OK && i < n * d; i++) {
    const float *w = k->w_down + i % d * f;
    double moved = product(f, w, 1, k->dh + i / d * f, 1);
    double size = product_floats(f, w, 1, k->h + i / d * f, 1) + moved;
    expect_element(j, c, "y", first * d + i, &y.value[i],
                   moved + gamma_of(f) * size + (double)(f + 1) * 0x1p-149);
  }
  phibal_enclosure_clear(&act);
  phibal_enclosure_vector_clear(v, 3 * thin + wide + 1);
  return status;
}

/* h', a', b' of one row by column: magnitudes and errors. */
static phibal_status expect_slopes(const operation_case *c, const ffn_case *s, block *k,
                                   int64_t first, const phibal_reference_ffn_gradients *g,
                                   judgement *j) {
  phibal_enclosure *v = phibal_enclosure_vector(2, PRECISION);
  if (!v) return arena_out_of_memory();
  phibal_status status = PHIBAL_OK;
  for (int64_t i = 0; status == PHIBAL_OK && i < k->n * k->f; i++) {
    const float *y_gradient = k->y_gradient + i / k->f * k->d;
    status = phibal_reference_activation(s->ffn.activation, k->a[i], PRECISION, v, v + 1, NULL);
    double act = magnitude(v), slope = magnitude(v + 1), b = fabs((double)k->b[i]);
    double up = magnitude(&g->h.value[i]), da = k->da[i], db = k->db[i];
    double D = gamma_of(k->d) * product_floats(k->d, y_gradient, 1, k->w_down + i % k->f, k->f) +
               (double)(k->d + 1) * 0x1p-149;
    double bent = CURVATURE * da + 0x1p-41;
    k->D[i] = D;
    k->D_b[i] =
        (D * (act + SLOPE * da) + up * SLOPE * da) * ROUNDED + (ROUNDED - 1) * up * act + 0x1p-149;
    k->D_a[i] =
        (D * (b + db) * (slope + bent) + up * db * (slope + bent) + up * b * bent) * (1 + U) +
        U * up * b * slope + 0x1p-149;
    k->a_gradient[i] = magnitude(&g->a.value[i]);
    k->b_gradient[i] = magnitude(&g->b.value[i]);
    expect_element(j, c, "h-gradient", first * k->f + i, &g->h.value[i], D);
    expect_element(j, c, "a-gradient", first * k->f + i, &g->a.value[i], k->D_a[i]);
    expect_element(j, c, "b-gradient", first * k->f + i, &g->b.value[i], k->D_b[i]);
  }
  phibal_enclosure_vector_clear(v, 2);
  return status;
}

static void expect_x_gradient(const operation_case *c, const block *k, int64_t first,
                              const phibal_enclosure *truth, judgement *j) {
  for (int64_t i = 0; i < k->n * k->d; i++) {
    int64_t row = i / k->d * k->f, column = i % k->d;
    double moved = product(k->f, k->w_gate + column, k->d, k->D_a + row, 1) +
                   product(k->f, k->w_up + column, k->d, k->D_b + row, 1);
    double size = product(k->f, k->w_gate + column, k->d, k->a_gradient + row, 1) +
                  product(k->f, k->w_up + column, k->d, k->b_gradient + row, 1);
    expect_element(j, c, "x-gradient", first * k->d + i, &truth[i],
                   moved + gamma_of(2 * k->f) * (size + moved) + (double)(2 * k->f + 1) * 0x1p-149);
  }
}

/* A weight's gradient, [rows][columns] at place `first`, added to what was there:
   before + sum over the block's rows of left right^T, the right factor wrong by at most `error`. */
static void expect_weight(const operation_case *c, const char *output, int64_t first, int64_t n,
                          const float *left, int64_t left_width, int64_t column,
                          const double *right, const double *error, int64_t right_width,
                          int64_t right_column, phibal_enclosure *truth, judgement *j) {
  double before = (double)((const float *)case_input_data(c, output))[first];
  phibal_enclosure start;
  phibal_enclosure_init(&start, 53);
  phibal_enclosure_set_d(&start, before);
  phibal_enclosure_add(truth, truth, &start);
  phibal_enclosure_clear(&start);
  double moved = product(n, left + column, left_width, error + right_column, right_width);
  double size = product(n, left + column, left_width, right + right_column, right_width) + moved;
  expect_element(j, c, output, first, truth,
                 moved + gamma_of(n + 1) * (fabs(before) + size) + (double)(n + 1) * 0x1p-149);
}

static void expect_weights(const operation_case *c, const block *k, int64_t expert, const double *h,
                           const phibal_reference_ffn_gradients *g, judgement *j) {
  int64_t n = k->n, d = k->d, f = k->f;
  for (int64_t i = 0; i < f * d; i++) {
    int64_t place = expert * f * d + i;
    expect_weight(c, "w-gate-gradient", place, n, k->x, d, i % d, k->a_gradient, k->D_a, f, i / d,
                  &g->w_gate.value[i], j);
    expect_weight(c, "w-up-gradient", place, n, k->x, d, i % d, k->b_gradient, k->D_b, f, i / d,
                  &g->w_up.value[i], j);
    expect_weight(c, "w-down-gradient", place, n, k->y_gradient, d, i / f, h, k->dh, f, i % f,
                  &g->w_down.value[i], j);
  }
}

static phibal_status expect_backward(const operation_case *c, const ffn_case *s, block *k,
                                     int64_t expert, arena *memory, judgement *j) {
  size_t thin = (size_t)(k->n * k->f), wide = (size_t)(k->n * k->d);
  size_t weights = (size_t)(k->f * k->d), all = 3 * thin + wide + 3 * weights + 1;
  int64_t first = s->offsets[expert];
  phibal_enclosure *v = phibal_enclosure_vector(all, PRECISION);
  double *h = arena_take(memory, sizeof(double) * thin, 0);
  if (!v || !h) {
    phibal_enclosure_vector_clear(v, all);
    return arena_out_of_memory();
  }
  for (size_t i = 0; i < thin; i++) h[i] = fabs((double)k->h[i]);
  phibal_enclosure *w = v + 3 * thin + wide;
  phibal_reference_ffn_gradients g = {.h = {v, NULL},
                                      .a = {v + thin, NULL},
                                      .b = {v + 2 * thin, NULL},
                                      .x = {v + 3 * thin, NULL},
                                      .w_gate = {w, NULL},
                                      .w_up = {w + weights, NULL},
                                      .w_down = {w + 2 * weights, NULL}};
  phibal_status status = phibal_reference_ffn_backward(
      &s->ffn, k->n, (phibal_reference_ffn_inputs){k->x, k->w_gate, k->w_up, k->w_down},
      (phibal_reference_ffn_saved){k->a, k->b, k->h, k->y_gradient}, PRECISION, &g);
  if (status == PHIBAL_OK) status = expect_slopes(c, s, k, first, &g, j);
  if (status == PHIBAL_OK) {
    expect_x_gradient(c, k, first, g.x.value, j);
    expect_weights(c, k, expert, h, &g, j);
  }
  phibal_enclosure_vector_clear(v, all);
  return status;
}

static phibal_status expect_expert(const operation_case *c, const ffn_case *s, int64_t e,
                                   judgement *j) {
  int64_t d = s->ffn.width, f = s->ffn.hidden, first = s->offsets[e];
  block k = {.n = s->offsets[e + 1] - first,
             .d = d,
             .f = f,
             .x = s->x + first * d,
             .w_gate = s->w_gate + e * f * d,
             .w_up = s->w_up + e * f * d,
             .w_down = s->w_down + e * f * d,
             .y_gradient = s->y_gradient + first * d};
  arena memory = {0};
  phibal_status status =
      block_create(&memory, &k) ? expect_forward(c, s, &k, first, j) : arena_out_of_memory();
  if (status == PHIBAL_OK) status = expect_backward(c, s, &k, e, &memory, j);
  arena_free(&memory);
  return status;
}

phibal_status ffn_expect(const operation_case *c, const ffn_case *f, judgement *j) {
  phibal_status status = PHIBAL_OK;
  for (int64_t e = 0; status == PHIBAL_OK && e < f->ffn.experts; e++)
    status = expect_expert(c, f, e, j);
  return status;
}
