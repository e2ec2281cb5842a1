/* The gated FFN over the rows of one expert, forward (E2), with first-order conditions carried
   along the chain. */
#include "ffn_work.h"

/* At least sup |act'|, in 64ths: it is 1.0998 for SiLU (at 2.40), 1.1290 for GELU's tanh form (at
   1.42). */
#define ACTIVATION_LIPSCHITZ 73

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

/*@ // nothing but work, t[0..2] and the n values and conditions of a result was written
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

/*@ predicate shape_ready{L}(ffn_shape shape, float *x, float *w_gate, float *w_up,
                             float *w_down) =
      shape_counted(shape) &&
      plain_there(x, shape.rows, shape.width) &&
      plain_there(w_gate, shape.hidden, shape.width) &&
      plain_there(w_up, shape.hidden, shape.width) &&
      plain_there(w_down, shape.width, shape.hidden) &&
      weights_finite(shape.width, shape.hidden, shape.rows, x, w_gate, w_up, w_down);
*/

/*@ // a result of m elements, where it is wanted, is apart from work and the scratch
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
  return ffn_chain_product(shape.rows, f, d, s.h, f, 1, down, false, s.t, y) /*@ ghost (n) */;
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
    if (status == PHIBAL_OK) ffn_results_copy((int64_t)n, s.a, a, s.b, b, s.h, h);
    operation_scratch_clear(scratch, all);
  }
  activation_work_clear(&work);
  return status;
}
