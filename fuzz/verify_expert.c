/* Permutation, gather and combine against the reference. */
#include "arena.h"
#include "random.h"
#include "verify.h"
#include <phibal/reference_moe.h>

enum { PRECISION = 96 };
enum { OPERATION_PERMUTATION = 32, OPERATION_COMBINE };

const char *verify_expert_kind(uint64_t number) {
  static const char *const names[] = {"small", "tile-edges", "empty",
                                      "one",   "square",     "cancelling"};
  return names[number % SHAPES];
}

static void fill_normal(random_stream *r, float *x, int64_t n) {
  for (int64_t i = 0; i < n; i++) x[i] = (float)random_normal(r);
}

/* Routes: shapes, and experts of each slot, distinct within a token, some tokens padding. */
typedef struct routes {
  int64_t tokens, width;
  int32_t active, experts_count;
  int32_t *experts;
  int64_t *offsets, *source, *row;
} routes;

static void choose_routes(random_stream *r, uint64_t number, arena *a, routes *c) {
  uint64_t shape = number % SHAPES;
  c->experts_count = (int32_t)random_integer(r, 1, 20);
  c->tokens = random_integer(r, 1, 60);
  c->width = random_integer(r, 1, 40);
  if (shape == SHAPE_TILES) c->tokens = number < SHAPES ? 3000 : 200, c->experts_count = 128;
  if (shape == SHAPE_EMPTY) c->tokens = 0;
  if (shape == SHAPE_ONE) c->tokens = c->width = 1, c->experts_count = 1;
  int32_t most = c->experts_count < 8 ? c->experts_count : 8;
  c->active = (int32_t)random_integer(r, 1, most);
  int64_t slots = c->tokens * c->active;
  c->experts = arena_take(a, sizeof(int32_t) * (size_t)slots, 0);
  c->offsets = arena_take(a, sizeof(int64_t) * (size_t)(c->experts_count + 1), 0x7f);
  c->source = arena_take(a, sizeof(int64_t) * (size_t)slots, 0x7f);
  c->row = arena_take(a, sizeof(int64_t) * (size_t)slots, 0x7f);
  if (a->failed) return;
  for (int64_t t = 0; t < c->tokens; t++) {
    bool padding = random_integer(r, 0, 9) == 0;
    int64_t first = random_integer(r, 0, c->experts_count - 1);
    /* A stride prime to most counts keeps the experts of a token distinct. */
    for (int32_t s = 0; s < c->active; s++)
      c->experts[t * c->active + s] = padding ? -1 : (int32_t)((first + s) % c->experts_count);
  }
}

phibal_status verify_permutation(uint64_t seed, uint64_t number, tally *tallies) {
  random_stream r = random_start(seed, OPERATION_PERMUTATION, number);
  arena a = {0};
  routes c;
  choose_routes(&r, number, &a, &c);
  int64_t slots = c.tokens * c.active, n = c.experts_count;
  int64_t *offsets = arena_take(&a, sizeof(int64_t) * (size_t)(n + 1), 0);
  int64_t *source = arena_take(&a, sizeof(int64_t) * (size_t)slots, 0);
  int64_t *row = arena_take(&a, sizeof(int64_t) * (size_t)slots, 0);
  float *x = arena_floats(&a, c.tokens * c.width), *gathered = arena_floats(&a, slots * c.width);
  float *before = arena_floats(&a, c.tokens * c.width);
  float *after = arena_floats(&a, c.tokens * c.width);
  size_t cells = (size_t)(c.tokens * c.width);
  phibal_enclosure *truth = phibal_enclosure_vector(cells + 1, PRECISION);
  phibal_enclosure *terms = phibal_enclosure_vector(cells + 1, PRECISION);
  phibal_status status = a.failed || !truth || !terms ? arena_out_of_memory() : PHIBAL_OK;
  if (status == PHIBAL_OK)
    status = phibal_permutation(c.tokens, c.active, c.experts_count, c.experts, c.offsets, c.source,
                                c.row);
  if (status == PHIBAL_OK)
    status = phibal_reference_permutation(c.tokens, c.active, c.experts_count, c.experts, offsets,
                                          source, row);
  if (status == PHIBAL_OK) {
    tally *t = &tallies[OUTPUT_PERMUTATION];
    for (int64_t e = 0; e <= n; e++) tally_integer(t, e, offsets[e], c.offsets[e]);
    for (int64_t i = 0; i < offsets[n]; i++) tally_integer(t, i, source[i], c.source[i]);
    for (int64_t i = 0; i < slots; i++) tally_integer(t, i, row[i], c.row[i]);
    fill_normal(&r, x, c.tokens * c.width);
    status = phibal_gather(offsets[n], c.active, c.width, source, x, gathered);
  }
  if (status == PHIBAL_OK) {
    for (int64_t i = 0; i < offsets[n]; i++)
      tally_integer(&tallies[OUTPUT_GATHER], i, 0,
                    memcmp(gathered + i * c.width, x + source[i] / c.active * c.width,
                           sizeof(float) * (size_t)c.width));
    fill_normal(&r, before, c.tokens * c.width);
    if (cells) memcpy(after, before, sizeof(float) * cells);
    status = phibal_gather_backward(c.tokens, c.active, c.width, row, gathered, after);
  }
  if (status == PHIBAL_OK)
    status = phibal_reference_combine(c.tokens, c.active, c.width, row, NULL, gathered, before,
                                      PRECISION, truth, terms);
  if (status == PHIBAL_OK)
    for (size_t i = 0; i < cells; i++) {
      gamma_bound(&terms[i], &terms[i], c.active);
      tally_real(&tallies[OUTPUT_GATHER_GRADIENT], (int64_t)i, &truth[i], &terms[i],
                 (double)after[i]);
    }
  phibal_enclosure_vector_clear(truth, cells + 1);
  phibal_enclosure_vector_clear(terms, cells + 1);
  arena_free(&a);
  return status;
}

phibal_status verify_combine(uint64_t seed, uint64_t number, tally *tallies) {
  random_stream r = random_start(seed, OPERATION_COMBINE, number);
  arena a = {0};
  routes c;
  choose_routes(&r, number, &a, &c);
  if (number % SHAPES == SHAPE_TILES) c.tokens = 40;
  int64_t slots = c.tokens * c.active, cells = c.tokens * c.width, wide = slots * c.width;
  float *gates = arena_floats(&a, slots), *output = arena_floats(&a, wide);
  float *y = arena_floats(&a, cells), *before = arena_floats(&a, cells);
  float *y_gradient = arena_floats(&a, cells), *expert_gradient = arena_floats(&a, wide);
  float *gate_gradient = arena_floats(&a, slots);
  size_t n = (size_t)(wide > cells ? wide : cells) + 1;
  phibal_enclosure *truth = phibal_enclosure_vector(n, PRECISION);
  phibal_enclosure *gate_truth = phibal_enclosure_vector((size_t)slots + 1, PRECISION);
  phibal_enclosure *terms = phibal_enclosure_vector(n, PRECISION);
  phibal_status status =
      a.failed || !truth || !gate_truth || !terms ? arena_out_of_memory() : PHIBAL_OK;
  if (status == PHIBAL_OK)
    status = phibal_permutation(c.tokens, c.active, c.experts_count, c.experts, c.offsets, c.source,
                                c.row);
  if (status == PHIBAL_OK) {
    fill_normal(&r, gates, slots);
    fill_normal(&r, output, wide);
    fill_normal(&r, before, cells);
    fill_normal(&r, y_gradient, cells);
    if (cells) memcpy(y, before, sizeof(float) * (size_t)cells);
    status = phibal_combine(c.tokens, c.active, c.width, c.row, gates, output, y);
  }
  if (status == PHIBAL_OK)
    status = phibal_reference_combine(c.tokens, c.active, c.width, c.row, gates, output, before,
                                      PRECISION, truth, terms);
  if (status == PHIBAL_OK) {
    /* One rounding a slot (an fma each). */
    for (int64_t i = 0; i < cells; i++) {
      gamma_bound(&terms[i], &terms[i], c.active);
      tally_real(&tallies[OUTPUT_COMBINE], i, &truth[i], &terms[i], (double)y[i]);
    }
    status = phibal_combine_backward(c.tokens, c.active, c.width, c.row, gates, output, y_gradient,
                                     expert_gradient, gate_gradient);
  }
  if (status == PHIBAL_OK)
    status = phibal_reference_combine_backward(c.tokens, c.active, c.width, c.row, gates, output,
                                               y_gradient, PRECISION, truth, gate_truth, terms);
  if (status == PHIBAL_OK) {
    for (int64_t i = 0; i < c.offsets[c.experts_count] * c.width; i++)
      tally_real(&tallies[OUTPUT_COMBINE_EXPERT_GRADIENT], i, &truth[i], NULL,
                 (double)expert_gradient[i]);
    for (int64_t i = 0; i < slots; i++)
      tally_real(&tallies[OUTPUT_COMBINE_GATE_GRADIENT], i, &gate_truth[i], &terms[i],
                 (double)gate_gradient[i]);
  }
  phibal_enclosure_vector_clear(truth, n);
  phibal_enclosure_vector_clear(gate_truth, (size_t)slots + 1);
  phibal_enclosure_vector_clear(terms, n);
  arena_free(&a);
  return status;
}
