/* Sums over slots of some experts. */
#ifndef PHIBAL_REFERENCE_SLOTS_H
#define PHIBAL_REFERENCE_SLOTS_H

#include "operation.h"
#ifdef __FRAMAC__
#include <phibal/acsl/slots.h>
#endif

/* Of the slots experts[0..n-1], those of the experts first .. last. */
typedef struct reference_slots {
  int64_t n;
  const int32_t *experts;
  int32_t first, last;
} reference_slots;

/* PHIBAL_ERROR_NONFINITE, naming `what`, unless x is finite in these slots. */
/*@ requires 0 <= s.n && \valid_read(s.experts + (0 .. s.n - 1)) && \valid_read(x + (0 .. s.n - 1));
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == PHIBAL_OK || \result == PHIBAL_ERROR_NONFINITE;
    ensures \result == PHIBAL_OK ==> slots_numbers(s.experts, s.first, s.last, x, s.n); */
phibal_status reference_slots_check(const char *name, const char *what, reference_slots s,
                                    const float *x);

/* z = the sum of x y over these slots, or of |x y|; where y is null, of x, or |x|. t is a
   temporary. */
/*@ requires 0 <= s.n && \valid_read(s.experts + (0 .. s.n - 1));
    requires \valid_read(x + (0 .. s.n - 1)) && slots_numbers(s.experts, s.first, s.last, x, s.n);
    requires y != \null ==>
      \valid_read(y + (0 .. s.n - 1)) && slots_numbers(s.experts, s.first, s.last, y, s.n);
    requires output(z) && output(t) && \separated(z, t);
    terminates \true;
    exits \false;
    assigns *z, *t;
    ensures outputs: enclosure(z) && enclosure(t);
    ensures frame: only_two_written{Pre, Here}(z, t);
    ensures value: \result == PHIBAL_OK && !magnitudes ==>
      in(z, slots_sum(s.experts, s.first, s.last, x, y, s.n));
    ensures magnitude: \result == PHIBAL_OK && magnitudes ==>
      in(z, slots_magnitude(s.experts, s.first, s.last, x, y, s.n)); */
phibal_status reference_slots_sum(reference_slots s, const float *x, const float *y,
                                  bool magnitudes, phibal_enclosure *t, phibal_enclosure *z);

#endif
