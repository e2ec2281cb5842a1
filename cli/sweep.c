/* `phibal sweep`: a grid of training runs, gone on with where it was left. */
#include "commands.h"
#include "formats/file.h"
#include "moe/report/sweep.h"
#include "train_potential.h"
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: phibal sweep FILE [options]\n\n"
    "Runs every point of a grid with every seed, and prints mean and deviation over seeds.\n"
    "Finished runs are kept and unfinished ones are resumed, so the same command continues a\n"
    "sweep that was stopped. Results are in OUT/sweep.json.\n\n"
    "  --dry-run   list the runs without training\n"
    "  --table     print the results so far without training\n"
    "  --seeds N   only the first N seeds\n"
    "  --part I/N  only every N-th run from the I-th on: N processes share a sweep\n"
    "  --force     train even if the audit refutes a potential from a file\n"
    "  --json      print sweep.json instead of the table\n"
    "  --quiet     no progress\n\n"
    "All points are run with the first seed, then with the second, and so on.\n"
    "A run whose loss or gradient is not finite is left out, and the exit status is then 1. An\n"
    "interrupt (Ctrl-C), SIGTERM and SIGUSR1 end the sweep after the current step, with a\n"
    "checkpoint, and the exit status is 130, 143 or 138.";

typedef struct arguments {
  const char *file;
  long long seeds, part, parts; /* 0: all */
  bool dry_run, table, json, quiet, force;
} arguments;

typedef struct display {
  const arguments *a;
  char folder[CONFIG_TEXT_MAX]; /* of the run at hand */
  train_potential potential;
  bool loaded;
} display;

static volatile sig_atomic_t interrupted, stopping_signal;
static void interrupt(int number) {
  stopping_signal = number;
  interrupted = TRAIN_STOP_AT_ONCE;
}

static int fail(void) {
  fprintf(stderr, "phibal sweep: %s\n", phibal_status_message());
  return 2;
}

static phibal_status prepare(void *context, run_config *config) {
  display *d = context;
  if (!balance_has_potential(config->balance.method) || !*config->potential_file) return PHIBAL_OK;
  phibal_status status =
      train_potential_load(config, d->folder, NULL, d->a->force, stderr, &d->potential);
  d->loaded = !status;
  return status;
}

static void release(void *context) {
  display *d = context;
  if (d->loaded) train_potential_close(&d->potential);
  d->loaded = false;
}

static void begins(void *context, int64_t run, int64_t runs, const char *folder, bool done) {
  display *d = context;
  snprintf(d->folder, sizeof d->folder, "%s", folder);
  if (!d->a->quiet)
    fprintf(stderr, "%lld/%lld %s%s\n", (long long)run + 1, (long long)runs, folder,
            done ? ": is there" : "");
}

static void failed(void *context, const char *folder) {
  (void)context;
  command_say("sweep", "%s: %s", folder, phibal_status_message());
}

static int list_runs(const sweep *s, const sweep_options *options) {
  run_config *config = malloc(sizeof *config);
  int code = 0;
  for (int64_t r = 0; r < s->points * (int64_t)s->seed_count && !code; r++) {
    char folder[CONFIG_TEXT_MAX];
    int64_t point;
    size_t seed;
    if (!sweep_run_number(s, options, r, &point, &seed)) continue;
    sweep_folder(s, point, seed, folder);
    if (!config || sweep_config(s, point, seed, config))
      code = fail();
    else
      puts(folder);
  }
  free(config);
  return code;
}

static phibal_status write_results(const sweep *s, bool save, json_t **results) {
  phibal_status status = sweep_results(s, results);
  if (status || !save) return status;
  char *path = string_format("%s/sweep.json", s->out);
  char *text = json_dumps(*results, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
  status = path && text ? file_write(path, text, strlen(text))
                        : phibal_status_set(PHIBAL_ERROR_MEMORY, "out of memory");
  free(path);
  free(text);
  return status;
}

static int run(const sweep *s, const arguments *a) {
  display d = {.a = a};
  const sweep_options options = {.stop = &interrupted,
                                 .context = &d,
                                 .seeds = (size_t)a->seeds,
                                 .part = a->part - 1,
                                 .parts = a->parts,
                                 .prepare = prepare,
                                 .release = release,
                                 .begins = begins,
                                 .failed = failed};
  if (a->dry_run) return list_runs(s, &options);
  struct sigaction action = {.sa_handler = interrupt, .sa_flags = (int)SA_RESETHAND};
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
  sigaction(SIGUSR1, &action, NULL);
  int64_t failures = 0;
  if (!a->table && sweep_run(s, &options, &failures)) return fail();
  json_t *results = NULL;
  if (write_results(s, !a->table, &results)) {
    json_decref(results);
    return fail();
  }
  if (a->json) {
    json_dumpf(results, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
    putchar('\n');
  } else {
    sweep_print(stdout, results);
  }
  json_decref(results);
  if (interrupted) {
    fprintf(stderr, "phibal sweep: stopped; repeat the command to continue\n");
    return 128 + stopping_signal;
  }
  return failures ? 1 : 0;
}

static const struct option options[] = {{"dry-run", no_argument, NULL, 'n'},
                                        {"table", no_argument, NULL, 't'},
                                        {"seeds", required_argument, NULL, 's'},
                                        {"part", required_argument, NULL, 'p'},
                                        {"force", no_argument, NULL, 'f'},
                                        {"json", no_argument, NULL, 'j'},
                                        {"quiet", no_argument, NULL, 'q'},
                                        {"help", no_argument, NULL, 'h'},
                                        {0}};

const command_manual manual_sweep = {
    .name = "sweep", .text = help, .options = options, .operands = "FILE"};

/* "I/N", 1 <= I <= N */
static bool read_part(const char *text, arguments *a) {
  char first[32];
  const size_t n = strcspn(text, "/");
  snprintf(first, sizeof first, "%.*s", (int)(n < 31 ? n : 31), text);
  if (!text[n]) {
    command_usage_error("sweep", "--part '%s': expected I/N", text);
    return false;
  }
  return command_read_whole("sweep", "--part", text + n + 1, 1, 1 << 20, &a->parts) &&
         command_read_whole("sweep", "--part", first, 1, a->parts, &a->part);
}

int command_sweep(int argc, char **argv) {
  arguments a = {0};
  for (int c; (c = command_option(&manual_sweep, argc, argv, NULL)) != -1;) switch (c) {
    case 'n':
      a.dry_run = true;
      break;
    case 't':
      a.table = true;
      break;
    case 's':
      if (!command_read_whole("sweep", "--seeds", optarg, 1, 1 << 20, &a.seeds)) return 2;
      break;
    case 'p':
      if (!read_part(optarg, &a)) return 2;
      break;
    case 'f':
      a.force = true;
      break;
    case 'j':
      a.json = true;
      break;
    case 'q':
      a.quiet = true;
      break;
    case 'h':
      return command_help(&manual_sweep);
    default:
      return command_unknown_option("sweep", argv, manual_sweep.options);
    }
  if (argc - optind != 1) return command_usage_error("sweep", "expected one sweep file");
  sweep s;
  if (sweep_read(argv[optind], &s)) return fail();
  int code = run(&s, &a);
  sweep_free(&s);
  return code;
}
