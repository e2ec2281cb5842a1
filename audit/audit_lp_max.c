/* The limit p = inf of lp, (P2.inf): phi(x) = max_e |x_e|. It is no sum over experts, so it cannot
   be written in the language, and the file's formula has another limit there. What is said of it
   here is short enough to be proved by hand. */
#include "audit_lp_max.h"

static phibal_status say(certificate *c, const bool *wanted, audit_claim claim,
                         audit_verdict verdict, const char *how, const char *counterexample) {
  if (!wanted[claim]) return PHIBAL_OK;
  audit_finding *f = certificate_add(c, claim, verdict, NULL, "%s", how);
  phibal_status status = audit_added(f);
  return status == PHIBAL_OK && counterexample ? audit_counterexample(f, "%s", counterexample)
                                               : status;
}

phibal_status audit_lp_max(const bool *wanted, certificate *c) {
  static const struct {
    audit_claim claim;
    audit_verdict verdict;
    const char *how, *counterexample;
  } findings[] = {
      {AUDIT_SYMMETRIC, AUDIT_PROVED,
       "p = inf is the limit of the norm, phi(x) = max_e |x_e| (spec/SPEC.md, P2.inf): the largest "
       "of "
       "the loads, whichever expert has it",
       NULL},
      {AUDIT_DIFFERENTIABLE, AUDIT_REFUTED,
       "where two experts share the largest load, phi has a kink; uniform loads are such a point",
       "at p = inf: with u = (1/E, ..) and d = (1, -1, 0, ..), phi(u + t d) = 1/E + |t| for |t| <= "
       "1/E: its slope is -1 on the left of t = 0, and 1 on the right"},
      {AUDIT_GRADIENT, AUDIT_ABSENT,
       "the file gives none for p = inf. Where one load is the largest, the gradient is 1 for that "
       "expert and 0 for all others; the price that is trained with is the subgradient 1/n for "
       "each "
       "of n largest",
       NULL},
      {AUDIT_CONVEX, AUDIT_REFUTED,
       "phi is a maximum of linear functions: convex, and linear wherever one expert keeps the "
       "largest load",
       "at p = inf: x = (1, 0, ..), y = (3/4, 1/4, 0, ..): phi(x) = 1, phi(y) = 3/4, and at their "
       "midpoint (7/8, 1/8, 0, ..) phi = 7/8, which is not below the mean 7/8"},
      {AUDIT_MINIMISER, AUDIT_PROVED,
       "the largest of E loads that sum to 1 is at least their mean 1/E, and is equal to it only "
       "if "
       "all are equal",
       NULL},
      {AUDIT_BOUNDARY, AUDIT_PROVED,
       "an expert whose load is not the largest has the price 0, so that this is its limit as its "
       "share goes to 0: an empty expert costs as much as any other but the largest",
       NULL},
      {AUDIT_DUAL_DOMAIN, AUDIT_PROVED,
       "the prices are the vectors with 1/n at n of the experts and 0 elsewhere, n = 1 .. E: "
       "finitely "
       "many, within the domain sum_e |y_e| <= 1 of the conjugate",
       NULL},
      {AUDIT_MIRROR, AUDIT_REFUTED, "a price does not determine the state it is the price of",
       "at p = inf: the loads (3/4, 1/4, 0, ..) and (7/8, 1/8, 0, ..) have the same prices "
       "(1, 0, 0, ..)"},
      {AUDIT_CONJUGATE, AUDIT_ABSENT,
       "the formula of the file has no value at p = inf. The conjugate is 0 where sum_e |y_e| <= "
       "1, "
       "and inf elsewhere",
       NULL},
      {AUDIT_CONJUGATE_DOMAIN, AUDIT_ABSENT, "see the conjugate", NULL},
      {AUDIT_CORE, AUDIT_ABSENT,
       "no kernel is generated for p = inf: a price depends on the other loads, and `phibal verify "
       "--op price` judges the kernel that is trained with",
       NULL},
  };
  phibal_status status = PHIBAL_OK;
  for (size_t i = 0; i < sizeof findings / sizeof *findings && status == PHIBAL_OK; i++)
    status = say(c, wanted, findings[i].claim, findings[i].verdict, findings[i].how,
                 findings[i].counterexample);
  return status;
}
