/* Derivatives, rule by rule. Products with 0 and 1 are not written, so that what is left is about
   as long as one would write it by hand. */
#include "derivative.h"

typedef struct rule {
  expression_pool *pool;
  int by;
} rule;

static const expression *number(const rule *r, long n) {
  return expression_integer(r->pool, n, 1);
}

static bool is_number(const expression *e, long n) {
  return e && e->kind == EXPRESSION_NUMBER && mpq_cmp_si(e->number, n, 1) == 0;
}

static const expression *negate(const rule *r, const expression *a) {
  if (is_number(a, 0)) return a;
  if (a && a->kind == EXPRESSION_NEGATE) return a->argument[0];
  return expression_make(r->pool, EXPRESSION_NEGATE, a, NULL);
}

static const expression *add(const rule *r, const expression *a, const expression *b) {
  if (!a || !b) return NULL;
  if (is_number(a, 0)) return b;
  if (is_number(b, 0)) return a;
  return expression_make(r->pool, EXPRESSION_ADD, a, b);
}

static const expression *subtract(const rule *r, const expression *a, const expression *b) {
  if (!a || !b) return NULL;
  if (is_number(b, 0)) return a;
  if (is_number(a, 0)) return negate(r, b);
  return expression_make(r->pool, EXPRESSION_SUBTRACT, a, b);
}

static const expression *multiply(const rule *r, const expression *a, const expression *b) {
  if (!a || !b) return NULL;
  if (is_number(a, 0) || is_number(b, 1)) return a;
  if (is_number(b, 0) || is_number(a, 1)) return b;
  return expression_make(r->pool, EXPRESSION_MULTIPLY, a, b);
}

static const expression *divide(const rule *r, const expression *a, const expression *b) {
  if (!a || !b) return NULL;
  if (is_number(a, 0) || is_number(b, 1)) return a;
  return expression_make(r->pool, EXPRESSION_DIVIDE, a, b);
}

static const expression *call(const rule *r, expression_kind kind, const expression *a) {
  return expression_make(r->pool, kind, a, NULL);
}

/* a^n for small n: no power for 1. */
static const expression *power_minus_one(const rule *r, const expression *base,
                                         const expression *exponent) {
  if (is_number(exponent, 2)) return base;
  if (exponent->kind != EXPRESSION_NUMBER)
    return expression_make(r->pool, EXPRESSION_POWER, base,
                           expression_make(r->pool, EXPRESSION_SUBTRACT, exponent, number(r, 1)));
  mpq_t less;
  mpq_init(less);
  mpq_set_si(less, -1, 1);
  mpq_add(less, less, exponent->number);
  const expression *e =
      expression_make(r->pool, EXPRESSION_POWER, base, expression_number(r->pool, less));
  mpq_clear(less);
  return e;
}

/* (u^v)' = v u^(v-1) u' + u^v log(u) v'. */
static const expression *power(const rule *r, const expression *e, const expression *du,
                               const expression *dv) {
  const expression *u = e->argument[0], *v = e->argument[1];
  const expression *first =
      is_number(du, 0) || is_number(v, 0)
          ? number(r, 0)
          : multiply(r, multiply(r, v, is_number(v, 1) ? number(r, 1) : power_minus_one(r, u, v)),
                     du);
  const expression *second =
      is_number(dv, 0) ? dv : multiply(r, multiply(r, e, call(r, EXPRESSION_LOG, u)), dv);
  return add(r, first, second);
}

/* f'(u) for f of one argument. */
static const expression *slope(const rule *r, const expression *e) {
  const expression *u = e->argument[0];
  switch (e->kind) {
  case EXPRESSION_EXP:
    return e;
  case EXPRESSION_EXPM1:
    return call(r, EXPRESSION_EXP, u);
  case EXPRESSION_LOG:
    return divide(r, number(r, 1), u);
  case EXPRESSION_LOG1P:
    return divide(r, number(r, 1), add(r, number(r, 1), u));
  case EXPRESSION_XLOGX:
    return add(r, call(r, EXPRESSION_LOG, u), number(r, 1));
  case EXPRESSION_SQRT:
    return divide(r, number(r, 1), multiply(r, number(r, 2), e));
  case EXPRESSION_ABS:
    return call(r, EXPRESSION_SGN, u);
  case EXPRESSION_SIN:
    return call(r, EXPRESSION_COS, u);
  case EXPRESSION_COS:
    return negate(r, call(r, EXPRESSION_SIN, u));
  case EXPRESSION_TANH: /* 1 / cosh^2 */
    return expression_make(r->pool, EXPRESSION_POWER, call(r, EXPRESSION_COSH, u), number(r, -2));
  case EXPRESSION_SINH:
    return call(r, EXPRESSION_COSH, u);
  case EXPRESSION_COSH:
    return call(r, EXPRESSION_SINH, u);
  case EXPRESSION_LOGCOSH:
    return call(r, EXPRESSION_TANH, u);
  case EXPRESSION_SIGMOID:
    return multiply(r, e, call(r, EXPRESSION_SIGMOID, negate(r, u)));
  case EXPRESSION_SOFTPLUS:
    return call(r, EXPRESSION_SIGMOID, u);
  default: /* sgn */
    return number(r, 0);
  }
}

static const expression *derive(const rule *r, const expression *e) {
  if (!e) return NULL;
  const expression *du = NULL, *dv = NULL;
  switch (e->kind) {
  case EXPRESSION_NUMBER:
  case EXPRESSION_PARAMETER:
    return number(r, 0);
  case EXPRESSION_VARIABLE:
    return number(r, r->by == DERIVATIVE_COORDINATE);
  case EXPRESSION_SUM:
    return number(r, r->by == e->index);
  default:
    break;
  }
  du = derive(r, e->argument[0]);
  dv = expression_arguments(e->kind) == 2 ? derive(r, e->argument[1]) : NULL;
  if (!du || (expression_arguments(e->kind) == 2 && !dv)) return NULL;
  const expression *u = e->argument[0], *v = e->argument[1];
  switch (e->kind) {
  case EXPRESSION_NEGATE:
    return negate(r, du);
  case EXPRESSION_ADD:
    return add(r, du, dv);
  case EXPRESSION_SUBTRACT:
    return subtract(r, du, dv);
  case EXPRESSION_MULTIPLY:
    return add(r, multiply(r, du, v), multiply(r, u, dv));
  case EXPRESSION_DIVIDE: /* (u' - (u/v) v') / v */
    return divide(r, subtract(r, du, is_number(dv, 0) ? dv : multiply(r, e, dv)), v);
  case EXPRESSION_POWER:
    return power(r, e, du, dv);
  case EXPRESSION_MAX: { /* (u' + v') / 2 + sgn(u - v) (u' - v') / 2 */
    const expression *sign = call(r, EXPRESSION_SGN, subtract(r, u, v));
    const expression *twice = add(r, add(r, du, dv), multiply(r, sign, subtract(r, du, dv)));
    return divide(r, twice, number(r, 2));
  }
  default:
    return is_number(du, 0) ? du : multiply(r, slope(r, e), du);
  }
}

const expression *derivative(expression_pool *pool, const expression *e, int by) {
  return derive(&(rule){pool, by}, e);
}

static bool depends(const expression *e, bool on_sums) {
  if (e->kind == EXPRESSION_SUM) return on_sums;
  if (e->kind == EXPRESSION_VARIABLE) return !on_sums;
  for (int i = 0; i < expression_arguments(e->kind); i++)
    if (depends(e->argument[i], on_sums)) return true;
  return false;
}

bool derivative_coordinate(const expression *e) {
  return depends(e, false);
}

bool derivative_sums(const expression *e) {
  return depends(e, true);
}

const expression *derivative_gradient(expression_pool *pool, const phi_section *value) {
  const rule r = {pool, DERIVATIVE_COORDINATE};
  const expression *gradient = number(&r, 0);
  for (int i = 0; i < value->sums; i++) {
    const expression *outer = derivative(pool, value->expression, i);
    const expression *inner = derivative(pool, value->sum[i], DERIVATIVE_COORDINATE);
    gradient = add(&r, gradient, multiply(&r, outer, inner));
  }
  return gradient;
}
