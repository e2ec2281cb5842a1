/* The logic of the expert layer: what SPEC.md's section E says of matrices of binary32 numbers, as
   real numbers. ACSL only; after reference/operation.h. */
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
    predicate matrix_rows_finite{L}(float *data, integer row, integer column, integer rows,
                                    integer columns) =
      \forall integer i; 0 <= i < rows ==>
        (\forall integer j; 0 <= j < columns ==>
          \is_finite(data[place(i, row) + place(j, column)]));

    // element (i, j) of a product
    logic real product_entry{L}(phibal_reference_matrix a, phibal_reference_matrix b,
                                integer inner, integer i, integer j) =
      strided_dot(a.data + place(i, a.row_stride), a.column_stride,
                  b.data + place(j, b.column_stride), b.row_stride, inner);
    logic real product_magnitude{L}(phibal_reference_matrix a, phibal_reference_matrix b,
                                    integer inner, integer i, integer j) =
      strided_magnitude(a.data + place(i, a.row_stride), a.column_stride,
                        b.data + place(j, b.column_stride), b.row_stride, inner);

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

    // (E5), of one slot's gate
    logic real gate_gradient{L}(float *y, float *x, integer row, integer width) =
      row < 0 ? 0.0 : strided_dot(y, 1, x + place(row, width), 1, width);
    logic real gate_magnitude{L}(float *y, float *x, integer row, integer width) =
      row < 0 ? 0.0 : strided_magnitude(y, 1, x + place(row, width), 1, width);

    // sum_l s_l w_l
    logic real chain_sum{L}(sequence s, float *w, integer q, integer n) =
      n <= 0 ? 0.0 :
      chain_sum(s, w, q, n - 1) + term(s, n - 1) * (real)w[place(n - 1, q)];

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
    // of z[0..n-1], nothing but z[from .. to-1] was
    predicate only_part_written{A, B}(phibal_enclosure *z, integer n, integer from, integer to) =
      \forall integer i; 0 <= i < n && !(from <= i < to) ==> same{A, B}(z + i);
    // nothing but z[0..n-1] and w[0..n-1], where there are any, of what was in use
    predicate results_kept{A, B}(phibal_enclosure *z, phibal_enclosure *w, integer n) =
      \forall phibal_enclosure *r; \valid_read{A}(r) && in_use{A}(r) &&
        optional_vector_apart(r, z, n) && optional_vector_apart(r, w, n) ==> same{A, B}(r);
*/

/* A row that begins at p is row r of x. */
/*@ ghost
  /@ requires 0 <= n && finite_floats(p, n);
     requires \forall integer j; 0 <= j < n ==> p + j == x + element(r, n, j);
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures row_finite(x, r, n); @/
  void expert_row_finite(const float *p, const float *x, int64_t r, int64_t n) {
    /@ assert open_place; @/
    int64_t i = 0;
    /@ loop invariant 0 <= i <= n;
       loop invariant \forall integer j; 0 <= j < i ==> \is_finite(x[element(r, n, j)]);
       loop assigns i;
       loop variant n - i; @/
    while (i < n) {
      /@ assert \is_finite(p[i]) && p + i == x + element(r, n, i); @/
      /@ assert \is_finite(x[element(r, n, i)]); @/
      i++;
    }
  }
*/
/* Row r of x as a vector without gaps. */
/*@ ghost
  /@ requires 0 <= n && address(n) && p == x + place(r, n) && row_finite(x, r, n);
     requires \valid_read(p + (0 .. n - 1));
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures strided(p, n, 1); @/
  void expert_row_strided(const float *p, const float *x, int64_t r, int64_t n) {
    /@ assert open_place; @/
    int64_t i = 0;
    /@ loop invariant 0 <= i <= n;
       loop invariant strided(p, i, 1);
       loop assigns i;
       loop variant n - i; @/
    while (i < n) {
      /@ assert \is_finite(x[element(r, n, i)]) && p + place(i, 1) == x + element(r, n, i); @/
      i++;
    }
  }
*/

/* The end of the rows grows with the slots. */
/*@ ghost
  /@ requires 0 <= m <= n;
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures rows_end(row, m) <= rows_end(row, n); @/
  void expert_rows_grow(const int64_t *row, int64_t m, int64_t n) {
    int64_t i = m;
    /@ loop invariant m <= i <= n;
       loop invariant rows_end(row, m) <= rows_end(row, i);
       loop assigns i;
       loop variant n - i; @/
    while (i < n) {
      /@ assert rows_end(row, i + 1) ==
           (row[i] < rows_end(row, i) ? rows_end(row, i) : row[i] + 1); @/
      i++;
    }
  }
*/

/* A slot's row is before the end of all. */
/*@ ghost
  /@ requires 0 <= n;
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures 0 <= rows_end(row, n) && rows_before(row, n, rows_end(row, n)); @/
  void expert_rows_end(const int64_t *row, int64_t n) {
    int64_t i = 0;
    /@ loop invariant 0 <= i <= n;
       loop invariant 0 <= rows_end(row, i) && rows_before(row, i, rows_end(row, i));
       loop assigns i;
       loop variant n - i; @/
    while (i < n) {
      /@ assert rows_end(row, i + 1) ==
           (row[i] < rows_end(row, i) ? rows_end(row, i) : row[i] + 1); @/
      i++;
    }
  }
*/

#endif
