/* Reading an expression as a quotient. Every step proves that the term is defined and analytic on
   the domain, and fails otherwise; kinks (abs, sgn, max) must be decided by a sign. */
#include "symbolic_internal.h"

static const quotient *half(symbolic *s, const quotient *a) {
  return symbolic_divide(s, a, symbolic_integer(s, 2));
}

static const quotient *negative(symbolic *s, const quotient *a) {
  return symbolic_subtract(s, symbolic_integer(s, 0), a);
}

/* exp(u) - sign exp(-u), over 2 */
static const quotient *hyperbolic(symbolic *s, const quotient *u, int sign) {
  const quotient *up = symbolic_exp(s, u), *down = symbolic_divide(s, symbolic_integer(s, 1), up);
  return half(s, sign > 0 ? symbolic_add(s, up, down) : symbolic_subtract(s, up, down));
}

static const quotient *one_plus(symbolic *s, const quotient *u) {
  return symbolic_add(s, symbolic_integer(s, 1), u);
}

static const quotient *minus_one(symbolic *s, const quotient *u) {
  return symbolic_subtract(s, u, symbolic_integer(s, 1));
}

/* (exp(u)^2 - 1)/(exp(u)^2 + 1), in the exponential that cosh(u) is made of too */
static const quotient *hyperbolic_tangent(symbolic *s, const quotient *u) {
  const quotient *e = symbolic_power(s, symbolic_exp(s, u), 2);
  return symbolic_divide(s, minus_one(s, e), one_plus(s, e));
}

static const quotient *divide(symbolic *s, const quotient *a, const quotient *b) {
  if (!a || !b) return NULL;
  if (symbolic_sign_at_depth(s, b, 0) & SIGN_ZERO)
    return symbolic_fail(s, "a division by what is not proved to differ from 0");
  return symbolic_divide(s, a, b);
}

/* |u|, or sgn(u) */
static const quotient *absolute(symbolic *s, const quotient *u, bool sign_only) {
  if (!u) return NULL;
  unsigned sign = symbolic_sign_at_depth(s, u, 0);
  if (sign == SIGN_ZERO) return symbolic_integer(s, 0);
  if (sign_only && (sign & SIGN_ZERO)) sign = SIGN_ANY;
  if ((sign & SIGN_NEGATIVE) == 0) return sign_only ? symbolic_integer(s, 1) : u;
  if ((sign & SIGN_POSITIVE) == 0) return sign_only ? symbolic_integer(s, -1) : negative(s, u);
  return symbolic_fail(s, "a kink: abs, sgn or max of what may change its sign");
}

static const quotient *maximum(symbolic *s, const quotient *a, const quotient *b) {
  const quotient *gap = symbolic_subtract(s, a, b);
  if (!gap) return NULL;
  unsigned sign = symbolic_sign_at_depth(s, gap, 0);
  if ((sign & SIGN_NEGATIVE) == 0) return a;
  if ((sign & SIGN_POSITIVE) == 0) return b;
  return symbolic_fail(s, "a kink: max of what may cross");
}

static const quotient *read_function(symbolic *s, expression_kind kind, const quotient *a,
                                     const quotient *b) {
  switch (kind) {
  case EXPRESSION_EXP:
    return symbolic_exp(s, a);
  case EXPRESSION_EXPM1:
    return minus_one(s, symbolic_exp(s, a));
  case EXPRESSION_LOG:
    return symbolic_log(s, a);
  case EXPRESSION_LOG1P:
    return symbolic_log(s, one_plus(s, a));
  case EXPRESSION_XLOGX:
    return symbolic_is_zero(s, a) ? a : symbolic_multiply(s, a, symbolic_log(s, a));
  case EXPRESSION_SQRT:
    return symbolic_is_zero(s, a) ? a : symbolic_root(s, a, 2);
  case EXPRESSION_ABS:
    return absolute(s, a, false);
  case EXPRESSION_SGN:
    return absolute(s, a, true);
  case EXPRESSION_SIN:
    return symbolic_sin(s, a);
  case EXPRESSION_COS:
    return symbolic_cos(s, a);
  case EXPRESSION_TANH:
    return hyperbolic_tangent(s, a);
  case EXPRESSION_SINH:
    return hyperbolic(s, a, -1);
  case EXPRESSION_COSH:
    return hyperbolic(s, a, 1);
  case EXPRESSION_LOGCOSH:
    return symbolic_log(s, hyperbolic(s, a, 1));
  case EXPRESSION_SIGMOID: {
    const quotient *e = symbolic_exp(s, a);
    return symbolic_divide(s, e, one_plus(s, e));
  }
  case EXPRESSION_SOFTPLUS:
    return symbolic_log(s, one_plus(s, symbolic_exp(s, a)));
  case EXPRESSION_MAX:
    return maximum(s, a, b);
  default:
    return symbolic_fail(s, "a term that exact algebra does not know");
  }
}

/* In the language only an exponent that is written as a whole number takes a negative base, not a
   parameter that happens to be one; and 0^t is 0 for t > 0. */
static const quotient *raise_as_written(symbolic *s, const expression *exponent, const quotient *a,
                                        const quotient *b) {
  if (symbolic_is_zero(s, a) && b && symbolic_sign_at_depth(s, b, 0) == SIGN_POSITIVE) return a;
  if (expression_holds(exponent, EXPRESSION_PARAMETER) &&
      symbolic_sign_at_depth(s, a, 0) != SIGN_POSITIVE)
    return symbolic_fail(s, "a power of what is not proved positive");
  return symbolic_raise(s, a, b);
}

static const quotient *read_node(symbolic *s, const expression *e, const quotient *x,
                                 const quotient *const *sums, int depth) {
  enum { DEEPEST = 200 };
  if (depth > DEEPEST) return symbolic_fail(s, "terms nested deeper than %d", DEEPEST);
  switch (e->kind) {
  case EXPRESSION_NUMBER:
    return symbolic_rational(s, e->number);
  case EXPRESSION_PARAMETER:
    return symbolic_parameter(s, e->index);
  case EXPRESSION_VARIABLE:
    return x;
  case EXPRESSION_SUM:
    return sums ? sums[e->index] : symbolic_fail(s, "a sum within a sum");
  default:
    break;
  }
  const quotient *a = read_node(s, e->argument[0], x, sums, depth + 1),
                 *b = a && e->argument[1] ? read_node(s, e->argument[1], x, sums, depth + 1) : NULL;
  if (!a || (e->argument[1] && !b)) return NULL;
  switch (e->kind) {
  case EXPRESSION_NEGATE:
    return negative(s, a);
  case EXPRESSION_ADD:
    return symbolic_add(s, a, b);
  case EXPRESSION_SUBTRACT:
    return symbolic_subtract(s, a, b);
  case EXPRESSION_MULTIPLY:
    return symbolic_multiply(s, a, b);
  case EXPRESSION_DIVIDE:
    return divide(s, a, b);
  case EXPRESSION_POWER:
    return raise_as_written(s, e->argument[1], a, b);
  default:
    return read_function(s, e->kind, a, b);
  }
}

const quotient *symbolic_read_at(symbolic *s, const expression *e, const quotient *x,
                                 const quotient *const *sums) {
  return e && x ? read_node(s, e, x, sums, 0) : NULL;
}

const quotient *symbolic_read(symbolic *s, const expression *e, const quotient *const *sums) {
  return symbolic_read_at(s, e, symbolic_variable(s), sums);
}

bool symbolic_conditions(symbolic *s, const phi_section *section) {
  for (int i = 0; i < section->conditions; i++) {
    const phi_condition *c = &section->condition[i];
    bool less = c->relation == PHI_LESS || c->relation == PHI_LESS_EQUAL;
    const quotient *left = symbolic_read(s, c->left, NULL),
                   *right = symbolic_read(s, c->right, NULL);
    unsigned sign = symbolic_sign(s, less ? symbolic_subtract(s, right, left)
                                          : symbolic_subtract(s, left, right));
    if (sign & SIGN_NEGATIVE) return false;
    if ((sign & SIGN_ZERO) && (c->relation == PHI_LESS || c->relation == PHI_GREATER)) return false;
  }
  return true;
}
