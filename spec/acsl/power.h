/* Facts about powers that proofs use. ACSL only. */
#ifndef PHIBAL_ACSL_POWER_H
#define PHIBAL_ACSL_POWER_H

#include <phibal/acsl/real.h>

/*@ // raised(x, y) is power(x, y) under a name that provers match on
    axiomatic Raised {
      logic real raised(real x, real y);
    }
    axiomatic RaisedDefinition {
      predicate open_raised;
      axiom raised_opened: open_raised;
      axiom raised_is: \forall real x, y; raised(x, y) == power(x, y);
    }
    axiomatic RaisedSteps {
      predicate use_raised_steps;
      axiom raised_steps_used: use_raised_steps;
      LEMMA log_signs: GIVEN(use_log) \forall real x;
        (1.0 <= x ==> 0.0 <= \log(x)) && (0.0 < x <= 1.0 ==> \log(x) <= 0.0);
      // in the base it increases for exponents >= 0 and decreases for exponents <= 0; in the
      // exponent it increases for bases >= 1 and decreases for bases <= 1
      LEMMA raised_base_up: GIVEN(open_raised && use_log && use_exp) \forall real a, p, b;
        0.0 <= a <= p && 0.0 <= b ==> raised(a, b) <= raised(p, b);
      LEMMA raised_base_down: GIVEN(open_raised && use_log && use_exp) \forall real a, p, b;
        0.0 <= a <= p && b <= 0.0 && (0.0 < a || 0.0 <= b) ==> raised(p, b) <= raised(a, b);
      LEMMA raised_exponent_up: GIVEN(open_raised && use_log && use_exp) \forall real a, b, q;
        1.0 <= a && b <= q ==> raised(a, b) <= raised(a, q);
      LEMMA raised_exponent_down: GIVEN(open_raised && use_log && use_exp) \forall real a, b, q;
        0.0 <= a <= 1.0 && b <= q && (0.0 < a || 0.0 <= b) ==> raised(a, q) <= raised(a, b);
      LEMMA raised_sign: GIVEN(open_raised && use_exp) \forall real a, b; 0.0 <= raised(a, b);
    }
    axiomatic RaisedUse {
      predicate use_raised;
      axiom raised_used: use_raised;
      LEMMA raised_nonnegative: GIVEN(use_raised_steps) \forall real a, b; 0.0 <= raised(a, b);
      // a power between powers of bounds, by the sign of the exponent
      LEMMA raised_lower: GIVEN(use_raised_steps) \forall real a, b, p, q;
        0.0 <= p <= a && 0.0 <= b && (1.0 <= p ? q <= b : b <= q) ==>
          raised(p, q) <= raised(a, b);
      LEMMA raised_upper: GIVEN(use_raised_steps) \forall real a, b, p, q;
        0.0 <= a <= p && 0.0 <= b && (1.0 <= p ? b <= q : 0.0 <= q <= b) ==>
          raised(a, b) <= raised(p, q);
      LEMMA raised_lower_negative: GIVEN(use_raised_steps) \forall real a, b, p, q;
        0.0 <= a <= p && b <= 0.0 && (0.0 < a || 0.0 <= b) &&
        (1.0 <= p ? q <= b : b <= q <= 0.0) ==> raised(p, q) <= raised(a, b);
      LEMMA raised_upper_negative: GIVEN(use_raised_steps) \forall real a, b, p, q;
        0.0 < p <= a && b <= 0.0 && (1.0 <= p ? b <= q : q <= b) ==>
          raised(a, b) <= raised(p, q);
    }
    axiomatic RaisedMixedUse {
      predicate use_raised_mixed;
      axiom raised_mixed_used: use_raised_mixed;
      // the same for exponents of any sign, by the side of 1 that the base lies on
      LEMMA raised_lower_small: GIVEN(use_raised_steps) \forall real a, b, p, q;
        0.0 <= p <= a <= 1.0 && b <= q && 0.0 <= q && (0.0 < a || 0.0 <= b) ==>
          raised(p, q) <= raised(a, b);
      LEMMA raised_upper_small: GIVEN(use_raised_steps) \forall real a, b, p, q;
        0.0 < p <= a <= 1.0 && q <= b && q <= 0.0 ==> raised(a, b) <= raised(p, q);
      LEMMA raised_lower_great: GIVEN(use_raised_steps) \forall real a, b, p, q;
        1.0 <= a <= p && q <= b && q <= 0.0 ==> raised(p, q) <= raised(a, b);
      LEMMA raised_upper_great: GIVEN(use_raised_steps) \forall real a, b, p, q;
        1.0 <= a <= p && b <= q && 0.0 <= q ==> raised(a, b) <= raised(p, q);
    }
*/
#endif
