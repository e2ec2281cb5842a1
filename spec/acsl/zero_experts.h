/* The logic of experts that compute nothing (E10), of one token. ACSL only; definitions and no
   axiom. */
#ifndef PHIBAL_ACSL_ZERO_EXPERTS_H
#define PHIBAL_ACSL_ZERO_EXPERTS_H

#include <phibal/acsl/slots.h>
#include <stdint.h>

/*@ // the sum of the gates below n of experts from `first` on, and that of their absolute values
    logic real identity_gates{L}(int32_t *experts, float *gates, integer first, integer n) =
      slots_sum(experts, first, INT32_MAX, gates, \null, n);
    logic real identity_magnitude{L}(int32_t *experts, float *gates, integer first, integer n) =
      slots_magnitude(experts, first, INT32_MAX, gates, \null, n);
    predicate identities_finite{L}(int32_t *experts, float *gates, integer first, integer n) =
      slots_numbers(experts, first, INT32_MAX, gates, n);

    // x + c v, and |x| + c |v|
    logic real axpy{L}(float *x, real c, float *v, integer j) = (real)x[j] + c * (real)v[j];
    logic real axpy_magnitude{L}(float *x, real c, float *v, integer j) =
      \abs((real)x[j]) + c * \abs((real)v[j]);
    predicate axpy_held{L}(phibal_enclosure *z, integer n, float *x, real c, float *v) =
      \forall integer j; 0 <= j < n ==> in(z + j, axpy(x, c, v, j));
    predicate axpy_magnitudes_held{L}(phibal_enclosure *z, integer n, float *x, real c,
                                       float *v) =
      \forall integer j; 0 <= j < n ==> in(z + j, axpy_magnitude(x, c, v, j));

    // n where experts without weights return their input, 0 where they return nothing
    logic integer identity_slots(integer output, integer n) =
      output == PHIBAL_ZERO_IDENTITY ? n : 0;

    // places for the four vectors of results of one token, apart from each other both ways, and for
    // the two numbers
    predicate both_apart(phibal_enclosure *z, integer n, phibal_enclosure *x, integer m) =
      vectors_apart(z, n, x, m) && vectors_apart(x, m, z, n);
    predicate zero_vectors_there{L}(phibal_enclosure *y, phibal_enclosure *y_condition,
                                    phibal_enclosure *x, phibal_enclosure *x_condition,
                                    integer n) =
      vector_output(y, n) && vector_output(y_condition, n) && vector_output(x, n) &&
      vector_output(x_condition, n);
    predicate zero_vectors_apart(phibal_enclosure *y, phibal_enclosure *y_condition,
                                 phibal_enclosure *x, phibal_enclosure *x_condition, integer n) =
      both_apart(y, n, y_condition, n) && both_apart(y, n, x, n) &&
      both_apart(y, n, x_condition, n) && both_apart(y_condition, n, x, n) &&
      both_apart(y_condition, n, x_condition, n) && both_apart(x, n, x_condition, n);
    // z is apart from these, both ways
    predicate zero_elsewhere(phibal_enclosure *z, integer m, phibal_enclosure *y,
                             phibal_enclosure *y_condition, phibal_enclosure *x,
                             phibal_enclosure *x_condition, integer n) =
      both_apart(z, m, y, n) && both_apart(z, m, y_condition, n) && both_apart(z, m, x, n) &&
      both_apart(z, m, x_condition, n);
    predicate number_elsewhere(phibal_enclosure *z, phibal_enclosure *x, integer n) =
      \forall integer j; 0 <= j < n ==> \separated(x + j, z) && \separated(z, x + j);
    predicate zero_results_there{L}(phibal_enclosure *y, phibal_enclosure *y_condition,
                                    phibal_enclosure *x, phibal_enclosure *x_condition,
                                    phibal_enclosure *gate, phibal_enclosure *gate_condition,
                                    integer n) =
      zero_vectors_there(y, y_condition, x, x_condition, n) && output(gate) &&
      output(gate_condition);
    predicate zero_results_apart(phibal_enclosure *y, phibal_enclosure *y_condition,
                                 phibal_enclosure *x, phibal_enclosure *x_condition,
                                 phibal_enclosure *gate, phibal_enclosure *gate_condition,
                                 integer n) =
      zero_vectors_apart(y, y_condition, x, x_condition, n) &&
      number_elsewhere(gate, y, n) && number_elsewhere(gate, y_condition, n) &&
      number_elsewhere(gate, x, n) && number_elsewhere(gate, x_condition, n) &&
      number_elsewhere(gate_condition, y, n) && number_elsewhere(gate_condition, y_condition, n) &&
      number_elsewhere(gate_condition, x, n) && number_elsewhere(gate_condition, x_condition, n) &&
      \separated(gate, gate_condition) && \separated(gate_condition, gate);
    predicate zero_results_in_use{L}(phibal_enclosure *y, phibal_enclosure *y_condition,
                                     phibal_enclosure *x, phibal_enclosure *x_condition,
                                     phibal_enclosure *gate, phibal_enclosure *gate_condition,
                                     integer n) =
      vector_in_use(y, n) && vector_in_use(y_condition, n) && vector_in_use(x, n) &&
      vector_in_use(x_condition, n) && in_use(gate) && in_use(gate_condition);
*/
#endif
