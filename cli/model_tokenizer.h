/* The tokenizer that a trained model reads text with. */
#ifndef PHIBAL_CLI_MODEL_TOKENIZER_H
#define PHIBAL_CLI_MODEL_TOKENIZER_H

#include "moe/data/tokenizer.h"
#include "moe/train/trained.h"

/* `given`: "bytes", a file or a folder; null: the model's own (eval-model's help says which).
   `path` (null: not wanted) becomes where it lies. PHIBAL_ERROR_ARGUMENT: none is found, or its
   vocabulary is not the model's. */
enum { MODEL_TOKENIZER_PATH = CONFIG_TEXT_MAX + 32 };
phibal_status model_tokenizer_open(const char *given, const trained *from, tokenizer *t,
                                   char path[MODEL_TOKENIZER_PATH]);

#endif
