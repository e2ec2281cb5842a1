/* The call's device and what its kernels found wrong with the data. */
#include "device.h"
#include "trainer.h"

#include <cstdlib>
#include <new>

#ifdef __CUDACC__
static phibal_status cuda_status(const char *what, cudaError_t error) {
  if (error == cudaSuccess) return PHIBAL_OK;
  return phibal_status_set(PHIBAL_ERROR_IO, "%s: %s", what, cudaGetErrorString(error));
}
#else
static phibal_status capturing_forbids(const char *what) {
  return phibal_status_set(PHIBAL_ERROR_IO, "%s: %s", what, cuda_on_host::fault());
}

static phibal_status host_wait() {
  if (!cuda_on_host::capture_allows("waiting for the device")) return capturing_forbids("CUDA");
  if (const int status = cuda_on_host::failing()) return (phibal_status)status;
  if (cuda_on_host::stream_wait()) return PHIBAL_OK;
  return phibal_status_set(PHIBAL_ERROR_IO, "CUDA copy: memory of the host was changed, or freed, "
                                            "before the stream had been waited for");
}
#endif

phibal_status phibal_cuda_describe(phibal_cuda *call) {
  if (!call) return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "CUDA: the call is null");
#ifdef __CUDACC__
  int device = 0, n = 0;
  phibal_status status = cuda_status("CUDA device", cudaGetDevice(&device));
  if (status == PHIBAL_OK)
    status = cuda_status("CUDA device",
                         cudaDeviceGetAttribute(&n, cudaDevAttrMultiProcessorCount, device));
  call->multiprocessors = n;
  return status;
#else
  call->multiprocessors = 2;
  return PHIBAL_OK;
#endif
}

phibal_status phibal_cuda_expect(const phibal_cuda *call) {
  if (!call || !call->failure)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "CUDA: the call has no place for failures");
  return phibal_cuda_expect_all(1, call->failure, call);
}

phibal_status phibal_cuda_expect_all(int32_t n, uint64_t *failures, const phibal_cuda *call) {
  if (!call || !failures || n < 0)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "CUDA: no places for failures");
#ifdef __CUDACC__
  return cuda_status("CUDA failure", cudaMemsetAsync(failures, 0xff, sizeof *failures * (size_t)n,
                                                     (cudaStream_t)call->stream));
#else
  return (phibal_status)cuda_on_host::submit(call->stream, [=] {
    cuda_on_host::stream_next();
    memset(failures, 0xff, sizeof *failures * (size_t)n);
    return 0;
  });
#endif
}

static phibal_status failure_status(uint64_t failure) {
  long long place = (long long)(failure >> 16);
  int expert = (int)(failure >> 6 & 1023);
  switch ((failure_kind)(failure & 63)) {
  case FAILURE_LOGIT_NAN:
  case FAILURE_LOGIT_INFINITE:
  case FAILURE_LOGIT_MINUS_INFINITE: {
    static const char *const names[] = {"nan", "inf", "-inf"};
    return phibal_status_set(PHIBAL_ERROR_NONFINITE,
                             "router: the logit of token %lld for expert %d is %s, not a finite "
                             "number",
                             place, expert, names[failure & 63]);
  }
  case FAILURE_BIAS:
    return phibal_status_set(PHIBAL_ERROR_NONFINITE,
                             "router: the bias of expert %d is not a finite number", expert);
  case FAILURE_PRICE:
    return phibal_status_set(PHIBAL_ERROR_NONFINITE,
                             "router: the price of expert %d is not a finite number", expert);
  case FAILURE_ROUTE:
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "router: token %lld is routed to an expert that does not exist, or "
                             "twice to one",
                             place);
  case FAILURE_SLOT:
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "permutation: slot %lld is routed to an expert that does not exist",
                             place);
  case FAILURE_COUNT:
    return phibal_status_set(PHIBAL_ERROR_DOMAIN,
                             "balance: layer %lld: the count of expert %d is below 0, or the sum "
                             "of the counts above 2^53",
                             place, expert);
  case FAILURE_LOGSUMEXP:
    return phibal_status_set(PHIBAL_ERROR_NONFINITE,
                             "z-loss: the logsumexp of token %lld is not a finite number", place);
  case FAILURE_TARGET:
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "cross-entropy: the target of row %lld is no token", place);
  case FAILURE_LOSS:
    return phibal_status_set(PHIBAL_ERROR_NONFINITE,
                             "cross-entropy: the loss of row %lld is not a finite number", place);
  case FAILURE_GRADIENT:
    return phibal_status_set(PHIBAL_ERROR_NONFINITE,
                             "optimizer: the gradient of parameter %lld is not a finite number",
                             place);
  case FAILURE_REQUIRED:
    return phibal_status_set(
        PHIBAL_ERROR_DOMAIN,
        "quantile: a required bias of expert %d is not a number of binary32, or "
        "there are too few",
        expert);
  case FAILURE_ROW:
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "capacity: a row of expert %d is no route",
                             expert);
  case FAILURE_GATE:
    return phibal_status_set(PHIBAL_ERROR_NONFINITE,
                             "capacity: a gate of expert %d is not a finite number", expert);
  case FAILURE_SLOT_GATE:
    return phibal_status_set(PHIBAL_ERROR_DOMAIN,
                             "capacity: the gate of slot %d of token %lld is not a finite number, "
                             "or negative where it would be renormalised",
                             expert, place);
  case FAILURE_ZERO_EXPERT:
    return phibal_status_set(
        PHIBAL_ERROR_ARGUMENT,
        "zero experts: slot %d of token %lld has an expert that does not exist", expert, place);
  case FAILURE_FACTOR:
    return phibal_status_set(PHIBAL_ERROR_NONFINITE,
                             "gate factor: the factor of expert %d is not a finite number", expert);
  case FAILURE_FACTOR_EXPERT:
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "gate factor: slot %d of token %lld has an expert that does not exist",
                             expert, place - 1);
  case FAILURE_FACTOR_GATE:
    return phibal_status_set(PHIBAL_ERROR_NONFINITE,
                             "gate factor: slot %d of token %lld has a gate or a gradient that is "
                             "not a finite number",
                             expert, place - 1);
  default:
    return phibal_status_set(PHIBAL_ERROR_DOMAIN,
                             "balance: layer %lld: the state, load or frequency of expert %d is "
                             "not finite, or below 0",
                             place, expert);
  }
}

phibal_status phibal_cuda_result(const phibal_cuda *call) {
  uint64_t failure = UINT64_MAX;
  if (!call || !call->failure)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "CUDA: the call has no place for failures");
#ifdef __CUDACC__
  phibal_status status = cuda_status(
      "CUDA result", cudaMemcpyAsync(&failure, call->failure, sizeof failure,
                                     cudaMemcpyDeviceToHost, (cudaStream_t)call->stream));
  if (status == PHIBAL_OK)
    status = cuda_status("CUDA result", cudaStreamSynchronize((cudaStream_t)call->stream));
  if (status != PHIBAL_OK) return status;
#else
  phibal_status status = host_wait();
  if (status != PHIBAL_OK) return status;
  const cuda_on_host::opened_memory now;
  failure = *call->failure;
#endif
  return phibal_cuda_failure(failure);
}

phibal_status phibal_cuda_failure(uint64_t failure) {
  return failure == UINT64_MAX ? PHIBAL_OK : failure_status(failure);
}

phibal_status phibal_cuda_stream_create(phibal_cuda *call) {
#ifdef __CUDACC__
  cudaStream_t stream = nullptr;
  phibal_status status =
      cuda_status("CUDA stream", cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  call->stream = stream;
  return status;
#else
  call->stream = cuda_on_host::stream_create();
  return PHIBAL_OK;
#endif
}

void phibal_cuda_stream_destroy(phibal_cuda *call) {
  if (!call->stream) return;
#ifdef __CUDACC__
  cudaStreamDestroy((cudaStream_t)call->stream);
#else
  cuda_on_host::stream_destroy(call->stream);
#endif
  call->stream = nullptr;
}

#ifdef __CUDACC__
struct phibal_cuda_graph {
  cudaGraph_t graph;
  cudaGraphExec_t executable;
};
#else
struct phibal_cuda_graph {
  cuda_on_host::graph *graph;
};
#endif

phibal_status phibal_cuda_capture_begin(const phibal_cuda *call) {
#ifdef __CUDACC__
  return cuda_status("CUDA capture", cudaStreamBeginCapture((cudaStream_t)call->stream,
                                                            cudaStreamCaptureModeThreadLocal));
#else
  return cuda_on_host::capture_begin(call->stream) ? PHIBAL_OK : capturing_forbids("CUDA capture");
#endif
}

phibal_status phibal_cuda_capture_end(const phibal_cuda *call, phibal_cuda_graph **graph) {
  *graph = new (std::nothrow) phibal_cuda_graph();
  if (!*graph) return phibal_status_set(PHIBAL_ERROR_MEMORY, "CUDA capture: no memory");
#ifdef __CUDACC__
  cudaError_t error = cudaStreamEndCapture((cudaStream_t)call->stream, &(*graph)->graph);
  if (error == cudaSuccess) error = cudaGraphInstantiate(&(*graph)->executable, (*graph)->graph, 0);
  phibal_status status = cuda_status("CUDA capture", error);
#else
  (*graph)->graph = cuda_on_host::capture_end(call->stream);
  phibal_status status = (*graph)->graph ? PHIBAL_OK : capturing_forbids("CUDA capture");
#endif
  if (status == PHIBAL_OK) return status;
  phibal_cuda_graph_destroy(*graph);
  *graph = nullptr;
  return status;
}

phibal_status phibal_cuda_graph_launch(const phibal_cuda_graph *graph, const phibal_cuda *call) {
#ifdef __CUDACC__
  return cuda_status("CUDA graph", cudaGraphLaunch(graph->executable, (cudaStream_t)call->stream));
#else
  (void)call;
  return (phibal_status)cuda_on_host::graph_launch(graph->graph);
#endif
}

void phibal_cuda_graph_destroy(phibal_cuda_graph *graph) {
  if (!graph) return;
#ifdef __CUDACC__
  if (graph->executable) cudaGraphExecDestroy(graph->executable);
  if (graph->graph) cudaGraphDestroy(graph->graph);
#else
  cuda_on_host::graph_destroy(graph->graph);
#endif
  delete graph;
}

void *phibal_cuda_allocate(size_t bytes) {
#ifdef __CUDACC__
  void *p = nullptr;
  return cudaMalloc(&p, bytes) == cudaSuccess ? p : nullptr;
#else
  return cuda_on_host::capture_allows("allocating") ? cuda_on_host::device_allocate(bytes)
                                                    : nullptr;
#endif
}

void phibal_cuda_free(void *p) {
#ifdef __CUDACC__
  cudaFree(p);
#else
  cuda_on_host::capture_allows("freeing"); /* there is no status: the capture fails */
  cuda_on_host::device_free(p);
#endif
}

void *phibal_cuda_allocate_host(size_t bytes) {
#ifdef __CUDACC__
  void *p = nullptr;
  return cudaMallocHost(&p, bytes) == cudaSuccess ? p : nullptr;
#else
  return cuda_on_host::capture_allows("allocating") ? cuda_on_host::host_allocate(bytes) : nullptr;
#endif
}

void phibal_cuda_free_host(void *p) {
#ifdef __CUDACC__
  cudaFreeHost(p);
#else
  cuda_on_host::capture_allows("freeing");
  cuda_on_host::host_free(p);
#endif
}

#ifndef __CUDACC__
/* A copy that leaves or reaches memory of the host that is not pinned. */
static phibal_status host_copy(void *to, const void *from, size_t bytes, const phibal_cuda *call) {
  if (cuda_on_host::pageable(to, from)) {
    cuda_on_host_started[4]++;
    if (!cuda_on_host::capture_allows("a copy of host memory that is not pinned"))
      return capturing_forbids("CUDA copy");
  }
  return (phibal_status)cuda_on_host::submit(call->stream, [=] {
    cuda_on_host::stream_copy(to, from, bytes);
    return 0;
  });
}
#endif

phibal_status phibal_cuda_copy(void *to, const void *from, size_t bytes, const phibal_cuda *call) {
#ifdef __CUDACC__
  return cuda_status(
      "CUDA copy", cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, (cudaStream_t)call->stream));
#else
  return host_copy(to, from, bytes, call);
#endif
}

phibal_status phibal_cuda_copy_rows(int64_t rows, size_t bytes, void *to, size_t to_stride,
                                    const void *from, size_t from_stride, const phibal_cuda *call) {
#ifdef __CUDACC__
  return cuda_status("CUDA copy",
                     cudaMemcpy2DAsync(to, to_stride, from, from_stride, bytes, (size_t)rows,
                                       cudaMemcpyDefault, (cudaStream_t)call->stream));
#else
  phibal_status status = PHIBAL_OK;
  for (int64_t i = 0; i < rows && status == PHIBAL_OK; i++)
    status = host_copy((unsigned char *)to + (size_t)i * to_stride,
                       (const unsigned char *)from + (size_t)i * from_stride, bytes, call);
  return status;
#endif
}

phibal_status phibal_cuda_zero(void *p, size_t bytes, const phibal_cuda *call) {
#ifdef __CUDACC__
  return cuda_status("CUDA zeros", cudaMemsetAsync(p, 0, bytes, (cudaStream_t)call->stream));
#else
  return (phibal_status)cuda_on_host::submit(call->stream, [=] {
    cuda_on_host::stream_next();
    memset(p, 0, bytes);
    return 0;
  });
#endif
}

phibal_status phibal_cuda_wait(const phibal_cuda *call) {
#ifdef __CUDACC__
  return cuda_status("CUDA", cudaStreamSynchronize((cudaStream_t)call->stream));
#else
  (void)call;
  return host_wait();
#endif
}
