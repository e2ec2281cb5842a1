/* What the static functions of reference/router.c promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_ROUTER_STATIC_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_ROUTER_STATIC_H

/*@ requires token_scratch(t) && \is_finite(largest);
    terminates \true;
    exits \false;
    assigns t->logsumexp, t->logsumexp_terms, t->factor;
    ensures enclosure(&t->logsumexp) && enclosure(&t->logsumexp_terms) && enclosure(&t->factor);
    ensures only_three_written{Pre, Here}(&t->logsumexp, &t->logsumexp_terms, &t->factor);
    ensures \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures \result == PHIBAL_OK ==> \forall real a; 0.0 < a && in{Pre}(&t->total, a) ==>
      in(&t->logsumexp, \log(a) + (real)largest);
    ensures \result == PHIBAL_OK ==> \forall real a; 0.0 < a && in{Pre}(&t->total, a) ==>
      in(&t->logsumexp_terms, \log(a) + \abs((real)largest)); */
static phibal_status token_logsumexp(phibal_reference_token *t, float largest);

/*@ requires token_scratch(t) && \valid_read(router) && \is_finite(reference) && 0 <= n;
    requires \valid_read(logits + (0 .. n - 1)) && finite_floats(logits, n);
    requires vector_output(weight, n) &&
             (\forall integer i; 0 <= i < n ==> \separated(t, weight + i));
    terminates \true;
    exits \false;
    assigns weight[0 .. n - 1], t->factor, t->term;
    ensures vector_output(weight, n) && enclosure(&t->factor) && enclosure(&t->term);
    ensures only_weights_written{Pre, Here}(t, weight, n);
    ensures \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures \result == PHIBAL_OK ==> \forall integer i; 0 <= i < n ==>
      in(weight + i,
         times(logit_weight(router->gate, (real)logits[i]), shrink((real)reference))); */
static phibal_status router_weights(phibal_reference_token *t, const phibal_router *router,
                                    int32_t n, const float *logits, float reference,
                                    phibal_enclosure *weight);

/*@ requires token_ready(t) && \valid_read(router) && \is_finite(reference);
    requires \valid_read(logits + (0 .. t->experts - 1)) && finite_floats(logits, t->experts);
    terminates \true;
    exits \false;
    assigns t->weight[0 .. t->experts - 1], t->factor, t->term;
    ensures same: token_same{Pre, Here}(t);
    ensures scratch: token_scratch(t);
    ensures vectors: token_vectors(t);
    ensures frame: only_token_written{Pre, Here}(t);
    ensures weights: \result == PHIBAL_OK ==> \forall integer e; 0 <= e < t->experts ==>
      in(t->weight + e, times(logit_weight(router->gate, (real)logits[e]),
                              shrink((real)reference))); */
static phibal_status token_weigh(phibal_reference_token *t, const phibal_router *router,
                                 const float *logits, float reference);

/*@ requires token_ready(t);
    terminates \true;
    exits \false;
    assigns t->probability[0 .. t->experts - 1], t->total;
    ensures same: token_same{Pre, Here}(t);
    ensures scratch: token_scratch(t);
    ensures vectors: token_vectors(t);
    ensures frame: only_token_written{Pre, Here}(t);
    ensures weights: \forall integer e; 0 <= e < t->experts ==> same{Pre, Here}(t->weight + e);
    ensures quotients: \result == PHIBAL_OK ==> \forall sequence s;
      members{Pre}(t->weight, t->experts, s) && sum(s, t->experts) != 0.0 ==>
        in(&t->total, sum(s, t->experts)) && (\forall integer e; 0 <= e < t->experts ==>
          in(t->probability + e, term(s, e) / sum(s, t->experts))); */
static phibal_status token_normalise(phibal_reference_token *t);

/*@ requires token_ready(t) && \valid_read(router) && \is_finite(largest);
    terminates \true;
    exits \false;
    assigns t->logsumexp, t->logsumexp_terms, t->factor;
    ensures same: token_same{Pre, Here}(t);
    ensures scratch: token_scratch(t);
    ensures vectors: token_vectors(t);
    ensures frame: only_token_struct_written{Pre, Here}(t);
    ensures weights: \forall integer e; 0 <= e < t->experts ==> same{Pre, Here}(t->weight + e);
    ensures probabilities: \forall integer e; 0 <= e < t->experts ==>
      same{Pre, Here}(t->probability + e);
    ensures logsumexp: \result == PHIBAL_OK && router->gate != PHIBAL_GATE_SIGMOID ==>
      \forall real a; 0.0 < a && in{Pre}(&t->total, a) ==>
        in(&t->logsumexp, \log(a) + (real)largest) &&
        in(&t->logsumexp_terms, \log(a) + \abs((real)largest)); */
static phibal_status token_set_logsumexp(phibal_reference_token *t, const phibal_router *router,
                                         float largest);

/*@ requires 0 <= n && \is_finite(scale);
    requires vector_input(part, n) && vector_output(gate, n) && output(factor);
    requires vectors_apart(part, n, gate, n) && vector_apart(factor, part, n) &&
             vector_apart(factor, gate, n);
    terminates \true;
    exits \false;
    assigns gate[0 .. n - 1], *factor;
    ensures vector_output(gate, n) && enclosure(factor);
    ensures only_with_vector_written{Pre, Here}(factor, gate, n);
    ensures \result == PHIBAL_OK ==> \forall integer s, real a; 0 <= s < n &&
      in{Pre}(part + s, a) ==> in(gate + s, times(a, (real)scale)); */
static phibal_status gates_scale(int32_t n, float scale, const phibal_enclosure *part,
                                 phibal_enclosure *factor, phibal_enclosure *gate);

/*@ requires token_ready(t) && \valid_read(router) && \is_finite(router->scale);
    terminates \true;
    exits \false;
    assigns t->gate[0 .. t->active - 1], t->factor;
    ensures same: token_same{Pre, Here}(t);
    ensures scratch: token_scratch(t);
    ensures vectors: token_vectors(t);
    ensures frame: only_token_written{Pre, Here}(t);
    ensures kept: same{Pre, Here}(&t->logsumexp) && same{Pre, Here}(&t->logsumexp_terms) &&
      (\forall integer e; 0 <= e < t->experts ==> same{Pre, Here}(t->probability + e));
    ensures scaled: \result == PHIBAL_OK ==> \forall integer s, real a; 0 <= s < t->active &&
      in{Pre}(t->part + s, a) ==> in(t->gate + s, times(a, (real)router->scale)); */
static phibal_status token_scale(phibal_reference_token *t, const phibal_router *router);

#endif
