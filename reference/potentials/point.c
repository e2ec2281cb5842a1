/* The point function of a family by name: switches, and not a table of pointers, so that a proof
   knows which function is called. */
#include "potentials.h"
#include <phibal/acsl/contracts/inside/potentials/point_static.h>

/* The row of a potential that is a sum over coordinates, or of another. */
#define POINT_1(ID, stem, function)                                                                \
  case FAMILY_##ID:                                                                                \
    return stem##_##function(z, x, a, t);
#define POINT_0(ID, stem, function)

static phibal_status value_at(scalar_family s, phibal_enclosure *z, const phibal_enclosure *x,
                              const phibal_enclosure *a, phibal_enclosure *t) {
  //@ assert open_points;
  switch (s) {
#define PHIBAL_POTENTIAL(ID, stem, name, parameter, low, high, fallback, separable, floored)       \
  POINT_##separable(ID, stem, value)
#include <phibal/potentials.def>
#undef PHIBAL_POTENTIAL
  case FAMILY_LP_ONE:
    break;
  }
  return lp_one_value(z, x, a, t);
}

static phibal_status gradient_at(scalar_family s, phibal_enclosure *z, const phibal_enclosure *x,
                                 const phibal_enclosure *a, phibal_enclosure *t) {
  //@ assert open_points;
  switch (s) {
#define PHIBAL_POTENTIAL(ID, stem, name, parameter, low, high, fallback, separable, floored)       \
  POINT_##separable(ID, stem, gradient)
#include <phibal/potentials.def>
#undef PHIBAL_POTENTIAL
  case FAMILY_LP_ONE:
    break;
  }
  return lp_one_gradient(z, x, a, t);
}

static phibal_status second_at(scalar_family s, phibal_enclosure *z, const phibal_enclosure *x,
                               const phibal_enclosure *a, phibal_enclosure *t) {
  //@ assert open_points;
  switch (s) {
#define PHIBAL_POTENTIAL(ID, stem, name, parameter, low, high, fallback, separable, floored)       \
  POINT_##separable(ID, stem, second)
#include <phibal/potentials.def>
#undef PHIBAL_POTENTIAL
  case FAMILY_LP_ONE:
    break;
  }
  return lp_one_second(z, x, a, t);
}

static phibal_status conjugate_at(scalar_family s, phibal_enclosure *z, const phibal_enclosure *x,
                                  const phibal_enclosure *a, phibal_enclosure *t) {
  //@ assert open_points;
  switch (s) {
#define PHIBAL_POTENTIAL(ID, stem, name, parameter, low, high, fallback, separable, floored)       \
  POINT_##separable(ID, stem, conjugate)
#include <phibal/potentials.def>
#undef PHIBAL_POTENTIAL
  case FAMILY_LP_ONE:
    break;
  }
  return lp_one_conjugate(z, x, a, t);
}

static phibal_status conjugate_gradient_at(scalar_family s, phibal_enclosure *z,
                                           const phibal_enclosure *x, const phibal_enclosure *a,
                                           phibal_enclosure *t) {
  //@ assert open_points;
  switch (s) {
#define PHIBAL_POTENTIAL(ID, stem, name, parameter, low, high, fallback, separable, floored)       \
  POINT_##separable(ID, stem, conjugate_gradient)
#include <phibal/potentials.def>
#undef PHIBAL_POTENTIAL
  case FAMILY_LP_ONE:
    break;
  }
  return lp_one_conjugate_gradient(z, x, a, t);
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
