#include "judgement.h"
#include <math.h>
#include <phibal/rounding.h>
#include <string.h>

static size_t place_of(const judgement *j, const tensor *output) {
  return (size_t)(output - j->c->outputs);
}

static void reach(judgement *j, const tensor *output, int64_t element) {
  j->reached[place_of(j, output)][element] = true;
}

static void record(judgement *j, const tensor *output, int64_t element, double expected,
                   double bound) {
  size_t place = place_of(j, output);
  reach(j, output, element);
  ((double *)j->expected[place].data)[element] = expected;
  ((double *)j->bound[place].data)[element] = bound;
}

static bool is_real(const tensor *t) {
  return t->type == TENSOR_F32 || t->type == TENSOR_F64;
}

/* The farthest of the binary64 numbers around `expected` that are within `allowed` of the truth. */
static double farthest_number(const phibal_enclosure *truth, mpfr_srcptr allowed, double expected) {
  mpfr_t end;
  mpfr_init2(end, mpfr_get_prec(truth->lo) + 64);
  mpfr_add(end, truth->lo, allowed, MPFR_RNDD);
  double above = mpfr_get_d(end, MPFR_RNDD) - expected;
  mpfr_sub(end, truth->hi, allowed, MPFR_RNDU);
  double below = expected - mpfr_get_d(end, MPFR_RNDU);
  mpfr_clear(end);
  double most = above > below ? above : below;
  return most > 0 ? most : 0;
}

static void record_real(judgement *j, output_id promise, const tensor *output, int64_t element,
                        const phibal_enclosure *truth, const phibal_enclosure *terms) {
  const output_promise *p = output_describe(promise);
  bool wide = output->type == TENSOR_F64;
  phibal_format format = wide ? PHIBAL_FORMAT_BINARY64 : PHIBAL_FORMAT_BINARY32;
  double expected;
  /* Beyond the format's range only the infinity is right. */
  if (phibal_round_enclosure(truth, format, PHIBAL_ROUND_NEAREST, &expected) && isinf(expected)) {
    record(j, output, element, expected, 0);
    return;
  }
  if (!phibal_round_enclosure(truth, PHIBAL_FORMAT_BINARY64, PHIBAL_ROUND_NEAREST, &expected)) {
    /* What cancels to 0 is enclosed by tiny numbers of both signs. */
    bool zero = mpfr_sgn(truth->lo) <= 0 && mpfr_sgn(truth->hi) >= 0;
    expected = zero ? 0 : mpfr_get_d(truth->lo, MPFR_RNDN);
  }
  if (expected == 0) expected = 0; /* the sign of a zero is nobody's promise */
  mpfr_t allowed, d;
  mpfr_init2(allowed, 64);
  mpfr_init2(d, 64);
  promise_allowance(p, truth, terms, allowed);
  double bound;
  if (wide && p->measure == MEASURE_ULP64) {
    bound = farthest_number(truth, allowed, expected);
  } else {
    enclosure_distance_up(d, truth, expected);
    mpfr_add(d, d, allowed, MPFR_RNDU);
    bound = mpfr_get_d(d, MPFR_RNDU);
  }
  mpfr_clear(allowed);
  mpfr_clear(d);
  record(j, output, element, expected, bound);
}

/* A case from a file may lack outputs that the operation's own cases have, or have them shorter. */
static bool has(const tensor *output, int64_t element) {
  return output && element < tensor_size(output);
}

void judge_real(judgement *j, output_id promise, const tensor *output, int64_t element,
                const phibal_enclosure *truth, const phibal_enclosure *terms) {
  if (!has(output, element)) return;
  if (j->tallies)
    tally_real(&j->tallies[promise], element, truth, terms, tensor_real(output, element));
  else
    record_real(j, promise, output, element, truth, terms);
}

void judge_exact(judgement *j, output_id promise, const tensor *output, int64_t element,
                 double value) {
  if (!has(output, element)) return;
  if (j->tallies)
    tally_exact(&j->tallies[promise], element, value, tensor_real(output, element));
  else
    record(j, output, element, value, 0);
}

void judge_integer(judgement *j, output_id promise, const tensor *output, int64_t element,
                   int64_t value) {
  if (!has(output, element)) return;
  if (j->tallies) {
    tally_integer(&j->tallies[promise], element, value, tensor_integer(output, element));
    return;
  }
  tensor *to = &j->expected[place_of(j, output)];
  reach(j, output, element);
  if (to->type == TENSOR_I32)
    ((int32_t *)to->data)[element] = (int32_t)value;
  else
    ((int64_t *)to->data)[element] = value;
}

void judge_nan(judgement *j, output_id promise, const tensor *output, int64_t element) {
  if (!has(output, element)) return;
  if (j->tallies)
    tally_integer(&j->tallies[promise], element, 1, isnan(tensor_real(output, element)));
  else
    record(j, output, element, (double)NAN, 0);
}

phibal_status operation_judge(const operation_case *c, tally *tallies) {
  judgement j = {.c = c, .tallies = tallies};
  return c->operation->expected(c, &j);
}

static phibal_status prepare(judgement *j, arena *a) {
  for (int o = 0; o < j->c->output_count; o++) {
    const tensor *from = &j->c->outputs[o];
    size_t n = (size_t)tensor_size(from);
    j->expected[o] = j->bound[o] = *from;
    j->bound[o].data = NULL;
    if (is_real(from)) {
      j->expected[o].type = j->bound[o].type = TENSOR_F64;
      j->bound[o].data = arena_take(a, sizeof(double) * n, 0xff);
    }
    j->expected[o].data = arena_take(a, tensor_type_bytes(j->expected[o].type) * n, 0);
    j->reached[o] = arena_take(a, n, 0);
  }
  return a->failed ? arena_out_of_memory() : PHIBAL_OK;
}

phibal_status operation_expect(const operation_case *c, arena *a, tensor *expected, tensor *bound) {
  judgement j = {.c = c, .expected = expected, .bound = bound};
  phibal_status status = prepare(&j, a);
  if (status == PHIBAL_OK) status = c->operation->expected(c, &j);
  for (int o = 0; status == PHIBAL_OK && o < c->output_count; o++)
    for (int64_t i = 0; i < tensor_size(&c->outputs[o]); i++)
      if (!j.reached[o][i])
        return phibal_status_set(
            PHIBAL_ERROR_UNSUPPORTED, "%s, case %llu: element %lld of %s has no expected value",
            c->operation->name, (unsigned long long)c->number, (long long)i, c->outputs[o].name);
  return status;
}

phibal_status operation_expect_selected(const operation_case *c, arena *a, tensor *expected,
                                        tensor *bound) {
  tensor before[2][CASE_TENSORS];
  memcpy(before[0], expected, sizeof before[0]);
  memcpy(before[1], bound, sizeof before[1]);
  judgement j = {.c = c, .expected = expected, .bound = bound};
  phibal_status status = prepare(&j, a);
  if (status != PHIBAL_OK) return status;
  for (int o = 0; o < c->output_count; o++) {
    const size_t n = (size_t)tensor_size(&c->outputs[o]);
    memcpy(expected[o].data, before[0][o].data, tensor_type_bytes(expected[o].type) * n);
    if (bound[o].data) memcpy(bound[o].data, before[1][o].data, sizeof(double) * n);
  }
  return c->operation->expected(c, &j);
}

static void judge_tensor(const tensor *got, const tensor *expected, const tensor *bound, tally *t) {
  for (int64_t i = 0; i < tensor_size(got); i++)
    if (bound->data)
      tally_within(t, i, tensor_real(expected, i), tensor_real(bound, i), tensor_real(got, i));
    else
      tally_integer(t, i, tensor_integer(expected, i), tensor_integer(got, i));
}

phibal_status operation_judge_given(const operation_case *c, const bool *given, tally *tallies) {
  tensor expected[CASE_TENSORS], bound[CASE_TENSORS];
  arena a = {0};
  phibal_status status = operation_expect(c, &a, expected, bound);
  for (int o = 0; status == PHIBAL_OK && o < c->output_count; o++)
    if (given[o])
      judge_tensor(&c->outputs[o], &expected[o], &bound[o], &tallies[c->outputs[o].promise]);
  arena_free(&a);
  return status;
}
