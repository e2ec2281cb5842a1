/* Parts, claims, and the end of a report. */
#include "audit_report.h"
#include <stdlib.h>
#include <string.h>

const char *const audit_part_names[] = {
#define PART(ID, name) name,
    AUDIT_PARTS(PART)
#undef PART
        NULL};

const int32_t audit_expert_counts[AUDIT_EXPERT_COUNTS] = {8, 16, 64, 256};
const double audit_settle_head = 2.0, audit_settle_goal = 0.1;

audit_part audit_part_of(audit_claim claim) {
  switch (claim) {
  case AUDIT_GRADIENT:
    return AUDIT_PART_GRADIENT;
  case AUDIT_BOUNDARY:
  case AUDIT_DUAL_DOMAIN:
  case AUDIT_MIRROR:
    return AUDIT_PART_LEGENDRE;
  case AUDIT_CONJUGATE:
  case AUDIT_CONJUGATE_DOMAIN:
    return AUDIT_PART_CONJUGATE;
  case AUDIT_CORE:
    return AUDIT_PART_CORE;
  default:
    return AUDIT_PART_CONVEXITY;
  }
}

bool audit_was_examined(const certificate *c, audit_claim claim) {
  for (size_t i = 0; i < c->findings; i++)
    if (c->finding[i].claim == claim) return true;
  return false;
}

bool audit_repeats(const certificate *c, size_t i) {
  const audit_finding *f = &c->finding[i];
  for (size_t j = 0; j < i; j++) {
    const audit_finding *g = &c->finding[j];
    if (g->claim == f->claim && g->verdict == f->verdict && !f->counterexample &&
        strcmp(g->how, f->how) == 0)
      return true;
  }
  return false;
}

void audit_report_clear(audit_report *r) {
  size_t n = r->phi ? (size_t)r->phi->parameters : 0;
  if (r->asked) phibal_enclosure_vector_clear(r->asked, n);
  if (r->at) phibal_enclosure_vector_clear(r->at, n);
  for (size_t i = 0; i < r->counts; i++) audit_dynamics_clear(&r->dynamics[i]);
  for (int i = 0; i < AUDIT_PICTURES; i++) free(r->picture[i]);
  free(r->dynamics);
  certificate_clear(&r->certificate);
  certificate_clear(&r->here);
  if (r->phi) phi_destroy(r->phi);
}
