/* The conditions of the gated FFN's chain: (E2) with absolute values, to first order. ACSL only; after
   ffn.h. */
#ifndef PHIBAL_ACSL_FFN_CONDITIONS_H
#define PHIBAL_ACSL_FFN_CONDITIONS_H

/* At least sup |act'|, in 64ths: it is 1.0998 for SiLU (at 2.40), 1.1290 for GELU's tanh form (at
   1.42). */
#define ACTIVATION_LIPSCHITZ 73

/*@ // |a|, as a term to match on
    axiomatic AbsoluteValue {
      logic real absolute(real a);
    }
    axiomatic AbsoluteValueDefinition {
      predicate open_absolute;
      axiom absolute_opened: open_absolute;
      axiom absolute_is: \forall real a; absolute(a) == \abs(a);
    }
    // sum_l s_(from + l p) |w_(l q)|
    logic real chain_magnitude{L}(sequence s, integer from, integer p, float *w, integer q,
                                  integer n) =
      n <= 0 ? 0.0 :
      chain_magnitude(s, from, p, w, q, n - 1) +
        term(s, from + place(n - 1, p)) * absolute((real)w[place(n - 1, q)]);
    // element k of X |W|, X the terms of s with strides p, p_in, W with q_in, q
    logic real chain_magnitude_at{L}(sequence s, integer p, integer p_in, float *w, integer q_in,
                                     integer q, integer inner, integer columns, integer k) =
      chain_magnitude(s, place(k / columns, p), p_in, w + place(k % columns, q), q_in, inner);
    // z[0..n-1] hold the first n elements of it
    predicate chain_magnitudes_held{L}(phibal_enclosure *z, integer n, integer columns,
                                       integer inner, sequence s, integer p, integer p_in,
                                       float *w, integer q_in, integer q) =
      \forall integer k; 0 <= k < n ==>
        in(z + k, chain_magnitude_at(s, p, p_in, w, q_in, q, inner, columns, k));

    // L u, where u is a condition
    axiomatic Lipschitz {
      logic real lipschitz(real u);
    }
    axiomatic LipschitzDefinition {
      predicate open_lipschitz;
      axiom lipschitz_opened: open_lipschitz;
      axiom lipschitz_is: \forall real u; lipschitz(u) == ACTIVATION_LIPSCHITZ * u / 64.0;
    }
    // the condition of p b, p = act(a), from those of a, u, and of b, v
    axiomatic ProductCondition {
      logic real product_condition(real p, real u, real b, real v);
    }
    axiomatic ProductConditionDefinition {
      predicate open_product_condition;
      axiom product_condition_opened: open_product_condition;
      axiom product_condition_is: \forall real p, u, b, v;
        product_condition(p, u, b, v) == \abs(b) * lipschitz(u) + \abs(p) * v;
    }
    logic real gate_condition(integer kind, real a, real u, real b, real v) =
      product_condition(activation_value(kind, a), u, b, v);
    // element k of |x| |W|^T, and the condition of element k of h
    logic real projected_magnitude{L}(float *x, float *w, integer d, integer f, integer k) =
      strided_magnitude(x + place(k / f, d), 1, w + place(k % f, d), 1, d);
    logic real hidden_condition{L}(integer kind, float *x, float *w_gate, float *w_up, integer d,
                                   integer f, integer k) =
      gate_condition(kind, projected(x, w_gate, d, f, k), projected_magnitude(x, w_gate, d, f, k),
                     projected(x, w_up, d, f, k), projected_magnitude(x, w_up, d, f, k));
    predicate hidden_conditions_held{L}(phibal_enclosure *z, integer n, integer kind, float *x,
                                        float *w_gate, float *w_up, integer d, integer f) =
      \forall integer k; 0 <= k < n ==>
        in(z + k, hidden_condition(kind, x, w_gate, w_up, d, f, k));
    // s is they
    predicate hidden_conditions_are{L}(sequence s, integer n, integer kind, float *x,
                                       float *w_gate, float *w_up, integer d, integer f) =
      \forall integer k; 0 <= k < n ==>
        term(s, k) == hidden_condition(kind, x, w_gate, w_up, d, f, k);
*/

#endif
