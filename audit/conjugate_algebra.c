/* Off the simplex: where phi = F(S_1, .., S_r) is defined and convex, and two forms by name.

   Convex: as in convexity_algebra.c, with x in R or (0, inf), where no sum is constant and
   directions are not tangent. With D_e = sum_i F_i f_i''(x_e) and v_i = (f_i'(x_e))_e, the Hessian
   diag(D) + sum_ij F_ij v_i v_j' is positive semidefinite if D_e >= 0 and (F_ij) is; or if D_e > 0,
   (F_ij) is diagonal and sum_i max(-F_ii, 0) v_ie^2/D_e <= f_k(x_e)/S_k, which sums to 1.

   With one sum, phi = F(S), S = sum_e f(x_e):

   log-sum-exp. If f' = a f with a constant a, then S = f(0) sum_e exp(a x_e). If a S F'(S) = t is
   constant too, then phi = (t/a) log|S| + constant.

   norm. If x f' = p f with a constant p, then f is C x^p. If F(S) - p S F'(S) is a constant, the
   offset, then F is offset + c S^(1/p), and phi is offset + factor |x|_p. */
#include "conjugate_shape.h"
#include "hessian_algebra.h"
#include <stdlib.h>

typedef struct reading {
  symbolic *s;
  const phi_section *section;
  int n;
  const quotient *f[PHI_MAX_SUMS], *slope[PHI_MAX_SUMS], *curvature[PHI_MAX_SUMS],
      *sum[PHI_MAX_SUMS];
  hessian h;
  const quotient *component; /* of the gradient, e */
} reading;

static void domain_of(audit_domain *domain, const phibal_enclosure *parameters, int count, size_t n,
                      int lo, int hi) {
  domain_init(domain);
  domain->parameters = count;
  for (int i = 0; i < count; i++) domain_range_of_enclosure(&domain->parameter[i], &parameters[i]);
  domain_end_at(&domain->experts.lo, (long)n, 1, true);
  domain_end_at(&domain->experts.hi, (long)n, 1, true);
  domain_end_at(&domain->x.lo, 0, 1, false);
  domain_end_at(&domain->x.hi, 0, 1, false);
  if (lo < 0) domain_end_infinite(&domain->x.lo, -1);
  if (hi > 0) domain_end_infinite(&domain->x.hi, 1);
}

static symbolic *context(const phi_potential *phi, const phibal_enclosure *parameters, size_t n,
                         int lo, int hi) {
  audit_domain domain;
  domain_of(&domain, parameters, phi->parameters, n, lo, hi);
  symbolic *s = symbolic_create(&domain);
  domain_clear(&domain);
  return s;
}

/* The sum of terms of f's signs. */
static const quotient *sum_of(symbolic *s, int i, const quotient *f) {
  phi_range range;
  domain_range_init(&range);
  domain_end_infinite(&range.lo, -1);
  domain_end_infinite(&range.hi, 1);
  unsigned sign = f ? symbolic_sign(s, f) : SIGN_ANY;
  if (!(sign & SIGN_NEGATIVE)) domain_end_at(&range.lo, 0, 1, (sign & SIGN_ZERO) != 0);
  if (!(sign & SIGN_POSITIVE)) domain_end_at(&range.hi, 0, 1, (sign & SIGN_ZERO) != 0);
  const quotient *sum = symbolic_sum(s, i, &range);
  domain_range_clear(&range);
  return sum;
}

/* False unless all of it is analytic there. */
static bool read(reading *r) {
  symbolic *s = r->s;
  int number[PHI_MAX_SUMS];
  if (!symbolic_conditions(s, r->section)) return false;
  for (int i = 0; i < r->n; i++) {
    number[i] = i;
    r->f[i] = symbolic_read(s, r->section->sum[i], NULL);
    r->slope[i] = symbolic_derivative(s, r->f[i]);
    r->curvature[i] = symbolic_derivative(s, r->slope[i]);
    r->sum[i] = sum_of(s, i, r->f[i]);
    if (!r->curvature[i] || !r->sum[i]) return false;
  }
  const quotient *outer = symbolic_read(s, r->section->expression, r->sum);
  if (!hessian_read(s, outer, r->n, number, r->slope, r->curvature, &r->h)) return false;
  r->component = symbolic_integer(s, 0);
  for (int i = 0; i < r->n; i++)
    r->component = symbolic_add(s, r->component, symbolic_multiply(s, r->h.first[i], r->slope[i]));
  return r->component != NULL;
}

/* ---- convexity ---- */

static bool convex(const reading *r) {
  symbolic *s = r->s;
  if (hessian_outer_semidefinite(s, &r->h)) return symbolic_not_negative(s, r->h.diagonal);
  if (symbolic_sign(s, r->h.diagonal) != SIGN_POSITIVE) return false;
  const quotient *h = hessian_weight(s, &r->h, NULL);
  for (int k = 0; h && k < r->n; k++) {
    unsigned sign = symbolic_sign(s, r->sum[k]);
    if (sign != SIGN_POSITIVE && sign != SIGN_NEGATIVE) continue;
    const quotient *share = symbolic_divide(s, r->f[k], r->sum[k]);
    if (symbolic_not_negative(s, symbolic_subtract(s, share, h))) return true;
  }
  return false;
}

/* ---- where phi is defined ---- */

/* The base or argument of e that must not be negative; null where there is none. */
static const expression *restricted(const expression *e, expression_pool *pool) {
  const expression *a = e->argument[0];
  switch (e->kind) {
  case EXPRESSION_LOG:
  case EXPRESSION_SQRT:
  case EXPRESSION_XLOGX:
    return a;
  case EXPRESSION_LOG1P:
    return expression_make(pool, EXPRESSION_ADD, a, expression_integer(pool, 1, 1));
  case EXPRESSION_POWER: {
    const expression *b = e->argument[1];
    bool whole = b->kind == EXPRESSION_NUMBER && mpz_cmp_ui(mpq_denref(b->number), 1) == 0;
    return whole ? NULL : a;
  }
  default:
    return NULL;
  }
}

/* A part of e has no value for any x of the context. */
static bool undefined(symbolic *s, const expression *e, expression_pool *pool) {
  const expression *a = restricted(e, pool);
  const quotient *read = a ? symbolic_read(s, a, NULL) : NULL;
  if (read && symbolic_sign(s, read) == SIGN_NEGATIVE) return true;
  for (int i = 0; i < expression_arguments(e->kind); i++)
    if (undefined(s, e->argument[i], pool)) return true;
  return false;
}

/* A condition fails for all x of the context. */
static bool condition_fails(symbolic *s, const phi_condition *c) {
  bool less = c->relation == PHI_LESS || c->relation == PHI_LESS_EQUAL;
  const quotient *left = symbolic_read(s, c->left, NULL), *right = symbolic_read(s, c->right, NULL),
                 *gap =
                     less ? symbolic_subtract(s, right, left) : symbolic_subtract(s, left, right);
  return gap && symbolic_sign(s, gap) == SIGN_NEGATIVE;
}

static bool excludes_negative(phi_potential *phi, const phibal_enclosure *parameters, size_t n) {
  symbolic *s = context(phi, parameters, n, -1, 0);
  bool excluded = false;
  for (int i = 0; s && i < phi->value.conditions && !excluded; i++)
    excluded = condition_fails(s, &phi->value.condition[i]);
  for (int i = 0; s && i < phi->value.sums && !excluded; i++)
    excluded = undefined(s, phi->value.sum[i], phi->pool);
  symbolic_destroy(s);
  return excluded;
}

static bool is_even(const reading *r) {
  const quotient *minus =
      symbolic_subtract(r->s, symbolic_integer(r->s, 0), symbolic_variable(r->s));
  if (r->section->conditions) return false;
  for (int i = 0; i < r->n; i++) {
    const quotient *mirrored = symbolic_read_at(r->s, r->section->sum[i], minus, NULL);
    if (!mirrored || !symbolic_equal(r->s, mirrored, r->f[i])) return false;
  }
  return true;
}

/* What has its value at an end from elsewhere than its limit: sgn, and 0^0 in a power with an
   exponent that moves. */
static bool may_jump(const expression *e) {
  if (e->kind == EXPRESSION_SGN) return true;
  if (e->kind == EXPRESSION_POWER && (expression_holds(e->argument[1], EXPRESSION_VARIABLE) ||
                                      expression_holds(e->argument[1], EXPRESSION_SUM)))
    return true;
  for (int i = 0; i < expression_arguments(e->kind); i++)
    if (may_jump(e->argument[i])) return true;
  return false;
}

/* ---- forms ---- */

static bool enclose(const reading *r, const quotient *a, const phibal_enclosure *parameters,
                    const phibal_enclosure *experts, phibal_enclosure *value) {
  return a && symbolic_enclose(r->s, a, parameters, NULL, experts, NULL, value) == PHIBAL_OK;
}

static bool is_constant(const reading *r, const quotient *a) {
  return a && !symbolic_holds_variable(r->s, a) && !symbolic_holds_sum(r->s, a);
}

/* level = F(S) where sum_e exp(a x_e) = 1: there S = f(0). */
static bool find_level(const phi_potential *phi, const phibal_enclosure *parameters,
                       conjugate_shape *shape) {
  phibal_enclosure zero, sum;
  phibal_enclosure_init(&zero, mpfr_get_prec(shape->level.lo));
  phibal_enclosure_init(&sum, mpfr_get_prec(shape->level.lo));
  bool found = phi_eval(phi->value.sum[0], parameters, NULL, &zero, &sum) == PHIBAL_OK &&
               phi_eval(phi->value.expression, parameters, &sum, NULL, &shape->level) == PHIBAL_OK;
  phibal_enclosure_clear(&zero);
  phibal_enclosure_clear(&sum);
  return found;
}

static void find_log_sum_exp(const reading *r, const phi_potential *phi,
                             const phibal_enclosure *parameters, const phibal_enclosure *experts,
                             conjugate_shape *shape) {
  symbolic *s = r->s;
  const quotient *rate = symbolic_divide(s, r->slope[0], r->f[0]),
                 *total =
                     symbolic_multiply(s, r->h.first[0], symbolic_multiply(s, rate, r->sum[0]));
  if (!is_constant(r, rate) || symbolic_is_zero(s, rate) || !is_constant(r, total) ||
      symbolic_sign(s, symbolic_divide(s, total, rate)) != SIGN_POSITIVE ||
      !enclose(r, rate, parameters, experts, &shape->rate) ||
      !enclose(r, total, parameters, experts, &shape->total) || !find_level(phi, parameters, shape))
    return;
  shape->form = SHAPE_LOG_SUM_EXP;
  shape->total_is_exact = symbolic_is_rational(s, total, shape->exact_total);
}

/* factor = F(f(1)) - offset: phi of one expert with x = 1. */
static bool find_factor(const phi_potential *phi, const phibal_enclosure *parameters,
                        conjugate_shape *shape) {
  phibal_enclosure one;
  phibal_enclosure_init(&one, mpfr_get_prec(shape->factor.lo));
  phibal_enclosure_set_si(&one, 1);
  bool found = phi_value(phi, parameters, 1, &one, &shape->factor) == PHIBAL_OK &&
               phibal_enclosure_sub(&shape->factor, &shape->factor, &shape->offset) == PHIBAL_OK;
  phibal_enclosure_clear(&one);
  return found;
}

static void find_norm(const reading *r, const phi_potential *phi,
                      const phibal_enclosure *parameters, const phibal_enclosure *experts,
                      conjugate_shape *shape) {
  symbolic *s = r->s;
  const quotient *power = symbolic_divide(
                     s, symbolic_multiply(s, symbolic_variable(s), r->slope[0]), r->f[0]),
                 *less = symbolic_subtract(s, power, symbolic_integer(s, 1)),
                 *dual = symbolic_divide(s, power, less),
                 *outer = symbolic_read(s, r->section->expression, r->sum),
                 *euler =
                     symbolic_multiply(s, power, symbolic_multiply(s, r->sum[0], r->h.first[0])),
                 *offset = symbolic_subtract(s, outer, euler);
  if (!is_constant(r, power) || !dual || !is_constant(r, offset)) return;
  unsigned sign = symbolic_sign(s, less), power_sign = symbolic_sign(s, power);
  if ((sign != SIGN_POSITIVE && sign != SIGN_NEGATIVE) ||
      (power_sign != SIGN_POSITIVE && power_sign != SIGN_NEGATIVE) ||
      !enclose(r, power, parameters, experts, &shape->power) ||
      !enclose(r, dual, parameters, experts, &shape->dual) ||
      !enclose(r, offset, parameters, experts, &shape->offset) ||
      !find_factor(phi, parameters, shape))
    return;
  /* convex: a norm, or a negative multiple of what is concave */
  if (sign == SIGN_POSITIVE ? !phibal_enclosure_is_positive(&shape->factor)
                            : !phibal_enclosure_is_negative(&shape->factor))
    return;
  shape->form = SHAPE_NORM;
  mpq_t q;
  mpq_init(q);
  if (symbolic_is_rational(s, dual, q) && mpz_cmp_ui(mpq_denref(q), 1) == 0 &&
      mpz_cmpabs_ui(mpq_numref(q), 1000) < 0)
    shape->exact_dual = mpz_get_si(mpq_numref(q));
  mpq_clear(q);
}

/* ---- all of it ---- */

/* What is read for x_e > 0: POSITIVE, EVEN, or UNKNOWN where more than these x are to be looked at.
 */
static shape_loads loads_of(const reading *r, phi_potential *phi,
                            const phibal_enclosure *parameters, size_t n) {
  bool jumps = may_jump(phi->value.expression);
  for (int i = 0; i < r->n && !jumps; i++) jumps = may_jump(phi->value.sum[i]);
  if (jumps) return SHAPE_UNKNOWN;
  if (excludes_negative(phi, parameters, n)) return SHAPE_POSITIVE;
  return is_even(r) ? SHAPE_EVEN : SHAPE_UNKNOWN;
}

static bool try(phi_potential *phi, const phibal_enclosure *parameters, size_t n, bool line,
                conjugate_shape *shape) {
  reading r = {.s = context(phi, parameters, n, line ? -1 : 0, 1),
               .section = &phi->value,
               .n = phi->value.sums};
  if (r.s && read(&r)) shape->loads = line ? SHAPE_LINE : loads_of(&r, phi, parameters, n);
  if (shape->loads != SHAPE_UNKNOWN) {
    phibal_enclosure experts;
    phibal_enclosure_init(&experts, mpfr_get_prec(shape->rate.lo));
    phibal_enclosure_set_si(&experts, (long)n);
    shape->convex = convex(&r);
    shape->slope = symbolic_sign(r.s, r.component);
    if (r.n == 1 && line) find_log_sum_exp(&r, phi, parameters, &experts, shape);
    if (r.n == 1 && !line) find_norm(&r, phi, parameters, &experts, shape);
    phibal_enclosure_clear(&experts);
  }
  symbolic_destroy(r.s);
  return shape->loads != SHAPE_UNKNOWN;
}

void conjugate_shape_find(phi_potential *phi, const phibal_enclosure *parameters, size_t n,
                          conjugate_shape *shape) {
  if (!try(phi, parameters, n, false, shape)) try(phi, parameters, n, true, shape);
}
