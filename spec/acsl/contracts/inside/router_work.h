/* What the functions of reference/router_work.h promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_ROUTER_WORK_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_ROUTER_WORK_H

/*@ predicate only_token_struct_written{A, B}(phibal_reference_token *t) =
      \forall phibal_enclosure *r; \valid_read{A}(r) && \separated(r, t) ==> same{A, B}(r);
*/

/*@ // nothing but v[0..n-1], t->factor and t->term was written between A and B
    predicate only_weights_written{A, B}(phibal_reference_token *t, phibal_enclosure *v,
                                         integer n) =
      \forall phibal_enclosure *r; \valid_read{A}(r) && vector_apart(r, v, n) &&
        \separated(r, \at(&t->factor, A)) && \separated(r, \at(&t->term, A)) ==> same{A, B}(r);
*/

/*@ requires token_scratch(t) && output(z) && \separated(z, &t->factor) && \separated(z, &t->one);
    requires apart(z, &t->term);
    requires \is_finite(x);
    terminates \true;
    exits \false;
    assigns *z, t->factor;
    ensures enclosure(z) && enclosure(&t->factor) && enclosure(&t->term);
    ensures only_three_written{Pre, Here}(z, &t->factor, &t->term);
    ensures \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures \result == PHIBAL_OK ==> in(z, logistic((real)x)); */
phibal_status router_sigmoid(phibal_reference_token *t, float x, phibal_enclosure *z);

/*@ requires token_scratch(t) && output(z) && \separated(z, t) &&
             \valid_read(router);
    requires \is_finite(x) && \is_finite(reference);
    terminates \true;
    exits \false;
    assigns *z, t->factor, t->term;
    ensures enclosure(z) && enclosure(&t->factor) && enclosure(&t->term);
    ensures only_three_written{Pre, Here}(z, &t->factor, &t->term);
    ensures \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures \result == PHIBAL_OK ==>
      in(z, times(logit_weight(router->gate, (real)x), shrink((real)reference))); */
phibal_status router_weight(phibal_reference_token *t, const phibal_router *router, float x,
                            float reference, phibal_enclosure *z);

/*@ requires \valid_read(router) && \is_finite(largest);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \is_finite(\result);
    ensures (real)\result == weight_reference(router->gate, (real)largest); */
float router_reference(const phibal_router *router, float largest);

/*@ requires 1 <= experts && \valid_read(logits + (0 .. experts - 1));
    requires finite_floats(logits, experts);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \is_finite(\result);
    ensures (real)\result == largest_logit(logits, experts); */
float router_logits_largest(int32_t experts, const float *logits);

/*@ requires 0 <= n && vector_input(weight, n) && vector_output(part, n) && output(total);
    requires part == weight || vectors_apart(part, n, weight, n);
    requires \forall integer i; 0 <= i < n ==>
      \separated(total, part + i) && \separated(total, weight + i);
    terminates \true;
    exits \false;
    assigns *total, part[0 .. n - 1];
    ensures vector_output(part, n) && enclosure(total);
    ensures only_with_vector_written{Pre, Here}(total, part, n);
    ensures \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures \result == PHIBAL_OK ==>
      \forall sequence s; members{Pre}(weight, n, s) && sum(s, n) != 0.0 ==> in(total, sum(s, n)) &&
        (\forall integer i; 0 <= i < n ==> in(part + i, term(s, i) / sum(s, n))); */
phibal_status router_weights_normalise(int32_t n, const phibal_enclosure *weight,
                                       phibal_enclosure *total, phibal_enclosure *part);

#endif
