/* Certification of the one-argument binary32 cores over all 2^32 inputs: `phibal verify
   --exhaustive`. Every result is compared, bit for bit, with the correctly rounded value. */
#ifndef PHIBAL_VERIFY_EXHAUSTIVE_H
#define PHIBAL_VERIFY_EXHAUSTIVE_H

#include <phibal/status.h>
#include <stdint.h>

typedef struct exhaustive_report {
  uint64_t inputs;      /* compared */
  uint64_t mpfr_calls;  /* inputs that were too near a rounding boundary for the filter */
  uint64_t wrong;       /* results that are not the correctly rounded value */
  uint32_t wrong_input; /* the bits of one such input, if any; the smallest pattern */
  double worst_ulp;     /* an upper bound of the largest error over finite results, in ULP */
  uint32_t worst_input; /* its input's bits */
  double seconds;       /* elapsed */
} exhaustive_report;

/* Called occasionally, from one thread at a time, with the fraction done. */
typedef void (*exhaustive_progress)(void *context, double fraction);

/* The names of the cores: exp, expm1, log, log1p, tanh, sigmoid, sqrt-softplus. */
const char *exhaustive_core(int i); /* null after the last */

/* Runs one core over every `stride`-th block of 2^13 neighbouring bit patterns: stride 1 is the
   certification, an odd number a quick look at every binade and sign.
   progress may be null. PHIBAL_ERROR_ARGUMENT for an unknown name, PHIBAL_ERROR_UNDECIDED if MPFR
   could not decide a rounding (names the input). Wrong results are in the report, not an error. */
phibal_status exhaustive_run(const char *core, int stride, exhaustive_progress progress,
                             void *context, exhaustive_report *report);

/* An input whose value lies near the middle between two neighbouring binary32, and how near,
   relative to the value. */
typedef struct exhaustive_hard {
  uint32_t input;
  double distance;
} exhaustive_hard;

enum { EXHAUSTIVE_OF_A_BINADE = 4 };

/* The `count` hardest inputs of a core, the hardest first, at most EXHAUSTIVE_OF_A_BINADE of one
   sign and binade: what verify/hard_inputs.def holds. The core itself is not asked. */
phibal_status exhaustive_hardest(const char *core, int count, exhaustive_hard *hardest);

#endif
