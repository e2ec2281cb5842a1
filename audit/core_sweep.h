/* A generated kernel over the binary32 loads up to 1. */
#ifndef PHIBAL_AUDIT_CORE_SWEEP_H
#define PHIBAL_AUDIT_CORE_SWEEP_H

#include "audit.h"
#include "codegen.h"

/* What a price may be off by, in ULP, to count as rounded once. */
#define CORE_ROUNDED_ULPS 0.501

enum { CORE_LOADS = 0x3f800000 }; /* positive binary32 numbers up to 1 */
enum { CORE_BINADES = 150, CORE_EXAMPLES = 64 };

/* Inputs of a kind: how many, between which, and some of them. */
typedef struct core_range {
  uint64_t count;
  float low, high; /* where count > 0 */
  float example[CORE_EXAMPLES];
  int examples;
} core_range;

typedef struct core_sweep {
  bool exhaustive; /* every positive binary32 up to 1 */
  bool cut_short;  /* time was up: `inputs` of them, from all sizes alike */
  uint64_t inputs;
  double seconds_for_all; /* at the rate measured, where cut short; else 0 */
  uint64_t path[3];       /* decided in binary64; in double-double; rounding not decided */
  double worst;           /* ULP, a bound; the unbounded left aside */
  float worst_load;
  double binade[CORE_BINADES]; /* the worst for loads from 2^(i - 149), the last: 1 */
  core_range inexact;          /* the bound is above CORE_ROUNDED_ULPS */
  double inexact_size;         /* the largest such bound as a number, not in ULP */
  double scale;                /* the largest price of a load from 2^-12 to 1 */
  core_range unbounded;        /* no bound: something overflowed, or is not defined */
  core_range underflow;        /* a price that binary32 has no normal number for */
  core_range overflow;         /* an infinite price */
} core_sweep;

/* Runs the kernel over every such input, for about request->seconds at most; where request->quick
   over a stratified sample, all of it however long that takes, so that it does not depend on the
   machine. `others` loads rest[] are the other experts'. */
phibal_status core_sweep_run(const codegen_kernel *kernel, int others, const float *rest,
                             const audit_request *request, core_sweep *result);

#endif
