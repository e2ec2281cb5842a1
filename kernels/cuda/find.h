/* Where the library of the CUDA kernels is: named by PHIBAL_CUDA_LIBRARY, or beside the program,
   where it was built, or where it was installed. */
#ifndef PHIBAL_CUDA_FIND_H
#define PHIBAL_CUDA_FIND_H

#include "kernels/cuda/cuda_features.h"
#include <phibal/status.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Why the build has no such library; null if it has. */
static inline const char *cuda_left_out(bool on_device) {
  if (on_device) return PHIBAL_HAVE_CUDA ? NULL : "no CUDA kernels: no nvcc with cuBLAS was found";
  return PHIBAL_HAVE_CUDA_ON_HOST ? NULL
                                  : "no CUDA kernels on the host: no C++ compiler or no "
                                    "Boost.Context (libboost-context-dev) was found";
}

/* The version of the NCCL that the library for devices is linked with; null if it has none. */
static inline const char *cuda_nccl(void) {
  return *PHIBAL_NCCL ? PHIBAL_NCCL : NULL;
}

/* Likewise of cuDNN. */
static inline const char *cuda_cudnn(void) {
  return *PHIBAL_CUDNN ? PHIBAL_CUDNN : NULL;
}

static inline phibal_status cuda_find(bool on_device, char *path, size_t size) {
  const char *without = cuda_left_out(on_device);
  if (without) return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED, "this build has %s", without);
  const char *library = on_device ? "libphibal-cuda.so" : "libphibal-cuda-on-host.so";
  const char *named = getenv("PHIBAL_CUDA_LIBRARY");
  if (named) {
    snprintf(path, size, "%s", named);
    return PHIBAL_OK;
  }
  char beside[4096];
  ssize_t n = readlink("/proc/self/exe", beside, sizeof beside - 1);
  beside[n > 0 ? n : 0] = 0;
  char *slash = strrchr(beside, '/');
  if (slash) *slash = 0;
  const char *folders[] = {beside, PHIBAL_CUDA_BUILT_IN, PHIBAL_CUDA_INSTALLED_IN};
  for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
    snprintf(path, size, "%s/%s", folders[i], library);
    if (access(path, R_OK) == 0) return PHIBAL_OK;
  }
  return phibal_status_set(
      PHIBAL_ERROR_IO,
      "%s is neither next to phibal nor where it was built or installed; set PHIBAL_CUDA_LIBRARY",
      library);
}

#endif
