/* The expert layer around the FFN: permutation (E1), matrix products, combine (E4), (E5). */
#include "expert.h"
#include <stdbool.h>

#ifdef __FRAMAC__
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

/* Row i of a product, x B, and its condition, which may be null; t is a temporary. */
static phibal_status product_row(int64_t i, int64_t inner, int64_t columns, const float *x,
                                 int64_t x_stride, phibal_reference_matrix b, phibal_enclosure *t,
                                 phibal_enclosure *product, phibal_enclosure *condition) {
  for (int64_t j = 0; j < columns; j++) {
    phibal_enclosure *value = &product[i * columns + j];
    phibal_enclosure *magnitude = condition ? &condition[i * columns + j] : NULL;
    phibal_status status = reference_dot_compute(inner, x, x_stride, b.data + j * b.column_stride,
                                                 b.row_stride, t, value, magnitude);
    if (status != PHIBAL_OK) return status;
  }
  return PHIBAL_OK;
}

phibal_status phibal_reference_product(int64_t rows, int64_t inner, int64_t columns,
                                       const phibal_reference_matrix *a,
                                       const phibal_reference_matrix *b, mpfr_prec_t precision,
                                       phibal_enclosure *product, phibal_enclosure *condition) {
  const char *name = "phibal_reference_product";
  if (!a || !b || (!product && rows > 0 && columns > 0))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null argument", name);
  TRY(operation_check_precision(name, precision));
  TRY(reference_matrix_check(name, "the left matrix", rows, inner, a));
  TRY(reference_matrix_check(name, "the right matrix", inner, columns, b));
  const phibal_reference_matrix left = *a, right = *b;
  bool failed = false;
#pragma omp parallel
  {
    phibal_enclosure t;
    phibal_enclosure_init(&t, precision);
#pragma omp for schedule(static) reduction(|| : failed)
    for (int64_t i = 0; i < rows; i++) {
      failed =
          failed || product_row(i, inner, columns, left.data + i * left.row_stride,
                                left.column_stride, right, &t, product, condition) != PHIBAL_OK;
    }
    phibal_enclosure_clear(&t);
  }
  if (!failed) return PHIBAL_OK;
  return phibal_status_set(PHIBAL_ERROR_DOMAIN, "%s: a sum is beyond MPFR's range", name);
}

/*@ // what is there of a combine's arguments, where it is not null
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
*/
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

/* One element: *before + sum_s gates[s] output[row[s]][column] over the slots s from `first` on. */
static phibal_status combine_element(int64_t first, int32_t active, int64_t width, int64_t column,
                                     const int64_t *row, const float *gates,
                                     const float *expert_output, const float *before,
                                     phibal_enclosure *t, phibal_enclosure *y,
                                     phibal_enclosure *condition) {
  combine_start(before, y, condition);
  for (int32_t s = 0; s < active; s++) {
    int64_t r = row[first + s];
    if (r < 0) continue;
    float x = expert_output[r * width + column];
    double product = gates ? operation_exact_product(gates[first + s], x) : (double)x;
    TRY(combine_add(product, t, y, condition));
  }
  return PHIBAL_OK;
}

/* One token, whose slots begin at `first` row i of before, y and condition. */
static phibal_status combine_token(int64_t first, int64_t i, int32_t active, int64_t width,
                                   const int64_t *row, const float *gates,
                                   const float *expert_output, const float *before,
                                   phibal_enclosure *t, phibal_enclosure *y,
                                   phibal_enclosure *condition) {
  for (int64_t j = 0; j < width; j++) {
    const float *start = before ? &before[i * width + j] : NULL;
    phibal_enclosure *magnitude = condition ? &condition[i * width + j] : NULL;
    phibal_enclosure *value = &y[i * width + j];
    phibal_status status = combine_element(first, active, width, j, row, gates, expert_output,
                                           start, t, value, magnitude);
    if (status != PHIBAL_OK) return status;
  }
  return PHIBAL_OK;
}

static phibal_status combine_all(int64_t tokens, int32_t active, int64_t width, const int64_t *row,
                                 const float *gates, const float *expert_output,
                                 const float *before, phibal_enclosure *t, phibal_enclosure *y,
                                 phibal_enclosure *condition) {
  for (int64_t i = 0; i < tokens; i++) {
    phibal_status status = combine_token(i * active, i, active, width, row, gates, expert_output,
                                         before, t, y, condition);
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
  TRY(combine_check(name, tokens, active, width, row, expert_output, precision));
  if (!y) return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null y", name);
  if (gates) TRY(operation_check_finite(name, "the gates", tokens * active, gates));
  if (before) TRY(operation_check_finite(name, "y before", tokens * width, before));
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
    ensures frame: only_vector_written{Pre, Here}(expert_gradient, width); */
static void combine_backward_row(int64_t width, float gate, const float *y_gradient,
                                 phibal_enclosure *expert_gradient) {
  //@ assert use_enclosure && use_floating;
  /*@ loop invariant index: 0 <= j <= width;
      loop invariant outputs: vector_output(expert_gradient, width);
      loop invariant frame: only_vector_written{Pre, Here}(expert_gradient, width);
      loop assigns j, expert_gradient[0 .. width - 1];
      loop variant width - j; */
  for (int64_t j = 0; j < width; j++) {
    double product = operation_exact_product(gate, y_gradient[j]);
    phibal_enclosure_set_d(&expert_gradient[j], product);
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

/* One token, whose slots begin at `first`; y_gradient is its row. */
static phibal_status combine_backward_token(int64_t first, int32_t active, int64_t width,
                                            const int64_t *row, const float *gates,
                                            const float *expert_output, const float *y_gradient,
                                            phibal_enclosure *t, phibal_enclosure *expert_gradient,
                                            phibal_enclosure *gate_gradient,
                                            phibal_enclosure *gate_condition) {
  for (int64_t i = first; i < first + active; i++) {
    if (row[i] >= 0 && expert_gradient)
      combine_backward_row(width, gates[i], y_gradient, expert_gradient + row[i] * width);
    phibal_enclosure *dot = gate_gradient ? &gate_gradient[i] : &t[1];
    phibal_enclosure *magnitude = gate_condition ? &gate_condition[i] : &t[2];
    phibal_status status =
        combine_backward_gate(width, row[i], expert_output, y_gradient, &t[0], dot, magnitude);
    if (status != PHIBAL_OK) return status;
  }
  return PHIBAL_OK;
}

static phibal_status combine_backward_all(int64_t tokens, int32_t active, int64_t width,
                                          const int64_t *row, const float *gates,
                                          const float *expert_output, const float *y_gradient,
                                          phibal_enclosure *t, phibal_enclosure *expert_gradient,
                                          phibal_enclosure *gate_gradient,
                                          phibal_enclosure *gate_condition) {
  for (int64_t i = 0; i < tokens; i++) {
    TRY(combine_backward_token(i * active, active, width, row, gates, expert_output,
                               y_gradient + i * width, t, expert_gradient, gate_gradient,
                               gate_condition));
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
  TRY(combine_check(name, tokens, active, width, row, expert_output, precision));
  if (tokens > 0 && (!gates || !y_gradient))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null gates or y_gradient", name);
  TRY(operation_check_finite(name, "the gates", tokens * active, gates));
  TRY(operation_check_finite(name, "y_gradient", tokens * width, y_gradient));
  phibal_enclosure *t;
  TRY(operation_scratch(name, 3, precision, &t));
  phibal_status status =
      combine_backward_all(tokens, active, width, row, gates, expert_output, y_gradient, t,
                           expert_gradient, gate_gradient, gate_condition);
  operation_scratch_clear(t, 3);
  return status;
}
