/* Numbers read exactly: text to a rational number, and that to an enclosure. Characters are those
   of ASCII, whatever the locale. */
#include "enclosure_internal.h"
#include <limits.h>
#include <stdlib.h>

/* Beyond these, exact integers grow past reason; no format that phibal serves comes near. */
enum { MAX_DECIMAL_EXPONENT = 100000, MAX_BINARY_EXPONENT = 400000 };
/* No text is so long; what proofs need to know that counts of characters do not overflow. */
#define MAX_TEXT 0x1000000000000000

/* A place in the text, and where it ends. */
typedef struct cursor {
  const char *text;
  size_t at, end;
} cursor;

#include <phibal/acsl/contracts/inside/number_static.h>

static phibal_status refuse(const cursor *c, size_t at, const char *why) {
  bool cut = c->end > 60;
  return phibal_status_set(
      PHIBAL_ERROR_FORMAT,
      "cannot read '%.*s%s': %s at character %zu; write a decimal (1.5e-3), a C99 hexadecimal "
      "(0x1.8p-10), a fraction (1/3) or inf",
      cut ? 60 : (int)c->end, c->text, cut ? "..." : "", why, at + 1);
}

static char lower(char c) {
  return 'A' <= c && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_digit(char c, int base) {
  char small = lower(c);
  return ('0' <= c && c <= '9') || (base == 16 && 'a' <= small && small <= 'f');
}

static bool is_blank(char c) {
  return c == ' ' || ('\t' <= c && c <= '\r');
}

/* Steps over a character in either case, if it comes next. */
static bool accept(cursor *c, char wanted) {
  if (c->at == c->end || lower(c->text[c->at]) != wanted) return false;
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
  return c->at < c->end && is_digit(c->text[c->at], base);
}

/* Appends the digits at the cursor to buffer[n...]; returns how many there are then. */
static size_t read_digits(cursor *c, int base, char *buffer, size_t n) {
  size_t count = n;
  /*@ loop invariant place: moved{Pre, Here}(c) && count - n == c->at - \at(c->at, Pre);
      loop invariant digits: \forall integer i; 0 <= i < count ==> digit(buffer[i]) < base;
      loop invariant copied: \forall integer i; n <= i < count ==>
        buffer[i] == \at(c->text[c->at - n + i], Pre);
      loop invariant text: \forall integer i; 0 <= i < c->end ==>
        c->text[i] == \at(c->text[i], Pre);
      loop assigns count, c->at, buffer[n .. n + \at(c->end - c->at, Pre) - 1];
      loop variant c->end - c->at; */
  while (at_digit(c, base)) buffer[count++] = c->text[c->at++];
  return count;
}

/* The exponent after e or p. Saturates far beyond what is accepted, before long overflows. */
static phibal_status read_exponent(cursor *c, long *exponent) {
  bool minus = accept_minus(c);
  if (!at_digit(c, 10)) return refuse(c, c->at, "the exponent has no digits");
  long e = 0;
  /*@ loop invariant place: moved{Pre, Here}(c);
      loop invariant range: 0 <= e <= 1000000000;
      loop assigns e, c->at;
      loop variant c->end - c->at; */
  for (; at_digit(c, 10); c->at++)
    if (e < 100000000) e = 10 * e + (c->text[c->at] - '0');
  *exponent = minus ? -e : e;
  return PHIBAL_OK;
}

/* q times base^exponent, in lowest terms, where q is an integer. */
static void scale(mpq_t q, unsigned long base, long exponent) {
  mpz_t power;
  mpz_init(power);
  mpz_ui_pow_ui(power, base, (unsigned long)(exponent < 0 ? -exponent : exponent));
  if (exponent >= 0)
    mpz_mul(mpq_numref(q), mpq_numref(q), power);
  else
    mpz_set(mpq_denref(q), power);
  mpz_clear(power);
  mpq_canonicalize(q);
}

/* q = the n digits, read in `base`, times 10^exponent or 2^exponent, in lowest terms; `behind` is
   the place of an exponent. Zero needs no power. */
static phibal_status scale_digits(const cursor *c, size_t behind, mpq_t q, const char *digits,
                                  size_t n, int base, long exponent) {
  (void)n; /* for the contract only */
  long limit = base == 16 ? MAX_BINARY_EXPONENT : MAX_DECIMAL_EXPONENT;
  mpz_set_str(mpq_numref(q), digits, base);
  //@ assert integer: qnum(q) == digits_value(digits, n, base);
  mpz_set_ui(mpq_denref(q), 1);
  if (mpz_sgn(mpq_numref(q)) == 0) return PHIBAL_OK;
  if (exponent > limit || exponent < -limit)
    return refuse(c, behind,
                  base == 16 ? "an exponent beyond 2^400000 or 2^-400000"
                             : "an exponent beyond 10^100000 or 10^-100000");
  scale(q, base == 16 ? 2 : 10, exponent);
  return PHIBAL_OK;
}

/* Passes 0x; true if it was there. */
static bool accept_hexadecimal(cursor *c) {
  if (c->end - c->at < 2 || c->text[c->at] != '0' || lower(c->text[c->at + 1]) != 'x') return false;
  c->at += 2;
  return true;
}

/* An unsigned decimal or hexadecimal number; `digits` has room for all its digits and a null. */
static phibal_status read_digits_and_exponent(cursor *c, mpq_t q, char *digits) {
  int base = accept_hexadecimal(c) ? 16 : 10;
  size_t whole = read_digits(c, base, digits, 0), n = whole;
  if (accept(c, '.')) n = read_digits(c, base, digits, whole);
  if (n == 0) return refuse(c, c->at, "a number is wanted");
  digits[n] = 0;
  size_t behind = c->at;
  long exponent = 0;
  if (accept(c, base == 16 ? 'p' : 'e')) {
    phibal_status status = read_exponent(c, &exponent);
    if (status != PHIBAL_OK) return status;
  }
  return scale_digits(c, behind, q, digits, n, base,
                      exponent - (base == 16 ? 4 : 1) * (long)(n - whole));
}

/* Room for what is left of the text and a null, null when memory is out, and its end. Proofs trust
   that it is apart from the text, and know it as <phibal/acsl/heap.h> says. */
#ifdef __FRAMAC__
/*@ requires readable_cursor(c);
    terminates \true;
    exits \false;
    assigns \result \from c->at, c->end, text_heap;
    ensures \result == \null || (\result == text_heap && \valid(\result + (0 .. c->end - c->at)) &&
      \separated(\result + (0 .. c->end - c->at), c->text + (0 .. c->end - 1)) &&
      \separated(\result + (0 .. c->end - c->at), c)); */
static char *digits_new(const cursor *c);
/*@ terminates \true;
    exits \false;
    assigns \nothing; */
static void digits_free(char *digits);
#else
static char *digits_new(const cursor *c) {
  return malloc(c->end - c->at + 1);
}

static void digits_free(char *digits) {
  free(digits);
}
#endif

static phibal_status read_unsigned(cursor *c, mpq_t q) {
  char *digits = digits_new(c);
  if (!digits)
    return phibal_status_set(PHIBAL_ERROR_MEMORY, "reading a number: no room for its digits");
  phibal_status status = read_digits_and_exponent(c, q, digits);
  digits_free(digits);
  return status;
}

/* q divided by the number at the cursor, which stands behind the fraction's bar. */
static phibal_status divide_by_text(cursor *c, mpq_t q) {
  size_t start = c->at;
  mpq_t denominator;
  mpq_init(denominator);
  phibal_status status = read_unsigned(c, denominator);
  if (status == PHIBAL_OK && mpq_sgn(denominator) == 0)
    status = refuse(c, start, "the denominator is 0");
  if (status == PHIBAL_OK) mpq_div(q, q, denominator);
  mpq_clear(denominator);
  return status;
}

static phibal_status read_rational(cursor *c, mpq_t q) {
  bool minus = accept_minus(c);
  phibal_status status = read_unsigned(c, q);
  if (status == PHIBAL_OK && accept(c, '/')) status = divide_by_text(c, q);
  if (status == PHIBAL_OK && c->at != c->end) status = refuse(c, c->at, "something unexpected");
  if (status == PHIBAL_OK && minus) mpq_neg(q, q);
  return status;
}

/* True if the rest is this word of small letters, in any case. */
static bool rest_is(const cursor *c, const char *word, size_t length) {
  if (c->end - c->at != length) return false;
  /*@ loop invariant index: 0 <= i <= length;
      loop assigns i;
      loop variant length - i; */
  for (size_t i = 0; i < length; i++)
    if (lower(c->text[c->at + i]) != word[i]) return false;
  return true;
}

/* inf or infinity, signed, in any case; c stays where it is. */
static bool read_infinity(cursor *c, int *sign) {
  size_t start = c->at;
  *sign = accept_minus(c) ? -1 : 1;
  bool infinite = rest_is(c, "inf", 3) || rest_is(c, "infinity", 8);
  c->at = start;
  return infinite;
}

/* The whole text without blanks at its ends. */
static cursor without_blanks(const char *text) {
  cursor c = {text, 0, 0};
  /*@ loop invariant inside: 0 <= c.end <= MAX_TEXT && \valid_read(text + (0 .. c.end));
      loop invariant no_end: \forall integer i; 0 <= i < c.end ==> text[i] != 0;
      loop assigns c.end;
      loop variant MAX_TEXT - c.end; */
  while (text[c.end] != 0) c.end++;
  /*@ loop invariant 0 <= c.end <= \at(c.end, LoopEntry);
      loop assigns c.end;
      loop variant c.end; */
  while (c.end > 0 && is_blank(text[c.end - 1])) c.end--;
  /*@ loop invariant 0 <= c.at <= c.end;
      loop assigns c.at;
      loop variant c.end - c.at; */
  while (c.at < c.end && is_blank(text[c.at])) c.at++;
  return c;
}

phibal_status phibal_enclosure_set_str(phibal_enclosure *z, const char *text) {
  //@ assert open_enclosure;
  if (!z || !text)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "phibal_enclosure_set_str: null argument");
  cursor c = without_blanks(text);
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
