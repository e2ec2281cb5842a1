/* The list of findings that an audit makes. */
#include "audit/certificate.h"
#include <criterion/criterion.h>
#include <string.h>

Test(certificate, worst_verdict_counts) {
  certificate c = {0};
  cr_assert_eq(certificate_verdict(&c, AUDIT_CONVEX), AUDIT_ABSENT);
  static const audit_verdict order[] = {AUDIT_ABSENT, AUDIT_PROVED, AUDIT_CHECKED, AUDIT_UNDECIDED,
                                        AUDIT_REFUTED};
  for (size_t i = 0; i < 5; i++) {
    cr_assert_not_null(certificate_add(&c, AUDIT_CONVEX, order[i], NULL, "%zu", i));
    cr_assert_eq(certificate_verdict(&c, AUDIT_CONVEX), order[i]);
  }
  /* A better one afterwards changes nothing, and another claim is another claim. */
  cr_assert_not_null(certificate_add(&c, AUDIT_CONVEX, AUDIT_PROVED, NULL, "again"));
  cr_assert_eq(certificate_verdict(&c, AUDIT_CONVEX), AUDIT_REFUTED);
  cr_assert_eq(certificate_verdict(&c, AUDIT_MIRROR), AUDIT_ABSENT);
  certificate_clear(&c);
  cr_assert_eq(c.findings, 0);
}

Test(certificate, holds_what_was_said) {
  certificate c = {0};
  json_t *data = json_pack("{s: i}", "points", 7);
  audit_finding *f = certificate_add(&c, AUDIT_GRADIENT, AUDIT_REFUTED, data, "%d points", 7);
  cr_assert_eq(audit_counterexample(f, "at x = %s", "1/3"), PHIBAL_OK);
  cr_assert_eq(audit_counterexample(f, "at x = %s", "1/4"), PHIBAL_OK);
  for (int i = 0; i < 40; i++)
    cr_assert_not_null(certificate_add(&c, AUDIT_SYMMETRIC, AUDIT_PROVED, NULL, "by form"));
  cr_assert_eq(c.findings, 41);
  cr_assert_str_eq(c.finding[0].how, "7 points");
  cr_assert_str_eq(c.finding[0].counterexample, "at x = 1/4");
  cr_assert_eq(json_integer_value(json_object_get(c.finding[0].data, "points")), 7);
  cr_assert_null(c.finding[40].counterexample);
  certificate_clear(&c);
  cr_assert_eq(audit_counterexample(NULL, "x"), PHIBAL_ERROR_MEMORY);
}

Test(certificate, names) {
  for (int i = 0; i < AUDIT_CLAIM_COUNT; i++)
    for (int j = 0; j < i; j++)
      cr_assert_str_neq(audit_claim_id((audit_claim)i), audit_claim_id((audit_claim)j));
  cr_assert_str_eq(audit_claim_id(AUDIT_CONJUGATE_DOMAIN), "conjugate-domain");
  cr_assert_str_eq(audit_claim_section(AUDIT_CORE), "Numerics");
  cr_assert_str_eq(audit_verdict_name(AUDIT_PROVED), "proved");
  cr_assert_str_eq(audit_verdict_name(AUDIT_ABSENT), "absent");
}

/* What lets --check say yes: rows are claims, columns proved, checked, refuted, undecided, absent.
 */
Test(certificate, passes) {
  static const struct {
    audit_claim claim;
    bool passes[5];
  } rows[] = {
      {AUDIT_CONVEX, {true, false, false, false, false}},
      {AUDIT_MIRROR, {true, false, false, false, false}},
      {AUDIT_DUAL_DOMAIN, {true, true, true, true, true}},
      {AUDIT_CONJUGATE, {true, true, false, false, true}},
      {AUDIT_CORE, {true, true, false, false, false}},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    for (int v = 0; v < 5; v++)
      cr_assert_eq(audit_claim_passes(rows[i].claim, (audit_verdict)v), rows[i].passes[v], "%s, %s",
                   audit_claim_id(rows[i].claim), audit_verdict_name((audit_verdict)v));
}
