/* Compiling and loading generated kernels. */
#include "codegen.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <phibal/environment.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { MOST_ARGUMENTS = 48, MOST_TEXT = 4096 };

/* A command line; words of $CC are cut apart in `words`. */
typedef struct command {
  char words[1024];
  char *argument[MOST_ARGUMENTS + 1];
  int arguments;
} command;

static void command_add(command *c, const char *word) {
  if (c->arguments < MOST_ARGUMENTS) c->argument[c->arguments++] = (char *)word;
}

static phibal_status command_start(command *c) {
  const char *compiler = getenv("CC");
  if (!compiler || !compiler[strspn(compiler, " \t")]) compiler = "cc";
  *c = (command){0};
  if (strlen(compiler) >= sizeof c->words)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "CC is longer than %zu characters",
                             sizeof c->words - 1);
  strcpy(c->words, compiler);
  char *rest = NULL;
  for (char *word = strtok_r(c->words, " \t", &rest); word; word = strtok_r(NULL, " \t", &rest))
    command_add(c, word);
  return PHIBAL_OK;
}

/* The kernels' flags. The results are the same bits with and without the processor's fused
   multiply-add; only the time differs. */
static void command_add_flags(command *c) {
  static const char *const flags[] = {"-std=c17",
                                      "-O3",
                                      "-fPIC",
                                      "-shared",
                                      "-ffp-contract=off",
                                      "-fno-math-errno",
                                      "-fno-trapping-math",
                                      "-fvisibility=hidden"};
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) command_add(c, flags[i]);
#if defined(__x86_64__)
  if (__builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2")) {
    command_add(c, "-mfma");
    command_add(c, "-mavx2");
  }
#endif
}

/* Runs it with standard output and error cut to the first bytes in `text`; *code is its exit code.
 */
static phibal_status command_run(command *c, char *text, size_t size, int *code) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC))
    return phibal_status_set(PHIBAL_ERROR_IO, "running %s: %s", c->argument[0], strerror(errno));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
  c->argument[c->arguments] = NULL;
  pid_t child;
  int failed = posix_spawnp(&child, c->argument[0], &actions, NULL, c->argument, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  size_t used = 0;
  char scrap[512];
  for (ssize_t n; !failed;) {
    bool room = used + 1 < size;
    n = read(ends[0], room ? text + used : scrap, room ? size - 1 - used : sizeof scrap);
    if (n <= 0 && !(n < 0 && errno == EINTR)) break;
    if (n > 0 && room) used += (size_t)n;
  }
  text[used] = 0;
  close(ends[0]);
  if (failed)
    return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                             "no C compiler: '%s' cannot be run (%s); set CC or install one",
                             c->argument[0], strerror(failed));
  int state;
  while (waitpid(child, &state, 0) < 0)
    if (errno != EINTR)
      return phibal_status_set(PHIBAL_ERROR_IO, "running %s: %s", c->argument[0], strerror(errno));
  *code = WIFEXITED(state) ? WEXITSTATUS(state) : 128;
  return PHIBAL_OK;
}

/* The line of a compiler's messages that says most: the first that holds "error", or the first. */
static void main_line(char *text) {
  char *error = strstr(text, "error");
  while (error && error > text && error[-1] != '\n') error--;
  if (error) memmove(text, error, strlen(error) + 1);
  text[strcspn(text, "\n")] = 0;
}

/* A folder of this user's alone, for as long as a kernel is compiled. What is loaded as code must
   come from where nobody else can put anything: no cache outlives the command, and $TMPDIR (or
   /tmp) must be a folder in which others cannot rename it. */
phibal_status codegen_folder(char *path, size_t size) {
  const char *parent = getenv("TMPDIR");
  struct stat s;
  if (!parent || parent[0] != '/') parent = "/tmp";
  if (stat(parent, &s))
    return phibal_status_set(PHIBAL_ERROR_IO, "no place to compile a kernel in: '%s': %s", parent,
                             strerror(errno));
  bool shared = (s.st_mode & (S_IWGRP | S_IWOTH)) && !(s.st_mode & S_ISVTX);
  if (!S_ISDIR(s.st_mode) || shared || (s.st_uid != 0 && s.st_uid != geteuid()))
    return phibal_status_set(PHIBAL_ERROR_IO,
                             "no kernel is compiled in '%.200s', where others could replace it: "
                             "set TMPDIR to a folder of your own",
                             parent);
  int n = snprintf(path, size, "%s/phibal-XXXXXX", parent);
  if (n < 0 || (size_t)n >= size)
    return phibal_status_set(PHIBAL_ERROR_IO, "the path of TMPDIR is too long");
  if (!mkdtemp(path)) /* mode 0700 */
    return phibal_status_set(PHIBAL_ERROR_IO, "no place to compile a kernel in: '%s': %s", parent,
                             strerror(errno));
  return PHIBAL_OK;
}

uint64_t codegen_hash(const char *text) {
  uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
  for (; *text; text++) hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
  return hash;
}

static phibal_status write_source(const char *path, const char *text) {
  FILE *file = fopen(path, "wxe");
  bool good = file && fputs(text, file) >= 0;
  if (file && fclose(file)) good = false;
  if (good) return PHIBAL_OK;
  return phibal_status_set(PHIBAL_ERROR_IO, "'%s': %s", path, strerror(errno));
}

static phibal_status compile(const char *source, const char *object) {
  command c;
  char answer[MOST_TEXT];
  int code = 0;
  phibal_status status = command_start(&c);
  if (status) return status;
  command_add_flags(&c);
  command_add(&c, "-o");
  command_add(&c, object);
  command_add(&c, source);
  command_add(&c, "-lm");
  status = command_run(&c, answer, sizeof answer, &code);
  if (status || code == 0) return status;
  main_line(answer);
  return phibal_status_set(PHIBAL_ERROR_IO, "%s cannot compile the kernel: %s", c.argument[0],
                           *answer ? answer : "it says nothing");
}

static phibal_status open_library(const char *object, codegen_kernel *k) {
  struct {
    const char *name;
    void *to;
  } functions[] = {{"phi_price", &k->price},
                   {"phi_price_centred", &k->price_centred},
                   {"phi_examine", &k->examine},
                   {"phi_examine_centred", &k->examine_centred},
                   {"phi_sweep", &k->sweep}};
  /* What was set before is not the kernel's doing, and what it has changed is not forgotten. */
  phibal_status status = phibal_environment_check("loading a kernel");
  if (status) return status;
  k->library = dlopen(object, RTLD_NOW | RTLD_LOCAL);
  if (!k->library) return phibal_status_set(PHIBAL_ERROR_IO, "loading a kernel: %s", dlerror());
  const char *changed = phibal_environment_changed();
  if (changed) {
    phibal_environment_reset();
    return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                             "the kernel that the compiler makes sets %s when it is loaded: is "
                             "-ffast-math in CC?",
                             changed);
  }
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    void *address = dlsym(k->library, functions[i].name);
    if (!address)
      return phibal_status_set(PHIBAL_ERROR_FORMAT, "a compiled kernel has no function %s",
                               functions[i].name);
    memcpy(functions[i].to, &address, sizeof address);
  }
  return PHIBAL_OK;
}

phibal_status codegen_load_source(const char *text, codegen_kernel *kernel) {
  char folder[MOST_TEXT], source[MOST_TEXT + 16], object[MOST_TEXT + 16];
  *kernel = (codegen_kernel){0};
  phibal_status status = codegen_folder(folder, sizeof folder);
  if (status) return status;
  snprintf(source, sizeof source, "%s/kernel.c", folder);
  snprintf(object, sizeof object, "%s/kernel.so", folder);
  status = write_source(source, text);
  if (!status) status = compile(source, object);
  if (!status) status = open_library(object, kernel);
  unlink(source); /* what is loaded stays mapped */
  unlink(object);
  rmdir(folder);
  if (status) codegen_close(kernel);
  return status;
}

phibal_status codegen_load(phi_potential *phi, const phibal_enclosure *parameters,
                           codegen_kernel *kernel) {
  *kernel = (codegen_kernel){0};
  char *text;
  phibal_status status = codegen_source(phi, parameters, &text);
  if (!status) status = codegen_load_source(text, kernel);
  free(text);
  return status;
}

void codegen_close(codegen_kernel *kernel) {
  if (kernel->library) dlclose(kernel->library);
  *kernel = (codegen_kernel){0};
}
