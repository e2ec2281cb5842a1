/* Quantile balancing: selection biases by which every expert's share of the tokens would be k/E.
   Equations: SPEC.md (L7), (L8). All of it is deterministic, with the same bits for any number of
   threads, any order of the tokens, and any division of a batch into calls and ranks; nothing
   allocates. */
#ifndef PHIBAL_QUANTILE_H
#define PHIBAL_QUANTILE_H

#include <phibal/router.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PHIBAL_QUANTILE_MAX_BINS 1048576

/* How ranks that share a batch add up: x [n] becomes the sum of every rank's, exactly. All ranks
   make the same calls. Null where there is one. */
typedef struct phibal_quantile_ranks {
  const void *context;
  void (*sum)(const void *context, int64_t n, int64_t *x);
} phibal_quantile_ranks;

/* (L7) required[e][t] = cut-off of token t - its score for expert e. With the others' biases as they
   are the token selects an expert that it has selected with any bias above that, and another one with
   a bias above that and the gap between its k-th and (k+1)-th largest selection scores.
     router   k < E
     logits   [T][E]  binary32, all finite
     bias     [E]     that of the selection, finite; null for none
     mask     [T]     0 marks padding: +infinity for every expert; null for none
     required [E][stride] out, the first T of each row, stride >= T
   PHIBAL_ERROR_NONFINITE names the first logit or bias that is not finite, and the first token and
   expert of which the difference is beyond binary32; `required` is then unspecified. */
phibal_status phibal_quantile_required(const phibal_router *router, int64_t tokens,
                                       const float *logits, const float *bias, const uint8_t *mask,
                                       int64_t stride, float *required);

/* (L7) ceil(k n / E): which of n tokens' required biases, from the least up, makes an expert's
   share k/E. 0 <= n <= 2^43. */
static inline int64_t phibal_quantile_place(int32_t experts, int32_t active, int64_t n) {
  return ((int64_t)active * n + experts - 1) / experts;
}

/* (L7) quantile[e] = the place-th of the numbers required[e][0 .. T-1] of all ranks, counted from
   the least, from 1. It is found by counting how many are at most a bound, 32 times, so that ranks
   exchange counts alone.
     tokens   T, of this rank; 0 where the others have all
     place    1 .. the tokens of all ranks (not checked against other ranks')
   PHIBAL_ERROR_DOMAIN where that is +infinity, padding, or a number of `required` is NaN. */
phibal_status phibal_quantile(int32_t experts, int64_t tokens, int64_t stride,
                              const float *required, int64_t place,
                              const phibal_quantile_ranks *ranks, float *quantile);

/* (L8) count[e][i] += how many of required[e][0 .. T-1] lie in bin i of B equal ones over
   [low, high]; +infinity is counted nowhere. PHIBAL_ERROR_DOMAIN names the first number outside,
   and leaves the counts unspecified. 1 <= B <= PHIBAL_QUANTILE_MAX_BINS, low < high. */
phibal_status phibal_quantile_histogram(int32_t experts, int64_t tokens, int64_t stride,
                                        const float *required, float low, float high, int32_t bins,
                                        int64_t *count);

/* (L8) quantile[e] where the counted share reaches k/E, by linear interpolation in its bin. It is
   at most (1 + 2^-20) (high - low) / B and 0.501 ULP of itself away from (L7)'s.
   PHIBAL_ERROR_DOMAIN unless every expert has the same number of tokens, 1 .. 2^43. */
phibal_status phibal_quantile_interpolated(int32_t experts, int32_t active, float low, float high,
                                           int32_t bins, const int64_t *count, float *quantile);

/* (L7) bias_e = (1 - eta) bias_e + eta c_e, correctly rounded, c the quantiles minus their mean,
   <= 0.501 ULP of the exact difference. 0 < eta <= 1; at 1 the bias before plays no part. */
phibal_status phibal_quantile_bias(int32_t experts, float eta, const float *quantile, float *bias);

#ifdef __cplusplus
}
#endif
#endif
