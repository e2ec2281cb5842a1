/* Expressions of the φ language as power series in Arb: another implementation of the same rules,
   with other algorithms (truncated polynomials, not derivatives). */
#ifndef PHIBAL_TESTS_PHI_ORACLE_H
#define PHIBAL_TESTS_PHI_ORACLE_H

#include "tests/reference/arb_oracle.h"
#include <arb_poly.h>
#include "audit/phi.h"

/* Length: a value and three derivatives. */
enum { PHI_ORACLE_LENGTH = 4, PHI_ORACLE_PRECISION = 2500 };

/* What the names of an expression stand for. */
typedef struct phi_oracle_names {
  arb_srcptr parameters;
  const arb_poly_struct *sums;
  const arb_poly_struct *x;
} phi_oracle_names;

static inline void phi_oracle(arb_poly_t z, const expression *e, const phi_oracle_names *names);

/* -1 or 1 for u certainly of that sign at the point, else 0 with z made to say nothing. */
static inline int phi_oracle_sign(arb_poly_t z, const arb_poly_t u) {
  arb_t c;
  arb_init(c);
  arb_poly_get_coeff_arb(c, u, 0);
  const int sign = arb_is_positive(c) ? 1 : arb_is_negative(c) ? -1 : 0;
  if (!sign) {
    arb_indeterminate(c);
    arb_poly_set_arb(z, c);
  }
  arb_clear(c);
  return sign;
}

static inline void phi_oracle_power(arb_poly_t z, const arb_poly_t u, const expression *exponent,
                                    const arb_poly_t v) {
  const slong n = PHI_ORACLE_LENGTH, p = PHI_ORACLE_PRECISION;
  arb_t c;
  arb_init(c);
  arb_poly_get_coeff_arb(c, v, 0);
  if (exponent->kind == EXPRESSION_NUMBER && mpz_cmp_ui(mpq_denref(exponent->number), 1) == 0) {
    const long k = mpz_get_si(mpq_numref(exponent->number));
    arb_poly_pow_ui_trunc_binexp(z, u, (ulong)labs(k), n, p);
    if (k < 0) arb_poly_inv_series(z, z, n, p);
  } else if (arb_poly_degree(v) <= 0) {
    arb_poly_pow_arb_series(z, u, c, n, p);
  } else {
    arb_poly_log_series(z, u, n, p);
    arb_poly_mullow(z, z, v, n, p);
    arb_poly_exp_series(z, z, n, p);
  }
  arb_clear(c);
}

/* Functions of one argument. */
static inline void phi_oracle_function(arb_poly_t z, expression_kind kind, const arb_poly_t u) {
  const slong n = PHI_ORACLE_LENGTH, p = PHI_ORACLE_PRECISION;
  arb_poly_t t;
  int sign;
  arb_poly_init(t);
  switch (kind) {
  case EXPRESSION_EXP:
    arb_poly_exp_series(z, u, n, p);
    break;
  case EXPRESSION_EXPM1:
    arb_poly_exp_series(z, u, n, p);
    arb_poly_add_si(z, z, -1, p);
    break;
  case EXPRESSION_LOG:
    arb_poly_log_series(z, u, n, p);
    break;
  case EXPRESSION_LOG1P:
    arb_poly_add_si(t, u, 1, p);
    arb_poly_log_series(z, t, n, p);
    break;
  case EXPRESSION_SQRT:
    arb_poly_sqrt_series(z, u, n, p);
    break;
  case EXPRESSION_ABS:
    sign = phi_oracle_sign(z, u);
    if (sign) arb_poly_scalar_mul_2exp_si(z, u, 0);
    if (sign < 0) arb_poly_neg(z, z);
    break;
  case EXPRESSION_SGN:
    sign = phi_oracle_sign(z, u);
    if (sign) arb_poly_set_si(z, sign);
    break;
  case EXPRESSION_SIN:
    arb_poly_sin_series(z, u, n, p);
    break;
  case EXPRESSION_COS:
    arb_poly_cos_series(z, u, n, p);
    break;
  case EXPRESSION_TANH:
    arb_poly_sinh_cosh_series(z, t, u, n, p);
    arb_poly_div_series(z, z, t, n, p);
    break;
  case EXPRESSION_SINH:
    arb_poly_sinh_series(z, u, n, p);
    break;
  case EXPRESSION_COSH:
    arb_poly_cosh_series(z, u, n, p);
    break;
  case EXPRESSION_LOGCOSH:
    arb_poly_cosh_series(t, u, n, p);
    arb_poly_log_series(z, t, n, p);
    break;
  case EXPRESSION_SIGMOID:
    arb_poly_neg(t, u);
    arb_poly_exp_series(t, t, n, p);
    arb_poly_add_si(t, t, 1, p);
    arb_poly_inv_series(z, t, n, p);
    break;
  case EXPRESSION_SOFTPLUS:
    arb_poly_exp_series(t, u, n, p);
    arb_poly_add_si(t, t, 1, p);
    arb_poly_log_series(z, t, n, p);
    break;
  case EXPRESSION_XLOGX:
    arb_poly_log_series(t, u, n, p);
    arb_poly_mullow(z, t, u, n, p);
    break;
  default:
    arb_poly_zero(z);
  }
  arb_poly_clear(t);
}

static inline void phi_oracle_two(arb_poly_t z, const expression *e, const arb_poly_t a,
                                  const arb_poly_t b) {
  const slong n = PHI_ORACLE_LENGTH, p = PHI_ORACLE_PRECISION;
  arb_poly_t t;
  arb_poly_init(t);
  switch (e->kind) {
  case EXPRESSION_ADD:
    arb_poly_add(z, a, b, p);
    break;
  case EXPRESSION_SUBTRACT:
    arb_poly_sub(z, a, b, p);
    break;
  case EXPRESSION_MULTIPLY:
    arb_poly_mullow(z, a, b, n, p);
    break;
  case EXPRESSION_DIVIDE:
    arb_poly_div_series(z, a, b, n, p);
    break;
  case EXPRESSION_POWER:
    phi_oracle_power(z, a, e->argument[1], b);
    break;
  default: { /* max */
    arb_poly_sub(t, a, b, p);
    const int sign = phi_oracle_sign(z, t);
    if (sign) arb_poly_set(z, sign > 0 ? a : b);
  }
  }
  arb_poly_clear(t);
}

static inline void phi_oracle_leaf(arb_poly_t z, const expression *e,
                                   const phi_oracle_names *names) {
  arb_t c;
  arb_init(c);
  if (e->kind == EXPRESSION_NUMBER) {
    oracle_set_q(c, e->number, PHI_ORACLE_PRECISION);
    arb_poly_set_arb(z, c);
  } else if (e->kind == EXPRESSION_PARAMETER) {
    arb_poly_set_arb(z, names->parameters + e->index);
  } else {
    arb_poly_set(z, e->kind == EXPRESSION_VARIABLE ? names->x : &names->sums[e->index]);
  }
  arb_clear(c);
}

/* z = e, cut to four terms. */
static inline void phi_oracle(arb_poly_t z, const expression *e, const phi_oracle_names *names) {
  arb_poly_t a, b;
  arb_poly_init(a);
  arb_poly_init(b);
  const int arguments = e->kind == EXPRESSION_SUM ? 0 : expression_arguments(e->kind);
  if (arguments > 0) phi_oracle(a, e->argument[0], names);
  if (arguments > 1) phi_oracle(b, e->argument[1], names);
  if (arguments == 0)
    phi_oracle_leaf(z, e, names);
  else if (e->kind == EXPRESSION_NEGATE)
    arb_poly_neg(z, a);
  else if (arguments == 2)
    phi_oracle_two(z, e, a, b);
  else
    phi_oracle_function(z, e->kind, a);
  arb_poly_clear(a);
  arb_poly_clear(b);
}

/* c = derivative j of a series. */
static inline void phi_oracle_derivative(arb_t c, const arb_poly_t series, slong j) {
  arb_poly_get_coeff_arb(c, series, j);
  for (slong i = 2; i <= j; i++) arb_mul_si(c, c, i, PHI_ORACLE_PRECISION);
}

/* Correctly rounded up to a unit, or exact up to what terms of the size of 1 lose. */
static inline bool phi_oracle_is_tight(mpfr_prec_t precision, const phibal_enclosure *z) {
  mpfr_t width;
  mpfr_init2(width, 53);
  phibal_enclosure_width(width, z);
  const bool tight =
      oracle_width_in_ulps(z) <= 2.0 || mpfr_cmp_ui_2exp(width, 1, -precision - 8) <= 0;
  mpfr_clear(width);
  return tight;
}

#endif
