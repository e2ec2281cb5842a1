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

/* The arrays of a call, all at multiples of 16 bytes but the one of a number, which begins one
   element behind such a place. */
struct places {
  int beside, made = 0;
  std::vector<std::vector<uint64_t>> memory;
  std::vector<unsigned char *> begin;
  std::vector<size_t> size;
  explicit places(int n) : beside(n) {}
  template <class T> T *put(const std::vector<T> &x) {
    const size_t bytes = x.size() * sizeof(T);
    memory.emplace_back((bytes + 31) / 8);
    unsigned char *p = (unsigned char *)memory.back().data();
    p += (16 - (uintptr_t)p % 16) % 16 + (made++ == beside ? sizeof(T) : 0);
    if (bytes) memcpy(p, x.data(), bytes);
    begin.push_back(p), size.push_back(bytes);
    return (T *)p;
  }
  std::vector<unsigned char> contents() const {
    std::vector<unsigned char> all;
    for (size_t i = 0; i < begin.size(); i++) all.insert(all.end(), begin[i], begin[i] + size[i]);
    return all;
  }
};

/* `call(places &, const phibal_cuda *)`, once with all its arrays at such multiples, and once with
   each of them beside: the arrays have the same contents afterwards, if the sums have one `order`.
 */
template <class F>
static inline void with_each_beside(const char *name, size_t workspace, F call, bool order = true) {
  std::vector<unsigned char> want;
  for (int n = -1, count = 0; n < count; n++) {
    device d(workspace);
    places p(n);
    cr_assert_eq(call(p, &d.call), PHIBAL_OK, "%s, array %d beside: %s", name, n,
                 phibal_status_message());
    if (n < 0) want = p.contents(), count = p.made;
    cr_expect(!order || p.contents() == want, "%s, array %d beside: other results", name, n);
  }
}

static inline void expect_failure(const device &d, phibal_status status, const char *text) {
  cr_expect_eq(phibal_cuda_result(&d.call), status);
  cr_expect(strstr(phibal_status_message(), text), "got '%s', wanted '%s'", phibal_status_message(),
            text);
}

#endif
