/* Gates over a sum that has a floor, and the gradient through them (kernels/core/gate_floor.h): a
   thread for each token.

   Bytes of a slot: 8 forward, 12 backward. Not measured yet. */
#include "kernels/core/gate_floor.h"
#include "device.h"
#include "kernels/cuda/trainer.h"

enum { FLOOR_THREADS = 256, FLOOR_BLOCKS = 4 };

typedef struct floor_arguments {
  int64_t tokens;
  int32_t active;
  float scale, floor;
  float *gates, *sums, *gradient;
} floor_arguments;

static __global__ void __launch_bounds__(FLOOR_THREADS) floor_kernel(floor_arguments a) {
  EACH_OF_THREAD(t, a.tokens, FLOOR_THREADS) {
    a.sums[t] = core_gates_over_sum(a.active, a.scale, a.floor, a.gates + t * a.active);
  }
}

static __global__ void __launch_bounds__(FLOOR_THREADS) floor_backward_kernel(floor_arguments a) {
  EACH_OF_THREAD(t, a.tokens, FLOOR_THREADS) {
    core_gates_over_sum_backward(a.active, a.scale, a.floor, a.gates + t * a.active, a.sums[t],
                                 a.gradient + t * a.active);
  }
}

static phibal_status floor_launch(const char *name, void (*kernel)(floor_arguments),
                                  const floor_arguments &a, bool null, const phibal_cuda *call) {
  phibal_status status = call_check(name, call, 0);
  if (status != PHIBAL_OK) return status;
  if (a.tokens < 0 || a.active < 1 || a.active > PHIBAL_MAX_EXPERTS || !(a.floor > 0) ||
      (a.tokens > 0 && null))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "%s: %lld tokens of %d slots, a floor of %g, or a null array", name,
                             (long long)a.tokens, a.active, (double)a.floor);
  if (a.tokens == 0) return PHIBAL_OK;
  const launch_shape shape = {
      blocks_for(call, (a.tokens + FLOOR_THREADS - 1) / FLOOR_THREADS, FLOOR_BLOCKS), FLOOR_THREADS,
      0};
  return launch(name, kernel, shape, call, a);
}

phibal_status phibal_cuda_gate_floor(int64_t tokens, int32_t active, float scale, float floor,
                                     float *gates, float *sums, const phibal_cuda *call) {
  const floor_arguments a = {tokens, active, scale, floor, gates, sums, nullptr};
  return floor_launch("gates over a sum", floor_kernel, a, !gates || !sums, call);
}

phibal_status phibal_cuda_gate_floor_backward(int64_t tokens, int32_t active, float scale,
                                              float floor, const float *gates, const float *sums,
                                              float *gradient, const phibal_cuda *call) {
  const floor_arguments a = {tokens, active, scale, floor, (float *)gates, (float *)sums, gradient};
  return floor_launch("gradient of gates over a sum", floor_backward_kernel, a,
                      !gates || !sums || !gradient, call);
}
