/* A factor for each expert, learned (Gemma 4's per_expert_scale). Equation: SPEC.md (R5f). */
#ifndef PHIBAL_GATE_FACTOR_H
#define PHIBAL_GATE_FACTOR_H

#include <phibal/status.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PHIBAL_GATE_FACTOR_ROUTES ((int64_t)1 << 38) /* most slots T k */

/* (R5f) scaled[T][k] = gates[T][k] factor[E] of the slot's expert, rounded once.
     experts  [T][k] of each slot, -1 for padding, whose `scaled` is 0 whatever its gate
     gates    [T][k] as the router gives them, normalised and scaled; any sign
     factor   [E] any sign
   `scaled` may be `gates`. 1 <= k, E <= PHIBAL_MAX_EXPERTS. PHIBAL_ERROR_NONFINITE names the first
   expert whose factor is not a finite number, used or not, or the first token and slot whose gate is
   none; PHIBAL_ERROR_ARGUMENT the first with an expert that does not exist. Nothing is written
   then. */
phibal_status phibal_gate_factor(int64_t tokens, int32_t active, int32_t experts_count,
                                 const int32_t *experts, const float *gates, const float *factor,
                                 float *scaled);

/* (R5f) The gradients, from scaled_gradient[T][k], that of `scaled`.
     gate_gradient   [T][k] out: scaled_gradient factor, rounded once; 0 for padding
     factor_gradient [E] out: the sum over the slots of the expert of scaled_gradient gates, exact
                     and then rounded once; 0 for an expert without slots
   An exact sum has no order: the bits are those of any number of threads, and of any order of
   tokens. `gate_gradient` may be `scaled_gradient`. Errors as above; gates and gradients of slots
   that are no padding must be finite. */
phibal_status phibal_gate_factor_backward(int64_t tokens, int32_t active, int32_t experts_count,
                                          const int32_t *experts, const float *gates,
                                          const float *factor, const float *scaled_gradient,
                                          float *gate_gradient, float *factor_gradient);

#ifdef __cplusplus
}
#endif
#endif
