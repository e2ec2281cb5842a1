/* What proofs of convexity on the simplex and off it ask of the Hessian. */
#include "hessian_algebra.h"

bool hessian_read(symbolic *s, const quotient *outer, int n, const int *number,
                  const quotient *const *slope, const quotient *const *curvature, hessian *h) {
  h->n = n;
  h->slope = slope;
  h->diagonal = outer ? symbolic_integer(s, 0) : NULL;
  for (int i = 0; h->diagonal && i < n; i++) {
    h->first[i] = symbolic_derivative_sum(s, outer, number[i]);
    h->diagonal = symbolic_add(s, h->diagonal, symbolic_multiply(s, h->first[i], curvature[i]));
    for (int j = 0; h->diagonal && j < n; j++) {
      h->second[i][j] = symbolic_derivative_sum(s, h->first[i], number[j]);
      if (!h->second[i][j]) return false;
    }
  }
  return h->diagonal != NULL;
}

static const quotient *minor(symbolic *s, const hessian *h, int i, int j) {
  return symbolic_subtract(s, symbolic_multiply(s, h->second[i][i], h->second[j][j]),
                           symbolic_multiply(s, h->second[i][j], h->second[j][i]));
}

bool hessian_outer_semidefinite(symbolic *s, const hessian *h) {
  for (int i = 0; i < h->n; i++) {
    if (!symbolic_not_negative(s, h->second[i][i])) return false;
    for (int j = 0; j < i; j++)
      if (h->n == 2 ? !symbolic_not_negative(s, minor(s, h, i, j))
                    : !symbolic_is_zero(s, h->second[i][j]))
        return false;
  }
  return true;
}

const quotient *hessian_weight(symbolic *s, const hessian *h, bool *one_sign) {
  const quotient *total = symbolic_integer(s, 0);
  if (one_sign) *one_sign = false;
  for (int i = 0; total && i < h->n; i++) {
    for (int j = 0; j < i; j++)
      if (!symbolic_is_zero(s, h->second[i][j])) return NULL;
    const unsigned sign = symbolic_sign(s, h->second[i][i]);
    if (!(sign & SIGN_NEGATIVE)) continue;
    if (sign & SIGN_POSITIVE) return NULL;
    if (one_sign && sign == SIGN_NEGATIVE) {
      const unsigned slope = symbolic_sign(s, h->slope[i]);
      *one_sign = *one_sign || slope == SIGN_POSITIVE || slope == SIGN_NEGATIVE;
    }
    const quotient *square = symbolic_multiply(s, h->slope[i], h->slope[i]);
    total = symbolic_subtract(
        s, total, symbolic_divide(s, symbolic_multiply(s, h->second[i][i], square), h->diagonal));
  }
  return total;
}
