/* What the static functions of reference/router_gates.c promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_ROUTER_GATES_STATIC_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_ROUTER_GATES_STATIC_H

/*@ // nothing but v[0..n-1], t->factor, t->term and t->total was written between A and B
    predicate only_gates_written{A, B}(phibal_reference_token *t, phibal_enclosure *v,
                                       integer n) =
      \forall phibal_enclosure *r; \valid_read{A}(r) && vector_apart(r, v, n) &&
        \separated(r, \at(&t->factor, A)) && \separated(r, \at(&t->term, A)) &&
        \separated(r, \at(&t->total, A)) ==> same{A, B}(r);
*/

/*@ requires 1 <= active && \valid_read(experts + (0 .. active - 1));
    requires \forall integer s; 0 <= s < active ==>
      \valid_read(logits + experts[s]) && \is_finite(logits[experts[s]]);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \is_finite(\result); */
static float logits_largest_selected(int32_t active, const int32_t *experts, const float *logits);

/*@ requires 0 <= active && \valid_read(experts + (0 .. active - 1));
    requires vector_output(part, active) && (\forall integer s; 0 <= s < active ==>
      input(x + experts[s]) && vector_apart(x + experts[s], part, active));
    terminates \true;
    exits \false;
    assigns part[0 .. active - 1];
    ensures vector_output(part, active);
    ensures only_vector_written{Pre, Here}(part, active);
    ensures \forall integer s, real a; 0 <= s < active && in{Pre}(x + experts[s], a) ==>
      in(part + s, a); */
static void vector_pick(int32_t active, const int32_t *experts, const phibal_enclosure *x,
                        phibal_enclosure *part);

/*@ requires token_scratch(t) && \valid_read(router) && \is_finite(reference);
    requires 0 <= active && \valid_read(experts + (0 .. active - 1));
    requires \forall integer s; 0 <= s < active ==>
      \valid_read(logits + experts[s]) && \is_finite(logits[experts[s]]);
    requires vector_output(part, active) &&
             (\forall integer s; 0 <= s < active ==> \separated(t, part + s));
    terminates \true;
    exits \false;
    assigns part[0 .. active - 1], t->factor, t->term;
    ensures vector_output(part, active) && enclosure(&t->factor) && enclosure(&t->term);
    ensures only_weights_written{Pre, Here}(t, part, active);
    ensures \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures \result == PHIBAL_OK ==> \forall integer s; 0 <= s < active ==>
      in(part + s, times(logit_weight(router->gate, (real)logits[experts[s]]),
                         shrink((real)reference))); */
static phibal_status selected_weights(phibal_reference_token *t, const phibal_router *router,
                                      const float *logits, float reference, int32_t active,
                                      const int32_t *experts, phibal_enclosure *part);

/*@ requires token_scratch(t) && \valid_read(router);
    requires \is_finite(row.reference) && \is_finite(reference);
    requires 0 <= active && \valid_read(experts + (0 .. active - 1));
    requires \forall integer s; 0 <= s < active ==>
      \valid_read(logits + experts[s]) && \is_finite(logits[experts[s]]);
    requires vector_output(part, active) &&
             (\forall integer s; 0 <= s < active ==> \separated(t, part + s));
    requires \forall integer s; 0 <= s < active ==>
      input(row.weight + experts[s]) && vector_apart(row.weight + experts[s], part, active);
    terminates \true;
    exits \false;
    assigns part[0 .. active - 1], t->factor, t->term;
    ensures outputs: vector_output(part, active) && enclosure(&t->factor) && enclosure(&t->term);
    ensures frame: only_weights_written{Pre, Here}(t, part, active);
    ensures status: \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures weights: \result == PHIBAL_OK &&
      ((real)row.reference == (real)reference ==> \forall integer s; 0 <= s < active ==>
         in{Pre}(row.weight + experts[s],
                 times(logit_weight(router->gate, (real)logits[experts[s]]),
                       shrink((real)row.reference)))) ==>
      \forall integer s; 0 <= s < active ==>
        in(part + s, times(logit_weight(router->gate, (real)logits[experts[s]]),
                           shrink((real)reference))); */
static phibal_status gates_weights(phibal_reference_token *t, const phibal_router *router,
                                   const float *logits, float reference, int32_t active,
                                   const int32_t *experts, row_weights row,
                                   phibal_enclosure *part);

/*@ requires token_ready(t) && \valid_read(router) && \is_finite(row) && \is_finite(reference);
    requires \valid_read(logits + (0 .. t->experts - 1)) && finite_floats(logits, t->experts);
    requires selected_experts(experts, t->active, t->experts);
    terminates \true;
    exits \false;
    assigns t->part[0 .. t->active - 1], t->factor, t->term;
    ensures same: token_same{Pre, Here}(t);
    ensures scratch: token_scratch(t);
    ensures vectors: token_vectors(t);
    ensures frame: only_gates_written{Pre, Here}(t, \old(t->part), \old(t->active));
    ensures weights: \result == PHIBAL_OK &&
      ((real)row == (real)reference ==> \forall integer e; 0 <= e < t->experts ==>
         in{Pre}(t->weight + e, times(logit_weight(router->gate, (real)logits[e]),
                                      shrink((real)row)))) ==>
      \forall integer s; 0 <= s < t->active ==>
        in(t->part + s, times(logit_weight(router->gate, (real)logits[experts[s]]),
                              shrink((real)reference))); */
static phibal_status token_weigh_selected(phibal_reference_token *t, const phibal_router *router,
                                          const float *logits, float row, float reference,
                                          const int32_t *experts);

/*@ requires token_ready(t);
    terminates \true;
    exits \false;
    assigns t->part[0 .. t->active - 1], t->total;
    ensures same: token_same{Pre, Here}(t);
    ensures scratch: token_scratch(t);
    ensures vectors: token_vectors(t);
    ensures frame: only_gates_written{Pre, Here}(t, \old(t->part), \old(t->active));
    ensures quotients: \result == PHIBAL_OK ==> \forall sequence s, integer i;
      members{Pre}(t->part, t->active, s) && sum(s, t->active) != 0.0 && 0 <= i < t->active ==>
        in(t->part + i, term(s, i) / sum(s, t->active)); */
static phibal_status token_normalise_part(phibal_reference_token *t);

/*@ requires token_ready(t) && \valid_read(router);
    requires \valid_read(logits + (0 .. t->experts - 1)) && finite_floats(logits, t->experts);
    requires selected_experts(experts, t->active, t->experts);
    terminates \true;
    exits \false;
    assigns t->part[0 .. t->active - 1], t->total, t->term, t->factor;
    ensures same: token_same{Pre, Here}(t);
    ensures ready: token_ready(t);
    ensures frame: only_gates_written{Pre, Here}(t, \old(t->part), \old(t->active));
    ensures gates: \result == PHIBAL_OK && weights_held{Pre}(t, router->gate, logits) ==>
      \forall integer s; 0 <= s < t->active ==>
        in(t->part + s, normalised_gate(router->gate, logits, experts, t->active, s)); */
static phibal_status gates_normalised(phibal_reference_token *t, const phibal_router *router,
                                      const float *logits, const int32_t *experts);

#endif
