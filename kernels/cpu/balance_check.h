/* The checks that the balance kernels share. */
#ifndef PHIBAL_KERNELS_BALANCE_CHECK_H
#define PHIBAL_KERNELS_BALANCE_CHECK_H

#include <phibal/balance.h>
#include <phibal/environment.h>
#include <math.h>

static inline phibal_status balance_check_experts(const char *function, int32_t experts) {
  if (experts >= 1 && experts <= PHIBAL_MAX_EXPERTS) return phibal_environment_check(function);
  return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: %d experts; there must be 1 to %d", function,
                           (int)experts, PHIBAL_MAX_EXPERTS);
}

/* Every element finite and at least `low` (0, or -inf where the sign is free). */
static inline phibal_status balance_check_vector(const char *function, const char *name,
                                                 int32_t experts, const float *x, float low) {
  for (int32_t e = 0; e < experts; e++)
    if (!(isfinite(x[e]) && x[e] >= low))
      return phibal_status_set(PHIBAL_ERROR_DOMAIN,
                               "%s: %s of expert %d is %g; it must be finite%s", function, name,
                               (int)e, (double)x[e], low == 0.0f ? " and not negative" : "");
  return PHIBAL_OK;
}

static inline phibal_status balance_check_scale(const char *function, const char *name,
                                                double value) {
  if (isfinite(value)) return PHIBAL_OK;
  return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: %s is %g; it must be finite", function, name,
                           value);
}

static inline phibal_status balance_null(const char *function) {
  return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null argument", function);
}

#endif
