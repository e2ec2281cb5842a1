/* The logic of the router's gradient: SPEC.md's (G1), (G2), (L2) and the gradient of (L5), for one
   token. ACSL only. Weights, which are probabilities or gates, are sequences; logits, prices and the
   gates' gradient are arrays of binary32 numbers. Where `experts` is null, slot i is expert i.

   Each value comes with its condition, the sum of the absolute values of its terms. */
#ifndef PHIBAL_ACSL_ROUTER_GRADIENT_H
#define PHIBAL_ACSL_ROUTER_GRADIENT_H

#include <phibal/acsl/router.h>

/*@ logic integer slot_expert{L}(int32_t *experts, integer i) =
      experts == \null ? i : experts[i];
    // sum_i w_i x_i, and with the absolute values of x
    logic real weighted_mean{L}(sequence w, float *x, integer n) =
      n <= 0 ? 0.0 : weighted_mean(w, x, n - 1) + term(w, n - 1) * (real)x[n - 1];
    logic real weighted_magnitude{L}(sequence w, float *x, integer n) =
      n <= 0 ? 0.0 : weighted_magnitude(w, x, n - 1) + term(w, n - 1) * \abs((real)x[n - 1]);

    // scale w, for sigmoid times 1 - sigma(x) = sigma(-x): in front of (x - mean)
    logic real gate_slope(integer gate, real scale, real w, real logit) =
      gate == PHIBAL_GATE_SIGMOID ? (scale * w) * logistic(-logit) : scale * w;
    logic real centred_term(real slope, real x, real mean) = slope * (x - mean);
    logic real centred_magnitude(real slope, real x, real magnitude) =
      \abs(slope) * (\abs(x) + magnitude);
    // of the slots before i, what those with expert e give: (L2) for experts null, (G1) for
    // normalised gates
    logic real centred_gain{L}(integer gate, float *logits, int32_t *experts, sequence w, float *x,
                               real scale, real mean, integer i, integer e) =
      i <= 0 ? 0.0
             : centred_gain(gate, logits, experts, w, x, scale, mean, i - 1, e) +
                 (slot_expert(experts, i - 1) == e
                    ? centred_term(gate_slope(gate, scale, term(w, i - 1), (real)logits[e]),
                                   (real)x[i - 1], mean)
                    : 0.0);
    logic real centred_gain_magnitude{L}(integer gate, float *logits, int32_t *experts, sequence w,
                                         float *x, real scale, real magnitude, integer i,
                                         integer e) =
      i <= 0 ? 0.0
             : centred_gain_magnitude(gate, logits, experts, w, x, scale, magnitude, i - 1, e) +
                 (slot_expert(experts, i - 1) == e
                    ? centred_magnitude(gate_slope(gate, scale, term(w, i - 1), (real)logits[e]),
                                        (real)x[i - 1], magnitude)
                    : 0.0);
    // of the slots before i, what those with expert e give through gates that are probabilities:
    // `factor` is scale p_e
    logic real selected_gain{L}(int32_t *experts, real factor, float *x, integer i, integer e) =
      i <= 0 ? 0.0 : selected_gain(experts, factor, x, i - 1, e) +
                       (experts[i - 1] == e ? factor * (real)x[i - 1] : 0.0);
    logic real selected_gain_magnitude{L}(int32_t *experts, real factor, float *x, integer i,
                                          integer e) =
      i <= 0 ? 0.0 : selected_gain_magnitude(experts, factor, x, i - 1, e) +
                       (experts[i - 1] == e ? \abs(factor) * \abs((real)x[i - 1]) : 0.0);

    // sequences of the probabilities (R1), (R1s); of those of the selected; of normalised gates (R3),
    // (R5)
    predicate probabilities_are{L}(sequence p, integer gate, float *logits, integer n) =
      \forall integer i; 0 <= i < n ==> term(p, i) == probability(gate, logits, n, i);
    predicate selected_are{L}(sequence p, integer gate, float *logits, integer n, int32_t *experts,
                              integer k) =
      \forall integer s; 0 <= s < k ==> term(p, s) == probability(gate, logits, n, experts[s]);
    predicate gates_are{L}(sequence g, integer gate, float *logits, int32_t *experts, integer k) =
      \forall integer s; 0 <= s < k ==> term(g, s) == normalised_gate(gate, logits, experts, k, s);
    // (L2), the gradient of (L5), (G1) with probabilities q of the selected, (G1) with gates g
    logic real price_gradient{L}(integer gate, float *logits, integer n, sequence p, float *price,
                                 real scale, integer e) =
      centred_gain(gate, logits, \null, p, price, scale, weighted_mean(p, price, n), n, e);
    logic real z_gradient(real p, real logsumexp, real scale) =
      (scale * logsumexp) * p;
    logic real plain_gradient{L}(int32_t *experts, integer k, real p, sequence q, float *x,
                                 real scale, integer e) =
      (-scale * p) * weighted_mean(q, x, k) + selected_gain(experts, scale * p, x, k, e);
    logic real gates_gradient{L}(integer gate, float *logits, int32_t *experts, integer k,
                                 sequence g, float *x, real scale, integer e) =
      centred_gain(gate, logits, experts, g, x, scale, weighted_mean(g, x, k), k, e);
    // (G1) of expert e, and (G2): the three terms, each left out where nothing asks for it
    logic real gate_term{L}(integer gate, float *logits, integer n, int32_t *experts, integer k,
                            sequence p, sequence q, sequence g, float *gate_gradient, real scale,
                            integer e) =
      gate_gradient == \null ? 0.0
      : gate == PHIBAL_GATE_PROBABILITY || (gate == PHIBAL_GATE_TOPK_SOFTMAX && k == 1)
        ? plain_gradient(experts, k, term(p, e), q, gate_gradient, scale, e)
        : gates_gradient(gate, logits, experts, k, g, gate_gradient, scale, e);
    logic real price_term{L}(integer gate, float *logits, integer n, sequence p, float *price,
                             real scale, integer e) =
      price == \null ? 0.0 : price_gradient(gate, logits, n, p, price, scale, e);
    logic real z_term{L}(float *logits, integer n, sequence p, real scale, integer e) =
      scale == 0.0 ? 0.0 : z_gradient(term(p, e), logsumexp(logits, n), scale);
*/

#endif
