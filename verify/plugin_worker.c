#include "plugin_worker.h"
#include <dlfcn.h>
#include <errno.h>
#include <phibal/environment.h>
#include <phibal/plugin.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

static wire *shared;
static size_t shared_bytes;

static bool map_memory(size_t bytes) {
  if (shared) munmap(shared, shared_bytes);
  void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, WORKER_MEMORY, 0);
  shared = p == MAP_FAILED ? NULL : p;
  shared_bytes = bytes;
  return shared != NULL;
}

static void refuse(phibal_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void refuse(phibal_status status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  if (!shared->refused) vsnprintf(shared->why, sizeof shared->why, format, arguments);
  va_end(arguments);
  if (!shared->refused) shared->refused = (int32_t)status;
}

/* False where the text is too long. */
static bool copy_text(char *to, size_t size, const char *text) {
  size_t n = text ? strlen(text) : 0;
  if (n >= size) return false;
  memcpy(to, text ? text : "", n + 1);
  return true;
}

/* Writes the plugin's table into the memory; null where it cannot be used. */
static const phibal_plugin *describe(const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    refuse(PHIBAL_ERROR_IO, "cannot load the plugin: %s%s", dlerror(),
           strchr(path, '/') ? "" : " (a path with a '/' is needed, ./mine.so)");
    return NULL;
  }
  const char *changed = phibal_environment_changed();
  if (changed) {
    refuse(PHIBAL_ERROR_UNSUPPORTED,
           "%s: loading it sets %s for the whole process; is it linked with -ffast-math?", path,
           changed);
    return NULL;
  }
  const phibal_plugin *(*get)(void);
  *(void **)&get = dlsym(library, "phibal_plugin_get");
  if (!get) {
    refuse(PHIBAL_ERROR_IO, "%s: exports no phibal_plugin_get (phibal/plugin.h)", path);
    return NULL;
  }
  const phibal_plugin *p = get();
  if (!p) {
    refuse(PHIBAL_ERROR_FORMAT, "%s: phibal_plugin_get gives null", path);
    return NULL;
  }
  if (p->version != PHIBAL_PLUGIN_VERSION) {
    refuse(PHIBAL_ERROR_UNSUPPORTED, "%s: a plugin of version %d; this phibal takes %d", path,
           p->version, PHIBAL_PLUGIN_VERSION);
    return NULL;
  }
  if (!p->name || !p->operations || !p->operations->name)
    refuse(PHIBAL_ERROR_FORMAT, "%s: the plugin has no name or no operations", path);
  int callbacks = !!p->allocate + !!p->release + !!p->upload + !!p->download;
  if (callbacks != 0 && callbacks != 4)
    refuse(PHIBAL_ERROR_FORMAT,
           "%s: %d of allocate, release, upload and download, where all or none are needed", path,
           callbacks);
  if (!copy_text(shared->name, WIRE_TEXT, p->name) || !copy_text(shared->device, WIRE_TEXT,
                                                                 p->device     ? p->device
                                                                 : p->allocate ? "device"
                                                                               : "host"))
    refuse(PHIBAL_ERROR_FORMAT, "%s: its name or its device's has more than %d characters", path,
           WIRE_TEXT - 1);
  for (const phibal_plugin_operation *i = p->operations; !shared->refused && i->name; i++) {
    wire_operation *o = &shared->operation[shared->operations];
    if (shared->operations == WIRE_OPERATIONS)
      refuse(PHIBAL_ERROR_FORMAT, "%s: more than %d operations", path, WIRE_OPERATIONS);
    else if (!copy_text(o->name, WIRE_NAME, i->name))
      refuse(PHIBAL_ERROR_FORMAT,
             "%s: there is no operation '%.60s'; `phibal verify --list` names them", path, i->name);
    else if (!copy_text(o->without, WIRE_TEXT, i->without))
      refuse(PHIBAL_ERROR_FORMAT, "%s: what %s leaves out has more than %d characters", path,
             i->name, WIRE_TEXT - 1);
    else
      shared->operations++;
    o->has_function = i->run != NULL;
  }
  return shared->refused ? NULL : p;
}

static void failed(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void failed(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  if (!shared->failed[0]) vsnprintf(shared->failed, sizeof shared->failed, format, arguments);
  va_end(arguments);
}

/* The case in the memory, in the plugin's own where it has that. */
static void compute(const phibal_plugin *p) {
  static const phibal_plugin_type types[] = {
      PHIBAL_PLUGIN_F32, PHIBAL_PLUGIN_F64, PHIBAL_PLUGIN_I32, PHIBAL_PLUGIN_I64, PHIBAL_PLUGIN_U8};
  phibal_plugin_tensor tensors[2 * CASE_TENSORS];
  phibal_plugin_parameter parameters[CASE_PARAMETERS];
  char *device[2 * CASE_TENSORS] = {0};
  const int n = shared->inputs + shared->outputs;
  shared->failed[0] = 0;
  for (int i = 0; i < n; i++) {
    const wire_tensor *t = &shared->tensor[i];
    char *block = (char *)shared + t->at - WIRE_GUARD;
    if (p->allocate && !shared->failed[0]) {
      device[i] = p->allocate(t->bytes + 2 * WIRE_GUARD);
      if (!device[i])
        failed("its allocate refuses %llu bytes", (unsigned long long)t->bytes + 2 * WIRE_GUARD);
      else if (p->upload(device[i], block, t->bytes + 2 * WIRE_GUARD))
        failed("its upload fails");
    }
    tensors[i] = (phibal_plugin_tensor){
        t->name, types[t->type], t->rank, {0}, (device[i] ? device[i] : block) + WIRE_GUARD};
    memcpy(tensors[i].shape, t->shape, sizeof t->shape);
  }
  for (int i = 0; i < shared->parameters; i++) {
    const wire_parameter *from = &shared->parameter[i];
    parameters[i] =
        (phibal_plugin_parameter){from->name, (phibal_plugin_kind)from->kind, from->integer,
                                  from->real, from->kind == PARAMETER_TEXT ? from->text : NULL};
  }
  if (!shared->failed[0]) {
    phibal_plugin_case c = {.operation = shared->operation[shared->called].name,
                            .parameters = shared->parameters,
                            .inputs = shared->inputs,
                            .outputs = shared->outputs,
                            .parameter = parameters,
                            .input = tensors,
                            .output = tensors + shared->inputs};
    int result = p->operations[shared->called].run(&c);
    c.misuse[sizeof c.misuse - 1] = c.message[sizeof c.message - 1] = 0;
    const char *changed = phibal_environment_changed();
    if (changed) failed("it returned with the floating-point environment changed: %s", changed);
    phibal_environment_reset();
    if (c.misuse[0]) failed("%s", c.misuse);
    if (result) failed("it returned %d%s%s", result, c.message[0] ? ": " : "", c.message);
  }
  for (int i = 0; p->allocate && i < n; i++) {
    const wire_tensor *t = &shared->tensor[i];
    char *block = (char *)shared + t->at - WIRE_GUARD;
    if (!shared->failed[0] && p->download(block, device[i], t->bytes + 2 * WIRE_GUARD))
      failed("its download fails");
    if (device[i]) p->release(device[i]);
  }
}

/* A plugin that takes more memory than the machine has is ended before anything else is; no core
   files. Device drivers reserve far more addresses than memory, so that those are not limited. */
static void set_limits(bool device) {
  struct rlimit none = {0, 0}, data = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  FILE *first = fopen("/proc/self/oom_score_adj", "w");
  if (first) {
    fputs("1000", first);
    fclose(first);
  }
  long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  if (device || pages <= 0 || page <= 0 || getrlimit(RLIMIT_DATA, &data)) return;
  rlim_t all = (rlim_t)pages * (rlim_t)page;
  if (data.rlim_cur == RLIM_INFINITY || data.rlim_cur > all) {
    data.rlim_cur = all;
    setrlimit(RLIMIT_DATA, &data);
  }
}

int plugin_worker(const char *path) {
  const pid_t parent = getppid();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent || !map_memory(sizeof *shared)) return 2;
  phibal_environment_reset();
  setvbuf(stdout, NULL, _IOLBF, BUFSIZ); /* it is a pipe that phibal reads */
  const phibal_plugin *p = describe(path);
  set_limits(p && p->allocate);
  wire_call call = {0};
  while (send(WORKER_SOCKET, &call.number, sizeof call.number, MSG_NOSIGNAL) ==
         sizeof call.number) {
    ssize_t n;
    while ((n = recv(WORKER_SOCKET, &call, sizeof call, 0)) < 0 && errno == EINTR) continue;
    if (n != sizeof call || !p) break;
    if (call.bytes > shared_bytes && !map_memory(call.bytes)) return 2;
    compute(p);
  }
  /* Without destructors of the plugin's: phibal has what it wants. */
  _exit(0);
}
