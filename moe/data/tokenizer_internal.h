/* The kinds of tokenizers behind tokenizer.h. Of SentencePiece, its C++ interface as C: no
   exception leaves it. */
#ifndef PHIBAL_MOE_TOKENIZER_INTERNAL_H
#define PHIBAL_MOE_TOKENIZER_INTERNAL_H

#include "tokenizer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Null if model[bytes] is not a model. *end_of_sentence is -1 where the model has none. */
void *sentencepiece_load(const char *model, size_t bytes, int32_t *vocabulary,
                         int32_t *end_of_sentence);
void sentencepiece_free(void *pieces);
/* Appends the ids; nonzero on failure. */
int sentencepiece_encode(const void *pieces, const char *text, size_t n, token_buffer *buffer);
/* *text[*bytes], to be freed; nonzero on failure. */
int sentencepiece_decode(const void *pieces, const uint32_t *ids, size_t n, char **text,
                         size_t *bytes);
/* *model[*bytes], or *error (null when out of memory), is to be freed; nonzero on failure. */
int sentencepiece_train(tokenizer_lines lines, void *context, int32_t vocabulary, char **model,
                        size_t *bytes, char **error);

/* tokenizer.json of Hugging Face: byte pair encoding with its normalizer, pre-tokenizer, added
   tokens and decoder, token for token as the Python package `tokenizers` without added special
   tokens. Every field is understood or refused by its name. */
typedef struct tokenizer_json tokenizer_json;

/* `name` is for messages. *vocabulary is the largest id and one. */
phibal_status tokenizer_json_parse(const char *name, const char *text, size_t bytes,
                                   tokenizer_json **j, int32_t *vocabulary);
/* The id of a token by its text; -1: none. */
int32_t tokenizer_json_id(const tokenizer_json *j, const char *token);
/* Whether some token has this id. */
bool tokenizer_json_has(const tokenizer_json *j, int32_t id);
/* Appends the ids of text[n]. Text that is not UTF-8 is PHIBAL_ERROR_FORMAT, with the offset. Not
   for two threads at a time: words are remembered. */
phibal_status tokenizer_json_encode(tokenizer_json *j, const char *text, size_t n,
                                    token_buffer *buffer);
/* *text[*bytes], to be freed. Bytes that are not UTF-8 are kept, where `tokenizers` has U+FFFD. An
   id below the vocabulary that no token has is nothing. */
phibal_status tokenizer_json_decode(const tokenizer_json *j, const uint32_t *ids, size_t n,
                                    char **text, size_t *bytes);
void tokenizer_json_free(tokenizer_json *j); /* accepts null */

#ifdef __cplusplus
}
#endif
#endif
