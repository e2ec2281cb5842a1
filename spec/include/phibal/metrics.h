/* How balanced is it? Equations: SPEC.md section V. E >= 1. */
#ifndef PHIBAL_METRICS_H
#define PHIBAL_METRICS_H

#include <phibal/status.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* (V1) MaxVio from loads: max_e count_e / mean(count) - 1, correctly rounded; all counts 0 is an
   error. count_e >= 0 and their sum below 2^53. */
phibal_status phibal_maxvio_counts(int32_t experts, const int64_t *count, double *maxvio);
/* (V2) MaxVio from mean probabilities: E max_e p_e / sum p - 1, <= 0.501 ULP in binary64 plus
   2^-90. */
phibal_status phibal_maxvio_mean(int32_t experts, const float *mean, double *maxvio);
/* (V3) Gini coefficient of x >= 0, in [0, 1 - 1/E]: sum_ij |x_i - x_j| / (2 E sum x).
   Within 23 2^-53 of itself. The sum of x must be finite and not 0. */
phibal_status phibal_gini(int32_t experts, const double *x, double *gini);
/* (V4) Entropy of x / sum x in nats, 0 log 0 = 0; log E at balance.
   Absolute error below 2^-45. The sum of x must be finite and not 0. */
phibal_status phibal_entropy(int32_t experts, const double *x, double *entropy);

#ifdef __cplusplus
}
#endif
#endif
