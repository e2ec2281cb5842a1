/* The state and the biases of balancing: (M1), (L6), and the frequencies' price (L3). */
#include "../core/exact_sum.h"
#include "balance_check.h"

/* (1 - eta) m + eta loads, correctly rounded. The products of two binary32 are exact in binary64;
   m - eta m is exact as h + l, h >= 0, |l| <= 2^-53 h; h + b is exact as s + t. What is left, t +
   l, only breaks ties: its exact two-part sum is folded in before the one rounding. */
static float ema_element(double eta, double m, double loads) {
  core_dd kept = core_two_sum(m, -eta * m);
  core_dd sum = core_two_sum(kept.hi, eta * loads);
  core_dd rest = core_two_sum(sum.lo, kept.lo);
  core_dd top = core_two_sum(sum.hi, rest.hi);
  core_dd tail = core_two_sum(top.lo, rest.lo);
  return core_dd_to_float(core_two_sum(top.hi, tail.hi));
}

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
    next[e] = ema_element((double)eta, (double)m[e], (double)loads[e]);
  return PHIBAL_OK;
}

/* Fixed point for 2^10 sums of 2^10 times a finite binary32: units of 2^-160, below 2^192. */
enum { FREQUENCY_LIMBS = 10, FREQUENCY_TOP = 128 };

typedef struct signed_sum {
  uint64_t positive[FREQUENCY_LIMBS], negative[FREQUENCY_LIMBS];
} signed_sum;

/* sum += x, |x| < 2^140 exact in binary64. */
static void signed_sum_add(signed_sum *sum, double x) {
  core_exact_add(x < 0 ? sum->negative : sum->positive, FREQUENCY_LIMBS, FREQUENCY_TOP,
                 core_abs(x));
}

/* positive - negative, relative error <= 2^-95: subtracted as integers. */
static core_dd signed_sum_value(signed_sum *sum) {
  core_exact_carry(sum->positive, FREQUENCY_LIMBS);
  core_exact_carry(sum->negative, FREQUENCY_LIMBS);
  int first = 0;
  while (first < FREQUENCY_LIMBS - 1 && sum->positive[first] == sum->negative[first]) first++;
  int sign = sum->positive[first] < sum->negative[first];
  uint64_t *large = sign ? sum->negative : sum->positive;
  const uint64_t *small = sign ? sum->positive : sum->negative;
  uint64_t borrow = 0;
  for (int j = FREQUENCY_LIMBS - 1; j >= 0; j--) {
    uint64_t take = small[j] + borrow;
    borrow = j > 0 && large[j] < take;
    large[j] += (borrow << 32) - take;
  }
  core_dd value = core_exact_value(large, FREQUENCY_LIMBS, FREQUENCY_TOP);
  return sign ? core_dd_neg(value) : value;
}

phibal_status phibal_frequency_centred(int32_t experts, const float *frequency, float *centred) {
  const char *function = "phibal_frequency_centred";
  if (!frequency || !centred) return balance_null(function);
  phibal_status status = balance_check_experts(function, experts);
  if (status == PHIBAL_OK)
    status = balance_check_vector(function, "frequency", experts, frequency, -INFINITY);
  if (status != PHIBAL_OK) return status;
  signed_sum minus_total = {0};
  for (int32_t e = 0; e < experts; e++) signed_sum_add(&minus_total, -(double)frequency[e]);
  for (int32_t e = 0; e < experts; e++) {
    /* (E f_e - sum f) / E: the numerator exact, then the value's 2^-95 and the quotient's 2^-104.
     */
    signed_sum numerator = minus_total;
    signed_sum_add(&numerator, (double)experts * (double)frequency[e]);
    centred[e] = core_dd_to_float(core_dd_div_d(signed_sum_value(&numerator), (double)experts));
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
