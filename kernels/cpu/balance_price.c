/* Prices, centred prices, and the loss that they make: (M2), (M3), (L1). */
#include "../core/balance.h"
#include "balance_check.h"
#include <stddef.h>

static phibal_status price_check(const char *function, const phibal_potential *potential,
                                 int32_t experts, const float *m, const void *output) {
  if (!potential || !m || !output) return balance_null(function);
  phibal_status status = phibal_potential_check(potential);
  if (status == PHIBAL_OK) status = balance_check_experts(function, experts);
  if (status == PHIBAL_OK) status = balance_check_vector(function, "m", experts, m, 0.0f);
  return status;
}

static void price_count_floored(const core_price *price, int32_t experts, const float *m,
                                int32_t *floored) {
  if (!floored) return;
  *floored = 0;
  for (int32_t e = 0; e < experts; e++) *floored += (double)m[e] < price->smallest;
}

phibal_status phibal_price(const phibal_potential *potential, int32_t experts, const float *m,
                           float *price, int32_t *floored) {
  phibal_status status = price_check("phibal_price", potential, experts, m, price);
  if (status != PHIBAL_OK) return status;
  core_dd scratch[PHIBAL_MAX_EXPERTS];
  core_price plan = core_price_prepare(*potential, CORE_PRICE_FULL, experts, m, scratch);
  price_count_floored(&plan, experts, m, floored);
  /* The double-double is good to 2^-90: with the rounding, 1/2 + 2^-60 ULP. */
  for (int32_t e = 0; e < experts; e++) price[e] = core_dd_to_float(core_price_value(&plan, m[e]));
  return PHIBAL_OK;
}

/* The reduced prices of all experts minus that of the first: still a constant offset, and exactly 0
   where all m are equal. */
static void price_differences(const core_price *plan, int32_t experts, const float *m,
                              core_dd *difference) {
  core_dd first = core_price_value(plan, m[0]);
  difference[0] = core_dd_from(0.0);
  for (int32_t e = 1; e < experts; e++)
    difference[e] =
        m[e] == m[0] ? core_dd_from(0.0) : core_dd_sub(core_price_value(plan, m[e]), first);
}

phibal_status phibal_price_centred(const phibal_potential *potential, int32_t experts,
                                   const float *m, float *centred, int32_t *floored) {
  phibal_status status = price_check("phibal_price_centred", potential, experts, m, centred);
  if (status != PHIBAL_OK) return status;
  core_dd difference[PHIBAL_MAX_EXPERTS], sum[PHIBAL_MAX_EXPERTS];
  core_price plan = core_price_prepare(*potential, CORE_PRICE_REDUCED, experts, m, sum);
  price_count_floored(&plan, experts, m, floored);
  price_differences(&plan, experts, m, difference);
  for (int32_t e = 0; e < experts; e++) sum[e] = difference[e];
  /* Each reduced price is good to 2^-94 of itself where binary32 holds it, at most twice the
     largest after the subtraction of the first; the tree adds 31 u^2 of the mean magnitude, the
     rest 6 u^2: 2^-92 of the largest price in all. */
  core_dd mean = core_dd_div_d(core_dd_tree_sum(sum, experts), (double)experts);
  for (int32_t e = 0; e < experts; e++)
    centred[e] = core_price_unshift(&plan, core_dd_sub(difference[e], mean));
  return PHIBAL_OK;
}

phibal_status phibal_balance_loss(const phibal_potential *potential, int32_t experts, double alpha,
                                  const float *loads, const float *m, float *loss) {
  const char *function = "phibal_balance_loss";
  if (!loads) return balance_null(function);
  phibal_status status = price_check(function, potential, experts, m, loss);
  if (status == PHIBAL_OK) status = balance_check_vector(function, "load", experts, loads, 0.0f);
  if (status == PHIBAL_OK) status = balance_check_scale(function, "alpha", alpha);
  if (status != PHIBAL_OK) return status;
  core_dd term[PHIBAL_MAX_EXPERTS];
  core_price plan = core_price_prepare(*potential, CORE_PRICE_FULL, experts, m, term);
  for (int32_t e = 0; e < experts; e++) {
    core_dd price = core_price_value(&plan, m[e]);
    if (loads[e] > 0.0f && alpha != 0.0 && price.hi > 0x1p800) {
      *loss = (float)(alpha < 0 ? -CORE_INFINITY : CORE_INFINITY);
      return PHIBAL_OK;
    }
    term[e] = loads[e] > 0.0f ? core_dd_mul_d(price, (double)loads[e]) : core_dd_from(0.0);
  }
  /* Terms 2^-93 of themselves, the tree 31 u^2 of the sum of their absolute values. */
  core_dd sum = core_dd_mul_d(core_dd_tree_sum(term, experts), (double)experts);
  *loss = core_loss(sum, alpha);
  return PHIBAL_OK;
}
