/* Experts that compute nothing (E10): one token's output and gradients. Not under contract. */
#include "operation.h"
#include <phibal/reference_zero_experts.h>

/* out = of + sum with |sum| terms: out_j = of_j + c v_j, condition_j = |of_j| + cc |v_j|. */
static phibal_status add_scaled(int64_t width, const phibal_enclosure *c,
                                const phibal_enclosure *magnitude, const float *v, const float *of,
                                phibal_enclosure *t, phibal_enclosure *out,
                                phibal_enclosure *condition) {
  for (int64_t j = 0; j < width; j++) {
    operation_set_float(t, v[j]);
    TRY(phibal_enclosure_mul(&out[j], c, t));
    operation_set_magnitude(t, v[j]);
    TRY(phibal_enclosure_mul(&condition[j], magnitude, t));
    operation_set_float(t, of[j]);
    TRY(phibal_enclosure_add(&out[j], &out[j], t));
    operation_set_magnitude(t, of[j]);
    TRY(phibal_enclosure_add(&condition[j], &condition[j], t));
  }
  return PHIBAL_OK;
}

static phibal_status token(phibal_zero_output output, int32_t active, int32_t first_zero,
                           int64_t width, const int32_t *experts, const float *gates,
                           const float *x, const float *y_gradient, phibal_enclosure *t,
                           phibal_enclosure *gate_gradient, phibal_enclosure *gate_condition) {
  /* t: the sum of gates, that of their absolute values, a temporary. */
  phibal_enclosure_set_si(&t[0], 0);
  phibal_enclosure_set_si(&t[1], 0);
  phibal_enclosure_set_si(gate_gradient, 0);
  phibal_enclosure_set_si(gate_condition, 0);
  if (output == PHIBAL_ZERO_NULL) return PHIBAL_OK;
  for (int32_t s = 0; s < active; s++) {
    if (experts[s] < first_zero) continue;
    operation_set_float(&t[2], gates[s]);
    TRY(phibal_enclosure_add(&t[0], &t[0], &t[2]));
    operation_set_magnitude(&t[2], gates[s]);
    TRY(phibal_enclosure_add(&t[1], &t[1], &t[2]));
  }
  for (int64_t j = 0; j < width; j++) {
    const double product = operation_exact_product(x[j], y_gradient[j]);
    phibal_enclosure_set_d(&t[2], product);
    TRY(phibal_enclosure_add(gate_gradient, gate_gradient, &t[2]));
    phibal_enclosure_set_d(&t[2], fabs(product));
    TRY(phibal_enclosure_add(gate_condition, gate_condition, &t[2]));
  }
  return PHIBAL_OK;
}

phibal_status phibal_reference_zero_experts(
    phibal_zero_output output, int32_t active, int32_t first_zero, int64_t width,
    const int32_t *experts, const float *gates, const float *x, const float *y,
    const float *y_gradient, const float *x_gradient, mpfr_prec_t precision,
    phibal_enclosure *y_out, phibal_enclosure *y_condition, phibal_enclosure *x_gradient_out,
    phibal_enclosure *x_gradient_condition, phibal_enclosure *gate_gradient,
    phibal_enclosure *gate_condition) {
  const char *name = "phibal_reference_zero_experts";
  if (output < PHIBAL_ZERO_NULL || output > PHIBAL_ZERO_IDENTITY || active < 1 || first_zero < 0 ||
      width < 1 || !experts || !gates || !x || !y || !y_gradient || !x_gradient || !y_out ||
      !y_condition || !x_gradient_out || !x_gradient_condition || !gate_gradient || !gate_condition)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "%s: %d slots, %lld numbers, or a null argument", name, (int)active,
                             (long long)width);
  TRY(operation_check_precision(name, precision));
  for (int32_t s = 0; s < active; s++)
    if (experts[s] >= first_zero) TRY(operation_check_finite(name, "a slot's gate", 1, gates + s));
  TRY(operation_check_finite(name, "x", width, x));
  TRY(operation_check_finite(name, "y", width, y));
  TRY(operation_check_finite(name, "the gradient of y", width, y_gradient));
  TRY(operation_check_finite(name, "the gradient of x", width, x_gradient));
  phibal_enclosure *t;
  TRY(operation_scratch(name, 3, precision, &t));
  phibal_status status = token(output, active, first_zero, width, experts, gates, x, y_gradient, t,
                               gate_gradient, gate_condition);
  if (!status) status = add_scaled(width, &t[0], &t[1], x, y, &t[2], y_out, y_condition);
  if (!status)
    status = add_scaled(width, &t[0], &t[1], y_gradient, x_gradient, &t[2], x_gradient_out,
                        x_gradient_condition);
  operation_scratch_clear(t, 3);
  return status;
}
