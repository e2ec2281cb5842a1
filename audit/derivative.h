/* Derivatives of expressions as expressions. */
#ifndef PHIBAL_AUDIT_DERIVATIVE_H
#define PHIBAL_AUDIT_DERIVATIVE_H

#include "phi.h"

enum { DERIVATIVE_COORDINATE = -1 };

/* d e / d (sum number `by`), or by the coordinate (DERIVATIVE_COORDINATE), with every sum held
   constant. Equal to the derivative wherever that exists; sgn' is written as 0. Null when memory is
   out. */
const expression *derivative(expression_pool *pool, const expression *e, int by);

/* Whether the value depends on the coordinate outside of sums, or on sums. */
bool derivative_coordinate(const expression *e);
bool derivative_sums(const expression *e);

/* Component e of the gradient of `value`: sum_i F_i f_i'(x_e), its sums numbered as value's. */
const expression *derivative_gradient(expression_pool *pool, const phi_section *value);

#endif
