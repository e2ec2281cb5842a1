/* The logic of scores that are square roots of softplus (R5s). ACSL only. */
#ifndef PHIBAL_ACSL_SOFTPLUS_SCORE_H
#define PHIBAL_ACSL_SOFTPLUS_SCORE_H

#include <phibal/acsl/router.h>

/*@ logic real softplus_of(real a) = \log(1.0 + e(a));
    // for a < 0 over e(a): never near 0
    logic real softplus_relative(real a) = a < 0.0 ? softplus_of(a) / e(a) : softplus_of(a);
    // the derivative of log sqrt(softplus_of(a)), (R5s)
    logic real softplus_slope(real a) = logistic(a) / (2.0 * softplus_of(a));
    axiomatic SoftplusScore {
      predicate use_softplus;
      axiom softplus_used: use_softplus;
      COQ_LEMMA softplus_relative_positive: \forall real a; 0.0 < softplus_relative(a);
      COQ_LEMMA softplus_relative_near_one: \forall real a; a < 0.0 ==>
        1.0 - e(a) <= softplus_relative(a) <= 1.0;
      COQ_LEMMA softplus_of_reflected: \forall real a; \log(1.0 + e(-a)) + a == softplus_of(a);
      COQ_LEMMA softplus_rescaled: \forall real a, r, d; d == (a < 0.0 ? a : 0.0) - r ==>
        softplus_relative(a) * e(d) == softplus_of(a) * shrink(r) &&
        0.0 <= softplus_of(a) * shrink(r);
      COQ_LEMMA softplus_slope_relative: \forall real a;
        logistic(\abs(a)) / (2.0 * softplus_relative(a)) == softplus_slope(a);
    }
*/

#endif
