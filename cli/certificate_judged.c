/* Certificates of results made elsewhere: which files were judged, by their digests, and what came
   out. The check judges them again. */
#include "certificate.h"
#include "certificate_internal.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "verify/vectors.h"

static const char *last_part(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

static phibal_status digest_text(const char *path, char *hex, size_t size) {
  uint64_t digest;
  phibal_status status = vectors_digest(path, &digest);
  if (status == PHIBAL_OK) snprintf(hex, size, "%016" PRIx64, digest);
  return status;
}

static json_t *outputs_json(const judge_report *report) {
  json_t *outputs = json_array();
  for (int64_t i = 0; i < report->output_count; i++) {
    const judged_output *o = &report->outputs[i];
    json_array_append_new(
        outputs, json_pack("{s:s, s:s, s:s, s:f, s:I, s:I, s:I, s:o, s:s}", "operation",
                           o->operation, "output", o->output, "measure", measure_name(o->measure),
                           "bound", o->bound, "elements", (json_int_t)o->elements, "wrong",
                           (json_int_t)o->wrong, "not_given", (json_int_t)o->not_given, "worst",
                           certificate_error(o->worst), "worst_where", o->worst_where));
  }
  return outputs;
}

static json_t *texts_json(const char *const *texts) {
  json_t *to = json_array();
  for (; texts && *texts; texts++) json_array_append_new(to, json_string(*texts));
  return to;
}

enum { TEXTS = 32 };

/* The texts, ended by null, in to[]; null where there are none. */
static const char *const *read_texts(const json_t *from, const char *to[TEXTS + 1]) {
  size_t n = 0;
  for (; n < TEXTS && n < json_array_size(from); n++)
    if (!(to[n] = json_string_value(json_array_get(from, n)))) break;
  to[n] = NULL;
  return n ? to : NULL;
}

static json_t *judged_json(const judge_request *request, const judge_report *report) {
  char cases[24], results[24];
  if (digest_text(request->cases, cases, sizeof cases) != PHIBAL_OK ||
      digest_text(request->results, results, sizeof results) != PHIBAL_OK)
    return NULL;
  return json_pack(
      "{s:s, s:s, s:s, s:s, s:s?, s:s?, s:f, s:b, s:I, s:I, s:I, s:o, s:o, s:o, s:I, s:o}", "cases",
      last_part(request->cases), "cases_digest", cases, "results", last_part(request->results),
      "results_digest", results, "operation", request->operation, "format",
      request->narrow ? request->format_name : NULL, "times", request->times, "answered_only",
      report->answered_only, "judged", (json_int_t)judge_judged(report), "unanswered",
      (json_int_t)report->unanswered, "failed", (json_int_t)report->failed, "score_error",
      request->any_selection ? json_real(request->score_error) : json_null(), "only",
      texts_json(request->outputs), "where", texts_json(request->where), "not_offered",
      (json_int_t)report->not_offered, "outputs", outputs_json(report));
}

phibal_status certificate_judged(const judge_request *request, const judge_report *report,
                                 const char *path) {
  certificate *c = certificate_start("results", "not known", 0);
  json_t *judged = judged_json(request, report);
  if (c && judged) {
    json_object_set_new(c->json, "judged", judged);
  } else {
    json_decref(judged);
    return phibal_status_set(PHIBAL_ERROR_MEMORY, "%s: no certificate could be made", path);
  }
  return certificate_finish(c, judge_passed(report), path);
}

/* The files lie beside the certificate, under the names that it says. */
static char *beside(const char *certificate_path, const char *name) {
  const char *end = last_part(certificate_path);
  char *path = NULL;
  return asprintf(&path, "%.*s%s", (int)(end - certificate_path), certificate_path, name) < 0
             ? NULL
             : path;
}

static void check_digest(findings *f, const char *path, const char *digest) {
  char hex[24];
  if (digest_text(path, hex, sizeof hex) != PHIBAL_OK)
    certificate_found(f, "%s", phibal_status_message());
  else if (strcmp(hex, digest) != 0)
    certificate_found(f, "%s: digest %s, certified as %s", path, hex, digest);
}

/* Judged again, and the same numbers. */
static void judge_again(findings *f, const judge_request *request, json_t *judged) {
  judge_report report;
  if (judge_vectors(request, &report) != PHIBAL_OK) {
    certificate_found(f, "%s", phibal_status_message());
    judge_report_clear(&report);
    return;
  }
  json_t *outputs = outputs_json(&report);
  const int64_t cases = judge_judged(&report);
  json_int_t unanswered = report.unanswered; /* earlier certificates do not say how many */
  json_unpack(judged, "{s?I}", "unanswered", &unanswered);
  json_int_t not_offered = 0;
  json_unpack(judged, "{s?I}", "not_offered", &not_offered);
  if (!judge_passed(&report))
    certificate_found(f, "%" PRId64 " of %" PRId64 " cases fail", report.failed, cases);
  else if (json_integer_value(json_object_get(judged, "judged")) != cases ||
           unanswered != report.unanswered || not_offered != report.not_offered)
    certificate_found(f,
                      "judged again, %" PRId64 " cases are judged and %" PRId64
                      " not answered; other numbers are certified",
                      cases, report.unanswered);
  else if (!json_equal(outputs, json_object_get(judged, "outputs")))
    certificate_found(f, "judged again, the results have other errors than are certified");
  else if (report.answered_only)
    printf("  only about the %" PRId64 " cases that were answered; %" PRId64 " of %" PRId64
           " were not\n",
           cases, report.unanswered, report.count);
  if (report.not_offered || request->outputs)
    printf("  only about what was offered: %" PRId64 " of %" PRId64 " cases, and %s\n",
           report.count, report.count + report.not_offered,
           request->outputs ? "some of their outputs" : "all of their outputs");
  f->again += (int)report.output_count;
  json_decref(outputs);
  judge_report_clear(&report);
}

void certificate_check_judged(findings *f, json_t *judged) {
  const char *cases, *cases_digest, *results, *results_digest;
  const char *format = json_string_value(json_object_get(judged, "format"));
  judge_request request = {.times = 1,
                           .answered_only = json_is_true(json_object_get(judged, "answered_only"))};
  request.operation = json_string_value(json_object_get(judged, "operation"));
  if (json_unpack(judged, "{s:s, s:s, s:s, s:s, s:F}", "cases", &cases, "cases_digest",
                  &cases_digest, "results", &results, "results_digest", &results_digest, "times",
                  &request.times) ||
      (format && phibal_format_find(format, &request.format) != PHIBAL_OK)) {
    certificate_found(f, "it does not say what was judged");
    return;
  }
  request.narrow = format != NULL;
  const json_t *score_error = json_object_get(judged, "score_error"); /* null: (R2) alone */
  request.any_selection = json_is_number(score_error);
  request.score_error = json_number_value(score_error);
  request.reselect = vectors_reselect;
  const char *only[TEXTS + 1], *where[TEXTS + 1];
  request.outputs = read_texts(json_object_get(judged, "only"), only);
  request.where = read_texts(json_object_get(judged, "where"), where);
  char *cases_path = beside(f->path, cases), *results_path = beside(f->path, results);
  request.cases = cases_path;
  request.results = results_path;
  if (cases_path && results_path) {
    int before = f->wrong;
    check_digest(f, cases_path, cases_digest);
    check_digest(f, results_path, results_digest);
    if (f->wrong == before) judge_again(f, &request, judged);
  }
  free(cases_path);
  free(results_path);
}
