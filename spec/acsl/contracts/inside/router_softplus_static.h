/* What the static functions of reference/router_softplus.c promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_ROUTER_SOFTPLUS_STATIC_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_ROUTER_SOFTPLUS_STATIC_H

/*@ requires token_scratch(t) && output(z) && \is_finite(x);
    requires \separated(z, &t->factor) && \separated(z, &t->one);
    requires z == &t->term || \separated(z, t);
    terminates \true;
    exits \false;
    assigns *z, t->factor;
    ensures enclosure(z) && enclosure(&t->factor) && enclosure(&t->term);
    ensures only_two_written{Pre, Here}(z, &t->factor);
    ensures \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures \result == PHIBAL_OK ==> in(z, softplus_relative((real)x)); */
static phibal_status relative_softplus(phibal_reference_token *t, float x, phibal_enclosure *z);

#endif
