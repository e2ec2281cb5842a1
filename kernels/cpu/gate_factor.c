/* A factor for each expert (R5f), and its gradients.

   A product of binary32 numbers is exact in binary64, and rounded once where it is stored. The
   gradient of the factors is an exact sum (kernels/core/product_sum.h): each thread has
   accumulators of its own for all experts, and integers are added in any order. */
#include <math.h>
#include <phibal/environment.h>
#include <phibal/gate_factor.h>
#include <phibal/router.h>
#include <stdbool.h>
#include <stdlib.h>
#include "../core/product_sum.h"

static phibal_status check_factor(const char *function, int64_t tokens, int32_t active,
                                  int32_t experts_count, bool null, const float *factor) {
  if (tokens < 0 || active < 1 || active > PHIBAL_MAX_EXPERTS || experts_count < 1 ||
      experts_count > PHIBAL_MAX_EXPERTS || tokens > PHIBAL_GATE_FACTOR_ROUTES / active)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: %lld tokens of %d slots, %d experts",
                             function, (long long)tokens, (int)active, (int)experts_count);
  if (!factor || (tokens > 0 && null))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null array", function);
  for (int32_t e = 0; e < experts_count; e++)
    if (!isfinite(factor[e]))
      return phibal_status_set(PHIBAL_ERROR_NONFINITE,
                               "%s: the factor of expert %d is not a finite number", function,
                               (int)e);
  return phibal_environment_check(function);
}

static bool is_bad(int32_t experts_count, int32_t expert, float gate, float gradient) {
  if (expert < 0) return expert < -1;
  return expert >= experts_count || !isfinite(gate) || !isfinite(gradient);
}

/* The first slot that is refused, looked for before anything is written. */
static phibal_status check_slots(const char *function, int64_t slots, int32_t active,
                                 int32_t experts_count, const int32_t *experts, const float *gates,
                                 const float *gradient) {
  int64_t first = INT64_MAX;
#pragma omp parallel for schedule(static) reduction(min : first) if (slots > 4096)
  for (int64_t i = 0; i < slots; i++)
    if (is_bad(experts_count, experts[i], gates[i], gradient ? gradient[i] : 0.0f) && i < first)
      first = i;
  if (first == INT64_MAX) return PHIBAL_OK;
  const bool there = experts[first] >= 0 && experts[first] < experts_count;
  const char *what = !there                   ? "has an expert that does not exist"
                     : isfinite(gates[first]) ? "has a gradient that is not a finite number"
                                              : "has a gate that is not a finite number";
  return phibal_status_set(there ? PHIBAL_ERROR_NONFINITE : PHIBAL_ERROR_ARGUMENT,
                           "%s: slot %lld of token %lld %s", function, (long long)(first % active),
                           (long long)(first / active), what);
}

phibal_status phibal_gate_factor(int64_t tokens, int32_t active, int32_t experts_count,
                                 const int32_t *experts, const float *gates, const float *factor,
                                 float *scaled) {
  const char *function = "phibal_gate_factor";
  phibal_status status =
      check_factor(function, tokens, active, experts_count, !experts || !gates || !scaled, factor);
  const int64_t slots = tokens * active;
  if (!status) status = check_slots(function, slots, active, experts_count, experts, gates, NULL);
  if (status) return status;
#pragma omp parallel for schedule(static) if (slots > 4096)
  for (int64_t i = 0; i < slots; i++)
    scaled[i] = experts[i] >= 0 ? gates[i] * factor[experts[i]] : 0.0f;
  return phibal_environment_check(function);
}

phibal_status phibal_gate_factor_backward(int64_t tokens, int32_t active, int32_t experts_count,
                                          const int32_t *experts, const float *gates,
                                          const float *factor, const float *scaled_gradient,
                                          float *gate_gradient, float *factor_gradient) {
  const char *function = "phibal_gate_factor_backward";
  phibal_status status = check_factor(function, tokens, active, experts_count,
                                      !experts || !gates || !scaled_gradient || !gate_gradient,
                                      factor_gradient ? factor : NULL);
  const int64_t slots = tokens * active;
  if (!status)
    status = check_slots(function, slots, active, experts_count, experts, gates, scaled_gradient);
  if (status) return status;
  const size_t limbs = (size_t)experts_count * CORE_PRODUCT_SUM;
  uint64_t *sum = calloc(limbs, sizeof *sum);
  bool failed = !sum;
#pragma omp parallel if (slots > 4096)
  {
    uint64_t *own = sum ? calloc(limbs, sizeof *own) : NULL;
    if (!own) {
#pragma omp atomic write
      failed = true;
    }
    /* Of at most 2^32 - 1 products no limb of a thread overflows; of more it carries before. */
    int64_t products = 0;
#pragma omp for schedule(static)
    for (int64_t i = 0; i < slots; i++) {
      if (!own) continue;
      if (experts[i] >= 0)
        core_product_add(own + (size_t)experts[i] * CORE_PRODUCT_SUM, gates[i], scaled_gradient[i]);
      if (++products % ((int64_t)1 << 31) == 0)
        for (int32_t e = 0; e < experts_count; e++)
          core_product_carry(own + (size_t)e * CORE_PRODUCT_SUM);
    }
    if (own) {
      for (int32_t e = 0; e < experts_count; e++)
        core_product_carry(own + (size_t)e * CORE_PRODUCT_SUM);
#pragma omp critical(phibal_gate_factor_sums)
      for (size_t j = 0; j < limbs; j++) sum[j] += own[j];
    }
    free(own);
  }
  if (!failed) {
#pragma omp parallel for schedule(static) if (slots > 4096)
    for (int64_t i = 0; i < slots; i++)
      gate_gradient[i] = experts[i] >= 0 ? scaled_gradient[i] * factor[experts[i]] : 0.0f;
    for (int32_t e = 0; e < experts_count; e++) {
      core_product_carry(sum + (size_t)e * CORE_PRODUCT_SUM);
      factor_gradient[e] = core_product_round(sum + (size_t)e * CORE_PRODUCT_SUM);
    }
  }
  free(sum);
  return failed ? phibal_status_set(PHIBAL_ERROR_MEMORY, "%s: no memory for the sums of %d experts",
                                    function, (int)experts_count)
                : phibal_environment_check(function);
}
