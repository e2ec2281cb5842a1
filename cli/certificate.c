#include "certificate.h"
#include "build_features.h"
#include "certificate_internal.h"
#include "formats/text_limits.h"
#include "formats/file.h"
#include <inttypes.h>
#include <jansson.h>
#include <phibal/isa.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "verify/vectors.h"
#include "verify/verify.h"

enum { CERTIFICATE_VERSION = 1 };

phibal_status certificate_may_write(const char *to, const char *junit) {
  phibal_status status = PHIBAL_OK;
  if (to) status = file_may_write(to, false, "\"format\": \"phibal-certificate\"");
  if (status == PHIBAL_OK && junit)
    status = file_may_write(junit, false, "<testsuite name=\"phibal ");
  if (status == PHIBAL_OK && to && junit && strcmp(to, junit) == 0 &&
      strncmp(junit, "/dev/", 5) != 0)
    status = phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                               "%s cannot be both the certificate and the report", junit);
  return status;
}

/* The processor's name, as Linux gives it. */
static void processor_name(char *text, size_t size) {
  snprintf(text, size, "unknown processor");
  FILE *f = fopen("/proc/cpuinfo", "r");
  if (!f) return;
  char line[256];
  while (fgets(line, sizeof line, f)) {
    char *colon = strchr(line, ':');
    if (strncmp(line, "model name", 10) != 0 || !colon) continue;
    colon[1 + strcspn(colon + 1, "\n")] = 0;
    snprintf(text, size, "%s", colon + 2);
    break;
  }
  fclose(f);
}

/* The digest of this very executable. */
static phibal_status own_digest(char *hex, size_t size) {
  uint64_t digest;
  phibal_status status = vectors_digest("/proc/self/exe", &digest);
  if (status == PHIBAL_OK) snprintf(hex, size, "%016" PRIx64, digest);
  return status;
}

certificate *certificate_start(const char *backend_name, const char *device, uint64_t seed) {
  certificate *c = calloc(1, sizeof *c);
  char hex[24] = "", processor[200];
  processor_name(processor, sizeof processor);
  if (!c || own_digest(hex, sizeof hex) != PHIBAL_OK) {
    free(c);
    return NULL;
  }
  c->operations = json_array();
  c->exhaustive = json_array();
  c->json =
      json_pack("{s:s, s:i, s:s, s:s, s:{s:s, s:s, s:s, s:s, s:s}, s:I, s:o, s:o}", "format",
                "phibal-certificate", "version", CERTIFICATE_VERSION, "backend", backend_name,
                "device", device ? device : processor, "build", "phibal", PHIBAL_VERSION, "digest",
                hex, "compiler", PHIBAL_COMPILER, "flags", PHIBAL_KERNEL_FLAGS, "isa", phibal_isa(),
                "seed", (json_int_t)seed, "operations", c->operations, "exhaustive", c->exhaustive);
  if (c->json) return c;
  free(c);
  return NULL;
}

json_t *certificate_error(double x) {
  return x <= 1e300 ? json_real(x) : json_string("inf"); /* JSON has no infinity */
}

static json_t *output_json(const tally *t) {
  const output_promise *p = output_describe(t->output);
  char got[40];
  snprintf(got, sizeof got, "%a", t->worst_got);
  return json_pack("{s:s, s:s, s:f, s:f, s:s, s:I, s:I, s:o, s:I, s:I, s:s, s:s}", "output",
                   p->output, "measure", measure_name(p->measure), "bound", p->bound, "slack",
                   p->slack, "equation", p->equation, "elements", (json_int_t)t->elements,
                   "failures", (json_int_t)t->failures, "worst", certificate_error(t->worst),
                   "worst_case", (json_int_t)t->worst_case, "worst_element",
                   (json_int_t)t->worst_element, "worst_got", got, "worst_expected",
                   t->worst_expected);
}

void certificate_operation(certificate *c, const operation *o, uint64_t first, int64_t count,
                           int64_t more, int64_t paired, const tally *tallies) {
  if (!c) return;
  json_t *outputs = json_array();
  json_t *cases = json_pack("[[I,I]]", (json_int_t)first, (json_int_t)count);
  if (more > 0) json_array_append_new(cases, json_pack("[I,I]", (json_int_t)0, (json_int_t)more));
  for (int64_t n = 0, from = 0; n < paired; n++) { /* in ranges of consecutive numbers */
    const uint64_t number = operation_paired_number(o, n);
    if (n + 1 < paired && operation_paired_number(o, n + 1) == number + 1) continue;
    json_array_append_new(cases, json_pack("[I,I]", (json_int_t)operation_paired_number(o, from),
                                           (json_int_t)(n + 1 - from)));
    from = n + 1;
  }
  for (int i = 0; i < OUTPUT_COUNT; i++)
    if (operation_owns(o, (output_id)i)) json_array_append_new(outputs, output_json(&tallies[i]));
  json_array_append_new(c->operations, json_pack("{s:s, s:o, s:o}", "name", o->name, "cases", cases,
                                                 "outputs", outputs));
}

void certificate_exhaustive(certificate *c, const char *core, int stride, uint64_t inputs,
                            uint64_t wrong, double worst_ulp, uint32_t worst_input) {
  if (!c) return;
  char bits[16];
  snprintf(bits, sizeof bits, "%08" PRIx32, worst_input);
  json_array_append_new(c->exhaustive,
                        json_pack("{s:s, s:i, s:I, s:I, s:f, s:s}", "core", core, "stride", stride,
                                  "inputs", (json_int_t)inputs, "wrong", (json_int_t)wrong,
                                  "worst_ulp", worst_ulp, "worst_input", bits));
}

phibal_status certificate_finish(certificate *c, bool passed, const char *path) {
  if (!c) return phibal_status_set(PHIBAL_ERROR_MEMORY, "%s: no certificate could be made", path);
  json_object_set_new(c->json, "passed", json_boolean(passed));
  char *text = json_dumps(c->json, JSON_INDENT(1));
  phibal_status status = text ? file_write(path, text, strlen(text))
                              : phibal_status_set(PHIBAL_ERROR_MEMORY, "%s: out of memory", path);
  free(text);
  json_decref(c->json);
  free(c);
  return status;
}

void certificate_found(findings *f, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  f->wrong++;
  fputs("  ", stdout);
  vprintf(format, arguments);
  puts("");
  va_end(arguments);
}

static const output_promise *find_promise(const char *operation_name, const char *output,
                                          output_id *id) {
  for (int i = 0; i < OUTPUT_COUNT; i++) {
    const output_promise *p = output_describe((output_id)i);
    *id = (output_id)i;
    if (strcmp(p->operation, operation_name) == 0 && strcmp(p->output, output) == 0) return p;
  }
  return NULL;
}

/* The worst case of an output, again: the same error, and within the bound. */
static void run_again(findings *f, const operation *o, const backend *b, uint64_t seed,
                      output_id id, json_t *row) {
  static tally tallies[OUTPUT_COUNT];
  uint64_t number = (uint64_t)json_integer_value(json_object_get(row, "worst_case"));
  double worst = json_number_value(json_object_get(row, "worst"));
  verify_start(o, tallies);
  if (verify_case(o, b, seed, number, tallies) != PHIBAL_OK) {
    certificate_found(f, "%s, case %" PRIu64 ": %s", o->name, number, phibal_status_message());
    return;
  }
  f->again++;
  const output_promise *p = output_describe(id);
  if (tallies[id].failures)
    certificate_found(f, "%s %s, case %" PRIu64 ": error %g %s, more than the promised %g", o->name,
                      p->output, number, tallies[id].worst, measure_unit(p->measure), p->bound);
  else if (tallies[id].worst != worst)
    certificate_found(f, "%s %s, case %" PRIu64 ": error %.17g, certified as %.17g", o->name,
                      p->output, number, tallies[id].worst, worst);
}

static void check_output(findings *f, const operation *o, const backend *b, uint64_t seed,
                         json_t *row) {
  const char *output = "", *measure = "", *equation = "";
  double bound = -1, slack = -1;
  json_int_t failures = -1, elements = 0;
  output_id id;
  if (json_unpack(row, "{s:s, s:s, s:s, s:F, s:F, s:I, s:I}", "output", &output, "measure",
                  &measure, "equation", &equation, "bound", &bound, "slack", &slack, "failures",
                  &failures, "elements", &elements)) {
    certificate_found(f, "%s: an output without its promise", o->name);
    return;
  }
  const output_promise *p = find_promise(o->name, output, &id);
  if (!p || p->bound != bound || p->slack != slack || strcmp(p->equation, equation) != 0 ||
      strcmp(measure_name(p->measure), measure) != 0)
    certificate_found(f, "%s %s: this binary's catalogue promises something else", o->name, output);
  else if (failures != 0)
    certificate_found(f, "%s %s: %" PRId64 " elements broke the bound", o->name, output,
                      (int64_t)failures);
  else if (elements > 0 && p->measure != MEASURE_EXACT)
    run_again(f, o, b, seed, id, row);
}

static void check_operation(findings *f, const backend *b, uint64_t seed, json_t *row) {
  const char *name = json_string_value(json_object_get(row, "name"));
  const operation *o = name ? operation_find(name) : NULL;
  if (!o) {
    certificate_found(f, "no operation '%s' in this binary", name ? name : "");
    return;
  }
  size_t i;
  json_t *output;
  json_array_foreach(json_object_get(row, "outputs"), i, output)
      check_output(f, o, b, seed, output);
}

static void check_all(findings *f, const backend *b, json_t *json) {
  char hex[24] = "";
  const char *digest = "", *backend_name = "";
  json_int_t seed = 0;
  int passed = 0;
  json_unpack(json, "{s:{s:s}, s:s, s:I, s:b}", "build", "digest", &digest, "backend",
              &backend_name, "seed", &seed, "passed", &passed);
  if (!passed) certificate_found(f, "it reports exceeded bounds itself");
  if (own_digest(hex, sizeof hex) != PHIBAL_OK || strcmp(hex, digest) != 0)
    certificate_found(f, "it is of another binary: digest %s, this one's is %s", digest, hex);
  json_t *judged = json_object_get(json, "judged");
  if (judged) {
    certificate_check_judged(f, judged);
    return;
  }
  if (strcmp(backend_name, b->name) != 0) {
    certificate_found(f, "it is of backend '%s'; here '%s' would be checked", backend_name,
                      b->name);
    return;
  }
  size_t i;
  json_t *row;
  json_array_foreach(json_object_get(json, "operations"), i, row)
      check_operation(f, b, (uint64_t)seed, row);
  json_array_foreach(json_object_get(json, "exhaustive"), i,
                     row) if (json_integer_value(json_object_get(row, "wrong")) != 0)
      certificate_found(f, "%s: wrong over its inputs",
                        json_string_value(json_object_get(row, "core")));
}

int certificate_check(const char *path, const backend *b) {
  json_t *json;
  file_read_json(path, TEXT_CERTIFICATE, 0, &json);
  const char *format = json ? json_string_value(json_object_get(json, "format")) : NULL;
  json_int_t version = json ? json_integer_value(json_object_get(json, "version")) : 0;
  if (!format || strcmp(format, "phibal-certificate") != 0 || version != CERTIFICATE_VERSION) {
    if (json)
      fprintf(stderr, "phibal judge: %s: is not a certificate that this version reads\n", path);
    else
      fprintf(stderr, "phibal judge: %s\n", phibal_status_message());
    json_decref(json);
    return 2;
  }
  findings f = {.path = path};
  printf("%s:\n", path);
  check_all(&f, b, json);
  json_decref(json);
  if (f.wrong)
    printf("the certificate does not hold here: %d findings\n", f.wrong);
  else
    printf(
        "  of this binary, with this catalogue's promises; %d worst cases or outputs judged again "
        "gave the same errors\nthe certificate holds\n",
        f.again);
  return f.wrong ? 1 : 0;
}
