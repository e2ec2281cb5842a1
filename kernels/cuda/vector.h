/* Elementwise work on rows of binary32 numbers, by four where rows begin at multiples of 16 bytes.
 */
#ifndef PHIBAL_CUDA_VECTOR_H
#define PHIBAL_CUDA_VECTOR_H

#include "device.h"

/* Four neighbours, loaded and stored as one. */
struct __attribute__((aligned(16))) float_four {
  float x[4];
};

/* `N` neighbours of p. */
template <int N> struct floats { float x[N]; };

template <int N> static __device__ __forceinline__ floats<N> floats_load(const float *p) {
  floats<N> r;
  if constexpr (N == 4) {
    float_four four = *(const float_four *)p;
#pragma unroll
    for (int i = 0; i < 4; i++) r.x[i] = four.x[i];
  } else {
    r.x[0] = *p;
  }
  return r;
}

template <int N> static __device__ __forceinline__ void floats_store(float *p, floats<N> v) {
  if constexpr (N == 4) {
    float_four four;
#pragma unroll
    for (int i = 0; i < 4; i++) four.x[i] = v.x[i];
    *(float_four *)p = four;
  } else {
    *p = v.x[0];
  }
}

/* a b + c, rounded once. */
static __device__ __forceinline__ float fused(float a, float b, float c) {
#ifdef __CUDA_ARCH__
  return __fmaf_rn(a, b, c);
#else
  return __builtin_fmaf(a, b, c);
#endif
}

static inline bool aligned16(const void *p) {
  return (uintptr_t)p % 16 == 0;
}

#endif
