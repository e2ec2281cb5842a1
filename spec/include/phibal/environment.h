/* The floating-point environment that phibal's numbers are computed in: IEEE 754's default.
   Rounding is to nearest, subnormal numbers are numbers, nothing traps. Code linked with
   -ffast-math changes it for the thread that loads it, and the threads which that one starts
   inherit the change; bounds and bits then hold no longer. Look before you compute, and after
   foreign code has run. */
#ifndef PHIBAL_ENVIRONMENT_H
#define PHIBAL_ENVIRONMENT_H

#ifdef __cplusplus
extern "C" {
#endif

/* How this thread's environment differs from the default: "flush-to-zero", "denormals-are-zero",
   "rounding upward", "rounding downward", "rounding towards zero", "reduced x87 precision" or
   "trapping exceptions", the first of them; null where it does not. Sticky flags do not count. */
const char *phibal_environment_changed(void);

/* Sets the default for this thread, and so for those that it starts. */
void phibal_environment_reset(void);

#ifdef __cplusplus
}
#endif

#endif
