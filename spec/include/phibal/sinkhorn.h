/* Sinkhorn's scaling of router probabilities to equal loads. Equation: SPEC.md (L10). */
#ifndef PHIBAL_SINKHORN_H
#define PHIBAL_SINKHORN_H

#include <phibal/status.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PHIBAL_SINKHORN_MOST_ROUNDS 50
#define PHIBAL_SINKHORN_MOST_SPREAD 4096.0f /* of a token's logits, largest minus smallest */

/* (L10) plan[T][E] after so many rounds, <= 0.51 ULP.
     rounds 1 .. PHIBAL_SINKHORN_MOST_ROUNDS
     logits [T][E]
     mask   [T] 0 marks padding, whose rows are 0; null for none
   E <= PHIBAL_MAX_EXPERTS. PHIBAL_ERROR_NONFINITE names the first token with a logit that is not
   finite, PHIBAL_ERROR_DOMAIN one with too wide a spread, PHIBAL_ERROR_MEMORY: T numbers are
   allocated. */
phibal_status phibal_sinkhorn(int64_t tokens, int32_t experts, int32_t rounds, const float *logits,
                              const uint8_t *mask, float *plan);

#ifdef __cplusplus
}
#endif
#endif
