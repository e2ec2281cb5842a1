/* Price of the negative entropy, (P4.g). */
#ifndef PHIBAL_CORE_POTENTIAL_NEGENTROPY_H
#define PHIBAL_CORE_POTENTIAL_NEGENTROPY_H

#include "../price_plan.h"

CORE_PRICE_FLOORED(negentropy, 1)
CORE_PRICE_NO_PLAN(negentropy)

/* log m + 1; reduced: log m. */
CORE_FUNCTION core_dd core_negentropy_price(const core_price *price, double m) {
  return price->form == CORE_PRICE_FULL ? core_dd_add_d(core_dd_log(m), 1.0) : core_dd_log(m);
}

#endif
