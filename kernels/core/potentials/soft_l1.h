/* Price of the soft absolute value, (P3.g). */
#ifndef PHIBAL_CORE_POTENTIAL_SOFT_L1_H
#define PHIBAL_CORE_POTENTIAL_SOFT_L1_H

#include "../price_plan.h"

CORE_PRICE_FLOORED(soft_l1, 0)
CORE_PRICE_NO_PLAN(soft_l1)

/* m / (m + delta). */
CORE_FUNCTION core_dd core_soft_l1_price(const core_price *price, double m) {
  if (m == 0.0) return core_dd_from(0.0);
  return core_dd_div(core_dd_from(m), core_two_sum(m, price->parameter));
}

#endif
