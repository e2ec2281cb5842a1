/* What <phibal/reference_sinkhorn.h> promises. */
#ifndef PHIBAL_ACSL_CONTRACTS_REFERENCE_SINKHORN_H
#define PHIBAL_ACSL_CONTRACTS_REFERENCE_SINKHORN_H

#ifdef __FRAMAC__
#include <phibal/acsl/sinkhorn.h>
#endif

/*@ requires 0 <= tokens && 1 <= experts ==> place(tokens, experts) <= ROUTING_MAX_SLOTS;
    requires 0 <= tokens && 1 <= experts && logits != \null ==>
      \valid_read(logits + (0 .. place(tokens, experts) - 1));
    requires mask == \null || \valid_read(mask + (0 .. tokens - 1));
    requires 0 <= tokens && 1 <= experts && plan != \null ==>
      vector_output(plan, place(tokens, experts)) && vector_in_use(plan, place(tokens, experts));
    requires precision <= MPFR_PREC_MAX;
    terminates \true;
    exits \false;
    assigns plan[0 .. place(tokens, experts) - 1], ALLOCATED;
    ensures still_in_use{Pre, Here};
    ensures frame: vector_kept{Pre, Here}(plan, place(tokens, experts));
    ensures outputs: 0 <= tokens && 1 <= experts && plan != \null ==>
      vector_output(plan, place(tokens, experts));
    ensures plan: \result == PHIBAL_OK ==> \forall sequence d, r;
      scalings(d, r, logits, mask, tokens, experts, tokens_counted(mask, tokens), rounds) ==>
        plan_held(plan, place(tokens, experts), d, r, logits, mask, experts,
                  place(rounds - 1, tokens), place(rounds, experts)); */
phibal_status phibal_reference_sinkhorn(int64_t tokens, int32_t experts, int32_t rounds,
                                        const float *logits, const uint8_t *mask,
                                        mpfr_prec_t precision, phibal_enclosure *plan);

#endif
