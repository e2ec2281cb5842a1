/* `phibal verify`: the kernels against the reference. */
#include "certificate.h"
#include "commands.h"
#include "verify_exhaustive.h"
#include "verify_run.h"
#include "verify/backend_cuda.h"
#include "verify/backend_plugin.h"
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: phibal verify [options]\n\n"
    "Runs every operation of the catalogue (spec/ops.def) on generated cases and compares each\n"
    "element of each output with an enclosure of the exact result. One line per output: cases,\n"
    "elements, the worst error and the promised bound. Exit status 1 if a bound is exceeded.\n\n"
    "  --plugin FILE   test the operations of a shared library (phibal/plugin.h), in a separate\n"
    "                  process, instead of the built-in kernels\n"
    "  --time-limit T  with --plugin: for loading it, and for each case (default 120s)\n"
    "  --backend NAME  cpu (default), cuda, or host-cuda: the CUDA kernels compiled for the CPU;\n"
    "                  router and balance operations are also compared with the CPU's, bit for\n"
    "                  bit\n"
    "  --op NAME       only this operation (repeatable); --list names them\n"
    "  --cases N       number of cases per operation; without it, also those in which features meet\n"
    "  --first-case N  with --cases: start at case N (with --small, of the small ones), to\n"
    "                  continue an earlier run\n"
    "  --case N        only this case (with --op)\n"
    "  --seed S        seed of the generated cases (default 1)\n"
    "  --small         small cases: few experts, tokens and columns; a million take minutes\n"
    "  --first-failure\n"
    "                  stop an operation at its first failing case\n"
    "  --budget T      as many cases as fit into a time (20s, 5m): first small cases of each kind\n"
    "                  of each operation, regardless of the time; then the usual ones, with the\n"
    "                  time divided by the number of outputs\n"
    "  --exhaustive    instead: exp, expm1, log, log1p, tanh, sigmoid and sqrt-softplus (or that of\n"
    "                  --op) over all 2^32 inputs; takes minutes\n"
    "  --stride N      with --exhaustive: only every N-th block of inputs\n"
    "  --hardest N     with --exhaustive: only the N inputs whose values are closest to a "
    "midpoint\n"
    "                  of two floating-point numbers, as in verify/hard_inputs.def\n"
    "  --json          one JSON object\n"
    "  --junit FILE    write a JUnit report, one test per output\n"
    "  --certificate FILE  record the build, the device, the cases and the worst errors;\n"
    "                  `phibal judge --certificate FILE` checks it against the current binary\n"
    "  --list          list the operations and their outputs\n"
    "\n"
    "A failure names seed and case; `phibal verify --op NAME --seed S --case N` reproduces it.\n";

typedef struct verify_arguments {
  verify_request request;
  const char *last_chosen;
  bool exhaustive;
  int64_t stride, hardest; /* hardest: 0 for none */
  const char *plugin;      /* null: the built-in kernels */
  double plugin_seconds;   /* for a case of it */
  const char *backend;     /* cpu, cuda, host-cuda; null for cpu */
} verify_arguments;

static void list_operations(void) {
  for (int o = 0; o < OUTPUT_COUNT; o++) {
    const output_promise *p = output_describe((output_id)o);
    printf("%-16s %-18s <= %-6g %-9s (%s)\n", p->operation, p->output, p->bound,
           measure_unit(p->measure), p->equation);
  }
}

static int run_plugin(const verify_arguments *a) {
  backend b;
  int status = 2;
  if (backend_plugin_open(a->plugin, a->plugin_seconds, &b) != PHIBAL_OK) {
    fprintf(stderr, "phibal verify: %s\n", phibal_status_message());
  } else {
    status = 0;
    for (int i = 0; i < operation_count && !status; i++)
      if (a->request.chosen[i] && !b.supports(b.context, &operations[i]))
        status = command_usage_error("verify", "%s does not offer '%s'", backend_plugin_name(&b),
                                     operations[i].name);
    if (!status && !a->request.json)
      printf("%s, %s\n", backend_plugin_name(&b), backend_plugin_device(&b));
    if (!status) {
      verify_request request = a->request;
      request.device = backend_plugin_device(&b);
      status = verify_run_all(&request, &b);
    }
  }
  backend_plugin_close(&b);
  return status;
}

static int run_cuda(const verify_arguments *a) {
  backend b;
  int status = 2;
  if (backend_cuda_open(strcmp(a->backend, "cuda") == 0, &b) != PHIBAL_OK) {
    fprintf(stderr, "phibal verify: %s\n", phibal_status_message());
  } else {
    status = 0;
    for (int i = 0; i < operation_count && !status; i++)
      if (a->request.chosen[i] && !b.supports(b.context, &operations[i]))
        status =
            command_usage_error("verify", "%s does not offer '%s'", b.name, operations[i].name);
    verify_request request = a->request;
    if (!status) request.device = backend_cuda_device(&b);
    if (!status) status = verify_run_all(&request, &b);
  }
  backend_cuda_close(&b);
  return status;
}

/* A whole number of at least `least`; false if the text is anything else. */
static bool read_count(const char *text, int64_t least, int64_t *n) {
  char *end;
  *n = strtoll(text, &end, 10);
  return end != text && *end == 0 && *n >= least;
}

/* 20, 20s, 5m, 1h; false if the text is anything else. */
static bool read_seconds(const char *text, double *seconds) {
  char *end;
  *seconds = strtod(text, &end);
  if (end == text || !(*seconds > 0 && *seconds < 1e6)) return false;
  if (strcmp(end, "m") == 0)
    *seconds *= 60;
  else if (strcmp(end, "h") == 0)
    *seconds *= 3600;
  else if (*end && strcmp(end, "s") != 0)
    return false;
  return true;
}

static const char *const *names(const char *option) {
  static const char *const backends[] = {"cpu", "cuda", "host-cuda", NULL};
  if (!strcmp(option, "backend")) return backends;
  return strcmp(option, "op") ? NULL : command_operation_names;
}

static const struct option options[] = {{"op", required_argument, NULL, 'o'},
                                        {"cases", required_argument, NULL, 'n'},
                                        {"case", required_argument, NULL, 'c'},
                                        {"first-case", required_argument, NULL, 'i'},
                                        {"seed", required_argument, NULL, 's'},
                                        {"first-failure", no_argument, NULL, 'f'},
                                        {"small", no_argument, NULL, 'm'},
                                        {"plugin", required_argument, NULL, 'p'},
                                        {"time-limit", required_argument, NULL, 't'},
                                        {"backend", required_argument, NULL, 'k'},
                                        {"exhaustive", no_argument, NULL, 'x'},
                                        {"stride", required_argument, NULL, 'r'},
                                        {"hardest", required_argument, NULL, 'd'},
                                        {"json", no_argument, NULL, 'j'},
                                        {"list", no_argument, NULL, 'l'},
                                        {"budget", required_argument, NULL, 'b'},
                                        {"junit", required_argument, NULL, 'u'},
                                        {"certificate", required_argument, NULL, 'e'},
                                        {"help", no_argument, NULL, 'h'},
                                        {0}};

const command_manual manual_verify = {
    .name = "verify", .text = help, .options = options, .names = names};

int command_verify(int argc, char **argv) {
  verify_arguments a = {
      .request = {.seed = 1, .only = -1}, .stride = 1, .plugin_seconds = PLUGIN_SECONDS};
  bool time_limit = false;
  verify_request *r = &a.request;
  int64_t n;
  for (int c; (c = command_option(&manual_verify, argc, argv, NULL)) != -1;) switch (c) {
    case 'o': {
      const operation *op = operation_find(optarg);
      if (!op) return command_usage_error("verify", "no operation '%s'; --list names them", optarg);
      r->chosen[op - operations] = r->any_chosen = true;
      a.last_chosen = op->name;
      break;
    }
    case 'n':
      if (!read_count(optarg, 1, &r->cases))
        return command_usage_error("verify", "--cases takes a number of at least 1, not '%s'",
                                   optarg);
      break;
    case 'c':
      if (!read_count(optarg, 0, &r->only))
        return command_usage_error("verify", "--case takes a number of at least 0, not '%s'",
                                   optarg);
      break;
    case 'i':
      if (!read_count(optarg, 0, &r->first) || r->first >= (int64_t)SMALL_CASES)
        return command_usage_error("verify", "--first-case takes a number from 0 to %lld, not '%s'",
                                   (long long)SMALL_CASES - 1, optarg);
      break;
    case 's':
      if (!read_count(optarg, 0, &n))
        return command_usage_error("verify", "--seed takes a number of at least 0, not '%s'",
                                   optarg);
      r->seed = (uint64_t)n;
      break;
    case 'x':
      a.exhaustive = true;
      break;
    case 'r':
      if (!read_count(optarg, 1, &a.stride) || a.stride > 4096)
        return command_usage_error("verify", "--stride takes a number from 1 to 4096, not '%s'",
                                   optarg);
      break;
    case 'd':
      if (!read_count(optarg, 1, &a.hardest) || a.hardest > 10000)
        return command_usage_error("verify", "--hardest takes a number from 1 to 10000, not '%s'",
                                   optarg);
      break;
    case 'p':
      a.plugin = optarg;
      break;
    case 't':
      if (!read_seconds(optarg, &a.plugin_seconds))
        return command_usage_error("verify", "--time-limit takes a time like 20s or 5m, not '%s'",
                                   optarg);
      time_limit = true;
      break;
    case 'm':
      r->small = true;
      break;
    case 'k':
      if (strcmp(optarg, "cpu") != 0 && strcmp(optarg, "cuda") != 0 &&
          strcmp(optarg, "host-cuda") != 0)
        return command_usage_error("verify", "--backend is cpu, cuda or host-cuda, not '%s'",
                                   optarg);
      a.backend = strcmp(optarg, "cpu") == 0 ? NULL : optarg;
      break;
    case 'f':
      r->first_failure = true;
      break;
    case 'b':
      if (!read_seconds(optarg, &r->budget))
        return command_usage_error("verify", "--budget takes a time like 20s or 5m, not '%s'",
                                   optarg);
      break;
    case 'u':
      r->junit = optarg;
      break;
    case 'e':
      r->certificate = optarg;
      break;
    case 'j':
      r->json = true;
      break;
    case 'l':
      list_operations();
      return 0;
    case 'h':
      return command_help(&manual_verify);
    case ':':
      return command_usage_error("verify", "'%s' needs a value", argv[optind - 1]);
    default:
      return command_unknown_option("verify", argv, manual_verify.options);
    }
  if (optind < argc) return command_usage_error("verify", "unexpected '%s'", argv[optind]);
  if (r->only >= 0 && !r->any_chosen)
    return command_usage_error("verify", "--case needs --op: cases are numbered by operation");
  if (time_limit && !a.plugin)
    return command_usage_error("verify", "--time-limit goes with --plugin");
  if (a.plugin && a.backend)
    return command_usage_error("verify", "--plugin and --backend exclude each other");
  if (a.exhaustive && (a.plugin || a.backend))
    return command_usage_error("verify", "--exhaustive is of the built-in CPU kernels");
  if (r->small && r->only >= 0)
    return command_usage_error("verify", "--small goes without --case: small cases have numbers of "
                                         "their own");
  if (r->first > 0 && r->cases == 0)
    return command_usage_error("verify", "--first-case goes with --cases");
  if (r->cases > (int64_t)SMALL_CASES - r->first)
    return command_usage_error("verify", "cases are numbered up to %lld",
                               (long long)SMALL_CASES - 1);
  if (r->budget > 0 &&
      (r->cases > 0 || r->only >= 0 || r->small || r->first_failure || a.exhaustive))
    return command_usage_error("verify", "--budget goes without --cases, --case, --small, "
                                         "--first-failure and --exhaustive");
  if (a.exhaustive && r->junit)
    return command_usage_error("verify", "--junit is not offered with --exhaustive");
  if (a.hardest && !a.exhaustive)
    return command_usage_error("verify", "--hardest goes with --exhaustive");
  if (certificate_may_write(r->certificate, r->junit) != PHIBAL_OK) {
    fprintf(stderr, "phibal verify: %s\n", phibal_status_message());
    return 2;
  }
  if (a.hardest) return verify_hardest(a.last_chosen, (int)a.hardest);
  if (a.exhaustive) return verify_exhaustive(a.last_chosen, (int)a.stride, r->json, r->certificate);
  if (a.stride != 1) return command_usage_error("verify", "--stride goes with --exhaustive");
  if (a.backend) return run_cuda(&a);
  return a.plugin ? run_plugin(&a) : verify_run_all(r, &backend_cpu);
}
