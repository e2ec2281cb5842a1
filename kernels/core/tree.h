/* The halving tree: the one order in which sums over experts are made. The vector is padded with
   +0 to the next power of two n; then for s = n/2, n/4, .. 1: a[i] += a[i + s] for i < s. The sum
   is a[0]. Part of the specification: a warp or a block of a GPU, and a vector unit, add in this
   order naturally. With E = 2^h or fewer elements the sum's error is at most h u sum |a| (h u +
   O(u^2)): each element goes through h additions. */
#ifndef PHIBAL_CORE_TREE_H
#define PHIBAL_CORE_TREE_H

#include "core.h"

/* The first power of two that is not below n >= 1. */
CORE_FUNCTION int core_tree_width(int n) {
  int width = 1;
  while (width < n) width *= 2;
  return width;
}

/* Sum of a[0..n-1], n >= 1; a is overwritten. The padding is not stored, but added: it turns -0
   into +0. */
CORE_FUNCTION double core_tree_sum(double *a, int n) {
  for (int s = core_tree_width(n) / 2; s >= 1; s /= 2) {
    int paired = n - s; /* elements with a partner; n > s at every level */
    for (int i = 0; i < paired; i++) a[i] += a[i + s];
    for (int i = paired; i < s; i++) a[i] += 0.0;
    n = s;
  }
  return a[0];
}

#endif
