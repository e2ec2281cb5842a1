/* Multiple choice by log-likelihood: picks the option that the model finds most probable after the
   question.

   Questions are JSON objects, one per line, in one of three layouts, recognised by their keys:

     HellaSwag  {"ctx", "endings": [...], "label": 0 .. or "0"}: each ending follows the context
                and a space
     MMLU       {"question", "choices": [...], "answer": 0 .. or "A" ..}: options are listed as
                "A. ...", followed by "Answer:", and " A", " B" .. are compared
     C-Eval     {"question", "A", "B", "C", "D", "answer": "A" ..}: likewise, with its own word for
                an answer and no space before the letter

   Zero-shot: no examples precede a question. Accuracy is also reported for each "subject". */
#ifndef PHIBAL_MOE_CHOICES_H
#define PHIBAL_MOE_CHOICES_H

#include "moe/data/tokenizer.h"
#include "moe/model/model.h"
#include <jansson.h>

enum { CHOICES_MAX = 26 };

typedef struct choice_question {
  char *subject; /* null: none */
  char *context;
  char *option[CHOICES_MAX]; /* what follows the context */
  int32_t options, answer;
  int32_t line; /* of the file, from 1 */
} choice_question;

typedef struct choice_file {
  char *path;
  int64_t count;
  choice_question *questions;
} choice_file;

/* PHIBAL_ERROR_IO, PHIBAL_ERROR_FORMAT (the message names the line and the key). On failure *file
   is closed. */
phibal_status choices_read(const char *path, choice_file *file);
/* Accepts a closed one (all zeros). */
void choices_close(choice_file *file);

typedef struct choice_likelihood {
  double sum;    /* log-likelihood of the option, nats, at most 0 */
  int64_t bytes; /* of the option */
} choice_likelihood;

/* Where the tokens of an option begin. A document begins with the tokenizer's end of document, as
   it does in the training data; the context and the option are tokenized together, and what is
   beyond the context's own number of tokens is the option. With more tokens than `sequence`, which
   is what the model reads at once, the first ones are left out, of the context only. tokens,
   targets [sequence] *first .. *end-1 are the positions that predict the option; *cut says whether
   tokens were left out. PHIBAL_ERROR_ARGUMENT: the option has no token of its own, or does not fit.
 */
phibal_status choices_encode(const tokenizer *t, const char *context, const char *option,
                             int32_t sequence, int32_t *tokens, int32_t *targets, int32_t *first,
                             int32_t *end, bool *cut);

/* The model reads `batch` options at once, `config` being what it was created with. *json is
     {"file", "questions", "accuracy", "accuracy_per_byte", "standard_error", "cut", "subjects":
   [...]} accuracy: the largest sum is the answer (the lowest option on ties); accuracy_per_byte:
   the largest sum per byte of the option; standard_error: of accuracy, sqrt(a (1 - a) / n); cut:
   questions of which an option lost context. With `details` (may be null) a line for each question
   is written:
   {"line", "answer", "chosen", "log_likelihood": [...]}. */
phibal_status choices_score(model *m, const model_config *config, const tokenizer *t,
                            const choice_file *file, int32_t batch, FILE *details, json_t **json);

#endif
