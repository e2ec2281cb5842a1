/* The reference of routers whose gates have another normalisation (R5n), (R5e), are square roots of
   softplus (R5s) or leave out experts (R5z), that select by probabilities (R2p), or whose selection
   is given; of all others it has the results of <phibal/reference_moe.h>, whose conventions hold.
   It is not proved, but for one logit's score (R5s). Selecting by probabilities it compares the
   binary32 numbers nearest to them; PHIBAL_ERROR_UNDECIDED where the token's precision does not
   tell which one is. */
#ifndef PHIBAL_REFERENCE_ROUTER_H
#define PHIBAL_REFERENCE_ROUTER_H

#include <phibal/reference_moe.h>

#ifdef __cplusplus
extern "C" {
#endif

/* phibal_reference_token_forward of any router.
     experts [k] the selection of a router with PHIBAL_SELECTION_GIVEN, whose bias is null;
   otherwise null. PHIBAL_ERROR_ARGUMENT unless they are k different ones of 0 .. E-1. */
phibal_status phibal_reference_router_forward(phibal_reference_token *token,
                                              const phibal_router *router, const float *logits,
                                              const float *bias, const int32_t *experts);

/* phibal_reference_token_backward of any router. condition holds the terms of (G2) with those of
   (G1): of a gate over a sum with epsilon also epsilon's, where gates are probabilities. */
phibal_status phibal_reference_router_backward(phibal_reference_token *token,
                                               const phibal_router *router, const float *logits,
                                               const int32_t *experts, const float *gate_gradient,
                                               const float *price, double price_scale,
                                               double z_scale);

#ifdef __cplusplus
}
#endif
#endif
