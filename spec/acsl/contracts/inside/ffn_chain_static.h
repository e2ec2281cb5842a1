/* What the static functions of reference/ffn_chain.c promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_FFN_CHAIN_STATIC_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_FFN_CHAIN_STATIC_H

#ifdef __FRAMAC__
#include <phibal/acsl/ffn_chain_steps.h>
#endif

/*@ // of the inner enclosures of a row, with their conditions: they are there, and apart from t
    predicate row_there{L}(phibal_reference_result x, integer from, integer stride, integer inner,
                           phibal_enclosure *t) =
      \forall integer l; 0 <= l < inner ==> address(place(l, stride)) &&
        address(from + place(l, stride)) &&
        input(x.value + (from + place(l, stride))) &&
        input(x.condition + (from + place(l, stride))) &&
        vector_apart(x.value + (from + place(l, stride)), t, 3) &&
        vector_apart(x.condition + (from + place(l, stride)), t, 3);
    predicate row_ready{L}(ffn_matrix x, integer i, integer inner, phibal_enclosure *t) =
      row_there(x.entry, place(i, x.row_stride), x.column_stride, inner, t);
    // nothing but t[0..1] and an element of a result was written
    predicate only_dot_written{A, B}(phibal_enclosure *t, phibal_reference_result z) =
      \forall phibal_enclosure *r; \valid_read{A}(r) && vector_apart(r, t, 2) &&
        \separated(r, z.value) && \separated(r, z.condition) ==> same{A, B}(r);
    predicate row_members{L}(phibal_enclosure *x, integer from, integer stride, integer inner,
                             sequence s) =
      \forall integer l; 0 <= l < inner ==>
        in(x + (from + place(l, stride)), term(s, from + place(l, stride)));
    // members of a matrix's e are members of row i still
    predicate row_kept{A, B}(phibal_enclosure *e, ffn_matrix x, integer size, integer i,
                             integer inner) =
      \forall sequence s; members{A}(e, size, s) ==>
        row_members{B}(e, place(i, x.row_stride), x.column_stride, inner, s);
    // z is none of the enclosures of row i of a matrix, nor of their conditions
    predicate apart_from_row(phibal_enclosure *z, ffn_matrix x, integer i, integer inner) =
      \forall integer l; 0 <= l < inner ==>
        \separated(z, x.entry.value + (place(i, x.row_stride) + place(l, x.column_stride))) &&
        \separated(z, x.entry.condition + (place(i, x.row_stride) + place(l, x.column_stride)));
*/

/* Within chain_dot: e, which is element l of row v, holds what was a member of it; the sum of the
   first l terms of row v was added to e. */
#define ROW_ELEMENT(e, v)                                                                          \
  \forall sequence s; row_members{Pre}(v, from, x_stride, n, s) ==>                                \
    in(e, term(s, from + place(l, x_stride)))
#define TERMS_ADDED(e, v, sum, l)                                                                  \
  \forall sequence s, real c; row_members{Pre}(v, from, x_stride, n, s) && in{Pre}(e, c) ==>       \
    in(e, c + sum(s, from, x_stride, w, w_stride, l))

/*@ requires \is_finite(x);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \is_finite(\result) && (real)\result == absolute((real)x); */
static double magnitude_of(double x);

/*@ requires row_there(x, from, x_stride, n, t) && address(from);
    requires \forall integer l; 0 <= l < n ==>
      \separated(z.value, x.value + (from + place(l, x_stride))) &&
      \separated(z.value, x.condition + (from + place(l, x_stride))) &&
      \separated(z.condition, x.value + (from + place(l, x_stride))) &&
      \separated(z.condition, x.condition + (from + place(l, x_stride)));
    requires strided(w, n, w_stride);
    requires vector_output(t, 2) && output(z.value) && output(z.condition);
    requires vector_apart(z.value, t, 2) && vector_apart(z.condition, t, 2) &&
      \separated(z.value, z.condition);
    terminates \true;
    exits \false;
    assigns t[0 .. 1], *z.value, *z.condition;
    ensures outputs: vector_output(t, 2) && enclosure(z.value) && enclosure(z.condition);
    ensures frame: only_dot_written{Pre, Here}(t, z);
    ensures status: \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures value: \result == PHIBAL_OK ==>
      TERMS_ADDED(z.value, x.value, chain_sum, n);
    ensures condition: \result == PHIBAL_OK ==>
      TERMS_ADDED(z.condition, x.condition, chain_magnitude, n); */
static phibal_status chain_dot(int64_t n, phibal_reference_result x, int64_t from, int64_t x_stride,
                               const float *w, int64_t w_stride, phibal_enclosure *t,
                               phibal_reference_result z);

/*@ requires 0 <= m && 0 < columns;
    requires address(place(m / columns, x.row_stride)) && address(place(m % columns,
                                                                        w.column_stride));
    requires row_ready(x, m / columns, inner, t);
    requires apart_from_row(z.value, x, m / columns, inner) &&
      (z.condition != \null ==> apart_from_row(z.condition, x, m / columns, inner));
    requires strided(w.data + place(m % columns, w.column_stride), inner, w.row_stride);
    requires vector_output(t, 3) && output(z.value) && optional(z.condition);
    requires vector_apart(z.value, t, 3) && (z.condition == \null || vector_apart(z.condition, t,
                                                                                  3)) &&
      optional_apart(z.value, z.condition);
    terminates \true;
    exits \false;
    assigns t[0 .. 2], *z.value, *z.condition;
    ensures outputs: vector_output(t, 3) && enclosure(z.value) && optional(z.condition);
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && vector_apart(r, t, 3) &&
      \separated(r, z.value) && optional_apart(r, z.condition) ==> same{Pre, Here}(r);
    ensures status: \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures value: \result == PHIBAL_OK && !add ==> \forall sequence s;
      row_members{Pre}(x.entry.value, place(m / columns, x.row_stride), x.column_stride, inner,
                       s) ==>
        in(z.value, chain_entry(s, x.row_stride, x.column_stride, w.data, w.row_stride,
                                w.column_stride, inner, columns, m));
    ensures added: \result == PHIBAL_OK && add ==> \forall sequence s, real c;
      row_members{Pre}(x.entry.value, place(m / columns, x.row_stride), x.column_stride, inner,
                       s) &&
      in{Pre}(z.value, c) ==>
        in(z.value, c + chain_entry(s, x.row_stride, x.column_stride, w.data, w.row_stride,
                                    w.column_stride, inner, columns, m));
    ensures condition: \result == PHIBAL_OK && !add && z.condition != \null ==> \forall sequence s;
      row_members{Pre}(x.entry.condition, place(m / columns, x.row_stride), x.column_stride, inner,
                       s) ==>
        in(z.condition, chain_magnitude_at(s, x.row_stride, x.column_stride, w.data, w.row_stride,
                                           w.column_stride, inner, columns, m));
    ensures condition_added: \result == PHIBAL_OK && add && z.condition != \null ==>
      \forall sequence s, real c;
        row_members{Pre}(x.entry.condition, place(m / columns, x.row_stride), x.column_stride,
                         inner, s) &&
        in{Pre}(z.condition, c) ==>
          in(z.condition, c + chain_magnitude_at(s, x.row_stride, x.column_stride, w.data,
                                                 w.row_stride, w.column_stride, inner, columns,
                                                 m)); */
static phibal_status chain_element(int64_t m, int64_t inner, int64_t columns, ffn_matrix x,
                                   phibal_reference_matrix w, bool add, phibal_enclosure *t,
                                   phibal_reference_result z);

#endif
