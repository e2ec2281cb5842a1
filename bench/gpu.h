/* What check and benchmark of the CUDA kernels share. */
#ifndef PHIBAL_BENCH_GPU_H
#define PHIBAL_BENCH_GPU_H

#include "../fuzz/cuda_memory.h"

/* The kernels beside the CPU's, bit for bit, on generated cases. The number of differences. */
int gpu_check(int rounds);
/* Times and bytes, one line each; `small` for a try without a device. False if a kernel failed. */
bool gpu_bench(bool small);

/* Device memory, freed with the object; copies in and out. Ends the program if there is none. */
template <class T> class device_array {
public:
  explicit device_array(size_t n, const T *from = nullptr) : n_(n) {
    p_ = (T *)device_allocate((n ? n : 1) * sizeof(T));
    if (!p_ || (from ? device_copy(p_, from, n * sizeof(T)) : device_zero(p_, n * sizeof(T)))) {
      fprintf(stderr, "no device memory for %zu bytes\n", n * sizeof(T));
      exit(2);
    }
  }
  device_array(const device_array &) = delete;
  ~device_array() {
    device_release(p_);
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

#endif
