/* Token files: what `phibal data` writes and the trainer reads. Little-endian: a header, the
   tokens, a table of documents, the names of the domains, a checksum (token_format.h). Read through
   mmap. */
#ifndef PHIBAL_MOE_TOKEN_FILE_H
#define PHIBAL_MOE_TOKEN_FILE_H

#include <phibal/status.h>
#include <stddef.h>
#include <stdint.h>

typedef struct token_document {
  int64_t start;  /* first token */
  int64_t length; /* tokens, the end of the document included; at least 1 */
  int32_t domain;
  int32_t reserved; /* zero */
} token_document;

typedef struct token_file {
  int32_t vocabulary;      /* every token is below it */
  int32_t end_of_document; /* the token that ends every document */
  int64_t tokens;
  int64_t documents;
  int32_t domains;
  const char *const *domain_names; /* [domains] */
  const token_document *table;     /* [documents], by rising start, covering all tokens */
  const uint16_t *data16;          /* the tokens if vocabulary <= 65536, else null */
  const uint32_t *data32;          /* the tokens otherwise */
  uint64_t checksum;               /* of all that stands in the file */
  void *mapping;                   /* private */
  size_t mapping_bytes;            /* private */
} token_file;

/* PHIBAL_ERROR_IO (missing, unreadable), PHIBAL_ERROR_FORMAT (not a token file, truncated, corrupt,
   a token id beyond the vocabulary: each said with the place). Reads the whole file once. On
   failure *file is all zeros. */
phibal_status token_file_open(const char *path, token_file *file);
/* The same from bytes[n], aligned to 8, which must outlive *file; `name` stands for the path in
   messages. */
phibal_status token_file_view(const void *bytes, size_t n, const char *name, token_file *file);
/* Accepts a file that is all zeros. */
void token_file_close(token_file *file);

static inline int32_t token_file_at(const token_file *file, int64_t i) {
  return file->data16 ? (int32_t)file->data16[i] : (int32_t)file->data32[i];
}

/* Index of the document that holds token i, 0 <= i < tokens. */
int64_t token_file_document(const token_file *file, int64_t i);

/* Conditional bigram entropy in nats: -sum p(a,b) log p(b|a) over all pairs of neighbouring tokens,
   from the file's own counts; what a perfect bigram model of the file would reach. Pairs across the
   end of a document count, as they do in training. `domain`: only the pairs whose first token is of
   that domain; -1: all. Fewer than one pair: PHIBAL_ERROR_ARGUMENT. */
phibal_status token_file_bigram_entropy(const token_file *file, int32_t domain, double *nats);

#endif
