/* What the static functions of reference/router_gradient.c promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_ROUTER_GRADIENT_STATIC_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_ROUTER_GRADIENT_STATIC_H

/*@ requires \valid_read(t) && \valid_read(router) && 0 <= t->active;
    requires experts != \null ==> \valid_read(experts + (0 .. t->active - 1));
    requires gate_gradient != \null ==> \valid_read(gate_gradient + (0 .. t->active - 1));
    requires price != \null ==> \valid_read(price + (0 .. t->experts - 1));
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == PHIBAL_OK ==> experts != \null &&
      selected_experts(experts, t->active, t->experts);
    ensures \result == PHIBAL_OK && gate_gradient != \null ==>
      finite_floats(gate_gradient, t->active);
    ensures \result == PHIBAL_OK && price != \null ==> finite_floats(price, t->experts);
    ensures \result == PHIBAL_OK ==> \is_finite(price_scale) && \is_finite(z_scale);
    ensures \result == PHIBAL_OK && router->gate == PHIBAL_GATE_SIGMOID ==>
      (real)z_scale == 0.0; */
static phibal_status gradient_check(const phibal_reference_token *t, const phibal_router *router,
                                    const int32_t *experts, const float *gate_gradient,
                                    const float *price, double price_scale, double z_scale);

/*@ requires token_ready(t) && \valid_read(router) && \is_finite(router->scale);
    requires \valid_read(logits + (0 .. t->experts - 1)) && finite_floats(logits, t->experts);
    requires selected_experts(experts, t->active, t->experts);
    requires \valid_read(gate_gradient + (0 .. t->active - 1)) &&
             finite_floats(gate_gradient, t->active);
    terminates \true;
    exits \false;
    assigns t->gradient[0 .. t->experts - 1], t->condition[0 .. t->experts - 1], t->mean,
            t->magnitude, t->term, t->factor, t->total;
    ensures same: token_same{Pre, Here}(t);
    ensures ready: token_ready(t);
    ensures frame: only_token_written{Pre, Here}(t);
    ensures value: \result == PHIBAL_OK ==> \forall sequence g, integer e;
      members{Pre}(t->part, t->active, g) && 0 <= e < t->experts ==>
        gained{Pre, Here}(t->gradient + e, gates_gradient(router->gate, logits, experts, t->active,
          g, gate_gradient, (real)router->scale, e));
    ensures terms: \result == PHIBAL_OK ==> \forall sequence g, integer e;
      members{Pre}(t->part, t->active, g) && 0 <= e < t->experts ==>
        gained{Pre, Here}(t->condition + e, gates_gradient_size(router->gate, logits, experts,
          t->active, g, gate_gradient, (real)router->scale, e)); */
static phibal_status gradient_add_normalised(phibal_reference_token *t, const phibal_router *router,
                                             const float *logits, const int32_t *experts,
                                             const float *gate_gradient);

/*@ requires token_ready(t) && \valid_read(router) && \is_finite(router->scale);
    requires \valid_read(logits + (0 .. t->experts - 1)) && finite_floats(logits, t->experts);
    requires selected_experts(experts, t->active, t->experts);
    requires \valid_read(gate_gradient + (0 .. t->active - 1)) &&
             finite_floats(gate_gradient, t->active);
    terminates \true;
    exits \false;
    assigns t->gradient[0 .. t->experts - 1], t->condition[0 .. t->experts - 1],
            t->part[0 .. t->active - 1], t->mean, t->magnitude, t->term, t->factor, t->total;
    ensures same: token_same{Pre, Here}(t);
    ensures ready: token_ready(t);
    ensures frame: only_token_written{Pre, Here}(t);
    ensures value: \result == PHIBAL_OK && probabilities_held{Pre}(t, router->gate, logits) &&
      weights_held{Pre}(t, router->gate, logits) ==> \forall sequence p, q, g, integer e;
        probabilities_are(p, router->gate, logits, t->experts) &&
        selected_are(q, router->gate, logits, t->experts, experts, t->active) &&
        gates_are(g, router->gate, logits, experts, t->active) && 0 <= e < t->experts ==>
          gained{Pre, Here}(t->gradient + e, gate_term(router->gate, logits, t->experts, experts,
            t->active, p, q, g, gate_gradient, (real)router->scale, e));
    ensures terms: \result == PHIBAL_OK && probabilities_held{Pre}(t, router->gate, logits) &&
      weights_held{Pre}(t, router->gate, logits) ==> \forall sequence p, q, g, integer e;
        probabilities_are(p, router->gate, logits, t->experts) &&
        selected_are(q, router->gate, logits, t->experts, experts, t->active) &&
        gates_are(g, router->gate, logits, experts, t->active) && 0 <= e < t->experts ==>
          gained{Pre, Here}(t->condition + e, gate_size(router->gate, logits, t->experts, experts,
            t->active, p, q, g, gate_gradient, (real)router->scale, e)); */
static phibal_status gradient_add_gates(phibal_reference_token *t, const phibal_router *router,
                                        const float *logits, const int32_t *experts,
                                        const float *gate_gradient);

/*@ requires 0 <= n && vector_output(gradient, n) && vector_output(condition, n);
    requires vectors_apart(gradient, n, condition, n);
    terminates \true;
    exits \false;
    assigns gradient[0 .. n - 1], condition[0 .. n - 1];
    ensures vector_output(gradient, n) && vector_output(condition, n);
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) &&
      vector_apart(r, gradient, n) && vector_apart(r, condition, n) ==> same{Pre, Here}(r);
    ensures \forall integer e; 0 <= e < n ==> in(gradient + e, 0.0) && in(condition + e, 0.0); */
static void gradient_clear(int32_t n, phibal_enclosure *gradient, phibal_enclosure *condition);

/*@ requires token_ready(t);
    terminates \true;
    exits \false;
    assigns t->gradient[0 .. t->experts - 1], t->condition[0 .. t->experts - 1];
    ensures same: token_same{Pre, Here}(t);
    ensures scratch: token_scratch(t);
    ensures vectors: token_vectors(t);
    ensures frame: only_token_written{Pre, Here}(t);
    ensures kept: inputs_kept{Pre, Here}(t);
    ensures \forall integer e; 0 <= e < t->experts ==>
      in(t->gradient + e, 0.0) && in(t->condition + e, 0.0); */
static void token_clear_gradient(phibal_reference_token *t);

/*@ requires token_ready(t) && \valid_read(router) && \is_finite(scale);
    requires \valid_read(logits + (0 .. t->experts - 1)) && finite_floats(logits, t->experts);
    requires price != \null ==>
      \valid_read(price + (0 .. t->experts - 1)) && finite_floats(price, t->experts);
    terminates \true;
    exits \false;
    assigns t->gradient[0 .. t->experts - 1], t->condition[0 .. t->experts - 1], t->mean,
            t->magnitude, t->term, t->factor, t->total;
    ensures same: token_same{Pre, Here}(t);
    ensures scratch: token_scratch(t);
    ensures vectors: token_vectors(t);
    ensures frame: only_token_written{Pre, Here}(t);
    ensures kept: inputs_kept{Pre, Here}(t);
    ensures value: \result == PHIBAL_OK ==> \forall sequence p, integer e;
      members{Pre}(t->probability, t->experts, p) && 0 <= e < t->experts ==>
        gained{Pre, Here}(t->gradient + e, price_term(router->gate, logits, t->experts, p, price,
                                                      (real)scale, e));
    ensures terms: \result == PHIBAL_OK ==> \forall sequence p, integer e;
      members{Pre}(t->probability, t->experts, p) && 0 <= e < t->experts ==>
        gained{Pre, Here}(t->condition + e, price_size(router->gate, logits, t->experts, p, price,
                                                       (real)scale, e)); */
static phibal_status token_add_price(phibal_reference_token *t, const phibal_router *router,
                                     const float *logits, const float *price, double scale);

#endif
