/* Experts that compute nothing: the dispatch without them, outputs of identities, gradients. */
#include "cuda_plugin.h"
#include <cstring>
#include <phibal/zero_experts.h>

int plugin_zero_experts(phibal_plugin_case *c) {
  device_run r = run_start(c);
  const int64_t tokens = phibal_plugin_extent(c, "x", 0), width = phibal_plugin_extent(c, "x", 1);
  const int32_t k = (int32_t)phibal_plugin_integer(c, "k");
  const int32_t E = (int32_t)phibal_plugin_integer(c, "experts");
  const int32_t Z = (int32_t)phibal_plugin_integer(c, "zero-experts");
  const phibal_zero_output output = strcmp(phibal_plugin_text(c, "output"), "identity") == 0
                                        ? PHIBAL_ZERO_IDENTITY
                                        : PHIBAL_ZERO_NULL;
  const int32_t *experts = (const int32_t *)case_in(c, "experts");
  const float *gates = (const float *)case_in(c, "gates"), *x = (const float *)case_in(c, "x");
  float *y = (float *)case_out(c, "y"), *x_gradient = (float *)case_out(c, "x-gradient");
  const size_t bytes = sizeof(float) * (size_t)(tokens * width);
  run_copy(&r, y, case_in(c, "y"), bytes);
  run_copy(&r, x_gradient, case_in(c, "x-gradient"), bytes);
  const size_t routes = sizeof(float) * (size_t)(tokens * k);
  run_copy(&r, case_out(c, "gate-gradient"), run_take(&r, routes), routes);
  if (r.status == PHIBAL_OK)
    r.status = phibal_cuda_zero_experts_dispatch(tokens, k, E, Z, experts,
                                                 (int32_t *)case_out(c, "real"), &r.call);
  if (r.status == PHIBAL_OK)
    r.status =
        phibal_cuda_zero_experts(output, tokens, k, E, Z, width, experts, gates, x, y, &r.call);
  if (r.status == PHIBAL_OK)
    r.status = phibal_cuda_zero_experts_backward(
        output, tokens, k, E, Z, width, experts, gates, x, (const float *)case_in(c, "y-gradient"),
        x_gradient, (float *)case_out(c, "gate-gradient"), &r.call);
  return run_end(&r);
}
