/* Makes a pair of token files, train.tokens and validation.tokens, from text files or examples,
   split by document. */
#ifndef PHIBAL_MOE_BUILD_H
#define PHIBAL_MOE_BUILD_H

#include "manifest.h"

/* Maximum size of the documents that one long text is split into: a 64th of it, from 1024 to 32768
   bytes. This gives enough documents for both parts and keeps related text together. */
int64_t build_document_bytes(int64_t bytes);

/* A document goes to the validation part if the hash of (seed, its text) is below that share of all
   hashes. So the split does not depend on names, order or machine, duplicates land on the same
   side, and adding documents moves no others. If this leaves one side of a domain empty, the text
   with the smallest (largest) hash is moved to it; a domain with a single text has no validation
   part, with a notice.

   The files and their manifest, corpus.json, appear under their names when all are complete. On an
   error nothing is left behind and existing files are kept. An old validation.tokens is removed
   with the old corpus, if an earlier build made it. PHIBAL_ERROR_IO, PHIBAL_ERROR_FORMAT (not
   UTF-8: file and byte; examples: file, line and field), PHIBAL_ERROR_ARGUMENT (a domain without
   text, no validation part at all, options out of range), those of the tokenizer. */
phibal_status build_run(const build_options *options, build_report *report);
/* Whether build_run may write to the folder: it has no corpus, or `overwrite` allows replacing it,
   with a notice. PHIBAL_ERROR_ARGUMENT. */
phibal_status build_may_write(const build_options *options);

#endif
