/* The loss-free update in all cases (L6): a contract of a function of reference_moe.h that adds to
   the one there. It stands here since nearly every unit reads that header, and would have to be
   proved anew; a unit that calls the function includes this. */
#ifndef PHIBAL_REFERENCE_BALANCE_UPDATE_H
#define PHIBAL_REFERENCE_BALANCE_UPDATE_H

#include <phibal/reference_moe.h>
#ifdef __FRAMAC__
#include <phibal/acsl/loss_free.h>
#endif

/*@ terminates \true;
    ensures moved: \result == PHIBAL_OK ==> \forall integer e; 0 <= e < experts ==>
      bias_moved((real)bias[e], (real)rate, load_sign(count, experts, e), next[e]); */
phibal_status phibal_reference_loss_free_update(int32_t experts, float rate, const int64_t *count,
                                                const float *bias, float *next);

#endif
