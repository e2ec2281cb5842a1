/* What the static functions of reference/ffn_backward_gates.c promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_FFN_BACKWARD_GATES_STATIC_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_FFN_BACKWARD_GATES_STATIC_H

/*@ predicate apart_from_gradients(phibal_enclosure *r, phibal_enclosure *a,
                                   phibal_enclosure *a_condition, phibal_enclosure *b,
                                   phibal_enclosure *b_condition) =
      \separated(r, a) && \separated(r, a_condition) && \separated(r, b) &&
      \separated(r, b_condition);
*/

/*@ requires output(value) && input(back) && input(back_condition) && output(b_gradient) &&
      output(b_condition);
    requires \separated(value, back) && \separated(value, back_condition) &&
      \separated(value, b_gradient) && \separated(value, b_condition) &&
      \separated(b_gradient, back) && \separated(b_gradient, back_condition) &&
      \separated(b_condition, back_condition) && \separated(b_gradient, b_condition);
    terminates \true;
    exits \false;
    assigns *value, *b_gradient, *b_condition;
    ensures outputs: enclosure(value) && enclosure(b_gradient) && enclosure(b_condition);
    ensures frame: only_three_written{Pre, Here}(value, b_gradient, b_condition);
    ensures status: \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures ups: \result == PHIBAL_OK ==> \forall real g, v; in{Pre}(back, g) &&
      in{Pre}(value, v) ==> in(b_gradient, g * v);
    ensures conditions: \result == PHIBAL_OK ==> \forall real u, v; in{Pre}(back_condition, u) &&
      in{Pre}(value, v) ==> in(b_condition, u * absolute(v)); */
static phibal_status ffn_up_products(phibal_enclosure *value, const phibal_enclosure *back,
                                     const phibal_enclosure *back_condition,
                                     phibal_enclosure *b_gradient, phibal_enclosure *b_condition);

/*@ requires \is_finite(b) && output(slope) && output(size) && output(factor);
    requires input(back) && input(back_condition) && output(a_gradient) && output(a_condition);
    requires \separated(slope, size) && \separated(slope, factor) && \separated(size, factor);
    requires \separated(slope, back) && \separated(slope, back_condition) &&
      \separated(slope, a_gradient) && \separated(slope, a_condition);
    requires \separated(size, back) && \separated(size, back_condition) &&
      \separated(size, a_gradient) && \separated(size, a_condition);
    requires \separated(factor, back) && \separated(factor, back_condition) &&
      \separated(factor, a_gradient) && \separated(factor, a_condition);
    requires \separated(a_gradient, back_condition) && \separated(a_gradient, back) &&
      \separated(a_condition, back_condition) && \separated(a_gradient, a_condition);
    terminates \true;
    exits \false;
    assigns *slope, *size, *factor, *a_gradient, *a_condition;
    ensures temporaries: enclosure(slope) && enclosure(size) && enclosure(factor);
    ensures outputs: enclosure(a_gradient) && enclosure(a_condition);
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && \separated(r, slope) &&
      \separated(r, size) && \separated(r, factor) && \separated(r, a_gradient) &&
      \separated(r, a_condition) ==> same{Pre, Here}(r);
    ensures status: \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures gates: \result == PHIBAL_OK ==> \forall real g, v; in{Pre}(back, g) &&
      in{Pre}(slope, v) ==> in(a_gradient, g * (v * (real)b));
    ensures conditions: \result == PHIBAL_OK ==> \forall real u, v; in{Pre}(back_condition, u) &&
      in{Pre}(size, v) ==> in(a_condition, u * (v * absolute((real)b))); */
static phibal_status
ffn_slope_products(phibal_enclosure *slope, phibal_enclosure *size, phibal_enclosure *factor,
                   float b, const phibal_enclosure *back, const phibal_enclosure *back_condition,
                   phibal_enclosure *a_gradient, phibal_enclosure *a_condition);

/*@ requires \valid(work) && work_ready(work) && \is_finite(a) && \is_finite(b);
    requires vector_output(t, 4) && input(back.value) && input(back.condition);
    requires output(to_a.value) && output(to_a.condition) && output(to_b.value) &&
      output(to_b.condition);
    requires vector_apart_work(t, 4, work) && \separated(work, back.value) &&
      \separated(work, back.condition) && \separated(work, to_a.value) &&
      \separated(work, to_a.condition) && \separated(work, to_b.value) &&
      \separated(work, to_b.condition);
    requires vector_apart(back.value, t, 4) && vector_apart(back.condition, t, 4) &&
      vector_apart(to_a.value, t, 4) && vector_apart(to_a.condition, t, 4) &&
      vector_apart(to_b.value, t, 4) && vector_apart(to_b.condition, t, 4);
    requires apart_from_gradients(back.value, to_a.value, to_a.condition, to_b.value,
                                  to_b.condition) &&
      apart_from_gradients(back.condition, to_a.value, to_a.condition, to_b.value, to_b.condition);
    requires \separated(to_a.value, to_a.condition) && \separated(to_a.value, to_b.value) &&
      \separated(to_a.value, to_b.condition) && \separated(to_a.condition, to_b.value) &&
      \separated(to_a.condition, to_b.condition) && \separated(to_b.value, to_b.condition);
    terminates \true;
    exits \false;
    assigns *work, t[0 .. 3], *to_a.value, *to_a.condition, *to_b.value, *to_b.condition;
    ensures work: work_ready(work);
    ensures kind: work->activation == \old(work->activation);
    ensures outputs: vector_output(t, 4) && enclosure(to_a.value) && enclosure(to_a.condition) &&
      enclosure(to_b.value) && enclosure(to_b.condition);
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && \separated(r, work) &&
      vector_apart(r, t, 4) &&
      apart_from_gradients(r, to_a.value, to_a.condition, to_b.value, to_b.condition) ==>
        same{Pre, Here}(r);
    ensures status: \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures ups: \result == PHIBAL_OK ==> \forall real g; in{Pre}(back.value, g) ==>
      in(to_b.value, g * activation_value(\old(work->activation), (real)a));
    ensures gates: \result == PHIBAL_OK ==> \forall real g; in{Pre}(back.value, g) ==>
      in(to_a.value,
         g * (activation_derivative(\old(work->activation), (real)a) * (real)b));
    ensures up_conditions: \result == PHIBAL_OK ==> \forall real u; in{Pre}(back.condition, u) ==>
      in(to_b.condition, u * absolute(activation_value(\old(work->activation), (real)a)));
    ensures gate_conditions: \result == PHIBAL_OK ==> \forall real u;
      in{Pre}(back.condition, u) ==>
        in(to_a.condition, u * (activation_condition(\old(work->activation), (real)a) *
                             absolute((real)b))); */
static phibal_status ffn_gate_backward(activation_work *work, phibal_enclosure *t, float a, float b,
                                       phibal_reference_result back, phibal_reference_result to_a,
                                       phibal_reference_result to_b);

#endif
