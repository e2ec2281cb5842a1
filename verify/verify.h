/* `phibal verify`: generated cases of an operation, made, run by a backend, and judged. */
#ifndef PHIBAL_VERIFY_VERIFY_H
#define PHIBAL_VERIFY_VERIFY_H

#include "operation.h"

/* Starts the tallies of the operation's outputs; tallies is [OUTPUT_COUNT], here and below. */
void verify_start(const operation *o, tally *tallies);
/* Makes, runs and judges one case. A status other than PHIBAL_OK means that it could not be run at
   all (the message says which and why). */
phibal_status verify_case(const operation *o, const backend *b, uint64_t seed, uint64_t number,
                          tally *tallies);

/* The same for cases first .. first + count - 1, or with first_failure up to the first case that
   fails, earlier ones of the tallies included. */
phibal_status verify_run(const operation *o, const backend *b, uint64_t seed, uint64_t first,
                         int64_t count, bool first_failure, tally *tallies);

/* True if no output failed and, where all_compared, every output was compared at least once (a
   single case need not reach them all). */
bool verify_passed(const operation *o, const backend *b, const tally *tallies, bool all_compared);

/* Whether the backend provides the output: one without `repeat` has no "same-bits", and others may
   lack the tensors of an output. */
bool verify_expects(const operation *o, const backend *b, output_id output);

#endif
