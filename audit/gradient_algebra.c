/* The gradient given against the derivative of the value, as exact quotients.

   phi = F(S_1, .., S_r), S_i = sum_e f_i(x_e), so that component e of its gradient is
   sum_i F_i(S) f_i'(x_e). The sums are variables of their own here, in a range that holds them:
   what is identical for independent S_i is so for all numbers of experts and all loads of the
   others.

   Where the terms have kinks the interval of x_e is cut at them, and each closed part is read by
   itself. That is sound at the cuts: value and gradient are what they are written to be on the
   whole of each closed part, its ends included, and differentiable there from within. So at a cut
   the given gradient is the value's derivative from the left and from the right. A value with a
   kink has two such derivatives, and the gradient cannot be both.

   At x_e = 1 a derivative takes both sides: the last part reaches beyond 1, where it can. At
   x_e = 0 it is that from the right. If the first part cannot be read with its end, f_i is
   continuous at 0 and f_i' tends to a number, then this number is the derivative from the right
   (by the mean value theorem), and it is compared with the given gradient, read at x_e = 0. If f_i'
   tends to an infinity for one i, with F_i != 0, there is no finite derivative; for phi = sum_e
   f(x_e) even where f(0) is infinite, or not the limit. */
#include "audit_points.h"
#include "gradient.h"
#include "symbolic.h"
#include "symbolic_limit.h"
#include <stdlib.h>

enum { CUTS = 6 };

typedef struct reading {
  int n;                                                     /* sums of the value */
  const quotient *f[PHI_MAX_SUMS], *slope[PHI_MAX_SUMS];     /* f_i, f_i' */
  const quotient *sum[PHI_MAX_SUMS], *partial[PHI_MAX_SUMS]; /* S_i, F_i */
  const quotient *of_given[PHI_MAX_SUMS];                    /* the sums of the gradient */
  const quotient *derived, *given;
} reading;

/* S is a sum of values of f, with x_e one of its loads. Null where f may have both signs: then a
   sum says little, and is free. */
static const quotient *sum_of(symbolic *s, int number, const quotient *f) {
  if (!f) return NULL;
  phi_range range;
  domain_range_init(&range);
  unsigned sign = symbolic_sign(s, f);
  domain_end_infinite(&range.lo, -1);
  domain_end_infinite(&range.hi, 1);
  if (!(sign & SIGN_NEGATIVE)) domain_end_at(&range.lo, 0, 1, (sign & SIGN_ZERO) != 0);
  if (!(sign & SIGN_POSITIVE)) domain_end_at(&range.hi, 0, 1, (sign & SIGN_ZERO) != 0);
  const quotient *sum = symbolic_sum(s, number, &range);
  domain_range_clear(&range);
  return sum;
}

/* The gradient's sums are the value's where they are written alike. */
static bool read_sums(symbolic *s, const phi_section *value, const phi_section *given, reading *r) {
  r->n = value->sums;
  for (int i = 0; i < value->sums; i++) {
    r->f[i] = symbolic_read(s, value->sum[i], NULL);
    r->slope[i] = symbolic_derivative(s, r->f[i]);
    r->sum[i] = sum_of(s, i, r->f[i]);
    if (!r->slope[i] || !r->sum[i]) return false;
  }
  for (int j = 0; j < given->sums; j++) {
    r->of_given[j] = NULL;
    for (int i = 0; i < value->sums; i++)
      if (expression_equal(value->sum[i], given->sum[j])) r->of_given[j] = r->sum[i];
    if (!r->of_given[j])
      r->of_given[j] = sum_of(s, value->sums + j, symbolic_read(s, given->sum[j], NULL));
    if (!r->of_given[j]) return false;
  }
  return true;
}

static bool read_both(symbolic *s, const phi_section *value, const phi_section *given, reading *r) {
  if (!symbolic_conditions(s, value) || !symbolic_conditions(s, given) ||
      !read_sums(s, value, given, r))
    return false;
  const quotient *outer = symbolic_read(s, value->expression, r->sum);
  r->derived = outer ? symbolic_integer(s, 0) : NULL;
  for (int i = 0; i < r->n; i++) {
    r->partial[i] = symbolic_derivative_sum(s, outer, i);
    r->derived = symbolic_add(s, r->derived, symbolic_multiply(s, r->partial[i], r->slope[i]));
  }
  r->given = symbolic_read(s, given->expression, r->of_given);
  return r->derived && r->given;
}

/* ---------- at a load of 0 ---------- */

/* f is continuous at 0. */
static bool continuous_at_zero(symbolic *s, const expression *f, const quotient *read) {
  const quotient *limit, *value = symbolic_read_at(s, f, symbolic_integer(s, 0), NULL);
  return symbolic_limit(s, read, false, &limit) == LIMIT_FINITE && symbolic_equal(s, limit, value);
}

static gradient_zero at_zero(symbolic *s, const phi_section *value, const phi_section *given,
                             const reading *r) {
  const quotient *total = symbolic_integer(s, 0), *limit;
  if (value->conditions || given->conditions) return GRADIENT_ZERO_OPEN; /* they may fail at 0 */
  bool infinite = false, separable = r->n == 1 && !symbolic_holds_sum(s, r->partial[0]);
  for (int i = 0; i < r->n; i++) {
    limit_kind kind = symbolic_limit(s, r->slope[i], false, &limit);
    if (kind == LIMIT_UNKNOWN) return GRADIENT_ZERO_OPEN;
    if (!continuous_at_zero(s, value->sum[i], r->f[i]) && !(separable && kind != LIMIT_FINITE))
      return GRADIENT_ZERO_OPEN;
    if (kind == LIMIT_FINITE) {
      total = symbolic_add(s, total, symbolic_multiply(s, r->partial[i], limit));
    } else {
      unsigned sign = symbolic_sign(s, r->partial[i]);
      if (infinite || (sign != SIGN_POSITIVE && sign != SIGN_NEGATIVE)) return GRADIENT_ZERO_OPEN;
      infinite = true;
    }
  }
  if (infinite) return GRADIENT_ZERO_NONE;
  /* a sum that the gradient alone has might jump at 0 */
  for (int j = 0; j < given->sums; j++)
    for (int i = 0; i <= r->n; i++)
      if (i == r->n)
        return GRADIENT_ZERO_OPEN;
      else if (r->of_given[j] == r->sum[i])
        break;
  const quotient *there =
      symbolic_read_at(s, given->expression, symbolic_integer(s, 0), r->of_given);
  return symbolic_equal(s, total, there) ? GRADIENT_ZERO_EQUAL : GRADIENT_ZERO_OPEN;
}

/* ---------- on one part ---------- */

typedef enum part_verdict { PART_UNREAD, PART_DIFFERS, PART_EQUAL } part_verdict;

typedef struct part {
  mpq_srcptr lo, hi;       /* null: 0, 1 */
  bool from_zero, through; /* with its end at 0; beyond 1 */
} part;

static part_verdict prove_part(const phi_section *value, const phi_section *given,
                               const audit_domain *domain, const part *p, gradient_proof *proof) {
  audit_domain here;
  reading r;
  domain_init(&here);
  domain_copy(&here, domain);
  domain_end_at(&here.x.lo, 0, 1, p->from_zero);
  domain_end_at(&here.x.hi, p->through ? 1025 : 1, p->through ? 1024 : 1, false);
  if (p->lo) mpq_set(here.x.lo.value, p->lo), here.x.lo.closed = true;
  if (p->hi) mpq_set(here.x.hi.value, p->hi), here.x.hi.closed = true;
  symbolic *s = symbolic_create(&here);
  domain_clear(&here);
  if (!s) return PART_UNREAD;
  part_verdict verdict = PART_UNREAD;
  if (!read_both(s, value, given, &r)) {
    audit_say(&proof->how, "exact algebra ends at %s", symbolic_reason(s));
  } else if (!symbolic_equal(s, r.derived, r.given)) {
    verdict = PART_DIFFERS;
    char *text[2] = {symbolic_text(s, r.derived), symbolic_text(s, r.given)};
    audit_say(&proof->how, "the derivative is %s, and the gradient given %s",
              text[0] ? text[0] : "?", text[1] ? text[1] : "?");
    free(text[0]);
    free(text[1]);
  } else {
    verdict = PART_EQUAL;
    if (!p->lo) proof->zero = p->from_zero ? GRADIENT_ZERO_EQUAL : at_zero(s, value, given, &r);
    if (!p->hi) proof->one = p->through;
    char *text = symbolic_text(s, r.given);
    audit_say(&proof->how,
              "the derivative of the value and the gradient given are both %s, by "
              "exact algebra",
              text ? text : "?");
    free(text);
  }
  symbolic_destroy(s);
  return verdict;
}

/* With as much of the ends as can be read. */
static part_verdict prove_most(const phi_section *value, const phi_section *given,
                               const audit_domain *domain, mpq_srcptr lo, mpq_srcptr hi,
                               gradient_proof *proof) {
  part_verdict verdict = PART_UNREAD;
  for (int open = 0; open < 4 && verdict == PART_UNREAD; open++) {
    part p = {.lo = lo, .hi = hi, .from_zero = !(open & 1), .through = !(open & 2)};
    if ((lo && (open & 1)) || (hi && (open & 2))) continue;
    if (lo && mpq_cmp_ui(lo, 1, 1) >= 0 && !p.through) continue; /* nothing is left */
    verdict = prove_part(value, given, domain, &p, proof);
  }
  return verdict;
}

/* ---------- kinks ---------- */

typedef struct cuts {
  phi_potential *phi;
  phibal_enclosure *parameters, x, value;
  int n;
  mpq_t at[CUTS]; /* ascending */
} cuts;

static int sign_at(cuts *c, const expression *u, double x) {
  phibal_enclosure_set_d(&c->x, x);
  if (phi_eval(u, c->parameters, NULL, &c->x, &c->value)) return 0;
  return phibal_enclosure_is_positive(&c->value) - phibal_enclosure_is_negative(&c->value);
}

static void add_cut(cuts *c, mpq_srcptr at) {
  int i = 0;
  while (i < c->n && mpq_cmp(c->at[i], at) < 0) i++;
  if (c->n == CUTS || mpq_sgn(at) <= 0 || mpq_cmp_ui(at, 1, 1) > 0 ||
      (i < c->n && mpq_equal(c->at[i], at)))
    return;
  for (int k = c->n++; k > i; k--) mpq_set(c->at[k], c->at[k - 1]);
  mpq_set(c->at[i], at);
}

/* The simplest number where u changes its sign is a guess: if it is not the zero, the parts beside
   it cannot be read, and nothing is proved. */
static void cut_at_zeros(cuts *c, const expression *u) {
  enum { POINTS = 256, BISECTIONS = 60 };
  int before = 0;
  double last = 0;
  for (int i = 0; i <= POINTS; i++) {                           /* the last one is beyond 1 */
    double x = i < POINTS ? (i + 0.375) / POINTS : 1 + 0x1p-11; /* few zeros are such numbers */
    int sign = sign_at(c, u, x);
    if (sign && before == -sign) {
      double lo = last, hi = x;
      for (int k = 0; k < BISECTIONS; k++) {
        double middle = lo + (hi - lo) * 0.4990234375;
        int now = sign_at(c, u, middle);
        if (now == 0 || middle <= lo || middle >= hi) break;
        *(now == before ? &lo : &hi) = middle;
      }
      mpq_t at, from, to;
      mpq_inits(at, from, to, NULL);
      mpq_set_d(from, lo);
      mpq_set_d(to, hi);
      audit_simplest_between(at, from, to);
      add_cut(c, at);
      mpq_clears(at, from, to, NULL);
    }
    if (sign) before = sign, last = x;
  }
}

static void find_cuts(cuts *c, const expression *e) {
  for (int i = 0; i < expression_arguments(e->kind); i++) find_cuts(c, e->argument[i]);
  const expression *u = NULL;
  if (e->kind == EXPRESSION_ABS || e->kind == EXPRESSION_SGN) u = e->argument[0];
  if (e->kind == EXPRESSION_MAX)
    u = expression_make(c->phi->pool, EXPRESSION_SUBTRACT, e->argument[0], e->argument[1]);
  if (u && !expression_holds(u, EXPRESSION_SUM)) cut_at_zeros(c, u);
}

static bool cuts_init(cuts *c, phi_potential *phi, const audit_domain *domain) {
  enum { PRECISION = 160 };
  *c = (cuts){.phi = phi};
  c->parameters = phibal_enclosure_vector(PHI_MAX_PARAMETERS, PRECISION);
  if (!c->parameters) return false;
  for (int i = 0; i < domain->parameters; i++)
    domain_range_enclosure(&domain->parameter[i], &c->parameters[i]);
  phibal_enclosure_init(&c->x, PRECISION);
  phibal_enclosure_init(&c->value, PRECISION);
  for (int i = 0; i < CUTS; i++) mpq_init(c->at[i]);
  return true;
}

static void cuts_clear(cuts *c) {
  phibal_enclosure_vector_clear(c->parameters, PHI_MAX_PARAMETERS);
  phibal_enclosure_clear(&c->x);
  phibal_enclosure_clear(&c->value);
  for (int i = 0; i < CUTS; i++) mpq_clear(c->at[i]);
}

/* Separable only: else the sums hold terms on all parts at once. */
static part_verdict prove_by_parts(phi_potential *phi, const phi_section *value,
                                   const audit_domain *domain, gradient_proof *proof) {
  cuts c;
  part_verdict verdict = PART_UNREAD;
  if (!cuts_init(&c, phi, domain)) return verdict;
  find_cuts(&c, value->sum[0]);
  find_cuts(&c, phi->gradient.expression);
  if (c.n) verdict = PART_EQUAL;
  for (int i = 0; i <= c.n && c.n && verdict == PART_EQUAL; i++) {
    mpq_srcptr lo = i ? c.at[i - 1] : NULL, hi = i < c.n ? c.at[i] : NULL;
    verdict = prove_most(value, &phi->gradient, domain, lo, hi, proof);
    /* beyond 1 only the derivative at 1 is asked for */
    if (lo && mpq_cmp_ui(lo, 1, 1) == 0 && verdict != PART_EQUAL) verdict = PART_EQUAL;
  }
  if (c.n && verdict == PART_EQUAL)
    audit_say(&proof->how,
              "by exact algebra on each of %d closed parts of the interval, cut where the terms "
              "have kinks: at a cut the gradient given is the derivative from both sides",
              c.n + 1);
  cuts_clear(&c);
  return verdict;
}

void gradient_by_algebra(phi_potential *phi, const audit_domain *domain, gradient_proof *proof) {
  *proof = (gradient_proof){.proved = false};
  const expression *psi = phi->gradient.sums == 0 ? phi_separable(phi) : NULL;
  phi_section value = phi->value;
  if (psi) { /* sum_e psi(x_e) */
    value.expression = expression_sum(phi->pool, 0, psi);
    value.sums = 1;
    value.sum[0] = psi;
  }
  if (!value.expression) return;
  part_verdict verdict = prove_most(&value, &phi->gradient, domain, NULL, NULL, proof);
  /* a kink may be why it was not read, or not beyond 1 */
  if (psi && (verdict == PART_UNREAD || (verdict == PART_EQUAL && !proof->one))) {
    gradient_proof parts = {.proved = false};
    part_verdict found = prove_by_parts(phi, &value, domain, &parts);
    if (found != PART_UNREAD && (verdict == PART_UNREAD || parts.one)) {
      gradient_proof whole = *proof;
      *proof = parts, parts = whole;
      verdict = found;
    }
    gradient_proof_clear(&parts);
  }
  proof->proved = verdict == PART_EQUAL;
  proof->differs = verdict == PART_DIFFERS;
  if (!proof->proved) proof->zero = GRADIENT_ZERO_OPEN, proof->one = false;
}

bool gradient_given_at(const phi_potential *phi, const mpq_t *parameters, mpq_srcptr x,
                       phibal_enclosure *value) {
  audit_domain point;
  domain_init(&point);
  mpq_set(point.x.lo.value, x);
  mpq_set(point.x.hi.value, x);
  point.x.lo.closed = point.x.hi.closed = true;
  point.parameters = phi->parameters;
  for (int i = 0; i < phi->parameters; i++) {
    mpq_set(point.parameter[i].lo.value, parameters[i]);
    mpq_set(point.parameter[i].hi.value, parameters[i]);
  }
  symbolic *s = symbolic_create(&point);
  domain_clear(&point);
  if (!s) return false;
  const quotient *given =
      symbolic_conditions(s, &phi->gradient)
          ? symbolic_read_at(s, phi->gradient.expression, symbolic_rational(s, x), NULL)
          : NULL;
  bool known = given && symbolic_enclose(s, given, NULL, NULL, NULL, NULL, value) == PHIBAL_OK;
  symbolic_destroy(s);
  return known;
}
