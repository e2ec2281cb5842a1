/* Experts that compute nothing (E10): one token's output and gradients. */
#include "expert.h"
#include "slots.h"
#include <phibal/reference_zero_experts.h>

/* v[0] = the sum of the gates of experts from `first` on, v[1] that of their absolute values; v[2]
   is a temporary. */
/*@ requires 0 <= active && \valid_read(experts + (0 .. active - 1)) &&
      \valid_read(gates + (0 .. active - 1));
    requires identities_finite(experts, gates, first, active) && vector_output(v, 3);
    terminates \true;
    exits \false;
    assigns v[0 .. 2];
    ensures outputs: vector_output(v, 3);
    ensures frame: only_vector_written{Pre, Here}(v, 3);
    ensures value: \result == PHIBAL_OK ==>
      in(v, identity_gates(experts, gates, first, active));
    ensures magnitude: \result == PHIBAL_OK ==>
      in(v + 1, identity_magnitude(experts, gates, first, active)); */
static phibal_status sum_both(int32_t active, int32_t first, const int32_t *experts,
                              const float *gates, phibal_enclosure *v) {
  //@ assert use_enclosure;
  //@ assert first: output(v + 0);
  //@ assert second: output(v + 1);
  //@ assert third: output(v + 2);
  /*@ assert apart: \forall phibal_enclosure *r; vector_apart(r, v, 3) ==>
        \separated(r, v + 0) && \separated(r, v + 1) && \separated(r, v + 2); */
  const reference_slots s = {active, experts, first, INT32_MAX};
  TRY(reference_slots_sum(s, gates, NULL, false, v + 2, v));
  return reference_slots_sum(s, gates, NULL, true, v + 2, v + 1);
}

/* out = of + c v, or |of| + c |v|; t is a temporary. */
/*@ requires 0 <= width && floats_there(v, width) && floats_there(of, width);
    requires input(c) && output(t) && vector_output(out, width);
    requires \separated(t, c) && vector_apart(t, out, width) && vector_apart(c, out, width);
    terminates \true;
    exits \false;
    assigns *t, out[0 .. width - 1];
    ensures outputs: enclosure(t) && vector_output(out, width);
    ensures frame: only_with_vector_written{Pre, Here}(t, out, width);
    ensures value: \result == PHIBAL_OK && !magnitudes ==>
      \forall real a; in{Pre}(c, a) ==> axpy_held(out, width, of, a, v);
    ensures magnitude: \result == PHIBAL_OK && magnitudes ==>
      \forall real a; in{Pre}(c, a) ==> axpy_magnitudes_held(out, width, of, a, v); */
static phibal_status axpy_vector(int64_t width, const float *of, const phibal_enclosure *c,
                                 const float *v, bool magnitudes, phibal_enclosure *t,
                                 phibal_enclosure *out) {
  //@ assert use_enclosure && use_floating;
  /*@ loop invariant index: 0 <= j <= width;
      loop invariant outputs: enclosure(t) && vector_output(out, width);
      loop invariant frame: only_with_vector_written{Pre, Here}(t, out, width);
      loop invariant value: !magnitudes ==>
        \forall real a; in{Pre}(c, a) ==> axpy_held(out, j, of, a, v);
      loop invariant magnitude: magnitudes ==>
        \forall real a; in{Pre}(c, a) ==> axpy_magnitudes_held(out, j, of, a, v);
      loop assigns j, *t, out[0 .. width - 1];
      loop variant width - j; */
  for (int64_t j = 0; j < width; j++) {
    //@ assert factor: same{Pre, Here}(c) && input(c);
    if (magnitudes)
      operation_set_magnitude(t, v[j]);
    else
      operation_set_float(t, v[j]);
    TRY(phibal_enclosure_mul(&out[j], c, t));
    /*@ assert product: \forall real a; in{Pre}(c, a) ==>
          in(out + j, a * (magnitudes ? \abs((real)v[j]) : (real)v[j])); */
    if (magnitudes)
      operation_set_magnitude(t, of[j]);
    else
      operation_set_float(t, of[j]);
    TRY(phibal_enclosure_add(&out[j], &out[j], t));
    /*@ assert last: !magnitudes ==> \forall real a; in{Pre}(c, a) ==>
          in(out + j, axpy(of, a, v, j)); */
    /*@ assert last_magnitude: magnitudes ==> \forall real a; in{Pre}(c, a) ==>
          in(out + j, axpy_magnitude(of, a, v, j)); */
    /*@ assert before: \forall integer i; 0 <= i < width && i != j ==>
          same{LoopCurrent, Here}(out + i); */
    /*@ assert kept: !magnitudes ==> \forall real a; in{Pre}(c, a) ==>
          axpy_held(out, j, of, a, v); */
    /*@ assert kept_magnitudes: magnitudes ==> \forall real a; in{Pre}(c, a) ==>
          axpy_magnitudes_held(out, j, of, a, v); */
  }
  return PHIBAL_OK;
}

/* out = of + w[0] v, condition = |of| + w[1] |v|; w[2] is a temporary. */
/*@ requires 0 <= width && floats_there(v, width) && floats_there(of, width);
    requires vector_output(w, 3) && vector_output(out, width) && vector_output(condition, width);
    requires vectors_apart(w, 3, out, width) && vectors_apart(w, 3, condition, width) &&
      vectors_apart(out, width, condition, width);
    terminates \true;
    exits \false;
    assigns w[2], out[0 .. width - 1], condition[0 .. width - 1];
    ensures outputs: enclosure(w + 2) && vector_output(out, width) &&
      vector_output(condition, width);
    ensures frame: only_with_vectors_written{Pre, Here}(w + 2, out, width, condition, width);
    ensures value: \result == PHIBAL_OK ==>
      \forall real a; in{Pre}(w, a) ==> axpy_held(out, width, of, a, v);
    ensures magnitude: \result == PHIBAL_OK ==>
      \forall real a; in{Pre}(w + 1, a) ==>
        axpy_magnitudes_held(condition, width, of, a, v); */
static phibal_status axpy_pair(int64_t width, const float *of, const float *v, phibal_enclosure *w,
                               phibal_enclosure *out, phibal_enclosure *condition) {
  //@ assert use_enclosure;
  //@ assert first: output(w + 0);
  //@ assert second: output(w + 1);
  //@ assert third: output(w + 2);
  /*@ assert apart: \forall integer j; 0 <= j < width ==> \separated(condition + j, w + 1) &&
        \separated(condition + j, w + 2) && vector_apart(condition + j, out, width); */
  TRY(axpy_vector(width, of, w, v, false, w + 2, out));
  //@ ghost moved:;
  //@ assert kept: same{Pre, Here}(w + 1) && vector_same{Pre, Here}(condition, width);
  phibal_status status = axpy_vector(width, of, w + 1, v, true, w + 2, condition);
  //@ assert out_kept: vector_same{moved, Here}(out, width);
  return status;
}

/* The four vectors of results, by the sums w. */
/*@ requires 0 <= width && floats_there(x, width) && floats_there(y, width) &&
      floats_there(y_gradient, width) && floats_there(x_gradient, width);
    requires vector_output(w, 3);
    requires zero_vectors_there(y_out, y_condition, x_out, x_condition, width);
    requires zero_vectors_apart(y_out, y_condition, x_out, x_condition, width) &&
      zero_elsewhere(w, 3, y_out, y_condition, x_out, x_condition, width);
    terminates \true;
    exits \false;
    assigns w[2], y_out[0 .. width - 1], y_condition[0 .. width - 1], x_out[0 .. width - 1],
            x_condition[0 .. width - 1];
    ensures scratch: enclosure(w + 2);
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && \separated(r, w + 2) &&
      vector_apart(r, y_out, width) && vector_apart(r, y_condition, width) &&
      vector_apart(r, x_out, width) && vector_apart(r, x_condition, width) ==> same{Pre, Here}(r);
    ensures to_y: vector_output(y_out, width) && vector_output(y_condition, width);
    ensures to_x: vector_output(x_out, width) && vector_output(x_condition, width);
    ensures y: \result == PHIBAL_OK ==>
      \forall real a; in{Pre}(w, a) ==> axpy_held(y_out, width, y, a, x);
    ensures y_conditions: \result == PHIBAL_OK ==>
      \forall real a; in{Pre}(w + 1, a) ==> axpy_magnitudes_held(y_condition, width, y, a, x);
    ensures x_gradients: \result == PHIBAL_OK ==>
      \forall real a; in{Pre}(w, a) ==> axpy_held(x_out, width, x_gradient, a, y_gradient);
    ensures x_conditions: \result == PHIBAL_OK ==> \forall real a; in{Pre}(w + 1, a) ==>
      axpy_magnitudes_held(x_condition, width, x_gradient, a, y_gradient); */
static phibal_status axpy_pairs(int64_t width, const float *x, const float *y,
                                const float *y_gradient, const float *x_gradient,
                                phibal_enclosure *w, phibal_enclosure *y_out,
                                phibal_enclosure *y_condition, phibal_enclosure *x_out,
                                phibal_enclosure *x_condition) {
  //@ assert use_enclosure;
  //@ assert first: output(w + 0);
  //@ assert second: output(w + 1);
  //@ assert third: output(w + 2);
  /*@ assert x_out_apart: \forall integer j; 0 <= j < width ==> \separated(x_out + j, w + 2) &&
        vector_apart(x_out + j, y_out, width) && vector_apart(x_out + j, y_condition, width); */
  /*@ assert x_condition_apart: \forall integer j; 0 <= j < width ==>
        \separated(x_condition + j, w + 2) && vector_apart(x_condition + j, y_out, width) &&
        vector_apart(x_condition + j, y_condition, width); */
  /*@ assert y_out_apart: \forall integer j; 0 <= j < width ==> \separated(y_out + j, w + 2) &&
        vector_apart(y_out + j, x_out, width) && vector_apart(y_out + j, x_condition, width); */
  /*@ assert y_condition_apart: \forall integer j; 0 <= j < width ==>
        \separated(y_condition + j, w + 2) && vector_apart(y_condition + j, x_out, width) &&
        vector_apart(y_condition + j, x_condition, width); */
  /*@ assert sums_apart: vector_apart(w + 0, y_out, width) &&
        vector_apart(w + 0, y_condition, width) && vector_apart(w + 1, y_out, width) &&
        vector_apart(w + 1, y_condition, width); */
  phibal_status status = axpy_pair(width, y, x, w, y_out, y_condition);
  //@ ghost moved:;
  //@ assert x_out_moved: vector_same{Pre, moved}(x_out, width) && vector_output(x_out, width);
  /*@ assert x_condition_moved: vector_same{Pre, moved}(x_condition, width) &&
        vector_output(x_condition, width); */
  //@ assert sums_moved: same{Pre, moved}(w + 0) && same{Pre, moved}(w + 1);
  if (status) return status;
  status = axpy_pair(width, x_gradient, y_gradient, w, x_out, x_condition);
  //@ assert y_out_kept: vector_same{moved, Here}(y_out, width) && vector_output(y_out, width);
  /*@ assert y_condition_kept: vector_same{moved, Here}(y_condition, width) &&
        vector_output(y_condition, width); */
  return status;
}

/* Everything, by the gates of the first `slots` slots and `numbers` products; w [3] is scratch. */
/*@ requires 0 <= slots && \valid_read(experts + (0 .. slots - 1)) &&
      \valid_read(gates + (0 .. slots - 1)) && identities_finite(experts, gates, first, slots);
    requires 0 <= numbers && 0 <= width && floats_there(x, width) && floats_there(y, width) &&
      floats_there(y_gradient, width) && floats_there(x_gradient, width);
    requires strided(x, numbers, 1) && strided(y_gradient, numbers, 1);
    requires vector_output(w, 3) && zero_results_there(y_out, y_condition, x_out, x_condition, gate,
                                                       gate_condition, width);
    requires zero_elsewhere(w, 3, y_out, y_condition, x_out, x_condition, width) &&
      vector_apart(gate, w, 3) && vector_apart(gate_condition, w, 3);
    requires zero_results_apart(y_out, y_condition, x_out, x_condition, gate, gate_condition,
                                width);
    terminates \true;
    exits \false;
    assigns w[0 .. 2], y_out[0 .. width - 1], y_condition[0 .. width - 1], x_out[0 .. width - 1],
            x_condition[0 .. width - 1], *gate, *gate_condition;
    ensures scratch: vector_output(w, 3);
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && vector_apart(r, w, 3) &&
      vector_apart(r, y_out, width) && vector_apart(r, y_condition, width) &&
      vector_apart(r, x_out, width) && vector_apart(r, x_condition, width) &&
      \separated(r, gate) && \separated(r, gate_condition) ==> same{Pre, Here}(r);
    ensures to_y: vector_output(y_out, width) && vector_output(y_condition, width);
    ensures to_x: vector_output(x_out, width) && vector_output(x_condition, width);
    ensures to_gate: output(gate) && output(gate_condition);
    ensures y: \result == PHIBAL_OK ==>
      axpy_held(y_out, width, y, identity_gates(experts, gates, first, slots), x);
    ensures y_conditions: \result == PHIBAL_OK ==> axpy_magnitudes_held(y_condition, width, y,
      identity_magnitude(experts, gates, first, slots), x);
    ensures x_gradients: \result == PHIBAL_OK ==> axpy_held(x_out, width, x_gradient,
      identity_gates(experts, gates, first, slots), y_gradient);
    ensures x_conditions: \result == PHIBAL_OK ==> axpy_magnitudes_held(x_condition, width,
      x_gradient, identity_magnitude(experts, gates, first, slots), y_gradient);
    ensures gate: \result == PHIBAL_OK ==>
      in(gate, strided_dot(x, 1, y_gradient, 1, numbers));
    ensures gate_conditions: \result == PHIBAL_OK ==>
      in(gate_condition, strided_magnitude(x, 1, y_gradient, 1, numbers)); */
static phibal_status zero_token(int32_t slots, int32_t first, int64_t width, int64_t numbers,
                                const int32_t *experts, const float *gates, const float *x,
                                const float *y, const float *y_gradient, const float *x_gradient,
                                phibal_enclosure *w, phibal_enclosure *y_out,
                                phibal_enclosure *y_condition, phibal_enclosure *x_out,
                                phibal_enclosure *x_condition, phibal_enclosure *gate,
                                phibal_enclosure *gate_condition) {
  //@ assert use_enclosure;
  //@ assert first: output(w + 0);
  //@ assert second: output(w + 1);
  //@ assert third: output(w + 2);
  //@ assert y_out_scratch: \forall integer j; 0 <= j < width ==> vector_apart(y_out + j, w, 3);
  /*@ assert y_out_gate: \forall integer j; 0 <= j < width ==>
        \separated(y_out + j, gate) && \separated(y_out + j, gate_condition); */
  /*@ assert y_condition_scratch: \forall integer j; 0 <= j < width ==>
        vector_apart(y_condition + j, w, 3); */
  /*@ assert y_condition_gate: \forall integer j; 0 <= j < width ==>
        \separated(y_condition + j, gate) && \separated(y_condition + j, gate_condition); */
  //@ assert x_out_scratch: \forall integer j; 0 <= j < width ==> vector_apart(x_out + j, w, 3);
  /*@ assert x_out_gate: \forall integer j; 0 <= j < width ==>
        \separated(x_out + j, gate) && \separated(x_out + j, gate_condition); */
  /*@ assert x_condition_scratch: \forall integer j; 0 <= j < width ==>
        vector_apart(x_condition + j, w, 3); */
  /*@ assert x_condition_gate: \forall integer j; 0 <= j < width ==>
        \separated(x_condition + j, gate) && \separated(x_condition + j, gate_condition); */
  /*@ assert gate_apart: vector_apart(gate, y_out, width) && vector_apart(gate, y_condition, width)
     && vector_apart(gate, x_out, width) && vector_apart(gate, x_condition, width) &&
        \separated(gate, w + 2); */
  /*@ assert gate_condition_apart: vector_apart(gate_condition, y_out, width) &&
     vector_apart(gate_condition, y_condition, width) && vector_apart(gate_condition, x_out, width)
     && vector_apart(gate_condition, x_condition, width) && \separated(gate_condition, w + 2); */
  phibal_status status = sum_both(slots, first, experts, gates, w);
  //@ ghost summed:;
  //@ assert y_out_summed: vector_same{Pre, summed}(y_out, width) && vector_output(y_out, width);
  /*@ assert y_condition_summed: vector_same{Pre, summed}(y_condition, width) &&
        vector_output(y_condition, width); */
  //@ assert x_out_summed: vector_same{Pre, summed}(x_out, width) && vector_output(x_out, width);
  /*@ assert x_condition_summed: vector_same{Pre, summed}(x_condition, width) &&
        vector_output(x_condition, width); */
  //@ assert gate_summed: same{Pre, summed}(gate) && output(gate);
  //@ assert gate_condition_summed: same{Pre, summed}(gate_condition) && output(gate_condition);
  if (status) return status;
  status =
      axpy_pairs(width, x, y, y_gradient, x_gradient, w, y_out, y_condition, x_out, x_condition);
  //@ ghost moved:;
  //@ assert gate_moved: same{summed, moved}(gate) && output(gate);
  //@ assert gate_condition_moved: same{summed, moved}(gate_condition) && output(gate_condition);
  //@ assert sums_moved: same{summed, moved}(w + 0) && same{summed, moved}(w + 1);
  //@ assert scratch_moved: vector_output(w, 3);
  if (status) return status;
  status = reference_dot_compute(numbers, x, 1, y_gradient, 1, w + 2, gate, gate_condition);
  //@ assert y_out_kept: vector_same{moved, Here}(y_out, width) && vector_output(y_out, width);
  /*@ assert y_condition_kept: vector_same{moved, Here}(y_condition, width) &&
        vector_output(y_condition, width); */
  //@ assert x_out_kept: vector_same{moved, Here}(x_out, width) && vector_output(x_out, width);
  /*@ assert x_condition_kept: vector_same{moved, Here}(x_condition, width) &&
        vector_output(x_condition, width); */
  //@ assert sums_kept: same{moved, Here}(w + 0) && same{moved, Here}(w + 1);
  return status;
}

/* There is all that a token takes, and it is finite. */
/*@ requires experts == \null || \valid_read(experts + (0 .. active - 1));
    requires gates == \null || \valid_read(gates + (0 .. active - 1));
    requires x == \null || \valid_read(x + (0 .. width - 1));
    requires y == \null || \valid_read(y + (0 .. width - 1));
    requires y_gradient == \null || \valid_read(y_gradient + (0 .. width - 1));
    requires x_gradient == \null || \valid_read(x_gradient + (0 .. width - 1));
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == PHIBAL_OK ==> 1 <= active && 1 <= width && experts != \null &&
      gates != \null && x != \null && y != \null && y_gradient != \null && x_gradient != \null;
    ensures gates: \result == PHIBAL_OK ==> identities_finite(experts, gates, first, active);
    ensures x: \result == PHIBAL_OK ==> floats_there(x, width);
    ensures y: \result == PHIBAL_OK ==> floats_there(y, width);
    ensures y_gradient: \result == PHIBAL_OK ==> floats_there(y_gradient, width);
    ensures x_gradient: \result == PHIBAL_OK ==> floats_there(x_gradient, width); */
static phibal_status check_token(const char *name, int32_t active, int32_t first, int64_t width,
                                 const int32_t *experts, const float *gates, const float *x,
                                 const float *y, const float *y_gradient, const float *x_gradient) {
  if (active < 1 || first < 0 || width < 1 || !experts || !gates || !x || !y || !y_gradient ||
      !x_gradient)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "%s: %d slots, %lld numbers, or a null argument", name, (int)active,
                             (long long)width);
  const reference_slots s = {active, experts, first, INT32_MAX};
  TRY(reference_slots_check(name, "a slot's gate", s, gates));
  TRY(operation_check_finite(name, "x", width, x));
  TRY(operation_check_finite(name, "y", width, y));
  TRY(operation_check_finite(name, "the gradient of y", width, y_gradient));
  return operation_check_finite(name, "the gradient of x", width, x_gradient);
}

/* There is a place for each result. */
/*@ terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == PHIBAL_OK ==> y_out != \null && y_condition != \null && x_out != \null &&
      x_condition != \null && gate != \null && gate_condition != \null; */
static phibal_status
check_results(const char *name, const phibal_enclosure *y_out, const phibal_enclosure *y_condition,
              const phibal_enclosure *x_out, const phibal_enclosure *x_condition,
              const phibal_enclosure *gate, const phibal_enclosure *gate_condition) {
  if (y_out && y_condition && x_out && x_condition && gate && gate_condition) return PHIBAL_OK;
  return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: a null result", name);
}

phibal_status phibal_reference_zero_experts(
    phibal_zero_output output, int32_t active, int32_t first_zero, int64_t width,
    const int32_t *experts, const float *gates, const float *x, const float *y,
    const float *y_gradient, const float *x_gradient, mpfr_prec_t precision,
    phibal_enclosure *y_out, phibal_enclosure *y_condition, phibal_enclosure *x_gradient_out,
    phibal_enclosure *x_gradient_condition, phibal_enclosure *gate_gradient,
    phibal_enclosure *gate_condition) {
  const char *name = "phibal_reference_zero_experts";
  //@ assert use_enclosure && use_place && open_place;
  if (output < PHIBAL_ZERO_NULL || output > PHIBAL_ZERO_IDENTITY)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: output %d", name, (int)output);
  TRY(operation_check_precision(name, precision));
  TRY(check_token(name, active, first_zero, width, experts, gates, x, y, y_gradient, x_gradient));
  TRY(check_results(name, y_out, y_condition, x_gradient_out, x_gradient_condition, gate_gradient,
                    gate_condition));
  /* Of null experts no slot is an identity, and no number of x goes into the gradient of a gate. */
  const bool identities = output == PHIBAL_ZERO_IDENTITY;
  const int32_t slots = identities ? active : 0;
  const int64_t numbers = identities ? width : 0;
  /*@ assert numbers: slots == identity_slots(output, active) &&
        numbers == identity_slots(output, width); */
  //@ assert strided: strided(x, numbers, 1) && strided(y_gradient, numbers, 1);
  phibal_enclosure *w; /* the sum of gates, that of their absolute values, a temporary */
  TRY(operation_scratch(name, 3, precision, &w));
  //@ assert given: vector_output(w, 3);
  //@ assert fresh: \forall phibal_enclosure *r; in_use{Pre}(r) ==> vector_apart(r, w, 3);
  //@ assert y_out_used: vector_in_use{Pre}(y_out, width);
  //@ assert y_condition_used: vector_in_use{Pre}(y_condition, width);
  //@ assert x_gradient_out_used: vector_in_use{Pre}(x_gradient_out, width);
  //@ assert x_gradient_condition_used: vector_in_use{Pre}(x_gradient_condition, width);
  //@ assert y_out_there: vector_output(y_out, width) && both_apart(w, 3, y_out, width);
  /*@ assert y_condition_there: vector_output(y_condition, width) && both_apart(w, 3, y_condition,
        width); */
  /*@ assert x_gradient_out_there: vector_output(x_gradient_out, width) && both_apart(w, 3,
        x_gradient_out, width); */
  /*@ assert x_gradient_condition_there: vector_output(x_gradient_condition, width) && both_apart(w,
        3, x_gradient_condition, width); */
  //@ assert gate_gradient_there: output(gate_gradient) && vector_apart(gate_gradient, w, 3);
  //@ assert gate_condition_there: output(gate_condition) && vector_apart(gate_condition, w, 3);
  phibal_status status = zero_token(slots, first_zero, width, numbers, experts, gates, x, y,
                                    y_gradient, x_gradient, w, y_out, y_condition, x_gradient_out,
                                    x_gradient_condition, gate_gradient, gate_condition);
  //@ ghost done:;
  operation_scratch_clear(w, 3);
  //@ assert y_out_kept: vector_same{done, Here}(y_out, width);
  //@ assert y_condition_kept: vector_same{done, Here}(y_condition, width);
  //@ assert x_gradient_out_kept: vector_same{done, Here}(x_gradient_out, width);
  //@ assert x_gradient_condition_kept: vector_same{done, Here}(x_gradient_condition, width);
  //@ assert gate_gradient_kept: same{done, Here}(gate_gradient);
  //@ assert gate_condition_kept: same{done, Here}(gate_condition);
  return status;
}
