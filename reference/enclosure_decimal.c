/* Enclosures written in decimal, rounded outward. */
#include "enclosure_internal.h"
#include <stdio.h>
#include <string.h>

/* Numbers from 10^-5 on are written plainly; below, with an exponent. */
enum { LEAST_PLAIN_POINT = -4 };

static size_t without_final_zeros(const char *digits, size_t length, size_t least) {
  while (length > least && digits[length - 1] == '0') length--;
  return length;
}

/* The number 0.d1 d2 ... dn 10^point, as text. The caller's buffer has room for any (n + 32). */
static void write_digits(char *text, const char *d, size_t n, long point) {
  if (point > (long)n || point < LEAST_PLAIN_POINT) {
    size_t kept = without_final_zeros(d, n, 1);
    text += sprintf(text, "%c%s%.*s", d[0], kept > 1 ? "." : "", (int)(kept - 1), d + 1);
    sprintf(text, "e%ld", point - 1);
  } else if (point <= 0) {
    size_t kept = without_final_zeros(d, n, 1);
    sprintf(text, "0.%.*s%.*s", (int)-point, "00000", (int)kept, d);
  } else {
    size_t kept = without_final_zeros(d, n, (size_t)point);
    text += sprintf(text, "%.*s", (int)point, d);
    if (kept > (size_t)point) sprintf(text, ".%.*s", (int)(kept - (size_t)point), d + point);
  }
}

static phibal_status write_decimal(char *text, mpfr_srcptr x, int digits, mpfr_rnd_t direction) {
  if (mpfr_zero_p(x)) {
    strcpy(text, "0");
    return PHIBAL_OK;
  }
  if (mpfr_sgn(x) < 0) *text++ = '-';
  if (mpfr_inf_p(x)) {
    strcpy(text, "inf");
    return PHIBAL_OK;
  }
  mpfr_exp_t point;
  char *d = mpfr_get_str(NULL, &point, 10, (size_t)digits, x, direction);
  if (!d)
    return phibal_status_set(PHIBAL_ERROR_MEMORY,
                             "phibal_enclosure_get_decimal: no room for %d digits", digits);
  write_digits(text, d + (*d == '-'), (size_t)digits, (long)point);
  mpfr_free_str(d);
  return PHIBAL_OK;
}

phibal_status phibal_enclosure_get_decimal(const phibal_enclosure *x, int digits, char *lo,
                                           char *hi, size_t size) {
  if (!x || digits < 1 || size < PHIBAL_DECIMAL_SIZE(digits))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "phibal_enclosure_get_decimal: %d digits into %zu characters; give "
                             "at least one digit and PHIBAL_DECIMAL_SIZE(digits) characters",
                             digits, size);
  phibal_status status = PHIBAL_OK;
  if (lo) status = write_decimal(lo, x->lo, digits, MPFR_RNDD);
  if (hi && status == PHIBAL_OK) status = write_decimal(hi, x->hi, digits, MPFR_RNDU);
  return status;
}
