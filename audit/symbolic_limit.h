/* Limits of quotients at an end of the range of x, a parameter or a sum. */
#ifndef PHIBAL_AUDIT_SYMBOLIC_LIMIT_H
#define PHIBAL_AUDIT_SYMBOLIC_LIMIT_H

#include "symbolic.h"

typedef enum limit_kind { LIMIT_UNKNOWN, LIMIT_FINITE, LIMIT_PLUS, LIMIT_MINUS } limit_kind;

/* *value: the limit where it is finite, else null. For every value of what else a depends on. */
limit_kind symbolic_limit(symbolic *s, const quotient *a, bool at_high, const quotient **value);
/* The same in the atom `base`; `depth` as in symbolic_sign_at_depth. */
limit_kind symbolic_limit_base(symbolic *s, const quotient *a, int base, bool at_high, int depth,
                               const quotient **value);

/* a ~ C x^p as x -> 0+ (no logarithm, no exponential), both free of x and C of one sign: false
   where that is not so or not known. */
bool symbolic_leading_power(symbolic *s, const quotient *a, const quotient **coefficient,
                            const quotient **power);

#endif
