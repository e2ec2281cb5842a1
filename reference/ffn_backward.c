/* The gated FFN over the rows of one expert, backward (E3): its checks, scratch and results. */
#include "ffn_backward_group.h"
#include <phibal/acsl/contracts/inside/ffn_backward_static.h>

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

/* ffn_backward_group with an activation's constants of its own. */
static phibal_status ffn_backward_activated(const char *name, ffn_shape shape, int64_t n,
                                            phibal_activation activation, ffn_scratch s,
                                            const float *x, const float *w_gate, const float *w_up,
                                            const float *w_down, const float *a, const float *b,
                                            const float *h, const float *y_gradient,
                                            mpfr_prec_t precision, phibal_reference_ffn_gradients g)
/*@ ghost (phibal_enclosure *all, int64_t m, int64_t k) */ {
  //@ assert use_enclosure;
  //@ ghost int64_t d = shape.width, f = shape.hidden;
  //@ ghost ffn_places(s, all, n);
  activation_work work;
  phibal_status status = activation_work_init(name, &work, activation, precision);
  /*@ assert work_set: \forall phibal_enclosure *r; \valid_read{Pre}(r) ==>
        same{Pre, Here}(r) && \valid_read(r) && \separated(r, &work); */
  //@ assert floats_kept: \forall float *r; \valid_read{Pre}(r) ==> \valid_read(r);
  //@ assert x_read: plain_there(x, shape.rows, shape.width);
  //@ assert gate_read: plain_there(w_gate, shape.hidden, shape.width);
  //@ assert up_read: plain_there(w_up, shape.hidden, shape.width);
  //@ assert down_read: plain_there(w_down, shape.width, shape.hidden);
  //@ assert hidden_read: plain_there(h, shape.rows, shape.hidden);
  //@ assert y_read: plain_there(y_gradient, shape.rows, shape.width);
  //@ assert a_read: floats_there(a, n);
  //@ assert b_read: floats_there(b, n);
  //@ assert scratch: vector_output(all, FFN_TEMPORARIES + FFN_VECTORS * n);
  //@ assert scratch_apart: vector_apart_work(all, FFN_TEMPORARIES + FFN_VECTORS * n, &work);
  //@ assert x_there: optional_vector(g.x.value, m);
  //@ assert x_condition_there: optional_vector(g.x.condition, m);
  //@ assert w_gate_there: optional_vector(g.w_gate.value, k);
  //@ assert w_gate_condition_there: optional_vector(g.w_gate.condition, k);
  //@ assert w_up_there: optional_vector(g.w_up.value, k);
  //@ assert w_up_condition_there: optional_vector(g.w_up.condition, k);
  //@ assert w_down_there: optional_vector(g.w_down.value, k);
  //@ assert w_down_condition_there: optional_vector(g.w_down.condition, k);
  //@ assert x_apart: g.x.value != \null ==> vector_apart_work(g.x.value, m, &work);
  /*@ assert x_condition_apart: g.x.condition != \null ==>
        vector_apart_work(g.x.condition, m, &work); */
  //@ assert w_gate_apart: g.w_gate.value != \null ==> vector_apart_work(g.w_gate.value, k, &work);
  /*@ assert w_gate_condition_apart: g.w_gate.condition != \null ==>
        vector_apart_work(g.w_gate.condition, k, &work); */
  //@ assert w_up_apart: g.w_up.value != \null ==> vector_apart_work(g.w_up.value, k, &work);
  /*@ assert w_up_condition_apart: g.w_up.condition != \null ==>
        vector_apart_work(g.w_up.condition, k, &work); */
  //@ assert w_down_apart: g.w_down.value != \null ==> vector_apart_work(g.w_down.value, k, &work);
  /*@ assert w_down_condition_apart: g.w_down.condition != \null ==>
        vector_apart_work(g.w_down.condition, k, &work); */
  if (status != PHIBAL_OK) return status;
  status = ffn_backward_group(shape, n, &work, s, x, w_gate, w_up, w_down, a, b, h, y_gradient,
                              precision, g) /*@ ghost (all, m, k) */;
  //@ ghost computed:;
  /*@ assert others: \forall phibal_enclosure *r; \valid_read{Pre}(r) &&
        outside_backward(r, all, n, g, m, k) ==> same{Pre, Here}(r); */
  /*@ assert a_before: \forall integer i; 0 <= i < n ==>
        \valid_read{Pre}(s.a.value + i); */
  /*@ assert a_condition_before: \forall integer i; 0 <= i < n ==>
        \valid_read{Pre}(s.a.condition + i); */
  /*@ assert b_before: \forall integer i; 0 <= i < n ==>
        \valid_read{Pre}(s.b.value + i); */
  /*@ assert b_condition_before: \forall integer i; 0 <= i < n ==>
        \valid_read{Pre}(s.b.condition + i); */
  /*@ assert back_before: \forall integer i; 0 <= i < n ==>
        \valid_read{Pre}(s.back.value + i); */
  /*@ assert back_condition_before: \forall integer i; 0 <= i < n ==>
        \valid_read{Pre}(s.back.condition + i); */
  activation_work_clear(&work);
  /*@ assert cleared: \forall phibal_enclosure *r; \valid_read{Pre}(r) ==>
        same{computed, Here}(r); */
  //@ assert all_kept: vector_same{computed, Here}(all, FFN_TEMPORARIES + FFN_VECTORS * n);
  //@ assert x_kept: g.x.value != \null ==> vector_same{computed, Here}(g.x.value, m);
  /*@ assert x_condition_kept: g.x.condition != \null ==>
        vector_same{computed, Here}(g.x.condition, m); */
  /*@ assert w_gate_kept: g.w_gate.value != \null ==>
        vector_same{computed, Here}(g.w_gate.value, k); */
  /*@ assert w_gate_condition_kept: g.w_gate.condition != \null ==>
        vector_same{computed, Here}(g.w_gate.condition, k); */
  //@ assert w_up_kept: g.w_up.value != \null ==> vector_same{computed, Here}(g.w_up.value, k);
  /*@ assert w_up_condition_kept: g.w_up.condition != \null ==>
        vector_same{computed, Here}(g.w_up.condition, k); */
  /*@ assert w_down_kept: g.w_down.value != \null ==>
        vector_same{computed, Here}(g.w_down.value, k); */
  /*@ assert w_down_condition_kept: g.w_down.condition != \null ==>
        vector_same{computed, Here}(g.w_down.condition, k); */
  //@ assert s_a_kept: vector_same{computed, Here}(s.a.value, n);
  //@ assert s_a_condition_kept: vector_same{computed, Here}(s.a.condition, n);
  //@ assert s_b_kept: vector_same{computed, Here}(s.b.value, n);
  //@ assert s_b_condition_kept: vector_same{computed, Here}(s.b.condition, n);
  //@ assert s_back_kept: vector_same{computed, Here}(s.back.value, n);
  //@ assert s_back_condition_kept: vector_same{computed, Here}(s.back.condition, n);
  /*@ assert dots: status == PHIBAL_OK ==>
        dots_held(s.back.value, n, f, d, y_gradient, d, 1, w_down, f, 1); */
  /*@ assert magnitudes: status == PHIBAL_OK ==>
        magnitudes_held(s.back.condition, n, f, d, y_gradient, d, 1, w_down, f, 1); */
  /*@ assert gates: status == PHIBAL_OK ==>
        gate_inputs_held(s.a.value, n, activation, y_gradient, w_down, a, b, d, f); */
  /*@ assert ups: status == PHIBAL_OK ==>
        up_inputs_held(s.b.value, n, activation, y_gradient, w_down, a, d, f); */
  //@ assert x_left: optional_vector(g.x.value, m);
  //@ assert x_condition_left: optional_vector(g.x.condition, m);
  //@ assert w_gate_left: optional_vector(g.w_gate.value, k);
  //@ assert w_gate_condition_left: optional_vector(g.w_gate.condition, k);
  //@ assert w_up_left: optional_vector(g.w_up.value, k);
  //@ assert w_up_condition_left: optional_vector(g.w_up.condition, k);
  //@ assert w_down_left: optional_vector(g.w_down.value, k);
  //@ assert w_down_condition_left: optional_vector(g.w_down.condition, k);
  /*@ assert x_members: g.x.value != \null ==> \forall integer i, real c;
        0 <= i < m && in{computed}(g.x.value + i, c) ==> in(g.x.value + i, c); */
  /*@ assert w_gate_members: g.w_gate.value != \null ==> \forall integer i, real c;
        0 <= i < k && in{computed}(g.w_gate.value + i, c) ==> in(g.w_gate.value + i, c); */
  /*@ assert w_up_members: g.w_up.value != \null ==> \forall integer i, real c;
        0 <= i < k && in{computed}(g.w_up.value + i, c) ==> in(g.w_up.value + i, c); */
  /*@ assert w_down_members: g.w_down.value != \null ==> \forall integer i, real c;
        0 <= i < k && in{computed}(g.w_down.value + i, c) ==> in(g.w_down.value + i, c); */
  /*@ assert x_condition_members: g.x.condition != \null ==> \forall integer i, real c;
        0 <= i < m && in{computed}(g.x.condition + i, c) ==> in(g.x.condition + i, c); */
  /*@ assert w_gate_condition_members: g.w_gate.condition != \null ==> \forall integer i, real c;
        0 <= i < k && in{computed}(g.w_gate.condition + i, c) ==> in(g.w_gate.condition + i, c); */
  /*@ assert w_up_condition_members: g.w_up.condition != \null ==> \forall integer i, real c;
        0 <= i < k && in{computed}(g.w_up.condition + i, c) ==> in(g.w_up.condition + i, c); */
  /*@ assert w_down_condition_members: g.w_down.condition != \null ==> \forall integer i, real c;
        0 <= i < k && in{computed}(g.w_down.condition + i, c) ==> in(g.w_down.condition + i, c); */
  /*@ assert products: status == PHIBAL_OK ==>
        inputs_held(g.x.value, m, n, activation, w_gate, w_up, w_down, a, b, y_gradient, d, f); */
  /*@ assert gate_weights: status == PHIBAL_OK ==>
        gate_weights_held(g.w_gate.value, k, n, shape.rows, activation, x, w_down, a, b,
                          y_gradient, d, f); */
  /*@ assert up_weights: status == PHIBAL_OK ==>
        up_weights_held(g.w_up.value, k, n, shape.rows, activation, x, w_down, a, y_gradient, d,
                        f); */
  /*@ assert down_weights: status == PHIBAL_OK ==>
        down_weights_held(g.w_down.value, k, shape.rows, h, y_gradient, d, f); */
  /*@ assert down_conditions: status == PHIBAL_OK && g.w_down.value != \null ==>
        down_conditions_held(g.w_down.condition, k, shape.rows, h, y_gradient, d, f); */
  /*@ assert input_conditions: status == PHIBAL_OK && g.x.value != \null ==>
        input_conditions_held(g.x.condition, m, n, activation, w_gate, w_up, w_down, a, b,
                              y_gradient, d, f); */
  /*@ assert gate_weight_conditions: status == PHIBAL_OK && g.w_gate.value != \null ==>
        gate_weight_conditions_held(g.w_gate.condition, k, n, shape.rows, activation, x, w_down, a,
                                    b, y_gradient, d, f); */
  /*@ assert up_weight_conditions: status == PHIBAL_OK && g.w_up.value != \null ==>
        up_weight_conditions_held(g.w_up.condition, k, n, shape.rows, activation, x, w_down, a,
                                  y_gradient, d, f); */
  return status;
}

/* (E3) of a group, with a scratch. */
static phibal_status ffn_backward_results(const char *name, ffn_shape shape, int64_t n,
                                          phibal_activation activation, phibal_enclosure *all,
                                          const float *x, const float *w_gate, const float *w_up,
                                          const float *w_down, const float *a, const float *b,
                                          const float *h, const float *y_gradient,
                                          mpfr_prec_t precision, phibal_reference_ffn_gradients g)
/*@ ghost (int64_t m, int64_t k) */ {
  //@ assert use_enclosure;
  //@ ghost int64_t d = shape.width, f = shape.hidden;
  //@ ghost ffn_gradients_free(g, shape.rows, d, f, n, m, k);
  //@ assert h_pair: optional_vectors_apart(g.h.value, n, g.h.condition, n);
  //@ assert a_pair: optional_vectors_apart(g.a.value, n, g.a.condition, n);
  //@ assert b_pair: optional_vectors_apart(g.b.value, n, g.b.condition, n);
  //@ assert x_pair: optional_vectors_apart(g.x.value, m, g.x.condition, m);
  //@ assert w_gate_pair: optional_vectors_apart(g.w_gate.value, k, g.w_gate.condition, k);
  //@ assert w_up_pair: optional_vectors_apart(g.w_up.value, k, g.w_up.condition, k);
  //@ assert w_down_pair: optional_vectors_apart(g.w_down.value, k, g.w_down.condition, k);
  ffn_scratch s = ffn_scratch_cut(all, (size_t)n);
  /*@ ghost ffn_parts_chained(s, all, n, g.h, n);
            ffn_parts_chained(s, all, n, g.a, n);
            ffn_parts_chained(s, all, n, g.b, n);
            ffn_places(s, all, n); */
  //@ assert h_given: optional_vector(g.h.value, n);
  //@ assert h_condition_given: optional_vector(g.h.condition, n);
  //@ assert a_given: optional_vector(g.a.value, n);
  //@ assert a_condition_given: optional_vector(g.a.condition, n);
  //@ assert b_given: optional_vector(g.b.value, n);
  //@ assert b_condition_given: optional_vector(g.b.condition, n);
  /*@ assert h_all: g.h.value != \null ==>
        vectors_apart(g.h.value, n, all, FFN_TEMPORARIES + FFN_VECTORS * n); */
  /*@ assert h_condition_all: g.h.condition != \null ==>
        vectors_apart(g.h.condition, n, all, FFN_TEMPORARIES + FFN_VECTORS * n); */
  /*@ assert a_all: g.a.value != \null ==>
        vectors_apart(g.a.value, n, all, FFN_TEMPORARIES + FFN_VECTORS * n); */
  /*@ assert a_condition_all: g.a.condition != \null ==>
        vectors_apart(g.a.condition, n, all, FFN_TEMPORARIES + FFN_VECTORS * n); */
  /*@ assert b_all: g.b.value != \null ==>
        vectors_apart(g.b.value, n, all, FFN_TEMPORARIES + FFN_VECTORS * n); */
  /*@ assert b_condition_all: g.b.condition != \null ==>
        vectors_apart(g.b.condition, n, all, FFN_TEMPORARIES + FFN_VECTORS * n); */
  /*@ assert h_outside: g.h.value != \null ==> \forall integer i; 0 <= i < n ==>
        outside_backward(g.h.value + i, all, n, g, m, k); */
  /*@ assert h_condition_outside: g.h.condition != \null ==> \forall integer i; 0 <= i < n ==>
        outside_backward(g.h.condition + i, all, n, g, m, k); */
  /*@ assert a_outside: g.a.value != \null ==> \forall integer i; 0 <= i < n ==>
        outside_backward(g.a.value + i, all, n, g, m, k); */
  /*@ assert a_condition_outside: g.a.condition != \null ==> \forall integer i; 0 <= i < n ==>
        outside_backward(g.a.condition + i, all, n, g, m, k); */
  /*@ assert b_outside: g.b.value != \null ==> \forall integer i; 0 <= i < n ==>
        outside_backward(g.b.value + i, all, n, g, m, k); */
  /*@ assert b_condition_outside: g.b.condition != \null ==> \forall integer i; 0 <= i < n ==>
        outside_backward(g.b.condition + i, all, n, g, m, k); */
  //@ assert hidden_back: optional_vectors_apart(g.h.value, n, s.back.value, n);
  //@ assert hidden_back_condition: optional_vectors_apart(g.h.value, n, s.back.condition, n);
  //@ assert hidden_condition_back: optional_vectors_apart(g.h.condition, n, s.back.value, n);
  /*@ assert hidden_condition_back_condition:
        optional_vectors_apart(g.h.condition, n, s.back.condition, n); */
  phibal_status status =
      ffn_backward_activated(name, shape, n, activation, s, x, w_gate, w_up, w_down, a, b, h,
                             y_gradient, precision, g) /*@ ghost (all, m, k) */;
  //@ assert all_there: vector_output(all, FFN_TEMPORARIES + FFN_VECTORS * n);
  //@ assert h_kept: g.h.value != \null ==> vector_same{Pre, Here}(g.h.value, n);
  //@ assert h_condition_kept: g.h.condition != \null ==> vector_same{Pre, Here}(g.h.condition, n);
  //@ assert a_kept: g.a.value != \null ==> vector_same{Pre, Here}(g.a.value, n);
  //@ assert a_condition_kept: g.a.condition != \null ==> vector_same{Pre, Here}(g.a.condition, n);
  //@ assert b_kept: g.b.value != \null ==> vector_same{Pre, Here}(g.b.value, n);
  //@ assert b_condition_kept: g.b.condition != \null ==> vector_same{Pre, Here}(g.b.condition, n);
  //@ assert h_there: optional_vector(g.h.value, n);
  //@ assert h_condition_there: optional_vector(g.h.condition, n);
  //@ assert a_there: optional_vector(g.a.value, n);
  //@ assert a_condition_there: optional_vector(g.a.condition, n);
  //@ assert b_there: optional_vector(g.b.value, n);
  //@ assert b_condition_there: optional_vector(g.b.condition, n);
  if (status != PHIBAL_OK) return status;
  //@ ghost ffn_parts_there(s, all, n);
  //@ assert hidden_given: result_given(s.back, n);
  //@ assert gates_given: result_given(s.a, n);
  //@ assert ups_given: result_given(s.b, n);
  //@ assert hidden_apart: results_apart(g.h, n, s.back, n);
  //@ assert hidden_apart_gate: results_apart(g.h, n, s.a, n);
  //@ assert hidden_apart_up: results_apart(g.h, n, s.b, n);
  //@ assert gates_apart: results_apart(g.a, n, s.a, n);
  //@ assert gates_apart_up: results_apart(g.a, n, s.b, n);
  //@ assert ups_apart: results_apart(g.b, n, s.b, n);
  //@ ghost computed:;
  ffn_results_copy(n, s.back, g.h, s.a, g.a, s.b, g.b);
  //@ assert all_kept: vector_same{computed, Here}(all, FFN_TEMPORARIES + FFN_VECTORS * n);
  //@ assert all_left: vector_output(all, FFN_TEMPORARIES + FFN_VECTORS * n);
  //@ assert x_kept: g.x.value != \null ==> vector_same{computed, Here}(g.x.value, m);
  /*@ assert x_condition_kept: g.x.condition != \null ==>
        vector_same{computed, Here}(g.x.condition, m); */
  /*@ assert w_gate_kept: g.w_gate.value != \null ==>
        vector_same{computed, Here}(g.w_gate.value, k); */
  /*@ assert w_gate_condition_kept: g.w_gate.condition != \null ==>
        vector_same{computed, Here}(g.w_gate.condition, k); */
  //@ assert w_up_kept: g.w_up.value != \null ==> vector_same{computed, Here}(g.w_up.value, k);
  /*@ assert w_up_condition_kept: g.w_up.condition != \null ==>
        vector_same{computed, Here}(g.w_up.condition, k); */
  /*@ assert w_down_kept: g.w_down.value != \null ==>
        vector_same{computed, Here}(g.w_down.value, k); */
  /*@ assert w_down_condition_kept: g.w_down.condition != \null ==>
        vector_same{computed, Here}(g.w_down.condition, k); */
  //@ assert x_there: optional_vector(g.x.value, m);
  //@ assert x_condition_there: optional_vector(g.x.condition, m);
  //@ assert w_gate_there: optional_vector(g.w_gate.value, k);
  //@ assert w_gate_condition_there: optional_vector(g.w_gate.condition, k);
  //@ assert w_up_there: optional_vector(g.w_up.value, k);
  //@ assert w_up_condition_there: optional_vector(g.w_up.condition, k);
  //@ assert w_down_there: optional_vector(g.w_down.value, k);
  //@ assert w_down_condition_there: optional_vector(g.w_down.condition, k);
  /*@ assert x_members: g.x.value != \null ==> \forall integer i, real c;
        0 <= i < m && in{computed}(g.x.value + i, c) ==> in(g.x.value + i, c); */
  /*@ assert w_gate_members: g.w_gate.value != \null ==> \forall integer i, real c;
        0 <= i < k && in{computed}(g.w_gate.value + i, c) ==> in(g.w_gate.value + i, c); */
  /*@ assert w_up_members: g.w_up.value != \null ==> \forall integer i, real c;
        0 <= i < k && in{computed}(g.w_up.value + i, c) ==> in(g.w_up.value + i, c); */
  /*@ assert w_down_members: g.w_down.value != \null ==> \forall integer i, real c;
        0 <= i < k && in{computed}(g.w_down.value + i, c) ==> in(g.w_down.value + i, c); */
  /*@ assert x_condition_members: g.x.condition != \null ==> \forall integer i, real c;
        0 <= i < m && in{computed}(g.x.condition + i, c) ==> in(g.x.condition + i, c); */
  /*@ assert w_gate_condition_members: g.w_gate.condition != \null ==> \forall integer i, real c;
        0 <= i < k && in{computed}(g.w_gate.condition + i, c) ==> in(g.w_gate.condition + i, c); */
  /*@ assert w_up_condition_members: g.w_up.condition != \null ==> \forall integer i, real c;
        0 <= i < k && in{computed}(g.w_up.condition + i, c) ==> in(g.w_up.condition + i, c); */
  /*@ assert w_down_condition_members: g.w_down.condition != \null ==> \forall integer i, real c;
        0 <= i < k && in{computed}(g.w_down.condition + i, c) ==> in(g.w_down.condition + i, c); */
  /*@ assert products: status == PHIBAL_OK ==>
        inputs_held(g.x.value, m, n, activation, w_gate, w_up, w_down, a, b, y_gradient, d, f); */
  /*@ assert gate_weights: status == PHIBAL_OK ==>
        gate_weights_held(g.w_gate.value, k, n, shape.rows, activation, x, w_down, a, b,
                          y_gradient, d, f); */
  /*@ assert up_weights: status == PHIBAL_OK ==>
        up_weights_held(g.w_up.value, k, n, shape.rows, activation, x, w_down, a, y_gradient, d,
                        f); */
  /*@ assert down_weights: status == PHIBAL_OK ==>
        down_weights_held(g.w_down.value, k, shape.rows, h, y_gradient, d, f); */
  /*@ assert down_conditions: status == PHIBAL_OK && g.w_down.value != \null ==>
        down_conditions_held(g.w_down.condition, k, shape.rows, h, y_gradient, d, f); */
  /*@ assert input_conditions: status == PHIBAL_OK && g.x.value != \null ==>
        input_conditions_held(g.x.condition, m, n, activation, w_gate, w_up, w_down, a, b,
                              y_gradient, d, f); */
  /*@ assert gate_weight_conditions: status == PHIBAL_OK && g.w_gate.value != \null ==>
        gate_weight_conditions_held(g.w_gate.condition, k, n, shape.rows, activation, x, w_down, a,
                                    b, y_gradient, d, f); */
  /*@ assert up_weight_conditions: status == PHIBAL_OK && g.w_up.value != \null ==>
        up_weight_conditions_held(g.w_up.condition, k, n, shape.rows, activation, x, w_down, a,
                                  y_gradient, d, f); */
  return status;
}

/* (E3) of a group. */
static phibal_status
ffn_backward_counted(const char *name, ffn_shape shape, int64_t n, phibal_activation activation,
                     const float *x, const float *w_gate, const float *w_up, const float *w_down,
                     const float *a, const float *b, const float *h, const float *y_gradient,
                     mpfr_prec_t precision, phibal_reference_ffn_gradients g)
/*@ ghost (int64_t m, int64_t k) */ {
  //@ assert use_enclosure;
  //@ ghost int64_t d = shape.width, f = shape.hidden;
  //@ assert h_pair: optional_vectors_apart(g.h.value, n, g.h.condition, n);
  //@ assert a_pair: optional_vectors_apart(g.a.value, n, g.a.condition, n);
  //@ assert b_pair: optional_vectors_apart(g.b.value, n, g.b.condition, n);
  //@ assert x_pair: optional_vectors_apart(g.x.value, m, g.x.condition, m);
  //@ assert w_gate_pair: optional_vectors_apart(g.w_gate.value, k, g.w_gate.condition, k);
  //@ assert w_up_pair: optional_vectors_apart(g.w_up.value, k, g.w_up.condition, k);
  //@ assert w_down_pair: optional_vectors_apart(g.w_down.value, k, g.w_down.condition, k);
  //@ assert h_given: optional_vector(g.h.value, n);
  //@ assert h_condition_given: optional_vector(g.h.condition, n);
  //@ assert a_given: optional_vector(g.a.value, n);
  //@ assert a_condition_given: optional_vector(g.a.condition, n);
  //@ assert b_given: optional_vector(g.b.value, n);
  //@ assert b_condition_given: optional_vector(g.b.condition, n);
  //@ assert x_given: optional_vector(g.x.value, m);
  //@ assert x_condition_given: optional_vector(g.x.condition, m);
  //@ assert w_gate_given: optional_vector(g.w_gate.value, k);
  //@ assert w_gate_condition_given: optional_vector(g.w_gate.condition, k);
  //@ assert w_up_given: optional_vector(g.w_up.value, k);
  //@ assert w_up_condition_given: optional_vector(g.w_up.condition, k);
  //@ assert w_down_given: optional_vector(g.w_down.value, k);
  //@ assert w_down_condition_given: optional_vector(g.w_down.condition, k);
  size_t all = FFN_TEMPORARIES + FFN_VECTORS * (size_t)n;
  //@ assert count: all == FFN_TEMPORARIES + FFN_VECTORS * n;
  phibal_enclosure *scratch = NULL;
  TRY(operation_scratch(name, all, precision, &scratch));
  /*@ assert fresh: \forall phibal_enclosure *r; \valid_read{Pre}(r) && in_use{Pre}(r) ==>
        same{Pre, Here}(r) && vector_apart(r, scratch, all); */
  /*@ assert h_used: g.h.value != \null ==>
        \forall integer i; 0 <= i < n ==> vector_apart(g.h.value + i, scratch, all); */
  /*@ assert h_condition_used: g.h.condition != \null ==>
        \forall integer i; 0 <= i < n ==> vector_apart(g.h.condition + i, scratch, all); */
  /*@ assert a_used: g.a.value != \null ==>
        \forall integer i; 0 <= i < n ==> vector_apart(g.a.value + i, scratch, all); */
  /*@ assert a_condition_used: g.a.condition != \null ==>
        \forall integer i; 0 <= i < n ==> vector_apart(g.a.condition + i, scratch, all); */
  /*@ assert b_used: g.b.value != \null ==>
        \forall integer i; 0 <= i < n ==> vector_apart(g.b.value + i, scratch, all); */
  /*@ assert b_condition_used: g.b.condition != \null ==>
        \forall integer i; 0 <= i < n ==> vector_apart(g.b.condition + i, scratch, all); */
  /*@ assert x_used: g.x.value != \null ==>
        \forall integer i; 0 <= i < m ==> vector_apart(g.x.value + i, scratch, all); */
  /*@ assert x_condition_used: g.x.condition != \null ==>
        \forall integer i; 0 <= i < m ==> vector_apart(g.x.condition + i, scratch, all); */
  /*@ assert w_gate_used: g.w_gate.value != \null ==>
        \forall integer i; 0 <= i < k ==> vector_apart(g.w_gate.value + i, scratch, all); */
  /*@ assert w_gate_condition_used: g.w_gate.condition != \null ==>
        \forall integer i; 0 <= i < k ==> vector_apart(g.w_gate.condition + i, scratch, all); */
  /*@ assert w_up_used: g.w_up.value != \null ==>
        \forall integer i; 0 <= i < k ==> vector_apart(g.w_up.value + i, scratch, all); */
  /*@ assert w_up_condition_used: g.w_up.condition != \null ==>
        \forall integer i; 0 <= i < k ==> vector_apart(g.w_up.condition + i, scratch, all); */
  /*@ assert w_down_used: g.w_down.value != \null ==>
        \forall integer i; 0 <= i < k ==> vector_apart(g.w_down.value + i, scratch, all); */
  /*@ assert w_down_condition_used: g.w_down.condition != \null ==>
        \forall integer i; 0 <= i < k ==> vector_apart(g.w_down.condition + i, scratch, all); */
  //@ assert x_read: plain_there(x, shape.rows, shape.width);
  //@ assert gate_read: plain_there(w_gate, shape.hidden, shape.width);
  //@ assert up_read: plain_there(w_up, shape.hidden, shape.width);
  //@ assert down_read: plain_there(w_down, shape.width, shape.hidden);
  //@ assert hidden_read: plain_there(h, shape.rows, shape.hidden);
  //@ assert y_read: plain_there(y_gradient, shape.rows, shape.width);
  //@ assert a_read: floats_there(a, n);
  //@ assert b_read: floats_there(b, n);
  //@ assert h_kept: g.h.value != \null ==> vector_same{Pre, Here}(g.h.value, n);
  //@ assert h_condition_kept: g.h.condition != \null ==> vector_same{Pre, Here}(g.h.condition, n);
  //@ assert a_kept: g.a.value != \null ==> vector_same{Pre, Here}(g.a.value, n);
  //@ assert a_condition_kept: g.a.condition != \null ==> vector_same{Pre, Here}(g.a.condition, n);
  //@ assert b_kept: g.b.value != \null ==> vector_same{Pre, Here}(g.b.value, n);
  //@ assert b_condition_kept: g.b.condition != \null ==> vector_same{Pre, Here}(g.b.condition, n);
  //@ assert x_kept: g.x.value != \null ==> vector_same{Pre, Here}(g.x.value, m);
  //@ assert x_condition_kept: g.x.condition != \null ==> vector_same{Pre, Here}(g.x.condition, m);
  //@ assert w_gate_kept: g.w_gate.value != \null ==> vector_same{Pre, Here}(g.w_gate.value, k);
  /*@ assert w_gate_condition_kept: g.w_gate.condition != \null ==>
        vector_same{Pre, Here}(g.w_gate.condition, k); */
  //@ assert w_up_kept: g.w_up.value != \null ==> vector_same{Pre, Here}(g.w_up.value, k);
  /*@ assert w_up_condition_kept: g.w_up.condition != \null ==>
        vector_same{Pre, Here}(g.w_up.condition, k); */
  //@ assert w_down_kept: g.w_down.value != \null ==> vector_same{Pre, Here}(g.w_down.value, k);
  /*@ assert w_down_condition_kept: g.w_down.condition != \null ==>
        vector_same{Pre, Here}(g.w_down.condition, k); */
  //@ assert h_there: optional_vector(g.h.value, n);
  //@ assert h_condition_there: optional_vector(g.h.condition, n);
  //@ assert a_there: optional_vector(g.a.value, n);
  //@ assert a_condition_there: optional_vector(g.a.condition, n);
  //@ assert b_there: optional_vector(g.b.value, n);
  //@ assert b_condition_there: optional_vector(g.b.condition, n);
  //@ assert x_there: optional_vector(g.x.value, m);
  //@ assert x_condition_there: optional_vector(g.x.condition, m);
  //@ assert w_gate_there: optional_vector(g.w_gate.value, k);
  //@ assert w_gate_condition_there: optional_vector(g.w_gate.condition, k);
  //@ assert w_up_there: optional_vector(g.w_up.value, k);
  //@ assert w_up_condition_there: optional_vector(g.w_up.condition, k);
  //@ assert w_down_there: optional_vector(g.w_down.value, k);
  //@ assert w_down_condition_there: optional_vector(g.w_down.condition, k);
  //@ assert h_free: g.h.value != \null ==> vectors_apart(scratch, all, g.h.value, n);
  /*@ assert h_condition_free: g.h.condition != \null ==>
        vectors_apart(scratch, all, g.h.condition, n); */
  //@ assert a_free: g.a.value != \null ==> vectors_apart(scratch, all, g.a.value, n);
  /*@ assert a_condition_free: g.a.condition != \null ==>
        vectors_apart(scratch, all, g.a.condition, n); */
  //@ assert b_free: g.b.value != \null ==> vectors_apart(scratch, all, g.b.value, n);
  /*@ assert b_condition_free: g.b.condition != \null ==>
        vectors_apart(scratch, all, g.b.condition, n); */
  //@ assert x_free: g.x.value != \null ==> vectors_apart(scratch, all, g.x.value, m);
  /*@ assert x_condition_free: g.x.condition != \null ==>
        vectors_apart(scratch, all, g.x.condition, m); */
  /*@ assert w_gate_free: g.w_gate.value != \null ==>
        vectors_apart(scratch, all, g.w_gate.value, k); */
  /*@ assert w_gate_condition_free: g.w_gate.condition != \null ==>
        vectors_apart(scratch, all, g.w_gate.condition, k); */
  //@ assert w_up_free: g.w_up.value != \null ==> vectors_apart(scratch, all, g.w_up.value, k);
  /*@ assert w_up_condition_free: g.w_up.condition != \null ==>
        vectors_apart(scratch, all, g.w_up.condition, k); */
  /*@ assert w_down_free: g.w_down.value != \null ==>
        vectors_apart(scratch, all, g.w_down.value, k); */
  /*@ assert w_down_condition_free: g.w_down.condition != \null ==>
        vectors_apart(scratch, all, g.w_down.condition, k); */
  //@ assert h_outside: vector_result_apart(scratch, all, g.h, n);
  //@ assert a_outside: vector_result_apart(scratch, all, g.a, n);
  //@ assert b_outside: vector_result_apart(scratch, all, g.b, n);
  //@ assert x_outside: vector_result_apart(scratch, all, g.x, m);
  //@ assert w_gate_outside: vector_result_apart(scratch, all, g.w_gate, k);
  //@ assert w_up_outside: vector_result_apart(scratch, all, g.w_up, k);
  //@ assert w_down_outside: vector_result_apart(scratch, all, g.w_down, k);
  phibal_status status =
      ffn_backward_results(name, shape, n, activation, scratch, x, w_gate, w_up, w_down, a, b, h,
                           y_gradient, precision, g) /*@ ghost (m, k) */;
  //@ ghost computed:;
  /*@ assert others: \forall phibal_enclosure *r; \valid_read{Pre}(r) && in_use{Pre}(r) &&
        ffn_gradients_apart(r, g, shape.rows, shape.width, shape.hidden) ==>
          same{Pre, Here}(r) && vector_apart(r, scratch, all); */
  operation_scratch_clear(scratch, all);
  //@ assert h_left: g.h.value != \null ==> vector_same{computed, Here}(g.h.value, n);
  /*@ assert h_condition_left: g.h.condition != \null ==>
        vector_same{computed, Here}(g.h.condition, n); */
  //@ assert a_left: g.a.value != \null ==> vector_same{computed, Here}(g.a.value, n);
  /*@ assert a_condition_left: g.a.condition != \null ==>
        vector_same{computed, Here}(g.a.condition, n); */
  //@ assert b_left: g.b.value != \null ==> vector_same{computed, Here}(g.b.value, n);
  /*@ assert b_condition_left: g.b.condition != \null ==>
        vector_same{computed, Here}(g.b.condition, n); */
  //@ assert x_left: g.x.value != \null ==> vector_same{computed, Here}(g.x.value, m);
  /*@ assert x_condition_left: g.x.condition != \null ==>
        vector_same{computed, Here}(g.x.condition, m); */
  /*@ assert w_gate_left: g.w_gate.value != \null ==>
        vector_same{computed, Here}(g.w_gate.value, k); */
  /*@ assert w_gate_condition_left: g.w_gate.condition != \null ==>
        vector_same{computed, Here}(g.w_gate.condition, k); */
  //@ assert w_up_left: g.w_up.value != \null ==> vector_same{computed, Here}(g.w_up.value, k);
  /*@ assert w_up_condition_left: g.w_up.condition != \null ==>
        vector_same{computed, Here}(g.w_up.condition, k); */
  /*@ assert w_down_left: g.w_down.value != \null ==>
        vector_same{computed, Here}(g.w_down.value, k); */
  /*@ assert w_down_condition_left: g.w_down.condition != \null ==>
        vector_same{computed, Here}(g.w_down.condition, k); */
  /*@ assert x_members: g.x.value != \null ==> \forall integer i, real c;
        0 <= i < m && in{computed}(g.x.value + i, c) ==> in(g.x.value + i, c); */
  /*@ assert w_gate_members: g.w_gate.value != \null ==> \forall integer i, real c;
        0 <= i < k && in{computed}(g.w_gate.value + i, c) ==> in(g.w_gate.value + i, c); */
  /*@ assert w_up_members: g.w_up.value != \null ==> \forall integer i, real c;
        0 <= i < k && in{computed}(g.w_up.value + i, c) ==> in(g.w_up.value + i, c); */
  /*@ assert w_down_members: g.w_down.value != \null ==> \forall integer i, real c;
        0 <= i < k && in{computed}(g.w_down.value + i, c) ==> in(g.w_down.value + i, c); */
  /*@ assert x_condition_members: g.x.condition != \null ==> \forall integer i, real c;
        0 <= i < m && in{computed}(g.x.condition + i, c) ==> in(g.x.condition + i, c); */
  /*@ assert w_gate_condition_members: g.w_gate.condition != \null ==> \forall integer i, real c;
        0 <= i < k && in{computed}(g.w_gate.condition + i, c) ==> in(g.w_gate.condition + i, c); */
  /*@ assert w_up_condition_members: g.w_up.condition != \null ==> \forall integer i, real c;
        0 <= i < k && in{computed}(g.w_up.condition + i, c) ==> in(g.w_up.condition + i, c); */
  /*@ assert w_down_condition_members: g.w_down.condition != \null ==> \forall integer i, real c;
        0 <= i < k && in{computed}(g.w_down.condition + i, c) ==> in(g.w_down.condition + i, c); */
  /*@ assert products: status == PHIBAL_OK ==>
        inputs_held(g.x.value, m, n, activation, w_gate, w_up, w_down, a, b, y_gradient, d, f); */
  /*@ assert gate_weights: status == PHIBAL_OK ==>
        gate_weights_held(g.w_gate.value, k, n, shape.rows, activation, x, w_down, a, b,
                          y_gradient, d, f); */
  /*@ assert up_weights: status == PHIBAL_OK ==>
        up_weights_held(g.w_up.value, k, n, shape.rows, activation, x, w_down, a, y_gradient, d,
                        f); */
  /*@ assert down_weights: status == PHIBAL_OK ==>
        down_weights_held(g.w_down.value, k, shape.rows, h, y_gradient, d, f); */
  /*@ assert down_conditions: status == PHIBAL_OK && g.w_down.value != \null ==>
        down_conditions_held(g.w_down.condition, k, shape.rows, h, y_gradient, d, f); */
  /*@ assert input_conditions: status == PHIBAL_OK && g.x.value != \null ==>
        input_conditions_held(g.x.condition, m, n, activation, w_gate, w_up, w_down, a, b,
                              y_gradient, d, f); */
  /*@ assert gate_weight_conditions: status == PHIBAL_OK && g.w_gate.value != \null ==>
        gate_weight_conditions_held(g.w_gate.condition, k, n, shape.rows, activation, x, w_down, a,
                                    b, y_gradient, d, f); */
  /*@ assert up_weight_conditions: status == PHIBAL_OK && g.w_up.value != \null ==>
        up_weight_conditions_held(g.w_up.condition, k, n, shape.rows, activation, x, w_down, a,
                                  y_gradient, d, f); */
  return status;
}

/* The conditions of the gradients, besides what the header says of h' and W_down'. */
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
  //@ assert signs: 0 <= place(rows, ffn->hidden) && 0 <= place(rows, ffn->width);
  //@ assert counted: shape_counted(shape);
  //@ ghost int64_t m = ffn_output_size(shape), k = ffn_weight_size(shape);
  //@ ghost ffn_size(shape);
  phibal_reference_ffn_gradients g = *gradients;
  //@ ghost int64_t d = shape.width, f = shape.hidden;
  //@ ghost phibal_activation kind = ffn->activation;
  phibal_status status =
      ffn_backward_counted(name, shape, rows * shape.hidden, ffn->activation, x, w_gate, w_up,
                           w_down, a, b, h, y_gradient, precision, g) /*@ ghost (m, k) */;
  /*@ assert products: status == PHIBAL_OK ==> \forall sequence p, q;
        gate_gradients_are(p, place(rows, f), kind, y_gradient, w_down, a, b, d, f) &&
        up_gradients_are(q, place(rows, f), kind, y_gradient, w_down, a, d, f) ==>
          chain_gradients_held(g, rows, d, f, x, w_gate, w_up, p, q); */
  return status;
}
