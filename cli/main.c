/* `phibal <command> [options]`: finds the command and hands over; what it prints has been written
   when the exit status is 0 or 1. */
#include "commands.h"
#include "build_features.h"
#include "formats/near_name.h"
#include "process_state.h"
#include <phibal/environment.h>
#include <phibal/isa.h>
#include <phibal/potential.h>
#include <phibal/text.h>
#if PHIBAL_HAVE_REFERENCE
#include "verify/plugin_worker.h"
#endif
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <unistd.h>

typedef struct command {
  const char *name;
  phibal_command run; /* null where this build leaves it out (see commands.h) */
  const command_manual *manual;
  const char *summary;
} command;

static const command commands[] = {
    {"info", command_info, &manual_info, "build features and versions, or what a model is"},
    {"eval", command_eval, &manual_eval,
     "evaluate a potential or a mirror step to guaranteed digits"},
    {"audit", command_audit, &manual_audit, "certify a potential, built-in or your own"},
    {"verify", command_verify, &manual_verify, "test kernels against the reference"},
    {"vectors", command_vectors, &manual_vectors,
     "write test vectors: inputs, expected outputs, bounds"},
    {"judge", command_judge, &manual_judge, "judge results against test vectors"},
    {"data", command_data, &manual_data, "make token files from text or Debian packages"},
    {"train", command_train, &manual_train, "train a mixture-of-experts model"},
    {"sweep", command_sweep, &manual_sweep, "run a grid of training runs, with means over seeds"},
    {"eval-model", command_eval_model, &manual_eval_model,
     "evaluate a trained model: loss, balance, multiple choice"},
    {"generate", command_generate, &manual_generate, "continue a text with a trained model"},
    {"export", command_export, &manual_export, "export a trained model to Hugging Face format"},
    {"report", command_report, &manual_report, "write an HTML report of runs or of a sweep"},
    {"plan", command_plan, &manual_plan, "plan tokens, steps and hours by the paper's scaling law"},
    {"compare", command_compare, &manual_compare, "compare the final tables of several runs"},
    {"bench", command_bench, &manual_bench, "benchmark training steps"},
};

enum { COMMANDS = sizeof commands / sizeof *commands };

static void print_help(FILE *to) {
  fputs("usage: phibal <command> [options]\n\n", to);
  for (int i = 0; i < COMMANDS; i++)
    fprintf(to, "  %-10s %s%s\n", commands[i].name, commands[i].summary,
            commands[i].run ? "" : " (not in this build: no MPFR)");
  fputs("\nSee `phibal <command> --help`. Exit status: 0 success, 1 a check failed, 2 usage, input "
        "or output error.\n",
        to);
}

/* As phibal_text_show has it, to be freed; null when out of memory. */
static char *text_shown(const char *text) {
  const size_t room = 6 * strlen(text) + 1;
  char *shown = malloc(room);
  if (shown) phibal_text_show(text, shown, room);
  return shown;
}

static int unknown_command(const char *name) {
  near_name near = {.wrong = name, .wrong_length = strlen(name)};
  char *shown = text_shown(name);
  fprintf(stderr, "phibal: unknown command '%s'", shown ? shown : "");
  free(shown);
  for (int i = 0; i < COMMANDS; i++)
    near_name_consider(&near, commands[i].name, strlen(commands[i].name));
  if (near.text) fprintf(stderr, "; perhaps '%s'", near.text);
  fputs("\ncommands:", stderr);
  for (int i = 0; i < COMMANDS; i++) fprintf(stderr, " %s", commands[i].name);
  fputs("\n'phibal --help' says what they do\n", stderr);
  return 2;
}

static void say(const char *name, const char *format, va_list arguments) {
  char *text = NULL;
  if (vasprintf(&text, format, arguments) < 0) text = NULL;
  char *shown = text ? text_shown(text) : NULL;
  fprintf(stderr, "phibal %s: %s\n", name, shown ? shown : "out of memory");
  free(shown);
  free(text);
}

void command_say(const char *name, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  say(name, format, arguments);
  va_end(arguments);
}

int command_usage_error(const char *name, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  say(name, format, arguments);
  fprintf(stderr, "try 'phibal %s --help'\n", name);
  va_end(arguments);
  return 2;
}

bool command_read_whole(const char *command, const char *option, const char *text, long long low,
                        long long high, long long *value) {
  char *end;
  errno = 0;
  *value = strtoll(text, &end, 10);
  if (*text && !*end && !errno && *value >= low && *value <= high) return true;
  command_usage_error(command, "%s '%s': expected an integer from %lld to %lld", option, text, low,
                      high);
  return false;
}

bool command_read_real(const char *command, const char *option, const char *text, double low,
                       double high, double *value) {
  char *end;
  *value = strtod(text, &end);
  if (*text && !*end && *value >= low && *value <= high) return true;
  command_usage_error(command, "%s '%s': expected a number from %g to %g", option, text, low, high);
  return false;
}

void command_print_potentials(int indent) {
  enum { COLUMNS = 88 };
  int column = COLUMNS;
  for (int id = 0; id < PHIBAL_POTENTIAL_COUNT; id++) {
    const phibal_potential_info *p = phibal_potential_describe((phibal_potential_id)id);
    char item[64];
    int n = snprintf(item, sizeof item, p->parameter[0] ? "%s (%s)%s" : "%s%.0s%s", p->name,
                     p->parameter, id + 1 < PHIBAL_POTENTIAL_COUNT ? ";" : "");
    if (column + 1 + n > COLUMNS) {
      printf("%s%*s", id ? "\n" : "", indent, "");
      column = indent - 1;
    } else {
      putchar(' ');
    }
    fputs(item, stdout);
    column += 1 + n;
  }
  putchar('\n');
}

void command_clear_line(void) {
  static const char again[] = "\r\033[K";
  fflush(stderr);
  (void)!write(STDERR_FILENO, again, sizeof again - 1);
}

const char *const command_potential_names[] = {
#define PHIBAL_POTENTIAL(ID, stem, name, parameter, low, high, fallback, separable, floored) name,
#include <phibal/potentials.def>
#undef PHIBAL_POTENTIAL
    NULL};

const char *const command_operation_names[] = {
#define PHIBAL_OPERATION(ID, name, stem, kinds, potentials, pairs, cases) name,
#include <phibal/ops.def>
    NULL};

const char *const command_format_names[] = {"binary64", "binary32", "bfloat16", "binary16", NULL};

int command_option(const command_manual *m, int argc, char **argv, int *row) {
  return getopt_long(argc, argv, ":", m->options, row);
}

int command_help(const command_manual *m) {
  if (!m->text)
    m->print();
  else
    fputs(m->text, stdout), fputs(m->text[strlen(m->text) - 1] == '\n' ? "" : "\n", stdout);
  return 0;
}

int command_unknown_option(const char *name, char *const *argv, const struct option *options) {
  const char *wrong = argv[optind - 1], *text = wrong + strspn(wrong, "-");
  near_name near = {.wrong = text, .wrong_length = strcspn(text, "=")};
  for (; options->name; options++) near_name_consider(&near, options->name, strlen(options->name));
  if (near.text && near.edits)
    return command_usage_error(name, "unknown option '%s'; perhaps '--%s'", wrong, near.text);
  return command_usage_error(name, "unknown option '%s'", wrong);
}

/* Standard output. An answer that could not be written is status 2 and one line, whatever the
   command itself would have said. So the first error is kept until the end, where stdio would know
   that there was one but not which; the stream is the command's own.

   SIGPIPE stays as phibal was started with it: by default `phibal train --keys | head -1` ends
   there in silence, as other filters do. Where the one who started phibal ignores the signal, a
   reader who left is status 2 without a line: nobody waits for the rest.

   Nothing in phibal calls exit(); a library that does must not end a command as if it were done.

   Names of files, tensors, runs and whatever else came from outside are in what is printed. No
   character of it but the end of a line and a tab has a meaning to a terminal: the rest is shown as
   phibal_text_show does, on standard error too. In JSON that is the same text. */
typedef struct shown_stream {
  int fd;
  char left[4]; /* the beginning of a character whose end was not written yet */
  size_t left_bytes;
} shown_stream;

static struct {
  const char *command;
  int error; /* errno of the first write that failed */
  bool returned;
  shown_stream out, err;
} output = {.command = "", .out = {.fd = STDOUT_FILENO}, .err = {.fd = STDERR_FILENO}};

static void write_shown(const shown_stream *to, const char *bytes, size_t count) {
  size_t done = 0;
  while (done < count && (to->fd != STDOUT_FILENO || !output.error)) {
    const ssize_t n = write(to->fd, bytes + done, count - done);
    if (n >= 0)
      done += (size_t)n;
    else if (errno != EINTR && to->fd != STDOUT_FILENO)
      return;
    else if (errno != EINTR)
      output.error = errno;
  }
}

static ssize_t write_output(void *cookie, const char *bytes, size_t count) {
  shown_stream *to = cookie;
  char shown[4096];
  size_t used = 0, at = 0;
  while (at < count) {
    char one[PHIBAL_SHOWN], start[8];
    size_t n;
    if (used > sizeof shown - PHIBAL_SHOWN) write_shown(to, shown, used), used = 0;
    if (to->left_bytes) {
      memcpy(start, to->left, to->left_bytes);
      start[to->left_bytes] = bytes[at];
      n = phibal_character_show(start, to->left_bytes + 1, one);
      if (!n) {
        to->left[to->left_bytes++] = bytes[at++];
        continue;
      }
      /* One byte of what was kept turned out to be none of UTF-8, or all of it is a character. */
      at += n > to->left_bytes;
      const size_t kept = n > to->left_bytes ? 0 : to->left_bytes - n;
      memmove(to->left, to->left + n, kept);
      to->left_bytes = kept;
    } else if (bytes[at] == '\n' || bytes[at] == '\t') {
      one[0] = bytes[at++], one[1] = 0;
    } else {
      n = phibal_character_show(bytes + at, count - at, one);
      if (!n) {
        to->left_bytes = count - at;
        memcpy(to->left, bytes + at, count - at);
        break;
      }
      at += n;
    }
    const size_t length = strlen(one);
    memcpy(shown + used, one, length);
    used += length;
  }
  write_shown(to, shown, used);
  return to->fd == STDOUT_FILENO && output.error ? 0 : (ssize_t)count;
}

static void end_output(int status, void *unused) {
  (void)unused;
  const char *space = *output.command ? " " : "";
  fflush(stdout);
  for (size_t i = 0; i < output.out.left_bytes; i++) {
    char byte[8];
    write_shown(&output.out, byte,
                (size_t)snprintf(byte, sizeof byte, "\\x%02x", (unsigned char)output.out.left[i]));
  }
  /* Some file systems say only here that there was no space. */
  if (close(STDOUT_FILENO) && !output.error) output.error = errno;
  if (output.error && output.error != EPIPE)
    fprintf(stderr, "phibal%s%s: standard output: %s\n", space, output.command,
            strerror(output.error));
  const bool wrong = !output.returned && status < 2; /* neither good nor an answer */
  if (wrong)
    fprintf(stderr, "phibal%s%s: a library called exit(%d) before the end\n", space, output.command,
            status);
  if (output.error || wrong) _exit(2);
}

static void begin_output(void) {
  /* A closed descriptor would go to the next file that is opened, and get what is printed. These
     refuse instead: reading from 0, writing to 1. */
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
    if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
      (void)!open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_WRONLY);
  const cookie_io_functions_t functions = {.write = write_output};
  FILE *stream = fopencookie(&output.out, "w", functions);
  FILE *errors = fopencookie(&output.err, "w", functions);
  if (stream) {
    if (isatty(STDOUT_FILENO)) setvbuf(stream, NULL, _IOLBF, BUFSIZ);
    stdout = stream;
  }
  if (errors) {
    setvbuf(errors, NULL, _IONBF, 0);
    stderr = errors;
  }
  on_exit(end_output, NULL);
}

/* Threads that spin for long at the end of a parallel region take the core from the one they wait
   for as soon as anything else runs on the machine; threads that sleep at once wake too late for
   the next region, tens of microseconds away. On two cores `phibal bench` makes, alone and beside
   two busy loops: 25 000 and 17 000 tokens a second without spinning, 31 000 and 14 000 with about
   10 000 turns of it, 32 000 and 9 000 or less with the runtime's own 300 000. The OpenMP runtimes
   (GNU's; LLVM's counts milliseconds) read their settings before main. */
static bool wait_briefly(void) {
  if (getenv("OMP_WAIT_POLICY") || getenv("GOMP_SPINCOUNT") || getenv("KMP_BLOCKTIME"))
    return false;
  return !setenv("GOMP_SPINCOUNT", "10000", 0) && !setenv("KMP_BLOCKTIME", "0", 0);
}

/* Libraries that read the environment before main get it as it ought to be in a second start; in
   that nothing is left to ask for. Where it fails the first goes on. */
static void reexec(char **argv) {
  const bool waits = wait_briefly(), larger = process_state_request();
  if (waits || larger) execv("/proc/self/exe", argv);
}

/* A result whose surroundings changed while it was computed is none. An error has its line,
   which names the floating-point environment where that was the cause. */
static int run_command(const command *c, int argc, char **argv) {
  if (c->run == command_info)
    return c->run(argc, argv); /* computes nothing, and says what is wrong */
  if (phibal_isa_check() != PHIBAL_OK) {
    fprintf(stderr, "phibal %s: %s\n", c->name, phibal_status_message());
    return 2;
  }
  int status = c->run(argc, argv);
  const char *changed = process_state_changed();
  if (!changed || (status >= 2 && phibal_environment_check(c->name))) return status;
  fprintf(stderr, "phibal %s: do not trust its output: %s\n", c->name, changed);
  return 2;
}

/* `phibal help [COMMAND [PART]]`, and what the build makes of the same texts:
   `phibal help --man [COMMAND [PART]]` and `phibal help --completion bash|zsh`. */
static int command_help_about(int argc, char **argv) {
  manual_command all[COMMANDS];
  for (int i = 0; i < COMMANDS; i++)
    all[i] = (manual_command){commands[i].name, commands[i].summary,
                              commands[i].run ? commands[i].manual : NULL};
  const char *mode = argc > 1 && !strncmp(argv[1], "--", 2) ? argv[1] : NULL;
  char **words = argv + (mode ? 2 : 1);
  const int count = argc - (mode ? 2 : 1);
  phibal_status status;
  if (mode && !strcmp(mode, "--completion") && count == 1) {
    status = manual_write_completion(stdout, words[0], all, COMMANDS);
    return status ? command_usage_error("help", "%s", phibal_status_message()) : 0;
  }
  if ((mode && strcmp(mode, "--man")) || count > 2)
    return command_usage_error("help", "[COMMAND], --man [COMMAND], or --completion bash or zsh");
  if (!count && !mode) {
    print_help(stdout);
    return 0;
  }
  status = count ? PHIBAL_OK : manual_write_main(stdout, all, COMMANDS);
  const command_manual *m = NULL;
  const char *summary = "";
  for (int i = 0; count && i < COMMANDS; i++)
    if (!strcmp(words[0], all[i].name)) m = all[i].manual, summary = all[i].summary;
  if (count && !m) return unknown_command(words[0]);
  if (count == 2) {
    const command_manual *const *part = m->parts;
    while (part && *part && strcmp(strrchr((*part)->name, ' ') + 1, words[1])) part++;
    if (!part || !*part) return unknown_command(words[1]);
    m = *part, summary = m->summary;
  }
  if (m && !mode) return command_help(m);
  if (m) status = manual_write_page(stdout, summary, m);
  return status ? command_usage_error("help", "%s", phibal_status_message()) : 0;
}

static int run(int argc, char **argv) {
  if (argc < 2) {
    print_help(stderr);
    return 2;
  }
  if (!strcmp(argv[1], "help")) return command_help_about(argc - 1, argv + 1);
  if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
    print_help(stdout);
    return 0;
  }
  if (!strcmp(argv[1], "--version")) {
    puts("phibal " PHIBAL_VERSION);
    return 0;
  }
  for (int i = 0; i < COMMANDS; i++)
    if (!strcmp(argv[1], commands[i].name)) {
      output.command = commands[i].name;
      if (commands[i].run) return run_command(&commands[i], argc - 1, argv + 1);
      fprintf(stderr, "phibal %s: not in this build, which was made without MPFR\n", argv[1]);
      return 2;
    }
  return unknown_command(argv[1]);
}

int main(int argc, char **argv) {
  reexec(argv);
  signal(SIGXFSZ, SIG_IGN); /* beyond `ulimit -f` a write fails, and is named */
#if PHIBAL_HAVE_REFERENCE
  if (argc == 3 && !strcmp(argv[1], "--plugin-worker")) return plugin_worker(argv[2]);
#endif
  if (!process_state_reset()) return 2;
  begin_output();
  const int status = run(argc, argv);
  output.returned = true;
  return status;
}
