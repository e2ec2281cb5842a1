/* Capacity: which routes are kept, and their gates. The limit is the host's. */
#include "cuda_plugin.h"
#include <cstring>
#include <phibal/capacity.h>
#include <vector>

static phibal_capacity_policy policy_of(const char *name) {
  return strcmp(name, "slot-order") == 0    ? PHIBAL_CAPACITY_SLOT
         : strcmp(name, "lowest-gate") == 0 ? PHIBAL_CAPACITY_GATE
                                            : PHIBAL_CAPACITY_TOKEN;
}

int plugin_capacity(phibal_plugin_case *c) {
  device_run r = run_start(c);
  const int64_t tokens = phibal_plugin_extent(c, "experts", 0);
  const int64_t limit = phibal_plugin_integer(c, "limit");
  const int32_t k = (int32_t)phibal_plugin_integer(c, "k");
  const int32_t E = (int32_t)phibal_plugin_integer(c, "experts");
  const bool renormalise = phibal_plugin_integer(c, "renormalise") != 0;
  const float *gates = (const float *)case_in(c, "gates");
  int32_t *kept = (int32_t *)case_out(c, "kept");
  const size_t wide = sizeof(int64_t) * (size_t)(tokens * k);
  int64_t *offsets = (int64_t *)run_take(&r, sizeof(int64_t) * (size_t)(E + 1));
  int64_t *source = (int64_t *)run_take(&r, wide), *row = (int64_t *)run_take(&r, wide);
  run_workspace(&r, phibal_cuda_permutation_workspace(tokens, k, E, &r.call));
  if (r.status == PHIBAL_OK)
    r.status = phibal_cuda_permutation(tokens, k, E, (const int32_t *)case_in(c, "experts"),
                                       offsets, source, row, &r.call);
  if (r.status == PHIBAL_OK)
    r.status = phibal_cuda_capacity(policy_of(phibal_plugin_text(c, "policy")), tokens, k, E, limit,
                                    offsets, source, gates, kept, (int64_t *)case_out(c, "place"),
                                    &r.call);
  if (r.status == PHIBAL_OK)
    r.status = phibal_cuda_capacity_gates(tokens, k, renormalise, kept, gates,
                                          (float *)case_out(c, "gates"), &r.call);
  if (r.status == PHIBAL_OK)
    r.status = phibal_cuda_capacity_gates_backward(tokens, k, renormalise, kept, gates,
                                                   (const float *)case_in(c, "kept-gradient"),
                                                   (float *)case_out(c, "gate-gradient"), &r.call);
  std::vector<int64_t> host((size_t)E + 1), count((size_t)E), dropped((size_t)E);
  run_copy(&r, host.data(), offsets, sizeof(int64_t) * host.size());
  for (size_t e = 0; e < (size_t)E; e++) {
    count[e] = host[e + 1] - host[e];
    dropped[e] = count[e] > limit ? count[e] - limit : 0;
  }
  run_copy(&r, case_out(c, "counts"), count.data(), sizeof(int64_t) * count.size());
  run_copy(&r, case_out(c, "dropped"), dropped.data(), sizeof(int64_t) * dropped.size());
  return run_end(&r);
}
