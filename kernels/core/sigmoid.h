/* The logistic function of a binary32, 1 / (1 + e^-x). */
#ifndef PHIBAL_CORE_SIGMOID_H
#define PHIBAL_CORE_SIGMOID_H

#include "exp64.h"

/* In binary64, relative error <= 2^-49.9: e^-|x| 2^-51, the sum and the division 2^-53 each; for
   x < 0 e^-|x| counts twice at most. x = -inf gives 0, +inf gives 1. */
CORE_FUNCTION double core_sigmoid64(double x) {
  double e = core_exp64(x < 0 ? x : -x);
  return (x < 0 ? e : 1.0) / (1.0 + e);
}

CORE_FUNCTION float core_sigmoid(float x) {
  return (float)core_sigmoid64((double)x);
}

#endif
