/* The process state that phibal's computations need, which preloaded libraries, environment
   variables or limits may have changed. */
#ifndef PHIBAL_CLI_PROCESS_STATE_H
#define PHIBAL_CLI_PROCESS_STATE_H

#include <stdbool.h>

/* Before anything computes or starts a thread: raises the stack limit and OMP_STACKSIZE. True if
   phibal must re-execute itself for the libraries to see them. */
bool process_state_request(void);

/* Resets the floating-point environment, the locale and MPFR's ranges to their defaults, and
   reports what it changed. False, after a message, if phibal cannot compute here. */
bool process_state_reset(void);

/* What has changed since, in a line; null if nothing. */
const char *process_state_changed(void);

#endif
