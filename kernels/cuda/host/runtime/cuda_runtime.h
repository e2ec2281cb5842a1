/* As much of CUDA's runtime as shows how context.cu and launch() call it where nvcc compiles them;
   who includes it plays the functions. */
#ifndef PHIBAL_CUDA_HOST_RUNTIME_H
#define PHIBAL_CUDA_HOST_RUNTIME_H

#include <cstddef>
#include <cstring>
#include <functional>
#include <type_traits>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline

enum cudaError_t { cudaSuccess = 0, cudaErrorUnknown = 999 };
enum cudaMemcpyKind { cudaMemcpyDeviceToHost = 2, cudaMemcpyDefault = 4 };
enum { cudaStreamNonBlocking = 1 };
enum cudaStreamCaptureMode { cudaStreamCaptureModeThreadLocal = 1 };
enum cudaDeviceAttr {
  cudaDevAttrMultiProcessorCount = 16,
  cudaDevAttrMaxSharedMemoryPerBlockOptin = 97
};
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };
typedef struct fake_runtime_stream *cudaStream_t;
typedef struct fake_runtime_graph *cudaGraph_t, *cudaGraphExec_t;
struct dim3 {
  unsigned x, y, z;
  dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};
struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  size_t dynamicSmemBytes;
  cudaStream_t stream;
};

const char *cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr which, int device);
cudaError_t cudaMemsetAsync(void *p, int value, size_t bytes, cudaStream_t stream);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream);
cudaError_t cudaMemcpy2DAsync(void *to, size_t to_stride, const void *from, size_t from_stride,
                              size_t bytes, size_t rows, cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *made, cudaGraph_t graph,
                                 unsigned long long flags);
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph);
cudaError_t cudaMalloc(void **p, size_t bytes);
cudaError_t cudaFree(void *p);
cudaError_t cudaMallocHost(void **p, size_t bytes);
cudaError_t cudaFreeHost(void *p);
/* Of a kernel, named by its address. */
cudaError_t allow_dynamic(const void *kernel, int bytes);
cudaError_t resident_blocks(int *blocks, const void *kernel, int threads, size_t bytes);
cudaError_t launched(const cudaLaunchConfig_t &config, const void *kernel,
                     std::function<void()> run);

template <class K> cudaError_t cudaFuncSetAttribute(K *kernel, cudaFuncAttribute, int bytes) {
  return allow_dynamic((const void *)kernel, bytes);
}
template <class K>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, K *kernel, int threads,
                                                          size_t bytes) {
  return resident_blocks(blocks, (const void *)kernel, threads, bytes);
}
template <class... P, class... A>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config, void (*kernel)(P...), A... a) {
  return launched(*config, (const void *)kernel, [=] { kernel(a...); });
}
template <class T> T atomicAdd(T *p, T x) {
  const T before = *p;
  *p = before + x;
  return before;
}
template <class T> T atomicMin(T *p, T x) {
  const T before = *p;
  if (x < before) *p = x;
  return before;
}

#endif
