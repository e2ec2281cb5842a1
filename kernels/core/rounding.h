/* One correct rounding to binary32 from a binary64 approximation, or the news that it takes more.
 */
#ifndef PHIBAL_CORE_ROUNDING_H
#define PHIBAL_CORE_ROUNDING_H

#include "core.h"

/* The relative error that the fast paths of the one-argument functions stay below, their tests'
   own roundings included. About one input in 2^23 fails the test and takes the slow path. */
#define CORE_FAST_ERROR 0x1p-49

/* True if what y approximates rounds to *result. False for NaN. Rounding is monotonic, so the two
   ends decide; the error of computing them, 2^-53, fits between 2^-49.3, which no fast path's error
   reaches (the worst is tanh's 2^-50.3), and 2^-49 (proofs/gappa/rounding.gappa). */
CORE_FUNCTION int core_round_certainly(double y, float *result) {
  *result = (float)CORE_FMA(y, CORE_FAST_ERROR, y);
  return *result == (float)CORE_FMA(y, -CORE_FAST_ERROR, y);
}

/* The one NaN that the cores return. */
CORE_FUNCTION float core_nan(void) {
  return core_float(0x7fc00000u);
}

#endif
