/* Numbers as they were written, as rationals. */
#include "eval.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Exponents beyond this are numbers that no condition of a dual domain turns on. */
enum { MOST_EXPONENT = 10000 };

/* digits [ . digits ] [ e exponent ], and what comes behind it. */
static bool read_decimal(const char *text, mpq_t value, const char **behind) {
  char *digits = malloc(strlen(text) + 1);
  if (!digits) return false;
  size_t n = 0;
  long places = 0;
  bool point = false;
  for (; isdigit((unsigned char)*text) || (*text == '.' && !point); text++) {
    if (*text == '.')
      point = true;
    else
      digits[n++] = *text, places += point;
  }
  digits[n] = 0;
  if (n > 0 && (*text == 'e' || *text == 'E')) {
    char *end;
    const long exponent = strtol(text + 1, &end, 10);
    places = labs(exponent) <= MOST_EXPONENT ? places - exponent : 2 * MOST_EXPONENT + 1;
    text = end;
  }
  const bool good =
      n > 0 && labs(places) <= 2 * MOST_EXPONENT && mpz_set_str(mpq_numref(value), digits, 10) == 0;
  free(digits);
  mpz_set_ui(mpq_denref(value), 1);
  if (!good) return false;
  mpz_ptr scaled = places > 0 ? mpq_denref(value) : mpq_numref(value);
  mpz_t power;
  mpz_init(power);
  mpz_ui_pow_ui(power, 10, (unsigned long)labs(places));
  mpz_mul(scaled, scaled, power);
  mpz_clear(power);
  mpq_canonicalize(value);
  *behind = text;
  return true;
}

bool eval_read_exactly(const char *text, mpq_t value) {
  while (isspace((unsigned char)*text)) text++;
  const bool minus = *text == '-';
  if (*text == '-' || *text == '+') text++;
  mpq_t divisor;
  mpq_init(divisor);
  bool good = text[0] != '0' || (text[1] != 'x' && text[1] != 'X');
  good = good && read_decimal(text, value, &text);
  if (good && *text == '/') {
    good = read_decimal(text + 1, divisor, &text) && mpq_sgn(divisor) != 0;
    if (good) mpq_div(value, value, divisor);
  }
  while (good && isspace((unsigned char)*text)) text++;
  good = good && *text == 0;
  if (minus) mpq_neg(value, value);
  mpq_clear(divisor);
  return good;
}
