/* What <phibal/reference_zero_experts.h> promises. */
#ifndef PHIBAL_ACSL_CONTRACTS_REFERENCE_ZERO_EXPERTS_H
#define PHIBAL_ACSL_CONTRACTS_REFERENCE_ZERO_EXPERTS_H

#ifdef __FRAMAC__
#include <phibal/acsl/zero_experts.h>
#endif

/*@ requires zero_readable(token);
    requires token.width <= ROUTING_MAX_SLOTS && precision <= MPFR_PREC_MAX;
    requires zero_complete(results) ==>
        zero_vectors_there(results, token.width) && zero_numbers_there(results) &&
        zero_vectors_apart(results, token.width) && zero_numbers_apart(results, token.width) &&
        zero_in_use(results, token.width);
    terminates \true;
    exits \false;
    assigns results.y.value[0 .. token.width - 1], results.y.condition[0 .. token.width - 1],
            results.x_gradient.value[0 .. token.width - 1],
            results.x_gradient.condition[0 .. token.width - 1], *results.gate_gradient.value,
            *results.gate_gradient.condition, ALLOCATED;
    ensures still_in_use{Pre, Here};
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && in_use{Pre}(r) &&
      zero_free(r, results, token.width) && \separated(r, results.gate_gradient.value) &&
      \separated(r, results.gate_gradient.condition) ==> same{Pre, Here}(r);
    ensures vectors_there: zero_complete(results) ==> zero_vectors_there(results, token.width);
    ensures numbers_there: zero_complete(results) ==> zero_numbers_there(results);
    ensures vectors: \result == PHIBAL_OK ==> zero_vectors_held(results, token,
      identity_gates(token.experts, token.gates, token.first_zero,
                     identity_slots(output, token.active)));
    ensures conditions: \result == PHIBAL_OK ==> zero_conditions_held(results, token,
      identity_magnitude(token.experts, token.gates, token.first_zero,
                         identity_slots(output, token.active)));
    ensures gate: \result == PHIBAL_OK ==> in(results.gate_gradient.value,
      strided_dot(token.x, 1, token.y_gradient, 1, identity_slots(output, token.width)));
    ensures gate_condition: \result == PHIBAL_OK ==> in(results.gate_gradient.condition,
      strided_magnitude(token.x, 1, token.y_gradient, 1, identity_slots(output, token.width))); */
phibal_status phibal_reference_zero_experts(phibal_zero_output output,
                                            phibal_reference_zero_token token,
                                            mpfr_prec_t precision,
                                            phibal_reference_zero_results results);

#endif
