/* A number: the enclosure is what MPFR reads, rounded down and up, and the decimals written of it
   enclose it closely. */
#include "target.h"
#include <phibal/enclosure.h>

enum { PRECISION = 64, DIGITS = 25 };

/* MPFR's own reading of a decimal or hexadecimal, rounded down and up. */
static void peer_check(const char *text, const phibal_enclosure *x) {
  /* MPFR knows more spellings (nan, @inf@, infinity, 0b1, e+ without digits) but no fractions. */
  const char *body = text + strspn(text, " \t\n\v\f\r");
  const char *digits = body + (*body == '+' || *body == '-');
  if (strchr(text, '/')) return;
  int base = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X') ? 16 : 10;
  mpfr_t low, high;
  char *end;
  mpfr_inits2(PRECISION, low, high, (mpfr_ptr)0);
  mpfr_strtofr(low, body, &end, base, MPFR_RNDD);
  FUZZ_REQUIRE(end != body && !end[strspn(end, " \t\n\v\f\r")], "MPFR reads '%s' up to '%s'", text,
               end);
  mpfr_strtofr(high, body, &end, base, MPFR_RNDU);
  FUZZ_REQUIRE(mpfr_equal_p(low, x->lo) && mpfr_equal_p(high, x->hi), "'%s'", text);
  mpfr_clears(low, high, (mpfr_ptr)0);
}

/* What was written, rounded away from the enclosure, must not lie inside it; and not be far off. */
static void decimal_check(const char *text, const phibal_enclosure *x, int side) {
  mpfr_t written;
  mpfr_init2(written, 256);
  FUZZ_REQUIRE(!mpfr_set_str(written, text, 10, side < 0 ? MPFR_RNDU : MPFR_RNDD), "'%s'", text);
  FUZZ_REQUIRE(side < 0 ? mpfr_lessequal_p(written, x->lo) : mpfr_greaterequal_p(written, x->hi),
               "'%s'", text);
  mpfr_sub(written, written, side < 0 ? x->lo : x->hi, MPFR_RNDA);
  if (mpfr_regular_p(written))
    FUZZ_REQUIRE(mpfr_get_exp(written) <= mpfr_get_exp(side < 0 ? x->lo : x->hi) - 70, "'%s'",
                 text);
  mpfr_clear(written);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = fuzz_text(data, size);
  phibal_enclosure x;
  phibal_enclosure_init(&x, PRECISION);
  if (phibal_enclosure_set_str(&x, text)) {
    FUZZ_REQUIRE(*phibal_status_message(), "no message");
  } else {
    char low[PHIBAL_DECIMAL_SIZE(DIGITS)], high[PHIBAL_DECIMAL_SIZE(DIGITS)];
    peer_check(text, &x);
    FUZZ_REQUIRE(!phibal_enclosure_get_decimal(&x, DIGITS, low, high, sizeof low), "%s",
                 phibal_status_message());
    decimal_check(low, &x, -1);
    decimal_check(high, &x, +1);
  }
  phibal_enclosure_clear(&x);
  mpfr_free_cache();
  free(text);
  return 0;
}
