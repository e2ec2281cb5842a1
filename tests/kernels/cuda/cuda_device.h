/* What the tests of the CUDA kernels on the host share: a call with its memory, and numbers. */
#ifndef PHIBAL_TESTS_CUDA_DEVICE_H
#define PHIBAL_TESTS_CUDA_DEVICE_H

#include "kernels/core/core.h"
#include <criterion/criterion.h>
#include <cstring>
#include <phibal/cuda.h>
#include <vector>
extern "C" {
#include "verify/random.h"
}

typedef std::vector<float> floats;
typedef std::vector<uint16_t> halves;

#define OK(x) cr_assert_eq(x, PHIBAL_OK, "%s", phibal_status_message())

template <class T> static inline bool same(const std::vector<T> &a, const std::vector<T> &b) {
  return a.size() == b.size() &&
         (a.empty() || memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

static inline floats numbers(random_stream *r, size_t n, double size = 1) {
  floats x(n);
  for (float &v : x) v = (float)(size * random_normal(r));
  return x;
}

/* A bfloat16 as binary32, and a finite number as the nearest bfloat16. */
static inline float wide(uint16_t h) {
  return core_float((uint32_t)h << 16);
}
static inline uint16_t half_of(float x) {
  const uint32_t u = core_bits32(x);
  return (uint16_t)((u + 0x7fffu + (u >> 16 & 1u)) >> 16);
}

static inline halves halves_of(const floats &x) {
  halves h(x.size());
  for (size_t i = 0; i < x.size(); i++) h[i] = half_of(x[i]);
  return h;
}

/* Makes the numbers such as bfloat16 has. */
static inline void narrow(floats *x) {
  for (float &v : *x) v = wide(half_of(v));
}

/* A call with a place for failures, products, and a workspace of numbers that are none, in binary32
   as in binary64, unless a kernel wants another `fill`. */
struct device {
  phibal_cuda call = {};
  uint64_t failure = 0;
  std::vector<uint64_t> workspace;
  explicit device(size_t bytes, int blocks = 0, uint64_t fill = 0x7ff87ff87ff87ff8u)
      : workspace((bytes + 7) / 8, fill) {
    OK(phibal_cuda_describe(&call));
    call.failure = &failure;
    call.workspace = workspace.data();
    call.workspace_bytes = bytes;
    call.most_blocks = blocks;
    OK(phibal_cuda_expect(&call));
    OK(phibal_cuda_products_create(&call));
  }
  device(const device &) = delete;
  ~device() {
    phibal_cuda_products_destroy(&call);
  }
};

static inline void expect_failure(const device &d, phibal_status status, const char *text) {
  cr_expect_eq(phibal_cuda_result(&d.call), status);
  cr_expect(strstr(phibal_status_message(), text), "got '%s', wanted '%s'", phibal_status_message(),
            text);
}

#endif
