/* Text files, or examples, to a pair of token files, train.tokens and validation.tokens, split by
   document. */
#ifndef PHIBAL_MOE_BUILD_H
#define PHIBAL_MOE_BUILD_H

#include "manifest.h"

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

#endif
