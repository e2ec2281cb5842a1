/* What the static functions of reference/router_gradient_slots.c promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_ROUTER_GRADIENT_SLOTS_STATIC_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_ROUTER_GRADIENT_SLOTS_STATIC_H

/*@ requires token_scratch(t) && input(weight) && \separated(weight, t) && \is_finite(x);
    terminates \true;
    exits \false;
    assigns t->mean, t->magnitude, t->term, t->factor;
    ensures scratch: token_scratch(t);
    ensures frame: only_mean_written{Pre, Here}(t);
    ensures mean: \result == PHIBAL_OK ==> \forall real a, w;
      in{Pre}(&t->mean, a) && in{Pre}(weight, w) ==> in(&t->mean, a + w * (real)x);
    ensures magnitude: \result == PHIBAL_OK ==> \forall real a, w;
      in{Pre}(&t->magnitude, a) && in{Pre}(weight, w) ==>
        in(&t->magnitude, a + w * \abs((real)x)); */
static phibal_status gradient_add_mean(phibal_reference_token *t, const phibal_enclosure *weight,
                                       float x);

/*@ requires token_scratch(t) && \valid_read(router) && input(weight) && \separated(weight, t);
    requires \is_finite(scale) && \is_finite(logit);
    terminates \true;
    exits \false;
    assigns t->factor, t->term, t->total;
    ensures enclosure(&t->factor) && enclosure(&t->term) && enclosure(&t->total);
    ensures only_three_written{Pre, Here}(&t->factor, &t->term, &t->total);
    ensures \result == PHIBAL_OK ==> \forall real w; in{Pre}(weight, w) ==>
      in(&t->factor, gate_slope(router->gate, (real)scale, w, (real)logit)); */
static phibal_status gradient_factor(phibal_reference_token *t, const phibal_router *router,
                                     const phibal_enclosure *weight, double scale, float logit);

/*@ requires token_scratch(t) && \valid_read(router) && input(weight) && \separated(weight, t);
    requires output(gradient) && output(condition);
    requires \separated(t, gradient) && \separated(t, condition) && \separated(gradient, condition);
    requires \separated(weight, gradient) && \separated(weight, condition);
    requires \is_finite(x) && \is_finite(scale) && \is_finite(logit);
    terminates \true;
    exits \false;
    assigns *gradient, *condition, t->factor, t->term, t->total;
    ensures outputs: enclosure(&t->factor) && enclosure(&t->term) && enclosure(&t->total) &&
      enclosure(gradient) && enclosure(condition);
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && \separated(r, gradient) &&
      \separated(r, condition) && \separated(r, &t->factor) && \separated(r, &t->term) &&
      \separated(r, &t->total) ==> same{Pre, Here}(r);
    ensures value: \result == PHIBAL_OK ==> \forall real g, w, b;
      in{Pre}(gradient, g) && in{Pre}(weight, w) && in{Pre}(&t->mean, b) ==>
        in(gradient,
           g + centred_term(gate_slope(router->gate, (real)scale, w, (real)logit), (real)x, b));
    ensures terms: \result == PHIBAL_OK ==> \forall real c, w, b;
      in{Pre}(condition, c) && in{Pre}(weight, w) && in{Pre}(&t->magnitude, b) ==>
        in(condition, c + centred_magnitude(gate_slope(router->gate, (real)scale, w, (real)logit),
                                            (real)x, b)); */
static phibal_status gradient_add_slot(phibal_reference_token *t, const phibal_router *router,
                                       const phibal_enclosure *weight, float x, double scale,
                                       float logit, phibal_enclosure *gradient,
                                       phibal_enclosure *condition);

#endif
