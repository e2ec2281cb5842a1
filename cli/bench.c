/* `phibal bench`: tokens a second, and where the time goes. */
#include "commands.h"
#include "moe/train/benchmark.h"
#include "moe/machine/processor.h"
#include <getopt.h>
#include <jansson.h>
#include <phibal/isa.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: phibal bench [options]\n\n"
    "Times training steps, section by section, beside what this machine reaches in the same run:\n"
    "multiply-adds and copies by loops of their own, and a linear layer's products.\n\n"
    "  --config NAME|FILE   the run file (default tiny)\n"
    "  --data FILE          a token file (default: random tokens)\n"
    "  --steps N            measured steps (default 20), after two warm-up steps\n"
    "  --threads N          OpenMP threads\n"
    "  --method METHOD      balancing method\n"
    "  --json               one JSON object";

/* Of a linear layer, in the order of benchmark.product_flops. */
static const struct {
  const char *key, *text;
} product_names[] = {
    {"forward", "Y = X W^T"}, {"input_gradient", "dX = dY W"}, {"weight_gradient", "dW += dY^T X"}};

/* Of the sections' sum. */
static double share(const benchmark *b, benchmark_section s) {
  double sum = 0;
  for (int i = 0; i < BENCHMARK_SECTIONS; i++) sum += b->section_seconds[i];
  return b->section_seconds[s] / sum;
}

/* Of the peak of multiply-adds, or for the optimizer of the copy bandwidth; 0 where neither fits.
 */
static double of_peak(const benchmark *b, benchmark_section s) {
  double seconds = b->section_seconds[s];
  if (!(seconds > 0)) return 0;
  if (s == SECTION_OPTIMIZER) return b->optimizer_bytes / seconds / b->copy_bytes;
  return b->section_flops[s] / seconds / b->peak_flops;
}

static double all_flops(const benchmark *b) {
  double sum = 0;
  for (int s = 0; s < BENCHMARK_SECTIONS; s++) sum += b->section_flops[s];
  return sum;
}

static void print_json(const run_config *config, const benchmark *b) {
  json_t *sections = json_object();
  for (int s = 0; s < BENCHMARK_SECTIONS; s++)
    json_object_set_new(sections, benchmark_section_names[s],
                        json_pack("{s:f, s:f, s:f}", "seconds_per_step", b->section_seconds[s],
                                  "share", share(b, s), "of_peak", of_peak(b, s)));
  json_t *products = json_object();
  for (int form = 0; form < 3; form++)
    json_object_set_new(products, product_names[form].key,
                        json_pack("{s:f, s:f}", "flops_per_second", b->product_flops[form],
                                  "of_peak", b->product_flops[form] / b->peak_flops));
  json_object_set_new(products, "rows_out_in",
                      json_pack("[I, I, I]", (json_int_t)b->product_shape[0],
                                (json_int_t)b->product_shape[1], (json_int_t)b->product_shape[2]));
  json_t *all = json_pack(
      "{s:s, s:i, s:i, s:I, s:f, s:f, s:f, s:f, s:s, s:s, s:s, s:f, s:f, s:f, s:o, s:o}", "name",
      config->name, "threads", (int)b->threads, "steps", (int)b->steps, "tokens_per_step",
      (json_int_t)b->step_tokens, "tokens_per_second", (double)b->step_tokens / b->step_seconds[0],
      "step_seconds_median", b->step_seconds[0], "step_seconds_least", b->step_seconds[1],
      "step_seconds_most", b->step_seconds[2], "processor", processor_name(), "vectors",
      vector_instruction_names[processor_chosen_vectors()], "isa", phibal_isa(),
      "peak_flops_per_second", b->peak_flops, "copy_bytes_per_second", b->copy_bytes, "of_peak",
      all_flops(b) / b->step_seconds[0] / b->peak_flops, "products", products, "sections",
      sections);
  json_dumpf(all, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
  putchar('\n');
  json_decref(all);
}

static void print_text(const run_config *config, const benchmark *b) {
  printf("%s, %d threads, %d steps of %lld tokens\n", config->name, b->threads, b->steps,
         (long long)b->step_tokens);
  printf("  tokens a second   %10.0f  (median step %.1f ms; least %.1f, most %.1f)\n",
         (double)b->step_tokens / b->step_seconds[0], 1e3 * b->step_seconds[0],
         1e3 * b->step_seconds[1], 1e3 * b->step_seconds[2]);
  printf("  processor         %s; kernels for %s\n", processor_name(), phibal_isa());
  printf("  peak              %10.1f GFLOP/s by multiply-adds in %s; copies at %.1f GB/s\n",
         1e-9 * b->peak_flops, vector_instruction_names[processor_chosen_vectors()],
         1e-9 * b->copy_bytes);
  const long long rows = b->product_shape[0], out = b->product_shape[1], in = b->product_shape[2];
  printf("  products, X %lld x %lld, W %lld x %lld:\n", rows, in, out, in);
  for (int form = 0; form < 3; form++)
    printf("    %-14s  %10.1f %% of the peak\n", product_names[form].text,
           100.0 * b->product_flops[form] / b->peak_flops);
  printf("  whole step        %10.1f %% of the peak\n\n",
         100.0 * all_flops(b) / b->step_seconds[0] / b->peak_flops);
  printf("  %-14s %10s %9s   %s\n", "section", "ms a step", "share", "of the machine's peak");
  for (int s = 0; s < BENCHMARK_SECTIONS; s++) {
    printf("  %-14s %10.3f %7.2f %%", benchmark_section_names[s], 1e3 * b->section_seconds[s],
           100.0 * share(b, s));
    if (of_peak(b, s) > 0)
      printf("   %5.1f %% of %s", 100.0 * of_peak(b, s),
             s == SECTION_OPTIMIZER ? "copies" : "multiply-adds");
    putchar('\n');
  }
  printf("\n  router path: %.2f %% of the step; with the permutation of tokens %.2f %%\n",
         100.0 * share(b, SECTION_ROUTER),
         100.0 * (share(b, SECTION_ROUTER) + share(b, SECTION_PERMUTATION)));
}

static const char *const *names(const char *option) {
  if (!strcmp(option, "config")) return builtin_config_names();
  return strcmp(option, "method") ? NULL : config_key_get("balance.method")->names;
}

static const struct option options[] = {
    {"config", required_argument, NULL, 'c'}, {"data", required_argument, NULL, 'd'},
    {"steps", required_argument, NULL, 's'},  {"threads", required_argument, NULL, 't'},
    {"method", required_argument, NULL, 'm'}, {"json", no_argument, NULL, 'j'},
    {"help", no_argument, NULL, 'h'},         {0}};

const command_manual manual_bench = {
    .name = "bench", .text = help, .options = options, .names = names};

int command_bench(int argc, char **argv) {
  const char *name = "tiny", *data = NULL;
  config_override overrides[3];
  size_t n = 0;
  bool json = false;
  /* The schedule's steps are those of the benchmark, checked by the same schema. */
  overrides[n++] = (config_override){"training.steps", "20", "--steps"};
  for (int c; (c = command_option(&manual_bench, argc, argv, NULL)) != -1;) switch (c) {
    case 'c':
      name = optarg;
      break;
    case 'd':
      data = optarg;
      break;
    case 's':
      overrides[0].value = optarg;
      break;
    case 't':
      if (n < 3) overrides[n++] = (config_override){"training.threads", optarg, "--threads"};
      break;
    case 'm':
      if (n < 3) overrides[n++] = (config_override){"balance.method", optarg, "--method"};
      break;
    case 'j':
      json = true;
      break;
    case 'h':
      return command_help(&manual_bench);
    case ':':
      return command_usage_error("bench", "'%s' needs a value", argv[optind - 1]);
    default:
      return command_unknown_option("bench", argv, manual_bench.options);
    }
  if (optind < argc) return command_usage_error("bench", "unexpected '%s'", argv[optind]);
  static run_config config;
  if (run_config_load(name, overrides, n, &config))
    return command_usage_error("bench", "%s", phibal_status_message());
  if (config.training.steps > 100000)
    return command_usage_error("bench", "--steps: at most 100000");
  token_file file = {0};
  if (data && token_file_open(data, &file))
    return command_usage_error("bench", "%s", phibal_status_message());
  benchmark b;
  phibal_status status = PHIBAL_OK;
  if (data && file.vocabulary > config.model.vocabulary)
    status = phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                               "'%s' has a vocabulary of %d tokens, the model one of %d", data,
                               file.vocabulary, config.model.vocabulary);
  if (!status)
    status = benchmark_run(&config, data ? &file : NULL, (int32_t)config.training.steps, &b);
  token_file_close(&file);
  if (status) return command_usage_error("bench", "%s", phibal_status_message());
  if (json)
    print_json(&config, &b);
  else
    print_text(&config, &b);
  return 0;
}
