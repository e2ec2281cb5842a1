/* Text documents from the files of Debian packages. */
#ifndef PHIBAL_MOE_EXTRACT_H
#define PHIBAL_MOE_EXTRACT_H

#include "formats/file.h"
#include <stdint.h>

/* The documents of one domain, in the order found. All zeros is empty. */
typedef struct extract {
  struct extract_document {
    char *text;
    size_t bytes;
    uint64_t hash;
  } * documents;
  size_t count, capacity;
  size_t left_out; /* too short, too long, not UTF-8, or with a zero byte */
} extract;

enum { EXTRACT_LEAST = 200, EXTRACT_MOST = 65536 }; /* bytes of a document */

/* Each takes one file (compressed or not) and appends its documents. */
typedef phibal_status (*extract_function)(const text_buffer *file, const char *path, extract *to);

phibal_status extract_plain(const text_buffer *file, const char *path, extract *to);
/* A manual page (manual.h). */
phibal_status extract_manual(const text_buffer *file, const char *path, extract *to);
/* A dictd database: entries start at the margin; a few kilobytes of them form a document. */
phibal_status extract_dictionary(const text_buffer *file, const char *path, extract *to);
/* A WordNet data file (wndb(5WN)): "word, word: gloss" for each set of synonyms, a few kilobytes of
   lines per document. */
phibal_status extract_wordnet(const text_buffer *file, const char *path, extract *to);
/* A SWORD module's block index (.bzs, with .bzv and .bzz next to it): the text of each chapter
   without markup and notes, one verse per line. */
phibal_status extract_scripture(const text_buffer *file, const char *path, extract *to);

/* Unpacks gzip data (RFC 1952, concatenated members too) in place; other data are unchanged. */
phibal_status extract_gunzip(text_buffer *file, const char *path);

/* Keeps documents of at most `bytes` bytes in total, in the order of the hash of their text, so
   that they are spread over the domain; duplicates are kept once. */
phibal_status extract_choose(extract *e, int64_t bytes);
void extract_free(extract *e);

#endif
