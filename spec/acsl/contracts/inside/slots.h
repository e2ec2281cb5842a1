/* What the functions of reference/slots.h promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_SLOTS_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_SLOTS_H

#ifdef __FRAMAC__
#include <phibal/acsl/slots.h>
#endif

/*@ requires 0 <= s.n && \valid_read(s.experts + (0 .. s.n - 1)) && \valid_read(x + (0 .. s.n - 1));
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result == PHIBAL_OK || \result == PHIBAL_ERROR_NONFINITE;
    ensures \result == PHIBAL_OK ==> slots_numbers(s.experts, s.first, s.last, x, s.n); */
phibal_status reference_slots_check(const char *name, const char *what, reference_slots s,
                                    const float *x);

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
