/* What the case functions of the expert layer share: the kinds of shapes, buffers that are freed
   together and start out as NaN, and the bound of a sum. */
#ifndef PHIBAL_FUZZ_ARENA_H
#define PHIBAL_FUZZ_ARENA_H

#include <phibal/enclosure.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* By case number, round robin; verify_expert_kind names them. */
enum { SHAPE_SMALL, SHAPE_TILES, SHAPE_EMPTY, SHAPE_ONE, SHAPE_SQUARE, SHAPE_CANCELLING, SHAPES };

typedef struct arena {
  void *blocks[32];
  int count;
  bool failed;
} arena;

static inline void *arena_take(arena *a, size_t bytes, int fill) {
  void *p = malloc(bytes + 8);
  if (!p || a->count == (int)(sizeof a->blocks / sizeof *a->blocks)) {
    a->failed = true;
    free(p);
    return NULL;
  }
  memset(p, fill, bytes + 8);
  return a->blocks[a->count++] = p;
}

/* Filled with NaN: what a kernel does not write cannot pass. */
static inline float *arena_floats(arena *a, int64_t n) {
  return arena_take(a, sizeof(float) * (size_t)n, 0xff);
}

static inline void arena_free(arena *a) {
  while (a->count) free(a->blocks[--a->count]);
}

static inline phibal_status arena_out_of_memory(void) {
  return phibal_status_set(PHIBAL_ERROR_MEMORY, "verify: out of memory for a case");
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
