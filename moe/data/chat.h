/* Chat formats of model families, by name: which texts stand around the messages of each role. A
   model's own template is a program in Jinja, which is not run; what it says is compared with the
   format by the texts in it, and refused where it does more. */
#ifndef PHIBAL_MOE_CHAT_H
#define PHIBAL_MOE_CHAT_H

#include "instructions.h"

extern const char *const chat_format_names[]; /* ends with null */

/* The format of a name, own for phibal's (chat_template_default), for a tokenizer, and of the file
   or folder it was loaded from. PHIBAL_ERROR_ARGUMENT: no such format; PHIBAL_ERROR_UNSUPPORTED:
   the tokenizer finds no special tokens in a text, or lacks one that the format has, or the model's
   own chat template (chat_template.jinja, or that of tokenizer_config.json) is of another format or
   changes messages. On failure *t is all zeros. */
phibal_status chat_template_named(const char *format, const char *path, const tokenizer *of,
                                  chat_template *t);

/* Whether a chat template lies beside a tokenizer. */
phibal_status chat_template_beside(const char *path, bool *there);

/* Appends what asks a model for its answer to a message of a user, after one of the system (null:
   none). PHIBAL_ERROR_UNSUPPORTED: the format has no system messages, or the model's template puts
   one of its own where there is none. */
phibal_status chat_prompt(const chat_template *t, const char *system, const char *user,
                          text_buffer *to);

#endif
