/* 1 / (1 + e^-x), binary32 to binary32, correctly rounded for all 2^32 inputs (certified by `phibal
   verify --exhaustive`). */
#ifndef PHIBAL_CORE_SIGMOID_H
#define PHIBAL_CORE_SIGMOID_H

#include "dd_elementary.h"
#include "exp64.h"
#include "rounding.h"

/* In binary64, relative error <= 4.5 u < 2^-50.8, u = 2^-53. With e = e^-|x| (1.63 u): 1 / (1 + e)
   for x >= 0, where the error of e counts e / (1 + e) <= 1/2 times; e / (1 + e) for x < 0, where it
   counts 1 / (1 + e) <= 1 times; the sum and the quotient add u each (proofs/gappa/sigmoid.gappa,
   which lets e's error count twice for x < 0). 0 for x < -708; -inf gives 0, +inf gives 1. */
CORE_FUNCTION double core_sigmoid64(double x) {
  double e = core_exp64(x < 0 ? x : -x);
  return (x < 0 ? e : 1.0) / (1.0 + e);
}

/* As above in double-double, error <= 24 u^2, u = 2^-53: e 9 u^2, the sum 2 u^2, the quotient
   12.2 u^2. */
CORE_FUNCTION core_dd core_dd_sigmoid(double x) {
  core_dd e = core_dd_exp(core_dd_from(-core_abs(x)));
  return core_dd_div(x < 0 ? e : core_dd_from(1.0), core_dd_add_d(e, 1.0));
}

CORE_FUNCTION float core_sigmoid(float x) {
  float y;
  if (core_round_certainly(core_sigmoid64((double)x), &y)) return y;
  if (x != x) return core_nan();
  return core_dd_to_float(core_dd_sigmoid((double)x));
}

#endif
