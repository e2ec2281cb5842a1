/* (P1) phi(x) = x^2/2, its own conjugate. */
#include "potentials.h"
#include <phibal/acsl/contracts/inside/enclosure_success.h>

//@ terminates always; ensures success: \result == PHIBAL_OK;
phibal_status euclid_value(phibal_enclosure *z, const phibal_enclosure *x,
                           const phibal_enclosure *a, phibal_enclosure *t) {
  //@ assert use_enclosure;
  (void)a, (void)t;
  //@ assert finite: bounded(x);
  TRY(phibal_enclosure_mul(z, x, x));
  multiply_by_power_of_two(z, z, -1);
  return PHIBAL_OK;
}

//@ terminates always; ensures success: \result == PHIBAL_OK;
phibal_status euclid_gradient(phibal_enclosure *z, const phibal_enclosure *x,
                              const phibal_enclosure *a, phibal_enclosure *t) {
  //@ assert use_enclosure;
  (void)a, (void)t;
  phibal_enclosure_set(z, x);
  return PHIBAL_OK;
}

//@ terminates always; ensures success: \result == PHIBAL_OK;
phibal_status euclid_second(phibal_enclosure *z, const phibal_enclosure *x,
                            const phibal_enclosure *a, phibal_enclosure *t) {
  //@ assert use_enclosure;
  (void)x, (void)a, (void)t;
  phibal_enclosure_set_si(z, 1);
  return PHIBAL_OK;
}

//@ terminates always; ensures success: \result == PHIBAL_OK;
phibal_status euclid_conjugate(phibal_enclosure *z, const phibal_enclosure *y,
                               const phibal_enclosure *a, phibal_enclosure *t) {
  //@ assert use_enclosure;
  return euclid_value(z, y, a, t);
}

//@ terminates always; ensures success: \result == PHIBAL_OK;
phibal_status euclid_conjugate_gradient(phibal_enclosure *z, const phibal_enclosure *y,
                                        const phibal_enclosure *a, phibal_enclosure *t) {
  //@ assert use_enclosure;
  return euclid_gradient(z, y, a, t);
}
