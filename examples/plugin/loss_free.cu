/* A plugin for `phibal verify` whose tensors are in the memory of a GPU: the loss-free bias (L6).

     nvcc -Xcompiler -fPIC -shared loss_free.cu -o loss_free.so $(pkg-config --cflags phibal)
     phibal verify --plugin ./loss_free.so

   Counts are compared as integers, so that a bias moves exactly where its expert's load is off the
   mean: in floating point, counts of 2^40 and more would be taken for equal. */
#include <phibal/plugin.h>

enum { THREADS = 256 };

/* One block. next_e = bias_e + rate sign(sum count - E count_e) */
static __global__ void update(int64_t experts, float rate, const int64_t *count, const float *bias,
                              float *next) {
  __shared__ unsigned long long total;
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  for (int64_t e = threadIdx.x; e < experts; e += THREADS)
    atomicAdd(&total, (unsigned long long)count[e]);
  __syncthreads();
  for (int64_t e = threadIdx.x; e < experts; e += THREADS) {
    int64_t share = count[e] * experts, mean = (int64_t)total;
    next[e] = share < mean ? bias[e] + rate : share > mean ? bias[e] - rate : bias[e];
  }
}

static int loss_free(phibal_plugin_case *c) {
  const int64_t *count = (const int64_t *)phibal_plugin_input(c, "counts", PHIBAL_PLUGIN_I64);
  const float *bias = (const float *)phibal_plugin_input(c, "bias", PHIBAL_PLUGIN_F32);
  float *next = (float *)phibal_plugin_output(c, "bias", PHIBAL_PLUGIN_F32);
  int64_t experts = phibal_plugin_extent(c, "counts", 0);
  float rate = (float)phibal_plugin_real(c, "rate");
  if (c->misuse[0]) return 1;
  update<<<1, THREADS>>>(experts, rate, count, bias, next);
  cudaError_t error = cudaGetLastError();
  strncpy(c->message, cudaGetErrorString(error), sizeof c->message - 1);
  return error != cudaSuccess;
}

static void *allocate(size_t bytes) {
  void *memory = NULL;
  return cudaMalloc(&memory, bytes) == cudaSuccess ? memory : NULL;
}

static void release(void *memory) {
  cudaFree(memory);
}

static int upload(void *device, const void *host, size_t bytes) {
  return cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice) != cudaSuccess;
}

/* Waits for what was started before, as cudaMemcpy does. */
static int download(void *host, const void *device, size_t bytes) {
  return cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost) != cudaSuccess;
}

static const phibal_plugin_operation operations[] = {
    {"loss-free", loss_free, NULL},
    {NULL, NULL, NULL},
};

static const phibal_plugin plugin = {PHIBAL_PLUGIN_VERSION,
                                     "loss_free.cu, an example",
                                     operations,
                                     "CUDA",
                                     allocate,
                                     release,
                                     upload,
                                     download};

const phibal_plugin *phibal_plugin_get(void) {
  return &plugin;
}
