/* Price of the Euclidean potential, (P1.g). */
#ifndef PHIBAL_CORE_POTENTIAL_EUCLID_H
#define PHIBAL_CORE_POTENTIAL_EUCLID_H

#include "../price_plan.h"

CORE_PRICE_FLOORED(euclid, 0)
CORE_PRICE_NO_PLAN(euclid)

/* m, exact. */
CORE_FUNCTION core_dd core_euclid_price(const core_price *price, double m) {
  (void)price;
  return core_dd_from(m);
}

#endif
