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
      count_apart(counted, count, \old(batch.router->experts)) ==>
        *counted == tokens_counted(batch.mask, tokens);
    ensures means: \result == PHIBAL_OK && mean != \null ==>
      means_held(mean, \old(batch.router->gate), batch.logits, batch.mask,
                 \old(batch.router->experts), tokens);
    ensures counts: \result == PHIBAL_OK && count != \null &&
      \old(batch.router->group_score) == PHIBAL_GROUP_NONE ==>
        counts_held(count, \old(batch.router->gate), batch.logits, batch.bias, batch.mask,
                    \old(batch.router->experts), \old(batch.router->active), tokens); */
phibal_status phibal_reference_loads(phibal_reference_batch batch, int64_t tokens,
                                     mpfr_prec_t precision, phibal_enclosure *mean, int64_t *count,
                                     int64_t *counted);

#endif
