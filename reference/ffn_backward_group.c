/* The backward pass of the gated FFN over the rows of one expert, (E3), into a scratch:
   products, and first-order conditions carried along the chain. */
#include "ffn_backward_group.h"

#include "ffn_backward_gates.h"
#include <phibal/acsl/contracts/inside/ffn_backward_group_static.h>

/* x' = a' W_gate + b' W_up. */
static phibal_status ffn_backward_input(ffn_shape shape, ffn_scratch s, const float *w_gate,
                                        const float *w_up, phibal_reference_result z)
/*@ ghost (phibal_enclosure *all, int64_t n, int64_t m) */ {
  //@ assert use_enclosure;
  /*@ ghost ffn_size(shape);
            ffn_output_size(shape); */
  int64_t d = shape.width, f = shape.hidden;
  phibal_reference_matrix gate = {w_gate, d, 1}, up = {w_up, d, 1};
  /*@ ghost ffn_parts_there(s, all, n);
            ffn_parts_apart(s, all, n);
            ffn_parts_chained(s, all, n, z, m);
            ffn_strides(shape); */
  //@ assert inside: strides_inside(shape.rows, f, f, 1, n);
  //@ assert result_apart_gate: results_apart(z, m, s.a, n);
  //@ assert result_apart_up: results_apart(z, m, s.b, n);
  //@ assert result_free: optional_vectors_apart(z.value, m, s.t, 3);
  //@ assert result_condition_free: optional_vectors_apart(z.condition, m, s.t, 3);
  phibal_status status =
      ffn_chain_product(shape.rows, f, d, s.a, f, 1, gate, false, s.t, z) /*@ ghost (n) */;
  //@ ghost first:;
  //@ assert up_kept: vector_same{Pre, Here}(s.b.value, n);
  //@ assert up_condition_kept: vector_same{Pre, Here}(s.b.condition, n);
  //@ assert up_there: vector_input(s.b.value, n);
  //@ assert up_condition_there: vector_input(s.b.condition, n);
  if (status != PHIBAL_OK) return status;
  //@ assert ups: \forall sequence q; members{Pre}(s.b.value, n, q) ==> members(s.b.value, n, q);
  /*@ assert half: z.value != \null ==> \forall sequence p, integer k;
        members{Pre}(s.a.value, n, p) && 0 <= k < m ==>
          in(z.value + k, chain_entry(p, f, 1, w_gate, d, 1, f, d, k)); */
  /*@ assert up_conditions: \forall sequence q;
        members{Pre}(s.b.condition, n, q) ==> members(s.b.condition, n, q); */
  /*@ assert half_condition: z.value != \null && z.condition != \null ==>
        \forall sequence p, integer k; members{Pre}(s.a.condition, n, p) && 0 <= k < m ==>
          in(z.condition + k, chain_magnitude_at(p, f, 1, w_gate, d, 1, f, d, k)); */
  status = ffn_chain_product(shape.rows, f, d, s.b, f, 1, up, true, s.t, z) /*@ ghost (n) */;
  /*@ assert whole: status == PHIBAL_OK && z.value != \null ==>
        \forall sequence q, integer k, real c;
          members{first}(s.b.value, n, q) && 0 <= k < m && in{first}(z.value + k, c) ==>
            in(z.value + k, c + chain_entry(q, f, 1, w_up, d, 1, f, d, k)); */
  /*@ assert whole_condition: status == PHIBAL_OK && z.value != \null && z.condition != \null ==>
        \forall sequence q, integer k, real c;
          members{first}(s.b.condition, n, q) && 0 <= k < m && in{first}(z.condition + k, c) ==>
            in(z.condition + k, c + chain_magnitude_at(q, f, 1, w_up, d, 1, f, d, k)); */
  return status;
}

/* W' = u'^T x, where u' is a' or b'. */
static phibal_status ffn_backward_weight(ffn_shape shape, phibal_reference_result u,
                                         phibal_enclosure *t, const float *x,
                                         phibal_reference_result z)
/*@ ghost (int64_t n, int64_t k) */ {
  //@ assert use_enclosure;
  int64_t d = shape.width, f = shape.hidden;
  phibal_reference_matrix right = {x, d, 1};
  /*@ ghost ffn_size(shape);
            ffn_strides(shape); */
  //@ assert inside: strides_inside(f, 1, shape.rows, f, n);
  //@ assert result_free: optional_vectors_apart(z.value, k, t, 3);
  //@ assert result_condition_free: optional_vectors_apart(z.condition, k, t, 3);
  return ffn_chain_product(f, shape.rows, d, u, 1, f, right, false, t, z) /*@ ghost (n) */;
}

/* x' = a' W_gate + b' W_up, W_gate' = a'^T x, W_up' = b'^T x. */
static phibal_status ffn_backward_products(ffn_shape shape, ffn_scratch s, const float *x,
                                           const float *w_gate, const float *w_up,
                                           phibal_reference_ffn_gradients g)
/*@ ghost (phibal_enclosure *all, int64_t n, int64_t m, int64_t k) */ {
  //@ assert use_enclosure;
  //@ ghost int64_t d = shape.width, f = shape.hidden;
  /*@ ghost ffn_parts_there(s, all, n);
            ffn_parts_apart(s, all, n);
            ffn_parts_chained(s, all, n, g.x, m);
            ffn_parts_chained(s, all, n, g.w_gate, k);
            ffn_parts_chained(s, all, n, g.w_up, k);
            ffn_results_chained(g.x, m, s.t, g.w_gate, k);
            ffn_results_chained(g.x, m, s.t, g.w_up, k);
            ffn_results_chained(g.w_gate, k, s.t, g.w_up, k); */
  //@ assert gate_apart: results_apart(g.w_gate, k, s.a, n);
  //@ assert up_apart: results_apart(g.w_up, k, s.b, n);
  //@ assert gate_free: vector_result_apart(s.t, 3, g.w_gate, k);
  //@ assert up_free: vector_result_apart(s.t, 3, g.w_up, k);
  phibal_status status = ffn_backward_input(shape, s, w_gate, w_up, g.x) /*@ ghost (all, n, m) */;
  //@ ghost first:;
  //@ assert a_kept: vector_same{Pre, Here}(s.a.value, n);
  //@ assert a_condition_kept: vector_same{Pre, Here}(s.a.condition, n);
  //@ assert b_kept: vector_same{Pre, Here}(s.b.value, n);
  //@ assert b_condition_kept: vector_same{Pre, Here}(s.b.condition, n);
  //@ assert w_gate_kept: g.w_gate.value != \null ==> vector_same{Pre, Here}(g.w_gate.value, k);
  /*@ assert w_gate_condition_kept: g.w_gate.condition != \null ==>
        vector_same{Pre, Here}(g.w_gate.condition, k); */
  //@ assert w_up_kept: g.w_up.value != \null ==> vector_same{Pre, Here}(g.w_up.value, k);
  /*@ assert w_up_condition_kept: g.w_up.condition != \null ==>
        vector_same{Pre, Here}(g.w_up.condition, k); */
  //@ assert a_there: vector_output(s.a.value, n);
  //@ assert a_condition_there: vector_output(s.a.condition, n);
  //@ assert b_there: vector_output(s.b.value, n);
  //@ assert b_condition_there: vector_output(s.b.condition, n);
  //@ assert x_first: optional_vector(g.x.value, m);
  //@ assert x_condition_first: optional_vector(g.x.condition, m);
  //@ assert w_gate_there: optional_vector(g.w_gate.value, k);
  //@ assert w_gate_condition_there: optional_vector(g.w_gate.condition, k);
  //@ assert w_up_there: optional_vector(g.w_up.value, k);
  //@ assert w_up_condition_there: optional_vector(g.w_up.condition, k);
  if (status != PHIBAL_OK) return status;
  //@ assert gates: \forall sequence p; members{Pre}(s.a.value, n, p) ==> members(s.a.value, n, p);
  /*@ assert gate_conditions: \forall sequence p; members{Pre}(s.a.condition, n, p) ==>
        members(s.a.condition, n, p); */
  status = ffn_backward_weight(shape, s.a, s.t, x, g.w_gate) /*@ ghost (n, k) */;
  //@ ghost second:;
  //@ assert b_still: vector_same{first, Here}(s.b.value, n);
  //@ assert b_condition_still: vector_same{first, Here}(s.b.condition, n);
  //@ assert x_still: g.x.value != \null ==> vector_same{first, Here}(g.x.value, m);
  /*@ assert x_condition_still: g.x.condition != \null ==>
        vector_same{first, Here}(g.x.condition, m); */
  //@ assert w_up_still: g.w_up.value != \null ==> vector_same{first, Here}(g.w_up.value, k);
  /*@ assert w_up_condition_still: g.w_up.condition != \null ==>
        vector_same{first, Here}(g.w_up.condition, k); */
  //@ assert b_left: vector_output(s.b.value, n);
  //@ assert b_condition_left: vector_output(s.b.condition, n);
  //@ assert x_left: optional_vector(g.x.value, m);
  //@ assert x_condition_left: optional_vector(g.x.condition, m);
  //@ assert w_up_left: optional_vector(g.w_up.value, k);
  //@ assert w_up_condition_left: optional_vector(g.w_up.condition, k);
  if (status != PHIBAL_OK) return status;
  //@ assert ups: \forall sequence q; members{Pre}(s.b.value, n, q) ==> members(s.b.value, n, q);
  /*@ assert up_conditions: \forall sequence q; members{Pre}(s.b.condition, n, q) ==>
        members(s.b.condition, n, q); */
  /*@ assert input_conditions_kept: g.x.condition != \null ==> \forall integer i, real c;
        0 <= i < m && in{first}(g.x.condition + i, c) ==> in(g.x.condition + i, c); */
  /*@ assert input_conditions: g.x.value != \null ==>
        input_conditions_given{Pre, Here}(g.x.condition, m, s, n, w_gate, w_up, d, f); */
  /*@ assert inputs_kept: g.x.value != \null ==> \forall integer i, real c;
        0 <= i < m && in{first}(g.x.value + i, c) ==> in(g.x.value + i, c); */
  //@ assert inputs: inputs_given{Pre, Here}(g.x.value, m, s, n, w_gate, w_up, d, f);
  //@ assert gate_second: optional_vector(g.w_gate.value, k);
  //@ assert gate_condition_second: optional_vector(g.w_gate.condition, k);
  status = ffn_backward_weight(shape, s.b, s.t, x, g.w_up) /*@ ghost (n, k) */;
  //@ assert x_last: g.x.value != \null ==> vector_same{second, Here}(g.x.value, m);
  /*@ assert x_condition_last: g.x.condition != \null ==>
        vector_same{second, Here}(g.x.condition, m); */
  //@ assert w_gate_last: g.w_gate.value != \null ==> vector_same{second, Here}(g.w_gate.value, k);
  /*@ assert w_gate_condition_last: g.w_gate.condition != \null ==>
        vector_same{second, Here}(g.w_gate.condition, k); */
  //@ assert x_end: optional_vector(g.x.value, m);
  //@ assert x_condition_end: optional_vector(g.x.condition, m);
  //@ assert w_gate_end: optional_vector(g.w_gate.value, k);
  //@ assert w_gate_condition_end: optional_vector(g.w_gate.condition, k);
  /*@ assert inputs_last: g.x.value != \null ==> \forall integer i, real c;
        0 <= i < m && in{second}(g.x.value + i, c) ==> in(g.x.value + i, c); */
  /*@ assert input_conditions_last: g.x.condition != \null ==> \forall integer i, real c;
        0 <= i < m && in{second}(g.x.condition + i, c) ==> in(g.x.condition + i, c); */
  /*@ assert gate_conditions_last: g.w_gate.condition != \null ==> \forall integer i, real c;
        0 <= i < k && in{second}(g.w_gate.condition + i, c) ==> in(g.w_gate.condition + i, c); */
  return status;
}

/* h' of a group. */
static phibal_status ffn_hidden_gradients(ffn_shape shape, ffn_scratch s, const float *w_down,
                                          const float *y_gradient, mpfr_prec_t precision)
/*@ ghost (phibal_enclosure *all, int64_t n) */ {
  //@ assert use_enclosure;
  int64_t d = shape.width, f = shape.hidden;
  //@ ghost ffn_size(shape);
  /*@ ghost ffn_parts_there(s, all, n);
            ffn_parts_apart(s, all, n); */
  phibal_reference_matrix left = {y_gradient, d, 1}, down = {w_down, f, 1};
  phibal_status status =
      ffn_product(shape.rows, d, f, left, down, precision, s.back.value, s.back.condition);
  //@ assert temporaries_kept: vector_same{Pre, Here}(s.t, FFN_TEMPORARIES);
  //@ assert a_kept: vector_same{Pre, Here}(s.a.value, n);
  //@ assert a_condition_kept: vector_same{Pre, Here}(s.a.condition, n);
  //@ assert b_kept: vector_same{Pre, Here}(s.b.value, n);
  //@ assert b_condition_kept: vector_same{Pre, Here}(s.b.condition, n);
  //@ assert h_kept: vector_same{Pre, Here}(s.h.value, n);
  //@ assert h_condition_kept: vector_same{Pre, Here}(s.h.condition, n);
  //@ ghost ffn_parts_gathered(s, all, n);
  return status;
}

/* h', a' and b' of a group. */
static phibal_status ffn_backward_hidden(ffn_shape shape, int64_t n, activation_work *work,
                                         ffn_scratch s, const float *w_down, const float *a,
                                         const float *b, const float *y_gradient,
                                         mpfr_prec_t precision)
/*@ ghost (phibal_enclosure *all) */ {
  //@ assert use_enclosure;
  //@ ghost int64_t d = shape.width, f = shape.hidden;
  /*@ ghost ffn_size(shape);
            ffn_parts_there(s, all, n);
            ffn_parts_apart(s, all, n);
            ffn_parts_outside(s, all, n);
            ffn_work_apart(work, all, FFN_TEMPORARIES + FFN_VECTORS * n);
            ffn_work_outside(work, s, all, n); */
  /*@ assert back_temporaries: \forall integer i; 0 <= i < n ==>
        vector_apart(s.back.value + i, s.t, 4); */
  /*@ assert back_a: \forall integer i; 0 <= i < n ==>
        vector_apart(s.back.value + i, s.a.value, n); */
  /*@ assert back_a_condition: \forall integer i; 0 <= i < n ==>
        vector_apart(s.back.value + i, s.a.condition, n); */
  /*@ assert back_b: \forall integer i; 0 <= i < n ==>
        vector_apart(s.back.value + i, s.b.value, n); */
  /*@ assert back_b_condition: \forall integer i; 0 <= i < n ==>
        vector_apart(s.back.value + i, s.b.condition, n); */
  /*@ assert back_work: \forall integer i; 0 <= i < n ==> \separated(s.back.value + i, work); */
  /*@ assert back_condition_temporaries: \forall integer i; 0 <= i < n ==>
        vector_apart(s.back.condition + i, s.t, 4); */
  /*@ assert back_condition_a: \forall integer i; 0 <= i < n ==>
        vector_apart(s.back.condition + i, s.a.value, n); */
  /*@ assert back_condition_a_condition: \forall integer i; 0 <= i < n ==>
        vector_apart(s.back.condition + i, s.a.condition, n); */
  /*@ assert back_condition_b: \forall integer i; 0 <= i < n ==>
        vector_apart(s.back.condition + i, s.b.value, n); */
  /*@ assert back_condition_b_condition: \forall integer i; 0 <= i < n ==>
        vector_apart(s.back.condition + i, s.b.condition, n); */
  /*@ assert back_condition_work: \forall integer i; 0 <= i < n ==>
        \separated(s.back.condition + i, work); */
  phibal_status status = ffn_hidden_gradients(shape, s, w_down, y_gradient, precision)
      /*@ ghost (all, n) */;
  //@ assert work_kept: work_same{Pre, Here}(work);
  //@ assert work: work_ready(work) && work->activation == \at(work->activation, Pre);
  /*@ assert others: \forall phibal_enclosure *r; \valid_read{Pre}(r) && \separated(r, work) &&
        vector_apart(r, all, FFN_TEMPORARIES + FFN_VECTORS * n) ==> same{Pre, Here}(r); */
  if (status != PHIBAL_OK) return status;
  /*@ assert back_members: \forall integer k; 0 <= k < n ==>
        in(s.back.value + k, hidden_gradient(y_gradient, w_down, d, f, k)); */
  /*@ assert back_condition_members: \forall integer k; 0 <= k < n ==>
        in(s.back.condition + k, hidden_gradient_magnitude(y_gradient, w_down, d, f, k)); */
  //@ ghost hidden:;
  status = ffn_gates_backward(n, work, s, a, b) /*@ ghost (all) */;
  //@ assert back_kept: vector_same{hidden, Here}(s.back.value, n);
  //@ assert back_condition_kept: vector_same{hidden, Here}(s.back.condition, n);
  /*@ assert outside: \forall phibal_enclosure *r; \valid_read{Pre}(r) && \separated(r, work) &&
        vector_apart(r, all, FFN_TEMPORARIES + FFN_VECTORS * n) ==> same{hidden, Here}(r); */
  //@ assert dots: dots_held(s.back.value, n, f, d, y_gradient, d, 1, w_down, f, 1);
  /*@ assert magnitudes:
        magnitudes_held(s.back.condition, n, f, d, y_gradient, d, 1, w_down, f, 1); */
  /*@ assert back_still: \forall integer k; 0 <= k < n ==>
        in{hidden}(s.back.value + k, hidden_gradient(y_gradient, w_down, d, f, k)); */
  /*@ assert back_condition_still: \forall integer k; 0 <= k < n ==>
        in{hidden}(s.back.condition + k, hidden_gradient_magnitude(y_gradient, w_down, d, f, k)); */
  /*@ assert given: status == PHIBAL_OK ==>
        gate_gradients_given{hidden, Here}(s.back, s.a.value, n, work->activation, a, b); */
  /*@ assert ups_given: status == PHIBAL_OK ==>
        up_gradients_given{hidden, Here}(s.back, s.b.value, n, work->activation, a); */
  /*@ assert gate_values: status == PHIBAL_OK ==> \forall integer k; 0 <= k < n ==>
        in(s.a.value + k, hidden_gradient(y_gradient, w_down, d, f, k) *
          (activation_derivative(work->activation, (real)a[k]) * (real)b[k])); */
  /*@ assert up_values: status == PHIBAL_OK ==> \forall integer k; 0 <= k < n ==>
        in(s.b.value + k, hidden_gradient(y_gradient, w_down, d, f, k) *
          activation_value(work->activation, (real)a[k])); */
  /*@ assert gates: status == PHIBAL_OK ==>
        gate_inputs_held(s.a.value, n, work->activation, y_gradient, w_down, a, b, d, f); */
  /*@ assert ups: status == PHIBAL_OK ==>
        up_inputs_held(s.b.value, n, work->activation, y_gradient, w_down, a, d, f); */
  /*@ assert gate_conditions_given: status == PHIBAL_OK ==>
        gate_conditions_given{hidden, Here}(s.back, s.a.condition, n, work->activation, a, b); */
  /*@ assert up_conditions_given: status == PHIBAL_OK ==>
        up_conditions_given{hidden, Here}(s.back, s.b.condition, n, work->activation, a); */
  /*@ assert gate_condition_values: status == PHIBAL_OK ==> \forall integer k; 0 <= k < n ==>
        in(s.a.condition + k, hidden_gradient_magnitude(y_gradient, w_down, d, f, k) *
          (activation_condition(work->activation, (real)a[k]) * absolute((real)b[k]))); */
  /*@ assert up_condition_values: status == PHIBAL_OK ==> \forall integer k; 0 <= k < n ==>
        in(s.b.condition + k, hidden_gradient_magnitude(y_gradient, w_down, d, f, k) *
          absolute(activation_value(work->activation, (real)a[k]))); */
  /*@ assert gate_conditions: status == PHIBAL_OK ==>
        gate_conditions_held(s.a.condition, n, work->activation, y_gradient, w_down, a, b, d, f); */
  /*@ assert up_conditions: status == PHIBAL_OK ==>
        up_conditions_held(s.b.condition, n, work->activation, y_gradient, w_down, a, d, f); */
  return status;
}

/* The gradients of the products: ffn_backward_products, and W_down' = y'^T h. */
static phibal_status ffn_backward_gradients(ffn_shape shape, ffn_scratch s, const float *x,
                                            const float *w_gate, const float *w_up, const float *h,
                                            const float *y_gradient, mpfr_prec_t precision,
                                            phibal_reference_ffn_gradients g)
/*@ ghost (phibal_enclosure *all, int64_t n, int64_t m, int64_t k) */ {
  //@ assert use_enclosure;
  int64_t d = shape.width, f = shape.hidden;
  phibal_reference_matrix transposed = {y_gradient, 1, d}, right = {h, f, 1};
  //@ assert temporaries: s.t == all;
  //@ assert x_free: vector_result_apart(s.t, 3, g.x, m);
  //@ assert gate_free: vector_result_apart(s.t, 3, g.w_gate, k);
  //@ assert up_free: vector_result_apart(s.t, 3, g.w_up, k);
  //@ assert down_free: vector_result_apart(s.t, 3, g.w_down, k);
  /*@ ghost ffn_weight_size(shape);
            ffn_transposed_there(y_gradient, shape.rows, d);
            ffn_results_chained(g.x, m, s.t, g.w_down, k);
            ffn_results_chained(g.w_gate, k, s.t, g.w_down, k);
            ffn_results_chained(g.w_up, k, s.t, g.w_down, k); */
  //@ assert right_there: matrix_there(h, f, 1, shape.rows, f);
  /*@ assert temporaries_free: \forall integer i; 0 <= i < 3 ==>
        result_apart(s.t + i, g.w_down, k); */
  phibal_status status = ffn_backward_products(shape, s, x, w_gate, w_up, g)
      /*@ ghost (all, n, m, k) */;
  //@ ghost first:;
  //@ assert w_down_kept: g.w_down.value != \null ==> vector_same{Pre, Here}(g.w_down.value, k);
  /*@ assert w_down_condition_kept: g.w_down.condition != \null ==>
        vector_same{Pre, Here}(g.w_down.condition, k); */
  //@ assert w_down_there: optional_vector(g.w_down.value, k);
  //@ assert w_down_condition_there: optional_vector(g.w_down.condition, k);
  if (status != PHIBAL_OK || !g.w_down.value) return status;
  status = ffn_product(d, shape.rows, f, transposed, right, precision, g.w_down.value,
                       g.w_down.condition);
  //@ assert temporaries_kept: vector_same{first, Here}(s.t, 3);
  //@ assert x_kept: g.x.value != \null ==> vector_same{first, Here}(g.x.value, m);
  /*@ assert x_condition_kept: g.x.condition != \null ==>
        vector_same{first, Here}(g.x.condition, m); */
  //@ assert w_gate_kept: g.w_gate.value != \null ==> vector_same{first, Here}(g.w_gate.value, k);
  /*@ assert w_gate_condition_kept: g.w_gate.condition != \null ==>
        vector_same{first, Here}(g.w_gate.condition, k); */
  //@ assert w_up_kept: g.w_up.value != \null ==> vector_same{first, Here}(g.w_up.value, k);
  /*@ assert w_up_condition_kept: g.w_up.condition != \null ==>
        vector_same{first, Here}(g.w_up.condition, k); */
  //@ assert x_there: optional_vector(g.x.value, m);
  //@ assert x_condition_there: optional_vector(g.x.condition, m);
  //@ assert w_gate_there: optional_vector(g.w_gate.value, k);
  //@ assert w_gate_condition_there: optional_vector(g.w_gate.condition, k);
  //@ assert w_up_there: optional_vector(g.w_up.value, k);
  //@ assert w_up_condition_there: optional_vector(g.w_up.condition, k);
  return status;
}

phibal_status ffn_backward_group(ffn_shape shape, int64_t n, activation_work *work, ffn_scratch s,
                                 const float *x, const float *w_gate, const float *w_up,
                                 const float *w_down, const float *a, const float *b,
                                 const float *h, const float *y_gradient, mpfr_prec_t precision,
                                 phibal_reference_ffn_gradients g)
/*@ ghost (phibal_enclosure *all, int64_t m, int64_t k) */ {
  //@ assert use_enclosure;
  //@ ghost int64_t d = shape.width, f = shape.hidden;
  /*@ ghost ffn_output_size(shape);
            ffn_weight_size(shape); */
  /*@ ghost ffn_parts_outside(s, all, n);
            ffn_work_outside(work, s, all, n); */
  /*@ ghost ffn_parts_chained(s, all, n, g.x, m);
            ffn_parts_chained(s, all, n, g.w_gate, k);
            ffn_parts_chained(s, all, n, g.w_up, k);
            ffn_parts_chained(s, all, n, g.w_down, k);
            ffn_work_chained(work, s.t, g.x, m);
            ffn_work_chained(work, s.t, g.w_gate, k);
            ffn_work_chained(work, s.t, g.w_up, k);
            ffn_work_chained(work, s.t, g.w_down, k); */
  /*@ assert x_work: g.x.value != \null ==>
        \forall integer i; 0 <= i < m ==> \separated(g.x.value + i, work); */
  /*@ assert x_free: g.x.value != \null ==>
        \forall integer i; 0 <= i < m ==>
          vector_apart(g.x.value + i, all, FFN_TEMPORARIES + FFN_VECTORS * n); */
  /*@ assert x_condition_work: g.x.condition != \null ==>
        \forall integer i; 0 <= i < m ==> \separated(g.x.condition + i, work); */
  /*@ assert x_condition_free: g.x.condition != \null ==>
        \forall integer i; 0 <= i < m ==>
          vector_apart(g.x.condition + i, all, FFN_TEMPORARIES + FFN_VECTORS * n); */
  /*@ assert w_gate_work: g.w_gate.value != \null ==>
        \forall integer i; 0 <= i < k ==> \separated(g.w_gate.value + i, work); */
  /*@ assert w_gate_free: g.w_gate.value != \null ==>
        \forall integer i; 0 <= i < k ==>
          vector_apart(g.w_gate.value + i, all, FFN_TEMPORARIES + FFN_VECTORS * n); */
  /*@ assert w_gate_condition_work: g.w_gate.condition != \null ==>
        \forall integer i; 0 <= i < k ==> \separated(g.w_gate.condition + i, work); */
  /*@ assert w_gate_condition_free: g.w_gate.condition != \null ==>
        \forall integer i; 0 <= i < k ==>
          vector_apart(g.w_gate.condition + i, all, FFN_TEMPORARIES + FFN_VECTORS * n); */
  /*@ assert w_up_work: g.w_up.value != \null ==>
        \forall integer i; 0 <= i < k ==> \separated(g.w_up.value + i, work); */
  /*@ assert w_up_free: g.w_up.value != \null ==>
        \forall integer i; 0 <= i < k ==>
          vector_apart(g.w_up.value + i, all, FFN_TEMPORARIES + FFN_VECTORS * n); */
  /*@ assert w_up_condition_work: g.w_up.condition != \null ==>
        \forall integer i; 0 <= i < k ==> \separated(g.w_up.condition + i, work); */
  /*@ assert w_up_condition_free: g.w_up.condition != \null ==>
        \forall integer i; 0 <= i < k ==>
          vector_apart(g.w_up.condition + i, all, FFN_TEMPORARIES + FFN_VECTORS * n); */
  /*@ assert w_down_work: g.w_down.value != \null ==>
        \forall integer i; 0 <= i < k ==> \separated(g.w_down.value + i, work); */
  /*@ assert w_down_free: g.w_down.value != \null ==>
        \forall integer i; 0 <= i < k ==>
          vector_apart(g.w_down.value + i, all, FFN_TEMPORARIES + FFN_VECTORS * n); */
  /*@ assert w_down_condition_work: g.w_down.condition != \null ==>
        \forall integer i; 0 <= i < k ==> \separated(g.w_down.condition + i, work); */
  /*@ assert w_down_condition_free: g.w_down.condition != \null ==>
        \forall integer i; 0 <= i < k ==>
          vector_apart(g.w_down.condition + i, all, FFN_TEMPORARIES + FFN_VECTORS * n); */
  phibal_status status = ffn_backward_hidden(shape, n, work, s, w_down, a, b, y_gradient, precision)
      /*@ ghost (all) */;
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
  //@ assert x_there: optional_vector(g.x.value, m);
  //@ assert x_condition_there: optional_vector(g.x.condition, m);
  //@ assert w_gate_there: optional_vector(g.w_gate.value, k);
  //@ assert w_gate_condition_there: optional_vector(g.w_gate.condition, k);
  //@ assert w_up_there: optional_vector(g.w_up.value, k);
  //@ assert w_up_condition_there: optional_vector(g.w_up.condition, k);
  //@ assert w_down_there: optional_vector(g.w_down.value, k);
  //@ assert w_down_condition_there: optional_vector(g.w_down.condition, k);
  if (status != PHIBAL_OK) return status;
  /*@ assert gates: \forall sequence p;
        gate_gradients_are(p, n, work->activation, y_gradient, w_down, a, b, d, f) ==>
          members(s.a.value, n, p); */
  /*@ assert ups: \forall sequence q;
        up_gradients_are(q, n, work->activation, y_gradient, w_down, a, d, f) ==>
          members(s.b.value, n, q); */
  /*@ assert gate_conditions: \forall sequence p;
        gate_conditions_are(p, n, work->activation, y_gradient, w_down, a, b, d, f) ==>
          members(s.a.condition, n, p); */
  /*@ assert up_conditions: \forall sequence q;
        up_conditions_are(q, n, work->activation, y_gradient, w_down, a, d, f) ==>
          members(s.b.condition, n, q); */
  //@ ghost ffn_parts_there(s, all, n);
  //@ ghost hidden:;
  status = ffn_backward_gradients(shape, s, x, w_gate, w_up, h, y_gradient, precision, g)
      /*@ ghost (all, n, m, k) */;
  //@ assert slope_free: outside_products(&work->slope, s.t, g, m, k);
  //@ assert cubic_free: outside_products(&work->cubic, s.t, g, m, k);
  //@ assert one_free: outside_products(&work->one, s.t, g, m, k);
  //@ assert v_free: outside_products(&work->v, s.t, g, m, k);
  //@ assert v_slope_free: outside_products(&work->v_slope, s.t, g, m, k);
  //@ assert sigma_free: outside_products(&work->sigma, s.t, g, m, k);
  //@ assert complement_free: outside_products(&work->complement, s.t, g, m, k);
  //@ assert square_free: outside_products(&work->square, s.t, g, m, k);
  //@ assert work_kept: work_same{hidden, Here}(work);
  //@ assert work: work_ready(work);
  //@ assert a_kept: vector_same{hidden, Here}(s.a.value, n);
  //@ assert a_condition_kept: vector_same{hidden, Here}(s.a.condition, n);
  //@ assert b_kept: vector_same{hidden, Here}(s.b.value, n);
  //@ assert b_condition_kept: vector_same{hidden, Here}(s.b.condition, n);
  //@ assert h_kept: vector_same{hidden, Here}(s.h.value, n);
  //@ assert h_condition_kept: vector_same{hidden, Here}(s.h.condition, n);
  //@ assert back_kept: vector_same{hidden, Here}(s.back.value, n);
  //@ assert back_condition_kept: vector_same{hidden, Here}(s.back.condition, n);
  //@ assert a_there: vector_output(s.a.value, n);
  //@ assert a_condition_there: vector_output(s.a.condition, n);
  //@ assert b_there: vector_output(s.b.value, n);
  //@ assert b_condition_there: vector_output(s.b.condition, n);
  //@ assert h_there: vector_output(s.h.value, n);
  //@ assert h_condition_there: vector_output(s.h.condition, n);
  //@ assert back_there: vector_output(s.back.value, n);
  //@ assert back_condition_there: vector_output(s.back.condition, n);
  //@ assert last_kept: output(s.t + 3);
  //@ assert dots: dots_held(s.back.value, n, f, d, y_gradient, d, 1, w_down, f, 1);
  /*@ assert magnitudes:
        magnitudes_held(s.back.condition, n, f, d, y_gradient, d, 1, w_down, f, 1); */
  /*@ assert gates_held:
        gate_inputs_held(s.a.value, n, work->activation, y_gradient, w_down, a, b, d, f); */
  //@ assert ups_held: up_inputs_held(s.b.value, n, work->activation, y_gradient, w_down, a, d, f);
  /*@ assert gate_conditions_held:
        gate_conditions_held(s.a.condition, n, work->activation, y_gradient, w_down, a, b, d, f); */
  /*@ assert up_conditions_held:
        up_conditions_held(s.b.condition, n, work->activation, y_gradient, w_down, a, d, f); */
  //@ ghost ffn_parts_gathered(s, all, n);
  return status;
}
