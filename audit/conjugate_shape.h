/* What exact algebra knows of phi = F(S_1, .., S_r) beyond the simplex, where its conjugate is
   computed. */
#ifndef PHIBAL_AUDIT_CONJUGATE_SHAPE_H
#define PHIBAL_AUDIT_CONJUGATE_SHAPE_H

#include "domain.h"

/* Which x the supremum is over. Where that is not known, x_e > 0 gives a bound from below. */
typedef enum shape_loads {
  SHAPE_UNKNOWN,
  SHAPE_LINE,     /* all x in R^E: phi is analytic there */
  SHAPE_POSITIVE, /* x_e >= 0: phi is analytic for x_e > 0, and not defined where an x_e < 0 */
  SHAPE_EVEN,     /* all x; phi(x) = phi(|x|), analytic for x_e > 0 */
} shape_loads;

/* With one sum two forms are recognised, whose conjugates are known: those of phi that is constant
   but for a linear term along (1, .., 1), or along x. */
typedef enum shape_form {
  SHAPE_GENERAL,
  SHAPE_LOG_SUM_EXP, /* phi(x) = level + (total/rate) log(sum_e exp(rate x_e)) */
  SHAPE_NORM,        /* phi(x) = offset + factor (sum_e |x_e|^power)^(1/power) */
} shape_form;

typedef struct conjugate_shape {
  shape_loads loads;
  bool convex;    /* proved, for x_e > 0 or on R^E */
  unsigned slope; /* signs that the components of the gradient can have there */
  shape_form form;
  phibal_enclosure rate, total, level;          /* of LOG_SUM_EXP; total/rate > 0 */
  phibal_enclosure power, dual, offset, factor; /* of NORM; dual = power/(power - 1) */
  mpq_t exact_total;                            /* where it is rational */
  long exact_dual;                              /* where that is whole, else 0 */
  bool total_is_exact;
} conjugate_shape;

void conjugate_shape_init(conjugate_shape *shape, mpfr_prec_t precision);
void conjugate_shape_clear(conjugate_shape *shape);
/* For members of the parameters, and n experts. Built without FLINT it finds nothing. */
void conjugate_shape_find(phi_potential *phi, const phibal_enclosure *parameters, size_t n,
                          conjugate_shape *shape);

#endif
