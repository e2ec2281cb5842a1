/* Instruction data: examples with a loss mask. JSON objects, one per line, in one of two layouts,
   recognised by their keys:

     chat    {"messages": [{"role": "user", "content": "..."}, ...]}: the assistant's messages are
             targets; other keys of the line are ignored
     plain   {"prompt": "...", "completion": "..."}: the completion is the target

   A template with a prefix and suffix for the messages of each role turns a chat into text. Each
   assistant message with its suffix, and each completion, ends with an end-of-document token, which
   is a target too. Text after the assistant's last message is dropped. Other keys of a message that
   are not null, and "tools", are errors, because dropping them would change the meaning. */
#ifndef PHIBAL_MOE_INSTRUCTIONS_H
#define PHIBAL_MOE_INSTRUCTIONS_H

#include "formats/file.h"
#include "tokenizer.h"
#include <jansson.h>

typedef struct chat_template {
  json_t *roles; /* {role: [before, after]}, with "assistant" */
  /* Of a format by name (chat.h); all zeros without. */
  const char *name;    /* of the format */
  char *begin;         /* before the first message */
  const char *lead;    /* between the assistant's `before` and what it says, a target as that is */
  const char *between; /* after the assistant's message, where another follows */
  int32_t end;         /* the token that ends the assistant's message */
  bool ends;           /* that is not the end of a document, which then only stands at the last */
  bool alternates;     /* messages are of user and assistant in turn */
  bool system_first;   /* only the first may be of system */
  bool needs_system;   /* and has to be */
} chat_template;

/* "<|ROLE|>\n" before a message of system, user, tool and assistant, a newline after it, nothing
   after the assistant's. */
phibal_status chat_template_default(chat_template *t);
/* From a JSON file {"user": ["[INST] ", " [/INST]"], "assistant": ["", ""], ...}. On failure *t is
   all zeros. */
phibal_status chat_template_read(const char *path, chat_template *t);
void chat_template_free(chat_template *t); /* accepts all zeros */

/* The texts of one line, bytes[n], alternating: prompt, target, prompt, ..., target. An end of
   document follows each target; the first text is not empty. PHIBAL_ERROR_FORMAT names the path,
   the line and the field. On failure *example is all zeros. */
phibal_status instruction_parse(const chat_template *t, const char *path, int64_t line,
                                const char *bytes, size_t n, string_list *example);

/* Tokenizes each text separately, as at inference. learned [tokens->count] is 1 for target tokens;
   both are without the last end of document. PHIBAL_ERROR_FORMAT if the first text has no token. */
typedef struct instruction_tokens {
  token_buffer tokens;
  uint8_t *learned;
  size_t capacity;
  token_buffer of_text; /* of one text */
} instruction_tokens;

/* `ends`: that of the template. */
phibal_status instruction_encode(const string_list *example, const tokenizer *t, bool ends,
                                 const char *path, int64_t line, instruction_tokens *to);
void instruction_tokens_free(instruction_tokens *to);

#endif
