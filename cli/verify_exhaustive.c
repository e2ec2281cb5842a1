/* `phibal verify --exhaustive`: the one-argument cores over all 2^32 inputs. */
#include "verify_exhaustive.h"
#include "certificate.h"
#include "commands.h"
#include <exhaustive.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void show_progress(void *context, double fraction) {
  fprintf(stderr, "\r%-8s %3.0f %%", (const char *)context, 100 * fraction);
}

static void print_report(const char *core, const exhaustive_report *r) {
  printf("%-8s %11" PRIu64 " %12" PRIu64 " %8" PRIu64 "  %-12.9f %08" PRIx32 "  %7.1f  %s\n", core,
         r->inputs, r->mpfr_calls, r->wrong, r->worst_ulp, r->worst_input, r->seconds,
         r->wrong ? "FAIL" : "ok");
  if (r->wrong)
    printf("  FAIL %s: first wrong at input bits %08" PRIx32 "\n", core, r->wrong_input);
  fflush(stdout);
}

int verify_exhaustive(const char *only, int stride, bool json, const char *certificate_path) {
  int known = 0;
  for (int i = 0; i < exhaustive_core_count; i++)
    known += !only || strcmp(only, exhaustive_cores[i]) == 0;
  if (!known)
    return command_usage_error("verify",
                               "%s is not a function of one number; --exhaustive takes exp, expm1, "
                               "log, log1p, tanh and sigmoid",
                               only);
  json_t *rows = json_array();
  certificate *made = certificate_path ? certificate_start("cpu", NULL, 0) : NULL;
  int failed = 0;
  if (!json)
    printf("%-8s %11s %12s %8s  %-12s %-8s  %7s\n", "core", "inputs", "MPFR calls", "wrong",
           "worst ULP", "at bits", "seconds");
  for (int i = 0; i < exhaustive_core_count; i++) {
    const char *core = exhaustive_cores[i];
    if (only && strcmp(only, core) != 0) continue;
    exhaustive_report r;
    bool terminal = isatty(STDERR_FILENO);
    phibal_status status =
        exhaustive_run(core, stride, terminal ? show_progress : NULL, (void *)core, &r);
    if (terminal) fprintf(stderr, "\r%20s\r", "");
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
