/* Sums and exchanges of device memory among the ranks of a job, each with a device of its own, in
   the call's stream: nothing here waits for the device but phibal_cuda_ranks_wait. Every rank has
   to make the same calls with arguments that agree.

   What moves the numbers is a thin layer: NCCL between devices (ranks_nccl.cu), or on the host what
   the caller gathers with (kernels/cuda/host/ranks.cpp). The order of sums is in ranks.cu, for
   both: the same number of ranks gives the same bits each time, and those of the CPU's ranks
   (moe/parallel/parallel.h). */
#ifndef PHIBAL_CUDA_RANKS_H
#define PHIBAL_CUDA_RANKS_H

#include <phibal/cuda.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How host code reaches the other ranks. */
typedef struct phibal_cuda_peers {
  const void *context;
  int32_t rank, ranks;
  int32_t local;  /* which of this machine's processes this is: it takes that device */
  double seconds; /* the longest wait for another rank */
  /* all [ranks][bytes] becomes what every rank has in own [bytes]; host memory. Returns null, or
     what went wrong. */
  const char *(*gather)(const void *context, const void *own, size_t bytes, void *all);
  /* Null, or why another rank will not come any more. Does not wait. */
  const char *(*lost)(const void *context);
} phibal_cuda_peers;

typedef struct phibal_cuda_ranks phibal_cuda_ranks;

/* Takes the device and joins the others; to be called before anything else is done with a device.
   One rank is a job too. `peers` is copied, its context outlives the ranks.
   PHIBAL_ERROR_UNSUPPORTED: the library was built without NCCL. */
phibal_status phibal_cuda_ranks_create(const phibal_cuda_peers *peers, phibal_cuda_ranks **created);
void phibal_cuda_ranks_destroy(phibal_cuda_ranks *ranks);
int32_t phibal_cuda_ranks_count(const phibal_cuda_ranks *ranks);
int32_t phibal_cuda_ranks_rank(const phibal_cuda_ranks *ranks);

/* Waits for the stream. Where another rank is lost, fails, or has not come after the peers'
   seconds, that is an error and nothing more can be done with these ranks; the stream is free
   again. */
phibal_status phibal_cuda_ranks_wait(phibal_cuda_ranks *ranks, const phibal_cuda *call);

/* x [n] becomes the sum over the ranks modulo 2^64, exact in any order. */
phibal_status phibal_cuda_ranks_sum_integers(phibal_cuda_ranks *ranks, int64_t n, uint64_t *x,
                                             const phibal_cuda *call);

/* All to all of binary32 numbers: to rank r go to[r] numbers from send + to_at[r], and from[r]
   numbers come from it to receive + from_at[r]; this rank itself is one of them. Counts and places
   are on the host and may be zero; a rank's to[r] is that rank's from[this]. send and what is
   received may not overlap. */
phibal_status phibal_cuda_ranks_exchange(phibal_cuda_ranks *ranks, const int64_t *to,
                                         const int64_t *to_at, const float *send,
                                         const int64_t *from, const int64_t *from_at,
                                         float *receive, const phibal_cuda *call);

/* The ranks first, first + stride, ..., `count` of them: this one among them. */
typedef struct phibal_cuda_members {
  int32_t first, stride, count;
} phibal_cuda_members;

/* x [n] becomes the sum over the members, added up in their order in binary64 and rounded once. All
   ranks call it, each as one of as many members. Each adds up its part of a block of x and gives
   the sums to the others; the blocks are as long as the workspace allows, which changes no bit.
   Workspace: anything, 8 (count + 1) bytes at least. */
size_t phibal_cuda_ranks_sum_workspace(int32_t count, int64_t n);
phibal_status phibal_cuda_ranks_sum(phibal_cuda_ranks *ranks, phibal_cuda_members members,
                                    int64_t n, float *x, const phibal_cuda *call);

#ifdef __cplusplus
}
#endif
#endif
