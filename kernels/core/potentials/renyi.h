/* Price of the Renyi entropy, (P6.g): the potential that is not a sum over experts. */
#ifndef PHIBAL_CORE_POTENTIAL_RENYI_H
#define PHIBAL_CORE_POTENTIAL_RENYI_H

#include "../price_plan.h"

CORE_PRICE_FLOORED(renyi, 1)

/* A term of (P6.g)'s S, the sum over the experts. */
CORE_FUNCTION core_dd core_renyi_term(const core_price *price, double m) {
  return core_dd_exp(core_dd_mul_d(core_dd_log(m), price->parameter));
}

/* alpha / (alpha - 1) m^(alpha - 1) / S. */
CORE_FUNCTION void core_renyi_plan(core_price *price, double low, double high, int largest,
                                   core_dd sum) {
  (void)largest;
  price->exponent = core_two_sum(price->parameter, -1.0);
  price->factor = core_dd_div(core_dd_div(core_dd_from(price->parameter), price->exponent), sum);
  core_price_shift(price, low, high);
}

CORE_FUNCTION core_dd core_renyi_price(const core_price *price, double m) {
  return core_price_scaled_power(price, m);
}

#endif
