/* The reference of experts that compute nothing (E10). Conventions are those of
   <phibal/reference_moe.h>. */
#ifndef PHIBAL_REFERENCE_ZERO_EXPERTS_H
#define PHIBAL_REFERENCE_ZERO_EXPERTS_H

#include <phibal/reference_moe.h>
#include <phibal/zero_experts.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One token: its experts and gates [active], x, y and the loss's derivatives in them [width].
   Experts from first_zero on compute nothing. */
typedef struct phibal_reference_zero_token {
  int32_t active, first_zero;
  int64_t width;
  const int32_t *experts;
  const float *gates;
  const float *x, *y, *y_gradient, *x_gradient;
} phibal_reference_zero_token;

/* Where its results go: y and x_gradient [width], and one number for the gates, each with its
   condition, the sum of the absolute values of its terms. No two share a place. A null one is
   refused. */
typedef struct phibal_reference_zero_results {
  phibal_reference_result y, x_gradient, gate_gradient;
} phibal_reference_zero_results;

#ifdef __FRAMAC__
#include <phibal/acsl/zero_experts.h>
#endif

/* (E10) of one token. gate_gradient is <y_gradient, x>, the same for every slot of an identity. Of
   null experts y and x_gradient are those of the token, and gate_gradient is 0. */
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

#ifdef __cplusplus
}
#endif
#endif
