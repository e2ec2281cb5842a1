/* The layout of a token file, shared by reader and writer. All numbers are little-endian.

     header       token_header, 64 bytes
     tokens       tokens x token_bytes, padded with zeros to a multiple of 8
     documents    documents x token_document (24 bytes, the last four of them zero)
          names        the domains' names, zero-terminated, padded with zeros to a multiple of 8
     learned      the loss mask, in version 2 only: a bit per token, the lowest of a byte first, 1
                  for targets, padded with zeros to a multiple of 8 bytes
     checksum     8 bytes: token_checksum of everything between the header and it, then of the
   header

   Tokens come first so that a writer can stream them; the header is filled in last. */
#ifndef PHIBAL_MOE_TOKEN_FILE_INTERNAL_H
#define PHIBAL_MOE_TOKEN_FILE_INTERNAL_H

#include "token_file.h"
#include <assert.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "token files are mapped as they are, so a little-endian machine is needed"
#endif

#define TOKEN_FORMAT_MAGIC "phibtok\n"
#define TOKEN_FORMAT_VERSION 1
#define TOKEN_FORMAT_VERSION_LEARNED 2
/* Bounds that keep every size computed from a header below 2^63. */
#define TOKEN_FORMAT_MAX_TOKENS ((int64_t)1 << 56)
#define TOKEN_FORMAT_MAX_VOCABULARY ((int32_t)1 << 24)
#define TOKEN_FORMAT_MAX_DOMAINS 65536
#define TOKEN_FORMAT_MAX_NAME 255

typedef struct token_header {
  char magic[8];
  uint32_t version;
  uint32_t token_bytes; /* 2 if vocabulary <= 65536, else 4 */
  int32_t vocabulary;
  int32_t end_of_document;
  int64_t tokens;
  int64_t documents;
  int32_t domains;
  uint32_t reserved;  /* zero */
  int64_t name_bytes; /* with the padding */
  int64_t file_bytes; /* the whole file */
} token_header;

static_assert(sizeof(token_header) == 64 && sizeof(token_document) == 24, "mapped as they are");

/* Sum of n words, starting from `sum` (0 at first). Each step, (sum ^ word) times an odd number and
   then a xor of the upper half into the lower, is a bijection of `sum` for a given word and of the
   word for a given `sum`; so two inputs that differ in one word only never have the same checksum,
   and others meet with probability about 2^-64. Not a defence against forgery. */
static inline uint64_t token_checksum(uint64_t sum, const uint64_t *words, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    sum = (sum ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
    sum ^= sum >> 32;
  }
  return sum;
}

static inline int64_t token_format_padded(int64_t bytes) {
  return (bytes + 7) / 8 * 8;
}

/* Bytes of the section `learned`. */
static inline int64_t token_format_learned(const token_header *h) {
  return h->version == TOKEN_FORMAT_VERSION_LEARNED ? token_format_padded((h->tokens + 7) / 8) : 0;
}

/* File size implied by the other numbers of the header. */
static inline int64_t token_format_bytes(const token_header *h) {
  return (int64_t)sizeof *h + token_format_padded(h->tokens * h->token_bytes) +
         h->documents * (int64_t)sizeof(token_document) + h->name_bytes + token_format_learned(h) +
         8;
}

/* Token files of other programs (foreign_file.c). `file` has only the mapping of NAME.bin so far.
   PHIBAL_ERROR_FORMAT, _UNSUPPORTED (another type of token); the caller closes it then. */
phibal_status foreign_file_read(const char *path, int32_t end_of_document, token_file *file);

#endif
