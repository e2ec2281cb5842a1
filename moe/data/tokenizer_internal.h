/* SentencePiece's C++ interface as C. No exception leaves it. */
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

#ifdef __cplusplus
}
#endif
#endif
