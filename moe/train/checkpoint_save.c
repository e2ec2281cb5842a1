/* Writing checkpoints. */
#include "checkpoint_internal.h"
#include "formats/json_text.h"
#include "formats/checksum.h"
#include "formats/file.h"
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static phibal_status memory_error(void) {
  return phibal_status_set(PHIBAL_ERROR_MEMORY, "no memory to write a checkpoint");
}

/* A checkpoint that is being written, its tensors listed alike on every rank. */
typedef struct writing {
  const checkpoint_state *state;
  checkpoint_numbers numbers;
  checkpoint_place *places[2]; /* of the model's file and of the training's */
  int64_t count[2];
} writing;

static phibal_status writing_begin(const checkpoint_state *s, writing *w) {
  *w = (writing){.state = s,
                 .numbers = {.step = s->totals->steps,
                             .sequences = s->totals->sequences,
                             .loss = s->totals->loss,
                             .beta1_power = s->optimizer->beta1_power,
                             .beta2_power = s->optimizer->beta2_power}};
  const bool divided = sharding_is_divided(s->sharding);
  w->places[0] = checkpoint_model_places(s->config, s->model, divided, &w->count[0]);
  w->places[1] = checkpoint_training_places(s, &w->numbers, &w->count[1]);
  return w->places[0] && w->places[1] ? PHIBAL_OK : memory_error();
}

static void writing_end(writing *w) {
  free(w->places[0]);
  free(w->places[1]);
}

/* Elements at .. at + n - 1 of a place, into `to` on the first rank; to [n] is scratch on the
   others. */
static void gather_elements(const writing *w, const checkpoint_place *p, int64_t at, int64_t n,
                            float *to) {
  const sharding *s = w->state->sharding;
  memset(to, 0, (size_t)n * sizeof *to);
  sharding_take(s, p->tensor, p->data, p->moments, at, n, to);
  parallel_merge_words(s->world, (uint32_t *)to, n);
}

static phibal_status read_divided(void *context, const safetensors_tensor *tensor, int64_t at,
                                  int64_t bytes, void *to) {
  const writing *w = context;
  const int64_t width = (int64_t)sizeof(float);
  for (int list = 0; list < 2; list++)
    for (int64_t i = 0; i < w->count[list]; i++)
      if (w->places[list][i].name == tensor->name)
        gather_elements(w, &w->places[list][i], at / width, bytes / width, to);
  return PHIBAL_OK;
}

static int by_name(const void *a, const void *b) {
  return strcmp(((const checkpoint_place *)a)->name, ((const checkpoint_place *)b)->name);
}

/* On the other ranks: gives what the first one writes, in the order in which it writes, without
   being asked: a small tensor is on its way before the first rank wants it. Should the first rank
   fail, the job ends. */
static phibal_status give_elements(writing *w) {
  float *scratch = malloc(SAFETENSORS_BLOCK);
  if (!scratch) return memory_error();
  const int64_t block = SAFETENSORS_BLOCK / (int64_t)sizeof *scratch;
  for (int list = 0; list < 2; list++) {
    /* What is divided is of one dtype. */
    qsort(w->places[list], (size_t)w->count[list], sizeof *w->places[list], by_name);
    for (int64_t i = 0; i < w->count[list]; i++) {
      const checkpoint_place *p = &w->places[list][i];
      const int64_t elements =
          p->tensor ? p->shape[0] * p->tensor->shape[1] * p->tensor->shape[2] : 0;
      for (int64_t at = 0; at < elements; at += block)
        gather_elements(w, p, at, elements - at < block ? elements - at : block, scratch);
    }
  }
  free(scratch);
  return PHIBAL_OK;
}

static phibal_status write_places(const char *folder, const char *name, writing *w, int list,
                                  const safetensors_entry *metadata, int64_t metadata_count) {
  char path[CHECKPOINT_FILE_PATH_MAX];
  checkpoint_file_path(folder, name, path);
  const checkpoint_place *places = w->places[list];
  const int64_t count = w->count[list];
  safetensors_tensor *tensors = calloc((size_t)count, sizeof *tensors);
  if (!tensors) return memory_error();
  for (int64_t i = 0; i < count; i++) {
    tensors[i] = (safetensors_tensor){.name = places[i].name,
                                      .dtype = places[i].dtype,
                                      .dimensions = places[i].dimensions,
                                      .data = places[i].tensor ? NULL : places[i].data};
    memcpy(tensors[i].shape, places[i].shape, sizeof places[i].shape);
  }
  const safetensors_source divided = {w, read_divided};
  phibal_status status =
      safetensors_write_from(path, tensors, count, metadata, metadata_count, &divided);
  free(tensors);
  return status;
}

static phibal_status write_model(const char *folder, writing *w) {
  /* transformers reads only files that say so. */
  static const safetensors_entry format = {"format", "pt"};
  return write_places(folder, checkpoint_files[CHECKPOINT_MODEL], w, 0, &format, 1);
}

static phibal_status write_training(const char *folder, writing *w) {
  const checkpoint_state *s = w->state;
  char data[CHECKPOINT_HASH], kernel[CHECKPOINT_HASH];
  const model_potential *external = s->config->balance.external;
  checkpoint_hash(s->train->checksum, data);
  checkpoint_hash(external ? external->hash : 0, kernel);
  const safetensors_entry metadata[] = {{CHECKPOINT_KEY_DATA, data},
                                        {CHECKPOINT_KEY_KERNEL, kernel}};
  return write_places(folder, checkpoint_files[CHECKPOINT_TRAINING], w, 1, metadata, 2);
}

static phibal_status write_config(const char *folder, const checkpoint_state *s) {
  char path[CHECKPOINT_FILE_PATH_MAX];
  checkpoint_file_path(folder, checkpoint_files[CHECKPOINT_CONFIG], path);
  return run_config_save(s->config, path);
}

/* What a run that is resumed will look for. */
static json_t *data_file(const char *path, const token_file *file) {
  char hash[CHECKPOINT_HASH];
  checkpoint_hash(file->checksum, hash);
  return json_pack("{s:o, s:I, s:s}", "file", json_text(path), "tokens", (json_int_t)file->tokens,
                   "checksum", hash);
}

static json_t *data_files(const checkpoint_state *s) {
  json_t *train = json_array(), *validation = json_array();
  for (int32_t i = 0; i < s->train->shards; i++)
    json_array_append_new(train, data_file(s->train->path[i], &s->train->shard[i]));
  if (s->validation->tokens)
    json_array_append_new(validation, data_file(s->config->data.validation, s->validation));
  return json_pack("{s:o, s:o}", "train", train, "validation", validation);
}

/* Last, so that its presence says that the others are there. */
static phibal_status write_manifest(const char *folder, const checkpoint_state *s) {
  char path[CHECKPOINT_FILE_PATH_MAX];
  phibal_status status = PHIBAL_OK;
  json_t *files = json_object(), *seconds = json_array();
  for (int i = 0; i < CHECKPOINT_FILES && !status; i++) {
    int64_t bytes;
    uint32_t crc;
    checkpoint_file_path(folder, checkpoint_files[i], path);
    status = file_checksum(path, &bytes, &crc);
    if (!status)
      json_object_set_new(
          files, checkpoint_files[i],
          json_pack("{s:I, s:I}", "bytes", (json_int_t)bytes, "crc32", (json_int_t)crc));
  }
  double *clock[CHECKPOINT_CLOCKS];
  checkpoint_clocks(s->totals, clock);
  for (int i = 0; i < CHECKPOINT_CLOCKS; i++) json_array_append_new(seconds, json_real(*clock[i]));
  json_t *manifest = json_pack("{s:s, s:i, s:o, s:o, s:o}", "format", "phibal checkpoint",
                               "version", CHECKPOINT_VERSION, "files", files, CHECKPOINT_DATA,
                               data_files(s), "seconds", seconds);
  char *text = manifest ? json_dumps(manifest, JSON_INDENT(1) | JSON_REAL_PRECISION(17)) : NULL;
  if (!status && !text) status = memory_error();
  checkpoint_file_path(folder, CHECKPOINT_MANIFEST, path);
  if (!status) status = file_write(path, text, strlen(text));
  free(text);
  json_decref(manifest);
  return status;
}

/* What a process that was killed has left: half-written checkpoints and half-removed ones. */
static void remove_remains(const char *folder) {
  struct dirent **entries;
  const int n = scandir(folder, &entries, NULL, NULL);
  for (int i = 0; i < n; i++) {
    if (!strncmp(entries[i]->d_name, ".step-", 6)) {
      char *path = string_format("%s/%s", folder, entries[i]->d_name);
      if (path) folder_remove(path);
      free(path);
    }
    free(entries[i]);
  }
  if (n >= 0) free(entries);
}

/* Takes the name away first: a folder that is being removed is no checkpoint any more. */
static phibal_status remove_checkpoint(const char *folder, const char *path) {
  char *hidden = string_format("%s/.%s", folder, strrchr(path, '/') + 1);
  if (!hidden) return memory_error();
  folder_remove(hidden);
  phibal_status status = PHIBAL_OK;
  if (!rename(path, hidden))
    folder_remove(hidden);
  else if (errno != ENOENT)
    status = phibal_status_set(PHIBAL_ERROR_IO, "%s: cannot remove this checkpoint: %s", path,
                               strerror(errno));
  free(hidden);
  return status;
}

static phibal_status prune(const char *run, const char *folder, int64_t keep) {
  int64_t *steps;
  size_t count;
  phibal_status status = checkpoint_list(run, &steps, &count);
  for (size_t i = (size_t)keep; i < count && !status; i++) {
    char path[CHECKPOINT_PATH_MAX];
    checkpoint_path(run, steps[i], path);
    status = remove_checkpoint(folder, path);
  }
  free(steps);
  return status;
}

static phibal_status fill(const char *folder, writing *w) {
  phibal_status status = write_config(folder, w->state);
  if (!status) status = write_model(folder, w);
  if (!status) status = write_training(folder, w);
  if (!status) status = write_manifest(folder, w->state);
  return status;
}

static phibal_status write_checkpoint(const char *run, writing *w, int64_t keep) {
  char path[CHECKPOINT_PATH_MAX], folder[CHECKPOINT_PATH_MAX];
  snprintf(folder, sizeof folder, "%s/checkpoints", run);
  checkpoint_path(run, w->state->totals->steps, path);
  phibal_status status = folder_create(folder);
  if (status) return status;
  remove_remains(folder);
  char *temporary = string_format("%s/.step-new", folder);
  if (!temporary) return memory_error();
  status = folder_create(temporary);
  if (!status) status = fill(temporary, w);
  /* One of this step is there if it was found corrupt and its steps have been done again. */
  if (!status) status = remove_checkpoint(folder, path);
  if (!status) status = file_publish(temporary, path);
  if (status) folder_remove(temporary);
  free(temporary);
  return status ? status : prune(run, folder, keep);
}

phibal_status checkpoint_save(const char *run, const checkpoint_state *state, int64_t keep) {
  const bool divided = sharding_is_divided(state->sharding);
  writing w;
  phibal_status status = writing_begin(state, &w);
  if (!status && divided && state->sharding->world->rank)
    status = give_elements(&w);
  else if (!status)
    status = write_checkpoint(run, &w, keep);
  writing_end(&w);
  return status;
}
