/* Expressions at exact numbers, where their values are rational: what decides an equality. */
#ifndef PHIBAL_AUDIT_RATIONAL_H
#define PHIBAL_AUDIT_RATIONAL_H

#include "expression.h"

/* True, and *value, where e is defined there and its value is found in exact arithmetic: + - * /,
   powers with whole exponents, abs, sgn, max, roots of squares, xlogx of 0 and 1. False says
   nothing. parameters, sums and x may be null where e does not hold them. */
bool rational_eval(const expression *e, const mpq_t *parameters, const mpq_t *sums, mpq_srcptr x,
                   mpq_ptr value);
/* sum = sum_e term(x_e), of x[0..n-1]; false where a term has no value that is found. */
bool rational_sum(const expression *term, const mpq_t *parameters, size_t n, const mpq_t *x,
                  mpq_ptr sum);
/* value = a^n, of any size; false for a negative power of 0. */
bool rational_power(mpq_srcptr a, long n, mpq_ptr value);

#endif
