/* The ranks of ranks.h between devices, by NCCL. Compiled and linked where nvcc and NCCL are; how
   it calls NCCL is tried without (tests/kernels/cuda/test_ranks_nccl.cpp), on a device it has not
   run yet.

   The communicator does not block: whatever NCCL has begun is waited for here, where a rank that is
   lost, an error of NCCL's and the end of patience are looked at meanwhile. Each of them aborts the
   communicator, which ends the kernels that wait for another rank in the stream. */
#include "device.h"
#include "ranks.h"

#if PHIBAL_HAVE_NCCL

#include <nccl.h>
#include <cstdio>
#include <new>
#include <time.h>
#include <vector>

struct phibal_cuda_ranks {
  phibal_cuda_peers peers;
  ncclComm_t all; /* null: aborted */
};

namespace {

double now() {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

phibal_status cuda_failed(const char *what, cudaError_t error) {
  if (error == cudaSuccess) return PHIBAL_OK;
  return phibal_status_set(PHIBAL_ERROR_IO, "%s: %s", what, cudaGetErrorString(error));
}

/* Nothing more is done with these ranks. */
phibal_status end(phibal_cuda_ranks *r, const char *what, const char *why) {
  phibal_status status = phibal_status_set(PHIBAL_ERROR_IO, "rank %d of %d: %s: %s",
                                           (int)r->peers.rank, (int)r->peers.ranks, what, why);
  if (r->all) ncclCommAbort(r->all);
  r->all = nullptr;
  return status;
}

phibal_status nccl_failed(phibal_cuda_ranks *r, const char *what, ncclResult_t result) {
  const char *more = ncclGetLastError(r->all);
  char why[512];
  snprintf(why, sizeof why, "NCCL: %s%s%s", ncclGetErrorString(result), more && *more ? ": " : "",
           more ? more : "");
  return end(r, what, why);
}

/* One look at what a wait should end for, some of it seldom: `look` counts. */
struct watch {
  double begin;
  int64_t look;
};

phibal_status watch_ranks(phibal_cuda_ranks *r, const char *what, watch *w) {
  /* A thousand looks at once, for a step waits once a layer; then 20 us apart. */
  if (++w->look < 1000) return PHIBAL_OK;
  const struct timespec pause = {0, 20000};
  nanosleep(&pause, nullptr);
  if (w->look % 1000 != 0) return PHIBAL_OK;
  const char *lost = r->peers.lost(r->peers.context);
  if (lost) return end(r, what, lost);
  if (now() - w->begin > r->peers.seconds) {
    char why[96];
    snprintf(why, sizeof why, "timed out waiting %g s for another rank (PHIBAL_TIMEOUT)",
             r->peers.seconds);
    return end(r, what, why);
  }
  return PHIBAL_OK;
}

/* Until NCCL has done on the host what it has begun; only then is it in the stream. */
phibal_status settle(phibal_cuda_ranks *r, const char *what, ncclResult_t result) {
  watch w = {now(), 0};
  while (result == ncclInProgress) {
    const ncclResult_t asked = ncclCommGetAsyncError(r->all, &result);
    if (asked != ncclSuccess) return nccl_failed(r, what, asked);
    if (result != ncclInProgress) break;
    phibal_status status = watch_ranks(r, what, &w);
    if (status != PHIBAL_OK) return status;
  }
  return result == ncclSuccess ? PHIBAL_OK : nccl_failed(r, what, result);
}

phibal_status ranks_alive(const phibal_cuda_ranks *r, const char *what) {
  if (r && r->all) return PHIBAL_OK;
  return phibal_status_set(PHIBAL_ERROR_IO, "%s: these ranks have failed before", what);
}

/* Where a process sees one device, its launcher has chosen it. */
phibal_status take_device(int32_t local) {
  int devices = 0;
  phibal_status status = cuda_failed("CUDA device", cudaGetDeviceCount(&devices));
  if (status != PHIBAL_OK) return status;
  if (devices > 1 && local >= devices)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "process %d of this machine has no device: there are %d (a rank takes "
                             "one)",
                             (int)local + 1, devices);
  return cuda_failed("CUDA device", cudaSetDevice(devices > 1 ? (int)local : 0));
}

/* What rank 0 tells the others. */
struct invitation {
  ncclResult_t result;
  ncclUniqueId id;
};

phibal_status join(phibal_cuda_ranks *r) {
  const char *what = "NCCL's communicator";
  invitation own = {ncclSuccess, {}};
  if (r->peers.rank == 0) own.result = ncclGetUniqueId(&own.id);
  std::vector<invitation> all((size_t)r->peers.ranks);
  const char *wrong = r->peers.gather(r->peers.context, &own, sizeof own, all.data());
  if (wrong) return end(r, what, wrong);
  if (all[0].result != ncclSuccess)
    return end(r, "rank 0's NCCL", ncclGetErrorString(all[0].result));
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  return settle(r, what,
                ncclCommInitRankConfig(&r->all, r->peers.ranks, all[0].id, r->peers.rank, &config));
}

} // namespace

phibal_status phibal_cuda_ranks_create(const phibal_cuda_peers *peers,
                                       phibal_cuda_ranks **created) {
  *created = nullptr;
  phibal_status status = take_device(peers->local);
  if (status != PHIBAL_OK) return status;
  phibal_cuda_ranks *r = new (std::nothrow) phibal_cuda_ranks{*peers, nullptr};
  if (!r) return phibal_status_set(PHIBAL_ERROR_MEMORY, "ranks: out of memory");
  status = join(r);
  if (status == PHIBAL_OK)
    *created = r;
  else
    phibal_cuda_ranks_destroy(r);
  return status;
}

/* Does not wait for the others: a run that ends well has added up its last step's losses on the
   hosts after every rank's device was done. */
void phibal_cuda_ranks_destroy(phibal_cuda_ranks *r) {
  if (r && r->all) ncclCommAbort(r->all);
  delete r;
}

int32_t phibal_cuda_ranks_count(const phibal_cuda_ranks *r) {
  return r->peers.ranks;
}

int32_t phibal_cuda_ranks_rank(const phibal_cuda_ranks *r) {
  return r->peers.rank;
}

phibal_status phibal_cuda_ranks_wait(phibal_cuda_ranks *r, const phibal_cuda *call) {
  const char *what = "waiting for the device";
  phibal_status status = ranks_alive(r, what);
  watch w = {now(), 0};
  while (status == PHIBAL_OK) {
    const cudaError_t error = cudaStreamQuery((cudaStream_t)call->stream);
    if (error == cudaSuccess) return PHIBAL_OK;
    if (error != cudaErrorNotReady) return end(r, what, cudaGetErrorString(error));
    if (w.look % 1000 == 999) {
      ncclResult_t result = ncclSuccess, asked = ncclCommGetAsyncError(r->all, &result);
      if (asked != ncclSuccess) result = asked;
      if (result != ncclSuccess && result != ncclInProgress) return nccl_failed(r, what, result);
    }
    status = watch_ranks(r, what, &w);
  }
  return status;
}

phibal_status phibal_cuda_ranks_sum_integers(phibal_cuda_ranks *r, int64_t n, uint64_t *x,
                                             const phibal_cuda *call) {
  const char *what = "sum of integers over ranks";
  phibal_status status = ranks_alive(r, what);
  if (status != PHIBAL_OK) return status;
  return settle(
      r, what,
      ncclAllReduce(x, x, (size_t)n, ncclUint64, ncclSum, r->all, (cudaStream_t)call->stream));
}

phibal_status phibal_cuda_ranks_exchange(phibal_cuda_ranks *r, const int64_t *to,
                                         const int64_t *to_at, const float *send,
                                         const int64_t *from, const int64_t *from_at,
                                         float *receive, const phibal_cuda *call) {
  const char *what = "exchange between ranks";
  phibal_status status = ranks_alive(r, what);
  if (status != PHIBAL_OK) return status;
  const cudaStream_t stream = (cudaStream_t)call->stream;
  ncclResult_t result = ncclGroupStart();
  const auto good = [&] { return result == ncclSuccess || result == ncclInProgress; };
  for (int32_t i = 0; i < r->peers.ranks && good(); i++) {
    if (to[i] > 0)
      result = ncclSend(send + to_at[i], (size_t)to[i], ncclFloat32, i, r->all, stream);
    if (from[i] > 0 && good())
      result = ncclRecv(receive + from_at[i], (size_t)from[i], ncclFloat32, i, r->all, stream);
  }
  const ncclResult_t ended = ncclGroupEnd();
  return good() ? settle(r, what, ended) : nccl_failed(r, what, result);
}

#else

/* No communicator is ever made. */
phibal_status phibal_cuda_ranks_create(const phibal_cuda_peers *, phibal_cuda_ranks **created) {
  *created = nullptr;
  return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                           "several processes with a device each need NCCL, but the CUDA library "
                           "was built without it: install libnccl-dev and build again");
}

void phibal_cuda_ranks_destroy(phibal_cuda_ranks *) {}

int32_t phibal_cuda_ranks_count(const phibal_cuda_ranks *) {
  return 1;
}

int32_t phibal_cuda_ranks_rank(const phibal_cuda_ranks *) {
  return 0;
}

static phibal_status no_ranks(void) {
  return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED, "ranks: built without NCCL");
}

phibal_status phibal_cuda_ranks_wait(phibal_cuda_ranks *, const phibal_cuda *) {
  return no_ranks();
}

phibal_status phibal_cuda_ranks_sum_integers(phibal_cuda_ranks *, int64_t, uint64_t *,
                                             const phibal_cuda *) {
  return no_ranks();
}

phibal_status phibal_cuda_ranks_exchange(phibal_cuda_ranks *, const int64_t *, const int64_t *,
                                         const float *, const int64_t *, const int64_t *, float *,
                                         const phibal_cuda *) {
  return no_ranks();
}

#endif
