/* The expert layer around the FFN: permutation (E1), matrix products. */
#include "expert.h"
#include <stdbool.h>

#include <phibal/acsl/contracts/inside/expert_static.h>

/* The rows of expert e, from n on, for its slots in their order; returns the row after the last. */
static int64_t expert_place(int64_t slots, int32_t e, const int32_t *experts, int64_t n,
                            int64_t *offsets, int64_t *source, int64_t *row)
/*@ ghost (int32_t experts_count) */ {
  offsets[e] = n;
  //@ ghost routing_counts(experts, slots);
  //@ ghost int64_t first = n;
  /*@ loop invariant 0 <= i <= slots && n == first + routed(experts, e, i);
      loop invariant offsets[e] == first && \forall integer f; 0 <= f <= experts_count &&
        f != e ==> offsets[f] == \at(offsets[f], Pre);
      loop invariant \forall integer j; 0 <= j < slots ==> row[j] ==
        (experts[j] == e && j < i ? first + routed(experts, e, j) : \at(row[j], Pre));
      loop invariant \forall integer m; 0 <= m < first ==> source[m] == \at(source[m], Pre);
      loop invariant \forall integer m; first <= m < n ==>
        0 <= source[m] < i && experts[source[m]] == e && row[source[m]] == m;
      loop assigns i, n, source[0 .. slots - 1], row[0 .. slots - 1];
      loop variant slots - i; */
  for (int64_t i = 0; i < slots; i++) {
    //@ assert routed(experts, e, i + 1) == routed(experts, e, i) + (experts[i] == e ? 1 : 0);
    if (experts[i] != e) continue;
    //@ assert 0 <= n < routed_before(experts, e + 1, slots) <= slots;
    source[n] = i;
    row[i] = n++;
  }
  return n;
}

/* (E1): the definition, one expert after the other; O(E T k). */
phibal_status phibal_reference_permutation(int64_t tokens, int32_t active, int32_t experts_count,
                                           const int32_t *experts, int64_t *offsets,
                                           int64_t *source, int64_t *row) {
  const char *name = "phibal_reference_permutation";
  int64_t slots = tokens * active, n = 0;
  if (tokens < 0 || active < 1 || experts_count < 1 || !offsets ||
      (slots > 0 && (!experts || !source || !row)))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null argument or bad shape", name);
  /*@ loop invariant 0 <= i <= slots && routes(experts, experts_count, i);
      loop invariant \forall integer j; 0 <= j < i ==> row[j] == -1;
      loop assigns i, row[0 .. slots - 1];
      loop variant slots - i; */
  for (int64_t i = 0; i < slots; i++) {
    if (experts[i] < -1 || experts[i] >= experts_count)
      return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                               "%s: token %lld, slot %lld has expert %d; it must be -1 to %d", name,
                               (long long)(i / active), (long long)(i % active), (int)experts[i],
                               (int)experts_count - 1);
    row[i] = -1;
  }
  //@ ghost routing_counts(experts, slots);
  /*@ loop invariant 0 <= e <= experts_count && n == routed_before(experts, e, slots);
      loop invariant \forall integer f; 0 <= f < e ==>
        offsets[f] == routed_before(experts, f, slots);
      loop invariant \forall integer i; 0 <= i < slots ==> row[i] ==
        (0 <= experts[i] < e
           ? routed_before(experts, experts[i], slots) + routed(experts, experts[i], i) : -1);
      loop invariant counted_sources(experts, e, slots, source, row);
      loop assigns e, n, offsets[0 .. experts_count], source[0 .. slots - 1], row[0 .. slots - 1];
      loop variant experts_count - e; */
  for (int32_t e = 0; e < experts_count; e++)
    n = expert_place(slots, e, experts, n, offsets, source, row) /*@ ghost (experts_count) */;
  //@ ghost filled:;
  offsets[experts_count] = n;
  //@ assert \forall integer i; 0 <= i < slots ==> row[i] == \at(row[i], filled);
  //@ assert \forall integer i; 0 <= i < slots ==> source[i] == \at(source[i], filled);
  //@ assert expert_offsets(experts, experts_count, slots, offsets);
  //@ assert counted_rows(experts, slots, row);
  //@ assert counted_sources(experts, experts_count, slots, source, row);
  //@ ghost routing_permutation(experts, experts_count, slots, offsets, source, row);
  return PHIBAL_OK;
}

phibal_status reference_dot_compute(int64_t n, const float *x, int64_t x_stride, const float *y,
                                    int64_t y_stride, phibal_enclosure *t, phibal_enclosure *value,
                                    phibal_enclosure *condition) {
  //@ assert use_enclosure && use_floating && open_place;
  phibal_enclosure_set_si(value, 0);
  if (condition) phibal_enclosure_set_si(condition, 0);
  /*@ loop invariant index: 0 <= i && (i <= n || i == 0);
      loop invariant outputs: enclosure(t) && enclosure(value) && optional(condition);
      loop invariant frame: only_pair_written{Pre, Here}(t, value, condition);
      loop invariant dot: in(value, strided_dot(x, x_stride, y, y_stride, i));
      loop invariant magnitude: condition != \null ==>
        in(condition, strided_magnitude(x, x_stride, y, y_stride, i));
      loop assigns i, *t, *value, *condition;
      loop variant n - i; */
  for (int64_t i = 0; i < n; i++) {
    //@ assert place: place(i, x_stride) == i * x_stride && place(i, y_stride) == i * y_stride;
    double product = operation_exact_product(x[i * x_stride], y[i * y_stride]);
    /*@ assert term: strided_dot(x, x_stride, y, y_stride, i + 1) ==
          strided_dot(x, x_stride, y, y_stride, i) + (real)product; */
    /*@ assert magnitude: strided_magnitude(x, x_stride, y, y_stride, i + 1) ==
          strided_magnitude(x, x_stride, y, y_stride, i) + \abs((real)product); */
    phibal_enclosure_set_d(t, product);
    TRY(phibal_enclosure_add(value, value, t));
    if (!condition) continue;
    //@ assert before: in(condition, strided_magnitude(x, x_stride, y, y_stride, i));
    phibal_enclosure_set_d(t, fabs(product));
    //@ assert kept: in(condition, strided_magnitude(x, x_stride, y, y_stride, i));
    TRY(phibal_enclosure_add(condition, condition, t));
  }
  return PHIBAL_OK;
}

phibal_status reference_matrix_check(const char *name, const char *what, int64_t rows,
                                     int64_t columns, const phibal_reference_matrix *a) {
  //@ assert open_place;
  if (rows < 0 || columns < 0)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: %s has shape %lld x %lld", name, what,
                             (long long)rows, (long long)columns);
  if (rows > 0 && columns > 0 && !a->data)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: %s is null", name, what);
  /*@ loop invariant index: 0 <= i <= rows;
      loop invariant checked: matrix_finite(a->data, a->row_stride, a->column_stride, i, columns);
      loop assigns i;
      loop variant rows - i; */
  for (int64_t i = 0; i < rows; i++)
    /*@ loop invariant row_index: 0 <= j <= columns;
        loop invariant row_checked: \forall integer k; 0 <= k < j ==>
          \is_finite(a->data[place(i, a->row_stride) + place(k, a->column_stride)]);
        loop assigns j;
        loop variant columns - j; */
    for (int64_t j = 0; j < columns; j++) {
      /*@ assert places: place(i, a->row_stride) == i * a->row_stride &&
            place(j, a->column_stride) == j * a->column_stride; */
      float x = a->data[i * a->row_stride + j * a->column_stride];
      if (!isfinite(x))
        return phibal_status_set(PHIBAL_ERROR_NONFINITE,
                                 "%s: element (%lld, %lld) of %s is %g; it must be finite", name,
                                 (long long)i, (long long)j, what, (double)x);
    }
  return PHIBAL_OK;
}

/* Element m of a product, row by row, and its condition, which may be null; t is a temporary. */
static phibal_status product_element(int64_t m, int64_t inner, int64_t columns,
                                     phibal_reference_matrix a, phibal_reference_matrix b,
                                     phibal_enclosure *t, phibal_enclosure *product,
                                     phibal_enclosure *condition) {
  //@ assert use_place && open_place;
  int64_t i = m / columns, j = m % columns;
  /*@ assert places: i == m / columns && j == m % columns && place(i, a.row_stride) ==
        i * a.row_stride && place(j, b.column_stride) == j * b.column_stride; */
  return reference_dot_compute(inner, a.data + i * a.row_stride, a.column_stride,
                               b.data + j * b.column_stride, b.row_stride, t, &product[m],
                               condition ? &condition[m] : NULL);
}

/* The elements of a product of checked matrices; false where a sum is beyond MPFR's range. */
static bool product_all(int64_t rows, int64_t inner, int64_t columns, phibal_reference_matrix left,
                        phibal_reference_matrix right, mpfr_prec_t precision,
                        phibal_enclosure *product, phibal_enclosure *condition) {
  //@ assert use_enclosure && use_place && open_place;
  const int64_t n = rows * columns;
  //@ assert size: n == place(rows, columns);
  bool failed = false;
#pragma omp parallel
  {
    phibal_enclosure t;
    phibal_enclosure_init(&t, precision);
    /*@ assert t_set: \forall phibal_enclosure *r; \valid_read{Pre}(r) ==>
          same{Pre, Here}(r) && \valid_read(r) && \separated(r, &t); */
    /*@ loop invariant index: 0 <= m <= n;
        loop invariant outputs: enclosure(&t) && vector_output(product, n) &&
          optional_vector(condition, n);
        loop invariant frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) &&
          vector_apart(r, product, n) && optional_vector_apart(r, condition, n) ==>
            same{Pre, Here}(r);
        loop invariant value: !failed ==>
          dots_held(product, m, columns, inner, left.data, left.row_stride, left.column_stride,
                    right.data, right.row_stride, right.column_stride);
        loop invariant magnitude: !failed && condition != \null ==>
          magnitudes_held(condition, m, columns, inner, left.data, left.row_stride,
                          left.column_stride, right.data, right.row_stride, right.column_stride);
        loop assigns m, failed, t, product[0 .. n - 1], condition[0 .. n - 1];
        loop variant n - m; */
#pragma omp for schedule(static) reduction(|| : failed)
    for (int64_t m = 0; m < n; m++) {
      /*@ assert index: 0 < columns && 0 <= m / columns < rows && 0 <= m % columns < columns; */
      /*@ ghost
        expert_row(left.data, left.row_stride, left.column_stride, rows, inner, m / columns);
        expert_column(right.data, right.row_stride, right.column_stride, inner, columns,
                      m % columns); */
      if (failed) continue;
      /*@ assert products_apart: \forall integer i; 0 <= i < n && i != m ==>
            \separated(product + i, &t) && \separated(product + i, product + m) &&
            (condition == \null || \separated(product + i, condition + m)); */
      /*@ assert conditions_apart: condition != \null ==> \forall integer i;
            0 <= i < n && i != m ==> \separated(condition + i, &t) &&
              \separated(condition + i, product + m) && \separated(condition + i, condition + m);
       */
      //@ ghost before:;
      failed = product_element(m, inner, columns, left, right, &t, product, condition) != PHIBAL_OK;
      /*@ assert written: enclosure(&t) && enclosure(product + m) &&
            (condition == \null || enclosure(condition + m)); */
      /*@ assert products_kept: \forall integer i; 0 <= i < n && i != m ==>
            same{before, Here}(product + i); */
      /*@ assert conditions_kept: condition != \null ==> \forall integer i;
            0 <= i < n && i != m ==> same{before, Here}(condition + i); */
      //@ assert products: vector_output(product, n);
      //@ assert conditions: optional_vector(condition, n);
    }
    //@ ghost computed:;
    phibal_enclosure_clear(&t);
    /*@ assert kept: \forall phibal_enclosure *r; \valid_read{Pre}(r) ==>
          same{computed, Here}(r) && \valid_read(r); */
    //@ assert products_same: vector_same{computed, Here}(product, n);
    //@ assert conditions_same: condition != \null ==> vector_same{computed, Here}(condition, n);
    //@ assert outputs: vector_output(product, n) && optional_vector(condition, n);
  }
  return !failed;
}

phibal_status phibal_reference_product(int64_t rows, int64_t inner, int64_t columns,
                                       const phibal_reference_matrix *a,
                                       const phibal_reference_matrix *b, mpfr_prec_t precision,
                                       phibal_enclosure *product, phibal_enclosure *condition) {
  const char *name = "phibal_reference_product";
  //@ assert use_enclosure;
  if (!a || !b || (!product && rows > 0 && columns > 0))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null argument", name);
  TRY(operation_check_precision(name, precision));
  TRY(reference_matrix_check(name, "the left matrix", rows, inner, a));
  TRY(reference_matrix_check(name, "the right matrix", inner, columns, b));
  //@ assert use_place && open_place && 0 <= place(rows, columns);
  //@ assert empty: product == \null ==> place(rows, columns) == 0;
  if (product_all(rows, inner, columns, *a, *b, precision, product, condition)) return PHIBAL_OK;
  return phibal_status_set(PHIBAL_ERROR_DOMAIN, "%s: a sum is beyond MPFR's range", name);
}
