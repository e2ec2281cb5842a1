/* What the static functions of reference/quantile_required.c promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_QUANTILE_REQUIRED_STATIC_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_QUANTILE_REQUIRED_STATIC_H

#ifdef __FRAMAC__
#include <phibal/acsl/narrowing.h>
#endif

/*@ requires token_ready(t) && \valid_read(router) && \valid(cutoff);
    requires \valid_read(logits + (0 .. t->experts - 1));
    requires bias != \null ==> \valid_read(bias + (0 .. t->experts - 1));
    requires router->group_score == PHIBAL_GROUP_NONE;
    requires \separated(cutoff, t->score + (0 .. t->experts - 1));
    terminates \true;
    exits \false;
    assigns *cutoff, t->selection[0 .. t->active - 1], t->score[0 .. t->experts - 1], t->term,
            t->factor;
    ensures token_ready(t) && token_same{Pre, Here}(t);
    ensures only_two_written{Pre, Here}(&t->term, &t->factor);
    ensures finite: \result == PHIBAL_OK ==> \is_finite(*cutoff);
    ensures cutoff: \result == PHIBAL_OK ==> \exists integer j; 0 <= j < t->experts &&
      rank(router->gate, logits, bias, j, t->experts) == t->active - 1 &&
      (real)*cutoff == router_score(router->gate, logits, bias, j); */
static phibal_status token_cutoff(phibal_reference_token *t, const phibal_router *router,
                                  const float *logits, const float *bias, double *cutoff);

/*@ requires 0 <= experts && token_written(required, experts, tokens, i);
    requires \valid_read(score + (0 .. experts - 1));
    requires \is_finite(cutoff) && scores_finite(score, experts);
    terminates \true;
    exits \false;
    assigns required[0 .. place(experts, tokens) - 1];
    ensures others: only_token_required{Pre, Here}(required, experts, tokens, i);
    ensures value: \result == PHIBAL_OK ==> \forall integer e; 0 <= e < experts ==>
      \is_finite(required[element(e, tokens, i)]) &&
      (real)required[element(e, tokens, i)] == rounded_difference((real)cutoff, (real)score[e]); */
static phibal_status set_differences(int32_t experts, double cutoff, const double *score,
                                     int64_t tokens, int64_t i, float *required);

/*@ requires token_ready(t) && \valid_read(router);
    requires router->group_score == PHIBAL_GROUP_NONE;
    requires \valid_read(logits + (0 .. t->experts - 1));
    requires bias != \null ==> \valid_read(bias + (0 .. t->experts - 1));
    requires token_written(required, t->experts, tokens, i);
    requires \separated(required + (0 .. place(t->experts, tokens) - 1),
                        logits + (0 .. t->experts - 1));
    requires bias != \null ==> \separated(required + (0 .. place(t->experts, tokens) - 1),
                                          bias + (0 .. t->experts - 1));
    requires \separated(required + (0 .. place(t->experts, tokens) - 1), router);
    terminates \true;
    exits \false;
    assigns required[0 .. place(t->experts, tokens) - 1], t->selection[0 .. t->active - 1],
            t->score[0 .. t->experts - 1], t->term, t->factor;
    ensures token_ready(t) && token_same{Pre, Here}(t);
    ensures only_two_written{Pre, Here}(&t->term, &t->factor);
    ensures others: only_token_required{Pre, Here}(required, t->experts, tokens, i);
    ensures value: \result == PHIBAL_OK ==> \forall integer e; 0 <= e < t->experts ==>
      \is_finite(required[element(e, tokens, i)]) &&
      required_is{Pre}(router->gate, logits, bias, t->experts, t->active - 1, e,
                       (real)\at(required[element(e, tokens, i)], Here)); */
static phibal_status token_required(phibal_reference_token *t, const phibal_router *router,
                                    const float *logits, const float *bias, int64_t tokens,
                                    int64_t i, float *required);

/*@ requires 0 <= experts && token_written(required, experts, tokens, i);
    terminates \true;
    exits \false;
    assigns required[0 .. place(experts, tokens) - 1];
    ensures others: only_token_required{Pre, Here}(required, experts, tokens, i);
    ensures value: \forall integer e; 0 <= e < experts ==>
      \is_plus_infinity(required[element(e, tokens, i)]); */
static void set_infinite(int32_t experts, int64_t tokens, int64_t i, float *required);

/*@ requires token_ready(t) && 0 <= tokens;
    requires router.group_score == PHIBAL_GROUP_NONE && router.experts == t->experts;
    requires place(tokens, t->experts) <= ROUTING_MAX_SLOTS;
    requires \valid_read(logits + (0 .. place(tokens, t->experts) - 1));
    requires bias != \null ==> \valid_read(bias + (0 .. t->experts - 1));
    requires mask != \null ==> \valid_read(mask + (0 .. tokens - 1));
    requires \valid(required + (0 .. place(tokens, t->experts) - 1));
    requires \separated(required + (0 .. place(tokens, t->experts) - 1),
                        logits + (0 .. place(tokens, t->experts) - 1));
    requires bias != \null ==> \separated(required + (0 .. place(tokens, t->experts) - 1),
                                          bias + (0 .. t->experts - 1));
    terminates \true;
    exits \false;
    assigns required[0 .. place(tokens, t->experts) - 1], t->selection[0 .. t->active - 1],
            t->score[0 .. t->experts - 1], t->term, t->factor;
    ensures token_ready(t) && token_same{Pre, Here}(t);
    ensures only_two_written{Pre, Here}(&t->term, &t->factor);
    ensures padding: \result == PHIBAL_OK ==> \forall integer i, e; 0 <= i < tokens &&
      unmasked(mask, i) != 1 && 0 <= e < t->experts ==>
        \is_plus_infinity(required[element(e, tokens, i)]);
    ensures value: \result == PHIBAL_OK ==> \forall integer i, e; 0 <= i < tokens &&
      unmasked(mask, i) == 1 && 0 <= e < t->experts ==>
        \is_finite(required[element(e, tokens, i)]) &&
        required_is{Pre}(router.gate, logits + place(i, t->experts), bias, t->experts,
                         t->active - 1, e, (real)\at(required[element(e, tokens, i)], Here)); */
static phibal_status tokens_required(phibal_reference_token *t, phibal_router router,
                                     int64_t tokens, const float *logits, const float *bias,
                                     const uint8_t *mask, float *required);

/*@ requires 0 <= tokens && router.group_score == PHIBAL_GROUP_NONE;
    requires place(tokens, router.experts) <= ROUTING_MAX_SLOTS;
    requires \valid_read(logits + (0 .. place(tokens, router.experts) - 1));
    requires bias != \null ==> \valid_read(bias + (0 .. router.experts - 1));
    requires mask != \null ==> \valid_read(mask + (0 .. tokens - 1));
    requires \valid(required + (0 .. place(tokens, router.experts) - 1));
    requires \separated(required + (0 .. place(tokens, router.experts) - 1),
                        logits + (0 .. place(tokens, router.experts) - 1));
    requires bias != \null ==> \separated(required + (0 .. place(tokens, router.experts) - 1),
                                          bias + (0 .. router.experts - 1));
    terminates \true;
    exits \false;
    assigns required[0 .. place(tokens, router.experts) - 1], TOKEN_ALLOCATED;
    ensures still_in_use{Pre, Here};
    ensures kept: \forall phibal_enclosure *r; \valid_read{Pre}(r) && in_use{Pre}(r) ==>
      same{Pre, Here}(r);
    ensures padding: \result == PHIBAL_OK ==> \forall integer i, e; 0 <= i < tokens &&
      unmasked(mask, i) != 1 && 0 <= e < router.experts ==>
        \is_plus_infinity(required[element(e, tokens, i)]);
    ensures value: \result == PHIBAL_OK ==> \forall integer i, e; 0 <= i < tokens &&
      unmasked(mask, i) == 1 && 0 <= e < router.experts ==>
        \is_finite(required[element(e, tokens, i)]) &&
        required_is{Pre}(router.gate, logits + place(i, router.experts), bias, router.experts,
                         router.active - 1, e,
                         (real)\at(required[element(e, tokens, i)], Post)); */
static phibal_status tokens_required_allocating(phibal_router router, int64_t tokens,
                                                const float *logits, const float *bias,
                                                const uint8_t *mask, float *required);

#endif
