/* What check and benchmark of the CUDA kernels share. */
#ifndef PHIBAL_BENCH_GPU_H
#define PHIBAL_BENCH_GPU_H

#include "verify/cuda_memory.h"
#include <cstdio>
#include <cstdlib>

/* The kernels beside the CPU's, bit for bit, on generated cases. The number of differences. */
int gpu_check(int rounds);
/* The kernels of a training step beside the router's: bits where they are the CPU's, else bounds.
 */
int gpu_check_step();
/* Times, bytes and floors, one line each; once each, for a profiler; the same of small shapes, for
   a try without a device; or floors alone, with nothing run. */
enum bench_way { BENCH_TIMES, BENCH_ONCE, BENCH_SMALL, BENCH_FLOORS };
/* `tokens`: 0, or of those alone. False if a kernel failed. */
bool gpu_bench(bench_way way, int64_t tokens);

/* Device memory, freed with the object; copies in and out. Ends the program if there is none. */
template <class T> class device_array {
public:
  explicit device_array(size_t n, const T *from = nullptr) : n_(n) {
    p_ = (T *)phibal_cuda_allocate((n ? n : 1) * sizeof(T));
    if (!p_ || (from ? device_copy(p_, from, n * sizeof(T)) : device_zero(p_, n * sizeof(T)))) {
      fprintf(stderr, "no device memory for %zu bytes\n", n * sizeof(T));
      exit(2);
    }
  }
  device_array(const device_array &) = delete;
  ~device_array() {
    phibal_cuda_free(p_);
  }
  operator T *() const {
    return p_;
  }
  /* Whether the device has these bits. */
  bool same(const T *host) const {
    T *copy = (T *)malloc((n_ ? n_ : 1) * sizeof(T));
    bool equal =
        copy && !device_copy(copy, p_, n_ * sizeof(T)) && memcmp(copy, host, n_ * sizeof(T)) == 0;
    free(copy);
    return equal;
  }

private:
  T *p_;
  size_t n_;
};

/* A call with a place for failures, a zeroed workspace and, where asked for, the library of
   products. Ends the program if there is none. */
struct device_call {
  phibal_cuda call = {};
  device_array<uint64_t> failure;
  device_array<unsigned char> workspace;
  explicit device_call(size_t bytes, int blocks = 0, bool products = false)
      : failure(1), workspace(bytes) {
    call.failure = failure;
    call.workspace = (unsigned char *)workspace;
    call.workspace_bytes = bytes;
    call.most_blocks = blocks;
    if (phibal_cuda_describe(&call) || phibal_cuda_expect(&call) ||
        (products && phibal_cuda_products_create(&call))) {
      fprintf(stderr, "%s\n", phibal_status_message());
      exit(2);
    }
  }
  device_call(const device_call &) = delete;
  ~device_call() {
    phibal_cuda_products_destroy(&call);
  }
  /* Waits: whether the call and what it started went well. */
  bool good(phibal_status status) const {
    return status == PHIBAL_OK && phibal_cuda_result(&call) == PHIBAL_OK;
  }
};

#endif
