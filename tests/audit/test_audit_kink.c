/* Kinks and jumps are never proved away, least of all where they lie on the common end of two boxes
   of a search that bisects. */
#include "audit/audit.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static certificate audited(const char *term) {
  char text[128];
  phi_potential *phi;
  certificate c = {0};
  const audit_request request = {
      .ranges = true, .least_experts = 2, .most_experts = 64, .quick = true, .seconds = 10};
  snprintf(text, sizeof text, "potential t\nvalue sum(%s)", term);
  cr_assert(phi_read("t", text, strlen(text), &phi) == PHIBAL_OK, "%s", phibal_status_message());
  cr_assert(audit_convexity(phi, &request, &c) == PHIBAL_OK, "%s", phibal_status_message());
  phi_destroy(phi);
  return c;
}

Test(audit_kink, is_not_differentiable) {
  static const char *const terms[] = {"x^2 + max(0, x - 1/4)", "x^2 + abs(x - 1/2)",
                                      "x^2 + abs(x - 1/3)",    "x^2 + max(x, 3/256)",
                                      "x^2 + abs(1/1024 - x)", "exp(x) + max(x^2, x/4)"};
  for (size_t i = 0; i < sizeof terms / sizeof *terms; i++) {
    certificate c = audited(terms[i]);
    cr_expect_neq(certificate_verdict(&c, AUDIT_DIFFERENTIABLE), AUDIT_PROVED, "%s", terms[i]);
    certificate_clear(&c);
  }
}

/* A kink that turns down: convex on either side, and not across. */
Test(audit_kink, turned_down_is_not_convex) {
  static const char *const terms[] = {"x^2 - max(0, x - 1/4)/8", "x^2 - abs(x - 1/2)/100",
                                      "x^2 - abs(x - 1/3)/100",  "x^2 - max(x, 3/256)/100",
                                      "x^2 + sgn(x - 1/8)/100",  "x^2 - sgn(1/64 - x)/100"};
  for (size_t i = 0; i < sizeof terms / sizeof *terms; i++) {
    certificate c = audited(terms[i]);
    cr_expect_neq(certificate_verdict(&c, AUDIT_DIFFERENTIABLE), AUDIT_PROVED, "%s", terms[i]);
    cr_expect_neq(certificate_verdict(&c, AUDIT_CONVEX), AUDIT_PROVED, "%s", terms[i]);
    cr_expect_neq(certificate_verdict(&c, AUDIT_MINIMISER), AUDIT_PROVED, "%s", terms[i]);
    certificate_clear(&c);
  }
}

#define PARAMETER "potential t\nparameter c in (0, 1) = 1/4\nparameter a in [-1, 1] = 1/2\nvalue "

/* Kinks that a parameter moves over all of (0, 1), and those of potentials that are not separable:
   convex by how they are composed, or not called so. */
Test(audit_kink, anywhere) {
  static const struct {
    const char *value;
    bool convex;
  } cases[] = {
      {"sum(x^2 + max(0, x - c))", true},
      {"sum(x^2 + (a + 1)*abs(x - c)) - 3", true},
      {"sum(x^2)/(a + 2) - sum(-max(x, c)*(1 + c))", true},
      {"sum(x^2) + sum(max(0, x - 1/4))^2", true},
      {"sum(x^3 + max(0, x - c)^(3/2)) + max(1, sum(abs(x - c)))", true},
      {"sum(exp(max(x^2, c*x)) + x^4)", true},
      {"sum(x^2 - max(0, x - c))", false},
      {"sum(x^2 + a*max(0, x - c))", false},
      {"sum(x^2)/10 - sum(abs(x - c))", false},
      {"sum(x^2) - sum(max(0, x - 1/4))^2", false},
      {"sum(x^2)/10 + max(1, sum(-abs(x - c)))", false}, /* a maximum of what is concave */
      {"sum(x^2)/10 + max(1, sum(sqrt(x)))", false},
      {"sum(x^2)/10 + abs(sum(abs(x - c)) - 1/4)", false}, /* |.| of what is not affine */
      {"sum(x^2/100 + max(0, x - c)^(1/2))", false},
      {"sum(x^2/100 + max(-1, x - c)^2)", true},         /* (x - c)^2 in fact, read as smooth */
      {"sum(x^2/100 + (max(0, x - c) - 1/2)^2)", false}, /* a square of what is negative */
      {"sum(max(0, x - c))", false},                     /* not strictly */
      {"sum(x^2 + max(0, x - c)/a^2)", false},           /* a may be 0 */
      {"sum(x^2/10 + sgn(x - c)*x + 3*abs(x))", false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[256];
    snprintf(text, sizeof text, PARAMETER "%s\n", cases[i].value);
    phi_potential *phi;
    certificate c = {0};
    const audit_request request = {
        .ranges = true, .least_experts = 2, .most_experts = 64, .quick = true, .seconds = 0.25};
    cr_assert(phi_read("t", text, strlen(text), &phi) == PHIBAL_OK, "%s", phibal_status_message());
    cr_assert(audit_convexity(phi, &request, &c) == PHIBAL_OK, "%s", phibal_status_message());
    cr_expect_eq(certificate_verdict(&c, AUDIT_CONVEX) == AUDIT_PROVED, cases[i].convex, "%s: %s",
                 cases[i].value, audit_verdict_name(certificate_verdict(&c, AUDIT_CONVEX)));
    certificate_clear(&c);
    phi_destroy(phi);
  }
}
