/* audit_gradient: right gradients pass, and each of many small mistakes is found. */
#include "phi_text.h"
#include <audit.h>
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* The verdict; *counterexample, if not null, is its text, to be freed. */
static audit_verdict judge(phi_potential *phi, double parameter, char **counterexample) {
  phibal_enclosure *parameters = phibal_enclosure_vector(PHI_MAX_PARAMETERS, 128);
  phi_fallbacks(phi, parameters);
  if (parameter != 0) phibal_enclosure_set_d(parameters, parameter);
  audit_request request = {.parameters = parameters,
                           .least_experts = 2,
                           .most_experts = 64,
                           .quick = true,
                           .seed = 3,
                           .seconds = 60};
  certificate c = {0};
  cr_assert_eq(audit_gradient(phi, &request, &c), PHIBAL_OK, "%s", phibal_status_message());
  cr_assert_eq(c.findings, 1);
  cr_assert_eq(c.finding[0].claim, AUDIT_GRADIENT);
  audit_verdict verdict = c.finding[0].verdict;
  cr_assert_eq(verdict == AUDIT_REFUTED, c.finding[0].counterexample != NULL);
  if (counterexample)
    *counterexample = c.finding[0].counterexample ? strdup(c.finding[0].counterexample) : NULL;
  certificate_clear(&c);
  phibal_enclosure_vector_clear(parameters, PHI_MAX_PARAMETERS);
  phi_destroy(phi);
  return verdict;
}

Test(audit_gradient, built_ins_pass) {
  static const struct {
    const char *name;
    double parameter;
  } cases[] = {{"euclid", 0},   {"lp", 0},          {"lp", 1.03125},  {"soft-l1", 0},
               {"soft-l1", 64}, {"negentropy", 0},  {"tsallis", 0},   {"tsallis", 0.25},
               {"tsallis", 2},  {"renyi", 0},       {"renyi", 0.125}, {"pseudo-huber", 0},
               {"log-cosh", 0}, {"log-cosh", 1024}, {"softplus", 0}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char *counterexample;
    audit_verdict verdict =
        judge(phi_of_catalogue(cases[i].name), cases[i].parameter, &counterexample);
    cr_expect_eq(verdict, AUDIT_CHECKED, "%s(%g): %s, %s", cases[i].name, cases[i].parameter,
                 audit_verdict_name(verdict), counterexample ? counterexample : "");
    free(counterexample);
  }
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
      {"potential digits\nparameter a in (0, 10) = 2\nvalue sum(x^a)\n"
       "gradient (a + 1/10^58)*x^(a - 1)\n",
       "a = 2"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char *counterexample;
    audit_verdict verdict = judge(phi_of_text(cases[i].text), 0, &counterexample);
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
