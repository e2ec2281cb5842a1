/* The gates of the gated FFN's backward pass, (E3), with first-order conditions. */
#include "ffn_backward_gates.h"
#include <phibal/acsl/contracts/inside/ffn_backward_gates_static.h>

/* b' and its condition of one element from value = act(a), which becomes |act(a)|; back: h' and its
   condition. */
static phibal_status ffn_up_products(phibal_enclosure *value, const phibal_enclosure *back,
                                     const phibal_enclosure *back_condition,
                                     phibal_enclosure *b_gradient, phibal_enclosure *b_condition) {
  //@ assert use_enclosure && open_absolute;
  TRY(phibal_enclosure_mul(b_gradient, back, value));
  phibal_enclosure_abs(value, value);
  //@ assert size: \forall real v; in{Pre}(value, v) ==> in(value, absolute(v));
  return phibal_enclosure_mul(b_condition, back_condition, value);
}

/* a' and its condition of one element from slope = act'(a), size, that derivative's condition, and
   factor, a temporary; they are overwritten. */
static phibal_status
ffn_slope_products(phibal_enclosure *slope, phibal_enclosure *size, phibal_enclosure *factor,
                   float b, const phibal_enclosure *back, const phibal_enclosure *back_condition,
                   phibal_enclosure *a_gradient, phibal_enclosure *a_condition) {
  //@ assert use_enclosure && open_absolute;
  operation_set_float(factor, b);
  TRY(phibal_enclosure_mul(slope, slope, factor));
  //@ assert slope: \forall real v; in{Pre}(slope, v) ==> in(slope, v * (real)b);
  TRY(phibal_enclosure_mul(a_gradient, back, slope));
  phibal_enclosure_abs(factor, factor);
  //@ assert factors: output(slope) && output(size) && output(factor);
  //@ assert magnitude: in(factor, absolute((real)b));
  TRY(phibal_enclosure_mul(size, size, factor));
  //@ assert size: \forall real v; in{Pre}(size, v) ==> in(size, v * absolute((real)b));
  return phibal_enclosure_mul(a_condition, back_condition, size);
}

/* a' = h' b act'(a), b' = h' act(a) of one element; back: h' and its condition. */
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
  /*@ assert factors: in(t + 0, activation_value(work->activation, (real)a)) &&
        in(t + 2, activation_condition(work->activation, (real)a)); */
  /*@ assert conditions: \forall real u; in{Pre}(back_condition, u) ==> in(back_condition, u); */
  //@ assert temporaries: output(t + 0) && output(t + 1) && output(t + 2) && output(t + 3);
  status = ffn_up_products(&t[0], back, back_condition, b_gradient, b_condition);
  //@ assert later: output(t + 0) && output(t + 1) && output(t + 2) && output(t + 3);
  if (status != PHIBAL_OK) return status;
  //@ assert still: same{Pre, Here}(back) && same{Pre, Here}(back_condition);
  /*@ assert up: \forall real u; in{Pre}(back_condition, u) ==>
        in(b_condition, u * absolute(activation_value(work->activation, (real)a))); */
  /*@ assert slope: in(t + 1, activation_derivative(work->activation, (real)a)) &&
        in(t + 2, activation_condition(work->activation, (real)a)); */
  //@ assert members: \forall real g; in{Pre}(back, g) ==> in(back, g);
  /*@ assert conditions_still: \forall real u; in{Pre}(back_condition, u) ==>
        in(back_condition, u); */
  status =
      ffn_slope_products(&t[1], &t[2], &t[3], b, back, back_condition, a_gradient, a_condition);
  //@ assert last: output(t + 0) && output(t + 1) && output(t + 2) && output(t + 3);
  //@ assert work: work_ready(work);
  return status;
}

phibal_status ffn_gates_backward(int64_t n, activation_work *work, ffn_scratch s, const float *a,
                                 const float *b)
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
      loop invariant gate_conditions:
        gate_conditions_given{Pre, Here}(s.back, s.a.condition, k, work->activation, a, b);
      loop invariant up_conditions:
        up_conditions_given{Pre, Here}(s.back, s.b.condition, k, work->activation, a);
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
    //@ assert back_condition_apart_gate: vector_apart(s.back.condition + k, s.a.value, n);
    /*@ assert back_condition_apart_gate_condition:
          vector_apart(s.back.condition + k, s.a.condition, n); */
    //@ assert back_condition_apart_up: vector_apart(s.back.condition + k, s.b.value, n);
    /*@ assert back_condition_apart_up_condition:
          vector_apart(s.back.condition + k, s.b.condition, n); */
    //@ assert back_condition_kept: same{Pre, Here}(s.back.condition + k);
    /*@ assert condition_members: \forall real u; in{Pre}(s.back.condition + k, u) ==>
          in(s.back.condition + k, u); */
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
    /*@ assert gate_condition_earlier_there: \forall integer i; 0 <= i < k ==>
          same{before, Here}(all + (FFN_TEMPORARIES + n + i)); */
    /*@ assert gate_condition_earlier_place: \forall integer i; 0 <= i < k ==>
          s.a.condition + i == all + (FFN_TEMPORARIES + n + i); */
    /*@ assert gate_condition_earlier: \forall integer i; 0 <= i < k ==>
          same{before, Here}(s.a.condition + i); */
    /*@ assert up_condition_earlier_there: \forall integer i; 0 <= i < k ==>
          same{before, Here}(all + (FFN_TEMPORARIES + 3 * n + i)); */
    /*@ assert up_condition_earlier_place: \forall integer i; 0 <= i < k ==>
          s.b.condition + i == all + (FFN_TEMPORARIES + 3 * n + i); */
    /*@ assert up_condition_earlier: \forall integer i; 0 <= i < k ==>
          same{before, Here}(s.b.condition + i); */
    /*@ assert gate_condition_last: \forall real u; in{Pre}(s.back.condition + k, u) ==>
          in(s.a.condition + k, u * (activation_condition(work->activation, (real)a[k]) *
                                     absolute((real)b[k]))); */
    /*@ assert up_condition_last: \forall real u; in{Pre}(s.back.condition + k, u) ==>
          in(s.b.condition + k,
             u * absolute(activation_value(work->activation, (real)a[k]))); */
  }
  return PHIBAL_OK;
}
