/* The reference of capacity (E7), (E8), (E9). What is kept is exact. Conventions are those of
   <phibal/reference_moe.h>. */
#ifndef PHIBAL_REFERENCE_CAPACITY_H
#define PHIBAL_REFERENCE_CAPACITY_H

#include <phibal/capacity.h>
#include <phibal/reference_moe.h>

#ifdef __cplusplus
extern "C" {
#endif

/* (E7) as phibal_capacity_limit: the ceiling that both ends of the quotient's enclosure have, or
   PHIBAL_ERROR_UNDECIDED where they differ, which no valid argument makes them. */
phibal_status phibal_reference_capacity_limit(float factor, int64_t minimum, int64_t tokens,
                                              int32_t active, int32_t experts_count,
                                              int64_t *limit);

/* (E8) by its definition: for each route are counted those that go before it; O((T k)^2).
     experts  [T][k] of each slot, -1 for padding
     gates    [T][k] finite; may be null unless the policy is PHIBAL_CAPACITY_GATE
     kept     [T][k] out
   Padding has its expert, -1, in `kept` too. PHIBAL_ERROR_ARGUMENT names an expert below -1, and
   PHIBAL_ERROR_NONFINITE a gate. */
phibal_status phibal_reference_capacity(phibal_capacity_policy policy, int64_t tokens,
                                        int32_t active, int64_t limit, const int32_t *experts,
                                        const float *gates, int32_t *kept);

/* (E8) place[i] = how many of the kept routes of its expert go before it; by gate, how many of
   these have a lower number. -1 where the route is not kept. */
phibal_status phibal_reference_capacity_place(phibal_capacity_policy policy, int64_t tokens,
                                              int32_t active, const int32_t *kept, int64_t *place);

/* (E9) of one token: gates[k] after dropping, and their gradient [k] with its condition, from
   kept_gradient [k]. Each output may be null. PHIBAL_ERROR_NONFINITE: a kept gate, or its gradient,
   is not finite. PHIBAL_ERROR_UNDECIDED: at this precision the sum of the kept gates may be 0. */
phibal_status phibal_reference_capacity_gates(int32_t active, bool renormalise, const int32_t *kept,
                                              const float *gates, const float *kept_gradient,
                                              mpfr_prec_t precision, phibal_enclosure *kept_gates,
                                              phibal_reference_result gate_gradient);

#ifdef __FRAMAC__
#include <phibal/acsl/contracts/reference_capacity.h>
#endif

#ifdef __cplusplus
}
#endif
#endif
