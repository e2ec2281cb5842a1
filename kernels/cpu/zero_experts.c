/* Experts that compute nothing (E10). One thread does a token whole: the same bits for any number
   of threads.

   A token's gates are added in binary64, slot after slot: of at most 2^10 the sum is within 2^-43
   of their absolute values. The product with a binary32 number and the addition are one fused
   operation of binary64, which is rounded to binary32 once: to 1.001 u of the terms. */
#include <phibal/environment.h>
#include <phibal/router.h>
#include <phibal/zero_experts.h>
#include <stdbool.h>
#include "dot.h"

static phibal_status zero_check(const char *function, phibal_zero_output output, int64_t tokens,
                                int32_t active, int32_t experts_count, int32_t zero_experts,
                                int64_t width, bool null, const int32_t *experts) {
  if (output != PHIBAL_ZERO_NULL && output != PHIBAL_ZERO_IDENTITY)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: no output %d", function, (int)output);
  if (tokens < 0 || active < 1 || active > PHIBAL_MAX_EXPERTS || experts_count < 1 ||
      experts_count > PHIBAL_MAX_EXPERTS || zero_experts < 0 || zero_experts > experts_count ||
      width < 1)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "%s: %lld tokens of %d slots and %lld numbers, %d of %d experts",
                             function, (long long)tokens, (int)active, (long long)width,
                             (int)zero_experts, (int)experts_count);
  if (tokens > 0 && (null || !experts))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null array", function);
  for (int64_t i = 0; i < tokens * active; i++)
    if (experts[i] < -1 || experts[i] >= experts_count)
      return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                               "%s: slot %lld of token %lld has an expert that does not exist",
                               function, (long long)(i % active), (long long)(i / active));
  return phibal_environment_check(function);
}

phibal_status phibal_zero_experts_dispatch(int64_t tokens, int32_t active, int32_t experts_count,
                                           int32_t zero_experts, const int32_t *experts,
                                           int32_t *real) {
  phibal_status status = zero_check("phibal_zero_experts_dispatch", PHIBAL_ZERO_NULL, tokens,
                                    active, experts_count, zero_experts, 1, !real, experts);
  if (status) return status;
  for (int64_t i = 0; i < tokens * active; i++)
    real[i] = experts[i] < experts_count - zero_experts ? experts[i] : -1;
  return PHIBAL_OK;
}

/* The sum of the gates of zero experts; false where the token has none. */
static bool zero_sum(int32_t active, int32_t first, const int32_t *experts, const float *gates,
                     double *sum) {
  bool some = false;
  *sum = 0;
  for (int32_t s = 0; s < active; s++) {
    if (experts[s] < first) continue;
    *sum += (double)gates[s];
    some = true;
  }
  return some;
}

/* to += c of. */
static void add_scaled(int64_t width, double c, const float *restrict of, float *restrict to) {
  for (int64_t j = 0; j < width; j++) to[j] = (float)CORE_FMA(c, (double)of[j], (double)to[j]);
}

phibal_status phibal_zero_experts(phibal_zero_output output, int64_t tokens, int32_t active,
                                  int32_t experts_count, int32_t zero_experts, int64_t width,
                                  const int32_t *experts, const float *gates, const float *x,
                                  float *y) {
  const char *function = "phibal_zero_experts";
  phibal_status status = zero_check(function, output, tokens, active, experts_count, zero_experts,
                                    width, !gates || !x || !y, experts);
  if (status) return status;
  if (output == PHIBAL_ZERO_NULL) return PHIBAL_OK;
#pragma omp parallel for schedule(static)
  for (int64_t t = 0; t < tokens; t++) {
    double c;
    if (zero_sum(active, experts_count - zero_experts, experts + t * active, gates + t * active,
                 &c))
      add_scaled(width, c, x + t * width, y + t * width);
  }
  return phibal_environment_check(function);
}

phibal_status phibal_zero_experts_backward(phibal_zero_output output, int64_t tokens,
                                           int32_t active, int32_t experts_count,
                                           int32_t zero_experts, int64_t width,
                                           const int32_t *experts, const float *gates,
                                           const float *x, const float *y_gradient,
                                           float *x_gradient, float *gate_gradient) {
  const char *function = "phibal_zero_experts_backward";
  phibal_status status =
      zero_check(function, output, tokens, active, experts_count, zero_experts, width,
                 !gates || !x || !y_gradient || !x_gradient || !gate_gradient, experts);
  if (status) return status;
  const int32_t first = experts_count - zero_experts;
#pragma omp parallel for schedule(static)
  for (int64_t t = 0; t < tokens; t++) {
    const int32_t *own = experts + t * active;
    double c;
    if (!zero_sum(active, first, own, gates + t * active, &c)) continue;
    float gradient = 0;
    if (output == PHIBAL_ZERO_IDENTITY) {
      gradient = (float)dot(width, y_gradient + t * width, x + t * width);
      add_scaled(width, c, y_gradient + t * width, x_gradient + t * width);
    }
    for (int32_t s = 0; s < active; s++)
      if (own[s] >= first) gate_gradient[t * active + s] = gradient;
  }
  return phibal_environment_check(function);
}
