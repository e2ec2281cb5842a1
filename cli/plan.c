/* `phibal plan`: what a compute budget buys by the paper's scaling law, what a configuration takes,
   and where the two differ. */
#include "commands.h"
#include "moe/plan/plan.h"
#include <getopt.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct arguments {
  const char *config;
  const char *precision;   /* null: the run file's; without one bfloat16 */
  double flops, peak, mfu; /* flops and peak 0: not given */
  int64_t batch;           /* tokens */
  int32_t devices;
  bool paper, json;
} arguments;

static const char *const precision_names[] = {"binary32", "bfloat16"}; /* as run files have them */

static const char help[] =
    "usage: phibal plan --flops C [options]\n"
    "       phibal plan --config NAME|FILE [options]\n"
    "       phibal plan --paper [--json]\n\n"
    "Plans a training run with the scaling law of the paper (its appendix on hyperparameters):\n"
    "the best use of C FLOPs is D = 5.2232 C^0.4905 tokens at M = 0.1915 C^0.5095 FLOPs each,\n"
    "forward and backward.\n\n"
    "  --flops C            for a compute budget: tokens, FLOPs per token, steps, hours\n"
    "  --config NAME|FILE   for a run file: its needs, and the law for a model of its size\n"
    "  --paper              compare the paper's four models with the law\n"
    "  --batch N            tokens per step, with --flops (default 524288: 256 x 2048)\n"
    "  --precision P        binary32 or bfloat16, for memory and hours (default: the run\n"
    "                       file's training.precision; with --flops bfloat16)\n"
    "  --peak F             FLOP/s of a device (default: an H100 on dense products, 989.4e12\n"
    "                       in bfloat16, 66.9e12 in binary32)\n"
    "  --mfu U              model FLOPs utilisation (default 0.4)\n"
    "  --devices N          number of devices (default 1)\n"
    "  --json               as an object";

/* What hours are counted by: FLOP/s of a device, and whose they are. */
static double peak_of(const arguments *a, model_precision precision) {
  const double h100 = precision == PRECISION_BFLOAT16 ? 989.4e12 : 66.9e12;
  return a->peak > 0 ? a->peak : h100;
}

static void print_peak(const arguments *a, model_precision precision) {
  printf("%d x %.4g FLOP/s (%s%s), %.3g of it reached", a->devices, peak_of(a, precision),
         precision_names[precision], a->peak > 0 ? "" : ", an H100's", a->mfu);
}

static bool read_number(const char *text, double most, double *value) {
  char *end;
  *value = strtod(text, &end);
  return *text && !*end && *value > 0 && *value <= most;
}

static const char *const *names(const char *option) {
  if (!strcmp(option, "config")) return builtin_config_names();
  return strcmp(option, "precision") ? NULL : config_key_get("training.precision")->names;
}

static const struct option options[] = {{"flops", required_argument, NULL, 'f'},
                                        {"config", required_argument, NULL, 'c'},
                                        {"paper", no_argument, NULL, 'a'},
                                        {"batch", required_argument, NULL, 'b'},
                                        {"peak", required_argument, NULL, 'p'},
                                        {"mfu", required_argument, NULL, 'm'},
                                        {"devices", required_argument, NULL, 'd'},
                                        {"json", no_argument, NULL, 'j'},
                                        {"help", no_argument, NULL, 'h'},
                                        {"precision", required_argument, NULL, 'r'},
                                        {0}};

const command_manual manual_plan = {
    .name = "plan", .text = help, .options = options, .names = names};

/* Returns -1 to go on, else the exit status. */
static int read_arguments(int argc, char **argv, arguments *a) {
  double whole;
  for (int c; (c = command_option(&manual_plan, argc, argv, NULL)) != -1;) switch (c) {
    case 'f':
      if (!read_number(optarg, 1e40, &a->flops) || a->flops < 1)
        return command_usage_error("plan", "--flops '%s': a number from 1 to 1e40", optarg);
      break;
    case 'c':
      a->config = optarg;
      break;
    case 'a':
      a->paper = true;
      break;
    case 'b':
      if (!read_number(optarg, 1e12, &whole) || whole != floor(whole))
        return command_usage_error("plan", "--batch '%s': tokens, 1 to 1e12", optarg);
      a->batch = (int64_t)whole;
      break;
    case 'p':
      if (!read_number(optarg, 1e20, &a->peak))
        return command_usage_error("plan", "--peak '%s': FLOP/s, above 0", optarg);
      break;
    case 'm':
      if (!read_number(optarg, 1, &a->mfu))
        return command_usage_error("plan", "--mfu '%s': a number in (0, 1]", optarg);
      break;
    case 'd':
      if (!read_number(optarg, 1e6, &whole) || whole != floor(whole))
        return command_usage_error("plan", "--devices '%s': 1 to 1e6", optarg);
      a->devices = (int32_t)whole;
      break;
    case 'r':
      a->precision = optarg;
      break;
    case 'j':
      a->json = true;
      break;
    case 'h':
      return command_help(&manual_plan);
    case ':':
      return command_usage_error("plan", "'%s' needs a value", argv[optind - 1]);
    default:
      return command_unknown_option("plan", argv, manual_plan.options);
    }
  if (optind < argc) return command_usage_error("plan", "unexpected '%s'", argv[optind]);
  if (!!a->config + (a->flops > 0) + a->paper != 1)
    return command_usage_error("plan", "one of --flops, --config and --paper is needed");
  if (a->precision && strcmp(a->precision, precision_names[PRECISION_BINARY32]) &&
      strcmp(a->precision, precision_names[PRECISION_BFLOAT16]))
    return command_usage_error("plan", "--precision '%s': binary32 or bfloat16", a->precision);
  if (a->batch && a->config)
    return command_usage_error("plan", "--batch: the run file has it, or --config sets it");
  return -1;
}

static int print_json(json_t *json) {
  json_dumpf(json, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
  putchar('\n');
  json_decref(json);
  return 0;
}

static int plan_budget(const arguments *a) {
  const double m = plan_law_token_flops(a->flops), d = plan_law_tokens(a->flops);
  const int64_t batch = a->batch ? a->batch : 524288;
  if (d / (double)batch > 0x1p62)
    return command_usage_error("plan",
                               "--flops %g: %.3g steps with --batch %lld are too many to "
                               "count",
                               a->flops, d / (double)batch, (long long)batch);
  const int64_t steps = plan_steps(d, batch);
  const model_precision precision =
      a->precision && !strcmp(a->precision, precision_names[PRECISION_BINARY32])
          ? PRECISION_BINARY32
          : PRECISION_BFLOAT16;
  const double peak = peak_of(a, precision), hours = plan_hours(a->flops, peak, a->mfu, a->devices);
  if (a->json)
    return print_json(json_pack("{s:f, s:f, s:f, s:f, s:I, s:I, s:f, s:s, s:f}", "flops", a->flops,
                                "tokens", d, "flops_per_token", m, "active_parameters", m / 6,
                                "tokens_per_step", (json_int_t)batch, "steps", (json_int_t)steps,
                                "hours", hours, "precision", precision_names[precision],
                                "peak_flops", peak));
  printf("%.4g FLOPs by the scaling law\n", a->flops);
  printf("  tokens                %12.4g\n", d);
  printf("  FLOPs a token         %12.4g   forward and backward\n", m);
  printf("  active parameters     %12.4g   six FLOPs each; attention's come off\n", m / 6);
  printf("  tokens a parameter    %12.4g\n", 6 * d / m);
  printf("  steps                 %12lld   of %lld tokens\n", (long long)steps, (long long)batch);
  printf("  hours                 %12.4g   ", hours);
  print_peak(a, precision);
  puts("");
  printf("memory depends on the model: phibal plan --config\n");
  return 0;
}

static json_t *plan_json(const run_config *config, const plan *p, const arguments *a) {
  const run_estimate *e = &p->estimate;
  const int64_t memory = run_estimate_bytes(e);
  const double peak = peak_of(a, config->training.precision);
  return json_pack(
      "{s:s, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:I, s:f, s:f, s:s, s:f}", "name",
      config->name, "parameters_total", (json_int_t)e->total, "parameters_active",
      (json_int_t)e->active, "memory_bytes", (json_int_t)memory, "steps",
      (json_int_t)config->training.steps, "tokens", p->tokens, "flops", p->flops, "flops_per_token",
      p->token_flops, "flops_per_token_without_head", p->body_token_flops, "law_tokens",
      p->law_tokens, "law_tokens_without_head", p->body_tokens, "law_steps",
      (json_int_t)plan_steps(p->law_tokens, e->step_tokens), "hours",
      plan_hours(p->flops, peak, a->mfu, a->devices), "law_hours",
      plan_hours(p->law_tokens * p->token_flops, peak, a->mfu, a->devices), "precision",
      precision_names[config->training.precision], "peak_flops", peak);
}

static int fail(void) {
  fprintf(stderr, "phibal plan: %s\n", phibal_status_message());
  return 2;
}

static phibal_status load(const arguments *a, const char *name, run_config *config) {
  const config_override precision = {"training.precision", a->precision, "--precision"};
  return run_config_load(name, &precision, a->precision != NULL, config);
}

static int plan_config(const arguments *a) {
  static run_config config;
  if (load(a, a->config, &config)) return fail();
  const plan p = plan_compute(&config);
  const run_estimate *e = &p.estimate;
  if (a->json) return print_json(plan_json(&config, &p, a));
  const double memory = (double)run_estimate_bytes(e);
  printf("%s\n", config.name);
  printf("  parameters            %10.4g in all, %.4g active\n", (double)e->total,
         (double)e->active);
  printf("  memory                %10.4g GiB on a device: %s, AdamW, micro-batches of %d x %d\n",
         memory * 0x1p-30, precision_names[config.training.precision], config.batch.micro_sequences,
         config.model.sequence);
  printf("  FLOPs a token         %10.4g forward and backward, %.4g without the output head\n",
         p.token_flops, p.body_token_flops);
  printf("                        %12s %12s %12s %12s %10s\n", "tokens", "a parameter", "steps",
         "FLOPs", "hours");
  const struct {
    const char *name;
    double tokens;
  } rows[] = {{"the run file", p.tokens},
              {"the law for its M", p.law_tokens},
              {"  without the head", p.body_tokens}};
  for (int i = 0; i < 3; i++) {
    const double flops = rows[i].tokens * p.token_flops;
    printf("  %-20s  %12.4g %12.4g %12lld %12.4g %10.4g\n", rows[i].name, rows[i].tokens,
           rows[i].tokens / (double)e->active,
           (long long)plan_steps(rows[i].tokens, e->step_tokens), flops,
           plan_hours(flops, peak_of(a, config.training.precision), a->mfu, a->devices));
  }
  printf("  hours on ");
  print_peak(a, config.training.precision);
  printf("\n  the run file has %.3g of the law's tokens\n", p.tokens / p.law_tokens);
  return 0;
}

static int plan_paper(const arguments *a) {
  static const char *const names[] = {"111M", "338M", "588M", "986M"};
  static run_config config;
  json_t *all = json_array();
  if (!a->json)
    printf(
        "The paper's models, their tokens as its table has them, and the law's for their FLOPs a "
        "token\n(M), with the output head and without it.\n\n"
        "model    active M    steps   tokens  a parameter   of the law's tokens: M   without "
        "head\n");
  for (int i = 0; i < 4; i++) {
    if (load(a, names[i], &config)) {
      json_decref(all);
      return fail();
    }
    const plan p = plan_compute(&config);
    json_array_append_new(all, plan_json(&config, &p, a));
    if (!a->json)
      printf("%-7s %9.1f %8lld %8.3g %12.1f %26.2f %14.2f\n", names[i],
             1e-6 * (double)p.estimate.active, (long long)config.training.steps, p.tokens,
             p.tokens / (double)p.estimate.active, p.tokens / p.law_tokens,
             p.tokens / p.body_tokens);
  }
  if (a->json) return print_json(all);
  json_decref(all);
  puts("\nOne rule would give one ratio. Without the head three models keep to the law within a "
       "sixth, and\n588M has a third of its tokens. What the paper calls tokens per parameter, "
       "27.3 C^-0.019, is tokens\nper FLOP a token: a parameter takes six.");
  return 0;
}

int command_plan(int argc, char **argv) {
  arguments a = {.mfu = 0.4, .devices = 1};
  int code = read_arguments(argc, argv, &a);
  if (code >= 0) return code;
  return a.paper ? plan_paper(&a) : a.config ? plan_config(&a) : plan_budget(&a);
}
