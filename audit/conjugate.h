/* The conjugate phi*(y) = sup_x <x, y> - phi(x), by maximising, where the file gives none. */
#ifndef PHIBAL_AUDIT_CONJUGATE_H
#define PHIBAL_AUDIT_CONJUGATE_H

#include "phi.h"

/* *value encloses phi*(y[0..n-1]) for all members. `exact` may be null, or holds the numbers that y
   encloses: then it is decided of them, and not of their enclosures, whether they are in the dual
   domain, as far as that is a matter of rational numbers.

   A separable phi must be convex where it is defined, and defined on an interval of each coordinate
   (its conditions in the file included; where it has no value at 0, x > 0): what is used of it are
   single values and slopes, and that slopes rise. Of any other phi convexity is proved here. Where
   it is not, where the supremum is not attained and no bound is found, and where y may or may not
   be in the dual domain, *value is [v, +inf]. */
phibal_status audit_conjugate_eval(phi_potential *phi, const phibal_enclosure *parameters, size_t n,
                                   const phibal_enclosure *y, const mpq_t *exact,
                                   phibal_enclosure *value);
/* x[e] encloses where the supremum is attained; PHIBAL_ERROR_DOMAIN where it is not, or not at one
   point, or neither is proved. */
phibal_status audit_conjugate_gradient_eval(phi_potential *phi, const phibal_enclosure *parameters,
                                            size_t n, const phibal_enclosure *y,
                                            phibal_enclosure *x);

#endif
