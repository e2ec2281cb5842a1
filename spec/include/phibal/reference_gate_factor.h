/* The reference of the factor for each expert (R5f). Conventions are those of
   <phibal/reference_moe.h>. */
#ifndef PHIBAL_REFERENCE_GATE_FACTOR_H
#define PHIBAL_REFERENCE_GATE_FACTOR_H

#include <phibal/reference_moe.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A batch: each slot's expert (-1 for padding) and gate, and the loss's derivative in its scaled
   gate, [T][k]; the factor of each expert [E]. */
typedef struct phibal_reference_factor_batch {
  int64_t tokens;
  int32_t active, experts_count;
  const int32_t *experts;
  const float *gates, *factor, *scaled_gradient;
} phibal_reference_factor_batch;

/* Where its results go: the scaled gates and the gates' gradient [T][k], and the factors' [E] with
   its condition, the sum of the absolute values of its terms. Each may be null. */
typedef struct phibal_reference_factor_results {
  phibal_enclosure *scaled, *gate_gradient;
  phibal_reference_result factor_gradient;
} phibal_reference_factor_results;

/* (R5f) as phibal_gate_factor and phibal_gate_factor_backward. scaled_gradient may be null where
   only `scaled` is asked for. */
phibal_status phibal_reference_gate_factor(phibal_reference_factor_batch batch,
                                           mpfr_prec_t precision,
                                           phibal_reference_factor_results to);

#ifdef __FRAMAC__
#include <phibal/acsl/contracts/reference_gate_factor.h>
#endif

#ifdef __cplusplus
}
#endif
#endif
