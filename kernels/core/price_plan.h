/* What the prices of the potentials share: a plan for one vector, and powers of the load.
   kernels/core/price.h has the forms and the bound, kernels/core/potentials/ a file for each. */
#ifndef PHIBAL_CORE_PRICE_PLAN_H
#define PHIBAL_CORE_PRICE_PLAN_H

#include "dd_elementary.h"
#include <phibal/potential.h>

typedef enum core_price_form {
  CORE_PRICE_FULL,
  CORE_PRICE_REDUCED,
} core_price_form;

/* What the prices of one vector have in common. For the potentials that take powers of m,
   price = factor (e^(y - shift) [- 1]) + offset with y = exponent log m. */
typedef struct core_price {
  phibal_potential_id id;
  double parameter;
  core_price_form form;
  double smallest;  /* m is raised to this */
  double largest;   /* the largest m; for lp with p = inf */
  core_dd exponent; /* p - 1 or alpha - 1 */
  core_dd factor, offset;
  core_dd shift; /* of the reduced form: 0 unless a power passes e^600; prices then count units of
                    e^shift, and the largest power is e^600 */
  int subtracts_one; /* e^y - 1 and not e^y */
} core_price;

/* y = exponent log m. Exponents beyond 2^900 do what 2^900 does: the power is 0, 1 or infinite. */
CORE_FUNCTION core_dd core_price_exponent(const core_price *price, double m) {
  core_dd c = price->exponent;
  if (c.hi > 0x1p900) c = core_dd_from(0x1p900);
  return core_dd_mul(c, core_dd_log(m));
}

/* e^(y - shift), or e^y - 1. 0^c is 0: exponents of potentials that are not floored are positive.
 */
CORE_FUNCTION core_dd core_price_power(const core_price *price, double m) {
  if (m == 0.0) return core_dd_from(price->subtracts_one ? -1.0 : 0.0);
  core_dd y = core_price_exponent(price, m);
  if (price->subtracts_one) return core_dd_expm1(y);
  return core_dd_exp(core_dd_sub(y, price->shift));
}

/* The largest y of a vector whose elements lie in low .. high, below -1 if there is none to take.
 */
CORE_FUNCTION core_dd core_price_largest_exponent(const core_price *price, double low,
                                                  double high) {
  double m = price->exponent.hi > 0 ? high : low;
  return m > 0 ? core_price_exponent(price, m) : core_dd_from(-2.0);
}

/* Of the reduced form decides between e^y and e^y - 1, and the shift, for the vector as a whole:
   e^y
   - 1 wherever the largest power is at least 1/e, so that taking 1 away costs nothing beside the
   largest price; plain e^y where all powers are smaller than that. The full form has no shift:
   beyond e^709 the price is infinite. */
CORE_FUNCTION void core_price_shift(core_price *price, double low, double high) {
  core_dd y = core_price_largest_exponent(price, low, high);
  if (price->form == CORE_PRICE_FULL) return;
  price->subtracts_one = y.hi >= -1.0 && y.hi <= 600.0; /* beyond, 1 is nothing */
  if (y.hi > 600.0) price->shift = core_dd_add_d(y, -600.0);
}

/* factor (e^(y - shift) [- 1]) + offset */
CORE_FUNCTION core_dd core_price_scaled_power(const core_price *price, double m) {
  core_dd power = core_price_power(price, m);
  if (power.hi == CORE_INFINITY) return power; /* alpha > 1: the factor is positive */
  core_dd value = core_dd_mul(price->factor, power);
  return price->offset.hi == 0.0 ? value : core_dd_add(value, price->offset);
}

/* Whether loads are raised to PHIBAL_SMALLEST_LOAD first, as they are where the price has no bound
   at 0: for any parameter, or for none. */
#define CORE_PRICE_FLOORED(stem, is)                                                               \
  CORE_FUNCTION int core_##stem##_floored(double parameter) {                                      \
    (void)parameter;                                                                               \
    return is;                                                                                     \
  }
/* For a potential whose prices have nothing in common. */
#define CORE_PRICE_NO_PLAN(stem)                                                                   \
  CORE_FUNCTION void core_##stem##_plan(core_price *price, double low, double high, int largest,   \
                                        core_dd sum) {                                             \
    (void)price, (void)low, (void)high, (void)largest, (void)sum;                                  \
  }

#endif
