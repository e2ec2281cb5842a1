/* Capacity: at most so many routes for each expert. Which are kept, where they stand in an expert's
   buffer, and what becomes of the gates. Equations: SPEC.md (E7), (E8), (E9). Deterministic, with
   the same bits for any number of threads; nothing allocates. */
#ifndef PHIBAL_CAPACITY_H
#define PHIBAL_CAPACITY_H

#include <phibal/status.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* factor k T 2^24 < 2^63 for every factor below */
#define PHIBAL_CAPACITY_ROUTES ((int64_t)1 << 38)
#define PHIBAL_CAPACITY_MOST_FACTOR 1024.0f

/* (E8) Which of an expert's routes go first; those beyond the limit are dropped. */
typedef enum phibal_capacity_policy {
  PHIBAL_CAPACITY_TOKEN, /* token by token, of a token slot by slot */
  PHIBAL_CAPACITY_SLOT,  /* all first choices, then all second ones */
  PHIBAL_CAPACITY_GATE,  /* the largest gates, of equal ones the earlier token's */
} phibal_capacity_policy;

/* (E7) limit = max(minimum, ceil(factor k T / E)), exactly.
     factor   0 .. PHIBAL_CAPACITY_MOST_FACTOR
     minimum  >= 0
     tokens   T, those that are no padding; k T <= PHIBAL_CAPACITY_ROUTES
   PHIBAL_ERROR_ARGUMENT otherwise. */
phibal_status phibal_capacity_limit(float factor, int64_t minimum, int64_t tokens, int32_t active,
                                    int32_t experts_count, int64_t *limit);

/* (E8) Drops what is beyond the limit.
     limit    C >= 0, for each expert
     offsets  [E+1], source [offsets[E]]: the routes by expert, as phibal_permutation makes them
     gates    [T][k], of PHIBAL_CAPACITY_GATE only; otherwise it may be null
     kept     [T][k] out: the route's expert, or -1 where it is dropped or padding
     place    [T][k] out, or null: the kept routes of an expert are numbered 0 .. C-1 in the
              order of the policy, by gate in that of the tokens; -1 as above

   1 <= k, E <= PHIBAL_MAX_EXPERTS.
   PHIBAL_ERROR_NONFINITE names the first expert with a gate that is not a finite number;
   PHIBAL_ERROR_ARGUMENT an expert whose rows are no routes. `kept` and `place` are then
   unspecified. */
phibal_status phibal_capacity(phibal_capacity_policy policy, int64_t tokens, int32_t active,
                              int32_t experts_count, int64_t limit, const int64_t *offsets,
                              const int64_t *source, const float *gates, int32_t *kept,
                              int64_t *place);

/* (E9) g'[T][k] = the gates of the kept routes, 0 for the others; renormalised, divided by the sum
   of the token's kept ones, <= 0.501 ULP, or 0 where that sum is 0. Kept gates are finite, else
   PHIBAL_ERROR_NONFINITE names one; to be renormalised also not negative, else PHIBAL_ERROR_DOMAIN.
   `kept_gates` may be `gates`. */
phibal_status phibal_capacity_gates(int64_t tokens, int32_t active, bool renormalise,
                                    const int32_t *kept, const float *gates, float *kept_gates);

/* (E9) gate_gradient[T][k] from that of g': 0 for what is not kept; renormalised,
   (g''_is - sum over the kept r of g'_ir g''_ir) / sum of the kept gates, 0 where that sum is 0;
   |error| <= 1.001 u times the sum of the absolute values of the terms. */
phibal_status phibal_capacity_gates_backward(int64_t tokens, int32_t active, bool renormalise,
                                             const int32_t *kept, const float *gates,
                                             const float *kept_gradient, float *gate_gradient);

#ifdef __cplusplus
}
#endif
#endif
