/* What the trainer's balancing has beside the operations of the catalogue:
   moe/model/model_balance.c with its operations, in their order, and so its bits.

   Scaled numbers: a thread for each, 8 bytes. Not measured yet. */
#include "device.h"
#include "kernels/cuda/trainer.h"

enum { SCALE_THREADS = 256, SCALE_BLOCKS = 4 };

static __global__ void __launch_bounds__(SCALE_THREADS)
    scale_kernel(int64_t n, const float *x, double factor, double divisor, float *to) {
  for (int64_t i = (int64_t)blockIdx.x * SCALE_THREADS + threadIdx.x; i < n;
       i += (int64_t)gridDim.x * SCALE_THREADS)
    to[i] = (float)((double)x[i] * factor / divisor);
}

phibal_status phibal_cuda_scale(int64_t n, const float *x, double factor, double divisor, float *to,
                                const phibal_cuda *call) {
  const char *name = "scaling";
  phibal_status status = call_check(name, call, 0);
  if (status != PHIBAL_OK) return status;
  if (n < 0 || divisor == 0 || !(factor - factor == 0) || !(divisor - divisor == 0) ||
      (n > 0 && (!x || !to)))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "%s: %lld numbers by %g over %g, or a null array", name, (long long)n,
                             factor, divisor);
  if (n == 0) return PHIBAL_OK;
  const launch_shape shape = {
      blocks_for(call, (n + SCALE_THREADS - 1) / SCALE_THREADS, SCALE_BLOCKS), SCALE_THREADS, 0};
  return launch(name, scale_kernel, shape, call, n, x, factor, divisor, to);
}
