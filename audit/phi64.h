/* A potential in plain binary64: fast, and without any bound of its error. For simulations and
   pictures; no claim of a certificate rests on it. Where something is not defined the result is
   NaN or infinite, as the arithmetic has it. */
#ifndef PHIBAL_AUDIT_PHI64_H
#define PHIBAL_AUDIT_PHI64_H

#include "phi.h"

/* The parameters in binary64: middles of their enclosures. */
void phi64_parameters(const phi_potential *phi, const phibal_enclosure *parameters, double *p);

double phi64_value(const phi_potential *phi, const double *p, size_t n, const double *x);
/* By differentiation of the value. Neighbours that are equal are evaluated once. */
void phi64_gradient(const phi_potential *phi, const double *p, size_t n, const double *x,
                    double *gradient);

#endif
