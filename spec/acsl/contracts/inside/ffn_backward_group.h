/* What the functions of reference/ffn_backward_group.h promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_FFN_BACKWARD_GROUP_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_FFN_BACKWARD_GROUP_H

#ifdef __FRAMAC__
#include <phibal/acsl/ffn_steps.h>
#include <phibal/acsl/ffn_backward_steps.h>
#include <phibal/acsl/ffn_backward_conditions.h>
#endif

/*@ // shapes and arguments of the backward pass: they are there; they are checked
    predicate saved_there{L}(phibal_reference_ffn_saved saved, ffn_shape shape) =
      plain_there(saved.h, shape.rows, shape.hidden) &&
      plain_there(saved.y_gradient, shape.rows, shape.width) &&
      floats_there(saved.a, place(shape.rows, shape.hidden)) &&
      floats_there(saved.b, place(shape.rows, shape.hidden));
    predicate backward_ready{L}(ffn_shape shape, phibal_reference_ffn_inputs given,
                                phibal_reference_ffn_saved saved) =
      shape_counted(shape) && place(shape.width, shape.hidden) <= ROUTING_MAX_SLOTS &&
      inputs_there(given, shape.rows, shape.width, shape.hidden) && saved_there(saved, shape) &&
      inputs_finite(given, shape.rows, shape.width, shape.hidden) &&
      plain_finite(saved.h, shape.rows, shape.hidden) &&
      plain_finite(saved.y_gradient, shape.rows, shape.width) &&
      (0 < shape.rows ==> saved.h != \null && saved.y_gradient != \null);
    // the elements of intermediates, of x and of weights
    predicate backward_sizes(ffn_shape shape, integer n, integer m, integer k) =
      n == place(shape.rows, shape.hidden) && m == place(shape.rows, shape.width) &&
      k == place(shape.hidden, shape.width) && k == place(shape.width, shape.hidden);
    predicate hidden_gradients_held{L}(ffn_scratch s, integer n, ffn_shape shape, float *y,
                                       float *w_down) =
      dots_held(s.back.value, n, shape.hidden, shape.width, y, shape.width, 1, w_down,
                shape.hidden, 1) &&
      magnitudes_held(s.back.condition, n, shape.hidden, shape.width, y, shape.width, 1, w_down,
                      shape.hidden, 1);
*/

/* What the scratch holds after the backward pass: h', a' and b', and their conditions; each a goal
   of its own, and as one predicate. */
#define BACKWARD_HELD(kind)                                                                        \
  dots_held(s.back.value, n, shape.hidden, shape.width, saved.y_gradient, shape.width, 1,          \
            given.w_down, shape.hidden, 1) &&                                                      \
    magnitudes_held(s.back.condition, n, shape.hidden, shape.width, saved.y_gradient, shape.width, \
                    1, given.w_down, shape.hidden, 1) &&                                           \
    gate_inputs_held(s.a.value, n, kind, saved.y_gradient, given.w_down, saved.a, saved.b,         \
                     shape.width, shape.hidden) &&                                                 \
    up_inputs_held(s.b.value, n, kind, saved.y_gradient, given.w_down, saved.a, shape.width,       \
                   shape.hidden) &&                                                                \
    gate_conditions_held(s.a.condition, n, kind, saved.y_gradient, given.w_down, saved.a, saved.b, \
                         shape.width, shape.hidden) &&                                             \
    up_conditions_held(s.b.condition, n, kind, saved.y_gradient, given.w_down, saved.a,            \
                       shape.width, shape.hidden)
/*@ predicate backward_held{L}(ffn_scratch s, integer n, ffn_shape shape, integer kind,
                               phibal_reference_ffn_inputs given,
                               phibal_reference_ffn_saved saved) =
      BACKWARD_HELD(kind);
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

/* The gradients of the products, and their conditions, each a goal of its own. */
#define PRODUCTS_HELD(kind)                                                                        \
  inputs_held(g.x.value, m, n, kind, given.w_gate, given.w_up, given.w_down, saved.a, saved.b,     \
              saved.y_gradient, shape.width, shape.hidden) &&                                      \
    gate_weights_held(g.w_gate.value, k, n, shape.rows, kind, given.x, given.w_down, saved.a,      \
                      saved.b, saved.y_gradient, shape.width, shape.hidden) &&                     \
    up_weights_held(g.w_up.value, k, n, shape.rows, kind, given.x, given.w_down, saved.a,          \
                    saved.y_gradient, shape.width, shape.hidden) &&                                \
    down_weights_held(g.w_down.value, k, shape.rows, saved.h, saved.y_gradient, shape.width,       \
                      shape.hidden) &&                                                             \
    (g.x.value != \null ==>                                                                        \
      input_conditions_held(g.x.condition, m, n, kind, given.w_gate, given.w_up, given.w_down,     \
                            saved.a, saved.b, saved.y_gradient, shape.width, shape.hidden)) &&     \
    (g.w_gate.value != \null ==>                                                                   \
      gate_weight_conditions_held(g.w_gate.condition, k, n, shape.rows, kind, given.x,             \
                                  given.w_down, saved.a, saved.b, saved.y_gradient, shape.width,   \
                                  shape.hidden)) &&                                                \
    (g.w_up.value != \null ==>                                                                     \
      up_weight_conditions_held(g.w_up.condition, k, n, shape.rows, kind, given.x, given.w_down,   \
                                saved.a, saved.y_gradient, shape.width, shape.hidden)) &&          \
    (g.w_down.value != \null ==>                                                                   \
      down_conditions_held(g.w_down.condition, k, shape.rows, saved.h, saved.y_gradient,           \
                           shape.width, shape.hidden))

/*@ requires backward_ready(shape, given, saved) && backward_sizes(shape, n, m, k) &&
      OPERATION_PRECISION <= precision <= MPFR_PREC_MAX;
    requires ffn_scratch_there(s, all, n) && work_there(work, all, n);
    requires products_there(g, m, k) && products_pairs_apart(g, m, k) &&
      products_outside(all, FFN_TEMPORARIES + FFN_VECTORS * n, g, m, k) &&
      OF_PRODUCTS_WITH(optional_apart_work, work);
    terminates \true;
    exits \false;
    assigns *work, all[0 .. FFN_TEMPORARIES + FFN_VECTORS * n - 1],
            g.x.value[0 .. m - 1], g.x.condition[0 .. m - 1],
            g.w_gate.value[0 .. k - 1], g.w_gate.condition[0 .. k - 1],
            g.w_up.value[0 .. k - 1], g.w_up.condition[0 .. k - 1],
            g.w_down.value[0 .. k - 1], g.w_down.condition[0 .. k - 1];
    ensures work: work_ready(work);
    ensures outputs: vector_output(all, FFN_TEMPORARIES + FFN_VECTORS * n);
    ensures gradients: OF_PRODUCTS(optional_vector);
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && \separated(r, work) &&
      vector_apart(r, all, FFN_TEMPORARIES + FFN_VECTORS * n) && apart_from_products(r, g, m, k) ==>
        same{Pre, Here}(r);
    ensures intermediates: \result == PHIBAL_OK ==>
      backward_held(s, n, shape, \old(work->activation), given, saved);
    ensures products: \result == PHIBAL_OK ==> PRODUCTS_HELD(\old(work->activation)); */
phibal_status ffn_backward_group(ffn_shape shape, activation_work *work, ffn_scratch s,
                                 phibal_reference_ffn_inputs given,
                                 phibal_reference_ffn_saved saved, mpfr_prec_t precision,
                                 phibal_reference_ffn_gradients g)
    /*@ ghost (phibal_enclosure *all, int64_t n, int64_t m, int64_t k) */;

#endif
