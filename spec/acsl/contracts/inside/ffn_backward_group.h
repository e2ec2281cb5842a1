/* What the functions of reference/ffn_backward_group.h promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_FFN_BACKWARD_GROUP_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_FFN_BACKWARD_GROUP_H

#ifdef __FRAMAC__
#include <phibal/acsl/ffn_steps.h>
#include <phibal/acsl/ffn_backward_steps.h>
#include <phibal/acsl/ffn_backward_conditions.h>
#endif

/*@ // shapes and arguments of the backward pass, checked
    predicate backward_ready{L}(ffn_shape shape, float *x, float *w_gate, float *w_up,
                                float *w_down, float *a, float *b, float *h, float *y) =
      shape_counted(shape) && place(shape.width, shape.hidden) <= ROUTING_MAX_SLOTS &&
      plain_there(x, shape.rows, shape.width) &&
      plain_there(w_gate, shape.hidden, shape.width) &&
      plain_there(w_up, shape.hidden, shape.width) &&
      plain_there(w_down, shape.width, shape.hidden) &&
      plain_there(h, shape.rows, shape.hidden) &&
      plain_there(y, shape.rows, shape.width) &&
      floats_there(a, place(shape.rows, shape.hidden)) &&
      floats_there(b, place(shape.rows, shape.hidden)) &&
      weights_finite(shape.width, shape.hidden, shape.rows, x, w_gate, w_up, w_down) &&
      plain_finite(h, shape.rows, shape.hidden) && plain_finite(y, shape.rows, shape.width) &&
      (0 < shape.rows ==> h != \null && y != \null);
    // the gradients of the products are apart from the first n of the scratch
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
    // places for the gradients of the products
    predicate products_there{L}(phibal_reference_ffn_gradients g, integer rows, integer d,
                                integer f) =
      result_there(g.x, place(rows, d)) && result_there(g.w_gate, place(f, d)) &&
      result_there(g.w_up, place(f, d)) && result_there(g.w_down, place(d, f));
    predicate hidden_gradients_held{L}(ffn_scratch s, integer n, ffn_shape shape, float *y,
                                       float *w_down) =
      dots_held(s.back.value, n, shape.hidden, shape.width, y, shape.width, 1, w_down,
                shape.hidden, 1) &&
      magnitudes_held(s.back.condition, n, shape.hidden, shape.width, y, shape.width, 1, w_down,
                      shape.hidden, 1);
    // what the scratch holds after the backward pass: h', a' and b', and their conditions
    predicate backward_held{L}(ffn_scratch s, integer n, ffn_shape shape, integer kind, float *y,
                               float *w_down, float *a, float *b) =
      hidden_gradients_held(s, n, shape, y, w_down) &&
      gate_inputs_held(s.a.value, n, kind, y, w_down, a, b, shape.width, shape.hidden) &&
      up_inputs_held(s.b.value, n, kind, y, w_down, a, shape.width, shape.hidden) &&
      gate_conditions_held(s.a.condition, n, kind, y, w_down, a, b, shape.width, shape.hidden) &&
      up_conditions_held(s.b.condition, n, kind, y, w_down, a, shape.width, shape.hidden);
    // x', W_gate' and W_up', where they are wanted, from the exact a' and b'
    predicate inputs_held{L}(phibal_enclosure *z, integer m, integer n, integer kind,
                             float *w_gate, float *w_up, float *w_down, float *a, float *b,
                             float *y, integer d, integer f) =
      z != \null ==> \forall sequence p, q, integer i;
        gate_gradients_are(p, n, kind, y, w_down, a, b, d, f) &&
        up_gradients_are(q, n, kind, y, w_down, a, d, f) && 0 <= i < m ==>
          in(z + i, chain_entry(p, f, 1, w_gate, d, 1, f, d, i) +
                      chain_entry(q, f, 1, w_up, d, 1, f, d, i));
    predicate gate_weights_held{L}(phibal_enclosure *z, integer k, integer n, integer rows,
                                   integer kind, float *x, float *w_down, float *a, float *b,
                                   float *y, integer d, integer f) =
      z != \null ==> \forall sequence p; gate_gradients_are(p, n, kind, y, w_down, a, b, d, f) ==>
        chains_held(z, k, d, rows, p, 1, f, x, d, 1);
    predicate up_weights_held{L}(phibal_enclosure *z, integer k, integer n, integer rows,
                                 integer kind, float *x, float *w_down, float *a, float *y,
                                 integer d, integer f) =
      z != \null ==> \forall sequence q; up_gradients_are(q, n, kind, y, w_down, a, d, f) ==>
        chains_held(z, k, d, rows, q, 1, f, x, d, 1);
    // W_down'
    predicate down_weights_held{L}(phibal_enclosure *z, integer k, integer rows, float *h, float *y,
                                   integer d, integer f) =
      z != \null ==> dots_held(z, k, f, rows, y, 1, d, h, f, 1);
    predicate down_conditions_held{L}(phibal_enclosure *z, integer k, integer rows, float *h,
                                      float *y, integer d, integer f) =
      z != \null ==> magnitudes_held(z, k, f, rows, y, 1, d, h, f, 1);
*/

/*@ requires backward_ready(shape, x, w_gate, w_up, w_down, a, b, h, y_gradient) &&
      OPERATION_PRECISION <= precision <= MPFR_PREC_MAX;
    requires n == place(shape.rows, shape.hidden) && m == place(shape.rows, shape.width) &&
      k == place(shape.hidden, shape.width) && k == place(shape.width, shape.hidden);
    requires ffn_scratch_there(s, all, n) && work_there(work, all, n);
    requires products_there(g, shape.rows, shape.width, shape.hidden) &&
      weight_gradients_apart(g, shape.rows, shape.width, shape.hidden) &&
      gradients_placed(all, FFN_TEMPORARIES + FFN_VECTORS * n, g, shape.rows, shape.width,
                       shape.hidden) &&
      gradients_apart_work(g, shape.rows, shape.width, shape.hidden, work);
    terminates \true;
    exits \false;
    assigns *work, all[0 .. FFN_TEMPORARIES + FFN_VECTORS * n - 1],
            g.x.value[0 .. m - 1], g.x.condition[0 .. m - 1],
            g.w_gate.value[0 .. k - 1], g.w_gate.condition[0 .. k - 1],
            g.w_up.value[0 .. k - 1], g.w_up.condition[0 .. k - 1],
            g.w_down.value[0 .. k - 1], g.w_down.condition[0 .. k - 1];
    ensures work: work_ready(work);
    ensures outputs: vector_output(all, FFN_TEMPORARIES + FFN_VECTORS * n);
    ensures x: result_there(g.x, m);
    ensures w_gate: result_there(g.w_gate, k);
    ensures w_up: result_there(g.w_up, k);
    ensures w_down: result_there(g.w_down, k);
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && \separated(r, work) &&
      vector_apart(r, all, FFN_TEMPORARIES + FFN_VECTORS * n) &&
      result_apart(r, g.x, m) && result_apart(r, g.w_gate, k) && result_apart(r, g.w_up, k) &&
      result_apart(r, g.w_down, k) ==> same{Pre, Here}(r);
    ensures intermediates: \result == PHIBAL_OK ==>
      backward_held(s, n, shape, \old(work->activation), y_gradient, w_down, a, b);
    ensures products: \result == PHIBAL_OK ==>
      inputs_held(g.x.value, m, n, \old(work->activation), w_gate, w_up, w_down, a, b,
                  y_gradient, shape.width, shape.hidden);
    ensures gate_weights: \result == PHIBAL_OK ==>
      gate_weights_held(g.w_gate.value, k, n, shape.rows, \old(work->activation), x, w_down, a, b,
                        y_gradient, shape.width, shape.hidden);
    ensures up_weights: \result == PHIBAL_OK ==>
      up_weights_held(g.w_up.value, k, n, shape.rows, \old(work->activation), x, w_down, a,
                      y_gradient, shape.width, shape.hidden);
    ensures down_weights: \result == PHIBAL_OK ==>
      down_weights_held(g.w_down.value, k, shape.rows, h, y_gradient, shape.width, shape.hidden);
    ensures down_conditions: \result == PHIBAL_OK && g.w_down.value != \null ==>
      down_conditions_held(g.w_down.condition, k, shape.rows, h, y_gradient, shape.width,
                           shape.hidden);
    ensures input_conditions: \result == PHIBAL_OK && g.x.value != \null ==>
      input_conditions_held(g.x.condition, m, n, \old(work->activation), w_gate, w_up, w_down, a,
                            b, y_gradient, shape.width, shape.hidden);
    ensures gate_weight_conditions: \result == PHIBAL_OK && g.w_gate.value != \null ==>
      gate_weight_conditions_held(g.w_gate.condition, k, n, shape.rows, \old(work->activation), x,
                                  w_down, a, b, y_gradient, shape.width, shape.hidden);
    ensures up_weight_conditions: \result == PHIBAL_OK && g.w_up.value != \null ==>
      up_weight_conditions_held(g.w_up.condition, k, n, shape.rows, \old(work->activation), x,
                                w_down, a, y_gradient, shape.width, shape.hidden); */
phibal_status ffn_backward_group(ffn_shape shape, int64_t n, activation_work *work, ffn_scratch s,
                                 const float *x, const float *w_gate, const float *w_up,
                                 const float *w_down, const float *a, const float *b,
                                 const float *h, const float *y_gradient, mpfr_prec_t precision,
                                 phibal_reference_ffn_gradients g)
    /*@ ghost (phibal_enclosure *all, int64_t m, int64_t k) */;

#endif
