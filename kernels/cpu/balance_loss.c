/* The Switch loss (L3) and the z-loss (L5). */
#include "../core/balance.h"
#include "balance_check.h"

phibal_status phibal_switch_loss(int32_t experts, double alpha, const float *frequency,
                                 const float *loads, float *loss) {
  const char *function = "phibal_switch_loss";
  if (!frequency || !loads || !loss) return balance_null(function);
  phibal_status status = balance_check_experts(function, experts);
  if (status == PHIBAL_OK)
    status = balance_check_vector(function, "frequency", experts, frequency, 0.0f);
  if (status == PHIBAL_OK) status = balance_check_vector(function, "load", experts, loads, 0.0f);
  if (status == PHIBAL_OK) status = balance_check_scale(function, "alpha", alpha);
  if (status != PHIBAL_OK) return status;
  /* Products of two binary32 are exact; all terms are positive: the tree makes 31 u^2 of the sum,
     the two products 4 u^2, so that the one rounding decides: 1/2 + 2^-70 ULP. */
  core_dd term[PHIBAL_MAX_EXPERTS];
  for (int32_t e = 0; e < experts; e++)
    term[e] = core_dd_from((double)frequency[e] * (double)loads[e]);
  core_dd sum = core_dd_mul_d(core_dd_tree_sum(term, experts), (double)experts);
  *loss = core_loss(sum, alpha);
  return PHIBAL_OK;
}

phibal_status phibal_z_loss(int64_t tokens, double coefficient, const float *logsumexp,
                            const uint8_t *mask, float *loss) {
  const char *function = "phibal_z_loss";
  if (!loss || (tokens > 0 && !logsumexp)) return balance_null(function);
  if (tokens < 0)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: %lld tokens", function, (long long)tokens);
  phibal_status status = phibal_environment_check(function);
  if (status == PHIBAL_OK) status = balance_check_scale(function, "coefficient", coefficient);
  if (status != PHIBAL_OK) return status;
  uint64_t sum[CORE_SQUARE_LIMBS] = {0};
  int64_t n = 0;
  for (int64_t t = 0; t < tokens; t++) {
    if (mask && !mask[t]) continue;
    double x = (double)logsumexp[t];
    if (!isfinite(x))
      return phibal_status_set(PHIBAL_ERROR_NONFINITE,
                               "%s: logsumexp of token %lld is %g; logits must be finite", function,
                               (long long)t, x);
    core_exact_add(sum, CORE_SQUARE_LIMBS, CORE_SQUARE_TOP, x * x);
    if (++n % (INT64_C(1) << 31) == 0) core_exact_carry(sum, CORE_SQUARE_LIMBS);
  }
  if (n == 0) {
    *loss = 0.0f;
    return PHIBAL_OK;
  }
  core_exact_carry(sum, CORE_SQUARE_LIMBS);
  /* 2^-95 of the sum's reading, 18 u^2 of product and quotient, then the one rounding. */
  core_dd count = core_two_sum((double)(n >> 32) * 0x1p32, (double)(n & 0xffffffff));
  core_dd mean = core_dd_div(core_exact_value(sum, CORE_SQUARE_LIMBS, CORE_SQUARE_TOP), count);
  *loss = core_loss(mean, coefficient);
  return PHIBAL_OK;
}
