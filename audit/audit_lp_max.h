/* The certificate of lp's limit p = inf. */
#ifndef PHIBAL_AUDIT_LP_MAX_H
#define PHIBAL_AUDIT_LP_MAX_H

#include "certificate.h"

/* Adds what is known of phi(x) = max_e |x_e| (P2.inf), for claims with wanted[claim]. */
phibal_status audit_lp_max(const bool *wanted, certificate *c);

#endif
