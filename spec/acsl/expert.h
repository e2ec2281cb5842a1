/* The logic of the expert layer: what SPEC.md's section E says of matrices of binary32 numbers, as
   real numbers. ACSL only.

   A matrix is a vector of its rows: element m of one with n columns is element m % n of row m / n. */
#ifndef PHIBAL_ACSL_EXPERT_H
#define PHIBAL_ACSL_EXPERT_H

#include <phibal/acsl/activation.h>
#include <phibal/acsl/product.h>
#include <phibal/acsl/routing.h>

/*@ // i stride and i n + j, as terms to match on: where element i lies, and where row i of a matrix
    // begins; where element (i, j) of one with rows of n lies
    axiomatic Place {
      logic integer place(integer i, integer stride);
      logic integer element(integer i, integer n, integer j);
    }
    axiomatic PlaceDefinition {
      predicate open_place;
      axiom place_opened: open_place;
      axiom place_is: \forall integer i, stride; place(i, stride) == i * stride;
      axiom element_is: \forall integer i, n, j; element(i, n, j) == i * n + j;
    }
    axiomatic PlaceUse {
      predicate use_place;
      axiom place_used: use_place;
      LEMMA product_sign: \forall integer i, n; 0 <= i && 0 <= n ==> 0 <= i * n;
      LEMMA place_first: GIVEN(open_place) \forall integer n; place(0, n) == 0;
      LEMMA place_plain: GIVEN(open_place) \forall integer i; place(i, 1) == i;
      // row i ends where a later row begins, or before
      LEMMA place_ends: GIVEN(open_place) \forall integer i, m, n; 0 <= i < m && 0 <= n ==>
        0 <= place(i, n) && 0 <= (m - i - 1) * n && place(i, n) + n <= place(m, n);
      LEMMA element_inside: GIVEN(open_place && use_place) \forall integer i, n, j, m;
        0 <= i < m && 0 <= j < n ==> 0 <= element(i, n, j) < place(m, n);
      LEMMA quotient_at_most: \forall integer m, n; 0 <= m && 0 < n ==>
        0 <= m / n <= m && 0 <= m % n < n;
      LEMMA index_whole: GIVEN(open_place) \forall integer m, rows, n;
        0 <= m < place(rows, n) && 0 <= n ==> place(m / n, n) + m % n == m;
      LEMMA place_at_most: GIVEN(open_place) \forall integer m, n, k;
        0 <= m && 0 < n && 0 <= k && m <= k / n ==> place(m, n) <= k;
      LEMMA index_inside: GIVEN(open_place) \forall integer m, rows, n;
        0 <= m < place(rows, n) && 0 <= n ==>
          0 < n && 0 <= m / n < rows && 0 <= m % n < n;
    }
    predicate address(integer i) = INT64_MIN <= i <= INT64_MAX;

    // a column or row of n elements: they are there, and finite
    predicate strided{L}(float *x, integer n, integer stride) =
      \forall integer i; 0 <= i < n ==>
        \valid_read(x + place(i, stride)) && \is_finite(x[place(i, stride)]) &&
        address(place(i, stride));
    // sum_i x_i y_i, and of absolute values
    logic real strided_dot{L}(float *x, integer p, float *y, integer q, integer n) =
      n <= 0 ? 0.0 :
      strided_dot(x, p, y, q, n - 1) + (real)x[place(n - 1, p)] * (real)y[place(n - 1, q)];
    logic real strided_magnitude{L}(float *x, integer p, float *y, integer q, integer n) =
      n <= 0 ? 0.0 :
      strided_magnitude(x, p, y, q, n - 1) +
        \abs((real)x[place(n - 1, p)] * (real)y[place(n - 1, q)]);

    // a matrix with these strides: its elements are there, where data is not null; are finite
    predicate matrix_there{L}(float *data, integer row, integer column, integer rows,
                              integer columns) =
      (\forall integer i; 0 <= i < rows ==> address(place(i, row))) &&
      (\forall integer j; 0 <= j < columns ==> address(place(j, column))) &&
      (data != \null ==> \forall integer i, j; 0 <= i < rows && 0 <= j < columns ==>
        \valid_read(data + (place(i, row) + place(j, column))) &&
        address(place(i, row) + place(j, column)));
    predicate matrix_finite{L}(float *data, integer row, integer column, integer rows,
                               integer columns) =
      \forall integer i, j; 0 <= i < rows && 0 <= j < columns ==>
        \is_finite(data[place(i, row) + place(j, column)]);

    // z[0..n-1] hold the first n elements of a product X W, X with strides p, p_in and W with q_in, q
    predicate dots_held{L}(phibal_enclosure *z, integer n, integer columns, integer inner,
                           float *x, integer p, integer p_in, float *w, integer q_in, integer q) =
      \forall integer m; 0 <= m < n ==>
        in(z + m, strided_dot(x + place(m / columns, p), p_in,
                              w + place(m % columns, q), q_in, inner));
    // and of |X| |W|
    predicate magnitudes_held{L}(phibal_enclosure *z, integer n, integer columns, integer inner,
                                 float *x, integer p, integer p_in,
                                 float *w, integer q_in, integer q) =
      \forall integer m; 0 <= m < n ==>
        in(z + m, strided_magnitude(x + place(m / columns, p), p_in,
                                    w + place(m % columns, q), q_in, inner));

    // after the last row that one of the slots has
    logic integer rows_end{L}(int64_t *row, integer n) =
      n <= 0 ? 0 :
      row[n - 1] < rows_end(row, n - 1) ? rows_end(row, n - 1) : row[n - 1] + 1;
    // the elements of all rows
    logic integer slots_size{L}(int64_t *row, integer n, integer width) =
      place(rows_end(row, n), width);
    predicate rows_before{L}(int64_t *row, integer n, integer end) =
      \forall integer i; 0 <= i < n ==> row[i] < end;
    // width elements of x in each row that a slot has, and finite
    predicate row_finite{L}(float *x, integer row, integer width) =
      \forall integer j; 0 <= j < width ==> \is_finite(x[element(row, width, j)]);
    predicate slots_finite{L}(int64_t *row, integer n, integer width, float *x) =
      \forall integer i; 0 <= i < n && 0 <= row[i] ==> row_finite(x, row[i], width);

    predicate floats_there{L}(float *x, integer n) =
      \valid_read(x + (0 .. n - 1)) && (\forall integer i; 0 <= i < n ==> \is_finite(x[i]));
    // a slot's row of x, if it has one, is there, and finite
    predicate slot_there{L}(float *x, integer row, integer width) =
      0 <= row ==> 0 <= place(row, width) && place(row, width) + width <= ROUTING_MAX_SLOTS &&
        \valid_read(x + (place(row, width) .. place(row, width) + width - 1)) &&
        row_finite(x, row, width);
    predicate slots_there{L}(int64_t *row, integer n, integer width, float *x) =
      \forall integer i; 0 <= i < n ==> slot_there(x, row[i], width);
    // what is there of a combine's arguments, where it is not null
    predicate combine_there{L}(integer tokens, integer active, integer width, int64_t *row,
                               float *x) =
      0 <= tokens && 1 <= active && 0 <= width && row != \null ==>
        place(tokens, active) <= ROUTING_MAX_SLOTS &&
        \valid_read(row + (0 .. place(tokens, active) - 1)) &&
        slots_size(row, place(tokens, active), width) <= ROUTING_MAX_SLOTS &&
        (x != \null ==>
           \valid_read(x + (0 .. slots_size(row, place(tokens, active), width) - 1)));
    // and what a check adds
    predicate combine_ready{L}(integer tokens, integer active, integer width, int64_t *row,
                               float *x) =
      0 <= tokens && 1 <= active && 0 <= width &&
      (0 < tokens ==> row != \null && (0 < width ==> x != \null)) &&
      slots_finite(row, place(tokens, active), width, x);

    // (E4), of one element: gates (where there are some) times the rows of x; padding adds nothing
    logic real before_of{L}(float *before) = before == \null ? 0.0 : (real)*before;
    logic real before_at{L}(float *before, integer i) =
      before == \null ? 0.0 : (real)before[i];
    logic real combine_term{L}(int64_t *row, float *gates, float *x, integer width,
                               integer column, integer s) =
      row[s] < 0 ? 0.0 :
      gates == \null ? (real)x[element(row[s], width, column)]
                     : (real)gates[s] * (real)x[element(row[s], width, column)];
    logic real combined{L}(int64_t *row, float *gates, float *x, integer width, integer column,
                           real before, integer first, integer n) =
      n <= 0 ? before :
      combined(row, gates, x, width, column, before, first, n - 1) +
        combine_term(row, gates, x, width, column, first + n - 1);
    logic real combined_magnitude{L}(int64_t *row, float *gates, float *x, integer width,
                                     integer column, real before, integer first, integer n) =
      n <= 0 ? \abs(before) :
      combined_magnitude(row, gates, x, width, column, before, first, n - 1) +
        \abs(combine_term(row, gates, x, width, column, first + n - 1));

    // y[0..n-1] hold the first n elements of (E4), of tokens with `active` slots each
    predicate combined_held{L}(phibal_enclosure *y, integer n, int64_t *row, float *gates, float *x,
                               float *before, integer active, integer width) =
      \forall integer m; 0 <= m < n ==>
        in(y + m, combined(row, gates, x, width, m % width, before_at(before, m),
                           place(m / width, active), active));
    predicate combined_magnitudes_held{L}(phibal_enclosure *y, integer n, int64_t *row,
                                          float *gates, float *x, float *before,
                                          integer active, integer width) =
      \forall integer m; 0 <= m < n ==>
        in(y + m, combined_magnitude(row, gates, x, width, m % width, before_at(before, m),
                                     place(m / width, active), active));

    // (E5), of one slot's gate
    logic real gate_gradient{L}(float *y, float *x, integer row, integer width) =
      row < 0 ? 0.0 : strided_dot(y, 1, x + place(row, width), 1, width);
    logic real gate_magnitude{L}(float *y, float *x, integer row, integer width) =
      row < 0 ? 0.0 : strided_magnitude(y, 1, x + place(row, width), 1, width);

    // of the first n slots: y's row m / active is that of slot m's token
    predicate gate_gradients_held{L}(phibal_enclosure *z, integer n, int64_t *row, float *x,
                                     float *y, integer active, integer width) =
      \forall integer m; 0 <= m < n ==>
        in(z + m, gate_gradient(y + place(m / active, width), x, row[m], width));
    predicate gate_magnitudes_held{L}(phibal_enclosure *z, integer n, int64_t *row, float *x,
                                      float *y, integer active, integer width) =
      \forall integer m; 0 <= m < n ==>
        in(z + m, gate_magnitude(y + place(m / active, width), x, row[m], width));
    // no row belongs to two slots
    predicate rows_distinct{L}(int64_t *row, integer n) =
      \forall integer i, j; 0 <= i < j < n && 0 <= row[i] && 0 <= row[j] ==> row[i] != row[j];
    logic real scaled{L}(real gate, float *y, integer j) = gate * (real)y[j];
    predicate row_gradient_held{L}(phibal_enclosure *z, integer row, float *y, real gate,
                                   integer width) =
      \forall integer j; 0 <= j < width ==>
        in(z + (place(row, width) + j), scaled(gate, y, j));
    predicate row_gradients_held{L}(phibal_enclosure *z, integer n, int64_t *row, float *gates,
                                    float *y, integer active, integer width) =
      \forall integer m; 0 <= m < n && 0 <= row[m] ==>
        row_gradient_held(z, row[m], y + place(m / active, width), (real)gates[m], width);

    // a vector that may be null
    predicate optional_vector{L}(phibal_enclosure *z, integer n) =
      z == \null || vector_output(z, n);
    predicate optional_vector_apart(phibal_enclosure *r, phibal_enclosure *z, integer n) =
      z == \null || vector_apart(r, z, n);
    predicate optional_vectors_apart(phibal_enclosure *z, integer n, phibal_enclosure *w,
                                     integer m) =
      z == \null || w == \null || vectors_apart(z, n, w, m);
    predicate optional_vector_in_use{L}(phibal_enclosure *z, integer n) =
      z == \null || vector_in_use(z, n);
    // places for the gradients of rows and gates, each where it is wanted, apart from one another
    predicate gradients_there{L}(int64_t *row, integer slots, integer width, phibal_enclosure *x,
                                 phibal_enclosure *d, phibal_enclosure *m) =
      optional_vector(x, slots_size(row, slots, width)) && optional_vector(d, slots) &&
      optional_vector(m, slots) &&
      optional_vectors_apart(d, slots, x, slots_size(row, slots, width)) &&
      optional_vectors_apart(m, slots, x, slots_size(row, slots, width)) &&
      optional_vectors_apart(d, slots, m, slots);
    // nothing but t, z, and w where there is one, was written
    predicate only_pair_written{A, B}(phibal_enclosure *t, phibal_enclosure *z,
                                      phibal_enclosure *w) =
      \forall phibal_enclosure *r; \valid_read{A}(r) && \separated(r, t) && \separated(r, z) &&
        optional_apart(r, w) ==> same{A, B}(r);
    // nothing but t, z[0..n-1], and w[0..n-1] where there is one, was
    predicate only_vectors_written{A, B}(phibal_enclosure *t, phibal_enclosure *z,
                                         phibal_enclosure *w, integer n) =
      \forall phibal_enclosure *r; \valid_read{A}(r) && \separated(r, t) &&
        vector_apart(r, z, n) && optional_vector_apart(r, w, n) ==> same{A, B}(r);
    // nothing but z[0..n-1] and w[0..n-1], where there are any, of what was in use
    predicate results_kept{A, B}(phibal_enclosure *z, phibal_enclosure *w, integer n) =
      \forall phibal_enclosure *r; \valid_read{A}(r) && in_use{A}(r) &&
        optional_vector_apart(r, z, n) && optional_vector_apart(r, w, n) ==> same{A, B}(r);
*/

#endif
