/* Expressions of the φ language: immutable trees, owned by a pool, with the place each node was
   written at. The grammar is in spec/PHI-LANGUAGE.md. */
#ifndef PHIBAL_AUDIT_EXPRESSION_H
#define PHIBAL_AUDIT_EXPRESSION_H

#include <gmp.h>
#include <phibal/status.h>
#include <stdbool.h>
#include <stddef.h>

/* FUNCTION(ID, "name", arguments). Closed under differentiation: softplus' = sigmoid,
   sigmoid' = sigmoid(x) sigmoid(-x), logcosh' = tanh, tanh' = cosh^-2, abs' = sgn,
   xlogx' = log + 1; and max(a, b) = (a + b + |a - b|)/2. xlogx(t) is t log t, and 0 at t = 0. */
#define EXPRESSION_FUNCTIONS(FUNCTION)                                                             \
  FUNCTION(EXP, "exp", 1)                                                                          \
  FUNCTION(EXPM1, "expm1", 1)                                                                      \
  FUNCTION(LOG, "log", 1)                                                                          \
  FUNCTION(LOG1P, "log1p", 1)                                                                      \
  FUNCTION(SQRT, "sqrt", 1)                                                                        \
  FUNCTION(ABS, "abs", 1)                                                                          \
  FUNCTION(SGN, "sgn", 1)                                                                          \
  FUNCTION(SIN, "sin", 1)                                                                          \
  FUNCTION(COS, "cos", 1)                                                                          \
  FUNCTION(TANH, "tanh", 1)                                                                        \
  FUNCTION(SINH, "sinh", 1)                                                                        \
  FUNCTION(COSH, "cosh", 1)                                                                        \
  FUNCTION(LOGCOSH, "logcosh", 1)                                                                  \
  FUNCTION(SIGMOID, "sigmoid", 1)                                                                  \
  FUNCTION(SOFTPLUS, "softplus", 1)                                                                \
  FUNCTION(XLOGX, "xlogx", 1)                                                                      \
  FUNCTION(MAX, "max", 2)

typedef enum expression_kind {
  EXPRESSION_NUMBER,    /* an exact rational */
  EXPRESSION_PARAMETER, /* parameter number `index` */
  EXPRESSION_VARIABLE,  /* the coordinate: x_e, or y_e in a conjugate */
  EXPRESSION_SUM, /* the sum over experts of argument[0]; sums do not nest. `index`: its number
                     among the distinct sums of its section */
  EXPRESSION_NEGATE,
  EXPRESSION_ADD,
  EXPRESSION_SUBTRACT,
  EXPRESSION_MULTIPLY,
  EXPRESSION_DIVIDE,
  EXPRESSION_POWER,
#define FUNCTION(ID, name, arguments) EXPRESSION_##ID,
  EXPRESSION_FUNCTIONS(FUNCTION)
#undef FUNCTION
      EXPRESSION_KINDS
} expression_kind;

typedef struct expression {
  expression_kind kind;
  int index;
  int line, column;                     /* from 1; 0 where a program made the node */
  int depth, size;                      /* of the tree written out: 1 for a leaf; at most INT_MAX */
  const struct expression *argument[2]; /* null where there is none */
  mpq_t number;                         /* initialised for EXPRESSION_NUMBER only */
} expression;

/* Owns nodes; all of them go with it. */
typedef struct expression_pool expression_pool;
expression_pool *expression_pool_create(void); /* null when memory is out */
void expression_pool_destroy(expression_pool *pool);

/* New nodes, null when memory is out or an argument is null (so that calls nest and one test at the
   end suffices). No simplification: the tree is what was asked for. */
const expression *expression_number(expression_pool *pool, mpq_srcptr value);
const expression *expression_integer(expression_pool *pool, long numerator,
                                     unsigned long denominator);
const expression *expression_parameter(expression_pool *pool, int index);
const expression *expression_variable(expression_pool *pool);
const expression *expression_sum(expression_pool *pool, int index, const expression *term);
const expression *expression_make(expression_pool *pool, expression_kind kind, const expression *a,
                                  const expression *b);

/* The same tree, places aside. */
bool expression_equal(const expression *a, const expression *b);
/* Holds a node of that kind. */
bool expression_holds(const expression *e, expression_kind kind);
/* How many arguments a kind takes: 0, 1 or 2. */
int expression_arguments(expression_kind kind);
const char *expression_function_name(expression_kind kind); /* null for what is not a function */

/* Says where a node of the pool was written. */
void expression_set_place(expression_pool *pool, const expression *e, int line, int column);

/* As it may be written in a .phi file, parameters by the names given and the coordinate as
   `variable`; malloc'ed, null when memory is out. Reading it gives an equal tree. */
char *expression_text(const expression *e, const char *const *parameters, const char *variable);

#endif
