/* Times of the CUDA kernels: the median of repetitions by device events, inputs rotated through
   more memory than a cache holds, and the bytes that must move beside a copy's rate measured in the
   same run. */
#include <cstdio>

#include "gpu.h"
#include <algorithm>
#include <cmath>
#include <ctime>
#include <vector>

namespace {

#ifdef __CUDACC__
struct stopwatch {
  cudaEvent_t from, to;
  stopwatch() {
    cudaEventCreate(&from);
    cudaEventCreate(&to);
  }
  ~stopwatch() {
    cudaEventDestroy(from);
    cudaEventDestroy(to);
  }
  void start() {
    cudaEventRecord(from);
  }
  double microseconds() {
    float ms = 0;
    cudaEventRecord(to);
    cudaEventSynchronize(to);
    cudaEventElapsedTime(&ms, from, to);
    return 1e3 * (double)ms;
  }
};
#else
struct stopwatch {
  struct timespec from;
  static double seconds(struct timespec t) {
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
  }
  void start() {
    clock_gettime(CLOCK_MONOTONIC, &from);
  }
  double microseconds() {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e6 * (seconds(now) - seconds(from));
  }
};
#endif

bool small, failed;
double copy_rate; /* bytes read and written a microsecond */

/* f(i) for the i-th repetition. */
template <class F> double median_microseconds(F f) {
  const int warm_up = small ? 1 : 5, repetitions = small ? 1 : 30;
  std::vector<double> times;
  stopwatch watch;
  for (int i = 0; i < warm_up + repetitions; i++) {
    watch.start();
    phibal_status status = f(i);
    double time = watch.microseconds();
    if (status != PHIBAL_OK) {
      printf("FAILED: %s\n", phibal_status_message());
      failed = true;
      return 0;
    }
    if (i >= warm_up) times.push_back(time);
  }
  std::nth_element(times.begin(), times.begin() + (long)times.size() / 2, times.end());
  return times[times.size() / 2];
}

template <class F>
void line(const char *what, int64_t tokens, int experts, int active, double bytes, F f) {
  double us = median_microseconds(f);
  printf("%-28s %7lld %5d %3d %10.2f %10.3f %9.1f %6.1f %%\n", what, (long long)tokens, experts,
         active, us, bytes * 1e-6, us > 0 ? bytes / us * 1e-3 : 0.0,
         us > 0 ? 100 * bytes / us / copy_rate : 0.0);
  fflush(stdout);
}

void measure_copy() {
  const size_t bytes = small ? 1 << 16 : (size_t)1 << 30;
  device_array<char> from(bytes), to(bytes);
  double us = median_microseconds([&](int) {
#ifdef __CUDACC__
    cudaMemcpyAsync((char *)to, (char *)from, bytes, cudaMemcpyDeviceToDevice, 0);
#else
    memcpy((char *)to, (char *)from, bytes);
#endif
    return PHIBAL_OK;
  });
  copy_rate = 2 * (double)bytes / us;
  printf("copy of %zu MiB: %.1f GB/s read and written\n", bytes >> 20, copy_rate * 1e-3);
}

/* Numbers like logits, without a library: a bell from three uniform ones. */
std::vector<float> logits_like(size_t n) {
  std::vector<float> x(n);
  uint64_t state = 88172645463325252u;
  for (float &v : x) {
    double sum = 0;
    for (int i = 0; i < 3; i++) {
      state ^= state << 13, state ^= state >> 7, state ^= state << 17;
      sum += (double)(state >> 11) * 0x1p-53 - 0.5;
    }
    v = (float)(4 * sum);
  }
  return x;
}

struct setting {
  phibal_cuda call = {};
  device_array<uint64_t> failure;
  device_array<unsigned char> workspace;
  explicit setting(size_t bytes) : failure(1), workspace(bytes) {
    phibal_cuda_describe(&call);
    call.failure = failure;
    call.workspace = (unsigned char *)workspace;
    call.workspace_bytes = bytes;
    phibal_cuda_expect(&call);
  }
  void finish(const char *what) {
    if (phibal_cuda_result(&call) == PHIBAL_OK) return;
    printf("FAILED %s: %s\n", what, phibal_status_message());
    failed = true;
  }
};

void measure_router(int64_t T, int E, int k) {
  const size_t cells = (size_t)(T * E), slots = (size_t)(T * k);
  const size_t turns = small ? 2 : std::max<size_t>(1, ((size_t)256 << 20) / (4 * cells));
  std::vector<float> host = logits_like(cells * turns);
  std::vector<uint16_t> half(host.size());
  for (size_t i = 0; i < host.size(); i++) half[i] = (uint16_t)(core_bits32(host[i]) >> 16);
  device_array<float> logits(host.size(), host.data()), gates(slots), p(cells * turns);
  device_array<uint16_t> narrow(half.size(), half.data());
  device_array<int32_t> experts(slots);
  device_array<int64_t> tokens(1), count((size_t)E);
  device_array<uint64_t> limbs((size_t)E * PHIBAL_LOAD_LIMBS);
  device_array<float> dg(slots, host.data()), price((size_t)E, host.data());
  phibal_cuda_loads loads = {tokens, limbs, count};
  phibal_router router = {E, k, PHIBAL_GATE_TOPK_SOFTMAX, 1};
  setting s(phibal_cuda_router_forward_workspace(&router));
  const double t = (double)T, e = (double)E, routes = 8.0 * k;
  auto at = [&](int i) { return cells * ((size_t)i % turns); };
  line("router forward", T, E, k, t * (4 * e + routes), [&](int i) {
    return phibal_cuda_router_forward(&router, T, PHIBAL_LOGITS_F32, logits + at(i), nullptr,
                                      nullptr, nullptr, experts, gates, nullptr, loads, &s.call);
  });
  line("router forward, bfloat16", T, E, k, t * (2 * e + routes), [&](int i) {
    return phibal_cuda_router_forward(&router, T, PHIBAL_LOGITS_BF16, narrow + at(i), nullptr,
                                      nullptr, nullptr, experts, gates, nullptr, loads, &s.call);
  });
  line("router forward, with p", T, E, k, t * (8 * e + routes), [&](int i) {
    return phibal_cuda_router_forward(&router, T, PHIBAL_LOGITS_F32, logits + at(i), nullptr,
                                      nullptr, p + at(i), experts, gates, nullptr, loads, &s.call);
  });
  line("router backward", T, E, k, t * (8 * e + routes), [&](int i) {
    return phibal_cuda_router_backward(&router, T, PHIBAL_LOGITS_F32, logits + at(i), nullptr,
                                       experts, dg, price, 1e-3, 1e-3, p + at(i), &s.call);
  });
  s.finish("router");
  setting o(phibal_cuda_permutation_workspace(T, k, E, &s.call));
  device_array<int64_t> offsets((size_t)E + 1), source(slots), row(slots);
  line("permutation", T, E, k, (double)slots * 24, [&](int) {
    return phibal_cuda_permutation(T, k, E, experts, offsets, source, row, &o.call);
  });
  const int64_t d = small ? 64 : 1024;
  std::vector<float> wide = logits_like(slots * (size_t)d);
  device_array<float> out(wide.size(), wide.data()), y((size_t)(T * d)),
      dy((size_t)(T * d), wide.data());
  device_array<float> dout(wide.size()), dgates(slots);
  line(small ? "combine, d = 64" : "combine, d = 1024", T, E, k,
       t * (8.0 * (double)d + k * (4.0 * (double)d + 12)),
       [&](int) { return phibal_cuda_combine(T, k, d, row, gates, out, y, &o.call); });
  line(small ? "combine backward, d = 64" : "combine backward, d = 1024", T, E, k,
       t * (4.0 * (double)d + k * (8.0 * (double)d + 16)), [&](int) {
         return phibal_cuda_combine_backward(T, k, d, row, gates, out, dy, dout, dgates, &o.call);
       });
  o.finish("rows");
}

void measure_balance(int layers, int E) {
  const size_t n = (size_t)layers * (size_t)E;
  std::vector<int64_t> counted((size_t)layers, 4096), one(n, 1);
  std::vector<uint64_t> limb(n * PHIBAL_LOAD_LIMBS);
  for (size_t i = 0; i < n; i++) limb[i * PHIBAL_LOAD_LIMBS] = 4096 / (uint64_t)E + i % 7;
  device_array<int64_t> tokens(counted.size(), counted.data()), count(n, one.data());
  device_array<uint64_t> limbs(limb.size(), limb.data());
  device_array<float> mean(n), m(n), centred(n), loss((size_t)layers);
  phibal_cuda_balance b = {};
  b.layers = layers;
  b.experts = E;
  b.active = 8;
  b.tokens = tokens;
  b.probability = limbs;
  b.count = count;
  b.loads = mean;
  b.eta = 0.1f;
  b.m = m;
  b.next = m;
  b.potential = {PHIBAL_POTENTIAL_NEGENTROPY, 0};
  b.centred = centred;
  b.alpha = 1e-3;
  b.balance_loss = loss;
  setting s(0);
  line("balance step, layers in T", layers, E, 8, (double)n * 76,
       [&](int) { return phibal_cuda_balance_step(&b, &s.call); });
  s.finish("balance step");
}

} // namespace

bool gpu_bench(bool small_) {
  small = small_;
  printf("device: %s\n", device_name());
  measure_copy();
  printf("%-28s %7s %5s %3s %10s %10s %9s %8s\n", "kernel", "T", "E", "k", "us", "MB", "GB/s",
         "of copy");
  static const int experts[] = {8, 16, 64, 256};
  for (int64_t T : {(int64_t)4096, (int64_t)65536})
    for (int E : experts) measure_router(small ? T / 512 : T, E, E <= 16 ? 2 : 8);
  measure_balance(64, 256);
  return !failed;
}
