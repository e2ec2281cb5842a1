/* The limit (E7), the places of kept routes (E8), and gates with their gradient (E9). */
#include "operation.h"
#include <phibal/reference_capacity.h>

/* A product of 24 and 63 bits is exact in 128. Rounded up, the quotient does not pass a whole
   number that it did not reach, since that is a number of 128 bits. */
enum { LIMIT_PRECISION = 128 };

phibal_status phibal_reference_capacity_limit(float factor, int64_t minimum, int64_t tokens,
                                              int32_t active, int32_t experts_count,
                                              int64_t *limit) {
  const char *name = "phibal_reference_capacity_limit";
  if (!limit) return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null argument", name);
  if (!(factor >= 0 && factor <= PHIBAL_CAPACITY_MOST_FACTOR) || minimum < 0 || tokens < 0 ||
      active < 1 || experts_count < 1 || tokens > PHIBAL_CAPACITY_ROUTES / active)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: factor %g, %lld tokens of %d slots", name,
                             (double)factor, (long long)tokens, (int)active);
  mpfr_t x;
  mpfr_init2(x, LIMIT_PRECISION);
  mpfr_set_d(x, (double)factor, MPFR_RNDU);
  mpfr_mul_si(x, x, tokens * active, MPFR_RNDU);
  mpfr_div_si(x, x, experts_count, MPFR_RNDU);
  const int64_t ceiling = mpfr_get_si(x, MPFR_RNDU);
  mpfr_clear(x);
  *limit = ceiling > minimum ? ceiling : minimum;
  return PHIBAL_OK;
}

phibal_status phibal_reference_capacity_place(phibal_capacity_policy policy, int64_t tokens,
                                              int32_t active, const int32_t *kept, int64_t *place) {
  const char *name = "phibal_reference_capacity_place";
  if (tokens < 0 || active < 1 || !kept || !place)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: %lld tokens of %d slots", name,
                             (long long)tokens, (int)active);
  for (int64_t i = 0; i < tokens * active; i++) {
    place[i] = kept[i] < 0 ? -1 : 0;
    for (int64_t j = 0; kept[i] >= 0 && j < tokens * active; j++) {
      const int64_t sooner = j % active - i % active;
      const bool before = policy == PHIBAL_CAPACITY_SLOT && sooner != 0 ? sooner < 0 : j < i;
      place[i] += kept[j] == kept[i] && before;
    }
  }
  return PHIBAL_OK;
}

/* t: sum of the kept gates, sum of their products with the gradient, that of their absolute
   values, and a temporary. */
static phibal_status token_sums(int32_t active, const int32_t *kept, const float *gates,
                                const float *gradient, phibal_enclosure t[4]) {
  for (int i = 0; i < 3; i++) phibal_enclosure_set_si(&t[i], 0);
  for (int32_t s = 0; s < active; s++) {
    if (kept[s] < 0) continue;
    operation_set_float(&t[3], gates[s]);
    TRY(phibal_enclosure_add(&t[0], &t[0], &t[3]));
    if (!gradient) continue;
    const double product = (double)gates[s] * (double)gradient[s];
    phibal_enclosure_set_d(&t[3], product);
    TRY(phibal_enclosure_add(&t[1], &t[1], &t[3]));
    phibal_enclosure_set_d(&t[3], fabs(product));
    TRY(phibal_enclosure_add(&t[2], &t[2], &t[3]));
  }
  if (phibal_enclosure_is_zero(&t[0])) return PHIBAL_OK;
  TRY(phibal_enclosure_div(&t[1], &t[1], &t[0]));
  return phibal_enclosure_div(&t[2], &t[2], &t[0]);
}

/* One slot that is kept, where the sum is not 0. */
static phibal_status slot_renormalised(float gate, const float *gradient,
                                       const phibal_enclosure t[4], phibal_enclosure *kept_gate,
                                       phibal_enclosure *gate_gradient,
                                       phibal_enclosure *condition) {
  if (kept_gate) {
    operation_set_float(kept_gate, gate);
    TRY(phibal_enclosure_div(kept_gate, kept_gate, &t[0]));
  }
  if (gate_gradient) {
    operation_set_float(gate_gradient, *gradient);
    TRY(phibal_enclosure_sub(gate_gradient, gate_gradient, &t[1]));
    TRY(phibal_enclosure_div(gate_gradient, gate_gradient, &t[0]));
  }
  if (condition) {
    phibal_enclosure_set_d(condition, fabs((double)*gradient));
    TRY(phibal_enclosure_add(condition, condition, &t[2]));
    TRY(phibal_enclosure_div(condition, condition, &t[0]));
  }
  return PHIBAL_OK;
}

phibal_status phibal_reference_capacity_gates(int32_t active, bool renormalise, const int32_t *kept,
                                              const float *gates, const float *kept_gradient,
                                              mpfr_prec_t precision, phibal_enclosure *kept_gates,
                                              phibal_enclosure *gate_gradient,
                                              phibal_enclosure *condition) {
  const char *name = "phibal_reference_capacity_gates";
  if (active < 1 || !kept || !gates || ((gate_gradient || condition) && !kept_gradient))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: %d slots, or a null argument", name,
                             (int)active);
  TRY(operation_check_precision(name, precision));
  phibal_enclosure *t;
  TRY(operation_scratch(name, 4, precision, &t));
  phibal_status status = token_sums(active, kept, gates, kept_gradient, t);
  for (int32_t s = 0; !status && s < active; s++) {
    const bool some = kept[s] >= 0 && (!renormalise || !phibal_enclosure_is_zero(&t[0]));
    if (some && renormalise) {
      status = slot_renormalised(
          gates[s], kept_gradient ? &kept_gradient[s] : NULL, t, kept_gates ? &kept_gates[s] : NULL,
          gate_gradient ? &gate_gradient[s] : NULL, condition ? &condition[s] : NULL);
      continue;
    }
    if (kept_gates) operation_set_float(&kept_gates[s], some ? gates[s] : 0);
    if (gate_gradient) operation_set_float(&gate_gradient[s], some ? kept_gradient[s] : 0);
    if (condition) phibal_enclosure_set_d(&condition[s], some ? fabs((double)kept_gradient[s]) : 0);
  }
  operation_scratch_clear(t, 4);
  return status;
}
