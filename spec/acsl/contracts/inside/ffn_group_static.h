/* What the static functions of reference/ffn_group.c promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_FFN_GROUP_STATIC_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_FFN_GROUP_STATIC_H

/*@ requires \valid(work) && work_ready(work) && input(a) && input(b) && output(t) && output(h);
    requires \separated(work, a) && \separated(work, b) && \separated(work, t) &&
      \separated(work, h);
    requires \separated(t, a) && \separated(t, b) && \separated(t, h) && \separated(h, b);
    terminates \true;
    exits \false;
    assigns *work, *t, *h;
    ensures work: work_ready(work);
    ensures kind: work->activation == \old(work->activation);
    ensures outputs: enclosure(t) && enclosure(h);
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && \separated(r, work) &&
      \separated(r, t) && \separated(r, h) ==> same{Pre, Here}(r);
    ensures status: \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures activation: \result == PHIBAL_OK ==> \forall real p; in{Pre}(a, p) ==>
      in(t, activation_value(work->activation, p));
    ensures value: \result == PHIBAL_OK ==> \forall real p, q; in{Pre}(a, p) && in{Pre}(b, q) ==>
      in(h, activation_value(work->activation, p) * q); */
static phibal_status ffn_gate_value(activation_work *work, phibal_enclosure *t,
                                    const phibal_enclosure *a, const phibal_enclosure *b,
                                    phibal_enclosure *h);

/*@ requires vector_output(t, 3) && input(a_condition) && input(b) && input(b_condition) &&
      output(h_condition);
    requires vector_apart(a_condition, t, 3) && vector_apart(b, t, 3) &&
      vector_apart(b_condition, t, 3) && vector_apart(h_condition, t, 3);
    requires \separated(h_condition, b) && \separated(h_condition, b_condition) &&
      \separated(h_condition, a_condition);
    terminates \true;
    exits \false;
    assigns t[1 .. 2], *h_condition;
    ensures outputs: vector_output(t, 3) && enclosure(h_condition);
    ensures frame: only_three_written{Pre, Here}(h_condition, t + 1, t + 2);
    ensures status: \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures condition: \result == PHIBAL_OK ==> \forall real p, q, u, v;
      in{Pre}(t + 0, p) && in{Pre}(b, q) && in{Pre}(a_condition, u) && in{Pre}(b_condition, v) ==>
        in(h_condition, product_condition(p, u, q, v)); */
static phibal_status ffn_gate_condition(phibal_enclosure *t, const phibal_enclosure *a_condition,
                                        const phibal_enclosure *b,
                                        const phibal_enclosure *b_condition,
                                        phibal_enclosure *h_condition);

/*@ requires \valid(work) && work_ready(work) && vector_output(t, 3);
    requires input(a.value) && input(a.condition) && input(b.value) && input(b.condition) &&
      output(h.value) &&
      output(h.condition);
    requires \separated(work, a.value) && \separated(work, a.condition) && \separated(work,
                                                                                      b.value) &&
      \separated(work, b.condition) && \separated(work, h.value) && \separated(work, h.condition) &&
      vector_apart_work(t, 3, work);
    requires vector_apart(a.value, t, 3) && vector_apart(a.condition, t, 3) &&
      vector_apart(b.value, t, 3) &&
      vector_apart(b.condition, t, 3) && vector_apart(h.value, t, 3) && vector_apart(h.condition,
                                                                                     t, 3);
    requires \separated(h.value, b.value) && \separated(h.value, a.condition) &&
      \separated(h.value, b.condition) &&
      \separated(h.value, h.condition);
    requires \separated(h.condition, b.value) && \separated(h.condition, b.condition) &&
      \separated(h.condition, a.condition);
    terminates \true;
    exits \false;
    assigns *work, t[0 .. 2], *h.value, *h.condition;
    ensures work: work_ready(work);
    ensures kind: work->activation == \old(work->activation);
    ensures outputs: vector_output(t, 3) && enclosure(h.value) && enclosure(h.condition);
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && \separated(r, work) &&
      vector_apart(r, t, 3) && \separated(r, h.value) && \separated(r, h.condition) ==>
        same{Pre, Here}(r);
    ensures status: \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures value: \result == PHIBAL_OK ==> \forall real p, q; in{Pre}(a.value, p) &&
      in{Pre}(b.value, q) ==>
      in(h.value, activation_value(\old(work->activation), p) * q);
    ensures condition: \result == PHIBAL_OK ==> \forall real p, q, u, v;
      in{Pre}(a.value, p) && in{Pre}(a.condition, u) && in{Pre}(b.value, q) && in{Pre}(b.condition,
                                                                                       v) ==>
        in(h.condition, gate_condition(\old(work->activation), p, u, q, v)); */
static phibal_status ffn_gate(activation_work *work, phibal_enclosure *t, phibal_reference_result a,
                              phibal_reference_result b, phibal_reference_result h);

/*@ // nothing but work, t[0..2] and the n values and conditions of a result was written
    predicate only_result_written{A, B}(activation_work *work, phibal_enclosure *t,
                                        phibal_reference_result z, integer n) =
      \forall phibal_enclosure *r; \valid_read{A}(r) && \separated(r, work) &&
        vector_apart(r, t, 3) && vector_apart(r, z.value, n) && vector_apart(r, z.condition, n) ==>
          same{A, B}(r);
    predicate gates_held{A, B}(phibal_reference_result a, phibal_reference_result b,
                               phibal_reference_result h, integer n, integer kind) =
      \forall integer k, real p, q; 0 <= k < n && in{A}(a.value + k, p) && in{A}(b.value + k, q) ==>
        in{B}(h.value + k, activation_value(kind, p) * q);
    predicate gate_conditions_held{A, B}(phibal_reference_result a, phibal_reference_result b,
                                         phibal_reference_result h, integer n, integer kind) =
      \forall integer k, real p, q, u, v; 0 <= k < n &&
        in{A}(a.value + k, p) && in{A}(a.condition + k, u) && in{A}(b.value + k, q) &&
        in{A}(b.condition + k, v) ==>
          in{B}(h.condition + k, gate_condition(kind, p, u, q, v));
*/

/*@ requires ffn_scratch_there(s, all, n);
    requires \valid(work) && work_ready(work) &&
      vector_apart_work(all, FFN_TEMPORARIES + FFN_VECTORS * n, work);
    terminates \true;
    exits \false;
    assigns *work, s.t[0 .. 2], s.h.value[0 .. n - 1], s.h.condition[0 .. n - 1];
    ensures work: work_ready(work);
    ensures kind: work->activation == \old(work->activation);
    ensures outputs: vector_output(all, FFN_TEMPORARIES + FFN_VECTORS * n);
    ensures frame: only_result_written{Pre, Here}(work, s.t, s.h, n);
    ensures status: \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures value: \result == PHIBAL_OK ==>
      gates_held{Pre, Here}(s.a, s.b, s.h, n, \old(work->activation));
    ensures condition: \result == PHIBAL_OK ==>
      gate_conditions_held{Pre, Here}(s.a, s.b, s.h, n, \old(work->activation)); */
static phibal_status ffn_gates(int64_t n, activation_work *work, ffn_scratch s)
/*@ ghost (phibal_enclosure *all) */;

/*@ requires shape_counted(shape) && OPERATION_PRECISION <= precision <= MPFR_PREC_MAX;
    requires plain_ready(given.x, shape.rows, shape.width) &&
      plain_ready(given.w_gate, shape.hidden, shape.width) &&
      plain_ready(given.w_up, shape.hidden, shape.width);
    requires ffn_scratch_there(s, all, place(shape.rows, shape.hidden));
    terminates \true;
    exits \false;
    assigns all[FFN_TEMPORARIES .. FFN_TEMPORARIES + 4 * place(shape.rows, shape.hidden) - 1];
    ensures outputs: vector_output(all,
      FFN_TEMPORARIES + FFN_VECTORS * place(shape.rows, shape.hidden));
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) &&
      vector_apart(r, s.a.value, place(shape.rows, shape.hidden)) &&
      vector_apart(r, s.a.condition, place(shape.rows, shape.hidden)) &&
      vector_apart(r, s.b.value, place(shape.rows, shape.hidden)) &&
      vector_apart(r, s.b.condition, place(shape.rows, shape.hidden)) ==> same{Pre, Here}(r);
    ensures gates: \result == PHIBAL_OK ==>
      dots_held(s.a.value, place(shape.rows, shape.hidden), shape.hidden, shape.width, given.x,
                shape.width, 1, given.w_gate, 1, shape.width) &&
      magnitudes_held(s.a.condition, place(shape.rows, shape.hidden), shape.hidden, shape.width,
                      given.x, shape.width, 1, given.w_gate, 1, shape.width);
    ensures ups: \result == PHIBAL_OK ==>
      dots_held(s.b.value, place(shape.rows, shape.hidden), shape.hidden, shape.width, given.x,
                shape.width, 1, given.w_up, 1, shape.width) &&
      magnitudes_held(s.b.condition, place(shape.rows, shape.hidden), shape.hidden, shape.width,
                      given.x, shape.width, 1, given.w_up, 1, shape.width); */
static phibal_status ffn_projections(ffn_shape shape, ffn_scratch s,
                                     phibal_reference_ffn_inputs given, mpfr_prec_t precision)
/*@ ghost (phibal_enclosure *all) */;

/*@ requires shape_counted(shape) && OPERATION_PRECISION <= precision <= MPFR_PREC_MAX;
    requires plain_ready(given.x, shape.rows, shape.width) &&
      plain_ready(given.w_gate, shape.hidden, shape.width) &&
      plain_ready(given.w_up, shape.hidden, shape.width);
    requires ffn_scratch_there(s, all, n) && n == place(shape.rows, shape.hidden) &&
      work_there(work, all, n);
    terminates \true;
    exits \false;
    assigns *work, all[0 .. FFN_TEMPORARIES + FFN_VECTORS * n - 1];
    ensures work: work_ready(work);
    ensures kind: work->activation == \old(work->activation);
    ensures outputs: vector_output(all, FFN_TEMPORARIES + FFN_VECTORS * n);
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && \separated(r, work) &&
      vector_apart(r, all, FFN_TEMPORARIES + FFN_VECTORS * n) ==> same{Pre, Here}(r);
    ensures value: \result == PHIBAL_OK ==>
      forward_held(s, n, \old(work->activation), given, shape.width, shape.hidden); */
static phibal_status ffn_forward_hidden(ffn_shape shape, int64_t n, activation_work *work,
                                        ffn_scratch s, phibal_reference_ffn_inputs given,
                                        mpfr_prec_t precision)
/*@ ghost (phibal_enclosure *all) */;

#endif
