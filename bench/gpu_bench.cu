/* Times of the CUDA kernels: the median of repetitions by device events, inputs rotated through
   more memory than a cache holds, and the bytes that must move beside a copy's rate measured in the
   same run. */
#include <cstdio>
#include <string>

#include "gpu_time.h"

bench_state bench;

namespace {

void measure_copy() {
  const size_t bytes = bench.small ? 1 << 16 : (size_t)1 << 30;
  device_array<char> from(bytes), to(bytes);
#ifdef __CUDACC__
  int major = 0, minor = 0, device = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
  int processors = 0, kilohertz = 0;
  cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, device);
  bench.architecture = bench.floors ? 0 : 10 * major + minor;
  bench.clocks = processors * 1e-3 * kilohertz;
#endif
  double us = median_microseconds([&](int) {
#ifdef __CUDACC__
    cudaMemcpyAsync((char *)to, (char *)from, bytes, cudaMemcpyDeviceToDevice, 0);
#else
    memcpy((char *)to, (char *)from, bytes);
#endif
    return PHIBAL_OK;
  });
  bench.copy_rate = 2 * (double)bytes / us;
  if (bench.architecture)
    printf("copy of %zu MiB: %.1f GB/s read and written; %.0f clocks of a multiprocessor a us\n",
           bytes >> 20, bench.copy_rate * 1e-3, bench.clocks);
  else
    printf("no device: nothing is measured; floors are those of %s\n", paper_devices[0].name);
}

void measure_router(int64_t T, int E, int k) {
  const size_t cells = (size_t)(T * E), slots = (size_t)(T * k);
  const size_t turns = bench.small ? 2 : std::max<size_t>(1, ((size_t)256 << 20) / (4 * cells));
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
  device_call s(phibal_cuda_router_forward_workspace(&router));
  const double t = (double)T;
  auto at = [&](int i) { return cells * ((size_t)i % turns); };
  line("router forward", T, E, k, cost_router_forward(t, E, k, PHIBAL_ROWS_F32, false, false),
       [&](int i) {
         return phibal_cuda_router_forward(&router, T, PHIBAL_LOGITS_F32, logits + at(i), nullptr,
                                           nullptr, nullptr, experts, gates, nullptr, loads,
                                           &s.call);
       });
  line("router forward, bfloat16", T, E, k,
       cost_router_forward(t, E, k, PHIBAL_ROWS_BF16, false, false), [&](int i) {
         return phibal_cuda_router_forward(&router, T, PHIBAL_LOGITS_BF16, narrow + at(i), nullptr,
                                           nullptr, nullptr, experts, gates, nullptr, loads,
                                           &s.call);
       });
  line("router forward, with p", T, E, k,
       cost_router_forward(t, E, k, PHIBAL_ROWS_F32, true, false), [&](int i) {
         return phibal_cuda_router_forward(&router, T, PHIBAL_LOGITS_F32, logits + at(i), nullptr,
                                           nullptr, p + at(i), experts, gates, nullptr, loads,
                                           &s.call);
       });
  line("router backward", T, E, k, cost_router_backward(t, E, k), [&](int i) {
    return phibal_cuda_router_backward(&router, T, PHIBAL_LOGITS_F32, logits + at(i), nullptr,
                                       experts, dg, price, 1e-3, 1e-3, p + at(i), &s.call);
  });
  finish(s, "router");
  device_call o(phibal_cuda_permutation_workspace(T, k, E, &s.call));
  device_array<int64_t> offsets((size_t)E + 1), source(slots), row(slots);
  line("permutation", T, E, k, cost_permutation((double)slots), [&](int) {
    return phibal_cuda_permutation(T, k, E, experts, offsets, source, row, &o.call);
  });
  const int64_t d = bench.small ? 64 : 1024;
  std::vector<float> wide = logits_like(slots * (size_t)d);
  device_array<float> out(wide.size(), wide.data()), y((size_t)(T * d)),
      dy((size_t)(T * d), wide.data());
  device_array<float> dout(wide.size()), dgates(slots);
  for (int is_narrow = 0; is_narrow < 2; is_narrow++) {
    const phibal_rows type = is_narrow ? PHIBAL_ROWS_BF16 : PHIBAL_ROWS_F32;
    const double w = (double)d;
    const std::string of = is_narrow ? " in bfloat16" : ", d = " + std::to_string(d);
    line(("gather" + of).c_str(), T, E, k, cost_gather(t * k, w, type), [&](int) {
      return phibal_cuda_gather((int64_t)slots, k, d, type, source, (float *)dy, (float *)dout,
                                &o.call);
    });
    line(("combine" + of).c_str(), T, E, k, cost_combine(t, k, w, type), [&](int) {
      return phibal_cuda_combine(T, k, d, type, row, gates, (float *)out, y, &o.call);
    });
    line(("combine backward" + of).c_str(), T, E, k, cost_combine_backward(t, k, w, type),
         [&](int) {
           return phibal_cuda_combine_backward(T, k, d, type, row, gates, (float *)out, dy,
                                               (float *)dout, dgates, &o.call);
         });
  }
  finish(o, "rows");
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
  device_call s(0);
  line("balance step, layers in T", layers, E, 8, cost{(double)n * 76},
       [&](int) { return phibal_cuda_balance_step(&b, &s.call); });
  finish(s, "balance step");
}

} // namespace

bool gpu_bench(bench_way way, int64_t tokens) {
  bench.small = way == BENCH_SMALL;
  bench.once = way == BENCH_ONCE || bench.small;
  bench.floors = way == BENCH_FLOORS;
  bench.tokens = tokens;
  printf("device: %s\n", device_name());
  measure_copy();
  printf("%-28s %7s %5s %3s %12s %10s %9s %8s %10s %6s\n", "kernel", "T", "E", "k", "us", "MB",
         "GB/s", "of copy", "floor us", "times");
  static const int experts[] = {8, 16, 64, 256};
  for (int64_t T : {(int64_t)4096, (int64_t)65536})
    for (int E : experts)
      if (wanted(T)) measure_router(bench.small ? T / 512 : T, E, E <= 16 ? 2 : 8);
  measure_balance(64, 256);
  gpu_bench_step();
  gpu_bench_variants();
  for (const floor_row &row : floor_rows)
    if (!bench.asked[&row - floor_rows] && tokens == 0 &&
        row.architecture == paper_devices[0].architecture) {
      printf("FAILED: no line measures '%s'\n", row.kernel);
      bench.failed = true;
    }
  return !bench.failed;
}
