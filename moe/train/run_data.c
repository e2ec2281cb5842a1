#include "run_data.h"
#include "moe/data/tokenizer.h"

/* A vocabulary may be padded up to a multiple of 128 or less; more is a mistake. */
enum { PADDING_MAX = 127 };

phibal_status run_data_vocabulary(const char *what, int32_t data, bool open,
                                  const run_config *config) {
  const int32_t own = config->model.vocabulary;
  open |= *config->training.from != 0;
  if (data <= own && (open || own - data <= PADDING_MAX)) return PHIBAL_OK;
  if (*config->training.from)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "%s has a vocabulary of %d tokens, the model of '%s' one of %d: token "
                             "files must be made with the model's own tokenizer",
                             what, data, config->training.from, own);
  return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                           "%s has a vocabulary of %d tokens, the model one of %d: set "
                           "model.vocabulary to %d (or up to %d more, for padding)",
                           what, data, own, data, PADDING_MAX);
}

/* What does not go with a run: documents to be isolated that nothing divides, and bytes for a model
   with another tokenizer. `what` stands for the file. */
static phibal_status check_file(const char *what, const token_file *file,
                                const run_config *config) {
  if (config->data.boundaries && file->undivided)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "%s has no end of a document, which data.boundaries needs: set "
                             "data.end_of_document to its token",
                             what);
  if (*config->training.from && !file->vocabulary_open &&
      file->vocabulary == TOKENIZER_BYTES_VOCABULARY &&
      file->end_of_document == TOKENIZER_BYTES_END &&
      config->model.vocabulary > TOKENIZER_BYTES_VOCABULARY + PADDING_MAX)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "%s holds bytes as tokens, and the model of '%s' has %d tokens: token "
                             "files must be made with the model's own tokenizer",
                             what, config->training.from, config->model.vocabulary);
  return run_data_vocabulary(what, file->vocabulary, file->vocabulary_open, config);
}

phibal_status run_data_open(const char *path, const char *key, const run_config *config,
                            token_file *file) {
  phibal_status status = token_file_open_with(path, config->data.end_of_document, file);
  if (status) return status;
  if (config->data.copy && (status = token_file_copy(file))) return status;
  char what[CONFIG_TEXT_MAX + 64];
  snprintf(what, sizeof what, "%s '%s'", key, path);
  return check_file(what, file, config);
}

phibal_status run_data_open_training(const run_config *config, corpus *c) {
  phibal_status status = corpus_open(config->data.train, config->data.end_of_document, c);
  for (int32_t i = 0; i < c->shards && !status; i++) {
    char what[CONFIG_TEXT_MAX + 64];
    snprintf(what, sizeof what, "data.train '%.1000s'", c->path[i]);
    status = check_file(what, &c->shard[i], config);
    if (!status && config->data.copy) status = token_file_copy(&c->shard[i]);
  }
  return status;
}
