/* What the files of the router's gradient (G2) share: what its terms write, a weighted mean, and
   the terms themselves. */
#ifndef PHIBAL_REFERENCE_ROUTER_GRADIENT_WORK_H
#define PHIBAL_REFERENCE_ROUTER_GRADIENT_WORK_H

#include "operation.h"

/* mean = sum_i weight[at(i)] x_i and magnitude = sum_i weight[at(i)] |x_i|, weights >= 0; `experts`
   null: at(i) = i. */
phibal_status router_gradient_mean(phibal_reference_token *t, int32_t n,
                                   const phibal_enclosure *weight, const int32_t *experts,
                                   const float *x);

/* Slots 0 .. n - 1: their experts (null: slot i is expert i), weights, and the numbers weighed. */
typedef struct gradient_slots {
  int32_t n;
  const int32_t *experts;
  const phibal_enclosure *weight;
  const float *x;
} gradient_slots;

/* For each slot i, with e its expert: gradient_e += scale weight_i (x_i - mean), for sigmoid times
   1 - sigma_e, and its condition likewise; mean and magnitude are over these slots. This is (L2)
   with experts null, and (G1) for normalised gates. */
phibal_status router_gradient_add_slots(phibal_reference_token *t, const phibal_router *router,
                                        gradient_slots s, double scale, const float *logits,
                                        phibal_reference_result gradient);

phibal_status router_gradient_add_probability(phibal_reference_token *t,
                                              const phibal_router *router, const int32_t *experts,
                                              const float *gate_gradient);

phibal_status router_gradient_add_z(phibal_reference_token *t, double scale);

/* The condition: a contract that adds to the one in reference_moe.h. It stands here since nearly
   every unit reads that header, and would have to be proved anew. */
phibal_status phibal_reference_token_backward(phibal_reference_token *token,
                                              const phibal_router *router, const float *logits,
                                              const int32_t *experts, const float *gate_gradient,
                                              const float *price, double price_scale,
                                              double z_scale);

#include <phibal/acsl/contracts/inside/router_gradient_work.h>
#endif
