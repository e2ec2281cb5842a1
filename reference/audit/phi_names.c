/* Names in a .phi file: which are taken, and which one was perhaps meant. */
#include "phi_parser.h"
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

static int smallest(int a, int b, int c) {
  const int less = a < b ? a : b;
  return less < c ? less : c;
}

/* Letters to insert, remove or change to make b of a; both at most MOST_NAME long. */
static int distance(const char *a, size_t a_length, const char *b, size_t b_length) {
  int row[MOST_NAME + 1];
  for (size_t j = 0; j <= b_length; j++) row[j] = (int)j;
  for (size_t i = 1; i <= a_length; i++) {
    int diagonal = row[0];
    row[0] = (int)i;
    for (size_t j = 1; j <= b_length; j++) {
      const int changed = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = smallest(row[j] + 1, row[j - 1] + 1, changed);
    }
  }
  return row[b_length];
}

typedef struct search {
  const phi_token *name;
  int least;
  const char *text;
  size_t length;
} search;

static void consider(search *s, const char *text, size_t length) {
  const int steps = distance(s->name->text, s->name->length, text, length);
  /* short names are near to too many */
  if (steps > s->least || 2 * (size_t)steps > s->name->length) return;
  s->least = steps - 1;
  s->text = text;
  s->length = length;
}

const char *phi_near_name(const phi_parser *p, const phi_token *name, char *buffer, size_t size) {
  search s = {.name = name, .least = 2};
  if (name->length > MOST_NAME) return NULL;
  for (int i = 0; i < p->phi->parameters; i++)
    consider(&s, p->phi->parameter[i].name, strlen(p->phi->parameter[i].name));
  for (int i = 0; i < p->lets; i++) consider(&s, p->let[i].name.text, p->let[i].name.length);
  for (int i = 0; i < EXPRESSION_WORDS; i++)
    consider(&s, expression_words[i], strlen(expression_words[i]));
  if (!s.text || s.length >= size) return NULL;
  memcpy(buffer, s.text, s.length);
  buffer[s.length] = 0;
  return buffer;
}
