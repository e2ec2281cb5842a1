/* What bounds of binary32 results are computed with, in binary64, and rounded up. */
#ifndef PHIBAL_VERIFY_BOUNDS_H
#define PHIBAL_VERIFY_BOUNDS_H

#include <math.h>
#include <phibal/enclosure.h>
#include <stdbool.h>
#include <stdint.h>

/* The unit roundoff of binary32 and its least number; and more than a few roundings of binary64. */
static const double U = 0x1p-24, LEAST = 0x1p-149, UP = 1 + 0x1p-40;

/* At least |x|. */
static inline double magnitude(const phibal_enclosure *x) {
  const double lo = fabs(mpfr_get_d(x->lo, MPFR_RNDA)), hi = fabs(mpfr_get_d(x->hi, MPFR_RNDA));
  return lo > hi ? lo : hi;
}

/* At least an ULP of a number of at most this size. */
static inline double ulp(double size) {
  return 2 * U * size + LEAST;
}

/* Whether one of x[n] is wider than 2^-60 of its terms (of itself where they are null). What
   binary32 cannot tell from 0 may be wider. */
static inline bool any_is_wide(const phibal_enclosure *x, const phibal_enclosure *terms,
                               int64_t n) {
  bool wide = false;
  mpfr_t width, least;
  mpfr_init2(width, 53);
  mpfr_init2(least, 53);
  for (int64_t i = 0; i < n && !wide; i++) {
    mpfr_sub(width, x[i].hi, x[i].lo, MPFR_RNDU);
    mpfr_abs(least, terms ? terms[i].lo : x[i].lo, MPFR_RNDD);
    mpfr_mul_2si(least, least, -60, MPFR_RNDD);
    mpfr_add_d(least, least, 0x1p-210, MPFR_RNDD);
    wide = mpfr_greater_p(width, least);
  }
  mpfr_clear(width);
  mpfr_clear(least);
  return wide;
}

#endif
