/* What the static functions of reference/router_gradient_probability.c promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_ROUTER_GRADIENT_PROBABILITY_STATIC_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_ROUTER_GRADIENT_PROBABILITY_STATIC_H

/*@ requires token_scratch(t) && input(probability) && \separated(probability, t);
    requires output(gradient) && output(condition) && \is_finite(scale);
    requires \separated(t, gradient) && \separated(t, condition) && \separated(gradient, condition);
    requires \separated(probability, gradient) && \separated(probability, condition);
    terminates \true;
    exits \false;
    assigns *gradient, *condition, t->term, t->factor;
    ensures outputs: enclosure(&t->term) && enclosure(&t->factor) && enclosure(gradient) &&
      enclosure(condition);
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && \separated(r, gradient) &&
      \separated(r, condition) && \separated(r, &t->factor) && \separated(r, &t->term) ==>
        same{Pre, Here}(r);
    ensures value: \result == PHIBAL_OK ==> \forall real g, a, p;
      in{Pre}(gradient, g) && in{Pre}(&t->mean, a) && in{Pre}(probability, p) ==>
        in(gradient, g + (-(real)scale * p) * a);
    ensures terms: \result == PHIBAL_OK ==> \forall real c, a, p;
      in{Pre}(condition, c) && in{Pre}(&t->magnitude, a) && in{Pre}(probability, p) ==>
        in(condition, c + \abs(-(real)scale * p) * a); */
static phibal_status gradient_subtract_term(phibal_reference_token *t, float scale,
                                            const phibal_enclosure *probability,
                                            phibal_enclosure *gradient,
                                            phibal_enclosure *condition);

/*@ requires token_scratch(t) && \is_finite(scale);
    requires gradient_places(t, gradient, condition);
    requires \forall integer e; 0 <= e < t->experts ==>
      weight_input(t, gradient, condition, probability + e);
    terminates \true;
    exits \false;
    assigns gradient[0 .. t->experts - 1], condition[0 .. t->experts - 1], t->term, t->factor;
    ensures token_scratch(t) && gradient_places(t, gradient, condition);
    ensures only_gradient_written{Pre, Here}(t, gradient, condition);
    ensures kept: same{Pre, Here}(&t->logsumexp) && same{Pre, Here}(&t->logsumexp_terms);
    ensures value: \result == PHIBAL_OK ==> \forall real p, a, integer e; 0 <= e < t->experts &&
      in{Pre}(probability + e, p) && in{Pre}(&t->mean, a) ==>
      gained{Pre, Here}(gradient + e, (-(real)scale * p) * a);
    ensures terms: \result == PHIBAL_OK ==> \forall real p, a, integer e; 0 <= e < t->experts &&
      in{Pre}(probability + e, p) && in{Pre}(&t->magnitude, a) ==>
      gained{Pre, Here}(condition + e, \abs(-(real)scale * p) * a); */
static phibal_status gradient_subtract_mean(phibal_reference_token *t, float scale,
                                            const phibal_enclosure *probability,
                                            phibal_enclosure *gradient,
                                            phibal_enclosure *condition);

/*@ requires token_scratch(t) && input(probability) && \separated(probability, t);
    requires output(gradient) && output(condition) && \is_finite(x) && \is_finite(scale);
    requires \separated(t, gradient) && \separated(t, condition) && \separated(gradient, condition);
    requires \separated(probability, gradient) && \separated(probability, condition);
    terminates \true;
    exits \false;
    assigns *gradient, *condition, t->term, t->factor, t->total;
    ensures outputs: enclosure(&t->factor) && enclosure(&t->term) && enclosure(&t->total) &&
      enclosure(gradient) && enclosure(condition);
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) && \separated(r, gradient) &&
      \separated(r, condition) && \separated(r, &t->factor) && \separated(r, &t->term) &&
      \separated(r, &t->total) ==> same{Pre, Here}(r);
    ensures value: \result == PHIBAL_OK ==> \forall real g, p;
      in{Pre}(gradient, g) && in{Pre}(probability, p) ==>
        in(gradient, g + ((real)scale * p) * (real)x);
    ensures terms: \result == PHIBAL_OK ==> \forall real c, p;
      in{Pre}(condition, c) && in{Pre}(probability, p) ==>
        in(condition, c + \abs((real)scale * p) * \abs((real)x)); */
static phibal_status gradient_add_term(phibal_reference_token *t, float scale,
                                       const phibal_enclosure *probability, float x,
                                       phibal_enclosure *gradient, phibal_enclosure *condition);

/*@ requires token_scratch(t) && \is_finite(scale) && 0 <= n;
    requires selected_experts(experts, n, t->experts);
    requires gradient_places(t, gradient, condition);
    requires \forall integer e; 0 <= e < t->experts ==>
      weight_input(t, gradient, condition, probability + e);
    requires \valid_read(x + (0 .. n - 1)) && finite_floats(x, n);
    terminates \true;
    exits \false;
    assigns gradient[0 .. t->experts - 1], condition[0 .. t->experts - 1], t->term, t->factor,
            t->total;
    ensures token_scratch(t) && gradient_places(t, gradient, condition);
    ensures only_gradient_written{Pre, Here}(t, gradient, condition);
    ensures kept: same{Pre, Here}(&t->logsumexp) && same{Pre, Here}(&t->logsumexp_terms);
    ensures value: \result == PHIBAL_OK ==> \forall real p, integer e; 0 <= e < t->experts &&
      in{Pre}(probability + e, p) ==> gained{Pre, Here}(gradient + e,
        selected_gain{Pre}(experts, (real)scale * p, x, n, e));
    ensures terms: \result == PHIBAL_OK ==> \forall real p, integer e; 0 <= e < t->experts &&
      in{Pre}(probability + e, p) ==> gained{Pre, Here}(condition + e,
        selected_gain_magnitude{Pre}(experts, (real)scale * p, x, n, e)); */
static phibal_status gradient_add_selected(phibal_reference_token *t, float scale, int32_t n,
                                           const int32_t *experts,
                                           const phibal_enclosure *probability, const float *x,
                                           phibal_enclosure *gradient,
                                           phibal_enclosure *condition);

/*@ requires token_ready(t) && selected_experts(experts, t->active, t->experts);
    requires \valid_read(x + (0 .. t->active - 1)) && finite_floats(x, t->active);
    terminates \true;
    exits \false;
    assigns t->mean, t->magnitude, t->term, t->factor;
    ensures same: token_same{Pre, Here}(t);
    ensures ready: token_ready(t);
    ensures frame: only_token_written{Pre, Here}(t);
    ensures probabilities: vector_same{Pre, Here}(t->probability, t->experts);
    ensures gradients: vector_same{Pre, Here}(t->gradient, t->experts);
    ensures conditions: vector_same{Pre, Here}(t->condition, t->experts);
    ensures mean: \result == PHIBAL_OK ==> \forall sequence q;
      (\forall integer s; 0 <= s < t->active ==>
         in{Pre}(t->probability + experts[s], term(q, s))) ==>
      in(&t->mean, weighted_mean(q, x, t->active));
    ensures magnitude: \result == PHIBAL_OK ==> \forall sequence q;
      (\forall integer s; 0 <= s < t->active ==>
         in{Pre}(t->probability + experts[s], term(q, s))) ==>
      in(&t->magnitude, weighted_magnitude(q, x, t->active)); */
static phibal_status token_mean(phibal_reference_token *t, const int32_t *experts, const float *x);

/*@ requires token_ready(t) && \is_finite(scale);
    terminates \true;
    exits \false;
    assigns t->gradient[0 .. t->experts - 1], t->condition[0 .. t->experts - 1], t->term, t->factor;
    ensures same: token_same{Pre, Here}(t);
    ensures ready: token_ready(t);
    ensures frame: only_token_written{Pre, Here}(t);
    ensures probabilities: vector_same{Pre, Here}(t->probability, t->experts);
    ensures value: \result == PHIBAL_OK ==> \forall real p, a, integer e;
      0 <= e < t->experts && in{Pre}(t->probability + e, p) && in{Pre}(&t->mean, a) ==>
      gained{Pre, Here}(t->gradient + e, (-(real)scale * p) * a);
    ensures terms: \result == PHIBAL_OK ==> \forall real p, a, integer e;
      0 <= e < t->experts && in{Pre}(t->probability + e, p) && in{Pre}(&t->magnitude, a) ==>
      gained{Pre, Here}(t->condition + e, \abs(-(real)scale * p) * a); */
static phibal_status token_subtract_mean(phibal_reference_token *t, float scale);

/*@ requires token_ready(t) && selected_experts(experts, t->active, t->experts);
    requires \is_finite(scale);
    requires \valid_read(x + (0 .. t->active - 1)) && finite_floats(x, t->active);
    terminates \true;
    exits \false;
    assigns t->gradient[0 .. t->experts - 1], t->condition[0 .. t->experts - 1], t->term, t->factor,
            t->total;
    ensures same: token_same{Pre, Here}(t);
    ensures ready: token_ready(t);
    ensures frame: only_token_written{Pre, Here}(t);
    ensures probabilities: vector_same{Pre, Here}(t->probability, t->experts);
    ensures value: \result == PHIBAL_OK ==> \forall real p, integer e;
      0 <= e < t->experts && in{Pre}(t->probability + e, p) ==>
      gained{Pre, Here}(t->gradient + e,
                        selected_gain(experts, (real)scale * p, x, t->active, e));
    ensures terms: \result == PHIBAL_OK ==> \forall real p, integer e;
      0 <= e < t->experts && in{Pre}(t->probability + e, p) ==>
      gained{Pre, Here}(t->condition + e,
                        selected_gain_magnitude(experts, (real)scale * p, x, t->active, e)); */
static phibal_status token_add_selected(phibal_reference_token *t, float scale,
                                        const int32_t *experts, const float *x);

#endif
