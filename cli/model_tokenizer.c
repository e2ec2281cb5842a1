#include "model_tokenizer.h"
#include "moe/train/run_data.h"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The model's own tokenizer: a Hugging Face model's lies in its folder; a run's beside its data, or
   in the folder of the Hugging Face model that it began with; or it is bytes, which a vocabulary
   tells. Nothing is taken because it lies in the current directory. */
static phibal_status own_tokenizer(const trained *from, char path[MODEL_TOKENIZER_PATH]) {
  const char *train = from->config.data.train, *origin = from->config.training.from;
  const int size = MODEL_TOKENIZER_PATH, first = (int)strcspn(train, ",");
  if (from->hf.folder) {
    snprintf(path, (size_t)size, "%s", from->hf.folder);
    return PHIBAL_OK;
  }
  struct stat data;
  snprintf(path, (size_t)size, "%.*s", first, train);
  if (first && !stat(path, &data)) {
    const char *slash = memrchr(train, '/', (size_t)first);
    const int folder = S_ISDIR(data.st_mode) ? first : slash ? (int)(slash - train) : 0;
    static const char *const names[] = {"model", "json"};
    for (int i = 0; i < 2; i++) {
      snprintf(path, (size_t)size, "%.*s%stokenizer.%s", folder, train, folder || slash ? "/" : "",
               names[i]);
      if (!access(path, F_OK)) return PHIBAL_OK;
    }
  }
  if (*origin && hf_is_checkpoint(origin)) {
    snprintf(path, (size_t)size, "%s", origin);
    return PHIBAL_OK;
  }
  const char *end = strrchr(train, '.');
  const bool foreign = first && end && !strcmp(end, ".bin");
  tokenizer bytes;
  tokenizer_bytes(&bytes);
  if (!*origin && !foreign && from->config.model.vocabulary >= bytes.vocabulary &&
      !run_data_vocabulary("bytes", bytes.vocabulary, false, &from->config)) {
    snprintf(path, (size_t)size, "bytes");
    return PHIBAL_OK;
  }
  return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                           "no tokenizer of the model is found: there is no tokenizer.model or "
                           "tokenizer.json beside "
                           "its data ('%s'), and its vocabulary of %d tokens is not that of bytes; "
                           "give --tokenizer",
                           train, from->config.model.vocabulary);
}

phibal_status model_tokenizer_open(const char *given, const trained *from, tokenizer *t,
                                   char place[MODEL_TOKENIZER_PATH]) {
  char path[MODEL_TOKENIZER_PATH];
  phibal_status status = PHIBAL_OK;
  if (given)
    snprintf(path, sizeof path, "%s", given);
  else
    status = own_tokenizer(from, path);
  if (!status && strcmp(path, "bytes"))
    status = tokenizer_load(path, t);
  else if (!status)
    tokenizer_bytes(t);
  if (status && !given && from->hf.folder)
    return phibal_status_set(status, "%s; give --tokenizer", phibal_status_message());
  if (place) memcpy(place, path, sizeof path);
  char what[CONFIG_TEXT_MAX + 64];
  snprintf(what, sizeof what, "the tokenizer '%.1000s'", path);
  return status ? status : run_data_vocabulary(what, t->vocabulary, false, &from->config);
}
