/* The conjugate phi*(y) = sup_x <x, y> - phi(x), by maximising, where the file gives none. */
#ifndef PHIBAL_AUDIT_CONJUGATE_H
#define PHIBAL_AUDIT_CONJUGATE_H

#include "phi.h"

/* *value encloses phi*(y[0..n-1]) for all members. phi must be convex where it is defined, and
   defined on an interval of each coordinate (its conditions in the file included; where it has no
   value at 0, x > 0): what is used of it are single values and slopes, and that slopes rise. Where
   the supremum is not attained and no bound is found, it is [v, +inf]. PHIBAL_ERROR_UNSUPPORTED
   unless phi is separable. */
phibal_status audit_conjugate_eval(phi_potential *phi, const phibal_enclosure *parameters, size_t n,
                                   const phibal_enclosure *y, phibal_enclosure *value);
/* x[e] encloses where the supremum is attained; PHIBAL_ERROR_DOMAIN where it is not. */
phibal_status audit_conjugate_gradient_eval(phi_potential *phi, const phibal_enclosure *parameters,
                                            size_t n, const phibal_enclosure *y,
                                            phibal_enclosure *x);

#endif
