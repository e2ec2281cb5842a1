/* The CUDA kernels beside the CPU's, bit for bit. Needs neither MPFR nor a test library, so that it
   runs on whatever machine has a device; `phibal verify` has held the CPU's kernels to the
   reference elsewhere. */
#include <cstdio>

#include "gpu.h"
#include <vector>
extern "C" {
#include "verify/case_number.h"
#include "verify/cases.h"
}

static int differences;

static void expect(bool good, const char *what, uint64_t number, const char *kind) {
  if (good) return;
  differences++;
  printf("DIFFERS %s, case %llu (%s): %s\n", what, (unsigned long long)number, kind,
         phibal_status_message());
}

static void check_balance(const phibal_loads &loads, uint64_t number, std::vector<float> *centred) {
  const size_t E = (size_t)loads.experts;
  std::vector<float> mean(E), m(E, 0.0f), zero(E, 0.0f);
  phibal_potential potential = {case_potential_id(number, number), 0};
  potential.parameter = phibal_potential_describe(potential.id)->fallback;
  float loss = 0;
  phibal_loads_mean(&loads, mean.data());
  phibal_ema(loads.experts, 0.65f, m.data(), mean.data(), m.data());
  phibal_price_centred(&potential, loads.experts, m.data(), centred->data(), nullptr);
  phibal_balance_loss(&potential, loads.experts, 0.01, mean.data(), m.data(), &loss);
  device_call d(0, 0);
  device_array<int64_t> tokens(1, &loads.tokens), count(E, loads.count);
  device_array<uint64_t> limbs(E * PHIBAL_LOAD_LIMBS, loads.probability);
  device_array<float> mean2(E), m2(E, zero.data()), centred2(E), loss2(1);
  phibal_cuda_balance b = {};
  b.layers = 1;
  b.experts = loads.experts;
  b.active = loads.active;
  b.tokens = tokens;
  b.probability = limbs;
  b.count = count;
  b.loads = mean2;
  b.eta = 0.65f;
  b.m = m2;
  b.next = m2;
  b.potential = potential;
  b.centred = centred2;
  b.alpha = 0.01;
  b.balance_loss = loss2;
  bool good = d.good(phibal_cuda_balance_step(&b, &d.call));
  expect(good && mean2.same(mean.data()) && m2.same(m.data()) && centred2.same(centred->data()) &&
             loss2.same(&loss),
         "balance step", number, potential.id == 0 ? "first" : "balance");
}

/* bfloat16 of binary32, and what it is. */
static uint16_t half_of(float x) {
  const uint32_t u = core_bits32(x);
  return (uint16_t)((u + 0x7fffu + (u >> 16 & 1u)) >> 16);
}
static float wide(uint16_t h) {
  return core_float((uint32_t)h << 16);
}

/* The experts' rows on the device, in either type. */
struct expert_rows {
  bool half;
  device_array<float> x;
  device_array<uint16_t> h;
  expert_rows(bool half_, const std::vector<float> &from)
      : half(half_), x(from.size(), from.data()), h(from.size(), halves(from).data()) {}
  static std::vector<uint16_t> halves(const std::vector<float> &from) {
    std::vector<uint16_t> to(from.size());
    for (size_t i = 0; i < from.size(); i++) to[i] = half_of(from[i]);
    return to;
  }
  void *data() {
    return half ? (void *)(uint16_t *)h : (void *)(float *)x;
  }
  bool same(const std::vector<float> &want) const {
    return half ? h.same(halves(want).data()) : x.same(want.data());
  }
};

static void check_combine(const route_case &c, bool half, int d, int64_t N,
                          const std::vector<int64_t> &source, const std::vector<int64_t> &row,
                          const std::vector<float> &gates, uint64_t number) {
  const int k = c.router.active;
  const size_t slots = row.size(), width = (size_t)d, tokens = (size_t)c.tokens * width;
  const phibal_rows type = half ? PHIBAL_ROWS_BF16 : PHIBAL_ROWS_F32;
  std::vector<float> out((size_t)N * width), x(tokens), y(tokens, 0.5f), e1(out.size()), g1(slots);
  std::vector<float> gathered(out.size()), dx(tokens, 0.25f);
  random_stream r = random_start(5, 5, number);
  for (float &v : out) v = (float)random_normal(&r);
  for (float &v : x) v = (float)random_normal(&r);
  for (std::vector<float> *rows : {&out, &x})
    for (float &v : *rows)
      if (half) v = wide(half_of(v));
  device_call call(0, 0);
  expert_rows out2(half, out), x2(half, x), e2(half, e1), gathered2(half, gathered);
  device_array<int64_t> source2(slots, source.data()), row2(slots, row.data());
  device_array<float> gates2(slots, gates.data()), y2(tokens, y.data()), dx2(tokens, dx.data());
  device_array<float> g2(slots);
  const char *kind = case_kind_name(c.kind);
  phibal_gather(N, k, d, source.data(), x.data(), gathered.data());
  bool good = call.good(
      phibal_cuda_gather(N, k, d, type, source2, x2.data(), gathered2.data(), &call.call));
  expect(good && gathered2.same(gathered), half ? "gather in bfloat16" : "gather", number, kind);
  phibal_gather_backward(c.tokens, k, d, row.data(), out.data(), dx.data());
  good = call.good(
      phibal_cuda_gather_backward(c.tokens, k, d, type, row2, out2.data(), dx2, &call.call));
  expect(good && dx2.same(dx.data()), half ? "gather backward in bfloat16" : "gather backward",
         number, kind);
  phibal_combine(c.tokens, k, d, row.data(), gates.data(), out.data(), y.data());
  good = call.good(
      phibal_cuda_combine(c.tokens, k, d, type, row2, gates2, out2.data(), y2, &call.call));
  expect(good && y2.same(y.data()), half ? "combine in bfloat16" : "combine", number, kind);
  phibal_combine_backward(c.tokens, k, d, row.data(), gates.data(), out.data(), y.data(), e1.data(),
                          g1.data());
  good = call.good(phibal_cuda_combine_backward(c.tokens, k, d, type, row2, gates2, out2.data(), y2,
                                                e2.data(), g2, &call.call));
  expect(good && e2.same(e1) && g2.same(g1.data()),
         half ? "combine backward in bfloat16" : "combine backward", number, kind);
}

static void check_rows(const route_case &c, const std::vector<int32_t> &experts,
                       const std::vector<float> &gates, uint64_t number) {
  const int E = c.router.experts, k = c.router.active, d = 1 + (int)(number % 41) * 4;
  const size_t slots = experts.size();
  std::vector<int64_t> offsets((size_t)E + 1), source(slots, -1), row(slots);
  phibal_permutation(c.tokens, k, E, experts.data(), offsets.data(), source.data(), row.data());
  phibal_cuda shape = {};
  phibal_cuda_describe(&shape);
  device_call call(phibal_cuda_permutation_workspace(c.tokens, k, E, &shape), 0);
  device_array<int32_t> experts2(slots, experts.data());
  device_array<int64_t> offsets2((size_t)E + 1), source2(slots, source.data()), row2(slots);
  bool good = call.good(
      phibal_cuda_permutation(c.tokens, k, E, experts2, offsets2, source2, row2, &call.call));
  std::vector<int64_t> untouched(source);
  expect(good && offsets2.same(offsets.data()) && row2.same(row.data()) &&
             source2.same(untouched.data()),
         "permutation", number, case_kind_name(c.kind));
  for (int half = 0; half < 2; half++)
    check_combine(c, half != 0, d, offsets[(size_t)E], source, row, gates, number);
}

static void check_case(uint64_t number) {
  route_case c;
  if (route_case_create(2027, 0, number, &c) != PHIBAL_OK) exit(2);
#ifndef __CUDACC__
  if (c.tokens > 40) c.tokens = 40; /* a try on the host */
#endif
  const int E = c.router.experts, k = c.router.active, blocks = (int)(number % 7);
  const size_t T = (size_t)c.tokens, cells = T * (size_t)E, slots = T * (size_t)k;
  std::vector<float> p(cells), g(slots), lse(T), gradient(cells), dg(slots), centred((size_t)E);
  std::vector<int32_t> experts(slots);
  phibal_loads loads;
  if (phibal_loads_create(&c.router, &loads) != PHIBAL_OK) exit(2);
  phibal_router_forward(&c.router, c.tokens, c.logits, c.bias, c.mask, p.data(), experts.data(),
                        g.data(), lse.data(), &loads);
  device_call d(phibal_cuda_router_forward_workspace(&c.router), blocks);
  device_array<float> logits(cells, c.logits), p2(cells), g2(slots), lse2(T), gradient2(cells);
  device_array<int32_t> experts2(slots);
  device_array<uint8_t> mask(c.mask ? T : 0, c.mask);
  device_array<float> bias(c.bias ? (size_t)E : 0, c.bias);
  device_array<int64_t> tokens(1), count((size_t)E);
  device_array<uint64_t> limbs((size_t)E * PHIBAL_LOAD_LIMBS);
  phibal_cuda_loads on_device = {tokens, limbs, count};
  const uint8_t *masked = c.mask ? (uint8_t *)mask : nullptr;
  const float *biased = c.bias ? (float *)bias : nullptr;
  bool good = d.good(phibal_cuda_router_forward(&c.router, c.tokens, PHIBAL_LOGITS_F32,
                                                (float *)logits, biased, masked, p2, experts2, g2,
                                                lse2, on_device, &d.call));
  const char *kind = case_kind_name(c.kind);
  expect(good && p2.same(p.data()) && experts2.same(experts.data()) && g2.same(g.data()) &&
             lse2.same(lse.data()),
         "router forward", number, kind);
  expect(tokens.same(&loads.tokens) && limbs.same(loads.probability) && count.same(loads.count),
         "exact loads", number, kind);
  if (loads.tokens > 0) {
    check_balance(loads, number, &centred);
    for (float &x : dg) x = (float)random_uniform(&c.random, -1, 1);
    const double z = c.router.gate == PHIBAL_GATE_SIGMOID ? 0.0 : 0.03;
    device_array<float> dg2(slots, dg.data()), price(centred.size(), centred.data());
    phibal_router_backward(&c.router, c.tokens, c.logits, c.mask, experts.data(), dg.data(),
                           centred.data(), 0.01, z, gradient.data());
    good = d.good(phibal_cuda_router_backward(&c.router, c.tokens, PHIBAL_LOGITS_F32,
                                              (float *)logits, masked, experts2, dg2, price, 0.01,
                                              z, gradient2, &d.call));
    expect(good && gradient2.same(gradient.data()), "router backward", number, kind);
    check_rows(c, experts, g, number);
  }
  phibal_loads_destroy(&loads);
  route_case_destroy(&c);
}

int gpu_check(int rounds) {
  for (uint64_t number = 0; number < (uint64_t)rounds * CASE_KINDS; number++) check_case(number);
  printf("%d cases on %s: %d differences from the CPU's bits\n", rounds * CASE_KINDS, device_name(),
         differences);
  return differences;
}
