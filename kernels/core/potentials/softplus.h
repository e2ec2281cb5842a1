/* Price of the softplus potential, (P9.g). */
#ifndef PHIBAL_CORE_POTENTIAL_SOFTPLUS_H
#define PHIBAL_CORE_POTENTIAL_SOFTPLUS_H

#include "../price_plan.h"

CORE_PRICE_FLOORED(softplus, 0)
CORE_PRICE_NO_PLAN(softplus)

/* 1 / (1 + e^-m) = 1/2 + tanh(m / 2) / 2; reduced: without the 1/2. */
CORE_FUNCTION core_dd core_softplus_price(const core_price *price, double m) {
  core_dd half = core_dd_scale(core_dd_tanh(core_dd_from(0.5 * m)), 0.5);
  return price->form == CORE_PRICE_FULL ? core_dd_add_d(half, 0.5) : half;
}

#endif
