/* The experts' rows combined into tokens: (E4). */
#include "combine.h"

#include <phibal/acsl/contracts/inside/combine_static.h>

phibal_status reference_combine_check(const char *name, int64_t tokens, int32_t active,
                                      int64_t width, const int64_t *row, const float *expert_output,
                                      mpfr_prec_t precision) {
  //@ assert open_place && use_place;
  if (tokens < 0 || active < 1 || width < 0 ||
      (tokens > 0 && (!row || (width > 0 && !expert_output))))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null argument or bad shape", name);
  //@ assert slots: place(tokens, active) == tokens * active && 0 <= tokens * active;
  //@ ghost expert_rows_end(row, tokens * active);
  /*@ loop invariant index: 0 <= i <= tokens * active;
      loop invariant checked: slots_finite(row, i, width, expert_output);
      loop assigns i;
      loop variant tokens * active - i; */
  for (int64_t i = 0; i < tokens * active; i++) {
    if (row[i] < 0) continue;
    /*@ assert place: place(row[i], width) == row[i] * width &&
          place(row[i], width) + width <= slots_size(row, tokens * active, width); */
    TRY(operation_check_finite(name, "an expert's output", width, expert_output + row[i] * width));
    //@ ghost expert_row_finite(expert_output + row[i] * width, expert_output, row[i], width);
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

/* y += the term of slot s at `column`, condition (may be null) += its absolute value. */
static phibal_status combine_slot(int64_t s, int64_t width, int64_t column, const int64_t *row,
                                  const float *gates, const float *expert_output,
                                  phibal_enclosure *t, phibal_enclosure *y,
                                  phibal_enclosure *condition) {
  //@ assert use_enclosure && use_floating && open_place;
  int64_t r = row[s];
  if (r < 0) return PHIBAL_OK;
  /*@ assert element: element(r, width, column) == r * width + column &&
        place(r, width) == r * width && 0 <= r * width + column <= ROUTING_MAX_SLOTS; */
  float x = expert_output[r * width + column];
  //@ assert finite: \is_finite(x);
  double product = gates ? operation_exact_product(gates[s], x) : (double)x;
  /*@ assert term: \is_finite(product) &&
        (real)product == combine_term(row, gates, expert_output, width, column, s); */
  return combine_add(product, t, y, condition);
}

/* One element: *before + sum_s gates[s] output[row[s]][column] over the slots s from `first` on. */
static phibal_status combine_element(int64_t first, int32_t active, int64_t width, int64_t column,
                                     const int64_t *row, const float *gates,
                                     const float *expert_output, const float *before,
                                     phibal_enclosure *t, phibal_enclosure *y,
                                     phibal_enclosure *condition) {
  //@ assert use_enclosure;
  combine_start(before, y, condition);
  /*@ loop invariant index: 0 <= s && (s <= active || s == 0);
      loop invariant outputs: enclosure(t) && enclosure(y) && optional(condition);
      loop invariant frame: only_pair_written{Pre, Here}(t, y, condition);
      loop invariant value: in(y,
        combined(row, gates, expert_output, width, column, before_of(before), first, s));
      loop invariant magnitude: condition != \null ==> in(condition,
        combined_magnitude(row, gates, expert_output, width, column, before_of(before), first,
                           s));
      loop assigns s, *t, *y, *condition;
      loop variant active - s; */
  for (int32_t s = 0; s < active; s++) {
    /*@ assert next: combined(row, gates, expert_output, width, column, before_of(before), first,
          s + 1) == combined(row, gates, expert_output, width, column, before_of(before), first,
          s) + combine_term(row, gates, expert_output, width, column, first + s); */
    /*@ assert next_magnitude: combined_magnitude(row, gates, expert_output, width, column,
          before_of(before), first, s + 1) == combined_magnitude(row, gates, expert_output, width,
          column, before_of(before), first, s) +
          \abs(combine_term(row, gates, expert_output, width, column, first + s)); */
    TRY(combine_slot(first + s, width, column, row, gates, expert_output, t, y, condition));
  }
  return PHIBAL_OK;
}

/* Element m is column m % width of token m / width, whose slots begin at m / width * active. */
static phibal_status combine_all(int64_t tokens, int32_t active, int64_t width, const int64_t *row,
                                 const float *gates, const float *expert_output,
                                 const float *before, phibal_enclosure *t, phibal_enclosure *y,
                                 phibal_enclosure *condition) {
  //@ assert use_enclosure && use_place && open_place;
  const int64_t n = tokens * width;
  //@ assert size: n == place(tokens, width);
  /*@ loop invariant index: 0 <= m && (m <= n || m == 0);
      loop invariant outputs: enclosure(t) && vector_output(y, n) && optional_vector(condition, n);
      loop invariant frame: only_vectors_written{Pre, Here}(t, y, condition, n);
      loop invariant value: combined_held(y, m, row, gates, expert_output, before, active, width);
      loop invariant magnitude: condition != \null ==>
        combined_magnitudes_held(condition, m, row, gates, expert_output, before, active, width);
      loop assigns m, *t, y[0 .. n - 1], condition[0 .. n - 1];
      loop variant n - m; */
  for (int64_t m = 0; m < n; m++) {
    const float *start = before ? &before[m] : NULL;
    phibal_enclosure *magnitude = condition ? &condition[m] : NULL;
    /*@ assert index: 0 < width && 0 <= m / width < tokens && 0 <= m % width < width; */
    /*@ assert slots: place(m / width, active) == m / width * active &&
          0 <= place(m / width, active) &&
          place(m / width, active) + active <= place(tokens, active); */
    //@ assert first: 0 <= m / width * active <= ROUTING_MAX_SLOTS;
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
    phibal_status status = combine_element(m / width * active, active, width, m % width, row, gates,
                                           expert_output, start, t, &y[m], magnitude);
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

phibal_status phibal_reference_combine(int64_t tokens, int32_t active, int64_t width,
                                       const int64_t *row, const float *gates,
                                       const float *expert_output, const float *before,
                                       mpfr_prec_t precision, phibal_enclosure *y,
                                       phibal_enclosure *condition) {
  const char *name = "phibal_reference_combine";
  //@ assert use_enclosure && use_place && open_place;
  TRY(reference_combine_check(name, tokens, active, width, row, expert_output, precision));
  //@ ghost expert_slots(tokens, active, width, row, expert_output);
  if (!y) return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null y", name);
  if (gates) TRY(operation_check_finite(name, "the gates", tokens * active, gates));
  if (before) TRY(operation_check_finite(name, "y before", tokens * width, before));
  /*@ assert sizes: tokens * active == place(tokens, active) &&
        tokens * width == place(tokens, width) && 0 <= place(tokens, width); */
  /*@ assert floats: (gates == \null || floats_there(gates, place(tokens, active))) &&
        (before == \null || floats_there(before, place(tokens, width))); */
  phibal_enclosure *t;
  TRY(operation_scratch(name, 1, precision, &t));
  /*@ assert fresh: \forall phibal_enclosure *r; in_use{Pre}(r) ==> \separated(r, t); */
  /*@ assert used: \forall integer i; 0 <= i < place(tokens, width) ==> in_use{Pre}(y + i) &&
        (condition == \null || in_use{Pre}(condition + i)); */
  //@ assert given: output(t);
  //@ assert values_apart: vector_apart(t, y, place(tokens, width));
  //@ assert conditions_apart: optional_vector_apart(t, condition, place(tokens, width));
  //@ assert values: vector_output(y, place(tokens, width));
  //@ assert conditions: optional_vector(condition, place(tokens, width));
  phibal_status status =
      combine_all(tokens, active, width, row, gates, expert_output, before, t, y, condition);
  //@ ghost computed:;
  operation_scratch_clear(t, 1);
  /*@ assert kept: \forall phibal_enclosure *r; \valid_read{Pre}(r) && in_use{Pre}(r) ==>
        same{computed, Here}(r); */
  //@ assert values_same: vector_same{computed, Here}(y, place(tokens, width));
  /*@ assert conditions_same: condition != \null ==>
        vector_same{computed, Here}(condition, place(tokens, width)); */
  return status;
}
