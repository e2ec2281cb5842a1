/* What <phibal/reference_gate_factor.h> promises. */
#ifndef PHIBAL_ACSL_CONTRACTS_REFERENCE_GATE_FACTOR_H
#define PHIBAL_ACSL_CONTRACTS_REFERENCE_GATE_FACTOR_H

#ifdef __FRAMAC__
#include <phibal/acsl/gate_factor.h>
#endif

/*@ requires 0 <= batch.tokens && 1 <= batch.active ==>
      place(batch.tokens, batch.active) <= ROUTING_MAX_SLOTS;
    requires 0 <= batch.tokens && 1 <= batch.active ==>
      (batch.experts == \null ||
       \valid_read(batch.experts + (0 .. place(batch.tokens, batch.active) - 1))) &&
      (batch.gates == \null ||
       \valid_read(batch.gates + (0 .. place(batch.tokens, batch.active) - 1))) &&
      (batch.scaled_gradient == \null ||
       \valid_read(batch.scaled_gradient + (0 .. place(batch.tokens, batch.active) - 1))) &&
      (batch.factor == \null || \valid_read(batch.factor + (0 .. batch.experts_count - 1)));
    requires 0 <= batch.tokens && 1 <= batch.active && 1 <= batch.experts_count ==>
      factor_results_there(to.scaled, to.gate_gradient, to.factor_gradient.value,
                           to.factor_gradient.condition, place(batch.tokens, batch.active),
                           batch.experts_count) &&
      optional_vector_in_use(to.scaled, place(batch.tokens, batch.active)) &&
      optional_vector_in_use(to.gate_gradient, place(batch.tokens, batch.active)) &&
      optional_vector_in_use(to.factor_gradient.value, batch.experts_count) &&
      optional_vector_in_use(to.factor_gradient.condition, batch.experts_count);
    requires precision <= MPFR_PREC_MAX;
    terminates \true;
    exits \false;
    assigns to.scaled[0 .. place(batch.tokens, batch.active) - 1],
            to.gate_gradient[0 .. place(batch.tokens, batch.active) - 1],
            to.factor_gradient.value[0 .. batch.experts_count - 1],
            to.factor_gradient.condition[0 .. batch.experts_count - 1], ALLOCATED;
    ensures still_in_use{Pre, Here};
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && in_use{Pre}(r) &&
      optional_vector_apart(r, to.scaled, place(batch.tokens, batch.active)) &&
      optional_vector_apart(r, to.gate_gradient, place(batch.tokens, batch.active)) &&
      optional_vector_apart(r, to.factor_gradient.value, batch.experts_count) &&
      optional_vector_apart(r, to.factor_gradient.condition, batch.experts_count) ==>
        same{Pre, Here}(r);
    ensures to_gates: 0 <= batch.tokens && 1 <= batch.active && 1 <= batch.experts_count ==>
      optional_vector(to.scaled, place(batch.tokens, batch.active));
    ensures to_gate_gradients: 0 <= batch.tokens && 1 <= batch.active &&
      1 <= batch.experts_count ==> optional_vector(to.gate_gradient, place(batch.tokens, batch.active));
    ensures to_factor_gradients: 0 <= batch.tokens && 1 <= batch.active &&
      1 <= batch.experts_count ==> optional_vector(to.factor_gradient.value, batch.experts_count);
    ensures to_conditions: 0 <= batch.tokens && 1 <= batch.active && 1 <= batch.experts_count ==>
      optional_vector(to.factor_gradient.condition, batch.experts_count);
    ensures \result == PHIBAL_OK ==>
      0 <= batch.tokens && 1 <= batch.active && 1 <= batch.experts_count;
    ensures gates: \result == PHIBAL_OK && to.scaled != \null ==>
      scaled_held(to.scaled, place(batch.tokens, batch.active), batch.experts, batch.gates,
                  batch.factor);
    ensures gate_gradients: \result == PHIBAL_OK && to.gate_gradient != \null ==>
      scaled_held(to.gate_gradient, place(batch.tokens, batch.active), batch.experts,
                  batch.scaled_gradient, batch.factor);
    ensures factor_gradients: \result == PHIBAL_OK && to.factor_gradient.value != \null ==>
      expert_dots_held(to.factor_gradient.value, batch.experts_count, batch.experts, batch.gates,
                       batch.scaled_gradient, place(batch.tokens, batch.active));
    ensures conditions: \result == PHIBAL_OK && to.factor_gradient.condition != \null ==>
      expert_magnitudes_held(to.factor_gradient.condition, batch.experts_count, batch.experts,
                             batch.gates, batch.scaled_gradient,
                             place(batch.tokens, batch.active)); */
phibal_status phibal_reference_gate_factor(phibal_reference_factor_batch batch,
                                           mpfr_prec_t precision,
                                           phibal_reference_factor_results to);

#endif
