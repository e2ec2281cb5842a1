/* What the selection compares (R2): contracts of two functions of reference_moe.h that add to those
   there. They stand here since nearly every unit reads that header, and would have to be proved
   anew; a unit that calls one of the two includes this. */
#ifndef PHIBAL_REFERENCE_ROUTER_SCORES_H
#define PHIBAL_REFERENCE_ROUTER_SCORES_H

#include <phibal/reference_moe.h>

/*@ // the binary64 number nearest to x + y
    predicate nearest_sum(double x, float y, double sum) =
      (real)sum == (real)\round_double(\NearestEven, (real)x + (real)y);
    // the score of the logit x with the bias b (R2)
    predicate biased_score(integer gate, real x, float b, double score) =
      \exists double u; unbiased_score(gate, x, u) && nearest_sum(u, b, score);
    // the scores of n logits; a bias may be there
    predicate scores_are{L}(integer gate, integer n, float *x, float *bias, double *score) =
      (bias == \null ==> \forall integer e; 0 <= e < n ==>
        unbiased_score(gate, (real)x[e], score[e])) &&
      (bias != \null ==> \forall integer e; 0 <= e < n ==>
        biased_score(gate, (real)x[e], bias[e], score[e]));
*/

/*@ terminates \true;
    ensures finite: \result == PHIBAL_OK ==> scores_finite(token->score, token->experts);
    ensures scores: \result == PHIBAL_OK && router->group_score == PHIBAL_GROUP_NONE ==>
      scores_are(router->gate, token->experts, logits, bias, token->score); */
phibal_status phibal_reference_token_select(phibal_reference_token *token,
                                            const phibal_router *router, const float *logits,
                                            const float *bias);

/*@ terminates \true;
    ensures finite: \result == PHIBAL_OK ==> scores_finite(token->score, token->experts);
    ensures scores: \result == PHIBAL_OK && router->group_score == PHIBAL_GROUP_NONE ==>
      scores_are(router->gate, token->experts, logits, bias, token->score); */
phibal_status phibal_reference_token_forward(phibal_reference_token *token,
                                             const phibal_router *router, const float *logits,
                                             const float *bias);

#endif
