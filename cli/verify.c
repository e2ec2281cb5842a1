/* `phibal verify`: the kernels against the reference. */
#include "commands.h"
#include "verify_exhaustive.h"
#include <backend_plugin.h>
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <phibal/status.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <verify.h>

static const char help[] =
    "usage: phibal verify [options]\n\n"
    "Runs every operation of the catalogue (spec/ops.def) on generated cases and compares each\n"
    "element of each output with an enclosure of the exact result. One line per output: cases,\n"
    "elements, the worst error and the promised bound. Exit status 1 if any bound is broken.\n\n"
    "  --plugin FILE   your kernels in a shared library (phibal/plugin.h) instead of the built-in "
    "ones:\n"
    "                  the operations that it offers\n"
    "  --op NAME       this operation only (repeatable); --list names them\n"
    "  --cases N       cases per operation, instead of the operation's own number\n"
    "  --case N        this one case only (with --op)\n"
    "  --seed S        of the generated cases; 1 unless given\n"
    "  --first-failure stop an operation at its first failing case\n"
    "  --exhaustive    instead: exp, expm1, log, log1p, tanh and sigmoid (or that of --op) over "
    "all\n"
    "                  2^32 inputs; minutes\n"
    "  --stride N      with --exhaustive: every N-th block of inputs only\n"
    "  --json          one JSON object\n"
    "  --list          names the operations and their outputs\n\n"
    "A failure names seed and case; `phibal verify --op NAME --seed S --case N` runs it alone.\n";

typedef struct verify_arguments {
  uint64_t seed;
  int64_t cases; /* 0: each operation's own number */
  int64_t only;  /* -1: all */
  bool json;
  bool first_failure;
  bool chosen[64]; /* by place in operations */
  bool any_chosen;
  const char *last_chosen;
  bool exhaustive;
  int64_t stride;
  const char *plugin; /* null: the built-in kernels */
} verify_arguments;

static void list_operations(void) {
  for (int o = 0; o < OUTPUT_COUNT; o++) {
    const output_promise *p = output_describe((output_id)o);
    printf("%-16s %-18s <= %-6g %-9s (%s)\n", p->operation, p->output, p->bound,
           measure_unit(p->measure), p->equation);
  }
}

static void print_failure(const operation *op, const tally *t, uint64_t seed) {
  const output_promise *p = output_describe(t->output);
  printf("  FAIL %s %s: %" PRId64 " of %" PRId64 " elements; worst in case %" PRIu64
         " (%s), element %" PRId64 ": got %.9g (%a), exact %s, error %.4g %s > %g\n"
         "       again: phibal verify --op %s --seed %" PRIu64 " --case %" PRIu64 "\n",
         p->operation, p->output, t->failures, t->elements, t->worst_case, op->kind(t->worst_case),
         t->worst_element, t->worst_got, t->worst_got, t->worst_expected, t->worst,
         measure_unit(p->measure), p->bound, op->name, seed, t->worst_case);
}

static void print_rows(const operation *op, const backend *b, const tally *tallies,
                       bool all_compared, uint64_t seed) {
  for (int o = 0; o < OUTPUT_COUNT; o++) {
    if (!operation_owns(op, (output_id)o)) continue;
    const tally *t = &tallies[o];
    const output_promise *p = output_describe((output_id)o);
    if (t->elements == 0 && !verify_expects(op, b, (output_id)o)) {
      printf("%-16s %-18s       -          -  not given\n", p->operation, p->output);
      continue;
    }
    bool good = t->failures == 0 && (t->elements > 0 || !all_compared);
    if (p->measure == MEASURE_EXACT)
      printf("%-16s %-18s %7" PRId64 " %10" PRId64 "  %-10s %-17s %s\n", p->operation, p->output,
             t->cases, t->elements, t->failures ? "wrong" : "exact", "exact", good ? "ok" : "FAIL");
    else
      printf("%-16s %-18s %7" PRId64 " %10" PRId64 "  %-10.4f %-6g %-10s %s\n", p->operation,
             p->output, t->cases, t->elements, t->worst, p->bound, measure_unit(p->measure),
             good ? "ok" : "FAIL");
    if (t->failures)
      print_failure(op, t, seed);
    else if (!good)
      printf("  FAIL %s %s: no case reached it\n", p->operation, p->output);
  }
  fflush(stdout);
}

static json_t *json_rows(const operation *op, const tally *tallies) {
  json_t *rows = json_array();
  for (int o = 0; o < OUTPUT_COUNT; o++) {
    if (!operation_owns(op, (output_id)o)) continue;
    const tally *t = &tallies[o];
    const output_promise *p = output_describe((output_id)o);
    json_t *row = json_pack(
        "{s:s, s:s, s:I, s:I, s:I, s:s, s:f, s:s, s:I}", "operation", p->operation, "output",
        p->output, "cases", (json_int_t)t->cases, "elements", (json_int_t)t->elements, "failures",
        (json_int_t)t->failures, "unit", measure_unit(p->measure), "bound", p->bound, "equation",
        p->equation, "worst_case", (json_int_t)t->worst_case);
    /* JSON has no infinity. */
    json_object_set_new(row, "worst", t->worst <= 1e300 ? json_real(t->worst) : json_string("inf"));
    json_array_append_new(rows, row);
  }
  return rows;
}

static int run_all(const verify_arguments *a, const backend *b) {
  static tally tallies[OUTPUT_COUNT];
  json_t *rows = json_array();
  struct timespec start, end;
  int failed = 0, run = 0;
  clock_gettime(CLOCK_MONOTONIC, &start);
  if (!a->json)
    printf("%-16s %-18s %7s %10s  %-10s %-17s\n", "operation", "output", "cases", "elements",
           "worst", "bound");
  for (int i = 0; i < operation_count; i++) {
    const operation *op = &operations[i];
    if (a->any_chosen ? !a->chosen[i] : b->offers && !b->offers(b->context, op)) continue;
    run++;
    uint64_t first = a->only >= 0 ? (uint64_t)a->only : 0;
    int64_t count = a->only >= 0 ? 1 : a->cases > 0 ? a->cases : op->cases;
    if (!a->json && isatty(STDERR_FILENO)) fprintf(stderr, "%s ...\r", op->name);
    phibal_status status = verify_run(op, b, a->seed, first, count, a->first_failure, tallies);
    bool all_compared = a->only < 0 && !a->first_failure && count >= op->cases;
    if (status != PHIBAL_OK) {
      failed++;
      fprintf(a->json ? stderr : stdout, "%-16s FAIL: %s\n", op->name, phibal_status_message());
      continue;
    }
    failed += !verify_passed(op, b, tallies, all_compared);
    if (a->json) {
      json_t *some = json_rows(op, tallies);
      json_array_extend(rows, some);
      json_decref(some);
    } else {
      print_rows(op, b, tallies, all_compared, a->seed);
    }
  }
  clock_gettime(CLOCK_MONOTONIC, &end);
  double seconds =
      (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec);
  if (a->json) {
    json_t *all =
        json_pack("{s:s, s:I, s:b, s:f, s:O}", "backend", b->name, "seed", (json_int_t)a->seed,
                  "passed", failed == 0, "seconds", seconds, "outputs", rows);
    json_dumpf(all, stdout, JSON_INDENT(2));
    puts("");
    json_decref(all);
  } else if (failed) {
    printf("%d of %d operations broke a bound (seed %" PRIu64 ", %.1f s)\n", failed, run, a->seed,
           seconds);
  } else {
    printf("all %d operations kept their bounds (seed %" PRIu64 ", %.1f s)\n", run, a->seed,
           seconds);
  }
  json_decref(rows);
  return failed ? 1 : 0;
}

static int run_plugin(const verify_arguments *a) {
  backend b;
  int status = 2;
  if (backend_plugin_open(a->plugin, &b) != PHIBAL_OK) {
    fprintf(stderr, "phibal verify: %s\n", phibal_status_message());
  } else {
    status = 0;
    for (int i = 0; i < operation_count && !status; i++)
      if (a->chosen[i] && !b.offers(b.context, &operations[i]))
        status = command_usage_error("verify", "%s does not offer '%s'", backend_plugin_name(&b),
                                     operations[i].name);
    if (!status && !a->json) printf("%s, %s\n", backend_plugin_name(&b), backend_plugin_device(&b));
    if (!status) status = run_all(a, &b);
  }
  backend_plugin_close(&b);
  return status;
}

/* A whole number of at least `least`; false if the text is anything else. */
static bool read_count(const char *text, int64_t least, int64_t *n) {
  char *end;
  *n = strtoll(text, &end, 10);
  return end != text && *end == 0 && *n >= least;
}

int command_verify(int argc, char **argv) {
  static const struct option options[] = {
      {"op", required_argument, NULL, 'o'},      {"cases", required_argument, NULL, 'n'},
      {"case", required_argument, NULL, 'c'},    {"seed", required_argument, NULL, 's'},
      {"first-failure", no_argument, NULL, 'f'}, {"plugin", required_argument, NULL, 'p'},
      {"exhaustive", no_argument, NULL, 'x'},    {"stride", required_argument, NULL, 'r'},
      {"json", no_argument, NULL, 'j'},          {"list", no_argument, NULL, 'l'},
      {"help", no_argument, NULL, 'h'},          {0}};
  verify_arguments a = {.seed = 1, .only = -1, .stride = 1};
  int64_t n;
  for (int c; (c = getopt_long(argc, argv, ":", options, NULL)) != -1;) switch (c) {
    case 'o': {
      const operation *op = operation_find(optarg);
      if (!op) return command_usage_error("verify", "no operation '%s'; --list names them", optarg);
      a.chosen[op - operations] = a.any_chosen = true;
      a.last_chosen = op->name;
      break;
    }
    case 'n':
      if (!read_count(optarg, 1, &a.cases))
        return command_usage_error("verify", "--cases takes a number of at least 1, not '%s'",
                                   optarg);
      break;
    case 'c':
      if (!read_count(optarg, 0, &a.only))
        return command_usage_error("verify", "--case takes a number of at least 0, not '%s'",
                                   optarg);
      break;
    case 's':
      if (!read_count(optarg, 0, &n))
        return command_usage_error("verify", "--seed takes a number of at least 0, not '%s'",
                                   optarg);
      a.seed = (uint64_t)n;
      break;
    case 'x':
      a.exhaustive = true;
      break;
    case 'r':
      if (!read_count(optarg, 1, &a.stride) || a.stride > 4096)
        return command_usage_error("verify", "--stride takes a number from 1 to 4096, not '%s'",
                                   optarg);
      break;
    case 'p':
      a.plugin = optarg;
      break;
    case 'f':
      a.first_failure = true;
      break;
    case 'j':
      a.json = true;
      break;
    case 'l':
      list_operations();
      return 0;
    case 'h':
      fputs(help, stdout);
      return 0;
    case ':':
      return command_usage_error("verify", "'%s' needs a value", argv[optind - 1]);
    default:
      return command_usage_error("verify", "unknown option '%s'", argv[optind - 1]);
    }
  if (optind < argc) return command_usage_error("verify", "unexpected '%s'", argv[optind]);
  if (a.only >= 0 && !a.any_chosen)
    return command_usage_error("verify", "--case needs --op: cases are numbered by operation");
  if (a.exhaustive && a.plugin)
    return command_usage_error("verify",
                               "--exhaustive is of the built-in kernels, not of a plugin");
  if (a.exhaustive) return verify_exhaustive(a.last_chosen, (int)a.stride, a.json);
  if (a.stride != 1) return command_usage_error("verify", "--stride goes with --exhaustive");
  return a.plugin ? run_plugin(&a) : run_all(&a, &backend_cpu);
}
