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
      logic real expm1_square(real x);
      logic real cosh_excess(real x);
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
    axiomatic CoshExcess {
      predicate open_cosh_excess;
      axiom cosh_excess_opened: open_cosh_excess;
      axiom expm1_square_is: \forall real x;
        expm1_square(x) == (e(x) - 1.0) * (e(x) - 1.0);
      axiom cosh_excess_is: \forall real x;
        cosh_excess(x) == expm1_square(x) / e(x);
    }
    axiomatic LogCoshUse {
      predicate use_log_cosh;
      axiom log_cosh_used: use_log_cosh;
      axiom log_of_cosh_is: \forall real x; log_of_cosh(x) == \log(cosh(x));
      COQ_LEMMA log_of_cosh_far: \forall real x;
        log_of_cosh(x) == \log(1.0 + e(-(x * 2.0))) + (x - \log(2.0));
      COQ_LEMMA log_of_cosh_near: \forall real x;
        0.0 <= cosh_excess(x) && log_of_cosh(x) == \log(1.0 + cosh_excess(x) / 2.0);
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

    // s - log(1 + s), of which soft-l1 and its conjugate are made
    axiomatic Remainder {
      logic real remainder(real s);
    }
    axiomatic RemainderDefinition {
      predicate open_remainder;
      axiom remainder_opened: open_remainder;
      axiom remainder_is: \forall real s; remainder(s) == s - \log(1.0 + s);
    }
    axiomatic RemainderUse {
      predicate use_remainder;
      axiom remainder_used: use_remainder;
      COQ_LEMMA remainder_rises: \forall real a, b; 0.0 <= a <= b ==> remainder(a) <= remainder(b);
      COQ_LEMMA remainder_falls: \forall real a, b;
        -1.0 < a <= b && b <= 0.0 ==> remainder(b) <= remainder(a);
      COQ_LEMMA remainder_near_zero: \forall real s; \abs(s) < 0.5 ==>
        s * s / 2.0 - \abs(s) * \abs(s) * \abs(s) <= remainder(s) &&
        remainder(s) <= s * s / 2.0 + \abs(s) * \abs(s) * \abs(s);
    }
    axiomatic PowersOfTwoUse {
      predicate use_powers_of_two;
      axiom powers_of_two_used: use_powers_of_two;
      COQ_LEMMA power_of_two_least: \forall integer n; 1 <= n ==> 2.0 <= power_of_two(n);
    }
    axiomatic SoftL1Use {
      predicate use_soft_l1;
      axiom soft_l1_used: use_soft_l1;
      COQ_LEMMA soft_l1_value_form: \forall real a, x; 0.0 < a ==>
        soft_l1_value(a, x) == remainder(\abs(x / a)) * a;
      COQ_LEMMA soft_l1_conjugate_form: \forall real a, y;
        soft_l1_conjugate(a, y) == remainder(-\abs(y)) * a;
    }

    // sgn(x) |x|^q
    axiomatic OddPower {
      logic real odd_power(real x, real q);
    }
    axiomatic OddPowerDefinition {
      predicate open_odd_power;
      axiom odd_power_opened: open_odd_power;
      axiom odd_power_is: \forall real x, q;
        odd_power(x, q) == (x < 0.0 ? -power(\abs(x), q) : power(\abs(x), q));
    }
    axiomatic LpUse {
      predicate use_lp;
      axiom lp_used: use_lp;
      LEMMA lp_gradient_form: GIVEN(open_odd_power) \forall real p, x; 1.0 < p ==>
        lp_gradient(p, x) == odd_power(x, p - 1.0);
      LEMMA lp_conjugate_gradient_form: GIVEN(open_odd_power) \forall real p, y; 1.0 < p ==>
        0.0 < 1.0 / (p - 1.0) && lp_conjugate_gradient(p, y) == odd_power(y, 1.0 / (p - 1.0));
      LEMMA lp_conjugate_exponent: \forall real p; 1.0 < p ==> 0.0 < p / (p - 1.0);
    }

    // (x^b - 1) / b, of which Tsallis is made, and the base of its conjugate's powers: less 1, and
    // without its negative part
    axiomatic Tsallis {
      logic real deformed_log(real b, real x);
      logic real tsallis_excess(real a, real y);
      logic real cut_base(real a, real y);
    }
    axiomatic DeformedLogDefinition {
      predicate open_deformed_log;
      axiom deformed_log_opened: open_deformed_log;
      axiom deformed_log_is: \forall real b, x; deformed_log(b, x) == (power(x, b) - 1.0) / b;
    }
    axiomatic PowerUse {
      predicate use_power;
      axiom power_used: use_power;
      LEMMA power_by_e: GIVEN(use_exp) \forall real x, b; 0.0 < x ==>
        power(x, b) == e(\log(x) * b);
    }
    axiomatic TsallisUse {
      predicate use_tsallis;
      axiom tsallis_used: use_tsallis;
      COQ_LEMMA tsallis_value_form: \forall real a, x; a != 1.0 && 0.0 < x ==>
        tsallis_value(a, x) == deformed_log(a - 1.0, x) * x;
      LEMMA tsallis_value_zero: \forall real a; 0.0 < a && a != 1.0 ==>
        tsallis_value(a, 0.0) == 0.0;
      COQ_LEMMA tsallis_gradient_form: \forall real a, x; a != 1.0 && 0.0 < x ==>
        tsallis_gradient(a, x) == deformed_log(a - 1.0, x) * a + 1.0;
      LEMMA tsallis_gradient_zero: \forall real a; 1.0 < a ==>
        tsallis_gradient(a, 0.0) == -1.0 / (a - 1.0);
    }
    axiomatic TsallisDualDefinition {
      predicate open_tsallis_dual;
      axiom tsallis_dual_opened: open_tsallis_dual;
      axiom tsallis_excess_is: \forall real a, y;
        tsallis_excess(a, y) == (y - 1.0) * (a - 1.0) / a;
      axiom cut_base_is: \forall real a, y;
        cut_base(a, y) == (tsallis_base(a, y) > 0.0 ? tsallis_base(a, y) : 0.0);
    }
    axiomatic TsallisDualUse {
      predicate use_tsallis_dual;
      axiom tsallis_dual_used: use_tsallis_dual;
      COQ_LEMMA tsallis_near_one: \forall real a, y, q; 0.0 < a && 0.0 < cut_base(a, y) ==>
        -1.0 < tsallis_excess(a, y) &&
        power(cut_base(a, y), q) == e(\log(1.0 + tsallis_excess(a, y)) * q);
      LEMMA cut_base_nonnegative: GIVEN(open_tsallis_dual) \forall real a, y;
        0.0 <= cut_base(a, y) && (0.0 < cut_base(a, y) <==> 0.0 < tsallis_base(a, y));
      LEMMA tsallis_conjugate_form: GIVEN(open_tsallis_dual) \forall real a, y;
        tsallis_conjugate(a, y) == power(cut_base(a, y), a / (a - 1.0));
      LEMMA tsallis_conjugate_gradient_form: GIVEN(open_tsallis_dual) \forall real a, y;
        tsallis_conjugate_gradient(a, y) == power(cut_base(a, y), 1.0 / (a - 1.0));
      LEMMA tsallis_exponents: \forall real a; 0.0 < a ==>
        (1.0 < a ==> 0.0 < a / (a - 1.0) && 0.0 < 1.0 / (a - 1.0)) &&
        (a < 1.0 ==> a / (a - 1.0) < 0.0);
    }
*/
#endif
