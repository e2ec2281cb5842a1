/* Writes a token file: streamed to a temporary name next to the path, and renamed only when
   complete and synced. On any earlier failure the path keeps its contents. */
#ifndef PHIBAL_MOE_TOKEN_WRITER_H
#define PHIBAL_MOE_TOKEN_WRITER_H

#include "token_file.h"
#include <stddef.h>

typedef struct token_writer token_writer;

/* PHIBAL_ERROR_IO (the folder is missing or cannot be written), PHIBAL_ERROR_ARGUMENT. */
phibal_status token_writer_create(const char *path, int32_t vocabulary, int32_t end_of_document,
                                  token_writer **writer);

/* Adds a domain; they are numbered 0, 1, ... in this order. A name has 1 to 255 bytes. */
phibal_status token_writer_domain(token_writer *writer, const char *name);

/* Appends a document and an end-of-document token. A token outside the vocabulary or a domain
   not added yet is PHIBAL_ERROR_ARGUMENT. */
phibal_status token_writer_document(token_writer *writer, const uint32_t *tokens, int64_t n,
                                    int32_t domain);

/* The same for an example with a loss mask: the targets are the tokens with learned[i] not 0, and
   its end of document. The first token cannot be one. A file's documents are all of one kind:
   PHIBAL_ERROR_ARGUMENT. */
phibal_status token_writer_example(token_writer *writer, const uint32_t *tokens,
                                   const uint8_t *learned, int64_t n, int32_t domain);

/* Writes the rest and syncs. A file without documents or without domains
   is PHIBAL_ERROR_ARGUMENT. Nothing can be added after it. */
phibal_status token_writer_finish(token_writer *writer);

/* After finish: renames the file to its path. */
phibal_status token_writer_publish(token_writer *writer);

/* After finish, instead: returns the temporary name of the file, to be freed. */
char *token_writer_release(token_writer *writer);

/* Frees the writer; a file that was not published is removed. Accepts null. */
void token_writer_destroy(token_writer *writer);

#endif
