/* The CUDA kernels on the host, under AddressSanitizer and UBSan, beside the CPU's: what `phibal
   verify --backend host-cuda` cannot see. Arrays have exactly the size that the interface says, so
   that the sanitizer finds what goes beyond; the limbs of the loads have the CPU's bits; workspaces
   are left zero; a bad number is named and changes no load; bfloat16. */
extern "C" {
#include "verify/cases.h"
}
#include "cuda_device.h"
#include "kernels/core/activation32.h"
#include "kernels/cuda/trainer.h"
#include <cmath>
#include <cstdlib>
#include <sys/mman.h>

static constexpr uint64_t SEED = 77;

namespace {
struct zeroed_device : device {
  explicit zeroed_device(size_t bytes, int blocks = 0) : device(bytes, blocks, 0) {}
  bool left_zero() const {
    for (uint64_t x : workspace)
      if (x != 0) return false;
    return true;
  }
};
} // namespace

namespace {
struct device_loads {
  int64_t tokens = 0;
  std::vector<uint64_t> probability;
  std::vector<int64_t> count;
  explicit device_loads(int E) : probability((size_t)E * PHIBAL_LOAD_LIMBS), count((size_t)E) {}
  phibal_cuda_loads get() {
    return {&tokens, probability.data(), count.data()};
  }
};
} // namespace

namespace {
struct forward {
  std::vector<float> probabilities, gates, logsumexp;
  std::vector<int32_t> experts;
  forward(size_t T, size_t E, size_t k)
      : probabilities(T * E, -7.0f), gates(T * k, -7.0f), logsumexp(T, -7.0f), experts(T * k, -7) {}
  bool operator==(const forward &o) const {
    return same(probabilities, o.probabilities) && same(gates, o.gates) &&
           same(logsumexp, o.logsumexp) && same(experts, o.experts);
  }
};
} // namespace

static void forward_case(uint64_t number, int blocks) {
  route_case c;
  cr_assert_eq(route_case_create(SEED, 0, number, &c), PHIBAL_OK);
  if (c.tokens > 50) c.tokens = 50;
  const int E = c.router.experts, k = c.router.active;
  const size_t T = (size_t)c.tokens;
  std::vector<float> logits(c.logits, c.logits + T * (size_t)E);
  phibal_loads loads;
  cr_assert_eq(phibal_loads_create(&c.router, &loads), PHIBAL_OK);
  forward cpu(T, (size_t)E, (size_t)k), gpu = cpu;
  device_loads on_device(E);
  zeroed_device d(phibal_cuda_router_forward_workspace(&c.router), blocks);
  for (int twice = 0; twice < 2; twice++) { /* loads add up */
    cr_assert_eq(phibal_router_forward(&c.router, c.tokens, logits.data(), c.bias, c.mask,
                                       cpu.probabilities.data(), cpu.experts.data(),
                                       cpu.gates.data(), cpu.logsumexp.data(), &loads),
                 PHIBAL_OK);
    cr_assert_eq(phibal_cuda_router_forward(&c.router, c.tokens, PHIBAL_LOGITS_F32, logits.data(),
                                            c.bias, c.mask, gpu.probabilities.data(),
                                            gpu.experts.data(), gpu.gates.data(),
                                            gpu.logsumexp.data(), on_device.get(), &d.call),
                 PHIBAL_OK, "case %d: %s", (int)number, phibal_status_message());
    cr_assert_eq(phibal_cuda_result(&d.call), PHIBAL_OK);
    cr_expect(d.left_zero(), "case %d leaves something in the workspace", (int)number);
  }
  cr_expect(cpu == gpu, "case %d (%s): other bits than the CPU's", (int)number,
            case_kind_name(c.kind));
  cr_expect_eq(on_device.tokens, loads.tokens);
  cr_expect_eq(memcmp(on_device.probability.data(), loads.probability,
                      on_device.probability.size() * sizeof(uint64_t)),
               0, "case %d (%s): other limbs than the CPU's", (int)number, case_kind_name(c.kind));
  cr_expect_eq(memcmp(on_device.count.data(), loads.count, (size_t)E * sizeof(int64_t)), 0);
  phibal_loads_destroy(&loads);
  route_case_destroy(&c);
}

Test(cuda_kernels, router_forward_has_the_cpus_bits_and_limbs) {
  for (uint64_t number = 0; number < 3 * CASE_KINDS; number++)
    forward_case(number, (int)(number % 5));
}

/* Logits that differ only in bits which the sorting network's key replaces by the expert's number:
   the lower expert has the smaller logit, so that a key without them selects another order. Of both
   signs, for every number of routes, so that the last one is among them too; or the last route and
   the next logit alone. */
Test(cuda_kernels, routes_of_logits_that_differ_in_their_last_bits) {
  const int64_t T = 37;
  for (int E : {5, 8, 12, 16, 20, 32, 40, 64, 100, 128, 200, 256})
    for (int k = 1; k <= 9 && k <= E; k++)
      for (bool last_alone : {false, true}) {
        phibal_router router = {E, k, PHIBAL_GATE_TOPK_SOFTMAX, 1};
        std::vector<float> logits((size_t)(T * E));
        random_stream r = random_start(SEED, (uint64_t)E, (uint64_t)k);
        for (int64_t t = 0; t < T; t++)
          for (int e = 0; e < E; e++) {
            const float near = 1.0f + 0x1p-23f * (float)(e % 12);
            const float far = (float)random_normal(&r) - 3.0f;
            const float apart = 4.5f - (float)(e == k ? k - 1 : e);
            const bool beside = e == (apart > 0 ? k : k - 1);
            logits[(size_t)(t * E + e)] = last_alone
                                              ? (beside ? std::nextafter(apart, 2 * apart) : apart)
                                          : e % 3 == 0 ? (t % 2 ? near : near - 2.0f)
                                                       : far - 8.0f;
          }
        std::vector<int32_t> experts((size_t)(k * T)), others(experts.size());
        std::vector<float> gates(experts.size()), other_gates(experts.size());
        phibal_loads loads;
        cr_assert_eq(phibal_loads_create(&router, &loads), PHIBAL_OK);
        cr_assert_eq(phibal_router_forward(&router, T, logits.data(), nullptr, nullptr, nullptr,
                                           experts.data(), gates.data(), nullptr, &loads),
                     PHIBAL_OK);
        device_loads on_device(E);
        zeroed_device d(phibal_cuda_router_forward_workspace(&router));
        cr_assert_eq(phibal_cuda_router_forward(
                         &router, T, PHIBAL_LOGITS_F32, logits.data(), nullptr, nullptr, nullptr,
                         others.data(), other_gates.data(), nullptr, on_device.get(), &d.call),
                     PHIBAL_OK);
        cr_assert(experts == others, "other routes than the CPU's: E = %d, k = %d", E, k);
        cr_expect_eq(memcmp(gates.data(), other_gates.data(), gates.size() * sizeof(float)), 0);
        cr_expect_eq(memcmp(on_device.count.data(), loads.count, (size_t)E * sizeof(int64_t)), 0);
        phibal_loads_destroy(&loads);
      }
}

/* A bias selects logits that lie so far below the row's largest that their probabilities are 0.
   Shares of the selected are as if they were alone, and probabilities are 0. */
Test(cuda_kernels, gates_of_logits_far_below_the_largest) {
  const int64_t T = 5;
  for (int E : {4, 8, 64})
    for (phibal_gate gate : {PHIBAL_GATE_TOPK_SOFTMAX, PHIBAL_GATE_PROBABILITY}) {
      phibal_router router = {E, 2, gate, 1};
      std::vector<float> logits((size_t)(T * E)), bias((size_t)E);
      for (int64_t t = 0; t < T; t++)
        for (int e = 0; e < E; e++)
          logits[(size_t)(t * E + e)] = e < 2 ? -2000.0f - (float)(e * t) : 0.25f * (float)(e - t);
      bias[0] = bias[1] = 4000.0f;
      std::vector<int32_t> experts((size_t)(2 * T)), others(experts.size());
      std::vector<float> gates(experts.size()), other_gates(experts.size());
      phibal_loads loads;
      cr_assert_eq(phibal_loads_create(&router, &loads), PHIBAL_OK);
      cr_assert_eq(phibal_router_forward(&router, T, logits.data(), bias.data(), nullptr, nullptr,
                                         experts.data(), gates.data(), nullptr, &loads),
                   PHIBAL_OK);
      device_loads on_device(E);
      zeroed_device d(phibal_cuda_router_forward_workspace(&router));
      cr_assert_eq(phibal_cuda_router_forward(
                       &router, T, PHIBAL_LOGITS_F32, logits.data(), bias.data(), nullptr, nullptr,
                       others.data(), other_gates.data(), nullptr, on_device.get(), &d.call),
                   PHIBAL_OK);
      cr_expect(experts == others, "other routes: E = %d", E);
      cr_expect_eq(memcmp(gates.data(), other_gates.data(), gates.size() * sizeof(float)), 0,
                   "other gates: E = %d", E);
      for (size_t s = 0; s < gates.size(); s += 2) {
        const float sum = gates[s] + gates[s + 1];
        cr_expect(gate == PHIBAL_GATE_PROBABILITY ? sum == 0 : std::fabs(sum - 1) < 1e-6f,
                  "gates of the CPU: E = %d, %g", E, (double)sum);
      }
      phibal_loads_destroy(&loads);
    }
}

/* Probabilities down to the cut at 2^-160 reach the levels that verify's binary32 loads hide. */
Test(cuda_kernels, limbs_of_tiny_probabilities) {
  const int E = 9;
  const int64_t T = 70;
  phibal_router router = {E, 2, PHIBAL_GATE_PROBABILITY, 1};
  std::vector<float> logits((size_t)(T * E)), gates((size_t)(2 * T));
  std::vector<int32_t> experts((size_t)(2 * T));
  for (int64_t t = 0; t < T; t++)
    for (int e = 0; e < E; e++)
      logits[(size_t)(t * E + e)] = -(float)e * (10.0f + 0.37f * (float)(t % 11));
  phibal_loads loads;
  cr_assert_eq(phibal_loads_create(&router, &loads), PHIBAL_OK);
  cr_assert_eq(phibal_router_forward(&router, T, logits.data(), nullptr, nullptr, nullptr,
                                     experts.data(), gates.data(), nullptr, &loads),
               PHIBAL_OK);
  for (int blocks = 1; blocks < 5; blocks++) {
    device_loads on_device(E);
    zeroed_device d(phibal_cuda_router_forward_workspace(&router), blocks);
    cr_assert_eq(phibal_cuda_router_forward(&router, T, PHIBAL_LOGITS_F32, logits.data(), nullptr,
                                            nullptr, nullptr, experts.data(), gates.data(), nullptr,
                                            on_device.get(), &d.call),
                 PHIBAL_OK);
    cr_expect_eq(memcmp(on_device.probability.data(), loads.probability,
                        on_device.probability.size() * sizeof(uint64_t)),
                 0);
  }
  uint64_t last = 0;
  for (int e = 0; e < E; e++) last |= loads.probability[e * PHIBAL_LOAD_LIMBS + 5];
  cr_expect_neq(last, 0, "the case does not reach the last limb");
  phibal_loads_destroy(&loads);
}

/* Both types of logits, and the CPU's bits. Rows of eight are read and written 16 bytes at a time
   where arrays allow it: not where they begin `beside` numbers behind such a place. */
static void logits_case(int E, int k, size_t beside) {
  const int64_t T = 41;
  phibal_router router = {E, k, PHIBAL_GATE_TOPK_SOFTMAX, 1};
  const size_t n = (size_t)(T * E);
  std::vector<uint16_t> half(beside + n);
  std::vector<float> logits(half.size());
  random_stream r = random_start(SEED, 1, 1);
  for (size_t i = beside; i < half.size(); i++) {
    float x = (float)random_normal(&r);
    uint32_t bits;
    memcpy(&bits, &x, 4);
    half[i] = (uint16_t)(bits >> 16);
    bits &= 0xffff0000u;
    memcpy(&logits[i], &bits, 4);
  }
  forward cpu((size_t)T, (size_t)E, (size_t)k);
  std::vector<float> dg((size_t)(T * k), 0.25f), price((size_t)E, 0.5f), cpu_gradient(n);
  price[3] = -1.0f;
  phibal_loads loads;
  OK(phibal_loads_create(&router, &loads));
  OK(phibal_router_forward(&router, T, logits.data() + beside, nullptr, nullptr,
                           cpu.probabilities.data(), cpu.experts.data(), cpu.gates.data(),
                           cpu.logsumexp.data(), &loads));
  OK(phibal_router_backward(&router, T, logits.data() + beside, nullptr, cpu.experts.data(),
                            dg.data(), price.data(), 0.1, 0.01, cpu_gradient.data()));
  for (int type = 0; type < 2; type++) {
    const phibal_logits kind = type ? PHIBAL_LOGITS_BF16 : PHIBAL_LOGITS_F32;
    const void *x = type ? (const void *)(half.data() + beside) : logits.data() + beside;
    forward gpu((size_t)T, (size_t)E, (size_t)k);
    std::vector<float> p(beside + n), gradient(beside + n);
    device_loads on_device(E);
    zeroed_device d(phibal_cuda_router_forward_workspace(&router));
    OK(phibal_cuda_router_forward(&router, T, kind, x, nullptr, nullptr, p.data() + beside,
                                  gpu.experts.data(), gpu.gates.data(), gpu.logsumexp.data(),
                                  on_device.get(), &d.call));
    memcpy(gpu.probabilities.data(), p.data() + beside, n * sizeof(float));
    cr_assert(cpu == gpu, "E = %d, k = %d, bfloat16 %d, %d beside", E, k, type, (int)beside);
    cr_expect_eq(memcmp(on_device.count.data(), loads.count, (size_t)E * sizeof(int64_t)), 0);
    cr_expect_eq(memcmp(on_device.probability.data(), loads.probability,
                        on_device.probability.size() * sizeof(uint64_t)),
                 0);
    OK(phibal_cuda_router_backward(&router, T, kind, x, nullptr, gpu.experts.data(), dg.data(),
                                   price.data(), 0.1, 0.01, gradient.data() + beside, &d.call));
    cr_expect_eq(memcmp(gradient.data() + beside, cpu_gradient.data(), n * sizeof(float)), 0,
                 "gradient, E = %d, k = %d, bfloat16 %d, %d beside", E, k, type, (int)beside);
    OK(phibal_cuda_result(&d.call));
  }
  phibal_loads_destroy(&loads);
}

Test(cuda_kernels, bfloat16_logits_stand_for_the_binary32_they_are) {
  logits_case(70, 3, 0);
  for (int E : {5, 8, 11, 16, 29, 32})
    for (int k : {1, 2, 3, 5})
      for (size_t beside : {0, 1}) logits_case(E, k, beside);
}

Test(cuda_kernels, a_logit_that_is_not_finite_is_named_and_changes_no_load) {
  static const int experts_counts[] = {5, 33, 600, 1024};
  for (int E : experts_counts) {
    const int64_t T = 90;
    phibal_router router = {E, 2, PHIBAL_GATE_TOPK_SOFTMAX, 1};
    std::vector<float> logits((size_t)(T * E), 0.5f), gates((size_t)(2 * T));
    std::vector<int32_t> experts((size_t)(2 * T));
    logits[(size_t)(71 * E + 1)] = -__builtin_inff();
    logits[(size_t)(40 * E + E - 1)] = __builtin_nanf("");
    logits[(size_t)(40 * E + 2)] = __builtin_inff();
    device_loads loads(E);
    loads.tokens = 3;
    loads.count[1] = 4;
    zeroed_device d(phibal_cuda_router_forward_workspace(&router), 3);
    cr_assert_eq(phibal_cuda_router_forward(&router, T, PHIBAL_LOGITS_F32, logits.data(), nullptr,
                                            nullptr, nullptr, experts.data(), gates.data(), nullptr,
                                            loads.get(), &d.call),
                 PHIBAL_OK);
    expect_failure(d, PHIBAL_ERROR_NONFINITE, "token 40 for expert 2 is inf");
    cr_expect(d.left_zero());
    cr_expect_eq(loads.tokens, 3);
    cr_expect_eq(loads.count[1], 4);
    for (uint64_t limb : loads.probability) cr_expect_eq(limb, 0);
    std::vector<float> gradient((size_t)(T * E));
    cr_assert_eq(phibal_cuda_expect(&d.call), PHIBAL_OK);
    cr_assert_eq(phibal_cuda_router_backward(&router, T, PHIBAL_LOGITS_F32, logits.data(), nullptr,
                                             nullptr, nullptr, nullptr, 0, 0.1, gradient.data(),
                                             &d.call),
                 PHIBAL_OK);
    expect_failure(d, PHIBAL_ERROR_NONFINITE, "token 40 for expert 2 is inf");
  }
}

Test(cuda_kernels, routes_that_lead_nowhere_are_named) {
  phibal_router router = {6, 2, PHIBAL_GATE_TOPK_SOFTMAX, 1};
  std::vector<float> logits(10 * 6, 1.0f), dg(20, 1.0f), gradient(60);
  std::vector<int32_t> experts(20, 1);
  experts[2 * 7 + 1] = 6;
  experts[2 * 9] = -1;
  zeroed_device d(4096);
  cr_assert_eq(phibal_cuda_router_backward(&router, 10, PHIBAL_LOGITS_F32, logits.data(), nullptr,
                                           experts.data(), dg.data(), nullptr, 0, 0,
                                           gradient.data(), &d.call),
               PHIBAL_OK);
  expect_failure(d, PHIBAL_ERROR_ARGUMENT, "token 7 is routed to an expert");
  std::vector<int64_t> offsets(7), source(20), row(20);
  cr_assert_eq(phibal_cuda_expect(&d.call), PHIBAL_OK);
  cr_assert_eq(phibal_cuda_permutation(10, 2, 6, experts.data(), offsets.data(), source.data(),
                                       row.data(), &d.call),
               PHIBAL_OK, "%s", phibal_status_message());
  expect_failure(d, PHIBAL_ERROR_ARGUMENT, "slot 15");
  d.call.workspace_bytes = 7;
  cr_expect_eq(phibal_cuda_permutation(10, 2, 6, experts.data(), offsets.data(), source.data(),
                                       row.data(), &d.call),
               PHIBAL_ERROR_MEMORY);
}

/* Experts that are given twice, or that there are none of; the loads stay as they are. */
Test(cuda_kernels, a_given_selection_is_of_different_experts) {
  for (int E : {6, 300})
    for (int wrong : {1, -1, 300}) {
      phibal_router router = {};
      router.experts = E;
      router.active = 2;
      router.gate = PHIBAL_GATE_SIGMOID;
      router.scale = 1;
      router.selection = PHIBAL_SELECTION_GIVEN;
      std::vector<float> logits((size_t)(10 * E), 1.0f), gates(20);
      std::vector<int32_t> experts(20);
      for (size_t i = 0; i < experts.size(); i++) experts[i] = (int32_t)(i % 2);
      experts[2 * 7] = wrong;
      device_loads loads(E);
      zeroed_device d(1 << 20);
      cr_assert_eq(phibal_cuda_router_forward(&router, 10, PHIBAL_LOGITS_F32, logits.data(),
                                              nullptr, nullptr, nullptr, experts.data(),
                                              gates.data(), nullptr, loads.get(), &d.call),
                   PHIBAL_OK);
      expect_failure(d, PHIBAL_ERROR_ARGUMENT, "token 7 is routed to an expert");
      cr_expect_eq(loads.tokens, 0);
      float bias[300] = {};
      cr_expect_eq(phibal_cuda_router_forward(&router, 10, PHIBAL_LOGITS_F32, logits.data(), bias,
                                              nullptr, nullptr, experts.data(), gates.data(),
                                              nullptr, loads.get(), &d.call),
                   PHIBAL_ERROR_ARGUMENT);
    }
}

/* Many slots a stretch, more experts than a warp has lanes, padding. */
Test(cuda_kernels, permutation_has_the_cpus_rows_for_any_launch) {
  static const int experts_counts[] = {1, 7, 40, 1024};
  for (int E : experts_counts) {
    const int64_t T = E == 40 ? 8300 : 700; /* up to 320 stretches, or 32 */
    const int k = E < 5 ? 1 : 5;
    random_stream r = random_start(SEED, 2, (uint64_t)E);
    std::vector<int32_t> experts((size_t)(T * k));
    for (int32_t &e : experts) e = (int32_t)random_integer(&r, -1, E - 1);
    std::vector<int64_t> offsets((size_t)E + 1), source(experts.size()), row(experts.size());
    cr_assert_eq(
        phibal_permutation(T, k, E, experts.data(), offsets.data(), source.data(), row.data()),
        PHIBAL_OK);
    source.resize((size_t)offsets[(size_t)E]);
    for (int blocks : {1, 2, 3, 4, 7, 40}) {
      phibal_cuda shape = {};
      shape.multiprocessors = 20;
      shape.most_blocks = blocks;
      zeroed_device d(phibal_cuda_permutation_workspace(T, k, E, &shape), blocks);
      d.call.multiprocessors = 20;
      memset(d.workspace.data(), 0x5a, d.workspace.size() * 8);
      std::vector<int64_t> offsets2((size_t)E + 1), source2(experts.size()), row2(experts.size());
      cr_assert_eq(phibal_cuda_permutation(T, k, E, experts.data(), offsets2.data(), source2.data(),
                                           row2.data(), &d.call),
                   PHIBAL_OK, "%s", phibal_status_message());
      cr_assert_eq(phibal_cuda_result(&d.call), PHIBAL_OK);
      source2.resize(source.size());
      cr_expect(same(offsets, offsets2) && same(source, source2) && same(row, row2),
                "E = %d, %d blocks", E, blocks);
    }
  }
}

Test(cuda_kernels, a_refused_layer_is_named_and_the_others_are_done) {
  const int L = 3, E = 4;
  std::vector<float> m(L * E, 0.25f), loads(L * E, 0.25f), next(L * E, -1.0f), centred(L * E);
  loads[1 * E + 2] = -0.5f;
  phibal_cuda_balance b = {};
  b.layers = L;
  b.experts = E;
  b.eta = 0.5f;
  b.m = m.data();
  b.loads = loads.data();
  b.next = next.data();
  b.centred = centred.data();
  b.potential = {PHIBAL_POTENTIAL_NEGENTROPY, 0};
  zeroed_device d(0);
  cr_assert_eq(phibal_cuda_balance_step(&b, &d.call), PHIBAL_OK, "%s", phibal_status_message());
  expect_failure(d, PHIBAL_ERROR_DOMAIN, "layer 1");
  for (int e = 0; e < E; e++) {
    cr_expect_eq(next[(size_t)e], 0.25f);
    cr_expect_eq(next[(size_t)(E + e)], -1.0f);
    cr_expect_eq(next[(size_t)(2 * E + e)], 0.25f);
  }
  b.m = nullptr;
  cr_expect_eq(phibal_cuda_balance_step(&b, &d.call), PHIBAL_ERROR_ARGUMENT);
}

/* More tokens than a block takes; afterwards the workspace is zero. */
Test(cuda_kernels, z_loss_of_several_blocks) {
  const int64_t T = 9000;
  random_stream r = random_start(SEED, 9, 0);
  floats logsumexp = numbers(&r, (size_t)T, 20);
  std::vector<uint8_t> mask((size_t)T);
  for (uint8_t &m : mask) m = random_integer(&r, 0, 3) > 0;
  for (int blocks = 0; blocks < 4; blocks++) {
    zeroed_device d(phibal_cuda_z_loss_workspace(), blocks);
    float loss = 0, loss2 = 0;
    OK(phibal_z_loss(T, 0.125, logsumexp.data(), mask.data(), &loss));
    OK(phibal_cuda_z_loss(T, 0.125, logsumexp.data(), mask.data(), &loss2, &d.call));
    OK(phibal_cuda_result(&d.call));
    cr_expect(loss == loss2 && d.left_zero(), "%d blocks: %a, not %a", blocks, (double)loss2,
              (double)loss);
  }
  /* The first bad token is named, whichever block meets it. */
  mask[17] = mask[8000] = mask[8500] = 1;
  logsumexp[17] = logsumexp[8000] = logsumexp[8500] = CORE_INFINITY;
  zeroed_device d(phibal_cuda_z_loss_workspace());
  float loss = 0;
  OK(phibal_cuda_z_loss(T, 0.125, logsumexp.data(), mask.data(), &loss, &d.call));
  expect_failure(d, PHIBAL_ERROR_NONFINITE, "token 17 ");
  cr_expect(d.left_zero());
}

/* Widths that go by four and that do not; slots without rows; the experts' rows in either type. */
static void rows_case(int64_t d, bool half) {
  const int64_t T = 23;
  const int k = 3, E = 5;
  const phibal_rows type = half ? PHIBAL_ROWS_BF16 : PHIBAL_ROWS_F32;
  random_stream r = random_start(SEED, 3, (uint64_t)d);
  std::vector<int32_t> experts((size_t)(T * k));
  for (int32_t &e : experts) e = (int32_t)random_integer(&r, -1, E - 1);
  std::vector<int64_t> offsets(E + 1), source(experts.size()), row(experts.size());
  cr_assert_eq(
      phibal_permutation(T, k, E, experts.data(), offsets.data(), source.data(), row.data()),
      PHIBAL_OK);
  const int64_t N = offsets[E];
  floats in = numbers(&r, (size_t)(T * d)), out = numbers(&r, (size_t)(N * d));
  if (half) narrow(&in), narrow(&out);
  const halves half_in = halves_of(in), half_out = halves_of(out);
  const void *in2 = half ? (const void *)half_in.data() : in.data();
  const void *out2 = half ? (const void *)half_out.data() : out.data();
  floats x = numbers(&r, in.size()), y = numbers(&r, in.size()),
         gates = numbers(&r, experts.size());
  floats x2 = x, y2 = y, g1(out.size()), g2 = g1, e1 = g1, e2 = g1, gg1(gates.size()), gg2 = gg1;
  halves half_g(out.size()), half_e = half_g;
  zeroed_device c(0, (int)(d % 4));
  OK(phibal_gather(N, k, d, source.data(), in.data(), g1.data()));
  OK(phibal_cuda_gather(N, k, d, type, source.data(), in2, half ? (void *)half_g.data() : g2.data(),
                        &c.call));
  cr_expect(half ? same(halves_of(g1), half_g) : same(g1, g2), "gather, width %d, bfloat16 %d",
            (int)d, half);
  OK(phibal_gather_backward(T, k, d, row.data(), out.data(), x.data()));
  OK(phibal_cuda_gather_backward(T, k, d, type, row.data(), out2, x2.data(), &c.call));
  cr_expect(same(x, x2), "gather backward, width %d, bfloat16 %d", (int)d, half);
  OK(phibal_combine(T, k, d, row.data(), gates.data(), out.data(), y.data()));
  OK(phibal_cuda_combine(T, k, d, type, row.data(), gates.data(), out2, y2.data(), &c.call));
  cr_expect(same(y, y2), "combine, width %d, bfloat16 %d", (int)d, half);
  OK(phibal_combine_backward(T, k, d, row.data(), gates.data(), out.data(), y.data(), e1.data(),
                             gg1.data()));
  OK(phibal_cuda_combine_backward(T, k, d, type, row.data(), gates.data(), out2, y.data(),
                                  half ? (void *)half_e.data() : e2.data(), gg2.data(), &c.call));
  cr_expect((half ? same(halves_of(e1), half_e) : same(e1, e2)) && same(gg1, gg2),
            "combine backward, width %d, bfloat16 %d", (int)d, half);
}

Test(cuda_kernels, rows_there_and_back_have_the_cpus_bits) {
  static const int64_t widths[] = {1, 3, 4, 16, 40, 129, 256};
  for (int64_t d : widths)
    for (int half = 0; half < 2; half++) rows_case(d, half != 0);
}

/* Beside the CPU's expert layer: from its a and b to its h; and back, where with d = f = 1, w_down
   = 1 and dL/dy = dL/dh its a and b become the gradients. */
Test(cuda_kernels, activations_have_the_cpus_bits) {
  static const int counts[] = {1, 7, 64, 1000};
  for (int n : counts)
    for (int gelu = 0; gelu < 2; gelu++) {
      phibal_activation activation = gelu ? PHIBAL_ACTIVATION_GELU : PHIBAL_ACTIVATION_SILU;
      phibal_ffn ffn = {1, 1, 1, activation};
      const int64_t offsets[] = {0, n};
      const float one = 1.0f, up = -0.7f;
      const size_t size = (size_t)n;
      std::vector<float> x(size), a(size), b(size), h(size), y(size), h2(size), dy(size), dh(size);
      std::vector<float> dx(size);
      float dw[3] = {0};
      random_stream r = random_start(SEED, 4, (uint64_t)(2 * n + gelu));
      for (size_t i = 0; i < size; i++) {
        x[i] = (float)(random_normal(&r) * (i % 9 == 0 ? 100 : 3));
        dy[i] = (float)random_normal(&r);
      }
      zeroed_device c(0, n % 3);
      cr_assert_eq(phibal_ffn_forward(&ffn, offsets, x.data(), &one, &up, &one, a.data(), b.data(),
                                      h.data(), y.data()),
                   PHIBAL_OK);
      cr_assert_eq(phibal_cuda_activate(activation, PHIBAL_ROWS_F32, n, a.data(), b.data(),
                                        h2.data(), &c.call),
                   PHIBAL_OK, "%s", phibal_status_message());
      cr_expect(same(h, h2), "n = %d", n);
      std::vector<float> a2 = a, b2 = b;
      cr_assert_eq(phibal_ffn_backward(&ffn, offsets, x.data(), &one, &up, &one, a.data(), b.data(),
                                       h.data(), dy.data(), dh.data(), dx.data(), &dw[0], &dw[1],
                                       &dw[2]),
                   PHIBAL_OK);
      cr_assert_eq(phibal_cuda_activate_backward(activation, PHIBAL_ROWS_F32, n, a2.data(),
                                                 b2.data(), dh.data(), &c.call),
                   PHIBAL_OK);
      cr_expect(same(a, a2) && same(b, b2), "backward, n = %d", n);
    }
}

/* Rows that a count on the device numbers: those of a gather and of an activation, and none behind
   them. */
Test(cuda_kernels, counted_rows_are_those_of_a_count_on_the_device) {
  for (int half = 0; half < 2; half++)
    for (int64_t d : {(int64_t)12, (int64_t)7})
      for (int64_t count : {(int64_t)0, (int64_t)13, (int64_t)20}) {
        const int64_t most = 20, k = 2;
        random_stream r = random_start(91, (uint64_t)half, (uint64_t)(d * 100 + count));
        const phibal_rows type = half ? PHIBAL_ROWS_BF16 : PHIBAL_ROWS_F32;
        floats x = numbers(&r, (size_t)(most * d)), b = numbers(&r, (size_t)(most * d));
        const floats rest = numbers(&r, (size_t)(most * d));
        std::vector<int64_t> source((size_t)most);
        for (int64_t &v : source) v = random_integer(&r, 0, most * k - 1);
        const halves x2 = halves_of(x), b2 = halves_of(b);
        const void *in = half ? (const void *)x2.data() : x.data();
        const void *in_b = half ? (const void *)b2.data() : b.data();
        const size_t size = half ? 2 : 4, all = size * (size_t)(most * d),
                     there = size * (size_t)(count * d);
        std::vector<uint64_t> got((all + 7) / 8), wanted(got.size());
        device c(0);
        for (int activation = 0; activation < 2; activation++) {
          memcpy(got.data(), rest.data(), all);
          memcpy(wanted.data(), rest.data(), all);
          if (activation) {
            OK(phibal_cuda_activate(PHIBAL_ACTIVATION_SILU, type, count * d, in, in_b,
                                    wanted.data(), &c.call));
            OK(phibal_cuda_activate_counted(PHIBAL_ACTIVATION_SILU, type, &count, most, d, in, in_b,
                                            got.data(), &c.call));
          } else {
            OK(phibal_cuda_gather(count, (int32_t)k, d, type, source.data(), in, wanted.data(),
                                  &c.call));
            OK(phibal_cuda_gather_counted(&count, most, (int32_t)k, d, type, source.data(), in,
                                          got.data(), &c.call));
          }
          cr_expect_eq(memcmp(got.data(), wanted.data(), there), 0, "%d of %d, width %d",
                       activation, (int)count, (int)d);
          cr_expect_eq(
              memcmp((char *)got.data() + there, (char *)wanted.data() + there, all - there), 0,
              "%d: beyond the count, %d of width %d", activation, (int)count, (int)d);
        }
      }
}

/* (E2n): every finite number of bfloat16, to the bit. */
Test(cuda_kernels, activations_of_bfloat16_are_the_cores) {
  random_stream r = random_start(92, 0, 0);
  halves a;
  for (uint32_t bits = 0; bits < 0x10000; bits++)
    if ((bits & 0x7f80u) != 0x7f80u) a.push_back((uint16_t)bits);
  const size_t n = a.size();
  const halves b = halves_of(numbers(&r, n)), dh = halves_of(numbers(&r, n));
  device c(0);
  for (int gelu = 0; gelu < 2; gelu++) {
    const phibal_activation activation = gelu ? PHIBAL_ACTIVATION_GELU : PHIBAL_ACTIVATION_SILU;
    halves h(n), da = a, db = b;
    OK(phibal_cuda_activate(activation, PHIBAL_ROWS_BF16, (int64_t)n, a.data(), b.data(), h.data(),
                            &c.call));
    OK(phibal_cuda_activate_backward(activation, PHIBAL_ROWS_BF16, (int64_t)n, da.data(), db.data(),
                                     dh.data(), &c.call));
    for (size_t i = 0; i < n; i++) {
      const core_activation32 of = gelu ? core_gelu32(wide(a[i])) : core_silu32(wide(a[i]));
      const float up = wide(b[i]), gradient = wide(dh[i]);
      cr_assert_eq(h[i], half_of(of.value * up), "h of %a", (double)wide(a[i]));
      cr_assert_eq(da[i], half_of(gradient * up * of.derivative), "dL/da of %a",
                   (double)wide(a[i]));
      cr_assert_eq(db[i], half_of(gradient * of.value), "dL/db of %a", (double)wide(a[i]));
    }
  }
}

/* Arrays that begin where no vector of 16 bytes may, one at a time, of kernels that take vectors
   where all of them allow it. Widths that go by eight. */
template <class S> static void rows_beside(phibal_rows type) {
  const int64_t T = 6, d = 8;
  const int32_t k = 2;
  const size_t slots = (size_t)(T * k), n = slots * (size_t)d;
  const std::vector<S> x(n, (S)1), y(n, (S)2), z(n, (S)0x3f80);
  std::vector<int64_t> row(slots);
  for (size_t i = 0; i < slots; i++) row[i] = (int64_t)(slots - 1 - i);
  random_stream r = random_start(SEED, 20, 0);
  const floats sums = numbers(&r, (size_t)(T * d)), gates = numbers(&r, slots);
  with_each_beside("gather", 0, [&](places &p, const phibal_cuda *call) {
    return phibal_cuda_gather(T, k, d, type, p.put(row), p.put(x), p.put(y), call);
  });
  with_each_beside("gather backward", 0, [&](places &p, const phibal_cuda *call) {
    return phibal_cuda_gather_backward(T, k, d, type, p.put(row), p.put(x), p.put(sums), call);
  });
  with_each_beside("combine", 0, [&](places &p, const phibal_cuda *call) {
    return phibal_cuda_combine(T, k, d, type, p.put(row), p.put(gates), p.put(x), p.put(sums),
                               call);
  });
  with_each_beside("combine backward", 0, [&](places &p, const phibal_cuda *call) {
    return phibal_cuda_combine_backward(T, k, d, type, p.put(row), p.put(gates), p.put(x),
                                        p.put(sums), p.put(y), p.put(gates), call);
  });
  with_each_beside("activation", 0, [&](places &p, const phibal_cuda *call) {
    return phibal_cuda_activate(PHIBAL_ACTIVATION_SILU, type, (int64_t)n, p.put(x), p.put(y),
                                p.put(z), call);
  });
  with_each_beside("activation backward", 0, [&](places &p, const phibal_cuda *call) {
    return phibal_cuda_activate_backward(PHIBAL_ACTIVATION_SILU, type, (int64_t)n, p.put(x),
                                         p.put(y), p.put(z), call);
  });
  for (bool routed : {false, true})
    with_each_beside("activation backward, recomputed", 0, [&](places &p, const phibal_cuda *call) {
      const phibal_cuda_routes routes = {T, k, p.put(row), p.put(gates), p.put(gates)};
      return phibal_cuda_activate_backward_recompute(PHIBAL_ACTIVATION_SILU, type, (int64_t)slots,
                                                     d, routed ? &routes : nullptr, p.put(x),
                                                     p.put(y), p.put(z), call);
    });
  with_each_beside("addition", 0, [&](places &p, const phibal_cuda *call) {
    return phibal_cuda_add(T * d, type, p.put(x), p.put(sums), call);
  });
}

Test(cuda_kernels, rows_that_begin_beside_a_vectors_place) {
  rows_beside<float>(PHIBAL_ROWS_F32);
  rows_beside<uint16_t>(PHIBAL_ROWS_BF16);
}

namespace {
/* Room for so many bytes, of which there are those that are touched. */
struct sparse {
  size_t bytes;
  void *p;
  explicit sparse(size_t n)
      : bytes(n), p(mmap(nullptr, n, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    if (p == MAP_FAILED) cr_skip_test("no %zu bytes of addresses", n);
  }
  sparse(const sparse &) = delete;
  ~sparse() {
    munmap(p, bytes);
  }
  template <class T> T *at(int64_t i) const {
    return (T *)p + i;
  }
};
} // namespace

/* Rows whose first number is beyond the 2^32nd of their array: the results are those of rows at the
   array's beginning. */
template <class S> static void far_rows(phibal_rows type) {
  const int64_t d = 8, far = ((int64_t)1 << 32) / d + 5;
  const size_t n = (size_t)d;
  random_stream r = random_start(SEED, 21, 0);
  const floats drawn = numbers(&r, n), sums = numbers(&r, n), gates = {0.5f, 0.25f};
  std::vector<S> x(n);
  for (size_t i = 0; i < n; i++) x[i] = sizeof(S) == 2 ? (S)half_of(drawn[i]) : (S)drawn[i];
  sparse in((size_t)(far + 1) * n * sizeof(S)), out(in.bytes), third(in.bytes);
  std::vector<unsigned char> results[2];
  for (int beyond = 0; beyond < 2; beyond++) {
    const int64_t at = beyond ? far : 1, row[] = {-1, at}, source[] = {2 * at + 1};
    S *const from = in.at<S>(at * d), *const to = out.at<S>(at * d), *b = third.at<S>(at * d);
    std::vector<unsigned char> &result = results[beyond];
    const auto keep = [&](const void *p, size_t bytes) {
      result.insert(result.end(), (const unsigned char *)p, (const unsigned char *)p + bytes);
    };
    memcpy(from, x.data(), n * sizeof(S));
    memcpy(b, x.data(), n * sizeof(S));
    device c(0);
    std::vector<S> gathered(n);
    floats y = sums, z = sums, gate_gradient(2);
    OK(phibal_cuda_gather(1, 2, d, type, source, in.p, gathered.data(), &c.call));
    OK(phibal_cuda_gather_backward(1, 2, d, type, row, in.p, y.data(), &c.call));
    OK(phibal_cuda_combine(1, 2, d, type, row, gates.data(), in.p, z.data(), &c.call));
    OK(phibal_cuda_combine_backward(1, 2, d, type, row, gates.data(), in.p, sums.data(), out.p,
                                    gate_gradient.data(), &c.call));
    keep(gathered.data(), n * sizeof(S));
    keep(y.data(), n * 4), keep(z.data(), n * 4);
    keep(to, n * sizeof(S)), keep(gate_gradient.data(), 8);
    const phibal_cuda_routes routes = {1, 2, row, gates.data(), gate_gradient.data()};
    OK(phibal_cuda_activate_backward_recompute(PHIBAL_ACTIVATION_SILU, type, at + 1, d, &routes,
                                               in.p, third.p, out.p, &c.call));
    keep(from, n * sizeof(S)), keep(to, n * sizeof(S)), keep(b, n * sizeof(S));
    keep(gate_gradient.data(), 8);
    cr_expect(gathered == x && gate_gradient[1] != 0 && y != sums && z != sums);
  }
  cr_expect(results[0] == results[1], "rows far behind the first, of %d bytes", (int)sizeof(S));
}

Test(cuda_kernels, rows_beyond_32_bits) {
  far_rows<float>(PHIBAL_ROWS_F32);
  far_rows<uint16_t>(PHIBAL_ROWS_BF16);
}

/* An identity of a late token, whose row begins beyond the 2^31st number. */
Test(cuda_kernels, identities_beyond_32_bits) {
  const int64_t width = (int64_t)1 << 18, T = ((int64_t)1 << 31) / width + 2;
  sparse x((size_t)(T * width) * 4), y(x.bytes);
  std::vector<int32_t> experts((size_t)T, 0);
  const floats gates((size_t)T, 2.0f);
  experts.back() = 1;
  float *const last = x.at<float>((T - 1) * width);
  last[0] = 3.0f, last[width - 1] = 4.0f;
  device c(0);
  OK(phibal_cuda_zero_experts(PHIBAL_ZERO_IDENTITY, T, 1, 2, 1, width, experts.data(), gates.data(),
                              x.at<float>(0), y.at<float>(0), &c.call));
  OK(phibal_cuda_result(&c.call));
  const float *const to = y.at<float>((T - 1) * width);
  cr_expect(to[0] == 6.0f && to[width - 1] == 8.0f && *y.at<float>(0) == 0.0f);
}

/* More rows of an expert than a block has threads. Gates that are equal, some of them kept,
   before and beside larger ones; an expert with a bad gate, or a row that is no route, is named,
   and the others are done. */
Test(cuda_kernels, capacity_by_gates_of_many_rows) {
  const int64_t T = 2400, limit = 40;
  const int32_t E = 3, k = 1;
  std::vector<int32_t> experts((size_t)T), kept((size_t)T), want((size_t)T);
  for (size_t t = 0; t < experts.size(); t++) experts[t] = (int32_t)t % E;
  std::vector<int64_t> offsets((size_t)E + 1), source((size_t)T), row((size_t)T);
  OK(phibal_permutation(T, k, E, experts.data(), offsets.data(), source.data(), row.data()));
  enum { GOOD, EQUAL, BAD_GATE, BAD_ROW, CASES };
  random_stream r = random_start(SEED, 22, 0);
  for (int what = 0; what < CASES; what++) {
    floats gates = numbers(&r, (size_t)T);
    for (size_t t = 0; t < gates.size() && what == EQUAL; t++)
      gates[t] = t < 3 * 15                 ? 0.25f
                 : t < 3 * 600              ? 0.125f
                 : t / 3 % 2 && t < 3 * 640 ? 0.5f
                                            : 0.25f;
    OK(phibal_capacity(PHIBAL_CAPACITY_GATE, T, k, E, limit, offsets.data(), source.data(),
                       gates.data(), want.data(), nullptr));
    std::vector<int64_t> from = source;
    for (size_t t : {1, 400, 700}) /* of several warps */
      if (what == BAD_GATE) gates[t] = NAN;
    if (what == BAD_ROW) from[(size_t)offsets[1] + 70] = T;
    for (int blocks = 1; blocks < 4; blocks++) {
      device d(0, blocks);
      std::vector<int32_t> real(experts.size()), real2 = real;
      OK(phibal_zero_experts_dispatch(T, k, E, 1, experts.data(), real.data()));
      OK(phibal_cuda_zero_experts_dispatch(T, k, E, 1, experts.data(), real2.data(), &d.call));
      cr_assert(same(real, real2), "dispatch");
      OK(phibal_cuda_capacity(PHIBAL_CAPACITY_GATE, T, k, E, limit, offsets.data(), from.data(),
                              gates.data(), kept.data(), nullptr, &d.call));
      if (what == BAD_GATE)
        expect_failure(d, PHIBAL_ERROR_NONFINITE, "a gate of expert 1");
      else if (what == BAD_ROW)
        expect_failure(d, PHIBAL_ERROR_ARGUMENT, "a row of expert 1");
      else
        OK(phibal_cuda_result(&d.call));
      /* Of more tokens than the blocks have threads. */
      for (bool renormalise : {false, true}) {
        floats left(gates.size()), on_device(gates.size()), back = left, back2 = left;
        if (what >= BAD_GATE) continue;
        floats positive = gates;
        for (float &g : positive) g = std::fabs(g);
        OK(phibal_capacity_gates(T, k, renormalise, want.data(), positive.data(), left.data()));
        OK(phibal_cuda_capacity_gates(T, k, renormalise, want.data(), positive.data(),
                                      on_device.data(), &d.call));
        OK(phibal_capacity_gates_backward(T, k, renormalise, want.data(), positive.data(),
                                          left.data(), back.data()));
        OK(phibal_cuda_capacity_gates_backward(T, k, renormalise, want.data(), positive.data(),
                                               left.data(), back2.data(), &d.call));
        cr_assert(same(left, on_device) && same(back, back2), "gates, case %d", what);
      }
      for (size_t t = 0; t < kept.size(); t++)
        cr_assert_eq(kept[t], what >= BAD_GATE && experts[t] == 1 ? -1 : want[t],
                     "case %d, route %zu", what, t);
    }
  }
}
