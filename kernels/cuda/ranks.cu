/* The sum of binary32 arrays over ranks, in an order that does not depend on the library that moves
   them. A block of x has a part for every rank: all send that rank its part, it adds them up in the
   order of the ranks and sends the sums to all.

   Bytes: a rank sends and receives 8 (R - 1) / R bytes a number, as a ring's sum does; memory moves
   8 to send, 4 + 4 to add up, 8 to receive. A ring adds up as it goes, in R - 1 roundings to
   binary32, from a rank of its choice on, and a library chooses between rings, trees and the switch
   by size and machine: the order would not be stated, and cannot be made the CPU's. What is given
   up: sums inside a switch, and between machines of g devices those sums within a machine first
   that leave a g-th of the bytes for the network. */
#include "device.h"
#include "ranks.h"

#include <vector>

enum {
  RANKS_THREADS = 256,
  RANKS_PER_MULTIPROCESSOR = 8,
  RANKS_BLOCK = 1 << 24, /* numbers of a block, where the workspace is as long as is asked for */
};

/* sums[i] of parts [members][n]. */
static __global__ void __launch_bounds__(RANKS_THREADS)
    ranks_sum_kernel(int32_t members, int64_t n, const float *parts, float *sums) {
  EACH_OF_THREAD(i, n, RANKS_THREADS) {
    double sum = (double)__ldg(parts + i);
    for (int32_t r = 1; r < members; r++) sum += (double)__ldg(parts + r * n + i);
    sums[i] = (float)sum;
  }
}

/* Of a block of n numbers. */
static int64_t longest_part(int64_t n, int32_t members) {
  return (n + members - 1) / members;
}

size_t phibal_cuda_ranks_sum_workspace(int32_t count, int64_t n) {
  const int64_t block = n < RANKS_BLOCK ? n : (int64_t)RANKS_BLOCK;
  const int64_t part = longest_part(block < 1 ? 1 : block, count);
  return sizeof(float) * (size_t)(part * (count + 1)) + 8 * (size_t)(count + 1);
}

phibal_status phibal_cuda_ranks_sum(phibal_cuda_ranks *ranks, phibal_cuda_members members,
                                    int64_t n, float *x, const phibal_cuda *call) {
  const char *name = "sum over ranks";
  if (!ranks || n < 0 || (n > 0 && !x))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: no ranks, or no array", name);
  const int32_t R = phibal_cuda_ranks_count(ranks), me = phibal_cuda_ranks_rank(ranks);
  const int32_t C = members.count, own_place = (me - members.first) / members.stride;
  if (C < 1 || members.first < 0 || members.stride < 1 ||
      members.first + (int64_t)(C - 1) * members.stride >= R || me < members.first ||
      members.first + own_place * members.stride != me || own_place >= C)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "%s: rank %d of %d is none of %d from %d on, each %d-th", name,
                             (int)me, (int)R, (int)C, (int)members.first, (int)members.stride);
  phibal_status status = call_check(name, call, 8 * (size_t)(C + 1));
  if (status != PHIBAL_OK) return status;
  const int64_t most = (int64_t)(call->workspace_bytes / sizeof(float)) / (C + 1);
  float *sums = (float *)call->workspace, *parts = sums + most;
  /* [ranks]: the members' parts of x and where they begin; the numbers of this rank's part and
     where the members' arrive. */
  std::vector<int64_t> count(R), at(R), own(R), own_at(R), none(R);
  for (int64_t first = 0; first < n && status == PHIBAL_OK; first += most * C) {
    const int64_t length = n - first < most * C ? n - first : most * C;
    const int64_t part = longest_part(length, C);
    const int64_t my_begin = part * own_place < length ? part * own_place : length;
    const int64_t mine = length - my_begin < part ? length - my_begin : part;
    for (int32_t i = 0; i < C; i++) {
      const int32_t r = members.first + i * members.stride;
      const int64_t begin = part * i < length ? part * i : length;
      at[r] = first + begin;
      count[r] = length - begin < part ? length - begin : part;
      own[r] = mine;
      own_at[r] = mine * i;
    }
    status = phibal_cuda_ranks_exchange(ranks, count.data(), at.data(), x, own.data(),
                                        own_at.data(), parts, call);
    if (status == PHIBAL_OK && mine > 0) {
      launch_shape shape = {
          blocks_for(call, (mine + RANKS_THREADS - 1) / RANKS_THREADS, RANKS_PER_MULTIPROCESSOR),
          RANKS_THREADS, 0};
      status = launch(name, ranks_sum_kernel, shape, call, C, mine, (const float *)parts, sums);
    }
    if (status == PHIBAL_OK)
      status = phibal_cuda_ranks_exchange(ranks, own.data(), none.data(), sums, count.data(),
                                          at.data(), x, call);
  }
  return status;
}
