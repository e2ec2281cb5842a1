/* A generated kernel against the enclosed derivative of the potential's value, or against the
   enclosed gradient that the file gives. */
#ifndef PHIBAL_AUDIT_CORE_TRUTH_H
#define PHIBAL_AUDIT_CORE_TRUTH_H

#include "codegen.h"

enum { CORE_MOST_OTHERS = 1023 };

/* What is compared: the price of an expert among others. */
typedef struct core_subject {
  const phi_potential *phi;
  const phibal_enclosure *parameters;
  const codegen_kernel *kernel;
  int others;
  const float *rest;
  bool floored; /* loads below 2^-126 stand for 2^-126 */
  bool given;   /* the truth is the gradient that the file gives, not the derivative of its value */
} core_subject;

/* What came of comparisons: all counts 0 at first. */
typedef struct core_comparison {
  uint64_t compared;
  uint64_t undefined; /* loads at which there is no price to compare with */
  double worst;       /* ULP, measured */
  float worst_load;
  uint64_t wrong;
  char *counterexample; /* of the first that is wrong, malloc'ed */
} core_comparison;

/* Compares the prices of loads m[0..n-1], each by itself: both values with the bounds that go with
   them, and the rounded price with what the kernel says of it. Adds to *result. */
phibal_status core_compare(const core_subject *s, int n, const float *m, core_comparison *result);
/* Compares the centred prices of one load vector; *lost is log2 of the largest bound over the
   largest price, at most that. */
phibal_status core_compare_centred(const core_subject *s, int n, const float *m,
                                   core_comparison *result, double *lost);

/* |x psi''(x) / psi'(x)|, the condition number of the price at load x; NaN where it has none, or
   where the price is not the derivative of the value. */
double core_condition(const core_subject *s, float x);

#endif
