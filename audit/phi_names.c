/* Names in a .phi file: which are taken, and which one was perhaps meant. */
#include "phi_internal.h"
#include "formats/near_name.h"
#include <string.h>

/* Words that begin or join statements, and words that expressions hold. */
static const char *const statement_words[] = {
    "potential", "parameter", "let", "value", "gradient", "conjugate",
    "where",     "in",        "and", "or",    "inf",
};
static const char *const expression_words[] = {"sum", "x", "y",
#define FUNCTION(ID, name, arguments) name,
                                               EXPRESSION_FUNCTIONS(FUNCTION)
#undef FUNCTION
};
enum {
  STATEMENT_WORDS = sizeof statement_words / sizeof *statement_words,
  EXPRESSION_WORDS = sizeof expression_words / sizeof *expression_words,
  MOST_NAME = 40,
};

static bool is_word(const phi_token *name) {
  for (int i = 0; i < STATEMENT_WORDS; i++)
    if (phi_token_is(name, statement_words[i])) return true;
  for (int i = 0; i < EXPRESSION_WORDS; i++)
    if (phi_token_is(name, expression_words[i])) return true;
  return false;
}

int phi_find_parameter(const phi_parser *p, const phi_token *name) {
  for (int i = 0; i < p->phi->parameters; i++)
    if (phi_token_is(name, p->phi->parameter[i].name)) return i;
  return -1;
}

static bool same_name(const phi_token *a, const phi_token *b) {
  return a->length == b->length && memcmp(a->text, b->text, a->length) == 0;
}

int phi_find_let(const phi_parser *p, const phi_token *name) {
  for (int i = 0; i < p->lets; i++)
    if (same_name(name, &p->let[i].name)) return i;
  return -1;
}

bool phi_new_name(phi_parser *p, phi_token *name) {
  *name = p->token;
  if (name->kind != PHI_TOKEN_WORD) return phi_fail(p, name, "a name");
  if (is_word(name)) return phi_fail(p, name, "a name that is not a word of the language");
  if (phi_find_parameter(p, name) >= 0 || phi_find_let(p, name) >= 0)
    return phi_fail(p, name, "a new name: this one is taken");
  if (name->length > MOST_NAME) return phi_fail(p, name, "at most %d characters", MOST_NAME);
  phi_advance(p);
  return true;
}

const char *phi_near_name(const phi_parser *p, const phi_token *name, char *buffer, size_t size) {
  near_name s = {.wrong = name->text, .wrong_length = name->length};
  for (int i = 0; i < p->phi->parameters; i++)
    near_name_consider(&s, p->phi->parameter[i].name, strlen(p->phi->parameter[i].name));
  for (int i = 0; i < p->lets; i++)
    near_name_consider(&s, p->let[i].name.text, p->let[i].name.length);
  for (int i = 0; i < EXPRESSION_WORDS; i++)
    near_name_consider(&s, expression_words[i], strlen(expression_words[i]));
  if (!s.text || s.length >= size) return NULL;
  memcpy(buffer, s.text, s.length);
  buffer[s.length] = 0;
  return buffer;
}

/* Names of other languages, and how one writes it here. */
const char *phi_foreign_name(const phi_token *name) {
  static const struct {
    const char *name, *here;
  } table[] = {
      {"min", "the lesser of s and t is -max(-s, -t)"},
      {"ln", "the natural logarithm is log(t)"},
      {"log2", "the logarithm to base 2 is log(t)/log(2)"},
      {"log10", "the logarithm to base 10 is log(t)/log(10)"},
      {"exp2", "it is 2^t"},
      {"pow", "powers are written s^t"},
      {"power", "powers are written s^t"},
      {"square", "the square is t^2"},
      {"fabs", "the absolute value is abs(t)"},
      {"sign", "the sign is sgn(t)"},
      {"signum", "the sign is sgn(t)"},
      {"relu", "it is max(0, t)"},
      {"clip", "it is max(a, -max(-t, -b))"},
      {"clamp", "it is max(a, -max(-t, -b))"},
      {"if", "there are no cases; kinks are written with max, abs and sgn"},
      {"tan", "it is sin(t)/cos(t)"},
      {"coth", "it is cosh(t)/sinh(t)"},
      {"cbrt", "it is t^(1/3)"},
      {"log_cosh", "it is logcosh(t)"},
      {"xlogy", "x log x is xlogx(t)"},
      {"e", "it is exp(1)"},
      {"mean", "the mean of t is sum(t)/sum(x^0)"},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    if (phi_token_is(name, table[i].name)) return table[i].here;
  return NULL;
}
