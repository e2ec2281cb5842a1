#include "tokenizer.h"
#include "formats/file.h"
#include "tokenizer_internal.h"
#include "formats/text_limits.h"
#include <phibal/environment.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

static phibal_status pieces_parse(const char *name, const char *model, size_t bytes, tokenizer *t) {
  int32_t end;
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

static phibal_status pieces_parse(const char *name, const char *model, size_t bytes, tokenizer *t) {
  (void)name, (void)model, (void)bytes, (void)t;
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
  static const char *const others[] = {"vocab.json", "tiktoken.model", "tokenizer_config.json"};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (folder_has(folder, others[i]))
      return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                               "'%s' has neither a tokenizer.json nor a tokenizer.model "
                               "(SentencePiece), and its %s is of "
                               "a kind that phibal does not read",
                               folder, others[i]);
  return phibal_status_set(PHIBAL_ERROR_IO, "'%s' has no tokenizer.model or tokenizer.json",
                           folder);
}

/* The token that ends a document. tokenizer.json does not say which it is. */
static const char *const ends[] = {"<|endoftext|>",
                                   "<|end_of_text|>",
                                   "<\xef\xbd\x9c"
                                   "end\xe2\x96\x81of\xe2\x96\x81sentence\xef\xbd\x9c>",
                                   "</s>",
                                   "<eos>",
                                   "[EOS]"};

phibal_status tokenizer_parse(const char *name, const char *model, size_t bytes, tokenizer *t) {
  *t = (tokenizer){0};
  if (!bytes || *model != '{') return pieces_parse(name, model, bytes, t);
  tokenizer_json *json;
  phibal_status status = tokenizer_json_parse(name, model, bytes, &json, &t->vocabulary);
  if (status) return status;
  t->json = json;
  t->end_of_document = -1;
  for (size_t i = 0; i < sizeof ends / sizeof *ends && t->end_of_document < 0; i++)
    t->end_of_document = tokenizer_json_id(json, ends[i]);
  if (t->end_of_document < 0) t->end_of_document = t->vocabulary++;
  return PHIBAL_OK;
}

/* eos_token of the tokenizer_config.json beside a tokenizer.json, where there is one. */
static phibal_status end_from_config(const char *path, tokenizer *t) {
  const char *slash = strrchr(path, '/');
  char *config =
      string_format("%.*stokenizer_config.json", slash ? (int)(slash + 1 - path) : 0, path);
  if (!config) return phibal_status_set(PHIBAL_ERROR_MEMORY, "out of memory");
  json_t *json = NULL;
  FILE *there = fopen(config, "r");
  phibal_status status = PHIBAL_OK;
  if (there) {
    fclose(there);
    status = file_read_json(config, TEXT_HUGGING_FACE, JSON_REJECT_DUPLICATES, &json);
  }
  const json_t *token = json_object_get(json, "eos_token");
  const json_t *text = json_is_object(token) ? json_object_get(token, "content") : token;
  if (!status && text && !json_is_null(text)) {
    const int32_t id =
        json_is_string(text) ? tokenizer_json_id(t->json, json_string_value(text)) : -1;
    if (id < 0)
      status =
          phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: 'eos_token' is no token of %s", config, path);
    /* The id that was added for it is not needed. */
    else if (t->end_of_document == t->vocabulary - 1 &&
             !tokenizer_json_has(t->json, t->end_of_document))
      t->vocabulary--;
    if (!status) t->end_of_document = id;
  }
  json_decref(json);
  free(config);
  return status;
}

bool tokenizer_is_json(const char *path) {
  struct stat found;
  if (!stat(path, &found) && S_ISDIR(found.st_mode)) {
    return !folder_has(path, "tokenizer.model") && folder_has(path, "tokenizer.json");
  }
  FILE *file = fopen(path, "r");
  const bool json = file && fgetc(file) == '{';
  if (file) fclose(file);
  return json;
}

phibal_status tokenizer_load(const char *path, tokenizer *t) {
  *t = (tokenizer){0};
  struct stat found;
  if (!stat(path, &found) && S_ISDIR(found.st_mode)) {
    const bool json = tokenizer_is_json(path);
    if (!json && !folder_has(path, "tokenizer.model")) return no_model(path);
    char *inside = string_format("%s/tokenizer.%s", path, json ? "json" : "model");
    if (!inside) return phibal_status_set(PHIBAL_ERROR_MEMORY, "out of memory");
    phibal_status status = tokenizer_load(inside, t);
    free(inside);
    return status;
  }
  text_buffer model = {0};
  phibal_status status = file_read_text(path, TEXT_TOKENIZER, &model);
  if (!status) status = tokenizer_parse(path, model.bytes, model.count, t);
  if (!status && t->json) status = end_from_config(path, t);
  if (status) tokenizer_free(t);
  text_buffer_free(&model);
  return status;
}

phibal_status tokenizer_encode(const tokenizer *t, const char *text, size_t n,
                               token_buffer *buffer) {
  buffer->count = 0;
  if (t->pieces) return pieces_encode(t, text, n, buffer);
  if (t->json) return tokenizer_json_encode(t->json, text, n, buffer);
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
  } else if (!status && t->json) {
    status = tokenizer_json_decode(t->json, kept, count, text, bytes);
  } else if (!status && !(*text = malloc(count + 1))) {
    status = phibal_status_set(PHIBAL_ERROR_MEMORY, "no memory for %zu bytes", count);
  } else if (!status) {
    for (size_t i = 0; i < count; i++) (*text)[i] = (char)kept[i];
    (*text)[ *bytes = count] = 0;
  }
  free(kept);
  return status;
}

void tokenizer_free(tokenizer *t) {
#if PHIBAL_DATA_SENTENCEPIECE
  if (t->pieces) sentencepiece_free(t->pieces);
#endif
  tokenizer_json_free(t->json);
  *t = (tokenizer){0};
}
