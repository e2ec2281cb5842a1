/* Runs another program to completion. */
#ifndef PHIBAL_MOE_PROCESS_H
#define PHIBAL_MOE_PROCESS_H

#include <phibal/status.h>
#include <signal.h>

/* Runs argv[0] (found along PATH) with argv, null-ended, in `folder`, its output and errors
   appended to the file `log`, in the C locale; *exit_status is its status, 128 + the number if a
   signal ended it. Once *interrupted is nonzero the program is sent SIGTERM, and the result is
   PHIBAL_ERROR_IO. PHIBAL_ERROR_UNSUPPORTED: there is no such program. */
phibal_status process_run(const char *const *argv, const char *folder, const char *log,
                          const volatile sig_atomic_t *interrupted, int *exit_status);

#endif
