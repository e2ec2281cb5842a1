/* Text files, or examples, to a pair of token files, train.tokens and validation.tokens, split by
   document. */
#ifndef PHIBAL_MOE_BUILD_H
#define PHIBAL_MOE_BUILD_H

#include "instructions.h"
#include <jansson.h>
#include <phibal/status.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct build_source {
  const char *domain; /* sources of one name are one domain */
  const char *path;   /* a file, a folder whose files are taken recursively, links followed
                         (folder_files_linked), or "-", standard input; a pipe is read as it is */
} build_source;

/* Files of JSON lines, each an object whose "text" is a document. */
typedef enum build_lines {
  BUILD_LINES_NAMED, /* those whose name ends in .jsonl */
  BUILD_LINES_ALL,
  BUILD_LINES_NONE,
} build_lines;

typedef enum build_invalid {
  BUILD_INVALID_ERROR, /* a file that is not UTF-8, or has zero bytes, ends the build */
  BUILD_INVALID_SKIP,  /* it is left out, with a notice */
  BUILD_INVALID_KEEP,  /* its bytes are kept as they are */
} build_invalid;

typedef struct build_options {
  const char *folder; /* where the files go; created if missing */
  const build_source *sources;
  size_t source_count;
  double validation; /* 0 to 0.5: the share of documents kept for validation; 0: no such file */
  uint64_t seed;     /* of the split */
  int64_t
      document_bytes; /* longer files are divided (text_document_length); 0: one document each */
  bool divide_one;    /* a domain that is one file is divided anyway, by its size
                         (build_document_bytes) */
  build_lines lines;
  build_invalid invalid;
  const char *model;         /* a SentencePiece model to use; null: none */
  int32_t train_vocabulary;  /* > 0: train one on the training part, into folder/tokenizer.model */
  const chat_template *chat; /* the files are examples (instructions.h), each line a document;
                                null: they are text */
  bool overwrite;            /* replaces the corpus that the folder has */
  json_t *origin;            /* kept in the manifest under "origin"; borrowed; null: none */
  void (*notice)(const char *message);      /* what was left out and why; null: nobody listens */
  const volatile sig_atomic_t *interrupted; /* nonzero ends the build; null: never */
} build_options;

typedef struct build_part {
  int64_t documents;
  int64_t bytes;  /* of text */
  int64_t tokens; /* ends of documents included */
} build_part;

typedef struct build_domain {
  char *name;
  build_part train, validation;
  int64_t document_bytes; /* of the one file that it is, where that was divided; else 0 */
} build_domain;

typedef struct build_report {
  build_domain *domains; /* in the order of the sources */
  int32_t domain_count;
  int32_t vocabulary;
  /* Of a build, and zero where it was read from a manifest: files that were read, and left out. */
  int64_t files, empty_files, invalid_files, zero_files;
  int64_t hidden, again, broken_links, no_files; /* folder_left_out */
} build_report;

/* The documents that one long text is divided into have at most so many bytes: a 64th of it, from
   1024 to 32768. So there are enough for both parts, and what belongs together stays together. */
int64_t build_document_bytes(int64_t bytes);

/* A document goes to the validation part if the hash of (seed, its text) is below that share of all
   hashes: so the split does not depend on names, order or machine, one text given twice lands on
   one side, and adding documents moves no others. Where that leaves one side of a domain empty, the
   text with the smallest (largest) hash is moved to it; a domain with one text only has no
   validation part, which is said as a notice.

   The files and their manifest, corpus.json, appear under their names when all are complete. On an
   error nothing is left behind and files that were there stay. An old validation.tokens goes with
   the old corpus, if an earlier build made it.
   PHIBAL_ERROR_IO, PHIBAL_ERROR_FORMAT (not UTF-8: file and byte; examples: file, line and field),
   PHIBAL_ERROR_ARGUMENT (a domain without text, no validation part at all, options out of range),
   those of the tokenizer. */
phibal_status build_run(const build_options *options, build_report *report);
/* Whether the folder may be built in, as build_run asks first: it has no corpus, or `overwrite`
   allows its replacement, which is then said as a notice. PHIBAL_ERROR_ARGUMENT. */
phibal_status build_may_write(const build_options *options);
void build_report_free(build_report *report);

#endif
