/* What the static functions of reference/ffn_backward.c promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_FFN_BACKWARD_STATIC_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_FFN_BACKWARD_STATIC_H

/*@ // what is neither of the scratch nor of the products' gradients
    predicate outside_backward(phibal_enclosure *r, phibal_enclosure *all, integer n,
                               phibal_reference_ffn_gradients g, integer m, integer k) =
      vector_apart(r, all, FFN_TEMPORARIES + FFN_VECTORS * n) && result_apart(r, g.x, m) &&
      result_apart(r, g.w_gate, k) && result_apart(r, g.w_up, k) && result_apart(r, g.w_down, k);
*/

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
                                        const phibal_reference_ffn_gradients *gradients);

/*@ requires backward_ready(shape, x, w_gate, w_up, w_down, a, b, h, y_gradient) &&
      OPERATION_PRECISION <= precision <= MPFR_PREC_MAX;
    requires n == place(shape.rows, shape.hidden) && m == place(shape.rows, shape.width) &&
      k == place(shape.hidden, shape.width) && k == place(shape.width, shape.hidden);
    requires ffn_scratch_there(s, all, n);
    requires result_there(g.x, m) && result_there(g.w_gate, k) && result_there(g.w_up, k) &&
      result_there(g.w_down, k) &&
      weight_gradients_apart(g, shape.rows, shape.width, shape.hidden);
    requires vector_result_apart(all, FFN_TEMPORARIES + FFN_VECTORS * n, g.x, m);
    requires vector_result_apart(all, FFN_TEMPORARIES + FFN_VECTORS * n, g.w_gate, k);
    requires vector_result_apart(all, FFN_TEMPORARIES + FFN_VECTORS * n, g.w_up, k);
    requires vector_result_apart(all, FFN_TEMPORARIES + FFN_VECTORS * n, g.w_down, k);
    terminates \true;
    exits \false;
    assigns all[0 .. FFN_TEMPORARIES + FFN_VECTORS * n - 1],
            g.x.value[0 .. m - 1], g.x.condition[0 .. m - 1],
            g.w_gate.value[0 .. k - 1], g.w_gate.condition[0 .. k - 1],
            g.w_up.value[0 .. k - 1], g.w_up.condition[0 .. k - 1],
            g.w_down.value[0 .. k - 1], g.w_down.condition[0 .. k - 1];
    ensures outputs: vector_output(all, FFN_TEMPORARIES + FFN_VECTORS * n);
    ensures x: optional_vector(g.x.value, m);
    ensures x_condition: optional_vector(g.x.condition, m);
    ensures w_gate: optional_vector(g.w_gate.value, k);
    ensures w_gate_condition: optional_vector(g.w_gate.condition, k);
    ensures w_up: optional_vector(g.w_up.value, k);
    ensures w_up_condition: optional_vector(g.w_up.condition, k);
    ensures w_down: optional_vector(g.w_down.value, k);
    ensures w_down_condition: optional_vector(g.w_down.condition, k);
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) &&
      outside_backward(r, all, n, g, m, k) ==> same{Pre, Here}(r);
    ensures intermediates: \result == PHIBAL_OK ==>
      backward_held(s, n, shape, activation, y_gradient, w_down, a, b);
    ensures products: \result == PHIBAL_OK ==>
      inputs_held(g.x.value, m, n, activation, w_gate, w_up, w_down, a, b, y_gradient, shape.width,
                  shape.hidden);
    ensures gate_weights: \result == PHIBAL_OK ==>
      gate_weights_held(g.w_gate.value, k, n, shape.rows, activation, x, w_down, a, b, y_gradient,
                        shape.width, shape.hidden);
    ensures up_weights: \result == PHIBAL_OK ==>
      up_weights_held(g.w_up.value, k, n, shape.rows, activation, x, w_down, a, y_gradient,
                      shape.width, shape.hidden);
    ensures down_weights: \result == PHIBAL_OK ==>
      down_weights_held(g.w_down.value, k, shape.rows, h, y_gradient, shape.width, shape.hidden);
    ensures down_conditions: \result == PHIBAL_OK && g.w_down.value != \null ==>
      down_conditions_held(g.w_down.condition, k, shape.rows, h, y_gradient, shape.width,
                           shape.hidden);
    ensures input_conditions: \result == PHIBAL_OK && g.x.value != \null ==>
      input_conditions_held(g.x.condition, m, n, activation, w_gate, w_up, w_down, a, b, y_gradient,
                            shape.width, shape.hidden);
    ensures gate_weight_conditions: \result == PHIBAL_OK && g.w_gate.value != \null ==>
      gate_weight_conditions_held(g.w_gate.condition, k, n, shape.rows, activation, x, w_down, a, b,
                                  y_gradient, shape.width, shape.hidden);
    ensures up_weight_conditions: \result == PHIBAL_OK && g.w_up.value != \null ==>
      up_weight_conditions_held(g.w_up.condition, k, n, shape.rows, activation, x, w_down, a,
                                y_gradient, shape.width, shape.hidden); */
static phibal_status ffn_backward_activated(const char *name, ffn_shape shape, int64_t n,
                                            phibal_activation activation, ffn_scratch s,
                                            const float *x, const float *w_gate, const float *w_up,
                                            const float *w_down, const float *a, const float *b,
                                            const float *h, const float *y_gradient,
                                            mpfr_prec_t precision, phibal_reference_ffn_gradients g)
/*@ ghost (phibal_enclosure *all, int64_t m, int64_t k) */;

/*@ requires backward_ready(shape, x, w_gate, w_up, w_down, a, b, h, y_gradient) &&
      OPERATION_PRECISION <= precision <= MPFR_PREC_MAX;
    requires n == place(shape.rows, shape.hidden) && m == place(shape.rows, shape.width) &&
      k == place(shape.hidden, shape.width) && k == place(shape.width, shape.hidden);
    requires n <= FFN_LARGEST && vector_output(all, FFN_TEMPORARIES + FFN_VECTORS * n);
    requires ffn_gradients_there(g, shape.rows, shape.width, shape.hidden);
    requires vector_result_apart(all, FFN_TEMPORARIES + FFN_VECTORS * n, g.h, n);
    requires vector_result_apart(all, FFN_TEMPORARIES + FFN_VECTORS * n, g.a, n);
    requires vector_result_apart(all, FFN_TEMPORARIES + FFN_VECTORS * n, g.b, n);
    requires vector_result_apart(all, FFN_TEMPORARIES + FFN_VECTORS * n, g.x, m);
    requires vector_result_apart(all, FFN_TEMPORARIES + FFN_VECTORS * n, g.w_gate, k);
    requires vector_result_apart(all, FFN_TEMPORARIES + FFN_VECTORS * n, g.w_up, k);
    requires vector_result_apart(all, FFN_TEMPORARIES + FFN_VECTORS * n, g.w_down, k);
    terminates \true;
    exits \false;
    assigns all[0 .. FFN_TEMPORARIES + FFN_VECTORS * n - 1],
            g.h.value[0 .. n - 1], g.h.condition[0 .. n - 1],
            g.a.value[0 .. n - 1], g.a.condition[0 .. n - 1],
            g.b.value[0 .. n - 1], g.b.condition[0 .. n - 1],
            g.x.value[0 .. m - 1], g.x.condition[0 .. m - 1],
            g.w_gate.value[0 .. k - 1], g.w_gate.condition[0 .. k - 1],
            g.w_up.value[0 .. k - 1], g.w_up.condition[0 .. k - 1],
            g.w_down.value[0 .. k - 1], g.w_down.condition[0 .. k - 1];
    ensures scratch: vector_output(all, FFN_TEMPORARIES + FFN_VECTORS * n);
    ensures to_h: result_there(g.h, n);
    ensures to_a: result_there(g.a, n);
    ensures to_b: result_there(g.b, n);
    ensures x: result_there(g.x, m);
    ensures w_gate: result_there(g.w_gate, k);
    ensures w_up: result_there(g.w_up, k);
    ensures w_down: result_there(g.w_down, k);
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) &&
      vector_apart(r, all, FFN_TEMPORARIES + FFN_VECTORS * n) &&
      ffn_gradients_apart(r, g, shape.rows, shape.width, shape.hidden) ==> same{Pre, Here}(r);
    ensures hidden: \result == PHIBAL_OK && g.h.value != \null ==>
      dots_held(g.h.value, n, shape.hidden, shape.width, y_gradient, shape.width, 1, w_down,
                shape.hidden, 1);
    ensures hidden_conditions: \result == PHIBAL_OK && g.h.condition != \null ==>
      magnitudes_held(g.h.condition, n, shape.hidden, shape.width, y_gradient, shape.width, 1,
                      w_down, shape.hidden, 1);
    ensures gates: \result == PHIBAL_OK && g.a.value != \null ==>
      gate_inputs_held(g.a.value, n, activation, y_gradient, w_down, a, b, shape.width,
                       shape.hidden);
    ensures ups: \result == PHIBAL_OK && g.b.value != \null ==>
      up_inputs_held(g.b.value, n, activation, y_gradient, w_down, a, shape.width, shape.hidden);
    ensures gate_conditions: \result == PHIBAL_OK && g.a.condition != \null ==>
      gate_conditions_held(g.a.condition, n, activation, y_gradient, w_down, a, b, shape.width,
                           shape.hidden);
    ensures up_conditions: \result == PHIBAL_OK && g.b.condition != \null ==>
      up_conditions_held(g.b.condition, n, activation, y_gradient, w_down, a, shape.width,
                         shape.hidden);
    ensures products: \result == PHIBAL_OK ==>
      inputs_held(g.x.value, m, n, activation, w_gate, w_up, w_down, a, b, y_gradient, shape.width,
                  shape.hidden);
    ensures gate_weights: \result == PHIBAL_OK ==>
      gate_weights_held(g.w_gate.value, k, n, shape.rows, activation, x, w_down, a, b, y_gradient,
                        shape.width, shape.hidden);
    ensures up_weights: \result == PHIBAL_OK ==>
      up_weights_held(g.w_up.value, k, n, shape.rows, activation, x, w_down, a, y_gradient,
                      shape.width, shape.hidden);
    ensures down_weights: \result == PHIBAL_OK ==>
      down_weights_held(g.w_down.value, k, shape.rows, h, y_gradient, shape.width, shape.hidden);
    ensures down_conditions: \result == PHIBAL_OK && g.w_down.value != \null ==>
      down_conditions_held(g.w_down.condition, k, shape.rows, h, y_gradient, shape.width,
                           shape.hidden);
    ensures input_conditions: \result == PHIBAL_OK && g.x.value != \null ==>
      input_conditions_held(g.x.condition, m, n, activation, w_gate, w_up, w_down, a, b, y_gradient,
                            shape.width, shape.hidden);
    ensures gate_weight_conditions: \result == PHIBAL_OK && g.w_gate.value != \null ==>
      gate_weight_conditions_held(g.w_gate.condition, k, n, shape.rows, activation, x, w_down, a, b,
                                  y_gradient, shape.width, shape.hidden);
    ensures up_weight_conditions: \result == PHIBAL_OK && g.w_up.value != \null ==>
      up_weight_conditions_held(g.w_up.condition, k, n, shape.rows, activation, x, w_down, a,
                                y_gradient, shape.width, shape.hidden); */
static phibal_status ffn_backward_results(const char *name, ffn_shape shape, int64_t n,
                                          phibal_activation activation, phibal_enclosure *all,
                                          const float *x, const float *w_gate, const float *w_up,
                                          const float *w_down, const float *a, const float *b,
                                          const float *h, const float *y_gradient,
                                          mpfr_prec_t precision, phibal_reference_ffn_gradients g)
/*@ ghost (int64_t m, int64_t k) */;

/*@ requires backward_ready(shape, x, w_gate, w_up, w_down, a, b, h, y_gradient) &&
      OPERATION_PRECISION <= precision <= MPFR_PREC_MAX;
    requires n == place(shape.rows, shape.hidden) && m == place(shape.rows, shape.width) &&
      k == place(shape.hidden, shape.width) && k == place(shape.width, shape.hidden);
    requires ffn_gradients_there(g, shape.rows, shape.width, shape.hidden);
    requires result_in_use(g.h, n) && result_in_use(g.a, n) && result_in_use(g.b, n);
    requires result_in_use(g.x, m) && result_in_use(g.w_gate, k) && result_in_use(g.w_up, k) &&
      result_in_use(g.w_down, k);
    terminates \true;
    exits \false;
    assigns g.h.value[0 .. n - 1], g.h.condition[0 .. n - 1],
            g.a.value[0 .. n - 1], g.a.condition[0 .. n - 1],
            g.b.value[0 .. n - 1], g.b.condition[0 .. n - 1],
            g.x.value[0 .. m - 1], g.x.condition[0 .. m - 1],
            g.w_gate.value[0 .. k - 1], g.w_gate.condition[0 .. k - 1],
            g.w_up.value[0 .. k - 1], g.w_up.condition[0 .. k - 1],
            g.w_down.value[0 .. k - 1], g.w_down.condition[0 .. k - 1], ALLOCATED;
    ensures still_in_use{Pre, Here};
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && in_use{Pre}(r) &&
      ffn_gradients_apart(r, g, shape.rows, shape.width, shape.hidden) ==> same{Pre, Here}(r);
    ensures hidden: \result == PHIBAL_OK && g.h.value != \null ==>
      dots_held(g.h.value, n, shape.hidden, shape.width, y_gradient, shape.width, 1, w_down,
                shape.hidden, 1);
    ensures hidden_conditions: \result == PHIBAL_OK && g.h.condition != \null ==>
      magnitudes_held(g.h.condition, n, shape.hidden, shape.width, y_gradient, shape.width, 1,
                      w_down, shape.hidden, 1);
    ensures gates: \result == PHIBAL_OK && g.a.value != \null ==>
      gate_inputs_held(g.a.value, n, activation, y_gradient, w_down, a, b, shape.width,
                       shape.hidden);
    ensures ups: \result == PHIBAL_OK && g.b.value != \null ==>
      up_inputs_held(g.b.value, n, activation, y_gradient, w_down, a, shape.width, shape.hidden);
    ensures gate_conditions: \result == PHIBAL_OK && g.a.condition != \null ==>
      gate_conditions_held(g.a.condition, n, activation, y_gradient, w_down, a, b, shape.width,
                           shape.hidden);
    ensures up_conditions: \result == PHIBAL_OK && g.b.condition != \null ==>
      up_conditions_held(g.b.condition, n, activation, y_gradient, w_down, a, shape.width,
                         shape.hidden);
    ensures products: \result == PHIBAL_OK ==>
      inputs_held(g.x.value, m, n, activation, w_gate, w_up, w_down, a, b, y_gradient, shape.width,
                  shape.hidden);
    ensures gate_weights: \result == PHIBAL_OK ==>
      gate_weights_held(g.w_gate.value, k, n, shape.rows, activation, x, w_down, a, b, y_gradient,
                        shape.width, shape.hidden);
    ensures up_weights: \result == PHIBAL_OK ==>
      up_weights_held(g.w_up.value, k, n, shape.rows, activation, x, w_down, a, y_gradient,
                      shape.width, shape.hidden);
    ensures down_weights: \result == PHIBAL_OK ==>
      down_weights_held(g.w_down.value, k, shape.rows, h, y_gradient, shape.width, shape.hidden);
    ensures down_conditions: \result == PHIBAL_OK && g.w_down.value != \null ==>
      down_conditions_held(g.w_down.condition, k, shape.rows, h, y_gradient, shape.width,
                           shape.hidden);
    ensures input_conditions: \result == PHIBAL_OK && g.x.value != \null ==>
      input_conditions_held(g.x.condition, m, n, activation, w_gate, w_up, w_down, a, b, y_gradient,
                            shape.width, shape.hidden);
    ensures gate_weight_conditions: \result == PHIBAL_OK && g.w_gate.value != \null ==>
      gate_weight_conditions_held(g.w_gate.condition, k, n, shape.rows, activation, x, w_down, a, b,
                                  y_gradient, shape.width, shape.hidden);
    ensures up_weight_conditions: \result == PHIBAL_OK && g.w_up.value != \null ==>
      up_weight_conditions_held(g.w_up.condition, k, n, shape.rows, activation, x, w_down, a,
                                y_gradient, shape.width, shape.hidden); */
static phibal_status
ffn_backward_counted(const char *name, ffn_shape shape, int64_t n, phibal_activation activation,
                     const float *x, const float *w_gate, const float *w_up, const float *w_down,
                     const float *a, const float *b, const float *h, const float *y_gradient,
                     mpfr_prec_t precision, phibal_reference_ffn_gradients g)
/*@ ghost (int64_t m, int64_t k) */;

/*@ terminates \true;
    exits \false;
    ensures conditions: \result == PHIBAL_OK ==>
      gradient_conditions_held(\old(*gradients), rows, ffn->width, ffn->hidden, ffn->activation, x,
                               w_gate, w_up, w_down, a, b, y_gradient); */
phibal_status phibal_reference_ffn_backward(const phibal_ffn *ffn, int64_t rows, const float *x,
                                            const float *w_gate, const float *w_up,
                                            const float *w_down, const float *a, const float *b,
                                            const float *h, const float *y_gradient,
                                            mpfr_prec_t precision,
                                            const phibal_reference_ffn_gradients *gradients);

#endif
