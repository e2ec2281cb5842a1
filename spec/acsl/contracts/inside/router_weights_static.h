/* What the static functions of reference/router_weights.c promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_ROUTER_WEIGHTS_STATIC_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_ROUTER_WEIGHTS_STATIC_H

/*@ requires output(z) && output(t) && \separated(z, t) && \is_finite(x) && \is_finite(y);
    terminates \true;
    exits \false;
    assigns *z, *t;
    ensures enclosure(z) && enclosure(t);
    ensures only_two_written{Pre, Here}(z, t);
    ensures \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures \result == PHIBAL_OK ==> in(z, (real)x - (real)y); */
static phibal_status logit_difference(phibal_enclosure *z, float x, float y, phibal_enclosure *t);

/*@ requires token_scratch(t) && output(z) && \separated(z, t);
    requires \is_finite(x) && \is_finite(reference);
    terminates \true;
    exits \false;
    assigns *z, t->factor;
    ensures enclosure(z) && enclosure(&t->factor) && enclosure(&t->term);
    ensures only_three_written{Pre, Here}(z, &t->factor, &t->term);
    ensures \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures \result == PHIBAL_OK ==> in(z, times(e((real)x), shrink((real)reference))); */
static phibal_status softmax_weight(phibal_reference_token *t, float x, float reference,
                                    phibal_enclosure *z);

/*@ requires token_scratch(t) && output(z) && \separated(z, t);
    requires \is_finite(x) && \is_finite(reference);
    terminates \true;
    exits \false;
    assigns *z, t->factor, t->term;
    ensures enclosure(z) && enclosure(&t->factor) && enclosure(&t->term);
    ensures only_three_written{Pre, Here}(z, &t->factor, &t->term);
    ensures \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures \result == PHIBAL_OK ==>
      in(z, times(logistic((real)x), shrink((real)reference))); */
static phibal_status sigmoid_weight(phibal_reference_token *t, float x, float reference,
                                    phibal_enclosure *z);

/*@ requires 0 <= n && vector_input(weight, n) && vector_output(part, n) && input(total);
    requires part == weight || vectors_apart(part, n, weight, n);
    requires \forall integer i; 0 <= i < n ==> \separated(total, part + i);
    terminates \true;
    exits \false;
    assigns part[0 .. n - 1];
    ensures vector_output(part, n);
    ensures only_vector_written{Pre, Here}(part, n);
    ensures \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures \result == PHIBAL_OK ==> \forall integer i, real w, s; 0 <= i < n && s != 0.0 &&
      in{Pre}(weight + i, w) && in{Pre}(total, s) ==> in(part + i, w / s); */
static phibal_status weights_divide(int32_t n, const phibal_enclosure *weight,
                                    const phibal_enclosure *total, phibal_enclosure *part);

#endif
