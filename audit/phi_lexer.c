/* The words, numbers and signs of a .phi file. Characters are those of ASCII, whatever the locale;
   comments may hold any UTF-8. */
#include "phi_lexer.h"
#include <stdint.h>
#include <string.h>

enum { TAB = 9, LINE_FEED = 10, CARRIAGE_RETURN = 13, FIRST_PRINTED = 32, DELETE = 127 };

void phi_lexer_init(phi_lexer *lexer, const char *file, const char *text, size_t length) {
  *lexer = (phi_lexer){.file = file, .text = text, .length = length, .line = 1};
}

static bool is_digit(int c) {
  return '0' <= c && c <= '9';
}

static bool is_letter(int c) {
  return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || c == '_';
}

/* The byte so far ahead, or -1 behind the end. */
static int peek(const phi_lexer *x, size_t ahead) {
  return ahead < x->length - x->at ? (unsigned char)x->text[x->at + ahead] : -1;
}

/* Bytes of the UTF-8 character at the place, 0 if there is none; sets its code point. */
static size_t utf8_character(const phi_lexer *x, uint32_t *code) {
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  const int first = peek(x, 0);
  if (first < 0) return 0;
  *code = (uint32_t)first;
  if (first < 0x80) return 1;
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc0 || first > 0xf4) return 0;
  *code = (uint32_t)first & (0xffu >> (length + 1));
  for (size_t i = 1; i < length; i++) {
    const int next = peek(x, i);
    if (next < 0 || (next & 0xc0) != 0x80) return 0;
    *code = *code << 6 | ((uint32_t)next & 0x3f);
  }
  const bool surrogate = 0xd800 <= *code && *code < 0xe000;
  return *code < least[length] || *code > 0x10ffff || surrogate ? 0 : length;
}

/* Passes a comment as far as it is text: to the end of the line, or to a byte that is none. */
static void pass_comment(phi_lexer *x) {
  for (;;) {
    uint32_t code;
    const size_t length = utf8_character(x, &code);
    if (length == 0 || code == LINE_FEED) return;
    if ((code < FIRST_PRINTED && code != TAB && code != CARRIAGE_RETURN) || code == DELETE) return;
    x->at += length;
  }
}

static bool is_blank(const phi_lexer *x) {
  const int c = peek(x, 0);
  return c == ' ' || c == TAB || (c == CARRIAGE_RETURN && peek(x, 1) == LINE_FEED);
}

/* Passes blanks, comments, and where `lines` says so ends of lines. */
static void pass_blanks(phi_lexer *x, bool lines) {
  for (;;) {
    if (is_blank(x)) {
      x->at++;
    } else if (peek(x, 0) == '#') {
      pass_comment(x);
      if (peek(x, 0) != LINE_FEED) return;
    } else if (lines && peek(x, 0) == LINE_FEED) {
      x->line_start = ++x->at;
      x->line++;
    } else {
      return;
    }
  }
}

static bool is_any(const phi_token *token, const char *const *words) {
  for (; *words; words++)
    if (phi_token_is(token, *words)) return true;
  return false;
}

/* Can a statement end behind it? */
static bool completes(const phi_token *token) {
  static const char *const asking[] = {"potential", "parameter", "let",   "value",
                                       "gradient",  "conjugate", "where", "in",
                                       "and",       "or",        NULL};
  if (token->kind == PHI_TOKEN_WORD) return !is_any(token, asking);
  return token->kind == PHI_TOKEN_NUMBER || phi_token_is(token, ")") || phi_token_is(token, "]");
}

/* Number with what may belong to it: 1.5e-3, and to be refused 2x or 1.2.3. */
static size_t number_length(const phi_lexer *x) {
  size_t n = 0;
  for (;; n++) {
    const int c = peek(x, n), before = n ? peek(x, n - 1) : 0;
    const bool exponent_sign =
        (c == '+' || c == '-') && (before == 'e' || before == 'E') && is_digit(peek(x, n + 1));
    if (!is_digit(c) && !is_letter(c) && c != '.' && !exponent_sign) return n;
  }
}

static size_t word_length(const phi_lexer *x) {
  size_t n = 0;
  while (is_letter(peek(x, n)) || is_digit(peek(x, n))) n++;
  return n;
}

static size_t bad_length(const phi_lexer *x) {
  uint32_t code;
  const size_t length = utf8_character(x, &code);
  return length ? length : 1;
}

/* The token at the place, which is not blank. */
static phi_token token_here(phi_lexer *x) {
  const int c = peek(x, 0);
  phi_token t = {.text = x->text + x->at, .line = x->line};
  t.column = (int)(x->at - x->line_start) + 1;
  if (c < 0) {
    t.kind = PHI_TOKEN_END;
  } else if (is_digit(c) || (c == '.' && is_digit(peek(x, 1)))) {
    t.kind = PHI_TOKEN_NUMBER;
    t.length = number_length(x);
  } else if (is_letter(c)) {
    t.kind = PHI_TOKEN_WORD;
    t.length = word_length(x);
  } else if (c && strchr("+-*/^()[],=<>", c)) {
    t.kind = PHI_TOKEN_SIGN;
    t.length = (c == '<' || c == '>') && peek(x, 1) == '=' ? 2 : 1;
  } else {
    t.kind = PHI_TOKEN_BAD;
    t.length = bad_length(x);
  }
  x->at += t.length;
  return t;
}

/* Is the first word of what follows, on whatever line, one that goes on with the statement? */
static bool statement_goes_on(const phi_lexer *x) {
  static const char *const words[] = {"where", "and", "or", NULL};
  phi_lexer ahead = *x;
  pass_blanks(&ahead, true);
  const phi_token next = token_here(&ahead);
  return next.kind == PHI_TOKEN_WORD && is_any(&next, words);
}

phi_token phi_lexer_next(phi_lexer *x) {
  pass_blanks(x, x->open > 0 || !x->complete);
  if (peek(x, 0) == LINE_FEED) {
    phi_token end = {.kind = PHI_TOKEN_NEWLINE, .text = x->text + x->at, .line = x->line};
    end.column = (int)(x->at - x->line_start) + 1;
    x->complete = false;
    if (!statement_goes_on(x)) return end;
    pass_blanks(x, true);
  }
  const phi_token t = token_here(x);
  if (phi_token_is(&t, "(") || phi_token_is(&t, "[")) x->open++;
  if (x->open > 0 && (phi_token_is(&t, ")") || phi_token_is(&t, "]"))) x->open--;
  x->complete = completes(&t);
  return t;
}

void phi_lexer_extend_name(phi_lexer *x, phi_token *word) {
  while (is_letter(peek(x, 0)) || is_digit(peek(x, 0)) || peek(x, 0) == '-') {
    x->at++;
    word->length++;
  }
  x->complete = true;
}

bool phi_token_is(const phi_token *token, const char *text) {
  if (token->kind != PHI_TOKEN_WORD && token->kind != PHI_TOKEN_SIGN) return false;
  return strlen(text) == token->length && memcmp(token->text, text, token->length) == 0;
}
