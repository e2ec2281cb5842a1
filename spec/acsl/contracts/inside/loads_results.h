/* What loads over a batch are (R6), (R7): a contract of a function of reference_moe.h that adds to
   the one there. It stands here since nearly every unit reads that header, and would have to be
   proved anew; a unit that calls the function includes this. */
#ifndef PHIBAL_REFERENCE_LOADS_RESULTS_H
#define PHIBAL_REFERENCE_LOADS_RESULTS_H

#include <phibal/reference_moe.h>
#ifdef __FRAMAC__
#include <phibal/acsl/loads_value.h>
#endif

/*@ terminates \true;
    ensures tokens: \result == PHIBAL_OK && counted != \null &&
      count_apart(counted, count, \old(router->experts)) ==>
        *counted == tokens_counted(mask, tokens);
    ensures means: \result == PHIBAL_OK && mean != \null ==>
      means_held(mean, \old(router->gate), logits, mask, \old(router->experts), tokens);
    ensures counts: \result == PHIBAL_OK && count != \null &&
      \old(router->group_score) == PHIBAL_GROUP_NONE ==>
        counts_held(count, \old(router->gate), logits, bias, mask, \old(router->experts),
                    \old(router->active), tokens); */
phibal_status phibal_reference_loads(const phibal_router *router, int64_t tokens,
                                     const float *logits, const float *bias, const uint8_t *mask,
                                     mpfr_prec_t precision, phibal_enclosure *mean, int64_t *count,
                                     int64_t *counted);

#endif
