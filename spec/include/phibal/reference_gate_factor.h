/* The reference of the factor for each expert (R5f). Conventions are those of
   <phibal/reference_moe.h>. */
#ifndef PHIBAL_REFERENCE_GATE_FACTOR_H
#define PHIBAL_REFERENCE_GATE_FACTOR_H

#include <phibal/reference_moe.h>

#ifdef __cplusplus
extern "C" {
#endif

/* (R5f) as phibal_gate_factor and phibal_gate_factor_backward.
     scaled, gate_gradient       [T][k] out
     factor_gradient, condition  [E] out: the sum, and that of the absolute values of its terms
   Each output may be null, and scaled_gradient where only `scaled` is asked for. */
phibal_status phibal_reference_gate_factor(int64_t tokens, int32_t active, int32_t experts_count,
                                           const int32_t *experts, const float *gates,
                                           const float *factor, const float *scaled_gradient,
                                           mpfr_prec_t precision, phibal_enclosure *scaled,
                                           phibal_enclosure *gate_gradient,
                                           phibal_enclosure *factor_gradient,
                                           phibal_enclosure *condition);

#ifdef __FRAMAC__
#include <phibal/acsl/contracts/reference_gate_factor.h>
#endif

#ifdef __cplusplus
}
#endif
#endif
