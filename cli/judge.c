/* `phibal judge`: judges results against test vectors. */
#include "certificate.h"
#include "commands.h"
#include "junit.h"
#include "verify/backend_plugin.h"
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include "verify/judge_vectors.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: phibal judge cases.safetensors results.safetensors [options]\n"
    "       phibal judge --certificate FILE [--plugin FILE]\n\n"
    "Compares the results of an implementation with the test vectors of `phibal vectors`; both "
    "are\n"
    "safetensors or .npz files. For each case PREFIX the results have tensors PREFIX/out/NAME, as\n"
    "listed in cases.json. Prints failures by case and by flag, and the worst error of each\n"
    "output. Exit status 1 if there are failures.\n"
    "\n"
    "  --op NAME      only the cases of this operation\n"
    "  --outputs NAME,...\n"
    "                 only these outputs are offered: the others are not judged\n"
    "  --where CONDITION\n"
    "                 only the cases that keep it are offered: gate=topk-softmax,probability, "
    "k!=1,\n"
    "                 E<=64 (experts), T>=1 (tokens), mask=absent, bias=given; any parameter or\n"
    "                 input of the cases (repeatable). The others are counted as not offered\n"
    "  --format F     the results are in this narrower format (binary32, bfloat16, binary16): "
    "each\n"
    "                 must be a number within the bound, rounded once\n"
    "  --times X      multiply the bounds by X, for implementations with weaker promises; exact\n"
    "                 outputs stay exact\n"
    "  --ties any     experts that another order of equal scores selects are right too, and "
    "gates,\n"
    "                 counts, frequencies, losses and gradients are judged by them (lower: only\n"
    "                 the order of the specification is right, which is the default)\n"
    "  --score-error X\n"
    "                 so are experts that scores at most X away select\n"
    "  --answered-only\n"
    "                 count cases without any result tensor instead of failing them; a case with\n"
    "                 some of its outputs must have all. Exit status 1 if no case has any\n"
    "  --all          list every failing case, not only the first ten\n"
    "  --json         one JSON object\n"
    "  --junit FILE   write a JUnit report, one test per case\n"
    "  --certificate FILE\n"
    "                 record digests of the files and the verdict. Without the two files: check a\n"
    "                 certificate, of judge or verify, against the current binary: digests,\n"
    "                 promises, and the worst cases or results, which are judged again\n"
    "  --plugin FILE  with --certificate: its shared library\n";

enum { CHOICES = 32 };

typedef struct judge_arguments {
  judge_request request;
  const char *outputs[CHOICES + 1], *where[CHOICES + 1];
  const char *junit, *certificate, *plugin;
  bool json, all;
} judge_arguments;

enum { FAILURES_SHOWN = 10 };

static void print_outputs(const judge_report *r) {
  printf("%-16s %-18s %10s  %-10s %-17s\n", "operation", "output", "elements", "worst", "bound");
  for (int64_t i = 0; i < r->output_count; i++) {
    const judged_output *o = &r->outputs[i];
    const char *verdict = o->wrong ? "FAIL" : o->elements ? "ok" : "-";
    if (o->measure == MEASURE_EXACT)
      printf("%-16s %-18s %10" PRId64 "  %-10s %-17s %s", o->operation, o->output, o->elements,
             o->wrong      ? "wrong"
             : o->elements ? "exact"
                           : "",
             "exact", verdict);
    else
      printf("%-16s %-18s %10" PRId64 "  %-10s %-6g %-10s %s", o->operation, o->output, o->elements,
             show_error(o->worst).text, o->bound, measure_unit(o->measure), verdict);
    if (o->wrong) printf(" (%" PRId64 " elements; worst in %s)", o->wrong, o->worst_where);
    if (o->not_given) printf(" not given in %" PRId64 " cases", o->not_given);
    puts("");
  }
}

static void print_flags(const judge_report *r) {
  puts("\nflag                passed failed");
  for (int f = 0; f < FLAG_COUNT; f++) {
    const judged_flag *flag = &r->flags[f];
    if (flag->passed + flag->failed == 0) continue;
    printf("%-18s %7" PRId64 " %6" PRId64 "\n", flag_describe((flag_id)f)->name, flag->passed,
           flag->failed);
  }
}

/* What explains the failures best, and what it says. */
static void print_likely(const judge_report *r) {
  for (int i = 0; i < r->likely_count; i++) {
    const judged_cause *cause = &r->likely[i];
    printf("%s %s (%" PRId64 " of its %" PRId64 " cases failed, and %" PRId64 " others)\n",
           i ? "      or" : "\nlikely:", cause->name, cause->failed, cause->failed + cause->passed,
           r->failed - cause->failed);
    if (cause->flag == FLAG_COUNT) continue;
    const flag_description *d = flag_describe(cause->flag);
    printf("  perhaps: %s\n  effect:  %s\n", d->bug, d->effect);
    if (d->seen[0]) printf("  seen in: %s\n", d->seen);
  }
}

static void print_failures(const judge_report *r, bool all) {
  int64_t shown = 0;
  for (int64_t i = 0; i < r->count; i++) {
    const judged_case *c = &r->cases[i];
    if (!c->failures) continue;
    if (!all && shown == FAILURES_SHOWN) break;
    if (!shown++) puts("");
    printf("FAIL %s (%s): %s", c->prefix, c->kind, c->first.words);
    if (c->failures > 1) printf("; and %d more outputs", c->failures - 1);
    puts("");
  }
  if (r->failed > shown) printf("... and %" PRId64 " more cases (--all)\n", r->failed - shown);
}

static void print_selections(const judge_request *request, const judge_report *r) {
  const judged_selections *s = &r->selections;
  const bool any = request->any_selection;
  if (s->right + s->by_tie + s->by_error + s->wrong + s->not_given == 0) return;
  printf("\nselections: %" PRId64 " right", s->right);
  if (any) printf(", %" PRId64 " right by another tie", s->by_tie);
  if (any && request->score_error > 0)
    printf(", %" PRId64 " right within %g of the scores", s->by_error, request->score_error);
  printf(", %" PRId64 " wrong", s->wrong);
  if (s->not_given) printf(", %" PRId64 " not given", s->not_given);
  if (!any && s->by_tie)
    printf("; %" PRId64 " of the wrong ones are another order of equal scores (--ties any)",
           s->by_tie);
  if (s->wrong_order)
    printf("; %" PRId64 " of the wrong ones are the right experts in another order",
           s->wrong_order);
  puts("");
}

static void print_report(const judge_arguments *a, const judge_report *r) {
  print_outputs(r);
  print_flags(r);
  print_selections(&a->request, r);
  print_failures(r, a->all);
  print_likely(r);
  if (a->request.times != 1) printf("bounds were multiplied by %g\n", a->request.times);
  /* Inputs that were saved along are worth a word only where something may be missing. */
  if (r->misnamed)
    printf("results under names that are no output's: %" PRId64 ", the first is %s\n", r->misnamed,
           r->misnamed_name);
  else if (r->stray && r->failed)
    printf("%" PRId64 " tensors of the results belong to no output, the first is %s\n", r->stray,
           r->stray_name);
  if (r->unanswered && !r->answered_only)
    printf("%" PRId64 " cases have no result at all%s\n", r->unanswered,
           r->unanswered < r->count ? " (--answered-only judges the others only)" : "");
  const char *of = r->answered_only ? "answered cases" : "cases";
  if (judge_passed(r))
    printf("all %" PRId64 " %s passed", judge_judged(r), of);
  else if (judge_judged(r))
    printf("%" PRId64 " of %" PRId64 " %s failed", r->failed, judge_judged(r), of);
  else
    fputs(r->count ? "no case was answered" : "there is no case to judge", stdout);
  if (r->answered_only && r->count)
    printf("; %" PRId64 " of %" PRId64 " were not answered", r->unanswered, r->count);
  if (r->not_offered)
    printf("; %" PRId64 " of %" PRId64 " cases were not offered", r->not_offered,
           r->count + r->not_offered);
  puts("");
}

static json_t *number(double x) {
  return x <= 1e300 ? json_real(x) : json_string("inf"); /* JSON has no infinity */
}

static void print_json(const judge_request *request, const judge_report *r) {
  json_t *cases = json_array(), *flags = json_object(), *outputs = json_array();
  json_t *likely = json_array();
  for (int i = 0; i < r->likely_count; i++)
    json_array_append_new(likely, json_string(r->likely[i].name));
  for (int64_t i = 0; i < r->count; i++) {
    const judged_case *c = &r->cases[i];
    json_t *row =
        json_pack("{s:s, s:s, s:b, s:b, s:I, s:I}", "id", c->id, "prefix", c->prefix, "passed",
                  c->failures == 0 && (c->answered || !r->answered_only), "answered", c->answered,
                  "elements", (json_int_t)c->elements, "wrong", (json_int_t)c->wrong);
    if (c->failures) json_object_set_new(row, "first", json_string(c->first.words));
    json_array_append_new(cases, row);
  }
  for (int f = 0; f < FLAG_COUNT; f++)
    if (r->flags[f].passed + r->flags[f].failed)
      json_object_set_new(flags, flag_describe((flag_id)f)->name,
                          json_pack("{s:I, s:I}", "passed", (json_int_t)r->flags[f].passed,
                                    "failed", (json_int_t)r->flags[f].failed));
  for (int64_t i = 0; i < r->output_count; i++) {
    const judged_output *o = &r->outputs[i];
    json_array_append_new(
        outputs, json_pack("{s:s, s:s, s:I, s:I, s:I, s:o, s:f, s:s}", "operation", o->operation,
                           "output", o->output, "elements", (json_int_t)o->elements, "wrong",
                           (json_int_t)o->wrong, "not_given", (json_int_t)o->not_given, "worst",
                           number(o->worst), "bound", o->bound, "unit", measure_unit(o->measure)));
  }
  json_t *all = json_pack(
      "{s:b, s:f, s:b, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o}", "passed", judge_passed(r), "times",
      request->times, "answered_only", r->answered_only, "judged", (json_int_t)judge_judged(r),
      "failed", (json_int_t)r->failed, "unanswered", (json_int_t)r->unanswered, "stray",
      (json_int_t)r->stray, "likely", likely, "outputs", outputs, "flags", flags, "cases", cases);
  const judged_selections *s = &r->selections;
  json_object_set_new(all, "selections",
                      json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "right", (json_int_t)s->right,
                                "by_tie", (json_int_t)s->by_tie, "by_error",
                                (json_int_t)s->by_error, "wrong", (json_int_t)s->wrong,
                                "wrong_order", (json_int_t)s->wrong_order, "not_given",
                                (json_int_t)s->not_given));
  json_object_set_new(all, "not_offered", json_integer(r->not_offered));
  json_object_set_new(all, "ties", json_string(request->any_selection ? "any" : "lower"));
  json_object_set_new(all, "score_error", json_real(request->score_error));
  json_dumpf(all, stdout, JSON_INDENT(2));
  puts("");
  json_decref(all);
}

static phibal_status write_junit(const char *path, const judge_report *r) {
  junit *report = junit_start("phibal judge");
  for (int64_t i = 0; i < r->count; i++) {
    const judged_case *c = &r->cases[i];
    char name[200];
    snprintf(name, sizeof name, "%s %s", c->id, c->kind);
    junit_case(report, c->operation, name, c->failures ? c->first.words : NULL,
               r->answered_only && !c->answered ? "not answered" : NULL);
  }
  return junit_finish(report, path);
}

static int check_certificate(const judge_arguments *a) {
  if (!a->plugin) return certificate_check(a->certificate, &backend_cpu);
  backend b;
  int status = 2;
  if (backend_plugin_open(a->plugin, PLUGIN_SECONDS, &b) == PHIBAL_OK)
    status = certificate_check(a->certificate, &b);
  else
    fprintf(stderr, "phibal judge: %s\n", phibal_status_message());
  backend_plugin_close(&b);
  return status;
}

static const char *const *names(const char *option) {
  static const char *const ties[] = {"lower", "any", NULL};
  if (!strcmp(option, "op")) return command_operation_names;
  if (!strcmp(option, "ties")) return ties;
  return strcmp(option, "format") ? NULL : command_format_names + 1;
}

static const struct option options[] = {{"op", required_argument, NULL, 'o'},
                                        {"format", required_argument, NULL, 'f'},
                                        {"times", required_argument, NULL, 't'},
                                        {"outputs", required_argument, NULL, 's'},
                                        {"where", required_argument, NULL, 'w'},
                                        {"ties", required_argument, NULL, 'i'},
                                        {"score-error", required_argument, NULL, 'e'},
                                        {"all", no_argument, NULL, 'a'},
                                        {"json", no_argument, NULL, 'j'},
                                        {"junit", required_argument, NULL, 'u'},
                                        {"help", no_argument, NULL, 'h'},
                                        {"certificate", required_argument, NULL, 'c'},
                                        {"plugin", required_argument, NULL, 'p'},
                                        {"answered-only", no_argument, NULL, 'n'},
                                        {0}};

const command_manual manual_judge = {
    .name = "judge", .text = help, .options = options, .names = names, .operands = "FILE"};

static bool choose(const char **list, const char *value) {
  int n = 0;
  while (list[n]) n++;
  if (n < CHOICES) list[n] = value;
  return n < CHOICES;
}

/* -1 to go on, or the exit status. */
static int read_arguments(int argc, char **argv, judge_arguments *a) {
  char *end;
  bool ties_any = false, within = false;
  for (int c; (c = command_option(&manual_judge, argc, argv, NULL)) != -1;) switch (c) {
    case 'o':
      a->request.operation = optarg;
      break;
    case 'f':
      if (phibal_format_find(optarg, &a->request.format) != PHIBAL_OK)
        return command_usage_error("judge", "%s", phibal_status_message());
      a->request.format_name = optarg;
      a->request.narrow = a->request.format != PHIBAL_FORMAT_BINARY64;
      break;
    case 't':
      a->request.times = strtod(optarg, &end);
      if (end == optarg || *end || !(a->request.times >= 1 && a->request.times <= 1e12))
        return command_usage_error("judge", "--times takes a number from 1 to 1e12, not '%s'",
                                   optarg);
      break;
    case 'i':
      if (strcmp(optarg, "any") != 0 && strcmp(optarg, "lower") != 0)
        return command_usage_error("judge", "--ties takes lower or any, not '%s'", optarg);
      ties_any = strcmp(optarg, "any") == 0;
      break;
    case 'e':
      if (!command_read_real("judge", "--score-error", optarg, 0, 1e30, &a->request.score_error))
        return 2;
      within = true;
      break;
    case 's':
      for (char *next = NULL, *name = strtok_r(optarg, ",", &next); name;
           name = strtok_r(NULL, ",", &next))
        if (!choose(a->outputs, name))
          return command_usage_error("judge", "--outputs takes at most %d names", CHOICES);
      if (!a->outputs[0]) return command_usage_error("judge", "--outputs takes names");
      a->request.outputs = a->outputs;
      break;
    case 'w':
      if (!choose(a->where, optarg))
        return command_usage_error("judge", "--where may be given %d times", CHOICES);
      a->request.where = a->where;
      break;
    case 'n':
      a->request.answered_only = true;
      break;
    case 'a':
      a->all = true;
      break;
    case 'j':
      a->json = true;
      break;
    case 'u':
      a->junit = optarg;
      break;
    case 'c':
      a->certificate = optarg;
      break;
    case 'p':
      a->plugin = optarg;
      break;
    case 'h':
      return command_help(&manual_judge);
    case ':':
      return command_usage_error("judge", "'%s' needs a value", argv[optind - 1]);
    default:
      return command_unknown_option("judge", argv, manual_judge.options);
    }
  a->request.any_selection = ties_any || within;
  a->request.reselect = vectors_reselect;
  if (a->plugin && !a->certificate)
    return command_usage_error("judge", "--plugin goes with --certificate");
  if (a->certificate && optind == argc && a->request.answered_only)
    return command_usage_error("judge", "--answered-only is for two files; a certificate says "
                                        "itself whether it is about answered cases only");
  if (a->certificate && optind == argc) return check_certificate(a);
  if (argc - optind != 2)
    return command_usage_error("judge", "needs two files: cases.safetensors results.safetensors");
  a->request.cases = argv[optind];
  a->request.results = argv[optind + 1];
  return -1;
}

int command_judge(int argc, char **argv) {
  judge_arguments a = {.request = {.times = 1}};
  int done = read_arguments(argc, argv, &a);
  if (done >= 0) return done;
  judge_report report = {0};
  phibal_status status = certificate_may_write(a.certificate, a.junit);
  if (status == PHIBAL_OK) status = judge_vectors(&a.request, &report);
  if (status == PHIBAL_OK && a.junit) status = write_junit(a.junit, &report);
  if (status == PHIBAL_OK && a.certificate)
    status = certificate_judged(&a.request, &report, a.certificate);
  if (status != PHIBAL_OK) {
    fprintf(stderr, "phibal judge: %s\n", phibal_status_message());
    judge_report_clear(&report);
    return 2;
  }
  if (a.json)
    print_json(&a.request, &report);
  else
    print_report(&a, &report);
  int answer = judge_passed(&report) ? 0 : 1;
  judge_report_clear(&report);
  return answer;
}
