/* What ranks_nccl.cu needs of NCCL and of CUDA's runtime, for an ordinary C++ compiler: a trial of
   how it calls them (test_ranks_nccl.cpp). No number moves between processes. */
#ifndef PHIBAL_NCCL_ON_HOST_H
#define PHIBAL_NCCL_ON_HOST_H

#include <cstddef>

typedef struct fake_stream *cudaStream_t;
enum cudaError_t { cudaSuccess, cudaErrorNotReady, cudaErrorUnknown };
cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaStreamQuery(cudaStream_t stream);
const char *cudaGetErrorString(cudaError_t error);

typedef struct fake_communicator *ncclComm_t;
enum ncclResult_t { ncclSuccess, ncclSystemError, ncclRemoteError, ncclInProgress };
enum ncclDataType_t { ncclUint64, ncclFloat32 };
enum ncclRedOp_t { ncclSum };
struct ncclUniqueId {
  char internal[128];
};
struct ncclConfig_t {
  int blocking;
};
#define NCCL_CONFIG_INITIALIZER                                                                    \
  { 1 }

ncclResult_t ncclGetUniqueId(ncclUniqueId *id);
ncclResult_t ncclCommInitRankConfig(ncclComm_t *all, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t *config);
ncclResult_t ncclCommAbort(ncclComm_t all);
ncclResult_t ncclCommGetAsyncError(ncclComm_t all, ncclResult_t *result);
const char *ncclGetErrorString(ncclResult_t result);
const char *ncclGetLastError(ncclComm_t all);
ncclResult_t ncclGroupStart();
ncclResult_t ncclGroupEnd();
ncclResult_t ncclSend(const void *from, size_t count, ncclDataType_t type, int rank, ncclComm_t all,
                      cudaStream_t stream);
ncclResult_t ncclRecv(void *to, size_t count, ncclDataType_t type, int rank, ncclComm_t all,
                      cudaStream_t stream);
ncclResult_t ncclAllReduce(const void *from, void *to, size_t count, ncclDataType_t type,
                           ncclRedOp_t sum, ncclComm_t all, cudaStream_t stream);

#endif
