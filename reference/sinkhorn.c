/* Sinkhorn's scaling (L10): the equation, round by round. Not under contract. */
#include "operation.h"
#include <phibal/reference_sinkhorn.h>

/* z = 1 / (n sum of the products of x, stride by stride, and y), over those that are marked. */
static phibal_status scale(int64_t n, int64_t terms, const phibal_enclosure *x, int64_t stride,
                           const phibal_enclosure *y, const uint8_t *mask, phibal_enclosure t[2],
                           phibal_enclosure *z) {
  phibal_enclosure_set_si(&t[0], 0);
  for (int64_t i = 0; i < terms; i++) {
    if (mask && !mask[i]) continue;
    TRY(phibal_enclosure_mul(&t[1], &x[i * stride], &y[i]));
    TRY(phibal_enclosure_add(&t[0], &t[0], &t[1]));
  }
  phibal_enclosure_set_si(&t[1], n);
  TRY(phibal_enclosure_mul(&t[0], &t[0], &t[1]));
  phibal_enclosure_set_si(&t[1], 1);
  return phibal_enclosure_div(z, &t[1], &t[0]);
}

phibal_status phibal_reference_sinkhorn(int64_t tokens, int32_t experts, int32_t rounds,
                                        const float *logits, const uint8_t *mask,
                                        mpfr_prec_t precision, phibal_enclosure *plan) {
  const char *name = "phibal_reference_sinkhorn";
  if (tokens < 0 || rounds < 1 || !logits || !plan)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "%s: %lld tokens, %d rounds, or a null argument", name,
                             (long long)tokens, (int)rounds);
  TRY(operation_check_experts(name, experts, precision));
  phibal_enclosure *v;
  TRY(operation_scratch(name, (size_t)(tokens + experts + 2), precision, &v));
  phibal_enclosure *r = v, *d = v + tokens, *t = d + experts;
  phibal_status status = PHIBAL_OK;
  int64_t live = 0;
  for (int64_t i = 0; !status && i < tokens; i++) {
    if (mask && !mask[i]) continue;
    live++;
    status = operation_check_finite(name, "the logits", experts, logits + i * experts);
    for (int32_t e = 0; !status && e < experts; e++) {
      operation_set_float(&t[0], logits[i * experts + e]);
      phibal_enclosure_exp(&plan[i * experts + e], &t[0]);
    }
  }
  for (int32_t e = 0; e < experts; e++) phibal_enclosure_set_si(&d[e], 1);
  for (int32_t round = 0; !status && live > 0 && round < rounds; round++) {
    for (int64_t i = 0; !status && i < tokens; i++)
      if (!mask || mask[i]) status = scale(live, experts, plan + i * experts, 1, d, NULL, t, &r[i]);
    for (int32_t e = 0; !status && e < experts; e++)
      status = scale(experts, tokens, plan + e, experts, r, mask, t, &d[e]);
  }
  for (int64_t i = 0; !status && i < tokens * experts; i++) {
    if (mask && !mask[i / experts]) {
      phibal_enclosure_set_si(&plan[i], 0);
      continue;
    }
    status = phibal_enclosure_mul(&plan[i], &plan[i], &r[i / experts]);
    if (!status) status = phibal_enclosure_mul(&plan[i], &plan[i], &d[i % experts]);
  }
  operation_scratch_clear(v, (size_t)(tokens + experts + 2));
  return status;
}
