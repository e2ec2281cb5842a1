/* The composition of token files, and corpus.json, which records it next to them. */
#ifndef PHIBAL_MOE_MANIFEST_H
#define PHIBAL_MOE_MANIFEST_H

#include "instructions.h"
#include "tokenizer.h"
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
  const char *model;         /* a SentencePiece model or tokenizer.json to use; null: none */
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
  /* Of a build; zero if read from a manifest: files read and skipped. */
  int64_t files, empty_files, invalid_files, zero_files;
  int64_t hidden, again, broken_links, no_files; /* folder_left_out */
} build_report;

/* The text of the file, to be freed. */
phibal_status manifest_text(const build_options *options, const build_report *report,
                            const tokenizer *t, char **text);
/* The report of an earlier build and its origin (a new reference; null if it has none).
   PHIBAL_ERROR_IO, or PHIBAL_ERROR_FORMAT if the file cannot be from a build: then *report is
   empty. */
phibal_status manifest_read(const char *folder, build_report *report, json_t **origin);
void build_report_free(build_report *report);

#endif
