#include "backend_plugin.h"
#include <dlfcn.h>
#include <phibal/plugin.h>
#include <stdio.h>

/* Before and after each tensor lie so many bytes that nobody may write. */
enum { GUARD = 256, GUARD_BYTE = 0xa5 };

typedef struct loaded {
  void *library;
  const phibal_plugin *plugin;
} loaded;

/* A tensor while a plugin works on it: a block of its memory, and one of ours. */
typedef struct placed {
  const tensor *from;
  size_t bytes; /* without the guards */
  char *host, *device;
} placed;

static const phibal_plugin *plugin_of(const backend *b) {
  return ((const loaded *)b->context)->plugin;
}

const char *backend_plugin_name(const backend *b) {
  return plugin_of(b)->name;
}

const char *backend_plugin_device(const backend *b) {
  const phibal_plugin *p = plugin_of(b);
  return p->device ? p->device : p->allocate ? "device" : "host";
}

static const phibal_plugin_operation *offer_of(const phibal_plugin *p, const operation *o) {
  for (const phibal_plugin_operation *i = p->operations; i->name; i++)
    if (strcmp(i->name, o->name) == 0) return i;
  return NULL;
}

static bool plugin_offers(void *context, const operation *o) {
  return offer_of(((const loaded *)context)->plugin, o) != NULL;
}

/* Whether `name` is one of the words of `list`. */
static bool has_word(const char *list, const char *name) {
  size_t n = strlen(name);
  for (const char *at = list; at && (at = strstr(at, name)); at += n)
    if ((at == list || at[-1] == ' ') && (at[n] == ' ' || at[n] == 0)) return true;
  return false;
}

static bool plugin_gives(void *context, const operation *o, const char *output) {
  const phibal_plugin_operation *offer = offer_of(((const loaded *)context)->plugin, o);
  return offer && !has_word(offer->without, output);
}

static void placed_release(const phibal_plugin *p, placed *t, int n) {
  for (int i = 0; i < n; i++) {
    free(t[i].host);
    if (p->allocate && t[i].device) p->release(t[i].device);
  }
}

/* A tensor between guards, in the memory of the plugin. */
static phibal_status place(const phibal_plugin *p, const tensor *from, placed *t) {
  t->from = from;
  t->bytes = tensor_type_bytes(from->type) * (size_t)tensor_size(from);
  size_t all = (t->bytes + 2 * GUARD + GUARD - 1) / GUARD * GUARD;
  t->host = aligned_alloc(GUARD, all);
  if (!t->host) return arena_out_of_memory();
  memset(t->host, GUARD_BYTE, all);
  memcpy(t->host + GUARD, from->data, t->bytes);
  if (!p->allocate) return PHIBAL_OK;
  t->device = p->allocate(t->bytes + 2 * GUARD);
  if (!t->device)
    return phibal_status_set(PHIBAL_ERROR_MEMORY, "%s: its allocate refuses %zu bytes", p->name,
                             t->bytes + 2 * GUARD);
  if (p->upload(t->device, t->host, t->bytes + 2 * GUARD))
    return phibal_status_set(PHIBAL_ERROR_IO, "%s: its upload fails", p->name);
  return PHIBAL_OK;
}

static bool guards_intact(const placed *t) {
  for (size_t i = 0; i < GUARD; i++)
    if ((unsigned char)t->host[i] != GUARD_BYTE ||
        (unsigned char)t->host[GUARD + t->bytes + i] != GUARD_BYTE)
      return false;
  return true;
}

/* Brings a tensor back; an output is then that of the case. */
static phibal_status fetch(const phibal_plugin *p, const placed *t, bool is_output) {
  if (p->allocate && p->download(t->host, t->device, t->bytes + 2 * GUARD))
    return phibal_status_set(PHIBAL_ERROR_IO, "%s: its download fails", p->name);
  if (!guards_intact(t))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: it wrote beyond the ends of the %s '%s'",
                             p->name, is_output ? "output" : "input", t->from->name);
  if (is_output)
    memcpy(t->from->data, t->host + GUARD, t->bytes);
  else if (memcmp(t->from->data, t->host + GUARD, t->bytes) != 0)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: it changed the input '%s'", p->name,
                             t->from->name);
  return PHIBAL_OK;
}

static phibal_status call(const phibal_plugin *p, const phibal_plugin_operation *offer,
                          const operation_case *c, const placed *t) {
  static const phibal_plugin_type types[] = {
      PHIBAL_PLUGIN_F32, PHIBAL_PLUGIN_F64, PHIBAL_PLUGIN_I32, PHIBAL_PLUGIN_I64, PHIBAL_PLUGIN_U8};
  phibal_plugin_tensor tensors[2 * CASE_TENSORS];
  phibal_plugin_parameter parameters[CASE_PARAMETERS];
  for (int i = 0; i < c->input_count + c->output_count; i++) {
    const tensor *from = t[i].from;
    char *block = t[i].device ? t[i].device : t[i].host;
    tensors[i] =
        (phibal_plugin_tensor){from->name, types[from->type], from->rank, {0}, block + GUARD};
    for (int d = 0; d < from->rank; d++) tensors[i].shape[d] = from->shape[d];
  }
  for (int i = 0; i < c->parameter_count; i++) {
    const parameter *from = &c->parameters[i];
    parameters[i] = (phibal_plugin_parameter){from->name, (phibal_plugin_kind)from->kind,
                                              from->integer, from->real, from->text};
  }
  phibal_plugin_case given = {.operation = c->operation->name,
                              .parameters = c->parameter_count,
                              .inputs = c->input_count,
                              .outputs = c->output_count,
                              .parameter = parameters,
                              .input = tensors,
                              .output = tensors + c->input_count};
  int result = offer->run(&given);
  given.misuse[sizeof given.misuse - 1] = given.message[sizeof given.message - 1] = 0;
  if (given.misuse[0])
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: %s", p->name, given.misuse);
  if (result)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: it returned %d%s%s", p->name, result,
                             given.message[0] ? ": " : "", given.message);
  return PHIBAL_OK;
}

static phibal_status plugin_run(void *context, operation_case *c) {
  const phibal_plugin *p = ((const loaded *)context)->plugin;
  placed tensors[2 * CASE_TENSORS] = {0};
  int n = c->input_count + c->output_count;
  phibal_status status = PHIBAL_OK;
  for (int i = 0; i < n && !status; i++)
    status =
        place(p, i < c->input_count ? &c->inputs[i] : &c->outputs[i - c->input_count], &tensors[i]);
  if (!status) status = call(p, offer_of(p, c->operation), c, tensors);
  for (int i = 0; i < n && !status; i++) status = fetch(p, &tensors[i], i >= c->input_count);
  placed_release(p, tensors, n);
  return status;
}

static phibal_status table_check(const char *path, const phibal_plugin *p) {
  if (!p) return phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: phibal_plugin_get gives null", path);
  if (p->version != PHIBAL_PLUGIN_VERSION)
    return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                             "%s: a plugin of version %d; this phibal takes %d", path, p->version,
                             PHIBAL_PLUGIN_VERSION);
  if (!p->name || !p->operations || !p->operations->name)
    return phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: the plugin has no name or no operations",
                             path);
  int callbacks = !!p->allocate + !!p->release + !!p->upload + !!p->download;
  if (callbacks != 0 && callbacks != 4)
    return phibal_status_set(PHIBAL_ERROR_FORMAT,
                             "%s: %d of allocate, release, upload and download, where all or none "
                             "are needed",
                             path, callbacks);
  for (const phibal_plugin_operation *i = p->operations; i->name; i++) {
    if (!operation_find(i->name))
      return phibal_status_set(PHIBAL_ERROR_FORMAT,
                               "%s: there is no operation '%.60s'; `phibal verify --list` names "
                               "them",
                               path, i->name);
    if (!i->run)
      return phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: the operation '%s' has no function", path,
                               i->name);
  }
  return PHIBAL_OK;
}

/* Words of `without` that are no output of a case: a slip of the pen would go unnoticed. And
   something must be left to be judged. */
static phibal_status without_check(const char *path, const phibal_plugin_operation *offer) {
  operation_case c;
  if (!offer->without) return PHIBAL_OK;
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

phibal_status backend_plugin_open(const char *path, backend *b) {
  *b = (backend){0};
  loaded *l = calloc(1, sizeof *l);
  if (!l) return arena_out_of_memory();
  *b = (backend){.name = "plugin",
                 .context = l,
                 .offers = plugin_offers,
                 .gives = plugin_gives,
                 .run = plugin_run};
  l->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!l->library)
    return phibal_status_set(PHIBAL_ERROR_IO, "cannot load the plugin: %s%s", dlerror(),
                             strchr(path, '/') ? "" : " (a path with a '/' is needed, ./mine.so)");
  const phibal_plugin *(*get)(void);
  *(void **)&get = dlsym(l->library, "phibal_plugin_get");
  if (!get)
    return phibal_status_set(PHIBAL_ERROR_IO, "%s: exports no phibal_plugin_get (phibal/plugin.h)",
                             path);
  l->plugin = get();
  phibal_status status = table_check(path, l->plugin);
  for (const phibal_plugin_operation *i = l->plugin ? l->plugin->operations : NULL;
       !status && i->name; i++)
    status = without_check(path, i);
  return status;
}

void backend_plugin_close(backend *b) {
  loaded *l = b->context;
  if (l && l->library) dlclose(l->library);
  free(l);
  *b = (backend){0};
}
