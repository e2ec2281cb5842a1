/* The reference of Sinkhorn's scaling (L10). Conventions are those of <phibal/reference_moe.h>. */
#ifndef PHIBAL_REFERENCE_SINKHORN_H
#define PHIBAL_REFERENCE_SINKHORN_H

#include <phibal/reference_moe.h>

#ifdef __cplusplus
extern "C" {
#endif

/* (L10) plan [T][E], as the equation stands: MPFR's exponents hold every exponential. Padding has
   the plan 0. PHIBAL_ERROR_NONFINITE names a logit that is not finite;
   PHIBAL_ERROR_UNDECIDED: at this precision a sum that is divided by may be 0. */
phibal_status phibal_reference_sinkhorn(int64_t tokens, int32_t experts, int32_t rounds,
                                        const float *logits, const uint8_t *mask,
                                        mpfr_prec_t precision, phibal_enclosure *plan);

#ifdef __FRAMAC__
#include <phibal/acsl/contracts/reference_sinkhorn.h>
#endif

#ifdef __cplusplus
}
#endif
#endif
