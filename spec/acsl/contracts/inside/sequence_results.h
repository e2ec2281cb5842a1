/* What the loss of sequences is (L4): a contract that adds to the one in reference_moe.h, as
   loads_results.h does. */
#ifndef PHIBAL_REFERENCE_SEQUENCE_RESULTS_H
#define PHIBAL_REFERENCE_SEQUENCE_RESULTS_H

#include <phibal/reference_moe.h>
#ifdef __FRAMAC__
#include <phibal/acsl/sequence_loss.h>
#endif

/*@ terminates \true;
    ensures none: \result == PHIBAL_OK && tokens_counted(mask, sequences * length) == 0 ==>
      in(loss, 0.0);
    ensures value: \result == PHIBAL_OK && 0 < tokens_counted(mask, sequences * length) &&
      \old(router->group_score) == PHIBAL_GROUP_NONE ==>
        in(loss, sequence_loss((real)alpha, \old(router->gate), logits, bias, mask,
                               \old(router->experts), \old(router->active), length, sequences)); */
phibal_status phibal_reference_sequence_loss(const phibal_router *router, int64_t sequences,
                                             int64_t length, const float *logits, const float *bias,
                                             const uint8_t *mask, double alpha,
                                             mpfr_prec_t precision, phibal_enclosure *loss);

#endif
