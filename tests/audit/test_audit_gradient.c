/* audit_gradient: right gradients are proved, and each of many small mistakes is found. */
#include "phi_text.h"
#include "random_expression.h"
#include "audit/audit.h"
#include <criterion/criterion.h>
#include "audit/derivative.h"
#include "audit/gradient.h"
#include <stdlib.h>
#include <string.h>

/* The verdict; *counterexample, if not null, is its text, to be freed. parameter: of the first one;
   0: the default, RANGES: all of the stated ranges. */
#define RANGES -1.0
static audit_verdict judge(phi_potential *phi, double parameter, char **counterexample) {
  phibal_enclosure *parameters = phibal_enclosure_vector(PHI_MAX_PARAMETERS, 128);
  phi_fallbacks(phi, parameters);
  if (parameter > 0) phibal_enclosure_set_d(parameters, parameter);
  audit_request request = {.parameters = parameters,
                           .ranges = parameter < 0,
                           .least_experts = 2,
                           .most_experts = 64,
                           .quick = true,
                           .seed = 3,
                           .seconds = 60};
  certificate c = {0};
  cr_assert_eq(audit_gradient(phi, &request, &c), PHIBAL_OK, "%s", phibal_status_message());
  cr_assert(c.findings == 1 || c.findings == 2); /* within, and at the ends */
  for (size_t i = 0; i < c.findings; i++) cr_assert_eq(c.finding[i].claim, AUDIT_GRADIENT);
  audit_verdict verdict = certificate_verdict(&c, AUDIT_GRADIENT);
  cr_assert_eq(verdict == AUDIT_REFUTED, c.finding[0].counterexample != NULL);
  if (counterexample)
    *counterexample = c.finding[0].counterexample ? strdup(c.finding[0].counterexample) : NULL;
  certificate_clear(&c);
  phibal_enclosure_vector_clear(parameters, PHI_MAX_PARAMETERS);
  phi_destroy(phi);
  return verdict;
}

#if HAVE_ALGEBRA
static const audit_verdict holds = AUDIT_PROVED;
#else
static const audit_verdict holds = AUDIT_CHECKED;
#endif

static void expect(phi_potential *phi, const char *text, double parameter, audit_verdict expected) {
  char *counterexample;
  audit_verdict verdict = judge(phi, parameter, &counterexample);
  cr_expect_eq(verdict, expected, "%s (%g) is %s: %s", text, parameter, audit_verdict_name(verdict),
               counterexample ? counterexample : "");
  free(counterexample);
}

static void expect_text(const char *text, double parameter, audit_verdict expected) {
  expect(phi_of_text(text), text, parameter, expected);
}

Test(audit_gradient, built_ins_pass) {
  static const struct {
    const char *name;
    double parameter;
  } cases[] = {
#define PHIBAL_POTENTIAL(ID, stem, name, parameter, low, high, fallback, separable, floored)       \
  {name, RANGES},
#include <phibal/potentials.def>
#undef PHIBAL_POTENTIAL
    {"lp", 1.03125},
    {"soft-l1", 64},
    {"tsallis", 0.25},
    {"tsallis", 2},
    {"renyi", 0.125},
    {"log-cosh", 1024},
    {"lp", 0},
    {"tsallis", 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    expect(phi_of_catalogue(cases[i].name), cases[i].name, cases[i].parameter, holds);
}

/* Proved also where sums, kinks that the gradient has too, and ends make it harder. */
Test(audit_gradient, what_can_be_proved) {
  static const char *const texts[] = {
      "potential lse\nvalue log(sum(exp(x)))\ngradient exp(x)/sum(exp(x))\n",
      "potential roots\nvalue -sum(sqrt(x))^2\ngradient -sum(sqrt(x))/sqrt(x)\n",
      "potential log\nvalue -sum(log(x))\ngradient -1/x\n",
      "potential two\nvalue sum(x^2)*sum(x^3)\ngradient 2*x*sum(x^3) + 3*x^2*sum(x^2)\n",
      "potential huber\nvalue sum(x^2/2 - max(0, x - 1/4)^2/2)\ngradient x - max(0, x - 1/4)\n",
      "potential flat\nvalue sum(max(x - 2/7, 0)^2)\ngradient 2*max(0, x - 2/7)\n",
      "potential bump\nvalue sum(abs(x - 1/3)^3)\ngradient 3*(x - 1/3)*abs(x - 1/3)\n",
      "potential beyond\nvalue sum(abs(1 - x)^3)\ngradient -3*(1 - x)*abs(1 - x)\n",
      "potential both\nvalue sum(max(0, x - 1/5)^2 + max(0, 3/5 - x)^2)\n"
      "gradient 2*max(0, x - 1/5) - 2*max(0, 3/5 - x)\n",
      "potential where\nvalue sum(x^2) where x < 2\ngradient 2*x where x < 3/2\n",
      "potential power\nparameter a in [1/2, 4] = 2\nvalue sum(x^(a + 1))/(a + 1)\ngradient x^a\n",
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) expect_text(texts[i], RANGES, holds);
}

/* True where a derivative exists, and not proved: a derivative from one side only, an end that was
   not read, or a gradient that has a value of its own at one point. */
Test(audit_gradient, what_is_not_proved) {
  static const char *const texts[] = {
      /* at 1 there are two derivatives, beyond 1 nothing at all, at 0 the one from the right */
      "potential one\nvalue sum(x^2 + abs(1 - x))\ngradient 2*x - 1\n",
      "potential end\nvalue sum(-(1 - x)^(3/2))\ngradient 3/2*sqrt(1 - x)\n",
      "potential sign\nvalue sum(abs(x) + x^2)\ngradient sgn(x) + 2*x\n",
      /* in the middle there are two */
      "potential kink\nvalue sum(x^2 + abs(x - 1/2))\ngradient 2*x + sgn(x - 1/2)\n",
      "potential kink\nvalue sum(x^2 + max(x, 2/7))\ngradient 2*x + (1 + sgn(x - 2/7))/2\n",
      /* a number that is none of the points, and not rational: nobody has compared there */
      "potential hidden\nvalue sum(x^2)\ngradient 2*x + 1 - abs(sgn(x^2 - 1/3))\n",
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    expect_text(texts[i], RANGES, AUDIT_CHECKED);
}

/* Each differs from the derivative somewhere: everywhere, by very little, beyond one number, or at
   one number only. `where` is part of the counterexample. */
Test(audit_gradient, mistakes_are_refuted) {
  static const struct {
    const char *text, *where;
  } cases[] = {
    {"potential sign\nvalue sum(x^2)\ngradient -2*x\n", "x_e"},
    {"potential tiny\nvalue sum(x^2)/2\ngradient x + x^3/10^50\n", "x_e"},
    {"potential far\nvalue sum(x^2)/2\ngradient x + max(0, 1/2^90 - x)\n", "x_e = "},
    {"potential kink\nvalue sum(x^2)/2\ngradient x + (max(0, x - 9999/10000))^5\n", "x_e = 1"},
    {"potential constant\nvalue sum(xlogx(x))\ngradient log(x)\n", "x_e"},
    {"potential sum\nvalue log(sum(x^(1/2)))\ngradient 1/(2*x^(1/2)*sum(x^(1/3)))\n", "beside"},
    {"potential alone\nvalue sum(x^2)/2\ngradient x + (sum(x) - x)/10^60\n", "beside"},
    /* at one point only */
    {"potential point\nvalue sum(x^2)/2\ngradient x + 1 - abs(sgn(x - 1/4))\n", "x_e = 1/4"},
    {"potential one\nvalue sum(x^2)/2\ngradient x + 1 - abs(sgn(x - 1))\n", "x_e = 1"},
    {"potential zero\nvalue sum(x^2)/2\ngradient x + 1 - abs(sgn(x))\n", "x_e = 0"},
    {"potential zero\nparameter a in (0, 1) = 1/2\nvalue sum(x^(a + 1))/(a + 1)\n"
     "gradient x^a + 1 - sgn(x)\n",
     "x_e = 0"},
    /* on one side of a kink that the value has too */
    {"potential side\nvalue sum(max(0, x - 1/3)^2)\ngradient 2*max(0, x - 1/3) + "
     "max(0, 1/3 - x)/10^70\n",
     "x_e"},
    {"potential side\nvalue sum(x^2/2 + abs(x - 1/2)*(x - 1/2))\ngradient x + 2*(x - 1/2)\n",
     "x_e"},
    /* a load above 1/2 is not a load below it, and x is not |1 - x| */
    {"potential branch\nvalue sum(log((x - 3)^2))\ngradient 2/(3 - x)\n", "x_e"},
    {"potential branch\nvalue sum(sqrt((x - 3)^2))\ngradient 1\n", "x_e"},
#if HAVE_ALGEBRA
    /* at a point that no enclosure hits */
    {"potential point\nvalue sum(x^2)/2\ngradient x + 1 - abs(sgn(x - 2/7))\n", "x_e = 2/7"},
    /* by less than the points' bits; algebra knows, and shows where */
    {"potential hair\nvalue sum(x^2)/2\ngradient x + x/10^300\n", "x_e"},
    {"potential hair\nvalue log(sum(exp(x)))\ngradient (1 + 1/10^400)*exp(x)/sum(exp(x))\n",
     "beside"},
#endif
    /* for other parameters than the default */
    {"potential other\nparameter a in (0, 10) = 2\nvalue sum(x^(a + 1))\n"
     "gradient (a + 1)*x^2 + (x^a - x^2)*3\n",
     "a = "},
    {"potential other\nparameter a in (1, inf) = 2\nvalue sum(x^a)/a\ngradient x\n", "a = "},
    {"potential other\nparameter a in (0, 1) or (1, inf) = 2\nvalue sum(x^2)*a\n"
     "gradient 2*a*x + max(0, 1 - a)*x/5\n",
     "a = "},
    {"potential digits\nparameter a in (0, 10) = 2\nvalue sum(x^a)\n"
     "gradient (a + 1/10^58)*x^(a - 1)\n",
     "a = 2"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char *counterexample;
    audit_verdict verdict = judge(phi_of_text(cases[i].text), RANGES, &counterexample);
    cr_expect_eq(verdict, AUDIT_REFUTED, "%s is %s", cases[i].text, audit_verdict_name(verdict));
    cr_expect(counterexample && strstr(counterexample, cases[i].where), "%s: %s", cases[i].text,
              counterexample);
    free(counterexample);
  }
}

Test(audit_gradient, the_paper_is_right_where_it_gives_gradients) {
  /* (the factor of the Renyi price that a careless derivation loses) */
  char *counterexample;
  cr_assert_eq(
      judge(phi_of_text("potential renyi\nparameter a in (0, 1) = 1/2\n"
                        "value log(sum(x^a))/(a - 1)\ngradient x^(a - 1)/((a - 1)*sum(x^a))\n"),
            0, &counterexample),
      AUDIT_REFUTED);
  free(counterexample);
}

Test(audit_gradient, nothing_given_is_absent) {
  cr_assert_eq(judge(phi_of_text("potential none\nvalue sum(x^2)\n"), 0, NULL), AUDIT_ABSENT);
}

/* The derivative of x^2 exists at 0, x^2/x has no value there: not agreed, and not passed over. */
Test(audit_gradient, a_hole_is_not_passed_over) {
  cr_assert_eq(judge(phi_of_text("potential hole\nvalue sum(x^2)/2\ngradient x^2/x\n"), 0, NULL),
               AUDIT_UNDECIDED);
}

/* At 0 the derivative from the right is 1, and sgn(0) is 0. */
Test(audit_gradient, signs_at_zero_are_left_out) {
  cr_assert_eq(judge(phi_of_text("potential one\nvalue sum(abs(x))\ngradient sgn(x)\n"), 0, NULL),
               AUDIT_CHECKED);
  cr_assert_eq(
      judge(phi_of_text("potential one\nvalue sum(exp(x))\ngradient sgn(x)*exp(x)\n"), 0, NULL),
      AUDIT_REFUTED);
}

/* Where the value has a kink there is nothing to compare; elsewhere there is. */
Test(audit_gradient, kinks_are_left_out) {
  cr_assert_eq(judge(phi_of_text("potential kinked\nvalue sum(max(x, 1/3) + x^2)\n"
                                 "gradient (1 + sgn(x - 1/3))/2 + 2*x\n"),
                     0, NULL),
               AUDIT_CHECKED);
  cr_assert_eq(judge(phi_of_text("potential kinked\nvalue sum(max(x, 1/3) + x^2)\n"
                                 "gradient (1 + sgn(x - 1/3 - 1/10^12))/2 + 2*x\n"),
                     0, NULL),
               AUDIT_REFUTED);
}

/* The derivative of a random term, as text, with something added to it. */
static phi_potential *with_gradient(const char *text, const char *more) {
  phi_potential *phi = phi_of_text(text);
  static const char *const names[] = {"a", "b"};
  char *gradient = expression_text(derivative_gradient(phi->pool, &phi->value), names, "x"),
       *whole = NULL;
  cr_assert(gradient && asprintf(&whole, "%sgradient %s%s\n", text, gradient, more) > 0);
  phi_destroy(phi);
  /* the derivative of a long term may be too long or too deep to be read */
  if (phi_read("random", whole, strlen(whole), &phi) != PHIBAL_OK) phi = NULL;
  free(gradient);
  free(whole);
  return phi;
}

static gradient_proof proof_of(phi_potential *phi) {
  audit_domain domain;
  gradient_proof proof;
  domain_init(&domain);
  domain.parameters = phi->parameters;
  for (int i = 0; i < phi->parameters; i++) {
    domain.name[i] = phi->parameter[i].name;
    domain_range_set(&domain.parameter[i], &phi->parameter[i].range[0]);
  }
  gradient_by_algebra(phi, &domain, &proof);
  domain_clear(&domain);
  return proof;
}

/* A proved gradient is the one of the jets wherever both are defined. */
static void hold_against_jets(const phi_potential *phi, const gradient_proof *proof,
                              const char *text, uint64_t *state) {
  enum { PRECISION = 256, POINTS = 12 };
  static const double fixed[] = {1, 0x1p-60, 0.5, 0.25, 0};
  phibal_enclosure *v = phibal_enclosure_vector(PHI_MAX_PARAMETERS + 3, PRECISION);
  for (int i = 0; i < POINTS; i++) {
    double x = i < 5 ? fixed[i] : random_unit(state);
    if ((x == 0 && proof->zero == GRADIENT_ZERO_OPEN) || (x == 1 && !proof->one)) continue;
    for (int k = 0; k < phi->parameters; k++)
      random_member(&phi->parameter[k].range[0], state, &v[k]);
    phibal_enclosure *at = v + PHI_MAX_PARAMETERS;
    phibal_enclosure_set_d(&at[0], x);
    if (phi_gradient(phi, v, 1, &at[0], &at[1]) || phi_given_gradient(phi, v, 1, &at[0], &at[2]))
      continue;
    cr_assert(phibal_enclosure_overlaps(&at[1], &at[2]), "x = %g:\n%s\n%s", x, text, proof->how);
  }
  phibal_enclosure_vector_clear(v, PHI_MAX_PARAMETERS + 3);
}

/* Whatever is added to a right gradient and is not identically 0 is never proved, and right ones
   mostly are. */
Test(audit_gradient, random_terms) {
  static const char *const more[] = {" + x/10^9",
                                     " - a^2/10^12",
                                     " + max(0, x - 1/2)/1000",
                                     " + abs(sgn(x - 1/2)) - 1",
                                     " + sgn(1/3 - x)/1000",
                                     " + (x - 1/2)*(x - 1/3)*(x - 1/4)/1000",
                                     " + exp(-x)/10^20",
                                     " + (abs(x - 1/2) - x + 1/2)/7"};
  enum { ROUNDS = 500 };
  int right = 0, read = 0;
  for (int i = 0; i < ROUNDS; i++) {
    uint64_t state = 70000 + (uint64_t)i;
    char *text = random_potential(&state, 1 + i % 2);
    phi_potential *phi = with_gradient(text, "");
    if (phi) {
      gradient_proof proof = proof_of(phi);
      read++;
      right += proof.proved;
      cr_assert(!proof.differs || !proof.proved);
      if (proof.proved) hold_against_jets(phi, &proof, text, &state);
      gradient_proof_clear(&proof);
      phi_destroy(phi);
    }
    phi = with_gradient(text, more[i % 8]);
    if (phi) {
      gradient_proof proof = proof_of(phi);
      cr_assert(!proof.proved, "%sgradient of it%s: %s", text, more[i % 8], proof.how);
      gradient_proof_clear(&proof);
      phi_destroy(phi);
    }
    free(text);
  }
  cr_log_info("%d of %d proved", right, read);
  cr_assert(!HAVE_ALGEBRA || right > read / 3, "%d of %d proved", right, read);
}

typedef struct expectation {
  const char *text;
  bool proved, one;
  gradient_zero zero;
} expectation;

static void expect_proof(const expectation *e) {
  phi_potential *phi = phi_of_text(e->text);
  gradient_proof proof = proof_of(phi);
  cr_expect(proof.proved == e->proved && proof.zero == e->zero && proof.one == e->one,
            "%s: %d, at 0 %d, at 1 %d: %s", e->text, proof.proved, (int)proof.zero, proof.one,
            proof.how);
  gradient_proof_clear(&proof);
  phi_destroy(phi);
}

/* Where a condition fails there is no value, or no gradient. */
Test(audit_gradient, conditions) {
  static const expectation cases[] = {
      {"potential t\nvalue sum(x^2)  where x < 1/2\ngradient 2*x", false, false, 0},
      {"potential t\nvalue sum(x^2)\ngradient 2*x  where x < 1/2", false, false, 0},
      {"potential t\nvalue sum(x^2)  where 1/2 > x\ngradient 2*x", false, false, 0},
      {"potential t\nvalue sum(x^2)\ngradient 2*x  where x >= 1/2", false, false, 0},
      {"potential t\nvalue sum(x^2)  where x >= 0\ngradient 2*x", true, true, GRADIENT_ZERO_EQUAL},
      {"potential t\nvalue sum(x^2)\ngradient 2*x  where x > 0", true, true, GRADIENT_ZERO_OPEN},
      {"potential t\nvalue sum(x^2)  where x <= 1\ngradient 2*x", true, false, GRADIENT_ZERO_EQUAL},
      {"potential t\nvalue sum(x^2)\ngradient 2*x  where 0 <= x < 1", true, false,
       GRADIENT_ZERO_EQUAL},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases && HAVE_ALGEBRA; i++) expect_proof(&cases[i]);
}

/* A value that is not its limit at 0 has no derivative there; a gradient that is not, is another.
 */
Test(audit_gradient, jumps_at_zero) {
  static const expectation cases[] = {
      {"potential t\nvalue sum(x^2 + sgn(x))\ngradient 2*x", true, true, GRADIENT_ZERO_OPEN},
      {"potential t\nvalue sum(x^2)\ngradient 2*x*sgn(x)", true, true, GRADIENT_ZERO_EQUAL},
      {"potential t\nvalue sum(x^2 + x)\ngradient 2*x + sgn(x)", true, true, GRADIENT_ZERO_OPEN},
      {"potential t\nvalue sum(x^2)\ngradient 2*sqrt(x)^2", true, true, GRADIENT_ZERO_EQUAL},
      {"potential t\nvalue sum(x^2)\ngradient 2*x^3/x^2", true, true, GRADIENT_ZERO_OPEN},
      {"potential t\nparameter a in [-2, -1] = -1\nvalue sum(x^2)\ngradient 2*x + x^a - x^a", true,
       true, GRADIENT_ZERO_OPEN},
      {"potential t\nparameter a in [1, 2] = 1\nvalue sum(x^2)\ngradient 2*x + x^a - x^a", true,
       true, GRADIENT_ZERO_EQUAL},
      {"potential t\nvalue sum(xlogx(x) + sqrt(x))\ngradient log(x) + 1 + 1/(2*sqrt(x))", true,
       true, GRADIENT_ZERO_NONE},
      {"potential t\nvalue -sum(log(x))\ngradient -1/x", true, true, GRADIENT_ZERO_NONE},
      {"potential t\nvalue exp(sum(sgn(x)*x^2))\ngradient 2*x*exp(sum(sgn(x)*x^2))", true, true,
       GRADIENT_ZERO_EQUAL},
      {"potential t\nvalue exp(sum(x^2 + sgn(x)))\ngradient 2*x*exp(sum(x^2 + sgn(x)))", true, true,
       GRADIENT_ZERO_OPEN},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases && HAVE_ALGEBRA; i++) expect_proof(&cases[i]);
}
