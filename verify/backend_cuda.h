/* The CUDA kernels as backends of `phibal verify`: as `phibal verify --plugin`, plus bit-for-bit
   comparison with the CPU where the specification requires it. */
#ifndef PHIBAL_VERIFY_BACKEND_CUDA_H
#define PHIBAL_VERIFY_BACKEND_CUDA_H

#include "operation.h"

/* Opens the library of the kernels compiled for the host, or for a CUDA device. It is searched for
   at PHIBAL_CUDA_LIBRARY, next to the executable, in the build folder, and in the installation.
   PHIBAL_ERROR_UNSUPPORTED: not in this build. backend_cuda_close ends it either way. */
phibal_status backend_cuda_open(bool device, backend *b);
void backend_cuda_close(backend *b);
const char *backend_cuda_device(const backend *b);

/* Null if this build has it and its library exists, otherwise the reason. */
const char *backend_cuda_left_out(bool device);

#endif
