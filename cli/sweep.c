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
    "  --force     train even if the audit refutes a potential from a file\n"
    "  --json      print sweep.json instead of the table\n"
    "  --quiet     no progress\n\n"
    "A run whose loss or gradient is not finite is left out, and the exit status is then 1. An\n"
    "interrupt (Ctrl-C), SIGTERM and SIGUSR1 end the sweep after the current step, with a\n"
    "checkpoint, and the exit status is 130, 143 or 138.";

typedef struct arguments {
  const char *file;
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

static int list_runs(const sweep *s) {
  run_config *config = malloc(sizeof *config);
  int code = 0;
  for (int64_t p = 0; p < s->points && !code; p++)
    for (size_t i = 0; i < s->seed_count && !code; i++) {
      char folder[CONFIG_TEXT_MAX];
      sweep_folder(s, p, i, folder);
      if (!config || sweep_config(s, p, i, config))
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
  const sweep_options options = {&interrupted, &d, prepare, release, begins, failed, NULL};
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
                                        {"force", no_argument, NULL, 'f'},
                                        {"json", no_argument, NULL, 'j'},
                                        {"quiet", no_argument, NULL, 'q'},
                                        {"help", no_argument, NULL, 'h'},
                                        {0}};

const command_manual manual_sweep = {
    .name = "sweep", .text = help, .options = options, .operands = "FILE"};

int command_sweep(int argc, char **argv) {
  arguments a = {0};
  for (int c; (c = command_option(&manual_sweep, argc, argv, NULL)) != -1;) switch (c) {
    case 'n':
      a.dry_run = true;
      break;
    case 't':
      a.table = true;
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
  int code = a.dry_run ? list_runs(&s) : run(&s, &a);
  sweep_free(&s);
  return code;
}
