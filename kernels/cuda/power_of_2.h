/* 2^t in binary32 by the device's instruction. */
#ifndef PHIBAL_CUDA_POWER_OF_2_H
#define PHIBAL_CUDA_POWER_OF_2_H

#include "device.h"

/* 2^t for t <= 100, 0 where that is below 2^-126. Within 2^-22 by the instruction's documentation;
   `bench_gpu check` compares every t from -126 to 100 on the device it runs on. */
static __device__ __forceinline__ float power_of_2(float t) {
#ifdef __CUDA_ARCH__
  float r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(t));
  return r;
#else
  const float r = __builtin_exp2f(t);
  return r < 0x1p-126f ? 0.0f : r;
#endif
}

#endif
