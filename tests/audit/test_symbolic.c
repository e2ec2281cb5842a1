/* Exact algebra against enclosures: whatever it says of an expression must hold at random points.
 */
#include "random_expression.h"
#include "audit/symbolic.h"
#include "audit/symbolic_limit.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

enum { PRECISION = 256, POINTS = 24 };

typedef struct fixture {
  char *text;
  phi_potential *phi;
  const expression *psi;
  audit_domain domain;
  symbolic *s;
  const quotient *f[3]; /* psi, psi', psi'' */
  phibal_enclosure parameters[PHI_MAX_PARAMETERS], x, value;
  phi_jet jet;
} fixture;

static void fixture_init(fixture *f, char *text, bool unbounded) {
  f->text = text;
  cr_assert(phi_read("test", text, strlen(text), &f->phi) == PHIBAL_OK, "%s\n%s", text,
            phibal_status_message());
  f->psi = phi_separable(f->phi);
  cr_assert(f->psi, "%s", text);
  domain_init(&f->domain);
  if (unbounded) domain_end_infinite(&f->domain.x.hi, 1);
  f->domain.parameters = f->phi->parameters;
  for (int i = 0; i < f->phi->parameters; i++) {
    f->domain.name[i] = f->phi->parameter[i].name;
    domain_range_set(&f->domain.parameter[i], &f->phi->parameter[i].range[0]);
  }
  f->s = symbolic_create(&f->domain);
  f->f[0] = symbolic_read(f->s, f->psi, NULL);
  f->f[1] = symbolic_derivative(f->s, f->f[0]);
  f->f[2] = symbolic_derivative(f->s, f->f[1]);
  for (int i = 0; i < PHI_MAX_PARAMETERS; i++) phibal_enclosure_init(&f->parameters[i], PRECISION);
  phibal_enclosure_init(&f->x, PRECISION);
  phibal_enclosure_init(&f->value, PRECISION);
  phi_jet_init(&f->jet, PRECISION);
}

static void fixture_clear(fixture *f) {
  symbolic_destroy(f->s);
  domain_clear(&f->domain);
  phi_destroy(f->phi);
  for (int i = 0; i < PHI_MAX_PARAMETERS; i++) phibal_enclosure_clear(&f->parameters[i]);
  phibal_enclosure_clear(&f->x);
  phibal_enclosure_clear(&f->value);
  phi_jet_clear(&f->jet);
  free(f->text);
}

static void random_point(fixture *f, uint64_t *state) {
  for (int i = 0; i < f->phi->parameters; i++)
    random_member(&f->domain.parameter[i], state, &f->parameters[i]);
  double x = random_unit(state);
  if (random_below(state, 4) == 0) x = ldexp(x, -(int)random_below(state, 60));
  if (random_below(state, 8) == 0) x = 1 - ldexp(x, -(int)random_below(state, 40));
  if (f->domain.x.hi.infinite && random_below(state, 2)) x = 1 / x;
  if (!f->domain.x.hi.infinite && x >= 1) x = 0.5;
  phibal_enclosure_set_d(&f->x, x);
}

static unsigned certain_sign(const phibal_enclosure *v) {
  return phibal_enclosure_is_positive(v)   ? SIGN_POSITIVE
         : phibal_enclosure_is_negative(v) ? SIGN_NEGATIVE
         : phibal_enclosure_is_zero(v)     ? SIGN_ZERO
                                           : 0;
}

/* What has been read is defined there, and has the values and the derivatives of the jets; signs
   and enclosures of the quotients agree with them. */
static void check_points(fixture *f, const unsigned sign[3], uint64_t *state) {
  for (int i = 0; i < POINTS; i++) {
    random_point(f, state);
    phi_jet_eval(f->psi, f->parameters, NULL, &f->x, &f->jet);
    for (int k = 0; k < 3; k++) {
      if (!f->f[k] || f->jet.known <= k) continue;
      const phibal_enclosure *d = &f->jet.d[k];
      double at = mpfr_get_d(f->x.lo, MPFR_RNDN), a = mpfr_get_d(f->parameters[0].lo, MPFR_RNDN),
             b = mpfr_get_d(f->parameters[1].lo, MPFR_RNDN);
      unsigned s = certain_sign(d);
      cr_assert(!s || (s & sign[k]), "sign of derivative %d at x = %a, a = %a, b = %a:\n%s", k, at,
                a, b, f->text);
      if (symbolic_enclose(f->s, f->f[k], f->parameters, NULL, NULL, &f->x, &f->value) == PHIBAL_OK)
        cr_assert(phibal_enclosure_overlaps(&f->value, d),
                  "derivative %d at x = %a, a = %a, b = %a:\n%s", k, at, a, b, f->text);
    }
  }
}

/* x so near an end that what tends to infinity is large and what tends to a number is near it. */
static bool near_limit(fixture *f, int k, bool high, limit_kind kind, const quotient *limit,
                       uint64_t *state) {
  random_point(f, state);
  mpfr_set_ui_2exp(f->x.lo, 1, (high ? 1 : -1) * (1L << 28), MPFR_RNDN);
  mpfr_set(f->x.hi, f->x.lo, MPFR_RNDN);
  phi_jet_eval(f->psi, f->parameters, NULL, &f->x, &f->jet);
  const phibal_enclosure *d = &f->jet.d[k];
  if (f->jet.known <= k) return true;
  if (kind == LIMIT_PLUS) return !phibal_enclosure_is_negative(d);
  if (kind == LIMIT_MINUS) return !phibal_enclosure_is_positive(d);
  if (symbolic_enclose(f->s, limit, f->parameters, NULL, NULL, NULL, &f->value) != PHIBAL_OK)
    return true;
  double slack = 1e-3 * (1 + fabs(mpfr_get_d(f->value.lo, MPFR_RNDN)));
  mpfr_sub_d(f->value.lo, f->value.lo, slack, MPFR_RNDD);
  mpfr_add_d(f->value.hi, f->value.hi, slack, MPFR_RNDU);
  return phibal_enclosure_overlaps(&f->value, d);
}

static int check_limits(fixture *f, uint64_t *state) {
  int known = 0;
  for (int k = 0; k < 2; k++)
    for (int high = 0; high < (f->domain.x.hi.infinite ? 2 : 1); high++) {
      const quotient *limit;
      limit_kind kind = symbolic_limit(f->s, f->f[k], high, &limit);
      if (kind == LIMIT_UNKNOWN) continue;
      known++;
      for (int i = 0; i < 3; i++)
        cr_assert(near_limit(f, k, high, kind, limit, state),
                  "limit %d of derivative %d at the %s end:\n%s", (int)kind, k,
                  high ? "high" : "low", f->text);
    }
  return known;
}

/* Exact sets of signs, ends of ranges included: what is more than the truth is weak, what is less
   is wrong. */
Test(symbolic, signs_at_the_ends_of_ranges) {
  enum { N = SIGN_NEGATIVE, Z = SIGN_ZERO, P = SIGN_POSITIVE };
  static const struct {
    const char *term, *a, *b;
    unsigned sign;
  } rows[] = {
      {"a - 1/2", "[1/2, 3] = 1", "(0, 1) = 1/2", Z | P},
      {"a - 1/2", "(1/2, 3] = 1", "(0, 1) = 1/2", P},
      {"3 - a", "[1/2, 3] = 1", "(0, 1) = 1/2", Z | P},
      {"3 - a", "[1/2, 3) = 1", "(0, 1) = 1/2", P},
      {"(a - 1/2)*(3 - a)", "[1/2, 3] = 1", "(0, 1) = 1/2", Z | P},
      {"(a - 1/2) + (3 - a)*x", "[1/2, 3] = 1", "(0, 1) = 1/2", P},
      {"(a - 1/2)*x + (3 - a)*(b - 1)", "[1/2, 3] = 1", "[1, 2] = 1", Z | P},
      {"a - 1 + b", "[1, 2] = 1", "[0, 2] = 1", Z | P},
      {"a - 1 + b", "[1, 2] = 1", "(0, 2] = 1", P},
      {"a*x", "[0, inf) = 1", "(0, 1) = 1/2", Z | P},
      {"a*x", "(-inf, 0] = -1", "(0, 1) = 1/2", Z | N},
      {"a^2 + x", "(-inf, inf) = 1", "(0, 1) = 1/2", P},
      {"(a - x)^2", "(0, 1) = 1/2", "(0, 1) = 1/2", Z | P},
      {"a^2 - 2*a*x + x^2 + b", "(-inf, inf) = 1", "[0, 1] = 1/2", Z | P},
      {"a^2 - 2*a*x + x^2 + b", "(-inf, inf) = 1", "(0, 1] = 1/2", P},
      {"1 - x", "(0, 1) = 1/2", "(0, 1) = 1/2", P},
      {"exp(x) - 1 - x", "(0, 1) = 1/2", "(0, 1) = 1/2", P},
      {"exp(a) - 1 - a", "[0, 1] = 1/2", "(0, 1) = 1/2", Z | P},
      {"log(a)", "[1, 2] = 1", "(0, 1) = 1/2", Z | P},
      {"sqrt(a) - 1", "(0, 1] = 1", "(0, 1) = 1/2", Z | N},
      {"x^a - 1", "[0, 1] = 1", "(0, 1) = 1/2", Z | N},
      {"x - 1/2", "(0, 1) = 1/2", "(0, 1) = 1/2", N | Z | P},
      {"a^2 - 5/2*a*x + x^2 + b/1000", "(-inf, inf) = 1", "[0, 1] = 1/2", N | Z | P},
      /* monotone, and 0 at an end */
      {"exp(a) - 1 - a/2", "[0, 1] = 1", "(0, 1) = 1/2", Z | P},
      {"exp(a) - 1 - a/2", "(0, 1] = 1", "(0, 1) = 1/2", P},
      {"a - 1 - 2*log(a)", "[1/2, 1] = 1", "(0, 1) = 1/2", Z | P},
      {"a - 1 - 2*log(a)", "[1/2, 1) = 3/4", "(0, 1) = 1/2", P},
      /* near the ends of an exponential's values, e = 2.71828182.. and 1/e = 0.36787944.. */
      {"exp(a) - 2.7182815", "[0, 1] = 1", "(0, 1) = 1/2", N | Z | P},
      {"exp(a) - 2.71829", "[0, 1] = 1", "(0, 1) = 1/2", N},
      {"exp(-a) - 0.3678795", "[0, 1] = 1", "(0, 1) = 1/2", N | Z | P},
      {"exp(-a) - 0.367878", "[0, 1] = 1", "(0, 1) = 1/2", P},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char *text = NULL;
    cr_assert(asprintf(&text,
                       "potential t\nparameter a in %s\nparameter b in %s\nvalue sum(%s + 0*x)\n",
                       rows[i].a, rows[i].b, rows[i].term) > 0);
    fixture f;
    fixture_init(&f, text, false);
    unsigned sign = symbolic_sign(f.s, f.f[0]);
    cr_assert((sign & rows[i].sign) == rows[i].sign, "%s, a in %s, b in %s: too few signs, %u",
              rows[i].term, rows[i].a, rows[i].b, sign);
    cr_assert(sign == rows[i].sign, "%s, a in %s, b in %s: signs %u", rows[i].term, rows[i].a,
              rows[i].b, sign);
    fixture_clear(&f);
  }
}

/* What is not defined, or not analytic, on all of the domain is not read. */
Test(symbolic, what_is_not_read) {
  static const struct {
    const char *term, *a;
    bool read;
  } rows[] = {
      {"(x - 2)^a", "[2, 2] = 2", false}, /* a whole number, but a parameter */
      {"(x - 2)^2", "[2, 2] = 2", true},
      {"(2 - x)^a", "[2, 2] = 2", true},
      {"1/(x - a)", "[1, 2] = 1", true},
      {"1/(x - a)", "[1/2, 2] = 1", false},
      {"(x - a)^(-2)", "[1/2, 2] = 1", false},
      {"log(a - x)", "[1, 2] = 1", true},
      {"log(a - x)", "[9/10, 2] = 1", false},
      {"log((x - a)^2)", "[1/2, 2] = 1", false},
      {"log(a)", "[0, 1] = 1", false},
      {"sqrt(x - a)", "[-1, 0] = 0", true},
      {"sqrt((x - a)^2)", "[1/2, 2] = 1", false},
      {"sqrt(a)", "[0, 1] = 1", false},
      {"abs(x - a)", "[1, 2] = 1", true},
      {"abs(x - a)", "[1/2, 2] = 1", false},
      {"sgn(a)", "[0, 1] = 1", false},
      {"max(x, a)", "[-1, 0] = 0", true},
      {"max(x, a)", "[-1, 1/2] = 0", false},
      {"xlogx(a)", "[0, 1] = 1", false},
      {"a^x", "[0, 1] = 1", false},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char *text = NULL;
    cr_assert(asprintf(&text, "potential t\nparameter a in %s\nvalue sum(%s + 0*x)\n", rows[i].a,
                       rows[i].term) > 0);
    fixture f;
    fixture_init(&f, text, false);
    cr_expect((f.f[0] != NULL) == rows[i].read, "%s, a in %s", rows[i].term, rows[i].a);
    fixture_clear(&f);
  }
}

/* Thousands of random expressions; that enough of them can be read and have a sign is checked, so
   that the test is not empty. */
static void check_random(int rounds, uint64_t seed, bool unbounded) {
  int read = 0, signs = 0, limits = 0;
  for (int i = 0; i < rounds; i++) {
    uint64_t state = seed + (uint64_t)i;
    fixture f;
    fixture_init(&f, random_potential(&state, 1 + i % 3), unbounded);
    unsigned sign[3] = {SIGN_ANY, SIGN_ANY, SIGN_ANY};
    for (int k = 0; k < 3; k++) {
      if (!f.f[k]) continue;
      sign[k] = symbolic_sign(f.s, f.f[k]);
      signs += sign[k] != SIGN_ANY && symbolic_holds_variable(f.s, f.f[k]);
    }
    read += f.f[2] != NULL;
    check_points(&f, sign, &state);
    limits += check_limits(&f, &state);
    fixture_clear(&f);
  }
  cr_log_info("%d of %d read, %d signs, %d limits", read, rounds, signs, limits);
  cr_assert(read > rounds / 3 && signs > rounds / 3 && limits > rounds / 3,
            "%d read, %d signs, %d limits of %d", read, signs, limits, rounds);
}

/* PHIBAL_CAMPAIGN=n in the environment: n times as many. */
static int campaign(int rounds) {
  const char *times = getenv("PHIBAL_CAMPAIGN");
  return rounds * (times ? atoi(times) : 1);
}

Test(symbolic, random_expressions_on_the_simplex) {
  check_random(campaign(700), 1000, false);
}

Test(symbolic, random_expressions_on_the_half_line) {
  check_random(campaign(500), 900000, true);
}
