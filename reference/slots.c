/* Sums over slots of some experts. */
#include "slots.h"

phibal_status reference_slots_check(const char *name, const char *what, reference_slots s,
                                    const float *x) {
  /*@ loop invariant index: 0 <= i <= s.n;
      loop invariant finite: slots_numbers(s.experts, s.first, s.last, x, i);
      loop assigns i;
      loop variant s.n - i; */
  for (int64_t i = 0; i < s.n; i++)
    if (s.first <= s.experts[i] && s.experts[i] <= s.last)
      TRY(operation_check_finite(name, what, 1, x + i));
  return PHIBAL_OK;
}

phibal_status reference_slots_sum(reference_slots s, const float *x, const float *y,
                                  bool magnitudes, phibal_enclosure *t, phibal_enclosure *z) {
  //@ assert use_enclosure && use_floating;
  phibal_enclosure_set_si(z, 0);
  /*@ loop invariant index: 0 <= i <= s.n;
      loop invariant outputs: enclosure(z) && enclosure(t);
      loop invariant frame: only_two_written{Pre, Here}(z, t);
      loop invariant value: !magnitudes ==>
        in(z, slots_sum(s.experts, s.first, s.last, x, y, i));
      loop invariant magnitude: magnitudes ==>
        in(z, slots_magnitude(s.experts, s.first, s.last, x, y, i));
      loop assigns i, *z, *t;
      loop variant s.n - i; */
  for (int64_t i = 0; i < s.n; i++) {
    if (s.experts[i] < s.first || s.experts[i] > s.last) continue;
    double product = y ? operation_exact_product(x[i], y[i]) : (double)x[i];
    //@ assert exact: \is_finite(product) && (real)product == (real)x[i] * second_number(y, i);
    if (magnitudes) product = fabs(product);
    /*@ assert product: \is_finite(product) && (real)product ==
          (magnitudes ? \abs((real)x[i] * second_number(y, i))
                      : (real)x[i] * second_number(y, i)); */
    phibal_enclosure_set_d(t, product);
    TRY(phibal_enclosure_add(z, z, t));
  }
  return PHIBAL_OK;
}
