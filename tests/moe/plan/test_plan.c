/* The scaling law against its definition, the paper's models against it, and the command. */
#include "moe/plan/plan.h"
#include <criterion/criterion.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static bool close_to(double got, double want, double relative) {
  return fabs(got - want) <= relative * fabs(want);
}

/* 10^20: 0.1915 * 10^10.19 and 5.2232 * 10^9.81. */
Test(plan, law) {
  cr_expect(close_to(plan_law_token_flops(1e20), 0.1915 * 1.54881661891248e10, 1e-13));
  cr_expect(close_to(plan_law_tokens(1e20), 5.2232 * 6.45654229034656e9, 1e-13));
  for (double c = 1e15; c < 1e27; c *= 7) {
    const double m = plan_law_token_flops(c), d = plan_law_tokens(c);
    cr_expect(close_to(m * d, 1.0002428 * c, 1e-6), "what is spent is the budget");
    cr_expect(close_to(plan_law_flops(m), c, 1e-12));
    cr_expect(close_to(plan_law_tokens_for(m), d, 1e-12));
    cr_expect(close_to(d / m, 27.3 * pow(c, -0.019), 2e-3));
  }
}

Test(plan, steps_and_hours) {
  cr_expect_eq(plan_steps(1000, 100), 10);
  cr_expect_eq(plan_steps(1001, 100), 11);
  cr_expect(close_to(plan_hours(3.6e18, 1e15, 0.5, 2), 1, 1e-15));
}

/* FLOPs a token of 588M by hand: 6 (active parameters but the norms) and attention's 12 L heads
   head_width (S + 1) / 2; the head is 6 V d of them. */
Test(plan, paper) {
  static const struct {
    const char *name;
    double all, body; /* its tokens by the law's */
  } models[] = {
      {"111M", 0.66, 1.14}, {"338M", 0.83, 1.15}, {"588M", 0.26, 0.32}, {"986M", 0.93, 1.08}};
  run_config config;
  for (int i = 0; i < 4; i++) {
    cr_assert_eq(run_config_load(models[i].name, NULL, 0, &config), PHIBAL_OK);
    const plan p = plan_compute(&config);
    cr_expect_float_eq(p.tokens / p.law_tokens, models[i].all, 0.005, "%s", models[i].name);
    cr_expect_float_eq(p.tokens / p.body_tokens, models[i].body, 0.005, "%s", models[i].name);
    if (i != 2) continue;
    const double active = (double)p.estimate.active, d = 1280, layers = 10;
    cr_expect_eq(p.tokens, 20500.0 * 256 * 2048);
    cr_expect(close_to(p.token_flops, 6 * (active - d * (2 * layers + 1)) + 6 * layers * d * 2049,
                       1e-13));
    cr_expect(close_to(p.token_flops - p.body_token_flops, 6 * 100352 * d, 1e-13));
    cr_expect(close_to(p.flops, p.tokens * p.token_flops, 1e-15));
  }
}

static int command(const char *arguments, char *text, size_t size) {
  char line[512];
  snprintf(line, sizeof line, "%s plan %s 2>&1", getenv("PHIBAL"), arguments);
  FILE *pipe = popen(line, "r");
  cr_assert(pipe);
  const size_t n = fread(text, 1, size - 1, pipe);
  text[n] = 0;
  return WEXITSTATUS(pclose(pipe));
}

static double number(const char *text, const char *key) {
  json_t *json = json_loads(text, 0, NULL);
  cr_assert(json, "%s", text);
  const double value = json_number_value(json_object_get(json, key));
  json_decref(json);
  return value;
}

Test(plan, command) {
  static char text[8192];
  cr_assert_eq(command("--flops 1e20 --json --batch 1048576 --mfu 0.5 --peak 1e15 --devices 8",
                       text, sizeof text),
               0);
  cr_expect(close_to(number(text, "tokens"), 3.3724e10, 1e-4));
  cr_expect_eq(number(text, "steps"), ceil(number(text, "tokens") / 1048576));
  cr_expect(close_to(number(text, "hours"), 1e20 / (8 * 1e15 * 0.5) / 3600, 1e-14));
  cr_assert_eq(command("--config 588M --json", text, sizeof text), 0);
  cr_expect_eq(number(text, "steps"), 20500);
  cr_expect(number(text, "law_steps") > 79000 && number(text, "law_steps") < 79500);
  /* 49.77 GiB of weights, gradients and moments; on a device the head has logits of 2048 tokens. */
  cr_expect(close_to(number(text, "memory_bytes") * 0x1p-30, 53.09, 0.001));
  /* Memory and hours are of one precision: the run file's, which is binary32, or another for both.
   */
  const double wide = number(text, "hours");
  cr_expect(strstr(text, "\"precision\": \"binary32\""), "%s", text);
  cr_expect(close_to(wide, number(text, "flops") / (66.9e12 * 0.4) / 3600, 1e-14), "%g", wide);
  cr_assert_eq(command("--config 588M --json --precision bfloat16", text, sizeof text), 0);
  cr_expect(strstr(text, "\"precision\": \"bfloat16\""), "%s", text);
  cr_expect(
      close_to(number(text, "hours"), number(text, "flops") / (989.4e12 * 0.4) / 3600, 1e-14));
  cr_expect(close_to(number(text, "hours") / wide, 66.9 / 989.4, 1e-14));
  /* Two bytes more for each weight, and less for activations. */
  cr_expect(!close_to(number(text, "memory_bytes") * 0x1p-30, 52.4, 0.05));
  cr_expect_eq(number(text, "peak_flops"), 989.4e12);
  cr_assert_eq(command("--config 588M", text, sizeof text), 0);
  cr_expect(strstr(text, "GiB on a device: binary32") &&
                strstr(text, "FLOP/s (binary32, an H100's)"),
            "%s", text);
  cr_assert_eq(command("--config 588M --precision bfloat16 --peak 1e15", text, sizeof text), 0);
  cr_expect(strstr(text, "GiB on a device: bfloat16") && strstr(text, "1e+15 FLOP/s (bfloat16),"),
            "%s", text);
  cr_assert_eq(command("--flops 1e20", text, sizeof text), 0);
  cr_expect(strstr(text, "9.894e+14 FLOP/s (bfloat16, an H100's)"), "%s", text);
  cr_assert_eq(command("--flops 1e20 --precision binary32 --json", text, sizeof text), 0);
  cr_expect(close_to(number(text, "hours"), 1e20 / (66.9e12 * 0.4) / 3600, 1e-14));
  cr_assert_eq(command("--paper", text, sizeof text), 0);
  cr_expect(strstr(text, "588M has a third"));
  cr_assert_eq(command("--config 986M", text, sizeof text), 0);
  cr_expect(strstr(text, "0.927 of the law's tokens"), "%s", text);
  static const char *const bad[] = {"",
                                    "--flops 0",
                                    "--flops x",
                                    "--flops 1e20 --config 588M",
                                    "--flops 1e20 --mfu 1.5",
                                    "--flops 1e20 --devices 1.5",
                                    "--config 588M --batch 5",
                                    "--config none",
                                    "--flops nan",
                                    "--flops 1e20 --precision tf32"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    cr_expect_eq(command(bad[i], text, sizeof text), 2, "%s", bad[i]);
}
