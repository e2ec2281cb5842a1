/* Prices grad phi(m) of the nine potentials in double-double, (P1.g) to (P9.g), in two forms:
     full     the price itself;
     reduced  the price minus a constant that is the same for every expert, and so drops out of the
              centred price. Tsallis and Renyi carry offsets near 1 / (alpha - 1), which would drown
              the differences between experts as alpha goes to 1; what is left without them is
              expm1((alpha - 1) log m) / (alpha - 1), which goes to log m.
   u = 2^-53. Every value's error is below 2^-91 of the larger of the value and the constants added
   to it: the worst part is the exponent y = c log m, whose relative error 33 u^2 (log 27, product
   5, rounding) is multiplied by |y| <= 600, 2^-91.4; with |y| <= 88, where binary32 holds e^y, it
   is 2^-94. */
#ifndef PHIBAL_CORE_PRICE_H
#define PHIBAL_CORE_PRICE_H

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

/* m_e^alpha, a term of (P6.g)'s S. */
CORE_FUNCTION core_dd core_price_renyi_term(const core_price *price, float m) {
  double x = (double)m < price->smallest ? price->smallest : (double)m;
  return core_dd_exp(core_dd_mul_d(core_dd_log(x), price->parameter));
}

/* The largest y of a vector whose elements lie in low .. high, below -1 if there is none to take.
 */
CORE_FUNCTION core_dd core_price_largest_exponent(const core_price *price, double low,
                                                  double high) {
  double m = price->exponent.hi > 0 ? high : low;
  return m > 0 ? core_price_exponent(price, m) : core_dd_from(-2.0);
}

/* Decides between e^y and e^y - 1, and the shift, for the vector as a whole.
   Reduced: e^y - 1 wherever the largest power is at least 1/e, so that taking 1 away costs nothing
   beside the largest price; plain e^y where all powers are smaller than that.
   Full: e^y - 1 for tsallis with alpha <= 2, where 1 / (alpha - 1) may be large; no shift, beyond
   e^709 the price is infinite. */
CORE_FUNCTION void core_price_choose(core_price *price, double low, double high) {
  core_dd y = core_price_largest_exponent(price, low, high);
  int tsallis = price->id == PHIBAL_POTENTIAL_TSALLIS;
  if (price->form == CORE_PRICE_REDUCED) {
    price->subtracts_one = y.hi >= -1.0 && y.hi <= 600.0; /* beyond, 1 is nothing */
    if (y.hi > 600.0) price->shift = core_dd_add_d(y, -600.0);
    return;
  }
  price->subtracts_one = tsallis && price->parameter <= 2.0;
  if (tsallis)
    price->offset =
        price->subtracts_one ? core_dd_from(1.0) : core_dd_div(core_dd_from(-1.0), price->exponent);
}

/* Before the vector is looked at: what follows from the potential alone. */
CORE_FUNCTION core_price core_price_start(phibal_potential potential, core_price_form form) {
  core_price price;
  price.id = potential.id;
  price.parameter = potential.parameter;
  price.form = form;
  price.exponent = price.offset = price.shift = core_dd_from(0.0);
  price.factor = core_dd_from(1.0);
  price.subtracts_one = 0;
  int floored = potential.id == PHIBAL_POTENTIAL_NEGENTROPY ||
                potential.id == PHIBAL_POTENTIAL_RENYI ||
                (potential.id == PHIBAL_POTENTIAL_TSALLIS && potential.parameter < 1.0);
  price.smallest = floored ? (double)PHIBAL_SMALLEST_LOAD : 0.0;
  price.largest = 0.0;
  return price;
}

/* The rest, from the smallest and the largest m, how many m are the largest, and for renyi the sum
   S of the terms above over the experts, in the order of tree.h (error <= 2^-93 relative: as the
   powers, all positive, and 31 u^2 for the tree of at most 1024). */
CORE_FUNCTION void core_price_finish(core_price *price, double low, double high, int largest,
                                     core_dd renyi_sum) {
  double a = price->parameter;
  if (low < price->smallest) low = price->smallest;
  if (high < price->smallest) high = price->smallest;
  price->largest = high;
  int powers = price->id == PHIBAL_POTENTIAL_TSALLIS || price->id == PHIBAL_POTENTIAL_RENYI;
  if (price->id == PHIBAL_POTENTIAL_LP && a == CORE_INFINITY)
    price->factor = core_dd_div_d(price->factor, (double)largest);
  else if (price->id == PHIBAL_POTENTIAL_LP && a > 1.0)
    powers = 1;
  if (!powers) return;
  price->exponent = core_two_sum(a, -1.0);
  if (price->id != PHIBAL_POTENTIAL_LP)
    price->factor = core_dd_div(core_dd_from(a), price->exponent);
  if (price->id == PHIBAL_POTENTIAL_RENYI) price->factor = core_dd_div(price->factor, renyi_sum);
  core_price_choose(price, low, high);
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
  if (potential.id == PHIBAL_POTENTIAL_RENYI) {
    for (int e = 0; e < experts; e++) scratch[e] = core_price_renyi_term(&price, m[e]);
    sum = core_dd_tree_sum(scratch, experts);
  }
  core_price_finish(&price, low, high, largest, sum);
  return price;
}

/* (P5.g) is zero where alpha m^(alpha - 1) = 1, and for binary numbers that happens four times
   only. Let alpha = A / 2^t and m = M 2^s with A and M odd. alpha > 1: the odd part of m^(alpha -
   1), at least 1, is the inverse of A's: A = 1, alpha = 2^j, (2^j - 1) s = -j: j = 1, alpha = 2, m
   = 1/2. alpha < 1: with n = 2^t - A, m^n = (A / 2^t)^(2^t); n is odd, so M^n = A^(2^t) makes A an
   n-th power r^n and M = r^(2^t), and -s n = t 2^t makes n divide t. r = 1: A = 1, n = 2^t - 1
   divides t: t = 1, alpha = 1/2, m = 1/4. r >= 3: M < 2^24 leaves t = 2 or 3 (t = 1 has r = 1), and
   n is 1 (or 3 with A = 5, no cube): alpha = 3/4 or 7/8, m = alpha^(2^t). At every other point the
   computed price is within 2^-90 of 1 of a price that is not 0. */
CORE_FUNCTION int core_price_tsallis_is_zero(double alpha, double m) {
  return (alpha == 2.0 && m == 0.5) || (alpha == 0.5 && m == 0.25) ||
         (alpha == 0.75 && m == 81.0 / 256.0) || (alpha == 0.875 && m == 5764801.0 / 16777216.0);
}

/* (P7.g) m / sqrt(m^2 + delta^2), m > 0; error <= 17 u^2: the sum's 2 u^2 count half under
   the root, the root 3.13 u^2, the quotient 12.2 u^2. m^2 >= 2^-298 is exact, so that a delta^2
   that underflows has no weight; one that would overflow leaves no weight to m^2. */
CORE_FUNCTION core_dd core_price_pseudo_huber(double m, double delta) {
  if (delta > 0x1p400) return core_dd_from(m / delta); /* below 2^-272: 0 in binary32 */
  core_dd square = core_dd_add_d(core_two_product(delta, delta), m * m); /* m * m is exact */
  return core_dd_div(core_dd_from(m), core_dd_sqrt(square));
}

/* (P8.g) tanh(beta m): beta m is exact above 2^-960, and far below binary32 elsewhere. */
CORE_FUNCTION core_dd core_price_log_cosh(double m, double beta) {
  core_dd y = core_two_product(beta, m);
  if (y.hi > 400.0) return core_dd_from(1.0);
  if (y.hi < 0x1p-900) return core_dd_from(y.hi);
  return core_dd_tanh(y);
}

/* (P9.g) 1 / (1 + e^-m) = 1/2 + tanh(m / 2) / 2. */
CORE_FUNCTION core_dd core_price_softplus(double m, core_price_form form) {
  core_dd half = core_dd_scale(core_dd_tanh(core_dd_from(0.5 * m)), 0.5);
  return form == CORE_PRICE_FULL ? core_dd_add_d(half, 0.5) : half;
}

/* The price of one expert, reduced or full; in units of e^shift. A full price may be +inf. */
CORE_FUNCTION core_dd core_price_value(const core_price *price, float load) {
  double m = (double)load < price->smallest ? price->smallest : (double)load;
  double a = price->parameter;
  switch (price->id) {
  case PHIBAL_POTENTIAL_EUCLID:
    return core_dd_from(m);
  case PHIBAL_POTENTIAL_SOFT_L1: /* (P3.g) m / (m + delta) */
    return m == 0.0 ? core_dd_from(0.0) : core_dd_div(core_dd_from(m), core_two_sum(m, a));
  case PHIBAL_POTENTIAL_NEGENTROPY: /* (P4.g) log m + 1 */
    return price->form == CORE_PRICE_FULL ? core_dd_add_d(core_dd_log(m), 1.0) : core_dd_log(m);
  case PHIBAL_POTENTIAL_PSEUDO_HUBER:
    return m == 0.0 ? core_dd_from(0.0) : core_price_pseudo_huber(m, a);
  case PHIBAL_POTENTIAL_LOG_COSH:
    return m == 0.0 ? core_dd_from(0.0) : core_price_log_cosh(m, a);
  case PHIBAL_POTENTIAL_SOFTPLUS:
    return core_price_softplus(m, price->form);
  case PHIBAL_POTENTIAL_LP:
    if (a == 1.0) return core_dd_from(m > 0.0 ? 1.0 : 0.0);
    if (a == CORE_INFINITY) return m == price->largest ? price->factor : core_dd_from(0.0);
    return core_price_power(price, m);
  case PHIBAL_POTENTIAL_TSALLIS:
    if (price->form == CORE_PRICE_FULL && core_price_tsallis_is_zero(a, m))
      return core_dd_from(0.0);
    break;
  default:
    break;
  }
  core_dd power = core_price_power(price, m);
  if (power.hi == CORE_INFINITY) return power; /* alpha > 1: the factor is positive */
  core_dd value = core_dd_mul(price->factor, power);
  return price->offset.hi == 0.0 ? value : core_dd_add(value, price->offset);
}

#endif
