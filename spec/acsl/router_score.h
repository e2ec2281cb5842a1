/* The score that the selection compares (R2), as a function of logit and bias. ACSL only. */
#ifndef PHIBAL_ACSL_ROUTER_SCORE_H
#define PHIBAL_ACSL_ROUTER_SCORE_H

#include <phibal/acsl/rounding.h>
#include <phibal/acsl/router.h>

/*@ // the number of format f that is nearest to a, as rounds_nearest says
    axiomatic NearestNumber {
      logic real nearest_number(integer f, real a);
    }
    axiomatic NearestNumberUse {
      predicate use_nearest;
      axiom nearest_used: use_nearest;
      COQ_LEMMA rounding_unique: \forall integer f, d, real a, r, s;
        PHIBAL_ROUND_NEAREST <= d <= PHIBAL_ROUND_ZERO && rounding(f, d, a, r) &&
        rounding(f, d, a, s) ==> r == s;
      // such a function exists, since a number is rounded to one number at most
      axiom nearest_number_is: \forall integer f, real a, r;
        rounding(f, PHIBAL_ROUND_NEAREST, a, r) ==> nearest_number(f, a) == r;
      COQ_LEMMA limit_above_one: \forall integer f; 1.0 < two(format_limit(f));
      COQ_LEMMA logistic_unit: \forall real a; 0.0 <= logistic(a) <= 1.0;
    }
    // the score of a logit x before the bias
    logic real plain_score(integer gate, real x) =
      gate == PHIBAL_GATE_SIGMOID ? nearest_number(PHIBAL_FORMAT_BINARY32, logistic(x)) : x;
    // the score of expert i
    logic real router_score{L}(integer gate, float *x, float *bias, integer i) =
      bias == \null
        ? plain_score(gate, (real)x[i])
        : (real)\round_double(\NearestEven, plain_score(gate, (real)x[i]) + (real)bias[i]);
*/

#endif
