/* An order statistic of binary32 numbers (L7, E8), by counting. A round divides the keys that
   are left, low to high, into 16 parts and counts the numbers that are at most the last key of each
   part but the last; the part that holds the number at the place is what is left. The keys from
   -infinity to +infinity are 2^32 - 2^24 + 1, so 8 rounds leave one.

   A round reads each number once, for 15 comparisons and additions. Halving would read them 32
   times and not 8; more parts a round would be bound by the comparisons. */
#ifndef PHIBAL_CUDA_ORDER_STATISTIC_H
#define PHIBAL_CUDA_ORDER_STATISTIC_H

#include "kernels/core/router.h"
#include "device.h"

enum { ORDER_PARTS = 16, ORDER_BOUNDS = ORDER_PARTS - 1, ORDER_ROUNDS = 8 };
static const int32_t ORDER_INFINITE = 0x7f800000; /* the key of +infinity */

struct key_range {
  int32_t low, high;
};

/* The last key of part j. */
static __device__ __forceinline__ int32_t order_bound(key_range r, int j) {
  const int64_t size = ((int64_t)r.high - r.low + ORDER_PARTS) / ORDER_PARTS;
  const int64_t key = r.low + (j + 1) * size - 1;
  return key < r.high ? (int32_t)key : r.high;
}

/* What is left when count[j] numbers are at most the last key of part j. */
template <class Counts>
static __device__ __forceinline__ key_range order_narrowed(key_range r, int64_t place,
                                                           Counts count) {
  int32_t low = r.low;
  for (int j = 0; j < ORDER_BOUNDS; j++) {
    const int32_t bound = order_bound(r, j);
    if ((int64_t)(device_sum)count[j] >= place) return {low, bound};
    if (bound == r.high) return {bound, bound}; /* NaNs, which are counted nowhere */
    low = bound + 1;
  }
  return {low, r.high};
}

/* The most numbers: of 256 threads a warp then counts 2^31 at most, in 32 bits. */
static const int64_t ORDER_NUMBERS = (int64_t)1 << 34;

/* count[j] = how many of number(0) to number(n - 1) are at most the last key of part j; n is
   ORDER_NUMBERS at most. Called by the whole block, all of which may read count [ORDER_BOUNDS]
   until they call it again. Returns whether this thread saw a NaN. */
template <class Number>
static __device__ __forceinline__ bool order_count(int64_t n, Number number, key_range r,
                                                   shared_pointer<device_sum> count) {
  SHARED_ARRAY(device_sum, part, WARP * ORDER_BOUNDS);
  const int thread = (int)threadIdx.x, warps = (int)blockDim.x / WARP;
  float bound[ORDER_BOUNDS];
  uint32_t own[ORDER_BOUNDS];
  bool nan = false;
#pragma unroll
  for (int j = 0; j < ORDER_BOUNDS; j++) {
    bound[j] = core_float_from_key(order_bound(r, j));
    own[j] = 0;
  }
#pragma unroll 4
  for (int64_t i = thread; i < n; i += blockDim.x) {
    const float x = number(i);
    nan |= x != x;
#pragma unroll
    for (int j = 0; j < ORDER_BOUNDS; j++) own[j] += x <= bound[j];
  }
#pragma unroll
  for (int j = 0; j < ORDER_BOUNDS; j++) {
    const uint32_t of_warp = __reduce_add_sync(ALL_LANES, own[j]);
    if (thread % WARP == 0) part[thread / WARP * ORDER_BOUNDS + j] = of_warp;
  }
  __syncthreads();
  if (thread < ORDER_BOUNDS) {
    uint64_t all = 0;
    for (int w = 0; w < warps; w++) all += part[w * ORDER_BOUNDS + thread];
    count[thread] = all;
  }
  __syncthreads();
  return nan;
}

#endif
