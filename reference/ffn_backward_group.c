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
  int64_t d = shape.width, f = shape.hidden;
  ffn_matrix a = {s.a, f, 1}, b = {s.b, f, 1};
  phibal_reference_matrix gate = {w_gate, d, 1}, up = {w_up, d, 1};
  /*@ ghost ffn_size(shape); ffn_output_size(shape); ffn_strides(shape);
            ffn_parts_there(s, all, n); ffn_parts_apart(s, all, n);
            ffn_parts_chained(s, all, n, z, m); */
  //@ assert apart: results_apart(z, m, s.a, n) && results_apart(z, m, s.b, n);
  //@ assert free: OF_RESULT_WITH(z, m, optional_vectors_apart, s.t, 3);
  phibal_status status =
      ffn_chain_product(shape.rows, f, d, a, gate, false, s.t, z) /*@ ghost (n) */;
  //@ ghost first:;
  //@ assert kept: OF_RESULT(s.b, n, vector_same{Pre, Here});
  //@ assert there: OF_RESULT(s.b, n, vector_input);
  if (status != PHIBAL_OK) return status;
  //@ assert ups: OF_RESULT(s.b, n, members_kept{Pre, Here});
  return ffn_chain_product(shape.rows, f, d, b, up, true, s.t, z) /*@ ghost (n) */;
}

/* W' = u'^T x, where u' is a' or b'. */
static phibal_status ffn_backward_weight(ffn_shape shape, phibal_reference_result u,
                                         phibal_enclosure *t, const float *x,
                                         phibal_reference_result z)
/*@ ghost (int64_t n, int64_t k) */ {
  //@ assert use_enclosure;
  int64_t d = shape.width, f = shape.hidden;
  ffn_matrix left = {u, 1, f};
  phibal_reference_matrix right = {x, d, 1};
  //@ ghost ffn_size(shape); ffn_strides(shape);
  //@ assert free: OF_RESULT_WITH(z, k, optional_vectors_apart, t, 3);
  return ffn_chain_product(f, shape.rows, d, left, right, false, t, z) /*@ ghost (n) */;
}

/* x' = a' W_gate + b' W_up, W_gate' = a'^T x, W_up' = b'^T x. */
static phibal_status ffn_backward_products(ffn_shape shape, ffn_scratch s, const float *x,
                                           const float *w_gate, const float *w_up,
                                           phibal_reference_ffn_gradients g)
/*@ ghost (phibal_enclosure *all, int64_t n, int64_t m, int64_t k) */ {
  //@ assert use_enclosure;
  /*@ ghost ffn_parts_there(s, all, n); ffn_parts_apart(s, all, n);
            ffn_parts_chained(s, all, n, g.x, m); ffn_parts_chained(s, all, n, g.w_gate, k);
            ffn_parts_chained(s, all, n, g.w_up, k); ffn_results_chained(g.x, m, s.t, g.w_gate, k);
            ffn_results_chained(g.x, m, s.t, g.w_up, k);
            ffn_results_chained(g.w_gate, k, s.t, g.w_up, k); */
  //@ assert apart: results_apart(g.w_gate, k, s.a, n) && results_apart(g.w_up, k, s.b, n);
  /*@ assert free: vector_result_apart(s.t, 3, g.w_gate, k) &&
        vector_result_apart(s.t, 3, g.w_up, k); */
  phibal_status status = ffn_backward_input(shape, s, w_gate, w_up, g.x) /*@ ghost (all, n, m) */;
  //@ ghost first:;
  //@ assert kept: OF_TWO(s.a, n, s.b, n, vector_same{Pre, Here});
  //@ assert weights_kept: OF_TWO(g.w_gate, k, g.w_up, k, optional_same{Pre, Here});
  //@ assert there: OF_TWO(s.a, n, s.b, n, vector_output);
  //@ assert weights_there: OF_TWO(g.w_gate, k, g.w_up, k, optional_vector);
  if (status != PHIBAL_OK) return status;
  //@ assert gates: OF_RESULT(s.a, n, members_kept{Pre, Here});
  status = ffn_backward_weight(shape, s.a, s.t, x, g.w_gate) /*@ ghost (n, k) */;
  //@ ghost second:;
  //@ assert still: OF_RESULT(s.b, n, vector_same{first, Here});
  //@ assert results_still: OF_TWO(g.x, m, g.w_up, k, optional_same{first, Here});
  //@ assert left: OF_RESULT(s.b, n, vector_output);
  //@ assert results_left: OF_TWO(g.x, m, g.w_up, k, optional_vector);
  if (status != PHIBAL_OK) return status;
  //@ assert ups: OF_RESULT(s.b, n, members_kept{Pre, Here});
  //@ assert inputs_kept: OF_RESULT(g.x, m, optional_members{first, Here});
  status = ffn_backward_weight(shape, s.b, s.t, x, g.w_up) /*@ ghost (n, k) */;
  //@ assert last: OF_TWO(g.x, m, g.w_gate, k, optional_same{second, Here});
  //@ assert end: OF_TWO(g.x, m, g.w_gate, k, optional_vector);
  //@ assert last_members: OF_TWO(g.x, m, g.w_gate, k, optional_members{second, Here});
  return status;
}

/* h' of a group. */
static phibal_status ffn_hidden_gradients(ffn_shape shape, ffn_scratch s, const float *w_down,
                                          const float *y_gradient, mpfr_prec_t precision)
/*@ ghost (phibal_enclosure *all, int64_t n) */ {
  //@ assert use_enclosure;
  int64_t d = shape.width, f = shape.hidden;
  //@ ghost ffn_size(shape); ffn_parts_there(s, all, n); ffn_parts_apart(s, all, n);
  phibal_reference_matrix left = {y_gradient, d, 1}, down = {w_down, f, 1};
  phibal_status status =
      ffn_product(shape.rows, d, f, left, down, precision, s.back.value, s.back.condition);
  //@ assert temporaries_kept: vector_same{Pre, Here}(s.t, FFN_TEMPORARIES);
  //@ assert kept: OF_TWO(s.a, n, s.b, n, vector_same{Pre, Here});
  //@ assert h_kept: OF_RESULT(s.h, n, vector_same{Pre, Here});
  //@ ghost ffn_parts_gathered(s, all, n);
  return status;
}

/* h', a' and b' of a group. */
static phibal_status ffn_backward_hidden(ffn_shape shape, int64_t n, activation_work *work,
                                         ffn_scratch s, phibal_reference_ffn_inputs given,
                                         phibal_reference_ffn_saved saved, mpfr_prec_t precision)
/*@ ghost (phibal_enclosure *all) */ {
  //@ assert use_enclosure;
  /*@ ghost ffn_size(shape); ffn_parts_there(s, all, n); ffn_parts_apart(s, all, n);
            ffn_parts_outside(s, all, n); ffn_work_outside(work, s, all, n);
            ffn_work_apart(work, all, FFN_TEMPORARIES + FFN_VECTORS * n); */
  //@ assert back_apart: OF_RESULT_WITH(s.back, n, outside_gates, s, work);
  phibal_status status = ffn_hidden_gradients(shape, s, given.w_down, saved.y_gradient, precision)
      /*@ ghost (all, n) */;
  //@ assert work_kept: work_same{Pre, Here}(work);
  //@ assert work: work_ready(work) && work->activation == \at(work->activation, Pre);
  //@ assert others: only_scratch_written{Pre, Here}(work, all, n);
  if (status != PHIBAL_OK) return status;
  //@ assert members: hidden_members(s, n, shape, saved.y_gradient, given.w_down);
  //@ ghost hidden:;
  status = ffn_gates_backward(n, work, s, saved.a, saved.b) /*@ ghost (all) */;
  //@ assert back_kept: OF_RESULT(s.back, n, vector_same{hidden, Here});
  //@ assert outside: only_scratch_written{hidden, Here}(work, all, n);
  //@ ghost int64_t d = shape.width, f = shape.hidden;
  //@ assert still: hidden_members{hidden}(s, n, shape, saved.y_gradient, given.w_down);
  /*@ assert gates_given: status == PHIBAL_OK ==>
        gate_gradients_given{hidden, Here}(s.back, s.a.value, n, work->activation, saved.a,
                                           saved.b); */
  /*@ assert gate_values: status == PHIBAL_OK ==> \forall integer k; 0 <= k < n ==>
        in(s.a.value + k, hidden_gradient(saved.y_gradient, given.w_down, d, f, k) *
          (activation_derivative(work->activation, (real)saved.a[k]) * (real)saved.b[k])); */
  /*@ assert up_values: status == PHIBAL_OK ==> \forall integer k; 0 <= k < n ==>
        in(s.b.value + k, hidden_gradient(saved.y_gradient, given.w_down, d, f, k) *
          activation_value(work->activation, (real)saved.a[k])); */
  /*@ assert gate_conditions: status == PHIBAL_OK ==> \forall integer k; 0 <= k < n ==>
        in(s.a.condition + k,
           hidden_gradient_magnitude(saved.y_gradient, given.w_down, d, f, k) *
             (activation_condition(work->activation, (real)saved.a[k]) *
               absolute((real)saved.b[k]))); */
  /*@ assert up_conditions: status == PHIBAL_OK ==> \forall integer k; 0 <= k < n ==>
        in(s.b.condition + k,
           hidden_gradient_magnitude(saved.y_gradient, given.w_down, d, f, k) *
             absolute(activation_value(work->activation, (real)saved.a[k]))); */
  //@ assert held: status == PHIBAL_OK ==> BACKWARD_HELD(work->activation);
  return status;
}

/* The gradients of the products: ffn_backward_products, and W_down' = y'^T h. */
static phibal_status ffn_backward_gradients(ffn_shape shape, ffn_scratch s,
                                            phibal_reference_ffn_inputs given,
                                            phibal_reference_ffn_saved saved, mpfr_prec_t precision,
                                            phibal_reference_ffn_gradients g)
/*@ ghost (phibal_enclosure *all, int64_t n, int64_t m, int64_t k) */ {
  //@ assert use_enclosure;
  int64_t d = shape.width, f = shape.hidden;
  phibal_reference_matrix transposed = {saved.y_gradient, 1, d}, right = {saved.h, f, 1};
  /*@ assert free: vector_result_apart(s.t, 3, g.x, m) &&
        vector_result_apart(s.t, 3, g.w_gate, k) &&
        vector_result_apart(s.t, 3, g.w_up, k) && vector_result_apart(s.t, 3, g.w_down, k); */
  /*@ ghost ffn_weight_size(shape); ffn_transposed_there(saved.y_gradient, shape.rows, d);
            ffn_results_chained(g.x, m, s.t, g.w_down, k);
            ffn_results_chained(g.w_gate, k, s.t, g.w_down, k);
            ffn_results_chained(g.w_up, k, s.t, g.w_down, k); */
  phibal_status status = ffn_backward_products(shape, s, given.x, given.w_gate, given.w_up, g)
      /*@ ghost (all, n, m, k) */;
  //@ ghost first:;
  //@ assert kept: OF_RESULT(g.w_down, k, optional_same{Pre, Here});
  //@ assert there: OF_RESULT(g.w_down, k, optional_vector);
  if (status != PHIBAL_OK || !g.w_down.value) return status;
  status = ffn_product(d, shape.rows, f, transposed, right, precision, g.w_down.value,
                       g.w_down.condition);
  //@ assert temporaries_kept: vector_same{first, Here}(s.t, 3);
  //@ assert others_kept: OF_TWO(g.x, m, g.w_gate, k, optional_same{first, Here});
  //@ assert up_kept: OF_RESULT(g.w_up, k, optional_same{first, Here});
  //@ assert left: OF_PRODUCTS(optional_vector);
  return status;
}

phibal_status ffn_backward_group(ffn_shape shape, activation_work *work, ffn_scratch s,
                                 phibal_reference_ffn_inputs given,
                                 phibal_reference_ffn_saved saved, mpfr_prec_t precision,
                                 phibal_reference_ffn_gradients g)
/*@ ghost (phibal_enclosure *all, int64_t n, int64_t m, int64_t k) */ {
  //@ assert use_enclosure;
  /*@ ghost ffn_size(shape); ffn_output_size(shape); ffn_weight_size(shape);
            ffn_parts_outside(s, all, n); ffn_work_outside(work, s, all, n);
            ffn_parts_chained(s, all, n, g.x, m); ffn_parts_chained(s, all, n, g.w_gate, k);
            ffn_parts_chained(s, all, n, g.w_up, k); ffn_parts_chained(s, all, n, g.w_down, k);
            ffn_work_chained(work, s.t, g.x, m); ffn_work_chained(work, s.t, g.w_gate, k);
            ffn_work_chained(work, s.t, g.w_up, k); ffn_work_chained(work, s.t, g.w_down, k); */
  //@ assert free: OF_PRODUCTS_WITH(optional_vectors_apart, all, FFN_TEMPORARIES + FFN_VECTORS * n);
  phibal_status status = ffn_backward_hidden(shape, shape.rows * shape.hidden, work, s, given,
                                             saved, precision) /*@ ghost (all) */;
  //@ assert kept: OF_PRODUCTS(optional_same{Pre, Here});
  //@ assert there: OF_PRODUCTS(optional_vector);
  if (status != PHIBAL_OK) return status;
  //@ assert members: GRADIENT_MEMBERS(work->activation);
  //@ ghost ffn_parts_there(s, all, n);
  //@ ghost hidden:;
  status = ffn_backward_gradients(shape, s, given, saved, precision, g) /*@ ghost (all, n, m, k) */;
  //@ assert work_kept: work_same{hidden, Here}(work);
  //@ assert work: work_ready(work);
  //@ assert scratch_kept: OF_SCRATCH(vector_same{hidden, Here});
  //@ assert scratch_there: OF_SCRATCH(vector_output);
  //@ assert last_kept: output(s.t + 3);
  //@ assert held: BACKWARD_HELD(work->activation);
  //@ ghost ffn_parts_gathered(s, all, n);
  return status;
}
