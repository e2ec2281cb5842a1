/* The parts of a conjugate that is not separable, in turn. */
#include "conjugate_sums.h"

/* Bits beyond the result's with which its form is read. */
enum { GUARD = 128 };

void conjugate_shape_init(conjugate_shape *shape, mpfr_prec_t precision) {
  *shape = (conjugate_shape){.slope = SIGN_ANY};
  phibal_enclosure *all[] = {&shape->rate, &shape->total,  &shape->level, &shape->power,
                             &shape->dual, &shape->offset, &shape->factor};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) phibal_enclosure_init(all[i], precision);
  mpq_init(shape->exact_total);
}

void conjugate_shape_clear(conjugate_shape *shape) {
  phibal_enclosure *all[] = {&shape->rate, &shape->total,  &shape->level, &shape->power,
                             &shape->dual, &shape->offset, &shape->factor};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) phibal_enclosure_clear(all[i]);
  mpq_clear(shape->exact_total);
}

phibal_status conjugate_of_shape(const phi_potential *phi, const conjugate_shape *shape,
                                 const phibal_enclosure *parameters, size_t n,
                                 const phibal_enclosure *y, const mpq_t *exact,
                                 phibal_enclosure *value, phibal_enclosure *x, bool *attained) {
  conjugate_price price;
  *attained = false;
  if (!conjugate_price_init(&price, n, y, exact))
    return phibal_status_set(PHIBAL_ERROR_MEMORY, "out of memory for a conjugate");
  const phibal_status status =
      shape->form != SHAPE_GENERAL
          ? conjugate_by_form(shape, &price, value)
          : conjugate_by_newton(phi, shape, parameters, &price, value, x, attained);
  conjugate_price_clear(&price);
  return status;
}

phibal_status conjugate_of_sums(phi_potential *phi, const phibal_enclosure *parameters, size_t n,
                                const phibal_enclosure *y, const mpq_t *exact,
                                phibal_enclosure *value, phibal_enclosure *x, bool *attained) {
  conjugate_shape shape;
  conjugate_shape_init(&shape, mpfr_get_prec(value->lo) + GUARD);
  conjugate_shape_find(phi, parameters, n, &shape);
  const phibal_status status =
      conjugate_of_shape(phi, &shape, parameters, n, y, exact, value, x, attained);
  conjugate_shape_clear(&shape);
  return status;
}
