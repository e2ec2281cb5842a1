/* The expert FFN, forward and backward, against the reference: stage by stage, each from the
   kernel's own inputs to the stage, so that each bound is that of one stage. */
#include "arena.h"
#include "random.h"
#include "verify.h"
#include <phibal/reference_moe.h>

enum { PRECISION = 96 };
enum { OPERATION_FFN = 40 };

typedef struct ffn_case {
  phibal_ffn ffn;
  int64_t rows, *offsets;
  float *x, *w_gate, *w_up, *w_down, *y_gradient; /* inputs */
  float *a, *b, *h, *y;                           /* forward */
  float *a_gradient, *b_gradient, *h_gradient, *x_gradient;
  float *w_gate_gradient, *w_up_gradient, *w_down_gradient;
} ffn_case;

static void choose_shape(random_stream *r, uint64_t number, ffn_case *c, int64_t *most) {
  uint64_t shape = number % SHAPES;
  c->ffn =
      (phibal_ffn){(int32_t)random_integer(r, 1, 5), (int32_t)random_integer(r, 1, 24),
                   (int32_t)random_integer(r, 1, 24), (phibal_activation)random_integer(r, 0, 1)};
  *most = 12;
  if (shape == SHAPE_TILES) { /* past the edges of any tile a kernel is likely to use */
    c->ffn.experts = 2;
    c->ffn.width = number < SHAPES ? 129 : 67;
    c->ffn.hidden = number < SHAPES ? 65 : 35;
    *most = number < SHAPES ? 140 : 70;
  }
  if (shape == SHAPE_EMPTY) *most = 0;
  if (shape == SHAPE_ONE) c->ffn.experts = c->ffn.width = c->ffn.hidden = 1, *most = 1;
  if (shape == SHAPE_SQUARE) c->ffn.hidden = c->ffn.width;
}

static void fill(random_stream *r, float *x, int64_t n) {
  for (int64_t i = 0; i < n; i++) x[i] = (float)random_normal(r);
}

static bool ffn_case_create(uint64_t seed, uint64_t number, arena *a, ffn_case *c) {
  random_stream r = random_start(seed, OPERATION_FFN, number);
  int64_t most;
  choose_shape(&r, number, c, &most);
  int64_t E = c->ffn.experts, d = c->ffn.width, f = c->ffn.hidden;
  c->offsets = arena_take(a, sizeof(int64_t) * (size_t)(E + 1), 0);
  if (!c->offsets) return false;
  /* Some groups are empty. */
  for (int64_t e = 0; e < E; e++)
    c->offsets[e + 1] =
        c->offsets[e] + (random_integer(&r, 0, 3) ? random_integer(&r, most > 0, most) : 0);
  if (most > 1 && c->offsets[E] == 0)
    for (int64_t e = 0; e < E; e++) c->offsets[e + 1] = most * (e + 1);
  c->rows = c->offsets[E];
  int64_t n = c->rows;
  float **inputs[] = {&c->x, &c->y_gradient, &c->w_gate, &c->w_up, &c->w_down};
  int64_t input_sizes[] = {n * d, n * d, E * f * d, E * f * d, E * f * d};
  for (int i = 0; i < 5; i++) {
    if (!(*inputs[i] = arena_floats(a, input_sizes[i]))) return false;
    fill(&r, *inputs[i], input_sizes[i]);
  }
  /* Sums that cancel almost wholly: every other column repeats its neighbour with the sign turned.
   */
  if (number % SHAPES == SHAPE_CANCELLING && d > 1)
    for (int64_t i = 0; i < n * d; i++)
      if (i % d % 2) c->x[i] = -c->x[i - 1];
  float **outputs[] = {&c->a,          &c->b,          &c->h, &c->a_gradient,
                       &c->b_gradient, &c->h_gradient, &c->y, &c->x_gradient};
  for (int i = 0; i < 8; i++)
    if (!(*outputs[i] = arena_floats(a, n * (i < 6 ? f : d)))) return false;
  float **gradients[] = {&c->w_gate_gradient, &c->w_up_gradient, &c->w_down_gradient};
  for (int i = 0; i < 3; i++) {
    if (!(*gradients[i] = arena_floats(a, E * f * d))) return false;
    /* Gradients are added to what is there: start from ones. */
    for (int64_t j = 0; j < E * f * d; j++) (*gradients[i])[j] = 1;
  }
  return !a->failed;
}

/* One stage: got[rows][columns] against A B (+ A2 B2) (+ 1 if `added`), n roundings a sum. */
typedef struct stage {
  int64_t rows, inner, columns;
  phibal_reference_matrix a, b;
  const phibal_reference_matrix *a2, *b2; /* null for one product */
  bool added;
  const float *got;
  output_id output;
} stage;

static phibal_status compare_stage(const stage *s, tally *tallies) {
  size_t n = (size_t)(s->rows * s->columns);
  phibal_enclosure *v = phibal_enclosure_vector(4 * n + 1, PRECISION);
  if (!v) return arena_out_of_memory();
  phibal_enclosure *terms = v + n, *v2 = v + 2 * n, *terms2 = v + 3 * n, *one = v + 4 * n;
  phibal_enclosure_set_si(one, 1);
  phibal_status status =
      phibal_reference_product(s->rows, s->inner, s->columns, &s->a, &s->b, PRECISION, v, terms);
  if (status == PHIBAL_OK && s->a2)
    status = phibal_reference_product(s->rows, s->inner, s->columns, s->a2, s->b2, PRECISION, v2,
                                      terms2);
  int64_t roundings = s->inner * (s->a2 ? 2 : 1) + 1;
  for (size_t i = 0; status == PHIBAL_OK && i < n; i++) {
    if (s->a2) {
      phibal_enclosure_add(&v[i], &v[i], &v2[i]);
      phibal_enclosure_add(&terms[i], &terms[i], &terms2[i]);
    }
    if (s->added) {
      phibal_enclosure_add(&v[i], &v[i], one);
      phibal_enclosure_add(&terms[i], &terms[i], one);
    }
    gamma_bound(&terms[i], &terms[i], roundings);
    tally_real(&tallies[s->output], (int64_t)i, &v[i], &terms[i], (double)s->got[i]);
  }
  phibal_enclosure_vector_clear(v, 4 * n + 1);
  return status;
}

static phibal_reference_matrix rows_of(const float *data, int64_t columns) {
  return (phibal_reference_matrix){data, columns, 1};
}

static phibal_reference_matrix transpose_of(const float *data, int64_t columns) {
  return (phibal_reference_matrix){data, 1, columns};
}

/* h = act(a) b, and its gradients, element by element. */
static phibal_status compare_elements(const ffn_case *c, tally *tallies) {
  phibal_enclosure *v = phibal_enclosure_vector(8, PRECISION);
  if (!v) return arena_out_of_memory();
  phibal_enclosure *act = v, *slope = v + 1, *slope_terms = v + 2, *b = v + 3, *up = v + 4,
                   *value = v + 5, *terms = v + 6;
  phibal_status status = PHIBAL_OK;
  for (int64_t i = 0; status == PHIBAL_OK && i < c->rows * c->ffn.hidden; i++) {
    status =
        phibal_reference_activation(c->ffn.activation, c->a[i], PRECISION, act, slope, slope_terms);
    if (status != PHIBAL_OK) break;
    phibal_enclosure_set_d(b, (double)c->b[i]);
    phibal_enclosure_set_d(up, (double)c->h_gradient[i]);
    phibal_enclosure_mul(value, act, b);
    phibal_enclosure_abs(terms, value);
    tally_real(&tallies[OUTPUT_FFN_HIDDEN], i, value, terms, (double)c->h[i]);
    phibal_enclosure_mul(value, act, up);
    phibal_enclosure_abs(terms, value);
    tally_real(&tallies[OUTPUT_FFN_ACTIVATION_GRADIENT], i, value, terms, (double)c->b_gradient[i]);
    phibal_enclosure_mul(up, up, b);
    phibal_enclosure_mul(value, up, slope);
    phibal_enclosure_abs(terms, up);
    phibal_enclosure_mul(terms, terms, slope_terms);
    tally_real(&tallies[OUTPUT_FFN_ACTIVATION_GRADIENT], i, value, terms, (double)c->a_gradient[i]);
  }
  phibal_enclosure_vector_clear(v, 8);
  return status;
}

/* The products of one expert's rows. */
static phibal_status compare_expert(const ffn_case *c, int64_t e, tally *tallies) {
  int64_t d = c->ffn.width, f = c->ffn.hidden, first = c->offsets[e];
  int64_t n = c->offsets[e + 1] - first;
  const float *x = c->x + first * d, *y_gradient = c->y_gradient + first * d;
  const float *h = c->h + first * f, *h_gradient = c->h_gradient + first * f;
  const float *a_gradient = c->a_gradient + first * f, *b_gradient = c->b_gradient + first * f;
  const float *w_gate = c->w_gate + e * f * d, *w_up = c->w_up + e * f * d;
  const float *w_down = c->w_down + e * f * d;
  phibal_reference_matrix b_rows = rows_of(b_gradient, f), up_rows = rows_of(w_up, d);
  const stage stages[] = {
      {n, d, f, rows_of(x, d), transpose_of(w_gate, d), NULL, NULL, false, c->a + first * f,
       OUTPUT_FFN_PROJECTIONS},
      {n, d, f, rows_of(x, d), transpose_of(w_up, d), NULL, NULL, false, c->b + first * f,
       OUTPUT_FFN_PROJECTIONS},
      {n, f, d, rows_of(h, f), transpose_of(w_down, f), NULL, NULL, false, c->y + first * d,
       OUTPUT_FFN_OUTPUT},
      {n, d, f, rows_of(y_gradient, d), rows_of(w_down, f), NULL, NULL, false, h_gradient,
       OUTPUT_FFN_HIDDEN_GRADIENT},
      {n, f, d, rows_of(a_gradient, f), rows_of(w_gate, d), &b_rows, &up_rows, false,
       c->x_gradient + first * d, OUTPUT_FFN_X_GRADIENT},
      {f, n, d, transpose_of(a_gradient, f), rows_of(x, d), NULL, NULL, true,
       c->w_gate_gradient + e * f * d, OUTPUT_FFN_WEIGHT_GRADIENTS},
      {f, n, d, transpose_of(b_gradient, f), rows_of(x, d), NULL, NULL, true,
       c->w_up_gradient + e * f * d, OUTPUT_FFN_WEIGHT_GRADIENTS},
      {d, n, f, transpose_of(y_gradient, d), rows_of(h, f), NULL, NULL, true,
       c->w_down_gradient + e * f * d, OUTPUT_FFN_WEIGHT_GRADIENTS},
  };
  phibal_status status = PHIBAL_OK;
  for (size_t i = 0; status == PHIBAL_OK && i < sizeof stages / sizeof *stages; i++)
    status = compare_stage(&stages[i], tallies);
  return status;
}

phibal_status verify_ffn(uint64_t seed, uint64_t number, tally *tallies) {
  arena a = {0};
  ffn_case c = {0};
  phibal_status status = ffn_case_create(seed, number, &a, &c) ? PHIBAL_OK : arena_out_of_memory();
  size_t hidden = sizeof(float) * (size_t)(c.rows * c.ffn.hidden);
  if (status == PHIBAL_OK)
    status =
        phibal_ffn_forward(&c.ffn, c.offsets, c.x, c.w_gate, c.w_up, c.w_down, c.a, c.b, c.h, c.y);
  if (status == PHIBAL_OK) {
    memcpy(c.a_gradient, c.a, hidden);
    memcpy(c.b_gradient, c.b, hidden);
    status = phibal_ffn_backward(&c.ffn, c.offsets, c.x, c.w_gate, c.w_up, c.w_down, c.a_gradient,
                                 c.b_gradient, c.h, c.y_gradient, c.h_gradient, c.x_gradient,
                                 c.w_gate_gradient, c.w_up_gradient, c.w_down_gradient);
  }
  if (status == PHIBAL_OK) status = compare_elements(&c, tallies);
  for (int64_t e = 0; status == PHIBAL_OK && e < c.ffn.experts; e++)
    status = compare_expert(&c, e, tallies);
  arena_free(&a);
  return status;
}
