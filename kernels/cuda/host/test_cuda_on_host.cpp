/* The stand-in for CUDA itself: what it computes, and that it notices what it says it notices. Each
   fault has a twin that differs in the one line and passes. */
#include "kernels/cuda/trainer.h"
#include "kernels/cuda/vector.h"
#include <cerrno>
#include <criterion/criterion.h>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

static const phibal_cuda here = {nullptr, nullptr, 0, nullptr, 2, 0, nullptr, nullptr};

#define RUN(kernel, blocks, threads, ...)                                                          \
  launch(#kernel, kernel, launch_shape{blocks, threads, 0}, &here, __VA_ARGS__)

static void expect_fault(phibal_status status, const char *text) {
  cr_assert_neq(status, PHIBAL_OK, "the fault was not noticed");
  cr_expect(strstr(phibal_status_message(), text), "got '%s', wanted '%s'", phibal_status_message(),
            text);
}

/* Reverses 64 numbers in shared memory. */
static __global__ void reverse(int *x, int barrier) {
  SHARED_ARRAY(int, shared, 64);
  int i = (int)threadIdx.x;
  shared[i] = x[blockIdx.x * 64 + threadIdx.x];
  if (barrier) __syncthreads();
  x[blockIdx.x * 64 + threadIdx.x] = shared[63 - i];
}

Test(cuda_on_host, a_missing_barrier_is_noticed) {
  int x[128];
  for (int i = 0; i < 128; i++) x[i] = i;
  cr_expect_eq(RUN(reverse, 2, 64, x, 1), PHIBAL_OK, "%s", phibal_status_message());
  for (int i = 0; i < 128; i++) cr_expect_eq(x[i], i / 64 * 64 + 63 - i % 64);
  expect_fault(RUN(reverse, 1, 64, x, 0), "which nothing wrote");
}

/* Two rounds: the second writes what the first is still read from. */
static __global__ void rounds(int *x, int barrier) {
  SHARED_ARRAY(int, shared, 64);
  int i = (int)threadIdx.x, sum = 0;
  for (int round = 0; round < 2; round++) {
    shared[i] = i + round;
    __syncthreads();
    sum += shared[63 - i];
    if (barrier) __syncthreads();
  }
  x[i] = sum;
}

Test(cuda_on_host, a_barrier_missing_before_the_next_write_is_noticed) {
  int x[64];
  cr_expect_eq(RUN(rounds, 1, 64, x, 1), PHIBAL_OK, "%s", phibal_status_message());
  for (int i = 0; i < 64; i++) cr_expect_eq(x[i], 2 * (63 - i) + 1);
  expect_fault(RUN(rounds, 1, 64, x, 0), "race");
}

/* Neighbours of one warp: __syncwarp is enough, and a shuffle is not. */
static __global__ void neighbours(int *x, int how) {
  SHARED_ARRAY(int, shared, 32);
  int i = (int)threadIdx.x;
  shared[i] = 7 * i;
  if (how == 1) __syncwarp();
  if (how == 2) __shfl_xor_sync(ALL_LANES, i, 1);
  x[i] = shared[i ^ 1];
}

Test(cuda_on_host, lanes_of_a_warp_need_a_barrier_too) {
  int x[32];
  cr_expect_eq(RUN(neighbours, 1, 32, x, 1), PHIBAL_OK, "%s", phibal_status_message());
  for (int i = 0; i < 32; i++) cr_expect_eq(x[i], 7 * (i ^ 1));
  expect_fault(RUN(neighbours, 1, 32, x, 0), "shared memory");
  expect_fault(RUN(neighbours, 1, 32, x, 2), "race");
}

/* __syncwarp orders nothing between warps. */
static __global__ void across_warps(int *x, int whole) {
  SHARED_ARRAY(int, shared, 64);
  int i = (int)threadIdx.x;
  shared[i] = i;
  if (whole)
    __syncthreads();
  else
    __syncwarp();
  x[i] = shared[i ^ 32];
}

Test(cuda_on_host, a_warps_barrier_does_not_order_two_warps) {
  int x[64];
  cr_expect_eq(RUN(across_warps, 1, 64, x, 1), PHIBAL_OK, "%s", phibal_status_message());
  expect_fault(RUN(across_warps, 1, 64, x, 0), "shared memory");
}

static __global__ void beyond(int *x, int n) {
  SHARED_ARRAY(int, shared, 32);
  for (int i = 0; i < n; i++)
    if (threadIdx.x == 0) shared[i] = i;
  if (threadIdx.x == 0) x[0] = shared[n - 1];
}

Test(cuda_on_host, an_access_beyond_shared_memory_is_noticed) {
  int x[1];
  cr_expect_eq(RUN(beyond, 1, 32, x, 32), PHIBAL_OK, "%s", phibal_status_message());
  cr_expect_eq(x[0], 31);
  expect_fault(RUN(beyond, 1, 32, x, 33), "writes");
  cr_expect(strstr(phibal_status_message(), "beyond shared memory: byte 128 of 128"));
}

static __global__ void dynamic(int *x, int i) {
  SHARED_DYNAMIC(int, shared);
  if (threadIdx.x == 0) {
    (shared + 2)[i] = 5;
    x[0] = shared[2 + i];
  }
}

Test(cuda_on_host, dynamic_shared_memory_has_an_end_and_a_beginning) {
  int x[1];
  launch_shape shape = {1, 32, 4 * sizeof(int)};
  cr_expect_eq(launch("dynamic", dynamic, shape, &here, x, 1), PHIBAL_OK);
  cr_expect_eq(x[0], 5);
  expect_fault(launch("dynamic", dynamic, shape, &here, x, 2), "beyond shared memory");
  expect_fault(launch("dynamic", dynamic, shape, &here, x, -3), "beyond shared memory");
}

/* Half of the threads leave, or wait elsewhere. */
static __global__ void divergent(int *x, int how) {
  if (how == 1 && threadIdx.x >= 32) return;
  if (how == 2 && threadIdx.x >= 32)
    __syncthreads();
  else
    __syncthreads();
  x[threadIdx.x] = 1;
}

Test(cuda_on_host, divergent_barriers_are_noticed) {
  int x[64];
  cr_expect_eq(RUN(divergent, 1, 64, x, 0), PHIBAL_OK, "%s", phibal_status_message());
  expect_fault(RUN(divergent, 1, 64, x, 1), "thread 32 has ended");
  expect_fault(RUN(divergent, 1, 64, x, 2), "divergent __syncthreads");
  /* And the next launch is as if nothing had been. */
  cr_expect_eq(RUN(divergent, 1, 64, x, 0), PHIBAL_OK, "%s", phibal_status_message());
}

/* A shuffle that half of the lanes do not come to. */
static __global__ void half_a_shuffle(int *x, int how) {
  int i = (int)threadIdx.x, y = i;
  if (how == 0 || i < 16) y = __shfl_xor_sync(how == 2 ? 0xffffu : ALL_LANES, i, 1);
  x[i] = y;
}

Test(cuda_on_host, a_collective_without_some_of_its_lanes_is_noticed) {
  int x[32];
  cr_expect_eq(RUN(half_a_shuffle, 1, 32, x, 0), PHIBAL_OK, "%s", phibal_status_message());
  cr_expect_eq(RUN(half_a_shuffle, 1, 32, x, 2), PHIBAL_OK, "%s", phibal_status_message());
  for (int i = 0; i < 32; i++) cr_expect_eq(x[i], i < 16 ? i ^ 1 : i);
  expect_fault(RUN(half_a_shuffle, 1, 32, x, 1), "divergent __shfl_xor_sync");
  expect_fault(RUN(half_a_shuffle, 1, 24, x, 0), "only 24 threads");
}

/* Atomic additions of all threads, and one that is not atomic. */
static __global__ void add_all(int *x, int atomic) {
  SHARED_ARRAY(int, sum, 1);
  if (threadIdx.x == 0) sum[0] = 0;
  __syncthreads();
  if (atomic)
    shared_add(sum, 0, (int)threadIdx.x);
  else
    sum[0] += (int)threadIdx.x;
  __syncthreads();
  if (threadIdx.x == 0) x[blockIdx.x] = sum[0];
}

Test(cuda_on_host, additions_race_unless_they_are_atomic) {
  int x[3];
  cr_expect_eq(RUN(add_all, 3, 64, x, 1), PHIBAL_OK, "%s", phibal_status_message());
  for (int i = 0; i < 3; i++) cr_expect_eq(x[i], 63 * 64 / 2);
  expect_fault(RUN(add_all, 1, 64, x, 0), "race");
}

/* A launch that no device would start. */
static __global__ void nothing(int) {}

Test(cuda_on_host, launches_beyond_a_devices_limits_are_refused) {
  cr_expect_eq(RUN(nothing, 1, 1024, 0), PHIBAL_OK, "%s", phibal_status_message());
  expect_fault(RUN(nothing, 1, 1025, 0), "a block of 1025 threads");
  expect_fault(RUN(nothing, 1, 0, 0), "a block of 0 threads");
  expect_fault(RUN(nothing, 0, 32, 0), "a grid of 0 blocks");
  expect_fault(RUN(nothing, (int64_t)1 << 31, 32, 0), "a grid of 2147483648 blocks");
}

Test(cuda_on_host, shared_memory_beyond_48_KiB_has_to_be_allowed) {
  auto body = [](void *) {};
  const auto kernel = (const void *)nothing;
  cr_expect(cuda_on_host::run(kernel, 1, 32, 48 * 1024, body, nullptr));
  cr_expect(!cuda_on_host::run(kernel, 1, 32, 48 * 1024 + 4, body, nullptr));
  cr_expect(strstr(cuda_on_host::fault(), "allowed 49152"), "%s", cuda_on_host::fault());
  cuda_on_host::allow_shared(kernel, 64 * 1024);
  cr_expect(cuda_on_host::run(kernel, 1, 32, 64 * 1024, body, nullptr));
  cr_expect(!cuda_on_host::run(kernel, 1, 32, 64 * 1024 + 4, body, nullptr));
  cuda_on_host::allow_shared(kernel, 164 * 1024); /* not on compute capability 8.0 */
  cr_expect(!cuda_on_host::run(kernel, 1, 32, 164 * 1024, body, nullptr));
}

/* Four numbers as one, from a place that need not be a multiple of 16 bytes. */
static __global__ void four_at(const float *x, float *y, int n) {
  if (threadIdx.x == 0) floats_store<4>(y, floats_load<4>(x + n));
}

Test(cuda_on_host, a_misaligned_vector_is_noticed) {
  alignas(16) float x[12] = {0}, y[4];
  cr_expect_eq(RUN(four_at, 1, 32, x, y, 4), PHIBAL_OK, "%s", phibal_status_message());
#ifndef __SANITIZE_ADDRESS__ /* built with UBSan, which ends the program there */
  expect_fault(RUN(four_at, 1, 32, x, y, 2), "misaligned vector of 16 bytes");
#endif
  cuda_on_host::vector_at((const char *)x + 8, 16, {"here", 7});
  cr_expect(strstr(cuda_on_host::fault(), "misaligned vector of 16 bytes at here:7"));
}

/* Doubles x through the read-only cache, or as memory. */
static __global__ void twice(int *x, int read_only) {
  const int i = (int)threadIdx.x, before = read_only ? __ldg(x + i) : x[i];
  x[i] = 2 * before;
}

Test(cuda_on_host, the_read_only_cache_is_for_what_the_kernel_does_not_write) {
  int x[32];
  for (int i = 0; i < 32; i++) x[i] = i + 1;
  cr_expect_eq(RUN(twice, 1, 32, x, 0), PHIBAL_OK, "%s", phibal_status_message());
  expect_fault(RUN(twice, 1, 32, x, 1), "read what the kernel writes");
}

/* Blocks are under way together, and do not begin in the order of their numbers. */
static __global__ void arrivals(int *x, int *order) {
  SHARED_ARRAY(int, mine, 1);
  if (threadIdx.x == 0) mine[0] = (int)blockIdx.x;
  __syncthreads();
  if (threadIdx.x == 0) order[atomicAdd(x, 1)] = mine[0];
}

Test(cuda_on_host, blocks_come_in_several_orders) {
  int count = 0, order[2][16];
  for (int *of_launch : order) {
    count = 0;
    cr_expect_eq(RUN(arrivals, 16, 32, &count, of_launch), PHIBAL_OK, "%s",
                 phibal_status_message());
    cr_expect_eq(count, 16);
    int seen = 0, falls = 0;
    for (int i = 0; i < 16; i++) {
      seen |= 1 << of_launch[i];
      if (i > 0) falls += of_launch[i] < of_launch[i - 1];
    }
    cr_expect_eq(seen, 0xffff);
    cr_expect_gt(falls, 0);
  }
  cr_expect(memcmp(order[0], order[1], sizeof order[0]) != 0);
}

/* Of each block a number, which the last block to end adds up. Compiled with the compiler's calls
   for every access, as the kernels are in test_cuda_races: here they are made by hand. */
extern "C" void __tsan_read4(void *), __tsan_write4(void *), __tsan_write1(void *);
static __global__ void last_adds(int *x, int *finished, int *sum, int how) {
  SHARED_ARRAY(int, last, 1);
  const int i = (int)threadIdx.x, n = (int)gridDim.x;
  if (i < 2) {
    __tsan_write4(&x[2 * blockIdx.x + threadIdx.x]);
    x[2 * blockIdx.x + threadIdx.x] = (int)blockIdx.x;
  }
  if (how == 1 || (how == 2 && i == 0)) __threadfence(); /* 2: not by the other writer */
  __syncthreads();
  if (how == 3 && i == 0) __threadfence(); /* covers what the block did before the barrier */
  if (i == 0) last[0] = atomicAdd(finished, 1) == n - 1;
  if (how == 3 && i == 0) __threadfence();
  __syncthreads();
  if (last[0] == 0) return;
  if (how == 1 || how == 2) __threadfence();
  if (i == 31)
    for (int b = 0; b < 2 * n; b++) {
      __tsan_read4(&x[b]);
      *sum += x[b];
    }
}

Test(cuda_on_host, fences_and_atomic_operations_order_blocks) {
  for (int how = 0; how < 4; how++) {
    int x[10] = {0}, finished = 0, sum = 0;
    phibal_status status = RUN(last_adds, 5, 32, x, &finished, &sum, how);
    if (how % 2)
      cr_expect(status == PHIBAL_OK && sum == 20, "%d: %s", how, phibal_status_message());
    else
      expect_fault(status, "race in global memory");
  }
}

/* Two threads of a warp, of a block, of two blocks; bytes of one word. */
static __global__ void two_write(char *x, int first, int second, int bytes_apart) {
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i == first) __tsan_write1(x);
  if (i == second) __tsan_write1(x + bytes_apart);
}

Test(cuda_on_host, any_two_threads_may_race) {
  alignas(4) char x[4];
  cr_expect_eq(RUN(two_write, 2, 64, x, 3, 3, 0), PHIBAL_OK, "%s", phibal_status_message());
  cr_expect_eq(RUN(two_write, 2, 64, x, 3, 4, 1), PHIBAL_OK, "%s", phibal_status_message());
  expect_fault(RUN(two_write, 2, 64, x, 3, 4, 0), "race in global memory");
  expect_fault(RUN(two_write, 2, 64, x, 3, 40, 0), "race in global memory");
  expect_fault(RUN(two_write, 2, 64, x, 3, 70, 0), "race in global memory");
}

/* What was copied is what the host's memory held when the stream went on, and is there when it has
   been waited for. */
Test(cuda_on_host, copies_are_done_when_the_stream_has_been_waited_for) {
  int from[4] = {1, 2, 3, 4}, to[4] = {0};
  auto device = (int *)phibal_cuda_allocate(sizeof from);
  cr_assert(device);
  cr_expect_eq(phibal_cuda_copy(device, from, sizeof from, &here), PHIBAL_OK);
  cr_expect_eq(phibal_cuda_wait(&here), PHIBAL_OK);
  from[0] = 7; /* the stream has been waited for */
  cr_expect_eq(phibal_cuda_copy(to, device, sizeof to, &here), PHIBAL_OK);
  cr_expect(memcmp(to, from, sizeof to) != 0 && to[1] != 2);
  cr_expect_eq(RUN(nothing, 1, 32, 0), PHIBAL_OK); /* does not wait */
  cr_expect_neq(to[1], 2);
  cr_expect_eq(phibal_cuda_wait(&here), PHIBAL_OK);
  for (int i = 0; i < 4; i++) cr_expect_eq(to[i], i + 1);
  cr_expect_eq(phibal_cuda_copy(device, from, sizeof from, &here), PHIBAL_OK);
  from[1] = 9; /* too early: the stream's next call copies it */
  cr_expect_eq(phibal_cuda_copy(to, device, sizeof to, &here), PHIBAL_OK);
  cr_expect_eq(phibal_cuda_wait(&here), PHIBAL_OK);
  cr_expect(to[0] == 7 && to[1] == 9);
  cr_expect_eq(phibal_cuda_copy(device, from, sizeof from, &here), PHIBAL_OK);
  cr_expect_eq(RUN(nothing, 1, 32, 0), PHIBAL_OK);
  from[2] = 11; /* too early: a device may not have come so far */
  expect_fault(phibal_cuda_wait(&here), "before the stream had been waited for");
  const auto mapped =
      (int *)mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  cr_assert(mapped != MAP_FAILED);
  cr_expect_eq(phibal_cuda_copy(device, mapped, sizeof from, &here), PHIBAL_OK);
  cr_expect_eq(RUN(nothing, 1, 32, 0), PHIBAL_OK);
  munmap(mapped, 4096);
  expect_fault(phibal_cuda_wait(&here), "freed");
  cr_expect_eq(phibal_cuda_copy(device, from, sizeof from, &here), PHIBAL_OK);
  /* In the stream's order: a later copy over the device's memory changes no earlier one from it. */
  cr_expect_eq(phibal_cuda_copy(to, device, sizeof to, &here), PHIBAL_OK);
  cr_expect_eq(phibal_cuda_zero(device, sizeof from, &here), PHIBAL_OK);
  cr_expect_eq(phibal_cuda_wait(&here), PHIBAL_OK);
  cr_expect(to[0] == 7 && to[1] == 9);
  phibal_cuda_free(device);
}

/* Every collective beside what it is. */
static __global__ void collectives(int *x) {
  int i = (int)threadIdx.x, n = 32;
  x[0 * n + i] = __shfl_sync(ALL_LANES, i * i, 5);
  x[1 * n + i] = __shfl_sync(ALL_LANES, i * i, 3, 8);
  x[2 * n + i] = __shfl_xor_sync(ALL_LANES, i * i, 4, 8);
  x[3 * n + i] = __shfl_up_sync(ALL_LANES, i * i, 2);
  x[4 * n + i] = (int)__ballot_sync(ALL_LANES, i % 3 == 0);
  x[5 * n + i] = (int)__match_any_sync(ALL_LANES, i % 5);
  x[6 * n + i] = __reduce_max_sync(ALL_LANES, i == 9 ? -1 : -i - 2);
  x[7 * n + i] = (int)__reduce_min_sync(ALL_LANES, (unsigned)(i == 9 ? -1 : i + 2));
  x[8 * n + i] = __any_sync(ALL_LANES, i == 31);
  double wide = __shfl_xor_sync(ALL_LANES, 0.1 * i, 1);
  x[9 * n + i] = wide == 0.1 * (i ^ 1);
  x[10 * n + i] = (int)__reduce_add_sync(ALL_LANES, i == 9 ? -1u : (unsigned)i);
}

Test(cuda_on_host, collectives_are_those_of_the_device) {
  int x[11 * 32];
  cr_expect_eq(RUN(collectives, 1, 32, x), PHIBAL_OK, "%s", phibal_status_message());
  for (int i = 0; i < 32; i++) {
    unsigned ballot = 0, match = 0;
    int from = i / 8 * 8 + 3;
    for (int l = 0; l < 32; l++) {
      ballot |= (unsigned)(l % 3 == 0) << l;
      match |= (unsigned)(l % 5 == i % 5) << l;
    }
    int wanted[] = {25,
                    from * from,
                    (i ^ 4) * (i ^ 4),
                    i < 2 ? i * i : (i - 2) * (i - 2),
                    (int)ballot,
                    (int)match,
                    -1,
                    2,
                    1,
                    1,
                    31 * 16 - 9 - 1};
    for (int c = 0; c < 11; c++)
      cr_expect_eq(x[c * 32 + i], wanted[c], "collective %d, lane %d: %d, not %d", c, i,
                   x[c * 32 + i], wanted[c]);
  }
}

static __global__ void add_one(int *x) {
  if (threadIdx.x == 0) x[0]++;
}

/* Nothing runs while it is captured; then as often as the graph is launched, with the arguments and
   what pinned memory holds then. */
Test(cuda_on_host, a_captured_stream_runs_as_a_graph) {
  phibal_cuda call = {};
  cr_assert_eq(phibal_cuda_stream_create(&call), PHIBAL_OK);
  auto device = (int *)phibal_cuda_allocate(sizeof(int));
  auto pinned = (int *)phibal_cuda_allocate_host(2 * sizeof(int));
  cr_assert(device && pinned);
  phibal_cuda_graph *graph;
  pinned[0] = 5;
  cr_expect_eq(phibal_cuda_capture_begin(&call), PHIBAL_OK);
  cr_expect_eq(phibal_cuda_zero(device, sizeof(int), &call), PHIBAL_OK);
  cr_expect_eq(phibal_cuda_copy(device, pinned, sizeof(int), &call), PHIBAL_OK);
  cr_expect_eq(launch("add", add_one, {1, 32, 0}, &call, device), PHIBAL_OK);
  cr_expect_eq(phibal_cuda_copy(pinned + 1, device, sizeof(int), &call), PHIBAL_OK);
  device[0] = 77;
  cr_expect_eq(phibal_cuda_capture_end(&call, &graph), PHIBAL_OK, "%s", phibal_status_message());
  cr_expect_eq(device[0], 77);
  for (int i = 0; i < 2; i++) {
    pinned[0] = 5 + i;
    cr_expect_eq(phibal_cuda_graph_launch(graph, &call), PHIBAL_OK, "%s", phibal_status_message());
    cr_expect_eq(phibal_cuda_wait(&call), PHIBAL_OK);
    cr_expect_eq(pinned[1], 6 + i);
  }
  phibal_cuda_graph_destroy(graph);
  phibal_cuda_free_host(pinned);
  phibal_cuda_free(device);
  phibal_cuda_stream_destroy(&call);
}

static phibal_cuda captured_call;
static int *captured_device, captured_pageable[4];

/* What no graph holds, each in a capture of its own: it fails, and so does the capture's end. */
static const struct {
  const char *named;
  bool (*fails)();
} forbidden[] = {
    {"waiting for the device", [] { return phibal_cuda_wait(&captured_call) == PHIBAL_ERROR_IO; }},
    {"waiting for the device",
     [] {
       uint64_t failure = UINT64_MAX;
       captured_call.failure = &failure;
       return phibal_cuda_result(&captured_call) == PHIBAL_ERROR_IO;
     }},
    {"allocating", [] { return phibal_cuda_allocate(4) == nullptr; }},
    {"allocating", [] { return phibal_cuda_allocate_host(4) == nullptr; }},
    {"freeing",
     [] {
       phibal_cuda_free(captured_device);
       captured_device = nullptr;
       return true;
     }},
    {"not pinned",
     [] {
       return phibal_cuda_copy(captured_device, captured_pageable, 4, &captured_call) ==
              PHIBAL_ERROR_IO;
     }},
    {"not pinned",
     [] {
       return phibal_cuda_copy(captured_pageable, captured_device, 4, &captured_call) ==
              PHIBAL_ERROR_IO;
     }},
    {"not pinned",
     [] {
       return phibal_cuda_copy_rows(2, 4, captured_pageable, 8, captured_device, 4,
                                    &captured_call) == PHIBAL_ERROR_IO;
     }},
    {"captured already",
     [] { return phibal_cuda_capture_begin(&captured_call) == PHIBAL_ERROR_IO; }},
};

Test(cuda_on_host, what_no_graph_holds_is_refused_while_capturing) {
  phibal_cuda_graph *graph;
  cr_expect_eq(phibal_cuda_capture_begin(&here), PHIBAL_ERROR_IO);
  cr_expect(strstr(phibal_status_message(), "default stream"), "%s", phibal_status_message());
  cr_assert_eq(phibal_cuda_stream_create(&captured_call), PHIBAL_OK);
  cr_expect_eq(phibal_cuda_capture_end(&captured_call, &graph), PHIBAL_ERROR_IO);
  for (const auto &f : forbidden) {
    captured_device = (int *)phibal_cuda_allocate(4 * sizeof(int));
    cr_assert(captured_device);
    cr_assert_eq(phibal_cuda_capture_begin(&captured_call), PHIBAL_OK, "%s",
                 phibal_status_message());
    cr_expect(f.fails(), "%s", f.named);
    cr_expect_eq(phibal_cuda_capture_end(&captured_call, &graph), PHIBAL_ERROR_IO, "%s", f.named);
    cr_expect(strstr(phibal_status_message(), f.named), "%s: %s", f.named, phibal_status_message());
    cr_expect_null(graph);
    if (captured_device) phibal_cuda_free(captured_device);
  }
  phibal_cuda_stream_destroy(&captured_call);
}

/* Whether the host can read a byte. */
static bool readable(const void *p) {
  int ends[2];
  cr_assert_eq(pipe(ends), 0);
  const bool read = write(ends[1], p, 1) == 1;
  cr_assert(read || errno == EFAULT);
  close(ends[0]);
  close(ends[1]);
  return read;
}

static __global__ void doubled(float *x) {
  x[blockIdx.x * 100 + threadIdx.x] *= 2;
}

Test(cuda_on_host, memory_that_is_closed_is_reached_by_operations_alone) {
  float x[3000] = {}, there[3000];
  auto *p = (float *)phibal_cuda_allocate(sizeof x);
  cr_expect_eq((uintptr_t)p % 256, 0);
  for (int i = 0; i < 3000; i++) cr_expect(p[i] != p[i], "new memory has a number");
  for (float &v : x) v = 1.5f;
  cuda_on_host_close(1);
  cr_expect(!readable(p) && !readable(p + 2999));
  cr_expect_eq(phibal_cuda_copy(p, x, sizeof x, &here), PHIBAL_OK);
  cr_expect_eq(RUN(doubled, 30, 100, p), PHIBAL_OK);
  cr_expect_eq(phibal_cuda_copy(there, p, sizeof x, &here), PHIBAL_OK);
  cr_expect_eq(phibal_cuda_wait(&here), PHIBAL_OK);
  cr_expect(!readable(p));
  cuda_on_host_close(0);
  cr_expect(readable(p));
  for (float v : there) cr_expect_eq(v, 3.0f);
  phibal_cuda_free(p);
}

Test(cuda_on_host, an_operation_fails_where_a_test_asks) {
  int x[2] = {1, 1};
  cuda_on_host_fails = 2;
  cr_expect_eq(phibal_cuda_zero(&x[0], sizeof x[0], &here), PHIBAL_OK);
  expect_fault(phibal_cuda_zero(&x[1], sizeof x[1], &here), "as it was asked to");
  cr_expect(x[0] == 0 && x[1] == 1 && cuda_on_host_fails == 0);
  cuda_on_host_fails = 1;
  expect_fault(phibal_cuda_wait(&here), "as it was asked to");
  cr_expect_eq(phibal_cuda_wait(&here), PHIBAL_OK);
}
