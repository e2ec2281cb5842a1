/* The state and the biases of balancing: (M1), (L6), and the frequencies' price (L3). */
#include "../core/balance.h"
#include "balance_check.h"

phibal_status phibal_ema(int32_t experts, float eta, const float *m, const float *loads,
                         float *next) {
  const char *function = "phibal_ema";
  if (!m || !loads || !next) return balance_null(function);
  phibal_status status = balance_check_experts(function, experts);
  if (status == PHIBAL_OK && !(eta > 0.0f && eta <= 1.0f))
    status = phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: eta is %g; it must be in (0, 1]",
                               function, (double)eta);
  if (status == PHIBAL_OK) status = balance_check_vector(function, "m", experts, m, 0.0f);
  if (status == PHIBAL_OK) status = balance_check_vector(function, "load", experts, loads, 0.0f);
  if (status != PHIBAL_OK) return status;
  for (int32_t e = 0; e < experts; e++)
    next[e] = core_ema_element((double)eta, (double)m[e], (double)loads[e]);
  return PHIBAL_OK;
}

phibal_status phibal_frequency_centred(int32_t experts, const float *frequency, float *centred) {
  const char *function = "phibal_frequency_centred";
  if (!frequency || !centred) return balance_null(function);
  phibal_status status = balance_check_experts(function, experts);
  if (status == PHIBAL_OK)
    status = balance_check_vector(function, "frequency", experts, frequency, -INFINITY);
  if (status != PHIBAL_OK) return status;
  core_signed_sum minus_total = {0};
  for (int32_t e = 0; e < experts; e++) core_signed_sum_add(&minus_total, -(double)frequency[e]);
  for (int32_t e = 0; e < experts; e++) {
    /* (E f_e - sum f) / E: the numerator exact, then the value's 2^-95 and the quotient's 2^-104.
     */
    core_signed_sum numerator = minus_total;
    core_signed_sum_add(&numerator, (double)experts * (double)frequency[e]);
    core_dd value = core_signed_sum_value(&numerator);
    centred[e] = core_dd_to_float(core_dd_div_d(value, (double)experts));
  }
  return PHIBAL_OK;
}

static phibal_status loss_free_check(const char *function, int32_t experts, const int64_t *count) {
  int64_t total = 0;
  for (int32_t e = 0; e < experts; e++) {
    if (count[e] < 0 || count[e] > (INT64_C(1) << 53) - total)
      return phibal_status_set(PHIBAL_ERROR_DOMAIN,
                               "%s: count of expert %d is %lld; counts must not be negative, and "
                               "their sum at most 2^53",
                               function, (int)e, (long long)count[e]);
    total += count[e];
  }
  return PHIBAL_OK;
}

phibal_status phibal_loss_free_update(int32_t experts, float rate, const int64_t *count,
                                      float *bias) {
  const char *function = "phibal_loss_free_update";
  if (!count || !bias) return balance_null(function);
  phibal_status status = balance_check_experts(function, experts);
  if (status == PHIBAL_OK) status = balance_check_scale(function, "rate", (double)rate);
  if (status == PHIBAL_OK) status = loss_free_check(function, experts, count);
  if (status != PHIBAL_OK) return status;
  int64_t total = 0;
  for (int32_t e = 0; e < experts; e++) total += count[e];
  for (int32_t e = 0; e < experts; e++) {
    int64_t share = count[e] * experts; /* below 2^63 */
    if (share < total) bias[e] += rate;
    if (share > total) bias[e] -= rate;
  }
  return PHIBAL_OK;
}
