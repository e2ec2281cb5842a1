/* Kinks and jumps are never proved away, least of all where they lie on the common end of two boxes
   of a search that bisects. */
#include <audit.h>
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
