/* The proof that the gradient given is the derivative of the value. */
#ifndef PHIBAL_AUDIT_GRADIENT_H
#define PHIBAL_AUDIT_GRADIENT_H

#include "domain.h"

typedef enum gradient_zero {
  GRADIENT_ZERO_OPEN,  /* nothing is proved at a load of 0 */
  GRADIENT_ZERO_EQUAL, /* proved there too: the derivative from the right */
  GRADIENT_ZERO_NONE,  /* proved: there is no finite derivative there */
} gradient_zero;

typedef struct gradient_proof {
  bool proved;        /* at every vector of loads with x_e in (0, 1), for the whole domain */
  gradient_zero zero; /* and at x_e = 0, others being positive */
  bool one;           /* and at x_e = 1 */
  bool differs;       /* both were read, and are not one and the same quotient */
  char *how;          /* the argument, or why there is none; malloc'ed or null */
} gradient_proof;

/* By exact algebra, for all loads, all parameters of the domain and any number of experts; built
   without FLINT it only says so. */
void gradient_by_algebra(phi_potential *phi, const audit_domain *domain, gradient_proof *proof);
/* The given gradient, one that holds no sums, at exactly these numbers: where an enclosure of x
   cannot tell which side of a kink it is on. False where algebra cannot either. */
bool gradient_given_at(const phi_potential *phi, const mpq_t *parameters, mpq_srcptr x,
                       phibal_enclosure *value);
void gradient_proof_clear(gradient_proof *proof);

#endif
