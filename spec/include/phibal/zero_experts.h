/* Experts that compute nothing, behind the router: the last Z of E (LongCat-Flash's zero-computation
   experts, null routes). Equation: SPEC.md (E10). */
#ifndef PHIBAL_ZERO_EXPERTS_H
#define PHIBAL_ZERO_EXPERTS_H

#include <phibal/status.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What such an expert returns for a token. */
typedef enum phibal_zero_output {
  PHIBAL_ZERO_NULL,     /* 0 */
  PHIBAL_ZERO_IDENTITY, /* the token itself */
} phibal_zero_output;

/* The functions below take
     experts        [T][k] of each slot, -1 for padding and dropped routes
     experts_count  E, 1 .. PHIBAL_MAX_EXPERTS, 1 <= k <= PHIBAL_MAX_EXPERTS
     zero_experts   Z, 0 .. E: the experts E-Z .. E-1
   PHIBAL_ERROR_ARGUMENT names the first slot with an expert that does not exist; nothing is written
   then. Numbers that are not finite are not looked for: they go where the equations take them. */

/* (E10) real[T][k]: the slot's expert, or -1 where it computes nothing: what phibal_permutation
   takes, with E - Z experts. `real` may be `experts`. */
phibal_status phibal_zero_experts_dispatch(int64_t tokens, int32_t active, int32_t experts_count,
                                           int32_t zero_experts, const int32_t *experts,
                                           int32_t *real);

/* (E10) y[T][d] += c x[T][d], c the sum of the token's gates of identities; nothing of null ones.
     gates  [T][k] as combine takes them, the router's scale included
   Gates are added in binary64 and y is rounded once: |error| <= 1.001 u (|y| + sum |gates| |x|). A
   token without such a slot keeps its y. y must not overlap x. */
phibal_status phibal_zero_experts(phibal_zero_output output, int64_t tokens, int32_t active,
                                  int32_t experts_count, int32_t zero_experts, int64_t width,
                                  const int32_t *experts, const float *gates, const float *x,
                                  float *y);

/* (E10) The gradients, from y_gradient[T][d]: x_gradient[T][d] += c y_gradient, with the bound of y;
   gate_gradient[T][k] = <y_gradient, x> in the slots of identities, 0 in those of null experts,
   |error| <= 1.001 u times the sum of the absolute values of its terms; other slots of gate_gradient
   are not touched: they are phibal_combine_backward's. */
phibal_status phibal_zero_experts_backward(phibal_zero_output output, int64_t tokens,
                                           int32_t active, int32_t experts_count,
                                           int32_t zero_experts, int64_t width,
                                           const int32_t *experts, const float *gates,
                                           const float *x, const float *y_gradient,
                                           float *x_gradient, float *gate_gradient);

#ifdef __cplusplus
}
#endif
#endif
