/* What <phibal/reference_capacity.h> promises. */
#ifndef PHIBAL_ACSL_CONTRACTS_REFERENCE_CAPACITY_H
#define PHIBAL_ACSL_CONTRACTS_REFERENCE_CAPACITY_H

#ifdef __FRAMAC__
#include <phibal/acsl/capacity.h>
#endif

/*@ requires limit == \null || \valid(limit);
    terminates \true;
    exits \false;
    assigns *limit, ALLOCATED;
    ensures still_in_use{Pre, Here};
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && in_use{Pre}(r) ==>
      same{Pre, Here}(r);
    ensures limit: \result == PHIBAL_OK ==> 1 <= experts_count &&
      limit_is(*limit, (real)factor, minimum, tokens * active, experts_count); */
phibal_status phibal_reference_capacity_limit(float factor, int64_t minimum, int64_t tokens,
                                              int32_t active, int32_t experts_count,
                                              int64_t *limit);

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

/*@ requires tokens >= 0 && active >= 1 ==> tokens * active <= PHIBAL_CAPACITY_ROUTES;
    requires kept != \null ==> \valid_read(kept + (0 .. tokens * active - 1));
    requires place != \null ==> \valid(place + (0 .. tokens * active - 1));
    terminates \true;
    exits \false;
    assigns place[0 .. tokens * active - 1];
    ensures places: \result == PHIBAL_OK ==>
      places_of(policy, active, kept, tokens * active, place, tokens * active); */
phibal_status phibal_reference_capacity_place(phibal_capacity_policy policy, int64_t tokens,
                                              int32_t active, const int32_t *kept, int64_t *place);

/*@ requires kept == \null || \valid_read(kept + (0 .. active - 1));
    requires gates == \null || \valid_read(gates + (0 .. active - 1));
    requires kept_gradient == \null || \valid_read(kept_gradient + (0 .. active - 1));
    requires kept_results_there(kept_gates, gate_gradient.value, gate_gradient.condition, active) &&
      optional_vector_in_use(kept_gates, active) &&
      optional_vector_in_use(gate_gradient.value, active) &&
      optional_vector_in_use(gate_gradient.condition, active);
    requires precision <= MPFR_PREC_MAX;
    terminates \true;
    exits \false;
    assigns kept_gates[0 .. active - 1], gate_gradient.value[0 .. active - 1],
            gate_gradient.condition[0 .. active - 1], ALLOCATED;
    ensures still_in_use{Pre, Here};
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && in_use{Pre}(r) &&
      optional_vector_apart(r, kept_gates, active) &&
      optional_vector_apart(r, gate_gradient.value, active) &&
      optional_vector_apart(r, gate_gradient.condition, active) ==> same{Pre, Here}(r);
    ensures to_gates: optional_vector(kept_gates, active);
    ensures to_gradient: optional_vector(gate_gradient.value, active);
    ensures to_condition: optional_vector(gate_gradient.condition, active);
    ensures gates: \result == PHIBAL_OK && kept_gates != \null ==>
      kept_numbers_held(kept_gates, active, kept, gates,
                        kept_mode(renormalise ? 1 : 0, kept, gates, active),
                        kept_sum(kept, gates, active), 0.0);
    ensures gradients: \result == PHIBAL_OK && gate_gradient.value != \null ==>
      kept_numbers_held(gate_gradient.value, active, kept, kept_gradient,
                        kept_mode(renormalise ? 1 : 0, kept, gates, active),
                        kept_sum(kept, gates, active),
                        kept_offset(kept, gates, kept_gradient, active));
    ensures conditions: \result == PHIBAL_OK && gate_gradient.condition != \null ==>
      kept_absolutes_held(gate_gradient.condition, active, kept, kept_gradient,
                          kept_mode(renormalise ? 1 : 0, kept, gates, active),
                          kept_sum(kept, gates, active),
                          kept_offset_magnitude(kept, gates, kept_gradient, active)); */
phibal_status phibal_reference_capacity_gates(int32_t active, bool renormalise, const int32_t *kept,
                                              const float *gates, const float *kept_gradient,
                                              mpfr_prec_t precision, phibal_enclosure *kept_gates,
                                              phibal_reference_result gate_gradient);

#endif
