/* The exact loads of phibal_loads: life, addition, and the one rounding when they are read. */
#include "../core/exact_sum.h"
#include "../core/quotient.h"
#include <phibal/environment.h>
#include <phibal/router.h>
#include <stdlib.h>
#include <string.h>

phibal_status phibal_loads_create(const phibal_router *router, phibal_loads *loads) {
  if (!router || !loads)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "loads: the router or the loads are null");
  if (router->experts < 1 || router->experts > PHIBAL_MAX_EXPERTS)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "loads: %d experts, 1 to %d are possible",
                             router->experts, PHIBAL_MAX_EXPERTS);
  if (router->active < 1 || router->active > router->experts)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "loads: %d active experts of %d",
                             router->active, router->experts);
  size_t experts = (size_t)router->experts;
  loads->experts = router->experts;
  loads->active = router->active;
  loads->tokens = 0;
  loads->probability = calloc(experts * PHIBAL_LOAD_LIMBS, sizeof *loads->probability);
  loads->count = calloc(experts, sizeof *loads->count);
  if (!loads->probability || !loads->count) {
    phibal_loads_destroy(loads);
    return phibal_status_set(PHIBAL_ERROR_MEMORY, "loads: no memory for %d experts",
                             router->experts);
  }
  return PHIBAL_OK;
}

void phibal_loads_destroy(phibal_loads *loads) {
  if (!loads) return;
  free(loads->probability);
  free(loads->count);
  loads->probability = NULL;
  loads->count = NULL;
  loads->tokens = 0;
}

void phibal_loads_clear(phibal_loads *loads) {
  size_t experts = (size_t)loads->experts;
  loads->tokens = 0;
  memset(loads->probability, 0, experts * PHIBAL_LOAD_LIMBS * sizeof *loads->probability);
  memset(loads->count, 0, experts * sizeof *loads->count);
}

phibal_status phibal_loads_add(phibal_loads *to, const phibal_loads *from) {
  if (!to || !from)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "loads: one of the two is null");
  if (to->experts != from->experts || to->active != from->active)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "loads of %d of %d experts cannot be added to loads of %d of %d",
                             from->active, from->experts, to->active, to->experts);
  to->tokens += from->tokens;
  for (int32_t e = 0; e < to->experts; e++) {
    uint64_t *limb = to->probability + (int64_t)e * PHIBAL_LOAD_LIMBS;
    const uint64_t *more = from->probability + (int64_t)e * PHIBAL_LOAD_LIMBS;
    for (int j = 0; j < PHIBAL_LOAD_LIMBS; j++) limb[j] += more[j];
    core_exact_carry(limb, PHIBAL_LOAD_LIMBS);
    to->count[e] += from->count[e];
  }
  return PHIBAL_OK;
}

phibal_status phibal_loads_mean(const phibal_loads *loads, float *mean) {
  if (!loads || !mean)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "mean loads: the loads or the mean are null");
  if (loads->tokens < 1)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "mean loads: no token was counted, so there is no mean");
  phibal_status status = phibal_environment_check("mean loads");
  if (status) return status;
  for (int32_t e = 0; e < loads->experts; e++)
    mean[e] = core_limbs_quotient(loads->probability + (int64_t)e * PHIBAL_LOAD_LIMBS,
                                  (unsigned __int128)loads->tokens);
  return PHIBAL_OK;
}

phibal_status phibal_loads_frequency(const phibal_loads *loads, float *frequency) {
  if (!loads || !frequency)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "load frequencies: the loads or the frequencies are null");
  if (loads->tokens < 1)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "load frequencies: no token was counted, so there are none");
  phibal_status status = phibal_environment_check("load frequencies");
  if (status) return status;
  unsigned __int128 routes = (unsigned __int128)loads->tokens * (unsigned)loads->active;
  for (int32_t e = 0; e < loads->experts; e++)
    if (loads->count[e] < 0 || (uint64_t)loads->count[e] > routes)
      return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                               "load frequencies: %lld tokens of expert %d, of %lld tokens",
                               (long long)loads->count[e], e, (long long)loads->tokens);
  for (int32_t e = 0; e < loads->experts; e++) {
    uint64_t limb[PHIBAL_LOAD_LIMBS] = {(uint64_t)loads->count[e]};
    frequency[e] = core_limbs_quotient(limb, routes);
  }
  return PHIBAL_OK;
}
