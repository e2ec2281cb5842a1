/* Token files: written by `phibal data`, read by the trainer. Little-endian: a header, the tokens,
   a table of documents, the names of the domains, a checksum (token_file_internal.h). Read through
   mmap. Files of other programs are read directly:

     Megatron-LM     NAME.bin with NAME.idx, tokens uint16 or int32
     llm.c           NAME.bin with magic 20240520 (uint16) or 20240801 (uint32)
     nanoGPT         any other NAME.bin: uint16 tokens only

   They have a single domain, named after the file. Documents end according to the index, in nanoGPT
   files after an end-of-document token, in llm.c files before one. */
#ifndef PHIBAL_MOE_TOKEN_FILE_H
#define PHIBAL_MOE_TOKEN_FILE_H

#include <phibal/status.h>
#include <stdbool.h>
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
  bool vocabulary_open;    /* it is only the largest token's: the file does not say */
  bool undivided;          /* the tokens should say where documents end, and none does */
  int32_t end_of_document; /* the token that ends every document */
  int64_t tokens;
  int64_t documents;
  int32_t domains;
  const char *const *domain_names; /* [domains] */
  const token_document *table;     /* [documents], by rising start, covering all tokens */
  const uint16_t *data16;          /* the tokens if vocabulary <= 65536, else null */
  const uint32_t *data32;          /* the tokens otherwise */
  /* The loss mask, bit i % 8 of byte i / 8: whether token i is a target; null: every token that
     follows another. With a mask each document is an example with at least one target, which is not
     its first token. */
  const uint8_t *learned;
  uint64_t checksum;    /* of all that stands in the file */
  void *mapping;        /* private */
  size_t mapping_bytes; /* private */
  void *owned;          /* private */
  bool reported;        /* the caller's: that the file was replaced */
  struct token_stamp {
    char *path; /* null: not a file, or copied */
    int32_t given_end_of_document;
    uint64_t device, inode;
    int64_t bytes, seconds, nanoseconds; /* the time of the last change */
  } stamp;                               /* private: of the file when it was opened */
} token_file;

/* PHIBAL_ERROR_IO (missing, unreadable), PHIBAL_ERROR_FORMAT (not a token file, truncated, corrupt,
   a token id outside the vocabulary: each with its position). Reads the whole file once. On failure
   *file is all zeros. */
phibal_status token_file_open(const char *path, token_file *file);
/* The same, with the end-of-document token of other programs' files; -1: 50256 (GPT-2's), in
   llm.c's uint32 files 128000 (Llama 3's), and in Megatron's, where it is not needed, 0. No effect
   on phibal's own files. */
phibal_status token_file_open_with(const char *path, int32_t end_of_document, token_file *file);
/* The same from bytes[n], aligned to 8, which must outlive *file; `name` stands for the path in
   messages. */
phibal_status token_file_view(const void *bytes, size_t n, const char *name, token_file *file);
/* Copies it into memory, so that later changes to the file do not matter. */
phibal_status token_file_copy(token_file *file);
/* PHIBAL_ERROR_FORMAT if the contents have changed since it was opened, by size and time; if these
   differ, or with `whole`, by checksum. *replaced: the name now refers to another file, or none;
   the opened one is still used. */
phibal_status token_file_unchanged(token_file *file, bool whole, bool *replaced);
/* Accepts a file that is all zeros. */
void token_file_close(token_file *file);

static inline int32_t token_file_at(const token_file *file, int64_t i) {
  return file->data16 ? (int32_t)file->data16[i] : (int32_t)file->data32[i];
}

static inline bool token_file_learned(const token_file *file, int64_t i) {
  return !file->learned || file->learned[i / 8] >> (i % 8) & 1;
}

/* Index of the document that holds token i, 0 <= i < tokens. */
int64_t token_file_document(const token_file *file, int64_t i);

/* Conditional bigram entropy in nats: -sum p(a,b) log p(b|a) over all pairs of neighbouring tokens,
   from the file's own counts; what a perfect bigram model of the file would reach. Pairs across the
   end of a document count, as they do in training. `domain`: only the pairs whose first token is of
   that domain; -1: all. Fewer than one pair: PHIBAL_ERROR_ARGUMENT. */
phibal_status token_file_bigram_entropy(const token_file *file, int32_t domain, double *nats);

#endif
