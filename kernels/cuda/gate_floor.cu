/* Gates over a sum that has a floor, and the gradient through them: a thread for each token, its
   slots one after another in binary64, as divide_gates and divide_gates_backward of
   moe/model/model_balance.c, whose bits these have.

   Bytes of a slot: 8 forward, 12 backward. Not measured yet. */
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
  for (int64_t t = (int64_t)blockIdx.x * FLOOR_THREADS + threadIdx.x; t < a.tokens;
       t += (int64_t)gridDim.x * FLOOR_THREADS) {
    float *own = a.gates + t * a.active;
    double sum = 0;
    for (int s = 0; s < a.active; s++) sum += (double)own[s];
    const float rounded = (float)sum;
    const double below = rounded < a.floor ? (double)a.floor : sum;
    a.sums[t] = rounded;
    for (int s = 0; s < a.active; s++) own[s] = (float)((double)a.scale * (double)own[s] / below);
  }
}

static __global__ void __launch_bounds__(FLOOR_THREADS) floor_backward_kernel(floor_arguments a) {
  for (int64_t t = (int64_t)blockIdx.x * FLOOR_THREADS + threadIdx.x; t < a.tokens;
       t += (int64_t)gridDim.x * FLOOR_THREADS) {
    const float *gates = a.gates + t * a.active;
    float *own = a.gradient + t * a.active;
    const bool floored = a.sums[t] < a.floor;
    double along = 0;
    for (int s = 0; s < a.active && !floored; s++) along += (double)gates[s] * (double)own[s];
    for (int s = 0; s < a.active; s++)
      own[s] = (float)(((double)a.scale * (double)own[s] - along) /
                       (double)(floored ? a.floor : a.sums[t]));
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
