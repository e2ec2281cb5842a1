/* Tokenizers: bytes, a tokenizer.json of Hugging Face, or a SentencePiece model if the build has
   SentencePiece. */
#ifndef PHIBAL_MOE_TOKENIZER_H
#define PHIBAL_MOE_TOKENIZER_H

#include <phibal/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tokenizer {
  int32_t vocabulary;
  int32_t end_of_document;
  void *pieces; /* private; */
  void *json;   /* both null: bytes */
} tokenizer;

/* A growing array of token ids. All zeros is empty. */
typedef struct token_buffer {
  uint32_t *ids;
  size_t count, capacity;
} token_buffer;

phibal_status token_buffer_append(token_buffer *buffer, uint32_t id);
void token_buffer_free(token_buffer *buffer);

enum { TOKENIZER_BYTES_END = 256, TOKENIZER_BYTES_VOCABULARY = 257 };
/* Bytes 0 to 255 are themselves, 256 is the end of a document; vocabulary 257. Every text, valid
   UTF-8 or not, can be encoded and decoded. */
void tokenizer_bytes(tokenizer *t);

bool tokenizer_has_sentencepiece(void);
/* A SentencePiece model, a tokenizer.json, or the tokenizer.model or else the
   tokenizer.json of a folder. What ends a document: of a SentencePiece model </s>; of a
   tokenizer.json the eos_token of the tokenizer_config.json beside it, or without one the first of
   <|endoftext|>, <|end_of_text|>, DeepSeek's end of sentence, </s>, <eos> and [EOS] that it has.
   One that has none gets one more id. PHIBAL_ERROR_UNSUPPORTED for a SentencePiece model in a build
   without SentencePiece, and for what is not understood; PHIBAL_ERROR_IO, also for a folder without
   any; PHIBAL_ERROR_FORMAT. */
phibal_status tokenizer_load(const char *path, tokenizer *t);
/* Whether a file begins as JSON does. */
bool tokenizer_is_json(const char *path);
/* The same from the bytes of such a file; `name` is for messages. */
phibal_status tokenizer_parse(const char *name, const char *model, size_t bytes, tokenizer *t);

/* One line of text of *bytes bytes, valid until the next call; false at the end. */
typedef bool (*tokenizer_lines)(void *context, const char **line, size_t *bytes);
/* Trains a model of `vocabulary` pieces: *model[*bytes], to be freed. Byte pair encoding with byte
   fallback, no normalisation and no added space: decoding returns the text, except that U+2581, the
   space symbol of pieces, becomes a space. */
phibal_status tokenizer_train(tokenizer_lines lines, void *context, int32_t vocabulary,
                              char **model, size_t *bytes);

/* Replaces the ids in *buffer by those of text[n], without an end-of-document token. A
   tokenizer.json finds its added tokens in the text, that of the end of a document too, and takes
   UTF-8 only. */
phibal_status tokenizer_encode(const tokenizer *t, const char *text, size_t n,
                               token_buffer *buffer);
/* The text of ids [n], *text[*bytes], to be freed; the end of a document has none.
   PHIBAL_ERROR_ARGUMENT: an id that the tokenizer does not have. */
phibal_status tokenizer_decode(const tokenizer *t, const uint32_t *ids, size_t n, char **text,
                               size_t *bytes);
void tokenizer_free(tokenizer *t);

#ifdef __cplusplus
}
#endif

#endif
