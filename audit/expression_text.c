/* Expressions as text that reads back as the same tree. */
#include "expression.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How tightly an operation holds its operands. */
enum { HOLD_SUM = 1, HOLD_PRODUCT, HOLD_SIGN, HOLD_POWER, HOLD_ATOM };

/* Numbers with more digits are written as fractions, and so many zeros as an exponent. */
enum { MOST_DIGITS = 40, MOST_PLACES = 20000, MOST_ZEROS = 6 };

/* If |q| = m 10^-places with whole m and few places, says so and gives both. */
static bool as_decimal(mpq_srcptr q, mpz_t m, long *places) {
  mpz_t rest, prime;
  mpz_init(rest);
  mpz_init_set_ui(prime, 2);
  const mp_bitcnt_t twos = mpz_remove(rest, mpq_denref(q), prime);
  mpz_set_ui(prime, 5);
  const mp_bitcnt_t fives = mpz_remove(rest, rest, prime);
  const mp_bitcnt_t most = twos > fives ? twos : fives;
  const bool decimal = mpz_cmp_ui(rest, 1) == 0 && most <= MOST_PLACES;
  if (decimal) {
    *places = (long)most;
    mpz_ui_pow_ui(m, 10, most);
    mpz_mul(m, m, mpq_numref(q));
    mpz_divexact(m, m, mpq_denref(q));
    mpz_abs(m, m);
  }
  mpz_clear(rest);
  mpz_clear(prime);
  return decimal;
}

/* Moves zeros at the end of a whole number into its exponent, if they are many. */
static void cut_zeros(char *digits, long *places) {
  const size_t length = strlen(digits);
  size_t zeros = 0;
  while (zeros + 1 < length && digits[length - 1 - zeros] == '0') zeros++;
  if (zeros <= MOST_ZEROS) return;
  digits[length - zeros] = 0;
  *places -= (long)zeros;
}

/* digits 10^-places: with a point where that is short, else with an exponent. */
static void put_digits(FILE *out, const char *digits, long places) {
  const long count = (long)strlen(digits);
  if (places == 0)
    fputs(digits, out);
  else if (places < 0 || places >= count + MOST_ZEROS)
    fprintf(out, "%se%ld", digits, -places);
  else if (places < count)
    fprintf(out, "%.*s.%s", (int)(count - places), digits, digits + count - places);
  else {
    fputs("0.", out);
    for (long i = count; i < places; i++) putc('0', out);
    fputs(digits, out);
  }
}

/* |q| as it may be written: a decimal where that is short, else a fraction. */
static void put_magnitude(FILE *out, mpq_srcptr q) {
  mpz_t m;
  long places = 0;
  mpz_init(m);
  const bool decimal = as_decimal(q, m, &places);
  char *digits = decimal ? mpz_get_str(NULL, 10, m) : NULL;
  if (digits) cut_zeros(digits, &places);
  if (digits && strlen(digits) <= MOST_DIGITS) {
    put_digits(out, digits, places);
  } else {
    char *fraction = mpq_get_str(NULL, 10, q);
    fputs(fraction + (*fraction == '-'), out);
    free(fraction);
  }
  free(digits);
  mpz_clear(m);
}

static char *magnitude_text(mpq_srcptr q) {
  char *text = NULL;
  size_t length = 0;
  FILE *out = open_memstream(&text, &length);
  if (!out) return NULL;
  put_magnitude(out, q);
  return fclose(out) == 0 ? text : NULL;
}

typedef struct printer {
  FILE *out;
  const char *const *parameters;
  const char *variable;
  bool failed;
} printer;

static void put(printer *p, const expression *e, int hold);

/* -1/3 reads as ((-1)/3), one number, as long as nothing to its left takes a part of it. */
static void put_number(printer *p, mpq_srcptr q, int hold) {
  char *text = magnitude_text(q);
  if (!text) {
    p->failed = true;
    return;
  }
  const int own = strchr(text, '/') ? HOLD_PRODUCT : mpq_sgn(q) < 0 ? HOLD_SIGN : HOLD_ATOM;
  fprintf(p->out, own < hold ? "(%s%s)" : "%s%s", mpq_sgn(q) < 0 ? "-" : "", text);
  free(text);
}

/* In parentheses a number is an operand, and not a part of a greater number. */
static void put_apart(printer *p, const expression *e, int hold) {
  put(p, e, e->kind == EXPRESSION_NUMBER ? HOLD_ATOM + 1 : hold);
}

static bool is_negative_number(const expression *e) {
  return e->kind == EXPRESSION_NUMBER && mpq_sgn(e->number) < 0;
}

static void put_binary(printer *p, const expression *e, int own, const char *sign, int left,
                       int right, int hold) {
  const expression *a = e->argument[0], *b = e->argument[1];
  if (own < hold) putc('(', p->out);
  put(p, a, left);
  fputs(sign, p->out);
  if (is_negative_number(b) || (e->kind == EXPRESSION_DIVIDE && a->kind == EXPRESSION_NUMBER))
    put_apart(p, b, right);
  else
    put(p, b, right);
  if (own < hold) putc(')', p->out);
}

static void put_negation(printer *p, const expression *e, int hold) {
  if (HOLD_SIGN < hold) putc('(', p->out);
  putc('-', p->out);
  put_apart(p, e->argument[0], HOLD_POWER);
  if (HOLD_SIGN < hold) putc(')', p->out);
}

static void put_call(printer *p, const expression *e, const char *name) {
  fprintf(p->out, "%s(", name);
  put(p, e->argument[0], HOLD_SUM);
  if (e->argument[1]) {
    fputs(", ", p->out);
    put(p, e->argument[1], HOLD_SUM);
  }
  putc(')', p->out);
}

/* e as an operand of something that holds its operands so tightly. */
static void put(printer *p, const expression *e, int hold) {
  switch (e->kind) {
  case EXPRESSION_NUMBER:
    put_number(p, e->number, hold);
    return;
  case EXPRESSION_PARAMETER:
    fputs(p->parameters[e->index], p->out);
    return;
  case EXPRESSION_VARIABLE:
    fputs(p->variable, p->out);
    return;
  case EXPRESSION_SUM:
    put_call(p, e, "sum");
    return;
  case EXPRESSION_NEGATE:
    put_negation(p, e, hold);
    return;
  case EXPRESSION_ADD:
    put_binary(p, e, HOLD_SUM, " + ", HOLD_SUM, HOLD_PRODUCT, hold);
    return;
  case EXPRESSION_SUBTRACT:
    put_binary(p, e, HOLD_SUM, " - ", HOLD_SUM, HOLD_PRODUCT, hold);
    return;
  case EXPRESSION_MULTIPLY:
    put_binary(p, e, HOLD_PRODUCT, "*", HOLD_PRODUCT, HOLD_POWER, hold);
    return;
  case EXPRESSION_DIVIDE:
    put_binary(p, e, HOLD_PRODUCT, "/", HOLD_PRODUCT, HOLD_POWER, hold);
    return;
  case EXPRESSION_POWER:
    put_binary(p, e, HOLD_POWER, "^", HOLD_ATOM, HOLD_POWER, hold);
    return;
  default:
    put_call(p, e, expression_function_name(e->kind));
  }
}

char *expression_text(const expression *e, const char *const *parameters, const char *variable) {
  char *text = NULL;
  size_t length = 0;
  FILE *out = open_memstream(&text, &length);
  if (!out) return NULL;
  printer p = {.out = out, .parameters = parameters, .variable = variable};
  put(&p, e, HOLD_SUM);
  if (fclose(out) != 0 || p.failed) {
    free(text);
    return NULL;
  }
  return text;
}
