/* The reference of capacity (E7), (E8), (E9). What is kept is exact. Conventions are those of
   <phibal/reference_moe.h>. */
#ifndef PHIBAL_REFERENCE_CAPACITY_H
#define PHIBAL_REFERENCE_CAPACITY_H

#include <phibal/capacity.h>
#include <phibal/reference_moe.h>
#ifdef __FRAMAC__
#include <phibal/acsl/capacity.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* (E7) as phibal_capacity_limit, with a quotient of MPFR. */
phibal_status phibal_reference_capacity_limit(float factor, int64_t minimum, int64_t tokens,
                                              int32_t active, int32_t experts_count,
                                              int64_t *limit);

/* (E8) by its definition: for each route are counted those that go before it; O((T k)^2).
     experts  [T][k] of each slot, -1 for padding
     gates    [T][k] finite; may be null unless the policy is PHIBAL_CAPACITY_GATE
     kept     [T][k] out
   Padding has its expert, -1, in `kept` too. PHIBAL_ERROR_ARGUMENT names an expert below -1, and
   PHIBAL_ERROR_NONFINITE a gate. */
/*@ requires tokens >= 0 && active >= 1 ==> tokens * active <= PHIBAL_CAPACITY_ROUTES;
    requires experts != \null ==> \valid_read(experts + (0 .. tokens * active - 1));
    requires gates != \null ==> \valid_read(gates + (0 .. tokens * active - 1));
    requires kept != \null ==> \valid(kept + (0 .. tokens * active - 1));
    requires experts != \null && kept != \null ==>
      \separated(experts + (0 .. tokens * active - 1), kept + (0 .. tokens * active - 1));
    requires gates != \null && kept != \null ==>
      \separated(gates + (0 .. tokens * active - 1), kept + (0 .. tokens * active - 1));
    terminates \true;
    exits \false;
    assigns kept[0 .. tokens * active - 1];
    ensures kept: \result == PHIBAL_OK ==>
      routes_kept{Pre, Post}(policy, active, experts, gates, tokens * active, limit, kept,
                             tokens * active); */
phibal_status phibal_reference_capacity(phibal_capacity_policy policy, int64_t tokens,
                                        int32_t active, int64_t limit, const int32_t *experts,
                                        const float *gates, int32_t *kept);

/* (E8) place[i] = how many of the kept routes of its expert go before it; by gate, how many of
   these have a lower number. -1 where the route is not kept. */
phibal_status phibal_reference_capacity_place(phibal_capacity_policy policy, int64_t tokens,
                                              int32_t active, const int32_t *kept, int64_t *place);

/* (E9) of one token: gates[k] after dropping, and their gradient with its condition, from
   kept_gradient [k]. Each output may be null. */
phibal_status phibal_reference_capacity_gates(int32_t active, bool renormalise, const int32_t *kept,
                                              const float *gates, const float *kept_gradient,
                                              mpfr_prec_t precision, phibal_enclosure *kept_gates,
                                              phibal_enclosure *gate_gradient,
                                              phibal_enclosure *condition);

#ifdef __cplusplus
}
#endif
#endif
