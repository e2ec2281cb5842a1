/* Your kernels under `phibal verify --plugin ./mine.so`: a shared library that exports one
   function, phibal_plugin_get, which returns a table of the operations it offers (`phibal verify
   --list` names them all). Each is called with generated cases and judged by the reference.

   This header needs nothing of phibal's, and the library links with nothing of it. A complete
   plugin:

     #include <phibal/plugin.h>

     static int ema(phibal_plugin_case *c) {
       const float *m = phibal_plugin_input(c, "m", PHIBAL_PLUGIN_F32);
       const float *loads = phibal_plugin_input(c, "loads", PHIBAL_PLUGIN_F32);
       float *next = phibal_plugin_output(c, "m", PHIBAL_PLUGIN_F32);
       if (c->misuse[0]) return 1;
       my_ema(phibal_plugin_integer(c, "experts"), phibal_plugin_real(c, "eta"), m, loads, next);
       return 0;
     }

     static const phibal_plugin_operation operations[] = {{"ema", ema, 0}, {0}};
     static const phibal_plugin mine = {PHIBAL_PLUGIN_VERSION, "mine 1.0", operations};
     const phibal_plugin *phibal_plugin_get(void) { return &mine; }

   spec/VECTORS.md lists the parameters and tensors of every operation. */
#ifndef PHIBAL_PLUGIN_H
#define PHIBAL_PLUGIN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PHIBAL_PLUGIN_VERSION 1

typedef enum phibal_plugin_type {
  PHIBAL_PLUGIN_F32,
  PHIBAL_PLUGIN_F64,
  PHIBAL_PLUGIN_I32,
  PHIBAL_PLUGIN_I64,
  PHIBAL_PLUGIN_U8,
} phibal_plugin_type;

/* Row-major, without gaps. `data` is in the plugin's memory (below), aligned to 256 bytes. */
typedef struct phibal_plugin_tensor {
  const char *name;
  phibal_plugin_type type;
  int32_t rank;
  int64_t shape[4];
  void *data;
} phibal_plugin_tensor;

typedef enum phibal_plugin_kind {
  PHIBAL_PLUGIN_INTEGER,
  PHIBAL_PLUGIN_REAL,
  PHIBAL_PLUGIN_TEXT,
} phibal_plugin_kind;

typedef struct phibal_plugin_parameter {
  const char *name;
  phibal_plugin_kind kind;
  int64_t integer;
  double real;
  const char *text;
} phibal_plugin_parameter;

/* One call: what to compute from what. All of it belongs to the caller and ends with the call. */
typedef struct phibal_plugin_case {
  const char *operation;
  int32_t parameters, inputs, outputs;
  const phibal_plugin_parameter *parameter; /* [parameters] */
  const phibal_plugin_tensor *input;        /* [inputs]; must not be written */
  const phibal_plugin_tensor *output;       /* [outputs]; every element must be written */
  /* Set by the functions below where a name is asked for that there is not, or with another type;
     the case then counts as failed whatever is returned. */
  char misuse[128];
  /* For you: why the result is not 0. */
  char message[256];
} phibal_plugin_case;

typedef struct phibal_plugin_operation {
  const char *name; /* as in `phibal verify --list` */
  /* 0, or what you like for "this case cannot be computed", which fails it. Work on a device may
     still be under way: `download` waits for it. */
  int (*run)(phibal_plugin_case *c);
  /* Outputs that you do not compute, with spaces between; null for none. They are not judged. */
  const char *without;
} phibal_plugin_operation;

typedef struct phibal_plugin {
  int32_t version;                           /* PHIBAL_PLUGIN_VERSION */
  const char *name;                          /* with its version: for reports */
  const phibal_plugin_operation *operations; /* ended by one whose name is null */
  /* All null: tensors are in host memory. Otherwise all are needed, and tensors are in what
     `allocate` returns, aligned to 256 bytes (null: out of memory). The copies return 0 or fail;
     `download` waits for everything that was started before. */
  const char *device; /* for reports; may be null */
  void *(*allocate)(size_t bytes);
  void (*release)(void *memory);
  int (*upload)(void *device, const void *host, size_t bytes);
  int (*download)(void *host, const void *device, size_t bytes);
} phibal_plugin;

/* What the library exports. The table must stay where it is. */
#if defined(__GNUC__) || defined(__clang__)
__attribute__((visibility("default")))
#endif
const phibal_plugin *
phibal_plugin_get(void);

/* Looking things up by name. */

static inline void phibal_plugin_misused(phibal_plugin_case *c, const char *what,
                                         const char *name) {
  size_t n = strlen(what);
  if (c->misuse[0]) return;
  memcpy(c->misuse, what, n);
  strncpy(c->misuse + n, name, sizeof c->misuse - n - 1);
}

static inline const phibal_plugin_tensor *phibal_plugin_find(const phibal_plugin_tensor *list,
                                                             int32_t n, const char *name) {
  for (int32_t i = 0; i < n; i++)
    if (strcmp(list[i].name, name) == 0) return &list[i];
  return NULL;
}

/* The data of an input or an output of that type; null where this case has none of that name, as it
   may be with a mask, a bias, or the loads of no token. */
static inline const void *phibal_plugin_input(phibal_plugin_case *c, const char *name,
                                              phibal_plugin_type type) {
  const phibal_plugin_tensor *t = phibal_plugin_find(c->input, c->inputs, name);
  if (t && t->type != type) phibal_plugin_misused(c, "another type is needed for the input ", name);
  return t && t->type == type ? t->data : NULL;
}

static inline void *phibal_plugin_output(phibal_plugin_case *c, const char *name,
                                         phibal_plugin_type type) {
  const phibal_plugin_tensor *t = phibal_plugin_find(c->output, c->outputs, name);
  if (t && t->type != type)
    phibal_plugin_misused(c, "another type is needed for the output ", name);
  return t && t->type == type ? t->data : NULL;
}

/* The extent of a dimension of an input that must be there. */
static inline int64_t phibal_plugin_extent(phibal_plugin_case *c, const char *name,
                                           int32_t dimension) {
  const phibal_plugin_tensor *t = phibal_plugin_find(c->input, c->inputs, name);
  if (t && dimension >= 0 && dimension < t->rank) return t->shape[dimension];
  phibal_plugin_misused(c, "no such input or dimension: ", name);
  return 0;
}

static inline const phibal_plugin_parameter *
phibal_plugin_parameter_find(phibal_plugin_case *c, const char *name, phibal_plugin_kind kind) {
  for (int32_t i = 0; i < c->parameters; i++)
    if (strcmp(c->parameter[i].name, name) == 0 && c->parameter[i].kind == kind)
      return &c->parameter[i];
  phibal_plugin_misused(c, "no parameter of that kind: ", name);
  return NULL;
}

/* Parameters must be there. */
static inline int64_t phibal_plugin_integer(phibal_plugin_case *c, const char *name) {
  const phibal_plugin_parameter *p = phibal_plugin_parameter_find(c, name, PHIBAL_PLUGIN_INTEGER);
  return p ? p->integer : 0;
}

static inline double phibal_plugin_real(phibal_plugin_case *c, const char *name) {
  const phibal_plugin_parameter *p = phibal_plugin_parameter_find(c, name, PHIBAL_PLUGIN_REAL);
  return p ? p->real : 0;
}

static inline const char *phibal_plugin_text(phibal_plugin_case *c, const char *name) {
  const phibal_plugin_parameter *p = phibal_plugin_parameter_find(c, name, PHIBAL_PLUGIN_TEXT);
  return p ? p->text : "";
}

#ifdef __cplusplus
}
#endif
#endif
