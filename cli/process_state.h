/* What phibal needs of the process that it computes in, and what a library that was loaded before
   it, a variable or a limit may have made of that. */
#ifndef PHIBAL_CLI_PROCESS_STATE_H
#define PHIBAL_CLI_PROCESS_STATE_H

#include <stdbool.h>

/* Before anything computes or starts a thread: the stack's limit and OMP_STACKSIZE, made large
   enough. True where a second start is needed, so that the libraries see them. */
bool process_state_request(void);

/* Sets the floating-point environment, the locale and MPFR's ranges to their defaults, and says
   what it undid. False, after a line, where phibal cannot compute here. */
bool process_state_reset(void);

/* What has changed of these since, in a line; null where nothing has. */
const char *process_state_changed(void);

#endif
