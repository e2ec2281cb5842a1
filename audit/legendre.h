/* What the Legendre property rests on, as far as exact algebra can say. */
#ifndef PHIBAL_AUDIT_LEGENDRE_H
#define PHIBAL_AUDIT_LEGENDRE_H

#include "audit.h"
#include "domain.h"

/* Where the gradient is a bijection of X^E onto its range. */
typedef enum legendre_set {
  LEGENDRE_NONE,    /* not proved for any */
  LEGENDRE_LINE,    /* X = R */
  LEGENDRE_HALF,    /* X = (0, inf) */
  LEGENDRE_UNIT,    /* X = (0, 1) */
  LEGENDRE_ORTHANT, /* not separable: x > 0 onto y > 0 or y < 0 */
} legendre_set;

typedef enum legendre_end_kind { END_UNKNOWN, END_FINITE, END_PLUS, END_MINUS } legendre_end_kind;

typedef struct legendre_end {
  legendre_end_kind kind;
  char *text;             /* "inf", "-1/(alpha - 1)"; null where unknown */
  phibal_enclosure value; /* over all parameters of the domain; where finite, if `enclosed` */
  bool enclosed;
} legendre_end;

typedef struct legendre_proof {
  legendre_end at_zero, at_one; /* psi' at the ends of (0,1); separable only */
  legendre_set set;
  legendre_end lo, hi; /* the range of psi', open, if set is not NONE or ORTHANT */
  int orthant;         /* the sign of the range, for ORTHANT */
  char *slope;         /* psi', or a component of the gradient, as text; may be null */
  char *how;           /* malloc'ed; why the set is what it is */
} legendre_proof;

void legendre_by_algebra(phi_potential *phi, const expression *psi, const audit_domain *domain,
                         legendre_proof *proof);
void legendre_proof_init(legendre_proof *proof);
void legendre_proof_clear(legendre_proof *proof);

#endif
