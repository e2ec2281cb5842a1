/* What the selection compares, as numbers: the scores that rank counts (R2). Proofs only. */
#ifndef PHIBAL_REFERENCE_ROUTER_RANKS_H
#define PHIBAL_REFERENCE_ROUTER_RANKS_H

#include <phibal/acsl/contracts/inside/router_scores.h>
#ifdef __FRAMAC__
#include <phibal/acsl/selection_rank.h>
#endif

/*@ ghost
  /@ terminates \true;
     exits \false;
     assigns \nothing;
     ensures plain: \forall integer gate, real x, double u; unbiased_score(gate, x, u) ==>
       (real)u == plain_score(gate, x);
     ensures biased: \forall integer gate, real x, float b, double score;
       biased_score(gate, x, b, score) ==>
         (real)score == (real)\round_double(\NearestEven, plain_score(gate, x) + (real)b); @/
  static void score_of_router(void) {
    /@ assert use_whole_doubles && use_rounding && use_nearest; @/
    /@ assert between: \forall real x, r;
         rounding(PHIBAL_FORMAT_BINARY32, PHIBAL_ROUND_NEAREST, logistic(x), r) ==>
           0.0 <= r <= 1.0; @/
    /@ assert finite: \forall real x, double u;
         rounded_to(PHIBAL_FORMAT_BINARY32, PHIBAL_ROUND_NEAREST, logistic(x), u) ==>
           \is_finite(u); @/
    /@ assert plain: \forall integer gate, real x, double u; unbiased_score(gate, x, u) ==>
         (real)u == plain_score(gate, x); @/
    /@ assert sum: \forall integer gate, real x, float b, double u, score;
         unbiased_score(gate, x, u) && nearest_sum(u, b, score) ==>
           (real)score == (real)\round_double(\NearestEven, plain_score(gate, x) + (real)b); @/
  }

  /@ requires 0 <= n && scores_are(gate, n, x, bias, score);
     terminates \true;
     exits \false;
     assigns \nothing;
     ensures scores_hold(score, gate, x, bias, n); @/
  static void scores_of_router(phibal_gate gate, int32_t n, const float *x, const float *bias,
                               const double *score) {
    score_of_router();
    /@ assert unbiased: bias == \null ==> \forall integer e; 0 <= e < n ==>
         (real)score[e] == router_score(gate, x, bias, e); @/
    /@ assert biased: bias != \null ==> \forall integer e; 0 <= e < n ==>
         (real)score[e] == router_score(gate, x, bias, e); @/
  }
*/

#endif
