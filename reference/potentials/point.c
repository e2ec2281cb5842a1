/* The point function of a family by name: switches, and not a table of pointers, so that a proof
   knows which function is called. */
#include "potentials.h"

/*@ requires family(s) && parameter_input(a, s);
    POINT_OF(chosen{Pre}(s, a, p), holds(z, s, FUNCTION_VALUE, p, r)) */
static phibal_status value_at(scalar_family s, phibal_enclosure *z, const phibal_enclosure *x,
                              const phibal_enclosure *a, phibal_enclosure *t) {
  //@ assert open_points;
  switch (s) {
  case FAMILY_EUCLID:
    return euclid_value(z, x, a, t);
  case FAMILY_LP:
    return lp_value(z, x, a, t);
  case FAMILY_LP_ONE:
    return lp_one_value(z, x, a, t);
  case FAMILY_SOFT_L1:
    return soft_l1_value(z, x, a, t);
  case FAMILY_NEGENTROPY:
    return negentropy_value(z, x, a, t);
  case FAMILY_TSALLIS:
    return tsallis_value(z, x, a, t);
  case FAMILY_PSEUDO_HUBER:
    return pseudo_huber_value(z, x, a, t);
  case FAMILY_LOG_COSH:
    return log_cosh_value(z, x, a, t);
  case FAMILY_SOFTPLUS:
    break;
  }
  return softplus_value(z, x, a, t);
}

/*@ requires family(s) && parameter_input(a, s);
    POINT_OF(chosen{Pre}(s, a, p), holds(z, s, FUNCTION_GRADIENT, p, r)) */
static phibal_status gradient_at(scalar_family s, phibal_enclosure *z, const phibal_enclosure *x,
                                 const phibal_enclosure *a, phibal_enclosure *t) {
  //@ assert open_points;
  switch (s) {
  case FAMILY_EUCLID:
    return euclid_gradient(z, x, a, t);
  case FAMILY_LP:
    return lp_gradient(z, x, a, t);
  case FAMILY_LP_ONE:
    return lp_one_gradient(z, x, a, t);
  case FAMILY_SOFT_L1:
    return soft_l1_gradient(z, x, a, t);
  case FAMILY_NEGENTROPY:
    return negentropy_gradient(z, x, a, t);
  case FAMILY_TSALLIS:
    return tsallis_gradient(z, x, a, t);
  case FAMILY_PSEUDO_HUBER:
    return pseudo_huber_gradient(z, x, a, t);
  case FAMILY_LOG_COSH:
    return log_cosh_gradient(z, x, a, t);
  case FAMILY_SOFTPLUS:
    break;
  }
  return softplus_gradient(z, x, a, t);
}

/*@ requires family(s) && parameter_input(a, s);
    POINT_OF(chosen{Pre}(s, a, p), holds(z, s, FUNCTION_SECOND, p, r)) */
static phibal_status second_at(scalar_family s, phibal_enclosure *z, const phibal_enclosure *x,
                               const phibal_enclosure *a, phibal_enclosure *t) {
  //@ assert open_points;
  switch (s) {
  case FAMILY_EUCLID:
    return euclid_second(z, x, a, t);
  case FAMILY_LP:
    return lp_second(z, x, a, t);
  case FAMILY_LP_ONE:
    return lp_one_second(z, x, a, t);
  case FAMILY_SOFT_L1:
    return soft_l1_second(z, x, a, t);
  case FAMILY_NEGENTROPY:
    return negentropy_second(z, x, a, t);
  case FAMILY_TSALLIS:
    return tsallis_second(z, x, a, t);
  case FAMILY_PSEUDO_HUBER:
    return pseudo_huber_second(z, x, a, t);
  case FAMILY_LOG_COSH:
    return log_cosh_second(z, x, a, t);
  case FAMILY_SOFTPLUS:
    break;
  }
  return softplus_second(z, x, a, t);
}

/*@ requires family(s) && parameter_input(a, s);
    POINT_OF(chosen{Pre}(s, a, p), holds(z, s, FUNCTION_CONJUGATE, p, r)) */
static phibal_status conjugate_at(scalar_family s, phibal_enclosure *z, const phibal_enclosure *x,
                                  const phibal_enclosure *a, phibal_enclosure *t) {
  //@ assert open_points;
  switch (s) {
  case FAMILY_EUCLID:
    return euclid_conjugate(z, x, a, t);
  case FAMILY_LP:
    return lp_conjugate(z, x, a, t);
  case FAMILY_LP_ONE:
    return lp_one_conjugate(z, x, a, t);
  case FAMILY_SOFT_L1:
    return soft_l1_conjugate(z, x, a, t);
  case FAMILY_NEGENTROPY:
    return negentropy_conjugate(z, x, a, t);
  case FAMILY_TSALLIS:
    return tsallis_conjugate(z, x, a, t);
  case FAMILY_PSEUDO_HUBER:
    return pseudo_huber_conjugate(z, x, a, t);
  case FAMILY_LOG_COSH:
    return log_cosh_conjugate(z, x, a, t);
  case FAMILY_SOFTPLUS:
    break;
  }
  return softplus_conjugate(z, x, a, t);
}

/*@ requires family(s) && parameter_input(a, s);
    POINT_OF(chosen{Pre}(s, a, p), holds(z, s, FUNCTION_CONJUGATE_GRADIENT, p, r)) */
static phibal_status conjugate_gradient_at(scalar_family s, phibal_enclosure *z,
                                           const phibal_enclosure *x, const phibal_enclosure *a,
                                           phibal_enclosure *t) {
  //@ assert open_points;
  switch (s) {
  case FAMILY_EUCLID:
    return euclid_conjugate_gradient(z, x, a, t);
  case FAMILY_LP:
    return lp_conjugate_gradient(z, x, a, t);
  case FAMILY_LP_ONE:
    return lp_one_conjugate_gradient(z, x, a, t);
  case FAMILY_SOFT_L1:
    return soft_l1_conjugate_gradient(z, x, a, t);
  case FAMILY_NEGENTROPY:
    return negentropy_conjugate_gradient(z, x, a, t);
  case FAMILY_TSALLIS:
    return tsallis_conjugate_gradient(z, x, a, t);
  case FAMILY_PSEUDO_HUBER:
    return pseudo_huber_conjugate_gradient(z, x, a, t);
  case FAMILY_LOG_COSH:
    return log_cosh_conjugate_gradient(z, x, a, t);
  case FAMILY_SOFTPLUS:
    break;
  }
  return softplus_conjugate_gradient(z, x, a, t);
}

phibal_status point_at(scalar_family s, scalar_function f, phibal_enclosure *z,
                       const phibal_enclosure *x, const phibal_enclosure *a, phibal_enclosure *t) {
  switch (f) {
  case FUNCTION_VALUE:
    return value_at(s, z, x, a, t);
  case FUNCTION_GRADIENT:
    return gradient_at(s, z, x, a, t);
  case FUNCTION_SECOND:
    return second_at(s, z, x, a, t);
  case FUNCTION_CONJUGATE:
    return conjugate_at(s, z, x, a, t);
  case FUNCTION_CONJUGATE_GRADIENT:
    break;
  }
  return conjugate_gradient_at(s, z, x, a, t);
}
