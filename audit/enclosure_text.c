#include "enclosure_text.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static void write(const phibal_enclosure *x, int digits, char *text, size_t size) {
  char lo[PHIBAL_DECIMAL_SIZE(AUDIT_MOST_DIGITS)], hi[PHIBAL_DECIMAL_SIZE(AUDIT_MOST_DIGITS)];
  if (phibal_enclosure_get_decimal(x, digits, lo, hi, sizeof lo) != PHIBAL_OK)
    snprintf(text, size, "?");
  else if (strcmp(lo, hi) == 0)
    snprintf(text, size, "%s", lo);
  else
    snprintf(text, size, "in [%s, %s]", lo, hi);
}

/* The ends of both are rounded outward by less than a unit of the last of `digits` digits, 10^(1 -
   digits) of the larger number: so two units below the gap show it. */
void audit_pair_text(const phibal_enclosure *first, const phibal_enclosure *second,
                     audit_pair *pair) {
  mpfr_t gap, other, size;
  mpfr_inits2(64, gap, other, size, (mpfr_ptr)0);
  mpfr_sub(gap, second->lo, first->hi, MPFR_RNDD);
  mpfr_sub(other, first->lo, second->hi, MPFR_RNDD);
  mpfr_max(gap, gap, other, MPFR_RNDD);
  mpfr_srcptr ends[] = {first->lo, first->hi, second->lo, second->hi};
  for (int i = 0; i < 4; i++) {
    mpfr_abs(other, ends[i], MPFR_RNDU);
    if (i == 0 || mpfr_greater_p(other, size)) mpfr_set(size, other, MPFR_RNDU);
  }
  int digits = AUDIT_LEAST_DIGITS;
  pair->apart[0] = 0;
  if (mpfr_number_p(gap) && mpfr_sgn(gap) > 0 && mpfr_number_p(size)) {
    mpfr_div(other, size, gap, MPFR_RNDU);
    mpfr_log10(other, other, MPFR_RNDU);
    const double wanted = floor(mpfr_get_d(other, MPFR_RNDU)) + 3;
    if (wanted > digits) {
      digits = wanted < AUDIT_MOST_DIGITS ? (int)wanted : AUDIT_MOST_DIGITS;
      mpfr_snprintf(pair->apart, sizeof pair->apart, ", at least %.2RDg apart", gap);
    }
  }
  write(first, digits, pair->first, sizeof pair->first);
  write(second, digits, pair->second, sizeof pair->second);
  mpfr_clears(gap, other, size, (mpfr_ptr)0);
}
