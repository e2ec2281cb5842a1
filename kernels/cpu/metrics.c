/* How balanced is it (V1 to V4). u below is 2^-53. */
#include "../core/log64.h"
#include "../core/tree.h"
#include <phibal/environment.h>
#include <phibal/metrics.h>
#include <phibal/router.h>
#include <stdbool.h>

static phibal_status metric_check(const char *metric, int32_t experts, const void *x,
                                  const void *result) {
  if (experts < 1 || experts > PHIBAL_MAX_EXPERTS)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: %d experts, 1 to %d are possible", metric,
                             experts, PHIBAL_MAX_EXPERTS);
  if (!x || !result)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: an array or the result is null", metric);
  return phibal_environment_check(metric);
}

/* numerator / denominator, correctly rounded; 0 <= numerator < 2^63, 0 < denominator < 2^53. A
   numerator of 2^53 or more makes a quotient above 1, so that 64 bits after the point are more than
   binary64 keeps, and "odd if anything is cut off" rounds the rest once. */
static double integer_quotient(int64_t numerator, int64_t denominator) {
  if (numerator < (int64_t)1 << 53) return (double)numerator / (double)denominator;
  unsigned __int128 shifted = (unsigned __int128)numerator << 64;
  unsigned __int128 quotient = shifted / (uint64_t)denominator;
  bool inexact = shifted % (uint64_t)denominator != 0;
  double unit = 0x1p-64;
  while (quotient >> 64) {
    inexact |= (quotient & 1) != 0;
    quotient >>= 1;
    unit *= 2.0;
  }
  return (double)((uint64_t)quotient | inexact) * unit;
}

phibal_status phibal_maxvio_counts(int32_t experts, const int64_t *count, double *maxvio) {
  phibal_status status = metric_check("MaxVio of counts", experts, count, maxvio);
  if (status != PHIBAL_OK) return status;
  int64_t sum = 0, most = 0;
  for (int32_t e = 0; e < experts; e++) {
    if (count[e] < 0)
      return phibal_status_set(PHIBAL_ERROR_DOMAIN, "MaxVio: the count of expert %d is %lld", e,
                               (long long)count[e]);
    if (count[e] >= ((int64_t)1 << 53) - sum)
      return phibal_status_set(PHIBAL_ERROR_DOMAIN,
                               "MaxVio: the counts up to expert %d reach 2^53, which is too many",
                               e);
    sum += count[e];
    most = count[e] > most ? count[e] : most;
  }
  if (sum == 0)
    return phibal_status_set(PHIBAL_ERROR_DOMAIN, "MaxVio: all counts are 0, so there is no mean");
  *maxvio = integer_quotient(most * experts - sum, sum);
  return PHIBAL_OK;
}

/* high + low = a + b exactly. */
static inline void two_sum(double a, double b, double *high, double *low) {
  double sum = a + b;
  double part = sum - a;
  *low = (a - (sum - part)) + (b - part);
  *high = sum;
}

/* The sum is kept as high + low, |low| <= u |high|: each addition errs by 2 u^2 of it, E of them by
   2^-95. E max - sum is then high to u of itself, or exact where it cancels, and the quotient of
   two such pairs is corrected by its remainder: 1/2 ULP and a little, and 2^-90 where it cancels.
 */
phibal_status phibal_maxvio_mean(int32_t experts, const float *mean, double *maxvio) {
  phibal_status status = metric_check("MaxVio of mean probabilities", experts, mean, maxvio);
  if (status != PHIBAL_OK) return status;
  double high = 0.0, low = 0.0, most = 0.0;
  for (int32_t e = 0; e < experts; e++) {
    double p = (double)mean[e];
    if (!(p >= 0.0) || p == CORE_INFINITY)
      return phibal_status_set(PHIBAL_ERROR_DOMAIN,
                               "MaxVio: the mean probability of expert %d is %g", e, p);
    double rest;
    two_sum(high, p, &high, &rest);
    two_sum(high, low + rest, &high, &low);
    most = p > most ? p : most;
  }
  if (high == 0.0)
    return phibal_status_set(PHIBAL_ERROR_DOMAIN,
                             "MaxVio: all mean probabilities are 0, so there is no ratio");
  double above, rest;
  two_sum(most * (double)experts, -high, &above, &rest); /* 24 + 10 bits: the product is exact */
  two_sum(above, rest - low, &above, &rest);
  double quotient = above / high;
  double remainder = CORE_FMA(-quotient, high, above) + (rest - quotient * low);
  *maxvio = quotient + remainder / high;
  return PHIBAL_OK;
}

/* Sum of x >= 0; an error unless it is positive and finite. Each element passes at most ten
   additions of nonnegative numbers: within 10 u. x is copied to scratch [E]. */
static phibal_status metric_sum(const char *metric, int32_t experts, const double *x,
                                double *scratch, double *sum) {
  for (int32_t e = 0; e < experts; e++) {
    if (!(x[e] >= 0.0) || x[e] == CORE_INFINITY)
      return phibal_status_set(PHIBAL_ERROR_DOMAIN,
                               "%s: the load of expert %d is %g, it must be 0 or more and finite",
                               metric, e, x[e]);
    scratch[e] = x[e];
  }
  *sum = core_tree_sum(scratch, experts);
  if (*sum == 0.0 || *sum == CORE_INFINITY)
    return phibal_status_set(PHIBAL_ERROR_DOMAIN,
                             "%s: the loads add up to %g, a finite number above 0 is needed",
                             metric, *sum);
  return PHIBAL_OK;
}

/* Heap sort, upwards: in place, and E log E whatever the order was. */
static void sort_upwards(int32_t n, double *x) {
  for (int32_t start = n / 2, end = n; end > 1;) {
    double moved;
    if (start > 0) {
      moved = x[--start];
    } else {
      moved = x[--end];
      x[end] = x[0];
    }
    int32_t root = start;
    for (int32_t child = 2 * root + 1; child < end; child = 2 * root + 1) {
      if (child + 1 < end && x[child + 1] > x[child]) child++;
      if (x[child] <= moved) break;
      x[root] = x[child];
      root = child;
    }
    x[root] = moved;
  }
}

/* With x sorted upwards, sum_ij |x_i - x_j| / 2 = sum_i (2 i - E + 1) x_i for i = 0 .. E-1, and the
   i-th from both ends together weigh (E - 1 - 2 i) (x_(E-1-i) - x_i) >= 0: nothing cancels. A
   difference and a product err by u each, their tree by 9 u, the sum of x by 10 u, the last product
   and quotient by u each: 23 u of the result in the worst case, about 4 u in practice. */
phibal_status phibal_gini(int32_t experts, const double *x, double *gini) {
  phibal_status status = metric_check("Gini coefficient", experts, x, gini);
  if (status != PHIBAL_OK) return status;
  double sorted[PHIBAL_MAX_EXPERTS], term[PHIBAL_MAX_EXPERTS] = {0.0}, sum = 0.0;
  status = metric_sum("Gini coefficient", experts, x, term, &sum);
  if (status != PHIBAL_OK) return status;
  for (int32_t e = 0; e < experts; e++) sorted[e] = x[e];
  sort_upwards(experts, sorted);
  int32_t pairs = experts / 2;
  for (int32_t i = 0; i < pairs; i++)
    term[i] = (double)(experts - 1 - 2 * i) * (sorted[experts - 1 - i] - sorted[i]);
  *gini = pairs == 0 ? 0.0 : core_tree_sum(term, pairs) / (sum * (double)experts);
  return PHIBAL_OK;
}

/* With q = x / sum within 11 u, a term -q log q errs by 11 u q from its logarithm and by 14 u of
   itself, and their tree by 10 u: 11 u + 24 u H <= 2^-45 in all. Below 2^-1022 a q adds less than
   that can show. */
phibal_status phibal_entropy(int32_t experts, const double *x, double *entropy) {
  phibal_status status = metric_check("entropy", experts, x, entropy);
  if (status != PHIBAL_OK) return status;
  double term[PHIBAL_MAX_EXPERTS] = {0.0}, sum = 0.0;
  status = metric_sum("entropy", experts, x, term, &sum);
  if (status != PHIBAL_OK) return status;
  for (int32_t e = 0; e < experts; e++) {
    double q = x[e] / sum;
    term[e] = q < 0x1p-1022 ? 0.0 : 0.0 - q * core_log64(q);
  }
  *entropy = core_tree_sum(term, experts);
  return PHIBAL_OK;
}
