/* corpus.json, which stands beside the token files and says what they were made of. */
#ifndef PHIBAL_MOE_MANIFEST_H
#define PHIBAL_MOE_MANIFEST_H

#include "build.h"
#include "tokenizer.h"

/* The text of the file, to be freed. */
phibal_status manifest_text(const build_options *options, const build_report *report,
                            const tokenizer *t, char **text);
/* The report of an earlier build and its origin (a new reference; null if it has none).
   PHIBAL_ERROR_IO, or PHIBAL_ERROR_FORMAT where the file says what no build can have made: then
   *report is empty. */
phibal_status manifest_read(const char *folder, build_report *report, json_t **origin);

#endif
