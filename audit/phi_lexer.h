/* The words, numbers and signs of a .phi file, and where its statements end. */
#ifndef PHIBAL_AUDIT_PHI_LEXER_H
#define PHIBAL_AUDIT_PHI_LEXER_H

#include <gmp.h>
#include <stdarg.h>
#include <phibal/status.h>
#include <stdbool.h>
#include <stddef.h>

typedef enum phi_token_kind {
  PHI_TOKEN_BAD, /* bytes that mean nothing */
  PHI_TOKEN_END, /* of the file */
  PHI_TOKEN_NEWLINE,
  PHI_TOKEN_NUMBER,
  PHI_TOKEN_WORD,
  PHI_TOKEN_SIGN, /* + - * / ^ ( ) [ ] , = < <= > >= */
} phi_token_kind;

typedef struct phi_token {
  phi_token_kind kind;
  const char *text;
  size_t length;
  int line, column; /* from 1 */
} phi_token;

/* A copy of a lexer goes on from where it was copied. */
typedef struct phi_lexer {
  const char *file, *text;
  size_t length, at, line_start;
  int line;
  int open;      /* parentheses */
  bool complete; /* what has been read of the statement can be all of it */
} phi_lexer;

void phi_lexer_init(phi_lexer *lexer, const char *file, const char *text, size_t length);
/* The next token. The end of a line is one only where a statement can end: not within parentheses,
   not after a sign or a word that asks for more, and not before `where`, `and`, `or`. */
phi_token phi_lexer_next(phi_lexer *lexer);
/* A word and what follows it without a blank: letters, digits, - and _. */
void phi_lexer_extend_name(phi_lexer *lexer, phi_token *word);

bool phi_token_is(const phi_token *token, const char *text);
/* The value of a number; PHIBAL_ERROR_FORMAT, as below, where it is too long or too large. */
phibal_status phi_token_value(const phi_lexer *lexer, const phi_token *token, mpq_t value);
/* PHIBAL_ERROR_FORMAT with "<file>:<line>:<column>: found <token>; expected <...>". */
phibal_status phi_token_refuse(const phi_lexer *lexer, const phi_token *token, const char *expected,
                               ...) __attribute__((format(printf, 3, 4)));
phibal_status phi_token_refuse_list(const phi_lexer *lexer, const phi_token *token,
                                    const char *expected, va_list arguments)
    __attribute__((format(printf, 3, 0)));

#endif
