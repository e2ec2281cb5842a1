/* Every abs, sgn and max of psi: where its argument u (for max the difference) has a simple zero
   x*, psi is one expression to the left and another to the right, both differentiable at x*. If
   their values or their slopes there differ, psi is not differentiable at x*. */
#include "kink.h"
#include <math.h>
#include <stdlib.h>

enum { PRECISION = 160, POINTS = 256, BISECTIONS = 80, DIGITS = 12 };

typedef struct kink_search {
  phi_potential *phi;
  const expression *psi;
  phibal_enclosure *parameters;
  char *text;
} kink_search;

static bool is_kink(expression_kind kind) {
  return kind == EXPRESSION_ABS || kind == EXPRESSION_SGN || kind == EXPRESSION_MAX;
}

/* e with the node `what` (and what equals it) replaced. */
static const expression *replaced(expression_pool *pool, const expression *e,
                                  const expression *what, const expression *by) {
  if (!e || e == what || expression_equal(e, what)) return by;
  int n = expression_arguments(e->kind);
  if (n == 0 || e->kind == EXPRESSION_SUM) return e;
  const expression *a = replaced(pool, e->argument[0], what, by),
                   *b = n > 1 ? replaced(pool, e->argument[1], what, by) : NULL;
  if (a == e->argument[0] && b == e->argument[1]) return e;
  return expression_make(pool, e->kind, a, b);
}

static int sign_at(const kink_search *k, const expression *u, const phibal_enclosure *x) {
  phibal_enclosure v;
  phibal_enclosure_init(&v, PRECISION);
  int sign = 0;
  if (phi_eval(u, k->parameters, NULL, x, &v) == PHIBAL_OK)
    sign = phibal_enclosure_is_positive(&v) ? 1 : phibal_enclosure_is_negative(&v) ? -1 : 0;
  phibal_enclosure_clear(&v);
  return sign;
}

/* x = [lo, hi] with u < 0 at one end and > 0 at the other becomes short. */
static void bisect(const kink_search *k, const expression *u, phibal_enclosure *x, int sign_lo) {
  phibal_enclosure m;
  phibal_enclosure_init(&m, PRECISION);
  for (int i = 0; i < BISECTIONS; i++) {
    mpfr_add(m.lo, x->lo, x->hi, MPFR_RNDN);
    mpfr_div_2ui(m.lo, m.lo, 1, MPFR_RNDN);
    mpfr_set(m.hi, m.lo, MPFR_RNDN);
    int sign = sign_at(k, u, &m);
    if (sign == 0) { /* the zero itself, perhaps: ends that have signs, close by */
      mpfr_sub(m.hi, x->hi, x->lo, MPFR_RNDN);
      mpfr_div_2ui(m.hi, m.hi, 9, MPFR_RNDN);
      mpfr_add(m.lo, m.lo, m.hi, MPFR_RNDN);
      mpfr_set(m.hi, m.lo, MPFR_RNDN);
      sign = sign_at(k, u, &m);
      if (sign == 0) break;
    }
    mpfr_set(sign == sign_lo ? x->lo : x->hi, m.lo, MPFR_RNDN);
  }
  phibal_enclosure_clear(&m);
}

static bool disjoint(const phibal_enclosure *a, const phibal_enclosure *b) {
  return !phibal_enclosure_overlaps(a, b);
}

static void describe(kink_search *k, const expression *u, const phibal_enclosure *x,
                     const phibal_enclosure *left, const phibal_enclosure *right, int order) {
  const char *names[PHI_MAX_PARAMETERS];
  for (int i = 0; i < k->phi->parameters; i++) names[i] = k->phi->parameter[i].name;
  char number[6][PHIBAL_DECIMAL_SIZE(DIGITS)];
  const phibal_enclosure *shown[] = {x, left, right};
  for (int i = 0; i < 3; i++)
    phibal_enclosure_get_decimal(shown[i], DIGITS, number[2 * i], number[2 * i + 1],
                                 sizeof number[0]);
  char *zero = expression_text(u, names, "x");
  if (asprintf(
          &k->text,
          "x* in [%s, %s], the zero of %s: psi%s is in [%s, %s] to the left and in [%s, %s] to "
          "the right",
          number[0], number[1], zero ? zero : "?", order ? "'" : "", number[2], number[3],
          number[4], number[5]) < 0)
    k->text = NULL;
  free(zero);
}

/* psi with the node replaced by what it is to the left and to the right of x. */
static void compare_sides(kink_search *k, const expression *node, const expression *u,
                          const phibal_enclosure *x, int sign_left) {
  expression_pool *pool = k->phi->pool;
  const expression *up = node->kind == EXPRESSION_SGN   ? expression_integer(pool, 1, 1)
                         : node->kind == EXPRESSION_MAX ? node->argument[0]
                                                        : u,
                   *down = node->kind == EXPRESSION_MAX
                               ? node->argument[1]
                               : expression_make(pool, EXPRESSION_NEGATE, up, NULL);
  const expression *left = replaced(pool, k->psi, node, sign_left > 0 ? up : down),
                   *right = replaced(pool, k->psi, node, sign_left > 0 ? down : up);
  if (!left || !right) return;
  phi_jet slope, a, b;
  phi_jet_init(&slope, PRECISION);
  phi_jet_init(&a, PRECISION);
  phi_jet_init(&b, PRECISION);
  phi_jet_eval(u, k->parameters, NULL, x, &slope);
  phi_jet_eval(left, k->parameters, NULL, x, &a);
  phi_jet_eval(right, k->parameters, NULL, x, &b);
  if (slope.known >= 2 && !phibal_enclosure_contains_zero(&slope.d[1]) && a.known >= 2 &&
      b.known >= 2)
    for (int order = 0; order < 2 && !k->text; order++)
      if (disjoint(&a.d[order], &b.d[order])) describe(k, u, x, &a.d[order], &b.d[order], order);
  phi_jet_clear(&slope);
  phi_jet_clear(&a);
  phi_jet_clear(&b);
}

static void try_node(kink_search *k, const expression *node) {
  const expression *u =
      node->kind == EXPRESSION_MAX
          ? expression_make(k->phi->pool, EXPRESSION_SUBTRACT, node->argument[0], node->argument[1])
          : node->argument[0];
  if (!u) return;
  phibal_enclosure x, zero;
  phibal_enclosure_init(&x, PRECISION);
  phibal_enclosure_init(&zero, PRECISION);
  int before = 0;
  double at = 0;
  for (int i = 0; i < POINTS && !k->text; i++) {
    double v = ldexp(i + 0.375, -8); /* few zeros are such numbers */
    phibal_enclosure_set_d(&x, v);
    int sign = sign_at(k, u, &x);
    if (sign && before == -sign) {
      phibal_enclosure_set_d(&zero, at);
      phibal_enclosure_hull(&zero, &zero, &x);
      bisect(k, u, &zero, before);
      compare_sides(k, node, u, &zero, before);
    }
    if (sign) before = sign, at = v;
  }
  phibal_enclosure_clear(&x);
  phibal_enclosure_clear(&zero);
}

static void walk(kink_search *k, const expression *e) {
  for (int i = 0; i < expression_arguments(e->kind) && !k->text; i++) walk(k, e->argument[i]);
  if (!k->text && is_kink(e->kind)) try_node(k, e);
}

static bool within(const phi_range *r, mpq_srcptr v) {
  int lo = r->lo.infinite ? 1 : mpq_cmp(v, r->lo.value),
      hi = r->hi.infinite ? -1 : mpq_cmp(v, r->hi.value);
  return (lo > 0 || (lo == 0 && r->lo.closed)) && (hi < 0 || (hi == 0 && r->hi.closed));
}

char *kink_find(phi_potential *phi, const expression *psi, const audit_domain *domain) {
  kink_search k = {.phi = phi, .psi = psi};
  k.parameters = phibal_enclosure_vector((size_t)(phi->parameters + 1), PRECISION);
  if (!k.parameters) return NULL;
  for (int i = 0; i < phi->parameters; i++)
    if (within(&domain->parameter[i], phi->parameter[i].fallback))
      phibal_enclosure_set_q(&k.parameters[i], phi->parameter[i].fallback);
    else
      domain_range_enclosure(&domain->parameter[i], &k.parameters[i]);
  walk(&k, psi);
  phibal_enclosure_vector_clear(k.parameters, (size_t)(phi->parameters + 1));
  return k.text;
}
