/* The conditions of the gated FFN's gradients: (E3) with absolute values, to first order, and for
   act' its own condition. ACSL only; after ffn_conditions.h. */
#ifndef PHIBAL_ACSL_FFN_BACKWARD_CONDITIONS_H
#define PHIBAL_ACSL_FFN_BACKWARD_CONDITIONS_H

/*@ // element k of |y'| |W_down|, and the conditions of elements k of a' and b'
    logic real hidden_gradient_magnitude{L}(float *y, float *w_down, integer d, integer f,
                                            integer k) =
      strided_magnitude(y + place(k / f, d), 1, w_down + place(k % f, 1), f, d);
    logic real gate_gradient_condition{L}(integer kind, float *y, float *w_down, float *a, float *b,
                                          integer d, integer f, integer k) =
      hidden_gradient_magnitude(y, w_down, d, f, k) *
        (activation_condition(kind, (real)a[k]) * absolute((real)b[k]));
    logic real up_gradient_condition{L}(integer kind, float *y, float *w_down, float *a, integer d,
                                        integer f, integer k) =
      hidden_gradient_magnitude(y, w_down, d, f, k) *
        absolute(activation_value(kind, (real)a[k]));
    predicate gate_conditions_held{L}(phibal_enclosure *z, integer n, integer kind, float *y,
                                      float *w_down, float *a, float *b, integer d, integer f) =
      \forall integer k; 0 <= k < n ==>
        in(z + k, gate_gradient_condition(kind, y, w_down, a, b, d, f, k));
    predicate up_conditions_held{L}(phibal_enclosure *z, integer n, integer kind, float *y,
                                    float *w_down, float *a, integer d, integer f) =
      \forall integer k; 0 <= k < n ==>
        in(z + k, up_gradient_condition(kind, y, w_down, a, d, f, k));
    // s is they
    predicate gate_conditions_are{L}(sequence s, integer n, integer kind, float *y, float *w_down,
                                     float *a, float *b, integer d, integer f) =
      \forall integer k; 0 <= k < n ==>
        term(s, k) == gate_gradient_condition(kind, y, w_down, a, b, d, f, k);
    predicate up_conditions_are{L}(sequence s, integer n, integer kind, float *y, float *w_down,
                                   float *a, integer d, integer f) =
      \forall integer k; 0 <= k < n ==>
        term(s, k) == up_gradient_condition(kind, y, w_down, a, d, f, k);
    // the conditions of x', W_gate' and W_up', where they are wanted, from those of a' and b'
    predicate input_conditions_held{L}(phibal_enclosure *z, integer m, integer n, integer kind,
                                       float *w_gate, float *w_up, float *w_down, float *a,
                                       float *b, float *y, integer d, integer f) =
      z != \null ==> \forall sequence p, q, integer i;
        gate_conditions_are(p, n, kind, y, w_down, a, b, d, f) &&
        up_conditions_are(q, n, kind, y, w_down, a, d, f) && 0 <= i < m ==>
          in(z + i, chain_magnitude_at(p, f, 1, w_gate, d, 1, f, d, i) +
                      chain_magnitude_at(q, f, 1, w_up, d, 1, f, d, i));
    predicate gate_weight_conditions_held{L}(phibal_enclosure *z, integer k, integer n,
                                             integer rows, integer kind, float *x, float *w_down,
                                             float *a, float *b, float *y, integer d, integer f) =
      z != \null ==> \forall sequence p;
        gate_conditions_are(p, n, kind, y, w_down, a, b, d, f) ==>
          chain_magnitudes_held(z, k, d, rows, p, 1, f, x, d, 1);
    predicate up_weight_conditions_held{L}(phibal_enclosure *z, integer k, integer n, integer rows,
                                           integer kind, float *x, float *w_down, float *a,
                                           float *y, integer d, integer f) =
      z != \null ==> \forall sequence q; up_conditions_are(q, n, kind, y, w_down, a, d, f) ==>
        chain_magnitudes_held(z, k, d, rows, q, 1, f, x, d, 1);
    // the conditions of all gradients but h' and W_down', whose are in ffn_gradients_held
    predicate gradient_conditions_held{L}(phibal_reference_ffn_gradients g, integer rows, integer d,
                                          integer f, integer kind, float *x, float *w_gate,
                                          float *w_up, float *w_down, float *a, float *b,
                                          float *y) =
      (g.a.condition != \null ==>
        gate_conditions_held(g.a.condition, place(rows, f), kind, y, w_down, a, b, d, f)) &&
      (g.b.condition != \null ==>
        up_conditions_held(g.b.condition, place(rows, f), kind, y, w_down, a, d, f)) &&
      (g.x.value != \null ==>
        input_conditions_held(g.x.condition, place(rows, d), place(rows, f), kind, w_gate, w_up,
                              w_down, a, b, y, d, f)) &&
      (g.w_gate.value != \null ==>
        gate_weight_conditions_held(g.w_gate.condition, place(f, d), place(rows, f), rows, kind, x,
                                    w_down, a, b, y, d, f)) &&
      (g.w_up.value != \null ==>
        up_weight_conditions_held(g.w_up.condition, place(f, d), place(rows, f), rows, kind, x,
                                  w_down, a, y, d, f));
*/

#endif
