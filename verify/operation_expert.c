/* Permutation, gather and combine. */
#include "judgement.h"
#include "paired.h"
#include "shapes.h"
#include <phibal/reference_moe.h>

enum { PRECISION = 96 };
enum { STREAM_PERMUTATION = 32, STREAM_COMBINE };

const char *operation_kind_expert(uint64_t number) {
  static const char *const names[] = {"ordinary",   "tile-edges", "empty",
                                      "one-by-one", "square",     "cancelling"};
  return names[shape_of(number)];
}

/* Routes: shapes, and experts of each slot, distinct within a token, some tokens padding. */
typedef struct routes {
  int64_t tokens, width, slots, rows;
  int32_t active, experts_count;
  int32_t *experts;
} routes;

static void choose_shape(random_stream *r, uint64_t number, routes *c) {
  if (case_is_paired(number)) { /* sizes on both sides of multiples of 4, 8 and 32 */
    static const int32_t experts[] = {1, 8, 12, 31, 33, 64, 130};
    static const int64_t widths[] = {1, 4, 7, 16, 33}, tokens[] = {0, 1, 5, 32, 47};
    c->experts_count = experts[paired_level(number, 0, 7)];
    c->width = widths[paired_level(number, 1, 5)];
    c->tokens = tokens[paired_level(number, 2, 5)];
    const int32_t E = c->experts_count, active[] = {1, 2, 8};
    c->active = active[paired_level(number, 3, 3)];
    if (c->active > E) c->active = E;
    return;
  }
  int shape = shape_of(number);
  bool small = case_is_small(number);
  c->experts_count = (int32_t)random_integer(r, 1, small ? 4 : 20);
  c->tokens = random_integer(r, 1, small ? 4 : 60);
  c->width = random_integer(r, 1, small ? 5 : 40);
  if (shape == SHAPE_TILES) c->tokens = number < SHAPES ? 3000 : 200, c->experts_count = 128;
  if (shape == SHAPE_EMPTY) c->tokens = 0;
  if (shape == SHAPE_ONE) c->tokens = c->width = 1, c->experts_count = 1;
  int32_t most = c->experts_count < 8 ? c->experts_count : 8;
  c->active = (int32_t)random_integer(r, 1, most);
}

static void choose_experts(random_stream *r, routes *c) {
  c->rows = 0;
  for (int64_t t = 0; t < c->tokens; t++) {
    bool padding = random_integer(r, 0, 9) == 0;
    int64_t first = random_integer(r, 0, c->experts_count - 1);
    c->rows += padding ? 0 : c->active;
    for (int32_t s = 0; s < c->active; s++)
      c->experts[t * c->active + s] = padding ? -1 : (int32_t)((first + s) % c->experts_count);
  }
}

/* Adds "experts" and the numbers that describe it. */
static phibal_status add_routes(operation_case *c, random_stream *r, routes *s, int64_t most) {
  choose_shape(r, c->number, s);
  int64_t drawn = s->tokens;
  /* All the tokens are drawn, and so many taken. */
  s->experts = arena_take(&c->memory, sizeof(int32_t) * (size_t)(drawn * s->active), 0);
  if (!s->experts) return arena_out_of_memory();
  choose_experts(r, s);
  if (s->tokens > most) s->tokens = most;
  s->slots = s->tokens * s->active;
  s->rows = 0;
  for (int64_t i = 0; i < s->slots; i++) s->rows += s->experts[i] >= 0;
  if (s->rows < s->slots) case_flag(c, FLAG_REPLAYED_PADDING);
  if (s->rows < s->slots) case_flag(c, FLAG_PADDING);
  if (s->active == 1) case_flag(c, FLAG_K_ONE);
  case_integer(c, "experts", s->experts_count);
  case_integer(c, "k", s->active);
  int32_t *experts = case_add_input(c, "experts", TENSOR_I32, 2, s->tokens, (int64_t)s->active);
  if (!experts) return arena_out_of_memory();
  memcpy(experts, s->experts, sizeof(int32_t) * (size_t)s->slots);
  return PHIBAL_OK;
}

static routes routes_of(const operation_case *c, const char *wide) {
  const tensor *experts = case_input(c, "experts"), *x = case_input(c, wide);
  return (routes){.tokens = experts->shape[0],
                  .width = x->shape[1],
                  .slots = tensor_size(experts),
                  .active = (int32_t)experts->shape[1],
                  .experts_count = (int32_t)case_get_integer(c, "experts"),
                  .experts = experts->data};
}

/* The reference's permutation. */
typedef struct permutation {
  int64_t *offsets, *source, *row;
} permutation;

static phibal_status permute(const routes *r, arena *a, permutation *p) {
  p->offsets = arena_take(a, sizeof(int64_t) * (size_t)(r->experts_count + 1), 0);
  p->source = arena_take(a, sizeof(int64_t) * (size_t)r->slots, 0);
  p->row = arena_take(a, sizeof(int64_t) * (size_t)r->slots, 0);
  if (a->failed) return arena_out_of_memory();
  return phibal_reference_permutation(r->tokens, r->active, r->experts_count, r->experts,
                                      p->offsets, p->source, p->row);
}

phibal_status operation_permutation_make(operation_case *c) {
  random_stream r = random_start(c->seed, STREAM_PERMUTATION, c->number);
  routes s;
  phibal_status status = add_routes(c, &r, &s, INT64_MAX);
  if (status != PHIBAL_OK) return status;
  permutation p = {0};
  status = permute(&s, &c->memory, &p);
  if (status != PHIBAL_OK) return status;
  float *x = case_add_input(c, "x", TENSOR_F32, 2, s.tokens, s.width);
  float *before = case_add_input(c, "x-gradient", TENSOR_F32, 2, s.tokens, s.width);
  float *gradient = case_add_input(c, "gathered-gradient", TENSOR_F32, 2, s.rows, s.width);
  if (case_status(c) != PHIBAL_OK) return case_status(c);
  fill_normal(&r, x, s.tokens * s.width);
  fill_normal(&r, before, s.tokens * s.width);
  for (int64_t n = 0; n < s.rows; n++)
    memcpy(gradient + n * s.width, x + p.source[n] / s.active * s.width,
           sizeof(float) * (size_t)s.width);
  /* Not the gathered activations: a kernel that gives the one for the other is seen. */
  if (case_is_paired(c->number)) fill_normal(&r, gradient, s.rows * s.width);
  int64_t E = s.experts_count;
  case_add_output(c, OUTPUT_PERMUTATION, "offsets", TENSOR_I64, 1, E + 1);
  case_add_output(c, OUTPUT_PERMUTATION, "source", TENSOR_I64, 1, s.rows);
  case_add_output(c, OUTPUT_PERMUTATION, "row", TENSOR_I64, 2, s.tokens, (int64_t)s.active);
  case_add_output(c, OUTPUT_GATHER, "gathered", TENSOR_F32, 2, s.rows, s.width);
  case_add_output(c, OUTPUT_GATHER_GRADIENT, "x-gradient", TENSOR_F32, 2, s.tokens, s.width);
  return PHIBAL_OK;
}

phibal_status operation_permutation_cpu(operation_case *c) {
  routes s = routes_of(c, "x");
  int64_t *offsets = case_output_data(c, "offsets"), *row = case_output_data(c, "row");
  int64_t rows = case_output(c, "source")->shape[0];
  float *x_gradient = case_output_data(c, "x-gradient");
  /* The kernel may use one place for every slot, those without a row too. */
  int64_t *source = arena_take(&c->memory, sizeof(int64_t) * (size_t)s.slots, 0x7f);
  if (!source) return arena_out_of_memory();
  phibal_status status =
      phibal_permutation(s.tokens, s.active, s.experts_count, s.experts, offsets, source, row);
  if (status != PHIBAL_OK) return status;
  memcpy(case_output_data(c, "source"), source, sizeof(int64_t) * (size_t)rows);
  /* The copies are judged by themselves: from the rows that are right. */
  permutation p = {0};
  status = permute(&s, &c->memory, &p);
  if (status != PHIBAL_OK) return status;
  status = phibal_gather(rows, s.active, s.width, p.source, case_input_data(c, "x"),
                         case_output_data(c, "gathered"));
  if (status != PHIBAL_OK) return status;
  memcpy(x_gradient, case_input_data(c, "x-gradient"),
         sizeof(float) * (size_t)(s.tokens * s.width));
  return phibal_gather_backward(s.tokens, s.active, s.width, p.row,
                                case_input_data(c, "gathered-gradient"), x_gradient);
}

phibal_status operation_permutation_expected(const operation_case *c, judgement *j) {
  routes s = routes_of(c, "x");
  arena a = {0};
  permutation p = {0};
  const float *x = case_input_data(c, "x");
  size_t cells = (size_t)(s.tokens * s.width);
  phibal_enclosure *truth = phibal_enclosure_vector(2 * cells + 1, PRECISION);
  phibal_status status = truth ? permute(&s, &a, &p) : arena_out_of_memory();
  if (status == PHIBAL_OK)
    status = phibal_reference_combine(
        (phibal_reference_combination){s.tokens, s.active, s.width, p.row, NULL,
                                       case_input_data(c, "gathered-gradient")},
        case_input_data(c, "x-gradient"), PRECISION,
        (phibal_reference_result){truth, truth + cells});
  if (status == PHIBAL_OK) {
    for (int64_t e = 0; e <= s.experts_count; e++)
      judge_integer(j, OUTPUT_PERMUTATION, case_output(c, "offsets"), e, p.offsets[e]);
    for (int64_t i = 0; i < p.offsets[s.experts_count]; i++) {
      judge_integer(j, OUTPUT_PERMUTATION, case_output(c, "source"), i, p.source[i]);
      for (int64_t d = 0; d < s.width; d++)
        judge_exact(j, OUTPUT_GATHER, case_output(c, "gathered"), i * s.width + d,
                    (double)x[p.source[i] / s.active * s.width + d]);
    }
    for (int64_t i = 0; i < s.slots; i++)
      judge_integer(j, OUTPUT_PERMUTATION, case_output(c, "row"), i, p.row[i]);
    for (size_t i = 0; i < cells; i++) {
      gamma_bound(&truth[cells + i], &truth[cells + i], s.active);
      judge_real(j, OUTPUT_GATHER_GRADIENT, case_output(c, "x-gradient"), (int64_t)i, &truth[i],
                 &truth[cells + i]);
    }
  }
  phibal_enclosure_vector_clear(truth, 2 * cells + 1);
  arena_free(&a);
  return status;
}

phibal_status operation_combine_make(operation_case *c) {
  random_stream r = random_start(c->seed, STREAM_COMBINE, c->number);
  routes s;
  bool tiles = shape_of(c->number) == SHAPE_TILES;
  phibal_status status = add_routes(c, &r, &s, tiles ? 40 : INT64_MAX);
  if (status != PHIBAL_OK) return status;
  permutation p = {0};
  status = permute(&s, &c->memory, &p);
  if (status != PHIBAL_OK) return status;
  int64_t *row = case_add_input(c, "row", TENSOR_I64, 2, s.tokens, (int64_t)s.active);
  float *gates = case_add_input(c, "gates", TENSOR_F32, 2, s.tokens, (int64_t)s.active);
  float *output = case_add_input(c, "expert-output", TENSOR_F32, 2, s.rows, s.width);
  float *before = case_add_input(c, "y", TENSOR_F32, 2, s.tokens, s.width);
  float *y_gradient = case_add_input(c, "y-gradient", TENSOR_F32, 2, s.tokens, s.width);
  if (case_status(c) != PHIBAL_OK) return case_status(c);
  memcpy(row, p.row, sizeof(int64_t) * (size_t)s.slots);
  fill_normal(&r, gates, s.slots);
  fill_normal(&r, output, s.rows * s.width);
  fill_normal(&r, before, s.tokens * s.width);
  fill_normal(&r, y_gradient, s.tokens * s.width);
  case_add_output(c, OUTPUT_COMBINE, "y", TENSOR_F32, 2, s.tokens, s.width);
  case_add_output(c, OUTPUT_COMBINE_EXPERT_GRADIENT, "expert-gradient", TENSOR_F32, 2, s.rows,
                  s.width);
  case_add_output(c, OUTPUT_COMBINE_GATE_GRADIENT, "gate-gradient", TENSOR_F32, 2, s.tokens,
                  (int64_t)s.active);
  return PHIBAL_OK;
}

phibal_status operation_combine_cpu(operation_case *c) {
  routes s = routes_of(c, "y");
  const int64_t *row = case_input_data(c, "row");
  const float *gates = case_input_data(c, "gates"), *output = case_input_data(c, "expert-output");
  float *y = case_output_data(c, "y");
  memcpy(y, case_input_data(c, "y"), sizeof(float) * (size_t)(s.tokens * s.width));
  phibal_status status = phibal_combine(s.tokens, s.active, s.width, row, gates, output, y);
  if (status != PHIBAL_OK) return status;
  return phibal_combine_backward(
      s.tokens, s.active, s.width, row, gates, output, case_input_data(c, "y-gradient"),
      case_output_data(c, "expert-gradient"), case_output_data(c, "gate-gradient"));
}

phibal_status operation_combine_expected(const operation_case *c, judgement *j) {
  routes s = routes_of(c, "y");
  const phibal_reference_combination combination = {s.tokens,
                                                    s.active,
                                                    s.width,
                                                    case_input_data(c, "row"),
                                                    case_input_data(c, "gates"),
                                                    case_input_data(c, "expert-output")};
  int64_t cells = s.tokens * s.width, wide = tensor_size(case_input(c, "expert-output"));
  size_t n = (size_t)(wide > cells ? wide : cells) + (size_t)s.slots + 1;
  phibal_enclosure *truth = phibal_enclosure_vector(3 * n, PRECISION);
  if (!truth) return arena_out_of_memory();
  phibal_enclosure *terms = truth + n, *gate_truth = truth + 2 * n;
  phibal_status status = phibal_reference_combine(combination, case_input_data(c, "y"), PRECISION,
                                                  (phibal_reference_result){truth, terms});
  if (status == PHIBAL_OK) {
    /* One rounding a slot (an fma each). */
    for (int64_t i = 0; i < cells; i++) {
      gamma_bound(&terms[i], &terms[i], s.active);
      judge_real(j, OUTPUT_COMBINE, case_output(c, "y"), i, &truth[i], &terms[i]);
    }
    status =
        phibal_reference_combine_backward(combination, case_input_data(c, "y-gradient"), PRECISION,
                                          truth, (phibal_reference_result){gate_truth, terms});
  }
  if (status == PHIBAL_OK) {
    for (int64_t i = 0; i < wide; i++)
      judge_real(j, OUTPUT_COMBINE_EXPERT_GRADIENT, case_output(c, "expert-gradient"), i, &truth[i],
                 NULL);
    for (int64_t i = 0; i < s.slots; i++)
      judge_real(j, OUTPUT_COMBINE_GATE_GRADIENT, case_output(c, "gate-gradient"), i,
                 &gate_truth[i], &terms[i]);
  }
  phibal_enclosure_vector_clear(truth, 3 * n);
  return status;
}
