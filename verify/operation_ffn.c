/* The expert FFN, forward and backward. Outputs are judged stage by stage, each from the outputs of
   the stage before, so that each bound is that of one stage; golden vectors, which have to be
   written before there are any outputs, carry the bounds through (operation_ffn_expected.c). */
#include "ffn_case.h"

enum { STREAM_FFN = 40 };

static void choose_shape(random_stream *r, uint64_t number, phibal_ffn *ffn, int64_t *most) {
  int shape = shape_of(number);
  bool small = case_is_small(number);
  ffn->experts = (int32_t)random_integer(r, 1, small ? 2 : 5);
  ffn->width = (int32_t)random_integer(r, 1, small ? 4 : 24);
  ffn->hidden = (int32_t)random_integer(r, 1, small ? 4 : 24);
  ffn->activation = (phibal_activation)random_integer(r, 0, 1);
  *most = small ? 2 : 12;
  if (shape == SHAPE_TILES) { /* past the edges of any tile a kernel is likely to use */
    ffn->experts = 2;
    ffn->width = number < SHAPES ? 129 : 67;
    ffn->hidden = number < SHAPES ? 65 : 35;
    *most = number < SHAPES ? 140 : 70;
  }
  if (shape == SHAPE_EMPTY) *most = 0;
  if (shape == SHAPE_ONE) ffn->experts = ffn->width = ffn->hidden = 1, *most = 1;
  if (shape == SHAPE_SQUARE) ffn->hidden = ffn->width;
  /* Every other time the fused gate and up projection is the square one. */
  if (shape == SHAPE_SQUARE && number / SHAPES % 2) ffn->width = 2 * ffn->hidden;
}

/* Sums that cancel almost wholly: every other column repeats its neighbour with the sign turned. */
static void cancel_columns(int64_t rows, int64_t width, float *x) {
  for (int64_t i = 0; i < rows * width; i++)
    if (i % width % 2) x[i] = -x[i - 1];
}

static bool choose_groups(random_stream *r, int64_t E, int64_t most, int64_t *offsets) {
  bool empty = false;
  for (int64_t e = 0; e < E; e++) {
    int64_t rows = random_integer(r, 0, 3) ? random_integer(r, most > 0, most) : 0;
    offsets[e + 1] = offsets[e] + rows;
    empty |= rows == 0;
  }
  if (most > 1 && offsets[E] == 0) {
    for (int64_t e = 0; e < E; e++) offsets[e + 1] = most * (e + 1);
    empty = false;
  }
  return empty;
}

static void add_inputs(operation_case *c, random_stream *r, const phibal_ffn *ffn, int64_t n) {
  int64_t E = ffn->experts, d = ffn->width, f = ffn->hidden;
  float *x = case_add_input(c, "x", TENSOR_F32, 2, n, d);
  float *y_gradient = case_add_input(c, "y-gradient", TENSOR_F32, 2, n, d);
  float *w_gate = case_add_input(c, "w-gate", TENSOR_F32, 3, E, f, d);
  float *w_up = case_add_input(c, "w-up", TENSOR_F32, 3, E, f, d);
  float *w_down = case_add_input(c, "w-down", TENSOR_F32, 3, E, d, f);
  float *before[] = {case_add_input(c, "w-gate-gradient", TENSOR_F32, 3, E, f, d),
                     case_add_input(c, "w-up-gradient", TENSOR_F32, 3, E, f, d),
                     case_add_input(c, "w-down-gradient", TENSOR_F32, 3, E, d, f)};
  if (case_status(c) != PHIBAL_OK) return;
  fill_normal(r, x, n * d);
  fill_normal(r, y_gradient, n * d);
  fill_normal(r, w_gate, E * f * d);
  fill_normal(r, w_up, E * f * d);
  fill_normal(r, w_down, E * f * d);
  if (c->number % SHAPES == SHAPE_CANCELLING && d > 1) cancel_columns(n, d, x);
  /* Gradients are added to what is there. */
  for (int i = 0; i < 3; i++) fill_normal(r, before[i], E * f * d);
}

phibal_status operation_expert_ffn_make(operation_case *c) {
  random_stream r = random_start(c->seed, STREAM_FFN, c->number);
  phibal_ffn ffn;
  int64_t most;
  choose_shape(&r, c->number, &ffn, &most);
  int64_t E = ffn.experts, d = ffn.width, f = ffn.hidden;
  if (2 * f == d) case_flag(c, FLAG_HALF_SQUARE);
  case_flag(c, FLAG_FROZEN);
  case_text(c, "activation", ffn.activation == PHIBAL_ACTIVATION_SILU ? "silu" : "gelu-tanh");
  int64_t *offsets = case_add_input(c, "offsets", TENSOR_I64, 1, E + 1);
  if (!offsets) return arena_out_of_memory();
  if (choose_groups(&r, E, most, offsets)) case_flag(c, FLAG_DEAD_EXPERT);
  int64_t n = offsets[E];
  add_inputs(c, &r, &ffn, n);
  static const struct {
    const char *name;
    output_id promise;
  } hidden[] = {{"a", OUTPUT_FFN_PROJECTIONS},
                {"b", OUTPUT_FFN_PROJECTIONS},
                {"h", OUTPUT_FFN_HIDDEN},
                {"a-gradient", OUTPUT_FFN_ACTIVATION_GRADIENT},
                {"b-gradient", OUTPUT_FFN_ACTIVATION_GRADIENT},
                {"h-gradient", OUTPUT_FFN_HIDDEN_GRADIENT}};
  case_add_output(c, OUTPUT_FFN_OUTPUT, "y", TENSOR_F32, 2, n, d);
  case_add_output(c, OUTPUT_FFN_X_GRADIENT, "x-gradient", TENSOR_F32, 2, n, d);
  case_add_output(c, OUTPUT_FFN_WEIGHT_GRADIENTS, "w-gate-gradient", TENSOR_F32, 3, E, f, d);
  case_add_output(c, OUTPUT_FFN_WEIGHT_GRADIENTS, "w-up-gradient", TENSOR_F32, 3, E, f, d);
  case_add_output(c, OUTPUT_FFN_WEIGHT_GRADIENTS, "w-down-gradient", TENSOR_F32, 3, E, d, f);
  for (int i = 0; i < 6; i++)
    case_add_output(c, hidden[i].promise, hidden[i].name, TENSOR_F32, 2, n, f)->optional = true;
  return PHIBAL_OK;
}

ffn_case ffn_case_of(const operation_case *c) {
  const tensor *w = case_input(c, "w-gate");
  bool silu = strcmp(case_get_text(c, "activation"), "silu") == 0;
  return (ffn_case){
      .ffn = {.experts = (int32_t)w->shape[0],
              .width = (int32_t)w->shape[2],
              .hidden = (int32_t)w->shape[1],
              .activation = silu ? PHIBAL_ACTIVATION_SILU : PHIBAL_ACTIVATION_GELU},
      .rows = case_input(c, "x")->shape[0],
      .offsets = case_input_data(c, "offsets"),
      .x = case_input_data(c, "x"),
      .w_gate = w->data,
      .w_up = case_input_data(c, "w-up"),
      .w_down = case_input_data(c, "w-down"),
      .y_gradient = case_input_data(c, "y-gradient"),
  };
}

phibal_status operation_expert_ffn_cpu(operation_case *c) {
  ffn_case f = ffn_case_of(c);
  float *a = case_output_data(c, "a"), *b = case_output_data(c, "b");
  float *a_gradient = case_output_data(c, "a-gradient");
  float *b_gradient = case_output_data(c, "b-gradient"), *h = case_output_data(c, "h");
  phibal_status status = phibal_ffn_forward(&f.ffn, f.offsets, f.x, f.w_gate, f.w_up, f.w_down, a,
                                            b, h, case_output_data(c, "y"));
  if (status != PHIBAL_OK) return status;
  size_t hidden = sizeof(float) * (size_t)(f.rows * f.ffn.hidden);
  memcpy(a_gradient, a, hidden);
  memcpy(b_gradient, b, hidden);
  float *gradients[3];
  static const char *const names[] = {"w-gate-gradient", "w-up-gradient", "w-down-gradient"};
  for (int i = 0; i < 3; i++) {
    gradients[i] = case_output_data(c, names[i]);
    memcpy(gradients[i], case_input_data(c, names[i]),
           sizeof(float) * (size_t)tensor_size(case_input(c, names[i])));
  }
  return phibal_ffn_backward(&f.ffn, f.offsets, f.x, f.w_gate, f.w_up, f.w_down, a_gradient,
                             b_gradient, h, f.y_gradient, case_output_data(c, "h-gradient"),
                             case_output_data(c, "x-gradient"), gradients[0], gradients[1],
                             gradients[2]);
}

/* One stage: a block [rows][columns] of an output against A B (+ A2 B2) (+ what was there, if
   `added`: the input of the output's name), n roundings a sum. */
typedef struct stage {
  int64_t rows, inner, columns;
  phibal_reference_matrix a, b;
  const phibal_reference_matrix *a2, *b2; /* null for one product */
  bool added;
  const char *output; /* the tensor, */
  int64_t first;      /* and the place in it of the product's first element */
  output_id promise;
} stage;

static phibal_status judge_stage(const operation_case *c, const stage *s, judgement *j) {
  size_t n = (size_t)(s->rows * s->columns);
  phibal_enclosure *v = phibal_enclosure_vector(4 * n + 1, PRECISION);
  if (!v) return arena_out_of_memory();
  phibal_enclosure *terms = v + n, *v2 = v + 2 * n, *terms2 = v + 3 * n, *start = v + 4 * n;
  const float *before = s->added ? (const float *)case_input_data(c, s->output) + s->first : NULL;
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
    if (before) {
      phibal_enclosure_set_d(start, (double)before[i]);
      phibal_enclosure_add(&v[i], &v[i], start);
      phibal_enclosure_abs(start, start);
      phibal_enclosure_add(&terms[i], &terms[i], start);
    }
    gamma_bound(&terms[i], &terms[i], roundings);
    judge_real(j, s->promise, case_output(c, s->output), s->first + (int64_t)i, &v[i], &terms[i]);
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
static phibal_status judge_elements(const operation_case *c, const ffn_case *f, judgement *j) {
  const float *as = case_output_data(c, "a"), *bs = case_output_data(c, "b");
  const float *ups = case_output_data(c, "h-gradient");
  const tensor *h = case_output(c, "h"), *a_gradient = case_output(c, "a-gradient");
  const tensor *b_gradient = case_output(c, "b-gradient");
  phibal_enclosure *v = phibal_enclosure_vector(8, PRECISION);
  if (!v) return arena_out_of_memory();
  phibal_enclosure *act = v, *slope = v + 1, *slope_terms = v + 2, *b = v + 3, *up = v + 4,
                   *value = v + 5, *terms = v + 6;
  phibal_status status = PHIBAL_OK;
  for (int64_t i = 0; status == PHIBAL_OK && i < f->rows * f->ffn.hidden; i++) {
    status =
        phibal_reference_activation(f->ffn.activation, as[i], PRECISION, act, slope, slope_terms);
    if (status != PHIBAL_OK) break;
    phibal_enclosure_set_d(b, (double)bs[i]);
    phibal_enclosure_set_d(up, (double)ups[i]);
    phibal_enclosure_mul(value, act, b);
    phibal_enclosure_abs(terms, value);
    judge_real(j, OUTPUT_FFN_HIDDEN, h, i, value, terms);
    phibal_enclosure_mul(value, act, up);
    phibal_enclosure_abs(terms, value);
    judge_real(j, OUTPUT_FFN_ACTIVATION_GRADIENT, b_gradient, i, value, terms);
    phibal_enclosure_mul(up, up, b);
    phibal_enclosure_mul(value, up, slope);
    phibal_enclosure_abs(terms, up);
    phibal_enclosure_mul(terms, terms, slope_terms);
    judge_real(j, OUTPUT_FFN_ACTIVATION_GRADIENT, a_gradient, i, value, terms);
  }
  phibal_enclosure_vector_clear(v, 8);
  return status;
}

/* The products of one expert's rows. */
static phibal_status judge_expert(const operation_case *c, const ffn_case *k, int64_t e,
                                  judgement *j) {
  int64_t d = k->ffn.width, f = k->ffn.hidden, first = k->offsets[e];
  int64_t n = k->offsets[e + 1] - first, thin = first * f, wide = first * d, w = e * f * d;
  const float *x = k->x + wide, *y_gradient = k->y_gradient + wide;
  const float *h = (const float *)case_output_data(c, "h") + thin;
  const float *a_gradient = (const float *)case_output_data(c, "a-gradient") + thin;
  const float *b_gradient = (const float *)case_output_data(c, "b-gradient") + thin;
  const float *w_gate = k->w_gate + w, *w_up = k->w_up + w, *w_down = k->w_down + w;
  phibal_reference_matrix b_rows = rows_of(b_gradient, f), up_rows = rows_of(w_up, d);
  const stage stages[] = {
      {n, d, f, rows_of(x, d), transpose_of(w_gate, d), NULL, NULL, false, "a", thin,
       OUTPUT_FFN_PROJECTIONS},
      {n, d, f, rows_of(x, d), transpose_of(w_up, d), NULL, NULL, false, "b", thin,
       OUTPUT_FFN_PROJECTIONS},
      {n, f, d, rows_of(h, f), transpose_of(w_down, f), NULL, NULL, false, "y", wide,
       OUTPUT_FFN_OUTPUT},
      {n, d, f, rows_of(y_gradient, d), rows_of(w_down, f), NULL, NULL, false, "h-gradient", thin,
       OUTPUT_FFN_HIDDEN_GRADIENT},
      {n, f, d, rows_of(a_gradient, f), rows_of(w_gate, d), &b_rows, &up_rows, false, "x-gradient",
       wide, OUTPUT_FFN_X_GRADIENT},
      {f, n, d, transpose_of(a_gradient, f), rows_of(x, d), NULL, NULL, true, "w-gate-gradient", w,
       OUTPUT_FFN_WEIGHT_GRADIENTS},
      {f, n, d, transpose_of(b_gradient, f), rows_of(x, d), NULL, NULL, true, "w-up-gradient", w,
       OUTPUT_FFN_WEIGHT_GRADIENTS},
      {d, n, f, transpose_of(y_gradient, d), rows_of(h, f), NULL, NULL, true, "w-down-gradient", w,
       OUTPUT_FFN_WEIGHT_GRADIENTS},
  };
  phibal_status status = PHIBAL_OK;
  for (size_t i = 0; status == PHIBAL_OK && i < sizeof stages / sizeof *stages; i++)
    status = judge_stage(c, &stages[i], j);
  return status;
}

phibal_status operation_expert_ffn_expected(const operation_case *c, judgement *j) {
  ffn_case f = ffn_case_of(c);
  if (!judge_has_outputs(j)) return ffn_expect(c, &f, j);
  phibal_status status = judge_elements(c, &f, j);
  for (int64_t e = 0; status == PHIBAL_OK && e < f.ffn.experts; e++)
    status = judge_expert(c, &f, e, j);
  return status;
}
