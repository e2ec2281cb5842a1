/* Price of the log-cosh potential, (P8.g). */
#ifndef PHIBAL_CORE_POTENTIAL_LOG_COSH_H
#define PHIBAL_CORE_POTENTIAL_LOG_COSH_H

#include "../price_plan.h"

CORE_PRICE_FLOORED(log_cosh, 0)
CORE_PRICE_NO_PLAN(log_cosh)

/* tanh(beta m): beta m is exact above 2^-960, and far below binary32 elsewhere. */
CORE_FUNCTION core_dd core_log_cosh_price(const core_price *price, double m) {
  if (m == 0.0) return core_dd_from(0.0);
  core_dd y = core_two_product(price->parameter, m);
  if (y.hi > 400.0) return core_dd_from(1.0);
  if (y.hi < 0x1p-900) return core_dd_from(y.hi);
  return core_dd_tanh(y);
}

#endif
