/* What the kernels need of CUDA, for both of its compilers: nvcc, and an ordinary C++ compiler with
   kernels/cuda/host. */
#ifndef PHIBAL_CUDA_DEVICE_H
#define PHIBAL_CUDA_DEVICE_H

#ifdef __CUDACC__
#include <cuda_runtime.h>
#else
#include "kernels/cuda/host/cuda_on_host.h"
#endif

#include "kernels/core/core.h"
#include <phibal/cuda.h>

#ifdef __CUDACC__
#define NOT_INLINE __noinline__
#else
#define NOT_INLINE __attribute__((noinline))
#endif

/* A condition that seldom holds. tools/cuda_budgets.py compiles with PHIBAL_BUDGETS, and then what
   it guards leads nowhere, so that its loops hold only what usually runs. */
#if defined(PHIBAL_BUDGETS) && defined(__CUDA_ARCH__)
static __device__ __forceinline__ bool leads_nowhere() {
  __trap();
  __builtin_unreachable();
}
#define SELDOM(condition) ((condition) && leads_nowhere())
#else
#define SELDOM(condition) __builtin_expect(!!(condition), 0)
#endif

#define WARP 32
#define ALL_LANES 0xffffffffu

/* What there are n of, for the threads of a grid of blocks of `threads`, or for its warps: each
   takes its own, and then those that a grid further on are its own. */
#define EACH_OF_THREAD(i, n, threads)                                                              \
  for (int64_t i = (int64_t)blockIdx.x * (threads) + threadIdx.x; i < (n);                         \
       i += (int64_t)gridDim.x * (threads))
#define EACH_OF_WARP(i, n, threads)                                                                \
  for (int64_t i = (int64_t)blockIdx.x * ((threads) / WARP) + threadIdx.x / WARP; i < (n);         \
       i += (int64_t)gridDim.x * ((threads) / WARP))

/* Shared memory is named through these, so that the host can watch it:
     SHARED_ARRAY(T, name, n)   a static array of n, in a kernel
     SHARED_DYNAMIC(T, name)    the launch's dynamic memory */
#ifdef __CUDACC__
template <class T> using shared_pointer = T *;
#define SHARED_ARRAY(T, name, n) __shared__ T name[n]
#define SHARED_DYNAMIC(T, name)                                                                    \
  extern __shared__ __align__(16) unsigned char name##_bytes[];                                    \
  T *name = reinterpret_cast<T *>(name##_bytes)
template <class T> static __device__ void shared_add(T *p, int i, T value) {
  atomicAdd(p + i, value);
}
#else
using cuda_on_host::shared_pointer;
#define SHARED_ARRAY(T, name, n)                                                                   \
  static thread_local cuda_on_host::shared_array<T, n> name##_array;                               \
  shared_pointer<T> name = name##_array.view()
#define SHARED_DYNAMIC(T, name) shared_pointer<T> name(cuda_on_host::dynamic_region(), 0)
template <class T>
static void shared_add(shared_pointer<T> p, int i, T value, const char *file = __builtin_FILE(),
                       int line = __builtin_LINE()) {
  p.atomic_add(i, value, {file, line});
}
#endif

/* Device memory that all blocks add to. */
typedef unsigned long long device_sum;

/* A launch: one dimension of blocks and of threads. */
typedef struct launch_shape {
  int64_t blocks;
  int threads;
  size_t shared_bytes; /* dynamic */
  /* The kernel's blocks take their work by a stride: no more are started than fit at once. */
  bool resident = false;
} launch_shape;
enum { MOST_RESIDENT = 32 }; /* blocks of a multiprocessor, whatever they need */

/* Blocks for `work` pieces of one block each, `per_multiprocessor` of which fit beside each other:
   each block then takes several, by a stride. */
static inline int64_t blocks_for(const phibal_cuda *call, int64_t work, int per_multiprocessor) {
  int64_t most = (int64_t)call->multiprocessors * per_multiprocessor;
  if (call->most_blocks > 0 && call->most_blocks < most) most = call->most_blocks;
  if (most < 1) most = 1;
  return work < 1 ? 1 : work < most ? work : most;
}

/* Starts a kernel in the call's stream. */
#ifdef __CUDACC__
template <class... P>
static phibal_status launch(const char *name, void (*kernel)(P...), launch_shape shape,
                            const phibal_cuda *call, typename std::common_type<P>::type... p) {
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3((unsigned)shape.blocks);
  config.blockDim = dim3((unsigned)shape.threads);
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream = (cudaStream_t)call->stream;
  cudaError_t error = cudaSuccess;
  if (shape.shared_bytes > 48 * 1024) /* beyond it a kernel has to be asked for once more */
    error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 (int)shape.shared_bytes);
  int fit = 0;
  if (error == cudaSuccess && shape.resident)
    error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fit, kernel, shape.threads,
                                                          shape.shared_bytes);
  if (fit > 0 && shape.blocks > (int64_t)fit * call->multiprocessors)
    config.gridDim = dim3((unsigned)(fit * call->multiprocessors));
  if (error == cudaSuccess) error = cudaLaunchKernelEx(&config, kernel, p...);
  if (error == cudaSuccess) return PHIBAL_OK;
  return phibal_status_set(PHIBAL_ERROR_IO, "%s: %s", name, cudaGetErrorString(error));
}
#else
template <class... P>
static phibal_status launch(const char *name, void (*kernel)(P...), launch_shape shape,
                            const phibal_cuda *call, typename std::common_type<P>::type... p) {
  const auto operation = [=]() -> int {
    auto body = [&] { kernel(p...); };
    auto thread = [](void *arguments) { (*static_cast<decltype(body) *>(arguments))(); };
    if (shape.shared_bytes > 48 * 1024)
      cuda_on_host::allow_shared((const void *)kernel, shape.shared_bytes);
    if (cuda_on_host::run((const void *)kernel, shape.blocks, shape.threads, shape.shared_bytes,
                          thread, &body))
      return PHIBAL_OK;
    return phibal_status_set(PHIBAL_ERROR_IO, "%s: %s", name, cuda_on_host::fault());
  };
  return (phibal_status)cuda_on_host::submit(call->stream, operation);
}
#endif

/* The most dynamic shared memory that a block may ask for, less what its kernel has by itself. */
static inline size_t shared_most(size_t own) {
#ifdef __CUDACC__
  int device = 0, bytes = 0;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) !=
          cudaSuccess)
    bytes = 48 * 1024;
  return (size_t)bytes - own;
#else
  return cuda_on_host_shared - own;
#endif
}

/* What the data broke, in call->failure: the lowest place (a token, a slot or a layer) wins, then
   the lowest expert. `all ones`: nothing. */
enum failure_kind {
  FAILURE_LOGIT_NAN,
  FAILURE_LOGIT_INFINITE,
  FAILURE_LOGIT_MINUS_INFINITE,
  FAILURE_BIAS,
  FAILURE_PRICE,
  FAILURE_ROUTE,
  FAILURE_SLOT,
  FAILURE_COUNT,
  FAILURE_LOAD,
  FAILURE_LOGSUMEXP,
  FAILURE_TARGET,
  FAILURE_LOSS,
  FAILURE_GRADIENT,
  FAILURE_REQUIRED,
  FAILURE_ROW,
  FAILURE_GATE,
  FAILURE_SLOT_GATE,
  FAILURE_FACTOR,
  FAILURE_FACTOR_EXPERT, /* place: the token + 1, behind the factors */
  FAILURE_FACTOR_GATE,
  FAILURE_ZERO_EXPERT,
};

static __device__ __forceinline__ void failure_report(uint64_t *failure, int64_t place, int expert,
                                                      failure_kind kind) {
  if (failure)
    atomicMin((device_sum *)failure,
              (device_sum)place << 16 | (device_sum)expert << 6 | (device_sum)kind);
}

static inline phibal_status call_check(const char *name, const phibal_cuda *call, size_t bytes) {
  if (!call) return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: the call is null", name);
  if (call->multiprocessors < 1)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "%s: %d multiprocessors; phibal_cuda_describe sets them", name,
                             call->multiprocessors);
  if (bytes > 0 && (!call->workspace || call->workspace_bytes < bytes))
    return phibal_status_set(PHIBAL_ERROR_MEMORY, "%s: a workspace of %zu bytes, %zu are needed",
                             name, call->workspace ? call->workspace_bytes : 0, bytes);
  return PHIBAL_OK;
}

#endif
