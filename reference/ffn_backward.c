/* The gated FFN over the rows of one expert, backward (E3), with first-order conditions carried
   along the chain. */
#include "ffn_work.h"
#ifdef __FRAMAC__
#include <phibal/acsl/ffn_steps.h>
#endif

/*@ predicate apart_from_gradients(phibal_enclosure *r, phibal_enclosure *a,
                                   phibal_enclosure *a_condition, phibal_enclosure *b,
                                   phibal_enclosure *b_condition) =
      \separated(r, a) && \separated(r, a_condition) && \separated(r, b) &&
      \separated(r, b_condition);
*/

/* b' and its condition of one element from value = act(a), which becomes |act(a)|; back: h' and its
   condition. */
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
      in{Pre}(value, v) ==> in(b_gradient, g * v); */
static phibal_status ffn_up_products(phibal_enclosure *value, const phibal_enclosure *back,
                                     const phibal_enclosure *back_condition,
                                     phibal_enclosure *b_gradient, phibal_enclosure *b_condition) {
  //@ assert use_enclosure;
  TRY(phibal_enclosure_mul(b_gradient, back, value));
  phibal_enclosure_abs(value, value);
  return phibal_enclosure_mul(b_condition, back_condition, value);
}

/* a' and its condition of one element from slope = act'(a), size, that derivative's condition, and
   factor, a temporary; they are overwritten. */
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
      in{Pre}(slope, v) ==> in(a_gradient, g * (v * (real)b)); */
static phibal_status
ffn_slope_products(phibal_enclosure *slope, phibal_enclosure *size, phibal_enclosure *factor,
                   float b, const phibal_enclosure *back, const phibal_enclosure *back_condition,
                   phibal_enclosure *a_gradient, phibal_enclosure *a_condition) {
  //@ assert use_enclosure;
  operation_set_float(factor, b);
  TRY(phibal_enclosure_mul(slope, slope, factor));
  //@ assert slope: \forall real v; in{Pre}(slope, v) ==> in(slope, v * (real)b);
  TRY(phibal_enclosure_mul(a_gradient, back, slope));
  phibal_enclosure_abs(factor, factor);
  //@ assert factors: output(slope) && output(size) && output(factor);
  TRY(phibal_enclosure_mul(size, size, factor));
  return phibal_enclosure_mul(a_condition, back_condition, size);
}

/* a' = h' b act'(a), b' = h' act(a) of one element; back: h' and its condition. */
/*@ requires \valid(work) && work_ready(work) && \is_finite(a) && \is_finite(b);
    requires vector_output(t, 4) && input(back) && input(back_condition);
    requires output(a_gradient) && output(a_condition) && output(b_gradient) &&
      output(b_condition);
    requires vector_apart_work(t, 4, work) && \separated(work, back) &&
      \separated(work, back_condition) && \separated(work, a_gradient) &&
      \separated(work, a_condition) && \separated(work, b_gradient) &&
      \separated(work, b_condition);
    requires vector_apart(back, t, 4) && vector_apart(back_condition, t, 4) &&
      vector_apart(a_gradient, t, 4) && vector_apart(a_condition, t, 4) &&
      vector_apart(b_gradient, t, 4) && vector_apart(b_condition, t, 4);
    requires apart_from_gradients(back, a_gradient, a_condition, b_gradient, b_condition) &&
      apart_from_gradients(back_condition, a_gradient, a_condition, b_gradient, b_condition);
    requires \separated(a_gradient, a_condition) && \separated(a_gradient, b_gradient) &&
      \separated(a_gradient, b_condition) && \separated(a_condition, b_gradient) &&
      \separated(a_condition, b_condition) && \separated(b_gradient, b_condition);
    terminates \true;
    exits \false;
    assigns *work, t[0 .. 3], *a_gradient, *a_condition, *b_gradient, *b_condition;
    ensures work: work_ready(work);
    ensures kind: work->activation == \old(work->activation);
    ensures outputs: vector_output(t, 4) && enclosure(a_gradient) && enclosure(a_condition) &&
      enclosure(b_gradient) && enclosure(b_condition);
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && \separated(r, work) &&
      vector_apart(r, t, 4) &&
      apart_from_gradients(r, a_gradient, a_condition, b_gradient, b_condition) ==>
        same{Pre, Here}(r);
    ensures status: \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures ups: \result == PHIBAL_OK ==> \forall real g; in{Pre}(back, g) ==>
      in(b_gradient, g * activation_value(\old(work->activation), (real)a));
    ensures gates: \result == PHIBAL_OK ==> \forall real g; in{Pre}(back, g) ==>
      in(a_gradient,
         g * (activation_derivative(\old(work->activation), (real)a) * (real)b)); */
static phibal_status ffn_gate_backward(activation_work *work, phibal_enclosure *t, float a, float b,
                                       const phibal_enclosure *back,
                                       const phibal_enclosure *back_condition,
                                       phibal_enclosure *a_gradient, phibal_enclosure *a_condition,
                                       phibal_enclosure *b_gradient,
                                       phibal_enclosure *b_condition) {
  //@ assert use_enclosure;
  operation_set_float(&t[3], a);
  //@ assert work: work_ready(work);
  phibal_status status = activation_evaluate(work, &t[3], &t[0], &t[1], &t[2]);
  if (status != PHIBAL_OK) return status;
  //@ assert kept: same{Pre, Here}(back) && same{Pre, Here}(back_condition);
  //@ assert temporaries: output(t + 0) && output(t + 1) && output(t + 2) && output(t + 3);
  status = ffn_up_products(&t[0], back, back_condition, b_gradient, b_condition);
  //@ assert later: output(t + 0) && output(t + 1) && output(t + 2) && output(t + 3);
  if (status != PHIBAL_OK) return status;
  //@ assert still: same{Pre, Here}(back) && same{Pre, Here}(back_condition);
  status =
      ffn_slope_products(&t[1], &t[2], &t[3], b, back, back_condition, a_gradient, a_condition);
  //@ assert last: output(t + 0) && output(t + 1) && output(t + 2) && output(t + 3);
  //@ assert work: work_ready(work);
  return status;
}

/*@ // the gradients of the products are apart from the first n of the scratch
    predicate gradients_placed(phibal_enclosure *all, integer n, phibal_reference_ffn_gradients g,
                               integer rows, integer d, integer f) =
      vector_result_apart(all, n, g.x, place(rows, d)) &&
      vector_result_apart(all, n, g.w_gate, place(f, d)) &&
      vector_result_apart(all, n, g.w_up, place(f, d)) &&
      vector_result_apart(all, n, g.w_down, place(d, f));
    predicate result_apart_work(phibal_reference_result r, integer n, activation_work *work) =
      (r.value != \null ==> vector_apart_work(r.value, n, work)) &&
      (r.condition != \null ==> vector_apart_work(r.condition, n, work));
    predicate gradients_apart_work(phibal_reference_ffn_gradients g, integer rows, integer d,
                                   integer f, activation_work *work) =
      result_apart_work(g.x, place(rows, d), work) &&
      result_apart_work(g.w_gate, place(f, d), work) &&
      result_apart_work(g.w_up, place(f, d), work) &&
      result_apart_work(g.w_down, place(d, f), work);
    predicate hidden_gradients_held{L}(ffn_scratch s, integer n, ffn_shape shape, float *y,
                                       float *w_down) =
      dots_held(s.back.value, n, shape.hidden, shape.width, y, shape.width, 1, w_down,
                shape.hidden, 1) &&
      magnitudes_held(s.back.condition, n, shape.hidden, shape.width, y, shape.width, 1, w_down,
                      shape.hidden, 1);
    // nothing but work, t[0..3] and n values and conditions of two results was written
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
*/

/* ffn_gate_backward of each element. */
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
      up_gradients_given{Pre, Here}(s.back, s.b.value, n, \old(work->activation), a); */
static phibal_status ffn_gates_backward(int64_t n, activation_work *work, ffn_scratch s,
                                        const float *a, const float *b)
/*@ ghost (phibal_enclosure *all) */ {
  //@ assert use_enclosure;
  //@ ghost ffn_places(s, all, n);
  /*@ loop invariant index: 0 <= k <= n;
      loop invariant work: work_ready(work) && work->activation == \at(work->activation, Pre);
      loop invariant outputs: vector_output(all, FFN_TEMPORARIES + FFN_VECTORS * n);
      loop invariant frame: only_gradients_written{Pre, Here}(work, s.t, s.a, s.b, n);
      loop invariant gates:
        gate_gradients_given{Pre, Here}(s.back, s.a.value, k, work->activation, a, b);
      loop invariant ups: up_gradients_given{Pre, Here}(s.back, s.b.value, k, work->activation, a);
      loop assigns k, *work, s.t[0 .. 3], s.a.value[0 .. n - 1], s.a.condition[0 .. n - 1],
                   s.b.value[0 .. n - 1], s.b.condition[0 .. n - 1];
      loop variant n - k; */
  for (int64_t k = 0; k < n; k++) {
    //@ assert temporaries: s.t == all;
    //@ assert back_place: s.back.value + k == all + (FFN_TEMPORARIES + 6 * n + k);
    //@ assert back_there: output(all + (FFN_TEMPORARIES + 6 * n + k));
    //@ assert back_work: \separated(work, s.back.value + k);
    //@ assert back_free: vector_apart(s.back.value + k, s.t, 4);
    //@ assert back_condition_place: s.back.condition + k == all + (FFN_TEMPORARIES + 7 * n + k);
    //@ assert back_condition_there: output(all + (FFN_TEMPORARIES + 7 * n + k));
    //@ assert back_condition_work: \separated(work, s.back.condition + k);
    //@ assert back_condition_free: vector_apart(s.back.condition + k, s.t, 4);
    //@ assert gate_place: s.a.value + k == all + (FFN_TEMPORARIES + k);
    //@ assert gate_there: output(all + (FFN_TEMPORARIES + k));
    //@ assert gate_work: \separated(work, s.a.value + k);
    //@ assert gate_free: vector_apart(s.a.value + k, s.t, 4);
    //@ assert gate_condition_place: s.a.condition + k == all + (FFN_TEMPORARIES + n + k);
    //@ assert gate_condition_there: output(all + (FFN_TEMPORARIES + n + k));
    //@ assert gate_condition_work: \separated(work, s.a.condition + k);
    //@ assert gate_condition_free: vector_apart(s.a.condition + k, s.t, 4);
    //@ assert up_place: s.b.value + k == all + (FFN_TEMPORARIES + 2 * n + k);
    //@ assert up_there: output(all + (FFN_TEMPORARIES + 2 * n + k));
    //@ assert up_work: \separated(work, s.b.value + k);
    //@ assert up_free: vector_apart(s.b.value + k, s.t, 4);
    //@ assert up_condition_place: s.b.condition + k == all + (FFN_TEMPORARIES + 3 * n + k);
    //@ assert up_condition_there: output(all + (FFN_TEMPORARIES + 3 * n + k));
    //@ assert up_condition_work: \separated(work, s.b.condition + k);
    //@ assert up_condition_free: vector_apart(s.b.condition + k, s.t, 4);
    //@ assert work_apart: vector_apart_work(s.t, 4, work);
    //@ assert back_apart_gate: vector_apart(s.back.value + k, s.a.value, n);
    //@ assert back_apart_gate_condition: vector_apart(s.back.value + k, s.a.condition, n);
    //@ assert back_apart_up: vector_apart(s.back.value + k, s.b.value, n);
    //@ assert back_apart_up_condition: vector_apart(s.back.value + k, s.b.condition, n);
    //@ assert back_kept: same{Pre, Here}(s.back.value + k);
    /*@ assert members: \forall real g; in{Pre}(s.back.value + k, g) ==> in(s.back.value + k, g); */
    //@ ghost before:;
    phibal_status status =
        ffn_gate_backward(work, s.t, a[k], b[k], &s.back.value[k], &s.back.condition[k],
                          &s.a.value[k], &s.a.condition[k], &s.b.value[k], &s.b.condition[k]);
    //@ assert gate_written: enclosure(all + (FFN_TEMPORARIES + k));
    //@ assert gate_condition_written: enclosure(all + (FFN_TEMPORARIES + n + k));
    //@ assert up_written: enclosure(all + (FFN_TEMPORARIES + 2 * n + k));
    //@ assert up_condition_written: enclosure(all + (FFN_TEMPORARIES + 3 * n + k));
    //@ assert temporaries_written: vector_output(all, 4);
    /*@ assert others: \forall integer i;
          FFN_TEMPORARIES <= i < FFN_TEMPORARIES + FFN_VECTORS * n &&
          i != FFN_TEMPORARIES + k && i != FFN_TEMPORARIES + n + k &&
          i != FFN_TEMPORARIES + 2 * n + k && i != FFN_TEMPORARIES + 3 * n + k ==>
            same{before, Here}(all + i); */
    /*@ assert others_there: \forall integer i;
          FFN_TEMPORARIES <= i < FFN_TEMPORARIES + FFN_VECTORS * n && i != FFN_TEMPORARIES + k &&
          i != FFN_TEMPORARIES + n + k && i != FFN_TEMPORARIES + 2 * n + k &&
          i != FFN_TEMPORARIES + 3 * n + k ==> output(all + i); */
    /*@ assert rest_there: \forall integer i;
          FFN_TEMPORARIES <= i < FFN_TEMPORARIES + FFN_VECTORS * n ==> output(all + i); */
    //@ assert outputs: vector_output(all, FFN_TEMPORARIES + FFN_VECTORS * n);
    if (status != PHIBAL_OK) return status;
    /*@ assert gate_earlier_there: \forall integer i; 0 <= i < k ==>
          same{before, Here}(all + (FFN_TEMPORARIES + i)); */
    /*@ assert gate_earlier_place: \forall integer i; 0 <= i < k ==>
          s.a.value + i == all + (FFN_TEMPORARIES + i); */
    //@ assert gate_earlier: \forall integer i; 0 <= i < k ==> same{before, Here}(s.a.value + i);
    /*@ assert up_earlier_there: \forall integer i; 0 <= i < k ==>
          same{before, Here}(all + (FFN_TEMPORARIES + 2 * n + i)); */
    /*@ assert up_earlier_place: \forall integer i; 0 <= i < k ==>
          s.b.value + i == all + (FFN_TEMPORARIES + 2 * n + i); */
    //@ assert up_earlier: \forall integer i; 0 <= i < k ==> same{before, Here}(s.b.value + i);
    /*@ assert gate_last: \forall real g; in{Pre}(s.back.value + k, g) ==> in(s.a.value + k,
          g * (activation_derivative(work->activation, (real)a[k]) * (real)b[k])); */
    /*@ assert up_last: \forall real g; in{Pre}(s.back.value + k, g) ==>
          in(s.b.value + k, g * activation_value(work->activation, (real)a[k])); */
  }
  return PHIBAL_OK;
}

/* x' = a' W_gate + b' W_up. */
/*@ requires shape_counted(shape) && plain_ready(w_gate, shape.hidden, shape.width) &&
      plain_ready(w_up, shape.hidden, shape.width);
    requires ffn_scratch_there(s, all, place(shape.rows, shape.hidden));
    requires result_there(z, place(shape.rows, shape.width)) &&
      vector_result_apart(all, FFN_TEMPORARIES + FFN_VECTORS * place(shape.rows, shape.hidden), z,
                          place(shape.rows, shape.width));
    terminates \true;
    exits \false;
    assigns s.t[0 .. 2], z.value[0 .. place(shape.rows, shape.width) - 1],
            z.condition[0 .. place(shape.rows, shape.width) - 1];
    ensures outputs: vector_output(s.t, 3) && result_there(z, place(shape.rows, shape.width));
    ensures frame: only_chain_written{Pre, Here}(s.t, z, place(shape.rows, shape.width));
    ensures status: \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures value: \result == PHIBAL_OK && z.value != \null ==> \forall sequence p, q;
      members{Pre}(s.a.value, place(shape.rows, shape.hidden), p) &&
      members{Pre}(s.b.value, place(shape.rows, shape.hidden), q) ==>
        input_gradients_held(z.value, place(shape.rows, shape.width), p, q, w_gate, w_up,
                             shape.width, shape.hidden); */
static phibal_status ffn_backward_input(ffn_shape shape, ffn_scratch s, const float *w_gate,
                                        const float *w_up, phibal_reference_result z)
/*@ ghost (phibal_enclosure *all) */ {
  //@ assert use_enclosure && use_place && open_place;
  int64_t n = shape.rows, d = shape.width, f = shape.hidden;
  phibal_reference_matrix gate = {w_gate, d, 1}, up = {w_up, d, 1};
  //@ ghost int64_t size = n * f;
  //@ assert size: size == place(n, f) && 0 <= size && strides_inside(n, f, f, 1, size);
  TRY(ffn_chain_product(n, f, d, s.a, f, 1, gate, false, s.t, z) /*@ ghost (size) */);
  /*@ assert kept: vector_same{Pre, Here}(s.b.value, size) &&
        vector_same{Pre, Here}(s.b.condition, size); */
  /*@ assert members: \forall sequence q; members{Pre}(s.b.value, size, q) ==>
        members(s.b.value, size, q); */
  return ffn_chain_product(n, f, d, s.b, f, 1, up, true, s.t, z) /*@ ghost (size) */;
}

/* W' = u'^T x, where u' is a' or b'. */
/*@ requires shape_counted(shape) && plain_ready(x, shape.rows, shape.width);
    requires 0 <= size == place(shape.rows, shape.hidden);
    requires vector_output(t, 3) && vector_input(u.value, size) && vector_input(u.condition, size)
      && vectors_apart(t, 3, u.value, size) && vectors_apart(t, 3, u.condition, size);
    requires result_there(z, place(shape.hidden, shape.width)) &&
      vector_result_apart(t, 3, z, place(shape.hidden, shape.width)) &&
      results_apart(z, place(shape.hidden, shape.width), u, size);
    terminates \true;
    exits \false;
    assigns t[0 .. 2], z.value[0 .. place(shape.hidden, shape.width) - 1],
            z.condition[0 .. place(shape.hidden, shape.width) - 1];
    ensures outputs: vector_output(t, 3) && result_there(z, place(shape.hidden, shape.width));
    ensures frame: only_chain_written{Pre, Here}(t, z, place(shape.hidden, shape.width));
    ensures status: \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures value: \result == PHIBAL_OK && z.value != \null ==> \forall sequence p;
      members{Pre}(u.value, size, p) ==>
        chains_held(z.value, place(shape.hidden, shape.width), shape.width, shape.rows, p, 1,
                    shape.hidden, x, shape.width, 1); */
static phibal_status ffn_backward_weight(ffn_shape shape, phibal_reference_result u,
                                         phibal_enclosure *t, const float *x,
                                         phibal_reference_result z)
/*@ ghost (int64_t size) */ {
  //@ assert use_enclosure && use_place && open_place;
  int64_t n = shape.rows, d = shape.width, f = shape.hidden;
  phibal_reference_matrix right = {x, d, 1};
  //@ assert inside: strides_inside(f, 1, n, f, size);
  return ffn_chain_product(f, n, d, u, 1, f, right, false, t, z) /*@ ghost (size) */;
}

/* x' = a' W_gate + b' W_up, W_gate' = a'^T x, W_up' = b'^T x. */
/*@ requires shape_counted(shape) && plain_ready(x, shape.rows, shape.width) &&
      plain_ready(w_gate, shape.hidden, shape.width) &&
      plain_ready(w_up, shape.hidden, shape.width);
    requires ffn_scratch_there(s, all, place(shape.rows, shape.hidden));
    requires result_there(g.x, place(shape.rows, shape.width)) &&
      result_there(g.w_gate, place(shape.hidden, shape.width)) &&
      result_there(g.w_up, place(shape.hidden, shape.width)) &&
      weight_gradients_apart(g, shape.rows, shape.width, shape.hidden) &&
      gradients_placed(all, FFN_TEMPORARIES + FFN_VECTORS * place(shape.rows, shape.hidden), g,
                       shape.rows, shape.width, shape.hidden);
    terminates \true;
    exits \false;
    assigns s.t[0 .. 2], g.x.value[0 .. place(shape.rows, shape.width) - 1],
            g.x.condition[0 .. place(shape.rows, shape.width) - 1],
            g.w_gate.value[0 .. place(shape.hidden, shape.width) - 1],
            g.w_gate.condition[0 .. place(shape.hidden, shape.width) - 1],
            g.w_up.value[0 .. place(shape.hidden, shape.width) - 1],
            g.w_up.condition[0 .. place(shape.hidden, shape.width) - 1];
    ensures outputs: vector_output(s.t, 3) && result_there(g.x, place(shape.rows, shape.width)) &&
      result_there(g.w_gate, place(shape.hidden, shape.width)) &&
      result_there(g.w_up, place(shape.hidden, shape.width));
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && vector_apart(r, s.t, 3) &&
      result_apart(r, g.x, place(shape.rows, shape.width)) &&
      result_apart(r, g.w_gate, place(shape.hidden, shape.width)) &&
      result_apart(r, g.w_up, place(shape.hidden, shape.width)) ==> same{Pre, Here}(r);
    ensures status: \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures value: \result == PHIBAL_OK ==> \forall sequence p, q;
      members{Pre}(s.a.value, place(shape.rows, shape.hidden), p) &&
      members{Pre}(s.b.value, place(shape.rows, shape.hidden), q) ==>
        chain_gradients_held(g, shape.rows, shape.width, shape.hidden, x, w_gate, w_up, p, q); */
static phibal_status ffn_backward_products(ffn_shape shape, ffn_scratch s, const float *x,
                                           const float *w_gate, const float *w_up,
                                           phibal_reference_ffn_gradients g)
/*@ ghost (phibal_enclosure *all) */ {
  //@ assert use_enclosure && open_place;
  //@ ghost int64_t size = shape.rows * shape.hidden;
  //@ assert size: size == place(shape.rows, shape.hidden);
  TRY(ffn_backward_input(shape, s, w_gate, w_up, g.x) /*@ ghost (all) */);
  /*@ assert kept: vector_same{Pre, Here}(s.a.value, size) &&
        vector_same{Pre, Here}(s.a.condition, size) &&
        vector_same{Pre, Here}(s.b.value, size) && vector_same{Pre, Here}(s.b.condition, size); */
  TRY(ffn_backward_weight(shape, s.a, s.t, x, g.w_gate) /*@ ghost (size) */);
  /*@ assert still: vector_same{Pre, Here}(s.b.value, size) &&
        vector_same{Pre, Here}(s.b.condition, size); */
  return ffn_backward_weight(shape, s.b, s.t, x, g.w_up) /*@ ghost (size) */;
}

/* h', a' and b' of a group. */
/*@ requires shape_counted(shape) && OPERATION_PRECISION <= precision <= MPFR_PREC_MAX;
    requires plain_ready(y_gradient, shape.rows, shape.width) &&
      plain_ready(w_down, shape.width, shape.hidden) &&
      floats_there(a, place(shape.rows, shape.hidden)) &&
      floats_there(b, place(shape.rows, shape.hidden));
    requires ffn_scratch_there(s, all, place(shape.rows, shape.hidden)) &&
      work_there(work, all, place(shape.rows, shape.hidden));
    terminates \true;
    exits \false;
    assigns *work, all[0 .. FFN_TEMPORARIES + FFN_VECTORS * place(shape.rows, shape.hidden) - 1];
    ensures work: work_ready(work);
    ensures kind: work->activation == \old(work->activation);
    ensures outputs: vector_output(all,
      FFN_TEMPORARIES + FFN_VECTORS * place(shape.rows, shape.hidden));
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && \separated(r, work) &&
      vector_apart(r, all, FFN_TEMPORARIES + FFN_VECTORS * place(shape.rows, shape.hidden)) ==>
        same{Pre, Here}(r);
    ensures hidden: \result == PHIBAL_OK ==>
      hidden_gradients_held(s, place(shape.rows, shape.hidden), shape, y_gradient, w_down);
    ensures gates: \result == PHIBAL_OK ==>
      gate_inputs_held(s.a.value, place(shape.rows, shape.hidden), \old(work->activation),
                       y_gradient, w_down, a, b, shape.width, shape.hidden);
    ensures ups: \result == PHIBAL_OK ==>
      up_inputs_held(s.b.value, place(shape.rows, shape.hidden), \old(work->activation),
                     y_gradient, w_down, a, shape.width, shape.hidden); */
static phibal_status ffn_backward_hidden(ffn_shape shape, activation_work *work, ffn_scratch s,
                                         const float *w_down, const float *a, const float *b,
                                         const float *y_gradient, mpfr_prec_t precision)
/*@ ghost (phibal_enclosure *all) */ {
  //@ assert use_enclosure && use_place && open_place;
  int64_t d = shape.width, f = shape.hidden, n = shape.rows * f;
  //@ assert size: n == place(shape.rows, f) && 0 <= n;
  phibal_reference_matrix left = {y_gradient, d, 1}, down = {w_down, f, 1};
  TRY(phibal_reference_product(shape.rows, d, f, &left, &down, precision, s.back.value,
                               s.back.condition));
  //@ assert outputs: vector_output(all, FFN_TEMPORARIES + FFN_VECTORS * n);
  //@ assert work: work_ready(work) && work->activation == \at(work->activation, Pre);
  //@ assert held: hidden_gradients_held(s, n, shape, y_gradient, w_down);
  return ffn_gates_backward(n, work, s, a, b) /*@ ghost (all) */;
}

/*@ requires plain_there(a, shape.rows, shape.hidden) && plain_there(b, shape.rows, shape.hidden) &&
      plain_there(h, shape.rows, shape.hidden) &&
      plain_there(y_gradient, shape.rows, shape.width);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == PHIBAL_OK ==> gradients != \null &&
      (0 < shape.rows && 0 < shape.hidden ==> a != \null && b != \null && h != \null) &&
      (0 < shape.rows && 0 < shape.width ==> y_gradient != \null);
    ensures \result == PHIBAL_OK ==> plain_finite(a, shape.rows, shape.hidden) &&
      plain_finite(b, shape.rows, shape.hidden) && plain_finite(h, shape.rows, shape.hidden) &&
      plain_finite(y_gradient, shape.rows, shape.width); */
static phibal_status ffn_backward_check(const char *name, ffn_shape shape, const float *a,
                                        const float *b, const float *h, const float *y_gradient,
                                        const phibal_reference_ffn_gradients *gradients) {
  int64_t n = shape.rows, d = shape.width, f = shape.hidden;
  if (!gradients) return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null gradients", name);
  TRY(reference_matrix_check(name, "a", n, f, &(phibal_reference_matrix){a, f, 1}));
  TRY(reference_matrix_check(name, "b", n, f, &(phibal_reference_matrix){b, f, 1}));
  TRY(reference_matrix_check(name, "h", n, f, &(phibal_reference_matrix){h, f, 1}));
  return reference_matrix_check(name, "y_gradient", n, d,
                                &(phibal_reference_matrix){y_gradient, d, 1});
}

/*@ requires shape_counted(shape) && OPERATION_PRECISION <= precision <= MPFR_PREC_MAX &&
      place(shape.width, shape.hidden) <= ROUTING_MAX_SLOTS;
    requires plain_ready(x, shape.rows, shape.width) &&
      plain_ready(w_gate, shape.hidden, shape.width) &&
      plain_ready(w_up, shape.hidden, shape.width) &&
      plain_ready(w_down, shape.width, shape.hidden);
    requires floats_there(a, place(shape.rows, shape.hidden)) &&
      floats_there(b, place(shape.rows, shape.hidden)) &&
      plain_ready(h, shape.rows, shape.hidden) &&
      plain_ready(y_gradient, shape.rows, shape.width);
    requires ffn_scratch_there(s, all, place(shape.rows, shape.hidden)) &&
      work_there(work, all, place(shape.rows, shape.hidden));
    requires result_there(g.x, place(shape.rows, shape.width)) &&
      result_there(g.w_gate, place(shape.hidden, shape.width)) &&
      result_there(g.w_up, place(shape.hidden, shape.width)) &&
      result_there(g.w_down, place(shape.width, shape.hidden)) &&
      weight_gradients_apart(g, shape.rows, shape.width, shape.hidden) &&
      gradients_placed(all, FFN_TEMPORARIES + FFN_VECTORS * place(shape.rows, shape.hidden), g,
                       shape.rows, shape.width, shape.hidden) &&
      gradients_apart_work(g, shape.rows, shape.width, shape.hidden, work);
    terminates \true;
    exits \false;
    assigns *work, all[0 .. FFN_TEMPORARIES + FFN_VECTORS * place(shape.rows, shape.hidden) - 1],
            g.x.value[0 .. place(shape.rows, shape.width) - 1],
            g.x.condition[0 .. place(shape.rows, shape.width) - 1],
            g.w_gate.value[0 .. place(shape.hidden, shape.width) - 1],
            g.w_gate.condition[0 .. place(shape.hidden, shape.width) - 1],
            g.w_up.value[0 .. place(shape.hidden, shape.width) - 1],
            g.w_up.condition[0 .. place(shape.hidden, shape.width) - 1],
            g.w_down.value[0 .. place(shape.width, shape.hidden) - 1],
            g.w_down.condition[0 .. place(shape.width, shape.hidden) - 1];
    ensures work: work_ready(work);
    ensures outputs: vector_output(all,
      FFN_TEMPORARIES + FFN_VECTORS * place(shape.rows, shape.hidden));
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && \separated(r, work) &&
      vector_apart(r, all, FFN_TEMPORARIES + FFN_VECTORS * place(shape.rows, shape.hidden)) &&
      products_apart(r, g, shape.rows, shape.width, shape.hidden) ==> same{Pre, Here}(r);
    ensures hidden: \result == PHIBAL_OK ==>
      hidden_gradients_held(s, place(shape.rows, shape.hidden), shape, y_gradient, w_down);
    ensures gates: \result == PHIBAL_OK ==>
      gate_inputs_held(s.a.value, place(shape.rows, shape.hidden), \old(work->activation),
                       y_gradient, w_down, a, b, shape.width, shape.hidden);
    ensures ups: \result == PHIBAL_OK ==>
      up_inputs_held(s.b.value, place(shape.rows, shape.hidden), \old(work->activation),
                     y_gradient, w_down, a, shape.width, shape.hidden);
    ensures products: \result == PHIBAL_OK ==> \forall sequence p, q;
      gate_gradients_are(p, place(shape.rows, shape.hidden), \old(work->activation), y_gradient,
                         w_down, a, b, shape.width, shape.hidden) &&
      up_gradients_are(q, place(shape.rows, shape.hidden), \old(work->activation), y_gradient,
                       w_down, a, shape.width, shape.hidden) ==>
        chain_gradients_held(g, shape.rows, shape.width, shape.hidden, x, w_gate, w_up, p, q);
    ensures downs: \result == PHIBAL_OK ==>
      down_gradients_held(g.w_down, shape.rows, shape.width, shape.hidden, h, y_gradient); */
static phibal_status ffn_backward_group(ffn_shape shape, activation_work *work, ffn_scratch s,
                                        const float *x, const float *w_gate, const float *w_up,
                                        const float *w_down, const float *a, const float *b,
                                        const float *h, const float *y_gradient,
                                        mpfr_prec_t precision, phibal_reference_ffn_gradients g)
/*@ ghost (phibal_enclosure *all) */ {
  //@ assert use_enclosure;
  int64_t n = shape.rows, d = shape.width, f = shape.hidden;
  phibal_status status =
      ffn_backward_hidden(shape, work, s, w_down, a, b, y_gradient, precision) /*@ ghost (all) */;
  if (status != PHIBAL_OK) return status;
  /*@ assert members: \forall sequence p, q;
        gate_gradients_are(p, place(n, f), work->activation, y_gradient, w_down, a, b, d, f) &&
        up_gradients_are(q, place(n, f), work->activation, y_gradient, w_down, a, d, f) ==>
          members(s.a.value, place(n, f), p) && members(s.b.value, place(n, f), q); */
  status = ffn_backward_products(shape, s, x, w_gate, w_up, g) /*@ ghost (all) */;
  if (status != PHIBAL_OK || !g.w_down.value) return status;
  phibal_reference_matrix transposed = {y_gradient, 1, d}, right = {h, f, 1};
  return phibal_reference_product(d, n, f, &transposed, &right, precision, g.w_down.value,
                                  g.w_down.condition);
}

phibal_status phibal_reference_ffn_backward(const phibal_ffn *ffn, int64_t rows, const float *x,
                                            const float *w_gate, const float *w_up,
                                            const float *w_down, const float *a, const float *b,
                                            const float *h, const float *y_gradient,
                                            mpfr_prec_t precision,
                                            const phibal_reference_ffn_gradients *gradients) {
  const char *name = "phibal_reference_ffn_backward";
  //@ assert use_enclosure && use_place && open_place;
  TRY(ffn_check(name, ffn, rows, x, w_gate, w_up, w_down, precision));
  ffn_shape shape = {rows, ffn->width, ffn->hidden};
  TRY(ffn_backward_check(name, shape, a, b, h, y_gradient, gradients));
  /*@ ghost expert_plain(a, rows, shape.hidden);
            expert_plain(b, rows, shape.hidden); */
  const phibal_reference_ffn_gradients g = *gradients;
  size_t n = (size_t)(rows * shape.hidden), all = FFN_TEMPORARIES + FFN_VECTORS * n;
  //@ assert size: n == place(rows, shape.hidden);
  activation_work work;
  TRY(activation_work_init(name, &work, ffn->activation, precision));
  phibal_enclosure *scratch = NULL;
  phibal_status status = operation_scratch(name, all, precision, &scratch);
  if (status == PHIBAL_OK) {
    ffn_scratch s = ffn_scratch_cut(scratch, n);
    status = ffn_backward_group(shape, &work, s, x, w_gate, w_up, w_down, a, b, h, y_gradient,
                                precision, g) /*@ ghost (scratch) */;
    if (status == PHIBAL_OK) ffn_results_copy((int64_t)n, s.back, g.h, s.a, g.a, s.b, g.b);
    operation_scratch_clear(scratch, all);
  }
  activation_work_clear(&work);
  return status;
}
