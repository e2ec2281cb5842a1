/* Races in global memory, between the threads of a block and between blocks.

   A library whose kernels are compiled with -fsanitize=thread tells this of every access to memory
   (the compiler's calls __tsan_read4 and the like are answered here, not by ThreadSanitizer). Two
   accesses of one launch to a byte race if different threads make them, one writes, they are not
   both atomic, and neither is ordered before the other. What orders, in the terms of PTX's memory
   model:
   - within a block, __syncthreads, and within a warp, __syncwarp;
   - between blocks, two fences: one that is followed by an atomic operation on some word, and one
     that follows an atomic operation on that word, made later. Between a fence and its atomic
     operation there may be a __syncthreads, from one thread to another of the block: __threadfence
     is sequentially consistent, so that the two fences could not have come the other way round. A
     fence covers what its thread did before, and its block before the last __syncthreads.
   Of each four bytes the last write and the last two reads are kept: what is named is a race, and
   of several one may be missed. */
#ifndef PHIBAL_CUDA_HOST_RACES_H
#define PHIBAL_CUDA_HOST_RACES_H

#include <cstddef>
#include <cstdint>

namespace cuda_on_host {

/* Of a thread: how many fences it has made, and the barriers passed at the last. */
struct fences {
  uint32_t count = 0, time = 0, warp_time = 0;
};

/* Where in a launch a thread is. Times are numbers of barriers passed: of the block's threads, and
   of its warp's lanes. */
struct moment {
  uint32_t block, thread;
  uint32_t time, warp_time;
  fences fenced;
};

/* The thread that runs, if one does and p is not on its own stack. */
bool moment_now(const void *p, moment *now);

void races_launch();
void races_fence(const moment &now);
void races_atomic(const moment &now, const void *p, size_t bytes);
/* All threads of the block have come to a __syncthreads. */
void races_barrier(uint32_t block);
void races_block_ended(uint32_t block);

constexpr size_t FAULT_BYTES = 512;
__attribute__((format(printf, 1, 2))) void fault_set(const char *format, ...);

} // namespace cuda_on_host

#endif
