/* Numbers read exactly: text to a rational number, and that to an enclosure. */
#include <phibal/enclosure.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Beyond these, exact integers grow past reason; no format that phibal serves comes near. */
enum { MAX_DECIMAL_EXPONENT = 100000, MAX_BINARY_EXPONENT = 400000 };

/* A place in the text, and what is left of it. */
typedef struct cursor {
  const char *text, *at, *end;
} cursor;

static phibal_status refuse(const cursor *c, const char *why) {
  int length = (int)(c->end - c->text);
  bool cut = length > 60;
  return phibal_status_set(
      PHIBAL_ERROR_FORMAT,
      "cannot read '%.*s%s': %s at character %ld; write a decimal (1.5e-3), a C99 hexadecimal "
      "(0x1.8p-10), a fraction (1/3) or inf",
      cut ? 60 : length, c->text, cut ? "..." : "", why, (long)(c->at - c->text) + 1);
}

static bool accept(cursor *c, char wanted) {
  if (c->at == c->end || tolower((unsigned char)*c->at) != wanted) return false;
  c->at++;
  return true;
}

/* Passes a sign; true for minus. */
static bool accept_minus(cursor *c) {
  if (accept(c, '-')) return true;
  accept(c, '+');
  return false;
}

static bool at_digit(const cursor *c, int base) {
  if (c->at == c->end) return false;
  return base == 16 ? isxdigit((unsigned char)*c->at) : isdigit((unsigned char)*c->at);
}

/* Appends the digits at the cursor to buffer[*n...]; returns how many. */
static size_t read_digits(cursor *c, int base, char *buffer, size_t *n) {
  size_t before = *n;
  while (at_digit(c, base)) buffer[(*n)++] = *c->at++;
  return *n - before;
}

/* The exponent after e or p. Saturates far beyond what is accepted, before long overflows. */
static phibal_status read_exponent(cursor *c, long *exponent) {
  bool minus = accept_minus(c);
  if (!at_digit(c, 10)) return refuse(c, "the exponent has no digits");
  long e = 0;
  for (; at_digit(c, 10); c->at++)
    if (e < 100000000) e = 10 * e + (*c->at - '0');
  *exponent = minus ? -e : e;
  return PHIBAL_OK;
}

/* q = digits (read in `base`) times 10^exponent or 2^exponent, in lowest terms. */
static phibal_status scale(const cursor *c, mpq_t q, const char *digits, int base, long exponent) {
  long limit = base == 16 ? MAX_BINARY_EXPONENT : MAX_DECIMAL_EXPONENT;
  mpz_set_str(mpq_numref(q), digits, base);
  mpz_set_ui(mpq_denref(q), 1);
  if (mpz_sgn(mpq_numref(q)) == 0) return PHIBAL_OK;
  if (exponent > limit || exponent < -limit)
    return refuse(c, base == 16 ? "an exponent beyond 2^400000 or 2^-400000"
                                : "an exponent beyond 10^100000 or 10^-100000");
  mpz_t power;
  mpz_init(power);
  mpz_ui_pow_ui(power, base == 16 ? 2 : 10, (unsigned long)labs(exponent));
  if (exponent >= 0)
    mpz_mul(mpq_numref(q), mpq_numref(q), power);
  else
    mpz_set(mpq_denref(q), power);
  mpz_clear(power);
  mpq_canonicalize(q);
  return PHIBAL_OK;
}

/* An unsigned decimal or hexadecimal number; `digits` has room for all its digits. */
static phibal_status read_digits_and_exponent(cursor *c, mpq_t q, char *digits) {
  int base = 10;
  if (c->end - c->at >= 2 && c->at[0] == '0' && tolower((unsigned char)c->at[1]) == 'x') {
    base = 16;
    c->at += 2;
  }
  size_t n = 0, fraction = 0;
  read_digits(c, base, digits, &n);
  if (accept(c, '.')) fraction = read_digits(c, base, digits, &n);
  if (n == 0) return refuse(c, "a number is wanted");
  digits[n] = 0;
  const cursor start = *c;
  long exponent = 0;
  if (accept(c, base == 16 ? 'p' : 'e')) {
    phibal_status status = read_exponent(c, &exponent);
    if (status != PHIBAL_OK) return status;
  }
  return scale(&start, q, digits, base, exponent - (base == 16 ? 4 : 1) * (long)fraction);
}

static phibal_status read_unsigned(cursor *c, mpq_t q) {
  char *digits = malloc((size_t)(c->end - c->at) + 1);
  if (!digits)
    return phibal_status_set(PHIBAL_ERROR_MEMORY, "reading a number: no room for its digits");
  phibal_status status = read_digits_and_exponent(c, q, digits);
  free(digits);
  return status;
}

static phibal_status read_rational(cursor *c, mpq_t q) {
  bool minus = accept_minus(c);
  phibal_status status = read_unsigned(c, q);
  if (status == PHIBAL_OK && accept(c, '/')) {
    const cursor start = *c;
    mpq_t denominator;
    mpq_init(denominator);
    status = read_unsigned(c, denominator);
    if (status == PHIBAL_OK && mpq_sgn(denominator) == 0)
      status = refuse(&start, "the denominator is 0");
    if (status == PHIBAL_OK) mpq_div(q, q, denominator);
    mpq_clear(denominator);
  }
  if (status == PHIBAL_OK && c->at != c->end) status = refuse(c, "something unexpected");
  if (minus) mpq_neg(q, q);
  return status;
}

/* inf or infinity, signed, in any case. */
static bool read_infinity(const cursor *c, int *sign) {
  cursor rest = *c;
  *sign = accept_minus(&rest) ? -1 : 1;
  size_t length = (size_t)(rest.end - rest.at);
  return (length == 3 && strncasecmp(rest.at, "inf", 3) == 0) ||
         (length == 8 && strncasecmp(rest.at, "infinity", 8) == 0);
}

phibal_status phibal_enclosure_set_str(phibal_enclosure *z, const char *text) {
  if (!z || !text)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "phibal_enclosure_set_str: null argument");
  cursor c = {text, text, text + strlen(text)};
  while (c.end > c.text && isspace((unsigned char)c.end[-1])) c.end--;
  while (c.at < c.end && isspace((unsigned char)*c.at)) c.at++;
  int sign;
  if (read_infinity(&c, &sign)) {
    mpfr_set_inf(z->lo, sign);
    mpfr_set_inf(z->hi, sign);
    return PHIBAL_OK;
  }
  mpq_t q;
  mpq_init(q);
  phibal_status status = read_rational(&c, q);
  if (status == PHIBAL_OK) phibal_enclosure_set_q(z, q);
  mpq_clear(q);
  return status;
}
