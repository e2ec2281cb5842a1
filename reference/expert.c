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
  phibal_enclosure_set_si(value, 0);
  if (condition) phibal_enclosure_set_si(condition, 0);
  for (int64_t i = 0; i < n; i++) {
    /* The product of two binary32 numbers is a binary64 number: 48 digits, above 2^-299. */
    double product = (double)x[i * x_stride] * (double)y[i * y_stride];
    phibal_enclosure_set_d(t, product);
    TRY(phibal_enclosure_add(value, value, t));
    if (!condition) continue;
    phibal_enclosure_set_d(t, fabs(product));
    TRY(phibal_enclosure_add(condition, condition, t));
  }
  return PHIBAL_OK;
}

phibal_status reference_matrix_check(const char *name, const char *what, int64_t rows,
                                     int64_t columns, const phibal_reference_matrix *a) {
  if (rows < 0 || columns < 0)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: %s has shape %lld x %lld", name, what,
                             (long long)rows, (long long)columns);
  if (rows * columns > 0 && !a->data)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: %s is null", name, what);
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns; j++) {
      float x = a->data[i * a->row_stride + j * a->column_stride];
      if (!isfinite(x))
        return phibal_status_set(PHIBAL_ERROR_NONFINITE,
                                 "%s: element (%lld, %lld) of %s is %g; it must be finite", name,
                                 (long long)i, (long long)j, what, (double)x);
    }
  return PHIBAL_OK;
}

static phibal_status product_row(int64_t i, int64_t inner, int64_t columns,
                                 const phibal_reference_matrix *a, const phibal_reference_matrix *b,
                                 phibal_enclosure *t, phibal_enclosure *product,
                                 phibal_enclosure *condition) {
  for (int64_t j = 0; j < columns; j++)
    TRY(reference_dot_compute(inner, a->data + i * a->row_stride, a->column_stride,
                              b->data + j * b->column_stride, b->row_stride, t,
                              &product[i * columns + j],
                              condition ? &condition[i * columns + j] : NULL));
  return PHIBAL_OK;
}

phibal_status phibal_reference_product(int64_t rows, int64_t inner, int64_t columns,
                                       const phibal_reference_matrix *a,
                                       const phibal_reference_matrix *b, mpfr_prec_t precision,
                                       phibal_enclosure *product, phibal_enclosure *condition) {
  const char *name = "phibal_reference_product";
  if (!a || !b || (!product && rows * columns > 0))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null argument", name);
  TRY(operation_check_precision(name, precision));
  TRY(reference_matrix_check(name, "the left matrix", rows, inner, a));
  TRY(reference_matrix_check(name, "the right matrix", inner, columns, b));
  bool failed = false;
#pragma omp parallel
  {
    phibal_enclosure t;
    phibal_enclosure_init(&t, precision);
#pragma omp for schedule(static) reduction(|| : failed)
    for (int64_t i = 0; i < rows; i++)
      failed = failed || product_row(i, inner, columns, a, b, &t, product, condition) != PHIBAL_OK;
    phibal_enclosure_clear(&t);
  }
  if (!failed) return PHIBAL_OK;
  return phibal_status_set(PHIBAL_ERROR_DOMAIN, "%s: a sum is beyond MPFR's range", name);
}

static phibal_status combine_check(const char *name, int64_t tokens, int32_t active, int64_t width,
                                   const int64_t *row, const float *expert_output,
                                   mpfr_prec_t precision) {
  if (tokens < 0 || active < 1 || width < 0 || (tokens * width > 0 && (!row || !expert_output)))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null argument or bad shape", name);
  for (int64_t i = 0; i < tokens * active; i++)
    if (row[i] >= 0)
      TRY(operation_check_finite(name, "an expert's output", width,
                                 expert_output + row[i] * width));
  return operation_check_precision(name, precision);
}

/* One element: before + sum_s gates[s] output[row[s]][column]. */
static phibal_status combine_element(int32_t active, int64_t width, int64_t column,
                                     const int64_t *row, const float *gates,
                                     const float *expert_output, float before, phibal_enclosure *t,
                                     phibal_enclosure *y, phibal_enclosure *condition) {
  phibal_enclosure_set_d(y, (double)before);
  if (condition) phibal_enclosure_set_d(condition, fabs((double)before));
  for (int32_t s = 0; s < active; s++) {
    if (row[s] < 0) continue;
    double gate = gates ? (double)gates[s] : 1.0;
    double product = gate * (double)expert_output[row[s] * width + column];
    phibal_enclosure_set_d(t, product);
    TRY(phibal_enclosure_add(y, y, t));
    if (!condition) continue;
    phibal_enclosure_set_d(t, fabs(product));
    TRY(phibal_enclosure_add(condition, condition, t));
  }
  return PHIBAL_OK;
}

static phibal_status combine_all(int64_t tokens, int32_t active, int64_t width, const int64_t *row,
                                 const float *gates, const float *expert_output,
                                 const float *before, phibal_enclosure *t, phibal_enclosure *y,
                                 phibal_enclosure *condition) {
  for (int64_t i = 0; i < tokens; i++)
    for (int64_t j = 0; j < width; j++)
      TRY(combine_element(active, width, j, row + i * active, gates ? gates + i * active : NULL,
                          expert_output, before ? before[i * width + j] : 0.0f, t,
                          &y[i * width + j], condition ? &condition[i * width + j] : NULL));
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
static void combine_backward_row(int64_t width, float gate, const float *y_gradient,
                                 phibal_enclosure *expert_gradient) {
  for (int64_t j = 0; j < width; j++)
    phibal_enclosure_set_d(&expert_gradient[j], (double)gate * (double)y_gradient[j]);
}

/* One slot of one token; row < 0: padding. `dot` and `magnitude` receive the gate's gradient. */
static phibal_status combine_backward_slot(int64_t width, int64_t row, float gate,
                                           const float *expert_output, const float *y_gradient,
                                           phibal_enclosure *t, phibal_enclosure *expert_gradient,
                                           phibal_enclosure *dot, phibal_enclosure *magnitude) {
  if (row >= 0 && expert_gradient)
    combine_backward_row(width, gate, y_gradient, expert_gradient + row * width);
  return reference_dot_compute(row < 0 ? 0 : width, y_gradient, 1,
                               row < 0 ? expert_output : expert_output + row * width, 1, t, dot,
                               magnitude);
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
  phibal_status status = PHIBAL_OK;
  for (int64_t i = 0; i < tokens * active && status == PHIBAL_OK; i++)
    status = combine_backward_slot(width, row[i], gates[i], expert_output,
                                   y_gradient + (i / active) * width, &t[0], expert_gradient,
                                   gate_gradient ? &gate_gradient[i] : &t[1],
                                   gate_condition ? &gate_condition[i] : &t[2]);
  operation_scratch_clear(t, 3);
  return status;
}
