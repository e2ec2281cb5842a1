/* Times of what routers and balancing have beside softmax gates and phi-balancing: other gates,
   biases, groups, quantiles, capacities, factors of gates, experts that compute nothing. Arrays of
   routes are the same in each call and so, as in training, in a cache: their floors by bytes, which
   are the memory's, can be beaten. */
#include "gpu_time.h"

#include "kernels/cuda/trainer.h"
#include <string>

namespace {

/* So many arrays of logits one after another are more than a cache holds. */
size_t turns_of(size_t cells) {
  return bench.small ? 2 : std::max<size_t>(1, ((size_t)256 << 20) / (4 * cells));
}

void measure_gates(int64_t T, int E, int k) {
  const size_t cells = (size_t)(T * E), slots = (size_t)(T * k), turns = turns_of(cells);
  const std::vector<float> host = logits_like(cells * turns);
  device_array<float> logits(host.size(), host.data()), bias((size_t)E, host.data()), gates(slots);
  device_array<float> logsumexp((size_t)T), z_loss(1);
  device_array<int32_t> experts(slots);
  device_array<int64_t> tokens(1), count((size_t)E);
  device_array<uint64_t> limbs((size_t)E * PHIBAL_LOAD_LIMBS);
  const phibal_cuda_loads loads = {tokens, limbs, count};
  phibal_router softmax = {E, k, PHIBAL_GATE_TOPK_SOFTMAX, 1}, sigmoid = softmax, grouped, root;
  sigmoid.gate = PHIBAL_GATE_SIGMOID;
  root = grouped = sigmoid;
  root.gate = PHIBAL_GATE_SQRT_SOFTPLUS;
  grouped.groups = 8;
  grouped.active_groups = 4;
  grouped.group_score = PHIBAL_GROUP_TWO_LARGEST;
  const struct {
    const char *what;
    const phibal_router *router;
    bool biased, logarithm;
  } rows[] = {{"router forward, bias", &softmax, true, false},
              {"router forward, logsumexp", &softmax, false, true},
              {"router forward, sigmoid", &sigmoid, true, false},
              {"router forward, softplus", &root, true, false},
              {"router forward, groups", &grouped, true, false}};
  device_call s(phibal_cuda_router_forward_workspace(&softmax));
  for (const auto &row : rows)
    if (row.router != &grouped || E > 8)
      line(row.what, T, E, k, cost{(double)T * (4 * E + 8.0 * k + (row.logarithm ? 4 : 0))},
           [&](int i) {
             return phibal_cuda_router_forward(
                 row.router, T, PHIBAL_LOGITS_F32, logits + cells * ((size_t)i % turns),
                 row.biased ? (float *)bias : nullptr, nullptr, nullptr, experts, gates,
                 row.logarithm ? (float *)logsumexp : nullptr, loads, &s.call);
           });
  finish(s, "gates");
  device_call z(phibal_cuda_z_loss_workspace());
  line("z-loss", T, E, k, cost_z_loss((double)T),
       [&](int) { return phibal_cuda_z_loss(T, 1e-3, logsumexp, nullptr, z_loss, &z.call); });
  finish(z, "z-loss");
}

void measure_quantile(int64_t T, int E, int k) {
  const size_t cells = (size_t)(T * E), turns = turns_of(cells);
  const std::vector<float> host = logits_like(cells * turns);
  device_array<float> logits(host.size(), host.data()), bias((size_t)E);
  device_array<float> required(host.size()), quantile((size_t)E);
  auto at = [&](int i) { return cells * ((size_t)i % turns); };
  const phibal_router router = {E, k, PHIBAL_GATE_TOPK_SOFTMAX, 1};
  const double all = (double)cells;
  device_call s(0);
  line("required biases", T, E, k, cost_quantile_required((double)T, E), [&](int i) {
    return phibal_cuda_quantile_required(&router, T, logits + at(i), bias, nullptr, T,
                                         required + at(i), &s.call);
  });
  line("order statistics", T, E, k,
       cost{4 * all, "a round of an order statistic", PHIBAL_CUDA_QUANTILE_ROUNDS * all},
       [&](int i) {
         return phibal_cuda_quantile(E, T, T, required + at(i), T - T * k / E, quantile, &s.call);
       });
  const int32_t bins = 1000;
  const float widest[2] = {-100, 100};
  device_array<float> range(2, widest);
  device_array<uint64_t> count((size_t)E * (size_t)bins);
  line("histogram, 1000 bins", T, E, k, cost{4 * all, "histogram of required biases", all},
       [&](int i) {
         return phibal_cuda_quantile_histogram(E, T, T, required + at(i), range, bins, count,
                                               &s.call);
       });
  finish(s, "quantiles");
}

void measure_routes(int64_t T, int E, int k) {
  const int64_t slots = T * k, d = bench.small ? 64 : 1024;
  const size_t n = (size_t)slots;
  const double routes = (double)slots;
  std::vector<float> host = logits_like(n), positive(n);
  std::vector<int32_t> chosen(n);
  for (size_t i = 0; i < n; i++) {
    positive[i] = std::exp(host[i]);
    chosen[i] = (int32_t)((i / (size_t)k * 7 + i % (size_t)k * 3) % (size_t)E);
  }
  device_array<int32_t> experts(n, chosen.data()), kept(n), real(n);
  device_array<int64_t> offsets((size_t)E + 1), source(n), row(n), place(n);
  device_array<float> gates(n, positive.data()), out(n), dgates(n, host.data());
  device_array<float> factor((size_t)E, positive.data()), dfactor((size_t)E), sums((size_t)T);
  device_call s(phibal_cuda_gate_factor_workspace(E));
  device_call p(phibal_cuda_permutation_workspace(T, k, E, &s.call));
  if (phibal_cuda_permutation(T, k, E, experts, offsets, source, row, &p.call)) bench.failed = true;
  finish(p, "permutation");
  for (phibal_capacity_policy policy :
       {PHIBAL_CAPACITY_TOKEN, PHIBAL_CAPACITY_SLOT, PHIBAL_CAPACITY_GATE})
    line(policy == PHIBAL_CAPACITY_TOKEN  ? "capacity, token order"
         : policy == PHIBAL_CAPACITY_SLOT ? "capacity, slot order"
                                          : "capacity, lowest gate",
         T, E, k, cost{routes * 24, "capacity: a route of the last pass", routes}, [&](int) {
           return phibal_cuda_capacity(policy, T, k, E, slots / E, offsets, source, gates, kept,
                                       place, &s.call);
         });
  line("gates after dropping", T, E, k, cost{routes * 12},
       [&](int) { return phibal_cuda_capacity_gates(T, k, true, kept, gates, out, &s.call); });
  line("gates after dropping, back.", T, E, k,
       cost{routes * 16, "gates after dropping, backward", routes}, [&](int) {
         return phibal_cuda_capacity_gates_backward(T, k, true, kept, gates, dgates, out, &s.call);
       });
  line("factors of gates", T, E, k, cost{routes * 12},
       [&](int) { return phibal_cuda_gate_factor(T, k, E, experts, gates, factor, out, &s.call); });
  line("factors of gates, backward", T, E, k,
       cost{routes * 16, "factors of gates, backward", routes}, [&](int) {
         return phibal_cuda_gate_factor_backward(T, k, E, experts, gates, factor, dgates, out,
                                                 dfactor, &s.call);
       });
  line("gates over a sum", T, E, k, cost{routes * 8, "gates over a sum", routes},
       [&](int) { return phibal_cuda_gate_floor(T, k, 1.0f, 1e-3f, gates, sums, &s.call); });
  line("gates over a sum, backward", T, E, k,
       cost{routes * 12, "gates over a sum, backward", routes}, [&](int) {
         return phibal_cuda_gate_floor_backward(T, k, 1.0f, 1e-3f, gates, sums, out, &s.call);
       });
  const size_t wide = (size_t)(T * d);
  const std::vector<float> tokens = logits_like(wide);
  device_array<float> x(wide, tokens.data()), y(wide), dy(wide, tokens.data()), dx(wide);
  const int Z = E / 4;
  line("dispatch without identities", T, E, k, cost{routes * 8},
       [&](int) { return phibal_cuda_zero_experts_dispatch(T, k, E, Z, experts, real, &s.call); });
  line(("identities, d = " + std::to_string(d)).c_str(), T, E, k, cost{12.0 * (double)wide},
       [&](int) {
         return phibal_cuda_zero_experts(PHIBAL_ZERO_IDENTITY, T, k, E, Z, d, experts, gates, x, y,
                                         &s.call);
       });
  line("identities, backward", T, E, k,
       cost{16.0 * (double)wide, "identities and their gradients", (double)wide}, [&](int) {
         return phibal_cuda_zero_experts_backward(PHIBAL_ZERO_IDENTITY, T, k, E, Z, d, experts,
                                                  gates, x, dy, dx, out, &s.call);
       });
  finish(s, "routes");
}

} // namespace

void gpu_bench_variants() {
  printf("other gates and ways to balance\n");
  const int64_t T = bench.small ? 128 : 65536;
  for (int E : {8, 64, 128, 256, 512}) measure_gates(T, E, E == 8 ? 2 : 8);
  for (int E : {8, 16, 64, 256}) measure_quantile(T, E, E <= 16 ? 2 : 8);
  measure_routes(T, 64, 8);
}
