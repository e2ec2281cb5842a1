/* The reference of experts that compute nothing (E10). Conventions are those of
   <phibal/reference_moe.h>. */
#ifndef PHIBAL_REFERENCE_ZERO_EXPERTS_H
#define PHIBAL_REFERENCE_ZERO_EXPERTS_H

#include <phibal/reference_moe.h>
#include <phibal/zero_experts.h>

#ifdef __cplusplus
extern "C" {
#endif

/* (E10) of one token, which has x, y, y_gradient, x_gradient [d], experts and gates [k]:
     y_out, x_gradient_out [d] out, with their conditions, the sums of the absolute values of the terms
     gate_gradient         out: <y_gradient, x>, with its condition: that of every slot of an identity
   Of null experts y_out is y, x_gradient_out x_gradient, and gate_gradient 0. */
phibal_status phibal_reference_zero_experts(phibal_zero_output output, int32_t active,
                                            int32_t first_zero, int64_t width,
                                            const int32_t *experts, const float *gates,
                                            const float *x, const float *y, const float *y_gradient,
                                            const float *x_gradient, mpfr_prec_t precision,
                                            phibal_enclosure *y_out, phibal_enclosure *y_condition,
                                            phibal_enclosure *x_gradient_out,
                                            phibal_enclosure *x_gradient_condition,
                                            phibal_enclosure *gate_gradient,
                                            phibal_enclosure *gate_condition);

#ifdef __cplusplus
}
#endif
#endif
