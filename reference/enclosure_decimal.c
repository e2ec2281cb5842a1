/* Enclosures written in decimal, rounded outward. A number's digits are made in the text's own
   buffer, behind all that may come before them, and moved forward to their places: DIGITS_AT is far
   enough behind "-0.0000", and leaves MPFR the room it wants. */
#include "enclosure_internal.h"
#include <limits.h>
#include <stdint.h>

/* Numbers from 10^-5 on are written plainly; below, with an exponent of up to EXPONENT_DIGITS. */
enum { LEAST_PLAIN_POINT = -4, DIGITS_AT = 25, EXPONENT_DIGITS = 19 };

#include <phibal/acsl/contracts/inside/enclosure_decimal_static.h>

/* Moves n characters forward in a text; returns the place behind them. */
static size_t move(char *text, size_t at, size_t from, size_t n) {
  /*@ loop invariant index: 0 <= i <= n;
      loop invariant moved: \forall integer k; 0 <= k < i ==>
        text[at + k] == \at(text[from + k], Pre);
      loop invariant rest: \forall integer k; i <= k < n ==>
        text[from + k] == \at(text[from + k], Pre);
      loop assigns i, text[at .. at + n - 1];
      loop variant n - i; */
  for (size_t i = 0; i < n; i++) text[at + i] = text[from + i];
  return at + n;
}

static size_t put(char *text, size_t at, char c) {
  text[at] = c;
  return at + 1;
}

static size_t put_zeros(char *text, size_t at, size_t n) {
  /*@ loop invariant index: 0 <= i <= n;
      loop invariant zeros: \forall integer k; at <= k < at + i ==> text[k] == '0';
      loop assigns i, text[at .. at + n - 1];
      loop variant n - i; */
  for (size_t i = 0; i < n; i++) text[at + i] = '0';
  return at + n;
}

/* The integer m < 10^EXPONENT_DIGITS: its digits come last first, from the end of their room. */
static size_t put_integer(char *text, size_t at, unsigned long m) {
  size_t n = 0;
  /*@ loop invariant digits: 0 <= n <= EXPONENT_DIGITS;
      loop invariant some: m > 0 || n > 0 || m == \at(m, Pre);
      loop assigns n, m, text[at .. at + EXPONENT_DIGITS - 1];
      loop variant EXPONENT_DIGITS - n; */
  while (n < EXPONENT_DIGITS && (m > 0 || n == 0)) {
    n++;
    text[at + EXPONENT_DIGITS - n] = (char)('0' + m % 10);
    m /= 10;
  }
  return move(text, at, at + EXPONENT_DIGITS - n, n);
}

/* e and the exponent. */
static size_t put_exponent(char *text, size_t at, long exponent) {
  at = put(text, at, 'e');
  if (exponent < 0) at = put(text, at, '-');
  return put_integer(text, at, (unsigned long)(exponent < 0 ? -exponent : exponent));
}

static size_t without_final_zeros(const char *digits, size_t length, size_t least) {
  /*@ loop invariant least <= length <= \at(length, Pre);
      loop invariant \forall integer i; length <= i < \at(length, Pre) ==> digits[i] == '0';
      loop assigns length;
      loop variant length; */
  while (length > least && digits[length - 1] == '0') length--;
  return length;
}

/* The number 0.d1 d2 ... dn 10^point, as text from `at` on, where d1 is at `digits` in the text;
   returns the place behind it. */
static size_t write_digits(char *text, size_t at, size_t digits, size_t n, long point) {
  if (point > (long)n || point < LEAST_PLAIN_POINT) {
    size_t kept = without_final_zeros(text + digits, n, 1);
    at = put(text, at, text[digits]);
    if (kept > 1) at = put(text, at, '.');
    at = move(text, at, digits + 1, kept - 1);
    return put_exponent(text, at, point - 1);
  }
  if (point <= 0) {
    size_t kept = without_final_zeros(text + digits, n, 1);
    at = put(text, at, '0');
    at = put(text, at, '.');
    at = put_zeros(text, at, (size_t)-point);
    return move(text, at, digits, kept);
  }
  size_t kept = without_final_zeros(text + digits, n, (size_t)point);
  at = move(text, at, digits, (size_t)point);
  if (kept == (size_t)point) return at;
  at = put(text, at, '.');
  return move(text, at, digits + (size_t)point, kept - (size_t)point);
}

/* The number x with n digits. */
static void write_decimal(char *text, mpfr_srcptr x, size_t n, mpfr_rnd_t direction) {
  size_t at = 0;
  if (mpfr_sgn(x) < 0) at = put(text, at, '-');
  if (mpfr_zero_p(x)) {
    at = put(text, at, '0');
  } else if (mpfr_inf_p(x)) {
    at = put(text, at, 'i');
    at = put(text, at, 'n');
    at = put(text, at, 'f');
  } else {
    mpfr_exp_t point;
    mpfr_get_str(text + DIGITS_AT, &point, 10, n, x, direction);
    at = write_digits(text, at, DIGITS_AT + at, n, (long)point);
  }
  text[at] = 0;
}

phibal_status phibal_enclosure_get_decimal(const phibal_enclosure *x, int digits, char *lo,
                                           char *hi, size_t size) {
  //@ assert open_enclosure;
  if (!x || digits < 1 || size < PHIBAL_DECIMAL_SIZE(digits))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "phibal_enclosure_get_decimal: %d digits into %zu characters; give "
                             "at least one digit and PHIBAL_DECIMAL_SIZE(digits) characters",
                             digits, size);
  if (lo) write_decimal(lo, x->lo, (size_t)digits, MPFR_RNDD);
  if (hi) write_decimal(hi, x->hi, (size_t)digits, MPFR_RNDU);
  return PHIBAL_OK;
}
