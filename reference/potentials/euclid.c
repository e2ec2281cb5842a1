/* (P1) phi(x) = x^2/2, its own conjugate. */
#include "potentials.h"

static phibal_status half_square(phibal_enclosure *z, const phibal_enclosure *x,
                                 const phibal_enclosure *a, phibal_enclosure *t) {
  (void)a, (void)t;
  TRY(phibal_enclosure_mul(z, x, x));
  multiply_by_power_of_two(z, z, -1);
  return PHIBAL_OK;
}

static phibal_status identity(phibal_enclosure *z, const phibal_enclosure *x,
                              const phibal_enclosure *a, phibal_enclosure *t) {
  (void)a, (void)t;
  phibal_enclosure_set(z, x);
  return PHIBAL_OK;
}

static phibal_status one(phibal_enclosure *z, const phibal_enclosure *x, const phibal_enclosure *a,
                         phibal_enclosure *t) {
  (void)x, (void)a, (void)t;
  phibal_enclosure_set_si(z, 1);
  return PHIBAL_OK;
}

const separable potential_euclid = {
    .value = {half_square, SHAPE_EVEN},
    .gradient = {identity, SHAPE_MONOTONE},
    .second = {one, SHAPE_EVEN},
    .conjugate = {half_square, SHAPE_EVEN},
    .conjugate_gradient = {identity, SHAPE_MONOTONE},
};
