/* The contents of a checkpoint, and of a run's folder of checkpoints. */
#include "checkpoint_internal.h"
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *const checkpoint_files[CHECKPOINT_FILES] = {[CHECKPOINT_CONFIG] = "config.yaml",
                                                        [CHECKPOINT_MODEL] = "model.safetensors",
                                                        [CHECKPOINT_TRAINING] =
                                                            "training.safetensors"};

/* `divided`: data is then the whole array, in which the sharding finds the tensor. */
static void place_tensors(const model_tensor *tensors, int32_t count, const char *prefix,
                          float *base, bool divided, bool moments, checkpoint_place *to) {
  for (int32_t i = 0; i < count; i++) {
    checkpoint_place *p = &to[i];
    *p = (checkpoint_place){.dtype = SAFETENSORS_F32,
                            .dimensions = tensors[i].dimensions,
                            .data = divided ? base : base + tensors[i].offset,
                            .tensor = divided ? &tensors[i] : NULL,
                            .moments = moments};
    snprintf(p->name, sizeof p->name, "%s%s", prefix, tensors[i].name);
    memcpy(p->shape, tensors[i].shape, sizeof p->shape);
    p->shape[0] = tensors[i].whole;
  }
}

checkpoint_place *checkpoint_model_places(const run_config *config, model *m, bool divided,
                                          int64_t *count) {
  const int32_t tensors = model_tensor_count(m), layers = model_moe_layers(m);
  checkpoint_place *places = calloc((size_t)tensors + (size_t)layers, sizeof *places);
  if (!places) return NULL;
  place_tensors(model_tensors(m), tensors, "", model_parameters(m), divided, false, places);
  *count = tensors;
  if (!model_has_bias(&config->model, config->balance.method)) return places;
  for (int32_t i = 0; i < layers; i++) {
    checkpoint_place *p = &places[(*count)++];
    *p = (checkpoint_place){.dtype = SAFETENSORS_F32,
                            .dimensions = 1,
                            .shape = {config->model.experts},
                            .data = model_bias(m, i)};
    snprintf(p->name, sizeof p->name, "model.layers.%d.mlp.gate.e_score_correction_bias",
             config->model.dense_layers + i);
  }
  return places;
}

checkpoint_place *checkpoint_training_places(const checkpoint_state *state,
                                             checkpoint_numbers *numbers, int64_t *count) {
  model *m = state->model;
  const optimizer *o = state->optimizer;
  const int32_t tensors = o->tensor_count, layers = model_moe_layers(m);
  const checkpoint_place scalars[] = {
      {.name = "step", .dtype = SAFETENSORS_I64, .data = &numbers->step},
      {.name = "sequences", .dtype = SAFETENSORS_I64, .data = &numbers->sequences},
      {.name = "loss", .dtype = SAFETENSORS_F64, .data = &numbers->loss},
      {.name = "adamw.beta1_power", .dtype = SAFETENSORS_F64, .data = &numbers->beta1_power},
      {.name = "adamw.beta2_power", .dtype = SAFETENSORS_F64, .data = &numbers->beta2_power}};
  const size_t scalar_count = sizeof scalars / sizeof *scalars;
  checkpoint_place *places = calloc(3 * (size_t)tensors + scalar_count + 1, sizeof *places);
  if (!places) return NULL;
  const bool divided = sharding_is_divided(state->sharding);
  place_tensors(o->tensors, tensors, "adamw.first.", o->first, divided, true, places);
  place_tensors(o->tensors, tensors, "adamw.second.", o->second, divided, true, places + tensors);
  *count = 2 * tensors;
  if (state->lora) {
    place_tensors(o->tensors, tensors, "lora.", state->lora->parameters, false, false,
                  places + *count);
    *count += tensors;
  }
  for (size_t i = 0; i < scalar_count; i++) places[(*count)++] = scalars[i];
  if (layers)
    places[(*count)++] = (checkpoint_place){.name = "balance.m",
                                            .dtype = SAFETENSORS_F32,
                                            .dimensions = 2,
                                            .shape = {layers, state->config->model.experts},
                                            .data = model_balance_state(m, 0)};
  return places;
}

void checkpoint_clocks(run_totals *totals, double *clock[CHECKPOINT_CLOCKS]) {
  model_times *m = &totals->model;
  double *const all[CHECKPOINT_CLOCKS] = {&totals->step_seconds,
                                          &totals->data_seconds,
                                          &totals->optimizer_seconds,
                                          &totals->evaluation_seconds,
                                          &m->embedding,
                                          &m->attention,
                                          &m->router,
                                          &m->permutation,
                                          &m->experts,
                                          &m->head,
                                          &m->total};
  memcpy(clock, all, sizeof all);
}

void checkpoint_hash(uint64_t value, char text[CHECKPOINT_HASH]) {
  snprintf(text, CHECKPOINT_HASH, "%016" PRIx64, value);
}

void checkpoint_path(const char *run, int64_t step, char path[CHECKPOINT_PATH_MAX]) {
  snprintf(path, CHECKPOINT_PATH_MAX, "%s/checkpoints/step-%012" PRId64, run, step);
}

void checkpoint_file_path(const char *folder, const char *name,
                          char path[CHECKPOINT_FILE_PATH_MAX]) {
  snprintf(path, CHECKPOINT_FILE_PATH_MAX, "%s/%s", folder, name);
}

/* -1 for what is no checkpoint's name. */
static int64_t step_of(const char *name) {
  char back[32];
  if (strncmp(name, "step-", 5) || strspn(name + 5, "0123456789") != strlen(name + 5)) return -1;
  const int64_t step = strtoll(name + 5, NULL, 10);
  snprintf(back, sizeof back, "step-%012" PRId64, step);
  return strcmp(back, name) ? -1 : step;
}

static int newest_first(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return x < y ? 1 : x > y ? -1 : 0;
}

phibal_status checkpoint_list(const char *run, int64_t **steps, size_t *count) {
  char path[CHECKPOINT_PATH_MAX];
  *steps = NULL;
  *count = 0;
  snprintf(path, sizeof path, "%s/checkpoints", run);
  struct dirent **entries;
  const int n = scandir(path, &entries, NULL, NULL);
  if (n < 0 && errno == ENOENT) return PHIBAL_OK;
  if (n < 0)
    return phibal_status_set(PHIBAL_ERROR_IO, "%s: cannot list the folder: %s", path,
                             strerror(errno));
  *steps = malloc(((size_t)n + 1) * sizeof **steps);
  for (int i = 0; i < n; i++) {
    const int64_t step = step_of(entries[i]->d_name);
    if (*steps && step >= 0) (*steps)[(*count)++] = step;
    free(entries[i]);
  }
  free(entries);
  if (!*steps) return phibal_status_set(PHIBAL_ERROR_MEMORY, "%s: out of memory", path);
  qsort(*steps, *count, sizeof **steps, newest_first);
  return PHIBAL_OK;
}

void checkpoint_close(checkpoint *c) {
  safetensors_close(&c->model);
  safetensors_close(&c->training);
  json_decref(c->manifest);
  *c = (checkpoint){0};
}
