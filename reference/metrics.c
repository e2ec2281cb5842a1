/* How balanced? MaxVio (V1), (V2), Gini (V3), entropy (V4). */
#include "operation.h"

static phibal_status metric_check(const char *name, int32_t experts, const void *x,
                                  mpfr_prec_t precision, const void *result) {
  if (!x || !result) return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null argument", name);
  return operation_check_experts(name, experts, precision);
}

static phibal_status metric_check_element(const char *name, int32_t e, double x) {
  if (x >= 0.0 && isfinite(x)) return PHIBAL_OK;
  return phibal_status_set(PHIBAL_ERROR_DOMAIN,
                           "%s: the load of expert %d is %g; it must be finite and >= 0", name,
                           (int)e, x);
}

/* total = sum of the loads, which must not be 0; x [E] receives them; *largest the largest. */
static phibal_status metric_loads(const char *name, int32_t experts, const float *single,
                                  const double *wide, phibal_enclosure *x, phibal_enclosure *total,
                                  double *largest) {
  *largest = 0.0;
  for (int32_t e = 0; e < experts; e++) {
    double load = single ? (double)single[e] : wide[e];
    TRY(metric_check_element(name, e, load));
    phibal_enclosure_set_d(&x[e], load);
    if (load > *largest) *largest = load;
  }
  if (*largest == 0.0)
    return phibal_status_set(PHIBAL_ERROR_DOMAIN, "%s: every load is 0, so there is no mean", name);
  return phibal_enclosure_sum(total, (size_t)experts, x);
}

/* maxvio = (E largest - total) / total, where the numerator cancels least. */
static phibal_status maxvio_compute(int32_t experts, const phibal_enclosure *largest,
                                    const phibal_enclosure *total, phibal_enclosure *t,
                                    phibal_enclosure *maxvio) {
  phibal_enclosure_set_si(t, experts);
  TRY(phibal_enclosure_mul(t, t, largest));
  TRY(phibal_enclosure_sub(t, t, total));
  return phibal_enclosure_div(maxvio, t, total);
}

/* Integers: E max and the sum are exact in 128 bits. t[0..2] are temporaries of so many. */
static phibal_status maxvio_counts(const char *name, int32_t experts, const int64_t *count,
                                   phibal_enclosure *t, phibal_enclosure *maxvio) {
  int64_t largest = 0;
  phibal_enclosure_set_si(&t[1], 0);
  for (int32_t e = 0; e < experts; e++) {
    if (count[e] < 0)
      return phibal_status_set(PHIBAL_ERROR_DOMAIN,
                               "%s: the count of expert %d is %lld; it must be >= 0", name, (int)e,
                               (long long)count[e]);
    if (count[e] > largest) largest = count[e];
    phibal_enclosure_set_si(&t[0], (long)count[e]);
    TRY(phibal_enclosure_add(&t[1], &t[1], &t[0]));
  }
  if (largest == 0)
    return phibal_status_set(PHIBAL_ERROR_DOMAIN, "%s: every count is 0, so there is no mean",
                             name);
  phibal_enclosure_set_si(&t[0], (long)largest);
  return maxvio_compute(experts, &t[0], &t[1], &t[2], maxvio);
}

phibal_status phibal_reference_maxvio_counts(int32_t experts, const int64_t *count,
                                             mpfr_prec_t precision, phibal_enclosure *maxvio) {
  const char *name = "phibal_reference_maxvio_counts";
  TRY(metric_check(name, experts, count, precision, maxvio));
  phibal_enclosure *t;
  TRY(operation_scratch(name, 3, precision > 128 ? precision : 128, &t));
  phibal_status status = maxvio_counts(name, experts, count, t, maxvio);
  operation_scratch_clear(t, 3);
  return status;
}

static phibal_status maxvio_mean(const char *name, int32_t experts, const float *mean,
                                 phibal_enclosure *t, phibal_enclosure *maxvio) {
  double largest;
  TRY(metric_loads(name, experts, mean, NULL, t + 3, &t[1], &largest));
  phibal_enclosure_set_d(&t[0], largest);
  return maxvio_compute(experts, &t[0], &t[1], &t[2], maxvio);
}

phibal_status phibal_reference_maxvio_mean(int32_t experts, const float *mean,
                                           mpfr_prec_t precision, phibal_enclosure *maxvio) {
  const char *name = "phibal_reference_maxvio_mean";
  TRY(metric_check(name, experts, mean, precision, maxvio));
  phibal_enclosure *t;
  size_t n = (size_t)experts + 3;
  TRY(operation_scratch(name, n, precision, &t));
  phibal_status status = maxvio_mean(name, experts, mean, t, maxvio);
  operation_scratch_clear(t, n);
  return status;
}

/* t[0] = sum over pairs i < j of |x_i - x_j|: half the double sum of (V3). */
static phibal_status gini_pairs(int32_t experts, const phibal_enclosure *x, phibal_enclosure *t) {
  phibal_enclosure_set_si(&t[0], 0);
  for (int32_t i = 0; i < experts; i++)
    for (int32_t j = i + 1; j < experts; j++) {
      TRY(phibal_enclosure_sub(&t[2], &x[i], &x[j]));
      phibal_enclosure_abs(&t[2], &t[2]);
      TRY(phibal_enclosure_add(&t[0], &t[0], &t[2]));
    }
  return PHIBAL_OK;
}

static phibal_status gini_compute(const char *name, int32_t experts, const double *x,
                                  phibal_enclosure *t, phibal_enclosure *gini) {
  double largest;
  TRY(metric_loads(name, experts, NULL, x, t + 3, &t[1], &largest));
  TRY(gini_pairs(experts, t + 3, t));
  phibal_enclosure_set_si(&t[2], experts);
  TRY(phibal_enclosure_mul(&t[1], &t[1], &t[2]));
  return phibal_enclosure_div(gini, &t[0], &t[1]);
}

phibal_status phibal_reference_gini(int32_t experts, const double *x, mpfr_prec_t precision,
                                    phibal_enclosure *gini) {
  const char *name = "phibal_reference_gini";
  TRY(metric_check(name, experts, x, precision, gini));
  phibal_enclosure *t;
  size_t n = (size_t)experts + 3;
  TRY(operation_scratch(name, n, precision > 64 ? precision : 64, &t));
  phibal_status status = gini_compute(name, experts, x, t, gini);
  operation_scratch_clear(t, n);
  return status;
}

/* t[0] -= share log share with share = x / total, 0 log 0 = 0. */
static phibal_status entropy_subtract(const phibal_enclosure *x, const phibal_enclosure *total,
                                      phibal_enclosure *t) {
  if (phibal_enclosure_is_zero(x)) return PHIBAL_OK;
  TRY(phibal_enclosure_div(&t[2], x, total));
  TRY(phibal_enclosure_log(&t[3], &t[2]));
  TRY(phibal_enclosure_mul(&t[2], &t[2], &t[3]));
  return phibal_enclosure_sub(&t[0], &t[0], &t[2]);
}

static phibal_status entropy_compute(const char *name, int32_t experts, const double *x,
                                     phibal_enclosure *t, phibal_enclosure *entropy) {
  double largest;
  TRY(metric_loads(name, experts, NULL, x, t + 4, &t[1], &largest));
  phibal_enclosure_set_si(&t[0], 0);
  for (int32_t e = 0; e < experts; e++) TRY(entropy_subtract(&t[4 + e], &t[1], t));
  phibal_enclosure_set(entropy, &t[0]);
  return PHIBAL_OK;
}

phibal_status phibal_reference_entropy(int32_t experts, const double *x, mpfr_prec_t precision,
                                       phibal_enclosure *entropy) {
  const char *name = "phibal_reference_entropy";
  TRY(metric_check(name, experts, x, precision, entropy));
  phibal_enclosure *t;
  size_t n = (size_t)experts + 4;
  TRY(operation_scratch(name, n, precision > 64 ? precision : 64, &t));
  phibal_status status = entropy_compute(name, experts, x, t, entropy);
  operation_scratch_clear(t, n);
  return status;
}
