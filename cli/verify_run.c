#include "commands.h"
#include "verify_run.h"
#include "certificate.h"
#include "junit.h"
#include "process_state.h"
#include "verify/budget.h"
#include <inttypes.h>
#include <jansson.h>
#include <phibal/environment.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "verify/vectors.h"
#include "verify/verify.h"

/* One run, while it goes on. */
typedef struct verification {
  const verify_request *request;
  const backend *b;
  tally *tallies;
  json_t *rows;
  junit *junit;
  certificate *certificate;
  int run, failed;
} verification;

static void print_failure(const operation *op, const tally *t, uint64_t seed) {
  const output_promise *p = output_describe(t->output);
  printf("  FAIL %s %s: %" PRId64 " of %" PRId64 " elements; worst in case %" PRIu64
         " (%s), element %" PRId64 ": got %.9g (%a), exact %s, error %.4g %s > %g\n"
         "       again: phibal verify --op %s --seed %" PRIu64 " --case %" PRIu64 "\n",
         p->operation, p->output, t->failures, t->elements, t->worst_case, op->kind(t->worst_case),
         t->worst_element, t->worst_got, t->worst_got, t->worst_expected, t->worst,
         measure_unit(p->measure), p->bound, op->name, seed, t->worst_case);
}

static bool not_given(const verification *v, const operation *op, const tally *t) {
  return t->elements == 0 && !verify_expects(op, v->b, t->output);
}

static void print_rows(const verification *v, const operation *op, bool all_compared) {
  for (int o = 0; o < OUTPUT_COUNT; o++) {
    if (!operation_owns(op, (output_id)o)) continue;
    const tally *t = &v->tallies[o];
    const output_promise *p = output_describe((output_id)o);
    if (not_given(v, op, t)) {
      printf("%-16s %-18s       -          -  not given\n", p->operation, p->output);
      continue;
    }
    bool good = t->failures == 0 && (t->elements > 0 || !all_compared);
    if (p->measure == MEASURE_EXACT)
      printf("%-16s %-18s %7" PRId64 " %10" PRId64 "  %-10s %-17s %s\n", p->operation, p->output,
             t->cases, t->elements, t->failures ? "wrong" : "exact", "exact", good ? "ok" : "FAIL");
    else
      printf("%-16s %-18s %7" PRId64 " %10" PRId64 "  %-10s %-6g %-10s %s\n", p->operation,
             p->output, t->cases, t->elements, show_error(t->worst).text, p->bound,
             measure_unit(p->measure), good ? "ok" : "FAIL");
    if (t->failures)
      print_failure(op, t, v->request->seed);
    else if (!good)
      printf("  FAIL %s %s: no case reached it\n", p->operation, p->output);
  }
  fflush(stdout);
}

static void add_json_rows(verification *v, const operation *op) {
  for (int o = 0; o < OUTPUT_COUNT; o++) {
    if (!operation_owns(op, (output_id)o)) continue;
    const tally *t = &v->tallies[o];
    const output_promise *p = output_describe((output_id)o);
    json_t *row = json_pack(
        "{s:s, s:s, s:I, s:I, s:I, s:s, s:f, s:s, s:I}", "operation", p->operation, "output",
        p->output, "cases", (json_int_t)t->cases, "elements", (json_int_t)t->elements, "failures",
        (json_int_t)t->failures, "unit", measure_unit(p->measure), "bound", p->bound, "equation",
        p->equation, "worst_case", (json_int_t)t->worst_case);
    /* JSON has no infinity. */
    json_object_set_new(row, "worst", t->worst <= 1e300 ? json_real(t->worst) : json_string("inf"));
    json_array_append_new(v->rows, row);
  }
}

static void add_junit_cases(verification *v, const operation *op, bool all_compared) {
  for (int o = 0; v->junit && o < OUTPUT_COUNT; o++) {
    if (!operation_owns(op, (output_id)o)) continue;
    const tally *t = &v->tallies[o];
    const output_promise *p = output_describe((output_id)o);
    char why[400] = "no case reached it";
    if (t->failures)
      snprintf(why, sizeof why,
               "%" PRId64 " of %" PRId64 " elements; worst in case %" PRIu64
               " (%s), element %" PRId64 ": got %a, exact %s, error %.4g %s > %g",
               t->failures, t->elements, t->worst_case, op->kind(t->worst_case), t->worst_element,
               t->worst_got, t->worst_expected, t->worst, measure_unit(p->measure), p->bound);
    bool bad = t->failures > 0 || (t->elements == 0 && all_compared);
    bool absent = not_given(v, op, t);
    junit_case(v->junit, op->name, p->output, bad && !absent ? why : NULL,
               absent ? "not given by the backend" : NULL);
  }
}

/* Cases first .. first + count - 1, `more` from 0 on, and so many paired ones are in the tallies.
 */
static void report(verification *v, const operation *op, uint64_t first, int64_t count,
                   int64_t more, int64_t paired, bool all_compared) {
  v->run++;
  v->failed += !verify_passed(op, v->b, v->tallies, all_compared);
  if (v->request->json)
    add_json_rows(v, op);
  else
    print_rows(v, op, all_compared);
  add_junit_cases(v, op, all_compared);
  if (v->certificate)
    certificate_operation(v->certificate, op, first, count, more, paired, v->tallies);
}

static void report_broken(verification *v, const operation *op, const char *message) {
  v->run++;
  v->failed++;
  fprintf(v->request->json ? stderr : stdout, "%-16s FAIL: %s\n", op->name, message);
  if (v->junit) junit_case(v->junit, op->name, "cases", message, NULL);
}

static bool wanted(const verification *v, int i) {
  const verify_request *r = v->request;
  if (r->any_chosen) return r->chosen[i];
  return !v->b->supports || v->b->supports(v->b->context, &operations[i]);
}

/* The cases in which features meet, unless others were asked for; `ran` of them. */
static phibal_status run_paired(verification *v, const operation *op, int64_t *ran) {
  const verify_request *r = v->request;
  const bool usual = r->only < 0 && r->cases <= 0 && r->first == 0 && !r->small;
  const int64_t count = usual ? operation_paired_count(op) : 0;
  for (; *ran < count; ++*ran) {
    if (r->first_failure && !verify_passed(op, v->b, v->tallies, false)) break;
    phibal_status status =
        verify_case(op, v->b, r->seed, operation_paired_number(op, *ran), v->tallies);
    if (status != PHIBAL_OK) return status;
  }
  return PHIBAL_OK;
}

static void run_each(verification *v) {
  const verify_request *r = v->request;
  for (int i = 0; i < operation_count; i++) {
    const operation *op = &operations[i];
    if (!wanted(v, i)) continue;
    uint64_t first =
        r->only >= 0 ? (uint64_t)r->only : (uint64_t)r->first + (r->small ? SMALL_CASES : 0);
    int64_t count = r->only >= 0 ? 1 : r->cases > 0 ? r->cases : op->cases;
    const bool terminal = !r->json && isatty(STDERR_FILENO);
    if (terminal) fprintf(stderr, "%s ...", op->name);
    verify_start(op, v->tallies);
    int64_t paired = 0;
    phibal_status status = PHIBAL_OK;
    if (r->first_failure) status = run_paired(v, op, &paired); /* these are small */
    if (status == PHIBAL_OK && r->only >= 0)
      status = verify_case(op, v->b, r->seed, first, v->tallies);
    else if (status == PHIBAL_OK)
      status = verify_run(op, v->b, r->seed, first, count, r->first_failure, v->tallies);
    if (status == PHIBAL_OK && !r->first_failure) status = run_paired(v, op, &paired);
    if (terminal) command_clear_line();
    if (phibal_environment_check_threads(op->name)) break;
    bool all_compared = r->only < 0 && !r->first_failure && count >= op->cases;
    if (status == PHIBAL_OK)
      report(v, op, first, count, 0, paired, all_compared);
    else
      report_broken(v, op, phibal_status_message());
  }
}

static void run_budget(verification *v) {
  static budget_share shares[64];
  int n = 0;
  for (int i = 0; i < operation_count; i++)
    if (wanted(v, i)) shares[n++].operation = &operations[i];
  verify_within(shares, n, v->b, v->request->seed, v->request->budget, v->tallies);
  for (int i = 0; i < n; i++)
    if (shares[i].broken)
      report_broken(v, shares[i].operation, shares[i].message);
    else
      report(v, shares[i].operation, VECTORS_FIRST, BUDGET_PASS, shares[i].cases - BUDGET_PASS, 0,
             true);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void print_sum(const verification *v, double seconds) {
  const verify_request *r = v->request;
  if (r->json) {
    json_t *all =
        json_pack("{s:s, s:I, s:b, s:f, s:O}", "backend", v->b->name, "seed", (json_int_t)r->seed,
                  "passed", v->failed == 0, "seconds", seconds, "outputs", v->rows);
    json_dumpf(all, stdout, JSON_INDENT(2));
    puts("");
    json_decref(all);
  } else if (v->failed) {
    printf("%d of %d operations exceeded a bound (seed %" PRIu64 ", %.1f s)\n", v->failed, v->run,
           r->seed, seconds);
  } else {
    printf("all %d operations are within their bounds (seed %" PRIu64 ", %.1f s)\n", v->run,
           r->seed, seconds);
  }
}

/* The exit status, or 2 where a file cannot be written. */
static int write_files(verification *v) {
  const verify_request *r = v->request;
  phibal_status status = PHIBAL_OK;
  if (r->junit) status = junit_finish(v->junit, r->junit);
  if (r->certificate) {
    phibal_status other = certificate_finish(v->certificate, v->failed == 0, r->certificate);
    if (status == PHIBAL_OK) status = other;
  }
  if (status == PHIBAL_OK) return v->failed ? 1 : 0;
  fprintf(stderr, "phibal verify: %s\n", phibal_status_message());
  return 2;
}

int verify_run_all(const verify_request *request, const backend *b) {
  static tally tallies[OUTPUT_COUNT];
  verification v = {.request = request, .b = b, .tallies = tallies, .rows = json_array()};
  if (request->junit) v.junit = junit_start("phibal verify");
  if (request->certificate)
    v.certificate = certificate_start(b->name, request->device, request->seed);
  double start = now();
  if (!request->json)
    printf("%-16s %-18s %7s %10s  %-10s %-17s\n", "operation", "output", "cases", "elements",
           "worst", "bound");
  if (request->budget > 0)
    run_budget(&v);
  else
    run_each(&v);
  /* No verdict, no certificate and no report on what another environment may have changed. */
  if (phibal_environment_check_threads("no verdict")) {
    fflush(stdout);
    fprintf(stderr, "phibal verify: %s\n", phibal_status_message());
    return 2;
  }
  if (process_state_changed()) return 2; /* with a line of main's */
  print_sum(&v, now() - start);
  json_decref(v.rows);
  return write_files(&v);
}
