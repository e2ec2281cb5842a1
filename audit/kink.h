/* Points where a term of a potential has its kink. */
#ifndef PHIBAL_AUDIT_KINK_H
#define PHIBAL_AUDIT_KINK_H

#include "domain.h"

/* u, the argument of an abs or sgn of psi, or the difference of a max, has exactly one zero in x,
   and psi is `left` before and `right` after it, both differentiable there. */
typedef struct kink {
  const expression *u, *left, *right;
  bool jump; /* of sgn */
  phibal_enclosure x;
  phi_jet at_left, at_right; /* of left and right on x */
} kink;
void kink_init(kink *k);
void kink_clear(kink *k);

/* The first such point in (lo, hi) for all of `parameters`; false where none was found. */
bool kink_search(phi_potential *phi, const expression *psi, const phibal_enclosure *parameters,
                 double lo, double hi, kink *found);
/* u has no other zero in [lo, hi]: psi is `left` on all of [lo, x], `right` on all of [x, hi]. */
bool kink_divides(const kink *k, const phibal_enclosure *parameters, double lo, double hi);

/* An x in (0,1) where the one-sided derivatives (or values) of psi differ, in words, malloc'ed;
   null where none was found. At the defaults, where the domain holds them. */
char *kink_refute(phi_potential *phi, const expression *psi, const audit_domain *domain);

#endif
