/* The gated FFN over the rows of one expert, forward (E2): its scratch and its results. */
#include "ffn_group.h"
#include <phibal/acsl/contracts/inside/ffn_static.h>

/* ffn_forward_group with an activation's constants of its own. */
static phibal_status
ffn_forward_activated(const char *name, ffn_shape shape, phibal_activation activation,
                      ffn_scratch s, const float *x, const float *w_gate, const float *w_up,
                      const float *w_down, mpfr_prec_t precision, phibal_reference_result y)
/*@ ghost (phibal_enclosure *all, int64_t n, int64_t m) */ {
  //@ assert use_enclosure;
  //@ ghost ffn_places(s, all, n);
  activation_work work;
  phibal_status status = activation_work_init(name, &work, activation, precision);
  /*@ assert work_set: \forall phibal_enclosure *r; \valid_read{Pre}(r) ==>
        same{Pre, Here}(r) && \valid_read(r) && \separated(r, &work); */
  //@ assert x_there: plain_there(x, shape.rows, shape.width);
  //@ assert gate_there: plain_there(w_gate, shape.hidden, shape.width);
  //@ assert up_there: plain_there(w_up, shape.hidden, shape.width);
  //@ assert down_there: plain_there(w_down, shape.width, shape.hidden);
  //@ assert scratch: vector_output(all, FFN_TEMPORARIES + FFN_VECTORS * n);
  //@ assert scratch_apart: vector_apart_work(all, FFN_TEMPORARIES + FFN_VECTORS * n, &work);
  //@ assert y_there: optional_vector(y.value, m);
  //@ assert y_condition_there: optional_vector(y.condition, m);
  //@ assert y_apart: y.value != \null ==> vector_apart_work(y.value, m, &work);
  //@ assert y_condition_apart: y.condition != \null ==> vector_apart_work(y.condition, m, &work);
  if (status != PHIBAL_OK) return status;
  status = ffn_forward_group(shape, &work, s, x, w_gate, w_up, w_down, precision, y)
      /*@ ghost (all) */;
  //@ ghost computed:;
  /*@ assert others: \forall phibal_enclosure *r; \valid_read{Pre}(r) &&
        vector_apart(r, all, FFN_TEMPORARIES + FFN_VECTORS * n) && result_apart(r, y, m) ==>
          same{Pre, Here}(r); */
  //@ assert a_before: \forall integer i; 0 <= i < n ==> \valid_read{Pre}(s.a.value + i);
  /*@ assert a_condition_before: \forall integer i; 0 <= i < n ==>
        \valid_read{Pre}(s.a.condition + i); */
  //@ assert b_before: \forall integer i; 0 <= i < n ==> \valid_read{Pre}(s.b.value + i);
  /*@ assert b_condition_before: \forall integer i; 0 <= i < n ==>
        \valid_read{Pre}(s.b.condition + i); */
  //@ assert h_before: \forall integer i; 0 <= i < n ==> \valid_read{Pre}(s.h.value + i);
  /*@ assert h_condition_before: \forall integer i; 0 <= i < n ==>
        \valid_read{Pre}(s.h.condition + i); */
  activation_work_clear(&work);
  /*@ assert cleared: \forall phibal_enclosure *r; \valid_read{Pre}(r) ==>
        same{computed, Here}(r); */
  //@ assert all_kept: vector_same{computed, Here}(all, FFN_TEMPORARIES + FFN_VECTORS * n);
  //@ assert y_kept: y.value != \null ==> vector_same{computed, Here}(y.value, m);
  /*@ assert y_condition_kept: y.condition != \null ==>
        vector_same{computed, Here}(y.condition, m); */
  //@ assert a_kept: vector_same{computed, Here}(s.a.value, n);
  //@ assert a_condition_kept: vector_same{computed, Here}(s.a.condition, n);
  //@ assert b_kept: vector_same{computed, Here}(s.b.value, n);
  //@ assert b_condition_kept: vector_same{computed, Here}(s.b.condition, n);
  //@ assert h_kept: vector_same{computed, Here}(s.h.value, n);
  //@ assert h_condition_kept: vector_same{computed, Here}(s.h.condition, n);
  //@ ghost int64_t d = shape.width, f = shape.hidden;
  /*@ assert gates: status == PHIBAL_OK ==> dots_held(s.a.value, n, f, d, x, d, 1, w_gate, 1, d); */
  /*@ assert gate_conditions: status == PHIBAL_OK ==>
        magnitudes_held(s.a.condition, n, f, d, x, d, 1, w_gate, 1, d); */
  /*@ assert ups: status == PHIBAL_OK ==> dots_held(s.b.value, n, f, d, x, d, 1, w_up, 1, d); */
  /*@ assert up_conditions: status == PHIBAL_OK ==>
        magnitudes_held(s.b.condition, n, f, d, x, d, 1, w_up, 1, d); */
  /*@ assert values: status == PHIBAL_OK ==>
        hidden_held(s.h.value, n, activation, x, w_gate, w_up, d, f); */
  /*@ assert conditions: status == PHIBAL_OK ==>
        hidden_conditions_held(s.h.condition, n, activation, x, w_gate, w_up, d, f); */
  //@ assert y_left: optional_vector(y.value, m);
  //@ assert y_condition_left: optional_vector(y.condition, m);
  //@ assert y_pair: optional_vectors_apart(y.value, m, y.condition, m);
  return status;
}

/* (E2) of a group, with a scratch. */
static phibal_status
ffn_forward_results(const char *name, ffn_shape shape, int64_t n, phibal_activation activation,
                    phibal_enclosure *all, const float *x, const float *w_gate, const float *w_up,
                    const float *w_down, mpfr_prec_t precision, phibal_reference_result a,
                    phibal_reference_result b, phibal_reference_result h, phibal_reference_result y)
/*@ ghost (int64_t m) */ {
  //@ assert y_a: results_apart(y, m, a, n);
  //@ assert y_b: results_apart(y, m, b, n);
  //@ assert y_h: results_apart(y, m, h, n);
  //@ assert a_y: optional_vectors_apart(a.value, n, y.value, m);
  //@ assert a_y_condition: optional_vectors_apart(a.value, n, y.condition, m);
  /*@ assert a_free: a.value != \null ==> \forall integer i; 0 <= i < n ==>
        result_apart(a.value + i, y, m); */
  //@ assert a_condition_y: optional_vectors_apart(a.condition, n, y.value, m);
  //@ assert a_condition_y_condition: optional_vectors_apart(a.condition, n, y.condition, m);
  /*@ assert a_condition_free: a.condition != \null ==> \forall integer i; 0 <= i < n ==>
        result_apart(a.condition + i, y, m); */
  //@ assert b_y: optional_vectors_apart(b.value, n, y.value, m);
  //@ assert b_y_condition: optional_vectors_apart(b.value, n, y.condition, m);
  /*@ assert b_free: b.value != \null ==> \forall integer i; 0 <= i < n ==>
        result_apart(b.value + i, y, m); */
  //@ assert b_condition_y: optional_vectors_apart(b.condition, n, y.value, m);
  //@ assert b_condition_y_condition: optional_vectors_apart(b.condition, n, y.condition, m);
  /*@ assert b_condition_free: b.condition != \null ==> \forall integer i; 0 <= i < n ==>
        result_apart(b.condition + i, y, m); */
  //@ assert h_y: optional_vectors_apart(h.value, n, y.value, m);
  //@ assert h_y_condition: optional_vectors_apart(h.value, n, y.condition, m);
  /*@ assert h_free: h.value != \null ==> \forall integer i; 0 <= i < n ==>
        result_apart(h.value + i, y, m); */
  //@ assert h_condition_y: optional_vectors_apart(h.condition, n, y.value, m);
  //@ assert h_condition_y_condition: optional_vectors_apart(h.condition, n, y.condition, m);
  /*@ assert h_condition_free: h.condition != \null ==> \forall integer i; 0 <= i < n ==>
        result_apart(h.condition + i, y, m); */
  /*@ assert y_free_a: y.value != \null ==> \forall integer i; 0 <= i < m ==>
        result_apart(y.value + i, a, n); */
  /*@ assert y_free_b: y.value != \null ==> \forall integer i; 0 <= i < m ==>
        result_apart(y.value + i, b, n); */
  /*@ assert y_free_h: y.value != \null ==> \forall integer i; 0 <= i < m ==>
        result_apart(y.value + i, h, n); */
  /*@ assert y_condition_free_a: y.condition != \null ==> \forall integer i; 0 <= i < m ==>
        result_apart(y.condition + i, a, n); */
  /*@ assert y_condition_free_b: y.condition != \null ==> \forall integer i; 0 <= i < m ==>
        result_apart(y.condition + i, b, n); */
  /*@ assert y_condition_free_h: y.condition != \null ==> \forall integer i; 0 <= i < m ==>
        result_apart(y.condition + i, h, n); */
  //@ assert use_enclosure;
  ffn_scratch s = ffn_scratch_cut(all, (size_t)n);
  //@ ghost int64_t d = shape.width, f = shape.hidden;
  /*@ ghost ffn_parts_chained(s, all, n, a, n);
            ffn_parts_chained(s, all, n, b, n);
            ffn_parts_chained(s, all, n, h, n); */
  phibal_status status = ffn_forward_activated(name, shape, activation, s, x, w_gate, w_up, w_down,
                                               precision, y) /*@ ghost (all, n, m) */;
  /*@ assert a_all: a.value != \null ==> \forall integer i; 0 <= i < n ==>
        vector_apart(a.value + i, all, FFN_TEMPORARIES + FFN_VECTORS * n); */
  //@ assert a_kept: a.value != \null ==> vector_same{Pre, Here}(a.value, n);
  //@ assert a_there: optional_vector(a.value, n);
  /*@ assert a_condition_all: a.condition != \null ==> \forall integer i; 0 <= i < n ==>
        vector_apart(a.condition + i, all, FFN_TEMPORARIES + FFN_VECTORS * n); */
  //@ assert a_condition_kept: a.condition != \null ==> vector_same{Pre, Here}(a.condition, n);
  //@ assert a_condition_there: optional_vector(a.condition, n);
  /*@ assert b_all: b.value != \null ==> \forall integer i; 0 <= i < n ==>
        vector_apart(b.value + i, all, FFN_TEMPORARIES + FFN_VECTORS * n); */
  //@ assert b_kept: b.value != \null ==> vector_same{Pre, Here}(b.value, n);
  //@ assert b_there: optional_vector(b.value, n);
  /*@ assert b_condition_all: b.condition != \null ==> \forall integer i; 0 <= i < n ==>
        vector_apart(b.condition + i, all, FFN_TEMPORARIES + FFN_VECTORS * n); */
  //@ assert b_condition_kept: b.condition != \null ==> vector_same{Pre, Here}(b.condition, n);
  //@ assert b_condition_there: optional_vector(b.condition, n);
  /*@ assert h_all: h.value != \null ==> \forall integer i; 0 <= i < n ==>
        vector_apart(h.value + i, all, FFN_TEMPORARIES + FFN_VECTORS * n); */
  //@ assert h_kept: h.value != \null ==> vector_same{Pre, Here}(h.value, n);
  //@ assert h_there: optional_vector(h.value, n);
  /*@ assert h_condition_all: h.condition != \null ==> \forall integer i; 0 <= i < n ==>
        vector_apart(h.condition + i, all, FFN_TEMPORARIES + FFN_VECTORS * n); */
  //@ assert h_condition_kept: h.condition != \null ==> vector_same{Pre, Here}(h.condition, n);
  //@ assert h_condition_there: optional_vector(h.condition, n);
  if (status != PHIBAL_OK) return status;
  //@ ghost ffn_parts_there(s, all, n);
  //@ assert gates_given: result_given(s.a, n);
  //@ assert ups_given: result_given(s.b, n);
  //@ assert hidden_given: result_given(s.h, n);
  //@ assert gates_apart: results_apart(a, n, s.a, n);
  //@ assert gates_apart_up: results_apart(a, n, s.b, n);
  //@ assert gates_apart_hidden: results_apart(a, n, s.h, n);
  //@ assert ups_apart: results_apart(b, n, s.b, n);
  //@ assert ups_apart_hidden: results_apart(b, n, s.h, n);
  //@ assert hidden_apart: results_apart(h, n, s.h, n);
  //@ ghost computed:;
  ffn_results_copy(n, s.a, a, s.b, b, s.h, h);
  //@ assert all_kept: vector_same{computed, Here}(all, FFN_TEMPORARIES + FFN_VECTORS * n);
  //@ assert y_kept: y.value != \null ==> vector_same{computed, Here}(y.value, m);
  /*@ assert y_condition_kept: y.condition != \null ==>
        vector_same{computed, Here}(y.condition, m); */
  return status;
}

/* (E2) of a group. */
static phibal_status
ffn_forward_counted(const char *name, ffn_shape shape, int64_t n, phibal_activation activation,
                    const float *x, const float *w_gate, const float *w_up, const float *w_down,
                    mpfr_prec_t precision, phibal_reference_result a, phibal_reference_result b,
                    phibal_reference_result h, phibal_reference_result y)
/*@ ghost (int64_t m) */ {
  //@ assert use_enclosure;
  size_t all = FFN_TEMPORARIES + FFN_VECTORS * (size_t)n;
  //@ assert count: all == FFN_TEMPORARIES + FFN_VECTORS * n;
  phibal_enclosure *scratch = NULL;
  TRY(operation_scratch(name, all, precision, &scratch));
  //@ assert x_there: plain_there(x, shape.rows, shape.width);
  //@ assert gate_there: plain_there(w_gate, shape.hidden, shape.width);
  //@ assert up_there: plain_there(w_up, shape.hidden, shape.width);
  //@ assert down_there: plain_there(w_down, shape.width, shape.hidden);
  //@ assert a_kept: a.value != \null ==> vector_same{Pre, Here}(a.value, n);
  //@ assert a_there: optional_vector(a.value, n);
  /*@ assert a_used: a.value != \null ==> \forall integer i; 0 <= i < n ==>
        vector_apart(a.value + i, scratch, all); */
  //@ assert a_free: a.value != \null ==> vectors_apart(scratch, all, a.value, n);
  //@ assert a_condition_kept: a.condition != \null ==> vector_same{Pre, Here}(a.condition, n);
  //@ assert a_condition_there: optional_vector(a.condition, n);
  //@ assert a_condition_free: a.condition != \null ==> vectors_apart(scratch, all, a.condition, n);
  //@ assert b_kept: b.value != \null ==> vector_same{Pre, Here}(b.value, n);
  //@ assert b_there: optional_vector(b.value, n);
  //@ assert b_free: b.value != \null ==> vectors_apart(scratch, all, b.value, n);
  //@ assert b_condition_kept: b.condition != \null ==> vector_same{Pre, Here}(b.condition, n);
  //@ assert b_condition_there: optional_vector(b.condition, n);
  //@ assert b_condition_free: b.condition != \null ==> vectors_apart(scratch, all, b.condition, n);
  //@ assert h_kept: h.value != \null ==> vector_same{Pre, Here}(h.value, n);
  //@ assert h_there: optional_vector(h.value, n);
  //@ assert h_free: h.value != \null ==> vectors_apart(scratch, all, h.value, n);
  //@ assert h_condition_kept: h.condition != \null ==> vector_same{Pre, Here}(h.condition, n);
  //@ assert h_condition_there: optional_vector(h.condition, n);
  //@ assert h_condition_free: h.condition != \null ==> vectors_apart(scratch, all, h.condition, n);
  //@ assert y_kept: y.value != \null ==> vector_same{Pre, Here}(y.value, m);
  //@ assert y_there: optional_vector(y.value, m);
  //@ assert y_free: y.value != \null ==> vectors_apart(scratch, all, y.value, m);
  //@ assert y_condition_kept: y.condition != \null ==> vector_same{Pre, Here}(y.condition, m);
  //@ assert y_condition_there: optional_vector(y.condition, m);
  //@ assert y_condition_free: y.condition != \null ==> vectors_apart(scratch, all, y.condition, m);
  //@ assert a_outside: vector_result_apart(scratch, all, a, n);
  //@ assert b_outside: vector_result_apart(scratch, all, b, n);
  //@ assert h_outside: vector_result_apart(scratch, all, h, n);
  //@ assert y_outside: vector_result_apart(scratch, all, y, m);
  phibal_status status = ffn_forward_results(name, shape, n, activation, scratch, x, w_gate, w_up,
                                             w_down, precision, a, b, h, y) /*@ ghost (m) */;
  //@ ghost computed:;
  /*@ assert others: \forall phibal_enclosure *r; \valid_read{Pre}(r) && in_use{Pre}(r) &&
        result_apart(r, a, n) && result_apart(r, b, n) && result_apart(r, h, n) &&
        result_apart(r, y, m) ==> same{Pre, Here}(r) && vector_apart(r, scratch, all); */
  operation_scratch_clear(scratch, all);
  //@ assert a_left: a.value != \null ==> vector_same{computed, Here}(a.value, n);
  //@ assert a_condition_left: a.condition != \null ==> vector_same{computed, Here}(a.condition, n);
  //@ assert b_left: b.value != \null ==> vector_same{computed, Here}(b.value, n);
  //@ assert b_condition_left: b.condition != \null ==> vector_same{computed, Here}(b.condition, n);
  //@ assert h_left: h.value != \null ==> vector_same{computed, Here}(h.value, n);
  //@ assert h_condition_left: h.condition != \null ==> vector_same{computed, Here}(h.condition, n);
  //@ assert y_left: y.value != \null ==> vector_same{computed, Here}(y.value, m);
  //@ assert y_condition_left: y.condition != \null ==> vector_same{computed, Here}(y.condition, m);
  return status;
}

/* The conditions of h and y, besides what the header says of the others. */
phibal_status phibal_reference_ffn_forward(const phibal_ffn *ffn, int64_t rows, const float *x,
                                           const float *w_gate, const float *w_up,
                                           const float *w_down, mpfr_prec_t precision,
                                           phibal_reference_result a, phibal_reference_result b,
                                           phibal_reference_result h, phibal_reference_result y) {
  const char *name = "phibal_reference_ffn_forward";
  //@ assert use_enclosure && use_place && open_place;
  TRY(ffn_check(name, ffn, rows, x, w_gate, w_up, w_down, precision));
  ffn_shape shape = {rows, ffn->width, ffn->hidden};
  //@ assert signs: 0 <= place(rows, ffn->hidden) && 0 <= place(rows, ffn->width);
  //@ assert counted: shape_counted(shape);
  //@ ghost int64_t m = ffn_output_size(shape);
  //@ ghost ffn_size(shape);
  return ffn_forward_counted(name, shape, rows * shape.hidden, ffn->activation, x, w_gate, w_up,
                             w_down, precision, a, b, h, y) /*@ ghost (m) */;
}
