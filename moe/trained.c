#include "trained.h"
#include "file.h"
#include <stdlib.h>
#include <string.h>

static phibal_status open_hf(const char *path, int32_t sequence, trained *t) {
  char tokens[16];
  phibal_status status = hf_open(path, &t->hf);
  if (status) return status;
  const int32_t positions = t->hf.config.model.sequence;
  if (!sequence) sequence = positions < TRAINED_SEQUENCE ? positions : TRAINED_SEQUENCE;
  snprintf(tokens, sizeof tokens, "%d", sequence);
  /* What the schema wants and evaluation has no use for. */
  const config_override overrides[] = {
      {"training.from", path, path},    {"model.sequence", tokens, path},
      {"balance.method", "none", path}, {"batch.sequences", "1", path},
      {"optimizer.peak_lr", "1", path}, {"training.steps", "1", path}};
  return run_config_parse("{}", path, overrides, sizeof overrides / sizeof *overrides, &t->config);
}

static phibal_status open_checkpoint(const char *path, int32_t sequence, trained *t) {
  phibal_status status = folder_has(path, "checkpoint.json")
                             ? checkpoint_open(path, &t->checkpoint)
                             : checkpoint_newest(path, &t->checkpoint, &t->passed_over);
  if (!status && t->checkpoint.step < 0)
    status = phibal_status_set(PHIBAL_ERROR_IO,
                               "'%s' is neither a checkpoint nor a run with one, nor a Hugging "
                               "Face model",
                               path);
  char tokens[16];
  snprintf(tokens, sizeof tokens, "%d", sequence);
  const config_override override = {"model.sequence", tokens, "the sequence"};
  if (!status) status = checkpoint_config(&t->checkpoint, &override, sequence > 0, &t->config);
  return status;
}

phibal_status trained_open(const char *path, int32_t sequence, trained *t) {
  memset(t, 0, sizeof *t);
  phibal_status status =
      hf_is_checkpoint(path) ? open_hf(path, sequence, t) : open_checkpoint(path, sequence, t);
  if (!status && !t->passed_over && !(t->passed_over = strdup("")))
    status = phibal_status_set(PHIBAL_ERROR_MEMORY, "out of memory");
  if (status) trained_close(t);
  return status;
}

phibal_status trained_model(const trained *t, int32_t batch, model **created) {
  /* Prices are for training only: a potential from a file need not be there. */
  balance_config balance = t->config.balance;
  if (balance.method == BALANCE_PHI && *t->config.potential_file) balance.method = BALANCE_NONE;
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

phibal_status trained_merge(const trained *t, const char *adapters, model *m) {
  hf_config config = t->hf.config;
  phibal_status status = PHIBAL_OK;
  if (!t->hf.folder && *t->config.training.from)
    status = hf_config_read(t->config.training.from, &config);
  else if (!t->hf.folder)
    status = phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                               "adapters are for a Hugging Face model, or a run from one");
  return status ? status : lora_merge(adapters, config.architecture, &t->config.model, m);
}

void trained_close(trained *t) {
  checkpoint_close(&t->checkpoint);
  hf_close(&t->hf);
  free(t->passed_over);
  memset(t, 0, sizeof *t);
}
