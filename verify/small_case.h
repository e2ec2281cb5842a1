/* Small cases: those numbered from SMALL_CASES on have the fewest experts, tokens and columns that
   their kind can have, so that a million of an operation take minutes. Kinds that are about size
   (the most experts, tiles, long batches) are ordinary ones there. */
#ifndef PHIBAL_VERIFY_SMALL_CASE_H
#define PHIBAL_VERIFY_SMALL_CASE_H

#include <stdbool.h>
#include <stdint.h>

#define SMALL_CASES (UINT64_C(1) << 32)

static inline bool case_is_small(uint64_t number) {
  return number >= SMALL_CASES;
}

#endif
