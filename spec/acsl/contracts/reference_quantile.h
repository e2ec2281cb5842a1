/* What <phibal/reference_quantile.h> promises. */
#ifndef PHIBAL_ACSL_CONTRACTS_REFERENCE_QUANTILE_H
#define PHIBAL_ACSL_CONTRACTS_REFERENCE_QUANTILE_H

#ifdef __FRAMAC__
#include <phibal/acsl/quantile.h>
#include <phibal/acsl/quantile_required.h>
#endif

/*@ requires router != \null ==> \valid_read(router);
    requires router != \null && logits != \null ==>
      \valid_read(logits + (0 .. tokens * router->experts - 1));
    requires router != \null && bias != \null ==> \valid_read(bias + (0 .. router->experts - 1));
    requires mask != \null ==> \valid_read(mask + (0 .. tokens - 1));
    requires router != \null && required != \null ==>
      \valid(required + (0 .. tokens * router->experts - 1));
    requires router != \null && required != \null && logits != \null ==>
      \separated(required + (0 .. tokens * router->experts - 1),
                 logits + (0 .. tokens * router->experts - 1));
    requires router != \null && required != \null && bias != \null ==>
      \separated(required + (0 .. tokens * router->experts - 1),
                 bias + (0 .. router->experts - 1));
    terminates \true;
    exits \false;
    assigns required[0 .. tokens * router->experts - 1], TOKEN_ALLOCATED;
    ensures still_in_use{Pre, Here};
    ensures kept: \forall phibal_enclosure *r; \valid_read{Pre}(r) && in_use{Pre}(r) ==>
      same{Pre, Here}(r);
    ensures padding: \result == PHIBAL_OK ==> \forall integer i, e; 0 <= i < tokens &&
      unmasked(mask, i) != 1 && 0 <= e < \old(router->experts) ==>
        \is_plus_infinity(required[element(e, tokens, i)]);
    ensures value: \result == PHIBAL_OK ==> \forall integer i, e; 0 <= i < tokens &&
      unmasked(mask, i) == 1 && 0 <= e < \old(router->experts) ==>
        \is_finite(required[element(e, tokens, i)]) &&
        required_is{Pre}(\old(router->gate), logits + i * \old(router->experts), bias,
                         \old(router->experts), \old(router->active), e,
                         (real)\at(required[element(e, tokens, i)], Post)); */
phibal_status phibal_reference_quantile_required(const phibal_router *router, int64_t tokens,
                                                 const float *logits, const float *bias,
                                                 const uint8_t *mask, float *required);

/*@ requires mask != \null ==> \valid_read(mask + (0 .. tokens - 1));
    requires required != \null ==> \valid_read(required + (0 .. experts * tokens - 1));
    requires quantile != \null ==> \valid(quantile + (0 .. experts - 1));
    requires required != \null && quantile != \null ==>
      \separated(required + (0 .. experts * tokens - 1), quantile + (0 .. experts - 1));
    requires mask != \null && quantile != \null ==>
      \separated(mask + (0 .. tokens - 1), quantile + (0 .. experts - 1));
    terminates \true;
    exits \false;
    assigns quantile[0 .. experts - 1];
    ensures quantiles: \result == PHIBAL_OK ==> \forall integer e; 0 <= e < experts ==>
      quantile_is{Pre}(mask, required + e * tokens, tokens, active, experts,
                       (real)\at(quantile[e], Post)); */
phibal_status phibal_reference_quantile(int32_t experts, int32_t active, int64_t tokens,
                                        const uint8_t *mask, const float *required,
                                        float *quantile);

#endif
