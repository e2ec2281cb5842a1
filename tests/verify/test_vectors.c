/* Golden vectors, of every operation of the catalogue: the built-in kernels pass their judge;
   zeros, a corrupted tile, a last element, bfloat16's precision, a transposed square do not. Which
   wrong answer would pass? One that is wrong only where no case of these looks: see faults of the
   independent implementation (vectors_faults.py) for those. */
#include "verify/case_number.h"
#include "verify/judge_vectors.h"
#include "verify/vectors.h"
#include <criterion/criterion.h>
#include "formats/file.h"
#include <math.h>
#include <phibal/reference_moe.h>
#include "formats/safetensors.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { CASES = 24 };

static char folder[] = "/tmp/phibal-vectors-XXXXXX";
static char cases_path[64], results_path[64], altered_path[64];

static void setup(void) {
  cr_assert_not_null(mkdtemp(folder));
  snprintf(cases_path, sizeof cases_path, "%s/cases.safetensors", folder);
  snprintf(results_path, sizeof results_path, "%s/results.safetensors", folder);
  snprintf(altered_path, sizeof altered_path, "%s/altered.safetensors", folder);
}

static void teardown(void) {
  folder_remove(folder);
}

TestSuite(vectors, .init = setup, .fini = teardown, .timeout = 280);

static void write_operation(const operation *o) {
  vectors_request request = {.operations = &o, .count = 1, .seed = 1, .cases = CASES};
  cr_assert_eq(vectors_write(&request, cases_path), PHIBAL_OK, "%s: %s", o->name,
               phibal_status_message());
  cr_assert_eq(vectors_answer(&request, &backend_cpu, results_path), PHIBAL_OK, "%s: %s", o->name,
               phibal_status_message());
}

static bool passes(const char *results, const judge_request *other) {
  judge_request request = other ? *other : (judge_request){.times = 1};
  request.cases = cases_path;
  request.results = results;
  judge_report report;
  cr_assert_eq(judge_vectors(&request, &report), PHIBAL_OK, "%s", phibal_status_message());
  bool passed = judge_passed(&report);
  judge_report_clear(&report);
  return passed;
}

/* The results in memory of their own, to be changed one tensor at a time. */
typedef struct copy {
  safetensors_file file;
  safetensors_tensor *tensors;
} copy;

static void copy_open(copy *c) {
  cr_assert_eq(safetensors_open(results_path, &c->file), PHIBAL_OK);
  c->tensors = calloc((size_t)c->file.count, sizeof *c->tensors);
  cr_assert_not_null(c->tensors);
  memcpy(c->tensors, c->file.tensors, sizeof *c->tensors * (size_t)c->file.count);
}

static void copy_close(copy *c) {
  free(c->tensors);
  safetensors_close(&c->file);
}

static bool copy_passes(const copy *c) {
  cr_assert_eq(safetensors_write(altered_path, c->tensors, c->file.count, NULL, 0), PHIBAL_OK, "%s",
               phibal_status_message());
  return passes(altered_path, NULL);
}

/* A change of the elements `first`, `first + step`, ... `count` of them, of one tensor. */
typedef void (*alteration)(safetensors_dtype type, void *element);

static void to_zero(safetensors_dtype type, void *element) {
  memset(element, 0, (size_t)safetensors_dtype_bytes(type));
}

static void to_other(safetensors_dtype type, void *element) {
  float *x = element;
  double *y = element;
  switch (type) {
  case SAFETENSORS_F32:
    *x = isfinite(*x) ? -*x - 1 : 1;
    break;
  case SAFETENSORS_F64:
    *y = isfinite(*y) ? -*y - 1 : 1;
    break;
  case SAFETENSORS_I32:
    *(int32_t *)element += 1;
    break;
  default:
    *(int64_t *)element += 1;
  }
}

/* What a detour through bfloat16 could do: half a unit of its eight digits. */
static void to_brain(safetensors_dtype type, void *element) {
  if (type == SAFETENSORS_F32)
    *(float *)element *= 1 + 0x1p-8f;
  else if (type == SAFETENSORS_F64)
    *(double *)element *= 1 + 0x1p-8;
  else
    to_other(type, element);
}

static void *element_of(const safetensors_tensor *t, int64_t i) {
  return (char *)t->data + i * safetensors_dtype_bytes(t->dtype);
}

static void *altered_data(const safetensors_tensor *t) {
  char *data = malloc((size_t)t->bytes + 8);
  cr_assert_not_null(data);
  memcpy(data, t->data, (size_t)t->bytes);
  return data;
}

static double size_of(const safetensors_tensor *t, int64_t i) {
  double x = 1;
  if (t->dtype == SAFETENSORS_F32) x = fabs((double)((const float *)t->data)[i]);
  if (t->dtype == SAFETENSORS_F64) x = fabs(((const double *)t->data)[i]);
  return isfinite(x) && x < 1e38 ? x : 0;
}

/* The last tensor of that output with the most elements that are worth a test. */
static safetensors_tensor *largest(const copy *c, const char *output) {
  safetensors_tensor *best = NULL;
  for (int64_t i = 0; i < c->file.count; i++) {
    const char *name = strrchr(c->tensors[i].name, '/');
    bool worth = false;
    for (int64_t e = 0; e < c->tensors[i].elements; e++) worth |= size_of(&c->tensors[i], e) > 0;
    if (strcmp(name + 1, output) != 0 || !worth) continue;
    if (!best || c->tensors[i].elements >= best->elements) best = &c->tensors[i];
  }
  return best;
}

static void expect_noticed(copy *c, safetensors_tensor *t, int64_t element, alteration change,
                           const char *what) {
  const void *before = t->data;
  t->data = altered_data(t);
  change(t->dtype, element_of(t, element));
  cr_expect(!copy_passes(c), "%s of %s, element %lld, is not noticed", what, t->name,
            (long long)element);
  free((void *)t->data);
  t->data = before;
}

/* A block of two rows and two columns in the middle. */
static void expect_tile_noticed(copy *c, safetensors_tensor *t) {
  int64_t columns = t->dimensions > 1 ? t->shape[t->dimensions - 1] : t->elements;
  int64_t rows = t->elements / columns, row = rows / 2, column = columns / 2;
  const void *before = t->data;
  t->data = altered_data(t);
  for (int64_t r = row; r < rows && r < row + 2; r++)
    for (int64_t k = column; k < columns && k < column + 2; k++)
      to_other(t->dtype, element_of(t, r * columns + k));
  cr_expect(!copy_passes(c), "a corrupted tile of %s is not noticed", t->name);
  free((void *)t->data);
  t->data = before;
}

static void expect_transpose_noticed(copy *c, safetensors_tensor *t) {
  int64_t n = t->dimensions >= 2 ? t->shape[t->dimensions - 1] : 0;
  if (n < 2 || t->shape[t->dimensions - 2] != n) return;
  size_t bytes = (size_t)safetensors_dtype_bytes(t->dtype);
  const void *before = t->data;
  t->data = altered_data(t);
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++)
      memcpy(element_of(t, i * n + j), (const char *)before + (size_t)(j * n + i) * bytes, bytes);
  if (memcmp(before, t->data, (size_t)t->bytes) != 0)
    cr_expect(!copy_passes(c), "%s transposed is not noticed", t->name);
  free((void *)t->data);
  t->data = before;
}

static void try_output(copy *c, const tensor *output) {
  safetensors_tensor *t = largest(c, output->name);
  cr_assert_not_null(t, "no case has %s", output->name);
  int64_t greatest = 0;
  for (int64_t i = 0; i < t->elements; i++)
    if (size_of(t, i) > size_of(t, greatest)) greatest = i;
  expect_noticed(c, t, t->elements - 1, to_other, "a wrong last element");
  expect_noticed(c, t, greatest, to_brain, "bfloat16's precision");
  expect_tile_noticed(c, t);
  expect_transpose_noticed(c, t);
}

static void try_zeros(copy *c, const operation *o) {
  void **blocks = calloc((size_t)c->file.count, sizeof *blocks);
  cr_assert_not_null(blocks);
  for (int64_t i = 0; i < c->file.count; i++) {
    safetensors_tensor *t = &c->tensors[i];
    blocks[i] = altered_data(t);
    t->data = blocks[i];
    for (int64_t e = 0; e < t->elements; e++) to_zero(t->dtype, element_of(t, e));
  }
  cr_expect(!copy_passes(c), "%s: zeros pass", o->name);
  for (int64_t i = 0; i < c->file.count; i++) free(blocks[i]);
  free(blocks);
}

/* Each output that any of the cases has. */
static void try_outputs(copy *c, const operation *o) {
  char tried[CASE_TENSORS][40];
  int count = 0;
  for (uint64_t number = VECTORS_FIRST; number < VECTORS_FIRST + CASES; number++) {
    operation_case made;
    cr_assert_eq(operation_make(o, 1, number, &made), PHIBAL_OK);
    for (int t = 0; t < made.output_count; t++) {
      bool known = false;
      for (int i = 0; i < count; i++) known |= strcmp(tried[i], made.outputs[t].name) == 0;
      if (known) continue;
      cr_assert_lt(count, CASE_TENSORS);
      snprintf(tried[count++], sizeof tried[0], "%s", made.outputs[t].name);
      try_output(c, &made.outputs[t]);
    }
    operation_case_clear(&made);
  }
  cr_expect_gt(count, 0, "%s has no output", o->name);
}

Test(vectors, each_operation_takes_the_right_answer_and_no_wrong_one) {
  for (int i = 0; i < operation_count; i++) {
    const operation *o = &operations[i];
    write_operation(o);
    cr_expect(passes(results_path, NULL), "%s: the built-in kernels fail", o->name);
    copy c;
    copy_open(&c);
    try_outputs(&c, o);
    try_zeros(&c, o);
    copy_close(&c);
  }
}

/* The kernels keep their promises on the paired cases too, of each operation that has some. */
Test(vectors, paired_cases_are_passed) {
  int with = 0;
  for (int i = 0; i < operation_count; i++) {
    const operation *o = &operations[i];
    const int64_t count = operation_paired_count(o);
    with += count > 0;
    vectors_request request = {.operations = &o, .count = 1, .seed = 3, .cases = 1, .paired = true};
    cr_assert_eq(vectors_write(&request, cases_path), PHIBAL_OK);
    cr_assert_eq(vectors_answer(&request, &backend_cpu, results_path), PHIBAL_OK);
    cr_expect(passes(results_path, NULL), "%s: the built-in kernels fail", o->name);
    for (int64_t k = 0; k < count; k++) {
      const uint64_t number = operation_paired_number(o, k);
      cr_assert((case_is_paired(number) || case_is_field(number)) && !case_is_small(number));
      cr_assert(case_exists(number, o->potentials));
      cr_assert_lt(flag_find(o->kind(number)), FLAG_COUNT);
    }
  }
  cr_expect_geq(with, 12);
}

/* What the bounds of the expert FFN take |act'| and |act''| to be at most: slopes from enclosures,
   and their differences over 2^-8, which are at most 2^-8 times the largest |act''| between. */
Test(vectors, slope_and_curvature_of_the_activations_are_within_the_carried_bounds) {
  phibal_enclosure v, slope, before, step;
  phibal_enclosure_init(&v, 96);
  phibal_enclosure_init(&slope, 96);
  phibal_enclosure_init(&before, 96);
  phibal_enclosure_init(&step, 96);
  for (int act = PHIBAL_ACTIVATION_SILU; act <= PHIBAL_ACTIVATION_GELU; act++) {
    double steepest = 0, bent = 0;
    for (int i = -16 * 256; i <= 16 * 256; i++) {
      cr_assert_eq(
          phibal_reference_activation((phibal_activation)act, (float)i / 256, 96, &v, &slope, NULL),
          PHIBAL_OK);
      steepest = fmax(steepest, fabs(mpfr_get_d(slope.hi, MPFR_RNDA)));
      phibal_enclosure_sub(&step, &slope, &before);
      if (i > -16 * 256) bent = fmax(bent, 256 * fabs(mpfr_get_d(step.hi, MPFR_RNDA)));
      phibal_enclosure_swap(&slope, &before);
    }
    cr_expect_lt(steepest, 1.13);
    cr_expect_gt(steepest, 1.09);
    cr_expect_lt(bent, 1.0);
    cr_expect_gt(bent, act == PHIBAL_ACTIVATION_SILU ? 0.49 : 0.78);
  }
  phibal_enclosure_clear(&v);
  phibal_enclosure_clear(&slope);
  phibal_enclosure_clear(&before);
  phibal_enclosure_clear(&step);
}

Test(vectors, each_kind_of_each_operation_is_a_flag) {
  for (int i = 0; i < operation_count; i++)
    for (uint64_t n = VECTORS_FIRST; n < VECTORS_FIRST + 64; n++)
      cr_expect(flag_find(operations[i].kind(n)) < FLAG_COUNT, "%s: kind %s has no flag",
                operations[i].name, operations[i].kind(n));
}

Test(vectors, each_flag_is_some_case_s) {
  flag_set seen = {0};
  for (int i = 0; i < operation_count; i++)
    for (int64_t n = 0; n < 120 + operation_paired_count(&operations[i]); n++) {
      operation_case c;
      const uint64_t number = n < 120 ? VECTORS_FIRST + (uint64_t)n
                                      : operation_paired_number(&operations[i], n - 120);
      cr_assert_eq(operation_make(&operations[i], 1, number, &c), PHIBAL_OK);
      flag_set_join(&seen, &c.flags);
      operation_case_clear(&c);
    }
  for (int f = 0; f < FLAG_COUNT; f++)
    cr_expect(flag_set_has(&seen, f), "no case has the flag %s", flag_describe((flag_id)f)->name);
}

/* A row that is added to the catalogue of potentials renumbers no case, and gets cases of its own.
 */
Test(vectors, a_new_potential_renumbers_no_case) {
  enum { TRIED = 3000 };
  for (uint64_t start = 0; start <= SMALL_CASES; start += SMALL_CASES)
    for (uint64_t rows = CASE_FIRST_POTENTIALS; rows < CASE_FIRST_POTENTIALS + 4; rows++) {
      uint64_t next = start, own[4] = {0};
      for (uint64_t i = 0; i < TRIED; i++) {
        uint64_t n = case_number(start + i, rows), row = n >> CASE_ROW_BITS;
        cr_assert_eq(case_is_small(n), start > 0);
        if (row == 0) {
          cr_assert_eq(n, next++, "the old cases, in order");
          continue;
        }
        cr_assert(row >= CASE_FIRST_POTENTIALS && row < rows);
        cr_assert_eq(case_potential_id(n, 0), row);
        cr_assert_eq(case_base(n) - start, own[row - CASE_FIRST_POTENTIALS]++);
      }
      cr_assert_eq(next - start,
                   TRIED / rows * CASE_FIRST_POTENTIALS + (TRIED % rows < CASE_FIRST_POTENTIALS
                                                               ? TRIED % rows
                                                               : CASE_FIRST_POTENTIALS));
    }
  operation_case c;
  uint64_t none = (uint64_t)PHIBAL_POTENTIAL_COUNT << CASE_ROW_BITS;
  cr_expect_eq(operation_make(operation_find("price"), 1, none, &c), PHIBAL_ERROR_ARGUMENT);
  cr_expect_eq(operation_make(operation_find("metrics"), 1, none, &c), PHIBAL_ERROR_ARGUMENT);
}

static uint64_t digest_of(const char *path) {
  uint64_t digest = 0;
  cr_assert_eq(vectors_digest(path, &digest), PHIBAL_OK);
  return digest;
}

/* What any machine writes for this request; changes only when cases do. */
Test(vectors, the_same_request_gives_the_same_bytes) {
  const operation *o = operation_find("ema");
  write_operation(o);
  uint64_t first = digest_of(cases_path);
  write_operation(o);
  cr_expect_eq(first, digest_of(cases_path));
}

Test(vectors, a_manifest_of_another_file_is_refused) {
  write_operation(operation_find("ema"));
  copy c;
  copy_open(&c);
  cr_assert_eq(safetensors_write(cases_path, c.tensors, c.file.count, NULL, 0), PHIBAL_OK);
  judge_request request = {.cases = cases_path, .results = results_path, .times = 1};
  judge_report report;
  cr_expect_eq(judge_vectors(&request, &report), PHIBAL_ERROR_FORMAT);
  cr_expect_not_null(strstr(phibal_status_message(), "another file"));
  judge_report_clear(&report);
  copy_close(&c);
}

/* The judge's words on what is no number of the output at all. */
static void expect_words(copy *c, const char *words) {
  cr_assert_eq(safetensors_write(altered_path, c->tensors, c->file.count, NULL, 0), PHIBAL_OK);
  judge_request request = {.cases = cases_path, .results = altered_path, .times = 1};
  judge_report report;
  cr_assert_eq(judge_vectors(&request, &report), PHIBAL_OK);
  cr_expect_eq(report.failed, 1);
  for (int64_t i = 0; i < report.count; i++)
    if (report.cases[i].failures)
      cr_expect_not_null(strstr(report.cases[i].first.words, words), "\"%s\" is not in \"%s\"",
                         words, report.cases[i].first.words);
  judge_report_clear(&report);
}

Test(vectors, a_missing_misshapen_or_mistyped_tensor_is_named) {
  write_operation(operation_find("ema"));
  copy c;
  copy_open(&c);
  safetensors_tensor *t = largest(&c, "m"), before = *t;
  t->shape[0]--;
  expect_words(&c, "shape [");
  *t = before;
  t->dtype = SAFETENSORS_I32;
  expect_words(&c, "dtype I32, must be F32");
  *t = before;
  t->name = "0000/out/n";
  expect_words(&c, "missing; the results need a tensor");
  *t = before;
  float *data = altered_data(t);
  data[2] = (float)NAN;
  t->data = data;
  expect_words(&c, "m[2]: got nan");
  free(data);
  *t = before;
  copy_close(&c);
}

static uint16_t brain_bits(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

Test(vectors, narrow_results_pass_with_their_format_and_only_if_rounded_to_nearest) {
  write_operation(operation_find("combine"));
  judge_request narrow = {.times = 1, .narrow = true, .format = PHIBAL_FORMAT_BFLOAT16};
  for (int cut = 0; cut < 2; cut++) {
    copy c;
    copy_open(&c);
    void **blocks = calloc((size_t)c.file.count, sizeof *blocks);
    for (int64_t i = 0; i < c.file.count; i++) {
      safetensors_tensor *t = &c.tensors[i];
      uint16_t *to = blocks[i] = calloc((size_t)t->elements + 1, sizeof *to);
      for (int64_t e = 0; e < t->elements; e++) {
        float x = ((const float *)t->data)[e];
        uint32_t bits;
        memcpy(&bits, &x, sizeof bits);
        to[e] = cut ? (uint16_t)(bits >> 16) : brain_bits(x);
      }
      t->dtype = SAFETENSORS_BF16;
      t->data = to;
    }
    cr_assert_eq(safetensors_write(altered_path, c.tensors, c.file.count, NULL, 0), PHIBAL_OK);
    cr_expect_eq(passes(altered_path, &narrow), cut == 0);
    cr_expect(!passes(altered_path, NULL), "bfloat16 passes for binary32");
    for (int64_t i = 0; i < c.file.count; i++) free(blocks[i]);
    free(blocks);
    copy_close(&c);
  }
}
