/* What the loss of sequences is (L4): a contract that adds to the one in reference_moe.h, as
   loads_results.h does. */
#ifndef PHIBAL_REFERENCE_SEQUENCE_RESULTS_H
#define PHIBAL_REFERENCE_SEQUENCE_RESULTS_H

#include <phibal/reference_moe.h>
#ifdef __FRAMAC__
#include <phibal/acsl/sequence_loss.h>
#endif

/*@ terminates \true;
    ensures none: \result == PHIBAL_OK && tokens_counted(batch.mask, sequences * length) == 0 ==>
      in(loss, 0.0);
    ensures value: \result == PHIBAL_OK && 0 < tokens_counted(batch.mask, sequences * length) &&
      \old(batch.router->group_score) == PHIBAL_GROUP_NONE ==>
        in(loss, sequence_loss((real)alpha, \old(batch.router->gate), batch.logits, batch.bias,
                               batch.mask, \old(batch.router->experts),
                               \old(batch.router->active), length, sequences)); */
phibal_status phibal_reference_sequence_loss(phibal_reference_batch batch, int64_t sequences,
                                             int64_t length, double alpha, mpfr_prec_t precision,
                                             phibal_enclosure *loss);

#endif
