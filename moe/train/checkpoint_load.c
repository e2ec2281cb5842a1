/* Reads checkpoints. Nothing in one is trusted before its checksums match. */
#include "checkpoint_internal.h"
#include "formats/checksum.h"
#include "formats/file.h"
#include "formats/text_limits.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static phibal_status manifest_read(const char *path, checkpoint *c) {
  char file[CHECKPOINT_FILE_PATH_MAX];
  json_error_t error;
  text_buffer text = {0};
  checkpoint_file_path(path, CHECKPOINT_MANIFEST, file);
  phibal_status status = file_read_text(file, TEXT_MANIFEST, &text);
  if (status) return status;
  c->manifest = json_loadb(text.bytes, text.count, JSON_REJECT_DUPLICATES, &error);
  text_buffer_free(&text);
  const char *format = json_string_value(json_object_get(c->manifest, "format"));
  if (!c->manifest || !format || strcmp(format, "phibal checkpoint"))
    return phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: not the list of a checkpoint's files%s%s",
                             file, c->manifest ? "" : ": ", c->manifest ? "" : error.text);
  const json_int_t version = json_integer_value(json_object_get(c->manifest, "version"));
  if (version != CHECKPOINT_VERSION)
    return phibal_status_set(PHIBAL_ERROR_FORMAT,
                             "%s: version %" JSON_INTEGER_FORMAT "; this phibal reads version %d",
                             file, version, CHECKPOINT_VERSION);
  return PHIBAL_OK;
}

static phibal_status files_check(const char *path, const checkpoint *c, bool weights_only) {
  const json_t *files = json_object_get(c->manifest, "files");
  for (int i = 0; i < CHECKPOINT_FILES; i++) {
    if (weights_only && i == CHECKPOINT_TRAINING) continue;
    char file[CHECKPOINT_FILE_PATH_MAX];
    checkpoint_file_path(path, checkpoint_files[i], file);
    const json_t *entry = json_object_get(files, checkpoint_files[i]);
    const json_t *bytes = json_object_get(entry, "bytes"), *crc = json_object_get(entry, "crc32");
    if (!json_is_integer(bytes) || !json_is_integer(crc))
      return phibal_status_set(PHIBAL_ERROR_FORMAT, "%s/%s: has no length and checksum of %s", path,
                               CHECKPOINT_MANIFEST, checkpoint_files[i]);
    int64_t found_bytes;
    uint32_t found;
    phibal_status status = file_checksum(file, &found_bytes, &found);
    if (status) return status;
    if (found_bytes != json_integer_value(bytes))
      return phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: %s: %lld bytes, where %lld were written",
                               file,
                               found_bytes < json_integer_value(bytes) ? "truncated" : "grown",
                               (long long)found_bytes, (long long)json_integer_value(bytes));
    if (found != json_integer_value(crc))
      return phibal_status_set(PHIBAL_ERROR_FORMAT,
                               "%s: corrupt: CRC-32 %08" PRIx32 ", where %08llx was written", file,
                               found, (unsigned long long)json_integer_value(crc));
  }
  return PHIBAL_OK;
}

static phibal_status open_files(const char *path, checkpoint *c) {
  char file[CHECKPOINT_FILE_PATH_MAX];
  checkpoint_file_path(path, checkpoint_files[CHECKPOINT_MODEL], file);
  phibal_status status = safetensors_open(file, &c->model);
  checkpoint_file_path(path, checkpoint_files[CHECKPOINT_TRAINING], file);
  if (!status) status = safetensors_open(file, &c->training);
  const safetensors_tensor *step = NULL;
  if (!status) status = safetensors_get(&c->training, "step", SAFETENSORS_I64, 0, NULL, &step);
  if (!status) memcpy(&c->step, step->data, sizeof c->step);
  return status;
}

phibal_status checkpoint_open(const char *path, checkpoint *c) {
  *c = (checkpoint){0};
  if (strlen(path) >= sizeof c->path)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "checkpoint: the path is too long");
  snprintf(c->path, sizeof c->path, "%s", path);
  phibal_status status = manifest_read(path, c);
  if (!status) status = files_check(path, c, false);
  if (!status) status = open_files(path, c);
  if (status) checkpoint_close(c);
  return status;
}

phibal_status checkpoint_open_weights(const char *path, checkpoint *c) {
  char file[CHECKPOINT_FILE_PATH_MAX];
  *c = (checkpoint){.step = -1};
  if (strlen(path) >= sizeof c->path)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "checkpoint: the path is too long");
  snprintf(c->path, sizeof c->path, "%s", path);
  phibal_status status = PHIBAL_OK;
  if (folder_has(path, CHECKPOINT_MANIFEST)) {
    status = manifest_read(path, c);
    if (!status) status = files_check(path, c, true);
  }
  checkpoint_file_path(path, checkpoint_files[CHECKPOINT_MODEL], file);
  if (!status) status = safetensors_open(file, &c->model);
  if (status) checkpoint_close(c);
  return status;
}

phibal_status checkpoint_newest(const char *run, checkpoint *c, char **skipped_checkpoints) {
  *c = (checkpoint){.step = -1};
  *skipped_checkpoints = NULL;
  if (strlen(run) >= CONFIG_TEXT_MAX)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "run folder: the path is too long");
  int64_t *steps;
  size_t count;
  phibal_status status = checkpoint_list(run, &steps, &count);
  text_buffer refused = {0};
  for (size_t i = 0; !status && i < count; i++) {
    char path[CHECKPOINT_PATH_MAX];
    checkpoint_path(run, steps[i], path);
    status = checkpoint_open(path, c);
    if (!status || status == PHIBAL_ERROR_MEMORY) break;
    status = text_buffer_string(&refused, phibal_status_message());
    if (!status) status = text_buffer_string(&refused, "\n");
    if (!status && i + 1 == count)
      status = phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: no checkpoint can be used: %.*s", run,
                                 (int)strcspn(refused.bytes, "\n"), refused.bytes);
  }
  free(steps);
  if (!status) status = text_buffer_append(&refused, "", 1);
  if (status) {
    checkpoint_close(c);
    text_buffer_free(&refused);
    return status;
  }
  *skipped_checkpoints = refused.bytes;
  return PHIBAL_OK;
}

phibal_status checkpoint_config(const checkpoint *c, const config_override *overrides, size_t n,
                                run_config *config) {
  char file[CHECKPOINT_FILE_PATH_MAX];
  checkpoint_file_path(c->path, checkpoint_files[CHECKPOINT_CONFIG], file);
  return run_config_load(file, overrides, n, config);
}

phibal_status checkpoint_config_continues(const run_config *then, const run_config *now) {
  static const char *const free_keys[] = {
      "training.threads", "training.log_every", "training.tensorboard",
      "evaluation.",      "checkpoint.",        "data.train",
      "data.validation",  "parallel.",          "training.record_routes"};
  for (size_t i = 0; i < config_key_count; i++) {
    char key[64], was[2 * CONFIG_TEXT_MAX + 3], is[2 * CONFIG_TEXT_MAX + 3];
    snprintf(key, sizeof key, "%s.%s", config_keys[i].section, config_keys[i].name);
    bool may_change = false;
    for (size_t f = 0; f < sizeof free_keys / sizeof *free_keys; f++)
      may_change |= !strncmp(key, free_keys[f], strlen(free_keys[f]));
    if (may_change) continue;
    run_config_format(then, &config_keys[i], was, sizeof was);
    run_config_format(now, &config_keys[i], is, sizeof is);
    if (strcmp(was, is))
      return phibal_status_set(
          PHIBAL_ERROR_ARGUMENT,
          "%s: %s, but the run that is resumed has %s; only threads, logs, "
          "evaluations, checkpoints, recorded routes, the division over ranks, the place of the "
          "data and, with --steps, the number of steps may change",
          key, is, was);
  }
  return PHIBAL_OK;
}

static phibal_status unknown_tensor(const safetensors_file *file, const checkpoint_place *places,
                                    int64_t count) {
  for (int64_t t = 0; t < file->count; t++) {
    int64_t p = 0;
    while (p < count && strcmp(places[p].name, file->tensors[t].name)) p++;
    if (p == count)
      return phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: tensor '%.100s': not part of this model",
                               file->name, file->tensors[t].name);
  }
  return PHIBAL_OK;
}

static phibal_status read_places(const safetensors_file *file, const sharding *divided,
                                 const checkpoint_place *places, int64_t count) {
  if (!places)
    return phibal_status_set(PHIBAL_ERROR_MEMORY, "%s: no memory to read it", file->name);
  /* All shapes and numbers before the first copy. */
  for (int pass = 0; pass < 2; pass++)
    for (int64_t i = 0; i < count; i++) {
      const checkpoint_place *p = &places[i];
      const safetensors_tensor *tensor;
      phibal_status status =
          safetensors_get(file, p->name, p->dtype, p->dimensions, p->shape, &tensor);
      if (!status && !pass) status = safetensors_check_finite(file->name, tensor);
      if (status) return status;
      if (pass && p->tensor)
        sharding_put(divided, p->tensor, p->data, p->moments, 0, tensor->elements, tensor->data);
      else if (pass)
        memcpy(p->data, tensor->data, (size_t)tensor->bytes);
    }
  return file->count == count ? PHIBAL_OK : unknown_tensor(file, places, count);
}

static phibal_status restore_model(const checkpoint *c, const run_config *config, model *m,
                                   const sharding *divided) {
  int64_t count = 0;
  checkpoint_place *places =
      checkpoint_model_places(config, m, sharding_is_divided(divided), &count);
  phibal_status status = read_places(&c->model, divided, places, count);
  free(places);
  return status;
}

phibal_status checkpoint_restore_model(const checkpoint *c, const run_config *config, model *m) {
  return restore_model(c, config, m, NULL);
}

phibal_status checkpoint_restore_divided(const checkpoint *c, const run_config *config, model *m,
                                         const sharding *divided) {
  return restore_model(c, config, m, divided);
}

static const json_t *data_entry(const checkpoint *c, const char *key, size_t i) {
  return json_array_get(json_object_get(json_object_get(c->manifest, CHECKPOINT_DATA), key), i);
}

void checkpoint_data_text(const checkpoint *c, const char *key, char *text, size_t size) {
  size_t n = 0;
  const json_t *entry;
  for (size_t i = 0; (entry = data_entry(c, key, i)) && n < size; i++)
    n += (size_t)snprintf(text + n, size - n,
                          "%s'%s' of %" JSON_INTEGER_FORMAT " tokens, checksum %s", i ? "; " : "",
                          json_string_value(json_object_get(entry, "file")),
                          json_integer_value(json_object_get(entry, "tokens")),
                          json_string_value(json_object_get(entry, "checksum")));
  if (!n) *text = 0;
}

static bool is_entry(const json_t *entry, const token_file *file) {
  char hash[CHECKPOINT_HASH];
  checkpoint_hash(file->checksum, hash);
  const char *had = json_string_value(json_object_get(entry, "checksum"));
  return had && !strcmp(had, hash);
}

bool checkpoint_validation_changed(const checkpoint *c, const token_file *validation) {
  const json_t *entry = data_entry(c, "validation", 0);
  return entry && validation->tokens && !is_entry(entry, validation);
}

/* Names the first file that is another than the run had, or the whole list. */
static phibal_status data_changed(const checkpoint *c, const corpus *now, const char *list,
                                  const char *is, const char *was) {
  char had[1024], hash[CHECKPOINT_HASH];
  checkpoint_data_text(c, "train", had, sizeof had);
  for (int32_t i = 0; i < now->shards; i++) {
    if (is_entry(data_entry(c, "train", (size_t)i), &now->shard[i])) continue;
    checkpoint_hash(now->shard[i].checksum, hash);
    if (!*had) break;
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "data.train: '%.1000s' has %lld tokens and checksum %s; the run has "
                             "trained on data with %s (--data says where these are now)",
                             now->path[i], (long long)now->shard[i].tokens, hash, had);
  }
  return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                           "data.train '%s' has checksum %s; the run has trained on data with %s",
                           list, is, *had ? had : was);
}

/* What the run goes on with has to be what it began with. */
static phibal_status identity_check(const checkpoint *c, const checkpoint_state *s) {
  char data[CHECKPOINT_HASH], kernel[CHECKPOINT_HASH];
  const model_potential *external = s->config->balance.external;
  checkpoint_hash(s->train->checksum, data);
  checkpoint_hash(external ? external->hash : 0, kernel);
  const char *had_data = safetensors_metadata(&c->training, CHECKPOINT_KEY_DATA);
  const char *had_kernel = safetensors_metadata(&c->training, CHECKPOINT_KEY_KERNEL);
  if (!had_data || strcmp(data, had_data))
    return data_changed(c, s->train, s->config->data.train, data, had_data ? had_data : "none");
  if (!had_kernel || strcmp(kernel, had_kernel))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "balance.potential '%s' gives kernel %s; the run has trained with %s",
                             s->config->potential_file, kernel, had_kernel ? had_kernel : "none");
  return PHIBAL_OK;
}

phibal_status checkpoint_restore(const checkpoint *c, const checkpoint_state *state) {
  phibal_status status = identity_check(c, state);
  if (!status) status = restore_model(c, state->config, state->model, state->sharding);
  if (status) return status;
  int64_t count = 0;
  checkpoint_numbers numbers;
  checkpoint_place *places = checkpoint_training_places(state, &numbers, &count);
  status = read_places(&c->training, state->sharding, places, count);
  free(places);
  if (status) return status;
  /* Each step takes one batch; the powers are those of numbers below 1. */
  int64_t sequences;
  if (numbers.step < 0 ||
      __builtin_mul_overflow(numbers.step, (int64_t)state->config->batch.sequences, &sequences) ||
      numbers.sequences != sequences)
    return phibal_status_set(PHIBAL_ERROR_FORMAT,
                             "%s: 'sequences' is %lld, which does not match %lld steps of %d",
                             c->training.name, (long long)numbers.sequences,
                             (long long)numbers.step, state->config->batch.sequences);
  if (!(numbers.beta1_power >= 0 && numbers.beta1_power <= 1) ||
      !(numbers.beta2_power >= 0 && numbers.beta2_power <= 1))
    return phibal_status_set(
        PHIBAL_ERROR_FORMAT,
        "%s: 'adamw.beta1_power' %g or 'adamw.beta2_power' %g is not in 0 .. 1", c->training.name,
        numbers.beta1_power, numbers.beta2_power);
  run_totals *totals = state->totals;
  totals->steps = *model_steps(state->model) = numbers.step;
  totals->sequences = numbers.sequences;
  totals->tokens = numbers.sequences * state->config->model.sequence;
  totals->loss = numbers.loss;
  state->optimizer->beta1_power = numbers.beta1_power;
  state->optimizer->beta2_power = numbers.beta2_power;
  double *clock[CHECKPOINT_CLOCKS];
  checkpoint_clocks(totals, clock);
  const json_t *seconds = json_object_get(c->manifest, "seconds");
  for (int i = 0; i < CHECKPOINT_CLOCKS; i++)
    *clock[i] = json_number_value(json_array_get(seconds, (size_t)i));
  return PHIBAL_OK;
}
