/* audit_conjugate's state, which its parts share. */
#ifndef PHIBAL_AUDIT_CONJUGATE_CHECK_H
#define PHIBAL_AUDIT_CONJUGATE_CHECK_H

#include "audit_points.h"
#include "conjugate.h"

enum {
  CONJUGATE_PRECISION = 640,
  CONJUGATE_BITS = 200,
  CONJUGATE_DIGITS = 25,
  CONJUGATE_OTHERS = 2, /* coordinates beside the first, where phi is not separable */
};

typedef struct conjugate_state {
  phi_potential *phi;
  const audit_request *request;
  phibal_enclosure *parameters;
  mpq_t exact_parameters[PHI_MAX_PARAMETERS];
  char *where; /* ", alpha = 2" */
  size_t n;    /* of vectors: 1 if phi is separable */
  uint64_t equal, unequal_unknown, inequalities, maximised, ends, vectors;
  double least_bits;
  audit_claim claim; /* what is refuted */
  char *refuted;     /* null: nothing */
} conjugate_state;

/* Keeps the first counterexample. */
phibal_status conjugate_refute(conjugate_state *s, audit_claim claim, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

typedef struct conjugate_decimal {
  char lo[PHIBAL_DECIMAL_SIZE(CONJUGATE_DIGITS)], hi[PHIBAL_DECIMAL_SIZE(CONJUGATE_DIGITS)];
} conjugate_decimal;
conjugate_decimal conjugate_decimal_of(const phibal_enclosure *x);

/* "3/5", or "(3/5, 4/5)"; malloc'ed, null when memory is out. */
char *conjugate_vector_text(size_t n, const mpq_t *z);

/* The conjugate given at y[0..n-1] against `support`, that is <x, y> - phi(x), which must not be
   larger. */
phibal_status conjugate_hold_support(conjugate_state *s, size_t n, const mpq_t *y, const mpq_t *x,
                                     const phibal_enclosure *given,
                                     const phibal_enclosure *support);
/* Against the conjugate computed, which it must overlap. */
phibal_status conjugate_hold_supremum(conjugate_state *s, size_t n, const mpq_t *y,
                                      const phibal_enclosure *given,
                                      const phibal_enclosure *computed);

/* At y[0..n-1] every condition holds exactly, or would if equality were enough: so what holds near
   by holds up to there. A point that is only near such an end, as near an irrational one, is none.
 */
bool conjugate_ends_at(const conjugate_state *s, size_t n, const mpq_t *y);

/* The conjugate given at vectors of exact prices: along rays, at and around where a condition turns
   on them, against the conjugate computed and against <x, y> - phi(x). For conditions on sums, and
   where phi is not separable. */
phibal_status conjugate_check_vectors(conjugate_state *s);

#endif
