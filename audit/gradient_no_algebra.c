/* In place of gradient_algebra.c where FLINT is not found. */
#include "certificate.h"
#include "gradient.h"

void gradient_by_algebra(phi_potential *phi, const audit_domain *domain, gradient_proof *proof) {
  (void)phi;
  (void)domain;
  *proof = (gradient_proof){.proved = false};
  audit_say(&proof->how, "exact algebra is left out: this was built without FLINT");
}

bool gradient_given_at(const phi_potential *phi, const mpq_t *parameters, mpq_srcptr x,
                       phibal_enclosure *value) {
  (void)phi;
  (void)parameters;
  (void)x;
  (void)value;
  return false;
}
