/* The forms that the reference computes the separable potentials in, and why they are what
   potentials.h defines: equations on real numbers, a group with a key for each potential. ACSL only.
   Proved by WP's provers (LEMMA) or in Coq (COQ_LEMMA), see real.h. */
#ifndef PHIBAL_ACSL_POTENTIALS_LEMMAS_H
#define PHIBAL_ACSL_POTENTIALS_LEMMAS_H

#include <phibal/acsl/potentials.h>

/*@ axiomatic PseudoHuberSteps {
      predicate use_hypotenuse;
      axiom hypotenuse_used: use_hypotenuse;
      LEMMA hypotenuse_positive: \forall real a, x; 0.0 < a ==>
        0.0 < x * x + a * a && 0.0 < \sqrt(x * x + a * a);
      LEMMA hypotenuse_square: \forall real a, x;
        \sqrt(x * x + a * a) * \sqrt(x * x + a * a) == x * x + a * a;
      LEMMA cosine_positive: \forall real y;
        (\abs(y) <= 1.0 ==> 0.0 <= (1.0 - y) * (1.0 + y) && 0.0 <= \sqrt((1.0 - y) * (1.0 + y))) &&
        (\abs(y) < 1.0 ==> 0.0 < \sqrt((1.0 - y) * (1.0 + y)));
      LEMMA cosine_product: \forall real y; 1.0 - y * y == (1.0 - y) * (1.0 + y);
      LEMMA cosine_square: \forall real y; \abs(y) <= 1.0 ==> 0.0 <= \sqrt(1.0 - y * y) &&
        \sqrt(1.0 - y * y) * \sqrt(1.0 - y * y) == 1.0 - y * y;
      LEMMA cosine_inside: \forall real y; \abs(y) < 1.0 ==> 0.0 < \sqrt(1.0 - y * y);
    }
    axiomatic PseudoHuberUse {
      predicate use_pseudo_huber;
      axiom pseudo_huber_used: use_pseudo_huber;
      LEMMA pseudo_huber_value_form: GIVEN(use_hypotenuse) \forall real a, x; 0.0 < a ==>
        pseudo_huber_value(a, x) == x * x / (\sqrt(x * x + a * a) + a);
      LEMMA pseudo_huber_conjugate_form: GIVEN(use_hypotenuse) \forall real a, y; \abs(y) <= 1.0 ==>
        pseudo_huber_conjugate(a, y) == y * y * a / (\sqrt(1.0 - y * y) + 1.0);
    }
*/
#endif
