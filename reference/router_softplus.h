/* Scores that are square roots of softplus (R5s): one logit's. */
#ifndef PHIBAL_REFERENCE_ROUTER_SOFTPLUS_H
#define PHIBAL_REFERENCE_ROUTER_SOFTPLUS_H

#include "router_work.h"
#ifdef __FRAMAC__
#include <phibal/acsl/softplus_score.h>
#endif

/* z = sqrt(log(1 + e^x)) e^(-reference/2), reference <= 0. */
/*@ requires token_scratch(t) && output(z) && \separated(z, t);
    requires \is_finite(x) && \is_finite(reference);
    terminates \true;
    exits \false;
    assigns *z, t->factor, t->term;
    ensures enclosure(z) && enclosure(&t->factor) && enclosure(&t->term);
    ensures only_three_written{Pre, Here}(z, &t->factor, &t->term);
    ensures \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures \result == PHIBAL_OK ==>
      in(z, \sqrt(times(softplus_of((real)x), shrink((real)reference)))); */
phibal_status router_softplus_weight(phibal_reference_token *t, float x, float reference,
                                     phibal_enclosure *z);

/* z = sigma(x) / (2 log(1 + e^x)), the derivative of the score's logarithm. */
/*@ requires token_scratch(t) && output(z) && \separated(z, t);
    requires \is_finite(x);
    terminates \true;
    exits \false;
    assigns *z, t->factor, t->term;
    ensures enclosure(z) && enclosure(&t->factor) && enclosure(&t->term);
    ensures only_three_written{Pre, Here}(z, &t->factor, &t->term);
    ensures \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures \result == PHIBAL_OK ==> in(z, softplus_slope((real)x)); */
phibal_status router_softplus_slope(phibal_reference_token *t, float x, phibal_enclosure *z);

#endif
