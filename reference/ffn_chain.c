/* Products of enclosures, values with first-order conditions, and a matrix of numbers. */
#include "ffn_work.h"
#include <phibal/acsl/contracts/inside/ffn_chain_static.h>

static double magnitude_of(double x) {
  //@ assert open_absolute;
  return fabs(x);
}

/* value += sum_l x[from + l x_stride] w[l w_stride], condition += sum_l x_condition |w|, over n
   terms; t[0..1] are temporaries. */
static phibal_status chain_dot(int64_t n, phibal_reference_result x, int64_t from, int64_t x_stride,
                               const float *w, int64_t w_stride, phibal_enclosure *t,
                               phibal_enclosure *value, phibal_enclosure *condition) {
  //@ assert use_enclosure && use_floating && open_place;
  /*@ loop invariant index: 0 <= l && (l <= n || l == 0);
      loop invariant outputs: vector_output(t, 2) && enclosure(value) && enclosure(condition);
      loop invariant frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) &&
        vector_apart(r, t, 2) && \separated(r, value) && \separated(r, condition) ==>
          same{Pre, Here}(r);
      loop invariant value: \forall sequence s, real c;
        row_members{Pre}(x.value, from, x_stride, n, s) && in{Pre}(value, c) ==>
          in(value, c + chain_sum(s, from, x_stride, w, w_stride, l));
      loop invariant condition: \forall sequence s, real c;
        row_members{Pre}(x.condition, from, x_stride, n, s) && in{Pre}(condition, c) ==>
          in(condition, c + chain_magnitude(s, from, x_stride, w, w_stride, l));
      loop assigns l, t[0 .. 1], *value, *condition;
      loop variant n - l; */
  for (int64_t l = 0; l < n; l++) {
    //@ assert place: place(l, x_stride) == l * x_stride && place(l, w_stride) == l * w_stride;
    const phibal_enclosure *term = &x.value[from + l * x_stride];
    const phibal_enclosure *magnitude = &x.condition[from + l * x_stride];
    /*@ assert there: input{Pre}(term) && input{Pre}(magnitude) && vector_apart(term, t, 3) &&
          vector_apart(magnitude, t, 3); */
    /*@ assert apart: vector_apart(term, t, 2) && \separated(term, value) &&
          \separated(term, condition); */
    /*@ assert magnitude_apart: vector_apart(magnitude, t, 2) && \separated(magnitude, value) &&
          \separated(magnitude, condition); */
    //@ assert kept: same{Pre, Here}(term) && same{Pre, Here}(magnitude);
    //@ assert terms: input(term) && input(magnitude);
    /*@ assert member: \forall sequence s; row_members{Pre}(x.value, from, x_stride, n, s) ==>
          in(term, term(s, from + place(l, x_stride))); */
    double weight = (double)w[l * w_stride];
    //@ assert finite: \is_finite(w[place(l, w_stride)]);
    //@ assert exactly: \is_finite(weight) && (real)weight == (real)w[place(l, w_stride)];
    /*@ assert next: \forall sequence s; chain_sum(s, from, x_stride, w, w_stride, l + 1) ==
          chain_sum(s, from, x_stride, w, w_stride, l) +
            term(s, from + place(l, x_stride)) * (real)weight; */
    /*@ assert magnitude_member: \forall sequence s;
          row_members{Pre}(x.condition, from, x_stride, n, s) ==>
            in(magnitude, term(s, from + place(l, x_stride))); */
    /*@ assert next_magnitude: \forall sequence s;
          chain_magnitude(s, from, x_stride, w, w_stride, l + 1) ==
            chain_magnitude(s, from, x_stride, w, w_stride, l) +
              term(s, from + place(l, x_stride)) * absolute((real)weight); */
    TRY(operation_add_scaled(value, term, weight, &t[0], &t[1]));
    /*@ assert added: \forall sequence s, real c;
          row_members{Pre}(x.value, from, x_stride, n, s) && in{Pre}(value, c) ==>
            in(value, c + chain_sum(s, from, x_stride, w, w_stride, l + 1)); */
    /*@ assert still: \forall sequence s;
          row_members{Pre}(x.condition, from, x_stride, n, s) ==>
            in(magnitude, term(s, from + place(l, x_stride))); */
    /*@ assert before: \forall sequence s, real c;
          row_members{Pre}(x.condition, from, x_stride, n, s) && in{Pre}(condition, c) ==>
            in(condition, c + chain_magnitude(s, from, x_stride, w, w_stride, l)); */
    const double size = magnitude_of(weight);
    /*@ assert next_by_size: \forall sequence s;
          chain_magnitude(s, from, x_stride, w, w_stride, l + 1) ==
            chain_magnitude(s, from, x_stride, w, w_stride, l) +
              term(s, from + place(l, x_stride)) * (real)size; */
    TRY(operation_add_scaled(condition, magnitude, size, &t[0], &t[1]));
    /*@ assert magnitude_added: \forall sequence s, real c;
          row_members{Pre}(x.condition, from, x_stride, n, s) && in{Pre}(condition, c) ==>
            in(condition, c + chain_magnitude(s, from, x_stride, w, w_stride, l + 1)); */
  }
  return PHIBAL_OK;
}

/* Element m of X W over `inner`, row by row, in value, or added to it; a null condition is computed
   into t[2] and dropped. */
static phibal_status chain_element(int64_t m, int64_t inner, int64_t columns,
                                   phibal_reference_result x, int64_t x_row, int64_t x_column,
                                   phibal_reference_matrix w, bool add, phibal_enclosure *t,
                                   phibal_enclosure *value, phibal_enclosure *condition) {
  //@ assert use_enclosure && use_place && open_place;
  int64_t i = m / columns, j = m % columns;
  /*@ assert apart: \forall integer l; 0 <= l < inner ==>
        \separated(x.value + (place(i, x_row) + place(l, x_column)), t + 2); */
  /*@ assert dropped: \forall integer l; 0 <= l < inner ==>
        \separated(t + 2, x.value + (place(i, x_row) + place(l, x_column))); */
  /*@ assert condition_apart: \forall integer l; 0 <= l < inner ==>
        \separated(x.condition + (place(i, x_row) + place(l, x_column)), t + 2); */
  /*@ assert condition_dropped: \forall integer l; 0 <= l < inner ==>
        \separated(t + 2, x.condition + (place(i, x_row) + place(l, x_column))); */
  /*@ assert places: i == m / columns && j == m % columns && place(i, x_row) == i * x_row &&
        place(j, w.column_stride) == j * w.column_stride; */
  phibal_enclosure *magnitude = condition ? condition : &t[2];
  if (!add) phibal_enclosure_set_si(value, 0);
  if (!add || !condition) phibal_enclosure_set_si(magnitude, 0);
  /*@ assert members: \forall sequence s;
        row_members{Pre}(x.value, place(i, x_row), x_column, inner, s) ==>
          row_members(x.value, place(i, x_row), x_column, inner, s); */
  /*@ assert conditions: \forall sequence s;
        row_members{Pre}(x.condition, place(i, x_row), x_column, inner, s) ==>
          row_members(x.condition, place(i, x_row), x_column, inner, s); */
  /*@ assert third: output(magnitude) && \separated(value, magnitude) &&
        (magnitude == t + 2 || (magnitude == condition && \separated(magnitude, t + 2))); */
  phibal_status status = chain_dot(inner, x, i * x_row, x_column, w.data + j * w.column_stride,
                                   w.row_stride, t, value, magnitude);
  //@ assert temporaries: output(t + 0) && output(t + 1) && output(t + 2);
  return status;
}

phibal_status ffn_chain_product(int64_t rows, int64_t inner, int64_t columns,
                                phibal_reference_result x, int64_t x_row, int64_t x_column,
                                phibal_reference_matrix w, bool add, phibal_enclosure *t,
                                phibal_reference_result result)
/*@ ghost (int64_t size) */ {
  //@ assert use_enclosure && use_place && open_place;
  if (!result.value) return PHIBAL_OK;
  const int64_t n = rows * columns;
  //@ assert size: n == place(rows, columns) && 0 <= n;
  //@ assert x_free: \forall integer i; 0 <= i < size ==> vector_apart(x.value + i, t, 3);
  /*@ assert x_condition_free: \forall integer i; 0 <= i < size ==>
        vector_apart(x.condition + i, t, 3); */
  /*@ assert x_apart: \forall integer i; 0 <= i < size ==>
        vector_apart(x.value + i, result.value, n); */
  /*@ assert x_apart_condition: \forall integer i; 0 <= i < size ==>
        optional_vector_apart(x.value + i, result.condition, n); */
  /*@ assert x_condition_apart: \forall integer i; 0 <= i < size ==>
        vector_apart(x.condition + i, result.value, n); */
  /*@ assert x_condition_apart_condition: \forall integer i; 0 <= i < size ==>
        optional_vector_apart(x.condition + i, result.condition, n); */
  /*@ assert value_free: \forall integer k; 0 <= k < n ==>
        vector_apart(result.value + k, t, 3); */
  /*@ assert condition_free: result.condition != \null ==> \forall integer k; 0 <= k < n ==>
        vector_apart(result.condition + k, t, 3); */
  /*@ assert grow: \forall phibal_enclosure *r, integer k; 0 <= k <= n &&
        result_apart(r, result, n) ==> result_apart(r, result, k); */
  /*@ loop invariant index: 0 <= m && (m <= n || m == 0);
      loop invariant outputs: vector_output(t, 3) && result_there(result, n);
      loop invariant frame: only_chain_written{Pre, Here}(t, result, m);
      loop invariant value: !add ==> \forall sequence s; members{Pre}(x.value, size, s) ==>
        chains_held(result.value, m, columns, inner, s, x_row, x_column, w.data, w.row_stride,
                    w.column_stride);
      loop invariant added: add ==> \forall sequence s, integer k, real c;
        members{Pre}(x.value, size, s) && 0 <= k < m && in{Pre}(result.value + k, c) ==>
          in(result.value + k, c + chain_entry(s, x_row, x_column, w.data, w.row_stride,
                                               w.column_stride, inner, columns, k));
      loop invariant condition: !add && result.condition != \null ==> \forall sequence s;
        members{Pre}(x.condition, size, s) ==>
          chain_magnitudes_held(result.condition, m, columns, inner, s, x_row, x_column, w.data,
                                w.row_stride, w.column_stride);
      loop invariant condition_added: add && result.condition != \null ==>
        \forall sequence s, integer k, real c;
          members{Pre}(x.condition, size, s) && 0 <= k < m && in{Pre}(result.condition + k, c) ==>
            in(result.condition + k,
               c + chain_magnitude_at(s, x_row, x_column, w.data, w.row_stride, w.column_stride,
                                      inner, columns, k));
      loop assigns m, t[0 .. 2], result.value[0 .. n - 1], result.condition[0 .. n - 1];
      loop variant n - m; */
  for (int64_t m = 0; m < n; m++) {
    /*@ assert index: 0 < columns && 0 <= m / columns < rows && 0 <= m % columns < columns; */
    /*@ ghost
      expert_column(w.data, w.row_stride, w.column_stride, inner, columns, m % columns); */
    /*@ assert inside: \forall integer l; 0 <= l < inner ==>
          0 <= place(m / columns, x_row) + place(l, x_column) < size; */
    phibal_enclosure *magnitude = result.condition ? &result.condition[m] : NULL;
    /*@ assert magnitude: (result.condition == \null && magnitude == \null) ||
          (result.condition != \null && magnitude == result.condition + m); */
    /*@ assert values_apart: \forall integer i; 0 <= i < n && i != m ==>
          \separated(result.value + i, result.value + m); */
    /*@ assert values_apart_condition: \forall integer i; 0 <= i < n ==>
          optional_apart(result.value + i, magnitude); */
    /*@ assert conditions_apart: result.condition != \null ==> \forall integer i;
          0 <= i < n ==> \separated(result.condition + i, result.value + m); */
    /*@ assert conditions_apart_condition: result.condition != \null ==> \forall integer i;
          0 <= i < n && i != m ==> \separated(result.condition + i, result.condition + m); */
    /*@ assert value_apart: \forall integer l; 0 <= l < inner ==>
          \separated(result.value + m, x.value + (place(m / columns, x_row) + place(l, x_column)));
     */
    /*@ assert value_apart_condition: \forall integer l; 0 <= l < inner ==>
          \separated(result.value + m,
                     x.condition + (place(m / columns, x_row) + place(l, x_column))); */
    /*@ assert condition_apart: \forall integer l; 0 <= l < inner ==>
          optional_apart(magnitude, x.value + (place(m / columns, x_row) + place(l, x_column))); */
    /*@ assert condition_apart_condition: \forall integer l; 0 <= l < inner ==>
          optional_apart(magnitude,
                         x.condition + (place(m / columns, x_row) + place(l, x_column))); */
    /*@ assert temporaries_apart: vector_apart(result.value + m, t, 3) &&
          (magnitude == \null || vector_apart(magnitude, t, 3)); */
    //@ assert later: vector_apart(result.value + m, result.value, m);
    //@ assert later_condition: optional_vector_apart(result.value + m, result.condition, m);
    //@ assert x_kept: vector_same{Pre, Here}(x.value, size);
    //@ assert x_condition_kept: vector_same{Pre, Here}(x.condition, size);
    //@ assert x_there: vector_input(x.value, size);
    //@ assert x_condition_there: vector_input(x.condition, size);
    /*@ assert members: \forall sequence s; members{Pre}(x.value, size, s) ==>
          row_members(x.value, place(m / columns, x_row), x_column, inner, s); */
    /*@ assert condition_members: \forall sequence s; members{Pre}(x.condition, size, s) ==>
          row_members(x.condition, place(m / columns, x_row), x_column, inner, s); */
    //@ assert there: row_there(x, place(m / columns, x_row), x_column, inner, t);
    //@ assert fresh: same{Pre, Here}(result.value + m);
    //@ assert later_magnitude: magnitude == \null || result_apart(magnitude, result, m);
    //@ assert fresh_condition: magnitude != \null ==> same{Pre, Here}(magnitude);
    //@ ghost before:;
    phibal_status status = chain_element(m, inner, columns, x, x_row, x_column, w, add, t,
                                         &result.value[m], magnitude);
    /*@ assert written: enclosure(result.value + m) &&
          (result.condition == \null || enclosure(result.condition + m)); */
    /*@ assert others: \forall integer i; 0 <= i < n && i != m ==>
          same{before, Here}(result.value + i); */
    /*@ assert conditions: result.condition != \null ==> \forall integer i;
          0 <= i < n && i != m ==> same{before, Here}(result.condition + i); */
    //@ assert outputs: vector_output(result.value, n) && optional_vector(result.condition, n);
    /*@ assert element: \forall phibal_enclosure *r; \valid_read{Pre}(r) &&
          vector_apart(r, t, 3) && result_apart(r, result, m + 1) ==> same{before, Here}(r); */
    /*@ assert earlier: \forall phibal_enclosure *r; \valid_read{Pre}(r) &&
          vector_apart(r, t, 3) && result_apart(r, result, m + 1) ==> same{Pre, before}(r); */
    //@ assert only: only_chain_written{Pre, Here}(t, result, m + 1);
    if (status != PHIBAL_OK) return status;
  }
  return PHIBAL_OK;
}
