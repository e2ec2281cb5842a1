/* context.cu and launch() as nvcc compiles them, with CUDA's runtime played here: what is asked of
   a stream is done when that stream is waited for, and not before; any call may fail. */
#include "kernels/cuda/device.h"
#include "kernels/cuda/trainer.h"
#include <criterion/criterion.h>
#include <cstdlib>
#include <deque>

struct fake_runtime_stream {
  std::deque<std::function<void()>> queue;
  bool captured = false;
};
struct fake_runtime_graph {
  std::deque<std::function<void()>> queue;
};

static int calls, fails_at, living;
static cudaLaunchConfig_t config;
static int allowed, fit = 3;

static cudaError_t called() {
  return ++calls == fails_at ? cudaErrorUnknown : cudaSuccess;
}
#define CALLED()                                                                                   \
  if (called() != cudaSuccess) return cudaErrorUnknown

/* Work of another stream is nobody's, and fails. */
static cudaError_t put(cudaStream_t stream, std::function<void()> work) {
  CALLED();
  if (!stream) return cudaErrorUnknown;
  stream->queue.push_back(std::move(work));
  return cudaSuccess;
}

const char *cudaGetErrorString(cudaError_t) {
  return "played";
}
cudaError_t cudaGetDevice(int *device) {
  *device = 1;
  return called();
}
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr which, int device) {
  *value = device != 1 ? 0 : which == cudaDevAttrMultiProcessorCount ? 7 : 200 * 1024;
  return called();
}
cudaError_t cudaMemsetAsync(void *p, int value, size_t bytes, cudaStream_t stream) {
  return put(stream, [=] { memset(p, value, bytes); });
}
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind,
                            cudaStream_t stream) {
  return put(stream, [=] { memcpy(to, from, bytes); });
}
cudaError_t cudaMemcpy2DAsync(void *to, size_t to_stride, const void *from, size_t from_stride,
                              size_t bytes, size_t rows, cudaMemcpyKind, cudaStream_t stream) {
  if (to_stride < bytes || from_stride < bytes) return cudaErrorUnknown;
  return put(stream, [=] {
    for (size_t i = 0; i < rows; i++)
      memcpy((char *)to + i * to_stride, (const char *)from + i * from_stride, bytes);
  });
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  CALLED();
  if (!stream || stream->captured) return cudaErrorUnknown;
  for (; !stream->queue.empty(); stream->queue.pop_front()) stream->queue.front()();
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags) {
  CALLED();
  if (flags != cudaStreamNonBlocking) return cudaErrorUnknown;
  *stream = new fake_runtime_stream(), living++;
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  delete stream, living--;
  return cudaSuccess;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  CALLED();
  stream->captured = true;
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph) {
  stream->captured = false;
  CALLED();
  *graph = new fake_runtime_graph{std::move(stream->queue)}, living++;
  stream->queue.clear();
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *made, cudaGraph_t graph, unsigned long long) {
  CALLED();
  *made = new fake_runtime_graph(*graph), living++;
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
  CALLED();
  stream->queue.insert(stream->queue.end(), graph->queue.begin(), graph->queue.end());
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph, living--;
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
  return cudaGraphDestroy(graph);
}
cudaError_t cudaMalloc(void **p, size_t bytes) {
  CALLED();
  *p = malloc(bytes), living++;
  return cudaSuccess;
}
cudaError_t cudaFree(void *p) {
  free(p), living--;
  return cudaSuccess;
}
cudaError_t cudaMallocHost(void **p, size_t bytes) {
  return cudaMalloc(p, bytes);
}
cudaError_t cudaFreeHost(void *p) {
  return cudaFree(p);
}
cudaError_t allow_dynamic(const void *, int bytes) {
  allowed = bytes;
  return called();
}
cudaError_t resident_blocks(int *blocks, const void *, int, size_t bytes) {
  *blocks = bytes <= 48 * 1024 || bytes <= (size_t)allowed ? fit : 0;
  return called();
}
cudaError_t launched(const cudaLaunchConfig_t &c, const void *, std::function<void()> run) {
  if (c.dynamicSmemBytes > 48 * 1024 && c.dynamicSmemBytes > (size_t)allowed)
    return cudaErrorUnknown;
  config = c;
  return put(c.stream, std::move(run));
}

static void add_to(int *x, int by) {
  *x += by;
}

/* Everything that a call may ask for, in order; the first failure. */
static phibal_status everything(phibal_cuda *call, uint64_t *failures, int *x) {
  static const int from[] = {1, 2, 3, 4, 5, 6};
  phibal_status status = phibal_cuda_describe(call);
  const auto then = [&](phibal_status next) { status = status ? status : next; };
  if (!status) then(phibal_cuda_stream_create(call));
  if (!status) then(phibal_cuda_expect_all(3, failures, call));
  if (!status) then(phibal_cuda_copy(x, from, sizeof from, call));
  if (!status) then(phibal_cuda_zero(x + 1, sizeof *x, call));
  if (!status) then(phibal_cuda_copy_rows(2, sizeof *x, x + 6, 8, x + 2, 12, call));
  if (!status)
    then(launch("adding", add_to, launch_shape{100, 64, 100 * 1024, true}, call, x + 4, 40));
  if (!status) cr_expect(failures[0] == 0 && x[0] == 0, "done before the stream is waited for");
  if (!status) then(phibal_cuda_result(call));
  if (!status) cr_expect_eq(x[4], 45);
  phibal_cuda_graph *graph = nullptr;
  if (!status) then(phibal_cuda_capture_begin(call));
  if (!status) {
    then(phibal_cuda_zero(x, sizeof *x, call));
    const phibal_status ended = phibal_cuda_capture_end(call, &graph);
    then(ended);
  }
  if (!status) cr_expect_eq(x[0], 1);
  if (!status) then(phibal_cuda_graph_launch(graph, call));
  if (!status) then(phibal_cuda_wait(call));
  phibal_cuda_graph_destroy(graph);
  phibal_cuda_stream_destroy(call);
  return status;
}

Test(cuda_context, everything_goes_to_the_calls_stream) {
  uint64_t failures[4] = {};
  int x[9] = {};
  phibal_cuda call = {};
  call.failure = failures;
  cr_assert_eq(everything(&call, failures, x), PHIBAL_OK, "%s", phibal_status_message());
  static const int want[] = {0, 0, 3, 4, 45, 6, 3, 0, 6};
  cr_expect_eq(memcmp(x, want, sizeof x), 0);
  cr_expect(failures[2] == UINT64_MAX && failures[3] == 0);
  cr_expect_eq(living, 0);
  cr_expect_eq(call.multiprocessors, 7);
  cr_expect(config.gridDim.x == 21 && config.blockDim.x == 64, "a grid of %u", config.gridDim.x);
  cr_expect(allowed == 100 * 1024 && config.dynamicSmemBytes == 100 * 1024);
}

Test(cuda_context, no_failure_is_lost_and_nothing_is_left) {
  for (fails_at = 1;; fails_at++) {
    uint64_t failures[4] = {};
    int x[9] = {};
    phibal_cuda call = {};
    call.failure = failures;
    calls = allowed = 0;
    const phibal_status status = everything(&call, failures, x);
    cr_expect_eq(living, 0, "call %d fails: something is left", fails_at);
    if (calls < fails_at) break;
    cr_expect_eq(status, PHIBAL_ERROR_IO, "call %d fails, and nobody says so", fails_at);
  }
  cr_expect_gt(fails_at, 16);
  fails_at = 1, calls = 0;
  cr_expect_null(phibal_cuda_allocate(8));
  fails_at = 2;
  cr_expect_null(phibal_cuda_allocate_host(8));
}
