/* The CUDA kernels as backends of `phibal verify`: what `phibal verify --plugin` does, and besides,
   where the specification says so, every output compared with the CPU's, bit for bit. */
#ifndef PHIBAL_VERIFY_BACKEND_CUDA_H
#define PHIBAL_VERIFY_BACKEND_CUDA_H

#include "operation.h"

/* Opens the library of the kernels compiled for the host, or for a CUDA device. It is looked for
   where PHIBAL_CUDA_LIBRARY says, beside the executable, in the build folder, and where it is
   installed. PHIBAL_ERROR_UNSUPPORTED: not in this build. backend_cuda_close ends it either way. */
phibal_status backend_cuda_open(bool device, backend *b);
void backend_cuda_close(backend *b);
const char *backend_cuda_device(const backend *b);

/* Null where this build has it and its library is there, otherwise why not. */
const char *backend_cuda_left_out(bool device);

#endif
