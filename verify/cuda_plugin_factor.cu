/* A factor for each expert: gates, and both gradients. */
#include "cuda_plugin.h"
#include <phibal/gate_factor.h>

int plugin_gate_factor(phibal_plugin_case *c) {
  device_run r = run_start(c);
  const int64_t tokens = phibal_plugin_extent(c, "experts", 0);
  const int32_t k = (int32_t)phibal_plugin_integer(c, "k");
  const int32_t E = (int32_t)phibal_plugin_extent(c, "factor", 0);
  const int32_t *experts = (const int32_t *)case_in(c, "experts");
  const float *gates = (const float *)case_in(c, "gates");
  const float *factor = (const float *)case_in(c, "factor");
  if (r.status == PHIBAL_OK)
    r.status = phibal_cuda_gate_factor(tokens, k, E, experts, gates, factor,
                                       (float *)case_out(c, "scaled"), &r.call);
  run_workspace(&r, phibal_cuda_gate_factor_workspace(E));
  /* Twice, since the workspace must be zero again after a call. */
  for (int turn = 0; turn < 2 && r.status == PHIBAL_OK; turn++)
    r.status = phibal_cuda_gate_factor_backward(
        tokens, k, E, experts, gates, factor, (const float *)case_in(c, "scaled-gradient"),
        (float *)case_out(c, "gate-gradient"), (float *)case_out(c, "factor-gradient"), &r.call);
  return run_end(&r);
}
