/* Shared by the cases of the expert layer: kinds of shapes, and the bound of a sum. */
#ifndef PHIBAL_VERIFY_SHAPES_H
#define PHIBAL_VERIFY_SHAPES_H

#include "random.h"
#include "case_number.h"
#include <phibal/enclosure.h>

/* By case number, round robin; operation_kind_expert names them. */
enum { SHAPE_SMALL, SHAPE_TILES, SHAPE_EMPTY, SHAPE_ONE, SHAPE_SQUARE, SHAPE_CANCELLING, SHAPES };

static inline int shape_of(uint64_t number) {
  if (case_is_paired(number)) return SHAPE_SMALL;
  int shape = (int)(number % SHAPES);
  return shape == SHAPE_TILES && case_is_small(number) ? SHAPE_SMALL : shape;
}

static inline void fill_normal(random_stream *r, float *x, int64_t n) {
  for (int64_t i = 0; i < n; i++) x[i] = (float)random_normal(r);
}

/* bound = (n u / (1 - n u)) condition: n roundings in any order (Higham, Accuracy and Stability of
   Numerical Algorithms, lemma 3.1), and half a smallest subnormal for each, should one underflow.
 */
static inline void gamma_bound(phibal_enclosure *bound, const phibal_enclosure *condition,
                               int64_t n) {
  double nu = (double)n * 0x1p-24;
  phibal_enclosure factor;
  phibal_enclosure_init(&factor, 64);
  phibal_enclosure_set_d(&factor, nu / (1 - nu));
  phibal_enclosure_mul(bound, condition, &factor);
  phibal_enclosure_set_d(&factor, (double)(n + 1) * 0x1p-150);
  phibal_enclosure_add(bound, bound, &factor);
  phibal_enclosure_clear(&factor);
}

#endif
