/* The least time of a run file's training step on an H100 and an H200, and an estimate, with nothing run. */
#ifndef PHIBAL_BENCH_STEP_FLOOR_H
#define PHIBAL_BENCH_STEP_FLOOR_H

#include "moe/plan/plan.h"

/* Prints the bytes that a step in bfloat16 moves, its FLOPs, and both times, by parts; PEAK in
   FLOP/s. PHIBAL_ERROR_UNSUPPORTED where the run file has what costs are not known of. */
phibal_status step_floor(const run_config *c, double peak);

#endif
