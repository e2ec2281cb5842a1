/* z-loss (L5): squares of binary32 numbers, added exactly in fixed point, so that no order shows.
   Each thread has limbs of its own; the blocks' sums are added to the workspace by
   integer atomics, and the last block to end reads them.

   Bytes: 4 of a token, and 1 with a mask. Not measured yet. */
#include "kernels/core/balance.h"
#include "device.h"

enum { Z_THREADS = 128, Z_BLOCKS = 4 };

/* In the workspace. */
typedef struct z_sums {
  device_sum finished, tokens, failed;
  device_sum limb[CORE_SQUARE_LIMBS];
} z_sums;

static __global__ void __launch_bounds__(Z_THREADS)
    z_loss_kernel(int64_t tokens, double coefficient, const float *logsumexp, const uint8_t *mask,
                  float *loss, z_sums *sums, uint64_t *failure) {
  SHARED_ARRAY(device_sum, block, CORE_SQUARE_LIMBS);
  SHARED_ARRAY(device_sum, last, 1);
  const int thread = (int)threadIdx.x;
  const int64_t stride = (int64_t)gridDim.x * Z_THREADS;
  uint64_t own[CORE_SQUARE_LIMBS] = {0};
  device_sum counted = 0;
  for (int64_t t = (int64_t)blockIdx.x * Z_THREADS + thread; t < tokens; t += stride) {
    if (mask && !__ldg(mask + t)) continue;
    double x = (double)__ldg(logsumexp + t);
    if (!(x - x == 0.0)) {
      failure_report(failure, t, 0, FAILURE_LOGSUMEXP);
      atomicAdd(&sums->failed, (device_sum)1);
      continue;
    }
    core_exact_add(own, CORE_SQUARE_LIMBS, CORE_SQUARE_TOP, x * x);
    counted++;
  }
  core_exact_carry(own, CORE_SQUARE_LIMBS);
  for (int j = thread; j < CORE_SQUARE_LIMBS; j += Z_THREADS) block[j] = 0;
  __syncthreads();
  for (int j = 0; j < CORE_SQUARE_LIMBS; j++)
    if (own[j] != 0) shared_add(block, j, (device_sum)own[j]);
  if (counted != 0) atomicAdd(&sums->tokens, counted);
  __syncthreads();
  for (int j = thread; j < CORE_SQUARE_LIMBS; j += Z_THREADS)
    if (block[j] != 0) atomicAdd(&sums->limb[j], (device_sum)block[j]);
  __threadfence();
  __syncthreads();
  if (thread == 0) last[0] = atomicAdd(&sums->finished, (device_sum)1) == gridDim.x - 1;
  __syncthreads();
  if (last[0] == 0 || thread != 0) return;
  __threadfence();
  uint64_t n = sums->tokens, limb[CORE_SQUARE_LIMBS];
  for (int j = 0; j < CORE_SQUARE_LIMBS; j++) limb[j] = sums->limb[j];
  core_exact_carry(limb, CORE_SQUARE_LIMBS);
  if (sums->failed == 0) {
    core_dd count = core_two_sum((double)(n >> 32) * 0x1p32, (double)(n & 0xffffffffu));
    core_dd sum = core_exact_value(limb, CORE_SQUARE_LIMBS, CORE_SQUARE_TOP);
    *loss = n == 0 ? 0.0f : core_loss(core_dd_div(sum, count), coefficient);
  }
  sums->finished = sums->tokens = sums->failed = 0;
  for (int j = 0; j < CORE_SQUARE_LIMBS; j++) sums->limb[j] = 0;
}

size_t phibal_cuda_z_loss_workspace(void) {
  return sizeof(z_sums);
}

phibal_status phibal_cuda_z_loss(int64_t tokens, double coefficient, const float *logsumexp,
                                 const uint8_t *mask, float *loss, const phibal_cuda *call) {
  phibal_status status = call_check("z-loss", call, phibal_cuda_z_loss_workspace());
  if (status != PHIBAL_OK) return status;
  if (tokens < 0 || !loss || (tokens > 0 && !logsumexp) || !(coefficient - coefficient == 0.0))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "z-loss: %lld tokens, coefficient %g, or a null argument",
                             (long long)tokens, coefficient);
  const int64_t work = (tokens + 8 * Z_THREADS - 1) / (8 * Z_THREADS);
  launch_shape shape = {blocks_for(call, work, Z_BLOCKS), Z_THREADS, 0};
  return launch("z-loss", z_loss_kernel, shape, call, tokens, coefficient, logsumexp, mask, loss,
                (z_sums *)call->workspace, call->failure);
}
