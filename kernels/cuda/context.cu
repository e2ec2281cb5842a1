/* The call's device and what its kernels found wrong with the data. */
#include "device.h"
#include "trainer.h"

#include <cstdlib>

#ifdef __CUDACC__
static phibal_status cuda_status(const char *what, cudaError_t error) {
  if (error == cudaSuccess) return PHIBAL_OK;
  return phibal_status_set(PHIBAL_ERROR_IO, "%s: %s", what, cudaGetErrorString(error));
}
#else
static phibal_status host_wait() {
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
#ifdef __CUDACC__
  return cuda_status("CUDA failure", cudaMemsetAsync(call->failure, 0xff, sizeof *call->failure,
                                                     (cudaStream_t)call->stream));
#else
  cuda_on_host::stream_next();
  *call->failure = UINT64_MAX;
  return PHIBAL_OK;
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
  failure = *call->failure;
#endif
  return failure == UINT64_MAX ? PHIBAL_OK : failure_status(failure);
}

void *phibal_cuda_allocate(size_t bytes) {
#ifdef __CUDACC__
  void *p = nullptr;
  return cudaMalloc(&p, bytes) == cudaSuccess ? p : nullptr;
#else
  return cuda_on_host::device_allocate(bytes);
#endif
}

void phibal_cuda_free(void *p) {
#ifdef __CUDACC__
  cudaFree(p);
#else
  cuda_on_host::device_free(p);
#endif
}

phibal_status phibal_cuda_copy(void *to, const void *from, size_t bytes, const phibal_cuda *call) {
#ifdef __CUDACC__
  return cuda_status(
      "CUDA copy", cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, (cudaStream_t)call->stream));
#else
  (void)call;
  cuda_on_host::stream_copy(to, from, bytes);
  return PHIBAL_OK;
#endif
}

phibal_status phibal_cuda_copy_rows(int64_t rows, size_t bytes, void *to, size_t to_stride,
                                    const void *from, size_t from_stride, const phibal_cuda *call) {
#ifdef __CUDACC__
  return cuda_status("CUDA copy",
                     cudaMemcpy2DAsync(to, to_stride, from, from_stride, bytes, (size_t)rows,
                                       cudaMemcpyDefault, (cudaStream_t)call->stream));
#else
  (void)call;
  for (int64_t i = 0; i < rows; i++)
    cuda_on_host::stream_copy((unsigned char *)to + (size_t)i * to_stride,
                              (const unsigned char *)from + (size_t)i * from_stride, bytes);
  return PHIBAL_OK;
#endif
}

phibal_status phibal_cuda_zero(void *p, size_t bytes, const phibal_cuda *call) {
#ifdef __CUDACC__
  return cuda_status("CUDA zeros", cudaMemsetAsync(p, 0, bytes, (cudaStream_t)call->stream));
#else
  (void)call;
  cuda_on_host::stream_next();
  memset(p, 0, bytes);
  return PHIBAL_OK;
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
