/* The conditions behind `where`, at enclosures or at exact numbers. */
#ifndef PHIBAL_AUDIT_CONDITIONS_H
#define PHIBAL_AUDIT_CONDITIONS_H

#include "phi.h"

typedef enum conditions_standing {
  CONDITIONS_HOLD, /* all of them, for all members */
  CONDITIONS_FAIL, /* one of them, for all members */
  CONDITIONS_OPEN,
} conditions_standing;

/* Exact numbers that the enclosures beside them enclose. */
typedef struct conditions_exact {
  const mpq_t *parameters; /* may be null: not known */
  const mpq_t *x;          /* [n] */
} conditions_exact;

/* At x[0..n-1]; `exact` may be null. A comparison of numbers that are known to be rational is
   decided exactly; else `=` holds only where both sides are one and the same number, so that an
   enclosure of any width leaves it open. */
phibal_status conditions_at(const phi_section *section, const phibal_enclosure *parameters,
                            size_t n, const phibal_enclosure *x, const conditions_exact *exact,
                            mpfr_prec_t precision, conditions_standing *result);

#endif
