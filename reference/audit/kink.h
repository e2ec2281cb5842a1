/* Points where a potential is not differentiable. */
#ifndef PHIBAL_AUDIT_KINK_H
#define PHIBAL_AUDIT_KINK_H

#include "domain.h"

/* An x in (0,1) where the one-sided derivatives of psi differ, in words, malloc'ed; null where none
   was found. At the domain's parameters if they are points, else at the defaults. */
char *kink_find(phi_potential *phi, const expression *psi, const audit_domain *domain);

#endif
