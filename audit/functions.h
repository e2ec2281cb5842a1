/* Functions of the φ language in enclosures, with their derivatives. As in <phibal/enclosure.h>:
   results hold the function at every member, limits at infinite members, and after
   PHIBAL_ERROR_DOMAIN they are the whole line. z may be the same object as x. */
#ifndef PHIBAL_AUDIT_FUNCTIONS_H
#define PHIBAL_AUDIT_FUNCTIONS_H

#include "expression.h"
#include <phibal/enclosure.h>

phibal_status function_sin(phibal_enclosure *z, const phibal_enclosure *x);
phibal_status function_cos(phibal_enclosure *z, const phibal_enclosure *x);
void function_sinh(phibal_enclosure *z, const phibal_enclosure *x);
void function_cosh(phibal_enclosure *z, const phibal_enclosure *x);
void function_logcosh(phibal_enclosure *z, const phibal_enclosure *x);
void function_sigmoid(phibal_enclosure *z, const phibal_enclosure *x);
void function_softplus(phibal_enclosure *z, const phibal_enclosure *x);
void function_sgn(phibal_enclosure *z, const phibal_enclosure *x);
void function_max(phibal_enclosure *z, const phibal_enclosure *x, const phibal_enclosure *y);
phibal_status function_xlogx(phibal_enclosure *z, const phibal_enclosure *x); /* x >= 0 */
/* x^n, for negative x too; 0^n = +inf for n < 0, unless n is odd and x has negative members. */
phibal_status function_power(phibal_enclosure *z, const phibal_enclosure *x, mpz_srcptr n);

/* z is the whole line: nothing is known. */
static inline void function_forget(phibal_enclosure *z) {
  mpfr_set_inf(z->lo, -1);
  mpfr_set_inf(z->hi, 1);
}

enum { FUNCTION_DERIVATIVES = 4 };

/* f[0..order], order <= 3: the function of one argument and its derivatives at every member of u.
   Returns how many of them hold; the rest is the whole line. For abs and sgn only f[0] holds where
   u has a zero. */
int function_derivatives(expression_kind kind, int order, const phibal_enclosure *u,
                         phibal_enclosure *f);
/* The same for u^exponent; `integer` is null, or a whole number that the exponent is written as:
   then u may be negative. Derivatives above *degree vanish identically (4: none). */
int function_power_derivatives(int order, const phibal_enclosure *u,
                               const phibal_enclosure *exponent, mpz_srcptr integer,
                               phibal_enclosure *f, int *degree);

#endif
