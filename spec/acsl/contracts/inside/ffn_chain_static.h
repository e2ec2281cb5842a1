/* What the static functions of reference/ffn_chain.c promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_FFN_CHAIN_STATIC_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_FFN_CHAIN_STATIC_H

/*@ // of the inner enclosures of a row, with their conditions: they are there, and apart from t
    predicate row_there{L}(phibal_reference_result x, integer from, integer stride, integer inner,
                           phibal_enclosure *t) =
      \forall integer l; 0 <= l < inner ==> address(place(l, stride)) &&
        address(from + place(l, stride)) &&
        input(x.value + (from + place(l, stride))) &&
        input(x.condition + (from + place(l, stride))) &&
        vector_apart(x.value + (from + place(l, stride)), t, 3) &&
        vector_apart(x.condition + (from + place(l, stride)), t, 3);
    predicate row_members{L}(phibal_enclosure *x, integer from, integer stride, integer inner,
                             sequence s) =
      \forall integer l; 0 <= l < inner ==>
        in(x + (from + place(l, stride)), term(s, from + place(l, stride)));
*/

/*@ requires \is_finite(x);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \is_finite(\result) && (real)\result == absolute((real)x); */
static double magnitude_of(double x);

/*@ requires row_there(x, from, x_stride, n, t) && address(from);
    requires \forall integer l; 0 <= l < n ==>
      \separated(value, x.value + (from + place(l, x_stride))) &&
      \separated(value, x.condition + (from + place(l, x_stride))) &&
      \separated(condition, x.value + (from + place(l, x_stride))) &&
      \separated(condition, x.condition + (from + place(l, x_stride)));
    requires strided(w, n, w_stride);
    requires vector_output(t, 2) && output(value) && output(condition);
    requires vector_apart(value, t, 2) && vector_apart(condition, t, 2) &&
      \separated(value, condition);
    terminates \true;
    exits \false;
    assigns t[0 .. 1], *value, *condition;
    ensures outputs: vector_output(t, 2) && enclosure(value) && enclosure(condition);
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && vector_apart(r, t, 2) &&
      \separated(r, value) && \separated(r, condition) ==> same{Pre, Here}(r);
    ensures status: \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures value: \result == PHIBAL_OK ==> \forall sequence s, real c;
      row_members{Pre}(x.value, from, x_stride, n, s) && in{Pre}(value, c) ==>
        in(value, c + chain_sum(s, from, x_stride, w, w_stride, n));
    ensures condition: \result == PHIBAL_OK ==> \forall sequence s, real c;
      row_members{Pre}(x.condition, from, x_stride, n, s) && in{Pre}(condition, c) ==>
        in(condition, c + chain_magnitude(s, from, x_stride, w, w_stride, n)); */
static phibal_status chain_dot(int64_t n, phibal_reference_result x, int64_t from, int64_t x_stride,
                               const float *w, int64_t w_stride, phibal_enclosure *t,
                               phibal_enclosure *value, phibal_enclosure *condition);

/*@ requires 0 <= m && 0 < columns;
    requires address(place(m / columns, x_row)) && address(place(m % columns, w.column_stride));
    requires row_there(x, place(m / columns, x_row), x_column, inner, t);
    requires \forall integer l; 0 <= l < inner ==>
      \separated(value, x.value + (place(m / columns, x_row) + place(l, x_column))) &&
      \separated(value, x.condition + (place(m / columns, x_row) + place(l, x_column))) &&
      optional_apart(condition, x.value + (place(m / columns, x_row) + place(l, x_column))) &&
      optional_apart(condition, x.condition + (place(m / columns, x_row) + place(l, x_column)));
    requires strided(w.data + place(m % columns, w.column_stride), inner, w.row_stride);
    requires vector_output(t, 3) && output(value) && optional(condition);
    requires vector_apart(value, t, 3) && (condition == \null || vector_apart(condition, t, 3)) &&
      optional_apart(value, condition);
    terminates \true;
    exits \false;
    assigns t[0 .. 2], *value, *condition;
    ensures outputs: vector_output(t, 3) && enclosure(value) && optional(condition);
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && vector_apart(r, t, 3) &&
      \separated(r, value) && optional_apart(r, condition) ==> same{Pre, Here}(r);
    ensures status: \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures value: \result == PHIBAL_OK && !add ==> \forall sequence s;
      row_members{Pre}(x.value, place(m / columns, x_row), x_column, inner, s) ==>
        in(value, chain_entry(s, x_row, x_column, w.data, w.row_stride, w.column_stride, inner,
                              columns, m));
    ensures added: \result == PHIBAL_OK && add ==> \forall sequence s, real c;
      row_members{Pre}(x.value, place(m / columns, x_row), x_column, inner, s) &&
      in{Pre}(value, c) ==>
        in(value, c + chain_entry(s, x_row, x_column, w.data, w.row_stride, w.column_stride,
                                  inner, columns, m));
    ensures condition: \result == PHIBAL_OK && !add && condition != \null ==> \forall sequence s;
      row_members{Pre}(x.condition, place(m / columns, x_row), x_column, inner, s) ==>
        in(condition, chain_magnitude_at(s, x_row, x_column, w.data, w.row_stride, w.column_stride,
                                         inner, columns, m));
    ensures condition_added: \result == PHIBAL_OK && add && condition != \null ==>
      \forall sequence s, real c;
        row_members{Pre}(x.condition, place(m / columns, x_row), x_column, inner, s) &&
        in{Pre}(condition, c) ==>
          in(condition, c + chain_magnitude_at(s, x_row, x_column, w.data, w.row_stride,
                                               w.column_stride, inner, columns, m)); */
static phibal_status chain_element(int64_t m, int64_t inner, int64_t columns,
                                   phibal_reference_result x, int64_t x_row, int64_t x_column,
                                   phibal_reference_matrix w, bool add, phibal_enclosure *t,
                                   phibal_enclosure *value, phibal_enclosure *condition);

#endif
