/* psi with kinks is strictly convex where it is so between them and psi' jumps up at each of them.
 */
#include "convexity.h"
#include "kink.h"

enum { PRECISION = 160, KINKS = 6, CUTS = 6 };

typedef struct pieces {
  phi_potential *phi;
  const audit_domain *domain;
  phibal_enclosure *parameters;
  double deadline;
  int kinks, cuts;
} pieces;

static bool smooth_piece(const pieces *p, const expression *psi, double lo, double hi) {
  audit_domain part;
  convexity_proof proof;
  domain_init(&part);
  domain_copy(&part, p->domain);
  mpq_set_d(part.x.lo.value, lo);
  mpq_set_d(part.x.hi.value, hi);
  part.x.lo.closed = lo > 0;
  part.x.hi.closed = hi < 1;
  convexity_by_algebra(p->phi, psi, &part, &proof);
  bool strict = proof.strict;
  convexity_proof_clear(&proof);
  domain_clear(&part);
  return strict;
}

static bool differentiable_at(const pieces *p, const expression *psi, double at) {
  phibal_enclosure x;
  phi_jet jet;
  phibal_enclosure_init(&x, PRECISION);
  phi_jet_init(&jet, PRECISION);
  phibal_enclosure_set_d(&x, at);
  phi_jet_eval(psi, p->parameters, NULL, &x, &jet);
  bool good = jet.known >= 2;
  phi_jet_clear(&jet);
  phibal_enclosure_clear(&x);
  return good;
}

/* On (lo, hi). At a kink that is the only zero of its term the two sides are proved apart, and
   overlap on the enclosure of the kink; else the interval is cut where psi has a derivative. */
static bool strict_on(pieces *p, const expression *psi, double lo, double hi) {
  if (audit_clock() > p->deadline) return false;
  if (smooth_piece(p, psi, lo, hi)) return true;
  if (p->kinks == KINKS) return false;
  kink k;
  kink_init(&k);
  bool good = kink_search(p->phi, psi, p->parameters, lo, hi, &k) && !k.jump &&
              mpfr_less_p(k.at_left.d[1].hi, k.at_right.d[1].lo);
  double after = mpfr_get_d(k.x.hi, MPFR_RNDU), before = mpfr_get_d(k.x.lo, MPFR_RNDD);
  good = good && lo < before && after < hi;
  if (good && kink_divides(&k, p->parameters, lo, hi)) {
    p->kinks++;
    good = strict_on(p, k.left, lo, after) && strict_on(p, k.right, before, hi);
  } else if (good) {
    double middle = after + (hi - after) / 2;
    good = p->cuts++ < CUTS && differentiable_at(p, psi, middle) && strict_on(p, psi, lo, middle) &&
           strict_on(p, psi, middle, hi);
  }
  kink_clear(&k);
  return good;
}

void convexity_by_pieces(phi_potential *phi, const expression *psi, const audit_domain *domain,
                         double deadline, convexity_proof *proof) {
  *proof = (convexity_proof){.boxes = 0};
  pieces p = {.phi = phi, .domain = domain, .deadline = deadline};
  p.parameters = phibal_enclosure_vector((size_t)(domain->parameters + 1), PRECISION);
  if (!p.parameters) return;
  for (int i = 0; i < domain->parameters; i++)
    domain_range_enclosure(&domain->parameter[i], &p.parameters[i]);
  proof->strict = strict_on(&p, psi, 0, 1) && p.kinks > 0;
  if (proof->strict)
    audit_say(&proof->how,
              "psi has %d kink%s, where psi' jumps up (in enclosures of %d bits), and is "
              "strictly convex between them, by exact algebra",
              p.kinks, p.kinks == 1 ? "" : "s", PRECISION);
  phibal_enclosure_vector_clear(p.parameters, (size_t)(domain->parameters + 1));
}
