/* `phibal audit`: a certificate about a potential. */
#include "audit_advice.h"
#include "audit_all.h"
#include "audit_html.h"
#include "audit_json.h"
#include "audit_run.h"
#include "audit_text.h"
#include "audit_time.h"
#include "commands.h"
#include "audit/convexity.h"
#include <errno.h>
#include "formats/file.h"
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_EXPERTS = 2, MOST_EXPERTS = 4096 };

static void print_help(void) {
  puts("usage: phibal audit <file.phi> [options]\n"
       "       phibal audit --potential <name> [options]\n"
       "       phibal audit --all [--json]\n"
       "\n"
       "Certifies a potential: what is proved, what was checked and how, what is refuted with a\n"
       "counterexample, what is undecided. spec/AUDIT.md explains the certificate,\n"
       "spec/PHI-LANGUAGE.md the language of potentials.\n"
       "\n"
       "  --potential NAME      a built-in:");
  command_print_potentials(24);
  puts(
      "  --param NAME=X        or NAME=LO..HI; repeatable. Without it convexity, the Legendre\n"
      "                        property and the gradient are examined over the whole stated\n"
      "                        ranges, and everything else at the defaults\n"
      "  --ranges              use the whole stated ranges for these three in spite of --param\n"
      "  --experts N           a number or LO..HI of experts, from 2 to 4096 (2..4096)\n"
      "  --eta --alpha --lr X  of the simulated router (0.65, 0.01, 10)\n"
      "  --quick               run the kernel over a stratified sample of binary32 inputs, not\n"
      "                        all\n"
      "  --skip PART,...       parts to skip: convexity, legendre, gradient, conjugate, core,\n"
      "                        dynamics\n"
      "  --seconds T           time limit; the whole command ends within two seconds of it (90;\n"
      "                        with --check over every load 1200). What is not decided by then\n"
      "                        is reported as undecided\n"
      "  --seed N              seed of the random points (1)\n"
      "  --json                print the certificate as JSON (spec/audit-certificate.schema.json)\n"
      "  --html FILE           write it as an HTML page with plots\n"
      "  --overwrite           replace an existing page\n"
      "  --check[=quick]       exit status 1 unless all requested claims are proved, or checked\n"
      "                        if they can only be checked, and the kernel has run over every\n"
      "                        load; --check=quick implies --quick and accepts its sample\n"
      "  --all                 all built-ins side by side for 8, 16, 64 and 256 experts,\n"
      "                        compared with the paper's ablation\n"
      "\n"
      "Exit status: 0 success; 1 --check failed; 2 usage or input error.\n"
      "\n"
      "  phibal audit my.phi --check=quick --html my.html\n"
      "  phibal audit --potential lp --param p=3 --experts 64 --quick\n"
      "  phibal audit --potential tsallis --param alpha=1/2..9/10 --quick");
}

static int usage(const char *format, const char *text) {
  return command_usage_error("audit", format, text);
}

static int read_real(const char *name, const char *text, double least, double *value) {
  char *end;
  errno = 0;
  *value = strtod(text, &end);
  if (*end || end == text || errno || !(*value >= least) || !isfinite(*value))
    return command_usage_error("audit", "--%s %s: write a number of at least %g", name, text,
                               least);
  return 0;
}

static int read_experts(const char *text, audit_options *o) {
  char *end;
  long least = strtol(text, &end, 10), most = least;
  bool good = end != text;
  if (good && strncmp(end, "..", 2) == 0) {
    const char *second = end + 2;
    most = strtol(second, &end, 10);
    good = end != second;
  }
  if (!good || *end || least < LEAST_EXPERTS || most > MOST_EXPERTS || most < least)
    return usage("--experts %s: write a number from 2 to 4096, or two as in 8..64", text);
  o->least_experts = (int32_t)least;
  o->most_experts = (int32_t)most;
  return 0;
}

static int read_skip(const char *text, audit_options *o) {
  while (*text) {
    size_t length = strcspn(text, ","), i = 0;
    while (i < AUDIT_PART_COUNT && (strlen(audit_part_names[i]) != length ||
                                    strncmp(audit_part_names[i], text, length) != 0))
      i++;
    if (i == AUDIT_PART_COUNT)
      return usage("--skip %s: the parts are convexity, legendre, gradient, conjugate, core, "
                   "dynamics",
                   text);
    o->skip[i] = true;
    text += length + (text[length] == ',');
  }
  return 0;
}

static int read_seed(const char *text, audit_options *o) {
  char *end;
  errno = 0;
  o->seed = strtoull(text, &end, 10);
  if (*end || end == text || errno || text[0] == '-' || o->seed > INT64_MAX)
    return usage("--seed %s: write a whole number", text);
  return 0;
}

/* --check, or --check=quick */
static int read_check(const char *text, audit_options *o) {
  if (text && strcmp(text, "quick") != 0)
    return usage("--check=%s: there is --check, for every load, and --check=quick, for a sample",
                 text);
  o->check = true;
  if (text) o->check_quick = o->quick = true;
  return 0;
}

static int set_source(const char *text, audit_options *o) {
  if (o->source) return usage("one potential at a time; '%s' is the second", text);
  o->source = text;
  return 0;
}

static int add_parameter(const char *text, audit_options *o) {
  if (o->parameters == PHI_MAX_PARAMETERS) return usage("--param %s: too many", text);
  o->parameter[o->parameters++] = text;
  return 0;
}

static int take_value(int c, const char *text, audit_options *o) {
  switch (c) {
  case 'p':
    return set_source(text, o);
  case 'a':
    return add_parameter(text, o);
  case 'e':
    return read_experts(text, o);
  case 's':
    return read_skip(text, o);
  case 'r':
    return read_seed(text, o);
  case 't':
    return read_real("seconds", text, 0.001, &o->seconds);
  case 'c':
    return read_check(text, o);
  case 'E':
    return read_real("eta", text, 1e-4, &o->eta);
  case 'A':
    return read_real("alpha", text, 0.0, &o->alpha);
  case 'L':
    return read_real("lr", text, 0.0, &o->lr);
  default:
    o->html = text;
    return 0;
  }
}

static bool take_flag(int c, audit_options *o) {
  bool *flag = c == 'g'   ? &o->ranges
               : c == 'q' ? &o->quick
               : c == 'l' ? &o->all
               : c == 'j' ? &o->json
               : c == 'h' ? &o->help
               : c == 'o' ? &o->overwrite
                          : NULL;
  if (flag) *flag = true;
  return flag != NULL;
}

static const char *const *names(const char *option) {
  static const char *const samples[] = {"quick", NULL};
  if (!strcmp(option, "potential")) return command_potential_names;
  if (!strcmp(option, "check")) return samples;
  return strcmp(option, "skip") ? NULL : audit_part_names;
}

static const struct option table[] = {{"potential", required_argument, NULL, 'p'},
                                      {"param", required_argument, NULL, 'a'},
                                      {"experts", required_argument, NULL, 'e'},
                                      {"skip", required_argument, NULL, 's'},
                                      {"seed", required_argument, NULL, 'r'},
                                      {"seconds", required_argument, NULL, 't'},
                                      {"eta", required_argument, NULL, 'E'},
                                      {"alpha", required_argument, NULL, 'A'},
                                      {"lr", required_argument, NULL, 'L'},
                                      {"html", required_argument, NULL, 'H'},
                                      {"overwrite", no_argument, NULL, 'o'},
                                      {"ranges", no_argument, NULL, 'g'},
                                      {"quick", no_argument, NULL, 'q'},
                                      {"check", optional_argument, NULL, 'c'},
                                      {"all", no_argument, NULL, 'l'},
                                      {"json", no_argument, NULL, 'j'},
                                      {"help", no_argument, NULL, 'h'},
                                      {0}};

const command_manual manual_audit = {
    .name = "audit", .print = print_help, .options = table, .names = names, .operands = "FILE"};

static int parse_options(int argc, char **argv, audit_options *o) {
  opterr = 0;
  int status = 0;
  for (int c; status == 0 && (c = command_option(&manual_audit, argc, argv, NULL)) != -1;)
    if (c == ':')
      status = usage("%s needs a value", argv[optind - 1]);
    else if (c == '?')
      status = command_unknown_option("audit", argv, manual_audit.options);
    else if (!take_flag(c, o))
      status = take_value(c, optarg, o);
  for (; status == 0 && optind < argc; optind++) status = set_source(argv[optind], o);
  return status;
}

static int check_options(const audit_options *o) {
  if (o->all && (o->source || o->html || o->check))
    return usage("%s", "--all takes --json and nothing that is about one potential");
  if (!o->all && !o->source)
    return usage("%s", "name a file, or a built-in with --potential; or --all");
  if (o->html && file_may_write(o->html, o->overwrite, NULL)) {
    fprintf(stderr, "phibal audit: %s\n", phibal_status_message());
    return 2;
  }
  if (o->eta > 1.0) return usage("%s", "--eta is a number in (0, 1]");
  return 0;
}

/* ---- the answer ---- */

typedef struct show_work {
  const audit_options *o;
  const audit_report *r; /* null with --all */
} show_work;

static phibal_status work_show(void *context, FILE *to) {
  const show_work *w = context;
  char *text = NULL;
  size_t size = 0;
  phibal_status status = PHIBAL_OK;
  if (w->o->html) {
    status = audit_html(w->o, w->r, &text, &size);
    if (status != PHIBAL_OK) return status;
    audit_send(to, AUDIT_RECORD_PAGE, text, size);
    free(text);
  }
  FILE *out = open_memstream(&text, &size);
  if (!out) return phibal_status_set(PHIBAL_ERROR_MEMORY, "out of memory for the certificate");
  if (!w->r) {
    stdout = out; /* of this process, which ends with this */
    status = audit_all(w->o);
  } else if (w->o->json) {
    json_t *object = audit_report_json(w->o, w->r);
    if (!object || json_dumpf(object, out, JSON_INDENT(2)))
      status = phibal_status_set(PHIBAL_ERROR_MEMORY, "out of memory for the certificate");
    putc('\n', out);
  } else {
    audit_print_text(w->o, w->r, out);
  }
  if (ferror(out) || fclose(out))
    return phibal_status_set(PHIBAL_ERROR_MEMORY, "out of memory for the certificate");
  audit_send(to, AUDIT_RECORD_TEXT, text, size);
  return status;
}

/* Shown by another process too: what is shown may be as endless as what is examined. */
static int show(const audit_options *o, const audit_report *report) {
  show_work work = {o, report};
  audit_found answer;
  audit_record kind;
  size_t at = 0, bytes;
  phibal_status status = audit_in_time(work_show, &work, o->begun + o->seconds + 1.5, &answer);
  if (status == PHIBAL_OK && !answer.ended)
    status = phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                               "time was up before the answer was written (--seconds %g): nothing "
                               "is decided",
                               o->seconds);
  for (const char *data;
       status == PHIBAL_OK && (data = audit_receive(&answer, &at, &kind, &bytes));) {
    if (kind == AUDIT_RECORD_PAGE) status = file_write(o->html, data, bytes);
    if (kind == AUDIT_RECORD_TEXT) fwrite(data, 1, bytes, stdout);
  }
  audit_found_clear(&answer);
  if (status != PHIBAL_OK) {
    fprintf(stderr, "phibal audit: %s\n", phibal_status_message());
    return 2;
  }
  return report && o->check && !audit_passes(o, report) ? 1 : 0;
}

int command_audit(int argc, char **argv) {
  audit_options o = {.least_experts = LEAST_EXPERTS,
                     .most_experts = MOST_EXPERTS,
                     .begun = audit_clock(),
                     .seed = 1,
                     .eta = 0.65,
                     .alpha = 0.01,
                     .lr = 10.0};
  int status = parse_options(argc, argv, &o);
  if (status == 0 && o.help) return command_help(&manual_audit);
  if (status == 0) status = check_options(&o);
  if (status != 0) return status;
  if (o.seconds == 0) o.seconds = o.check && !o.quick ? 1200 : 90;
  if (o.all) return show(&o, NULL);
  audit_report report;
  status = audit_run(&o, &report);
  if (status == 0) status = show(&o, &report);
  audit_report_clear(&report);
  return status;
}
