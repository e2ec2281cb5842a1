/* What went wrong at which coordinate, or where. Text only: proofs see which memory is written. */
#include "potentials.h"
#include <stdio.h>

#ifdef __FRAMAC__
/*@ requires 0 < size && \valid(text + (0 .. size - 1));
    terminates \true;
    exits \false;
    assigns text[0 .. size - 1];
    ensures \exists integer i; 0 <= i < size && text[i] == 0; */
void text_printed(char *text, size_t size);
#undef snprintf
#define snprintf(text, size, ...) text_printed(text, size)
#endif

phibal_status name_coordinate(phibal_status status, const char *function, const char *potential,
                              size_t i, size_t n, const phibal_enclosure *x) {
  enum { DIGITS = 6 };
  char lo[PHIBAL_DECIMAL_SIZE(DIGITS)], hi[PHIBAL_DECIMAL_SIZE(DIGITS)], reason[400];
  phibal_enclosure_get_decimal(x, DIGITS, lo, hi, sizeof lo);
  snprintf(reason, sizeof reason, "%s", phibal_status_message());
  if (phibal_enclosure_is_exact(x))
    return phibal_status_set(status, "%s of %s: coordinate %zu of %zu (%s) is %s", function,
                             potential, i + 1, n, mpfr_sgn(x->lo) < 0 ? hi : lo, reason);
  return phibal_status_set(status, "%s of %s: coordinate %zu of %zu (in [%s, %s]) is %s", function,
                           potential, i + 1, n, lo, hi, reason);
}

phibal_status name_place(phibal_status status, const char *where) {
  if (status == PHIBAL_OK) return status;
  char reason[400];
  snprintf(reason, sizeof reason, "%s", phibal_status_message());
  return phibal_status_set(status, "%s: %s", where, reason);
}
