/* The gated FFN over the rows of one expert, forward (E2) and backward (E3), with first-order
   conditions carried along the chain. */
#include "activation.h"
#include "expert.h"
#ifdef __FRAMAC__
#include <phibal/acsl/floating.h>
#endif

/* At least sup |act'|, in 64ths: it is 1.0998 for SiLU (at 2.40), 1.1290 for GELU's tanh form (at
   1.42). */
#define ACTIVATION_LIPSCHITZ 73

typedef struct ffn_shape {
  int64_t rows, width, hidden;
} ffn_shape;

/* Each intermediate of one call: value and condition, [rows][hidden]. */
typedef struct ffn_scratch {
  phibal_reference_result a, b, h, back;
  phibal_enclosure *t; /* temporaries [FFN_TEMPORARIES] */
} ffn_scratch;

#define FFN_TEMPORARIES 4
#define FFN_VECTORS 8
/* So many elements of an intermediate that the bytes of the scratch can be counted. */
#define FFN_LARGEST (INT64_MAX / 1024)

/*@ // where the parts of a scratch of FFN_TEMPORARIES + FFN_VECTORS n enclosures begin
    predicate ffn_cut(ffn_scratch s, phibal_enclosure *all, integer n) =
      s.t == all && s.a.value == all + FFN_TEMPORARIES &&
      s.a.condition == all + (FFN_TEMPORARIES + n) &&
      s.b.value == all + (FFN_TEMPORARIES + 2 * n) &&
      s.b.condition == all + (FFN_TEMPORARIES + 3 * n) &&
      s.h.value == all + (FFN_TEMPORARIES + 4 * n) &&
      s.h.condition == all + (FFN_TEMPORARIES + 5 * n) &&
      s.back.value == all + (FFN_TEMPORARIES + 6 * n) &&
      s.back.condition == all + (FFN_TEMPORARIES + 7 * n);
*/
/* Cuts `all`, of FFN_TEMPORARIES + FFN_VECTORS rows hidden enclosures, into its parts. */
/*@ requires n <= FFN_LARGEST;
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures ffn_cut(\result, all, n); */
static ffn_scratch ffn_scratch_cut(phibal_enclosure *all, size_t n) {
  phibal_enclosure *v = all + FFN_TEMPORARIES;
  ffn_scratch s = {.t = all};
  s.a = (phibal_reference_result){v, v + n};
  s.b = (phibal_reference_result){v + 2 * n, v + 3 * n};
  s.h = (phibal_reference_result){v + 4 * n, v + 5 * n};
  s.back = (phibal_reference_result){v + 6 * n, v + 7 * n};
  return s;
}

/*@ // a matrix row by row, without gaps
    predicate plain_there{L}(float *x, integer rows, integer columns) =
      matrix_there(x, columns, 1, rows, columns);
    predicate plain_finite{L}(float *x, integer rows, integer columns) =
      matrix_finite(x, columns, 1, rows, columns);
    predicate ffn_there{L}(phibal_ffn *ffn, integer rows, float *x, float *w_gate, float *w_up,
                           float *w_down) =
      ffn != \null ==> \valid_read(ffn) && plain_there(x, rows, ffn->width) &&
        plain_there(w_gate, ffn->hidden, ffn->width) &&
        plain_there(w_up, ffn->hidden, ffn->width) &&
        plain_there(w_down, ffn->width, ffn->hidden);
    predicate ffn_ready{L}(phibal_ffn *ffn, integer rows, float *x, float *w_gate, float *w_up,
                           float *w_down) =
      ffn != \null && 0 <= rows && 1 <= ffn->width && 1 <= ffn->hidden &&
      place(rows, ffn->hidden) <= FFN_LARGEST &&
      (0 < rows ==> x != \null) && w_gate != \null && w_up != \null && w_down != \null &&
      plain_finite(x, rows, ffn->width) && plain_finite(w_gate, ffn->hidden, ffn->width) &&
      plain_finite(w_up, ffn->hidden, ffn->width) &&
      plain_finite(w_down, ffn->width, ffn->hidden);
*/
static phibal_status ffn_check(const char *name, const phibal_ffn *ffn, int64_t rows,
                               const float *x, const float *w_gate, const float *w_up,
                               const float *w_down, mpfr_prec_t precision) {
  if (!ffn || rows < 0 || ffn->width < 1 || ffn->hidden < 1)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null FFN or bad shape", name);
  TRY(operation_check_precision(name, precision));
  int64_t d = ffn->width, f = ffn->hidden;
  int64_t most = FFN_LARGEST / f;
  if (rows > most)
    return phibal_status_set(PHIBAL_ERROR_MEMORY, "%s: %lld rows of %lld hidden numbers", name,
                             (long long)rows, (long long)f);
  TRY(reference_matrix_check(name, "x", rows, d, &(phibal_reference_matrix){x, d, 1}));
  TRY(reference_matrix_check(name, "w_gate", f, d, &(phibal_reference_matrix){w_gate, d, 1}));
  TRY(reference_matrix_check(name, "w_up", f, d, &(phibal_reference_matrix){w_up, d, 1}));
  return reference_matrix_check(name, "w_down", d, f, &(phibal_reference_matrix){w_down, f, 1});
}

/* t = act(a), h = act(a) b of one element. */
/*@ requires \valid(work) && work_ready(work) && input(a) && input(b) && output(t) && output(h);
    requires \separated(work, a) && \separated(work, b) && \separated(work, t) &&
      \separated(work, h);
    requires \separated(t, a) && \separated(t, b) && \separated(t, h) && \separated(h, b);
    terminates \true;
    exits \false;
    assigns *work, *t, *h;
    ensures work: work_ready(work);
    ensures kind: work->activation == \old(work->activation);
    ensures outputs: enclosure(t) && enclosure(h);
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && \separated(r, work) &&
      \separated(r, t) && \separated(r, h) ==> same{Pre, Here}(r);
    ensures status: \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures activation: \result == PHIBAL_OK ==> \forall real p; in{Pre}(a, p) ==>
      in(t, activation_value(work->activation, p));
    ensures value: \result == PHIBAL_OK ==> \forall real p, q; in{Pre}(a, p) && in{Pre}(b, q) ==>
      in(h, activation_value(work->activation, p) * q); */
static phibal_status ffn_gate_value(activation_work *work, phibal_enclosure *t,
                                    const phibal_enclosure *a, const phibal_enclosure *b,
                                    phibal_enclosure *h) {
  //@ assert use_enclosure;
  TRY(activation_evaluate(work, a, t, NULL, NULL));
  phibal_status status = phibal_enclosure_mul(h, t, b);
  //@ assert work: work_ready(work);
  return status;
}

/*@ // L u, where u is a condition
    axiomatic Lipschitz {
      logic real lipschitz(real u);
    }
    axiomatic LipschitzDefinition {
      predicate open_lipschitz;
      axiom lipschitz_opened: open_lipschitz;
      axiom lipschitz_is: \forall real u; lipschitz(u) == ACTIVATION_LIPSCHITZ * u / 64.0;
    }
*/
/* The condition of h, L cond(a) |b| + |act(a)| cond(b); t[0] is act(a), t[1..2] are temporaries. */
/*@ requires vector_output(t, 3) && input(a_condition) && input(b) && input(b_condition) &&
      output(h_condition);
    requires vector_apart(a_condition, t, 3) && vector_apart(b, t, 3) &&
      vector_apart(b_condition, t, 3) && vector_apart(h_condition, t, 3);
    requires \separated(h_condition, b) && \separated(h_condition, b_condition) &&
      \separated(h_condition, a_condition);
    terminates \true;
    exits \false;
    assigns t[1 .. 2], *h_condition;
    ensures outputs: vector_output(t, 3) && enclosure(h_condition);
    ensures frame: only_three_written{Pre, Here}(h_condition, t + 1, t + 2);
    ensures status: \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures condition: \result == PHIBAL_OK ==> \forall real p, q, u, v;
      in{Pre}(t + 0, p) && in{Pre}(b, q) && in{Pre}(a_condition, u) && in{Pre}(b_condition, v) ==>
        in(h_condition, \abs(q) * lipschitz(u) + \abs(p) * v); */
static phibal_status ffn_gate_condition(phibal_enclosure *t, const phibal_enclosure *a_condition,
                                        const phibal_enclosure *b,
                                        const phibal_enclosure *b_condition,
                                        phibal_enclosure *h_condition) {
  //@ assert use_enclosure && open_lipschitz;
  phibal_enclosure_set_si(&t[1], ACTIVATION_LIPSCHITZ);
  TRY(phibal_enclosure_mul(&t[1], &t[1], a_condition));
  /*@ assert slope: \forall real u; in{Pre}(a_condition, u) ==>
        in(t + 1, (real)ACTIVATION_LIPSCHITZ * u); */
  phibal_enclosure_set_si(&t[2], 64);
  //@ assert divisor: in(t + 2, 64.0);
  TRY(phibal_enclosure_div(&t[1], &t[1], &t[2]));
  /*@ assert share: \forall real u; in{Pre}(a_condition, u) ==>
        in(t + 1, lipschitz(u)); */
  phibal_enclosure_set_si(h_condition, 0);
  /*@ assert zero: in(h_condition, 0.0) && \forall real u; in{Pre}(a_condition, u) ==>
        in(t + 1, lipschitz(u)); */
  TRY(operation_add_magnitude(h_condition, b, &t[1], &t[2]));
  /*@ assert first: \forall real q, u; in{Pre}(b, q) && in{Pre}(a_condition, u) ==>
        in(h_condition, \abs(q) * lipschitz(u)); */
  /*@ assert kept: (\forall real p; in{Pre}(t + 0, p) ==> in(t + 0, p)) &&
        \forall real v; in{Pre}(b_condition, v) ==> in(b_condition, v); */
  return operation_add_magnitude(h_condition, &t[0], b_condition, &t[2]);
}

/* h = act(a) b and its condition L cond(a) |b| + |act(a)| cond(b), of one element. */
static phibal_status ffn_gate(activation_work *work, phibal_enclosure *t, const phibal_enclosure *a,
                              const phibal_enclosure *a_condition, const phibal_enclosure *b,
                              const phibal_enclosure *b_condition, phibal_enclosure *h,
                              phibal_enclosure *h_condition) {
  phibal_status status = ffn_gate_value(work, &t[0], a, b, h);
  if (status != PHIBAL_OK) return status;
  status = ffn_gate_condition(t, a_condition, b, b_condition, h_condition);
  return status;
}

/*@ // of the inner enclosures of a row, with their conditions: they are there, and apart from t
    predicate row_there{L}(phibal_reference_result x, integer from, integer stride, integer inner,
                           phibal_enclosure *t) =
      \forall integer l; 0 <= l < inner ==> address(place(l, stride)) &&
        address(from + place(l, stride)) &&
        input(x.value + (from + place(l, stride))) &&
        input(x.condition + (from + place(l, stride))) &&
        vector_apart(x.value + (from + place(l, stride)), t, 3) &&
        vector_apart(x.condition + (from + place(l, stride)), t, 3);
    predicate row_apart(phibal_reference_result x, integer from, integer stride, integer inner,
                        phibal_enclosure *z, integer n) =
      z != \null ==> \forall integer l; 0 <= l < inner ==>
        vector_apart(x.value + (from + place(l, stride)), z, n) &&
        vector_apart(x.condition + (from + place(l, stride)), z, n);
    predicate row_same{A, B}(phibal_reference_result x, integer from, integer stride,
                             integer inner) =
      \forall integer l; 0 <= l < inner ==>
        same{A, B}(x.value + (from + place(l, stride))) &&
        same{A, B}(x.condition + (from + place(l, stride)));
    predicate row_members{L}(phibal_enclosure *x, integer from, integer stride, integer inner,
                             sequence s) =
      \forall integer l; 0 <= l < inner ==> in(x + (from + place(l, stride)), term(s, l));
    // nothing but t[0..2], z[0..n-1] and w[0..n-1], where there is one, was written
    predicate only_chain_written{A, B}(phibal_enclosure *t, phibal_enclosure *z,
                                       phibal_enclosure *w, integer n) =
      \forall phibal_enclosure *r; \valid_read{A}(r) && vector_apart(r, t, 3) &&
        vector_apart(r, z, n) && optional_vector_apart(r, w, n) ==> same{A, B}(r);
*/
/* value += sum_l x[from + l x_stride] w[l w_stride], condition += sum_l x_condition |w|, over n
   terms; t[0..1] are temporaries. Of the condition it is said only that it is an enclosure. */
/*@ requires row_there(x, from, x_stride, n, t) && address(from);
    requires \forall integer l; 0 <= l < n ==>
      \separated(value, x.value + (from + place(l, x_stride))) &&
      \separated(value, x.condition + (from + place(l, x_stride))) &&
      \separated(condition, x.value + (from + place(l, x_stride))) &&
      \separated(condition, x.condition + (from + place(l, x_stride)));
    requires strided(w, n, w_stride);
    requires vector_output(t, 2) && output(value) && output(condition);
    requires vector_apart(value, t, 2) && vector_apart(condition, t, 2) &&
      \separated(value, condition);
    terminates \true;
    exits \false;
    assigns t[0 .. 1], *value, *condition;
    ensures outputs: vector_output(t, 2) && enclosure(value) && enclosure(condition);
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && vector_apart(r, t, 2) &&
      \separated(r, value) && \separated(r, condition) ==> same{Pre, Here}(r);
    ensures status: \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures value: \result == PHIBAL_OK ==> \forall sequence s, real c;
      row_members{Pre}(x.value, from, x_stride, n, s) && in{Pre}(value, c) ==>
        in(value, c + chain_sum(s, w, w_stride, n)); */
static phibal_status chain_dot(int64_t n, phibal_reference_result x, int64_t from, int64_t x_stride,
                               const float *w, int64_t w_stride, phibal_enclosure *t,
                               phibal_enclosure *value, phibal_enclosure *condition) {
  //@ assert use_enclosure && use_floating && open_place;
  /*@ loop invariant index: 0 <= l && (l <= n || l == 0);
      loop invariant outputs: vector_output(t, 2) && enclosure(value) && enclosure(condition);
      loop invariant frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) &&
        vector_apart(r, t, 2) && \separated(r, value) && \separated(r, condition) ==>
          same{Pre, Here}(r);
      loop invariant value: \forall sequence s, real c;
        row_members{Pre}(x.value, from, x_stride, n, s) && in{Pre}(value, c) ==>
          in(value, c + chain_sum(s, w, w_stride, l));
      loop assigns l, t[0 .. 1], *value, *condition;
      loop variant n - l; */
  for (int64_t l = 0; l < n; l++) {
    //@ assert place: place(l, x_stride) == l * x_stride && place(l, w_stride) == l * w_stride;
    const phibal_enclosure *term = &x.value[from + l * x_stride];
    const phibal_enclosure *magnitude = &x.condition[from + l * x_stride];
    /*@ assert there: input{Pre}(term) && input{Pre}(magnitude) && vector_apart(term, t, 3) &&
          vector_apart(magnitude, t, 3); */
    /*@ assert apart: vector_apart(term, t, 2) && \separated(term, value) &&
          \separated(term, condition); */
    /*@ assert magnitude_apart: vector_apart(magnitude, t, 2) && \separated(magnitude, value) &&
          \separated(magnitude, condition); */
    //@ assert kept: same{Pre, Here}(term) && same{Pre, Here}(magnitude);
    //@ assert terms: input(term) && input(magnitude);
    /*@ assert member: \forall sequence s; row_members{Pre}(x.value, from, x_stride, n, s) ==>
          in(term, term(s, l)); */
    double weight = (double)w[l * w_stride];
    //@ assert finite: \is_finite(w[place(l, w_stride)]);
    //@ assert exactly: \is_finite(weight) && (real)weight == (real)w[place(l, w_stride)];
    /*@ assert next: \forall sequence s; chain_sum(s, w, w_stride, l + 1) ==
          chain_sum(s, w, w_stride, l) + term(s, l) * (real)weight; */
    TRY(operation_add_scaled(value, term, weight, &t[0], &t[1]));
    /*@ assert added: \forall sequence s, real c;
          row_members{Pre}(x.value, from, x_stride, n, s) && in{Pre}(value, c) ==>
            in(value, c + chain_sum(s, w, w_stride, l + 1)); */
    TRY(operation_add_scaled(condition, magnitude, fabs(weight), &t[0], &t[1]));
  }
  return PHIBAL_OK;
}

/* One row of a chain's product: row i of value, x W over `inner`, or added to it; x
   begins at `from`; a null condition is computed into t[2] and dropped. */
static phibal_status chain_row(int64_t i, int64_t inner, int64_t columns, phibal_reference_result x,
                               int64_t from, int64_t x_stride, phibal_reference_matrix w, bool add,
                               phibal_enclosure *t, phibal_enclosure *value,
                               phibal_enclosure *condition) {
  for (int64_t j = 0; j < columns; j++) {
    phibal_enclosure *sum = &value[i * columns + j];
    phibal_enclosure *magnitude = condition ? &condition[i * columns + j] : &t[2];
    if (!add) phibal_enclosure_set_si(sum, 0);
    if (!add || !condition) phibal_enclosure_set_si(magnitude, 0);
    phibal_status status = chain_dot(inner, x, from, x_stride, w.data + j * w.column_stride,
                                     w.row_stride, t, sum, magnitude);
    if (status != PHIBAL_OK) return status;
  }
  return PHIBAL_OK;
}

/* result[rows][columns] = X W over `inner`, or added to it, X with strides, W too; a null condition
   is dropped. */
static phibal_status chain_product(int64_t rows, int64_t inner, int64_t columns,
                                   phibal_reference_result x, int64_t x_row, int64_t x_column,
                                   phibal_reference_matrix w, bool add, phibal_enclosure *t,
                                   phibal_reference_result result) {
  if (!result.value) return PHIBAL_OK;
  for (int64_t i = 0; i < rows; i++) {
    TRY(chain_row(i, inner, columns, x, i * x_row, x_column, w, add, t, result.value,
                  result.condition));
  }
  return PHIBAL_OK;
}

/* to[0..n-1] = from[0..n-1], unless `to` is null. */
/*@ requires 0 <= n && (to != \null ==> vector_input(from, n) && vector_output(to, n) &&
      vectors_apart(to, n, from, n));
    terminates \true;
    exits \false;
    assigns to[0 .. n - 1];
    ensures outputs: optional_vector(to, n);
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) &&
      optional_vector_apart(r, to, n) ==> same{Pre, Here}(r);
    ensures values: to != \null ==> \forall integer i, real a; 0 <= i < n && in{Pre}(from + i, a)
      ==> in(to + i, a); */
static void vector_copy(int64_t n, const phibal_enclosure *from, phibal_enclosure *to) {
  //@ assert use_enclosure;
  if (!to) return;
  /*@ loop invariant index: 0 <= i <= n;
      loop invariant inputs: vector_same{Pre, Here}(from, n);
      loop invariant outputs: vector_output(to, n);
      loop invariant frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) &&
        optional_vector_apart(r, to, n) ==> same{Pre, Here}(r);
      loop invariant values: \forall integer k, real a; 0 <= k < i && in{Pre}(from + k, a) ==>
        in(to + k, a);
      loop assigns i, to[0 .. n - 1];
      loop variant n - i; */
  for (int64_t i = 0; i < n; i++) phibal_enclosure_set(&to[i], &from[i]);
}

static void result_copy(int64_t n, phibal_reference_result from, phibal_reference_result to) {
  vector_copy(n, from.value, to.value);
  vector_copy(n, from.condition, to.condition);
}

static phibal_status ffn_forward_group(ffn_shape shape, activation_work *work, ffn_scratch *s,
                                       const float *x, const float *w_gate, const float *w_up,
                                       const float *w_down, mpfr_prec_t precision,
                                       phibal_reference_result y) {
  int64_t d = shape.width, f = shape.hidden;
  phibal_reference_matrix left = {x, d, 1}, gate = {w_gate, 1, d}, up = {w_up, 1, d};
  phibal_reference_matrix down = {w_down, 1, f};
  TRY(phibal_reference_product(shape.rows, d, f, &left, &gate, precision, s->a.value,
                               s->a.condition));
  TRY(phibal_reference_product(shape.rows, d, f, &left, &up, precision, s->b.value,
                               s->b.condition));
  for (int64_t i = 0; i < shape.rows * f; i++)
    TRY(ffn_gate(work, s->t, &s->a.value[i], &s->a.condition[i], &s->b.value[i], &s->b.condition[i],
                 &s->h.value[i], &s->h.condition[i]));
  return chain_product(shape.rows, f, d, s->h, f, 1, down, false, s->t, y);
}

phibal_status phibal_reference_ffn_forward(const phibal_ffn *ffn, int64_t rows, const float *x,
                                           const float *w_gate, const float *w_up,
                                           const float *w_down, mpfr_prec_t precision,
                                           phibal_reference_result a, phibal_reference_result b,
                                           phibal_reference_result h, phibal_reference_result y) {
  const char *name = "phibal_reference_ffn_forward";
  TRY(ffn_check(name, ffn, rows, x, w_gate, w_up, w_down, precision));
  ffn_shape shape = {rows, ffn->width, ffn->hidden};
  size_t n = (size_t)(rows * shape.hidden), all = FFN_TEMPORARIES + FFN_VECTORS * n;
  activation_work work;
  TRY(activation_work_init(name, &work, ffn->activation, precision));
  phibal_enclosure *scratch = NULL;
  phibal_status status = operation_scratch(name, all, precision, &scratch);
  if (status == PHIBAL_OK) {
    ffn_scratch s = ffn_scratch_cut(scratch, n);
    status = ffn_forward_group(shape, &work, &s, x, w_gate, w_up, w_down, precision, y);
    if (status == PHIBAL_OK) {
      result_copy((int64_t)n, s.a, a);
      result_copy((int64_t)n, s.b, b);
      result_copy((int64_t)n, s.h, h);
    }
    operation_scratch_clear(scratch, all);
  }
  activation_work_clear(&work);
  return status;
}

/* a' and b' of one element and their conditions from t[0] = act(a), t[1] = act'(a), t[2] = the
   derivative's condition; t[3] is a temporary; back: h' and its condition. */
static phibal_status ffn_gate_products(phibal_enclosure *t, float b, const phibal_enclosure *back,
                                       const phibal_enclosure *back_condition,
                                       phibal_enclosure *a_gradient, phibal_enclosure *a_condition,
                                       phibal_enclosure *b_gradient,
                                       phibal_enclosure *b_condition) {
  TRY(phibal_enclosure_mul(b_gradient, back, &t[0]));
  phibal_enclosure_abs(&t[0], &t[0]);
  TRY(phibal_enclosure_mul(b_condition, back_condition, &t[0]));
  operation_set_float(&t[3], b);
  TRY(phibal_enclosure_mul(&t[1], &t[1], &t[3]));
  TRY(phibal_enclosure_mul(a_gradient, back, &t[1]));
  phibal_enclosure_abs(&t[3], &t[3]);
  TRY(phibal_enclosure_mul(&t[2], &t[2], &t[3]));
  return phibal_enclosure_mul(a_condition, back_condition, &t[2]);
}

/* a' = h' b act'(a), b' = h' act(a) of one element; back: h' and its condition. */
static phibal_status ffn_gate_backward(activation_work *work, phibal_enclosure *t, float a, float b,
                                       const phibal_enclosure *back,
                                       const phibal_enclosure *back_condition,
                                       phibal_enclosure *a_gradient, phibal_enclosure *a_condition,
                                       phibal_enclosure *b_gradient,
                                       phibal_enclosure *b_condition) {
  operation_set_float(&t[3], a);
  phibal_status status = activation_evaluate(work, &t[3], &t[0], &t[1], &t[2]);
  if (status != PHIBAL_OK) return status;
  status = ffn_gate_products(t, b, back, back_condition, a_gradient, a_condition, b_gradient,
                             b_condition);
  return status;
}

/* x' = a' W_gate + b' W_up, W_gate' = a'^T x, W_up' = b'^T x. */
static phibal_status ffn_backward_products(ffn_shape shape, ffn_scratch *s, const float *x,
                                           const float *w_gate, const float *w_up,
                                           const phibal_reference_ffn_gradients *g) {
  int64_t n = shape.rows, d = shape.width, f = shape.hidden;
  phibal_reference_matrix gate = {w_gate, d, 1}, up = {w_up, d, 1}, right = {x, d, 1};
  TRY(chain_product(n, f, d, s->a, f, 1, gate, false, s->t, g->x));
  TRY(chain_product(n, f, d, s->b, f, 1, up, true, s->t, g->x));
  TRY(chain_product(f, n, d, s->a, 1, f, right, false, s->t, g->w_gate));
  return chain_product(f, n, d, s->b, 1, f, right, false, s->t, g->w_up);
}

static phibal_status ffn_backward_group(ffn_shape shape, activation_work *work, ffn_scratch *s,
                                        const float *x, const float *w_gate, const float *w_up,
                                        const float *w_down, const float *a, const float *b,
                                        const float *h, const float *y_gradient,
                                        mpfr_prec_t precision,
                                        const phibal_reference_ffn_gradients *g) {
  int64_t n = shape.rows, d = shape.width, f = shape.hidden;
  phibal_reference_matrix left = {y_gradient, d, 1}, down = {w_down, f, 1};
  phibal_reference_matrix transposed = {y_gradient, 1, d}, right = {h, f, 1};
  TRY(phibal_reference_product(n, d, f, &left, &down, precision, s->back.value, s->back.condition));
  for (int64_t i = 0; i < n * f; i++)
    TRY(ffn_gate_backward(work, s->t, a[i], b[i], &s->back.value[i], &s->back.condition[i],
                          &s->a.value[i], &s->a.condition[i], &s->b.value[i], &s->b.condition[i]));
  TRY(ffn_backward_products(shape, s, x, w_gate, w_up, g));
  if (!g->w_down.value) return PHIBAL_OK;
  return phibal_reference_product(d, n, f, &transposed, &right, precision, g->w_down.value,
                                  g->w_down.condition);
}

/*@ requires plain_there(a, shape.rows, shape.hidden) && plain_there(b, shape.rows, shape.hidden) &&
      plain_there(h, shape.rows, shape.hidden) &&
      plain_there(y_gradient, shape.rows, shape.width);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == PHIBAL_OK ==> gradients != \null &&
      (0 < shape.rows && 0 < shape.hidden ==> a != \null && b != \null && h != \null) &&
      (0 < shape.rows && 0 < shape.width ==> y_gradient != \null);
    ensures \result == PHIBAL_OK ==> plain_finite(a, shape.rows, shape.hidden) &&
      plain_finite(b, shape.rows, shape.hidden) && plain_finite(h, shape.rows, shape.hidden) &&
      plain_finite(y_gradient, shape.rows, shape.width); */
static phibal_status ffn_backward_check(const char *name, ffn_shape shape, const float *a,
                                        const float *b, const float *h, const float *y_gradient,
                                        const phibal_reference_ffn_gradients *gradients) {
  int64_t n = shape.rows, d = shape.width, f = shape.hidden;
  if (!gradients) return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null gradients", name);
  TRY(reference_matrix_check(name, "a", n, f, &(phibal_reference_matrix){a, f, 1}));
  TRY(reference_matrix_check(name, "b", n, f, &(phibal_reference_matrix){b, f, 1}));
  TRY(reference_matrix_check(name, "h", n, f, &(phibal_reference_matrix){h, f, 1}));
  return reference_matrix_check(name, "y_gradient", n, d,
                                &(phibal_reference_matrix){y_gradient, d, 1});
}

phibal_status phibal_reference_ffn_backward(const phibal_ffn *ffn, int64_t rows, const float *x,
                                            const float *w_gate, const float *w_up,
                                            const float *w_down, const float *a, const float *b,
                                            const float *h, const float *y_gradient,
                                            mpfr_prec_t precision,
                                            const phibal_reference_ffn_gradients *gradients) {
  const char *name = "phibal_reference_ffn_backward";
  TRY(ffn_check(name, ffn, rows, x, w_gate, w_up, w_down, precision));
  ffn_shape shape = {rows, ffn->width, ffn->hidden};
  TRY(ffn_backward_check(name, shape, a, b, h, y_gradient, gradients));
  size_t n = (size_t)(rows * shape.hidden), all = FFN_TEMPORARIES + FFN_VECTORS * n;
  activation_work work;
  TRY(activation_work_init(name, &work, ffn->activation, precision));
  phibal_enclosure *scratch = NULL;
  phibal_status status = operation_scratch(name, all, precision, &scratch);
  if (status == PHIBAL_OK) {
    ffn_scratch s = ffn_scratch_cut(scratch, n);
    status = ffn_backward_group(shape, &work, &s, x, w_gate, w_up, w_down, a, b, h, y_gradient,
                                precision, gradients);
    if (status == PHIBAL_OK) {
      result_copy((int64_t)n, s.back, gradients->h);
      result_copy((int64_t)n, s.a, gradients->a);
      result_copy((int64_t)n, s.b, gradients->b);
    }
    operation_scratch_clear(scratch, all);
  }
  activation_work_clear(&work);
  return status;
}
