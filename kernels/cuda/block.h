/* What the threads of a block do together over one vector of experts. Every thread of the block
   calls these, and all get the result. */
#ifndef PHIBAL_CUDA_BLOCK_H
#define PHIBAL_CUDA_BLOCK_H

#include "kernels/core/dd.h"
#include "device.h"

/* Largest of an int over the block; -x gives the smallest. */
static __device__ __forceinline__ int32_t block_max(int32_t x) {
  SHARED_ARRAY(int32_t, part, WARP);
  const int warps = (int)blockDim.x / WARP;
  x = __reduce_max_sync(ALL_LANES, x);
  __syncthreads(); /* the last call's readers are done */
  if (threadIdx.x % WARP == 0) part[threadIdx.x / WARP] = x;
  __syncthreads();
  const int lane = (int)threadIdx.x % WARP;
  return __reduce_max_sync(ALL_LANES, lane < warps ? (int32_t)part[lane] : x);
}

static __device__ __forceinline__ bool block_any(bool x) {
  return block_max(x) != 0;
}

/* Sums modulo 2^64: of a warp by shuffles, of a block then of its warps. */
static __device__ __forceinline__ uint64_t warp_sum(uint64_t x) {
#pragma unroll
  for (int s = WARP / 2; s >= 1; s /= 2) x += __shfl_xor_sync(ALL_LANES, x, s);
  return x;
}

static __device__ __forceinline__ uint64_t block_sum(uint64_t x) {
  SHARED_ARRAY(device_sum, part, WARP);
  const int warps = (int)blockDim.x / WARP;
  x = warp_sum(x);
  __syncthreads(); /* the last call's readers are done */
  if (threadIdx.x % WARP == 0) part[threadIdx.x / WARP] = x;
  __syncthreads();
  x = part[0];
  for (int w = 1; w < warps; w++) x += part[w];
  return x;
}

/* As core_dd_tree_sum, whose bits it has; a is overwritten. What wrote `a` need not be behind a
   barrier. */
static __device__ __forceinline__ core_dd block_dd_tree_sum(shared_pointer<core_dd> a, int n) {
  __syncthreads();
  for (int s = core_tree_width(n) / 2; s >= 1; s /= 2) {
    for (int i = (int)threadIdx.x; i < n - s; i += (int)blockDim.x)
      a[i] = core_dd_add(a[i], a[i + s]);
    n = s;
    __syncthreads();
  }
  core_dd sum = a[0];
  __syncthreads(); /* `a` may be written again */
  return sum;
}

#endif
