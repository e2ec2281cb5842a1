/* Price of the pseudo-Huber potential, (P7.g). */
#ifndef PHIBAL_CORE_POTENTIAL_PSEUDO_HUBER_H
#define PHIBAL_CORE_POTENTIAL_PSEUDO_HUBER_H

#include "../price_plan.h"

CORE_PRICE_FLOORED(pseudo_huber, 0)
CORE_PRICE_NO_PLAN(pseudo_huber)

/* m / sqrt(m^2 + delta^2), m > 0; error <= 17 u^2: the sum's 2 u^2 count half under the root, the
   root 3.13 u^2, the quotient 12.2 u^2. m^2 >= 2^-298 is exact, so that a delta^2 that underflows
   has no weight; one that would overflow leaves no weight to m^2. */
CORE_FUNCTION core_dd core_pseudo_huber_quotient(double m, double delta) {
  if (delta > 0x1p400) return core_dd_from(m / delta); /* below 2^-272: 0 in binary32 */
  core_dd square = core_dd_add_d(core_two_product(delta, delta), m * m); /* m * m is exact */
  return core_dd_div(core_dd_from(m), core_dd_sqrt(square));
}

CORE_FUNCTION core_dd core_pseudo_huber_price(const core_price *price, double m) {
  return m == 0.0 ? core_dd_from(0.0) : core_pseudo_huber_quotient(m, price->parameter);
}

#endif
