/* The separable potentials on real numbers, as SPEC.md (P1) to (P5) and (P7) to (P9) have them, with
   lp at p = 1: value, gradient, second derivative, conjugate, the conjugate's gradient. ACSL only.

   a is the parameter; potentials without one ignore it. NAME(a, x) is meant where NAME_inside(a, x)
   holds, and has some real value elsewhere. A value and a conjugate are +inf where not inside; so is
   a second derivative where NAME_infinite(a, x) holds. Elsewhere a derivative does not exist.
   proofs/coq has the same functions in Potentials.v. */
#ifndef PHIBAL_ACSL_POTENTIALS_H
#define PHIBAL_ACSL_POTENTIALS_H

#include <phibal/acsl/real.h>

/*@ // -1, 0 or 1
    logic real sgn(real x) = x > 0.0 ? 1.0 : (x < 0.0 ? -1.0 : 0.0);
    // x log x with 0 log 0 = 0
    logic real x_log_x(real x) = x > 0.0 ? x * \log(x) : 0.0;
    logic real sigmoid(real x) = 1.0 / (1.0 + \exp(-x));
    logic real cosh(real x) = (\exp(x) + \exp(-x)) / 2.0;

    // (P1) euclid
    logic real euclid_value(real a, real x) = x * x / 2.0;
    logic real euclid_gradient(real a, real x) = x;
    logic real euclid_second(real a, real x) = 1.0;
    logic real euclid_conjugate(real a, real y) = y * y / 2.0;
    logic real euclid_conjugate_gradient(real a, real y) = y;
    predicate euclid_valid(real a) = \true;

    // (P2) lp, p > 1
    logic real lp_value(real p, real x) = power(\abs(x), p) / p;
    logic real lp_gradient(real p, real x) = sgn(x) * power(\abs(x), p - 1.0);
    logic real lp_second(real p, real x) = (p - 1.0) * power(\abs(x), p - 2.0);
    logic real lp_conjugate(real p, real y) = power(\abs(y), p / (p - 1.0)) * (p - 1.0) / p;
    logic real lp_conjugate_gradient(real p, real y) = sgn(y) * power(\abs(y), 1.0 / (p - 1.0));
    predicate lp_second_inside(real p, real x) = x != 0.0 || 2.0 <= p;
    predicate lp_second_infinite(real p, real x) = x == 0.0 && p < 2.0;
    predicate lp_valid(real p) = 1.0 < p;

    // (P2.1) lp, p = 1
    logic real lp_one_value(real p, real x) = \abs(x);
    logic real lp_one_gradient(real p, real x) = sgn(x);
    logic real lp_one_second(real p, real x) = 0.0;
    logic real lp_one_conjugate(real p, real y) = 0.0;
    logic real lp_one_conjugate_gradient(real p, real y) = 0.0;
    predicate lp_one_gradient_inside(real p, real x) = x != 0.0;
    predicate lp_one_second_inside(real p, real x) = x != 0.0;
    predicate lp_one_conjugate_inside(real p, real y) = \abs(y) <= 1.0;
    predicate lp_one_conjugate_gradient_inside(real p, real y) = \abs(y) < 1.0;
    predicate lp_one_valid(real p) = \true;

    // (P3) soft-l1, a = delta > 0
    logic real soft_l1_value(real a, real x) = \abs(x) - a * \log(\abs(x) / a + 1.0);
    logic real soft_l1_gradient(real a, real x) = x / (\abs(x) + a);
    logic real soft_l1_second(real a, real x) = a / ((\abs(x) + a) * (\abs(x) + a));
    logic real soft_l1_conjugate(real a, real y) = -a * (\abs(y) + \log(1.0 - \abs(y)));
    logic real soft_l1_conjugate_gradient(real a, real y) = a * y / (1.0 - \abs(y));
    predicate soft_l1_conjugate_inside(real a, real y) = \abs(y) < 1.0;
    predicate soft_l1_conjugate_gradient_inside(real a, real y) = \abs(y) < 1.0;
    predicate soft_l1_valid(real a) = 0.0 < a;

    // (P4) negentropy
    logic real negentropy_value(real a, real x) = x_log_x(x);
    logic real negentropy_gradient(real a, real x) = \log(x) + 1.0;
    logic real negentropy_second(real a, real x) = x != 0.0 ? 1.0 / x : 0.0;
    logic real negentropy_conjugate(real a, real y) = \exp(y - 1.0);
    logic real negentropy_conjugate_gradient(real a, real y) = \exp(y - 1.0);
    predicate negentropy_value_inside(real a, real x) = 0.0 <= x;
    predicate negentropy_gradient_inside(real a, real x) = 0.0 < x;
    predicate negentropy_second_inside(real a, real x) = 0.0 < x;
    predicate negentropy_valid(real a) = \true;

    // (P5) tsallis, a > 0, a != 1; a power of a base below 0 is that of 0
    logic real tsallis_base(real a, real y) = (1.0 + (a - 1.0) * y) / a;
    logic real tsallis_value(real a, real x) = (power(x, a) - x) / (a - 1.0);
    logic real tsallis_gradient(real a, real x) = (a * power(x, a - 1.0) - 1.0) / (a - 1.0);
    logic real tsallis_second(real a, real x) = a * power(x, a - 2.0);
    logic real tsallis_conjugate(real a, real y) = power(tsallis_base(a, y), a / (a - 1.0));
    logic real tsallis_conjugate_gradient(real a, real y) =
      power(tsallis_base(a, y), 1.0 / (a - 1.0));
    predicate tsallis_value_inside(real a, real x) = 0.0 <= x;
    predicate tsallis_gradient_inside(real a, real x) = 0.0 < x || (x == 0.0 && 1.0 < a);
    predicate tsallis_second_inside(real a, real x) = 0.0 < x || (x == 0.0 && 2.0 <= a);
    predicate tsallis_second_infinite(real a, real x) = x == 0.0 && 1.0 < a && a < 2.0;
    predicate tsallis_conjugate_inside(real a, real y) = 1.0 < a || 0.0 < tsallis_base(a, y);
    predicate tsallis_conjugate_gradient_inside(real a, real y) =
      1.0 < a || 0.0 < tsallis_base(a, y);
    predicate tsallis_valid(real a) = 0.0 < a && a != 1.0;

    // (P7) pseudo-huber, a = delta > 0; u^(3/2) is u sqrt(u)
    logic real pseudo_huber_value(real a, real x) = \sqrt(x * x + a * a) - a;
    logic real pseudo_huber_gradient(real a, real x) = x / \sqrt(x * x + a * a);
    logic real pseudo_huber_second(real a, real x) =
      a * a / ((x * x + a * a) * \sqrt(x * x + a * a));
    logic real pseudo_huber_conjugate(real a, real y) = a - a * \sqrt(1.0 - y * y);
    logic real pseudo_huber_conjugate_gradient(real a, real y) = a * y / \sqrt(1.0 - y * y);
    predicate pseudo_huber_conjugate_inside(real a, real y) = \abs(y) <= 1.0;
    predicate pseudo_huber_conjugate_gradient_inside(real a, real y) = \abs(y) < 1.0;
    predicate pseudo_huber_valid(real a) = 0.0 < a;

    // (P8) log-cosh, a = beta > 0; artanh(y) is log((1 + y)/(1 - y))/2
    logic real log_cosh_value(real a, real x) = \log(cosh(a * x)) / a;
    logic real log_cosh_gradient(real a, real x) = tanh(a * x);
    logic real log_cosh_second(real a, real x) = a / (cosh(a * x) * cosh(a * x));
    logic real log_cosh_conjugate(real a, real y) =
      (x_log_x(1.0 + y) + x_log_x(1.0 - y)) / (2.0 * a);
    logic real log_cosh_conjugate_gradient(real a, real y) =
      \log((1.0 + y) / (1.0 - y)) / (2.0 * a);
    predicate log_cosh_conjugate_inside(real a, real y) = \abs(y) <= 1.0;
    predicate log_cosh_conjugate_gradient_inside(real a, real y) = \abs(y) < 1.0;
    predicate log_cosh_valid(real a) = 0.0 < a;

    // (P9) softplus
    logic real softplus_value(real a, real x) = \log(1.0 + \exp(x));
    logic real softplus_gradient(real a, real x) = 1.0 / (1.0 + \exp(-x));
    logic real softplus_second(real a, real x) = sigmoid(x) * sigmoid(-x);
    logic real softplus_conjugate(real a, real y) = x_log_x(y) + x_log_x(1.0 - y);
    logic real softplus_conjugate_gradient(real a, real y) = \log(y / (1.0 - y));
    predicate softplus_conjugate_inside(real a, real y) = 0.0 <= y <= 1.0;
    predicate softplus_conjugate_gradient_inside(real a, real y) = 0.0 < y < 1.0;
    predicate softplus_valid(real a) = \true;
*/
#endif
