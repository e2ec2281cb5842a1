/* Times of kernels: the median of repetitions by device events, of twenty calls each; one line for
   each kernel. */
#ifndef PHIBAL_BENCH_GPU_TIME_H
#define PHIBAL_BENCH_GPU_TIME_H

#include <cstdio>

#include "gpu.h"
#include "gpu_costs.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <ctime>
#include <vector>

struct paper_device {
  int architecture;
  const char *name;
  int multiprocessors;
  double ghz, copy; /* TB/s */
};
static const paper_device paper_devices[] = {
#define DEVICE(architecture, name, multiprocessors, ghz, copy)                                     \
  {architecture, name, multiprocessors, ghz, copy},
#define FLOOR(architecture, kernel, clocks)
#include "gpu_floors.def"
#undef DEVICE
#undef FLOOR
};
struct floor_row {
  int architecture;
  const char *kernel;
  double clocks; /* of a multiprocessor, a unit */
};
static const floor_row floor_rows[] = {
#define DEVICE(architecture, name, multiprocessors, ghz, copy)
#define FLOOR(architecture, kernel, clocks) {architecture, kernel, clocks},
#include "gpu_floors.def"
#undef DEVICE
#undef FLOOR
};

struct bench_state {
  bool small, once, floors, failed;
  int64_t tokens;   /* 0: all */
  double copy_rate; /* bytes read and written a microsecond */
  int architecture; /* compute capability: 90 for 9.0; 0 without a device */
  double clocks;    /* of all multiprocessors in a microsecond */
  bool asked[sizeof floor_rows / sizeof *floor_rows]; /* whether a line has the kernel's floor */
};
extern bench_state bench;

static inline bool wanted(int64_t tokens) {
  return bench.tokens == 0 || bench.tokens == tokens;
}

/* The least time in microseconds that the instructions of so many units take on this device, or
   without one by the data sheet of the page's first; 0 where the page does not say. */
static double issue_microseconds(const char *kernel, double units) {
  const paper_device &paper = paper_devices[0];
  const bool there = bench.architecture != 0;
  bool known = false;
  double least = 0;
  for (const floor_row &row : floor_rows) {
    if (strcmp(row.kernel, kernel) != 0) continue;
    known = bench.asked[&row - floor_rows] = true;
    if (row.architecture == (there ? bench.architecture : paper.architecture))
      least = row.clocks * units / (there ? bench.clocks : paper.multiprocessors * paper.ghz * 1e3);
  }
  if (!known) {
    printf("FAILED: BUDGETS.md has no kernel '%s'\n", kernel);
    bench.failed = true;
  }
  return least;
}

/* A line runs the kernel among others, and has no floor of it. */
static inline void among_others(const char *kernel) {
  issue_microseconds(kernel, 0);
}

/* The least time that such a call takes: to move its bytes at a copy's rate, or, where the page
   has its kernels, to issue their instructions. */
static double floor_microseconds(const cost &of) {
  double issue = of.kernel ? issue_microseconds(of.kernel, of.units) : 0;
  if (issue > 0 && of.next) issue += issue_microseconds(of.next, of.next_units);
  const double copy = bench.architecture ? bench.copy_rate : paper_devices[0].copy * 1e6;
  return std::max(of.bytes / copy, issue);
}

/* The kernels of a training step beside the router's, and those of other routers and balancing. */
void gpu_bench_step();
void gpu_bench_variants();

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
  if (bench.floors) return 0;
  const int warm_up = bench.once ? 0 : 1, repetitions = bench.once ? 1 : 7;
  const int together = bench.once ? 1 : 20;
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
static void line(const char *what, int64_t tokens, int experts, int active, const cost &of, F f) {
  const double us = median_microseconds(f), least = floor_microseconds(of);
  printf("%-28s %7lld %5d %3d ", what, (long long)tokens, experts, active);
  if (bench.architecture)
    printf("%12.2f %10.3f %9.1f %6.1f %%", us, of.bytes * 1e-6, us > 0 ? of.bytes / us * 1e-3 : 0.0,
           us > 0 ? 100 * of.bytes / us / bench.copy_rate : 0.0);
  else
    printf("not measured %10.3f %9s %8s", of.bytes * 1e-6, "", "");
  printf(" %10.2f", least);
  if (bench.architecture) printf(" %6.2f", us / least);
  putchar('\n');
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
