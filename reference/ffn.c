/* The gated FFN over the rows of one expert, forward (E2) and backward (E3), with first-order
   conditions carried along the chain. */
#include "activation.h"
#include "expert.h"
#ifdef __FRAMAC__
#include <phibal/acsl/expert_steps.h>
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
/*@ predicate vector_apart_work(phibal_enclosure *z, integer n, activation_work *work) =
      \forall integer i; 0 <= i < n ==> \separated(work, z + i);
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

/*@ predicate ffn_ready{L}(phibal_ffn *ffn, integer rows, float *x, float *w_gate, float *w_up,
                           float *w_down) =
      ffn != \null && 0 <= rows && 1 <= ffn->width && 1 <= ffn->hidden &&
      place(rows, ffn->hidden) <= FFN_LARGEST &&
      weights_finite(ffn->width, ffn->hidden, rows, x, w_gate, w_up, w_down);
*/
/*@ requires ffn_there(ffn, rows, x, w_gate, w_up, w_down);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == PHIBAL_OK ==> precision >= OPERATION_PRECISION &&
      ffn_ready(ffn, rows, x, w_gate, w_up, w_down); */
static phibal_status ffn_check(const char *name, const phibal_ffn *ffn, int64_t rows,
                               const float *x, const float *w_gate, const float *w_up,
                               const float *w_down, mpfr_prec_t precision) {
  //@ assert open_place && use_place;
  if (!ffn || rows < 0 || ffn->width < 1 || ffn->hidden < 1)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null FFN or bad shape", name);
  TRY(operation_check_precision(name, precision));
  int64_t d = ffn->width, f = ffn->hidden;
  int64_t most = FFN_LARGEST / f;
  if (rows > most)
    return phibal_status_set(PHIBAL_ERROR_MEMORY, "%s: %lld rows of %lld hidden numbers", name,
                             (long long)rows, (long long)f);
  //@ assert size: place(rows, f) <= FFN_LARGEST;
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
/*@ requires \valid(work) && work_ready(work) && vector_output(t, 3);
    requires input(a) && input(a_condition) && input(b) && input(b_condition) && output(h) &&
      output(h_condition);
    requires \separated(work, a) && \separated(work, a_condition) && \separated(work, b) &&
      \separated(work, b_condition) && \separated(work, h) && \separated(work, h_condition) &&
      vector_apart_work(t, 3, work);
    requires vector_apart(a, t, 3) && vector_apart(a_condition, t, 3) && vector_apart(b, t, 3) &&
      vector_apart(b_condition, t, 3) && vector_apart(h, t, 3) && vector_apart(h_condition, t, 3);
    requires \separated(h, b) && \separated(h, a_condition) && \separated(h, b_condition) &&
      \separated(h, h_condition);
    requires \separated(h_condition, b) && \separated(h_condition, b_condition) &&
      \separated(h_condition, a_condition);
    terminates \true;
    exits \false;
    assigns *work, t[0 .. 2], *h, *h_condition;
    ensures work: work_ready(work);
    ensures kind: work->activation == \old(work->activation);
    ensures outputs: vector_output(t, 3) && enclosure(h) && enclosure(h_condition);
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && \separated(r, work) &&
      vector_apart(r, t, 3) && \separated(r, h) && \separated(r, h_condition) ==>
        same{Pre, Here}(r);
    ensures status: \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures value: \result == PHIBAL_OK ==> \forall real p, q; in{Pre}(a, p) && in{Pre}(b, q) ==>
      in(h, activation_value(\old(work->activation), p) * q); */
static phibal_status ffn_gate(activation_work *work, phibal_enclosure *t, const phibal_enclosure *a,
                              const phibal_enclosure *a_condition, const phibal_enclosure *b,
                              const phibal_enclosure *b_condition, phibal_enclosure *h,
                              phibal_enclosure *h_condition) {
  //@ assert use_enclosure;
  phibal_status status = ffn_gate_value(work, &t[0], a, b, h);
  if (status != PHIBAL_OK) return status;
  //@ assert there: input(a_condition) && input(b) && input(b_condition) && output(h_condition);
  status = ffn_gate_condition(t, a_condition, b, b_condition, h_condition);
  //@ assert work: work_ready(work);
  return status;
}

/*@ // the scratch of a group is one vector
    predicate ffn_scratch_there{L}(ffn_scratch s, phibal_enclosure *all, integer n) =
      0 <= n <= FFN_LARGEST && ffn_cut(s, all, n) &&
      vector_output(all, FFN_TEMPORARIES + FFN_VECTORS * n);
    // nothing but work, t[0..2] and the n values and conditions of a result was written
    predicate only_result_written{A, B}(activation_work *work, phibal_enclosure *t,
                                        phibal_reference_result z, integer n) =
      \forall phibal_enclosure *r; \valid_read{A}(r) && \separated(r, work) &&
        vector_apart(r, t, 3) && vector_apart(r, z.value, n) && vector_apart(r, z.condition, n) ==>
          same{A, B}(r);
    predicate gates_held{A, B}(phibal_reference_result a, phibal_reference_result b,
                               phibal_reference_result h, integer n, integer kind) =
      \forall integer k, real p, q; 0 <= k < n && in{A}(a.value + k, p) && in{A}(b.value + k, q) ==>
        in{B}(h.value + k, activation_value(kind, p) * q);
*/
/* ffn_gate of each element. */
/*@ requires ffn_scratch_there(s, all, n);
    requires \valid(work) && work_ready(work) &&
      vector_apart_work(all, FFN_TEMPORARIES + FFN_VECTORS * n, work);
    terminates \true;
    exits \false;
    assigns *work, s.t[0 .. 2], s.h.value[0 .. n - 1], s.h.condition[0 .. n - 1];
    ensures work: work_ready(work);
    ensures kind: work->activation == \old(work->activation);
    ensures outputs: vector_output(all, FFN_TEMPORARIES + FFN_VECTORS * n);
    ensures frame: only_result_written{Pre, Here}(work, s.t, s.h, n);
    ensures status: \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures value: \result == PHIBAL_OK ==>
      gates_held{Pre, Here}(s.a, s.b, s.h, n, \old(work->activation)); */
static phibal_status ffn_gates(int64_t n, activation_work *work, ffn_scratch s)
/*@ ghost (phibal_enclosure *all) */ {
  //@ assert use_enclosure;
  /*@ loop invariant index: 0 <= k <= n;
      loop invariant work: work_ready(work) && work->activation == \at(work->activation, Pre);
      loop invariant outputs: vector_output(all, FFN_TEMPORARIES + FFN_VECTORS * n);
      loop invariant frame: only_result_written{Pre, Here}(work, s.t, s.h, n);
      loop invariant value: gates_held{Pre, Here}(s.a, s.b, s.h, k, work->activation);
      loop assigns k, *work, s.t[0 .. 2], s.h.value[0 .. n - 1], s.h.condition[0 .. n - 1];
      loop variant n - k; */
  for (int64_t k = 0; k < n; k++) {
    /*@ assert places: s.h.value + k == all + (FFN_TEMPORARIES + 4 * n + k) &&
          s.h.condition + k == all + (FFN_TEMPORARIES + 5 * n + k) && s.t == all; */
    //@ ghost before:;
    phibal_status status = ffn_gate(work, s.t, &s.a.value[k], &s.a.condition[k], &s.b.value[k],
                                    &s.b.condition[k], &s.h.value[k], &s.h.condition[k]);
    /*@ assert written: enclosure(all + (FFN_TEMPORARIES + 4 * n + k)) &&
          enclosure(all + (FFN_TEMPORARIES + 5 * n + k)) && vector_output(all, 3); */
    /*@ assert others: \forall integer i; 3 <= i < FFN_TEMPORARIES + FFN_VECTORS * n &&
          i != FFN_TEMPORARIES + 4 * n + k && i != FFN_TEMPORARIES + 5 * n + k ==>
            same{before, Here}(all + i); */
    //@ assert outputs: vector_output(all, FFN_TEMPORARIES + FFN_VECTORS * n);
    if (status != PHIBAL_OK) return status;
  }
  return PHIBAL_OK;
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
    predicate row_members{L}(phibal_enclosure *x, integer from, integer stride, integer inner,
                             sequence s) =
      \forall integer l; 0 <= l < inner ==>
        in(x + (from + place(l, stride)), term(s, from + place(l, stride)));
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
        in(value, c + chain_sum(s, from, x_stride, w, w_stride, n)); */
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
          in(value, c + chain_sum(s, from, x_stride, w, w_stride, l));
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
          in(term, term(s, from + place(l, x_stride))); */
    double weight = (double)w[l * w_stride];
    //@ assert finite: \is_finite(w[place(l, w_stride)]);
    //@ assert exactly: \is_finite(weight) && (real)weight == (real)w[place(l, w_stride)];
    /*@ assert next: \forall sequence s; chain_sum(s, from, x_stride, w, w_stride, l + 1) ==
          chain_sum(s, from, x_stride, w, w_stride, l) +
            term(s, from + place(l, x_stride)) * (real)weight; */
    TRY(operation_add_scaled(value, term, weight, &t[0], &t[1]));
    /*@ assert added: \forall sequence s, real c;
          row_members{Pre}(x.value, from, x_stride, n, s) && in{Pre}(value, c) ==>
            in(value, c + chain_sum(s, from, x_stride, w, w_stride, l + 1)); */
    TRY(operation_add_scaled(condition, magnitude, fabs(weight), &t[0], &t[1]));
  }
  return PHIBAL_OK;
}

/* Element m of X W over `inner`, row by row, in value, or added to it; a null condition is computed
   into t[2] and dropped. */
/*@ requires 0 <= m && 0 < columns;
    requires address(place(m / columns, x_row)) && address(place(m % columns, w.column_stride));
    requires row_there(x, place(m / columns, x_row), x_column, inner, t);
    requires \forall integer l; 0 <= l < inner ==>
      \separated(value, x.value + (place(m / columns, x_row) + place(l, x_column))) &&
      \separated(value, x.condition + (place(m / columns, x_row) + place(l, x_column))) &&
      optional_apart(condition, x.value + (place(m / columns, x_row) + place(l, x_column))) &&
      optional_apart(condition, x.condition + (place(m / columns, x_row) + place(l, x_column)));
    requires strided(w.data + place(m % columns, w.column_stride), inner, w.row_stride);
    requires vector_output(t, 3) && output(value) && optional(condition);
    requires vector_apart(value, t, 3) && (condition == \null || vector_apart(condition, t, 3)) &&
      optional_apart(value, condition);
    terminates \true;
    exits \false;
    assigns t[0 .. 2], *value, *condition;
    ensures outputs: vector_output(t, 3) && enclosure(value) && optional(condition);
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && vector_apart(r, t, 3) &&
      \separated(r, value) && optional_apart(r, condition) ==> same{Pre, Here}(r);
    ensures status: \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures value: \result == PHIBAL_OK && !add ==> \forall sequence s;
      row_members{Pre}(x.value, place(m / columns, x_row), x_column, inner, s) ==>
        in(value, chain_entry(s, x_row, x_column, w.data, w.row_stride, w.column_stride, inner,
                              columns, m));
    ensures added: \result == PHIBAL_OK && add ==> \forall sequence s, real c;
      row_members{Pre}(x.value, place(m / columns, x_row), x_column, inner, s) &&
      in{Pre}(value, c) ==>
        in(value, c + chain_entry(s, x_row, x_column, w.data, w.row_stride, w.column_stride,
                                  inner, columns, m)); */
static phibal_status chain_element(int64_t m, int64_t inner, int64_t columns,
                                   phibal_reference_result x, int64_t x_row, int64_t x_column,
                                   phibal_reference_matrix w, bool add, phibal_enclosure *t,
                                   phibal_enclosure *value, phibal_enclosure *condition) {
  //@ assert use_enclosure && use_place && open_place;
  int64_t i = m / columns, j = m % columns;
  /*@ assert places: i == m / columns && j == m % columns && place(i, x_row) == i * x_row &&
        place(j, w.column_stride) == j * w.column_stride; */
  phibal_enclosure *magnitude = condition ? condition : &t[2];
  if (!add) phibal_enclosure_set_si(value, 0);
  if (!add || !condition) phibal_enclosure_set_si(magnitude, 0);
  /*@ assert members: \forall sequence s;
        row_members{Pre}(x.value, place(i, x_row), x_column, inner, s) ==>
          row_members(x.value, place(i, x_row), x_column, inner, s); */
  /*@ assert dropped: \forall integer l; 0 <= l < inner ==>
        \separated(t + 2, x.value + (place(i, x_row) + place(l, x_column))) &&
        \separated(t + 2, x.condition + (place(i, x_row) + place(l, x_column))); */
  /*@ assert third: output(magnitude) && \separated(value, magnitude) &&
        (magnitude == t + 2 || (magnitude == condition && \separated(magnitude, t + 2))); */
  phibal_status status = chain_dot(inner, x, i * x_row, x_column, w.data + j * w.column_stride,
                                   w.row_stride, t, value, magnitude);
  //@ assert temporaries: output(t + 0) && output(t + 1) && output(t + 2);
  return status;
}

/*@ // elements (i, l) of what these strides describe are among the first n
    predicate strides_inside(integer rows, integer p, integer inner, integer p_in, integer n) =
      (\forall integer i; 0 <= i < rows ==> address(place(i, p))) &&
      (\forall integer l; 0 <= l < inner ==> address(place(l, p_in))) &&
      (\forall integer i, l; 0 <= i < rows && 0 <= l < inner ==>
        0 <= place(i, p) + place(l, p_in) < n);
    // nothing but t[0..2] and n values and conditions of a result, where they are wanted, was
    predicate only_chain_written{A, B}(phibal_enclosure *t, phibal_reference_result z, integer n) =
      \forall phibal_enclosure *r; \valid_read{A}(r) && vector_apart(r, t, 3) &&
        result_apart(r, z, n) ==> same{A, B}(r);
*/
/* result[rows][columns] = X W over `inner`, or added to it, X with strides, W too; a null condition
   is dropped. X has `size` elements. */
/*@ requires 0 <= rows && 0 <= inner && 0 <= columns && 0 <= size <= ROUTING_MAX_SLOTS;
    requires place(rows, columns) <= ROUTING_MAX_SLOTS;
    requires strides_inside(rows, x_row, inner, x_column, size);
    requires vector_input(x.value, size) && vector_input(x.condition, size) &&
      vectors_apart(t, 3, x.value, size) && vectors_apart(t, 3, x.condition, size);
    requires matrix_there(w.data, w.row_stride, w.column_stride, inner, columns) &&
      matrix_finite(w.data, w.row_stride, w.column_stride, inner, columns) &&
      (0 < inner && 0 < columns ==> w.data != \null);
    requires vector_output(t, 3) && result_there(result, place(rows, columns)) &&
      results_apart(result, place(rows, columns), x, size) &&
      optional_vectors_apart(result.value, place(rows, columns), t, 3) &&
      optional_vectors_apart(result.condition, place(rows, columns), t, 3);
    terminates \true;
    exits \false;
    assigns t[0 .. 2], result.value[0 .. place(rows, columns) - 1],
            result.condition[0 .. place(rows, columns) - 1];
    ensures outputs: vector_output(t, 3) && result_there(result, place(rows, columns));
    ensures frame: only_chain_written{Pre, Here}(t, result, place(rows, columns));
    ensures status: \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures value: \result == PHIBAL_OK && !add && result.value != \null ==> \forall sequence s;
      members{Pre}(x.value, size, s) ==>
        chains_held(result.value, place(rows, columns), columns, inner, s, x_row, x_column,
                    w.data, w.row_stride, w.column_stride);
    ensures added: \result == PHIBAL_OK && add && result.value != \null ==>
      \forall sequence s, integer k, real c; members{Pre}(x.value, size, s) &&
      0 <= k < place(rows, columns) && in{Pre}(result.value + k, c) ==>
        in(result.value + k, c + chain_entry(s, x_row, x_column, w.data, w.row_stride,
                                             w.column_stride, inner, columns, k)); */
static phibal_status chain_product(int64_t rows, int64_t inner, int64_t columns,
                                   phibal_reference_result x, int64_t x_row, int64_t x_column,
                                   phibal_reference_matrix w, bool add, phibal_enclosure *t,
                                   phibal_reference_result result)
/*@ ghost (int64_t size) */ {
  //@ assert use_enclosure && use_place && open_place;
  if (!result.value) return PHIBAL_OK;
  const int64_t n = rows * columns;
  //@ assert size: n == place(rows, columns);
  /*@ loop invariant index: 0 <= m && (m <= n || m == 0);
      loop invariant outputs: vector_output(t, 3) && result_there(result, n);
      loop invariant frame: only_chain_written{Pre, Here}(t, result, m);
      loop invariant value: !add ==> \forall sequence s; members{Pre}(x.value, size, s) ==>
        chains_held(result.value, m, columns, inner, s, x_row, x_column, w.data, w.row_stride,
                    w.column_stride);
      loop invariant added: add ==> \forall sequence s, integer k, real c;
        members{Pre}(x.value, size, s) && 0 <= k < m && in{Pre}(result.value + k, c) ==>
          in(result.value + k, c + chain_entry(s, x_row, x_column, w.data, w.row_stride,
                                               w.column_stride, inner, columns, k));
      loop assigns m, t[0 .. 2], result.value[0 .. n - 1], result.condition[0 .. n - 1];
      loop variant n - m; */
  for (int64_t m = 0; m < n; m++) {
    /*@ assert index: 0 < columns && 0 <= m / columns < rows && 0 <= m % columns < columns; */
    /*@ ghost
      expert_column(w.data, w.row_stride, w.column_stride, inner, columns, m % columns); */
    /*@ assert inside: \forall integer l; 0 <= l < inner ==>
          0 <= place(m / columns, x_row) + place(l, x_column) < size; */
    /*@ assert kept: vector_same{Pre, Here}(x.value, size) &&
          vector_same{Pre, Here}(x.condition, size); */
    /*@ assert members: \forall sequence s; members{Pre}(x.value, size, s) ==>
          row_members(x.value, place(m / columns, x_row), x_column, inner, s); */
    //@ assert there: row_there(x, place(m / columns, x_row), x_column, inner, t);
    phibal_enclosure *magnitude = result.condition ? &result.condition[m] : NULL;
    //@ ghost before:;
    phibal_status status = chain_element(m, inner, columns, x, x_row, x_column, w, add, t,
                                         &result.value[m], magnitude);
    /*@ assert written: enclosure(result.value + m) &&
          (result.condition == \null || enclosure(result.condition + m)); */
    /*@ assert others: \forall integer i; 0 <= i < n && i != m ==>
          same{before, Here}(result.value + i) &&
          (result.condition == \null || same{before, Here}(result.condition + i)); */
    //@ assert outputs: vector_output(result.value, n) && optional_vector(result.condition, n);
    if (status != PHIBAL_OK) return status;
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

/*@ predicate result_given{L}(phibal_reference_result r, integer n) =
      vector_input(r.value, n) && vector_input(r.condition, n);
    // the members of r's enclosures are members of z's, where there are any
    predicate copied{A, B}(phibal_reference_result r, phibal_reference_result z, integer n) =
      (z.value != \null ==> \forall integer i, real a; 0 <= i < n && in{A}(r.value + i, a) ==>
        in{B}(z.value + i, a)) &&
      (z.condition != \null ==> \forall integer i, real a; 0 <= i < n &&
        in{A}(r.condition + i, a) ==> in{B}(z.condition + i, a));
*/
/*@ requires 0 <= n && result_given(from, n);
    requires result_there(to, n) && results_apart(to, n, from, n);
    terminates \true;
    exits \false;
    assigns to.value[0 .. n - 1], to.condition[0 .. n - 1];
    ensures outputs: result_there(to, n);
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && result_apart(r, to, n) ==>
      same{Pre, Here}(r);
    ensures values: copied{Pre, Here}(from, to, n); */
static void result_copy(int64_t n, phibal_reference_result from, phibal_reference_result to) {
  //@ assert use_enclosure;
  vector_copy(n, from.value, to.value);
  //@ assert kept: to.condition != \null ==> vector_same{Pre, Here}(from.condition, n);
  //@ assert first: optional_vector(to.value, n);
  //@ ghost copied:;
  vector_copy(n, from.condition, to.condition);
  /*@ assert apart: to.value != \null ==> \forall integer i; 0 <= i < n ==>
        optional_vector_apart(to.value + i, to.condition, n) && \valid_read(to.value + i); */
  //@ assert same: to.value != \null ==> vector_same{copied, Here}(to.value, n);
  //@ assert outputs: optional_vector(to.value, n) && optional_vector(to.condition, n);
}

/* Copies three results. */
/*@ requires 0 <= n && result_given(a, n) && result_given(b, n) && result_given(c, n);
    requires result_there(to_a, n) && result_there(to_b, n) && result_there(to_c, n);
    requires results_apart(to_a, n, a, n) && results_apart(to_a, n, b, n) &&
      results_apart(to_a, n, c, n) && results_apart(to_b, n, b, n) &&
      results_apart(to_b, n, c, n) && results_apart(to_c, n, c, n);
    requires results_apart(to_a, n, to_b, n) && results_apart(to_a, n, to_c, n) &&
      results_apart(to_b, n, to_c, n);
    terminates \true;
    exits \false;
    assigns to_a.value[0 .. n - 1], to_a.condition[0 .. n - 1], to_b.value[0 .. n - 1],
            to_b.condition[0 .. n - 1], to_c.value[0 .. n - 1], to_c.condition[0 .. n - 1];
    ensures outputs: result_there(to_a, n) && result_there(to_b, n) && result_there(to_c, n);
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && result_apart(r, to_a, n) &&
      result_apart(r, to_b, n) && result_apart(r, to_c, n) ==> same{Pre, Here}(r);
    ensures first: copied{Pre, Here}(a, to_a, n);
    ensures second: copied{Pre, Here}(b, to_b, n);
    ensures third: copied{Pre, Here}(c, to_c, n); */
static void results_copy(int64_t n, phibal_reference_result a, phibal_reference_result to_a,
                         phibal_reference_result b, phibal_reference_result to_b,
                         phibal_reference_result c, phibal_reference_result to_c) {
  //@ assert use_enclosure;
  result_copy(n, a, to_a);
  /*@ assert kept: vector_same{Pre, Here}(b.value, n) && vector_same{Pre, Here}(b.condition, n) &&
        vector_same{Pre, Here}(c.value, n) && vector_same{Pre, Here}(c.condition, n); */
  result_copy(n, b, to_b);
  /*@ assert kept: vector_same{Pre, Here}(c.value, n) &&
        vector_same{Pre, Here}(c.condition, n); */
  //@ assert first: copied{Pre, Here}(a, to_a, n);
  result_copy(n, c, to_c);
}

/*@ // shapes whose intermediates can be counted, and the arguments of both directions
    predicate shape_counted(ffn_shape shape) =
      0 <= shape.rows && 1 <= shape.width <= INT32_MAX && 1 <= shape.hidden <= INT32_MAX &&
      0 <= place(shape.rows, shape.hidden) <= FFN_LARGEST &&
      place(shape.rows, shape.width) <= ROUTING_MAX_SLOTS &&
      place(shape.hidden, shape.width) <= ROUTING_MAX_SLOTS;
    predicate plain_ready{L}(float *x, integer rows, integer columns) =
      plain_there(x, rows, columns) && plain_finite(x, rows, columns) &&
      (0 < rows && 0 < columns ==> x != \null);
    predicate shape_ready{L}(ffn_shape shape, float *x, float *w_gate, float *w_up,
                             float *w_down) =
      shape_counted(shape) &&
      plain_there(x, shape.rows, shape.width) &&
      plain_there(w_gate, shape.hidden, shape.width) &&
      plain_there(w_up, shape.hidden, shape.width) &&
      plain_there(w_down, shape.width, shape.hidden) &&
      weights_finite(shape.width, shape.hidden, shape.rows, x, w_gate, w_up, w_down);
    // work is ready, and apart from the scratch
    predicate work_there{L}(activation_work *work, phibal_enclosure *all, integer n) =
      \valid(work) && work_ready(work) &&
      vector_apart_work(all, FFN_TEMPORARIES + FFN_VECTORS * n, work);
    // a result of m elements, where it is wanted, is apart from work and the scratch
    predicate result_placed{L}(phibal_reference_result y, integer m, activation_work *work,
                               phibal_enclosure *all, integer n) =
      result_there(y, m) && vector_result_apart(all, FFN_TEMPORARIES + FFN_VECTORS * n, y, m) &&
      (y.value != \null ==> vector_apart_work(y.value, m, work)) &&
      (y.condition != \null ==> vector_apart_work(y.condition, m, work));
    // what the scratch holds after the forward pass
    predicate forward_held{L}(ffn_scratch s, integer n, integer kind, float *x, float *w_gate,
                              float *w_up, integer d, integer f) =
      dots_held(s.a.value, n, f, d, x, d, 1, w_gate, 1, d) &&
      magnitudes_held(s.a.condition, n, f, d, x, d, 1, w_gate, 1, d) &&
      dots_held(s.b.value, n, f, d, x, d, 1, w_up, 1, d) &&
      magnitudes_held(s.b.condition, n, f, d, x, d, 1, w_up, 1, d) &&
      hidden_held(s.h.value, n, kind, x, w_gate, w_up, d, f);
*/
/* a and b of a group. */
/*@ requires shape_counted(shape) && OPERATION_PRECISION <= precision <= MPFR_PREC_MAX;
    requires plain_ready(x, shape.rows, shape.width) &&
      plain_ready(w_gate, shape.hidden, shape.width) &&
      plain_ready(w_up, shape.hidden, shape.width);
    requires ffn_scratch_there(s, all, place(shape.rows, shape.hidden));
    terminates \true;
    exits \false;
    assigns all[FFN_TEMPORARIES .. FFN_TEMPORARIES + 4 * place(shape.rows, shape.hidden) - 1];
    ensures outputs: vector_output(all,
      FFN_TEMPORARIES + FFN_VECTORS * place(shape.rows, shape.hidden));
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) &&
      vector_apart(r, all + FFN_TEMPORARIES, 4 * place(shape.rows, shape.hidden)) ==>
        same{Pre, Here}(r);
    ensures gates: \result == PHIBAL_OK ==>
      dots_held(s.a.value, place(shape.rows, shape.hidden), shape.hidden, shape.width, x,
                shape.width, 1, w_gate, 1, shape.width) &&
      magnitudes_held(s.a.condition, place(shape.rows, shape.hidden), shape.hidden, shape.width,
                      x, shape.width, 1, w_gate, 1, shape.width);
    ensures ups: \result == PHIBAL_OK ==>
      dots_held(s.b.value, place(shape.rows, shape.hidden), shape.hidden, shape.width, x,
                shape.width, 1, w_up, 1, shape.width) &&
      magnitudes_held(s.b.condition, place(shape.rows, shape.hidden), shape.hidden, shape.width,
                      x, shape.width, 1, w_up, 1, shape.width); */
static phibal_status ffn_projections(ffn_shape shape, ffn_scratch s, const float *x,
                                     const float *w_gate, const float *w_up, mpfr_prec_t precision)
/*@ ghost (phibal_enclosure *all) */ {
  //@ assert use_enclosure;
  int64_t d = shape.width, f = shape.hidden;
  phibal_reference_matrix left = {x, d, 1}, gate = {w_gate, 1, d};
  TRY(phibal_reference_product(shape.rows, d, f, &left, &gate, precision, s.a.value,
                               s.a.condition));
  //@ assert outputs: vector_output(all, FFN_TEMPORARIES + FFN_VECTORS * place(shape.rows, f));
  phibal_reference_matrix right = {x, d, 1}, up = {w_up, 1, d};
  return phibal_reference_product(shape.rows, d, f, &right, &up, precision, s.b.value,
                                  s.b.condition);
}

/*@ requires shape_ready(shape, x, w_gate, w_up, w_down) &&
      OPERATION_PRECISION <= precision <= MPFR_PREC_MAX;
    requires ffn_scratch_there(s, all, place(shape.rows, shape.hidden)) &&
      work_there(work, all, place(shape.rows, shape.hidden)) &&
      result_placed(y, place(shape.rows, shape.width), work, all,
                    place(shape.rows, shape.hidden));
    terminates \true;
    exits \false;
    assigns *work, all[0 .. FFN_TEMPORARIES + FFN_VECTORS * place(shape.rows, shape.hidden) - 1],
            y.value[0 .. place(shape.rows, shape.width) - 1],
            y.condition[0 .. place(shape.rows, shape.width) - 1];
    ensures work: work_ready(work);
    ensures kind: work->activation == \old(work->activation);
    ensures outputs: vector_output(all,
        FFN_TEMPORARIES + FFN_VECTORS * place(shape.rows, shape.hidden)) &&
      result_there(y, place(shape.rows, shape.width));
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && \separated(r, work) &&
      vector_apart(r, all, FFN_TEMPORARIES + FFN_VECTORS * place(shape.rows, shape.hidden)) &&
      result_apart(r, y, place(shape.rows, shape.width)) ==> same{Pre, Here}(r);
    ensures value: \result == PHIBAL_OK ==>
      forward_held(s, place(shape.rows, shape.hidden), \old(work->activation), x, w_gate, w_up,
                   shape.width, shape.hidden);
    ensures output: \result == PHIBAL_OK && y.value != \null ==> \forall sequence h;
      hidden_are(h, place(shape.rows, shape.hidden), \old(work->activation), x, w_gate, w_up,
                 shape.width, shape.hidden) ==>
        chains_held(y.value, place(shape.rows, shape.width), shape.width, shape.hidden, h,
                    shape.hidden, 1, w_down, 1, shape.hidden); */
static phibal_status ffn_forward_group(ffn_shape shape, activation_work *work, ffn_scratch s,
                                       const float *x, const float *w_gate, const float *w_up,
                                       const float *w_down, mpfr_prec_t precision,
                                       phibal_reference_result y)
/*@ ghost (phibal_enclosure *all) */ {
  //@ assert use_enclosure && use_place && open_place;
  int64_t d = shape.width, f = shape.hidden, n = shape.rows * f;
  phibal_reference_matrix down = {w_down, 1, f};
  //@ assert size: n == place(shape.rows, f) && 0 <= n;
  TRY(ffn_projections(shape, s, x, w_gate, w_up, precision) /*@ ghost (all) */);
  //@ assert work: work_ready(work) && work->activation == \at(work->activation, Pre);
  TRY(ffn_gates(n, work, s) /*@ ghost (all) */);
  //@ assert held: forward_held(s, n, work->activation, x, w_gate, w_up, d, f);
  /*@ assert members: \forall sequence h; hidden_are(h, n, work->activation, x, w_gate, w_up, d, f)
        ==> members(s.h.value, n, h); */
  //@ assert inside: strides_inside(shape.rows, f, f, 1, n);
  return chain_product(shape.rows, f, d, s.h, f, 1, down, false, s.t, y) /*@ ghost (n) */;
}

phibal_status phibal_reference_ffn_forward(const phibal_ffn *ffn, int64_t rows, const float *x,
                                           const float *w_gate, const float *w_up,
                                           const float *w_down, mpfr_prec_t precision,
                                           phibal_reference_result a, phibal_reference_result b,
                                           phibal_reference_result h, phibal_reference_result y) {
  const char *name = "phibal_reference_ffn_forward";
  //@ assert use_enclosure && use_place && open_place;
  TRY(ffn_check(name, ffn, rows, x, w_gate, w_up, w_down, precision));
  ffn_shape shape = {rows, ffn->width, ffn->hidden};
  size_t n = (size_t)(rows * shape.hidden), all = FFN_TEMPORARIES + FFN_VECTORS * n;
  //@ assert size: n == place(rows, ffn->hidden);
  activation_work work;
  TRY(activation_work_init(name, &work, ffn->activation, precision));
  phibal_enclosure *scratch = NULL;
  phibal_status status = operation_scratch(name, all, precision, &scratch);
  if (status == PHIBAL_OK) {
    ffn_scratch s = ffn_scratch_cut(scratch, n);
    status = ffn_forward_group(shape, &work, s, x, w_gate, w_up, w_down, precision, y)
        /*@ ghost (scratch) */;
    if (status == PHIBAL_OK) results_copy((int64_t)n, s.a, a, s.b, b, s.h, h);
    operation_scratch_clear(scratch, all);
  }
  activation_work_clear(&work);
  return status;
}

/*@ predicate apart_from_gradients(phibal_enclosure *r, phibal_enclosure *a,
                                   phibal_enclosure *a_condition, phibal_enclosure *b,
                                   phibal_enclosure *b_condition) =
      \separated(r, a) && \separated(r, a_condition) && \separated(r, b) &&
      \separated(r, b_condition);
*/
/* b' and its condition of one element from value = act(a), which becomes |act(a)|; back: h' and its
   condition. */
/*@ requires output(value) && input(back) && input(back_condition) && output(b_gradient) &&
      output(b_condition);
    requires \separated(value, back) && \separated(value, back_condition) &&
      \separated(value, b_gradient) && \separated(value, b_condition) &&
      \separated(b_gradient, back) && \separated(b_gradient, back_condition) &&
      \separated(b_condition, back_condition) && \separated(b_gradient, b_condition);
    terminates \true;
    exits \false;
    assigns *value, *b_gradient, *b_condition;
    ensures outputs: enclosure(value) && enclosure(b_gradient) && enclosure(b_condition);
    ensures frame: only_three_written{Pre, Here}(value, b_gradient, b_condition);
    ensures status: \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures ups: \result == PHIBAL_OK ==> \forall real g, v; in{Pre}(back, g) &&
      in{Pre}(value, v) ==> in(b_gradient, g * v); */
static phibal_status ffn_up_products(phibal_enclosure *value, const phibal_enclosure *back,
                                     const phibal_enclosure *back_condition,
                                     phibal_enclosure *b_gradient, phibal_enclosure *b_condition) {
  //@ assert use_enclosure;
  TRY(phibal_enclosure_mul(b_gradient, back, value));
  phibal_enclosure_abs(value, value);
  return phibal_enclosure_mul(b_condition, back_condition, value);
}

/* a' and its condition of one element from slope = act'(a), size, that derivative's condition, and
   factor, a temporary; they are overwritten. */
/*@ requires \is_finite(b) && output(slope) && output(size) && output(factor);
    requires input(back) && input(back_condition) && output(a_gradient) && output(a_condition);
    requires \separated(slope, size) && \separated(slope, factor) && \separated(size, factor);
    requires \separated(slope, back) && \separated(slope, back_condition) &&
      \separated(slope, a_gradient) && \separated(slope, a_condition);
    requires \separated(size, back) && \separated(size, back_condition) &&
      \separated(size, a_gradient) && \separated(size, a_condition);
    requires \separated(factor, back) && \separated(factor, back_condition) &&
      \separated(factor, a_gradient) && \separated(factor, a_condition);
    requires \separated(a_gradient, back_condition) && \separated(a_gradient, back) &&
      \separated(a_condition, back_condition) && \separated(a_gradient, a_condition);
    terminates \true;
    exits \false;
    assigns *slope, *size, *factor, *a_gradient, *a_condition;
    ensures temporaries: enclosure(slope) && enclosure(size) && enclosure(factor);
    ensures outputs: enclosure(a_gradient) && enclosure(a_condition);
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && \separated(r, slope) &&
      \separated(r, size) && \separated(r, factor) && \separated(r, a_gradient) &&
      \separated(r, a_condition) ==> same{Pre, Here}(r);
    ensures status: \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures gates: \result == PHIBAL_OK ==> \forall real g, v; in{Pre}(back, g) &&
      in{Pre}(slope, v) ==> in(a_gradient, g * (v * (real)b)); */
static phibal_status
ffn_slope_products(phibal_enclosure *slope, phibal_enclosure *size, phibal_enclosure *factor,
                   float b, const phibal_enclosure *back, const phibal_enclosure *back_condition,
                   phibal_enclosure *a_gradient, phibal_enclosure *a_condition) {
  //@ assert use_enclosure;
  operation_set_float(factor, b);
  TRY(phibal_enclosure_mul(slope, slope, factor));
  //@ assert slope: \forall real v; in{Pre}(slope, v) ==> in(slope, v * (real)b);
  TRY(phibal_enclosure_mul(a_gradient, back, slope));
  phibal_enclosure_abs(factor, factor);
  //@ assert factors: output(slope) && output(size) && output(factor);
  TRY(phibal_enclosure_mul(size, size, factor));
  return phibal_enclosure_mul(a_condition, back_condition, size);
}

/* a' = h' b act'(a), b' = h' act(a) of one element; back: h' and its condition. */
/*@ requires \valid(work) && work_ready(work) && \is_finite(a) && \is_finite(b);
    requires vector_output(t, 4) && input(back) && input(back_condition);
    requires output(a_gradient) && output(a_condition) && output(b_gradient) &&
      output(b_condition);
    requires vector_apart_work(t, 4, work) && \separated(work, back) &&
      \separated(work, back_condition) && \separated(work, a_gradient) &&
      \separated(work, a_condition) && \separated(work, b_gradient) &&
      \separated(work, b_condition);
    requires vector_apart(back, t, 4) && vector_apart(back_condition, t, 4) &&
      vector_apart(a_gradient, t, 4) && vector_apart(a_condition, t, 4) &&
      vector_apart(b_gradient, t, 4) && vector_apart(b_condition, t, 4);
    requires apart_from_gradients(back, a_gradient, a_condition, b_gradient, b_condition) &&
      apart_from_gradients(back_condition, a_gradient, a_condition, b_gradient, b_condition);
    requires \separated(a_gradient, a_condition) && \separated(a_gradient, b_gradient) &&
      \separated(a_gradient, b_condition) && \separated(a_condition, b_gradient) &&
      \separated(a_condition, b_condition) && \separated(b_gradient, b_condition);
    terminates \true;
    exits \false;
    assigns *work, t[0 .. 3], *a_gradient, *a_condition, *b_gradient, *b_condition;
    ensures work: work_ready(work);
    ensures kind: work->activation == \old(work->activation);
    ensures outputs: vector_output(t, 4) && enclosure(a_gradient) && enclosure(a_condition) &&
      enclosure(b_gradient) && enclosure(b_condition);
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && \separated(r, work) &&
      vector_apart(r, t, 4) &&
      apart_from_gradients(r, a_gradient, a_condition, b_gradient, b_condition) ==>
        same{Pre, Here}(r);
    ensures status: \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures ups: \result == PHIBAL_OK ==> \forall real g; in{Pre}(back, g) ==>
      in(b_gradient, g * activation_value(\old(work->activation), (real)a));
    ensures gates: \result == PHIBAL_OK ==> \forall real g; in{Pre}(back, g) ==>
      in(a_gradient,
         g * (activation_derivative(\old(work->activation), (real)a) * (real)b)); */
static phibal_status ffn_gate_backward(activation_work *work, phibal_enclosure *t, float a, float b,
                                       const phibal_enclosure *back,
                                       const phibal_enclosure *back_condition,
                                       phibal_enclosure *a_gradient, phibal_enclosure *a_condition,
                                       phibal_enclosure *b_gradient,
                                       phibal_enclosure *b_condition) {
  //@ assert use_enclosure;
  operation_set_float(&t[3], a);
  //@ assert work: work_ready(work);
  phibal_status status = activation_evaluate(work, &t[3], &t[0], &t[1], &t[2]);
  if (status != PHIBAL_OK) return status;
  //@ assert kept: same{Pre, Here}(back) && same{Pre, Here}(back_condition);
  //@ assert temporaries: output(t + 0) && output(t + 1) && output(t + 2) && output(t + 3);
  status = ffn_up_products(&t[0], back, back_condition, b_gradient, b_condition);
  //@ assert later: output(t + 0) && output(t + 1) && output(t + 2) && output(t + 3);
  if (status != PHIBAL_OK) return status;
  //@ assert still: same{Pre, Here}(back) && same{Pre, Here}(back_condition);
  status =
      ffn_slope_products(&t[1], &t[2], &t[3], b, back, back_condition, a_gradient, a_condition);
  //@ assert last: output(t + 0) && output(t + 1) && output(t + 2) && output(t + 3);
  //@ assert work: work_ready(work);
  return status;
}

/*@ // the gradients of the products are apart from the first n of the scratch
    predicate gradients_placed(phibal_enclosure *all, integer n, phibal_reference_ffn_gradients g,
                               integer rows, integer d, integer f) =
      vector_result_apart(all, n, g.x, place(rows, d)) &&
      vector_result_apart(all, n, g.w_gate, place(f, d)) &&
      vector_result_apart(all, n, g.w_up, place(f, d)) &&
      vector_result_apart(all, n, g.w_down, place(d, f));
    predicate result_apart_work(phibal_reference_result r, integer n, activation_work *work) =
      (r.value != \null ==> vector_apart_work(r.value, n, work)) &&
      (r.condition != \null ==> vector_apart_work(r.condition, n, work));
    predicate gradients_apart_work(phibal_reference_ffn_gradients g, integer rows, integer d,
                                   integer f, activation_work *work) =
      result_apart_work(g.x, place(rows, d), work) &&
      result_apart_work(g.w_gate, place(f, d), work) &&
      result_apart_work(g.w_up, place(f, d), work) &&
      result_apart_work(g.w_down, place(d, f), work);
    predicate hidden_gradients_held{L}(ffn_scratch s, integer n, ffn_shape shape, float *y,
                                       float *w_down) =
      dots_held(s.back.value, n, shape.hidden, shape.width, y, shape.width, 1, w_down,
                shape.hidden, 1) &&
      magnitudes_held(s.back.condition, n, shape.hidden, shape.width, y, shape.width, 1, w_down,
                      shape.hidden, 1);
    // nothing but work, t[0..3] and n values and conditions of two results was written
    predicate only_gradients_written{A, B}(activation_work *work, phibal_enclosure *t,
                                           phibal_reference_result a, phibal_reference_result b,
                                           integer n) =
      \forall phibal_enclosure *r; \valid_read{A}(r) && \separated(r, work) &&
        vector_apart(r, t, 4) && vector_apart(r, a.value, n) && vector_apart(r, a.condition, n) &&
        vector_apart(r, b.value, n) && vector_apart(r, b.condition, n) ==> same{A, B}(r);
    predicate gate_gradients_given{A, B}(phibal_reference_result back, phibal_enclosure *z,
                                         integer n, integer kind, float *a, float *b) =
      \forall integer k, real g; 0 <= k < n && in{A}(back.value + k, g) ==>
        in{B}(z + k, g * (activation_derivative(kind, (real)\at(a[k], B)) * (real)\at(b[k], B)));
    predicate up_gradients_given{A, B}(phibal_reference_result back, phibal_enclosure *z,
                                       integer n, integer kind, float *a) =
      \forall integer k, real g; 0 <= k < n && in{A}(back.value + k, g) ==>
        in{B}(z + k, g * activation_value(kind, (real)\at(a[k], B)));
*/
/* ffn_gate_backward of each element. */
/*@ requires ffn_scratch_there(s, all, n) && work_there(work, all, n);
    requires floats_there(a, n) && floats_there(b, n);
    terminates \true;
    exits \false;
    assigns *work, s.t[0 .. 3], s.a.value[0 .. n - 1], s.a.condition[0 .. n - 1],
            s.b.value[0 .. n - 1], s.b.condition[0 .. n - 1];
    ensures work: work_ready(work);
    ensures kind: work->activation == \old(work->activation);
    ensures outputs: vector_output(all, FFN_TEMPORARIES + FFN_VECTORS * n);
    ensures frame: only_gradients_written{Pre, Here}(work, s.t, s.a, s.b, n);
    ensures status: \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures gates: \result == PHIBAL_OK ==>
      gate_gradients_given{Pre, Here}(s.back, s.a.value, n, \old(work->activation), a, b);
    ensures ups: \result == PHIBAL_OK ==>
      up_gradients_given{Pre, Here}(s.back, s.b.value, n, \old(work->activation), a); */
static phibal_status ffn_gates_backward(int64_t n, activation_work *work, ffn_scratch s,
                                        const float *a, const float *b)
/*@ ghost (phibal_enclosure *all) */ {
  //@ assert use_enclosure;
  /*@ loop invariant index: 0 <= k <= n;
      loop invariant work: work_ready(work) && work->activation == \at(work->activation, Pre);
      loop invariant outputs: vector_output(all, FFN_TEMPORARIES + FFN_VECTORS * n);
      loop invariant frame: only_gradients_written{Pre, Here}(work, s.t, s.a, s.b, n);
      loop invariant gates:
        gate_gradients_given{Pre, Here}(s.back, s.a.value, k, work->activation, a, b);
      loop invariant ups: up_gradients_given{Pre, Here}(s.back, s.b.value, k, work->activation, a);
      loop assigns k, *work, s.t[0 .. 3], s.a.value[0 .. n - 1], s.a.condition[0 .. n - 1],
                   s.b.value[0 .. n - 1], s.b.condition[0 .. n - 1];
      loop variant n - k; */
  for (int64_t k = 0; k < n; k++) {
    TRY(ffn_gate_backward(work, s.t, a[k], b[k], &s.back.value[k], &s.back.condition[k],
                          &s.a.value[k], &s.a.condition[k], &s.b.value[k], &s.b.condition[k]));
  }
  return PHIBAL_OK;
}

/* x' = a' W_gate + b' W_up. */
/*@ requires shape_counted(shape) && plain_ready(w_gate, shape.hidden, shape.width) &&
      plain_ready(w_up, shape.hidden, shape.width);
    requires ffn_scratch_there(s, all, place(shape.rows, shape.hidden));
    requires result_there(z, place(shape.rows, shape.width)) &&
      vector_result_apart(all, FFN_TEMPORARIES + FFN_VECTORS * place(shape.rows, shape.hidden), z,
                          place(shape.rows, shape.width));
    terminates \true;
    exits \false;
    assigns s.t[0 .. 2], z.value[0 .. place(shape.rows, shape.width) - 1],
            z.condition[0 .. place(shape.rows, shape.width) - 1];
    ensures outputs: vector_output(s.t, 3) && result_there(z, place(shape.rows, shape.width));
    ensures frame: only_chain_written{Pre, Here}(s.t, z, place(shape.rows, shape.width));
    ensures status: \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures value: \result == PHIBAL_OK && z.value != \null ==> \forall sequence p, q;
      members{Pre}(s.a.value, place(shape.rows, shape.hidden), p) &&
      members{Pre}(s.b.value, place(shape.rows, shape.hidden), q) ==>
        input_gradients_held(z.value, place(shape.rows, shape.width), p, q, w_gate, w_up,
                             shape.width, shape.hidden); */
static phibal_status ffn_backward_input(ffn_shape shape, ffn_scratch s, const float *w_gate,
                                        const float *w_up, phibal_reference_result z)
/*@ ghost (phibal_enclosure *all) */ {
  //@ assert use_enclosure && use_place && open_place;
  int64_t n = shape.rows, d = shape.width, f = shape.hidden;
  phibal_reference_matrix gate = {w_gate, d, 1}, up = {w_up, d, 1};
  //@ ghost int64_t size = n * f;
  //@ assert size: size == place(n, f) && 0 <= size && strides_inside(n, f, f, 1, size);
  TRY(chain_product(n, f, d, s.a, f, 1, gate, false, s.t, z) /*@ ghost (size) */);
  /*@ assert kept: vector_same{Pre, Here}(s.b.value, size) &&
        vector_same{Pre, Here}(s.b.condition, size); */
  /*@ assert members: \forall sequence q; members{Pre}(s.b.value, size, q) ==>
        members(s.b.value, size, q); */
  return chain_product(n, f, d, s.b, f, 1, up, true, s.t, z) /*@ ghost (size) */;
}

/* W' = u'^T x, where u' is a' or b'. */
/*@ requires shape_counted(shape) && plain_ready(x, shape.rows, shape.width);
    requires 0 <= size == place(shape.rows, shape.hidden);
    requires vector_output(t, 3) && vector_input(u.value, size) && vector_input(u.condition, size)
      && vectors_apart(t, 3, u.value, size) && vectors_apart(t, 3, u.condition, size);
    requires result_there(z, place(shape.hidden, shape.width)) &&
      vector_result_apart(t, 3, z, place(shape.hidden, shape.width)) &&
      results_apart(z, place(shape.hidden, shape.width), u, size);
    terminates \true;
    exits \false;
    assigns t[0 .. 2], z.value[0 .. place(shape.hidden, shape.width) - 1],
            z.condition[0 .. place(shape.hidden, shape.width) - 1];
    ensures outputs: vector_output(t, 3) && result_there(z, place(shape.hidden, shape.width));
    ensures frame: only_chain_written{Pre, Here}(t, z, place(shape.hidden, shape.width));
    ensures status: \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures value: \result == PHIBAL_OK && z.value != \null ==> \forall sequence p;
      members{Pre}(u.value, size, p) ==>
        chains_held(z.value, place(shape.hidden, shape.width), shape.width, shape.rows, p, 1,
                    shape.hidden, x, shape.width, 1); */
static phibal_status ffn_backward_weight(ffn_shape shape, phibal_reference_result u,
                                         phibal_enclosure *t, const float *x,
                                         phibal_reference_result z)
/*@ ghost (int64_t size) */ {
  //@ assert use_enclosure && use_place && open_place;
  int64_t n = shape.rows, d = shape.width, f = shape.hidden;
  phibal_reference_matrix right = {x, d, 1};
  //@ assert inside: strides_inside(f, 1, n, f, size);
  return chain_product(f, n, d, u, 1, f, right, false, t, z) /*@ ghost (size) */;
}

/* x' = a' W_gate + b' W_up, W_gate' = a'^T x, W_up' = b'^T x. */
/*@ requires shape_counted(shape) && plain_ready(x, shape.rows, shape.width) &&
      plain_ready(w_gate, shape.hidden, shape.width) &&
      plain_ready(w_up, shape.hidden, shape.width);
    requires ffn_scratch_there(s, all, place(shape.rows, shape.hidden));
    requires result_there(g.x, place(shape.rows, shape.width)) &&
      result_there(g.w_gate, place(shape.hidden, shape.width)) &&
      result_there(g.w_up, place(shape.hidden, shape.width)) &&
      weight_gradients_apart(g, shape.rows, shape.width, shape.hidden) &&
      gradients_placed(all, FFN_TEMPORARIES + FFN_VECTORS * place(shape.rows, shape.hidden), g,
                       shape.rows, shape.width, shape.hidden);
    terminates \true;
    exits \false;
    assigns s.t[0 .. 2], g.x.value[0 .. place(shape.rows, shape.width) - 1],
            g.x.condition[0 .. place(shape.rows, shape.width) - 1],
            g.w_gate.value[0 .. place(shape.hidden, shape.width) - 1],
            g.w_gate.condition[0 .. place(shape.hidden, shape.width) - 1],
            g.w_up.value[0 .. place(shape.hidden, shape.width) - 1],
            g.w_up.condition[0 .. place(shape.hidden, shape.width) - 1];
    ensures outputs: vector_output(s.t, 3) && result_there(g.x, place(shape.rows, shape.width)) &&
      result_there(g.w_gate, place(shape.hidden, shape.width)) &&
      result_there(g.w_up, place(shape.hidden, shape.width));
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && vector_apart(r, s.t, 3) &&
      result_apart(r, g.x, place(shape.rows, shape.width)) &&
      result_apart(r, g.w_gate, place(shape.hidden, shape.width)) &&
      result_apart(r, g.w_up, place(shape.hidden, shape.width)) ==> same{Pre, Here}(r);
    ensures status: \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures value: \result == PHIBAL_OK ==> \forall sequence p, q;
      members{Pre}(s.a.value, place(shape.rows, shape.hidden), p) &&
      members{Pre}(s.b.value, place(shape.rows, shape.hidden), q) ==>
        chain_gradients_held(g, shape.rows, shape.width, shape.hidden, x, w_gate, w_up, p, q); */
static phibal_status ffn_backward_products(ffn_shape shape, ffn_scratch s, const float *x,
                                           const float *w_gate, const float *w_up,
                                           phibal_reference_ffn_gradients g)
/*@ ghost (phibal_enclosure *all) */ {
  //@ assert use_enclosure && open_place;
  //@ ghost int64_t size = shape.rows * shape.hidden;
  //@ assert size: size == place(shape.rows, shape.hidden);
  TRY(ffn_backward_input(shape, s, w_gate, w_up, g.x) /*@ ghost (all) */);
  /*@ assert kept: vector_same{Pre, Here}(s.a.value, size) &&
        vector_same{Pre, Here}(s.a.condition, size) &&
        vector_same{Pre, Here}(s.b.value, size) && vector_same{Pre, Here}(s.b.condition, size); */
  TRY(ffn_backward_weight(shape, s.a, s.t, x, g.w_gate) /*@ ghost (size) */);
  /*@ assert still: vector_same{Pre, Here}(s.b.value, size) &&
        vector_same{Pre, Here}(s.b.condition, size); */
  return ffn_backward_weight(shape, s.b, s.t, x, g.w_up) /*@ ghost (size) */;
}

/* h', a' and b' of a group. */
/*@ requires shape_counted(shape) && OPERATION_PRECISION <= precision <= MPFR_PREC_MAX;
    requires plain_ready(y_gradient, shape.rows, shape.width) &&
      plain_ready(w_down, shape.width, shape.hidden) &&
      floats_there(a, place(shape.rows, shape.hidden)) &&
      floats_there(b, place(shape.rows, shape.hidden));
    requires ffn_scratch_there(s, all, place(shape.rows, shape.hidden)) &&
      work_there(work, all, place(shape.rows, shape.hidden));
    terminates \true;
    exits \false;
    assigns *work, all[0 .. FFN_TEMPORARIES + FFN_VECTORS * place(shape.rows, shape.hidden) - 1];
    ensures work: work_ready(work);
    ensures kind: work->activation == \old(work->activation);
    ensures outputs: vector_output(all,
      FFN_TEMPORARIES + FFN_VECTORS * place(shape.rows, shape.hidden));
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && \separated(r, work) &&
      vector_apart(r, all, FFN_TEMPORARIES + FFN_VECTORS * place(shape.rows, shape.hidden)) ==>
        same{Pre, Here}(r);
    ensures hidden: \result == PHIBAL_OK ==>
      hidden_gradients_held(s, place(shape.rows, shape.hidden), shape, y_gradient, w_down);
    ensures gates: \result == PHIBAL_OK ==>
      gate_inputs_held(s.a.value, place(shape.rows, shape.hidden), \old(work->activation),
                       y_gradient, w_down, a, b, shape.width, shape.hidden);
    ensures ups: \result == PHIBAL_OK ==>
      up_inputs_held(s.b.value, place(shape.rows, shape.hidden), \old(work->activation),
                     y_gradient, w_down, a, shape.width, shape.hidden); */
static phibal_status ffn_backward_hidden(ffn_shape shape, activation_work *work, ffn_scratch s,
                                         const float *w_down, const float *a, const float *b,
                                         const float *y_gradient, mpfr_prec_t precision)
/*@ ghost (phibal_enclosure *all) */ {
  //@ assert use_enclosure && use_place && open_place;
  int64_t d = shape.width, f = shape.hidden, n = shape.rows * f;
  //@ assert size: n == place(shape.rows, f) && 0 <= n;
  phibal_reference_matrix left = {y_gradient, d, 1}, down = {w_down, f, 1};
  TRY(phibal_reference_product(shape.rows, d, f, &left, &down, precision, s.back.value,
                               s.back.condition));
  //@ assert outputs: vector_output(all, FFN_TEMPORARIES + FFN_VECTORS * n);
  //@ assert work: work_ready(work) && work->activation == \at(work->activation, Pre);
  //@ assert held: hidden_gradients_held(s, n, shape, y_gradient, w_down);
  return ffn_gates_backward(n, work, s, a, b) /*@ ghost (all) */;
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

/*@ requires shape_counted(shape) && OPERATION_PRECISION <= precision <= MPFR_PREC_MAX &&
      place(shape.width, shape.hidden) <= ROUTING_MAX_SLOTS;
    requires plain_ready(x, shape.rows, shape.width) &&
      plain_ready(w_gate, shape.hidden, shape.width) &&
      plain_ready(w_up, shape.hidden, shape.width) &&
      plain_ready(w_down, shape.width, shape.hidden);
    requires floats_there(a, place(shape.rows, shape.hidden)) &&
      floats_there(b, place(shape.rows, shape.hidden)) &&
      plain_ready(h, shape.rows, shape.hidden) &&
      plain_ready(y_gradient, shape.rows, shape.width);
    requires ffn_scratch_there(s, all, place(shape.rows, shape.hidden)) &&
      work_there(work, all, place(shape.rows, shape.hidden));
    requires result_there(g.x, place(shape.rows, shape.width)) &&
      result_there(g.w_gate, place(shape.hidden, shape.width)) &&
      result_there(g.w_up, place(shape.hidden, shape.width)) &&
      result_there(g.w_down, place(shape.width, shape.hidden)) &&
      weight_gradients_apart(g, shape.rows, shape.width, shape.hidden) &&
      gradients_placed(all, FFN_TEMPORARIES + FFN_VECTORS * place(shape.rows, shape.hidden), g,
                       shape.rows, shape.width, shape.hidden) &&
      gradients_apart_work(g, shape.rows, shape.width, shape.hidden, work);
    terminates \true;
    exits \false;
    assigns *work, all[0 .. FFN_TEMPORARIES + FFN_VECTORS * place(shape.rows, shape.hidden) - 1],
            g.x.value[0 .. place(shape.rows, shape.width) - 1],
            g.x.condition[0 .. place(shape.rows, shape.width) - 1],
            g.w_gate.value[0 .. place(shape.hidden, shape.width) - 1],
            g.w_gate.condition[0 .. place(shape.hidden, shape.width) - 1],
            g.w_up.value[0 .. place(shape.hidden, shape.width) - 1],
            g.w_up.condition[0 .. place(shape.hidden, shape.width) - 1],
            g.w_down.value[0 .. place(shape.width, shape.hidden) - 1],
            g.w_down.condition[0 .. place(shape.width, shape.hidden) - 1];
    ensures work: work_ready(work);
    ensures outputs: vector_output(all,
      FFN_TEMPORARIES + FFN_VECTORS * place(shape.rows, shape.hidden));
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && \separated(r, work) &&
      vector_apart(r, all, FFN_TEMPORARIES + FFN_VECTORS * place(shape.rows, shape.hidden)) &&
      products_apart(r, g, shape.rows, shape.width, shape.hidden) ==> same{Pre, Here}(r);
    ensures hidden: \result == PHIBAL_OK ==>
      hidden_gradients_held(s, place(shape.rows, shape.hidden), shape, y_gradient, w_down);
    ensures gates: \result == PHIBAL_OK ==>
      gate_inputs_held(s.a.value, place(shape.rows, shape.hidden), \old(work->activation),
                       y_gradient, w_down, a, b, shape.width, shape.hidden);
    ensures ups: \result == PHIBAL_OK ==>
      up_inputs_held(s.b.value, place(shape.rows, shape.hidden), \old(work->activation),
                     y_gradient, w_down, a, shape.width, shape.hidden);
    ensures products: \result == PHIBAL_OK ==> \forall sequence p, q;
      gate_gradients_are(p, place(shape.rows, shape.hidden), \old(work->activation), y_gradient,
                         w_down, a, b, shape.width, shape.hidden) &&
      up_gradients_are(q, place(shape.rows, shape.hidden), \old(work->activation), y_gradient,
                       w_down, a, shape.width, shape.hidden) ==>
        chain_gradients_held(g, shape.rows, shape.width, shape.hidden, x, w_gate, w_up, p, q);
    ensures downs: \result == PHIBAL_OK ==>
      down_gradients_held(g.w_down, shape.rows, shape.width, shape.hidden, h, y_gradient); */
static phibal_status ffn_backward_group(ffn_shape shape, activation_work *work, ffn_scratch s,
                                        const float *x, const float *w_gate, const float *w_up,
                                        const float *w_down, const float *a, const float *b,
                                        const float *h, const float *y_gradient,
                                        mpfr_prec_t precision, phibal_reference_ffn_gradients g)
/*@ ghost (phibal_enclosure *all) */ {
  //@ assert use_enclosure;
  int64_t n = shape.rows, d = shape.width, f = shape.hidden;
  phibal_status status =
      ffn_backward_hidden(shape, work, s, w_down, a, b, y_gradient, precision) /*@ ghost (all) */;
  if (status != PHIBAL_OK) return status;
  /*@ assert members: \forall sequence p, q;
        gate_gradients_are(p, place(n, f), work->activation, y_gradient, w_down, a, b, d, f) &&
        up_gradients_are(q, place(n, f), work->activation, y_gradient, w_down, a, d, f) ==>
          members(s.a.value, place(n, f), p) && members(s.b.value, place(n, f), q); */
  status = ffn_backward_products(shape, s, x, w_gate, w_up, g) /*@ ghost (all) */;
  if (status != PHIBAL_OK || !g.w_down.value) return status;
  phibal_reference_matrix transposed = {y_gradient, 1, d}, right = {h, f, 1};
  return phibal_reference_product(d, n, f, &transposed, &right, precision, g.w_down.value,
                                  g.w_down.condition);
}

phibal_status phibal_reference_ffn_backward(const phibal_ffn *ffn, int64_t rows, const float *x,
                                            const float *w_gate, const float *w_up,
                                            const float *w_down, const float *a, const float *b,
                                            const float *h, const float *y_gradient,
                                            mpfr_prec_t precision,
                                            const phibal_reference_ffn_gradients *gradients) {
  const char *name = "phibal_reference_ffn_backward";
  //@ assert use_enclosure && use_place && open_place;
  TRY(ffn_check(name, ffn, rows, x, w_gate, w_up, w_down, precision));
  ffn_shape shape = {rows, ffn->width, ffn->hidden};
  TRY(ffn_backward_check(name, shape, a, b, h, y_gradient, gradients));
  /*@ ghost expert_plain(a, rows, shape.hidden);
            expert_plain(b, rows, shape.hidden); */
  const phibal_reference_ffn_gradients g = *gradients;
  size_t n = (size_t)(rows * shape.hidden), all = FFN_TEMPORARIES + FFN_VECTORS * n;
  //@ assert size: n == place(rows, shape.hidden);
  activation_work work;
  TRY(activation_work_init(name, &work, ffn->activation, precision));
  phibal_enclosure *scratch = NULL;
  phibal_status status = operation_scratch(name, all, precision, &scratch);
  if (status == PHIBAL_OK) {
    ffn_scratch s = ffn_scratch_cut(scratch, n);
    status = ffn_backward_group(shape, &work, s, x, w_gate, w_up, w_down, a, b, h, y_gradient,
                                precision, g) /*@ ghost (scratch) */;
    if (status == PHIBAL_OK) results_copy((int64_t)n, s.back, g.h, s.a, g.a, s.b, g.b);
    operation_scratch_clear(scratch, all);
  }
  activation_work_clear(&work);
  return status;
}
