#include "parity.h"

#include "moe/model/model_internal.h"

#include "moe/hf/hf_internal.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends the program: parity_print.c is not a test. */
#define demand(condition, ...)                                                                     \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      fprintf(stderr, __VA_ARGS__);                                                                \
      fputs("\n", stderr);                                                                         \
      abort();                                                                                     \
    }                                                                                              \
  } while (0)
#define must(call) demand((call) == PHIBAL_OK, "%s: %s", #call, phibal_status_message())

const char *const parity_names[] = {
    "olmoe",     "mixtral",     "qwen3_moe", "deepseek", "deepseek_v2", "deepseek_v2_groups",
    "moonlight", "deepseek_v3", "kimi_k2",   "dots1",    "glm4_moe",    "glm4_moe_lite",
    "qwen2_moe", "minimax_m2",  "flex_olmo", "gpt_oss",  "ernie4_5_moe"};
const int parity_count = sizeof parity_names / sizeof *parity_names;

void parity_folder(const char *name, char folder[512]) {
  snprintf(folder, 512, "%s/tests/moe/hf/fixtures/%s", PHIBAL_SOURCE_DIR, name);
}

void parity_open(const char *name, void (*change)(model_config *config), parity *p) {
  parity_folder(name, p->folder);
  parity_open_folder(change, p);
}

void parity_open_folder(void (*change)(model_config *config), parity *p) {
  char path[600];
  const balance_config none = {.method = BALANCE_NONE};
  must(hf_open(p->folder, NULL, &p->checkpoint));
  snprintf(path, sizeof path, "%s/expected.safetensors", p->folder);
  must(safetensors_open(path, &p->expected));
  p->config = p->checkpoint.config.model;
  p->config.sequence = PARITY_SEQUENCE;
  if (change) change(&p->config);
  must(model_create(&p->config, &none, PARITY_BATCH, 7, &p->m));
  must(hf_restore(&p->checkpoint, &p->config, p->m));
}

void parity_close(parity *p) {
  model_destroy(p->m);
  safetensors_close(&p->expected);
  hf_close(&p->checkpoint);
}

static const void *expected(const parity *p, const char *name, safetensors_dtype dtype) {
  const safetensors_tensor *tensor = safetensors_find(&p->expected, name);
  demand(tensor && tensor->dtype == dtype, "%s: %s", p->folder, name);
  return tensor->data;
}

const model_tensor *parity_tensor(const model *m, const char *name) {
  const model_tensor *tensors = model_tensors(m);
  int32_t i = 0;
  while (i < model_tensor_count(m) && strcmp(tensors[i].name, name)) i++;
  demand(i < model_tensor_count(m), "no tensor %s", name);
  return &tensors[i];
}

double parity_difference(int64_t n, const float *a, const float *b) {
  double most = 0, size = 0;
  for (int64_t i = 0; i < n; i++) {
    if (!isfinite(a[i])) return HUGE_VAL;
    most = fmax(most, fabs((double)a[i] - (double)b[i]));
    size = fmax(size, fabs((double)b[i]));
  }
  return size > 0 ? most / size : most > 0 ? HUGE_VAL : 0;
}

double parity_logits_difference(const parity *p, const float *wanted) {
  const int64_t v = p->config.vocabulary;
  float *own = malloc((size_t)v * sizeof *own);
  double most = 0;
  for (int i = 0; i < PARITY_TOKENS; i++) {
    model_logits(p->m, i, own);
    most = fmax(most, parity_difference(v, own, wanted + i * v));
  }
  free(own);
  return most;
}

/* gates and experts by falling gate, as the fixtures have them. */
static void measure_router(const parity *p, int32_t layer, parity_errors *errors) {
  char name[64];
  const layer_activations *on = &p->m->layers[layer];
  const int32_t k = p->config.active, n = p->config.experts;
  snprintf(name, sizeof name, "router.%d.logits", layer);
  const float *logits = expected(p, name, SAFETENSORS_F32);
  snprintf(name, sizeof name, "router.%d.gates", layer);
  const float *gates = expected(p, name, SAFETENSORS_F32);
  snprintf(name, sizeof name, "router.%d.experts", layer);
  const int32_t *experts = expected(p, name, SAFETENSORS_I32);
  for (int32_t t = 0; t < PARITY_TOKENS; t++) {
    errors->router_logits =
        fmax(errors->router_logits, parity_difference(n, on->logits + t * n, logits + t * n));
    for (int32_t s = 0; s < k; s++) {
      int32_t own = -1;
      for (int32_t j = 0; j < k; j++)
        if (on->experts[t * k + j] == experts[t * k + s]) own = j;
      errors->other_experts += own < 0;
      if (own < 0) continue;
      const double gate = (double)gates[t * k + s], largest = (double)gates[t * k];
      errors->gates = fmax(errors->gates, fabs((double)on->gates[t * k + own] - gate) / largest);
    }
  }
}

void parity_gradients(const parity *p, parity_errors *errors) {
  int64_t count;
  hf_part *parts = hf_parts_make(p->checkpoint.config.architecture, &p->config, p->m, &count);
  int32_t compared = 0;
  for (int64_t i = 0; i < count; i++) {
    char name[128];
    if (parts[i].wide) continue; /* the selection bias has no gradient */
    const hf_place *place = &parts[i].other;
    const bool elsewhere = parts[i].elsewhere;
    snprintf(name, sizeof name, "gradient.%s", elsewhere ? place->name : parts[i].name);
    const safetensors_tensor *theirs = safetensors_find(&p->expected, name);
    demand(theirs, "%s", name);
    const float *own = model_gradients(p->m) + (parts[i].data - model_parameters(p->m));
    const int64_t columns = parts[i].dimensions > 1 ? parts[i].shape[1] : 1;
    const int64_t elements = parts[i].shape[0] * columns;
    const float *wanted = theirs->data;
    float *taken = malloc((size_t)elements * sizeof *taken);
    for (int64_t j = 0; j < elements; j++)
      taken[j] = elsewhere
                     ? wanted[place->first + j / columns * place->row + j % columns * place->column]
                     : wanted[j];
    demand(elsewhere || elements == theirs->elements, "%s", name);
    const double off = parity_difference(elements, own, taken);
    free(taken);
    compared += !elsewhere || place->first == 0; /* once for each tensor */
    if (!(off > errors->gradients)) continue;
    errors->gradients = off;
    snprintf(errors->worst, sizeof errors->worst, "%s", parts[i].name);
  }
  for (int64_t i = 0; i < p->expected.count; i++)
    compared -= !strncmp(p->expected.tensors[i].name, "gradient.", 9);
  demand(compared == 0, "%s: a gradient that has not been compared", p->folder);
  free(parts);
}

void parity_measure(parity *p, parity_errors *errors) {
  *errors = (parity_errors){0};
  const int32_t *tokens = expected(p, "tokens", SAFETENSORS_I32);
  const int32_t *targets = expected(p, "targets", SAFETENSORS_I32);
  const float *logits = expected(p, "logits", SAFETENSORS_F32);
  const double loss = (double)*(const float *)expected(p, "loss", SAFETENSORS_F32);
  const model_batch batch = model_batch_count(PARITY_TOKENS, tokens, targets);
  model_losses losses;
  must(model_evaluate(p->m, PARITY_BATCH, tokens, targets, &losses, NULL));
  errors->logits = parity_logits_difference(p, logits);
  for (int32_t layer = 0; layer < p->config.layers; layer++)
    if (p->m->weights.layers[layer].router) measure_router(p, layer, errors);
  must(model_step_begin(p->m, batch));
  must(model_forward_backward(p->m, PARITY_BATCH, tokens, targets, &losses));
  must(model_step_finish(p->m));
  errors->loss = fabs(losses.cross_entropy / (double)batch.targets - loss) / loss;
  parity_gradients(p, errors);
}
