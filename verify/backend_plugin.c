#include "backend_plugin.h"
#include "plugin_worker.h"
#include <phibal/text.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { PRINTED_LINES = 200 };

typedef struct plugin {
  const char *path;
  double seconds;
  /* What it said of itself when it was loaded first; the process may change its memory later. */
  char name[WIRE_TEXT], device[WIRE_TEXT];
  int operations;
  wire_operation operation[WIRE_OPERATIONS];
  /* The process; 0 where there is none. */
  pid_t process;
  int socket, printed; /* `printed`: what it writes to standard output and error */
  uint64_t calls;
  int memory;
  wire *shared;
  size_t bytes;
  /* A line of what it prints, as far as it is there, and how many there were. */
  char line[400];
  size_t line_bytes;
  int lines;
} plugin;

/* A tensor of the case: where it lies in the memory that both see. */
typedef struct placed {
  const tensor *from;
  size_t at, bytes;
} placed;

const char *backend_plugin_name(const backend *b) {
  return ((const plugin *)b->context)->name;
}

const char *backend_plugin_device(const backend *b) {
  return ((const plugin *)b->context)->device;
}

static const wire_operation *offer_of(const plugin *p, const operation *o) {
  for (int i = 0; i < p->operations; i++)
    if (strcmp(p->operation[i].name, o->name) == 0) return &p->operation[i];
  return NULL;
}

static bool plugin_supports(void *context, const operation *o) {
  return offer_of(context, o) != NULL;
}

/* Whether `name` is one of the words of `list`. */
static bool has_word(const char *list, const char *name) {
  size_t n = strlen(name);
  for (const char *at = list; (at = strstr(at, name)); at += n)
    if ((at == list || at[-1] == ' ') && (at[n] == ' ' || at[n] == 0)) return true;
  return false;
}

static bool plugin_has_output(void *context, const operation *o, const char *output) {
  const wire_operation *offer = offer_of(context, o);
  return offer && !has_word(offer->without, output);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A text of the plugin's that ends, and does nothing to a terminal. */
static void copy_text(char *to, const char *from, size_t size) {
  memmove(to, from, size);
  to[size - 1] = 0;
  for (; *to; to++)
    if (iscntrl((unsigned char)*to)) *to = '?';
}

static void show_line(plugin *p) {
  p->line[p->line_bytes] = 0;
  p->line_bytes = 0;
  char shown[6 * sizeof p->line];
  phibal_text_show(p->line, shown, sizeof shown);
  if (p->lines++ < PRINTED_LINES) fprintf(stderr, "plugin: %s\n", shown);
  if (p->lines == PRINTED_LINES) fputs("plugin: [further output is omitted]\n", stderr);
}

/* What the plugin has printed up to now. */
static void show_printed(plugin *p) {
  char block[4096];
  ssize_t n;
  while ((n = read(p->printed, block, sizeof block)) > 0)
    for (ssize_t i = 0; i < n; i++) {
      if (block[i] != '\n') p->line[p->line_bytes++] = block[i];
      if (block[i] == '\n' || p->line_bytes == sizeof p->line - 1) show_line(p);
    }
}

/* Ends the process and what it has started; its exit status as waitpid has it. */
static int end_process(plugin *p) {
  int state = 0;
  if (!p->process) return 0;
  /* Where it has ended by itself, the rest of its session is all that is left to be ended. */
  pid_t ended = waitpid(p->process, &state, WNOHANG);
  kill(-p->process, SIGKILL);
  while (ended == 0 && waitpid(p->process, &state, 0) < 0 && errno == EINTR) continue;
  p->process = 0;
  show_printed(p);
  if (p->line_bytes) show_line(p);
  close(p->socket);
  close(p->printed);
  return state;
}

/* Waits for the process to say that it is done. Otherwise it is ended, and the message is what
   happened. */
static phibal_status wait_for_answer(plugin *p, const char *doing) {
  const double end = now() + p->seconds;
  for (;;) {
    struct pollfd watched[2] = {{p->socket, POLLIN, 0}, {p->printed, POLLIN, 0}};
    double left = end - now();
    /* In steps: a process that has ended may have left the socket to one that it started. */
    int step = left > 0.05 ? 50 : left > 0 ? 1 : 0, state;
    uint64_t answer;
    poll(watched, 2, step);
    if (watched[1].revents) show_printed(p);
    ssize_t said = watched[0].revents ? recv(p->socket, &answer, sizeof answer, MSG_DONTWAIT) : 0;
    if (said == sizeof answer && answer == p->calls) return PHIBAL_OK;
    if (said > 0) {
      end_process(p);
      return phibal_status_set(PHIBAL_ERROR_IO, "it wrote to phibal's pipe %s", doing);
    }
    siginfo_t gone = {0};
    bool ended = waitid(P_PID, (id_t)p->process, &gone, WEXITED | WNOHANG | WNOWAIT) == 0 &&
                 gone.si_pid == p->process;
    if (ended || (watched[0].revents & (POLLHUP | POLLERR))) {
      /* A process that has closed the socket is about to end; one that does not is ended. */
      for (int i = 0; !ended && i < 100; i++) {
        gone.si_pid = 0;
        usleep(10000);
        ended = waitid(P_PID, (id_t)p->process, &gone, WEXITED | WNOHANG | WNOWAIT) == 0 &&
                gone.si_pid == p->process;
      }
      state = end_process(p);
      if (!ended) return phibal_status_set(PHIBAL_ERROR_IO, "it closed phibal's pipe %s", doing);
      if (WIFSIGNALED(state))
        return phibal_status_set(PHIBAL_ERROR_IO, "its process died of signal %d (%s) %s",
                                 WTERMSIG(state), strsignal(WTERMSIG(state)), doing);
      return phibal_status_set(PHIBAL_ERROR_IO, "it ended its process, with exit status %d, %s",
                               WEXITSTATUS(state), doing);
    }
    if (left <= 0) {
      end_process(p);
      return phibal_status_set(PHIBAL_ERROR_IO, "no answer within %g s %s; --time-limit sets it",
                               p->seconds, doing);
    }
  }
}

static bool map_memory(plugin *p, size_t bytes) {
  if (p->shared) munmap(p->shared, p->bytes);
  p->shared = NULL;
  p->bytes = bytes;
  if (ftruncate(p->memory, (off_t)bytes)) return false;
  void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, p->memory, 0);
  if (memory != MAP_FAILED) p->shared = memory;
  return p->shared != NULL;
}

/* Copies of a descriptor away from those that the process is given. */
static int raised(int fd) {
  int high = fcntl(fd, F_DUPFD_CLOEXEC, 16);
  close(fd);
  return high;
}

/* Starts the process, with its own session so that all of it can be ended, and lets it load the
   plugin. */
static phibal_status start_process(plugin *p) {
  int sockets[2], printed[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
    return phibal_status_set(PHIBAL_ERROR_IO, "a process for the plugin: %s", strerror(errno));
  if (pipe2(printed, O_CLOEXEC)) {
    close(sockets[0]);
    close(sockets[1]);
    return phibal_status_set(PHIBAL_ERROR_IO, "a process for the plugin: %s", strerror(errno));
  }
  int theirs = raised(sockets[1]), out = raised(printed[1]);
  p->socket = sockets[0];
  p->printed = printed[0];
  fcntl(p->printed, F_SETFL, O_NONBLOCK);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out, 1);
  posix_spawn_file_actions_adddup2(&actions, out, 2);
  posix_spawn_file_actions_adddup2(&actions, theirs, WORKER_SOCKET);
  posix_spawn_file_actions_adddup2(&actions, p->memory, WORKER_MEMORY);
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  char *arguments[] = {"phibal", "--plugin-worker", (char *)p->path, NULL};
  memset(p->shared, 0, sizeof *p->shared);
  p->calls = 0;
  int bad = posix_spawn(&p->process, "/proc/self/exe", &actions, &attributes, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  close(theirs);
  close(out);
  if (bad) {
    p->process = 0;
    close(p->socket);
    close(p->printed);
    return phibal_status_set(PHIBAL_ERROR_IO, "a process for the plugin: %s", strerror(bad));
  }
  phibal_status status = wait_for_answer(p, "while it was loaded");
  if (status) return phibal_status_set(status, "%s: %s", p->path, phibal_status_message());
  if (!p->shared->refused) return PHIBAL_OK;
  char why[sizeof p->shared->why];
  copy_text(why, p->shared->why, sizeof why);
  return phibal_status_set((phibal_status)p->shared->refused, "%s", why);
}

/* A case into the memory that both see, each tensor between guards. */
static phibal_status write_case(plugin *p, const operation_case *c, placed *place) {
  const int n = c->input_count + c->output_count;
  size_t end = (sizeof *p->shared + WIRE_GUARD - 1) / WIRE_GUARD * WIRE_GUARD;
  for (int i = 0; i < n; i++) {
    const tensor *from = i < c->input_count ? &c->inputs[i] : &c->outputs[i - c->input_count];
    size_t bytes = tensor_type_bytes(from->type) * (size_t)tensor_size(from);
    place[i] = (placed){from, end + WIRE_GUARD, bytes};
    end = (end + 2 * WIRE_GUARD + bytes + WIRE_GUARD - 1) / WIRE_GUARD * WIRE_GUARD;
  }
  if (end > p->bytes && !map_memory(p, 2 * end)) return arena_out_of_memory();
  wire *w = p->shared;
  w->called = (int32_t)(offer_of(p, c->operation) - p->operation);
  w->parameters = c->parameter_count;
  w->inputs = c->input_count;
  w->outputs = c->output_count;
  for (int i = 0; i < c->parameter_count; i++) {
    const parameter *from = &c->parameters[i];
    wire_parameter *to = &w->parameter[i];
    *to =
        (wire_parameter){.kind = (int32_t)from->kind, .integer = from->integer, .real = from->real};
    snprintf(to->name, sizeof to->name, "%s", from->name);
    snprintf(to->text, sizeof to->text, "%s", from->text ? from->text : "");
  }
  for (int i = 0; i < n; i++) {
    const tensor *from = place[i].from;
    wire_tensor *to = &w->tensor[i];
    *to = (wire_tensor){.type = (int32_t)from->type,
                        .rank = from->rank,
                        .at = place[i].at,
                        .bytes = place[i].bytes};
    snprintf(to->name, sizeof to->name, "%s", from->name);
    memcpy(to->shape, from->shape, sizeof to->shape);
    char *data = (char *)w + place[i].at;
    memset(data - WIRE_GUARD, WIRE_GUARD_BYTE, 2 * WIRE_GUARD + place[i].bytes);
    if (place[i].bytes) memcpy(data, from->data, place[i].bytes);
  }
  return PHIBAL_OK;
}

static bool guards_intact(const unsigned char *data, size_t bytes) {
  for (size_t i = 0; i < WIRE_GUARD; i++)
    if (data[bytes + i] != WIRE_GUARD_BYTE || data[i - WIRE_GUARD] != WIRE_GUARD_BYTE) return false;
  return true;
}

/* Outputs become those of the case; inputs must be what they were. */
static phibal_status read_case(const plugin *p, const operation_case *c, const placed *place) {
  char failed[sizeof p->shared->failed];
  copy_text(failed, p->shared->failed, sizeof failed);
  if (failed[0]) return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: %s", p->name, failed);
  for (int i = 0; i < c->input_count + c->output_count; i++) {
    const bool is_output = i >= c->input_count;
    const tensor *from = place[i].from;
    const char *data = (const char *)p->shared + place[i].at;
    if (!guards_intact((const unsigned char *)data, place[i].bytes))
      return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: it wrote beyond the ends of the %s '%s'",
                               p->name, is_output ? "output" : "input", from->name);
    if (!place[i].bytes) continue;
    if (is_output)
      memcpy(from->data, data, place[i].bytes);
    else if (memcmp(from->data, data, place[i].bytes) != 0)
      return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: it changed the input '%s'", p->name,
                               from->name);
  }
  return PHIBAL_OK;
}

static phibal_status plugin_run(void *context, operation_case *c) {
  plugin *p = context;
  placed place[2 * CASE_TENSORS];
  phibal_status status = p->process ? PHIBAL_OK : start_process(p);
  if (!status) status = write_case(p, c, place);
  if (status) return status;
  const wire_call call = {++p->calls, p->bytes};
  if (send(p->socket, &call, sizeof call, MSG_NOSIGNAL) == sizeof call)
    status = wait_for_answer(p, "while it computed the case");
  else /* it has ended between the cases: wait says how */
    status = wait_for_answer(p, "after the case before");
  if (status) return phibal_status_set(status, "%s: %s", p->name, phibal_status_message());
  return read_case(p, c, place);
}

/* Words of `without` that are no output of a case: a slip of the pen would go unnoticed. And
   something must be left to be judged. */
static phibal_status without_check(const char *path, const wire_operation *offer) {
  operation_case c;
  if (!operation_find(offer->name))
    return phibal_status_set(PHIBAL_ERROR_FORMAT,
                             "%s: there is no operation '%s'; `phibal verify --list` names them",
                             path, offer->name);
  if (!offer->has_function)
    return phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: the operation '%s' has no function", path,
                             offer->name);
  if (!offer->without[0]) return PHIBAL_OK;
  phibal_status status = operation_make(operation_find(offer->name), 1, 0, &c);
  if (status) return status;
  char word[64];
  int n, given = 0;
  for (const char *at = offer->without; sscanf(at, " %63s%n", word, &n) == 1 && !status; at += n)
    if (!case_output(&c, word))
      status = phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: %s has no output '%s' to be left out",
                                 path, offer->name, word);
  for (int o = 0; o < c.output_count; o++) given += !has_word(offer->without, c.outputs[o].name);
  if (!status && !given)
    status = phibal_status_set(PHIBAL_ERROR_FORMAT,
                               "%s: %s leaves out every output, so there is nothing to judge", path,
                               offer->name);
  operation_case_clear(&c);
  return status;
}

/* What the process said of itself when it was loaded, copied from memory that it can change. */
static phibal_status read_description(plugin *p) {
  copy_text(p->name, p->shared->name, sizeof p->name);
  copy_text(p->device, p->shared->device, sizeof p->device);
  p->operations = p->shared->operations;
  if (p->operations < 0 || p->operations > WIRE_OPERATIONS) p->operations = 0;
  memcpy(p->operation, p->shared->operation, sizeof p->operation);
  for (int i = 0; i < p->operations; i++) {
    copy_text(p->operation[i].name, p->operation[i].name, WIRE_NAME);
    copy_text(p->operation[i].without, p->operation[i].without, WIRE_TEXT);
  }
  phibal_status status = PHIBAL_OK;
  for (int i = 0; !status && i < p->operations; i++)
    status = without_check(p->path, &p->operation[i]);
  return status;
}

phibal_status backend_plugin_open(const char *path, double seconds, backend *b) {
  *b = (backend){0};
  plugin *p = calloc(1, sizeof *p);
  if (!p) return arena_out_of_memory();
  *b = (backend){.name = "plugin",
                 .context = p,
                 .supports = plugin_supports,
                 .has_output = plugin_has_output,
                 .run = plugin_run};
  p->path = path;
  p->seconds = seconds;
  int memory = memfd_create("phibal plugin", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  p->memory = memory < 0 ? -1 : raised(memory);
  /* A plugin that made it shorter would end phibal by a signal. */
  if (p->memory < 0 || fcntl(p->memory, F_ADD_SEALS, F_SEAL_SHRINK) ||
      !map_memory(p, (size_t)1 << 20))
    return phibal_status_set(PHIBAL_ERROR_IO, "memory for the plugin: %s", strerror(errno));
  phibal_status status = start_process(p);
  if (status) return status;
  return read_description(p);
}

void backend_plugin_close(backend *b) {
  plugin *p = b->context;
  if (p) {
    end_process(p);
    if (p->shared) munmap(p->shared, p->bytes);
    if (p->memory > 0) close(p->memory);
  }
  free(p);
  *b = (backend){0};
}
