/* The biases that tokens require of experts (L7): of one token, cut-off less score. */
#include "operation.h"
#include "router_scores.h"
#include <phibal/reference_quantile.h>

/* Enough bits for the scores of nearly all sigmoids (reference/router_selection.c). */
#define REQUIRED_PRECISION 64

/* t is of k + 1 experts, the last of which is cut off. */
static phibal_status token_required(phibal_reference_token *t, const phibal_router *beyond,
                                    const float *logits, const float *bias, int64_t stride,
                                    float *required) {
  TRY(phibal_reference_token_select(t, beyond, logits, bias));
  const double cutoff = t->score[t->selection[t->active - 1]];
  TRY(phibal_reference_token_select(t, beyond, logits, NULL));
  for (int32_t e = 0; e < t->experts; e++) {
    const float difference = (float)(cutoff - t->score[e]);
    if (!isfinite(difference))
      return phibal_status_set(PHIBAL_ERROR_NONFINITE, "expert %d would require the bias %g",
                               (int)e, (double)difference);
    required[e * stride] = difference;
  }
  return PHIBAL_OK;
}

phibal_status phibal_reference_quantile_required(const phibal_router *router, int64_t tokens,
                                                 const float *logits, const float *bias,
                                                 const uint8_t *mask, float *required) {
  const char *name = "phibal_reference_quantile_required";
  if (!router || !logits || !required)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null argument", name);
  if (tokens < 0 || tokens > PHIBAL_REFERENCE_QUANTILE_TOKENS || router->active >= router->experts)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: %d of %d experts, %lld tokens", name,
                             (int)router->active, (int)router->experts, (long long)tokens);
  if (router->group_score != PHIBAL_GROUP_NONE)
    return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED, "%s: groups of experts", name);
  phibal_router beyond = *router;
  beyond.active = router->active + 1;
  phibal_reference_token t;
  TRY(phibal_reference_token_init(&t, beyond.experts, beyond.active, REQUIRED_PRECISION));
  phibal_status status = PHIBAL_OK;
  for (int64_t i = 0; status == PHIBAL_OK && i < tokens; i++)
    if (!mask || mask[i])
      status =
          token_required(&t, &beyond, logits + i * router->experts, bias, tokens, required + i);
    else
      for (int32_t e = 0; e < router->experts; e++) required[e * tokens + i] = INFINITY;
  phibal_reference_token_clear(&t);
  return status;
}
