/* `phibal <command> [options]`: finds the command and hands over. */
#include "commands.h"
#include "build_features.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct command {
  const char *name;
  phibal_command run; /* null where this build leaves it out (see commands.h) */
  const char *summary;
} command;

static const command commands[] = {
    {"info", command_info, "what was built in, what was left out, versions"},
    {"eval", command_eval, "a potential or a mirror step, to guaranteed digits"},
    {"audit", command_audit, "a certificate about a potential, built-in or your own"},
    {"verify", command_verify, "the kernels against the reference"},
    {"vectors", command_vectors, "golden vectors: cases with what is right, as files"},
    {"judge", command_judge, "somebody's results against golden vectors"},
    {"data", command_data, "text to token files; a corpus from Debian's packages"},
    {"train", command_train, "train a mixture-of-experts model"},
    {"sweep", command_sweep, "a grid of training runs, with means over seeds"},
    {"eval-model", command_eval_model, "loss, balance and multiple choice of a trained model"},
    {"export", command_export, "a trained model in Hugging Face's layout"},
    {"report", command_report, "a page with curves, loads and tables of runs or of a sweep"},
    {"plan", command_plan, "tokens, steps and hours by the paper's scaling law"},
    {"compare", command_compare, "the final tables of several runs, side by side"},
    {"bench", command_bench, "tokens a second, and where the time goes"},
};

static void print_help(FILE *to) {
  fputs("usage: phibal <command> [options]\n\n", to);
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
    fprintf(to, "  %-10s %s%s\n", commands[i].name, commands[i].summary,
            commands[i].run ? "" : " (not in this build: no MPFR)");
  fputs("\n`phibal <command> --help` says more. Exit status: 0 good, 1 the answer is no, "
        "2 usage or input error.\n",
        to);
}

int command_usage_error(const char *name, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fprintf(stderr, "phibal %s: ", name);
  vfprintf(stderr, format, arguments);
  fprintf(stderr, "\ntry 'phibal %s --help'\n", name);
  va_end(arguments);
  return 2;
}

/* Threads that spin for long at the end of a parallel region take the core from the one they wait
   for as soon as anything else runs on the machine; threads that sleep at once wake too late for
   the next region, tens of microseconds away. On two cores `phibal bench` makes, alone and beside
   two busy loops: 25 000 and 17 000 tokens a second without spinning, 31 000 and 14 000 with about
   10 000 turns of it, 32 000 and 9 000 or less with the runtime's own 300 000. The OpenMP runtimes
   (GNU's; LLVM's counts milliseconds) read their settings before main, hence the second start;
   where that fails the first goes on. */
static void wait_briefly(char **argv) {
  if (getenv("OMP_WAIT_POLICY") || getenv("GOMP_SPINCOUNT") || getenv("KMP_BLOCKTIME")) return;
  if (!setenv("GOMP_SPINCOUNT", "10000", 0) && !setenv("KMP_BLOCKTIME", "0", 0))
    execv("/proc/self/exe", argv);
}

int main(int argc, char **argv) {
  wait_briefly(argv);
  if (argc < 2) {
    print_help(stderr);
    return 2;
  }
  if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
    print_help(stdout);
    return 0;
  }
  if (!strcmp(argv[1], "--version")) {
    puts("phibal " PHIBAL_VERSION);
    return 0;
  }
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
    if (!strcmp(argv[1], commands[i].name)) {
      if (commands[i].run) return commands[i].run(argc - 1, argv + 1);
      fprintf(stderr, "phibal %s: not in this build, which was made without MPFR\n", argv[1]);
      return 2;
    }
  fprintf(stderr, "phibal: unknown command '%s'\n", argv[1]);
  print_help(stderr);
  return 2;
}
