/* The forward pass of the gated FFN over the rows of one expert, (E2), into a scratch: products
   with the weights, gates, and first-order conditions carried along the chain. */
#include "ffn_group.h"
#include <phibal/acsl/contracts/inside/ffn_group_static.h>

/* t = act(a), h = act(a) b of one element. */
static phibal_status ffn_gate_value(activation_work *work, phibal_enclosure *t,
                                    const phibal_enclosure *a, const phibal_enclosure *b,
                                    phibal_enclosure *h) {
  //@ assert use_enclosure;
  TRY(activation_evaluate(work, a, t, NULL, NULL));
  phibal_status status = phibal_enclosure_mul(h, t, b);
  //@ assert work: work_ready(work);
  return status;
}

/* The condition of h, L cond(a) |b| + |act(a)| cond(b); t[0] is act(a), t[1..2] are temporaries. */
static phibal_status ffn_gate_condition(phibal_enclosure *t, const phibal_enclosure *a_condition,
                                        const phibal_enclosure *b,
                                        const phibal_enclosure *b_condition,
                                        phibal_enclosure *h_condition) {
  //@ assert use_enclosure && open_lipschitz && open_product_condition;
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
  phibal_status status = operation_add_magnitude(h_condition, &t[0], b_condition, &t[2]);
  /*@ assert sum: status == PHIBAL_OK ==> \forall real p, q, u, v;
        in{Pre}(t + 0, p) && in{Pre}(b, q) && in{Pre}(a_condition, u) && in{Pre}(b_condition, v) ==>
          in(h_condition, \abs(q) * lipschitz(u) + \abs(p) * v); */
  return status;
}

/* h = act(a) b and its condition L cond(a) |b| + |act(a)| cond(b), of one element. */
static phibal_status ffn_gate(activation_work *work, phibal_enclosure *t, const phibal_enclosure *a,
                              const phibal_enclosure *a_condition, const phibal_enclosure *b,
                              const phibal_enclosure *b_condition, phibal_enclosure *h,
                              phibal_enclosure *h_condition) {
  //@ assert use_enclosure;
  phibal_status status = ffn_gate_value(work, &t[0], a, b, h);
  if (status != PHIBAL_OK) return status;
  /*@ assert activation: \forall real p; in{Pre}(a, p) ==>
        in(t + 0, activation_value(work->activation, p)); */
  /*@ assert conditions: (\forall real u; in{Pre}(a_condition, u) ==> in(a_condition, u)) &&
        (\forall real q; in{Pre}(b, q) ==> in(b, q)) &&
        (\forall real v; in{Pre}(b_condition, v) ==> in(b_condition, v)); */
  //@ assert there: input(a_condition) && input(b) && input(b_condition) && output(h_condition);
  status = ffn_gate_condition(t, a_condition, b, b_condition, h_condition);
  //@ assert work: work_ready(work);
  return status;
}

/* ffn_gate of each element. */
static phibal_status ffn_gates(int64_t n, activation_work *work, ffn_scratch s)
/*@ ghost (phibal_enclosure *all) */ {
  //@ assert use_enclosure;
  /*@ loop invariant index: 0 <= k <= n;
      loop invariant work: work_ready(work) && work->activation == \at(work->activation, Pre);
      loop invariant outputs: vector_output(all, FFN_TEMPORARIES + FFN_VECTORS * n);
      loop invariant frame: only_result_written{Pre, Here}(work, s.t, s.h, n);
      loop invariant value: gates_held{Pre, Here}(s.a, s.b, s.h, k, work->activation);
      loop invariant condition:
        gate_conditions_held{Pre, Here}(s.a, s.b, s.h, k, work->activation);
      loop assigns k, *work, s.t[0 .. 2], s.h.value[0 .. n - 1], s.h.condition[0 .. n - 1];
      loop variant n - k; */
  for (int64_t k = 0; k < n; k++) {
    /*@ assert places: s.h.value + k == all + (FFN_TEMPORARIES + 4 * n + k) &&
          s.h.condition + k == all + (FFN_TEMPORARIES + 5 * n + k) && s.t == all; */
    /*@ assert arguments: s.a.value + k == all + (FFN_TEMPORARIES + k) &&
          s.a.condition + k == all + (FFN_TEMPORARIES + n + k) &&
          s.b.value + k == all + (FFN_TEMPORARIES + 2 * n + k) &&
          s.b.condition + k == all + (FFN_TEMPORARIES + 3 * n + k); */
    //@ assert gate_there: output(all + (FFN_TEMPORARIES + k));
    //@ assert gate_condition_there: output(all + (FFN_TEMPORARIES + n + k));
    //@ assert up_there: output(all + (FFN_TEMPORARIES + 2 * n + k));
    //@ assert up_condition_there: output(all + (FFN_TEMPORARIES + 3 * n + k));
    //@ assert value_there: output(all + (FFN_TEMPORARIES + 4 * n + k));
    //@ assert condition_there: output(all + (FFN_TEMPORARIES + 5 * n + k));
    //@ assert gate_apart: \separated(work, s.a.value + k) && \separated(work, s.a.condition + k);
    //@ assert up_apart: \separated(work, s.b.value + k) && \separated(work, s.b.condition + k);
    /*@ assert product_apart: \separated(work, s.h.value + k) &&
          \separated(work, s.h.condition + k); */
    //@ assert work_apart: vector_apart_work(s.t, 3, work);
    //@ assert gate_free: vector_apart(s.a.value + k, s.t, 3);
    //@ assert gate_free_value: vector_apart(s.a.value + k, s.h.value, n);
    //@ assert gate_free_condition: vector_apart(s.a.value + k, s.h.condition, n);
    //@ assert gate_kept: same{Pre, Here}(s.a.value + k);
    //@ assert up_free: vector_apart(s.b.value + k, s.t, 3);
    //@ assert conditions_free: vector_apart(s.a.condition + k, s.t, 3);
    //@ assert up_conditions_free: vector_apart(s.b.condition + k, s.t, 3);
    //@ assert products_free: vector_apart(s.h.value + k, s.t, 3);
    //@ assert product_conditions_free: vector_apart(s.h.condition + k, s.t, 3);
    //@ assert up_free_value: vector_apart(s.b.value + k, s.h.value, n);
    //@ assert up_free_condition: vector_apart(s.b.value + k, s.h.condition, n);
    //@ assert up_kept: same{Pre, Here}(s.b.value + k);
    //@ assert gate_condition_free: vector_apart(s.a.condition + k, s.h.value, n);
    //@ assert gate_condition_free_too: vector_apart(s.a.condition + k, s.h.condition, n);
    //@ assert gate_condition_kept: same{Pre, Here}(s.a.condition + k);
    //@ assert up_condition_free: vector_apart(s.b.condition + k, s.h.value, n);
    //@ assert up_condition_free_too: vector_apart(s.b.condition + k, s.h.condition, n);
    //@ assert up_condition_kept: same{Pre, Here}(s.b.condition + k);
    /*@ assert members: \forall real p, q;
          in{Pre}(s.a.value + k, p) && in{Pre}(s.b.value + k, q) ==>
            in(s.a.value + k, p) && in(s.b.value + k, q); */
    /*@ assert condition_members: \forall real u, v;
          in{Pre}(s.a.condition + k, u) && in{Pre}(s.b.condition + k, v) ==>
            in(s.a.condition + k, u) && in(s.b.condition + k, v); */
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
    /*@ assert earlier_there: \forall integer i; 0 <= i < k ==>
          same{before, Here}(all + (FFN_TEMPORARIES + 4 * n + i)); */
    /*@ assert earlier_place: \forall integer i; 0 <= i < k ==>
          s.h.value + i == all + (FFN_TEMPORARIES + 4 * n + i); */
    /*@ assert earlier: \forall integer i; 0 <= i < k ==> same{before, Here}(s.h.value + i); */
    /*@ assert last: \forall real p, q; in{Pre}(s.a.value + k, p) && in{Pre}(s.b.value + k, q) ==>
          in(s.h.value + k, activation_value(work->activation, p) * q); */
    /*@ assert earlier_condition_place: \forall integer i; 0 <= i < k ==>
          s.h.condition + i == all + (FFN_TEMPORARIES + 5 * n + i); */
    /*@ assert earlier_condition: \forall integer i; 0 <= i < k ==>
          same{before, Here}(s.h.condition + i); */
    /*@ assert last_condition: \forall real p, q, u, v;
          in{Pre}(s.a.value + k, p) && in{Pre}(s.a.condition + k, u) &&
          in{Pre}(s.b.value + k, q) && in{Pre}(s.b.condition + k, v) ==>
            in(s.h.condition + k, gate_condition(work->activation, p, u, q, v)); */
  }
  return PHIBAL_OK;
}

/* a and b of a group. */
static phibal_status ffn_projections(ffn_shape shape, ffn_scratch s, const float *x,
                                     const float *w_gate, const float *w_up, mpfr_prec_t precision)
/*@ ghost (phibal_enclosure *all) */ {
  //@ assert use_enclosure;
  int64_t d = shape.width, f = shape.hidden;
  //@ ghost int64_t n = ffn_size(shape);
  /*@ ghost ffn_parts_there(s, all, n);
            ffn_parts_apart(s, all, n); */
  phibal_reference_matrix left = {x, d, 1}, gate = {w_gate, 1, d}, up = {w_up, 1, d};
  //@ assert gate_there: matrix_there(w_gate, 1, d, d, f);
  //@ assert up_there: matrix_there(w_up, 1, d, d, f);
  phibal_status status =
      ffn_product(shape.rows, d, f, left, gate, precision, s.a.value, s.a.condition);
  //@ ghost first:;
  //@ assert ups: vector_same{Pre, Here}(s.b.value, n);
  //@ assert up_conditions: vector_same{Pre, Here}(s.b.condition, n);
  //@ assert others: vector_same{Pre, Here}(s.t, FFN_TEMPORARIES);
  //@ assert h: vector_same{Pre, Here}(s.h.value, n);
  //@ assert h_condition: vector_same{Pre, Here}(s.h.condition, n);
  //@ assert back: vector_same{Pre, Here}(s.back.value, n);
  //@ assert back_condition: vector_same{Pre, Here}(s.back.condition, n);
  if (status == PHIBAL_OK) {
    status = ffn_product(shape.rows, d, f, left, up, precision, s.b.value, s.b.condition);
    /*@ assert gates_free: \forall integer i; 0 <= i < n ==>
          vector_apart(s.a.value + i, s.b.value, n) &&
          vector_apart(s.a.value + i, s.b.condition, n); */
    //@ assert gates: vector_same{first, Here}(s.a.value, n);
    //@ assert gate_conditions: vector_same{first, Here}(s.a.condition, n);
    //@ assert others_kept: vector_same{first, Here}(s.t, FFN_TEMPORARIES);
    //@ assert h_kept: vector_same{first, Here}(s.h.value, n);
    //@ assert h_condition_kept: vector_same{first, Here}(s.h.condition, n);
    //@ assert back_kept: vector_same{first, Here}(s.back.value, n);
    //@ assert back_condition_kept: vector_same{first, Here}(s.back.condition, n);
  }
  //@ ghost ffn_parts_gathered(s, all, n);
  return status;
}

/* a, b and h of a group. */
static phibal_status ffn_forward_hidden(ffn_shape shape, int64_t n, activation_work *work,
                                        ffn_scratch s, const float *x, const float *w_gate,
                                        const float *w_up, mpfr_prec_t precision)
/*@ ghost (phibal_enclosure *all) */ {
  //@ assert use_enclosure;
  //@ ghost int64_t d = shape.width, f = shape.hidden;
  /*@ ghost ffn_parts_there(s, all, n);
            ffn_parts_apart(s, all, n);
            ffn_parts_outside(s, all, n);
            ffn_work_apart(work, all, FFN_TEMPORARIES + FFN_VECTORS * n);
            ffn_work_outside(work, s, all, n); */
  phibal_status status = ffn_projections(shape, s, x, w_gate, w_up, precision) /*@ ghost (all) */;
  //@ assert work_kept: work_same{Pre, Here}(work);
  //@ assert work: work_ready(work) && work->activation == \at(work->activation, Pre);
  /*@ assert others: \forall phibal_enclosure *r; \valid_read{Pre}(r) && \separated(r, work) &&
        vector_apart(r, all, FFN_TEMPORARIES + FFN_VECTORS * n) ==> same{Pre, Here}(r); */
  if (status != PHIBAL_OK) return status;
  /*@ assert gates_free: \forall integer i; 0 <= i < n ==>
        vector_apart(s.a.value + i, s.t, 3) && vector_apart(s.a.value + i, s.h.value, n) &&
        vector_apart(s.a.value + i, s.h.condition, n); */
  /*@ assert gate_conditions_free: \forall integer i; 0 <= i < n ==>
        vector_apart(s.a.condition + i, s.t, 3) && vector_apart(s.a.condition + i, s.h.value, n) &&
        vector_apart(s.a.condition + i, s.h.condition, n); */
  /*@ assert ups_free: \forall integer i; 0 <= i < n ==>
        vector_apart(s.b.value + i, s.t, 3) && vector_apart(s.b.value + i, s.h.value, n) &&
        vector_apart(s.b.value + i, s.h.condition, n); */
  /*@ assert up_conditions_free: \forall integer i; 0 <= i < n ==>
        vector_apart(s.b.condition + i, s.t, 3) && vector_apart(s.b.condition + i, s.h.value, n) &&
        vector_apart(s.b.condition + i, s.h.condition, n); */
  /*@ assert projections: \forall integer k; 0 <= k < n ==>
        in(s.a.value + k, projected(x, w_gate, d, f, k)) &&
        in(s.b.value + k, projected(x, w_up, d, f, k)); */
  /*@ assert magnitudes: \forall integer k; 0 <= k < n ==>
        in(s.a.condition + k, projected_magnitude(x, w_gate, d, f, k)) &&
        in(s.b.condition + k, projected_magnitude(x, w_up, d, f, k)); */
  //@ ghost projected:;
  status = ffn_gates(n, work, s) /*@ ghost (all) */;
  //@ assert gates_kept: vector_same{projected, Here}(s.a.value, n);
  //@ assert gate_conditions_kept: vector_same{projected, Here}(s.a.condition, n);
  //@ assert ups_kept: vector_same{projected, Here}(s.b.value, n);
  //@ assert up_conditions_kept: vector_same{projected, Here}(s.b.condition, n);
  //@ assert gates: dots_held(s.a.value, n, f, d, x, d, 1, w_gate, 1, d);
  //@ assert gate_conditions: magnitudes_held(s.a.condition, n, f, d, x, d, 1, w_gate, 1, d);
  //@ assert ups: dots_held(s.b.value, n, f, d, x, d, 1, w_up, 1, d);
  //@ assert up_conditions: magnitudes_held(s.b.condition, n, f, d, x, d, 1, w_up, 1, d);
  /*@ assert held: status == PHIBAL_OK ==>
        gates_held{projected, Here}(s.a, s.b, s.h, n, work->activation); */
  /*@ assert still: \forall integer k; 0 <= k < n ==>
        in{projected}(s.a.value + k, projected(x, w_gate, d, f, k)) &&
        in{projected}(s.b.value + k, projected(x, w_up, d, f, k)); */
  /*@ assert values: status == PHIBAL_OK ==> \forall integer k; 0 <= k < n ==>
        in(s.h.value + k, activation_value(work->activation, projected(x, w_gate, d, f, k)) *
                            projected(x, w_up, d, f, k)); */
  /*@ assert hidden: status == PHIBAL_OK ==>
        hidden_held(s.h.value, n, work->activation, x, w_gate, w_up, d, f); */
  /*@ assert conditions_held: status == PHIBAL_OK ==>
        gate_conditions_held{projected, Here}(s.a, s.b, s.h, n, work->activation); */
  /*@ assert still_magnitudes: \forall integer k; 0 <= k < n ==>
        in{projected}(s.a.condition + k, projected_magnitude(x, w_gate, d, f, k)) &&
        in{projected}(s.b.condition + k, projected_magnitude(x, w_up, d, f, k)); */
  /*@ assert conditions: status == PHIBAL_OK ==> \forall integer k; 0 <= k < n ==>
        in(s.h.condition + k,
           gate_condition(work->activation, projected(x, w_gate, d, f, k),
                          projected_magnitude(x, w_gate, d, f, k), projected(x, w_up, d, f, k),
                          projected_magnitude(x, w_up, d, f, k))); */
  /*@ assert hidden_conditions: status == PHIBAL_OK ==>
        hidden_conditions_held(s.h.condition, n, work->activation, x, w_gate, w_up, d, f); */
  return status;
}

phibal_status ffn_forward_group(ffn_shape shape, activation_work *work, ffn_scratch s,
                                const float *x, const float *w_gate, const float *w_up,
                                const float *w_down, mpfr_prec_t precision,
                                phibal_reference_result y)
/*@ ghost (phibal_enclosure *all) */ {
  //@ assert use_enclosure;
  //@ ghost ffn_size(shape);
  int64_t d = shape.width, f = shape.hidden, n = shape.rows * f;
  phibal_reference_matrix down = {w_down, 1, f};
  //@ ghost int64_t m = ffn_output_size(shape);
  /*@ ghost ffn_parts_apart(s, all, n);
            ffn_parts_outside(s, all, n); */
  /*@ ghost ffn_parts_chained(s, all, n, y, m);
            ffn_work_outside(work, s, all, n);
            ffn_work_chained(work, s.t, y, m);
            ffn_strides(shape);
            ffn_transposed(w_down, d, f); */
  //@ assert inside: strides_inside(shape.rows, f, f, 1, n);
  //@ assert down_there: matrix_there(w_down, 1, f, f, d);
  //@ assert down_finite: matrix_finite(w_down, 1, f, f, d);
  /*@ assert y_work: y.value != \null ==> \forall integer i; 0 <= i < m ==>
        \separated(y.value + i, work); */
  /*@ assert y_free: y.value != \null ==> \forall integer i; 0 <= i < m ==>
        vector_apart(y.value + i, all, FFN_TEMPORARIES + FFN_VECTORS * n); */
  /*@ assert y_condition_work: y.condition != \null ==> \forall integer i; 0 <= i < m ==>
        \separated(y.condition + i, work); */
  /*@ assert y_condition_free: y.condition != \null ==> \forall integer i; 0 <= i < m ==>
        vector_apart(y.condition + i, all, FFN_TEMPORARIES + FFN_VECTORS * n); */
  phibal_status status =
      ffn_forward_hidden(shape, n, work, s, x, w_gate, w_up, precision) /*@ ghost (all) */;
  //@ assert y_kept: y.value != \null ==> vector_same{Pre, Here}(y.value, m);
  //@ assert y_condition_kept: y.condition != \null ==> vector_same{Pre, Here}(y.condition, m);
  //@ assert y_there: optional_vector(y.value, m);
  //@ assert y_condition_there: optional_vector(y.condition, m);
  if (status != PHIBAL_OK) return status;
  /*@ assert members: \forall sequence h; hidden_are(h, n, work->activation, x, w_gate, w_up, d, f)
        ==> members(s.h.value, n, h); */
  /*@ assert condition_members: \forall sequence h;
        hidden_conditions_are(h, n, work->activation, x, w_gate, w_up, d, f) ==>
          members(s.h.condition, n, h); */
  //@ ghost ffn_parts_there(s, all, n);
  //@ assert temporaries: vector_output(s.t, 3);
  //@ assert result: result_there(y, m);
  //@ assert result_apart: results_apart(y, m, s.h, n);
  //@ assert result_free: optional_vectors_apart(y.value, m, s.t, 3);
  //@ assert result_condition_free: optional_vectors_apart(y.condition, m, s.t, 3);
  //@ ghost hidden:;
  status = ffn_chain_product(shape.rows, f, d, s.h, f, 1, down, false, s.t, y) /*@ ghost (n) */;
  //@ assert work_kept: work_same{hidden, Here}(work);
  //@ assert a_kept: vector_same{hidden, Here}(s.a.value, n);
  //@ assert a_condition_kept: vector_same{hidden, Here}(s.a.condition, n);
  //@ assert b_kept: vector_same{hidden, Here}(s.b.value, n);
  //@ assert b_condition_kept: vector_same{hidden, Here}(s.b.condition, n);
  //@ assert h_kept: vector_same{hidden, Here}(s.h.value, n);
  //@ assert h_condition_kept: vector_same{hidden, Here}(s.h.condition, n);
  //@ assert back_kept: vector_same{hidden, Here}(s.back.value, n);
  //@ assert back_condition_kept: vector_same{hidden, Here}(s.back.condition, n);
  //@ assert last_kept: output(s.t + 3);
  //@ assert a_there: vector_output(s.a.value, n);
  //@ assert a_condition_there: vector_output(s.a.condition, n);
  //@ assert b_there: vector_output(s.b.value, n);
  //@ assert b_condition_there: vector_output(s.b.condition, n);
  //@ assert h_there: vector_output(s.h.value, n);
  //@ assert h_condition_there: vector_output(s.h.condition, n);
  //@ assert back_there: vector_output(s.back.value, n);
  //@ assert back_condition_there: vector_output(s.back.condition, n);
  /*@ assert gates: status == PHIBAL_OK ==> dots_held(s.a.value, n, f, d, x, d, 1, w_gate, 1, d); */
  /*@ assert gate_conditions: status == PHIBAL_OK ==>
        magnitudes_held(s.a.condition, n, f, d, x, d, 1, w_gate, 1, d); */
  /*@ assert ups: status == PHIBAL_OK ==> dots_held(s.b.value, n, f, d, x, d, 1, w_up, 1, d); */
  /*@ assert up_conditions: status == PHIBAL_OK ==>
        magnitudes_held(s.b.condition, n, f, d, x, d, 1, w_up, 1, d); */
  /*@ assert values: status == PHIBAL_OK ==>
        hidden_held(s.h.value, n, work->activation, x, w_gate, w_up, d, f); */
  /*@ assert hidden_conditions: status == PHIBAL_OK ==>
        hidden_conditions_held(s.h.condition, n, work->activation, x, w_gate, w_up, d, f); */
  //@ assert work: work_ready(work);
  //@ ghost ffn_parts_gathered(s, all, n);
  return status;
}
