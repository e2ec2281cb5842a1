/* The exact loads of phibal_cuda_loads: addition. */
#include "kernels/core/exact_sum.h"
#include "device.h"

enum { LOADS_THREADS = 256 };

static __global__ void __launch_bounds__(LOADS_THREADS)
    loads_add_kernel(int experts, phibal_cuda_loads to, phibal_cuda_loads from) {
  const int64_t layer = blockIdx.x;
  if (threadIdx.x == 0) to.tokens[layer] += from.tokens[layer];
  for (int e = (int)threadIdx.x; e < experts; e += LOADS_THREADS) {
    int64_t i = layer * experts + e;
    uint64_t *limb = to.probability + i * PHIBAL_LOAD_LIMBS;
    for (int j = 0; j < PHIBAL_LOAD_LIMBS; j++)
      limb[j] += from.probability[i * PHIBAL_LOAD_LIMBS + j];
    core_exact_carry(limb, PHIBAL_LOAD_LIMBS);
    to.count[i] += from.count[i];
  }
}

phibal_status phibal_cuda_loads_add(int32_t layers, int32_t experts, phibal_cuda_loads to,
                                    phibal_cuda_loads from, const phibal_cuda *call) {
  phibal_status status = call_check("loads", call, 0);
  if (status != PHIBAL_OK || layers == 0) return status;
  if (layers < 0 || experts < 1 || experts > PHIBAL_MAX_EXPERTS || !to.tokens || !to.probability ||
      !to.count || !from.tokens || !from.probability || !from.count)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "loads: %d layers of %d experts, or a null array", layers, experts);
  launch_shape shape = {layers, LOADS_THREADS, 0};
  return launch("loads", loads_add_kernel, shape, call, experts, to, from);
}
