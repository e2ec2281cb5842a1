/* What the functions of reference/ffn_backward_gates.h promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_FFN_BACKWARD_GATES_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_FFN_BACKWARD_GATES_H

#ifdef __FRAMAC__
#include <phibal/acsl/ffn_steps.h>
#include <phibal/acsl/ffn_backward_conditions.h>
#endif

/*@ // nothing but work, t[0..3] and n values and conditions of two results was written
    predicate only_gradients_written{A, B}(activation_work *work, phibal_enclosure *t,
                                           phibal_reference_result a, phibal_reference_result b,
                                           integer n) =
      \forall phibal_enclosure *r; \valid_read{A}(r) && \separated(r, work) &&
        vector_apart(r, t, 4) && vector_apart(r, a.value, n) && vector_apart(r, a.condition, n) &&
        vector_apart(r, b.value, n) && vector_apart(r, b.condition, n) ==> same{A, B}(r);
    predicate gate_gradients_given{A, B}(phibal_reference_result back, phibal_enclosure *z,
                                         integer n, integer kind, float *a, float *b) =
      \forall integer k, real g; 0 <= k < n && in{A}(back.value + k, g) ==>
        in{B}(z + k, g * (activation_derivative(kind, (real)\at(a[k], B)) * (real)\at(b[k], B)));
    predicate up_gradients_given{A, B}(phibal_reference_result back, phibal_enclosure *z,
                                       integer n, integer kind, float *a) =
      \forall integer k, real g; 0 <= k < n && in{A}(back.value + k, g) ==>
        in{B}(z + k, g * activation_value(kind, (real)\at(a[k], B)));
    // conditions, from those of h'
    predicate gate_conditions_given{A, B}(phibal_reference_result back, phibal_enclosure *z,
                                          integer n, integer kind, float *a, float *b) =
      \forall integer k, real u; 0 <= k < n && in{A}(back.condition + k, u) ==>
        in{B}(z + k, u * (activation_condition(kind, (real)\at(a[k], B)) *
                          absolute((real)\at(b[k], B))));
    predicate up_conditions_given{A, B}(phibal_reference_result back, phibal_enclosure *z,
                                        integer n, integer kind, float *a) =
      \forall integer k, real u; 0 <= k < n && in{A}(back.condition + k, u) ==>
        in{B}(z + k, u * absolute(activation_value(kind, (real)\at(a[k], B))));
*/

/*@ requires ffn_scratch_there(s, all, n) && work_there(work, all, n);
    requires floats_there(a, n) && floats_there(b, n);
    terminates \true;
    exits \false;
    assigns *work, s.t[0 .. 3], s.a.value[0 .. n - 1], s.a.condition[0 .. n - 1],
            s.b.value[0 .. n - 1], s.b.condition[0 .. n - 1];
    ensures work: work_ready(work);
    ensures kind: work->activation == \old(work->activation);
    ensures outputs: vector_output(all, FFN_TEMPORARIES + FFN_VECTORS * n);
    ensures frame: only_gradients_written{Pre, Here}(work, s.t, s.a, s.b, n);
    ensures status: \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures gates: \result == PHIBAL_OK ==>
      gate_gradients_given{Pre, Here}(s.back, s.a.value, n, \old(work->activation), a, b);
    ensures ups: \result == PHIBAL_OK ==>
      up_gradients_given{Pre, Here}(s.back, s.b.value, n, \old(work->activation), a);
    ensures gate_conditions: \result == PHIBAL_OK ==>
      gate_conditions_given{Pre, Here}(s.back, s.a.condition, n, \old(work->activation), a, b);
    ensures up_conditions: \result == PHIBAL_OK ==>
      up_conditions_given{Pre, Here}(s.back, s.b.condition, n, \old(work->activation), a); */
phibal_status ffn_gates_backward(int64_t n, activation_work *work, ffn_scratch s, const float *a,
                                 const float *b)
    /*@ ghost (phibal_enclosure *all) */;

#endif
