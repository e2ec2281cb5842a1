/* audit_conjugate: right conjugates pass, wrong ones are refuted, those that are wrong at one point
   only too; and the conjugate found by maximising. */
#include "phi_text.h"
#include "verify/random.h"
#include "audit/audit.h"
#include "audit/conjugate.h"
#include <criterion/criterion.h>
#include <math.h>
#include <phibal/reference.h>
#include <stdlib.h>
#include <string.h>

typedef struct judgement {
  audit_verdict conjugate, domain;
  char counterexample[600];
} judgement;

static judgement judge(phi_potential *phi, double parameter) {
  phibal_enclosure *parameters = phibal_enclosure_vector(PHI_MAX_PARAMETERS, 128);
  phi_fallbacks(phi, parameters);
  if (parameter != 0) phibal_enclosure_set_d(parameters, parameter);
  audit_request request = {.parameters = parameters,
                           .least_experts = 2,
                           .most_experts = 64,
                           .quick = true,
                           .seed = 5,
                           .seconds = 60};
  certificate c = {0};
  cr_assert_eq(audit_conjugate(phi, &request, &c), PHIBAL_OK, "%s", phibal_status_message());
  judgement j = {certificate_verdict(&c, AUDIT_CONJUGATE),
                 certificate_verdict(&c, AUDIT_CONJUGATE_DOMAIN), ""};
  for (size_t i = 0; i < c.findings; i++) {
    cr_assert_eq(c.finding[i].verdict == AUDIT_REFUTED, c.finding[i].counterexample != NULL);
    if (c.finding[i].counterexample)
      snprintf(j.counterexample, sizeof j.counterexample, "%s", c.finding[i].counterexample);
  }
  certificate_clear(&c);
  phibal_enclosure_vector_clear(parameters, PHI_MAX_PARAMETERS);
  phi_destroy(phi);
  return j;
}

Test(audit_conjugate, built_ins_pass) {
  static const struct {
    const char *name;
    double parameter;
  } cases[] = {
#define PHIBAL_POTENTIAL(ID, stem, name, parameter, low, high, fallback, separable, floored)       \
  {name, 0},
#include <phibal/potentials.def>
#undef PHIBAL_POTENTIAL
    {"lp", 1.25},
    {"soft-l1", 8},
    {"tsallis", 1.5},
    {"tsallis", 0.5},
    {"renyi", 0.5},
    {"log-cosh", 2},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    judgement j = judge(phi_of_catalogue(cases[i].name), cases[i].parameter);
    cr_expect(j.conjugate == AUDIT_CHECKED && j.domain == AUDIT_CHECKED, "%s(%g): %s and %s; %s",
              cases[i].name, cases[i].parameter, audit_verdict_name(j.conjugate),
              audit_verdict_name(j.domain), j.counterexample);
  }
}

#define LOG_COSH "potential t\nvalue sum(logcosh(x))\nconjugate "
#define HUBER "potential t\nvalue sum(sqrt(x^2 + 1) - 1)\nconjugate "
#define SOFTPLUS "potential t\nvalue sum(softplus(x))\nconjugate "
#define SOFT_L1 "potential t\nvalue sum(abs(x) - log(abs(x) + 1))\nconjugate "
#define TSALLIS                                                                                    \
  "potential t\nparameter a in (0, 1) or (1, inf) = 1/2\nvalue sum(x^a - x)/(a - 1)\nconjugate "

/* `where` begins the counterexample: the point at which the file is wrong. */
Test(audit_conjugate, wrong_ones_are_refuted) {
  static const struct {
    const char *text, *where;
    bool domain;
  } cases[] = {
      /* The paper's Table 1: 0 at |y| = 1, by its double dagger. */
      {LOG_COSH "sum((xlogx(1 + y) + xlogx(1 - y))*sgn(1 - abs(y)))/2  where abs(y) <= 1",
       "y = ", false},
      /* Domains wrong by one boundary point. */
      {LOG_COSH "sum(xlogx(1 + y) + xlogx(1 - y))/2  where abs(y) < 1", "y = ", true},
      {HUBER "sum(1 - sqrt(1 - y^2))  where abs(y) < 1", "y = ", true},
      {HUBER "sum(1 - sqrt(1 - y^2))  where -1 <= y < 1", "y = 1:", true},
      {HUBER "sum(1 - sqrt(1 - y^2))  where -1 < y <= 1", "y = -1:", true},
      {SOFTPLUS "sum(xlogx(y) + xlogx(1 - y))  where 0 < y <= 1", "y = 0:", true},
      {SOFTPLUS "sum(xlogx(y) + xlogx(1 - y))  where 0 <= y < 1", "y = 1:", true},
      {"potential t\nvalue sum(sqrt(9*x^2 + 1) - 1)\n"
       "conjugate sum(1 - sqrt(1 - (y/3)^2))  where -3 < y <= 3",
       "y = -3:", true},
      /* Too small by a region, too large by one. */
      {HUBER "sum(1 - sqrt(1 - y^2))  where abs(y) <= 9/10", "x = ", true},
      {HUBER "sum(1 - sqrt(abs(1 - y^2)))  where abs(y) <= 11/10", "y = ", false},
      {SOFT_L1 "sum(-abs(y) - log(abs(1 - abs(y))))  where abs(y) < 101/100", "y = ", true},
      /* Read literally outside 1 + (a - 1) y > 0: with an even exponent a finite number. */
      {TSALLIS "sum((((1 + (a - 1)*y)/a)^2)^(a/(2*(a - 1))))", "y = ", false},
      /* Small mistakes everywhere. */
      {LOG_COSH "sum(xlogx(1 + y) + xlogx(1 - y))  where abs(y) <= 1", "x = ", false},
      {"potential t\nvalue sum(xlogx(x))\nconjugate sum(exp(y))", "x = ", false},
      {"potential t\nvalue sum(xlogx(x))\nconjugate sum(exp(y - 1)) + 1/10^55", "x = ", false},
      {"potential t\nvalue sum(xlogx(x))\nconjugate sum(exp(y - 1)) - 1/10^55", "x = ", false},
      {"potential t\nparameter a in (0, 1) = 1/2\nlet c = a/(1 - a)\n"
       "value log(sum(x^a))/(a - 1)\nconjugate c*log(c) + log(sum((-y)^(-c)))  where y < 0",
       "x = ", false},
      {"potential t\nvalue sum(x^4)/4\nconjugate 3*sum(abs(y)^(3/4))/4", "x = ", false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    judgement j = judge(phi_of_text(cases[i].text), 0);
    audit_verdict verdict = cases[i].domain ? j.domain : j.conjugate;
    cr_expect(verdict == AUDIT_REFUTED, "%s\n%s and %s; %s", cases[i].text,
              audit_verdict_name(j.conjugate), audit_verdict_name(j.domain), j.counterexample);
    cr_expect(!strncmp(j.counterexample, cases[i].where, strlen(cases[i].where)), "%s\n%s",
              cases[i].text, j.counterexample);
  }
}

Test(audit_conjugate, nothing_given_is_absent) {
  judgement j = judge(phi_of_text("potential t\nvalue sum(x^2)"), 0);
  cr_assert_eq(j.conjugate, AUDIT_ABSENT);
  cr_assert_eq(j.domain, AUDIT_ABSENT);
}

/* ---- by maximising ---- */

enum { PRECISION = 192 };

static void check_maximised(const char *name, const char *text, double parameter, double low,
                            double high) {
  phi_potential *phi = phi_of_text(text);
  phibal_enclosure *parameters = phibal_enclosure_vector(PHI_MAX_PARAMETERS, PRECISION);
  phibal_enclosure y, ours, theirs, x;
  phibal_enclosure *all[] = {&y, &ours, &theirs, &x};
  for (int i = 0; i < 4; i++) phibal_enclosure_init(all[i], PRECISION);
  phi_fallbacks(phi, parameters);
  phi_potential *given = phi_of_catalogue(name);
  if (parameter != 0) phibal_enclosure_set_d(parameters, parameter);
  random_stream r = random_start(31, 0, 0);
  for (int i = 0; i < 40; i++) {
    double at = random_uniform(&r, low, high);
    if (i % 4 == 0) at = low + (high - low) * ldexp(1, -(int)random_integer(&r, 1, 40));
    if (i % 4 == 1) at = high - (high - low) * ldexp(1, -(int)random_integer(&r, 1, 40));
    phibal_enclosure_set_d(&y, at);
    cr_assert_eq(phi_given_conjugate(given, parameters, 1, &y, &theirs), PHIBAL_OK);
    cr_assert_eq(audit_conjugate_eval(phi, parameters, 1, &y, NULL, &ours), PHIBAL_OK, "%s",
                 phibal_status_message());
    cr_assert(phibal_enclosure_overlaps(&ours, &theirs), "%s at %a", text, at);
    mpfr_t width;
    mpfr_init2(width, 64);
    phibal_enclosure_width(width, &ours);
    double relative =
        mpfr_get_d(width, MPFR_RNDU) / fmax(fabs(mpfr_get_d(theirs.lo, MPFR_RNDN)), 0x1p-60);
    cr_assert(relative <= 0x1p-80, "%s at %a: the enclosure is 2^%g wide", text, at,
              log2(relative));
    mpfr_clear(width);
    /* Where it is attained the gradient is y. */
    cr_assert_eq(audit_conjugate_gradient_eval(phi, parameters, 1, &y, &x), PHIBAL_OK, "%s",
                 phibal_status_message());
    if (mpfr_zero_p(x.lo) || phi_gradient(phi, parameters, 1, &x, &ours)) continue;
    cr_assert(phibal_enclosure_overlaps(&ours, &y), "%s at %a", text, at);
  }
  for (int i = 0; i < 4; i++) phibal_enclosure_clear(all[i]);
  phibal_enclosure_vector_clear(parameters, PHI_MAX_PARAMETERS);
  phi_destroy(phi);
  phi_destroy(given);
}

Test(audit_conjugate, maximising_finds_the_built_ins) {
  check_maximised("euclid", "potential t\nvalue sum(x^2)/2", 0, -5, 5);
  check_maximised("negentropy", "potential t\nvalue sum(xlogx(x))", 0, -40, 20);
  check_maximised("log-cosh", "potential t\nparameter b in (0, inf) = 1\nvalue sum(logcosh(b*x))/b",
                  3, -1, 1);
  check_maximised("softplus", "potential t\nvalue sum(softplus(x))", 0, 0, 1);
  check_maximised("tsallis",
                  "potential t\nparameter a in (0, 1) or (1, inf) = 1/2\n"
                  "value sum(x^a - x)/(a - 1)",
                  1.5, -5, 5);
  check_maximised("lp", "potential t\nparameter p in (1, inf) = 3\nvalue sum(abs(x)^p)/p", 2.5, -3,
                  3);
}

/* A constant, a kink, an end of the domain, suprema that are not attained. */
Test(audit_conjugate, maximising_at_the_edges) {
  static const struct {
    const char *text;
    double y, low, high; /* of the value */
  } cases[] = {
      {"potential t\nvalue sum(x^2) + 3", 0, -3, -3},
      {"potential t\nvalue sum(x^2 + max(0, x - 1/4))", 1, 0.1875, 0.1875},
      {"potential t\nvalue sum(abs(x))", 0.5, 0, 0},
      {"potential t\nvalue sum(abs(x))", 1.5, INFINITY, INFINITY},
      {"potential t\nvalue sum(x^(3/2))", -2, 0, 0},
      {"potential t\nvalue sum(x^2)  where x >= 0", -1, 0, 0},
      {"potential t\nvalue sum(x^2)  where x >= 0", 1, 0.25, 0.25},
      {"potential t\nvalue -sum(log(x))", -1, -1, -1},
      {"potential t\nvalue -sum(log(x))", 1, INFINITY, INFINITY},
      {"potential t\nvalue sum(1/x)", -4, -4, -4},
      {"potential t\nvalue -sum(sqrt(1 - x))", 0.5, 1, 1},
      {"potential t\nvalue sum(logcosh(x))", 2, INFINITY, INFINITY},
      {"potential t\nvalue sum(exp(x))", -1, INFINITY, INFINITY},
      {"potential t\nvalue sum(x^3)  where x >= 0", 3, 2, 2},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    phi_potential *phi = phi_of_text(cases[i].text);
    phibal_enclosure y, value, expected;
    phibal_enclosure *all[] = {&y, &value, &expected};
    for (int k = 0; k < 3; k++) phibal_enclosure_init(all[k], PRECISION);
    phibal_enclosure_set_d(&y, cases[i].y);
    cr_assert_eq(audit_conjugate_eval(phi, NULL, 1, &y, NULL, &value), PHIBAL_OK, "%s: %s",
                 cases[i].text, phibal_status_message());
    double low = mpfr_get_d(value.lo, MPFR_RNDD), high = mpfr_get_d(value.hi, MPFR_RNDU);
    cr_expect(low <= cases[i].low && high >= cases[i].high, "%s at %g: [%a, %a]", cases[i].text,
              cases[i].y, low, high);
    cr_expect(isinf(cases[i].low) || high - low <= 0x1p-40, "%s at %g: [%a, %a]", cases[i].text,
              cases[i].y, low, high);
    cr_expect(isfinite(cases[i].low) || low >= 0x1p900, "%s at %g: [%a, %a]", cases[i].text,
              cases[i].y, low, high);
    for (int k = 0; k < 3; k++) phibal_enclosure_clear(all[k]);
    phi_destroy(phi);
  }
}

/* Where it is not attained, what is reached is a bound from below, and the gradient is refused. */
Test(audit_conjugate, not_attained_is_said) {
  phi_potential *phi = phi_of_text("potential t\nvalue sum(logcosh(x))");
  phibal_enclosure y, value;
  phibal_enclosure_init(&y, PRECISION);
  phibal_enclosure_init(&value, PRECISION);
  phibal_enclosure_set_si(&y, 1);
  cr_assert_eq(audit_conjugate_eval(phi, NULL, 1, &y, NULL, &value), PHIBAL_OK);
  cr_assert(mpfr_cmp_d(value.lo, M_LN2 * (1 + 0x1p-50)) < 0 && mpfr_cmp_d(value.lo, 0.693) > 0);
  cr_assert(mpfr_inf_p(value.hi));
  cr_assert_eq(audit_conjugate_gradient_eval(phi, NULL, 1, &y, &value), PHIBAL_ERROR_DOMAIN);
  phibal_enclosure_clear(&y);
  phibal_enclosure_clear(&value);
  phi_destroy(phi);
}

/* x^3 is convex for loads, and not where it is defined. */
Test(audit_conjugate, what_is_not_convex_is_refused) {
  phi_potential *phi = phi_of_text("potential t\nvalue sum(x^3)");
  phibal_enclosure y, value;
  phibal_enclosure_init(&y, PRECISION);
  phibal_enclosure_init(&value, PRECISION);
  phibal_enclosure_set_si(&y, 1);
  cr_assert_eq(audit_conjugate_eval(phi, NULL, 1, &y, NULL, &value), PHIBAL_ERROR_UNSUPPORTED);
  cr_assert(strstr(phibal_status_message(), "convex"), "%s", phibal_status_message());
  phibal_enclosure_clear(&y);
  phibal_enclosure_clear(&value);
  phi_destroy(phi);
}
