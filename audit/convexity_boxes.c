/* Separable potentials: psi'' > 0 on (0,1) in enclosures.

   (0,1) is covered by [2^-k-1, 2^-k], each bisected where needed. A box is settled by the jet
   there: psi'' > 0; or psi''' of one sign, and psi'' > 0 at the end where it is least. Near 0, on
   [0, eps], either the jet says so up to 0 itself; or psi''(0) >= 0 and psi''' > 0; or exact
   algebra proves it on (0, eps). Algebra is also tried where bisection does not end. */
#include "convexity.h"
#include <math.h>
#include <time.h>

enum { PRECISION = 96, DEEPEST = 22, ALGEBRA_AT = 8, ALGEBRA_MOST = 2, OCTAVES = 44 };

double audit_clock(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct search {
  const phi_potential *phi;
  const expression *psi;
  const audit_domain *domain;
  phibal_enclosure *parameters;
  double deadline;
  long most;
  int algebra;     /* calls left */
  bool by_algebra; /* one of them settled a part */
  bool failed; /* psi'' = 0 on a box above 1/2, where two shares do not fit: the search goes on */
  convexity_proof *proof;
} search;

static bool jet_on(search *s, double lo, double hi, phi_jet *jet) {
  phibal_enclosure x, end;
  phibal_enclosure_init(&x, PRECISION);
  phibal_enclosure_init(&end, PRECISION);
  phibal_enclosure_set_d(&x, lo);
  phibal_enclosure_set_d(&end, hi);
  phibal_enclosure_hull(&x, &x, &end);
  phi_jet_eval(s->psi, s->parameters, NULL, &x, jet);
  phibal_enclosure_clear(&x);
  phibal_enclosure_clear(&end);
  s->proof->boxes++;
  return jet->known >= 3;
}

/* On an open interval that holds [lo, hi] in (0, 1): a kink at an end, where boxes meet, is inside.
 */
static bool algebra_on(search *s, double lo, double hi) {
  const double overlap = fmin(hi - lo, lo > 0 ? lo : hi) / 16;
  if (s->algebra-- <= 0) return false;
  audit_domain part;
  convexity_proof proof;
  domain_init(&part);
  domain_copy(&part, s->domain);
  mpq_set_d(part.x.lo.value, lo > 0 ? lo - overlap : 0);
  mpq_set_d(part.x.hi.value, fmin(hi + overlap, 1));
  part.x.lo.closed = part.x.hi.closed = false;
  convexity_by_algebra(s->phi, s->psi, &part, &proof);
  bool proved = proof.smooth && proof.strict;
  convexity_proof_clear(&proof);
  domain_clear(&part);
  s->by_algebra = s->by_algebra || proved;
  return proved;
}

/* psi'' > 0 (or psi' strictly increasing, by algebra) on [lo, hi] */
static bool positive_on(search *s, double lo, double hi, int depth) {
  if (s->proof->boxes >= s->most || audit_clock() > s->deadline) return false;
  phi_jet jet, end;
  phi_jet_init(&jet, PRECISION);
  phi_jet_init(&end, PRECISION);
  bool known = jet_on(s, lo, hi, &jet);
  bool proved = known && phibal_enclosure_is_positive(&jet.d[2]);
  bool negative = known && phibal_enclosure_is_negative(&jet.d[2]);
  bool flat = known && phibal_enclosure_is_zero(&jet.d[2]) && lo < hi;
  if (known && !proved && !negative && !flat && jet.known == 4 &&
      !phibal_enclosure_contains_zero(&jet.d[3])) {
    double least = phibal_enclosure_is_positive(&jet.d[3]) ? lo : hi;
    if (jet_on(s, least, least, &end)) {
      proved = phibal_enclosure_is_positive(&end.d[2]);
      negative = phibal_enclosure_is_negative(&end.d[2]);
      if (negative) lo = hi = least;
    }
  }
  phi_jet_clear(&jet);
  phi_jet_clear(&end);
  if (flat && lo >= 0.5) s->failed = true;
  if (proved || (flat && lo >= 0.5)) return true;
  double middle = lo + (hi - lo) / 2;
  if (flat) {
    s->proof->flat_lo = lo;
    s->proof->flat_hi = hi;
    return false;
  }
  if (negative) s->proof->negative = true;
  if (!negative && depth == ALGEBRA_AT && algebra_on(s, lo, hi)) return true;
  if (negative || depth >= DEEPEST) {
    s->proof->doubt = middle;
    return false;
  }
  return positive_on(s, lo, middle, depth + 1) && positive_on(s, middle, hi, depth + 1);
}

/* psi'' > 0 on (0, eps] */
static bool positive_near_zero(search *s, double eps) {
  phi_jet all, zero;
  phi_jet_init(&all, PRECISION);
  phi_jet_init(&zero, PRECISION);
  bool proved = jet_on(s, 0, eps, &all) && phibal_enclosure_is_positive(&all.d[2]);
  if (!proved && all.known == 4 && phibal_enclosure_is_positive(&all.d[3]))
    proved = jet_on(s, 0, 0, &zero) && mpfr_sgn(zero.d[2].lo) >= 0;
  phi_jet_clear(&all);
  phi_jet_clear(&zero);
  return proved || algebra_on(s, 0, eps);
}

/* The octaves down to the first eps near 0 that is settled. */
static bool cover(search *s) {
  for (int k = 0; k < OCTAVES; k++) {
    double hi = ldexp(1, -k);
    if (k % 6 == 4) {
      s->algebra++; /* the ends have calls of their own */
      if (positive_near_zero(s, hi)) return true;
    }
    if (!positive_on(s, hi / 2, hi, 0)) return false;
  }
  s->proof->doubt = ldexp(1, -OCTAVES);
  return false;
}

static bool bounded(const audit_domain *domain) {
  for (int i = 0; i < domain->parameters; i++)
    if (domain->parameter[i].lo.infinite || domain->parameter[i].hi.infinite) return false;
  return true;
}

void convexity_by_boxes(const phi_potential *phi, const expression *psi, const audit_domain *domain,
                        double deadline, long most, convexity_proof *proof) {
  *proof = (convexity_proof){.boxes = 0};
  if (!bounded(domain)) {
    audit_say(&proof->how, "a parameter's range is not bounded, so boxes cannot cover it");
    return;
  }
  if (phi->value.conditions) {
    audit_say(&proof->how, "the value has a condition");
    return;
  }
  search s = {.phi = phi,
              .psi = psi,
              .domain = domain,
              .deadline = deadline,
              .most = most,
              .algebra = ALGEBRA_MOST,
              .proof = proof};
  s.parameters = phibal_enclosure_vector((size_t)(domain->parameters + 1), PRECISION);
  if (!s.parameters) return;
  for (int i = 0; i < domain->parameters; i++)
    domain_range_enclosure(&domain->parameter[i], &s.parameters[i]);
  proof->smooth = cover(&s);
  proof->strict = proof->smooth && !s.failed;
  if (proof->strict)
    audit_say(&proof->how,
              "psi'' > 0 on %ld boxes that cover (0, 1), by jets in enclosures of %d bits%s",
              proof->boxes, PRECISION,
              s.by_algebra ? ", near 0 or where bisection did not end by exact algebra" : "");
  else if (proof->negative)
    audit_say(&proof->how, "psi'' < 0 near x = %.17g", proof->doubt);
  else if (proof->flat_hi > 0)
    audit_say(&proof->how, "psi'' = 0 on [%.17g, %.17g]", proof->flat_lo, proof->flat_hi);
  else if (audit_clock() > deadline || proof->boxes >= most)
    audit_say(&proof->how, "boxes ended with the effort, at x about %.6g", proof->doubt);
  else
    audit_say(&proof->how, "psi'' has no sign on a box at x = %.17g", proof->doubt);
  phibal_enclosure_vector_clear(s.parameters, (size_t)(domain->parameters + 1));
}
