/* The Hessian of phi = F(S_1, .., S_r), S_i = sum_e f_i(x_e), by exact algebra:
   diag(D) + sum_ij F_ij v_i v_j' with D_e = sum_i F_i f_i''(x_e) and v_i = (f_i'(x_e))_e. */
#ifndef PHIBAL_AUDIT_HESSIAN_ALGEBRA_H
#define PHIBAL_AUDIT_HESSIAN_ALGEBRA_H

#include "symbolic.h"

typedef struct hessian {
  int n;                        /* sums that are not constant */
  const quotient *const *slope; /* [n]: f_i', as given to hessian_read */
  const quotient *first[PHI_MAX_SUMS], *second[PHI_MAX_SUMS][PHI_MAX_SUMS]; /* F_i, F_ij */
  const quotient *diagonal;                                                 /* D_e */
} hessian;

/* Of `outer` = F, in the sums number[0..n-1], with f_i' and f_i''; false where a part is null. */
bool hessian_read(symbolic *s, const quotient *outer, int n, const int *number,
                  const quotient *const *slope, const quotient *const *curvature, hessian *h);
/* (F_ij) is positive semidefinite: all principal minors, for up to two sums; the diagonal for more.
 */
bool hessian_outer_semidefinite(symbolic *s, const hessian *h);
/* sum_i max(-F_ii, 0) f_i'^2/D, null unless (F_ij) is diagonal, with signs. *one_sign, if not null:
   f_i' has one sign and no zero for an i with F_ii < 0. */
const quotient *hessian_weight(symbolic *s, const hessian *h, bool *one_sign);

#endif
