/* Compiling and loading generated kernels, with a cache. */
#include "codegen.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
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

static phibal_status make_folder(const char *path) {
  if (mkdir(path, 0700) == 0 || errno == EEXIST) return PHIBAL_OK;
  return phibal_status_set(PHIBAL_ERROR_IO, "kernel cache '%s': %s", path, strerror(errno));
}

static phibal_status cache_folder(char *path, size_t size) {
  const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  int n;
  phibal_status status = PHIBAL_OK;
  if (cache && cache[0] == '/') {
    n = snprintf(path, size, "%s", cache);
  } else if (home && home[0] == '/') {
    n = snprintf(path, size, "%s/.cache", home);
  } else {
    return phibal_status_set(
        PHIBAL_ERROR_IO, "no place for compiled kernels: neither XDG_CACHE_HOME nor HOME is set");
  }
  if (n < 0 || (size_t)n + sizeof "/phibal" > size)
    return phibal_status_set(PHIBAL_ERROR_IO, "the path of the kernel cache is too long");
  status = make_folder(path);
  strcat(path, "/phibal");
  return status ? status : make_folder(path);
}

uint64_t codegen_hash(const char *text) {
  uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
  for (; *text; text++) hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
  return hash;
}

/* The source, and above it what else decides the compiled file. */
static phibal_status keyed_source(const char *text, char **keyed) {
  command version, flags;
  char answer[1024];
  int code;
  phibal_status status = command_start(&version);
  if (!status) status = command_start(&flags);
  if (status) return status;
  command_add(&version, "--version");
  status = command_run(&version, answer, sizeof answer, &code);
  if (status) return status;
  command_add_flags(&flags);
  for (char *end; (end = strstr(answer, "*/"));) *end = ' ';
  size_t length;
  FILE *file = open_memstream(keyed, &length);
  if (!file) return phibal_status_set(PHIBAL_ERROR_MEMORY, "no memory for a kernel's text");
  fputs("/*", file);
  for (int i = 0; i < flags.arguments; i++) fprintf(file, " %s", flags.argument[i]);
  fprintf(file, "\n%s*/\n%s", answer, text);
  if (fclose(file) == 0) return PHIBAL_OK;
  return phibal_status_set(PHIBAL_ERROR_MEMORY, "no memory for a kernel's text");
}

/* Whether the file holds exactly this text. */
static bool file_is(const char *path, const char *text) {
  FILE *file = fopen(path, "rb");
  if (!file) return false;
  bool same = true;
  char block[4096];
  for (size_t n; same && (n = fread(block, 1, sizeof block, file)) > 0; text += n)
    same = strlen(text) >= n && memcmp(block, text, n) == 0;
  same = same && !*text && !ferror(file);
  fclose(file);
  return same;
}

static phibal_status write_file(int descriptor, const char *path, const char *text) {
  size_t length = strlen(text), done = 0;
  for (ssize_t n; done < length; done += (size_t)n) {
    n = write(descriptor, text + done, length - done);
    if (n < 0 && errno == EINTR) n = 0;
    if (n < 0) return phibal_status_set(PHIBAL_ERROR_IO, "'%s': %s", path, strerror(errno));
  }
  return PHIBAL_OK;
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

/* Compiles under names of its own and renames: another process sees all of it or nothing, the
   object first, so that a source in the cache has its object. */
static phibal_status compile_into(const char *stem, const char *text) {
  char source[MOST_TEXT], object[MOST_TEXT], to[MOST_TEXT];
  snprintf(source, sizeof source, "%s.XXXXXX.c", stem);
  int descriptor = mkostemps(source, 2, O_CLOEXEC);
  if (descriptor < 0)
    return phibal_status_set(PHIBAL_ERROR_IO, "kernel cache '%s': %s", source, strerror(errno));
  snprintf(object, sizeof object, "%.*s.so", (int)strlen(source) - 2, source);
  phibal_status status = write_file(descriptor, source, text);
  if (close(descriptor) && !status)
    status = phibal_status_set(PHIBAL_ERROR_IO, "'%s': %s", source, strerror(errno));
  if (!status) status = compile(source, object);
  for (int i = 0; i < 2 && !status; i++) {
    snprintf(to, sizeof to, "%s.%s", stem, i ? "c" : "so");
    if (rename(i ? source : object, to))
      status = phibal_status_set(PHIBAL_ERROR_IO, "'%s': %s", to, strerror(errno));
  }
  if (status) {
    unlink(source);
    unlink(object);
  }
  return status;
}

static phibal_status open_library(codegen_kernel *k) {
  struct {
    const char *name;
    void *to;
  } functions[] = {{"phi_price", &k->price},
                   {"phi_price_centred", &k->price_centred},
                   {"phi_examine", &k->examine},
                   {"phi_examine_centred", &k->examine_centred},
                   {"phi_sweep", &k->sweep}};
  k->library = dlopen(k->path, RTLD_NOW | RTLD_LOCAL);
  if (!k->library) return phibal_status_set(PHIBAL_ERROR_IO, "loading a kernel: %s", dlerror());
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    void *address = dlsym(k->library, functions[i].name);
    if (!address)
      return phibal_status_set(PHIBAL_ERROR_FORMAT, "'%s': no function %s", k->path,
                               functions[i].name);
    memcpy(functions[i].to, &address, sizeof address);
  }
  return PHIBAL_OK;
}

static phibal_status load(const char *text, codegen_kernel *kernel) {
  char folder[MOST_TEXT - 64], stem[MOST_TEXT - 32], source[MOST_TEXT];
  phibal_status status = cache_folder(folder, sizeof folder);
  if (status) return status;
  snprintf(stem, sizeof stem, "%s/%016" PRIx64, folder, codegen_hash(text));
  snprintf(source, sizeof source, "%s.c", stem);
  kernel->path = malloc(strlen(stem) + sizeof ".so");
  if (!kernel->path) return phibal_status_set(PHIBAL_ERROR_MEMORY, "no memory for a kernel");
  sprintf(kernel->path, "%s.so", stem);
  if (file_is(source, text) && open_library(kernel) == PHIBAL_OK) return PHIBAL_OK;
  if (kernel->library) dlclose(kernel->library);
  kernel->library = NULL;
  status = compile_into(stem, text);
  return status ? status : open_library(kernel);
}

phibal_status codegen_load_source(const char *text, codegen_kernel *kernel) {
  *kernel = (codegen_kernel){0};
  char *keyed = NULL;
  phibal_status status = keyed_source(text, &keyed);
  if (!status) status = load(keyed, kernel);
  free(keyed);
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
  free(kernel->path);
  *kernel = (codegen_kernel){0};
}
