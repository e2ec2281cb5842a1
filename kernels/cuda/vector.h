/* Elementwise work on rows of binary32 or bfloat16 numbers, by four where rows begin at multiples
   of four numbers, or eight of bfloat16. What is computed is binary32 or more; bfloat16 is how it
   is stored. */
#ifndef PHIBAL_CUDA_VECTOR_H
#define PHIBAL_CUDA_VECTOR_H

#include "device.h"

/* Four neighbours, loaded and stored as one. */
struct __attribute__((aligned(16))) float_four {
  float x[4];
};

/* p, where a vector T may be. */
#ifdef __CUDACC__
template <class T> static __device__ __forceinline__ T *vector_at(void *p) {
  return (T *)p;
}
#else
template <class T>
static T *vector_at(void *p, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
  cuda_on_host::vector_at(p, sizeof(T), {file, line});
  return (T *)p;
}
#endif

/* `N` neighbours of p. */
template <int N> struct floats { float x[N]; };

template <int N> static __device__ __forceinline__ floats<N> floats_load(const float *p) {
  floats<N> r;
  if constexpr (N == 4) {
    float_four four = *vector_at<const float_four>((void *)p);
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
    *vector_at<float_four>(p) = four;
  } else {
    *p = v.x[0];
  }
}

/* A number stored as bfloat16: the upper half of a binary32. */
struct bfloat16 {
  uint16_t bits;
};
/* N neighbours by two, the first in the lower half. */
template <int N> struct __attribute__((aligned(2 * N))) bfloat16_pairs { uint32_t pair[N / 2]; };

static __device__ __forceinline__ float widen(float x) {
  return x;
}
static __device__ __forceinline__ float widen(bfloat16 x) {
  return core_float((uint32_t)x.bits << 16);
}

/* To nearest, ties to even; NaN stays NaN. */
static __device__ __forceinline__ uint16_t bfloat16_bits(float x) {
  uint32_t u = core_bits32(x);
  if ((u & 0x7fffffffu) > 0x7f800000u) return (uint16_t)(u >> 16 | 0x40u);
  return (uint16_t)((u + 0x7fffu + (u >> 16 & 1u)) >> 16);
}

static __device__ __forceinline__ uint32_t bfloat16_pair(float first, float second) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  uint32_t pair; /* the same but for NaN, which becomes 0x7fff */
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
  return pair;
#else
  return (uint32_t)bfloat16_bits(second) << 16 | bfloat16_bits(first);
#endif
}

template <int N> static __device__ __forceinline__ floats<N> floats_load(const bfloat16 *p) {
  floats<N> r;
  if constexpr (N > 1) {
    const bfloat16_pairs<N> pairs = *vector_at<const bfloat16_pairs<N>>((void *)p);
#pragma unroll
    for (int i = 0; i < N; i += 2) {
      r.x[i] = core_float(pairs.pair[i / 2] << 16);
      r.x[i + 1] = core_float(pairs.pair[i / 2] & 0xffff0000u);
    }
  } else {
    r.x[0] = widen(*p);
  }
  return r;
}

template <int N> static __device__ __forceinline__ void floats_store(bfloat16 *p, floats<N> v) {
  if constexpr (N > 1) {
    bfloat16_pairs<N> pairs;
#pragma unroll
    for (int i = 0; i < N; i += 2) pairs.pair[i / 2] = bfloat16_pair(v.x[i], v.x[i + 1]);
    *vector_at<bfloat16_pairs<N>>(p) = pairs;
  } else {
    p->bits = bfloat16_bits(v.x[0]);
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

CORE_FUNCTION bool aligned16(const void *p) {
  return (uintptr_t)p % 16 == 0;
}

/* Threads for `pieces` of an elementwise kernel, some neighbours each, which take them by
   EACH_PIECE. */
enum { PIECE_THREADS = 256, PIECE_PER_MULTIPROCESSOR = 8 };
#define EACH_PIECE(i, pieces) EACH_OF_THREAD(i, pieces, PIECE_THREADS)

static inline launch_shape pieces_shape(const phibal_cuda *call, int64_t pieces) {
  return {blocks_for(call, (pieces + PIECE_THREADS - 1) / PIECE_THREADS, PIECE_PER_MULTIPROCESSOR),
          PIECE_THREADS, 0, true};
}

#endif
