/* Shared by the tests of the reference's expert layer. */
#ifndef PHIBAL_TESTS_REFERENCE_EXPERT_H
#define PHIBAL_TESTS_REFERENCE_EXPERT_H

#include "reference_oracle.h"

/* The working precision under test. */
enum { BITS = 128 };

static inline void floats_generate(int64_t n, float *x, double scale, uint64_t *seed) {
  for (int64_t i = 0; i < n; i++) x[i] = random_float(seed, scale);
}

/* z += x y */
static inline void oracle_add_product(arb_t z, double x, double y) {
  arb_t a, b;
  arb_init(a);
  arb_init(b);
  arb_set_d(a, x);
  arb_set_d(b, y);
  arb_addmul(z, a, b, ORACLE_PRECISION);
  arb_clear(b);
  arb_clear(a);
}

static inline phibal_reference_result result_create(size_t n) {
  phibal_reference_result r = {phibal_enclosure_vector(n, BITS), phibal_enclosure_vector(n, BITS)};
  return r;
}

static inline void result_destroy(phibal_reference_result *r, size_t n) {
  phibal_enclosure_vector_clear(r->value, n);
  phibal_enclosure_vector_clear(r->condition, n);
}

#endif
