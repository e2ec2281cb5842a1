/* What the static functions of reference/combine_backward.c promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_COMBINE_BACKWARD_STATIC_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_COMBINE_BACKWARD_STATIC_H

#ifdef __FRAMAC__
#include <phibal/acsl/expert_steps.h>
#endif

/* A part of a vector of numbers. */
/*@ ghost
  /@ requires 0 <= from && 0 <= n && from + n <= m && floats_there(x, m);
     requires \forall integer k; 0 <= k < n ==> p + k == x + (from + k);
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures floats_there(p, n); @/
  void floats_part(const float *p, const float *x, int64_t from, int64_t n, int64_t m) {
    /@ assert there: \forall integer k; 0 <= k < n ==>
         \valid_read(x + (from + k)) && \is_finite(x[from + k]); @/
    /@ assert part: \forall integer k; 0 <= k < n ==>
         p + k == x + (from + k) && \valid_read(p + k) && \is_finite(p[k]); @/
    /@ assert last: 0 < n ==> \valid_read(p + 0) && \valid_read(p + (n - 1)); @/
    /@ assert readable: \valid_read(p + (0 .. n - 1)); @/
  }
*/

/* Every row that a slot has is among all rows. */
/*@ ghost
  /@ requires 0 <= tokens && 1 <= active && 0 <= width;
     requires place(tokens, active) <= ROUTING_MAX_SLOTS;
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures \forall integer i; 0 <= i < place(tokens, active) && 0 <= row[i] ==>
       0 <= place(row[i], width) &&
       place(row[i], width) + width <= slots_size(row, place(tokens, active), width); @/
  void rows_inside(int64_t tokens, int32_t active, int64_t width, const int64_t *row) {
    /@ assert open_place && use_place; @/
    int64_t n = tokens * active;
    /@ assert n == place(tokens, active); @/
    expert_rows_end(row, n);
  }
*/

/* The results of gate i are none of the other gates'. */
/*@ ghost
  /@ requires 0 <= i < n;
     requires optional_vectors_apart(gate_gradient, n, gate_condition, n);
     requires gradient == (gate_gradient == \null ? gate_gradient : gate_gradient + i);
     requires condition == (gate_condition == \null ? gate_condition : gate_condition + i);
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures gate_gradient != \null ==> \forall integer k; 0 <= k < n ==>
       optional_apart(gate_gradient + k, condition);
     ensures gate_gradient != \null ==> \forall integer k; 0 <= k < n && k != i ==>
       \separated(gate_gradient + k, gate_gradient + i);
     ensures gate_condition != \null ==> \forall integer k; 0 <= k < n ==>
       optional_apart(gate_condition + k, gradient);
     ensures gate_condition != \null ==> \forall integer k; 0 <= k < n && k != i ==>
       \separated(gate_condition + k, gate_condition + i);
     ensures gate_gradient != \null && gate_condition != \null ==> \forall integer k;
       0 <= k < n ==> \separated(gate_condition + k, gate_gradient + i);
     ensures \forall phibal_enclosure *r; optional_vector_apart(r, gate_gradient, n) &&
       optional_vector_apart(r, gate_condition, n) ==>
         optional_apart(r, gradient) && optional_apart(r, condition); @/
  void gate_elsewhere(int64_t n, int64_t i, const phibal_enclosure *gate_gradient,
                      const phibal_enclosure *gate_condition, const phibal_enclosure *gradient,
                      const phibal_enclosure *condition) {
    /@ assert use_enclosure; @/
  }
*/

/*@ // row `row` of x is there; z is none of it
    predicate row_output{L}(phibal_enclosure *x, integer row, integer width) =
      \forall integer k; place(row, width) <= k < place(row, width) + width ==> output(x + k);
    predicate row_apart(phibal_enclosure *z, phibal_enclosure *x, integer row, integer width) =
      \forall integer k; place(row, width) <= k < place(row, width) + width ==>
        \separated(z, x + k);
*/

/*@ requires 0 <= width && \is_finite(gate) && floats_there(y_gradient, width);
    requires 0 <= place(row, width) && place(row, width) + width <= ROUTING_MAX_SLOTS;
    requires row_output(expert_gradient, row, width);
    terminates \true;
    exits \false;
    assigns expert_gradient[place(row, width) .. place(row, width) + width - 1];
    ensures outputs: row_output(expert_gradient, row, width);
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) &&
      row_apart(r, expert_gradient, row, width) ==> same{Pre, Here}(r);
    ensures values: row_gradient_held(expert_gradient, row, y_gradient, (real)gate, width); */
static void combine_backward_row(int64_t width, int64_t row, float gate, const float *y_gradient,
                                 phibal_enclosure *expert_gradient);

/*@ requires 0 <= width;
    requires \valid_read(y_gradient + (0 .. width - 1)) && finite_floats(y_gradient, width);
    requires 0 <= row ==> place(row, width) + width <= ROUTING_MAX_SLOTS &&
      \valid_read(expert_output + (place(row, width) .. place(row, width) + width - 1)) &&
      row_finite(expert_output, row, width);
    requires output(t) && output(dot) && output(magnitude);
    requires \separated(t, dot) && \separated(t, magnitude) && \separated(dot, magnitude);
    terminates \true;
    exits \false;
    assigns *t, *dot, *magnitude;
    ensures outputs: enclosure(t) && enclosure(dot) && enclosure(magnitude);
    ensures frame: only_three_written{Pre, Here}(t, dot, magnitude);
    ensures status: \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures value: \result == PHIBAL_OK ==>
      in(dot, gate_gradient(y_gradient, expert_output, row, width));
    ensures condition: \result == PHIBAL_OK ==>
      in(magnitude, gate_magnitude(y_gradient, expert_output, row, width)); */
static phibal_status combine_backward_gate(int64_t width, int64_t row, const float *expert_output,
                                           const float *y_gradient, phibal_enclosure *t,
                                           phibal_enclosure *dot, phibal_enclosure *magnitude);

/*@ requires 0 <= width && floats_there(y_gradient, width) &&
      slot_there(expert_output, row, width);
    requires vector_output(t, 3) && optional(gradient) && optional(condition);
    requires gradient == \null || vector_apart(gradient, t, 3);
    requires condition == \null || vector_apart(condition, t, 3);
    requires optional_apart(gradient, condition);
    terminates \true;
    exits \false;
    assigns t[0 .. 2], *gradient, *condition;
    ensures outputs: vector_output(t, 3) && optional(gradient) && optional(condition);
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && vector_apart(r, t, 3) &&
      optional_apart(r, gradient) && optional_apart(r, condition) ==> same{Pre, Here}(r);
    ensures status: \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures value: \result == PHIBAL_OK && gradient != \null ==>
      in(gradient, gate_gradient(y_gradient, expert_output, row, width));
    ensures condition: \result == PHIBAL_OK && condition != \null ==>
      in(condition, gate_magnitude(y_gradient, expert_output, row, width)); */
static phibal_status combine_backward_slot(int64_t width, int64_t row, const float *expert_output,
                                           const float *y_gradient, phibal_enclosure *t,
                                           phibal_enclosure *gradient,
                                           phibal_enclosure *condition);

/*@ requires 0 <= c.tokens && 1 <= c.active && 0 <= c.width;
    requires place(c.tokens, c.active) <= ROUTING_MAX_SLOTS &&
      place(c.tokens, c.width) <= ROUTING_MAX_SLOTS;
    requires \valid_read(c.row + (0 .. place(c.tokens, c.active) - 1));
    requires slots_there(c.row, place(c.tokens, c.active), c.width, c.expert_output);
    requires floats_there(y_gradient, place(c.tokens, c.width));
    requires vector_output(t, 3) && optional_vector(gate_gradient, place(c.tokens, c.active)) &&
      optional_vector(gate_condition, place(c.tokens, c.active));
    requires optional_vectors_apart(gate_gradient, place(c.tokens, c.active), t, 3);
    requires optional_vectors_apart(gate_condition, place(c.tokens, c.active), t, 3);
    requires optional_vectors_apart(gate_gradient, place(c.tokens, c.active), gate_condition,
      place(c.tokens, c.active));
    terminates \true;
    exits \false;
    assigns t[0 .. 2], gate_gradient[0 .. place(c.tokens, c.active) - 1],
            gate_condition[0 .. place(c.tokens, c.active) - 1];
    ensures temporaries: vector_output(t, 3);
    ensures gradients: optional_vector(gate_gradient, place(c.tokens, c.active));
    ensures conditions: optional_vector(gate_condition, place(c.tokens, c.active));
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && vector_apart(r, t, 3) &&
      optional_vector_apart(r, gate_gradient, place(c.tokens, c.active)) &&
      optional_vector_apart(r, gate_condition, place(c.tokens, c.active)) ==> same{Pre, Here}(r);
    ensures status: \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures value: \result == PHIBAL_OK && gate_gradient != \null ==>
      gate_gradients_held(gate_gradient, place(c.tokens, c.active), c.row, c.expert_output,
                          y_gradient, c.active, c.width);
    ensures condition: \result == PHIBAL_OK && gate_condition != \null ==>
      gate_magnitudes_held(gate_condition, place(c.tokens, c.active), c.row, c.expert_output,
                           y_gradient, c.active, c.width); */
static phibal_status combine_backward_gates(phibal_reference_combination c, const float *y_gradient,
                                            phibal_enclosure *t, phibal_enclosure *gate_gradient,
                                            phibal_enclosure *gate_condition);

/*@ requires 0 <= c.tokens && 1 <= c.active && 0 <= c.width;
    requires place(c.tokens, c.active) <= ROUTING_MAX_SLOTS &&
      place(c.tokens, c.width) <= ROUTING_MAX_SLOTS;
    requires \valid_read(c.row + (0 .. place(c.tokens, c.active) - 1));
    requires slots_size(c.row, place(c.tokens, c.active), c.width) <= ROUTING_MAX_SLOTS;
    requires floats_there(c.gates, place(c.tokens, c.active)) &&
      floats_there(y_gradient, place(c.tokens, c.width));
    requires vector_output(expert_gradient, slots_size(c.row, place(c.tokens, c.active), c.width));
    terminates \true;
    exits \false;
    assigns expert_gradient[0 .. slots_size(c.row, place(c.tokens, c.active), c.width) - 1];
    ensures outputs: vector_output(expert_gradient,
      slots_size(c.row, place(c.tokens, c.active), c.width));
    ensures frame: only_vector_written{Pre, Here}(expert_gradient,
      slots_size(c.row, place(c.tokens, c.active), c.width));
    ensures rows: rows_distinct(c.row, place(c.tokens, c.active)) ==>
      row_gradients_held(expert_gradient, place(c.tokens, c.active), c.row, c.gates, y_gradient,
                         c.active, c.width); */
static void combine_backward_rows(phibal_reference_combination c, const float *y_gradient,
                                  phibal_enclosure *expert_gradient);

/*@ requires 0 <= c.tokens && 1 <= c.active && 0 <= c.width;
    requires place(c.tokens, c.active) <= ROUTING_MAX_SLOTS &&
      place(c.tokens, c.width) <= ROUTING_MAX_SLOTS;
    requires \valid_read(c.row + (0 .. place(c.tokens, c.active) - 1));
    requires slots_size(c.row, place(c.tokens, c.active), c.width) <= ROUTING_MAX_SLOTS;
    requires slots_there(c.row, place(c.tokens, c.active), c.width, c.expert_output);
    requires floats_there(c.gates, place(c.tokens, c.active)) &&
      floats_there(y_gradient, place(c.tokens, c.width));
    requires vector_output(t, 3);
    requires gradients_there(c.row, place(c.tokens, c.active), c.width, expert_gradient,
                             gate_gradient, gate_condition);
    requires optional_vectors_apart(expert_gradient,
      slots_size(c.row, place(c.tokens, c.active), c.width), t, 3);
    requires optional_vectors_apart(gate_gradient, place(c.tokens, c.active), t, 3);
    requires optional_vectors_apart(gate_condition, place(c.tokens, c.active), t, 3);
    terminates \true;
    exits \false;
    assigns t[0 .. 2], gate_gradient[0 .. place(c.tokens, c.active) - 1],
            gate_condition[0 .. place(c.tokens, c.active) - 1],
            expert_gradient[0 .. slots_size(c.row, place(c.tokens, c.active), c.width) - 1];
    ensures temporaries: vector_output(t, 3);
    ensures outputs: gradients_there(c.row, place(c.tokens, c.active), c.width, expert_gradient,
      gate_gradient, gate_condition);
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && vector_apart(r, t, 3) &&
      optional_vector_apart(r, expert_gradient,
                            slots_size(c.row, place(c.tokens, c.active), c.width)) &&
      optional_vector_apart(r, gate_gradient, place(c.tokens, c.active)) &&
      optional_vector_apart(r, gate_condition, place(c.tokens, c.active)) ==> same{Pre, Here}(r);
    ensures status: \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures rows: expert_gradient != \null && rows_distinct(c.row, place(c.tokens, c.active)) ==>
      row_gradients_held(expert_gradient, place(c.tokens, c.active), c.row, c.gates, y_gradient,
                         c.active, c.width);
    ensures value: \result == PHIBAL_OK && gate_gradient != \null ==>
      gate_gradients_held(gate_gradient, place(c.tokens, c.active), c.row, c.expert_output,
                          y_gradient, c.active, c.width);
    ensures condition: \result == PHIBAL_OK && gate_condition != \null ==>
      gate_magnitudes_held(gate_condition, place(c.tokens, c.active), c.row, c.expert_output,
                           y_gradient, c.active, c.width); */
static phibal_status combine_backward_all(phibal_reference_combination c, const float *y_gradient,
                                          phibal_enclosure *t, phibal_enclosure *expert_gradient,
                                          phibal_enclosure *gate_gradient,
                                          phibal_enclosure *gate_condition);

#endif
