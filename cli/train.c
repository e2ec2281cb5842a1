/* `phibal train`: reads the options, shows progress, prints the final tables. */
#include "commands.h"
#include "moe/plan/estimate.h"
#include "formats/file.h"
#include "moe/report/report.h"
#include "moe/config/schedule.h"
#include "moe/train/train.h"
#include "train_potential.h"
#include "moe/train/trained.h"
#include "moe/machine/clock.h"
#include <getopt.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Options that set a key of the run file: name, what it takes, key, the parameter that it names
   besides. */
#define KEY_OPTIONS(ROW)                                                                           \
  ROW("data", "FILE", "data.train", NULL, "token file to train on")                                \
  ROW("from", "FOLDER", "training.from", NULL,                                                     \
      "whose weights to start from: a run, a checkpoint, or a Hugging Face model")                 \
  ROW("ignore-key", "KEY,...", "training.ignore_keys", NULL,                                       \
      "keys of its config.json to go on without, though phibal does not know them")                \
  ROW("validation", "FILE", "data.validation", NULL, "token file to evaluate on")                  \
  ROW("method", "NAME", "balance.method", NULL,                                                    \
      "phi, switch, switch-global, sequence, loss-free, phi-bias, quantile, none, dense")          \
  ROW("potential", "NAME|FILE", "balance.potential", NULL,                                         \
      "phi's potential: a name, or a .phi file")                                                   \
  ROW("p", "X", "balance.parameter", "p", "parameter of lp (1 and inf too)")                       \
  ROW("delta", "X", "balance.parameter", "delta", "parameter of soft-l1, pseudo-huber")            \
  ROW("beta", "X", "balance.parameter", "beta", "parameter of log-cosh")                           \
  ROW("eta", "X", "balance.eta", NULL, "weight of the new loads in the moving average")            \
  ROW("alpha", "X", "balance.alpha", NULL, "coefficient of the balancing loss")                    \
  ROW("track", "NAME", "balance.track", NULL, "probability or frequency")                          \
  ROW("lr", "X", "optimizer.peak_lr", NULL, "peak learning rate")                                  \
  ROW("batch", "N", "batch.sequences", NULL, "sequences in a global batch")                        \
  ROW("micro", "N", "batch.micro_sequences", NULL, "sequences computed at once")                   \
  ROW("steps", "N", "training.steps", NULL, "optimizer steps")                                     \
  ROW("seed", "N", "training.seed", NULL, "of the weights and of the data's order")                \
  ROW("record-routes", "FILE", "training.record_routes", NULL,                                     \
      "write the experts of each step's tokens to FILE")                                           \
  ROW("replay-routes", "FILE", "training.replay_routes", NULL,                                     \
      "train on the experts in such a file")                                                       \
  ROW("expert-parallel", "N", "parallel.experts", NULL, "ranks that divide each layer's experts")  \
  ROW("shard-optimizer", "V", "parallel.shard_optimizer", NULL,                                    \
      "true: each rank has a part of AdamW's moments")                                             \
  ROW("tensorboard", "V", "training.tensorboard", NULL, "true: TensorBoard's events too")          \
  ROW("threads", "N", "training.threads", NULL, "OpenMP threads; results do not depend on it")

static const struct {
  const char *option, *takes, *key, *parameter, *help;
} key_options[] = {
#define ROW(option, takes, key, parameter, help) {option, takes, key, parameter, help},
    KEY_OPTIONS(ROW)
#undef ROW
};
enum { KEYS = sizeof key_options / sizeof *key_options, OVERRIDES_MAX = 256 };

typedef struct arguments {
  const char *config, *out, *resume, *device;
  const char *parameter; /* which of the options that name one gave it (--p); null: none */
  bool overwrite, dry_run, keys, json, quiet, every_layer, force;
  size_t overrides;
  config_override override[OVERRIDES_MAX];
  char text[OVERRIDES_MAX][128]; /* keys and flags of --set */
} arguments;

static void print_help(void) {
  puts("usage: phibal train --config NAME|FILE --data FILE [--validation FILE] [options]\n"
       "       phibal train --resume FOLDER [options]\n"
       "       phibal train --from RUN --out FOLDER [options]\n\n"
       "Trains a mixture-of-experts language model, in several processes if started by mpirun\n"
       "or, with --device, by torchrun or srun.\n"
       "NAME is a built-in run file:");
  for (size_t i = 0; i < builtin_configs_count; i++) printf("  %s", builtin_configs[i].name);
  puts("\n\n"
       "  --config NAME|FILE   run file; default with --from RUN: that of the run\n"
       "  --set SECTION.KEY=V  set any key of the run file; repeatable\n"
       "  --param NAME=V       set a parameter of the potential, such as 0.5 or 1/2; repeatable\n"
       "  --force              train even if the audit refutes a potential from a file\n"
       "  --out FOLDER         run folder (default runs/CONFIG-METHOD)\n"
       "  --device NAME        cpu (default), cuda, or host-cuda: the CUDA kernels compiled for "
       "the\n"
       "                       CPU, slow, for testing\n"
       "  --overwrite          replace the run in that folder\n"
       "  --resume FOLDER      continue a run from its newest valid checkpoint, bit for bit;\n"
       "                       only threads, logging, evaluations, checkpoints, the parallel\n"
       "                       layout and the location of the data may change, and --steps,\n"
       "                       which also extends a finished run. The learning rate from there\n"
       "                       on is that of a run with this number of steps; the warm-up keeps\n"
       "                       its length and is not repeated\n"
       "  --dry-run            print parameters, memory of a rank (on --device) and FLOPs only\n"
       "  --every-layer        routed-token ratios of all layers in the final tables\n"
       "  --json               print result.json (or the dry run) instead of tables\n"
       "  --quiet              no progress\n"
       "  --keys               list all keys, values and defaults as a Markdown table\n");
  for (int i = 0; i < KEYS; i++) {
    char label[64];
    snprintf(label, sizeof label, "--%s %s", key_options[i].option, key_options[i].takes);
    printf("  %-19s  %s [%s]\n", label, key_options[i].help, key_options[i].key);
  }
  puts("\nOptions override the file, later ones override earlier ones. An interrupt (Ctrl-C), "
       "SIGTERM\n"
       "and SIGUSR1 end the run after the current step, with a checkpoint; an interrupt also\n"
       "evaluates. A second one stops at once. mpirun only forwards SIGUSR1.\n\n"
       "Exit status: 0 the run reached its last step; 130, 143, 138 ended early by an interrupt,\n"
       "SIGTERM or SIGUSR1, can be resumed; 2 usage, input or output error.");
}

static int usage(void) {
  return command_usage_error("train", "%s", phibal_status_message());
}

static const char param_option[] = "--param";

/* Adds an override; `key` and `from` must outlive the arguments. */
static bool add_override(arguments *a, const char *key, const char *value, const char *from) {
  if (a->overrides == OVERRIDES_MAX) return false;
  a->override[a->overrides++] = (config_override){key, value, from};
  return true;
}

/* "section.key=value" */
static phibal_status add_set(arguments *a, const char *text) {
  const char *equals = strchr(text, '=');
  char *key = a->text[a->overrides % OVERRIDES_MAX];
  if (!equals || equals == text || (size_t)(equals - text) >= sizeof a->text[0])
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "--set '%s': expected SECTION.KEY=VALUE", text);
  memcpy(key, text, (size_t)(equals - text));
  key[equals - text] = 0;
  if (!add_override(a, key, equals + 1, "--set"))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "more than %d options", OVERRIDES_MAX);
  return PHIBAL_OK;
}

/* "name=value" of one of the potential's parameters. */
static phibal_status add_parameter(arguments *a, const char *text) {
  const char *equals = strchr(text, '=');
  if (!equals || equals == text || strchr(text, ','))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "--param '%s': expected NAME=VALUE", text);
  const size_t n = (size_t)(equals - text) + 1;
  for (size_t i = 0; i < a->overrides; i++)
    if (a->override[i].from == param_option && !strncmp(a->override[i].value, text, n))
      return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "--param %.*s is given twice", (int)n - 1,
                               text);
  if (!add_override(a, "balance.parameters", text, param_option))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "more than %d options", OVERRIDES_MAX);
  return PHIBAL_OK;
}

enum {
  OPTION_KEY = 1000,
  OPTION_CONFIG,
  OPTION_SET,
  OPTION_PARAM,
  OPTION_OUT,
  OPTION_OVERWRITE,
  OPTION_RESUME,
  OPTION_DRY_RUN,
  OPTION_KEYS,
  OPTION_JSON,
  OPTION_QUIET,
  OPTION_EVERY_LAYER,
  OPTION_FORCE,
  OPTION_DEVICE,
  OPTION_HELP
};

/* The rows of key_options are first, in their order. */
static const struct option options[] = {
#define ROW(option, takes, key, parameter, help) {option, required_argument, NULL, OPTION_KEY},
    KEY_OPTIONS(ROW)
#undef ROW

        {"config", required_argument, NULL, OPTION_CONFIG},
    {"set", required_argument, NULL, OPTION_SET},
    {"param", required_argument, NULL, OPTION_PARAM},
    {"out", required_argument, NULL, OPTION_OUT},
    {"overwrite", no_argument, NULL, OPTION_OVERWRITE},
    {"resume", required_argument, NULL, OPTION_RESUME},
    {"dry-run", no_argument, NULL, OPTION_DRY_RUN},
    {"keys", no_argument, NULL, OPTION_KEYS},
    {"json", no_argument, NULL, OPTION_JSON},
    {"quiet", no_argument, NULL, OPTION_QUIET},
    {"every-layer", no_argument, NULL, OPTION_EVERY_LAYER},
    {"force", no_argument, NULL, OPTION_FORCE},
    {"device", required_argument, NULL, OPTION_DEVICE},
    {"help", no_argument, NULL, OPTION_HELP},
    {0}};

static const char *const *names(const char *option) {
  static const char *const devices[] = {"cpu", "cuda", "host-cuda", NULL};
  if (!strcmp(option, "device")) return devices;
  if (!strcmp(option, "config")) return builtin_config_names();
  if (!strcmp(option, "potential")) return command_potential_names;
  for (int i = 0; i < KEYS; i++)
    if (!strcmp(option, key_options[i].option)) return config_key_get(key_options[i].key)->names;
  return NULL;
}

const command_manual manual_train = {
    .name = "train", .print = print_help, .options = options, .names = names};

/* Returns -1 to go on, else the exit status. */
static int read_arguments(int argc, char **argv, arguments *a) {
  static char flags[KEYS][32];
  for (int c, row; (c = command_option(&manual_train, argc, argv, &row)) != -1;) {
    switch (c) {
    case OPTION_KEY:
      snprintf(flags[row], sizeof flags[0], "--%s", key_options[row].option);
      if (key_options[row].parameter) a->parameter = key_options[row].parameter;
      if (!add_override(a, key_options[row].key, optarg, flags[row]))
        return command_usage_error("train", "more than %d options", OVERRIDES_MAX);
      break;
    case OPTION_CONFIG:
      a->config = optarg;
      break;
    case OPTION_SET:
      if (add_set(a, optarg)) return usage();
      break;
    case OPTION_PARAM:
      if (add_parameter(a, optarg)) return usage();
      break;
    case OPTION_OUT:
      a->out = optarg;
      break;
    case OPTION_OVERWRITE:
      a->overwrite = true;
      break;
    case OPTION_RESUME:
      a->resume = optarg;
      break;
    case OPTION_DRY_RUN:
      a->dry_run = true;
      break;
    case OPTION_KEYS:
      config_keys_write(stdout);
      return 0;
    case OPTION_JSON:
      a->json = true;
      break;
    case OPTION_QUIET:
      a->quiet = true;
      break;
    case OPTION_EVERY_LAYER:
      a->every_layer = true;
      break;
    case OPTION_FORCE:
      a->force = true;
      break;
    case OPTION_DEVICE:
      a->device = strcmp(optarg, "cpu") == 0 ? NULL : optarg;
      break;
    case OPTION_HELP:
      return command_help(&manual_train);
    case ':':
      return command_usage_error("train", "'%s' needs a value", argv[optind - 1]);
    default:
      return command_unknown_option("train", argv, options);
    }
  }
  if (optind < argc) return command_usage_error("train", "unexpected '%s'", argv[optind]);
  if (a->resume && (a->config || a->out || a->overwrite || a->dry_run))
    return command_usage_error("train",
                               "--resume uses the run's own configuration and folder: no --%s",
                               a->config      ? "config"
                               : a->out       ? "out"
                               : a->overwrite ? "overwrite"
                                              : "dry-run");
  return -1;
}

static parallel job = {.ranks = 1};

/* Memory is that of a rank: of the job's, or of as many as divide the experts. */
static int print_dry_run(const run_config *config, bool on_device, bool json) {
  if (config->training.threads) omp_set_num_threads(config->training.threads);
  const int32_t ranks = job.ranks > 1 ? job.ranks : config->parallel.experts;
  if (job.rank) return 0;
  const run_estimate e = run_estimate_of_rank(config, ranks, on_device);
  const int64_t memory = run_estimate_bytes(&e);
  if (json) {
    json_t *all = json_pack(
        "{s:s, s:i, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:I}", "name", config->name,
        "ranks", ranks, "parameters_total", (json_int_t)e.total, "parameters_active",
        (json_int_t)e.active, "weight_bytes", (json_int_t)e.weight_bytes, "gradient_bytes",
        (json_int_t)e.gradient_bytes, "moment_bytes", (json_int_t)e.moment_bytes,
        "activation_bytes", (json_int_t)e.activation_bytes, "memory_bytes", (json_int_t)memory,
        "forward_flops_per_token", e.forward_flops, "training_flops_per_token", e.training_flops,
        "recomputed_flops_per_token", e.recomputed_flops, "tokens_per_step",
        (json_int_t)e.step_tokens);
    json_dumpf(all, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    putchar('\n');
    json_decref(all);
    return 0;
  }
  const double gib = 0x1p-30, tokens = (double)e.step_tokens * (double)config->training.steps;
  printf("%s\n", config->name);
  printf("  parameters            %15.1f M in all, %.1f M active for a token\n",
         1e-6 * (double)e.total, 1e-6 * (double)e.active);
  printf("  memory                %15.3f GiB", gib * (double)memory);
  if (ranks > 1) printf(", each of %d ranks", ranks);
  putchar('\n');
  printf("    weights             %15.3f GiB, binary32%s\n", gib * (double)e.weight_bytes,
         config->training.precision == PRECISION_BFLOAT16 ? " and bfloat16" : "");
  printf("    gradients           %15.3f GiB\n", gib * (double)e.gradient_bytes);
  printf("    optimizer           %15.3f GiB, %s\n", gib * (double)e.moment_bytes,
         config->lora.rank ? "adapters, their moments, the weights they are added to"
                           : "two moments");
  printf("    activations         %15.3f GiB%s, micro-batch of %d x %d tokens\n",
         gib * (double)e.activation_bytes, on_device ? " on a device" : "",
         config->batch.micro_sequences, config->model.sequence);
  printf("  FLOPs a token         %15.4g forward, %.4g for training\n", e.forward_flops,
         e.training_flops);
  printf("    forward  = 2 (active parameters but norms) + 2 L heads head_width (S + 1)\n"
         "    training = 3 forward; softmax, norms and recomputed attention scores left out\n");
  if (e.recomputed_flops > 0)
    printf("    and %.4g for what the backward pass computes again\n", e.recomputed_flops);
  printf("  run                   %15.4g tokens in %lld steps of %lld, %.4g FLOPs\n", tokens,
         (long long)config->training.steps, (long long)e.step_tokens, tokens * e.training_flops);
  return 0;
}

typedef struct display {
  bool terminal;
  double last, every; /* seconds */
} display;

static void show_step(void *context, const train_progress *p) {
  display *d = context;
  double now = seconds_now();
  bool done = p->step == p->steps;
  if (!done && p->step > 1 && now - d->last < d->every) return;
  d->last = now;
  long left = (long)(p->seconds_left + 0.5);
  if (d->terminal) command_clear_line();
  fprintf(stderr, "step %lld/%lld  loss %.4f  MaxVio %.3f  lr %.2e  %.0f tokens/s  ETA %ld:%02ld%s",
          (long long)p->step, (long long)p->steps, p->loss, p->maxvio, p->lr, p->tokens_per_second,
          left / 60, left % 60, d->terminal && !done ? "" : "\n");
  fflush(stderr);
}

static void show_evaluation(void *context, int64_t step, const evaluation *e) {
  const display *d = context;
  if (d->terminal) command_clear_line();
  fprintf(stderr, "step %lld: validation loss %.4f, accuracy %.2f %% (%lld tokens, %.1f s)\n",
          (long long)step, e->all.cross_entropy / (double)e->all.targets,
          100.0 * (double)e->all.correct / (double)e->all.targets, (long long)e->all.targets,
          e->seconds);
}

static void show_packed(void *context, const char *key, int32_t sequence,
                        const mixture_examples *e) {
  (void)context;
  fprintf(stderr, "phibal train: %s: %lld examples in %lld windows of %d, %.1f %% full", key,
          (long long)e->examples, (long long)e->windows, sequence,
          100.0 * (double)e->tokens / ((double)e->windows * (double)sequence));
  if (e->left_out) fprintf(stderr, "; %lld longer ones are skipped", (long long)e->left_out);
  fputc('\n', stderr);
}

static void show_note(void *context, const char *line) {
  (void)context;
  command_say("train", "%s", line);
}

static void show_attention(void *context, const char *by) {
  (void)context;
  fprintf(stderr, "phibal train: attention by %s\n", by);
}

static volatile sig_atomic_t interrupted;
static void interrupt(int number) {
  interrupted = number;
}

static int fail(void) {
  if (job.ranks > 1)
    fprintf(stderr, "phibal train: rank %d: %s\n", job.rank, phibal_status_message());
  else
    fprintf(stderr, "phibal train: %s\n", phibal_status_message());
  return 2;
}

static bool is_within(const char *path, const char *folder) {
  char *inner = realpath(path, NULL), *outer = realpath(folder, NULL);
  const size_t n = outer ? strlen(outer) : 0;
  const bool is = inner && outer && !strncmp(inner, outer, n) && (inner[n] == '/' || !inner[n]);
  free(inner);
  free(outer);
  return is;
}

static int run(const run_config *config, const arguments *a, const checkpoint *from) {
  char folder[2 * CONFIG_TEXT_MAX];
  char method[32];
  run_config_format(config, config_key_get("balance.method"), method, sizeof method);
  snprintf(folder, sizeof folder, "runs/%s-%s", config->name, method);
  /* A terminal line is redrawn five times a second at most; a log gets a line every ten seconds. */
  bool terminal = isatty(STDERR_FILENO);
  display d = {.terminal = terminal, .every = terminal ? 0.2 : 10};
  int stopped_by = 0;
  const train_options options = {
      .out = a->resume ? a->resume
             : a->out  ? a->out
                       : folder,
      .overwrite = a->overwrite,
      .resume = a->resume,
      .from = from && from->step > 0 ? from : NULL,
      .stop = &interrupted,
      .stopped_by = &stopped_by,
      .parallel = &job,
      .device = a->device,
      .observer = a->quiet ? (train_observer){.note = show_note}
                           : (train_observer){&d, show_step, show_evaluation, show_packed,
                                              show_attention, show_note}};
  if (options.overwrite && *config->training.from &&
      is_within(config->training.from, options.out)) {
    phibal_status_set(
        PHIBAL_ERROR_ARGUMENT,
        "--overwrite would delete the source weights '%s'; choose an --out other than '%s'",
        config->training.from, options.out);
    return fail();
  }
  /* The second signal has its default effect. */
  struct sigaction action = {.sa_handler = interrupt, .sa_flags = (int)SA_RESETHAND};
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
  /* mpirun passes this one on to its ranks; after the others it kills them. */
  sigaction(SIGUSR1, &action, NULL);
  json_t *result = NULL;
  phibal_status status = train_run(config, &options, &result);
  /* Not 0, so that scripts and schedulers can tell a run that has ended from one to be resumed; as
     if the signal had killed it, on every rank. */
  const int code = stopped_by ? 128 + stopped_by : 0;
  if (!status && job.rank) return code; /* the first rank has said it all */
  if (!status && a->json) {
    json_dumpf(result, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
    putchar('\n');
  } else if (!status) {
    status = report_write(stdout, 1, &result, a->every_layer);
    if (json_is_true(json_object_get(result, "stopped")))
      printf("\nstopped before the last step; continue with 'phibal train --resume %s'\n",
             options.out);
    printf("\nSHA-256 of the weights and the balancing state: %s\n",
           json_string_value(json_object_get(result, "digest")));
    printf("\n%s: config.yaml, metrics.jsonl, result.json%s\n", options.out,
           config->checkpoint.keep ? ", checkpoints" : "");
  }
  json_decref(result);
  if (!status) return code;
  if (terminal) fputc('\n', stderr);
  return fail();
}

/* Loads the potential where it is a file, and trains, or says what training would take. */
static int run_or_estimate(run_config *config, const arguments *a, const checkpoint *from) {
  const bool on_device = a->device || config->training.precision == PRECISION_BFLOAT16;
  if (balance_has_potential(config->balance.method) && *config->potential_file) {
    static train_potential potential;
    if (train_potential_load(config, a->resume, a->parameter, a->force, job.rank ? NULL : stderr,
                             &potential))
      return fail();
    int code = a->dry_run ? print_dry_run(config, on_device, a->json) : run(config, a, from);
    train_potential_close(&potential);
    return code;
  }
  const phibal_potential_info *info = phibal_potential_describe(config->balance.potential.id);
  if (a->parameter && strcmp(a->parameter, info->parameter))
    return command_usage_error("train", "the parameter of %s is %s, not '%s'", info->name,
                               *info->parameter ? info->parameter : "absent", a->parameter);
  return a->dry_run ? print_dry_run(config, on_device, a->json) : run(config, a, from);
}

/* The configuration of the run to be resumed: its checkpoint's; that of its folder where it was
   killed before there was one. How many steps it is to take says the folder's, which knows what was
   asked for since, and then the options. *before is what it says without them. */
static phibal_status load_resumed(const arguments *a, const checkpoint *from, run_config *before,
                                  run_config *config) {
  static run_config folder;
  static config_override override[OVERRIDES_MAX + 2];
  char path[2 * CONFIG_TEXT_MAX], steps[32];
  snprintf(path, sizeof path, "%s/config.yaml", a->resume);
  const bool saved = from->step >= 0;
  phibal_status status =
      saved ? checkpoint_config(from, NULL, 0, before) : run_config_load(path, NULL, 0, before);
  if (status) return status;
  if (saved && !access(path, F_OK)) {
    if (!run_config_load(path, NULL, 0, &folder)) {
      before->training.steps = folder.training.steps;
      memcpy(before->training.continued, folder.training.continued,
             sizeof before->training.continued);
    } else if (!job.rank) {
      fprintf(stderr, "phibal train: %s; the copy in the checkpoint is used\n",
              phibal_status_message());
    }
  }
  snprintf(steps, sizeof steps, "%lld", (long long)before->training.steps);
  override[0] = (config_override){"training.steps", steps, path};
  override[1] = (config_override){"training.continued", "", path};
  memcpy(override + 2, a->override, a->overrides * sizeof *override);
  status = saved ? checkpoint_config(from, override, a->overrides + 2, config)
                 : run_config_load(path, override, a->overrides + 2, config);
  if (status) return status;
  const int64_t asked = config->training.steps;
  if (!saved && asked != before->training.steps && folder_has(a->resume, "result.json"))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "--steps: '%s' has ended and has no checkpoint to continue from "
                             "(checkpoint.keep)",
                             a->resume);
  config->training.steps = before->training.steps;
  if (!*config->training.continued)
    memcpy(config->training.continued, before->training.continued,
           sizeof config->training.continued);
  status = checkpoint_config_continues(before, config);
  return status ? status
                : schedule_continue(saved ? from->step : 0, asked, &config->training.steps,
                                    config->training.continued, sizeof config->training.continued);
}

/* What becomes of the learning rate where the run is to take another number of steps. */
static void print_schedule(const run_config *before, const run_config *now, int64_t step) {
  schedule old, new;
  if (before->training.steps == now->training.steps) return;
  schedule_read(before->training.continued, before->training.steps, &old);
  schedule_read(now->training.continued, now->training.steps, &new);
  const optimizer_config *o = &now->optimizer;
  fprintf(stderr,
          "phibal train: %lld steps, %lld were planned: from here on the learning rate is that of "
          "a run of %lld",
          (long long)new.steps, (long long)old.steps, (long long)new.steps);
  if (step > 0 && step < new.steps)
    fprintf(stderr, ", %.3g instead of %.3g", schedule_rate(&new, o, step),
            schedule_rate(&old, o, step - 1));
  fprintf(stderr, "; warm-up stays the first %lld steps\n", (long long)schedule_warmup(&new, o));
}

static void print_skipped(const char *lines) {
  for (const char *line = job.rank || !lines ? "" : lines; *line; line += strcspn(line, "\n") + 1)
    fprintf(stderr, "phibal train: skipped: %.*s\n", (int)strcspn(line, "\n"), line);
}

static int resume(const arguments *a) {
  static run_config config, before;
  static checkpoint from;
  char *skipped_checkpoints;
  if (checkpoint_newest(a->resume, &from, &skipped_checkpoints)) return fail();
  print_skipped(skipped_checkpoints);
  free(skipped_checkpoints);
  const int64_t step = from.step > 0 ? from.step : 0;
  int code = load_resumed(a, &from, &before, &config) ? fail() : -1;
  if (code < 0 && !a->quiet && !job.rank) {
    fprintf(stderr, "phibal train: %s after step %lld of %lld\n", a->resume, (long long)step,
            (long long)config.training.steps);
    print_schedule(&before, &config, step);
    if (step == config.training.steps)
      fprintf(stderr, "phibal train: all steps are done; --steps N continues to step N\n");
  }
  if (code < 0) code = run_or_estimate(&config, a, &from);
  checkpoint_close(&from);
  return code;
}

/* The run file; without one, that of the run whose weights are taken. Its plans and routes are its
   own. */
static phibal_status load_new(const arguments *a, run_config *config) {
  static config_override override[OVERRIDES_MAX + 3];
  char path[2 * CONFIG_TEXT_MAX];
  const char *from = NULL;
  for (size_t i = 0; i < a->overrides; i++)
    if (!strcmp(a->override[i].key, "training.from")) from = a->override[i].value;
  if (a->config) return run_config_load(a->config, a->override, a->overrides, config);
  if (!from || hf_is_checkpoint(from))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "--config is needed");
  snprintf(path, sizeof path, "%s/config.yaml", from);
  override[0] = (config_override){"training.continued", "", path};
  override[1] = (config_override){"training.record_routes", "", path};
  override[2] = (config_override){"training.replay_routes", "", path};
  memcpy(override + 3, a->override, a->overrides * sizeof *override);
  return run_config_load(path, override, a->overrides + 3, config);
}

/* The run whose weights are taken may be going on meanwhile. */
static phibal_status same_on_all_ranks(const char *path) {
  uint32_t hash = 2166136261u;
  for (const char *c = path; *c; c++) hash = (hash ^ (unsigned char)*c) * 16777619u;
  const int mine = (int)(hash >> 1);
  /* Each rank asks both. */
  const int largest = parallel_max(&job, mine), smallest = -parallel_max(&job, -mine);
  if (largest == smallest) return PHIBAL_OK;
  return phibal_status_set(
      PHIBAL_ERROR_IO,
      "training.from: the ranks found different checkpoints, this one '%s'; choose one", path);
}

static int train(const arguments *a) {
  static run_config config;
  if (a->resume) return resume(a);
  if (load_new(a, &config)) return usage();
  if (*config.training.from) {
    bool is_phibal;
    char *skipped_checkpoints;
    phibal_status status = trained_settle(config.training.from, &is_phibal, &skipped_checkpoints);
    print_skipped(status ? NULL : skipped_checkpoints);
    free(skipped_checkpoints);
    if (!status) status = same_on_all_ranks(config.training.from);
    if (status) return fail();
    if (is_phibal && !a->quiet && !job.rank)
      fprintf(stderr,
              "phibal train: the weights of %s; steps, learning rate, AdamW's moments, m and the "
              "data start afresh\n",
              config.training.from);
  }
  return run_or_estimate(&config, a, NULL);
}

int command_train(int argc, char **argv) {
  static arguments a;
  int code = read_arguments(argc, argv, &a);
  if (code >= 0) return code;
  if (parallel_begin(a.device != NULL, &job)) return fail();
  code = train(&a);
  if (code && code < 128) parallel_abort(&job, code); /* after a signal all ranks end alike */
  parallel_end(&job);
  return code;
}
