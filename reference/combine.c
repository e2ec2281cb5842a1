/* The experts' rows combined into tokens: (E4). */
#include "combine.h"

#include <phibal/acsl/contracts/inside/combine_static.h>

phibal_status reference_combine_check(const char *name, phibal_reference_combination c,
                                      mpfr_prec_t precision) {
  //@ assert open_place && use_place;
  if (c.tokens < 0 || c.active < 1 || c.width < 0 ||
      (c.tokens > 0 && (!c.row || (c.width > 0 && !c.expert_output))))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null argument or bad shape", name);
  //@ assert slots: place(c.tokens, c.active) == c.tokens * c.active && 0 <= c.tokens * c.active;
  //@ ghost expert_rows_end(c.row, c.tokens * c.active);
  /*@ loop invariant index: 0 <= i <= c.tokens * c.active;
      loop invariant checked: slots_finite(c.row, i, c.width, c.expert_output);
      loop assigns i;
      loop variant c.tokens * c.active - i; */
  for (int64_t i = 0; i < c.tokens * c.active; i++) {
    if (c.row[i] < 0) continue;
    /*@ assert place: place(c.row[i], c.width) == c.row[i] * c.width &&
          place(c.row[i], c.width) + c.width <= slots_size(c.row, c.tokens * c.active, c.width); */
    TRY(operation_check_finite(name, "an expert's output", c.width,
                               c.expert_output + c.row[i] * c.width));
    /*@ ghost expert_row_finite(c.expert_output + c.row[i] * c.width, c.expert_output, c.row[i],
                                c.width); */
  }
  return operation_check_precision(name, precision);
}

/* y = *before, or 0 where it is null; condition, which may be null, its absolute value. */
static void combine_start(const float *before, phibal_enclosure *y, phibal_enclosure *condition) {
  //@ assert use_enclosure;
  phibal_enclosure_set_si(y, 0);
  if (before) operation_set_float(y, *before);
  if (condition) phibal_enclosure_abs(condition, y);
}

/* y += term, condition (may be null) += |term|; t is a temporary. */
static phibal_status combine_add(double term, phibal_enclosure *t, phibal_enclosure *y,
                                 phibal_enclosure *condition) {
  //@ assert use_enclosure && use_floating;
  phibal_enclosure_set_d(t, term);
  TRY(phibal_enclosure_add(y, y, t));
  if (!condition) return PHIBAL_OK;
  phibal_enclosure_abs(t, t);
  return phibal_enclosure_add(condition, condition, t);
}

/* (E4) y += the term of slot s at `column`, condition (may be null) += its absolute value. */
static phibal_status combine_slot(phibal_reference_combination c, int64_t s, int64_t column,
                                  phibal_enclosure *t, phibal_enclosure *y,
                                  phibal_enclosure *condition) {
  //@ assert use_enclosure && use_floating && open_place;
  int64_t r = c.row[s];
  if (r < 0) return PHIBAL_OK;
  /*@ assert element: element(r, c.width, column) == r * c.width + column &&
        place(r, c.width) == r * c.width && 0 <= r * c.width + column <= ROUTING_MAX_SLOTS; */
  float x = c.expert_output[r * c.width + column];
  //@ assert finite: \is_finite(x);
  double product = c.gates ? operation_exact_product(c.gates[s], x) : (double)x;
  /*@ assert term: \is_finite(product) &&
        (real)product == combine_term(c.row, c.gates, c.expert_output, c.width, column, s); */
  return combine_add(product, t, y, condition);
}

/* (E4) of one element: *before + sum_s gates[s] output[row[s]][column] over the slots s from
   `first` on. */
static phibal_status combine_element(phibal_reference_combination c, int64_t first, int64_t column,
                                     const float *before, phibal_enclosure *t, phibal_enclosure *y,
                                     phibal_enclosure *condition) {
  //@ assert use_enclosure;
  combine_start(before, y, condition);
  /*@ loop invariant index: 0 <= s && (s <= c.active || s == 0);
      loop invariant outputs: enclosure(t) && enclosure(y) && optional(condition);
      loop invariant frame: only_pair_written{Pre, Here}(t, y, condition);
      loop invariant value: in(y,
        combined(c.row, c.gates, c.expert_output, c.width, column, before_of(before), first, s));
      loop invariant magnitude: condition != \null ==> in(condition,
        combined_magnitude(c.row, c.gates, c.expert_output, c.width, column, before_of(before),
                           first, s));
      loop assigns s, *t, *y, *condition;
      loop variant c.active - s; */
  for (int32_t s = 0; s < c.active; s++) {
    /*@ assert next:
          combined(c.row, c.gates, c.expert_output, c.width, column, before_of(before), first,
                   s + 1) ==
          combined(c.row, c.gates, c.expert_output, c.width, column, before_of(before), first, s) +
          combine_term(c.row, c.gates, c.expert_output, c.width, column, first + s); */
    /*@ assert next_magnitude:
          combined_magnitude(c.row, c.gates, c.expert_output, c.width, column, before_of(before),
                             first, s + 1) ==
          combined_magnitude(c.row, c.gates, c.expert_output, c.width, column, before_of(before),
                             first, s) +
          \abs(combine_term(c.row, c.gates, c.expert_output, c.width, column, first + s)); */
    TRY(combine_slot(c, first + s, column, t, y, condition));
  }
  return PHIBAL_OK;
}

/* Element m is column m % width of token m / width, whose slots begin at m / width * active. */
static phibal_status combine_all(phibal_reference_combination c, const float *before,
                                 phibal_enclosure *t, phibal_enclosure *y,
                                 phibal_enclosure *condition) {
  //@ assert use_enclosure && use_place && open_place;
  const int64_t n = c.tokens * c.width;
  //@ assert size: n == place(c.tokens, c.width);
  /*@ loop invariant index: 0 <= m && (m <= n || m == 0);
      loop invariant outputs: enclosure(t) && vector_output(y, n) && optional_vector(condition, n);
      loop invariant frame: only_vectors_written{Pre, Here}(t, y, condition, n);
      loop invariant value: combined_held(y, m, c.row, c.gates, c.expert_output, before, c.active,
                                          c.width);
      loop invariant magnitude: condition != \null ==>
        combined_magnitudes_held(condition, m, c.row, c.gates, c.expert_output, before, c.active,
                                 c.width);
      loop assigns m, *t, y[0 .. n - 1], condition[0 .. n - 1];
      loop variant n - m; */
  for (int64_t m = 0; m < n; m++) {
    const float *start = before ? &before[m] : NULL;
    phibal_enclosure *magnitude = condition ? &condition[m] : NULL;
    //@ assert index: 0 < c.width && 0 <= m / c.width < c.tokens && 0 <= m % c.width < c.width;
    const int64_t token = m / c.width;
    /*@ assert slots: place(token, c.active) == token * c.active && 0 <= place(token, c.active) &&
          place(token, c.active) + c.active <= place(c.tokens, c.active); */
    //@ assert first: token == m / c.width && 0 <= token * c.active <= ROUTING_MAX_SLOTS;
    //@ assert values_t: \forall integer i; 0 <= i < n ==> \separated(y + i, t);
    //@ assert values_m: \forall integer i; 0 <= i < n && i != m ==> \separated(y + i, y + m);
    /*@ assert values_magnitude: \forall integer i; 0 <= i < n ==>
          optional_apart(y + i, magnitude); */
    /*@ assert conditions_t: condition != \null ==> \forall integer i; 0 <= i < n ==>
          \separated(condition + i, t); */
    /*@ assert conditions_y: condition != \null ==> \forall integer i; 0 <= i < n ==>
          \separated(condition + i, y + m); */
    /*@ assert conditions_m: condition != \null ==> \forall integer i; 0 <= i < n && i != m ==>
          \separated(condition + i, condition + m); */
    /*@ assert apart: \forall phibal_enclosure *r; vector_apart(r, y, n) &&
          optional_vector_apart(r, condition, n) ==>
            \separated(r, y + m) && optional_apart(r, magnitude); */
    //@ ghost before:;
    phibal_status status =
        combine_element(c, token * c.active, m % c.width, start, t, &y[m], magnitude);
    /*@ assert written: enclosure(t) && enclosure(y + m) &&
          (condition == \null || enclosure(condition + m)); */
    /*@ assert rest: \forall phibal_enclosure *r; \valid_read{Pre}(r) && \separated(r, t) &&
          vector_apart(r, y, n) && optional_vector_apart(r, condition, n) ==>
            same{Pre, before}(r) && same{before, Here}(r); */
    /*@ assert values_kept: \forall integer i; 0 <= i < n && i != m ==> same{before, Here}(y + i);
     */
    /*@ assert conditions_kept: condition != \null ==> \forall integer i; 0 <= i < n && i != m ==>
          same{before, Here}(condition + i); */
    //@ assert values: vector_output(y, n);
    //@ assert conditions: optional_vector(condition, n);
    if (status != PHIBAL_OK) return status;
  }
  return PHIBAL_OK;
}

phibal_status phibal_reference_combine(phibal_reference_combination c, const float *before,
                                       mpfr_prec_t precision, phibal_reference_result y) {
  const char *name = "phibal_reference_combine";
  //@ assert use_enclosure && use_place && open_place;
  TRY(reference_combine_check(name, c, precision));
  //@ ghost expert_slots(c.tokens, c.active, c.width, c.row, c.expert_output);
  if (!y.value) return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null y", name);
  if (c.gates) TRY(operation_check_finite(name, "the gates", c.tokens * c.active, c.gates));
  if (before) TRY(operation_check_finite(name, "y before", c.tokens * c.width, before));
  /*@ assert sizes: c.tokens * c.active == place(c.tokens, c.active) &&
        c.tokens * c.width == place(c.tokens, c.width) && 0 <= place(c.tokens, c.width); */
  /*@ assert floats: (c.gates == \null || floats_there(c.gates, place(c.tokens, c.active))) &&
        (before == \null || floats_there(before, place(c.tokens, c.width))); */
  /*@ assert used: \forall integer i; 0 <= i < place(c.tokens, c.width) ==>
        in_use{Pre}(y.value + i) && (y.condition == \null || in_use{Pre}(y.condition + i)); */
  phibal_enclosure *t;
  phibal_status status = operation_scratch(name, 1, precision, &t);
  //@ assert values: vector_output(y.value, place(c.tokens, c.width));
  //@ assert conditions: optional_vector(y.condition, place(c.tokens, c.width));
  if (status != PHIBAL_OK) return status;
  /*@ assert fresh: \forall phibal_enclosure *r; in_use{Pre}(r) ==> \separated(r, t); */
  //@ assert given: output(t);
  //@ assert values_apart: vector_apart(t, y.value, place(c.tokens, c.width));
  //@ assert conditions_apart: optional_vector_apart(t, y.condition, place(c.tokens, c.width));
  status = combine_all(c, before, t, y.value, y.condition);
  //@ ghost computed:;
  operation_scratch_clear(t, 1);
  /*@ assert kept: \forall phibal_enclosure *r; \valid_read{Pre}(r) && in_use{Pre}(r) ==>
        same{computed, Here}(r); */
  //@ assert values_same: vector_same{computed, Here}(y.value, place(c.tokens, c.width));
  /*@ assert conditions_same: y.condition != \null ==>
        vector_same{computed, Here}(y.condition, place(c.tokens, c.width)); */
  //@ assert values_after: vector_output(y.value, place(c.tokens, c.width));
  //@ assert conditions_after: optional_vector(y.condition, place(c.tokens, c.width));
  return status;
}
