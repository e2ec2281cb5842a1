/* Conjugates of potentials that are not separable: computed ones against those that are known, and
   wrong ones in files, by a sign, a number or one point of their domain, refuted. */
#include "phi_text.h"
#include "verify/random.h"
#include "audit/audit.h"
#include "audit/conditions.h"
#include "audit/conjugate.h"
#include <math.h>
#include "audit/rational.h"

enum { PRECISION = 192, MOST = 4 };

/* ---- conjugates given ---- */

typedef struct judgement {
  audit_verdict conjugate, domain;
  char counterexample[600];
} judgement;

static judgement judge(const char *value, const char *conjugate) {
  char text[512];
  snprintf(text, sizeof text, "potential t\nvalue %s\nconjugate %s\n", value, conjugate);
  phi_potential *phi = phi_of_text(text);
  audit_request request = {
      .least_experts = 2, .most_experts = 64, .quick = true, .seed = 5, .seconds = 60};
  certificate c = {0};
  cr_assert_eq(audit_conjugate(phi, &request, &c), PHIBAL_OK, "%s", phibal_status_message());
  judgement j = {certificate_verdict(&c, AUDIT_CONJUGATE),
                 certificate_verdict(&c, AUDIT_CONJUGATE_DOMAIN), ""};
  for (size_t i = 0; i < c.findings; i++)
    if (c.finding[i].counterexample)
      snprintf(j.counterexample, sizeof j.counterexample, "%s", c.finding[i].counterexample);
  certificate_clear(&c);
  phi_destroy(phi);
  return j;
}

#define LSE "log(sum(exp(x)))"
#define NORM "sqrt(sum(x^2))"
#define ROOTS "-(sum(sqrt(x)))^2"
#define HYPERBOLA "sqrt(1 + sum(x^2))"

Test(audit_conjugate_sums, right_ones_pass) {
  static const char *const cases[][2] = {
      {LSE, "sum(xlogx(y)) where sum(y) = 1 and y >= 0"},
      {LSE, "sum(xlogx(y)) where 0 <= y and 1 = sum(y)"},
      {"5/3*" LSE, "5/3*sum(xlogx(3/5*y)) where sum(y) = 5/3 and y >= 0"},
      {"2*log(sum(exp(3*x))) - 5", "sum(xlogx(y/6))*2 + 5 where sum(y) = 6 and y >= 0"},
      {NORM, "0 where sum(y^2) <= 1"},
      {NORM " + 1", "-1 where sqrt(sum(y^2)) <= 1"},
      {ROOTS, "0 where y < 0 and sum(-1/y) <= 1"},
      {HYPERBOLA, "-sqrt(1 - sum(y^2)) where sum(y^2) <= 1"},
      {"sum(x^2)^2/4", "3/4*sum(y^2)^(2/3)"},
      /* an irrational end, which no rational point is at */
      {"sqrt(2*sum(x^2))", "0 where sum(y^2) <= 2"},
      {"sum(sqrt(2)*abs(x))", "0 where y^2 <= 2"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    judgement j = judge(cases[i][0], cases[i][1]);
    cr_expect(j.conjugate == AUDIT_CHECKED && j.domain == AUDIT_CHECKED, "%s, %s: %s and %s; %s",
              cases[i][0], cases[i][1], audit_verdict_name(j.conjugate),
              audit_verdict_name(j.domain), j.counterexample);
  }
}

Test(audit_conjugate_sums, wrong_ones_are_refuted) {
  static const struct {
    const char *value, *conjugate, *where;
    bool domain;
  } cases[] = {
      /* One point of the boundary, or one of its sides, too few. */
      {LSE, "sum(xlogx(y)) where sum(y) = 1 and y > 0", "y = (1, 0)", true},
      {"5/3*" LSE, "5/3*sum(xlogx(3/5*y)) where sum(y) = 5/3 and y > 0", "y = (5/3, 0)", true},
      {NORM, "0 where sum(y^2) < 1", "y = (1, 0)", true},
      {ROOTS, "0 where y < 0 and sum(-1/y) < 1", "y = (-2, -2)", true},
      {HYPERBOLA, "-sqrt(1 - sum(y^2)) where sum(y^2) < 1", "y = (1, 0)", true},
      {NORM, "0 where sum(y^2) <= 1 and y < 1", "y = 1:", true},
      /* Too many. */
      {LSE, "sum(xlogx(y)) where sum(y) <= 1 and y >= 0", "y = ", false},
      {LSE, "sum(xlogx(y)) where y >= 0", "y = ", false},
      {LSE, "sum(y*log(abs(y) + 1/10^9)) where sum(y) = 1", "", false},
      {NORM, "0 where sum(y^2) <= 1 + 1/10^9", "y = ", false},
      {ROOTS, "0 where y < 0 and sum(-1/y) <= 1 + 1/10^9", "y = ", false},
      {ROOTS, "0 where y < 0", "y = 0:", true},
      {HYPERBOLA, "-sqrt(abs(1 - sum(y^2)))", "y = ", false},
      /* The wrong plane. */
      {LSE, "sum(xlogx(y)) where sum(y) = 1 + 1/10^60 and y >= 0", "x = ", true},
      {LSE, "sum(xlogx(y)) where sum(y) = 2 and y >= 0", "x = ", true},
      /* A sign, a factor, a constant. */
      {LSE, "-sum(xlogx(y)) where sum(y) = 1 and y >= 0", "x = ", false},
      {HYPERBOLA, "sqrt(1 - sum(y^2)) where sum(y^2) <= 1", "x = ", false},
      {LSE, "sum(xlogx(y)) + 1/10^55 where sum(y) = 1 and y >= 0", "x = ", false},
      {"sum(x^2)^2/4", "3/4*sum(y^2)^(3/4)", "x = ", false},
      {NORM " + 1", "0 where sum(y^2) <= 1", "x = ", false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    judgement j = judge(cases[i].value, cases[i].conjugate);
    cr_expect((cases[i].domain ? j.domain : j.conjugate) == AUDIT_REFUTED, "%s, %s: %s and %s; %s",
              cases[i].value, cases[i].conjugate, audit_verdict_name(j.conjugate),
              audit_verdict_name(j.domain), j.counterexample);
    cr_expect(!strncmp(j.counterexample, cases[i].where, strlen(cases[i].where)), "%s, %s: %s",
              cases[i].value, cases[i].conjugate, j.counterexample);
  }
}

/* ---- conjugates computed ---- */

typedef struct space {
  phi_potential *phi;
  phibal_enclosure y[MOST], x[MOST], gradient[MOST], value, other, term;
  mpq_t exact[MOST];
} space;

static void space_init(space *s, const char *value) {
  char text[256];
  snprintf(text, sizeof text, "potential t\nvalue %s\n", value);
  s->phi = phi_of_text(text);
  for (int i = 0; i < MOST; i++) {
    phibal_enclosure_init(&s->y[i], PRECISION);
    phibal_enclosure_init(&s->x[i], PRECISION);
    phibal_enclosure_init(&s->gradient[i], PRECISION);
    mpq_init(s->exact[i]);
  }
  phibal_enclosure *all[] = {&s->value, &s->other, &s->term};
  for (int i = 0; i < 3; i++) phibal_enclosure_init(all[i], PRECISION);
}

static void space_clear(space *s) {
  for (int i = 0; i < MOST; i++) {
    phibal_enclosure_clear(&s->y[i]);
    phibal_enclosure_clear(&s->x[i]);
    phibal_enclosure_clear(&s->gradient[i]);
    mpq_clear(s->exact[i]);
  }
  phibal_enclosure *all[] = {&s->value, &s->other, &s->term};
  for (int i = 0; i < 3; i++) phibal_enclosure_clear(all[i]);
  phi_destroy(s->phi);
}

/* y = (y[0], .., y[n-1])/over, enclosed and exact. */
static void set_prices(space *s, size_t n, const int *y, int over) {
  for (size_t e = 0; e < n; e++) {
    mpq_set_si(s->exact[e], y[e], (unsigned long)over);
    mpq_canonicalize(s->exact[e]);
    phibal_enclosure_set_q(&s->y[e], s->exact[e]);
  }
}

static void widen_prices(space *s, size_t n, double radius) {
  for (size_t e = 0; e < n; e++) {
    mpfr_sub_d(s->y[e].lo, s->y[e].lo, radius, MPFR_RNDD);
    mpfr_add_d(s->y[e].hi, s->y[e].hi, radius, MPFR_RNDU);
  }
}

/* s->other = <x, y> - phi(x); false where phi has no value. */
static bool support(space *s, size_t n) {
  if (phi_value(s->phi, NULL, n, s->x, &s->other)) return false;
  phibal_enclosure_neg(&s->other, &s->other);
  for (size_t e = 0; e < n; e++)
    if (phibal_enclosure_mul(&s->term, &s->x[e], &s->y[e]) ||
        phibal_enclosure_add(&s->other, &s->other, &s->term))
      return false;
  return true;
}

/* At y the gradient of phi at random loads: the supremum is attained there, so that it is known;
   and none of other loads exceeds it. */
static void check_attained(const char *value, double low, double high, bool one_point) {
  space s;
  space_init(&s, value);
  random_stream r = random_start(71, 0, 0);
  for (int i = 0; i < 15; i++) {
    const size_t n = 2 + (size_t)i % (MOST - 1);
    for (size_t e = 0; e < n; e++)
      phibal_enclosure_set_d(&s.x[e], random_uniform(&r, low, high) *
                                          ldexp(1, -(int)random_integer(&r, 0, i)));
    if (phi_gradient(s.phi, NULL, n, s.x, s.y)) continue;
    cr_assert(support(&s, n));
    phibal_enclosure expected;
    phibal_enclosure_init(&expected, PRECISION);
    phibal_enclosure_set(&expected, &s.other);
    cr_assert_eq(audit_conjugate_eval(s.phi, NULL, n, s.y, NULL, &s.value), PHIBAL_OK);
    cr_assert(phibal_enclosure_overlaps(&s.value, &expected), "%s, %d: [%a, %a], not [%a, %a]",
              value, i, mpfr_get_d(s.value.lo, MPFR_RNDD), mpfr_get_d(s.value.hi, MPFR_RNDU),
              mpfr_get_d(expected.lo, MPFR_RNDD), mpfr_get_d(expected.hi, MPFR_RNDU));
    cr_assert(!one_point || mpfr_get_d(s.value.hi, MPFR_RNDU) - mpfr_get_d(s.value.lo, MPFR_RNDD) <=
                                0x1p-45 * fmax(1, fabs(mpfr_get_d(expected.lo, MPFR_RNDN))),
              "%s, %d: the enclosure is wide", value, i);
    for (int k = 0; k < 10; k++) {
      for (size_t e = 0; e < n; e++) phibal_enclosure_set_d(&s.x[e], random_uniform(&r, low, high));
      if (support(&s, n))
        cr_assert(!phibal_enclosure_is_less(&s.value, &s.other), "%s, %d: exceeded", value, i);
    }
    if (one_point) {
      cr_assert_eq(audit_conjugate_gradient_eval(s.phi, NULL, n, s.y, s.x), PHIBAL_OK, "%s, %d: %s",
                   value, i, phibal_status_message());
      cr_assert_eq(phi_gradient(s.phi, NULL, n, s.x, s.gradient), PHIBAL_OK);
      for (size_t e = 0; e < n; e++)
        cr_assert(phibal_enclosure_overlaps(&s.gradient[e], &s.y[e]), "%s, %d", value, i);
    }
    phibal_enclosure_clear(&expected);
  }
  space_clear(&s);
}

Test(audit_conjugate_sums, attained_suprema_are_found) {
  check_attained("-2*log(sum(sqrt(x)))", 0, 5, true);
  check_attained(HYPERBOLA, -3, 3, true);
  check_attained("sum(x^3)^(2/3) where x >= 0", 0, 3, true);
  check_attained("sum(x^2) + sum(x)^2/2", -3, 3, true);
  check_attained("sum(x^2)^2 + sum(x^4) - sum(x)/3", -3, 3, true);
  check_attained("log(sum(exp(x)) + 1)", -3, 3, true);
  check_attained("log(sum(exp(x) + 1))", -3, 3, true);
  check_attained("sum(x^2) + 1/sum(sqrt(x))", 0, 2, true);
  check_attained("sum(xlogx(x)) + exp(sum(x))", 0, 2, true);
}

/* Prices in an enclosure: what is found holds the conjugate, and where it is attained, of each. */
static void check_wide(const char *value, double a, double b, int radius) {
  space s;
  space_init(&s, value);
  phibal_enclosure corner[2], at[2], wide;
  phibal_enclosure *all[] = {&corner[0], &corner[1], &at[0], &at[1], &wide};
  for (int i = 0; i < 5; i++) phibal_enclosure_init(all[i], PRECISION);
  phibal_enclosure_set_d(&s.x[0], a);
  phibal_enclosure_set_d(&s.x[1], b);
  cr_assert_eq(phi_gradient(s.phi, NULL, 2, s.x, s.y), PHIBAL_OK);
  widen_prices(&s, 2, ldexp(1, radius));
  cr_assert_eq(audit_conjugate_eval(s.phi, NULL, 2, s.y, NULL, &wide), PHIBAL_OK);
  cr_assert(mpfr_number_p(wide.hi), "%s: no bound is found", value);
  cr_assert_eq(audit_conjugate_gradient_eval(s.phi, NULL, 2, s.y, s.x), PHIBAL_OK);
  for (int i = 0; i < 4; i++) {
    phibal_enclosure_set_fr(&corner[0], i & 1 ? s.y[0].hi : s.y[0].lo);
    phibal_enclosure_set_fr(&corner[1], i & 2 ? s.y[1].hi : s.y[1].lo);
    cr_assert_eq(audit_conjugate_eval(s.phi, NULL, 2, corner, NULL, &s.value), PHIBAL_OK);
    cr_expect(mpfr_lessequal_p(wide.lo, s.value.lo) && mpfr_lessequal_p(s.value.hi, wide.hi),
              "%s: corner %d has another conjugate", value, i);
    cr_assert_eq(audit_conjugate_gradient_eval(s.phi, NULL, 2, corner, at), PHIBAL_OK);
    for (int e = 0; e < 2; e++)
      cr_expect(mpfr_lessequal_p(s.x[e].lo, at[e].lo) && mpfr_lessequal_p(at[e].hi, s.x[e].hi),
                "%s: corner %d is attained elsewhere", value, i);
  }
  for (int i = 0; i < 5; i++) phibal_enclosure_clear(all[i]);
  space_clear(&s);
}

Test(audit_conjugate_sums, wide_prices) {
  check_wide(HYPERBOLA, 0.5, 0.25, -10);
  check_wide(HYPERBOLA, 2, -3, -20);
  check_wide("log(sum(exp(x) + 1))", 0.5, 0.25, -14);
  check_wide("log(sum(exp(x)) + 1)", 5, 4, -26);
  check_wide("-2*log(sum(sqrt(x)))", 0.25, 0.5, -8);
  check_wide("sum(x^2) - sum(x)/5 + sum(x)^2/2", 0.25, 0.5, -8);
}

/* In closed form the maximum is a line, or at 0: not at one point. */
Test(audit_conjugate_sums, forms_are_never_exceeded) {
  check_attained(LSE, -3, 3, false);
  check_attained("3 - 2*log(sum(exp(-x/2)))*(-1)", -3, 3, false);
  check_attained(NORM, -3, 3, false);
  check_attained("sum(abs(x)^3)^(1/3)*2 - 1", -3, 3, false);
  check_attained(ROOTS, 0, 3, false);
  check_attained("-3*sum(x^(-2))^(-1/2) where x > 0", 0, 3, false);
}

/* Values at numbers that are known exactly. */
Test(audit_conjugate_sums, exact_prices) {
  static const struct {
    const char *value;
    int n, y[3], over;
    double low, high;
  } cases[] = {
      {LSE, 2, {1, 0}, 1, 0, 0},
      {LSE, 2, {1, 2}, 3, -0.6365141682948129, -0.6365141682948128},
      {LSE, 2, {1, 2}, 4, INFINITY, INFINITY},
      {LSE, 2, {4, -1}, 3, INFINITY, INFINITY},
      {"log(sum(exp(x)))*2", 2, {2, 4}, 3, -1.2730283365896259, -1.2730283365896255},
      {"-log(sum(exp(-x)))*(-1)", 2, {1, 2}, 3, INFINITY, INFINITY},
      {"log(sum(exp(-x)))", 2, {-1, -2}, 3, -0.6365141682948129, -0.6365141682948128},
      {NORM, 2, {3, 4}, 5, 0, 0},
      {NORM, 2, {-3, 4}, 5, 0, 0},
      {NORM, 2, {30001, 40000}, 50000, INFINITY, INFINITY},
      {"7 + " NORM, 2, {0, 1}, 1, -7, -7},
      {"2*" NORM, 2, {6, 8}, 5, 0, 0},
      {"sum(x^2)^(1/2) where x >= 0", 2, {-7, 1}, 1, 0, 0},
      {ROOTS, 2, {-6, -3}, 2, 0, 0},
      {ROOTS, 2, {-6, -2}, 2, INFINITY, INFINITY},
      {ROOTS, 2, {-6, 0}, 1, INFINITY, INFINITY},
      {"-sum(x^(-1))^(-1) where x > 0", 2, {-1, 0}, 1, 0, 0},
      {"-sum(x^(-1))^(-1) where x > 0", 2, {-1, -1}, 1, 0, 0},
      {"-sum(x^(-1))^(-1) where x > 0", 2, {-1, -1}, 5, INFINITY, INFINITY},
      {"-sum(x^(-1))^(-1) where x > 0", 2, {-1, 1}, 1, INFINITY, INFINITY},
      {"-2*log(sum(sqrt(x)))", 2, {-1, 0}, 1, INFINITY, INFINITY},
      {"-2*log(sum(sqrt(x)))", 2, {-1, 2}, 1, INFINITY, INFINITY},
      {HYPERBOLA, 2, {0, 0}, 1, -1, -1},
      {"sum(x^2)^2", 3, {0, 0, 0}, 1, 0, 0},
      {"sum(x^3)^(2/3) where x >= 0", 2, {-1, 1}, 1, 0.25, 0.25},
      {"sum(x^3)^(2/3) where x >= 0", 2, {-1, -1}, 1, 0, 0},
      {"log(sum(exp(x)) + 1)", 2, {-1, 1}, 2, INFINITY, INFINITY},
      {"log(sum(exp(x)) + 1)", 2, {0, 1}, 2, -0.6931471805599454, -0.6931471805599452},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    space s;
    space_init(&s, cases[i].value);
    set_prices(&s, (size_t)cases[i].n, cases[i].y, cases[i].over);
    cr_assert_eq(audit_conjugate_eval(s.phi, NULL, (size_t)cases[i].n, s.y, (const mpq_t *)s.exact,
                                      &s.value),
                 PHIBAL_OK);
    const double low = mpfr_get_d(s.value.lo, MPFR_RNDN), high = mpfr_get_d(s.value.hi, MPFR_RNDN);
    cr_expect(cases[i].low <= low && high <= cases[i].high, "%zu: %s: [%.17g, %.17g]", i,
              cases[i].value, low, high);
    space_clear(&s);
  }
}

/* What is not known is not said: a price within an enclosure of the dual domain's boundary, a
   supremum that is not attained, a potential that is not proved convex. */
Test(audit_conjugate_sums, undecided_is_said) {
  static const struct {
    const char *value;
    double y[2];
    int exponent; /* of the radius around y; 0: none */
    double least; /* the supremum is at least this */
  } cases[] = {
      {LSE, {0.25, 0.75}, -30, -0.57},
      {NORM, {0.6, 0.8}, -30, 0},
      {ROOTS, {-2, -2}, -30, 0},
      {HYPERBOLA, {1, 0}, 0, -1e-9},
      {HYPERBOLA, {1, 2}, 0, 1e100},
      {"log(sum(exp(x)) + 1)", {0.5, 0.5}, 0, -0.7},
      {"log(sum(x^2 + 1))", {0.125, 0.25}, 0, -0.69},
      {"sum(x^2)/2 - 3*cos(sum(x))", {0.5, 0.25}, 0, 3},
      {"sum(exp(x))*sum(exp(-x) + x^2)", {1, 0.5}, 0, -4},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    space s;
    space_init(&s, cases[i].value);
    for (int e = 0; e < 2; e++) phibal_enclosure_set_d(&s.y[e], cases[i].y[e]);
    if (cases[i].exponent) widen_prices(&s, 2, ldexp(1, cases[i].exponent));
    cr_assert_eq(audit_conjugate_eval(s.phi, NULL, 2, s.y, NULL, &s.value), PHIBAL_OK);
    cr_expect(mpfr_inf_p(s.value.hi) && mpfr_number_p(s.value.lo) &&
                  mpfr_cmp_d(s.value.lo, cases[i].least) >= 0,
              "%s: [%g, %g]", cases[i].value, mpfr_get_d(s.value.lo, MPFR_RNDD),
              mpfr_get_d(s.value.hi, MPFR_RNDU));
    cr_expect_eq(audit_conjugate_gradient_eval(s.phi, NULL, 2, s.y, s.x), PHIBAL_ERROR_DOMAIN, "%s",
                 cases[i].value);
    space_clear(&s);
  }
}

/* ---- conditions ---- */

/* Of the conjugate's conditions at three prices. */
static conditions_standing standing_at(const phi_potential *phi, const phibal_enclosure *y,
                                       const conditions_exact *exact) {
  conditions_standing found;
  cr_assert_eq(conditions_at(&phi->conjugate, NULL, 3, y, exact, PRECISION, &found), PHIBAL_OK);
  return found;
}

/* Held against three prices: exactly, as single numbers, and as enclosures around them. */
Test(audit_conjugate_sums, conditions) {
  static const struct {
    const char *where;
    int y[3], over;
    conditions_standing exact, single, wide;
  } cases[] = {
      {"sum(y) = 1", {1, 1, 1}, 3, CONDITIONS_HOLD, CONDITIONS_OPEN, CONDITIONS_OPEN},
      {"sum(y) = 1", {2, 1, 1}, 4, CONDITIONS_HOLD, CONDITIONS_HOLD, CONDITIONS_OPEN},
      {"sum(y) = 1", {1, 1, 2}, 3, CONDITIONS_FAIL, CONDITIONS_FAIL, CONDITIONS_FAIL},
      {"sum(y) = 1 + 1/10^70", {1, 1, 1}, 3, CONDITIONS_FAIL, CONDITIONS_OPEN, CONDITIONS_OPEN},
      {"sum(y^2) <= 1", {1, 2, 2}, 3, CONDITIONS_HOLD, CONDITIONS_OPEN, CONDITIONS_OPEN},
      {"sum(y^2) < 1", {1, 2, 2}, 3, CONDITIONS_FAIL, CONDITIONS_OPEN, CONDITIONS_OPEN},
      {"sum(y^2) < 1", {1, 1, 1}, 3, CONDITIONS_HOLD, CONDITIONS_HOLD, CONDITIONS_HOLD},
      {"sqrt(sum(y^2)) >= 1", {1, 2, 2}, 3, CONDITIONS_HOLD, CONDITIONS_OPEN, CONDITIONS_OPEN},
      {"sum(-1/y) <= 1", {-3, -3, -3}, 1, CONDITIONS_HOLD, CONDITIONS_OPEN, CONDITIONS_OPEN},
      {"sum(exp(y)) = 3", {0, 0, 0}, 1, CONDITIONS_HOLD, CONDITIONS_HOLD, CONDITIONS_OPEN},
      {"sum(exp(y)) = exp(2)", {1, 1, 0}, 1, CONDITIONS_FAIL, CONDITIONS_FAIL, CONDITIONS_FAIL},
      {"3*y <= sum(y)", {1, 1, 1}, 7, CONDITIONS_HOLD, CONDITIONS_OPEN, CONDITIONS_OPEN},
      {"3*y <= sum(y)", {1, 2, 1}, 7, CONDITIONS_FAIL, CONDITIONS_FAIL, CONDITIONS_FAIL},
      {"y = 1/3 and sum(y) > 0", {1, 1, 1}, 3, CONDITIONS_HOLD, CONDITIONS_OPEN, CONDITIONS_OPEN},
      {"y >= 0 and sum(y) = 1", {1, 0, 0}, 1, CONDITIONS_HOLD, CONDITIONS_HOLD, CONDITIONS_OPEN},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[256];
    snprintf(text, sizeof text, "potential t\nvalue sum(x)\nconjugate 0 where %s\n",
             cases[i].where);
    space s;
    space_init(&s, "sum(x)");
    phi_potential *phi = phi_of_text(text);
    set_prices(&s, 3, cases[i].y, cases[i].over);
    const conditions_exact exact = {NULL, (const mpq_t *)s.exact};
    conditions_standing found = standing_at(phi, s.y, &exact);
    cr_expect_eq(found, cases[i].exact, "%zu: %s, exactly: %d", i, cases[i].where, found);
    found = standing_at(phi, s.y, NULL);
    cr_expect_eq(found, cases[i].single, "%zu: %s, single: %d", i, cases[i].where, found);
    widen_prices(&s, 3, 0x1p-40);
    found = standing_at(phi, s.y, NULL);
    cr_expect_eq(found, cases[i].wide, "%zu: %s, wide: %d", i, cases[i].where, found);
    phi_destroy(phi);
    space_clear(&s);
  }
}

Test(audit_conjugate_sums, rational_values) {
  static const struct {
    const char *term; /* at x = -4/9 */
    bool known;
    int numerator, denominator;
  } cases[] = {
      {"sqrt(-x)", true, 2, 3},       {"sqrt(x)", false, 0, 1},
      {"sqrt(-2*x)", false, 0, 1},    {"x^3", true, -64, 729},
      {"x^-2", true, 81, 16},         {"abs(x)^(1/2)", false, 0, 1},
      {"(x + 4/9)^-1", false, 0, 1},  {"(x + 4/9)^0", true, 1, 1},
      {"sgn(x)", true, -1, 1},        {"max(x, 1/3)", true, 1, 3},
      {"xlogx(x + 4/9)", true, 0, 1}, {"xlogx(x + 13/9)", true, 0, 1},
      {"xlogx(-x)", false, 0, 1},     {"exp(x)", false, 0, 1},
      {"1/(9*x + 4)", false, 0, 1},   {"-x - 1", true, -5, 9},
      {"x^4000", true, 0, 0},         {"x^5000", false, 0, 1},
  };
  mpq_t x, value;
  mpq_inits(x, value, (mpq_ptr)0);
  mpq_set_si(x, -4, 9);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[128];
    snprintf(text, sizeof text, "potential t\nvalue sum(%s)\n", cases[i].term);
    phi_potential *phi = phi_of_text(text);
    const bool known = rational_eval(phi->value.sum[0], NULL, NULL, x, value);
    cr_expect_eq(known, cases[i].known, "%s", cases[i].term);
    if (known && cases[i].denominator)
      cr_expect(mpq_cmp_si(value, cases[i].numerator, (unsigned long)cases[i].denominator) == 0,
                "%s", cases[i].term);
    phi_destroy(phi);
  }
  mpq_clears(x, value, (mpq_ptr)0);
}
