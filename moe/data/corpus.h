/* Training data in one or more files (shards), read through mmap. */
#ifndef PHIBAL_MOE_CORPUS_H
#define PHIBAL_MOE_CORPUS_H

#include "token_file.h"

typedef struct corpus {
  int32_t shards;
  token_file *shard;   /* [shards] */
  char **path;         /* [shards] */
  int32_t domains;     /* of all shards, by their names, in the order of their first appearance */
  const char **domain; /* [domains] */
  int32_t **domain_of; /* [shards][shard's domains] */
  int64_t tokens;
  int32_t vocabulary;   /* the largest of the shards' */
  bool vocabulary_open; /* of all shards */
  uint64_t checksum;    /* of the shards in their order; one shard's own */
} corpus;

/* `list`: token files separated by commas; a folder stands for the files below it that end in
   .tokens or .bin, by the bytes of their names. Paths cannot contain commas.
   PHIBAL_ERROR_ARGUMENT if a folder has none; else as token_file_open_with. On failure *c is all
   zeros. */
phibal_status corpus_open(const char *list, int32_t end_of_document, corpus *c);
/* Accepts all zeros. */
void corpus_close(corpus *c);

#endif
