/* A price as a sequence of operations, for codegen.c: common subexpressions once, constants
   evaluated. */
#ifndef PHIBAL_AUDIT_CODEGEN_LINES_H
#define PHIBAL_AUDIT_CODEGEN_LINES_H

#include "phi.h"

enum { CODE_MOST_LINES = 4096 };

typedef enum code_kind {
  CODE_CONSTANT,
  CODE_LOAD,            /* x */
  CODE_SUM,             /* sum number `integer` */
  CODE_CALL,            /* function(arguments) */
  CODE_POWER_INTEGER,   /* argument[0]^integer */
  CODE_POWER_MINUS_ONE, /* argument[0]^argument[1] - 1 */
} code_kind;

typedef struct code_line {
  code_kind kind;
  const expression *source; /* what the line's value is, CODE_POWER_MINUS_ONE excepted */
  const char *function;
  int argument[2]; /* numbers of lines; -1: none */
  int integer;
  double high, low, error; /* of a constant: |high + low - it| <= error */
} code_line;

typedef struct code {
  const phi_potential *phi;
  const phibal_enclosure *parameters;
  code_line *line;
  int lines;
} code;

code code_create(const phi_potential *phi, const phibal_enclosure *parameters);
void code_clear(code *c);

/* Appends what is needed to compute e; *number is the line that holds it. */
phibal_status code_emit(code *c, const expression *e, int *number);
/* e minus something that does not depend on the coordinate: constant summands are left out, also
   behind factors, and u^c with small c becomes u^c - 1, so that differences of prices keep the
   digits that a large common summand would take. */
phibal_status code_emit_reduced(code *c, const expression *e, int *number);

/* Whether every operation has a finite value where the coordinate is 0. */
bool code_finite_at_zero(const code *c);

#endif
