/* The conjugate of phi = F(S_1, .., S_r), not separable, by what exact algebra knows of its form
   and by maximising. */
#ifndef PHIBAL_AUDIT_CONJUGATE_SUMS_H
#define PHIBAL_AUDIT_CONJUGATE_SUMS_H

#include "conjugate_shape.h"

/* What is known of y_e exactly. */
typedef struct conjugate_price {
  const phibal_enclosure *y; /* [n] */
  mpq_t *exact;              /* [n]; counts where known[e] */
  bool *known;
  size_t n;
} conjugate_price;

/* `exact` may be null: then what is a single number is taken for known. False when memory is out.
 */
bool conjugate_price_init(conjugate_price *price, size_t n, const phibal_enclosure *y,
                          const mpq_t *exact);
void conjugate_price_clear(conjugate_price *price);
/* -1, 0, 1 where y_e is certain to be negative, zero, positive; 2 where it is not. */
int conjugate_price_sign(const conjugate_price *price, size_t e);

/* Of SHAPE_LOG_SUM_EXP and SHAPE_NORM, in closed form: [v, +inf] where it is not certain whether y
   is in the dual domain. */
phibal_status conjugate_by_form(const conjugate_shape *shape, const conjugate_price *price,
                                phibal_enclosure *value);

/* Of anything: by Newton's method, and a proof that the maximum is near where it ends. *attained:
   then x[0..n-1], if not null, encloses where. [v, +inf] where there is no proof. */
phibal_status conjugate_by_newton(const phi_potential *phi, const conjugate_shape *shape,
                                  const phibal_enclosure *parameters, const conjugate_price *price,
                                  phibal_enclosure *value, phibal_enclosure *x, bool *attained);

/* One of the two, for n experts that the shape was found for; x may be null. */
phibal_status conjugate_of_shape(const phi_potential *phi, const conjugate_shape *shape,
                                 const phibal_enclosure *parameters, size_t n,
                                 const phibal_enclosure *y, const mpq_t *exact,
                                 phibal_enclosure *value, phibal_enclosure *x, bool *attained);
/* The same from the beginning. */
phibal_status conjugate_of_sums(phi_potential *phi, const phibal_enclosure *parameters, size_t n,
                                const phibal_enclosure *y, const mpq_t *exact,
                                phibal_enclosure *value, phibal_enclosure *x, bool *attained);

#endif
