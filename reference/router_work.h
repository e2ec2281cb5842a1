/* What the files of the router's forward pass share: weights of logits, relative to one of them,
   and their normalisation. */
#ifndef PHIBAL_REFERENCE_ROUTER_WORK_H
#define PHIBAL_REFERENCE_ROUTER_WORK_H

#include "operation.h"

/* z = sigma(x) = 1 / (1 + exp(-x)), x occurring once. */
phibal_status router_sigmoid(phibal_reference_token *t, float x, phibal_enclosure *z);

phibal_status router_weight(phibal_reference_token *t, const phibal_router *router, float x,
                            float reference, phibal_enclosure *z);

/* The logit that keeps a sum of weights of logits no larger than `largest` away from 0. */
float router_reference(const phibal_router *router, float largest);

float router_logits_largest(int32_t experts, const float *logits);

/* part[0..n-1] = weight[0..n-1] / their sum, which is left in total. */
phibal_status router_weights_normalise(int32_t n, const phibal_enclosure *weight,
                                       phibal_enclosure *total, phibal_enclosure *part);

#include <phibal/acsl/contracts/inside/router_work.h>
#endif
