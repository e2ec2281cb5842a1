/* Certificates: what was verified, of which build, on what, and how near to its bounds, as JSON
   (spec/verify-certificate.schema.json); and the check of one against the binary at hand. */
#ifndef PHIBAL_CLI_CERTIFICATE_H
#define PHIBAL_CLI_CERTIFICATE_H

#include "verify/judge_vectors.h"
#include "verify/operation.h"
#include <stdint.h>

typedef struct certificate certificate;

/* Whether the files that a command was asked for, each null if it was not, may be written. They are
   made again with every run of continuous integration: a certificate replaces a certificate, a
   JUnit report one of phibal's, and neither any other file. */
phibal_status certificate_may_write(const char *to, const char *junit);

/* device: null for the processor. Null when memory is out; the others take that. */
certificate *certificate_start(const char *backend, const char *device, uint64_t seed);
/* Cases first .. first + count - 1 of an operation, the worst of which stand in the tallies; and
   `more` cases from 0 on, and the first `paired` paired ones (operation.h), where there were any. */
void certificate_operation(certificate *c, const operation *o, uint64_t first, int64_t count,
                           int64_t more, int64_t paired, const tally *tallies);
/* A core over all binary32 inputs, or every stride-th block. */
void certificate_exhaustive(certificate *c, const char *core, int stride, uint64_t inputs,
                            uint64_t wrong, double worst_ulp, uint32_t worst_input);
/* Writes the file and ends the certificate. */
phibal_status certificate_finish(certificate *c, bool passed, const char *path);

/* Of results that were judged; the files must stay beside the certificate for its check. */
phibal_status certificate_judged(const judge_request *request, const judge_report *report,
                                 const char *path);

/* `phibal judge --certificate FILE`: is it this binary's, are the promises this catalogue's, and do
   the worst cases (or the results that were judged) give the same errors again? Prints what it
   finds; an exit status. */
int certificate_check(const char *path, const backend *b);

#endif
