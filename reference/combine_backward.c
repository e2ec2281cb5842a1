/* The gradients of a combine: (E5). */
#include "combine.h"

#include <phibal/acsl/contracts/inside/combine_backward_static.h>

/* Row `row` of expert_gradient = gate y_gradient[0..width-1]: products are binary64 numbers. */
static void combine_backward_row(int64_t width, int64_t row, float gate, const float *y_gradient,
                                 phibal_enclosure *expert_gradient) {
  //@ assert use_enclosure && use_floating && open_place;
  //@ assert place: place(row, width) == row * width;
  const int64_t from = row * width;
  /*@ loop invariant index: 0 <= j <= width;
      loop invariant outputs: row_output(expert_gradient, row, width);
      loop invariant frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) &&
        row_apart(r, expert_gradient, row, width) ==> same{Pre, Here}(r);
      loop invariant values: \forall integer k; 0 <= k < j ==>
        in(expert_gradient + (place(row, width) + k), scaled((real)gate, y_gradient, k));
      loop assigns j, expert_gradient[place(row, width) .. place(row, width) + width - 1];
      loop variant width - j; */
  for (int64_t j = 0; j < width; j++) {
    //@ assert inside: place(row, width) <= from + j < place(row, width) + width;
    double product = operation_exact_product(gate, y_gradient[j]);
    //@ assert exactly: \is_finite(product) && (real)product == scaled((real)gate, y_gradient, j);
    phibal_enclosure_set_d(&expert_gradient[from + j], product);
    /*@ assert added: in(expert_gradient + (place(row, width) + j),
          scaled((real)gate, y_gradient, j)); */
  }
}

/* The gradient of one slot's gate, <y_gradient, the slot's row of expert_output>, 0 for padding
   (row < 0), and its condition. */
static phibal_status combine_backward_gate(int64_t width, int64_t row, const float *expert_output,
                                           const float *y_gradient, phibal_enclosure *t,
                                           phibal_enclosure *dot, phibal_enclosure *magnitude) {
  //@ assert use_enclosure && open_place && use_place;
  if (row < 0) {
    phibal_enclosure_set_si(dot, 0);
    phibal_enclosure_set_si(magnitude, 0);
    return PHIBAL_OK;
  }
  //@ assert place: 0 <= place(row, width) == row * width;
  //@ assert left: strided(y_gradient, width, 1);
  //@ ghost expert_row_strided(expert_output + row * width, expert_output, row, width);
  return reference_dot_compute(width, y_gradient, 1, expert_output + row * width, 1, t, dot,
                               magnitude);
}

/* The same where each is wanted: gradient and condition may be null. */
static phibal_status combine_backward_slot(int64_t width, int64_t row, const float *expert_output,
                                           const float *y_gradient, phibal_enclosure *t,
                                           phibal_enclosure *gradient,
                                           phibal_enclosure *condition) {
  //@ assert use_enclosure && open_place;
  phibal_enclosure *dot = gradient ? gradient : &t[1];
  phibal_enclosure *magnitude = condition ? condition : &t[2];
  //@ assert temporaries: output(t + 0) && output(t + 1) && output(t + 2);
  /*@ assert apart: \separated(t + 0, t + 1) && \separated(t + 0, t + 2) &&
        \separated(t + 1, t + 2); */
  //@ assert dot: output(dot) && \separated(t + 0, dot);
  //@ assert magnitude: output(magnitude) && \separated(t + 0, magnitude);
  //@ assert results: \separated(dot, magnitude);
  //@ assert second: dot == t + 1 || (\separated(dot, t + 1) && \separated(dot, t + 2));
  /*@ assert third: magnitude == t + 2 ||
        (\separated(magnitude, t + 1) && \separated(magnitude, t + 2)); */
  phibal_status status =
      combine_backward_gate(width, row, expert_output, y_gradient, &t[0], dot, magnitude);
  //@ assert after: output(t + 0) && output(t + 1) && output(t + 2);
  return status;
}

/* (E5) The gradients of all gates, each where it is wanted. Slot i is one of token i / active. */
static phibal_status combine_backward_gates(phibal_reference_combination c, const float *y_gradient,
                                            phibal_enclosure *t, phibal_enclosure *gate_gradient,
                                            phibal_enclosure *gate_condition) {
  //@ assert use_enclosure && use_place && open_place;
  const int64_t n = c.tokens * c.active;
  //@ assert size: n == place(c.tokens, c.active);
  /*@ loop invariant index: 0 <= i && (i <= n || i == 0);
      loop invariant temporaries: vector_output(t, 3);
      loop invariant gradients: optional_vector(gate_gradient, n);
      loop invariant conditions: optional_vector(gate_condition, n);
      loop invariant frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) &&
        vector_apart(r, t, 3) && optional_vector_apart(r, gate_gradient, n) &&
        optional_vector_apart(r, gate_condition, n) ==> same{Pre, Here}(r);
      loop invariant value: gate_gradient != \null ==>
        gate_gradients_held(gate_gradient, i, c.row, c.expert_output, y_gradient, c.active,
                            c.width);
      loop invariant condition: gate_condition != \null ==>
        gate_magnitudes_held(gate_condition, i, c.row, c.expert_output, y_gradient, c.active,
                             c.width);
      loop assigns i, t[0 .. 2], gate_gradient[0 .. n - 1], gate_condition[0 .. n - 1];
      loop variant n - i; */
  for (int64_t i = 0; i < n; i++) {
    phibal_enclosure *gradient = gate_gradient ? &gate_gradient[i] : NULL;
    phibal_enclosure *condition = gate_condition ? &gate_condition[i] : NULL;
    //@ assert index: 0 <= i / c.active < c.tokens;
    const int64_t token = i / c.active;
    /*@ assert token: token == i / c.active && 0 <= place(token, c.width) == token * c.width &&
          place(token, c.width) + c.width <= place(c.tokens, c.width); */
    const float *y = y_gradient + token * c.width;
    //@ assert y: y == y_gradient + place(token, c.width);
    //@ ghost floats_part(y, y_gradient, token * c.width, c.width, c.tokens * c.width);
    //@ assert floats: floats_there(y, c.width);
    //@ assert slot: slot_there(c.expert_output, c.row[i], c.width);
    /*@ assert gradients_t: gate_gradient != \null ==> \forall integer k; 0 <= k < n ==>
          vector_apart(gate_gradient + k, t, 3); */
    /*@ assert conditions_t: gate_condition != \null ==> \forall integer k; 0 <= k < n ==>
          vector_apart(gate_condition + k, t, 3); */
    //@ ghost gate_elsewhere(n, i, gate_gradient, gate_condition, gradient, condition);
    //@ ghost before:;
    phibal_status status =
        combine_backward_slot(c.width, c.row[i], c.expert_output, y, t, gradient, condition);
    /*@ assert rest: \forall phibal_enclosure *r; \valid_read{Pre}(r) && vector_apart(r, t, 3) &&
          optional_vector_apart(r, gate_gradient, n) && optional_vector_apart(r, gate_condition, n)
            ==> same{Pre, before}(r) && same{before, Here}(r); */
    /*@ assert gradients_kept: gate_gradient != \null ==> \forall integer k;
          0 <= k < n && k != i ==> same{before, Here}(gate_gradient + k); */
    /*@ assert conditions_kept: gate_condition != \null ==> \forall integer k;
          0 <= k < n && k != i ==> same{before, Here}(gate_condition + k); */
    //@ assert gradients: optional_vector(gate_gradient, n);
    //@ assert conditions: optional_vector(gate_condition, n);
    if (status != PHIBAL_OK) return status;
  }
  return PHIBAL_OK;
}

/* (E5) The gradients of all slots' rows. Slot i is one of token i / active. */
static void combine_backward_rows(phibal_reference_combination c, const float *y_gradient,
                                  phibal_enclosure *expert_gradient) {
  //@ assert use_enclosure && use_place && open_place;
  const int64_t n = c.tokens * c.active;
  //@ assert size: n == place(c.tokens, c.active);
  //@ ghost expert_rows_end(c.row, n);
  /*@ loop invariant index: 0 <= i && (i <= n || i == 0);
      loop invariant outputs: vector_output(expert_gradient, slots_size(c.row, n, c.width));
      loop invariant frame: only_vector_written{Pre, Here}(expert_gradient,
        slots_size(c.row, n, c.width));
      loop invariant rows: rows_distinct(c.row, n) ==>
        row_gradients_held(expert_gradient, i, c.row, c.gates, y_gradient, c.active, c.width);
      loop assigns i, expert_gradient[0 .. slots_size(c.row, n, c.width) - 1];
      loop variant n - i; */
  for (int64_t i = 0; i < n; i++) {
    if (c.row[i] < 0) continue;
    //@ assert index: 0 <= i / c.active < c.tokens;
    const int64_t token = i / c.active;
    /*@ assert token: token == i / c.active && 0 <= place(token, c.width) == token * c.width &&
          place(token, c.width) + c.width <= place(c.tokens, c.width); */
    /*@ assert row: 0 <= place(c.row[i], c.width) == c.row[i] * c.width &&
          place(c.row[i], c.width) + c.width <= slots_size(c.row, n, c.width); */
    /*@ assert others: rows_distinct(c.row, n) ==>
          \forall integer m; 0 <= m < i && 0 <= c.row[m] ==> 0 <= place(c.row[m], c.width) &&
          place(c.row[m], c.width) + c.width <= slots_size(c.row, n, c.width) &&
          (place(c.row[m], c.width) + c.width <= place(c.row[i], c.width) ||
           place(c.row[i], c.width) + c.width <= place(c.row[m], c.width)); */
    /*@ assert apart: \forall phibal_enclosure *r;
          vector_apart(r, expert_gradient, slots_size(c.row, n, c.width)) ==>
            row_apart(r, expert_gradient, c.row[i], c.width); */
    /*@ assert outside: \forall integer k; 0 <= k < slots_size(c.row, n, c.width) &&
          (k < place(c.row[i], c.width) || place(c.row[i], c.width) + c.width <= k) ==>
            row_apart(expert_gradient + k, expert_gradient, c.row[i], c.width); */
    //@ assert there: row_output(expert_gradient, c.row[i], c.width);
    const float *y = y_gradient + token * c.width;
    //@ assert y: y == y_gradient + place(token, c.width);
    //@ ghost floats_part(y, y_gradient, token * c.width, c.width, c.tokens * c.width);
    //@ assert floats: floats_there(y, c.width);
    //@ ghost before:;
    combine_backward_row(c.width, c.row[i], c.gates[i], y, expert_gradient);
    /*@ assert rest: \forall phibal_enclosure *r; \valid_read{Pre}(r) &&
          vector_apart(r, expert_gradient, slots_size(c.row, n, c.width)) ==>
            same{Pre, before}(r) && same{before, Here}(r); */
    /*@ assert kept: \forall integer k; 0 <= k < slots_size(c.row, n, c.width) &&
          (k < place(c.row[i], c.width) || place(c.row[i], c.width) + c.width <= k) ==>
            same{before, Here}(expert_gradient + k); */
    //@ assert outputs: vector_output(expert_gradient, slots_size(c.row, n, c.width));
    //@ assert held: row_gradient_held(expert_gradient, c.row[i], y, (real)c.gates[i], c.width);
    /*@ assert earlier: rows_distinct(c.row, n) ==>
          row_gradients_held(expert_gradient, i, c.row, c.gates, y_gradient, c.active, c.width); */
  }
}

/* Both, with temporaries t[0..2]. */
static phibal_status combine_backward_all(phibal_reference_combination c, const float *y_gradient,
                                          phibal_enclosure *t, phibal_enclosure *expert_gradient,
                                          phibal_enclosure *gate_gradient,
                                          phibal_enclosure *gate_condition) {
  //@ assert use_enclosure;
  //@ ghost rows_inside(c.tokens, c.active, c.width, c.row);
  if (expert_gradient) combine_backward_rows(c, y_gradient, expert_gradient);
  /*@ assert rows_t: expert_gradient != \null ==> \forall integer k;
        0 <= k < slots_size(c.row, place(c.tokens, c.active), c.width) ==>
          vector_apart(expert_gradient + k, t, 3); */
  /*@ assert rows_gradient: expert_gradient != \null ==> \forall integer k;
        0 <= k < slots_size(c.row, place(c.tokens, c.active), c.width) ==>
          optional_vector_apart(expert_gradient + k, gate_gradient, place(c.tokens, c.active)); */
  /*@ assert rows_condition: expert_gradient != \null ==> \forall integer k;
        0 <= k < slots_size(c.row, place(c.tokens, c.active), c.width) ==>
          optional_vector_apart(expert_gradient + k, gate_condition, place(c.tokens, c.active)); */
  return combine_backward_gates(c, y_gradient, t, gate_gradient, gate_condition);
}

phibal_status phibal_reference_combine_backward(phibal_reference_combination c,
                                                const float *y_gradient, mpfr_prec_t precision,
                                                phibal_enclosure *expert_gradient,
                                                phibal_reference_result gate_gradient) {
  const char *name = "phibal_reference_combine_backward";
  //@ assert use_enclosure && use_place && open_place;
  TRY(reference_combine_check(name, c, precision));
  //@ ghost expert_slots(c.tokens, c.active, c.width, c.row, c.expert_output);
  if (c.tokens > 0 && (!c.gates || !y_gradient))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null gates or y_gradient", name);
  TRY(operation_check_finite(name, "the gates", c.tokens * c.active, c.gates));
  TRY(operation_check_finite(name, "y_gradient", c.tokens * c.width, y_gradient));
  /*@ assert sizes: c.tokens * c.active == place(c.tokens, c.active) &&
        c.tokens * c.width == place(c.tokens, c.width) && 0 <= place(c.tokens, c.width); */
  /*@ assert floats: floats_there(c.gates, place(c.tokens, c.active)) &&
        floats_there(y_gradient, place(c.tokens, c.width)); */
  //@ assert sized: slots_size(c.row, place(c.tokens, c.active), c.width) <= ROUTING_MAX_SLOTS;
  //@ ghost rows_inside(c.tokens, c.active, c.width, c.row);
  /*@ assert rows_used: expert_gradient != \null ==> vector_in_use{Pre}(expert_gradient,
        slots_size(c.row, place(c.tokens, c.active), c.width)); */
  /*@ assert gradients_used: gate_gradient.value != \null ==>
        vector_in_use{Pre}(gate_gradient.value, place(c.tokens, c.active)); */
  /*@ assert conditions_used: gate_gradient.condition != \null ==>
        vector_in_use{Pre}(gate_gradient.condition, place(c.tokens, c.active)); */
  phibal_enclosure *t;
  phibal_status status = operation_scratch(name, 3, precision, &t);
  /*@ assert outputs: gradients_there(c.row, place(c.tokens, c.active), c.width, expert_gradient,
                                      gate_gradient.value, gate_gradient.condition); */
  if (status != PHIBAL_OK) return status;
  /*@ assert fresh: \forall phibal_enclosure *r; in_use{Pre}(r) ==>
        \separated(r, t + 0) && \separated(r, t + 1) && \separated(r, t + 2); */
  /*@ assert rows_apart: optional_vectors_apart(expert_gradient,
        slots_size(c.row, place(c.tokens, c.active), c.width), t, 3); */
  /*@ assert gradients_apart: optional_vectors_apart(gate_gradient.value, place(c.tokens, c.active),
                                                     t, 3); */
  /*@ assert conditions_apart: optional_vectors_apart(gate_gradient.condition,
                                                      place(c.tokens, c.active), t, 3); */
  status = combine_backward_all(c, y_gradient, t, expert_gradient, gate_gradient.value,
                                gate_gradient.condition);
  //@ ghost computed:;
  operation_scratch_clear(t, 3);
  /*@ assert kept: \forall phibal_enclosure *r; \valid_read{Pre}(r) && in_use{Pre}(r) ==>
        same{computed, Here}(r); */
  /*@ assert rows_same: expert_gradient != \null ==> vector_same{computed, Here}(expert_gradient,
        slots_size(c.row, place(c.tokens, c.active), c.width)); */
  /*@ assert gradients_same: gate_gradient.value != \null ==>
        vector_same{computed, Here}(gate_gradient.value, place(c.tokens, c.active)); */
  /*@ assert conditions_same: gate_gradient.condition != \null ==>
        vector_same{computed, Here}(gate_gradient.condition, place(c.tokens, c.active)); */
  /*@ assert row_outputs_after: optional_vector(expert_gradient,
        slots_size(c.row, place(c.tokens, c.active), c.width)); */
  //@ assert gradients_after: optional_vector(gate_gradient.value, place(c.tokens, c.active));
  //@ assert conditions_after: optional_vector(gate_gradient.condition, place(c.tokens, c.active));
  /*@ assert rows_held: expert_gradient != \null && status == PHIBAL_OK &&
        rows_distinct(c.row, place(c.tokens, c.active)) ==>
          row_gradients_held(expert_gradient, place(c.tokens, c.active), c.row, c.gates, y_gradient,
                             c.active, c.width); */
  return status;
}
