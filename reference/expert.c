/* The expert layer around the FFN: permutation (E1), matrix products, combine (E4), (E5). */
#include "expert.h"
#include <stdbool.h>

#ifdef __FRAMAC__
#include <phibal/acsl/expert_steps.h>
#include <phibal/acsl/routing.h>
#endif

/* The rows of expert e, from n on, for its slots in their order; returns the row after the last. */
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
/*@ requires 0 <= rows && 0 <= inner && 0 <= columns && 0 <= place(rows, columns) <=
   ROUTING_MAX_SLOTS; requires matrix_there(left.data, left.row_stride, left.column_stride, rows,
   inner) && matrix_finite(left.data, left.row_stride, left.column_stride, rows, inner) && (0 < rows
   && 0 < inner ==> left.data != \null); requires matrix_there(right.data, right.row_stride,
   right.column_stride, inner, columns) && matrix_finite(right.data, right.row_stride,
   right.column_stride, inner, columns) && (0 < inner && 0 < columns ==> right.data != \null);
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
      //@ ghost before:;
      failed = failed ||
               product_element(m, inner, columns, left, right, &t, product, condition) != PHIBAL_OK;
      /*@ assert written: enclosure(&t) && enclosure(product + m) &&
            (condition == \null || enclosure(condition + m)); */
      /*@ assert others: \forall integer i; 0 <= i < n && i != m ==> same{before, Here}(product + i)
            && (condition == \null || same{before, Here}(condition + i)); */
    }
    //@ ghost computed:;
    phibal_enclosure_clear(&t);
    /*@ assert kept: \forall phibal_enclosure *r; \valid_read{Pre}(r) ==>
          same{computed, Here}(r) && \valid_read(r); */
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

/*@ requires combine_there(tokens, active, width, row, expert_output);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == PHIBAL_OK ==> precision >= OPERATION_PRECISION &&
      combine_ready(tokens, active, width, row, expert_output); */
static phibal_status combine_check(const char *name, int64_t tokens, int32_t active, int64_t width,
                                   const int64_t *row, const float *expert_output,
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
/*@ requires before != \null ==> \valid_read(before) && \is_finite(*before);
    requires output(y) && optional(condition) && optional_apart(y, condition);
    terminates \true;
    exits \false;
    assigns *y, *condition;
    ensures outputs: enclosure(y) && optional(condition);
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && \separated(r, y) &&
      optional_apart(r, condition) ==> same{Pre, Here}(r);
    ensures value: in(y, before_of(before));
    ensures magnitude: condition != \null ==> in(condition, \abs(before_of(before))); */
static void combine_start(const float *before, phibal_enclosure *y, phibal_enclosure *condition) {
  //@ assert use_enclosure;
  phibal_enclosure_set_si(y, 0);
  if (before) operation_set_float(y, *before);
  if (condition) phibal_enclosure_abs(condition, y);
}

/* y += term, condition (may be null) += |term|; t is a temporary. */
/*@ requires \is_finite(term) && output(t) && output(y) && optional(condition);
    requires \separated(t, y) && optional_apart(t, condition) && optional_apart(y, condition);
    terminates \true;
    exits \false;
    assigns *t, *y, *condition;
    ensures outputs: enclosure(t) && enclosure(y) && optional(condition);
    ensures frame: only_pair_written{Pre, Here}(t, y, condition);
    ensures status: \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures value: \result == PHIBAL_OK ==>
      \forall real a; in{Pre}(y, a) ==> in(y, a + (real)term);
    ensures magnitude: \result == PHIBAL_OK && condition != \null ==>
      \forall real a; in{Pre}(condition, a) ==> in(condition, a + \abs((real)term)); */
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
/*@ requires 0 <= s && 0 <= column < width && \valid_read(row + s);
    requires slot_there(expert_output, row[s], width);
    requires gates == \null || (\valid_read(gates + s) && \is_finite(gates[s]));
    requires output(t) && output(y) && optional(condition);
    requires \separated(t, y) && optional_apart(t, condition) && optional_apart(y, condition);
    terminates \true;
    exits \false;
    assigns *t, *y, *condition;
    ensures outputs: enclosure(t) && enclosure(y) && optional(condition);
    ensures frame: only_pair_written{Pre, Here}(t, y, condition);
    ensures status: \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures value: \result == PHIBAL_OK ==> \forall real a; in{Pre}(y, a) ==>
      in(y, a + combine_term(row, gates, expert_output, width, column, s));
    ensures magnitude: \result == PHIBAL_OK && condition != \null ==>
      \forall real a; in{Pre}(condition, a) ==> in(condition,
        a + \abs(combine_term(row, gates, expert_output, width, column, s))); */
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
/*@ requires 0 <= first && first + active <= ROUTING_MAX_SLOTS && 0 <= column < width;
    requires \valid_read(row + (first .. first + active - 1));
    requires \forall integer s; first <= s < first + active ==>
      slot_there(expert_output, row[s], width);
    requires gates == \null || (\forall integer s; first <= s < first + active ==>
      \valid_read(gates + s) && \is_finite(gates[s]));
    requires before == \null || (\valid_read(before) && \is_finite(*before));
    requires output(t) && output(y) && optional(condition);
    requires \separated(t, y) && optional_apart(t, condition) && optional_apart(y, condition);
    terminates \true;
    exits \false;
    assigns *t, *y, *condition;
    ensures outputs: enclosure(t) && enclosure(y) && optional(condition);
    ensures frame: only_pair_written{Pre, Here}(t, y, condition);
    ensures status: \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures value: \result == PHIBAL_OK ==> in(y,
      combined(row, gates, expert_output, width, column, before_of(before), first, active));
    ensures magnitude: \result == PHIBAL_OK && condition != \null ==> in(condition,
      combined_magnitude(row, gates, expert_output, width, column, before_of(before), first,
                         active)); */
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
/*@ requires 0 <= tokens && 1 <= active && 0 <= width;
    requires place(tokens, active) <= ROUTING_MAX_SLOTS &&
      place(tokens, width) <= ROUTING_MAX_SLOTS;
    requires \valid_read(row + (0 .. place(tokens, active) - 1));
    requires slots_there(row, place(tokens, active), width, expert_output);
    requires gates == \null || floats_there(gates, place(tokens, active));
    requires before == \null || floats_there(before, place(tokens, width));
    requires output(t) && vector_output(y, place(tokens, width)) &&
      optional_vector(condition, place(tokens, width));
    requires vector_apart(t, y, place(tokens, width)) &&
      optional_vector_apart(t, condition, place(tokens, width)) &&
      optional_vectors_apart(y, place(tokens, width), condition, place(tokens, width));
    terminates \true;
    exits \false;
    assigns *t, y[0 .. place(tokens, width) - 1], condition[0 .. place(tokens, width) - 1];
    ensures outputs: enclosure(t) && vector_output(y, place(tokens, width)) &&
      optional_vector(condition, place(tokens, width));
    ensures frame: only_vectors_written{Pre, Here}(t, y, condition, place(tokens, width));
    ensures status: \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures value: \result == PHIBAL_OK ==> combined_held(y, place(tokens, width), row, gates,
      expert_output, before, active, width);
    ensures magnitude: \result == PHIBAL_OK && condition != \null ==>
      combined_magnitudes_held(condition, place(tokens, width), row, gates, expert_output, before,
                               active, width); */
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
    //@ ghost before:;
    //@ assert first: 0 <= m / width * active <= ROUTING_MAX_SLOTS;
    phibal_status status = combine_element(m / width * active, active, width, m % width, row, gates,
                                           expert_output, start, t, &y[m], magnitude);
    /*@ assert written: enclosure(t) && enclosure(y + m) &&
          (condition == \null || enclosure(condition + m)); */
    /*@ assert apart: \forall phibal_enclosure *r; vector_apart(r, y, n) &&
          optional_vector_apart(r, condition, n) ==>
            \separated(r, y + m) && optional_apart(r, magnitude); */
    /*@ assert rest: \forall phibal_enclosure *r; \valid_read{Pre}(r) && \separated(r, t) &&
          vector_apart(r, y, n) && optional_vector_apart(r, condition, n) ==>
            same{Pre, before}(r) && same{before, Here}(r); */
    /*@ assert other_values: \forall integer i; 0 <= i < n && i != m ==> \valid_read(y + i) &&
          \separated(y + i, t) && \separated(y + i, y + m) && optional_apart(y + i, magnitude); */
    /*@ assert values_kept: \forall integer i; 0 <= i < n && i != m ==> same{before, Here}(y + i);
     */
    /*@ assert other_conditions: condition != \null ==> \forall integer i; 0 <= i < n && i != m ==>
          \valid_read(condition + i) && \separated(condition + i, t) &&
          \separated(condition + i, y + m) && optional_apart(condition + i, magnitude); */
    /*@ assert conditions_kept: condition != \null ==> \forall integer i; 0 <= i < n && i != m ==>
          same{before, Here}(condition + i); */
    //@ assert outputs: vector_output(y, n) && optional_vector(condition, n);
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
  TRY(combine_check(name, tokens, active, width, row, expert_output, precision));
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
  phibal_status status =
      combine_all(tokens, active, width, row, gates, expert_output, before, t, y, condition);
  operation_scratch_clear(t, 1);
  return status;
}

/* expert_gradient[0..width-1] = gate y_gradient[0..width-1]: each product is a binary64 number. */
/*@ requires 0 <= width && \is_finite(gate);
    requires \valid_read(y_gradient + (0 .. width - 1)) && finite_floats(y_gradient, width);
    requires vector_output(expert_gradient, width);
    terminates \true;
    exits \false;
    assigns expert_gradient[0 .. width - 1];
    ensures outputs: vector_output(expert_gradient, width);
    ensures frame: only_vector_written{Pre, Here}(expert_gradient, width);
    ensures values: \forall integer k; 0 <= k < width ==>
      in(expert_gradient + k, scaled((real)gate, y_gradient, k)); */
static void combine_backward_row(int64_t width, float gate, const float *y_gradient,
                                 phibal_enclosure *expert_gradient) {
  //@ assert use_enclosure && use_floating;
  /*@ loop invariant index: 0 <= j <= width;
      loop invariant outputs: vector_output(expert_gradient, width);
      loop invariant frame: only_vector_written{Pre, Here}(expert_gradient, width);
      loop invariant values: \forall integer k; 0 <= k < j ==>
        in(expert_gradient + k, scaled((real)gate, y_gradient, k));
      loop assigns j, expert_gradient[0 .. width - 1];
      loop variant width - j; */
  for (int64_t j = 0; j < width; j++) {
    double product = operation_exact_product(gate, y_gradient[j]);
    /*@ assert exactly: \is_finite(product) && (real)product == scaled((real)gate, y_gradient, j);
     */
    phibal_enclosure_set_d(&expert_gradient[j], product);
    //@ assert added: in(expert_gradient + j, scaled((real)gate, y_gradient, j));
  }
}

/* The gradient of one slot's gate, <y_gradient, the slot's row of expert_output>, 0 for padding
   (row < 0), and its condition. */
/*@ requires 0 <= width;
    requires \valid_read(y_gradient + (0 .. width - 1)) && finite_floats(y_gradient, width);
    requires 0 <= row ==> place(row, width) + width <= ROUTING_MAX_SLOTS &&
      \valid_read(expert_output + (place(row, width) .. place(row, width) + width - 1)) &&
      row_finite(expert_output, row, width);
    requires output(t) && output(dot) && output(magnitude);
    requires \separated(t, dot) && \separated(t, magnitude) && \separated(dot, magnitude);
    terminates \true;
    exits \false;
    assigns *t, *dot, *magnitude;
    ensures outputs: enclosure(t) && enclosure(dot) && enclosure(magnitude);
    ensures frame: only_three_written{Pre, Here}(t, dot, magnitude);
    ensures status: \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures value: \result == PHIBAL_OK ==>
      in(dot, gate_gradient(y_gradient, expert_output, row, width));
    ensures condition: \result == PHIBAL_OK ==>
      in(magnitude, gate_magnitude(y_gradient, expert_output, row, width)); */
static phibal_status combine_backward_gate(int64_t width, int64_t row, const float *expert_output,
                                           const float *y_gradient, phibal_enclosure *t,
                                           phibal_enclosure *dot, phibal_enclosure *magnitude) {
  //@ assert use_enclosure && open_place && use_place;
  if (row < 0) {
    phibal_enclosure_set_si(dot, 0);
    phibal_enclosure_set_si(magnitude, 0);
    return PHIBAL_OK;
  }
  //@ assert place: 0 <= place(row, width) == row * width;
  //@ assert left: strided(y_gradient, width, 1);
  //@ ghost expert_row_strided(expert_output + row * width, expert_output, row, width);
  return reference_dot_compute(width, y_gradient, 1, expert_output + row * width, 1, t, dot,
                               magnitude);
}

/*@ // what the gradients of slot i's row and gate need: y_gradient is its token's row
    predicate slot_ready{L}(integer i, integer width, int64_t *row, float *gates,
                            float *expert_output, float *y_gradient) =
      0 <= i && 0 <= width && \valid_read(row + i) && \valid_read(gates + i) &&
      \is_finite(gates[i]) && floats_there(y_gradient, width) &&
      slot_there(expert_output, row[i], width);
    // nothing was written but t[0..2], slot i's elements of d and m, and its row of x
    predicate only_slot_written{A, B}(phibal_enclosure *t, phibal_enclosure *x, integer row,
                                      integer width, phibal_enclosure *d, phibal_enclosure *m,
                                      integer i) =
      \forall phibal_enclosure *r; \valid_read{A}(r) && vector_apart(r, t, 3) &&
        (x == \null || row < 0 || vector_apart(r, x + place(row, width), width)) &&
        (d == \null || \separated(r, d + i)) && (m == \null || \separated(r, m + i)) ==>
          same{A, B}(r);
*/
/* The gradients of slot i's row of expert_output and of its gate, each where it is wanted;
   y_gradient is the slot's token's row. */
/*@ requires slot_ready(i, width, row, gates, expert_output, y_gradient);
    requires vector_output(t, 3);
    requires expert_gradient != \null && 0 <= row[i] ==>
      vector_output(expert_gradient + place(row[i], width), width);
    requires gate_gradient == \null || output(gate_gradient + i);
    requires gate_condition == \null || output(gate_condition + i);
    requires expert_gradient != \null && 0 <= row[i] ==>
      vectors_apart(t, 3, expert_gradient + place(row[i], width), width);
    requires gate_gradient == \null || vector_apart(gate_gradient + i, t, 3);
    requires gate_condition == \null || vector_apart(gate_condition + i, t, 3);
    requires expert_gradient != \null && 0 <= row[i] ==>
      (gate_gradient == \null ||
       vector_apart(gate_gradient + i, expert_gradient + place(row[i], width), width)) &&
      (gate_condition == \null ||
       vector_apart(gate_condition + i, expert_gradient + place(row[i], width), width));
    requires gate_gradient == \null || gate_condition == \null ||
      \separated(gate_gradient + i, gate_condition + i);
    terminates \true;
    exits \false;
    assigns t[0 .. 2], gate_gradient[i], gate_condition[i],
            expert_gradient[place(row[i], width) .. place(row[i], width) + width - 1];
    ensures outputs: vector_output(t, 3) &&
      (gate_gradient == \null || enclosure(gate_gradient + i)) &&
      (gate_condition == \null || enclosure(gate_condition + i));
    ensures row_outputs: expert_gradient != \null && 0 <= row[i] ==>
      vector_output(expert_gradient + place(row[i], width), width);
    ensures frame: only_slot_written{Pre, Here}(t, expert_gradient, row[i], width, gate_gradient,
      gate_condition, i);
    ensures status: \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures row: expert_gradient != \null && 0 <= row[i] ==>
      row_gradient_held(expert_gradient, row[i], y_gradient, (real)gates[i], width);
    ensures value: \result == PHIBAL_OK && gate_gradient != \null ==>
      in(gate_gradient + i, gate_gradient(y_gradient, expert_output, row[i], width));
    ensures condition: \result == PHIBAL_OK && gate_condition != \null ==>
      in(gate_condition + i, gate_magnitude(y_gradient, expert_output, row[i], width)); */
static phibal_status combine_backward_slot(int64_t i, int64_t width, const int64_t *row,
                                           const float *gates, const float *expert_output,
                                           const float *y_gradient, phibal_enclosure *t,
                                           phibal_enclosure *expert_gradient,
                                           phibal_enclosure *gate_gradient,
                                           phibal_enclosure *gate_condition) {
  //@ assert use_enclosure && open_place;
  //@ assert place: 0 <= row[i] ==> place(row[i], width) == row[i] * width;
  if (row[i] >= 0 && expert_gradient)
    combine_backward_row(width, gates[i], y_gradient, expert_gradient + row[i] * width);
  phibal_enclosure *dot = gate_gradient ? &gate_gradient[i] : &t[1];
  phibal_enclosure *magnitude = gate_condition ? &gate_condition[i] : &t[2];
  /*@ assert places: output(dot) && output(magnitude) && \separated(t + 0, dot) &&
        \separated(t + 0, magnitude) && \separated(dot, magnitude); */
  /*@ assert second: dot == t + 1 || (\separated(dot, t + 1) && \separated(dot, t + 2)); */
  /*@ assert third: magnitude == t + 2 ||
        (\separated(magnitude, t + 1) && \separated(magnitude, t + 2)); */
  //@ ghost before:;
  phibal_status status =
      combine_backward_gate(width, row[i], expert_output, y_gradient, &t[0], dot, magnitude);
  //@ assert temporaries: output(t + 0) && output(t + 1) && output(t + 2);
  /*@ assert kept: expert_gradient != \null && 0 <= row[i] ==> \forall integer k;
        0 <= k < width ==> same{before, Here}(expert_gradient + (place(row[i], width) + k)); */
  return status;
}

/* Slot i is one of token i / active. */
/*@ requires 0 <= tokens && 1 <= active && 0 <= width;
    requires place(tokens, active) <= ROUTING_MAX_SLOTS &&
      place(tokens, width) <= ROUTING_MAX_SLOTS;
    requires \valid_read(row + (0 .. place(tokens, active) - 1));
    requires slots_there(row, place(tokens, active), width, expert_output);
    requires floats_there(gates, place(tokens, active)) &&
      floats_there(y_gradient, place(tokens, width));
    requires vector_output(t, 3);
    requires gradients_there(row, place(tokens, active), width, expert_gradient, gate_gradient,
      gate_condition);
    requires optional_vectors_apart(t, 3, expert_gradient,
        slots_size(row, place(tokens, active), width)) &&
      optional_vectors_apart(t, 3, gate_gradient, place(tokens, active)) &&
      optional_vectors_apart(t, 3, gate_condition, place(tokens, active));
    terminates \true;
    exits \false;
    assigns t[0 .. 2], gate_gradient[0 .. place(tokens, active) - 1],
            gate_condition[0 .. place(tokens, active) - 1],
            expert_gradient[0 .. slots_size(row, place(tokens, active), width) - 1];
    ensures outputs: vector_output(t, 3) &&
      gradients_there(row, place(tokens, active), width, expert_gradient, gate_gradient,
        gate_condition);
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && vector_apart(r, t, 3) &&
      optional_vector_apart(r, expert_gradient, slots_size(row, place(tokens, active), width)) &&
      optional_vector_apart(r, gate_gradient, place(tokens, active)) &&
      optional_vector_apart(r, gate_condition, place(tokens, active)) ==> same{Pre, Here}(r);
    ensures status: \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures rows: \result == PHIBAL_OK && expert_gradient != \null &&
      rows_distinct(row, place(tokens, active)) ==>
        row_gradients_held(expert_gradient, place(tokens, active), row, gates, y_gradient, active,
                           width);
    ensures value: \result == PHIBAL_OK && gate_gradient != \null ==>
      gate_gradients_held(gate_gradient, place(tokens, active), row, expert_output, y_gradient,
                          active, width);
    ensures condition: \result == PHIBAL_OK && gate_condition != \null ==>
      gate_magnitudes_held(gate_condition, place(tokens, active), row, expert_output, y_gradient,
                           active, width); */
static phibal_status combine_backward_all(int64_t tokens, int32_t active, int64_t width,
                                          const int64_t *row, const float *gates,
                                          const float *expert_output, const float *y_gradient,
                                          phibal_enclosure *t, phibal_enclosure *expert_gradient,
                                          phibal_enclosure *gate_gradient,
                                          phibal_enclosure *gate_condition) {
  //@ assert use_enclosure && use_place && open_place;
  const int64_t n = tokens * active;
  //@ assert size: n == place(tokens, active);
  //@ ghost expert_rows_end(row, n);
  /*@ loop invariant index: 0 <= i && (i <= n || i == 0);
      loop invariant outputs: vector_output(t, 3) &&
        gradients_there(row, n, width, expert_gradient, gate_gradient, gate_condition);
      loop invariant frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) &&
        vector_apart(r, t, 3) &&
        optional_vector_apart(r, expert_gradient, slots_size(row, n, width)) &&
        optional_vector_apart(r, gate_gradient, n) &&
        optional_vector_apart(r, gate_condition, n) ==> same{Pre, Here}(r);
      loop invariant rows: expert_gradient != \null && rows_distinct(row, n) ==>
        row_gradients_held(expert_gradient, i, row, gates, y_gradient, active, width);
      loop invariant value: gate_gradient != \null ==>
        gate_gradients_held(gate_gradient, i, row, expert_output, y_gradient, active, width);
      loop invariant condition: gate_condition != \null ==>
        gate_magnitudes_held(gate_condition, i, row, expert_output, y_gradient, active, width);
      loop assigns i, t[0 .. 2], gate_gradient[0 .. n - 1], gate_condition[0 .. n - 1],
                   expert_gradient[0 .. slots_size(row, n, width) - 1];
      loop variant n - i; */
  for (int64_t i = 0; i < n; i++) {
    /*@ assert index: 0 <= i / active < tokens; */
    /*@ assert token: place(i / active, width) == i / active * width &&
          0 <= place(i / active, width) &&
          place(i / active, width) + width <= place(tokens, width); */
    /*@ assert row: 0 <= row[i] ==> 0 <= place(row[i], width) &&
          place(row[i], width) + width <= slots_size(row, n, width); */
    //@ ghost before:;
    phibal_status status =
        combine_backward_slot(i, width, row, gates, expert_output, y_gradient + i / active * width,
                              t, expert_gradient, gate_gradient, gate_condition);
    /*@ assert gates: \forall integer k; 0 <= k < n && k != i ==>
          (gate_gradient == \null || same{before, Here}(gate_gradient + k)) &&
          (gate_condition == \null || same{before, Here}(gate_condition + k)); */
    /*@ assert rows: expert_gradient != \null ==> \forall integer k;
          0 <= k < slots_size(row, n, width) && (row[i] < 0 || k < place(row[i], width) ||
          place(row[i], width) + width <= k) ==> same{before, Here}(expert_gradient + k); */
    /*@ assert row_outputs: expert_gradient != \null ==>
          vector_output(expert_gradient, slots_size(row, n, width)); */
    /*@ assert outputs: optional_vector(gate_gradient, n) && optional_vector(gate_condition, n); */
    if (status != PHIBAL_OK) return status;
  }
  return PHIBAL_OK;
}

phibal_status phibal_reference_combine_backward(int64_t tokens, int32_t active, int64_t width,
                                                const int64_t *row, const float *gates,
                                                const float *expert_output, const float *y_gradient,
                                                mpfr_prec_t precision,
                                                phibal_enclosure *expert_gradient,
                                                phibal_enclosure *gate_gradient,
                                                phibal_enclosure *gate_condition) {
  const char *name = "phibal_reference_combine_backward";
  //@ assert use_enclosure && use_place && open_place;
  TRY(combine_check(name, tokens, active, width, row, expert_output, precision));
  //@ ghost expert_slots(tokens, active, width, row, expert_output);
  if (tokens > 0 && (!gates || !y_gradient))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null gates or y_gradient", name);
  TRY(operation_check_finite(name, "the gates", tokens * active, gates));
  TRY(operation_check_finite(name, "y_gradient", tokens * width, y_gradient));
  /*@ assert sizes: tokens * active == place(tokens, active) &&
        tokens * width == place(tokens, width) && 0 <= place(tokens, width); */
  /*@ assert floats: floats_there(gates, place(tokens, active)) &&
        floats_there(y_gradient, place(tokens, width)); */
  phibal_enclosure *t;
  TRY(operation_scratch(name, 3, precision, &t));
  phibal_status status =
      combine_backward_all(tokens, active, width, row, gates, expert_output, y_gradient, t,
                           expert_gradient, gate_gradient, gate_condition);
  operation_scratch_clear(t, 3);
  return status;
}
