#include "judge_vectors.h"
#include "selection.h"
#include "vectors_file.h"
#include "formats/text_limits.h"
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include "formats/npz.h"
#include "formats/safetensors.h"
#include <stdio.h>
#include <string.h>

/* A condition of the request is about something that there is. */
enum { CONDITIONS = 32 };

typedef struct judge_files {
  safetensors_file cases, results;
  json_t *manifest;
  bool *used;              /* [results.count] */
  bool met[2][CONDITIONS]; /* outputs and conditions of the request that some case has */
} judge_files;

static void files_close(judge_files *f) {
  safetensors_close(&f->cases);
  safetensors_close(&f->results);
  json_decref(f->manifest);
  free(f->used);
  memset(f, 0, sizeof *f);
}

static phibal_status bad_manifest(const char *path, const char *what) {
  return phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: %s", path, what);
}

/* The manifest must be that of this very file. */
static phibal_status open_manifest(const judge_request *request, judge_files *f) {
  char *path = vectors_manifest_path(request->cases);
  if (!path) return phibal_status_set(PHIBAL_ERROR_MEMORY, "judge: out of memory");
  phibal_status status = file_read_json(path, TEXT_MANIFEST, 0, &f->manifest);
  const char *format, *digest;
  int version;
  json_t *cases, *promises;
  uint64_t actual = 0;
  char hex[24];
  if (!f->manifest)
    status = phibal_status_set(status, "%s; the manifest must be next to %s",
                               phibal_status_message(), request->cases);
  else if (json_unpack(f->manifest, "{s:s, s:i, s:s, s:o, s:o}", "format", &format, "version",
                       &version, "digest", &digest, "cases", &cases, "promises", &promises) ||
           strcmp(format, "phibal-vectors") != 0 || !json_is_array(cases) ||
           !json_is_object(promises))
    status = bad_manifest(path, "is not a manifest of phibal's vectors");
  else if (version != VECTORS_VERSION)
    status = phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: version %d; this phibal reads %d", path,
                               version, VECTORS_VERSION);
  else if ((status = vectors_digest(request->cases, &actual)) == PHIBAL_OK) {
    snprintf(hex, sizeof hex, "%016" PRIx64, actual);
    if (strcmp(hex, digest) != 0)
      status = phibal_status_set(PHIBAL_ERROR_FORMAT,
                                 "%s: is the manifest of another file than %s (its digest is %s, "
                                 "the file's %s)",
                                 path, request->cases, digest, hex);
  }
  free(path);
  return status;
}

static phibal_status files_open(const judge_request *request, judge_files *f) {
  memset(f, 0, sizeof *f);
  phibal_status status = tensors_open(request->cases, &f->cases);
  if (status == PHIBAL_OK) status = tensors_open(request->results, &f->results);
  if (status == PHIBAL_OK) status = open_manifest(request, f);
  if (status == PHIBAL_OK && !(f->used = calloc((size_t)f->results.count + 1, 1)))
    status = phibal_status_set(PHIBAL_ERROR_MEMORY, "judge: out of memory");
  if (status != PHIBAL_OK) files_close(f);
  return status;
}

/* Elements of a file's tensor. */

static bool is_real(safetensors_dtype t) {
  return t == SAFETENSORS_F16 || t == SAFETENSORS_BF16 || t == SAFETENSORS_F32 ||
         t == SAFETENSORS_F64;
}

static bool is_integer(safetensors_dtype t) {
  return t == SAFETENSORS_BOOL || t == SAFETENSORS_U8 || t == SAFETENSORS_I8 ||
         t == SAFETENSORS_I16 || t == SAFETENSORS_U16 || t == SAFETENSORS_I32 ||
         t == SAFETENSORS_U32 || t == SAFETENSORS_I64;
}

static double half_precision(uint16_t bits) {
  int exponent = bits >> 10 & 31;
  double fraction = bits & 1023;
  double size = exponent == 31 ? (fraction > 0 ? (double)NAN : (double)INFINITY)
                : exponent     ? ldexp(1024 + fraction, exponent - 25)
                               : ldexp(fraction, -24);
  return bits >> 15 ? -size : size;
}

static double brain_precision(uint16_t bits) {
  uint32_t wide = (uint32_t)bits << 16;
  float x;
  memcpy(&x, &wide, sizeof x);
  return (double)x;
}

static double real_element(const safetensors_tensor *t, int64_t i) {
  switch (t->dtype) {
  case SAFETENSORS_F64:
    return ((const double *)t->data)[i];
  case SAFETENSORS_F16:
    return half_precision(((const uint16_t *)t->data)[i]);
  case SAFETENSORS_BF16:
    return brain_precision(((const uint16_t *)t->data)[i]);
  default:
    return (double)((const float *)t->data)[i];
  }
}

static int64_t integer_element(const safetensors_tensor *t, int64_t i) {
  switch (t->dtype) {
  case SAFETENSORS_I64:
    return ((const int64_t *)t->data)[i];
  case SAFETENSORS_U32:
    return ((const uint32_t *)t->data)[i];
  case SAFETENSORS_I32:
    return ((const int32_t *)t->data)[i];
  case SAFETENSORS_U16:
    return ((const uint16_t *)t->data)[i];
  case SAFETENSORS_I16:
    return ((const int16_t *)t->data)[i];
  case SAFETENSORS_I8:
    return ((const int8_t *)t->data)[i];
  default:
    return ((const uint8_t *)t->data)[i];
  }
}

/* Rounds a binary64 number to the format that was asked for. */
static double round_to(phibal_format format, double x) {
  if (!isfinite(x)) return x;
  phibal_enclosure point;
  double rounded = x;
  phibal_enclosure_init(&point, 53);
  phibal_enclosure_set_d(&point, x);
  phibal_round_enclosure(&point, format, PHIBAL_ROUND_NEAREST, &rounded);
  phibal_enclosure_clear(&point);
  return rounded;
}

/* Shapes are the same if they are without their dimensions of size 1. */
static bool same_shape(const safetensors_tensor *a, const safetensors_tensor *b) {
  int32_t i = 0, j = 0;
  for (;;) {
    while (i < a->dimensions && a->shape[i] == 1) i++;
    while (j < b->dimensions && b->shape[j] == 1) j++;
    if (i == a->dimensions || j == b->dimensions) return i == a->dimensions && j == b->dimensions;
    if (a->shape[i++] != b->shape[j++]) return false;
  }
}

static void print_shape(const safetensors_tensor *t, char *text, size_t size) {
  size_t n = (size_t)snprintf(text, size, "[");
  for (int32_t i = 0; i < t->dimensions && n < size; i++)
    n += (size_t)snprintf(text + n, size - n, "%s%" PRId64, i ? ", " : "", t->shape[i]);
  if (n < size) snprintf(text + n, size - n, "]");
}

static void print_index(const safetensors_tensor *t, int64_t element, char *text, size_t size) {
  int64_t index[SAFETENSORS_MAX_DIMENSIONS];
  for (int32_t i = t->dimensions; i-- > 0;) {
    index[i] = t->shape[i] ? element % t->shape[i] : 0;
    element = t->shape[i] ? element / t->shape[i] : 0;
  }
  size_t n = (size_t)snprintf(text, size, "[");
  for (int32_t i = 0; i < t->dimensions && n < size; i++)
    n += (size_t)snprintf(text + n, size - n, "%s%" PRId64, i ? ", " : "", index[i]);
  if (n < size) snprintf(text + n, size - n, "]");
}

/* One output of one case, while it is judged. */
typedef struct comparison {
  const judge_request *request;
  const safetensors_tensor *expected, *bound, *got;
  judged_case *c;
  judged_output *to;
  const char *output;
  bool narrower; /* the output is one of binary32 */
  bool failed;
} comparison;

static void fail(comparison *m, const char *words) {
  m->failed = true;
  if (m->c->failures) return;
  snprintf(m->c->first.output, sizeof m->c->first.output, "%s", m->output);
  snprintf(m->c->first.words, sizeof m->c->first.words, "%s", words);
}

static void wrong_element(comparison *m, int64_t i, const char *got, const char *expected,
                          const char *bound) {
  char where[80], words[320];
  m->c->wrong++;
  m->to->wrong++;
  if (m->failed) return;
  print_index(m->expected, i, where, sizeof where);
  snprintf(words, sizeof words, "%s%s: got %s, expected %s%s", m->output, where, got, expected,
           bound);
  fail(m, words);
}

static void note_error(comparison *m, int64_t i, double error) {
  judged_output *to = m->to;
  if (!(error > to->worst) && !isnan(error)) return;
  char where[80];
  print_index(m->expected, i, where, sizeof where);
  to->worst = isnan(error) ? (double)INFINITY : error;
  snprintf(to->worst_where, sizeof to->worst_where, "%.60s %.60s", m->c->id, where);
}

/* How far results may be from `expected`. A promise in ULP of binary64 has bounds that are 0 where
   only the nearest number keeps it: there X times the promise is X - 1 promises more. */
static double allowance(const comparison *m, double expected, double bound) {
  const double times = m->request->times;
  if (m->to->measure != MEASURE_ULP64 || times == 1) return bound * times;
  return bound + (times - 1) * m->to->bound * phibal_format_ulp(PHIBAL_FORMAT_BINARY64, expected);
}

/* An error in the promise's measure: the bound is promise->bound of its units. */
static double in_measure(const comparison *m, double distance, double expected, double bound) {
  if (distance == 0) return 0;
  if (m->to->measure == MEASURE_ULP64)
    return distance / phibal_format_ulp(PHIBAL_FORMAT_BINARY64, expected);
  return bound > 0 ? distance / bound * m->to->bound : (double)INFINITY;
}

/* How far `got` lies outside of what may be rounded to it; 0 if it does not. */
static double narrow_distance(phibal_format format, double got, double expected, double bound) {
  double low = round_to(format, nextafter(expected - bound, (double)-INFINITY));
  double high = round_to(format, nextafter(expected + bound, (double)INFINITY));
  return got < low ? low - got : got > high ? got - high : 0;
}

static void compare_real(comparison *m, int64_t i) {
  double got = real_element(m->got, i), expected = real_element(m->expected, i);
  double bound = real_element(m->bound, i);
  double allowed = isfinite(expected) ? allowance(m, expected, bound) : bound;
  bool right;
  double error = 0;
  if (isnan(expected) || isnan(got) || isinf(expected) || isinf(got)) {
    bool narrow = m->request->narrow && !isnan(expected) && !isnan(got);
    right = (isnan(expected) && isnan(got)) || got == expected ||
            (narrow && narrow_distance(m->request->format, got, expected, allowed) == 0);
    /* Beyond binary32 nothing but its infinity is expected; a wider result must round to it. */
    if (m->got->dtype == SAFETENSORS_F64 && m->narrower && isinf(expected) && isfinite(got))
      right = round_to(PHIBAL_FORMAT_BINARY32, got) == expected;
    if (!right) error = (double)INFINITY;
  } else if (m->request->narrow) {
    double distance = narrow_distance(m->request->format, got, expected, allowed);
    right = distance == 0;
    error = right ? 0 : in_measure(m, distance + allowed, expected, bound);
  } else {
    double distance = fabs(got - expected);
    right = distance <= allowed;
    error = in_measure(m, distance, expected, bound);
  }
  note_error(m, i, error);
  if (right) return;
  char got_text[48], expected_text[48], bound_text[48];
  snprintf(got_text, sizeof got_text, "%.9g", got);
  snprintf(expected_text, sizeof expected_text, "%.9g", expected);
  snprintf(bound_text, sizeof bound_text, " within %.3g", allowed);
  wrong_element(m, i, got_text, expected_text, bound_text);
}

static void compare_integer(comparison *m, int64_t i) {
  int64_t got = integer_element(m->got, i), expected = integer_element(m->expected, i);
  note_error(m, i, got == expected ? 0 : (double)INFINITY);
  if (got == expected) return;
  char got_text[24], expected_text[24];
  snprintf(got_text, sizeof got_text, "%" PRId64, got);
  snprintf(expected_text, sizeof expected_text, "%" PRId64, expected);
  wrong_element(m, i, got_text, expected_text, "");
}

/* Whether results of that type can be judged at all; says why not. */
static bool usable(comparison *m, const char *dtype) {
  char words[200], has[80], wants[80];
  bool real = m->bound != NULL;
  if (!same_shape(m->got, m->expected)) {
    print_shape(m->got, has, sizeof has);
    print_shape(m->expected, wants, sizeof wants);
    snprintf(words, sizeof words, "%s: shape %s, must be %s", m->output, has, wants);
    fail(m, words);
    return false;
  }
  safetensors_dtype got = m->got->dtype;
  bool wide = m->request->narrow || got == SAFETENSORS_F64 ||
              (got == SAFETENSORS_F32 && strcmp(dtype, "F32") == 0);
  if (real ? is_real(got) && wide : is_integer(got)) return true;
  snprintf(words, sizeof words, "%s: dtype %s, must be %s%s", m->output,
           safetensors_dtype_name(got), real ? dtype : "an integer type",
           real && is_real(got) ? " (or say --format, to judge a narrower one)" : "");
  fail(m, words);
  return false;
}

/* The tensors under PREFIX/out/: *count of them from the one that is returned on. They are sorted
   by name. */
static int64_t results_of(const safetensors_file *f, const char *prefix, int64_t *count) {
  char folder[80];
  const size_t n = (size_t)snprintf(folder, sizeof folder, "%s/out/", prefix);
  int64_t low = 0, high = f->count;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (strcmp(f->tensors[middle].name, folder) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  *count = 0;
  while (low + *count < f->count && strncmp(f->tensors[low + *count].name, folder, n) == 0)
    ++*count;
  return low;
}

static judged_output *output_row(judge_report *report, const judge_files *f, const char *name,
                                 const char *output, const char *promise) {
  for (int64_t i = 0; i < report->output_count; i++)
    if (strcmp(report->outputs[i].operation, name) == 0 &&
        strcmp(report->outputs[i].output, output) == 0)
      return &report->outputs[i];
  void *more = realloc(report->outputs, sizeof(judged_output) * (size_t)(report->output_count + 1));
  if (!more) return NULL;
  report->outputs = more;
  judged_output *to = &report->outputs[report->output_count++];
  memset(to, 0, sizeof *to);
  snprintf(to->operation, sizeof to->operation, "%s", name);
  snprintf(to->output, sizeof to->output, "%s", output);
  const char *measure = "";
  json_t *row =
      json_object_get(json_object_get(json_object_get(f->manifest, "promises"), name), promise);
  json_unpack(row, "{s:s, s:F}", "measure", &measure, "bound", &to->bound);
  for (int m = MEASURE_EXACT; m <= MEASURE_FRACTION; m++)
    if (strcmp(measure, measure_name((output_measure)m)) == 0) to->measure = (output_measure)m;
  return to;
}

/* The experts that a case's results selected, and by which its other outputs are judged. */
typedef struct judged_choice {
  bool given;          /* the results have experts that can be read, */
  bool other;          /* and some of them are others than (R2)'s, but admitted: */
  reselected expected; /* what the case expects then */
  char wrong[320];     /* the first token whose experts are not admitted */
} judged_choice;

/* One row of slots. The expected ones are -1 in padding. */
static phibal_status judge_row(const judge_request *request, const routed_rows *s, int64_t row,
                               const int32_t *got, int32_t *expected, phibal_reference_token *t,
                               judged_selections *to, bool *admitted) {
  const int32_t k = s->router.active;
  const size_t bytes = sizeof *got * (size_t)k;
  *admitted = memcmp(got, expected, bytes) == 0;
  if (*admitted || routed_padding(s, row)) {
    if (!routed_padding(s, row)) to->right++;
    to->wrong += !*admitted;
    return PHIBAL_OK;
  }
  compared_scores compared;
  phibal_status status = selection_of_row(s, row, t, &compared);
  if (status != PHIBAL_OK) return status;
  const bool by_tie = selection_admits(&compared, got, 0);
  *admitted =
      request->any_selection && (by_tie || selection_admits(&compared, got, request->score_error));
  if (*admitted) memcpy(expected, got, bytes);
  if (by_tie)
    to->by_tie++;
  else if (*admitted)
    to->by_error++;
  if (*admitted) return PHIBAL_OK;
  to->wrong++;
  int32_t common = 0;
  for (int32_t a = 0; a < k; a++) {
    bool twice = false;
    for (int32_t b = 0; b < a; b++) twice |= got[a] == got[b];
    for (int32_t b = 0; b < k; b++) common += !twice && got[a] == compared.selection[b];
  }
  to->wrong_order += common == k;
  return PHIBAL_OK;
}

/* Compares the experts of a case that selects some with (R2)'s. choice->expected.memory is the
   caller's to free. */
static phibal_status judge_selection(const judge_request *request, judge_files *f, judged_case *c,
                                     json_t *described, judged_choice *choice) {
  memset(choice, 0, sizeof *choice);
  const json_t *parameters = json_object_get(described, "parameters");
  const safetensors_tensor *logits = vectors_find(&f->cases, c->prefix, "in", "logits");
  const safetensors_tensor *bias = vectors_find(&f->cases, c->prefix, "in", "bias");
  const safetensors_tensor *mask = vectors_find(&f->cases, c->prefix, "in", "mask");
  const int64_t k = json_integer_value(json_object_get(parameters, "k"));
  const char *const names[] = {"gate", "score", "group-score", "selection"};
  const char *texts[4];
  for (int i = 0; i < 4; i++) texts[i] = json_string_value(json_object_get(parameters, names[i]));
  if (!logits || !selection_is_made(c->operation, texts[3])) return PHIBAL_OK;
  const int64_t E = logits->dimensions > 1 ? logits->shape[logits->dimensions - 1] : 0;
  const int64_t tokens = logits->dimensions > 1 ? logits->shape[logits->dimensions - 2] : 0;
  if (E < 1 || E > PHIBAL_MAX_EXPERTS || k < 1 || k > E || logits->dtype != SAFETENSORS_F32 ||
      (bias && (bias->dtype != SAFETENSORS_F32 || bias->elements != E)) ||
      (mask && (mask->dtype != SAFETENSORS_U8 || mask->elements != tokens)))
    return phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: its logits, bias, mask or k are no router's",
                             c->id);
  const routed_rows s = {
      .router = selection_router((int32_t)E, (int32_t)k, texts[0], texts[1], texts[2],
                                 json_integer_value(json_object_get(parameters, "groups")),
                                 json_integer_value(json_object_get(parameters, "active-groups"))),
      .tokens = tokens,
      .rows = logits->elements / E,
      .logits = logits->data,
      .bias = bias ? bias->data : NULL,
      .mask = mask ? mask->data : NULL};
  const safetensors_tensor *experts = vectors_find(&f->results, c->prefix, "out", "experts");
  const safetensors_tensor *told = vectors_find(&f->cases, c->prefix, "expected", "experts");
  if (!told) told = vectors_find(&f->cases, c->prefix, "selection", "experts");
  if (experts) f->used[experts - f->results.tensors] = true;
  if (!experts || experts->elements != s.rows * k || !is_integer(experts->dtype)) {
    for (int64_t row = 0; row < s.rows; row++) c->selections.not_given += !routed_padding(&s, row);
    return PHIBAL_OK;
  }
  choice->given = true;
  int32_t *got = malloc(sizeof *got * (size_t)(2 * s.rows * k + 1)), *expected = got + s.rows * k;
  phibal_reference_token t;
  phibal_status status =
      got ? phibal_reference_token_init(&t, (int32_t)E, (int32_t)k, selection_precision(&s.router))
          : phibal_status_set(PHIBAL_ERROR_MEMORY, "judge: out of memory");
  if (status != PHIBAL_OK) {
    free(got);
    return status;
  }
  for (int64_t i = 0; i < s.rows * k; i++) {
    const int64_t e = integer_element(experts, i);
    got[i] = e < -1 || e > E ? (int32_t)E : (int32_t)e;
  }
  for (int64_t row = 0; status == PHIBAL_OK && row < s.rows; row++) {
    int32_t *of = expected + row * k;
    const bool padding = routed_padding(&s, row);
    compared_scores compared;
    if (!padding && !told) status = selection_of_row(&s, row, &t, &compared);
    if (status != PHIBAL_OK) break;
    for (int64_t i = 0; i < k; i++)
      of[i] = padding ? -1
              : told  ? (int32_t)integer_element(told, row * k + i)
                      : compared.selection[i];
    const int64_t others = c->selections.by_tie + c->selections.by_error;
    bool admitted;
    status = judge_row(request, &s, row, got + row * k, of, &t, &c->selections, &admitted);
    if (status == PHIBAL_OK && admitted && c->selections.by_tie + c->selections.by_error > others)
      choice->other = true;
    if (status == PHIBAL_OK && !admitted && !choice->wrong[0]) {
      char where[80];
      print_index(experts, row * k, where, sizeof where);
      snprintf(choice->wrong, sizeof choice->wrong, "experts%s: not the token's selection%s", where,
               padding ? ", which is padding" : "");
    }
  }
  phibal_reference_token_clear(&t);
  if (status == PHIBAL_OK && choice->other)
    status = request->reselect(&f->cases, described, expected, &choice->expected);
  free(got);
  return status;
}

/* The tensor of the file, with what is expected after another selection. */
static const safetensors_tensor *reselected_tensor(const safetensors_tensor *of,
                                                   const tensor *others, int count,
                                                   const char *output, safetensors_tensor *to) {
  for (int o = 0; of && o < count; o++)
    if (others[o].data && strcmp(others[o].name, output) == 0) {
      *to = *of;
      to->data = others[o].data;
      return to;
    }
  return of;
}

static phibal_status judge_output(const judge_request *request, judge_files *f, judged_case *c,
                                  const char *output, json_t *described,
                                  const judged_choice *choice, judge_report *report) {
  const char *dtype, *promise;
  int optional;
  if (json_unpack(described, "{s:s, s:s, s:b}", "dtype", &dtype, "promise", &promise, "optional",
                  &optional))
    return phibal_status_set(PHIBAL_ERROR_FORMAT,
                             "%s: the manifest's output %s has no dtype, "
                             "promise or optional",
                             c->id, output);
  comparison m = {.request = request, .c = c, .output = output};
  m.expected = vectors_find(&f->cases, c->prefix, "expected", output);
  m.bound = vectors_find(&f->cases, c->prefix, "bound", output);
  safetensors_tensor other_expected, other_bound;
  m.expected = reselected_tensor(m.expected, choice->expected.expected, choice->expected.count,
                                 output, &other_expected);
  m.bound = reselected_tensor(m.bound, choice->expected.bound, choice->expected.count, output,
                              &other_bound);
  m.got = vectors_find(&f->results, c->prefix, "out", output);
  m.narrower = strcmp(dtype, "F32") == 0;
  m.to = output_row(report, f, c->operation, output, promise);
  if (!m.to) return phibal_status_set(PHIBAL_ERROR_MEMORY, "judge: out of memory");
  if (!m.expected || (m.bound && m.bound->elements != m.expected->elements) ||
      (m.bound ? m.expected->dtype != SAFETENSORS_F64 || m.bound->dtype != SAFETENSORS_F64
               : !is_integer(m.expected->dtype)))
    return phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: no expected %s/expected/%s with its bound",
                             request->cases, c->prefix, output);
  if (!m.got) {
    m.to->not_given++;
    char words[200];
    snprintf(words, sizeof words, "%s: missing; the results need a tensor %s/out/%s", output,
             c->prefix, output);
    if (!optional) fail(&m, words);
  } else {
    f->used[m.got - f->results.tensors] = true;
    if (usable(&m, dtype))
      for (int64_t i = 0; i < m.expected->elements; i++) {
        c->elements++;
        m.to->elements++;
        if (m.bound)
          compare_real(&m, i);
        else
          compare_integer(&m, i);
      }
  }
  c->failures += m.failed;
  /* What is there and wrong; a repeat's other bits and a wrong shape too. */
  if (m.failed && m.got) {
    const size_t at = strlen(c->wrong_outputs), room = sizeof c->wrong_outputs - at;
    if (strlen(output) + 2 < room) snprintf(c->wrong_outputs + at, room, "%s ", output);
  }
  return PHIBAL_OK;
}

static bool is_offered(const judge_request *request, judge_files *f, const char *output) {
  if (!request->outputs) return true;
  for (int i = 0; i < CONDITIONS && request->outputs[i]; i++)
    if (strcmp(request->outputs[i], output) == 0) return f->met[0][i] = true;
  return false;
}

/* The text between commas, as a number or a word, against a value. */
static bool is_value(const char *text, size_t length, const json_t *value) {
  char word[64], *end;
  if (length >= sizeof word) return false;
  memcpy(word, text, length);
  word[length] = 0;
  if (json_is_string(value)) return strcmp(word, json_string_value(value)) == 0;
  const double number = strtod(word, &end);
  return end != word && !*end && number == json_number_value(value);
}

static json_t *dimension(const json_t *inputs, int64_t from_the_last) {
  const json_t *shape = json_object_get(json_object_get(inputs, "logits"), "shape");
  const int64_t rank = (int64_t)json_array_size(shape);
  return rank < from_the_last ? NULL : json_array_get(shape, (size_t)(rank - from_the_last));
}

/* Whether a case keeps a condition; *has: whether it has what the condition is about. */
static phibal_status keeps(const char *condition, json_t *parameters, json_t *inputs, bool *has,
                           bool *kept) {
  const size_t length = strcspn(condition, "=<>!");
  const char *sign = condition + length;
  const bool equal = *sign == '=', unlike = !strncmp(sign, "!=", 2);
  const bool most = !strncmp(sign, "<=", 2), least = !strncmp(sign, ">=", 2);
  char name[64], *end;
  if (length == 0 || length >= sizeof name || !(equal || unlike || most || least))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "--where %s: no condition NAME=VALUE,..., NAME!=VALUE,..., "
                             "NAME<=NUMBER or NAME>=NUMBER",
                             condition);
  memcpy(name, condition, length);
  name[length] = 0;
  const char *values = sign + (equal ? 1 : 2);
  const double limit = strtod(values, &end);
  if ((most || least) && (end == values || *end))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "--where %s: needs a number", condition);
  json_t *value = json_object_get(parameters, name), *presence = NULL;
  if (!strcmp(name, "E") || !strcmp(name, "T")) value = dimension(inputs, *name == 'E' ? 1 : 2);
  *has = value != NULL;
  if (!value && (equal || unlike)) {
    presence = json_string(json_object_get(inputs, name) ? "given" : "absent");
    *has = !strcmp(values, "given") || !strcmp(values, "absent");
    if (*has) value = presence;
  }
  *kept = true;
  if (value && (most || least)) {
    const double number = json_number_value(value);
    *kept = json_is_number(value) && (most ? number <= limit : number >= limit);
  } else if (value) {
    bool found = false;
    for (const char *at = values;; at++) {
      const size_t word = strcspn(at, ",");
      found |= is_value(at, word, value);
      at += word;
      if (!*at) break;
    }
    *kept = found == equal;
  }
  json_decref(presence);
  return PHIBAL_OK;
}

/* Whether the case has an output that is offered, and keeps all conditions. */
static phibal_status case_is_offered(const judge_request *request, judge_files *f,
                                     json_t *described, json_t *outputs, bool *offered) {
  json_t *parameters = json_object_get(described, "parameters");
  json_t *inputs = json_object_get(described, "inputs"), *row;
  const char *output;
  *offered = !request->outputs;
  json_object_foreach(outputs, output, row) *offered |= is_offered(request, f, output);
  for (int i = 0; request->where && i < CONDITIONS && request->where[i]; i++) {
    bool has = false, kept = true;
    phibal_status status = keeps(request->where[i], parameters, inputs, &has, &kept);
    if (status != PHIBAL_OK) return status;
    f->met[1][i] |= has;
    *offered &= kept;
  }
  return PHIBAL_OK;
}

static phibal_status refuse_unmet(const judge_request *request, const judge_files *f) {
  for (int i = 0; request->outputs && i < CONDITIONS && request->outputs[i]; i++)
    if (!f->met[0][i])
      return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "--outputs: no case has an output %s",
                               request->outputs[i]);
  for (int i = 0; request->where && i < CONDITIONS && request->where[i]; i++)
    if (!f->met[1][i])
      return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                               "--where %s: no case has that parameter or input",
                               request->where[i]);
  return PHIBAL_OK;
}

static phibal_status judge_case(const judge_request *request, judge_files *f, size_t index,
                                json_t *described, judge_report *report) {
  const char *id, *prefix, *name, *kind;
  json_t *flags, *outputs, *described_output, *flag;
  if (json_unpack(described, "{s:s, s:s, s:s, s:s, s:o, s:o}", "id", &id, "prefix", &prefix,
                  "operation", &name, "kind", &kind, "flags", &flags, "outputs", &outputs) ||
      !json_is_object(outputs))
    return phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: case %lld of the manifest is incomplete",
                             request->cases, (long long)report->count);
  int64_t results, first = results_of(&f->results, prefix, &results);
  if (request->operation && strcmp(name, request->operation) != 0) {
    memset(f->used + first, true, (size_t)results); /* of another operation, so not astray */
    return PHIBAL_OK;
  }
  bool offered;
  phibal_status status = case_is_offered(request, f, described, outputs, &offered);
  if (status != PHIBAL_OK) return status;
  if (!offered) {
    report->not_offered++;
    memset(f->used + first, true, (size_t)results);
    return PHIBAL_OK;
  }
  judged_case *c = &report->cases[report->count++];
  snprintf(c->id, sizeof c->id, "%s", id);
  snprintf(c->prefix, sizeof c->prefix, "%s", prefix);
  snprintf(c->operation, sizeof c->operation, "%s", name);
  snprintf(c->kind, sizeof c->kind, "%s", kind);
  const char *group = json_string_value(json_object_get(described, "group"));
  if (group) snprintf(c->group, sizeof c->group, "%s", group);
  c->index = index;
  size_t place;
  json_array_foreach(flags, place, flag) {
    flag_id known = json_is_string(flag) ? flag_find(json_string_value(flag)) : FLAG_COUNT;
    if (known < FLAG_COUNT) flag_set_add(&c->flags, known);
  }
  /* An output under a wrong name is an answer: the case fails for what is missing. */
  c->answered = results > 0;
  if (request->answered_only && !c->answered) return PHIBAL_OK;
  judged_choice choice = {0};
  if (is_offered(request, f, "experts") || !json_object_get(outputs, "experts"))
    status = judge_selection(request, f, c, described, &choice);
  const char *output;
  if (status == PHIBAL_OK) json_object_foreach(outputs, output, described_output) {
      if (is_offered(request, f, output))
        status = judge_output(request, f, c, output, described_output, &choice, report);
      if (status != PHIBAL_OK) break;
    }
  /* Experts that are no output of the operation. */
  if (choice.wrong[0] && !json_object_get(outputs, "experts")) {
    comparison m = {.c = c, .output = "experts"};
    fail(&m, choice.wrong);
    c->failures++;
  }
  arena_free(&choice.expected.memory);
  if (status != PHIBAL_OK) return status;
  if (request->outputs) json_object_foreach(outputs, output, described_output) {
      const safetensors_tensor *got = vectors_find(&f->results, c->prefix, "out", output);
      if (got) f->used[got - f->results.tensors] = true;
    }
  for (int64_t i = first; i < first + results; i++)
    if (!f->used[i] && !report->misnamed++)
      snprintf(report->misnamed_name, sizeof report->misnamed_name, "%s",
               f->results.tensors[i].name);
  return PHIBAL_OK;
}

/* A case that repeats another must have the same bits. */
static void judge_repeat(const judge_files *f, const judged_case *first, judged_case *again,
                         json_t *outputs) {
  const char *output;
  json_t *described;
  json_object_foreach(outputs, output, described) {
    const safetensors_tensor *a = vectors_find(&f->results, first->prefix, "out", output);
    const safetensors_tensor *b = vectors_find(&f->results, again->prefix, "out", output);
    if (!a || !b || (a->bytes == b->bytes && memcmp(a->data, b->data, (size_t)a->bytes) == 0))
      continue;
    if (!again->failures) {
      snprintf(again->first.output, sizeof again->first.output, "%s", output);
      snprintf(again->first.words, sizeof again->first.words,
               "%.60s: other bits than in %.60s, which has the same inputs", output, first->prefix);
    }
    again->failures++;
    if (!again->wrong_outputs[0])
      snprintf(again->wrong_outputs, sizeof again->wrong_outputs, "%s ", output);
  }
}

static void judge_repeats(const judge_files *f, judge_report *report) {
  json_t *cases = json_object_get(f->manifest, "cases");
  for (int64_t i = 0; i < report->count; i++) {
    judged_case *again = &report->cases[i];
    if (!again->group[0]) continue;
    for (int64_t k = 0; k < i; k++) {
      const judged_case *first = &report->cases[k];
      if (strcmp(first->group, again->group) != 0 ||
          strcmp(first->operation, again->operation) != 0)
        continue;
      judge_repeat(f, first, again,
                   json_object_get(json_array_get(cases, (size_t)again->index), "outputs"));
      break;
    }
  }
}

static phibal_status find_likely(judge_report *report, const judge_files *f) {
  json_t *cases = json_object_get(f->manifest, "cases");
  diagnosed_case *evidence = malloc(sizeof *evidence * (size_t)(report->count + 1));
  if (!evidence) return phibal_status_set(PHIBAL_ERROR_MEMORY, "judge: out of memory");
  bool wrong = false;
  for (int64_t i = 0; i < report->count; i++) wrong |= report->cases[i].wrong_outputs[0] != 0;
  int64_t n = 0;
  for (int64_t i = 0; i < report->count; i++) {
    const judged_case *c = &report->cases[i];
    if (report->answered_only && !c->answered) continue;
    if (wrong && c->failures && !c->wrong_outputs[0]) continue;
    if (!c->failures && c->elements == 0) continue; /* of no token: nothing could have failed */
    const judged_selections *of = &c->selections;
    const int64_t judged = of->right + of->by_tie + of->by_error;
    evidence[n++] = (diagnosed_case){.described = json_array_get(cases, c->index),
                                     .flags = c->flags,
                                     .failed = c->failures > 0,
                                     .right_experts = of->wrong + of->not_given == 0 && judged > 0,
                                     .wrong = c->wrong_outputs};
  }
  const phibal_status status =
      diagnose(evidence, n, report->likely, LIKELY_FLAGS, &report->likely_count);
  free(evidence);
  return status;
}

static phibal_status sum_up(judge_report *report, const judge_files *f) {
  for (int64_t i = 0; i < report->count; i++) {
    const judged_case *c = &report->cases[i];
    report->failed += c->failures > 0;
    report->unanswered += !c->answered;
    judged_selections *all = &report->selections;
    const judged_selections *some = &c->selections;
    all->right += some->right;
    all->by_tie += some->by_tie;
    all->by_error += some->by_error;
    all->wrong += some->wrong;
    all->wrong_order += some->wrong_order;
    all->not_given += some->not_given;
    if (report->answered_only && !c->answered) continue;
    for (int flag = 0; flag < FLAG_COUNT; flag++) {
      if (!flag_set_has(&c->flags, flag)) continue;
      if (c->failures)
        report->flags[flag].failed++;
      else
        report->flags[flag].passed++;
    }
  }
  for (int64_t i = 0; i < f->results.count; i++)
    if (!f->used[i] && !report->stray++)
      snprintf(report->stray_name, sizeof report->stray_name, "%s", f->results.tensors[i].name);
  return find_likely(report, f);
}

phibal_status judge_vectors(const judge_request *request, judge_report *report) {
  memset(report, 0, sizeof *report);
  report->answered_only = request->answered_only;
  judge_files f;
  if (request->any_selection && !request->reselect)
    return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                             "judge: other selections are judged where the operations are");
  phibal_status status = files_open(request, &f);
  if (status != PHIBAL_OK) return status;
  json_t *cases = json_object_get(f.manifest, "cases"), *described;
  report->cases = calloc(json_array_size(cases) + 1, sizeof *report->cases);
  if (!report->cases) status = phibal_status_set(PHIBAL_ERROR_MEMORY, "judge: out of memory");
  size_t index;
  if (status == PHIBAL_OK) json_array_foreach(cases, index, described) {
      status = judge_case(request, &f, index, described, report);
      if (status != PHIBAL_OK) break;
    }
  if (status == PHIBAL_OK) status = refuse_unmet(request, &f);
  if (status == PHIBAL_OK) {
    judge_repeats(&f, report);
    status = sum_up(report, &f);
  }
  files_close(&f);
  return status;
}

void judge_report_clear(judge_report *report) {
  free(report->cases);
  free(report->outputs);
  memset(report, 0, sizeof *report);
}

int64_t judge_judged(const judge_report *report) {
  return report->count - (report->answered_only ? report->unanswered : 0);
}

bool judge_passed(const judge_report *report) {
  return judge_judged(report) > 0 && report->failed == 0;
}
