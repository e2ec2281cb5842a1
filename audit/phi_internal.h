/* What the parts of the parser of .phi files share. */
#ifndef PHIBAL_AUDIT_PHI_INTERNAL_H
#define PHIBAL_AUDIT_PHI_INTERNAL_H

#include "phi.h"
#include "phi_lexer.h"

enum { PHI_MAX_LETS = 32 };

/* The uses of the coordinate and of sums in an expression. */
typedef struct phi_uses {
  bool x, y;       /* at all */
  bool coordinate; /* outside sums */
  bool sum;
} phi_uses;

/* A name for an expression. */
typedef struct phi_let {
  phi_token name;
  const expression *value;
  phi_uses uses;
} phi_let;

/* Where an expression stands, and so what it may hold. */
typedef enum phi_place { PHI_IN_LET, PHI_IN_VALUE, PHI_IN_GRADIENT, PHI_IN_CONJUGATE } phi_place;

typedef struct phi_parser {
  phi_lexer lexer;
  phi_token token; /* the one to be looked at */
  phi_potential *phi;
  phi_let let[PHI_MAX_LETS];
  int lets;
  phibal_status status; /* of the failure that ended it */
  /* of the expression being read */
  phi_place place;
  bool in_sum, in_condition;
  int nesting;
  phi_uses uses;
} phi_parser;

void phi_advance(phi_parser *p);
/* Passes the token if it is that sign or word. */
bool phi_accept(phi_parser *p, const char *text);
/* Passes that sign, or fails. */
bool phi_expect(phi_parser *p, const char *text);
/* Fails at a token: false, for the caller to return. */
bool phi_fail(phi_parser *p, const phi_token *token, const char *expected, ...)
    __attribute__((format(printf, 3, 4)));
bool phi_out_of_memory(phi_parser *p);

/* A name that may be given: not yet taken, and not a word of the language. */
bool phi_new_name(phi_parser *p, phi_token *name);
/* The parameter or the `let` of that name, -1 if there is none. */
int phi_find_parameter(const phi_parser *p, const phi_token *name);
int phi_find_let(const phi_parser *p, const phi_token *name);
/* How one writes here what has this name elsewhere: "powers are written s^t"; null if it is none.
 */
const char *phi_foreign_name(const phi_token *name);
/* The known name next to an unknown one; null if none is near. */
const char *phi_near_name(const phi_parser *p, const phi_token *name, char *buffer, size_t size);

/* The expression that begins with the token; null after a failure. p->uses says what it holds. */
const expression *phi_parse_expression(phi_parser *p, phi_place place);
/* A `parameter` statement behind that word. */
bool phi_parse_parameter(phi_parser *p);
/* Numbers the sums of a section's expression. */
bool phi_number_sums(phi_parser *p, const phi_token *at, phi_section *section);
/* And those of its conditions, by themselves. */
bool phi_number_condition_sums(phi_parser *p, const phi_token *at, phi_section *section);

#endif
