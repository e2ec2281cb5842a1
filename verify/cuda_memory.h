/* Synchronous copies and memset, for the plugin and the benchmark. Memory is that of trainer.h. */
#ifndef PHIBAL_VERIFY_CUDA_MEMORY_H
#define PHIBAL_VERIFY_CUDA_MEMORY_H

#include "kernels/cuda/device.h"
#include "kernels/cuda/trainer.h"

/* These return 0 on success, after earlier work on the default stream. */
static inline int device_copy(void *to, const void *from, size_t bytes) {
#ifdef __CUDACC__
  return cudaMemcpy(to, from, bytes, cudaMemcpyDefault) != cudaSuccess;
#else
  cuda_on_host::stream_wait();
  memcpy(to, from, bytes);
  return 0;
#endif
}

static inline int device_zero(void *p, size_t bytes) {
#ifdef __CUDACC__
  return cudaMemset(p, 0, bytes) != cudaSuccess;
#else
  cuda_on_host::stream_wait();
  memset(p, 0, bytes);
  return 0;
#endif
}

/* The device's name, or an error that begins with "no CUDA device". */
static inline const char *device_name(void) {
#ifdef __CUDACC__
  static cudaDeviceProp properties;
  int n = 0;
  cudaError_t error = cudaGetDeviceCount(&n);
  if (error != cudaSuccess || n < 1) return "no CUDA device, or no driver for it";
  return cudaGetDeviceProperties(&properties, 0) == cudaSuccess ? properties.name : "CUDA device";
#else
  return "host";
#endif
}

#endif
