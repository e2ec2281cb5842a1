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

    // z[0..n-1] and x[0..m-1] are apart, said both ways; so are z and x[0..n-1]
    predicate both_apart(phibal_enclosure *z, integer n, phibal_enclosure *x, integer m) =
      vectors_apart(z, n, x, m) && vectors_apart(x, m, z, n);
    predicate number_elsewhere(phibal_enclosure *z, phibal_enclosure *x, integer n) =
      \forall integer j; 0 <= j < n ==> \separated(x + j, z) && \separated(z, x + j);

    // n values with their conditions: places for results, in use, the same at A and at B; p, or
    // z[0..m-1], is apart from them
    predicate pair_there{L}(phibal_reference_result w, integer n) =
      vector_output(w.value, n) && vector_output(w.condition, n);
    predicate pair_in_use{L}(phibal_reference_result w, integer n) =
      vector_in_use(w.value, n) && vector_in_use(w.condition, n);
    predicate pair_same{A, B}(phibal_reference_result w, integer n) =
      vector_same{A, B}(w.value, n) && vector_same{A, B}(w.condition, n);
    predicate pair_free(phibal_enclosure *p, phibal_reference_result w, integer n) =
      vector_apart(p, w.value, n) && vector_apart(p, w.condition, n);
    predicate pair_elsewhere(phibal_enclosure *z, integer m, phibal_reference_result w,
                             integer n) =
      both_apart(z, m, w.value, n) && both_apart(z, m, w.condition, n);

    // The results r of one token, two vectors of n numbers and one number: none is missing; they
    // are places for results; apart from one another; in use; the same at A and at B.
    predicate zero_complete(phibal_reference_zero_results r) =
      r.y.value != \null && r.y.condition != \null && r.x_gradient.value != \null &&
      r.x_gradient.condition != \null && r.gate_gradient.value != \null &&
      r.gate_gradient.condition != \null;
    predicate zero_vectors_there{L}(phibal_reference_zero_results r, integer n) =
      pair_there(r.y, n) && pair_there(r.x_gradient, n);
    predicate zero_numbers_there{L}(phibal_reference_zero_results r) =
      output(r.gate_gradient.value) && output(r.gate_gradient.condition);
    predicate zero_vectors_apart(phibal_reference_zero_results r, integer n) =
      both_apart(r.y.value, n, r.y.condition, n) &&
      both_apart(r.x_gradient.value, n, r.x_gradient.condition, n) &&
      pair_elsewhere(r.y.value, n, r.x_gradient, n) &&
      pair_elsewhere(r.y.condition, n, r.x_gradient, n);
    predicate zero_number_apart(phibal_enclosure *z, phibal_reference_zero_results r, integer n) =
      number_elsewhere(z, r.y.value, n) && number_elsewhere(z, r.y.condition, n) &&
      number_elsewhere(z, r.x_gradient.value, n) && number_elsewhere(z, r.x_gradient.condition, n);
    predicate zero_numbers_apart(phibal_reference_zero_results r, integer n) =
      zero_number_apart(r.gate_gradient.value, r, n) &&
      zero_number_apart(r.gate_gradient.condition, r, n) &&
      \separated(r.gate_gradient.value, r.gate_gradient.condition) &&
      \separated(r.gate_gradient.condition, r.gate_gradient.value);
    predicate zero_in_use{L}(phibal_reference_zero_results r, integer n) =
      pair_in_use(r.y, n) && pair_in_use(r.x_gradient, n) && in_use(r.gate_gradient.value) &&
      in_use(r.gate_gradient.condition);
    predicate zero_vectors_same{A, B}(phibal_reference_zero_results r, integer n) =
      pair_same{A, B}(r.y, n) && pair_same{A, B}(r.x_gradient, n);
    predicate zero_numbers_same{A, B}(phibal_reference_zero_results r) =
      same{A, B}(r.gate_gradient.value) && same{A, B}(r.gate_gradient.condition);
    // z[0..m-1], and p, are apart from the vectors
    predicate zero_elsewhere(phibal_enclosure *z, integer m, phibal_reference_zero_results r,
                             integer n) =
      pair_elsewhere(z, m, r.y, n) && pair_elsewhere(z, m, r.x_gradient, n);
    predicate zero_free(phibal_enclosure *p, phibal_reference_zero_results r, integer n) =
      pair_free(p, r.y, n) && pair_free(p, r.x_gradient, n);

    // What is asked of a token t: what is there may be read; all is there and finite.
    predicate zero_readable{L}(phibal_reference_zero_token t) =
      (t.experts == \null || \valid_read(t.experts + (0 .. t.active - 1))) &&
      (t.gates == \null || \valid_read(t.gates + (0 .. t.active - 1))) &&
      (t.x == \null || \valid_read(t.x + (0 .. t.width - 1))) &&
      (t.y == \null || \valid_read(t.y + (0 .. t.width - 1))) &&
      (t.y_gradient == \null || \valid_read(t.y_gradient + (0 .. t.width - 1))) &&
      (t.x_gradient == \null || \valid_read(t.x_gradient + (0 .. t.width - 1)));
    predicate zero_rows_there{L}(phibal_reference_zero_token t) =
      0 <= t.width && floats_there(t.x, t.width) && floats_there(t.y, t.width) &&
      floats_there(t.y_gradient, t.width) && floats_there(t.x_gradient, t.width);
    predicate zero_slots_there{L}(phibal_reference_zero_token t, integer n) =
      0 <= n && \valid_read(t.experts + (0 .. n - 1)) && \valid_read(t.gates + (0 .. n - 1)) &&
      identities_finite(t.experts, t.gates, t.first_zero, n);

    // (E10) of the vectors, where a is the sum of the gates and m that of their absolute values
    predicate zero_vectors_held{L}(phibal_reference_zero_results r, phibal_reference_zero_token t,
                                   real a) =
      axpy_held(r.y.value, t.width, t.y, a, t.x) &&
      axpy_held(r.x_gradient.value, t.width, t.x_gradient, a, t.y_gradient);
    predicate zero_conditions_held{L}(phibal_reference_zero_results r,
                                      phibal_reference_zero_token t, real m) =
      axpy_magnitudes_held(r.y.condition, t.width, t.y, m, t.x) &&
      axpy_magnitudes_held(r.x_gradient.condition, t.width, t.x_gradient, m, t.y_gradient);
*/
#endif
