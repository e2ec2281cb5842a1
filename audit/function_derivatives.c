/* The functions of the φ language with three derivatives. */
#include "functions.h"

/* Place for intermediate results of f's precision. */
static void temporary(phibal_enclosure *t, const phibal_enclosure *f) {
  phibal_enclosure_init(t, mpfr_get_prec(f->lo));
}

static void multiply_by_integer(phibal_enclosure *z, long n) {
  phibal_enclosure factor;
  phibal_enclosure_init(&factor, 64);
  phibal_enclosure_set_si(&factor, n);
  phibal_enclosure_mul(z, z, &factor);
  phibal_enclosure_clear(&factor);
}

/* z = numerator/denominator u^-n for u >= 0; +-inf at 0. */
static phibal_status inverse_power(phibal_enclosure *z, const phibal_enclosure *u, long numerator,
                                   unsigned long denominator, long n) {
  mpz_t exponent;
  mpz_init_set_si(exponent, -n);
  const phibal_status status = function_power(z, u, exponent);
  mpz_clear(exponent);
  if (status != PHIBAL_OK) return status;
  multiply_by_integer(z, numerator);
  mpfr_div_ui(z->lo, z->lo, denominator, MPFR_RNDD);
  mpfr_div_ui(z->hi, z->hi, denominator, MPFR_RNDU);
  return PHIBAL_OK;
}

/* Derivatives of log from the first on: 1/u, -1/u^2, 2/u^3. */
static int log_derivatives(int order, const phibal_enclosure *u, phibal_enclosure *f) {
  static const long factor[] = {0, 1, -1, 2};
  for (int j = 1; j <= order; j++)
    if (inverse_power(&f[j], u, factor[j], 1, j) != PHIBAL_OK) return j;
  return order + 1;
}

static int log_all(int order, const phibal_enclosure *u, phibal_enclosure *f) {
  return phibal_enclosure_log(&f[0], u) == PHIBAL_OK ? log_derivatives(order, u, f) : 0;
}

static int log1p_all(int order, const phibal_enclosure *u, phibal_enclosure *f) {
  if (phibal_enclosure_log1p(&f[0], u) != PHIBAL_OK) return 0;
  phibal_enclosure v;
  temporary(&v, f);
  mpfr_add_ui(v.lo, u->lo, 1, MPFR_RNDD);
  mpfr_add_ui(v.hi, u->hi, 1, MPFR_RNDU);
  const int known = log_derivatives(order, &v, f);
  phibal_enclosure_clear(&v);
  return known;
}

/* r = u^(1/2), 1/2 r^-1, -1/4 r^-3, 3/8 r^-5 */
static int sqrt_all(int order, const phibal_enclosure *u, phibal_enclosure *f) {
  static const long numerator[] = {0, 1, -1, 3};
  static const unsigned long denominator[] = {1, 2, 4, 8};
  if (phibal_enclosure_sqrt(&f[0], u) != PHIBAL_OK) return 0;
  for (int j = 1; j <= order; j++)
    if (inverse_power(&f[j], &f[0], numerator[j], denominator[j], 2 * j - 1) != PHIBAL_OK) return j;
  return order + 1;
}

static int exp_all(int order, const phibal_enclosure *u, phibal_enclosure *f) {
  phibal_enclosure_exp(&f[0], u);
  for (int j = 1; j <= order; j++) phibal_enclosure_set(&f[j], &f[0]);
  return order + 1;
}

static int expm1_all(int order, const phibal_enclosure *u, phibal_enclosure *f) {
  exp_all(order, u, f);
  phibal_enclosure_expm1(&f[0], u);
  return order + 1;
}

/* Functions that return in a cycle of derivatives: sin, cos, -sin, -cos; sinh, cosh. */
static int sin_cos_all(int order, const phibal_enclosure *u, phibal_enclosure *f, int start) {
  for (int j = 0; j <= order; j++) {
    const int step = (start + j) % 4;
    const phibal_status status = step % 2 ? function_cos(&f[j], u) : function_sin(&f[j], u);
    if (status != PHIBAL_OK) return j;
    if (step >= 2) phibal_enclosure_neg(&f[j], &f[j]);
  }
  return order + 1;
}

static int sinh_cosh_all(int order, const phibal_enclosure *u, phibal_enclosure *f, int start) {
  for (int j = 0; j <= order; j++)
    if ((start + j) % 2)
      function_cosh(&f[j], u);
    else
      function_sinh(&f[j], u);
  return order + 1;
}

/* z = 1/cosh(u)^2, which falls with |u|. */
static void sech_squared(phibal_enclosure *z, const phibal_enclosure *u) {
  mpz_t n;
  mpz_init_set_si(n, -2);
  phibal_enclosure c;
  temporary(&c, z);
  function_cosh(&c, u);
  function_power(z, &c, n);
  phibal_enclosure_clear(&c);
  mpz_clear(n);
}

/* d[0..order-1] = tanh', tanh'', ...: s, -2 t s, 2 s (2 - 3 s), with s = sech^2 and t = tanh. */
static void tanh_derivatives(int order, const phibal_enclosure *u, phibal_enclosure *d) {
  phibal_enclosure s, t;
  temporary(&s, d);
  temporary(&t, d);
  sech_squared(&s, u);
  phibal_enclosure_tanh(&t, u);
  phibal_enclosure_set(&d[0], &s);
  if (order >= 2) {
    phibal_enclosure_mul(&d[1], &s, &t);
    multiply_by_integer(&d[1], -2);
  }
  if (order >= 3) {
    phibal_enclosure_set(&d[2], &s);
    multiply_by_integer(&d[2], -3);
    mpfr_add_ui(d[2].lo, d[2].lo, 2, MPFR_RNDD);
    mpfr_add_ui(d[2].hi, d[2].hi, 2, MPFR_RNDU);
    phibal_enclosure_mul(&d[2], &d[2], &s);
    multiply_by_integer(&d[2], 2);
  }
  phibal_enclosure_clear(&s);
  phibal_enclosure_clear(&t);
}

static int tanh_all(int order, const phibal_enclosure *u, phibal_enclosure *f) {
  phibal_enclosure_tanh(&f[0], u);
  if (order >= 1) tanh_derivatives(order, u, f + 1);
  return order + 1;
}

static int logcosh_all(int order, const phibal_enclosure *u, phibal_enclosure *f) {
  function_logcosh(&f[0], u);
  if (order >= 1) phibal_enclosure_tanh(&f[1], u);
  if (order >= 2) tanh_derivatives(order - 1, u, f + 2);
  return order + 1;
}

/* d[0..order-1] = sigmoid', ...: with p = sigmoid(u) sigmoid(-u) they are p, -p tanh(u/2) and
   p (1 - 6 p). */
static void sigmoid_derivatives(int order, const phibal_enclosure *u, phibal_enclosure *d) {
  phibal_enclosure p, t;
  temporary(&p, d);
  phibal_enclosure_init(&t, mpfr_get_prec(u->lo));
  phibal_enclosure_neg(&t, u);
  function_sigmoid(&p, u);
  function_sigmoid(&t, &t);
  phibal_enclosure_mul(&p, &p, &t);
  phibal_enclosure_set(&d[0], &p);
  phibal_enclosure_clear(&t);
  temporary(&t, d);
  if (order >= 2) {
    mpfr_div_2ui(t.lo, u->lo, 1, MPFR_RNDD);
    mpfr_div_2ui(t.hi, u->hi, 1, MPFR_RNDU);
    phibal_enclosure_tanh(&t, &t);
    phibal_enclosure_mul(&d[1], &p, &t);
    phibal_enclosure_neg(&d[1], &d[1]);
  }
  if (order >= 3) {
    phibal_enclosure_set(&d[2], &p);
    multiply_by_integer(&d[2], -6);
    mpfr_add_ui(d[2].lo, d[2].lo, 1, MPFR_RNDD);
    mpfr_add_ui(d[2].hi, d[2].hi, 1, MPFR_RNDU);
    phibal_enclosure_mul(&d[2], &d[2], &p);
  }
  phibal_enclosure_clear(&p);
  phibal_enclosure_clear(&t);
}

static int sigmoid_all(int order, const phibal_enclosure *u, phibal_enclosure *f) {
  function_sigmoid(&f[0], u);
  if (order >= 1) sigmoid_derivatives(order, u, f + 1);
  return order + 1;
}

static int softplus_all(int order, const phibal_enclosure *u, phibal_enclosure *f) {
  function_softplus(&f[0], u);
  if (order >= 1) function_sigmoid(&f[1], u);
  if (order >= 2) sigmoid_derivatives(order - 1, u, f + 2);
  return order + 1;
}

/* t log t, log t + 1, 1/t, -1/t^2 */
static int xlogx_all(int order, const phibal_enclosure *u, phibal_enclosure *f) {
  if (function_xlogx(&f[0], u) != PHIBAL_OK) return 0;
  if (order < 1) return 1;
  const int known = log_all(order - 1, u, f + 1) + 1;
  mpfr_add_ui(f[1].lo, f[1].lo, 1, MPFR_RNDD);
  mpfr_add_ui(f[1].hi, f[1].hi, 1, MPFR_RNDU);
  return known;
}

/* Derivatives of a function that is affine on either side of 0. */
static int broken_all(int order, const phibal_enclosure *u, phibal_enclosure *f, bool is_abs) {
  if (is_abs)
    phibal_enclosure_abs(&f[0], u);
  else
    function_sgn(&f[0], u);
  if (phibal_enclosure_contains_zero(u)) return 1;
  for (int j = 1; j <= order; j++) phibal_enclosure_set_si(&f[j], 0);
  if (is_abs && order >= 1) function_sgn(&f[1], u);
  return order + 1;
}

static int derivatives(expression_kind kind, int order, const phibal_enclosure *u,
                       phibal_enclosure *f) {
  switch (kind) {
  case EXPRESSION_EXP:
    return exp_all(order, u, f);
  case EXPRESSION_EXPM1:
    return expm1_all(order, u, f);
  case EXPRESSION_LOG:
    return log_all(order, u, f);
  case EXPRESSION_LOG1P:
    return log1p_all(order, u, f);
  case EXPRESSION_SQRT:
    return sqrt_all(order, u, f);
  case EXPRESSION_ABS:
    return broken_all(order, u, f, true);
  case EXPRESSION_SGN:
    return broken_all(order, u, f, false);
  case EXPRESSION_SIN:
    return sin_cos_all(order, u, f, 0);
  case EXPRESSION_COS:
    return sin_cos_all(order, u, f, 1);
  case EXPRESSION_TANH:
    return tanh_all(order, u, f);
  case EXPRESSION_SINH:
    return sinh_cosh_all(order, u, f, 0);
  case EXPRESSION_COSH:
    return sinh_cosh_all(order, u, f, 1);
  case EXPRESSION_LOGCOSH:
    return logcosh_all(order, u, f);
  case EXPRESSION_SIGMOID:
    return sigmoid_all(order, u, f);
  case EXPRESSION_SOFTPLUS:
    return softplus_all(order, u, f);
  case EXPRESSION_XLOGX:
    return xlogx_all(order, u, f);
  default:
    return 0;
  }
}

int function_derivatives(expression_kind kind, int order, const phibal_enclosure *u,
                         phibal_enclosure *f) {
  const int known = derivatives(kind, order, u, f);
  for (int j = known; j <= order; j++) function_forget(&f[j]);
  return known;
}

/* z = u^(exponent - j) */
static phibal_status lowered_power(phibal_enclosure *z, const phibal_enclosure *u,
                                   const phibal_enclosure *exponent, mpz_srcptr integer, int j) {
  phibal_status status;
  if (integer) {
    mpz_t n;
    mpz_init(n);
    mpz_sub_ui(n, integer, (unsigned long)j);
    status = function_power(z, u, n);
    mpz_clear(n);
  } else {
    phibal_enclosure e;
    temporary(&e, z);
    mpfr_sub_ui(e.lo, exponent->lo, (unsigned long)j, MPFR_RNDD);
    mpfr_sub_ui(e.hi, exponent->hi, (unsigned long)j, MPFR_RNDU);
    status = phibal_enclosure_pow(z, u, &e);
    phibal_enclosure_clear(&e);
  }
  return status;
}

/* c = c (exponent - j) */
static void lower_coefficient(phibal_enclosure *c, const phibal_enclosure *exponent, int j) {
  phibal_enclosure e;
  temporary(&e, c);
  mpfr_sub_ui(e.lo, exponent->lo, (unsigned long)j, MPFR_RNDD);
  mpfr_sub_ui(e.hi, exponent->hi, (unsigned long)j, MPFR_RNDU);
  phibal_enclosure_mul(c, c, &e);
  phibal_enclosure_clear(&e);
}

/* p = u^(exponent - j), where p is that for j - 1. At a point one division does it; over an
   interval that would bring u in twice. */
static phibal_status next_power(phibal_enclosure *p, const phibal_enclosure *u,
                                const phibal_enclosure *exponent, mpz_srcptr integer, int j) {
  if (j > 0 && phibal_enclosure_is_exact(u) && mpfr_regular_p(u->lo))
    return phibal_enclosure_div(p, p, u);
  return lowered_power(p, u, exponent, integer, j);
}

int function_power_derivatives(int order, const phibal_enclosure *u,
                               const phibal_enclosure *exponent, mpz_srcptr integer,
                               phibal_enclosure *f, int *degree) {
  phibal_enclosure c, p;
  temporary(&c, f);
  temporary(&p, f);
  phibal_enclosure_set_si(&c, 1);
  *degree = FUNCTION_DERIVATIVES;
  int known = 0;
  for (; known <= order; known++) {
    if (*degree < known) {
      phibal_enclosure_set_si(&f[known], 0);
      continue;
    }
    if (next_power(&p, u, exponent, integer, known) != PHIBAL_OK) break;
    if (phibal_enclosure_mul(&f[known], &p, &c) != PHIBAL_OK) break;
    lower_coefficient(&c, exponent, known);
    if (phibal_enclosure_is_zero(&c)) *degree = known;
  }
  phibal_enclosure_clear(&c);
  phibal_enclosure_clear(&p);
  for (int j = known; j <= order; j++) function_forget(&f[j]);
  return known;
}
