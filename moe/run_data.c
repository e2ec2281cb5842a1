#include "run_data.h"

/* A vocabulary may be padded up to a multiple of 128 or less; more is a mistake. */
enum { PADDING_MAX = 127 };

phibal_status run_data_vocabulary(const char *what, int32_t data, const model_config *config) {
  const int32_t own = config->vocabulary;
  if (data <= own && own - data <= PADDING_MAX) return PHIBAL_OK;
  return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                           "%s has a vocabulary of %d tokens, the model one of %d: set "
                           "model.vocabulary to %d (or up to %d more, for padding)",
                           what, data, own, data, PADDING_MAX);
}

phibal_status run_data_open(const char *path, const char *key, const model_config *config,
                            token_file *file) {
  phibal_status status = token_file_open(path, file);
  if (status) return status;
  char what[CONFIG_TEXT_MAX + 64];
  snprintf(what, sizeof what, "%s '%s'", key, path);
  return run_data_vocabulary(what, file->vocabulary, config);
}
