/* The condition of the router's gradient: (G2) with the absolute values of its terms. ACSL only. */
#ifndef PHIBAL_ACSL_ROUTER_GRADIENT_CONDITION_H
#define PHIBAL_ACSL_ROUTER_GRADIENT_CONDITION_H

#include <phibal/acsl/router_gradient.h>

/*@ // of (L2), of (G1) with gates that are probabilities, of (G1) with normalised gates
    logic real price_gradient_size{L}(integer gate, float *logits, integer n, sequence p,
                                      float *price, real scale, integer e) =
      centred_gain_magnitude(gate, logits, \null, p, price, scale,
                             weighted_magnitude(p, price, n), n, e);
    logic real plain_gradient_size{L}(int32_t *experts, integer k, real p, sequence q, float *x,
                                      real scale, integer e) =
      \abs(-scale * p) * weighted_magnitude(q, x, k) +
        selected_gain_magnitude(experts, scale * p, x, k, e);
    logic real gates_gradient_size{L}(integer gate, float *logits, int32_t *experts, integer k,
                                      sequence g, float *x, real scale, integer e) =
      centred_gain_magnitude(gate, logits, experts, g, x, scale, weighted_magnitude(g, x, k), k, e);
    // of the gradient of (L5); logsumexp counts as log sum exp(x - max x) + |max x|, which is what
    // its two parts are before they cancel
    logic real logsumexp_size{L}(float *x, integer n) =
      (logsumexp(x, n) - largest_logit(x, n)) + \abs(largest_logit(x, n));
    logic real z_gradient_size(real p, real size, real scale) = \abs(scale * size) * p;
    // of the three terms of (G2), each left out where nothing asks for it
    logic real gate_size{L}(integer gate, float *logits, integer n, int32_t *experts, integer k,
                            sequence p, sequence q, sequence g, float *gate_gradient, real scale,
                            integer e) =
      gate_gradient == \null ? 0.0
      : gate == PHIBAL_GATE_PROBABILITY || (gate == PHIBAL_GATE_TOPK_SOFTMAX && k == 1)
        ? plain_gradient_size(experts, k, term(p, e), q, gate_gradient, scale, e)
        : gates_gradient_size(gate, logits, experts, k, g, gate_gradient, scale, e);
    logic real price_size{L}(integer gate, float *logits, integer n, sequence p, float *price,
                             real scale, integer e) =
      price == \null ? 0.0 : price_gradient_size(gate, logits, n, p, price, scale, e);
    logic real z_size{L}(float *logits, integer n, sequence p, real scale, integer e) =
      scale == 0.0 ? 0.0 : z_gradient_size(term(p, e), logsumexp_size(logits, n), scale);
*/

#endif
