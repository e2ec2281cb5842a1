/* Writing checkpoints. */
#include "checkpoint_internal.h"
#include "checksum.h"
#include "file.h"
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static phibal_status memory_error(void) {
  return phibal_status_set(PHIBAL_ERROR_MEMORY, "no memory to write a checkpoint");
}

static phibal_status write_places(const char *folder, const char *name,
                                  const checkpoint_place *places, int64_t count,
                                  const safetensors_entry *metadata, int64_t metadata_count) {
  char path[CHECKPOINT_PATH_MAX + 32];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  safetensors_tensor *tensors = places ? calloc((size_t)count, sizeof *tensors) : NULL;
  if (!tensors) return memory_error();
  for (int64_t i = 0; i < count; i++) {
    tensors[i] = (safetensors_tensor){.name = places[i].name,
                                      .dtype = places[i].dtype,
                                      .dimensions = places[i].dimensions,
                                      .data = places[i].data};
    memcpy(tensors[i].shape, places[i].shape, sizeof places[i].shape);
  }
  phibal_status status = safetensors_write(path, tensors, count, metadata, metadata_count);
  free(tensors);
  return status;
}

static phibal_status write_model(const char *folder, const checkpoint_state *s) {
  /* transformers reads only files that say so. */
  static const safetensors_entry format = {"format", "pt"};
  int64_t count = 0;
  checkpoint_place *places = checkpoint_model_places(s->config, s->model, &count);
  phibal_status status = write_places(folder, checkpoint_files[1], places, count, &format, 1);
  free(places);
  return status;
}

static phibal_status write_training(const char *folder, const checkpoint_state *s) {
  checkpoint_numbers numbers = {.step = s->totals->steps,
                                .sequences = s->totals->sequences,
                                .loss = s->totals->loss,
                                .beta1_power = s->optimizer->beta1_power,
                                .beta2_power = s->optimizer->beta2_power};
  char data[CHECKPOINT_HASH], kernel[CHECKPOINT_HASH];
  const model_potential *external = s->config->balance.external;
  checkpoint_hash(s->train->checksum, data);
  checkpoint_hash(external ? external->hash : 0, kernel);
  const safetensors_entry metadata[] = {{CHECKPOINT_KEY_DATA, data},
                                        {CHECKPOINT_KEY_KERNEL, kernel}};
  int64_t count = 0;
  checkpoint_place *places = checkpoint_training_places(s, &numbers, &count);
  phibal_status status = write_places(folder, checkpoint_files[2], places, count, metadata, 2);
  free(places);
  return status;
}

static phibal_status write_config(const char *folder, const checkpoint_state *s) {
  char path[CHECKPOINT_PATH_MAX + 32], *text = NULL;
  size_t bytes = 0;
  snprintf(path, sizeof path, "%s/%s", folder, checkpoint_files[0]);
  FILE *stream = open_memstream(&text, &bytes);
  if (!stream) return memory_error();
  run_config_write(s->config, stream);
  phibal_status status = fclose(stream) ? memory_error() : file_write(path, text, bytes);
  free(text);
  return status;
}

/* Last, so that its presence says that the others are there. */
static phibal_status write_manifest(const char *folder, const checkpoint_state *s) {
  char path[CHECKPOINT_PATH_MAX + 32];
  phibal_status status = PHIBAL_OK;
  json_t *files = json_object(), *seconds = json_array();
  for (int i = 0; i < CHECKPOINT_FILES && !status; i++) {
    int64_t bytes;
    uint32_t crc;
    snprintf(path, sizeof path, "%s/%s", folder, checkpoint_files[i]);
    status = file_checksum(path, &bytes, &crc);
    if (!status)
      json_object_set_new(
          files, checkpoint_files[i],
          json_pack("{s:I, s:I}", "bytes", (json_int_t)bytes, "crc32", (json_int_t)crc));
  }
  double *clock[CHECKPOINT_CLOCKS];
  checkpoint_clocks(s->totals, clock);
  for (int i = 0; i < CHECKPOINT_CLOCKS; i++) json_array_append_new(seconds, json_real(*clock[i]));
  json_t *manifest = json_pack("{s:s, s:i, s:o, s:o}", "format", "phibal checkpoint", "version",
                               CHECKPOINT_VERSION, "files", files, "seconds", seconds);
  char *text = manifest ? json_dumps(manifest, JSON_INDENT(1) | JSON_REAL_PRECISION(17)) : NULL;
  if (!status && !text) status = memory_error();
  snprintf(path, sizeof path, "%s/%s", folder, CHECKPOINT_MANIFEST);
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
static phibal_status retire(const char *folder, const char *path) {
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
    status = retire(folder, path);
  }
  free(steps);
  return status;
}

static phibal_status fill(const char *folder, const checkpoint_state *s) {
  phibal_status status = write_config(folder, s);
  if (!status) status = write_model(folder, s);
  if (!status) status = write_training(folder, s);
  if (!status) status = write_manifest(folder, s);
  return status;
}

phibal_status checkpoint_save(const char *run, const checkpoint_state *state, int64_t keep) {
  char path[CHECKPOINT_PATH_MAX], folder[CHECKPOINT_PATH_MAX];
  snprintf(folder, sizeof folder, "%s/checkpoints", run);
  checkpoint_path(run, state->totals->steps, path);
  phibal_status status = folder_create(folder);
  if (status) return status;
  remove_remains(folder);
  char *temporary = string_format("%s/.step-new", folder);
  if (!temporary) return memory_error();
  status = folder_create(temporary);
  if (!status) status = fill(temporary, state);
  /* One of this step is there if it was found corrupt and its steps have been done again. */
  if (!status) status = retire(folder, path);
  if (!status) status = file_publish(temporary, path);
  if (status) {
    char message[400];
    snprintf(message, sizeof message, "%s", phibal_status_message());
    folder_remove(temporary);
    phibal_status_set(status, "%s", message);
  }
  free(temporary);
  return status ? status : prune(run, folder, keep);
}
