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
    predicate row_members{L}(phibal_enclosure *x, integer from, integer stride, integer inner,
                             sequence s) =
      \forall integer l; 0 <= l < inner ==>
        in(x + (from + place(l, stride)), term(s, from + place(l, stride)));
    // e, which is element l of a row, holds what was a member of it
    predicate row_element{A, B}(phibal_enclosure *e, phibal_enclosure *x, integer from,
                                integer stride, integer inner, integer l) =
      \forall sequence s; row_members{A}(x, from, stride, inner, s) ==>
        in{B}(e, term(s, from + place(l, stride)));
    // members of a matrix's e are members of row i still
    predicate row_kept{A, B}(phibal_enclosure *e, ffn_matrix x, integer size, integer i,
                             integer inner) =
      \forall sequence s; members{A}(e, size, s) ==>
        row_members{B}(e, place(i, x.row_stride), x.column_stride, inner, s);
    // the first l terms of a row's product with w were added to z; and of its conditions' with |w|
    predicate sum_added{A, B}(phibal_enclosure *z, phibal_reference_result x, integer from,
                              integer stride, integer inner, float *w, integer q, integer l) =
      \forall sequence s, real c; row_members{A}(x.value, from, stride, inner, s) && in{A}(z, c) ==>
        in{B}(z, c + chain_sum{B}(s, from, stride, w, q, l));
    predicate magnitude_added{A, B}(phibal_enclosure *z, phibal_reference_result x, integer from,
                                    integer stride, integer inner, float *w, integer q,
                                    integer l) =
      \forall sequence s, real c;
        row_members{A}(x.condition, from, stride, inner, s) && in{A}(z, c) ==>
          in{B}(z, c + chain_magnitude{B}(s, from, stride, w, q, l));
    // z is none of the enclosures of row i of a matrix, nor of their conditions
    predicate apart_from_row(phibal_enclosure *z, ffn_matrix x, integer i, integer inner) =
      \forall integer l; 0 <= l < inner ==>
        \separated(z, x.entry.value + (place(i, x.row_stride) + place(l, x.column_stride))) &&
        \separated(z, x.entry.condition + (place(i, x.row_stride) + place(l, x.column_stride)));
*/

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
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && vector_apart(r, t, 2) &&
      \separated(r, z.value) && \separated(r, z.condition) ==> same{Pre, Here}(r);
    ensures status: \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures value: \result == PHIBAL_OK ==>
      sum_added{Pre, Here}(z.value, x, from, x_stride, n, w, w_stride, n);
    ensures condition: \result == PHIBAL_OK ==>
      magnitude_added{Pre, Here}(z.condition, x, from, x_stride, n, w, w_stride, n); */
static phibal_status chain_dot(int64_t n, phibal_reference_result x, int64_t from, int64_t x_stride,
                               const float *w, int64_t w_stride, phibal_enclosure *t,
                               phibal_reference_result z);

/*@ requires 0 <= m && 0 < columns;
    requires address(place(m / columns, x.row_stride)) && address(place(m % columns,
                                                                        w.column_stride));
    requires row_there(x.entry, place(m / columns, x.row_stride), x.column_stride, inner, t);
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
