/* What the static functions of reference/potentials/point.c promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_POTENTIALS_POINT_STATIC_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_POTENTIALS_POINT_STATIC_H

/*@ requires family(s) && parameter_input(a, s);
    POINT_OF(chosen{Pre}(s, a, p), holds(z, s, FUNCTION_VALUE, p, r)) */
static phibal_status value_at(scalar_family s, phibal_enclosure *z, const phibal_enclosure *x,
                              const phibal_enclosure *a, phibal_enclosure *t);

/*@ requires family(s) && parameter_input(a, s);
    POINT_OF(chosen{Pre}(s, a, p), holds(z, s, FUNCTION_GRADIENT, p, r)) */
static phibal_status gradient_at(scalar_family s, phibal_enclosure *z, const phibal_enclosure *x,
                                 const phibal_enclosure *a, phibal_enclosure *t);

/*@ requires family(s) && parameter_input(a, s);
    POINT_OF(chosen{Pre}(s, a, p), holds(z, s, FUNCTION_SECOND, p, r)) */
static phibal_status second_at(scalar_family s, phibal_enclosure *z, const phibal_enclosure *x,
                               const phibal_enclosure *a, phibal_enclosure *t);

/*@ requires family(s) && parameter_input(a, s);
    POINT_OF(chosen{Pre}(s, a, p), holds(z, s, FUNCTION_CONJUGATE, p, r)) */
static phibal_status conjugate_at(scalar_family s, phibal_enclosure *z, const phibal_enclosure *x,
                                  const phibal_enclosure *a, phibal_enclosure *t);

/*@ requires family(s) && parameter_input(a, s);
    POINT_OF(chosen{Pre}(s, a, p), holds(z, s, FUNCTION_CONJUGATE_GRADIENT, p, r)) */
static phibal_status conjugate_gradient_at(scalar_family s, phibal_enclosure *z,
                                           const phibal_enclosure *x, const phibal_enclosure *a,
                                           phibal_enclosure *t);

#endif
