/* Exact values of expressions. */
#include "rational.h"

/* Larger results are not worth their time: nobody writes conditions that need them. */
enum { MOST_BITS = 1 << 16, MOST_EXPONENT = 4096 };

typedef struct point {
  const mpq_t *parameters, *sums;
  mpq_srcptr x;
} point;

static bool is_small(mpq_srcptr q) {
  return mpz_sizeinbase(mpq_numref(q), 2) + mpz_sizeinbase(mpq_denref(q), 2) < MOST_BITS;
}

static unsigned long magnitude(long n) {
  return n < 0 ? 0ul - (unsigned long)n : (unsigned long)n;
}

bool rational_power(mpq_srcptr a, long n, mpq_ptr value) {
  if (n < 0 && mpq_sgn(a) == 0) return false;
  const unsigned long size = magnitude(n);
  mpz_pow_ui(mpq_numref(value), mpq_numref(a), size);
  mpz_pow_ui(mpq_denref(value), mpq_denref(a), size);
  if (n < 0) mpq_inv(value, value);
  return true;
}

/* An exponent that is not written as a whole number takes no negative base. */
static bool power(const expression *e, mpq_srcptr a, mpq_srcptr exponent, mpq_ptr value) {
  const bool written = e->argument[1]->kind == EXPRESSION_NUMBER;
  if (mpz_cmp_ui(mpq_denref(exponent), 1) != 0 || !mpz_fits_slong_p(mpq_numref(exponent)) ||
      (!written && mpq_sgn(a) < 0))
    return false;
  const long n = mpz_get_si(mpq_numref(exponent));
  const unsigned long size = magnitude(n);
  return size <= MOST_EXPONENT &&
         size * (mpz_sizeinbase(mpq_numref(a), 2) + mpz_sizeinbase(mpq_denref(a), 2)) <=
             MOST_BITS &&
         rational_power(a, n, value);
}

static bool root(mpq_srcptr a, mpq_ptr value) {
  if (mpq_sgn(a) < 0 || !mpz_perfect_square_p(mpq_numref(a)) ||
      !mpz_perfect_square_p(mpq_denref(a)))
    return false;
  mpz_sqrt(mpq_numref(value), mpq_numref(a));
  mpz_sqrt(mpq_denref(value), mpq_denref(a));
  return true;
}

static bool combine(const expression *e, mpq_srcptr a, mpq_srcptr b, mpq_ptr value) {
  switch (e->kind) {
  case EXPRESSION_NEGATE:
    mpq_neg(value, a);
    return true;
  case EXPRESSION_ADD:
    mpq_add(value, a, b);
    return true;
  case EXPRESSION_SUBTRACT:
    mpq_sub(value, a, b);
    return true;
  case EXPRESSION_MULTIPLY:
    mpq_mul(value, a, b);
    return true;
  case EXPRESSION_DIVIDE:
    if (mpq_sgn(b) == 0) return false;
    mpq_div(value, a, b);
    return true;
  case EXPRESSION_POWER:
    return power(e, a, b, value);
  case EXPRESSION_ABS:
    mpq_abs(value, a);
    return true;
  case EXPRESSION_SGN:
    mpq_set_si(value, mpq_sgn(a), 1);
    return true;
  case EXPRESSION_MAX:
    mpq_set(value, mpq_cmp(a, b) > 0 ? a : b);
    return true;
  case EXPRESSION_SQRT:
    return root(a, value);
  case EXPRESSION_XLOGX:
    mpq_set_ui(value, 0, 1);
    return mpq_sgn(a) == 0 || mpq_cmp_ui(a, 1, 1) == 0;
  default:
    return false;
  }
}

static bool evaluate(const expression *e, const point *at, mpq_ptr value);

static bool evaluate_node(const expression *e, const point *at, mpq_ptr value) {
  const int arguments = expression_arguments(e->kind);
  mpq_t a, b;
  mpq_inits(a, b, (mpq_ptr)0);
  bool known = arguments > 0 && evaluate(e->argument[0], at, a) &&
               (arguments < 2 || evaluate(e->argument[1], at, b)) && combine(e, a, b, value) &&
               is_small(value);
  mpq_clears(a, b, (mpq_ptr)0);
  return known;
}

static bool evaluate(const expression *e, const point *at, mpq_ptr value) {
  mpq_srcptr from = NULL;
  switch (e->kind) {
  case EXPRESSION_NUMBER:
    from = e->number;
    break;
  case EXPRESSION_PARAMETER:
    from = at->parameters ? at->parameters[e->index] : NULL;
    break;
  case EXPRESSION_VARIABLE:
    from = at->x;
    break;
  case EXPRESSION_SUM:
    from = at->sums ? at->sums[e->index] : NULL;
    break;
  default:
    return evaluate_node(e, at, value);
  }
  if (from) mpq_set(value, from);
  return from != NULL;
}

bool rational_eval(const expression *e, const mpq_t *parameters, const mpq_t *sums, mpq_srcptr x,
                   mpq_ptr value) {
  const point at = {parameters, sums, x};
  return evaluate(e, &at, value);
}

bool rational_sum(const expression *term, const mpq_t *parameters, size_t n, const mpq_t *x,
                  mpq_ptr sum) {
  mpq_t value;
  mpq_init(value);
  mpq_set_ui(sum, 0, 1);
  bool known = true;
  for (size_t e = 0; e < n && known; e++) {
    known = rational_eval(term, parameters, NULL, x[e], value);
    if (known) mpq_add(sum, sum, value);
  }
  mpq_clear(value);
  return known;
}
