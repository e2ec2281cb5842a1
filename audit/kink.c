/* Kinks are looked for between points where u has different signs, by bisection; u' keeps away from
   0 there, so the zero is one. */
#include "kink.h"
#include <math.h>
#include <stdlib.h>

enum { PRECISION = 160, POINTS = 256, BISECTIONS = 80, DIGITS = 12, DEEPEST = 120, BOXES = 600 };

void kink_init(kink *k) {
  *k = (kink){.jump = false};
  phibal_enclosure_init(&k->x, PRECISION);
  phi_jet_init(&k->at_left, PRECISION);
  phi_jet_init(&k->at_right, PRECISION);
}

void kink_clear(kink *k) {
  phibal_enclosure_clear(&k->x);
  phi_jet_clear(&k->at_left);
  phi_jet_clear(&k->at_right);
}

typedef struct search {
  phi_potential *phi;
  const expression *psi;
  const phibal_enclosure *parameters;
  double lo, hi;
  kink *found;
  bool done;
} search;

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

static int sign_on(const expression *u, const phibal_enclosure *parameters,
                   const phibal_enclosure *x) {
  phibal_enclosure v;
  phibal_enclosure_init(&v, PRECISION);
  int sign = 0;
  if (phi_eval(u, parameters, NULL, x, &v) == PHIBAL_OK)
    sign = phibal_enclosure_is_positive(&v) ? 1 : phibal_enclosure_is_negative(&v) ? -1 : 0;
  phibal_enclosure_clear(&v);
  return sign;
}

static bool sign_throughout(const expression *u, const phibal_enclosure *parameters,
                            const phibal_enclosure *x, int sign, int depth, int *boxes) {
  int here = sign_on(u, parameters, x);
  if (here || depth == 0 || --*boxes < 0) return here == sign;
  phibal_enclosure half;
  phibal_enclosure_init(&half, PRECISION);
  phibal_enclosure_set(&half, x);
  mpfr_add(half.hi, x->lo, x->hi, MPFR_RNDN);
  mpfr_div_2ui(half.hi, half.hi, 1, MPFR_RNDN);
  bool good = mpfr_less_p(x->lo, half.hi) && mpfr_less_p(half.hi, x->hi) &&
              sign_throughout(u, parameters, &half, sign, depth - 1, boxes);
  if (good) {
    mpfr_set(half.lo, half.hi, MPFR_RNDN);
    mpfr_set(half.hi, x->hi, MPFR_RNDN);
    good = sign_throughout(u, parameters, &half, sign, depth - 1, boxes);
  }
  phibal_enclosure_clear(&half);
  return good;
}

static bool one_sign_between(const expression *u, const phibal_enclosure *parameters,
                             mpfr_srcptr lo, mpfr_srcptr hi, int sign) {
  phibal_enclosure x;
  phibal_enclosure_init(&x, PRECISION);
  mpfr_set(x.lo, lo, MPFR_RNDN);
  mpfr_set(x.hi, hi, MPFR_RNDN);
  int boxes = BOXES;
  bool good = sign_throughout(u, parameters, &x, sign, DEEPEST, &boxes);
  phibal_enclosure_clear(&x);
  return good;
}

/* x = [lo, hi] with u < 0 at one end and > 0 at the other becomes short. */
static void bisect(const search *s, const expression *u, phibal_enclosure *x, int sign_lo) {
  phibal_enclosure m;
  phibal_enclosure_init(&m, PRECISION);
  for (int i = 0; i < BISECTIONS; i++) {
    mpfr_add(m.lo, x->lo, x->hi, MPFR_RNDN);
    mpfr_div_2ui(m.lo, m.lo, 1, MPFR_RNDN);
    mpfr_set(m.hi, m.lo, MPFR_RNDN);
    int sign = sign_on(u, s->parameters, &m);
    if (sign == 0) { /* the zero itself, perhaps: ends that have signs, close by */
      mpfr_sub(m.hi, x->hi, x->lo, MPFR_RNDN);
      mpfr_div_2ui(m.hi, m.hi, 9, MPFR_RNDN);
      mpfr_add(m.lo, m.lo, m.hi, MPFR_RNDN);
      mpfr_set(m.hi, m.lo, MPFR_RNDN);
      sign = sign_on(u, s->parameters, &m);
      if (sign == 0) break;
    }
    mpfr_set(sign == sign_lo ? x->lo : x->hi, m.lo, MPFR_RNDN);
  }
  phibal_enclosure_clear(&m);
}

/* psi with the node replaced by what it is to the left and to the right of x. */
static bool take_sides(search *s, const expression *node, const expression *u, int sign_left) {
  expression_pool *pool = s->phi->pool;
  kink *k = s->found;
  const expression *up = node->kind == EXPRESSION_SGN   ? expression_integer(pool, 1, 1)
                         : node->kind == EXPRESSION_MAX ? node->argument[0]
                                                        : u,
                   *down = node->kind == EXPRESSION_MAX
                               ? node->argument[1]
                               : expression_make(pool, EXPRESSION_NEGATE, up, NULL);
  k->u = u;
  k->jump = node->kind == EXPRESSION_SGN;
  k->left = replaced(pool, s->psi, node, sign_left > 0 ? up : down);
  k->right = replaced(pool, s->psi, node, sign_left > 0 ? down : up);
  if (!k->left || !k->right) return false;
  phi_jet_eval(u, s->parameters, NULL, &k->x, &k->at_left);
  if (k->at_left.known < 2 || phibal_enclosure_contains_zero(&k->at_left.d[1])) return false;
  phi_jet_eval(k->left, s->parameters, NULL, &k->x, &k->at_left);
  phi_jet_eval(k->right, s->parameters, NULL, &k->x, &k->at_right);
  return k->at_left.known >= 2 && k->at_right.known >= 2;
}

static void try_node(search *s, const expression *node) {
  const expression *u =
      node->kind == EXPRESSION_MAX
          ? expression_make(s->phi->pool, EXPRESSION_SUBTRACT, node->argument[0], node->argument[1])
          : node->argument[0];
  if (!u) return;
  phibal_enclosure x;
  phibal_enclosure_init(&x, PRECISION);
  int before = 0;
  double at = 0;
  for (int i = 0; i < POINTS && !s->done; i++) {
    double v = s->lo + (s->hi - s->lo) * ldexp(i + 0.375, -8); /* few zeros are such numbers */
    phibal_enclosure_set_d(&x, v);
    int sign = sign_on(u, s->parameters, &x);
    if (sign && before == -sign) {
      phibal_enclosure_set_d(&s->found->x, at);
      phibal_enclosure_hull(&s->found->x, &s->found->x, &x);
      bisect(s, u, &s->found->x, before);
      s->done = take_sides(s, node, u, before);
    }
    if (sign) before = sign, at = v;
  }
  phibal_enclosure_clear(&x);
}

static void walk(search *s, const expression *e) {
  for (int i = 0; i < expression_arguments(e->kind) && !s->done; i++) walk(s, e->argument[i]);
  if (!s->done && is_kink(e->kind)) try_node(s, e);
}

bool kink_search(phi_potential *phi, const expression *psi, const phibal_enclosure *parameters,
                 double lo, double hi, kink *found) {
  search s = {.phi = phi, .psi = psi, .parameters = parameters, .lo = lo, .hi = hi, .found = found};
  walk(&s, psi);
  return s.done;
}

/* ---------- not differentiable ---------- */

static char *describe(const phi_potential *phi, const kink *k, int order) {
  const char *names[PHI_MAX_PARAMETERS];
  for (int i = 0; i < phi->parameters; i++) names[i] = phi->parameter[i].name;
  char number[6][PHIBAL_DECIMAL_SIZE(DIGITS)];
  const phibal_enclosure *shown[] = {&k->x, &k->at_left.d[order], &k->at_right.d[order]};
  for (int i = 0; i < 3; i++)
    phibal_enclosure_get_decimal(shown[i], DIGITS, number[2 * i], number[2 * i + 1],
                                 sizeof number[0]);
  char *zero = expression_text(k->u, names, "x"), *text = NULL;
  if (asprintf(
          &text,
          "x* in [%s, %s], the zero of %s: psi%s is in [%s, %s] to the left and in [%s, %s] to "
          "the right",
          number[0], number[1], zero ? zero : "?", order ? "'" : "", number[2], number[3],
          number[4], number[5]) < 0)
    text = NULL;
  free(zero);
  return text;
}

static bool within(const phi_range *r, mpq_srcptr v) {
  int lo = r->lo.infinite ? 1 : mpq_cmp(v, r->lo.value),
      hi = r->hi.infinite ? -1 : mpq_cmp(v, r->hi.value);
  return (lo > 0 || (lo == 0 && r->lo.closed)) && (hi < 0 || (hi == 0 && r->hi.closed));
}

/* u keeps its sign up to `to` (from `to`), so that psi is k->left (k->right) there. */
static bool one_side(const kink *k, const phibal_enclosure *parameters, double to, bool left) {
  phibal_enclosure end;
  phibal_enclosure_init(&end, PRECISION);
  phibal_enclosure_set_d(&end, to);
  phibal_enclosure near_x;
  phibal_enclosure_init(&near_x, PRECISION);
  mpfr_srcptr at = left ? k->x.lo : k->x.hi;
  mpfr_set(near_x.lo, at, MPFR_RNDN);
  mpfr_set(near_x.hi, at, MPFR_RNDN);
  int sign = sign_on(k->u, parameters, &near_x);
  bool good = sign && (left ? one_sign_between(k->u, parameters, end.lo, at, sign)
                            : one_sign_between(k->u, parameters, at, end.lo, sign));
  phibal_enclosure_clear(&end);
  phibal_enclosure_clear(&near_x);
  return good;
}

bool kink_divides(const kink *k, const phibal_enclosure *parameters, double lo, double hi) {
  return one_side(k, parameters, lo, true) && one_side(k, parameters, hi, false);
}

/* Each kink in turn, the earlier ones being settled as one of their sides. */
static char *refute_between(phi_potential *phi, const expression *psi,
                            const phibal_enclosure *parameters, double lo, double hi, int most) {
  kink k;
  kink_init(&k);
  char *text = NULL;
  if (most > 0 && kink_search(phi, psi, parameters, lo, hi, &k)) {
    for (int order = 0; order < 2 && !text; order++)
      if (!phibal_enclosure_overlaps(&k.at_left.d[order], &k.at_right.d[order]))
        text = describe(phi, &k, order);
    double left = mpfr_get_d(k.x.lo, MPFR_RNDD), right = mpfr_get_d(k.x.hi, MPFR_RNDU);
    if (!text && kink_divides(&k, parameters, lo, hi)) {
      if (left > lo) text = refute_between(phi, k.left, parameters, lo, left, most - 1);
      if (!text && right < hi) text = refute_between(phi, k.right, parameters, right, hi, most - 1);
    }
  }
  kink_clear(&k);
  return text;
}

char *kink_refute(phi_potential *phi, const expression *psi, const audit_domain *domain) {
  enum { NESTED = 5 };
  phibal_enclosure *parameters = phibal_enclosure_vector((size_t)(phi->parameters + 1), PRECISION);
  if (!parameters) return NULL;
  for (int i = 0; i < phi->parameters; i++)
    if (within(&domain->parameter[i], phi->parameter[i].fallback))
      phibal_enclosure_set_q(&parameters[i], phi->parameter[i].fallback);
    else
      domain_range_enclosure(&domain->parameter[i], &parameters[i]);
  char *text = refute_between(phi, psi, parameters, 0, 1, NESTED);
  phibal_enclosure_vector_clear(parameters, (size_t)(phi->parameters + 1));
  return text;
}
