/* What the static functions of reference/expert.c promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_EXPERT_STATIC_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_EXPERT_STATIC_H

#ifdef __FRAMAC__
#include <phibal/acsl/expert_steps.h>
#include <phibal/acsl/routing.h>
#endif

/*@ requires 0 <= slots <= ROUTING_MAX_SLOTS && 0 <= e < experts_count < INT32_MAX;
    requires routes(experts, experts_count, slots) && n == routed_before(experts, e, slots);
    requires \valid_read(experts + (0 .. slots - 1)) && \valid(offsets + (0 .. experts_count));
    requires \valid(source + (0 .. slots - 1)) && \valid(row + (0 .. slots - 1));
    requires \separated(offsets + (0 .. experts_count), source + (0 .. slots - 1),
                        row + (0 .. slots - 1));
    terminates \true;
    exits \false;
    assigns offsets[e], source[0 .. slots - 1], row[0 .. slots - 1];
    ensures \result == n + routed(experts, e, slots) && offsets[e] == n;
    ensures \forall integer f; 0 <= f <= experts_count && f != e ==>
      offsets[f] == \old(offsets[f]);
    ensures \forall integer i; 0 <= i < slots ==>
      row[i] == (experts[i] == e ? n + routed(experts, e, i) : \old(row[i]));
    ensures \forall integer m; 0 <= m < n ==> source[m] == \old(source[m]);
    ensures \forall integer m; n <= m < \result ==>
      0 <= source[m] < slots && experts[source[m]] == e && row[source[m]] == m; */
static int64_t expert_place(int64_t slots, int32_t e, const int32_t *experts, int64_t n,
                            int64_t *offsets, int64_t *source, int64_t *row)
/*@ ghost (int32_t experts_count) */;

/*@ requires -ROUTING_MAX_SLOTS <= tokens * active <= ROUTING_MAX_SLOTS;
    requires experts_count < INT32_MAX;
    requires offsets != \null ==> \valid(offsets + (0 .. experts_count));
    requires experts != \null ==> \valid_read(experts + (0 .. tokens * active - 1));
    requires source != \null ==> \valid(source + (0 .. tokens * active - 1));
    requires row != \null ==> \valid(row + (0 .. tokens * active - 1));
    requires \separated(offsets + (0 .. experts_count), source + (0 .. tokens * active - 1),
                        row + (0 .. tokens * active - 1));
    terminates \true;
    exits \false;
    assigns offsets[0 .. experts_count], source[0 .. tokens * active - 1],
            row[0 .. tokens * active - 1];
    ensures \result == PHIBAL_OK || \result == PHIBAL_ERROR_ARGUMENT;
    ensures \result == PHIBAL_OK <==>
      tokens >= 0 && active >= 1 && experts_count >= 1 && offsets != \null &&
      (tokens * active > 0 ==> experts != \null && source != \null && row != \null) &&
      routes(experts, experts_count, tokens * active);
    ensures \result == PHIBAL_OK ==>
      permutation(experts, experts_count, tokens * active, offsets, source, row); */
phibal_status phibal_reference_permutation(int64_t tokens, int32_t active, int32_t experts_count,
                                           const int32_t *experts, int64_t *offsets,
                                           int64_t *source, int64_t *row);

/*@ requires 0 <= m && 0 < columns;
    requires address(place(m / columns, a.row_stride)) &&
      address(place(m % columns, b.column_stride));
    requires strided(a.data + place(m / columns, a.row_stride), inner, a.column_stride);
    requires strided(b.data + place(m % columns, b.column_stride), inner, b.row_stride);
    requires output(t) && output(product + m) && (condition == \null || output(condition + m));
    requires \separated(t, product + m);
    requires condition == \null ||
      (\separated(t, condition + m) && \separated(product + m, condition + m));
    terminates \true;
    exits \false;
    assigns *t, product[m], condition[m];
    ensures outputs: enclosure(t) && enclosure(product + m) &&
      (condition == \null || enclosure(condition + m));
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && \separated(r, t) &&
      \separated(r, product + m) && (condition == \null || \separated(r, condition + m)) ==>
        same{Pre, Here}(r);
    ensures status: \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures value: \result == PHIBAL_OK ==>
      in(product + m, strided_dot(a.data + place(m / columns, a.row_stride), a.column_stride,
                                  b.data + place(m % columns, b.column_stride), b.row_stride,
                                  inner));
    ensures magnitude: \result == PHIBAL_OK && condition != \null ==>
      in(condition + m, strided_magnitude(a.data + place(m / columns, a.row_stride),
                                          a.column_stride,
                                          b.data + place(m % columns, b.column_stride),
                                          b.row_stride, inner)); */
static phibal_status product_element(int64_t m, int64_t inner, int64_t columns,
                                     phibal_reference_matrix a, phibal_reference_matrix b,
                                     phibal_enclosure *t, phibal_enclosure *product,
                                     phibal_enclosure *condition);

/*@ requires 0 <= rows && 0 <= inner && 0 <= columns;
    requires 0 <= place(rows, columns) <= ROUTING_MAX_SLOTS;
    requires matrix_there(left.data, left.row_stride, left.column_stride, rows, inner) &&
      matrix_finite(left.data, left.row_stride, left.column_stride, rows, inner) &&
      (0 < rows && 0 < inner ==> left.data != \null);
    requires matrix_there(right.data, right.row_stride, right.column_stride, inner, columns) &&
      matrix_finite(right.data, right.row_stride, right.column_stride, inner, columns) &&
      (0 < inner && 0 < columns ==> right.data != \null);
    requires vector_output(product, place(rows, columns)) &&
      optional_vector(condition, place(rows, columns)) &&
      optional_vectors_apart(product, place(rows, columns), condition, place(rows, columns));
    requires MPFR_PREC_MIN <= precision <= MPFR_PREC_MAX;
    terminates \true;
    exits \false;
    assigns product[0 .. place(rows, columns) - 1], condition[0 .. place(rows, columns) - 1];
    ensures outputs: vector_output(product, place(rows, columns)) &&
      optional_vector(condition, place(rows, columns));
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) &&
      vector_apart(r, product, place(rows, columns)) &&
      optional_vector_apart(r, condition, place(rows, columns)) ==> same{Pre, Here}(r);
    ensures value: \result ==>
      dots_held(product, place(rows, columns), columns, inner, left.data, left.row_stride,
                left.column_stride, right.data, right.row_stride, right.column_stride);
    ensures magnitude: \result && condition != \null ==>
      magnitudes_held(condition, place(rows, columns), columns, inner, left.data,
                      left.row_stride, left.column_stride, right.data, right.row_stride,
                      right.column_stride); */
static bool product_all(int64_t rows, int64_t inner, int64_t columns, phibal_reference_matrix left,
                        phibal_reference_matrix right, mpfr_prec_t precision,
                        phibal_enclosure *product, phibal_enclosure *condition);

#endif
