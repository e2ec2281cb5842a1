/* Instruction data: examples of which only what the model is to say is learned. JSON objects, one a
   line, in one of two layouts, told apart by their keys:
     chat    {"messages": [{"role": "user", "content": "..."}, ...]}: what the assistant says is
             learned; other keys of the line are passed over
     plain   {"prompt": "...", "completion": "..."}: the completion is learned
   A chat becomes text by a template, which has for each role what stands before and after a
   message. Each of the assistant's messages, with what the template has after it, and each
   completion ends with an end of document, which is learned with it. What follows the assistant's
   last message is left out. Every other key of a message that is not null, and "tools", are refused
   by name, because leaving them out would change what is said. */
#ifndef PHIBAL_MOE_INSTRUCTIONS_H
#define PHIBAL_MOE_INSTRUCTIONS_H

#include "formats/file.h"
#include "tokenizer.h"
#include <jansson.h>

typedef struct chat_template {
  json_t *roles; /* {role: [before, after]}, with "assistant" */
} chat_template;

/* "<|ROLE|>\n" before a message of system, user, tool and assistant, a line's end after it, but
   nothing after the assistant's. */
phibal_status chat_template_default(chat_template *t);
/* From a JSON file {"user": ["[INST] ", " [/INST]"], "assistant": ["", ""], ...}. On failure *t is
   all zeros. */
phibal_status chat_template_read(const char *path, chat_template *t);
void chat_template_free(chat_template *t); /* accepts all zeros */

/* The texts of one line, bytes[n], by turns: read, learned, read, ..., learned. An end of document
   follows each learned one; the first is not empty. PHIBAL_ERROR_FORMAT names the path, the line
   and the field. On failure *example is all zeros. */
phibal_status instruction_parse(const chat_template *t, const char *path, int64_t line,
                                const char *bytes, size_t n, string_list *example);

/* Tokens, each text by itself, as a model meets them: a prompt is given, and the rest is its own.
   learned [tokens->count] is 1 where a token is learned; both are without the last end of document.
   PHIBAL_ERROR_FORMAT where the first text has no token. */
typedef struct instruction_tokens {
  token_buffer tokens;
  uint8_t *learned;
  size_t capacity;
  token_buffer of_text; /* of one text */
} instruction_tokens;

phibal_status instruction_encode(const string_list *example, const tokenizer *t, const char *path,
                                 int64_t line, instruction_tokens *to);
void instruction_tokens_free(instruction_tokens *to);

#endif
