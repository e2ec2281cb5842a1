/* The part of `phibal verify` that goes over every binary32. */
#ifndef PHIBAL_CLI_VERIFY_EXHAUSTIVE_H
#define PHIBAL_CLI_VERIFY_EXHAUSTIVE_H

#include <stdbool.h>

/* Runs one core, or all where `only` is null, over every stride-th block of inputs; prints a line
   or a JSON row each. Returns the exit status. */
int verify_exhaustive(const char *only, int stride, bool json, const char *certificate_path);

/* `--hardest N`: the table of verify/hard_inputs.def. */
int verify_hardest(const char *only, int count);

#endif
