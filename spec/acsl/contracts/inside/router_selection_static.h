/* What the static functions of reference/router_selection.c promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_ROUTER_SELECTION_STATIC_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_ROUTER_SELECTION_STATIC_H

#ifdef __FRAMAC__
#include <phibal/acsl/selection.h>
#endif

/*@ requires \is_finite(x) && \valid(score) && MPFR_PREC_MIN <= precision <= MPFR_PREC_MAX;
    terminates \true;
    exits \false;
    assigns *score;
    ensures frame: \forall phibal_enclosure *r; \valid_read{Pre}(r) ==> same{Pre, Here}(r);
    ensures \result ==> rounded_to(PHIBAL_FORMAT_BINARY32, PHIBAL_ROUND_NEAREST, logistic((real)x),
                                   *score); */
static bool sigmoid_rounds(float x, mpfr_prec_t precision, double *score);

/*@ requires token_scratch(t) && \is_finite(x) && \valid(score);
    terminates \true;
    exits \false;
    assigns *score, t->term, t->factor;
    ensures enclosure(&t->factor) && enclosure(&t->term);
    ensures only_two_written{Pre, Here}(&t->term, &t->factor);
    ensures \result == PHIBAL_OK ==> rounded_to(PHIBAL_FORMAT_BINARY32, PHIBAL_ROUND_NEAREST,
                                                logistic((real)x), *score); */
static phibal_status sigmoid_score(phibal_reference_token *t, float x, double *score);

/*@ requires \is_finite(bias);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \is_finite(\result) ==> nearest_sum(x, bias, \result); */
static double score_sum(double x, float bias);

/*@ requires token_scratch(t) && \valid_read(router) && \valid(score);
    requires \is_finite(x) && (bias != \null ==> \valid_read(bias) && \is_finite(*bias));
    terminates \true;
    exits \false;
    assigns *score, t->term, t->factor;
    ensures enclosure(&t->factor) && enclosure(&t->term);
    ensures only_two_written{Pre, Here}(&t->term, &t->factor);
    ensures \result == PHIBAL_OK ==> \is_finite(*score);
    ensures unbiased: \result == PHIBAL_OK && bias == \null ==>
      unbiased_score(router->gate, (real)x, *score);
    ensures biased: \result == PHIBAL_OK && bias != \null ==>
      biased_score(router->gate, (real)x, *bias, *score); */
static phibal_status token_score(phibal_reference_token *t, const phibal_router *router, float x,
                                 const float *bias, double *score);

/*@ requires token_scratch(t) && \valid_read(router) && 0 <= n;
    requires \valid_read(logits + (0 .. n - 1)) && finite_floats(logits, n);
    requires bias != \null ==> \valid_read(bias + (0 .. n - 1)) && finite_floats(bias, n);
    requires \valid(score + (0 .. n - 1));
    terminates \true;
    exits \false;
    assigns score[0 .. n - 1], t->term, t->factor;
    ensures enclosure(&t->factor) && enclosure(&t->term);
    ensures only_two_written{Pre, Here}(&t->term, &t->factor);
    ensures \result == PHIBAL_OK ==> scores_finite(score, n);
    ensures scores: \result == PHIBAL_OK ==> scores_are(router->gate, n, logits, bias, score); */
static phibal_status token_scores(phibal_reference_token *t, const phibal_router *router, int32_t n,
                                  const float *logits, const float *bias, double *score);

/*@ requires \valid_read(score + i) && \valid_read(score + j);
    requires \is_finite(score[i]) && \is_finite(score[j]);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result <==> precedes(score, i, j); */
static bool score_precedes(const double *score, int32_t i, int32_t j);

/*@ requires 0 <= experts && -1 <= previous < experts;
    requires \valid_read(score + (0 .. experts - 1)) && scores_finite(score, experts);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == -1 || next(score, experts, previous, \result);
    ensures \result == -1 ==> \forall integer e; 0 <= e < experts ==>
      previous >= 0 && !precedes(score, previous, e); */
static int32_t score_next(int32_t experts, const double *score, int32_t previous);

/*@ requires 1 <= active <= experts;
    requires \valid_read(score + (0 .. experts - 1)) && scores_finite(score, experts);
    requires \valid(selected + (0 .. active - 1));
    terminates \true;
    exits \false;
    assigns selected[0 .. active - 1];
    ensures selection(score, experts, active, selected);
    ensures \forall integer s; 0 <= s < active ==> 0 <= selected[s] < experts; */
static void score_select(int32_t experts, int32_t active, const double *score, int32_t *selected);

/*@ // groups of `each` experts, of which `summed` are added, and the best `groups_active` are left
    predicate groups_are(integer experts, integer groups, integer each, integer summed,
                         integer groups_active) =
      1 <= each && 1 <= groups && groups * each == experts && 1 <= summed <= each &&
      1 <= groups_active <= groups;
    // what is left of the scores: each one, or what is below all
    predicate scores_left{A, B}(double *score, integer n) =
      \forall integer e; 0 <= e < n ==>
        \at(score[e], B) == \at(score[e], A) || \at(score[e], B) == SCORE_OUTSIDE;
*/

/*@ requires \valid_read(router) && \valid(each) && \valid(summed) && \separated(each, summed);
    requires \separated(router, each) && \separated(router, summed);
    requires 1 <= active <= experts <= PHIBAL_MAX_EXPERTS;
    terminates \true;
    exits \false;
    assigns *each, *summed;
    ensures \result == PHIBAL_OK ==>
      groups_are(experts, router->groups, *each, *summed, router->active_groups); */
static phibal_status groups_check(const phibal_router *router, int32_t experts, int32_t active,
                                  int32_t *each, int32_t *summed);

/*@ requires 1 <= summed <= each <= PHIBAL_MAX_EXPERTS && \valid(sum);
    requires \valid_read(score + (0 .. each - 1)) && scores_finite(score, each);
    terminates \true;
    exits \false;
    assigns *sum;
    ensures \result == PHIBAL_OK ==> \is_finite(*sum); */
static phibal_status group_sum(int32_t each, int32_t summed, const double *score, double *sum);

/*@ requires groups_are(groups * each, groups, each, summed, 1);
    requires groups * each <= PHIBAL_MAX_EXPERTS && each <= PHIBAL_MAX_EXPERTS;
    requires \valid_read(score + (0 .. groups * each - 1)) && scores_finite(score, groups * each);
    requires \valid(sum + (0 .. groups - 1));
    requires \separated(score + (0 .. groups * each - 1), sum + (0 .. groups - 1));
    terminates \true;
    exits \false;
    assigns sum[0 .. groups - 1];
    ensures \result == PHIBAL_OK ==> scores_finite(sum, groups); */
static phibal_status groups_sums(int32_t groups, int32_t each, int32_t summed, const double *score,
                                 double *sum);

/*@ requires groups_are(experts, groups, each, summed, best);
    requires experts <= PHIBAL_MAX_EXPERTS;
    requires \valid(score + (0 .. experts - 1)) && scores_finite(score, experts);
    terminates \true;
    exits \false;
    assigns score[0 .. experts - 1];
    ensures finite: \result == PHIBAL_OK ==> scores_finite(score, experts);
    ensures left: \result == PHIBAL_OK ==> scores_left{Pre, Here}(score, experts); */
static phibal_status groups_leave(int32_t experts, int32_t groups, int32_t each, int32_t summed,
                                  int32_t best, double *score);

/*@ requires \valid_read(router);
    terminates \true;
    exits \false;
    assigns \nothing; */
static phibal_status groups_absent(const phibal_router *router);

/*@ requires \valid_read(router) && 1 <= active <= experts <= PHIBAL_MAX_EXPERTS;
    requires \valid(score + (0 .. experts - 1)) && scores_finite(score, experts);
    terminates \true;
    exits \false;
    assigns score[0 .. experts - 1];
    ensures finite: \result == PHIBAL_OK ==> scores_finite(score, experts);
    ensures left: \result == PHIBAL_OK ==> scores_left{Pre, Here}(score, experts); */
static phibal_status scores_group(const phibal_router *router, int32_t experts, int32_t active,
                                  double *score);

/*@ requires token_ready(t) && \valid_read(router);
    requires \valid_read(logits + (0 .. t->experts - 1)) && finite_floats(logits, t->experts);
    requires bias != \null ==>
      \valid_read(bias + (0 .. t->experts - 1)) && finite_floats(bias, t->experts);
    terminates \true;
    exits \false;
    assigns t->selection[0 .. t->active - 1], t->score[0 .. t->experts - 1], t->term, t->factor;
    ensures same: token_same{Pre, Here}(t);
    ensures scratch: token_scratch(t);
    ensures vectors: token_vectors(t);
    ensures frame: only_two_written{Pre, Here}(&t->term, &t->factor);
    ensures ranking: \result == PHIBAL_OK ==>
      selection(t->score, t->experts, t->active, t->selection) &&
      (\forall integer s; 0 <= s < t->active ==> 0 <= t->selection[s] < t->experts);
    ensures finite: \result == PHIBAL_OK ==> scores_finite(t->score, t->experts);
    ensures scores: \result == PHIBAL_OK && router->group_score == PHIBAL_GROUP_NONE ==>
      scores_are(router->gate, t->experts, logits, bias, t->score); */
static phibal_status token_select(phibal_reference_token *t, const phibal_router *router,
                                  const float *logits, const float *bias);

#endif
