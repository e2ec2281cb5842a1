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

    // e^(-|x|), in terms of which softplus overflows nowhere
    axiomatic Decay {
      logic real decay(real x);
    }
    axiomatic DecayDefinition {
      predicate open_decay;
      axiom decay_opened: open_decay;
      axiom decay_is: \forall real x; decay(x) == e(-\abs(x));
    }
    axiomatic SoftplusUse {
      predicate use_softplus;
      axiom softplus_used: use_softplus;
      LEMMA decay_positive: GIVEN(open_decay && use_exp) \forall real x; 0.0 < decay(x);
      COQ_LEMMA softplus_value_form: \forall real a, x;
        softplus_value(a, x) == (x > 0.0 ? x : 0.0) + \log(1.0 + decay(x));
      COQ_LEMMA softplus_gradient_form: \forall real a, x;
        softplus_gradient(a, x) ==
          (x >= 0.0 ? 1.0 / (1.0 + decay(x)) : decay(x) / (1.0 + decay(x)));
      COQ_LEMMA softplus_second_form: \forall real a, x;
        softplus_second(a, x) == decay(x) / ((1.0 + decay(x)) * (1.0 + decay(x)));
      COQ_LEMMA softplus_conjugate_gradient_near_half: \forall real a, y; 0.0 < y < 1.0 ==>
        -1.0 < (2.0 * y - 1.0) / (1.0 - y) &&
        softplus_conjugate_gradient(a, y) == \log(1.0 + (2.0 * y - 1.0) / (1.0 - y));
      COQ_LEMMA softplus_conjugate_gradient_split: \forall real a, y; 0.0 < y < 1.0 ==>
        softplus_conjugate_gradient(a, y) == \log(y) - \log(1.0 + -y);
      LEMMA softplus_conjugate_form: \forall real a, y; 0.0 < y < 1.0 ==>
        softplus_conjugate(a, y) == y * \log(y) + (1.0 - y) * \log(1.0 + -y);
    }

    // the parts of log-cosh, under names that provers match on
    axiomatic LogCosh {
      logic real log_of_cosh(real x);
      logic real cosh_less_one(real x);
      logic real log_cosh_decay(real a, real x);
      logic real twice_artanh(real y);
      logic real symmetric_entropy(real y);
    }
    axiomatic LogCoshDecay {
      predicate open_log_cosh_decay;
      axiom log_cosh_decay_opened: open_log_cosh_decay;
      axiom log_cosh_decay_is: \forall real a, x;
        log_cosh_decay(a, x) == e(-(\abs(x) * a * 2.0));
    }
    axiomatic TwiceArtanh {
      predicate open_twice_artanh;
      axiom twice_artanh_opened: open_twice_artanh;
      axiom twice_artanh_is: \forall real y;
        twice_artanh(y) == \log(1.0 + y) - \log(1.0 + -y);
    }
    axiomatic SymmetricEntropy {
      predicate open_symmetric_entropy;
      axiom symmetric_entropy_opened: open_symmetric_entropy;
      axiom symmetric_entropy_is: \forall real y;
        symmetric_entropy(y) == x_log_x(1.0 + y) + x_log_x(1.0 - y);
    }
    axiomatic SymmetricEntropyUse {
      predicate use_symmetric_entropy;
      axiom symmetric_entropy_used: use_symmetric_entropy;
      COQ_LEMMA symmetric_entropy_near_zero: \forall real y; \abs(y) < 1.0 ==>
        -(y * y) > -1.0 &&
        symmetric_entropy(y) == twice_artanh(y) * y + \log(1.0 + -(y * y));
    }
    axiomatic LogCoshUse {
      predicate use_log_cosh;
      axiom log_cosh_used: use_log_cosh;
      axiom log_of_cosh_is: \forall real x; log_of_cosh(x) == \log(cosh(x));
      axiom cosh_less_one_is: \forall real x;
        cosh_less_one(x) == (e(x) - 1.0) * (e(x) - 1.0) / e(x) / 2.0;
      COQ_LEMMA log_of_cosh_far: \forall real x;
        log_of_cosh(x) == \log(1.0 + e(-(x * 2.0))) + (x - \log(2.0));
      COQ_LEMMA log_of_cosh_near: \forall real x;
        0.0 <= cosh_less_one(x) && log_of_cosh(x) == \log(1.0 + cosh_less_one(x));
      COQ_LEMMA log_cosh_value_form: \forall real a, x; 0.0 < a ==>
        log_cosh_value(a, x) == log_of_cosh(\abs(x) * a) / a;
      COQ_LEMMA log_cosh_second_form: \forall real a, x; 0.0 < a ==>
        0.0 < log_cosh_decay(a, x) &&
        log_cosh_second(a, x) == log_cosh_decay(a, x) * a * 4.0 /
          ((1.0 + log_cosh_decay(a, x)) * (1.0 + log_cosh_decay(a, x)));
    }
    axiomatic LogCoshDualUse {
      predicate use_log_cosh_dual;
      axiom log_cosh_dual_used: use_log_cosh_dual;
      COQ_LEMMA log_cosh_conjugate_form: \forall real a, y; 0.0 < a ==>
        log_cosh_conjugate(a, y) == symmetric_entropy(y) / 2.0 / a;
      COQ_LEMMA log_cosh_conjugate_gradient_form: \forall real a, y; 0.0 < a && \abs(y) < 1.0 ==>
        log_cosh_conjugate_gradient(a, y) == twice_artanh(y) / 2.0 / a;
    }
*/
#endif
