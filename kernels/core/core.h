/* What every core builds on: how a function is declared, the fused multiply-add, bit casts.

   The cores are the numeric atoms of the kernels: `static inline` C that gcc, clang and nvcc
   compile to the same bits. They use only the basic operations of IEEE 754, correctly rounded
   everywhere, and the fused multiply-add where it is written; so they must be compiled without
   contraction
   (-ffp-contract=off, -fmad=false) and without any fast-math, and they call no library function. */
#ifndef PHIBAL_CORE_CORE_H
#define PHIBAL_CORE_CORE_H

#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define CORE_FUNCTION static __host__ __device__ inline
#else
#define CORE_FUNCTION static inline
#endif

/* a b + c, and the square root of x >= 0, rounded once. */
#ifdef __CUDA_ARCH__
#define CORE_FMA(a, b, c) __fma_rn((a), (b), (c))
#define CORE_SQRT(x) __dsqrt_rn(x)
#else
#define CORE_FMA(a, b, c) __builtin_fma((a), (b), (c))
#define CORE_SQRT(x) __builtin_sqrt(x)
#endif

#define CORE_INFINITY ((double)__builtin_inff())

CORE_FUNCTION uint64_t core_bits64(double x) {
  uint64_t u;
  memcpy(&u, &x, sizeof u);
  return u;
}

CORE_FUNCTION double core_double(uint64_t u) {
  double x;
  memcpy(&x, &u, sizeof x);
  return x;
}

CORE_FUNCTION uint32_t core_bits32(float x) {
  uint32_t u;
  memcpy(&u, &x, sizeof u);
  return u;
}

CORE_FUNCTION float core_float(uint32_t u) {
  float x;
  memcpy(&x, &u, sizeof x);
  return x;
}

/* |x|, by its bits: no call, and defined for NaN. */
CORE_FUNCTION double core_abs(double x) {
  return core_double(core_bits64(x) & 0x7fffffffffffffffu);
}

/* 2^k for -1022 <= k <= 1023. */
CORE_FUNCTION double core_power_of_two(int k) {
  return core_double((uint64_t)(k + 1023) << 52);
}

#endif
