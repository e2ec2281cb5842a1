#include "phi64.h"
#include <math.h>

/* A number and its derivative in one direction. */
typedef struct dual {
  double v, d;
} dual;

typedef struct scope {
  const double *parameter;
  const dual *sum; /* null inside a sum */
  dual x;
} scope;

void phi64_parameters(const phi_potential *phi, const phibal_enclosure *parameters, double *p) {
  for (int i = 0; i < phi->parameters; i++) {
    double lo = mpfr_get_d(parameters[i].lo, MPFR_RNDN);
    double hi = mpfr_get_d(parameters[i].hi, MPFR_RNDN);
    p[i] = lo == hi ? lo : 0.5 * lo + 0.5 * hi;
  }
}

/* A constant exponent must not meet log(a): a may be 0. */
static dual power(dual a, dual b) {
  double v = pow(a.v, b.v);
  double d = a.d == 0.0 ? 0.0 : b.v * pow(a.v, b.v - 1.0) * a.d;
  if (b.d != 0.0) d += v * log(a.v) * b.d;
  return (dual){v, d};
}

static dual larger(dual a, dual b) {
  if (a.v == b.v) return (dual){a.v, 0.5 * (a.d + b.d)};
  return a.v > b.v ? a : b;
}

static double sign(double x) {
  return (double)((x > 0.0) - (x < 0.0));
}

/* Whole numbers e^x would overflow before these do. */
static double sigmoid(double x) {
  double t = exp(-fabs(x));
  return x >= 0.0 ? 1.0 / (1.0 + t) : t / (1.0 + t);
}

static double log_cosh(double x) {
  return fabs(x) + log1p(exp(-2.0 * fabs(x))) - 0x1.62e42fefa39efp-1;
}

static double softplus(double x) {
  return fmax(x, 0.0) + log1p(exp(-fabs(x)));
}

static dual function(expression_kind kind, dual a, dual b) {
  double v = a.v, t;
  switch (kind) {
  case EXPRESSION_EXP:
    return (dual){exp(v), exp(v) * a.d};
  case EXPRESSION_EXPM1:
    return (dual){expm1(v), exp(v) * a.d};
  case EXPRESSION_LOG:
    return (dual){log(v), a.d / v};
  case EXPRESSION_LOG1P:
    return (dual){log1p(v), a.d / (1.0 + v)};
  case EXPRESSION_SQRT:
    return (dual){sqrt(v), a.d / (2.0 * sqrt(v))};
  case EXPRESSION_ABS:
    return (dual){fabs(v), sign(v) * a.d};
  case EXPRESSION_SGN:
    return (dual){sign(v), 0.0};
  case EXPRESSION_SIN:
    return (dual){sin(v), cos(v) * a.d};
  case EXPRESSION_COS:
    return (dual){cos(v), -sin(v) * a.d};
  case EXPRESSION_TANH:
    t = tanh(v);
    return (dual){t, (1.0 - t) * (1.0 + t) * a.d};
  case EXPRESSION_SINH:
    return (dual){sinh(v), cosh(v) * a.d};
  case EXPRESSION_COSH:
    return (dual){cosh(v), sinh(v) * a.d};
  case EXPRESSION_LOGCOSH:
    return (dual){log_cosh(v), tanh(v) * a.d};
  case EXPRESSION_SIGMOID:
    return (dual){sigmoid(v), sigmoid(v) * sigmoid(-v) * a.d};
  case EXPRESSION_SOFTPLUS:
    return (dual){softplus(v), sigmoid(v) * a.d};
  case EXPRESSION_XLOGX:
    return (dual){v == 0.0 ? 0.0 : v * log(v), (log(v) + 1.0) * a.d};
  case EXPRESSION_MAX:
    return larger(a, b);
  default:
    return (dual){NAN, NAN};
  }
}

static dual evaluate(const expression *e, const scope *s) {
  if (e->kind == EXPRESSION_SUM) return s->sum[e->index];
  dual a = {0}, b = {0};
  if (e->argument[0]) a = evaluate(e->argument[0], s);
  if (e->argument[1]) b = evaluate(e->argument[1], s);
  switch (e->kind) {
  case EXPRESSION_NUMBER:
    return (dual){mpq_get_d(e->number), 0.0};
  case EXPRESSION_PARAMETER:
    return (dual){s->parameter[e->index], 0.0};
  case EXPRESSION_VARIABLE:
    return s->x;
  case EXPRESSION_NEGATE:
    return (dual){-a.v, -a.d};
  case EXPRESSION_ADD:
    return (dual){a.v + b.v, a.d + b.d};
  case EXPRESSION_SUBTRACT:
    return (dual){a.v - b.v, a.d - b.d};
  case EXPRESSION_MULTIPLY:
    return (dual){a.v * b.v, a.d * b.v + a.v * b.d};
  case EXPRESSION_DIVIDE:
    return (dual){a.v / b.v, (a.d - a.v / b.v * b.d) / b.v};
  case EXPRESSION_POWER:
    return power(a, b);
  default:
    return function(e->kind, a, b);
  }
}

static dual inner(const phi_potential *phi, const double *p, int i, double x) {
  const scope s = {p, NULL, {x, 1.0}};
  return evaluate(phi->value.sum[i], &s);
}

static void add_up(const phi_potential *phi, const double *p, size_t n, const double *x,
                   dual *sum) {
  for (int i = 0; i < phi->value.sums; i++) {
    sum[i] = (dual){0.0, 0.0};
    double last = 0.0;
    for (size_t e = 0; e < n; e++) {
      if (e == 0 || x[e] != x[e - 1]) last = inner(phi, p, i, x[e]).v;
      sum[i].v += last;
    }
  }
}

double phi64_value(const phi_potential *phi, const double *p, size_t n, const double *x) {
  dual sum[PHI_MAX_SUMS];
  add_up(phi, p, n, x, sum);
  const scope s = {p, sum, {0.0, 0.0}};
  return evaluate(phi->value.expression, &s).v;
}

void phi64_gradient(const phi_potential *phi, const double *p, size_t n, const double *x,
                    double *gradient) {
  dual sum[PHI_MAX_SUMS];
  double partial[PHI_MAX_SUMS];
  add_up(phi, p, n, x, sum);
  const scope s = {p, sum, {0.0, 0.0}};
  for (int i = 0; i < phi->value.sums; i++) {
    sum[i].d = 1.0;
    partial[i] = evaluate(phi->value.expression, &s).d;
    sum[i].d = 0.0;
  }
  for (size_t e = 0; e < n; e++) {
    gradient[e] = e ? gradient[e - 1] : 0.0;
    if (e && x[e] == x[e - 1]) continue;
    gradient[e] = 0.0;
    for (int i = 0; i < phi->value.sums; i++)
      if (partial[i] != 0.0) gradient[e] += partial[i] * inner(phi, p, i, x[e]).d;
  }
}
