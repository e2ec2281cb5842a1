/* The floating-point environment that phibal's numbers are computed in: IEEE 754's default.
   Rounding is to nearest, subnormal numbers are numbers, nothing traps. Code linked with
   -ffast-math changes it for the thread that loads it, and the threads which that one starts
   inherit the change; bounds and bits then hold no longer.

   The kernels of this library look before they compute, in the calling thread and in each of
   OpenMP's that they compute with, and after each call of BLAS; what has changed they refuse with
   PHIBAL_ERROR_UNSUPPORTED and a line that names it. (phibal_gather, phibal_gather_backward,
   phibal_permutation and the sums of phibal_loads do not look: of these only phibal_gather_backward
   adds floating-point numbers.) They never change your program's environment themselves: a program
   linked with -ffast-math calls phibal_environment_reset at the start of main, before OpenMP's
   threads begin, or phibal_environment_reset_threads afterwards. What foreign code computes for
   itself in another environment that it puts back before it returns is not seen. */
#ifndef PHIBAL_ENVIRONMENT_H
#define PHIBAL_ENVIRONMENT_H

#include <phibal/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How this thread's environment differs from the default: "flush-to-zero", "denormals-are-zero",
   "rounding upward", "rounding downward", "rounding towards zero", "reduced x87 precision" or
   "trapping exceptions", the first of them; null where it does not. Sticky flags do not count. */
const char *phibal_environment_changed(void);

/* Sets the default for this thread, and so for those that it starts; forgets what was noted. */
void phibal_environment_reset(void);

/* The same for all threads of a parallel region that begins here; what one of them had set, or
 * null.
 */
const char *phibal_environment_reset_threads(void);

/* Notes for the whole process that this thread's environment has changed, where it has and nothing
   was noted before. `where` is a literal that says what ran last: "a generated kernel". For
   the inside of parallel loops: a few nanoseconds. */
void phibal_environment_watch(const char *where);

/* PHIBAL_ERROR_UNSUPPORTED where this thread's environment has changed or something is noted. The
   message begins with `who`. */
phibal_status phibal_environment_check(const char *who);

/* The same of all threads of a parallel region that begins here. */
phibal_status phibal_environment_check_threads(const char *who);

#ifdef __cplusplus
}
#endif

#endif
