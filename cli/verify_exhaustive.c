/* `phibal verify --exhaustive`: the one-argument cores over all 2^32 inputs. */
#include "verify_exhaustive.h"
#include "certificate.h"
#include "commands.h"
#include <ctype.h>
#include "verify/exhaustive.h"
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <phibal/environment.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void show_progress(void *context, double fraction) {
  command_clear_line();
  fprintf(stderr, "%-13s %3.0f %%", (const char *)context, 100 * fraction);
}

static void print_report(const char *core, const exhaustive_report *r) {
  printf("%-13s %11" PRIu64 " %12" PRIu64 " %8" PRIu64 "  %-12.9f %08" PRIx32 "  %7.1f  %s\n", core,
         r->inputs, r->mpfr_calls, r->wrong, r->worst_ulp, r->worst_input, r->seconds,
         r->wrong ? "FAIL" : "ok");
  if (r->wrong)
    printf("  FAIL %s: first wrong at input bits %08" PRIx32 "\n", core, r->wrong_input);
  fflush(stdout);
}

/* The name of a core as in spec/ops.def. */
static bool core_known(const char *only) {
  for (int i = 0; exhaustive_core(i); i++)
    if (!only || strcmp(only, exhaustive_core(i)) == 0) return true;
  command_usage_error("verify",
                      "%s is not a function of one number; --exhaustive takes exp, expm1, log, "
                      "log1p, tanh, sigmoid and sqrt-softplus",
                      only);
  return false;
}

int verify_hardest(const char *only, int count) {
  if (!core_known(only)) return 2;
  exhaustive_hard *hardest = calloc((size_t)count, sizeof *hardest);
  for (int c = 0; hardest && exhaustive_core(c); c++) {
    const char *core = exhaustive_core(c);
    if (only && strcmp(only, core) != 0) continue;
    if (exhaustive_hardest(core, count, hardest) != PHIBAL_OK) break;
    for (int i = 0; i < count && hardest[i].input; i++) {
      float x;
      memcpy(&x, &hardest[i].input, sizeof x);
      printf("PHIBAL_HARD(");
      for (const char *letter = core; *letter; letter++)
        putchar(*letter == '-' ? '_' : toupper((unsigned char)*letter));
      printf(", 0x%08" PRIx32 ") /* %a, %.1f */\n", hardest[i].input, (double)x,
             log2(hardest[i].distance));
    }
    fflush(stdout);
  }
  int status = hardest ? 0 : 2;
  free(hardest);
  return status;
}

int verify_exhaustive(const char *only, int stride, bool json, const char *certificate_path) {
  if (!core_known(only)) return 2;
  json_t *rows = json_array();
  certificate *made = certificate_path ? certificate_start("cpu", NULL, 0) : NULL;
  int failed = 0;
  if (!json)
    printf("%-13s %11s %12s %8s  %-12s %-8s  %7s\n", "core", "inputs", "MPFR calls", "wrong",
           "worst ULP", "at bits", "seconds");
  for (int i = 0; exhaustive_core(i); i++) {
    const char *core = exhaustive_core(i);
    if (only && strcmp(only, core) != 0) continue;
    exhaustive_report r;
    bool terminal = isatty(STDERR_FILENO);
    phibal_status status =
        exhaustive_run(core, stride, terminal ? show_progress : NULL, (void *)core, &r);
    if (terminal) command_clear_line();
    if (status != PHIBAL_OK) {
      fprintf(stderr, "phibal verify: %s: %s\n", core, phibal_status_message());
      failed++;
      continue;
    }
    failed += r.wrong != 0;
    certificate_exhaustive(made, core, stride, r.inputs, r.wrong, r.worst_ulp, r.worst_input);
    if (!json)
      print_report(core, &r);
    else
      json_array_append_new(rows, json_pack("{s:s, s:I, s:I, s:I, s:f, s:I, s:f}", "core", core,
                                            "inputs", (json_int_t)r.inputs, "mpfr_calls",
                                            (json_int_t)r.mpfr_calls, "wrong", (json_int_t)r.wrong,
                                            "worst_ulp", r.worst_ulp, "worst_input",
                                            (json_int_t)r.worst_input, "seconds", r.seconds));
  }
  if (phibal_environment_check_threads("phibal verify") != PHIBAL_OK) {
    fprintf(stderr, "%s\n", phibal_status_message());
    return 2;
  }
  if (json) {
    json_t *all =
        json_pack("{s:b, s:i, s:O}", "passed", failed == 0, "stride", stride, "cores", rows);
    json_dumpf(all, stdout, JSON_INDENT(2));
    puts("");
    json_decref(all);
  } else if (!failed) {
    puts(stride == 1
             ? "correctly rounded on all of them"
             : "correctly rounded on this sample; --exhaustive alone takes all 2^32 inputs");
  }
  json_decref(rows);
  if (certificate_path && certificate_finish(made, failed == 0, certificate_path) != PHIBAL_OK) {
    fprintf(stderr, "phibal verify: %s\n", phibal_status_message());
    return 2;
  }
  return failed ? 1 : 0;
}
