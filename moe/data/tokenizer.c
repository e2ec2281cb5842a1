#include "tokenizer.h"
#include "formats/file.h"
#include "tokenizer_internal.h"
#include "formats/text_limits.h"
#include <phibal/environment.h>
#include <stdlib.h>
#include <sys/stat.h>

phibal_status token_buffer_append(token_buffer *buffer, uint32_t id) {
  if (buffer->count == buffer->capacity) {
    size_t capacity = buffer->capacity ? 2 * buffer->capacity : 4096;
    uint32_t *ids = realloc(buffer->ids, capacity * sizeof *ids);
    if (!ids) return phibal_status_set(PHIBAL_ERROR_MEMORY, "no memory for %zu tokens", capacity);
    buffer->ids = ids;
    buffer->capacity = capacity;
  }
  buffer->ids[buffer->count++] = id;
  return PHIBAL_OK;
}

void token_buffer_free(token_buffer *buffer) {
  free(buffer->ids);
  *buffer = (token_buffer){0};
}

void tokenizer_bytes(tokenizer *t) {
  *t =
      (tokenizer){.vocabulary = TOKENIZER_BYTES_VOCABULARY, .end_of_document = TOKENIZER_BYTES_END};
}

#if PHIBAL_DATA_SENTENCEPIECE

bool tokenizer_has_sentencepiece(void) {
  return true;
}

phibal_status tokenizer_parse(const char *name, const char *model, size_t bytes, tokenizer *t) {
  int32_t end;
  *t = (tokenizer){0};
  t->pieces = sentencepiece_load(model, bytes, &t->vocabulary, &end);
  if (!t->pieces)
    return phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: not a SentencePiece model", name);
  phibal_environment_watch("SentencePiece");
  t->end_of_document = end >= 0 ? end : t->vocabulary++;
  return PHIBAL_OK;
}

phibal_status tokenizer_train(tokenizer_lines lines, void *context, int32_t vocabulary,
                              char **model, size_t *bytes) {
  char *error;
  if (!sentencepiece_train(lines, context, vocabulary, model, bytes, &error)) {
    phibal_environment_watch("SentencePiece");
    return phibal_environment_check("training a SentencePiece model");
  }
  phibal_status status =
      phibal_status_set(PHIBAL_ERROR_ARGUMENT, "training a SentencePiece model of %d pieces: %s",
                        vocabulary, error ? error : "out of memory");
  free(error);
  return status;
}

static phibal_status pieces_encode(const tokenizer *t, const char *text, size_t n,
                                   token_buffer *buffer) {
  if (sentencepiece_encode(t->pieces, text, n, buffer))
    return phibal_status_set(PHIBAL_ERROR_MEMORY, "SentencePiece cannot encode %zu bytes", n);
  phibal_environment_watch("SentencePiece");
  return phibal_environment_check("tokens");
}

static phibal_status pieces_decode(const tokenizer *t, const uint32_t *ids, size_t n, char **text,
                                   size_t *bytes) {
  if (sentencepiece_decode(t->pieces, ids, n, text, bytes))
    return phibal_status_set(PHIBAL_ERROR_MEMORY, "SentencePiece cannot decode %zu tokens", n);
  phibal_environment_watch("SentencePiece");
  return PHIBAL_OK;
}

#else

static phibal_status no_sentencepiece(void) {
  return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                           "this build has no SentencePiece: install libsentencepiece-dev and g++ "
                           "and build again, or use the byte tokenizer");
}

bool tokenizer_has_sentencepiece(void) {
  return false;
}

phibal_status tokenizer_parse(const char *name, const char *model, size_t bytes, tokenizer *t) {
  (void)name, (void)model, (void)bytes;
  *t = (tokenizer){0};
  return no_sentencepiece();
}

phibal_status tokenizer_train(tokenizer_lines lines, void *context, int32_t vocabulary,
                              char **model, size_t *bytes) {
  (void)lines, (void)context, (void)vocabulary, (void)bytes;
  *model = NULL;
  return no_sentencepiece();
}

static phibal_status pieces_encode(const tokenizer *t, const char *text, size_t n,
                                   token_buffer *buffer) {
  (void)t, (void)text, (void)n, (void)buffer;
  return no_sentencepiece();
}

static phibal_status pieces_decode(const tokenizer *t, const uint32_t *ids, size_t n, char **text,
                                   size_t *bytes) {
  (void)t, (void)ids, (void)n, (void)text, (void)bytes;
  return no_sentencepiece();
}

#endif

/* The files of other kinds of tokenizers that a model's folder may have. */
static phibal_status no_model(const char *folder) {
  static const char *const others[] = {"tokenizer.json", "vocab.json", "tiktoken.model",
                                       "tokenizer_config.json"};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (folder_has(folder, others[i]))
      return phibal_status_set(
          PHIBAL_ERROR_UNSUPPORTED,
          "'%s' has no tokenizer.model (SentencePiece), and its %s is of a kind "
          "that phibal does not read",
          folder, others[i]);
  return phibal_status_set(PHIBAL_ERROR_IO, "'%s' has no tokenizer.model", folder);
}

phibal_status tokenizer_load(const char *path, tokenizer *t) {
  *t = (tokenizer){0};
  struct stat found;
  if (!stat(path, &found) && S_ISDIR(found.st_mode)) {
    if (!folder_has(path, "tokenizer.model")) return no_model(path);
    char *inside = string_format("%s/tokenizer.model", path);
    if (!inside) return phibal_status_set(PHIBAL_ERROR_MEMORY, "out of memory");
    phibal_status status = tokenizer_load(inside, t);
    free(inside);
    return status;
  }
  text_buffer model = {0};
  phibal_status status = file_read_text(path, TEXT_TOKENIZER, &model);
  if (!status) status = tokenizer_parse(path, model.bytes, model.count, t);
  text_buffer_free(&model);
  return status;
}

phibal_status tokenizer_encode(const tokenizer *t, const char *text, size_t n,
                               token_buffer *buffer) {
  buffer->count = 0;
  if (t->pieces) return pieces_encode(t, text, n, buffer);
  phibal_status status = PHIBAL_OK;
  for (size_t i = 0; i < n && !status; i++)
    status = token_buffer_append(buffer, (unsigned char)text[i]);
  return status;
}

phibal_status tokenizer_decode(const tokenizer *t, const uint32_t *ids, size_t n, char **text,
                               size_t *bytes) {
  *text = NULL, *bytes = 0;
  uint32_t *kept = malloc((n + 1) * sizeof *kept);
  if (!kept) return phibal_status_set(PHIBAL_ERROR_MEMORY, "no memory for %zu tokens", n);
  size_t count = 0;
  phibal_status status = PHIBAL_OK;
  for (size_t i = 0; i < n && !status; i++)
    if (ids[i] >= (uint32_t)t->vocabulary)
      status = phibal_status_set(PHIBAL_ERROR_ARGUMENT, "token %u: the tokenizer has %d", ids[i],
                                 t->vocabulary);
    else if (ids[i] != (uint32_t)t->end_of_document)
      kept[count++] = ids[i];
  if (!status && t->pieces) {
    status = pieces_decode(t, kept, count, text, bytes);
  } else if (!status && !(*text = malloc(count + 1))) {
    status = phibal_status_set(PHIBAL_ERROR_MEMORY, "no memory for %zu bytes", count);
  } else if (!status) {
    for (size_t i = 0; i < count; i++) (*text)[i] = (char)kept[i];
    (*text)[*bytes = count] = 0;
  }
  free(kept);
  return status;
}

void tokenizer_free(tokenizer *t) {
#if PHIBAL_DATA_SENTENCEPIECE
  if (t->pieces) sentencepiece_free(t->pieces);
#endif
  *t = (tokenizer){0};
}
