/* Times of kernels: the median of repetitions by device events, of twenty calls each; one line for
   each kernel. */
#ifndef PHIBAL_BENCH_GPU_TIME_H
#define PHIBAL_BENCH_GPU_TIME_H

#include <cstdio>

#include "gpu.h"
#include <algorithm>
#include <cmath>
#include <ctime>
#include <vector>

struct bench_state {
  bool small, failed;
  double copy_rate; /* bytes read and written a microsecond */
};
extern bench_state bench;

/* The kernels of a training step beside the router's. */
void gpu_bench_step();

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

/* f(i) for the i-th call. A time is that of twenty calls back to back, divided by twenty: between
   two events alone, a short kernel's would be that of its launch. */
template <class F> static double median_microseconds(F f) {
  const int warm_up = 1, repetitions = bench.small ? 1 : 7, together = bench.small ? 1 : 20;
  std::vector<double> times;
  stopwatch watch;
  for (int i = 0; i < warm_up + repetitions; i++) {
    watch.start();
    phibal_status status = PHIBAL_OK;
    for (int j = 0; j < together && status == PHIBAL_OK; j++) status = f(i * together + j);
    double time = watch.microseconds() / together;
    if (status != PHIBAL_OK) {
      printf("FAILED: %s\n", phibal_status_message());
      bench.failed = true;
      return 0;
    }
    if (i >= warm_up) times.push_back(time);
  }
  std::nth_element(times.begin(), times.begin() + (long)times.size() / 2, times.end());
  return times[times.size() / 2];
}

template <class F>
static void line(const char *what, int64_t tokens, int experts, int active, double bytes, F f) {
  double us = median_microseconds(f);
  printf("%-28s %7lld %5d %3d %10.2f %10.3f %9.1f %6.1f %%\n", what, (long long)tokens, experts,
         active, us, bytes * 1e-6, us > 0 ? bytes / us * 1e-3 : 0.0,
         us > 0 ? 100 * bytes / us / bench.copy_rate : 0.0);
  fflush(stdout);
}

/* Numbers like logits, without a library: a bell from three uniform ones. */
static std::vector<float> logits_like(size_t n) {
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

/* Waits for what was measured, and says what it found wrong. */
static inline void finish(const device_call &d, const char *what) {
  if (d.good(PHIBAL_OK)) return;
  printf("FAILED %s: %s\n", what, phibal_status_message());
  bench.failed = true;
}

#endif
