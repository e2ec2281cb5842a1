/* Size limits of external text files. This table is the only place: error messages use it,
   SECURITY.md has it, tests/formats/text_limits.sh goes to each limit and beyond. (safetensors'
   headers have the format's own limit, .phi files those of audit/phi.h.) JSON has at most 2048
   levels, as jansson reads it, YAML YAML_LEVELS. */
#ifndef PHIBAL_FORMATS_TEXT_LIMITS_H
#define PHIBAL_FORMATS_TEXT_LIMITS_H

#include "file.h"
#include <jansson.h>

/* kind, what a refusal calls it, most mebibytes of a file (of JSON lines: of a line) */
#define TEXT_LIMITS(LIMIT)                                                                         \
  LIMIT(RUN_FILE, "a run file", 1)                                                                 \
  LIMIT(SWEEP, "a sweep", 1)                                                                       \
  LIMIT(CHAT_TEMPLATE, "a chat template", 1)                                                       \
  LIMIT(JSON_LINE, "a line of JSON", 16)                                                           \
  LIMIT(HUGGING_FACE, "a JSON file of a model", 64)                                                \
  LIMIT(MANIFEST, "a manifest", 64)                                                                \
  LIMIT(RESULT, "a result", 64)                                                                    \
  LIMIT(CERTIFICATE, "a certificate", 64)                                                          \
  LIMIT(TOKENIZER, "a tokenizer's model", 256)

typedef enum text_kind {
#define KIND(kind, what, mebibytes) TEXT_##kind,
  TEXT_LIMITS(KIND)
#undef KIND
} text_kind;

enum { YAML_LEVELS = 16 };

/* PHIBAL_ERROR_FORMAT, with the name, the size and the limit, for more bytes than a kind has. */
phibal_status text_within(text_kind kind, const char *name, size_t bytes);
/* The same of a line of JSON Lines. */
phibal_status text_line_within(const char *path, int64_t line, size_t bytes);
/* Replaces *buffer by a regular file of at most so many bytes, which is not read otherwise. */
phibal_status file_read_text(const char *path, text_kind kind, text_buffer *buffer);
/* The same as JSON; `flags` are jansson's. *json is null after a failure. */
phibal_status file_read_json(const char *path, text_kind kind, size_t flags, json_t **json);

#endif
