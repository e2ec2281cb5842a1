/* What a number token is worth, and how a token is named in a message. */
#include "phi_lexer.h"
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Exact numbers stay of a size at which everything is quick. */
enum { MOST_NUMBER_LENGTH = 1000, MOST_EXPONENT = 10000 };

/* How much of a token and of a file name a message shows. */
enum { SHOWN_TOKEN = 40, SHOWN_FILE = 200 };

typedef struct digits_part {
  const char *text;
  size_t length;
} digits_part;

static digits_part take_digits(const char **at, const char *end) {
  digits_part part = {.text = *at};
  while (*at < end && '0' <= **at && **at <= '9') ++*at;
  part.length = (size_t)(*at - part.text);
  return part;
}

/* Splits 12.5e-3 into 12, 5 and -3; false where the text is something else. */
static bool split(const phi_token *token, digits_part *whole, digits_part *fraction,
                  digits_part *exponent, bool *negative) {
  const char *at = token->text, *end = at + token->length;
  *whole = take_digits(&at, end);
  *fraction = *exponent = (digits_part){.text = at};
  *negative = false;
  if (at < end && *at == '.') {
    at++;
    *fraction = take_digits(&at, end);
  }
  if (at < end && (*at == 'e' || *at == 'E')) {
    at++;
    if (at < end && (*at == '-' || *at == '+')) *negative = *at++ == '-';
    *exponent = take_digits(&at, end);
    if (exponent->length == 0) return false;
  }
  return at == end && whole->length + fraction->length > 0;
}

/* The value of the digits, `most` + 1 where it is more than `most`. */
static long small_value(digits_part part, long most) {
  long value = 0;
  for (size_t i = 0; i < part.length; i++) {
    value = 10 * value + (part.text[i] - '0');
    if (value > most) return most + 1;
  }
  return value;
}

/* q = whole.fraction 10^exponent */
static void set_decimal(mpq_t q, digits_part whole, digits_part fraction, long exponent) {
  char digits[MOST_NUMBER_LENGTH + 1];
  memcpy(digits, whole.text, whole.length);
  memcpy(digits + whole.length, fraction.text, fraction.length);
  digits[whole.length + fraction.length] = 0;
  const long scale = exponent - (long)fraction.length;
  mpz_t power;
  mpz_init(power);
  mpz_ui_pow_ui(power, 10, (unsigned long)labs(scale));
  mpz_set_str(mpq_numref(q), digits, 10);
  if (scale < 0)
    mpz_set(mpq_denref(q), power);
  else
    mpz_set_ui(mpq_denref(q), 1);
  if (scale > 0) mpz_mul(mpq_numref(q), mpq_numref(q), power);
  mpq_canonicalize(q);
  mpz_clear(power);
}

phibal_status phi_token_value(const phi_lexer *lexer, const phi_token *token, mpq_t value) {
  digits_part whole, fraction, exponent;
  bool negative;
  if (token->length > MOST_NUMBER_LENGTH)
    return phi_token_refuse(lexer, token, "a number of at most %d characters", MOST_NUMBER_LENGTH);
  if (!split(token, &whole, &fraction, &exponent, &negative))
    return phi_token_refuse(lexer, token,
                            "a number such as 2, 0.1 or 1.5e-3, and an operator behind it (2*x)");
  const long power = small_value(exponent, MOST_EXPONENT);
  if (power > MOST_EXPONENT)
    return phi_token_refuse(lexer, token, "a number between 1e-%d and 1e%d", MOST_EXPONENT,
                            MOST_EXPONENT);
  set_decimal(value, whole, fraction, negative ? -power : power);
  return PHIBAL_OK;
}

/* Is the token a byte or a character that no file may hold at its place, whatever is expected? */
static bool is_not_text(const phi_token *token) {
  if (token->kind != PHI_TOKEN_BAD) return false;
  const unsigned char first = (unsigned char)*token->text;
  return first < 32 || first >= 127;
}

/* The bytes of a token that is no text, as U+00E9 or as a byte. */
static void name_bytes(const phi_token *token, char *name, size_t size) {
  const unsigned char *s = (const unsigned char *)token->text;
  uint32_t code = s[0];
  if (token->length > 1) {
    code &= 0xffu >> (token->length + 1);
    for (size_t i = 1; i < token->length; i++) code = code << 6 | (s[i] & 0x3fu);
    snprintf(name, size, "the character U+%04X", (unsigned)code);
  } else if (32 <= code && code < 127) {
    snprintf(name, size, "'%c'", (char)code);
  } else {
    snprintf(name, size, "the byte 0x%02X", (unsigned)code);
  }
}

static void name_token(const phi_token *token, char *name, size_t size) {
  const bool cut = token->length > SHOWN_TOKEN;
  switch (token->kind) {
  case PHI_TOKEN_BAD:
    name_bytes(token, name, size);
    return;
  case PHI_TOKEN_END:
    snprintf(name, size, "the end of the file");
    return;
  case PHI_TOKEN_NEWLINE:
    snprintf(name, size, "the end of the line");
    return;
  default:
    snprintf(name, size, "'%.*s%s'", cut ? SHOWN_TOKEN : (int)token->length, token->text,
             cut ? "..." : "");
  }
}

phibal_status phi_token_refuse_list(const phi_lexer *lexer, const phi_token *token,
                                    const char *expected, va_list arguments) {
  char name[SHOWN_TOKEN + 32], wanted[256];
  name_token(token, name, sizeof name);
  vsnprintf(wanted, sizeof wanted, expected, arguments);
  const size_t length = strlen(lexer->file);
  const bool cut = length > SHOWN_FILE;
  return phibal_status_set(PHIBAL_ERROR_FORMAT, "%s%s:%d:%d: found %s; expected %s",
                           cut ? "..." : "", lexer->file + (cut ? length - SHOWN_FILE : 0),
                           token->line, token->column, name,
                           is_not_text(token) ? "ASCII text, and UTF-8 in comments" : wanted);
}

phibal_status phi_token_refuse(const phi_lexer *lexer, const phi_token *token, const char *expected,
                               ...) {
  va_list arguments;
  va_start(arguments, expected);
  const phibal_status status = phi_token_refuse_list(lexer, token, expected, arguments);
  va_end(arguments);
  return status;
}
