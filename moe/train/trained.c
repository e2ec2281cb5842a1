#include "trained.h"
#include "formats/file.h"
#include <stdlib.h>
#include <string.h>

static phibal_status open_hf(const char *path, int32_t sequence, const char *ignored, trained *t) {
  char tokens[16];
  phibal_status status = hf_open(path, ignored, &t->hf);
  if (status) return status;
  const int32_t positions = t->hf.config.model.sequence;
  if (!sequence) sequence = positions < TRAINED_SEQUENCE ? positions : TRAINED_SEQUENCE;
  snprintf(tokens, sizeof tokens, "%d", sequence);
  /* What the schema wants and evaluation has no use for. */
  const config_override overrides[] = {
      {"training.from", path, path},    {"training.ignore_keys", ignored ? ignored : "", path},
      {"model.sequence", tokens, path}, {"balance.method", "none", path},
      {"batch.sequences", "1", path},   {"optimizer.peak_lr", "1", path},
      {"training.steps", "1", path}};
  return run_config_parse("{}", path, overrides, sizeof overrides / sizeof *overrides, &t->config);
}

/* A checkpoint's folder, or what of one it takes to evaluate. */
static bool is_weights(const char *path) {
  return folder_has(path, "checkpoint.json") ||
         (folder_has(path, "model.safetensors") && folder_has(path, "config.yaml"));
}

static phibal_status open_checkpoint(const char *path, int32_t sequence, trained *t) {
  const bool weights = is_weights(path);
  const bool whole =
      weights && folder_has(path, "checkpoint.json") && folder_has(path, "training.safetensors");
  phibal_status status = whole ? checkpoint_open(path, &t->checkpoint)
                         : weights
                             ? checkpoint_open_weights(path, &t->checkpoint)
                             : checkpoint_newest(path, &t->checkpoint, &t->skipped_checkpoints);
  if (!status && !weights && t->checkpoint.step < 0)
    status = phibal_status_set(PHIBAL_ERROR_IO,
                               "'%s' is neither a checkpoint nor a run with one, nor a folder with "
                               "model.safetensors and config.yaml, nor a Hugging Face model",
                               path);
  char tokens[16];
  snprintf(tokens, sizeof tokens, "%d", sequence);
  const config_override override = {"model.sequence", tokens, "the sequence"};
  if (!status) status = checkpoint_config(&t->checkpoint, &override, sequence > 0, &t->config);
  return status;
}

phibal_status trained_open(const char *path, int32_t sequence, const char *ignored, trained *t) {
  memset(t, 0, sizeof *t);
  phibal_status status = hf_is_checkpoint(path) ? open_hf(path, sequence, ignored, t)
                                                : open_checkpoint(path, sequence, t);
  if (!status && !t->skipped_checkpoints && !(t->skipped_checkpoints = strdup("")))
    status = phibal_status_set(PHIBAL_ERROR_MEMORY, "out of memory");
  if (status) trained_close(t);
  return status;
}

phibal_status trained_model(const trained *t, int32_t batch, model **created) {
  /* Prices are for training only: a potential from a file need not be there. */
  balance_config balance = t->config.balance;
  if (balance_has_potential(balance.method) && *t->config.potential_file)
    balance.method = balance_sets_bias(balance.method) ? BALANCE_LOSS_FREE : BALANCE_NONE;
  phibal_status status = model_create(&t->config.model, &balance, batch, 1, created);
  if (!status)
    status = t->hf.folder ? hf_restore(&t->hf, &t->config.model, *created)
                          : checkpoint_restore_model(&t->checkpoint, &t->config, *created);
  if (status) {
    model_destroy(*created);
    *created = NULL;
  }
  return status;
}

phibal_status trained_settle(char path[CONFIG_TEXT_MAX], bool *is_phibal,
                             char **skipped_checkpoints) {
  *skipped_checkpoints = NULL;
  *is_phibal = !hf_is_checkpoint(path);
  if (!*is_phibal || is_weights(path)) return PHIBAL_OK;
  checkpoint newest;
  phibal_status status = checkpoint_newest(path, &newest, skipped_checkpoints);
  if (status) return status;
  if (newest.step < 0)
    status = phibal_status_set(PHIBAL_ERROR_IO,
                               "training.from: '%s' is neither a Hugging Face model nor a run with "
                               "a checkpoint, nor a folder with model.safetensors and config.yaml",
                               path);
  else if (strlen(newest.path) >= CONFIG_TEXT_MAX)
    status = phibal_status_set(PHIBAL_ERROR_ARGUMENT, "training.from: the path is too long");
  else
    memcpy(path, newest.path, strlen(newest.path) + 1);
  checkpoint_close(&newest);
  return status;
}

/* The keys of `model` but its sequence, which has no weights; what a bias
   has moved in the selection must stay there. */
static phibal_status check_architecture(const run_config *config, const trained *t) {
  const char *path = config->training.from;
  const run_config *then = &t->config;
  const bool dense = config->balance.method == BALANCE_DENSE;
  if (dense != (then->balance.method == BALANCE_DENSE))
    return phibal_status_set(
        PHIBAL_ERROR_ARGUMENT, "balance.method: %s, but '%s' has %s (training.from)",
        dense ? "dense has no experts" : "not dense", path, dense ? "experts" : "none");
  for (size_t i = 0; i < config_key_count; i++) {
    const config_key *key = &config_keys[i];
    char had[64], has[64];
    if (strcmp(key->section, "model") || !strcmp(key->name, "sequence")) continue;
    if (!strcmp(key->name, "selection_bias")) {
      if (!model_has_bias(&then->model, then->balance.method) ||
          model_has_bias(&config->model, config->balance.method))
        continue;
      return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                               "model.selection_bias: false, but '%s' selects experts with a bias "
                               "(training.from): set it to true, which keeps the bias",
                               path);
    }
    run_config_format(then, key, had, sizeof had);
    run_config_format(config, key, has, sizeof has);
    if (strcmp(had, has))
      return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                               "model.%s: %s, but the model of '%s' has %s (training.from); leave "
                               "the key out to take it from there",
                               key->name, has, path, had);
  }
  return PHIBAL_OK;
}

/* The configuration of the run in a folder. */
static phibal_status origin_config(const char *folder, run_config *config) {
  if (!folder_has(folder, "config.yaml"))
    return phibal_status_set(PHIBAL_ERROR_IO,
                             "training.from: '%s' is not there, and the number of positions is "
                             "that of the model of this folder",
                             folder);
  char *path = string_format("%s/config.yaml", folder);
  run_config *read = malloc(sizeof *read);
  phibal_status status = path && read ? run_config_load(path, NULL, 0, read)
                                      : phibal_status_set(PHIBAL_ERROR_MEMORY, "out of memory");
  if (!status) *config = *read;
  free(read);
  free(path);
  return status;
}

phibal_status trained_positions(const trained *t, int32_t *positions) {
  hf_config origin = t->hf.config;
  run_config *run = malloc(sizeof *run);
  if (!run) return phibal_status_set(PHIBAL_ERROR_MEMORY, "out of memory");
  *run = t->config;
  bool is_hf = t->hf.folder;
  int32_t longest = run->model.sequence;
  phibal_status status = PHIBAL_OK;
  while (!status && !is_hf && *run->training.from) {
    if ((is_hf = hf_is_checkpoint(run->training.from))) {
      status = hf_config_read(run->training.from, run->training.ignore_keys, &origin);
    } else {
      status = origin_config(run->training.from, run);
      if (!status && run->model.sequence > longest) longest = run->model.sequence;
    }
  }
  *positions = is_hf ? origin.model.sequence : longest;
  free(run);
  return status;
}

phibal_status trained_begin(const run_config *config, model *m, const sharding *divided) {
  if (hf_is_checkpoint(config->training.from))
    return hf_load(config->training.from, config->training.ignore_keys, &config->model, m);
  trained *t = calloc(1, sizeof *t);
  if (!t) return phibal_status_set(PHIBAL_ERROR_MEMORY, "out of memory");
  phibal_status status = trained_open(config->training.from, 0, NULL, t);
  if (!status) status = check_architecture(config, t);
  if (!status) status = checkpoint_restore_divided(&t->checkpoint, &t->config, m, divided);
  trained_close(t);
  free(t);
  return status;
}

phibal_status trained_merge(const trained *t, const char *adapters, model *m) {
  hf_config config = t->hf.config;
  phibal_status status = PHIBAL_OK;
  if (!t->hf.folder && *t->config.training.from)
    status = hf_config_read(t->config.training.from, t->config.training.ignore_keys, &config);
  else if (!t->hf.folder)
    status = phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                               "adapters are for a Hugging Face model, or a run from one");
  return status ? status : lora_merge(adapters, config.architecture, &t->config.model, m);
}

void trained_close(trained *t) {
  checkpoint_close(&t->checkpoint);
  hf_close(&t->hf);
  free(t->skipped_checkpoints);
  memset(t, 0, sizeof *t);
}
