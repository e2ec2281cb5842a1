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
                                       phibal_reference_result back, phibal_reference_result to_a,
                                       phibal_reference_result to_b) {
  //@ assert use_enclosure;
  operation_set_float(&t[3], a);
  //@ assert work: work_ready(work);
  phibal_status status = activation_evaluate(work, &t[3], &t[0], &t[1], &t[2]);
  if (status != PHIBAL_OK) return status;
  //@ assert kept: same{Pre, Here}(back.value) && same{Pre, Here}(back.condition);
  /*@ assert factors: in(t + 0, activation_value(work->activation, (real)a)) &&
        in(t + 2, activation_condition(work->activation, (real)a)); */
  /*@ assert conditions: \forall real u; in{Pre}(back.condition, u) ==> in(back.condition, u); */
  //@ assert temporaries: output(t + 0) && output(t + 1) && output(t + 2) && output(t + 3);
  status = ffn_up_products(&t[0], back.value, back.condition, to_b.value, to_b.condition);
  //@ assert later: output(t + 0) && output(t + 1) && output(t + 2) && output(t + 3);
  if (status != PHIBAL_OK) return status;
  //@ assert still: same{Pre, Here}(back.value) && same{Pre, Here}(back.condition);
  /*@ assert up: \forall real u; in{Pre}(back.condition, u) ==>
        in(to_b.condition, u * absolute(activation_value(work->activation, (real)a))); */
  /*@ assert slope: in(t + 1, activation_derivative(work->activation, (real)a)) &&
        in(t + 2, activation_condition(work->activation, (real)a)); */
  //@ assert members: \forall real g; in{Pre}(back.value, g) ==> in(back.value, g);
  /*@ assert conditions_still: \forall real u; in{Pre}(back.condition, u) ==>
        in(back.condition, u); */
  status = ffn_slope_products(&t[1], &t[2], &t[3], b, back.value, back.condition, to_a.value,
                              to_a.condition);
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
    //@ ghost ffn_element(s, all, n, work, k);
    //@ assert kept: element_same{Pre, Here}(s.back, k);
    /*@ assert members: \forall real g; in{Pre}(s.back.value + k, g) ==> in(s.back.value + k, g); */
    /*@ assert condition_members: \forall real u; in{Pre}(s.back.condition + k, u) ==>
          in(s.back.condition + k, u); */
    //@ ghost before:;
    phibal_reference_result back = {s.back.value + k, s.back.condition + k};
    phibal_reference_result to_a = {s.a.value + k, s.a.condition + k};
    phibal_reference_result to_b = {s.b.value + k, s.b.condition + k};
    phibal_status status = ffn_gate_backward(work, s.t, a[k], b[k], back, to_a, to_b);
    /*@ assert written: enclosure(s.a.value + k) && enclosure(s.a.condition + k) &&
          enclosure(s.b.value + k) && enclosure(s.b.condition + k) && vector_output(all, 4); */
    /*@ assert others: \forall integer i;
          FFN_TEMPORARIES <= i < FFN_TEMPORARIES + FFN_VECTORS * n &&
          i != FFN_TEMPORARIES + k && i != FFN_TEMPORARIES + n + k &&
          i != FFN_TEMPORARIES + 2 * n + k && i != FFN_TEMPORARIES + 3 * n + k ==>
            same{before, Here}(all + i); */
    /*@ assert rest_there: \forall integer i;
          FFN_TEMPORARIES <= i < FFN_TEMPORARIES + FFN_VECTORS * n ==> output(all + i); */
    //@ assert outputs: vector_output(all, FFN_TEMPORARIES + FFN_VECTORS * n);
    if (status != PHIBAL_OK) return status;
    //@ assert earlier: pair_same{before, Here}(s.a, k) && pair_same{before, Here}(s.b, k);
    /*@ assert gate_last: \forall real g; in{Pre}(s.back.value + k, g) ==> in(s.a.value + k,
          g * (activation_derivative(work->activation, (real)a[k]) * (real)b[k])); */
    /*@ assert up_last: \forall real g; in{Pre}(s.back.value + k, g) ==>
          in(s.b.value + k, g * activation_value(work->activation, (real)a[k])); */
    /*@ assert gate_condition_last: \forall real u; in{Pre}(s.back.condition + k, u) ==>
          in(s.a.condition + k, u * (activation_condition(work->activation, (real)a[k]) *
                                     absolute((real)b[k]))); */
    /*@ assert up_condition_last: \forall real u; in{Pre}(s.back.condition + k, u) ==>
          in(s.b.condition + k,
             u * absolute(activation_value(work->activation, (real)a[k]))); */
  }
  return PHIBAL_OK;
}
