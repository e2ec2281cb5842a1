/* The reference of experts that compute nothing (E10). Conventions are those of
   <phibal/reference_moe.h>. */
#ifndef PHIBAL_REFERENCE_ZERO_EXPERTS_H
#define PHIBAL_REFERENCE_ZERO_EXPERTS_H

#include <phibal/reference_moe.h>
#include <phibal/zero_experts.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One token: its experts and gates [active], x, y and the loss's derivatives in them [width].
   Experts from first_zero on compute nothing. */
typedef struct phibal_reference_zero_token {
  int32_t active, first_zero;
  int64_t width;
  const int32_t *experts;
  const float *gates;
  const float *x, *y, *y_gradient, *x_gradient;
} phibal_reference_zero_token;

/* Where its results go: y and x_gradient [width], and one number for the gates, each with its
   condition, the sum of the absolute values of its terms. No two share a place. A null one is
   refused. */
typedef struct phibal_reference_zero_results {
  phibal_reference_result y, x_gradient, gate_gradient;
} phibal_reference_zero_results;

/* (E10) of one token. gate_gradient is <y_gradient, x>, the same for every slot of an identity. Of
   null experts y and x_gradient are those of the token, and gate_gradient is 0. */
phibal_status phibal_reference_zero_experts(phibal_zero_output output,
                                            phibal_reference_zero_token token,
                                            mpfr_prec_t precision,
                                            phibal_reference_zero_results results);

#ifdef __FRAMAC__
#include <phibal/acsl/contracts/reference_zero_experts.h>
#endif

#ifdef __cplusplus
}
#endif
#endif
