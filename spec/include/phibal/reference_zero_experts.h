/* The reference of experts that compute nothing (E10). Conventions are those of
   <phibal/reference_moe.h>. */
#ifndef PHIBAL_REFERENCE_ZERO_EXPERTS_H
#define PHIBAL_REFERENCE_ZERO_EXPERTS_H

#include <phibal/reference_moe.h>
#include <phibal/zero_experts.h>
#ifdef __FRAMAC__
#include <phibal/acsl/zero_experts.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* (E10) of one token, which has x, y, y_gradient, x_gradient [d], experts and gates [k]:
     y_out, x_gradient_out [d] out
     gate_gradient             out: <y_gradient, x>, the same for every slot of an identity
   each with its condition, the sum of the absolute values of its terms. Of null experts y_out is y,
   x_gradient_out is x_gradient, and gate_gradient is 0. */
/*@ requires experts == \null || \valid_read(experts + (0 .. active - 1));
    requires gates == \null || \valid_read(gates + (0 .. active - 1));
    requires x == \null || \valid_read(x + (0 .. width - 1));
    requires y == \null || \valid_read(y + (0 .. width - 1));
    requires y_gradient == \null || \valid_read(y_gradient + (0 .. width - 1));
    requires x_gradient == \null || \valid_read(x_gradient + (0 .. width - 1));
    requires width <= ROUTING_MAX_SLOTS && precision <= MPFR_PREC_MAX;
    requires y_out != \null && y_condition != \null && x_gradient_out != \null &&
      x_gradient_condition != \null && gate_gradient != \null && gate_condition != \null ==>
        zero_results_there(y_out, y_condition, x_gradient_out, x_gradient_condition,
                           gate_gradient, gate_condition, width) &&
        zero_results_apart(y_out, y_condition, x_gradient_out, x_gradient_condition,
                           gate_gradient, gate_condition, width) &&
        zero_results_in_use(y_out, y_condition, x_gradient_out, x_gradient_condition,
                            gate_gradient, gate_condition, width);
    terminates \true;
    exits \false;
    assigns y_out[0 .. width - 1], y_condition[0 .. width - 1], x_gradient_out[0 .. width - 1],
            x_gradient_condition[0 .. width - 1], *gate_gradient, *gate_condition, ALLOCATED;
    ensures still_in_use{Pre, Here};
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && in_use{Pre}(r) &&
      vector_apart(r, y_out, width) && vector_apart(r, y_condition, width) &&
      vector_apart(r, x_gradient_out, width) && vector_apart(r, x_gradient_condition, width) &&
      \separated(r, gate_gradient) && \separated(r, gate_condition) ==> same{Pre, Here}(r);
    ensures to_y: y_out != \null && y_condition != \null && x_gradient_out != \null &&
      x_gradient_condition != \null && gate_gradient != \null && gate_condition != \null ==>
        vector_output(y_out, width) && vector_output(y_condition, width);
    ensures to_x: y_out != \null && y_condition != \null && x_gradient_out != \null &&
      x_gradient_condition != \null && gate_gradient != \null && gate_condition != \null ==>
        vector_output(x_gradient_out, width) && vector_output(x_gradient_condition, width);
    ensures to_gate: y_out != \null && y_condition != \null && x_gradient_out != \null &&
      x_gradient_condition != \null && gate_gradient != \null && gate_condition != \null ==>
        output(gate_gradient) && output(gate_condition);
    ensures y: \result == PHIBAL_OK ==> axpy_held(y_out, width, y,
      identity_gates(experts, gates, first_zero, identity_slots(output, active)), x);
    ensures y_conditions: \result == PHIBAL_OK ==> axpy_magnitudes_held(y_condition, width, y,
      identity_magnitude(experts, gates, first_zero, identity_slots(output, active)), x);
    ensures x_gradients: \result == PHIBAL_OK ==> axpy_held(x_gradient_out, width, x_gradient,
      identity_gates(experts, gates, first_zero, identity_slots(output, active)), y_gradient);
    ensures x_gradient_conditions: \result == PHIBAL_OK ==>
      axpy_magnitudes_held(x_gradient_condition, width, x_gradient,
        identity_magnitude(experts, gates, first_zero, identity_slots(output, active)),
        y_gradient);
    ensures gate: \result == PHIBAL_OK ==>
      in(gate_gradient, strided_dot(x, 1, y_gradient, 1, identity_slots(output, width)));
    ensures gate_conditions: \result == PHIBAL_OK ==>
      in(gate_condition, strided_magnitude(x, 1, y_gradient, 1, identity_slots(output, width))); */
phibal_status phibal_reference_zero_experts(
    phibal_zero_output output, int32_t active, int32_t first_zero, int64_t width,
    const int32_t *experts, const float *gates, const float *x, const float *y,
    const float *y_gradient, const float *x_gradient, mpfr_prec_t precision,
    phibal_enclosure *y_out, phibal_enclosure *y_condition, phibal_enclosure *x_gradient_out,
    phibal_enclosure *x_gradient_condition, phibal_enclosure *gate_gradient,
    phibal_enclosure *gate_condition);

#ifdef __cplusplus
}
#endif
#endif
