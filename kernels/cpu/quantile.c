/* Quantile balancing (L7), (L8): biases from the order statistics of "cut-off - score".

   An order statistic is found by counting. Binary32 numbers have integer keys of the same order, so
   32 halvings of the keys' range end at the least number that `place` of them do not exceed. A
   halving needs one count for each expert: integers, which threads and ranks add up in any order,
   and nothing is sorted, kept in bins or interpolated. */
#include "../core/balance.h"
#include "balance_check.h"
#include "router_tile.h"
#include "select.h"
#include "select_scores.h"
#include <phibal/quantile.h>

#define QUANTILE_TOKENS ((int64_t)1 << 43) /* k n <= 2^53 */

/* Where `required` goes wrong first. */
typedef struct required_failure {
  int64_t token; /* INT64_MAX: nowhere */
  int32_t expert;
} required_failure;

/* (L7) of one token: a - s_e for every expert. False, with the expert, where a logit is not finite
   or a difference is beyond binary32. */
static bool required_token(const phibal_router *router, const float *x, const float *bias,
                           int64_t stride, float *required, int32_t *expert) {
  const int32_t experts = router->experts, cut = router->active + 1;
  double score[PHIBAL_MAX_EXPERTS];
  _Alignas(64) int64_t key[PHIBAL_MAX_EXPERTS];
  int32_t selected[PHIBAL_MAX_EXPERTS];
  int64_t lost = 0;
  *expert = first_not_finite(experts, x);
  if (*expert >= 0) return false;
  for (int32_t e = 0; e < experts; e++) {
    score[e] = select_score(router->gate, x[e], bias ? (double)bias[e] : 0.0);
    key[e] = select_key(score[e], e, &lost);
  }
  if (lost != 0)
    select_by_scores(experts, cut, score, selected);
  else
    select_row(experts, cut, key, selected);
  const double cutoff = score[selected[cut - 1]];
  for (int32_t e = 0; e < experts; e++) {
    required[e * stride] = (float)(cutoff - select_score(router->gate, x[e], 0.0));
    if (!isfinite(required[e * stride]) && *expert < 0) *expert = e;
  }
  return *expert < 0;
}

phibal_status phibal_quantile_required(const phibal_router *router, int64_t tokens,
                                       const float *logits, const float *bias, const uint8_t *mask,
                                       int64_t stride, float *required) {
  const char *function = "phibal_quantile_required";
  phibal_status status = router_check(function, router, tokens);
  if (status) return status;
  if (router->group_score != PHIBAL_GROUP_NONE || router->selection == PHIBAL_SELECTION_GIVEN)
    return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                             "%s: what a bias would need to select an expert is not known in "
                             "groups, nor where the selection is given",
                             function);
  if (router->score != PHIBAL_SCORE_OF_GATE)
    return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                             "%s: quantiles of probabilities are not supported", function);
  if (router->active == router->experts)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "%s: all %d experts are active, so that there is no cut-off", function,
                             (int)router->experts);
  if (tokens > QUANTILE_TOKENS || stride < tokens)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: %lld tokens in rows of %lld", function,
                             (long long)tokens, (long long)stride);
  if (tokens > 0 && (!logits || !required)) return balance_null(function);
  const int32_t bad = first_not_finite(router->experts, bias);
  if (bad >= 0)
    return phibal_status_set(PHIBAL_ERROR_NONFINITE,
                             "%s: the bias of expert %d is %g, not a finite number", function, bad,
                             (double)bias[bad]);
  const int32_t experts = router->experts;
  required_failure first = {INT64_MAX, 0};
#pragma omp parallel for schedule(static) if (tokens >= 64)
  for (int64_t t = 0; t < tokens; t++) {
    int32_t expert;
    if (mask && mask[t] == 0) {
      for (int32_t e = 0; e < experts; e++) required[e * stride + t] = INFINITY;
    } else if (!required_token(router, logits + t * experts, bias, stride, required + t, &expert)) {
#pragma omp critical(phibal_quantile_failure)
      if (t < first.token) first = (required_failure){t, expert};
    }
  }
  if (first.token == INT64_MAX) return phibal_environment_check(function);
  const float x = logits[first.token * experts + first.expert];
  return phibal_status_set(PHIBAL_ERROR_NONFINITE,
                           isfinite(x) ? "%s: the cut-off of token %lld less its score for expert "
                                         "%d is beyond binary32; its logit is %g"
                                       : "%s: the logit of token %lld for expert %d is %g, not a "
                                         "finite number",
                           function, (long long)first.token, (int)first.expert, (double)x);
}

static int64_t at_most(int64_t n, const float *x, float bound) {
  int64_t count = 0;
#pragma omp simd reduction(+ : count)
  for (int64_t i = 0; i < n; i++) count += x[i] <= bound;
  return count;
}

static phibal_status check_rows(const char *function, int32_t experts, int64_t tokens,
                                int64_t stride, const float *required) {
  phibal_status status = balance_check_experts(function, experts);
  if (status) return status;
  if (tokens < 0 || tokens > QUANTILE_TOKENS || stride < tokens)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: %lld tokens in rows of %lld", function,
                             (long long)tokens, (long long)stride);
  if (tokens > 0 && !required) return balance_null(function);
  for (int32_t e = 0; e < experts; e++)
    for (int64_t t = 0; t < tokens; t++)
      if (isnan(required[e * stride + t]))
        return phibal_status_set(PHIBAL_ERROR_DOMAIN, "%s: number %lld of expert %d is NaN",
                                 function, (long long)t, (int)e);
  return PHIBAL_OK;
}

phibal_status phibal_quantile(int32_t experts, int64_t tokens, int64_t stride,
                              const float *required, int64_t place,
                              const phibal_quantile_ranks *ranks, float *quantile) {
  const char *function = "phibal_quantile";
  if (!quantile) return balance_null(function);
  phibal_status status = check_rows(function, experts, tokens, stride, required);
  /* A rank that refuses its numbers says so to the others, which wait for its counts. */
  int64_t refused = status != PHIBAL_OK;
  if (ranks) ranks->sum(ranks->context, 1, &refused);
  if (status) return status;
  if (refused)
    return phibal_status_set(PHIBAL_ERROR_DOMAIN, "%s: another rank refuses its numbers", function);
  if (place < 1 || place > QUANTILE_TOKENS)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: place %lld", function, (long long)place);
  /* The number is that of a key in low .. high: of finite ones -0x7f800000 .. 0x7f7fffff. -0 and
     +0, which have neighbouring keys, are equal, so that whatever counts one counts the other. */
  int32_t low[PHIBAL_MAX_EXPERTS], high[PHIBAL_MAX_EXPERTS];
  int64_t count[PHIBAL_MAX_EXPERTS];
  const int32_t none = 0x7f800000; /* that of +infinity */
  for (int32_t e = 0; e < experts; e++) {
    low[e] = -0x7f800000;
    high[e] = none;
  }
  for (int round = 0; round < 32; round++) {
#pragma omp parallel for schedule(static) if (experts * tokens > 65536)
    for (int32_t e = 0; e < experts; e++) {
      const int32_t middle = (int32_t)(((int64_t)low[e] + high[e]) >> 1);
      count[e] = at_most(tokens, required + e * stride, core_float_from_key(middle));
    }
    if (ranks) ranks->sum(ranks->context, experts, count);
    for (int32_t e = 0; e < experts; e++) {
      const int32_t middle = (int32_t)(((int64_t)low[e] + high[e]) >> 1);
      if (low[e] == high[e]) continue;
      if (count[e] >= place)
        high[e] = middle;
      else
        low[e] = middle + 1;
    }
  }
  for (int32_t e = 0; e < experts; e++) {
    if (low[e] == none)
      return phibal_status_set(PHIBAL_ERROR_DOMAIN,
                               "%s: expert %d has fewer than %lld tokens that are not padding",
                               function, (int)e, (long long)place);
    quantile[e] = core_float_from_key(low[e]) + 0.0f;
  }
  return phibal_environment_check(function);
}

static phibal_status check_bins(const char *function, float low, float high, int32_t bins) {
  if (isfinite(low) && isfinite(high) && low < high && bins >= 1 &&
      bins <= PHIBAL_QUANTILE_MAX_BINS)
    return PHIBAL_OK;
  return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: %d bins from %g to %g", function, (int)bins,
                           (double)low, (double)high);
}

static double bin_width(float low, float high, int32_t bins) {
  return ((double)high - (double)low) / (double)bins;
}

phibal_status phibal_quantile_histogram(int32_t experts, int64_t tokens, int64_t stride,
                                        const float *required, float low, float high, int32_t bins,
                                        int64_t *count) {
  const char *function = "phibal_quantile_histogram";
  if (!count) return balance_null(function);
  phibal_status status = check_rows(function, experts, tokens, stride, required);
  if (!status) status = check_bins(function, low, high, bins);
  if (status) return status;
  const double width = bin_width(low, high, bins);
  for (int32_t e = 0; e < experts; e++)
    for (int64_t t = 0; t < tokens; t++) {
      const float r = required[e * stride + t];
      if (r == INFINITY) continue;
      if (r < low || r > high)
        return phibal_status_set(PHIBAL_ERROR_DOMAIN,
                                 "%s: number %lld of expert %d is %g, outside %g to %g", function,
                                 (long long)t, (int)e, (double)r, (double)low, (double)high);
      const double place = ((double)r - (double)low) / width; /* at most bins, or rounded above */
      const int32_t i = place < (double)bins ? (int32_t)place : bins - 1;
      count[(int64_t)e * bins + i]++;
    }
  return phibal_environment_check(function);
}

/* u = 2^-53. A number's place (r - low) / width carries three roundings, so the bins that are
   counted have their edges within (1 + 3 u B) of where they should be; rounding keeps order, so the
   order statistic of (L7) is in the bin where the count reaches its place: with kn/E not above it,
   and above all the bins before. So is the result, up to its own three roundings: the distance is
   at most width (1 + 8 u B) before the last rounding, and B <= 2^20. */
phibal_status phibal_quantile_interpolated(int32_t experts, int32_t active, float low, float high,
                                           int32_t bins, const int64_t *count, float *quantile) {
  const char *function = "phibal_quantile_interpolated";
  if (!count || !quantile) return balance_null(function);
  phibal_status status = balance_check_experts(function, experts);
  if (!status) status = check_bins(function, low, high, bins);
  if (status) return status;
  if (active < 1 || active > experts)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: %d active experts of %d", function,
                             (int)active, (int)experts);
  const double width = bin_width(low, high, bins);
  int64_t tokens = 0;
  for (int32_t e = 0; e < experts; e++) {
    const int64_t *row = count + (int64_t)e * bins;
    int64_t sum = 0;
    for (int32_t i = 0; i < bins; i++) {
      if (row[i] < 0 || row[i] > QUANTILE_TOKENS - sum)
        return phibal_status_set(PHIBAL_ERROR_DOMAIN, "%s: bin %d of expert %d has %lld tokens",
                                 function, (int)i, (int)e, (long long)row[i]);
      sum += row[i];
    }
    if (e == 0) tokens = sum;
    if (sum == 0 || sum != tokens)
      return phibal_status_set(PHIBAL_ERROR_DOMAIN,
                               "%s: %lld tokens for expert %d and %lld for expert 0; they must be "
                               "as many for each, and not 0",
                               function, (long long)sum, (int)e, (long long)tokens);
    /* The first bin at whose end E times the count is k n or more. */
    int64_t before = 0;
    int32_t i = 0;
    while ((before + row[i]) * experts < (int64_t)active * tokens) before += row[i++];
    const double share =
        (double)((int64_t)active * tokens - before * experts) / ((double)row[i] * (double)experts);
    quantile[e] = (float)((double)low + ((double)i + share) * width);
  }
  return phibal_environment_check(function);
}

phibal_status phibal_quantile_bias(int32_t experts, float eta, const float *quantile, float *bias) {
  const char *function = "phibal_quantile_bias";
  if (!quantile || !bias) return balance_null(function);
  phibal_status status = balance_check_experts(function, experts);
  if (status == PHIBAL_OK && !(eta > 0.0f && eta <= 1.0f))
    status = phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: eta is %g; it must be in (0, 1]",
                               function, (double)eta);
  if (!status) status = balance_check_vector(function, "bias", experts, bias, -INFINITY);
  if (!status) status = balance_check_vector(function, "quantile", experts, quantile, -INFINITY);
  float centred[PHIBAL_MAX_EXPERTS];
  if (!status) status = phibal_frequency_centred(experts, quantile, centred);
  if (!status)
    status = balance_check_vector(function, "centred quantile", experts, centred, -INFINITY);
  if (status) return status;
  for (int32_t e = 0; e < experts; e++)
    bias[e] = core_ema_element((double)eta, (double)bias[e], (double)centred[e]);
  return phibal_environment_check(function);
}
