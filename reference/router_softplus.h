/* Scores that are square roots of softplus (R5s): one logit's. */
#ifndef PHIBAL_REFERENCE_ROUTER_SOFTPLUS_H
#define PHIBAL_REFERENCE_ROUTER_SOFTPLUS_H

#include "router_work.h"

/* z = sqrt(log(1 + e^x)) e^(-reference/2). */
phibal_status router_softplus_weight(phibal_reference_token *t, float x, float reference,
                                     phibal_enclosure *z);

/* z = sigma(x) / (2 log(1 + e^x)), the derivative of the score's logarithm. */
phibal_status router_softplus_slope(phibal_reference_token *t, float x, phibal_enclosure *z);

#include <phibal/acsl/contracts/inside/router_softplus.h>
#endif
