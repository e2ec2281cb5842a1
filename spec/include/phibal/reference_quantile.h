/* The reference of quantile balancing (L7). Everything is exact: a required bias is one number, and
   an order statistic is one of these. Conventions are those of <phibal/reference_moe.h>. */
#ifndef PHIBAL_REFERENCE_QUANTILE_H
#define PHIBAL_REFERENCE_QUANTILE_H

#include <phibal/reference_moe.h>

#ifdef __cplusplus
extern "C" {
#endif

/* 0 .. 2^43: k T is then below 2^53. */
#define PHIBAL_REFERENCE_QUANTILE_TOKENS ((int64_t)1 << 43)

/* (L7) required[e][t] = cut-off of token t - its score for expert e, in binary64 and then binary32.
     router   1 <= k < E; no groups: else PHIBAL_ERROR_UNSUPPORTED
     logits   [T][E]
     bias     [E] that of the selection, or null
     mask     [T] 0 marks padding, for which all experts get +infinity; or null
     required [E][T] out
   PHIBAL_ERROR_NONFINITE names what is not a finite number: of the unmasked tokens a logit, the
   bias, a score, or the result. */
phibal_status phibal_reference_quantile_required(const phibal_router *router, int64_t tokens,
                                                 const float *logits, const float *bias,
                                                 const uint8_t *mask, float *required);

/* (L7) quantile[e] = the m-th smallest of the unmasked tokens' required[e][t], m = ceil(k T / E):
   the one that fewer than m are less than, and that m or more are at most. Each number is tried.
     mask     [T] 0 marks padding; or null
     required [E][T], finite for unmasked tokens: else PHIBAL_ERROR_NONFINITE
   PHIBAL_ERROR_ARGUMENT unless 1 <= k <= E; PHIBAL_ERROR_DOMAIN where all tokens are padding. */
phibal_status phibal_reference_quantile(int32_t experts, int32_t active, int64_t tokens,
                                        const uint8_t *mask, const float *required,
                                        float *quantile);

#ifdef __FRAMAC__
#include <phibal/acsl/contracts/reference_quantile.h>
#endif

#ifdef __cplusplus
}
#endif
#endif
