/* The logic of a factor for each expert (R5f). ACSL only; definitions and no axiom. */
#ifndef PHIBAL_ACSL_GATE_FACTOR_H
#define PHIBAL_ACSL_GATE_FACTOR_H

#include <phibal/acsl/slots.h>
#include <stdint.h>

/*@ // slots of an expert below `count`, or of padding, -1; and numbers that are finite where there
    // is an expert
    predicate slots_of{L}(int32_t *experts, integer n, integer count) =
      \forall integer i; 0 <= i < n ==> -1 <= experts[i] < count;
    predicate slots_real{L}(int32_t *experts, float *x, integer n) =
      \forall integer i; 0 <= i < n && 0 <= experts[i] ==> \is_finite(x[i]);
    predicate floats_real{L}(float *x, integer n) =
      \forall integer i; 0 <= i < n ==> \is_finite(x[i]);

    // gates, or their gradient, times the factors
    logic real scaled_slot{L}(int32_t *experts, float *x, float *factor, integer i) =
      experts[i] < 0 ? 0.0 : (real)x[i] * (real)factor[experts[i]];
    predicate scaled_held{L}(phibal_enclosure *z, integer n, int32_t *experts, float *x,
                             float *factor) =
      \forall integer i; 0 <= i < n ==> in(z + i, scaled_slot(experts, x, factor, i));

    // the sum of x y over expert e's slots below n, and that of absolute values
    logic real expert_dot{L}(int32_t *experts, float *x, float *y, integer e, integer n) =
      slots_sum(experts, e, e, x, y, n);
    logic real expert_magnitude{L}(int32_t *experts, float *x, float *y, integer e, integer n) =
      slots_magnitude(experts, e, e, x, y, n);
    predicate expert_dots_held{L}(phibal_enclosure *z, integer count, int32_t *experts, float *x,
                                  float *y, integer n) =
      \forall integer e; 0 <= e < count ==> in(z + e, expert_dot(experts, x, y, e, n));
    predicate expert_magnitudes_held{L}(phibal_enclosure *z, integer count, int32_t *experts,
                                        float *x, float *y, integer n) =
      \forall integer e; 0 <= e < count ==> in(z + e, expert_magnitude(experts, x, y, e, n));

    // places for the results, which may be null, apart from each other
    predicate factor_results_there{L}(phibal_enclosure *scaled, phibal_enclosure *gate_gradient,
                                      phibal_enclosure *factor_gradient,
                                      phibal_enclosure *condition, integer slots, integer count) =
      optional_vector(scaled, slots) && optional_vector(gate_gradient, slots) &&
      optional_vector(factor_gradient, count) && optional_vector(condition, count) &&
      optional_vectors_apart(scaled, slots, gate_gradient, slots) &&
      optional_vectors_apart(scaled, slots, factor_gradient, count) &&
      optional_vectors_apart(scaled, slots, condition, count) &&
      optional_vectors_apart(gate_gradient, slots, factor_gradient, count) &&
      optional_vectors_apart(gate_gradient, slots, condition, count) &&
      optional_vectors_apart(factor_gradient, count, condition, count);
*/
#endif
