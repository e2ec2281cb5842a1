/* Price of the p-norm to the power p over p, (P2.g); p = 1 and p = inf by their subgradients. */
#ifndef PHIBAL_CORE_POTENTIAL_LP_H
#define PHIBAL_CORE_POTENTIAL_LP_H

#include "../price_plan.h"

CORE_PRICE_FLOORED(lp, 0)

/* m^(p - 1) = e^(y - shift); p = inf: 1 / largest for each of the largest. */
CORE_FUNCTION void core_lp_plan(core_price *price, double low, double high, int largest,
                                core_dd sum) {
  double p = price->parameter;
  (void)sum;
  if (p == CORE_INFINITY) price->factor = core_dd_div_d(price->factor, (double)largest);
  if (p == 1.0 || p == CORE_INFINITY) return;
  price->exponent = core_two_sum(p, -1.0);
  core_price_shift(price, low, high);
}

CORE_FUNCTION core_dd core_lp_price(const core_price *price, double m) {
  if (price->parameter == 1.0) return core_dd_from(m > 0.0 ? 1.0 : 0.0);
  if (price->parameter == CORE_INFINITY)
    return m == price->largest ? price->factor : core_dd_from(0.0);
  return core_price_scaled_power(price, m);
}

#endif
