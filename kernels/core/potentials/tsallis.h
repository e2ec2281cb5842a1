/* Price of the Tsallis entropy, (P5.g). */
#ifndef PHIBAL_CORE_POTENTIAL_TSALLIS_H
#define PHIBAL_CORE_POTENTIAL_TSALLIS_H

#include "../price_plan.h"

CORE_FUNCTION int core_tsallis_floored(double alpha) {
  return alpha < 1.0;
}

/* alpha m^(alpha - 1) / (alpha - 1), less its offset where the form is the full one: e^y - 1 for
   alpha <= 2, where 1 / (alpha - 1) may be large. */
CORE_FUNCTION void core_tsallis_plan(core_price *price, double low, double high, int largest,
                                     core_dd sum) {
  double alpha = price->parameter;
  (void)largest, (void)sum;
  price->exponent = core_two_sum(alpha, -1.0);
  price->factor = core_dd_div(core_dd_from(alpha), price->exponent);
  core_price_shift(price, low, high);
  if (price->form == CORE_PRICE_REDUCED) return;
  price->subtracts_one = alpha <= 2.0;
  price->offset =
      price->subtracts_one ? core_dd_from(1.0) : core_dd_div(core_dd_from(-1.0), price->exponent);
}

/* (P5.g) is zero where alpha m^(alpha - 1) = 1, and for binary numbers that happens four times
   only. Let alpha = A / 2^t and m = M 2^s with A and M odd. alpha > 1: the odd part of m^(alpha -
   1), at least 1, is the inverse of A's: A = 1, alpha = 2^j, (2^j - 1) s = -j: j = 1, alpha = 2, m
   = 1/2. alpha < 1: with n = 2^t - A, m^n = (A / 2^t)^(2^t); n is odd, so M^n = A^(2^t) makes A an
   n-th power r^n and M = r^(2^t), and -s n = t 2^t makes n divide t. r = 1: A = 1, n = 2^t - 1
   divides t: t = 1, alpha = 1/2, m = 1/4. r >= 3: M < 2^24 leaves t = 2 or 3 (t = 1 has r = 1), and
   n is 1 (or 3 with A = 5, no cube): alpha = 3/4 or 7/8, m = alpha^(2^t). At every other point the
   computed price is within 2^-90 of 1 of a price that is not 0. */
CORE_FUNCTION int core_tsallis_is_zero(double alpha, double m) {
  return (alpha == 2.0 && m == 0.5) || (alpha == 0.5 && m == 0.25) ||
         (alpha == 0.75 && m == 81.0 / 256.0) || (alpha == 0.875 && m == 5764801.0 / 16777216.0);
}

CORE_FUNCTION core_dd core_tsallis_price(const core_price *price, double m) {
  if (price->form == CORE_PRICE_FULL && core_tsallis_is_zero(price->parameter, m))
    return core_dd_from(0.0);
  return core_price_scaled_power(price, m);
}

#endif
