/* A factor for each expert (R5f): products, and sums of products over the slots of an expert. Not
   under contract. */
#include "operation.h"
#include <phibal/reference_gate_factor.h>

static phibal_status check_slots(const char *name, int64_t slots, int32_t experts_count,
                                 const int32_t *experts, const float *gates,
                                 const float *scaled_gradient) {
  for (int64_t i = 0; i < slots; i++) {
    if (experts[i] < -1 || experts[i] >= experts_count)
      return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: slot %lld has expert %d of %d", name,
                               (long long)i, (int)experts[i], (int)experts_count);
    if (experts[i] < 0) continue;
    TRY(operation_check_finite(name, "a slot's gate", 1, gates + i));
    if (scaled_gradient)
      TRY(operation_check_finite(name, "a slot's gradient", 1, scaled_gradient + i));
  }
  return PHIBAL_OK;
}

phibal_status phibal_reference_gate_factor(int64_t tokens, int32_t active, int32_t experts_count,
                                           const int32_t *experts, const float *gates,
                                           const float *factor, const float *scaled_gradient,
                                           mpfr_prec_t precision, phibal_enclosure *scaled,
                                           phibal_enclosure *gate_gradient,
                                           phibal_enclosure *factor_gradient,
                                           phibal_enclosure *condition) {
  const char *name = "phibal_reference_gate_factor";
  if (tokens < 0 || active < 1 || !experts || !gates || !factor ||
      ((gate_gradient || factor_gradient || condition) && !scaled_gradient))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: %lld tokens, %d slots, or a null argument",
                             name, (long long)tokens, (int)active);
  const int64_t slots = tokens * active;
  TRY(operation_check_experts(name, experts_count, precision));
  TRY(operation_check_finite(name, "the factors", experts_count, factor));
  TRY(check_slots(name, slots, experts_count, experts, gates, scaled_gradient));
  phibal_enclosure *t;
  TRY(operation_scratch(name, 1, precision, &t));
  phibal_status status = PHIBAL_OK;
  for (int64_t i = 0; i < slots; i++) {
    const float f = experts[i] >= 0 ? factor[experts[i]] : 0;
    if (scaled)
      phibal_enclosure_set_d(&scaled[i],
                             experts[i] >= 0 ? operation_exact_product(gates[i], f) : 0);
    if (gate_gradient)
      phibal_enclosure_set_d(&gate_gradient[i],
                             experts[i] >= 0 ? operation_exact_product(scaled_gradient[i], f) : 0);
  }
  for (int32_t e = 0; !status && e < experts_count; e++) {
    if (factor_gradient) phibal_enclosure_set_si(&factor_gradient[e], 0);
    if (condition) phibal_enclosure_set_si(&condition[e], 0);
    for (int64_t i = 0; !status && i < slots; i++) {
      if (experts[i] != e) continue;
      const double product =
          scaled_gradient ? operation_exact_product(gates[i], scaled_gradient[i]) : 0;
      phibal_enclosure_set_d(t, product);
      if (factor_gradient)
        status = phibal_enclosure_add(&factor_gradient[e], &factor_gradient[e], t);
      phibal_enclosure_set_d(t, fabs(product));
      if (!status && condition) status = phibal_enclosure_add(&condition[e], &condition[e], t);
    }
  }
  operation_scratch_clear(t, 1);
  return status;
}
