/* Points to compare at, exact rationals in [0, 1]: where formulas go wrong, and others at random.
 */
#ifndef PHIBAL_AUDIT_POINTS_H
#define PHIBAL_AUDIT_POINTS_H

#include "audit.h"

typedef struct audit_points {
  mpq_t *x;
  size_t n, room;
} audit_points;

/* 0 and 1; powers of two down to 2^-1074; 1/E; neighbours of 1 and of 1/2; points to both sides of
   where an argument of abs, sgn, max, log, sqrt, a divisor or a base in `e` changes its sign; and
   `random` ones from all binades. `e` is an expression of the coordinate; null: none. */
phibal_status audit_points_make(const expression *e, const phibal_enclosure *parameters, int random,
                                uint64_t seed, audit_points *points);
phibal_status audit_points_add(audit_points *points, mpq_srcptr x);
phibal_status audit_points_add_d(audit_points *points, double x);
void audit_points_clear(audit_points *points);
/* The number of the smallest denominator in [lo, hi], 0 <= lo <= hi. */
void audit_simplest_between(mpq_t simplest, mpq_srcptr lo, mpq_srcptr hi);

/* One exact value of each parameter, a member of the request's enclosure: the default if it is one.
   Enclosed at `precision`; null when memory is out. */
phibal_enclosure *audit_parameters(const phi_potential *phi, const audit_request *request,
                                   mpfr_prec_t precision);
/* The same values, exactly; value[0..parameters-1] initialised. */
void audit_parameters_exact(const phi_potential *phi, const audit_request *request, mpq_t *value);
/* ", alpha = 11/10", .., "" without parameters; malloc'ed. */
char *audit_parameters_text(const phi_potential *phi, const audit_request *request);
/* A rational: as a fraction or, where that is long, as 0x1.8p-1074; malloc'ed. */
char *audit_rational_text(mpq_srcptr x);

#endif
