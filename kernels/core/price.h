/* Prices grad phi(m) of the potentials in double-double (SPEC.md, column .g), in two forms:
     full     the price itself;
     reduced  the price minus a constant that is the same for every expert, and so drops out of the
              centred price. Tsallis and Renyi carry offsets near 1 / (alpha - 1), which would drown
              the differences between experts as alpha goes to 1; what is left without them is
              expm1((alpha - 1) log m) / (alpha - 1), which goes to log m.
   u = 2^-53. Every value's error is below 2^-91 of the larger of the value and the constants added
   to it: the worst part is the exponent y = c log m, whose relative error 33 u^2 (log 27, product
   5, rounding) is multiplied by |y| <= 600, 2^-91.4; with |y| <= 88, where binary32 holds e^y, it
   is 2^-94.

   A potential is a row of spec/potentials.def and a header here that defines, with its C name for
   STEM (price_plan.h has macros for the usual cases),
     core_STEM_floored(parameter)                    whether loads are raised first
     core_STEM_plan(price, low, high, largest, sum)  what the prices of one vector share
     core_STEM_price(price, m)                       the price of one expert
     core_STEM_term(price, m)                        if not separable: a term of `sum` */
#ifndef PHIBAL_CORE_PRICE_H
#define PHIBAL_CORE_PRICE_H

#include "potentials/euclid.h"
#include "potentials/log_cosh.h"
#include "potentials/lp.h"
#include "potentials/negentropy.h"
#include "potentials/pseudo_huber.h"
#include "potentials/renyi.h"
#include "potentials/soft_l1.h"
#include "potentials/softplus.h"
#include "potentials/tsallis.h"

CORE_FUNCTION int core_price_is_floored(phibal_potential potential) {
  switch (potential.id) {
#define PHIBAL_POTENTIAL(ID, stem, name, label, from, to, fallback, separable, floored)            \
  case PHIBAL_POTENTIAL_##ID:                                                                      \
    return core_##stem##_floored(potential.parameter);
#include <phibal/potentials.def>
#undef PHIBAL_POTENTIAL
  case PHIBAL_POTENTIAL_COUNT:
    break;
  }
  return 0;
}

/* Whether the plan needs the sum of the terms below over the experts. */
CORE_FUNCTION int core_price_has_sum(phibal_potential_id id) {
  switch (id) {
#define PHIBAL_POTENTIAL(ID, stem, name, label, from, to, fallback, separable, floored)            \
  case PHIBAL_POTENTIAL_##ID:                                                                      \
    return !separable;
#include <phibal/potentials.def>
#undef PHIBAL_POTENTIAL
  case PHIBAL_POTENTIAL_COUNT:
    break;
  }
  return 0;
}

/* m, raised if need be. */
CORE_FUNCTION double core_price_raised(const core_price *price, float load) {
  return (double)load < price->smallest ? price->smallest : (double)load;
}

#define CORE_PRICE_TERM_0(stem) return core_##stem##_term(price, m)
#define CORE_PRICE_TERM_1(stem) break
CORE_FUNCTION core_dd core_price_term(const core_price *price, float load) {
  double m = core_price_raised(price, load);
  switch (price->id) {
#define PHIBAL_POTENTIAL(ID, stem, name, label, from, to, fallback, separable, floored)            \
  case PHIBAL_POTENTIAL_##ID:                                                                      \
    CORE_PRICE_TERM_##separable(stem);
#include <phibal/potentials.def>
#undef PHIBAL_POTENTIAL
  case PHIBAL_POTENTIAL_COUNT:
    break;
  }
  return core_dd_from(0.0);
}
#undef CORE_PRICE_TERM_0
#undef CORE_PRICE_TERM_1

/* Before the vector is looked at: what follows from the potential alone. */
CORE_FUNCTION core_price core_price_start(phibal_potential potential, core_price_form form) {
  core_price price;
  price.id = potential.id;
  price.parameter = potential.parameter;
  price.form = form;
  price.exponent = price.offset = price.shift = core_dd_from(0.0);
  price.factor = core_dd_from(1.0);
  price.subtracts_one = 0;
  price.smallest = core_price_is_floored(potential) ? (double)PHIBAL_SMALLEST_LOAD : 0.0;
  price.largest = 0.0;
  return price;
}

/* The rest, from the smallest and the largest m, how many m are the largest, and where there is one
   the sum of the terms over the experts, in the order of tree.h (error <= 2^-93 relative: as the
   powers, all positive, and 31 u^2 for the tree of at most 1024). */
CORE_FUNCTION void core_price_finish(core_price *price, double low, double high, int largest,
                                     core_dd sum) {
  if (low < price->smallest) low = price->smallest;
  if (high < price->smallest) high = price->smallest;
  price->largest = high;
  switch (price->id) {
#define PHIBAL_POTENTIAL(ID, stem, name, label, from, to, fallback, separable, floored)            \
  case PHIBAL_POTENTIAL_##ID:                                                                      \
    core_##stem##_plan(price, low, high, largest, sum);                                            \
    break;
#include <phibal/potentials.def>
#undef PHIBAL_POTENTIAL
  case PHIBAL_POTENTIAL_COUNT:
    break;
  }
}

/* m[experts] >= 0, finite; scratch[experts]. */
CORE_FUNCTION core_price core_price_prepare(phibal_potential potential, core_price_form form,
                                            int experts, const float *m, core_dd *scratch) {
  core_price price = core_price_start(potential, form);
  double low = (double)m[0], high = (double)m[0];
  int largest = 0;
  for (int e = 1; e < experts; e++) {
    if ((double)m[e] < low) low = (double)m[e];
    if ((double)m[e] > high) high = (double)m[e];
  }
  for (int e = 0; e < experts; e++) largest += (double)m[e] == high;
  core_dd sum = core_dd_from(1.0);
  if (core_price_has_sum(potential.id)) {
    for (int e = 0; e < experts; e++) scratch[e] = core_price_term(&price, m[e]);
    sum = core_dd_tree_sum(scratch, experts);
  }
  core_price_finish(&price, low, high, largest, sum);
  return price;
}

/* The price of one expert, reduced or full; in units of e^shift. A full price may be +inf. */
CORE_FUNCTION core_dd core_price_value(const core_price *price, float load) {
  double m = core_price_raised(price, load);
  switch (price->id) {
#define PHIBAL_POTENTIAL(ID, stem, name, label, from, to, fallback, separable, floored)            \
  case PHIBAL_POTENTIAL_##ID:                                                                      \
    return core_##stem##_price(price, m);
#include <phibal/potentials.def>
#undef PHIBAL_POTENTIAL
  case PHIBAL_POTENTIAL_COUNT:
    break;
  }
  return core_dd_from(0.0);
}

#endif
