/* What the functions of reference/router_softplus.h promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_ROUTER_SOFTPLUS_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_ROUTER_SOFTPLUS_H

#ifdef __FRAMAC__
#include <phibal/acsl/softplus_score.h>
#endif

/*@ predicate logit_ready{L}(phibal_reference_token *t, float x, phibal_enclosure *z) =
      token_scratch(t) && output(z) && \separated(z, t) && \is_finite(x);
    // nothing but z and two temporaries of t was written between A and B
    predicate logit_done{A, B}(phibal_reference_token *t, phibal_enclosure *z) =
      enclosure{B}(z) && enclosure{B}(\at(&t->factor, A)) && enclosure{B}(\at(&t->term, A)) &&
      only_three_written{A, B}(z, \at(&t->factor, A), \at(&t->term, A));
*/

/*@ requires logit_ready(t, x, z) && \is_finite(reference);
    terminates \true;
    exits \false;
    assigns *z, t->factor, t->term;
    ensures logit_done{Pre, Here}(t, z);
    ensures \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures \result == PHIBAL_OK ==>
      in(z, \sqrt(times(softplus_of((real)x), shrink((real)reference)))); */
phibal_status router_softplus_weight(phibal_reference_token *t, float x, float reference,
                                     phibal_enclosure *z);

/*@ requires logit_ready(t, x, z);
    terminates \true;
    exits \false;
    assigns *z, t->factor, t->term;
    ensures logit_done{Pre, Here}(t, z);
    ensures \result == PHIBAL_OK || \result == PHIBAL_ERROR_DOMAIN;
    ensures \result == PHIBAL_OK ==> in(z, softplus_slope((real)x)); */
phibal_status router_softplus_slope(phibal_reference_token *t, float x, phibal_enclosure *z);

#endif
