/* Sums over slots of some experts. */
#ifndef PHIBAL_REFERENCE_SLOTS_H
#define PHIBAL_REFERENCE_SLOTS_H

#include "operation.h"

/* Of the slots experts[0..n-1], those of the experts first .. last. */
typedef struct reference_slots {
  int64_t n;
  const int32_t *experts;
  int32_t first, last;
} reference_slots;

/* PHIBAL_ERROR_NONFINITE, naming `what`, unless x is finite in these slots. */
phibal_status reference_slots_check(const char *name, const char *what, reference_slots s,
                                    const float *x);

/* z = the sum of x y over these slots, or of |x y|; where y is null, of x, or |x|. t is a
   temporary. */
phibal_status reference_slots_sum(reference_slots s, const float *x, const float *y,
                                  bool magnitudes, phibal_enclosure *t, phibal_enclosure *z);

#include <phibal/acsl/contracts/inside/slots.h>
#endif
