/* What proofs of the expert layer do step by step. ACSL only; after reference/operation.h. */
#ifndef PHIBAL_ACSL_EXPERT_STEPS_H
#define PHIBAL_ACSL_EXPERT_STEPS_H

#include <phibal/acsl/expert.h>

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

/* Row i of a matrix, and column j, as vectors. */
/*@ ghost
  /@ requires matrix_there(x, row, column, rows, columns) && 0 <= i < rows;
     requires 0 < columns ==> x != \null;
     requires matrix_finite(x, row, column, rows, columns);
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures strided(x + place(i, row), columns, column) && address(place(i, row)); @/
  void expert_row(const float *x, int64_t row, int64_t column, int64_t rows, int64_t columns,
                  int64_t i) {
    /@ assert \forall integer j; 0 <= j < columns ==>
         \valid_read(x + (place(i, row) + place(j, column))) &&
         \is_finite(x[place(i, row) + place(j, column)]); @/
  }
*/
/*@ ghost
  /@ requires matrix_there(x, row, column, rows, columns) && 0 <= j < columns;
     requires 0 < rows ==> x != \null;
     requires matrix_finite(x, row, column, rows, columns);
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures strided(x + place(j, column), rows, row) && address(place(j, column)); @/
  void expert_column(const float *x, int64_t row, int64_t column, int64_t rows, int64_t columns,
                     int64_t j) {
    /@ assert \forall integer i; 0 <= i < rows ==>
         \valid_read(x + (place(i, row) + place(j, column))) &&
         \is_finite(x[place(i, row) + place(j, column)]); @/
  }
*/

/* After a combine's check every slot's row is there. */
/*@ ghost
  /@ requires combine_there(tokens, active, width, row, x);
     requires combine_ready(tokens, active, width, row, x);
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures slots_there(row, place(tokens, active), width, x); @/
  void expert_slots(int64_t tokens, int32_t active, int64_t width, const int64_t *row,
                    const float *x) {
    /@ assert open_place && use_place; @/
    int64_t n = tokens * active;
    /@ assert n == place(tokens, active); @/
    expert_rows_end(row, n);
    /@ assert \forall integer i; 0 <= i < n && 0 <= row[i] ==> 0 <= place(row[i], width) &&
         place(row[i], width) + width <= slots_size(row, n, width); @/
  }
*/
/* A matrix without gaps, as a vector. */
/*@ ghost
  /@ requires 0 <= rows && 0 <= columns && matrix_there(x, columns, 1, rows, columns);
     requires matrix_finite(x, columns, 1, rows, columns);
     requires 0 < rows && 0 < columns ==> x != \null;
     requires address(place(rows, columns));
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures floats_there(x, place(rows, columns)); @/
  void expert_plain(const float *x, int64_t rows, int64_t columns) {
    /@ assert open_place && use_place; @/
    int64_t n = rows * columns;
    /@ assert n == place(rows, columns); @/
    int64_t k = 0;
    /@ loop invariant 0 <= k <= n;
       loop invariant \forall integer i; 0 <= i < k ==> \valid_read(x + i) && \is_finite(x[i]);
       loop assigns k;
       loop variant n - k; @/
    while (k < n) {
      /@ assert 0 < columns && 0 <= k / columns < rows && 0 <= k % columns < columns; @/
      /@ assert place(k / columns, columns) + place(k % columns, 1) == k; @/
      /@ assert \valid_read(x + (place(k / columns, columns) + place(k % columns, 1))) &&
           \is_finite(x[place(k / columns, columns) + place(k % columns, 1)]); @/
      k++;
    }
    /@ assert last: 0 < n ==> \valid_read(x + 0) && \valid_read(x + (n - 1)); @/
  }
*/
#endif
