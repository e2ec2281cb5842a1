/* Regular expressions of tokenizer.json files. They mean what they mean in Oniguruma, which the
   Python package `tokenizers` uses, with its tables of Unicode; what is not understood is refused
   by name. With a library's matcher the tokens of a text would depend on the version of its tables.
 */
#ifndef PHIBAL_MOE_PATTERN_H
#define PHIBAL_MOE_PATTERN_H

#include <phibal/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { UNICODE_END = 0x110000 };

/* A set of code points, a bit for each. */
typedef struct code_set {
  uint8_t bits[UNICODE_END / 8];
} code_set;

static inline bool code_set_has(const code_set *set, uint32_t code) {
  return set->bits[code >> 3] >> (code & 7) & 1;
}
void code_set_add(code_set *set, uint32_t first, uint32_t last);
/* Adds the code points of a general category: its two letters, or the first of them. False: there
   is none of that name. */
bool code_set_add_category(code_set *set, const char *name, size_t n);

/* The code point at s of well-formed UTF-8; *n is its length in bytes. */
static inline uint32_t utf8_code(const char *s, size_t *n) {
  const unsigned char *u = (const unsigned char *)s;
  if (u[0] < 0x80) return *n = 1, u[0];
  if (u[0] < 0xe0) return *n = 2, (u[0] & 31u) << 6 | (u[1] & 63u);
  if (u[0] < 0xf0) return *n = 3, (u[0] & 15u) << 12 | (u[1] & 63u) << 6 | (u[2] & 63u);
  return *n = 4, (u[0] & 7u) << 18 | (u[1] & 63u) << 12 | (u[2] & 63u) << 6 | (u[3] & 63u);
}

typedef struct pattern pattern;

/* PHIBAL_ERROR_UNSUPPORTED names what is not understood; PHIBAL_ERROR_MEMORY. text[n] is
   well-formed UTF-8. */
phibal_status pattern_compile(const char *name, const char *text, size_t n, pattern **p);
/* The same for a text that stands for itself. */
phibal_status pattern_literal(const char *name, const char *text, size_t n, pattern **p);
/* The first match in s[n] from `from` on: *found, and s[*start .. *end). s is well-formed UTF-8. An
   empty match, and a search of more than 2^20 + 256 (n - from) steps, are
   PHIBAL_ERROR_UNSUPPORTED. */
phibal_status pattern_find(const pattern *p, const char *s, size_t n, size_t from, bool *found,
                           size_t *start, size_t *end);
void pattern_free(pattern *p); /* accepts null */

#endif
