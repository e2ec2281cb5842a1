/* What <phibal/reference_gate_factor.h> promises. */
#ifndef PHIBAL_ACSL_CONTRACTS_REFERENCE_GATE_FACTOR_H
#define PHIBAL_ACSL_CONTRACTS_REFERENCE_GATE_FACTOR_H

#ifdef __FRAMAC__
#include <phibal/acsl/gate_factor.h>
#endif

/*@ requires 0 <= tokens && 1 <= active ==> place(tokens, active) <= ROUTING_MAX_SLOTS;
    requires 0 <= tokens && 1 <= active ==>
      (experts == \null || \valid_read(experts + (0 .. place(tokens, active) - 1))) &&
      (gates == \null || \valid_read(gates + (0 .. place(tokens, active) - 1))) &&
      (scaled_gradient == \null ||
       \valid_read(scaled_gradient + (0 .. place(tokens, active) - 1))) &&
      (factor == \null || \valid_read(factor + (0 .. experts_count - 1)));
    requires 0 <= tokens && 1 <= active && 1 <= experts_count ==>
      factor_results_there(scaled, gate_gradient, factor_gradient, condition,
                           place(tokens, active), experts_count) &&
      optional_vector_in_use(scaled, place(tokens, active)) &&
      optional_vector_in_use(gate_gradient, place(tokens, active)) &&
      optional_vector_in_use(factor_gradient, experts_count) &&
      optional_vector_in_use(condition, experts_count);
    requires precision <= MPFR_PREC_MAX;
    terminates \true;
    exits \false;
    assigns scaled[0 .. place(tokens, active) - 1], gate_gradient[0 .. place(tokens, active) - 1],
            factor_gradient[0 .. experts_count - 1], condition[0 .. experts_count - 1], ALLOCATED;
    ensures still_in_use{Pre, Here};
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && in_use{Pre}(r) &&
      optional_vector_apart(r, scaled, place(tokens, active)) &&
      optional_vector_apart(r, gate_gradient, place(tokens, active)) &&
      optional_vector_apart(r, factor_gradient, experts_count) &&
      optional_vector_apart(r, condition, experts_count) ==> same{Pre, Here}(r);
    ensures to_gates: 0 <= tokens && 1 <= active && 1 <= experts_count ==>
      optional_vector(scaled, place(tokens, active));
    ensures to_gate_gradients: 0 <= tokens && 1 <= active && 1 <= experts_count ==>
      optional_vector(gate_gradient, place(tokens, active));
    ensures to_factor_gradients: 0 <= tokens && 1 <= active && 1 <= experts_count ==>
      optional_vector(factor_gradient, experts_count);
    ensures to_conditions: 0 <= tokens && 1 <= active && 1 <= experts_count ==>
      optional_vector(condition, experts_count);
    ensures \result == PHIBAL_OK ==> 0 <= tokens && 1 <= active && 1 <= experts_count;
    ensures gates: \result == PHIBAL_OK && scaled != \null ==>
      scaled_held(scaled, place(tokens, active), experts, gates, factor);
    ensures gate_gradients: \result == PHIBAL_OK && gate_gradient != \null ==>
      scaled_held(gate_gradient, place(tokens, active), experts, scaled_gradient, factor);
    ensures factor_gradients: \result == PHIBAL_OK && factor_gradient != \null ==>
      expert_dots_held(factor_gradient, experts_count, experts, gates, scaled_gradient,
                       place(tokens, active));
    ensures conditions: \result == PHIBAL_OK && condition != \null ==>
      expert_magnitudes_held(condition, experts_count, experts, gates, scaled_gradient,
                             place(tokens, active)); */
phibal_status phibal_reference_gate_factor(int64_t tokens, int32_t active, int32_t experts_count,
                                           const int32_t *experts, const float *gates,
                                           const float *factor, const float *scaled_gradient,
                                           mpfr_prec_t precision, phibal_enclosure *scaled,
                                           phibal_enclosure *gate_gradient,
                                           phibal_enclosure *factor_gradient,
                                           phibal_enclosure *condition);

#endif
