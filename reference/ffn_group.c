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
static phibal_status ffn_gate(activation_work *work, phibal_enclosure *t, phibal_reference_result a,
                              phibal_reference_result b, phibal_reference_result h) {
  //@ assert use_enclosure;
  phibal_status status = ffn_gate_value(work, &t[0], a.value, b.value, h.value);
  if (status != PHIBAL_OK) return status;
  /*@ assert activation: \forall real p; in{Pre}(a.value, p) ==>
        in(t + 0, activation_value(work->activation, p)); */
  /*@ assert kept: same{Pre, Here}(a.condition) && same{Pre, Here}(b.value) &&
        same{Pre, Here}(b.condition); */
  status = ffn_gate_condition(t, a.condition, b.value, b.condition, h.condition);
  //@ assert work: work_ready(work);
  return status;
}

/* ffn_gate of each element. */
static phibal_status ffn_gates(int64_t n, activation_work *work, ffn_scratch s)
/*@ ghost (phibal_enclosure *all) */ {
  //@ assert use_enclosure;
  //@ ghost ffn_places(s, all, n);
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
    //@ ghost ffn_element(s, all, n, work, k);
    //@ assert kept: element_same{Pre, Here}(s.a, k) && element_same{Pre, Here}(s.b, k);
    //@ ghost before:;
    phibal_reference_result a = {s.a.value + k, s.a.condition + k};
    phibal_reference_result b = {s.b.value + k, s.b.condition + k};
    phibal_reference_result h = {s.h.value + k, s.h.condition + k};
    phibal_status status = ffn_gate(work, s.t, a, b, h);
    /*@ assert written: enclosure(s.h.value + k) && enclosure(s.h.condition + k) &&
          vector_output(all, 3); */
    /*@ assert others: \forall integer i; 3 <= i < FFN_TEMPORARIES + FFN_VECTORS * n &&
          i != FFN_TEMPORARIES + 4 * n + k && i != FFN_TEMPORARIES + 5 * n + k ==>
            same{before, Here}(all + i); */
    /*@ assert rest_there: \forall integer i;
          3 <= i < FFN_TEMPORARIES + FFN_VECTORS * n ==> output(all + i); */
    //@ assert outputs: vector_output(all, FFN_TEMPORARIES + FFN_VECTORS * n);
    if (status != PHIBAL_OK) return status;
    //@ assert earlier: pair_same{before, Here}(s.h, k);
    /*@ assert last: \forall real p, q; in{Pre}(s.a.value + k, p) && in{Pre}(s.b.value + k, q) ==>
          in(s.h.value + k, activation_value(work->activation, p) * q); */
    /*@ assert last_condition: \forall real p, q, u, v;
          in{Pre}(s.a.value + k, p) && in{Pre}(s.a.condition + k, u) &&
          in{Pre}(s.b.value + k, q) && in{Pre}(s.b.condition + k, v) ==>
            in(s.h.condition + k, gate_condition(work->activation, p, u, q, v)); */
  }
  return PHIBAL_OK;
}

/* a and b of a group. */
static phibal_status ffn_projections(ffn_shape shape, ffn_scratch s,
                                     phibal_reference_ffn_inputs given, mpfr_prec_t precision)
/*@ ghost (phibal_enclosure *all) */ {
  //@ assert use_enclosure;
  int64_t d = shape.width, f = shape.hidden;
  //@ ghost int64_t n = ffn_size(shape);
  /*@ ghost ffn_parts_there(s, all, n);
            ffn_parts_apart(s, all, n); */
  phibal_reference_matrix left = {given.x, d, 1};
  phibal_reference_matrix gate = {given.w_gate, 1, d}, up = {given.w_up, 1, d};
  //@ assert gate_there: matrix_there(given.w_gate, 1, d, d, f);
  //@ assert up_there: matrix_there(given.w_up, 1, d, d, f);
  phibal_status status =
      ffn_product(shape.rows, d, f, left, gate, precision, s.a.value, s.a.condition);
  //@ ghost first:;
  //@ assert others: vector_same{Pre, Here}(s.t, FFN_TEMPORARIES);
  /*@ assert kept: OF_RESULT(s.b, n, vector_same{Pre, Here}) && OF_RESULT(s.h, n, vector_same{Pre,
     Here}) && OF_RESULT(s.back, n, vector_same{Pre, Here}); */
  if (status == PHIBAL_OK) {
    status = ffn_product(shape.rows, d, f, left, up, precision, s.b.value, s.b.condition);
    //@ assert others_kept: vector_same{first, Here}(s.t, FFN_TEMPORARIES);
    /*@ assert still: OF_RESULT(s.a, n, vector_same{first, Here}) && OF_RESULT(s.h, n,
       vector_same{first, Here}) && OF_RESULT(s.back, n, vector_same{first, Here}); */
  }
  //@ ghost ffn_parts_gathered(s, all, n);
  return status;
}

/* a, b and h of a group. */
static phibal_status ffn_forward_hidden(ffn_shape shape, int64_t n, activation_work *work,
                                        ffn_scratch s, phibal_reference_ffn_inputs given,
                                        mpfr_prec_t precision)
/*@ ghost (phibal_enclosure *all) */ {
  //@ assert use_enclosure;
  //@ ghost int64_t d = shape.width, f = shape.hidden;
  /*@ ghost ffn_parts_there(s, all, n);
            ffn_parts_apart(s, all, n);
            ffn_parts_outside(s, all, n);
            ffn_work_apart(work, all, FFN_TEMPORARIES + FFN_VECTORS * n);
            ffn_work_outside(work, s, all, n); */
  phibal_status status = ffn_projections(shape, s, given, precision) /*@ ghost (all) */;
  //@ assert work_kept: work_same{Pre, Here}(work);
  //@ assert work: work_ready(work) && work->activation == \at(work->activation, Pre);
  /*@ assert others: \forall phibal_enclosure *r; \valid_read{Pre}(r) && \separated(r, work) &&
        vector_apart(r, all, FFN_TEMPORARIES + FFN_VECTORS * n) ==> same{Pre, Here}(r); */
  if (status != PHIBAL_OK) return status;
  /*@ assert projections: \forall integer k; 0 <= k < n ==>
        in(s.a.value + k, projected(given.x, given.w_gate, d, f, k)) &&
        in(s.b.value + k, projected(given.x, given.w_up, d, f, k)) &&
        in(s.a.condition + k, projected_magnitude(given.x, given.w_gate, d, f, k)) &&
        in(s.b.condition + k, projected_magnitude(given.x, given.w_up, d, f, k)); */
  //@ ghost projected:;
  status = ffn_gates(n, work, s) /*@ ghost (all) */;
  /*@ assert kept: OF_RESULT(s.a, n, vector_same{projected, Here}) &&
        OF_RESULT(s.b, n, vector_same{projected, Here}); */
  /*@ assert still: \forall integer k; 0 <= k < n ==>
        in{projected}(s.a.value + k, projected(given.x, given.w_gate, d, f, k)) &&
        in{projected}(s.b.value + k, projected(given.x, given.w_up, d, f, k)) &&
        in{projected}(s.a.condition + k, projected_magnitude(given.x, given.w_gate, d, f, k)) &&
        in{projected}(s.b.condition + k, projected_magnitude(given.x, given.w_up, d, f, k)); */
  /*@ assert values: status == PHIBAL_OK ==> \forall integer k; 0 <= k < n ==>
        in(s.h.value + k, activation_value(work->activation,
                                           projected(given.x, given.w_gate, d, f, k)) *
                            projected(given.x, given.w_up, d, f, k)); */
  //@ assert held: status == PHIBAL_OK ==> FORWARD_HELD(work->activation, d, f);
  return status;
}

phibal_status ffn_forward_group(ffn_shape shape, activation_work *work, ffn_scratch s,
                                phibal_reference_ffn_inputs given, mpfr_prec_t precision,
                                phibal_reference_result y)
/*@ ghost (phibal_enclosure *all) */ {
  //@ assert use_enclosure;
  //@ ghost ffn_size(shape);
  int64_t d = shape.width, f = shape.hidden, n = shape.rows * f;
  ffn_matrix hidden = {s.h, f, 1};
  phibal_reference_matrix down = {given.w_down, 1, f};
  //@ ghost int64_t m = ffn_output_size(shape);
  /*@ ghost ffn_parts_apart(s, all, n);
            ffn_parts_outside(s, all, n);
            ffn_parts_chained(s, all, n, y, m);
            ffn_work_outside(work, s, all, n);
            ffn_work_chained(work, s.t, y, m);
            ffn_strides(shape);
            ffn_transposed(given.w_down, d, f); */
  //@ assert inside: strides_inside(shape.rows, f, f, 1, n);
  //@ assert down_there: matrix_there(given.w_down, 1, f, f, d);
  /*@ assert free:
        OF_RESULT_WITH(y, m, optional_vectors_apart, all, FFN_TEMPORARIES + FFN_VECTORS * n); */
  phibal_status status = ffn_forward_hidden(shape, n, work, s, given, precision) /*@ ghost (all) */;
  //@ assert y_kept: OF_RESULT(y, m, optional_same{Pre, Here});
  //@ assert y_there: OF_RESULT(y, m, optional_vector);
  if (status != PHIBAL_OK) return status;
  /*@ assert members: \forall sequence p;
        hidden_are(p, n, work->activation, given.x, given.w_gate, given.w_up, d, f) ==>
          members(s.h.value, n, p); */
  /*@ assert condition_members: \forall sequence p;
        hidden_conditions_are(p, n, work->activation, given.x, given.w_gate, given.w_up, d, f) ==>
          members(s.h.condition, n, p); */
  //@ ghost ffn_parts_there(s, all, n);
  //@ assert apart: results_apart(y, m, s.h, n);
  //@ ghost hidden:;
  status = ffn_chain_product(shape.rows, f, d, hidden, down, false, s.t, y) /*@ ghost (n) */;
  //@ assert work_kept: work_same{hidden, Here}(work);
  //@ assert scratch_kept: OF_SCRATCH(vector_same{hidden, Here});
  //@ assert scratch_there: OF_SCRATCH(vector_output);
  //@ assert last_kept: output(s.t + 3);
  //@ assert held: status == PHIBAL_OK ==> FORWARD_HELD(work->activation, d, f);
  //@ assert work: work_ready(work);
  //@ ghost ffn_parts_gathered(s, all, n);
  return status;
}
