#include "backend_cuda.h"
#include "backend_plugin.h"
#include "kernels/cuda/find.h"
#include <string.h>

/* Router, balance and loss operations have the CPU's bits; the matrix products of the others are
   held to their bounds. */
static const char *const same_bits[] = {"exp",
                                        "expm1",
                                        "log",
                                        "log1p",
                                        "tanh",
                                        "sigmoid",
                                        "loads",
                                        "frequencies",
                                        "ema",
                                        "price",
                                        "balance-loss",
                                        "switch-loss",
                                        "z-loss",
                                        "loss-free",
                                        "permutation",
                                        "combine",
                                        "balance-step",
                                        "router-forward",
                                        "switch-step",
                                        "router-backward",
                                        "sequence-loss",
                                        "quantile",
                                        "capacity",
                                        "described-router",
                                        "router-refusal",
                                        "gate-factor",
                                        "zero-experts",
                                        "sqrt-softplus"};

static bool has_same_bits(const operation *o) {
  for (size_t i = 0; i < sizeof same_bits / sizeof *same_bits; i++)
    if (strcmp(o->name, same_bits[i]) == 0) return true;
  return false;
}

typedef struct cuda_backend {
  backend plugin;
} cuda_backend;

static bool cuda_supports(void *context, const operation *o) {
  const backend *p = &((const cuda_backend *)context)->plugin;
  return p->supports(p->context, o);
}

static bool cuda_has_output(void *context, const operation *o, const char *output) {
  const backend *p = &((const cuda_backend *)context)->plugin;
  return p->has_output(p->context, o, output);
}

/* The first output, and element, of which the two cases have other bits; null if there is none. */
static const tensor *other_bits(const cuda_backend *b, const operation_case *c,
                                const operation_case *cpu, int64_t *element) {
  for (int o = 0; o < c->output_count; o++) {
    const tensor *t = &c->outputs[o];
    if (!b->plugin.has_output(b->plugin.context, c->operation, t->name)) continue;
    size_t bytes = tensor_type_bytes(t->type);
    const char *mine = t->data, *theirs = cpu->outputs[o].data;
    for (*element = 0; *element < tensor_size(t); ++*element)
      if (memcmp(mine + (size_t)*element * bytes, theirs + (size_t)*element * bytes, bytes) != 0)
        return t;
  }
  return NULL;
}

static phibal_status compare_bits(const cuda_backend *b, const operation_case *c) {
  operation_case cpu;
  int64_t element = 0;
  phibal_status status = operation_make(c->operation, c->seed, c->number, &cpu);
  if (status != PHIBAL_OK) return status;
  status = c->operation->cpu(&cpu);
  const tensor *t = status == PHIBAL_OK ? other_bits(b, c, &cpu, &element) : NULL;
  if (t)
    status = phibal_status_set(
        PHIBAL_ERROR_ARGUMENT,
        "element %lld of '%s' has other bits than the CPU's kernel: %a, and not %a",
        (long long)element, t->name, tensor_real(t, element),
        tensor_real(case_output(&cpu, t->name), element));
  operation_case_clear(&cpu);
  return status;
}

static phibal_status cuda_run(void *context, operation_case *c) {
  const cuda_backend *b = context;
  phibal_status status = b->plugin.run(b->plugin.context, c);
  return status == PHIBAL_OK && has_same_bits(c->operation) ? compare_bits(b, c) : status;
}

/* `same-bits` of a CUDA backend: those of the CPU's kernel, compared before. */
static phibal_status cuda_repeat(void *context, const operation_case *c, tally *tallies) {
  (void)context;
  if (strcmp(c->operation->name, "router-forward") == 0)
    tally_integer(&tallies[OUTPUT_ROUTER_SAME_BITS], 0, 0, 0);
  return PHIBAL_OK;
}

const char *backend_cuda_left_out(bool device) {
  const char *without = cuda_left_out(device);
  char path[4300];
  if (without) return without;
  if (cuda_find(device, path, sizeof path) == PHIBAL_OK && access(path, R_OK) == 0) return NULL;
  return device ? "its library is missing; `ninja -C build` makes it (libphibal-cuda.so)"
                : "its library is missing; `./dev build` makes it, or `ninja -C build` "
                  "(libphibal-cuda-on-host.so)";
}

/* The host runs large cases in minutes. */
enum { CASE_SECONDS = 1800 };

static phibal_status open_library(bool device, backend *b) {
  char path[4300];
  phibal_status status = cuda_find(device, path, sizeof path);
  if (status == PHIBAL_ERROR_IO) {
    char *why = strdup(phibal_status_message());
    phibal_status_set(status, "%s; `%s` makes it", why ? why : "",
                      device ? "ninja -C build" : "./dev build");
    free(why);
  }
  return status == PHIBAL_OK ? backend_plugin_open(path, CASE_SECONDS, b) : status;
}

phibal_status backend_cuda_open(bool device, backend *b) {
  *b = (backend){0};
  cuda_backend *own = calloc(1, sizeof *own);
  if (!own) return arena_out_of_memory();
  *b = (backend){.name = device ? "cuda" : "host-cuda",
                 .context = own,
                 .supports = cuda_supports,
                 .has_output = cuda_has_output,
                 .run = cuda_run,
                 .repeat = cuda_repeat};
  phibal_status status = open_library(device, &own->plugin);
  if (status != PHIBAL_OK) return status;
  const char *name = backend_plugin_device(&own->plugin);
  if (strncmp(name, "no CUDA device", 14) != 0) return PHIBAL_OK;
  return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED, "%s", name);
}

const char *backend_cuda_device(const backend *b) {
  return backend_plugin_device(&((const cuda_backend *)b->context)->plugin);
}

void backend_cuda_close(backend *b) {
  cuda_backend *own = b->context;
  if (own && own->plugin.context) backend_plugin_close(&own->plugin);
  free(own);
  *b = (backend){0};
}
