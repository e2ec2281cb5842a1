/* The logic of activations: what (E2) and the reference's interface say, on real numbers. ACSL
   only. */
#ifndef PHIBAL_ACSL_ACTIVATION_H
#define PHIBAL_ACSL_ACTIVATION_H

#include <phibal/acsl/router.h>

/*@ // GELU's constants: 2 sqrt(2/pi), and the cubic term's
    logic real gelu_slope = 2.0 * \sqrt(2.0 / pi);
    logic real gelu_cubic = 0.044715;
    // act(a) = a logistic(v); v and its derivative in a
    logic real activation_argument(integer kind, real a) =
      kind == PHIBAL_ACTIVATION_GELU ? gelu_slope * (a + gelu_cubic * a * a * a) : a;
    logic real activation_argument_slope(integer kind, real a) =
      kind == PHIBAL_ACTIVATION_GELU ? gelu_slope * (1.0 + 3.0 * gelu_cubic * a * a) : 1.0;
    logic real activation_value(integer kind, real a) = a * logistic(activation_argument(kind, a));
    // logistic(v) (1 + x v' logistic(-v)): at x = a the derivative, at |a| its condition
    logic real activation_slope_at(integer kind, real a, real x) =
      logistic(activation_argument(kind, a)) *
      (1.0 + x * activation_argument_slope(kind, a) * logistic(-activation_argument(kind, a)));
    logic real activation_derivative(integer kind, real a) = activation_slope_at(kind, a, a);
    logic real activation_condition(integer kind, real a) = activation_slope_at(kind, a, \abs(a));

    // a place for a result, if it is wanted
    predicate optional{L}(phibal_enclosure *z) = z == \null || output(z);
    predicate optional_apart(phibal_enclosure *z, phibal_enclosure *y) =
      z == \null || y == \null || \separated(z, y);
*/

#endif
