/* The trainer's CUDA kernels on the host, under AddressSanitizer and UBSan, beside moe/'s: the same
   bits in binary32, and in bfloat16 the bits of the CPU's result rounded; the cross-entropy within
   the bounds of kernels/cuda/trainer.h. Launches of any number of blocks. */
extern "C" {
#include "moe/device/device_adamw.h"
#include "verify/cases.h"
#include "moe/model/head.h"
#include "moe/model/norm.h"
#include "moe/model/rope.h"
}
#include "kernels/core/balance.h"
#include "kernels/cuda/trainer.h"
#include "cuda_device.h"
#include <cmath>
#include <phibal/quantile.h>
#include <sys/mman.h>

extern "C" size_t cuda_on_host_shared; /* cuda_on_host.h */

static constexpr uint64_t SEED = 78;
static constexpr double U = 0x1p-53;

namespace {
struct norm_case {
  int64_t rows;
  int32_t heads, n, gap; /* numbers between rows, which nothing may touch */
};
} // namespace

/* One case in one type; `add`, and in place where it does not add. */
static void norm_with(const norm_case &s, bool half, bool add, int blocks) {
  random_stream r = random_start(SEED, 0, (uint64_t)(s.n + 7 * s.rows));
  const int64_t stride = s.heads * s.n + s.gap;
  const size_t size = (size_t)(s.rows * stride), n = (size_t)s.n;
  const norm_shape cpu = {s.rows, s.heads, s.n, 1e-6f};
  const phibal_cuda_norm gpu = {s.rows, s.heads, s.n, 1e-6f,
                                half ? PHIBAL_ROWS_BF16 : PHIBAL_ROWS_F32};
  floats x = numbers(&r, size), dy = numbers(&r, size), w = numbers(&r, n), dw = numbers(&r, n);
  floats dx = numbers(&r, size);
  if (half) narrow(&x), narrow(&dy), narrow(&dx);
  floats y = x, y2 = x, inverse((size_t)(s.rows * s.heads)), inverse2 = inverse, dw2 = dw;
  halves hx = halves_of(x), hy = hx, hdy = halves_of(dy), hdx = halves_of(dx);
  norm_forward(&cpu, y.data(), stride, w.data(), y.data(), stride, inverse.data());
  device d(phibal_cuda_norm_backward_workspace(&gpu), blocks);
  OK(phibal_cuda_norm_forward(&gpu, half ? (void *)hy.data() : y2.data(), stride, w.data(),
                              gpu.type, half ? (void *)hy.data() : y2.data(), stride,
                              inverse2.data(), &d.call));
  cr_expect(same(inverse, inverse2), "n = %d", s.n);
  cr_expect(half ? same(halves_of(y), hy) : same(y, y2), "RMSNorm, n = %d, bfloat16 %d", s.n, half);
  std::vector<double> scratch((size_t)norm_scratch(s.rows, s.n));
  floats &to = add ? dx : dy;
  floats to2 = to, dy2 = dy;
  halves &hto = add ? hdx : hdy;
  norm_backward(&cpu, x.data(), stride, w.data(), inverse.data(), dy.data(), stride, add, to.data(),
                stride, dw.data(), scratch.data());
  OK(phibal_cuda_norm_backward(
      &gpu, half ? (void *)hx.data() : x.data(), stride, w.data(), inverse.data(),
      half  ? (void *)hdy.data()
      : add ? dy2.data()
            : to2.data(),
      stride, add, half ? (void *)hto.data() : to2.data(), stride, dw2.data(), &d.call));
  cr_expect(same(dw, dw2), "weight's gradient, n = %d, bfloat16 %d", s.n, half);
  cr_expect(half ? same(halves_of(to), hto) : same(to, to2),
            "backward, n = %d, bfloat16 %d, add %d", s.n, half, add);
  OK(phibal_cuda_result(&d.call));
}

Test(cuda_trainer, norm_has_the_cpus_bits) {
  static const norm_case cases[] = {{1, 1, 1, 0},    {5, 1, 3, 2},    {130, 1, 64, 0},
                                    {257, 3, 20, 4}, {37, 1, 129, 1}, {2, 1, 1000, 0},
                                    {0, 1, 8, 0},    {128, 2, 16, 3}, {9, 1, 16, 2},
                                    {7, 1, 512, 4},  {5, 2, 768, 0},  {11, 1, 1024, 2}};
  int blocks = 0;
  for (const norm_case &s : cases)
    for (int half = 0; half < 2; half++)
      for (int add = 0; add < 2; add++) norm_with(s, half, add, blocks++ % 4);
  device d(8);
  phibal_cuda_norm norm = {300, 1, 16, 0, PHIBAL_ROWS_F32};
  floats x(300 * 16), w(16), inverse(300);
  cr_expect_eq(phibal_cuda_norm_backward(&norm, x.data(), 16, w.data(), inverse.data(), x.data(),
                                         16, 0, x.data(), 16, w.data(), &d.call),
               PHIBAL_ERROR_MEMORY);
  norm.heads = 0;
  cr_expect_eq(phibal_cuda_norm_forward(&norm, x.data(), 16, w.data(), PHIBAL_ROWS_F32, x.data(),
                                        16, inverse.data(), &d.call),
               PHIBAL_ERROR_ARGUMENT);
}

/* With `gap` numbers in each head, and behind the heads, that are not turned. */
static void rope_with(const norm_case &s, bool half, bool interleaved) {
  const int32_t sequence = 5;
  random_stream r = random_start(SEED, 1, (uint64_t)(s.n + 7 * s.rows));
  const rope_frequencies frequencies = {10000, 0, ROPE_YARN, 0, 0, 0, false, 0};
  floats cosine((size_t)(sequence * s.n / 2)), sine = cosine;
  rope_table(sequence, s.n, &frequencies, cosine.data(), sine.data());
  const int64_t head = s.n + s.gap, row = s.heads * head + s.gap;
  const rope_shape cpu = {s.rows, sequence, s.heads, s.n, head, row, interleaved};
  const phibal_cuda_rope_shape gpu = {
      s.rows, sequence, s.heads,     s.n,
      head,   row,      interleaved, half ? PHIBAL_ROWS_BF16 : PHIBAL_ROWS_F32};
  floats x = numbers(&r, (size_t)(s.rows * row));
  if (half) narrow(&x);
  floats x2 = x;
  halves h = halves_of(x);
  device d(0, (int)(s.rows % 3));
  for (int turn = 0; turn < 2; turn++) {
    const float direction = turn ? -1.0f : 1.0f;
    rope_apply(&cpu, cosine.data(), sine.data(), direction, x.data());
    OK(phibal_cuda_rope(&gpu, cosine.data(), sine.data(), direction,
                        half ? (void *)h.data() : x2.data(), &d.call));
    cr_expect(half ? same(halves_of(x), h) : same(x, x2), "n = %d, bfloat16 %d, interleaved %d",
              s.n, half, interleaved);
    if (half) narrow(&x);
  }
}

/* From a binary32 stream to rows of bfloat16. */
Test(cuda_trainer, norm_rounds_what_it_writes_once) {
  static const norm_case cases[] = {{5, 1, 3, 2}, {37, 1, 129, 1}, {3, 1, 64, 0}, {9, 1, 512, 0}};
  for (const norm_case &s : cases) {
    random_stream r = random_start(SEED, 5, (uint64_t)s.n);
    const int64_t stride = s.n + s.gap;
    const norm_shape cpu = {s.rows, 1, s.n, 1e-6f};
    const phibal_cuda_norm gpu = {s.rows, 1, s.n, 1e-6f, PHIBAL_ROWS_F32};
    const floats x = numbers(&r, (size_t)(s.rows * stride)), w = numbers(&r, (size_t)s.n);
    floats y = numbers(&r, x.size()), inverse((size_t)s.rows), inverse2 = inverse;
    narrow(&y);
    const floats wide_before = y;
    halves y2 = halves_of(y);
    const halves before = y2;
    norm_forward(&cpu, x.data(), stride, w.data(), y.data(), stride, inverse.data());
    device d(0, (int)(s.n % 3));
    OK(phibal_cuda_norm_forward(&gpu, x.data(), stride, w.data(), PHIBAL_ROWS_BF16, y2.data(),
                                stride, inverse2.data(), &d.call));
    cr_expect(same(halves_of(y), y2) && same(inverse, inverse2), "n = %d", s.n);
    floats wide = wide_before, inverse3((size_t)s.rows);
    halves y3 = before;
    OK(phibal_cuda_norm_forward_both(&gpu, x.data(), stride, w.data(), wide.data(), y3.data(),
                                     stride, inverse3.data(), &d.call));
    cr_expect(same(wide, y) && same(y3, y2) && same(inverse3, inverse2), "n = %d, both", s.n);
    const phibal_cuda_norm half = {s.rows, 1, s.n, 1e-6f, PHIBAL_ROWS_BF16};
    cr_expect_eq(phibal_cuda_norm_forward(&half, y2.data(), stride, w.data(), PHIBAL_ROWS_F32,
                                          y.data(), stride, inverse2.data(), &d.call),
                 PHIBAL_ERROR_ARGUMENT);
  }
}

/* By four and one by one: ties, what overflows, NaN whose payload would be cut off, denormals. */
Test(cuda_trainer, rows_are_rounded_to_bfloat16_and_added_from_it) {
  floats x = {0x1.01p0f,       0x1.03p0f,           0x1.010002p0f,        -0x1.01p0f,
              0x1.fffffep127f, 0x1.fep127f,         __builtin_inff(),     core_float(0x7f800001u),
              core_float(1u),  core_float(0x8000u), core_float(0x18000u), -0.0f,
              0x1.0101p-60f};
  const halves want = {0x3f80, 0x3f82, 0x3f81, 0xbf80, 0x7f80, 0x7f7f, 0x7f80,
                       0x7fc0, 0,      0,      2,      0x8000, 0x2181};
  for (size_t n : {x.size(), x.size() - 1}) {
    const halves first(want.begin(), want.begin() + (int64_t)n);
    halves h(n, 0x7777);
    device d(0, (int)(n % 3));
    OK(phibal_cuda_narrow((int64_t)n, x.data(), h.data(), &d.call));
    cr_expect(same(h, first), "%d numbers", (int)n);
  }
  for (size_t n : {16, 37}) {
    random_stream r = random_start(SEED, 6, n);
    floats from = numbers(&r, n), to = numbers(&r, n), to2 = to, sum = to;
    narrow(&from);
    const halves h = halves_of(from);
    for (size_t i = 0; i < n; i++) sum[i] += from[i];
    device d(0, 1);
    OK(phibal_cuda_add((int64_t)n, PHIBAL_ROWS_BF16, h.data(), to.data(), &d.call));
    OK(phibal_cuda_add((int64_t)n, PHIBAL_ROWS_F32, from.data(), to2.data(), &d.call));
    cr_expect(same(to, sum) && same(to2, sum), "%d numbers", (int)n);
  }
}

Test(cuda_trainer, numbers_are_scaled_in_binary64) {
  for (int64_t n : {0, 1, 300, 5000}) {
    random_stream r = random_start(SEED, 9, (uint64_t)n);
    const floats x = numbers(&r, (size_t)n);
    floats want = x, got = x, in_place = x;
    const double factor = -0.3, divisor = 1.0 - 0.7 * 0.7;
    for (float &v : want) v = (float)((double)v * factor / divisor);
    device d(0, (int)(n % 3));
    OK(phibal_cuda_scale(n, x.data(), factor, divisor, got.data(), &d.call));
    OK(phibal_cuda_scale(n, in_place.data(), factor, divisor, in_place.data(), &d.call));
    cr_expect(same(want, got) && same(want, in_place), "%d numbers", (int)n);
    cr_expect_eq(phibal_cuda_scale(n, x.data(), factor, 0, got.data(), &d.call),
                 PHIBAL_ERROR_ARGUMENT);
    OK(phibal_cuda_result(&d.call));
  }
}

Test(cuda_trainer, averages_of_either_sign) {
  random_stream r = random_start(SEED, 10, 0);
  const floats x = numbers(&r, 700, 3);
  floats to = numbers(&r, 700), want = to;
  for (size_t i = 0; i < to.size(); i++)
    want[i] = core_ema_element((double)0.3f, (double)want[i], (double)x[i]);
  device d(0, 2);
  OK(phibal_cuda_average(700, 0.3f, x.data(), to.data(), &d.call));
  cr_expect(same(want, to));
  cr_expect_eq(phibal_cuda_average(700, 1.5f, x.data(), to.data(), &d.call), PHIBAL_ERROR_ARGUMENT);
  OK(phibal_cuda_result(&d.call));
}

/* Required biases of two layers, with padding; many are equal. */
static const int32_t EXPERTS = 7, ROWS = 2 * EXPERTS;
static const int64_t COLUMNS = 611, STRIDE = 640;
static floats required_rows() {
  random_stream r = random_start(SEED, 11, 0);
  floats x = numbers(&r, (size_t)(ROWS * STRIDE));
  for (int32_t e = 0; e < ROWS; e++)
    for (int64_t t = 0; t < STRIDE; t++) {
      float &v = x[(size_t)(e * STRIDE + t)];
      if (t % 3 == 0) v = -0.25f * (float)(t % 7);
      if (t % 10 == 4) v = INFINITY;
    }
  return x;
}
static int64_t not_padding() {
  int64_t n = 0;
  for (int64_t t = 0; t < COLUMNS; t++) n += t % 10 != 4;
  return n;
}

/* Each shape of rows, full and not; tokens that do not fill a block; equal logits; logits and
   biases that are zeros of both signs; masks beside biases and all gates, with a NaN in a masked
   token. What lies behind the tokens in a row of results stays as it was. */
Test(cuda_trainer, required_biases_have_the_bits_of_the_cpu) {
  for (int32_t E : {2, 8, 9, 16, 31, 32, 64, 65, 128, 200, 256, 300, 512, 700, 1024})
    for (int32_t k : {1, 2, 8, E - 1}) {
      if (k >= E || (k == E - 1 && E > 128)) continue;
      random_stream r = random_start(SEED, 14, (uint64_t)(2000 * E + k));
      const phibal_gate gate = (phibal_gate)((E + k) % 4);
      const int64_t tokens = E <= 8 ? 601 : E <= 64 ? 133 : 19, stride = tokens + 3;
      const bool masked = E % 3 != 0, biased = (E + k) % 3 != 0;
      const phibal_router router = {.experts = E, .active = k, .gate = gate, .scale = 1};
      floats x = numbers(&r, (size_t)(tokens * E), 3), bias = numbers(&r, (size_t)E);
      for (size_t i = 0; i < x.size(); i++)
        if (k == 8 && i / (size_t)E % 2)
          x[i] = i / 4 % 2 ? 0.0f : -0.0f;
        else if (i % 5 < 2)
          x[i] = i % 5 ? 0.0f : -0.0f;
        else if (i % 7 == 3)
          x[i] = 1.5f;
      for (size_t e = 0; e < bias.size(); e++)
        if (e % 2) bias[e] = e % 4 == 1 ? -0.0f : 0.0f;
      std::vector<uint8_t> mask((size_t)tokens, 1);
      if (masked)
        for (int64_t t = 1; t < tokens; t += 4) {
          mask[(size_t)t] = 0;
          x[(size_t)(t * E)] = NAN;
        }
      floats want((size_t)(E * stride), 77), got = want;
      OK(phibal_quantile_required(&router, tokens, x.data(), biased ? bias.data() : nullptr,
                                  masked ? mask.data() : nullptr, stride, want.data()));
      device d(0, k % 3);
      OK(phibal_cuda_quantile_required(&router, tokens, x.data(), biased ? bias.data() : nullptr,
                                       masked ? mask.data() : nullptr, stride, got.data(),
                                       &d.call));
      cr_assert(same(want, got), "E = %d, k = %d, gate %d%s%s", E, k, (int)gate,
                masked ? ", a mask" : "", biased ? ", a bias" : "");
      OK(phibal_cuda_result(&d.call));
    }
}

/* Of one rank, and of two that have their parts of the columns, one of them none. */
Test(cuda_trainer, quantiles_over_ranks) {
  const floats x = required_rows();
  for (int64_t cut : {COLUMNS, (int64_t)200, (int64_t)0})
    for (int64_t place : {(int64_t)1, (int64_t)175, not_padding()}) {
      floats want((size_t)ROWS), got[2] = {want, want};
      OK(phibal_quantile(ROWS, COLUMNS, STRIDE, x.data(), place, nullptr, want.data()));
      device d(0, (int)(cut % 3));
      std::vector<int32_t> low[2], high[2];
      std::vector<uint64_t> count[2];
      for (int i = 0; i < 2; i++) {
        low[i].assign((size_t)ROWS, 77), high[i].assign((size_t)ROWS, 78);
        count[i].assign((size_t)ROWS * PHIBAL_CUDA_QUANTILE_BOUNDS, 79);
      }
      for (int32_t round = 0; round <= PHIBAL_CUDA_QUANTILE_ROUNDS; round++) {
        for (int i = 0; i < 2; i++)
          OK(phibal_cuda_quantile_round(round, ROWS, i ? COLUMNS - cut : cut, STRIDE,
                                        x.data() + (i ? cut : 0), place, low[i].data(),
                                        high[i].data(), count[i].data(), got[i].data(), &d.call));
        for (size_t e = 0; e < count[0].size(); e++)
          count[0][e] = count[1][e] = count[0][e] + count[1][e];
      }
      cr_assert(same(want, got[0]) && same(want, got[1]), "place %d, %d columns", (int)place,
                (int)cut);
      OK(phibal_cuda_result(&d.call));
    }
}

Test(cuda_trainer, quantiles_of_histograms) {
  const floats x = required_rows();
  const int64_t tokens = not_padding();
  for (int32_t bins : {1, 5, 300, 4099}) {
    floats ends[2] = {floats((size_t)ROWS), floats((size_t)ROWS)}, range(4);
    OK(phibal_quantile(ROWS, COLUMNS, STRIDE, x.data(), 1, nullptr, ends[0].data()));
    OK(phibal_quantile(ROWS, COLUMNS, STRIDE, x.data(), tokens, nullptr, ends[1].data()));
    device d(0, bins % 3);
    OK(phibal_cuda_quantile_range(2, EXPERTS, ends[0].data(), ends[1].data(), 0.0, range.data(),
                                  &d.call));
    for (int layer = 0; layer < 2; layer++) {
      const float *rows = x.data() + layer * EXPERTS * STRIDE, *of = range.data() + 2 * layer;
      float low = INFINITY, high = -INFINITY;
      for (int e = 0; e < EXPERTS; e++) {
        low = fminf(low, ends[0][(size_t)(layer * EXPERTS + e)]);
        high = fmaxf(high, ends[1][(size_t)(layer * EXPERTS + e)]);
      }
      cr_assert(of[0] == low && of[1] == high);
      std::vector<int64_t> count((size_t)(EXPERTS * bins), 0);
      std::vector<uint64_t> counted(count.size(), 0);
      floats want((size_t)EXPERTS), got = want;
      OK(phibal_quantile_histogram(EXPERTS, COLUMNS, STRIDE, rows, low, high, bins, count.data()));
      OK(phibal_quantile_interpolated(EXPERTS, 2, low, high, bins, count.data(), want.data()));
      OK(phibal_cuda_quantile_histogram(EXPERTS, COLUMNS, STRIDE, rows, of, bins, counted.data(),
                                        &d.call));
      cr_expect_eq(memcmp(count.data(), counted.data(), count.size() * sizeof count[0]), 0);
      OK(phibal_cuda_quantile_interpolated(EXPERTS, 2, tokens, of, bins, counted.data(), got.data(),
                                           &d.call));
      cr_expect(same(want, got), "%d bins", bins);
      for (uint64_t n : counted) cr_expect_eq(n, 0);
    }
    OK(phibal_cuda_result(&d.call));
  }
}

/* Sigmoid scores are in 0 .. 1; all numbers the same; a number that is outside. */
Test(cuda_trainer, ranges_of_histograms) {
  random_stream r = random_start(SEED, 12, 0);
  const floats bias = numbers(&r, 600);
  floats range(4), quantile(300);
  float want[4] = {INFINITY, -INFINITY, INFINITY, -INFINITY};
  for (size_t i = 0; i < 600; i++) {
    want[i / 300 * 2] = fminf(want[i / 300 * 2], (float)((double)bias[i] - 1.0));
    want[i / 300 * 2 + 1] = fmaxf(want[i / 300 * 2 + 1], (float)((double)bias[i] + 1.0));
  }
  device d(0);
  OK(phibal_cuda_quantile_range(2, 300, bias.data(), bias.data(), 1.0, range.data(), &d.call));
  cr_expect_eq(memcmp(range.data(), want, sizeof want), 0);
  const float one[2] = {0.5f, 0.5f}, narrow_range[2] = {0.0f, 0.4f};
  const floats x(300 * 8, 0.5f);
  std::vector<uint64_t> count(300 * 4, 0);
  OK(phibal_cuda_quantile_histogram(300, 8, 8, x.data(), one, 4, count.data(), &d.call));
  OK(phibal_cuda_quantile_interpolated(300, 2, 8, one, 4, count.data(), quantile.data(), &d.call));
  cr_expect(same(quantile, floats(300, 0.5f)));
  OK(phibal_cuda_result(&d.call));
  OK(phibal_cuda_quantile_histogram(300, 8, 8, x.data(), narrow_range, 4, count.data(), &d.call));
  expect_failure(d, PHIBAL_ERROR_DOMAIN, "required bias of expert 0");
}

/* As model_balance.c divides them; every second token is below the floor, one is padding. */
Test(cuda_trainer, gates_over_a_floor) {
  for (int64_t tokens : {0, 1, 700}) {
    const int32_t k = 3;
    const float floor = 0.5f, scale = 2.5f;
    random_stream r = random_start(SEED, 13, (uint64_t)tokens);
    floats y((size_t)(tokens * k)), dg = numbers(&r, y.size());
    for (size_t i = 0; i < y.size(); i++)
      y[i] =
          fabsf((float)random_normal(&r)) * (i / k % 2 ? 0.05f : 0.4f) * (i / k % 5 == 4 ? 0 : 1);
    floats g = y, dy = dg, got = y, gradient = dg, sums((size_t)tokens), got_sums = sums;
    for (int64_t t = 0; t < tokens; t++) {
      double sum = 0, along = 0;
      for (int64_t i = t * k; i < t * k + k; i++) sum += (double)y[(size_t)i];
      sums[(size_t)t] = (float)sum;
      const bool low = (float)sum < floor;
      for (int64_t i = t * k; i < t * k + k; i++) {
        g[(size_t)i] = (float)((double)scale * (double)y[(size_t)i] / (low ? (double)floor : sum));
        if (!low) along += (double)g[(size_t)i] * (double)dg[(size_t)i];
      }
      for (int64_t i = t * k; i < t * k + k; i++)
        dy[(size_t)i] = (float)(((double)scale * (double)dg[(size_t)i] - along) /
                                (double)(low ? floor : (float)sum));
    }
    device d(0, (int)(tokens % 3));
    OK(phibal_cuda_gate_floor(tokens, k, scale, floor, got.data(), got_sums.data(), &d.call));
    cr_expect(same(g, got) && same(sums, got_sums), "%d tokens", (int)tokens);
    OK(phibal_cuda_gate_floor_backward(tokens, k, scale, floor, got.data(), got_sums.data(),
                                       gradient.data(), &d.call));
    cr_expect(same(dy, gradient), "%d tokens, backward", (int)tokens);
    cr_expect_eq(phibal_cuda_gate_floor(tokens, k, scale, 0, got.data(), got_sums.data(), &d.call),
                 PHIBAL_ERROR_ARGUMENT);
    OK(phibal_cuda_result(&d.call));
  }
}

Test(cuda_trainer, rope_has_the_cpus_bits) {
  static const norm_case cases[] = {{7, 2, 8, 0},  {10, 3, 6, 5}, {33, 1, 2, 0},
                                    {5, 2, 64, 8}, {3, 3, 8, 2},  {4, 2, 16, 1}};
  for (const norm_case &s : cases)
    for (int i = 0; i < 4; i++) rope_with(s, i % 2 != 0, i / 2 != 0);
}

/* The CPU's head on logits: its product with the unit matrix is exact. */
namespace {
struct head_result {
  floats gradient;
  std::vector<double> row_loss;
  double loss;
  int64_t correct, counted;
};
} // namespace

static head_result head_on(const floats &logits, int64_t rows, int32_t V, float cap,
                           const std::vector<int32_t> &targets, double scale) {
  const head_shape shape = {rows, V, V, cap};
  floats unit((size_t)V * (size_t)V), weight_gradient(unit.size());
  floats scratch((size_t)head_scratch(&shape));
  for (int32_t v = 0; v < V; v++) unit[(size_t)v * (size_t)V + (size_t)v] = 1.0f;
  head_result h = {floats(logits.size()), std::vector<double>((size_t)rows), 0, 0, 0};
  head_loss(&shape, logits.data(), unit.data(), targets.data(), scale, h.gradient.data(),
            weight_gradient.data(), scratch.data(), h.row_loss.data(), &h.loss, &h.correct,
            &h.counted);
  return h;
}

/* The relative bound on the difference of two sums of a row, as trainer.h has it; away: the largest
   less the target's. */
static double sum_bound(int32_t V, bool half, double away) {
  const double s = (0.07 * (double)V + 47 + (half ? 0 : 1.2 * std::fmin(away, 500))) * U;
  return half ? s + (9 + 2.3 * std::log((double)V)) * 0x1p-24 : s;
}

/* Within one unit in the last place of b, and `more`. */
static bool next_to(float a, float b, double more) {
  return a == b ||
         std::fabs((double)a - (double)b) <= 0x1p-23 * std::fabs((double)b) + more + 0x1p-149;
}

static void loss_case(int32_t V, float cap, bool half, int blocks, double size) {
  const int64_t rows = 9;
  const double scale = 1.0 / 7;
  random_stream r = random_start(SEED, 2, (uint64_t)V);
  floats logits = numbers(&r, (size_t)rows * (size_t)V, size);
  if (half) narrow(&logits);
  std::vector<int32_t> targets((size_t)rows);
  for (int32_t &t : targets) t = (int32_t)random_integer(&r, 0, V - 1);
  targets[2] = -1;
  /* A tie for the largest: the target is the first, and in the next row the second. */
  for (size_t i = 4; i < 6 && V > 4; i++) {
    float *z = logits.data() + i * (size_t)V;
    z[V / 2] = z[V - 1] = 64.0f;
    targets[i] = i == 4 ? V / 2 : V - 1;
  }
  logits[(size_t)(7 * V + targets[7])] = 64.0f; /* a probability near 1 */
  head_result cpu = head_on(logits, rows, V, cap, targets, scale);
  halves h = halves_of(logits);
  floats z = logits;
  std::vector<double> row_loss((size_t)rows, -1.0);
  double loss = 0.5;
  int64_t correct = 1, counted = 2;
  device d(0, blocks);
  phibal_cuda_loss shape = {rows, V, cap, half ? PHIBAL_ROWS_BF16 : PHIBAL_ROWS_F32, 0, scale};
  void *in = half ? (void *)h.data() : z.data();
  OK(phibal_cuda_cross_entropy(&shape, targets.data(), in, row_loss.data(), &loss, &correct,
                               &counted, &d.call));
  cr_assert(half ? same(h, halves_of(logits)) : same(z, logits), "logits changed without gradient");
  loss = 0.5, correct = 1, counted = 2;
  shape.gradient = 1;
  OK(phibal_cuda_cross_entropy(&shape, targets.data(), in, row_loss.data(), &loss, &correct,
                               &counted, &d.call));
  OK(phibal_cuda_result(&d.call));
  std::vector<double> s((size_t)rows);
  double sum = 0, allowed = 0;
  for (size_t i = 0; i < (size_t)rows; i++) {
    double largest = -1e30;
    for (int32_t v = 0; v < V; v++)
      largest = std::fmax(largest, (double)logits[i * (size_t)V + (size_t)v]);
    const double away =
        targets[i] < 0 ? 0 : largest - (double)logits[i * (size_t)V + (size_t)targets[i]];
    s[i] = sum_bound(V, half, away);
    const double bound = s[i] + 3 * U * (std::fabs(cpu.row_loss[i]) + away);
    cr_assert(std::fabs(row_loss[i] - cpu.row_loss[i]) <= (targets[i] < 0 ? 0 : bound),
              "V = %d, row %d: loss %a and %a", V, (int)i, row_loss[i], cpu.row_loss[i]);
    sum += cpu.row_loss[i];
    allowed += bound;
  }
  cr_assert(std::fabs(loss - 0.5 - sum) <= allowed + (double)rows * U * (sum + 1));
  cr_assert_eq(correct - 1, cpu.correct, "V = %d: %d correct, not %d", V, (int)correct - 1,
               (int)cpu.correct);
  cr_assert_eq(counted - 2, cpu.counted);
  cr_assert_eq(cpu.counted, rows - 1);
  for (size_t i = 0; i < z.size(); i++) {
    const size_t row = i / (size_t)V, v = i % (size_t)V;
    const double more = targets[row] == (int32_t)v ? (s[row] + 5 * U) * scale : 0;
    if (!half) {
      cr_assert(next_to(z[i], cpu.gradient[i], more), "V = %d, row %d, %d: %a and %a", V, (int)row,
                (int)v, (double)z[i], (double)cpu.gradient[i]);
      continue;
    }
    /* 2^-15.9, and the CPU's rounding to binary32; then one to bfloat16. */
    const float got = wide(h[i]);
    cr_assert(std::fabs((double)got - (double)cpu.gradient[i]) <=
                  (0x1p-8 + 0x1.13p-16) * std::fabs((double)cpu.gradient[i]) + more +
                      0x1p-126 * scale + 0x1p-134,
              "V = %d, row %d, %d: %a and %a", V, (int)row, (int)v, (double)got,
              (double)cpu.gradient[i]);
  }
}

Test(cuda_trainer, cross_entropy_is_within_its_bound_of_the_cpus) {
  static const int32_t vocabularies[] = {1, 3, 257, 1032};
  int blocks = 0;
  for (int32_t V : vocabularies)
    for (int half = 0; half < 2; half++)
      for (int cap = 0; cap < 2; cap++)
        loss_case(V, cap ? 30.0f : 0.0f, half, blocks++ % 4, V > 100 ? 8 : 3);
  loss_case(1032, 0.0f, true, 1, 60);   /* exponentials below 2^-126 */
  loss_case(1032, 0.0f, false, 1, 100); /* largest logits up to 500 above the target's */
  loss_case(1032, 0.0f, false, 2, 300); /* and beyond */
  loss_case(515, 0.0f, false, 2, 300);
  loss_case(4104, 0.0f, false, 3, 8); /* a thread has two pieces of four, and one */
}

/* Rows that do not fit in shared memory: of a row's pieces a part, none, or all but one. */
Test(cuda_trainer, cross_entropy_of_long_rows) {
  const size_t all = cuda_on_host_shared;
  static const size_t held[] = {1616, 0, 16 * 128};
  for (size_t bytes : held) {
    cuda_on_host_shared = 1536 + bytes;
    loss_case(1032, 0.0f, true, 2, 8);
    loss_case(520, 0.0f, false, 2, 8);
  }
  cuda_on_host_shared = 1536 + 16384;
  loss_case(4104, 0.0f, false, 4, 8);
  cuda_on_host_shared = all;
}

/* -infinity has probability 0; rows without a finite largest logit are reported. */
Test(cuda_trainer, cross_entropy_of_infinite_logits) {
  const int32_t V = 32;
  const int64_t rows = 3;
  for (int half = 0; half < 2; half++) {
    floats z((size_t)(rows * V), -INFINITY);
    z[3] = z[5] = 1.0f;
    z[(size_t)V] = z[(size_t)V + 1] = 2.0f;
    z[(size_t)(2 * V)] = -1.0f;
    halves h(z.size());
    for (size_t i = 0; i < z.size(); i++) h[i] = (uint16_t)(core_bits32(z[i]) >> 16);
    const std::vector<int32_t> targets = {5, 0, 0};
    std::vector<double> row_loss((size_t)rows);
    double loss = 0;
    int64_t correct = 0, counted = 0;
    device d(0, 2);
    const phibal_cuda_loss shape = {rows, V, 0, half ? PHIBAL_ROWS_BF16 : PHIBAL_ROWS_F32, 1, 4};
    OK(phibal_cuda_cross_entropy(&shape, targets.data(), half ? (void *)h.data() : z.data(),
                                 row_loss.data(), &loss, &correct, &counted, &d.call));
    OK(phibal_cuda_result(&d.call));
    for (size_t i = 0; half && i < z.size(); i++) z[i] = wide(h[i]);
    cr_expect(std::fabs(row_loss[0] - std::log(2.0)) <= sum_bound(2, half, 0));
    cr_expect_eq(row_loss[2], 0.0);
    cr_expect_eq(correct, 2, "%d correct", (int)correct); /* the first of equals in the row 1 */
    cr_expect_eq(counted, 3);
    for (size_t i = 0; i < z.size(); i++) {
      const float want = i == 3 || i == (size_t)V + 1 ? 2.0f
                         : i == 5 || i == (size_t)V   ? -2.0f
                                                      : 0.0f;
      cr_expect(std::fabs(z[i] - want) <= 0x1p-20f && (want != 0 || z[i] == 0), "%d: %a", (int)i,
                (double)z[i]);
    }
    static const float bad[] = {__builtin_nanf(""), INFINITY};
    for (float x : bad) {
      z.assign(z.size(), 0.25f);
      z[(size_t)V + 30] = x;
      for (size_t i = 0; i < z.size(); i++) h[i] = (uint16_t)(core_bits32(z[i]) >> 16);
      OK(phibal_cuda_expect(&d.call));
      OK(phibal_cuda_cross_entropy(&shape, targets.data(), half ? (void *)h.data() : z.data(),
                                   row_loss.data(), &loss, &correct, &counted, &d.call));
      expect_failure(d, PHIBAL_ERROR_NONFINITE, "row 1 is not");
    }
  }
}

Test(cuda_trainer, cross_entropy_names_a_bad_row) {
  const int32_t V = 700;
  floats logits(4 * V, 0.25f);
  std::vector<int32_t> targets = {1, V, 2, 3};
  std::vector<double> row_loss(4);
  double loss = 0;
  int64_t correct = 0, counted = 0;
  device d(0);
  phibal_cuda_loss shape = {4, V, 0, PHIBAL_ROWS_F32, 1, 1};
  OK(phibal_cuda_cross_entropy(&shape, targets.data(), logits.data(), row_loss.data(), &loss,
                               &correct, &counted, &d.call));
  expect_failure(d, PHIBAL_ERROR_ARGUMENT, "row 1 is no token");
  static const float bad[] = {__builtin_nanf(""), __builtin_inff()};
  for (float x : bad) {
    targets[1] = 0;
    logits.assign(logits.size(), 0.25f);
    logits[(size_t)(2 * V + 600)] = x;
    OK(phibal_cuda_expect(&d.call));
    OK(phibal_cuda_cross_entropy(&shape, targets.data(), logits.data(), row_loss.data(), &loss,
                                 &correct, &counted, &d.call));
    expect_failure(d, PHIBAL_ERROR_NONFINITE, "row 2 is not");
  }
}

/* Stretches that begin anywhere, and a norm that is clipped. */
static void optimizer_case(int64_t n, const std::vector<int64_t> &ends, double clip, bool half,
                           int blocks) {
  random_stream r = random_start(SEED, 3, (uint64_t)n);
  optimizer_config config = {};
  config.weight_decay = 0.25;
  config.beta1 = 0.9;
  config.beta2 = 0.95;
  config.epsilon = 1e-8;
  config.clip = clip;
  std::vector<model_tensor> tensors(ends.size());
  std::vector<uint8_t> decays(ends.size());
  for (size_t t = 0; t < ends.size(); t++) {
    tensors[t] = {};
    tensors[t].offset = t ? ends[t - 1] : 0;
    tensors[t].shape[0] = ends[t] - tensors[t].offset;
    tensors[t].dimensions = 1;
    decays[t] = tensors[t].decay = t % 2 == 0;
  }
  optimizer o;
  OK(optimizer_create(&config, (int32_t)tensors.size(), tensors.data(), n, &o));
  const size_t size = (size_t)n;
  floats w = numbers(&r, size), w2 = w, first(size), second(size);
  halves h(size, 0x7777);
  phibal_cuda_adamw step = device_adamw(&config);
  step.parameters = n;
  step.lr = 1e-3;
  step.segments = (int32_t)ends.size();
  step.end = ends.data();
  step.decays = decays.data();
  std::vector<int64_t> begin;
  for (const model_tensor &t : tensors)
    for (int64_t i = 0; i < t.shape[0]; i += OPTIMIZER_BLOCK) begin.push_back(t.offset + i);
  const int64_t norm_blocks = (int64_t)begin.size();
  cr_assert_eq(norm_blocks, optimizer_blocks(o.tensor_count, o.tensors));
  begin.push_back(n);
  device d(phibal_cuda_gradient_norm_workspace(norm_blocks), blocks);
  for (int t = 0; t < 3; t++) {
    floats g = numbers(&r, size, t == 1 ? 1e-3 : 1);
    double norm = 0, norm2 = -1;
    OK(optimizer_norm(&o, g.data(), &norm));
    OK(phibal_cuda_gradient_norm(norm_blocks, begin.data(), g.data(), &norm2, &d.call));
    OK(phibal_cuda_result(&d.call));
    cr_expect_eq(memcmp(&norm, &norm2, sizeof norm), 0, "n = %d: norm %a, not %a", (int)n, norm2,
                 norm);
    optimizer_update(&o, step.lr, clip_scale(clip, norm), g.data(), w.data());
    step.first_scale = 1.0 / (1.0 - o.beta1_power);
    step.second_scale = 1.0 / (1.0 - o.beta2_power);
    OK(phibal_cuda_adamw_update(&step, &norm2, g.data(), first.data(), second.data(), w2.data(),
                                half ? h.data() : nullptr, &d.call));
    cr_expect(same(w, w2), "n = %d, step %d: other weights", (int)n, t);
    cr_expect_eq(memcmp(o.first, first.data(), size * 4), 0);
    cr_expect_eq(memcmp(o.second, second.data(), size * 4), 0);
    if (half) cr_expect(same(halves_of(w), h));
  }
  if (n > 2) { /* a number that is none stops the step, and the first is named */
    floats g(size, 0.5f), before = w2;
    g[size - 1] = __builtin_inff();
    g[size / 2] = __builtin_nanf("");
    double norm = 0;
    OK(phibal_cuda_gradient_norm(norm_blocks, begin.data(), g.data(), &norm, &d.call));
    OK(phibal_cuda_adamw_update(&step, &norm, g.data(), first.data(), second.data(), w2.data(),
                                nullptr, &d.call));
    char text[64];
    snprintf(text, sizeof text, "parameter %d is not", (int)(size / 2));
    expect_failure(d, PHIBAL_ERROR_NONFINITE, text);
    cr_expect(same(w2, before));
  }
  optimizer_destroy(&o);
}

Test(cuda_trainer, optimizer_has_the_cpus_bits) {
  optimizer_case(1, {1}, 1, false, 0);
  optimizer_case(9, {3, 9}, 0, true, 1);
  optimizer_case(5000, {1, 4096, 4099, 4100, 4997, 5000}, 1, true, 2);
  optimizer_case(70003, {2, 8000, 8001, 40000, 70003}, 0.5, false, 3);
  optimizer_case(36864, {36000, 36864}, 1e9, true, 0);
}

/* More sums than a block has threads, added one after another. */
Test(cuda_trainer, optimizer_norm_of_many_sums) {
  std::vector<double> sums(777);
  std::vector<int64_t> index(sums.size());
  double sum = 0.0, norm = 0.0;
  for (size_t i = 0; i < sums.size(); i++) {
    sums[i] = 1.0 / (double)(3 + i * i % 1000);
    index[i] = (int64_t)(sums.size() - 1 - i);
  }
  device d(0);
  for (const bool indexed : {false, true}) {
    sum = 0.0;
    for (size_t i = 0; i < sums.size(); i++) sum += sums[indexed ? (size_t)index[i] : i];
    OK(phibal_cuda_gradient_norm_of((int64_t)sums.size(), sums.data(),
                                    indexed ? index.data() : nullptr, &norm, &d.call));
    cr_expect_eq(norm, std::sqrt(sum));
  }
}

/* More of the norm's blocks than a grid takes at once. */
Test(cuda_trainer, optimizer_norm_of_many_blocks) {
  const int64_t blocks = 700, of_block = 5;
  random_stream r = random_start(SEED, 33, 0);
  const floats g = numbers(&r, (size_t)(blocks * of_block));
  std::vector<int64_t> begin;
  double square = 0, norms[3];
  for (float x : g) square += (double)x * (double)x;
  for (int64_t b = 0; b <= blocks; b++) begin.push_back(b * of_block);
  for (int n = 0; n < 3; n++) {
    device d(phibal_cuda_gradient_norm_workspace(blocks), n + 1);
    OK(phibal_cuda_gradient_norm(blocks, begin.data(), g.data(), &norms[n], &d.call));
    OK(phibal_cuda_result(&d.call));
    cr_expect(norms[n] == norms[0] && std::fabs(norms[n] - std::sqrt(square)) <= 1e-12 * norms[n],
              "%d blocks: %a, not %a", n + 1, norms[n], std::sqrt(square));
  }
}

/* As rows_that_begin_beside_a_vectors_place of test_cuda_kernels.cpp. */
template <class S> static void beside_of_type(phibal_rows type) {
  const int64_t rows = 4;
  const int32_t n = 8;
  const size_t size = (size_t)(rows * n);
  random_stream r = random_start(SEED, 30, 0);
  const floats drawn = numbers(&r, size), w = numbers(&r, (size_t)n), inverse((size_t)rows, 0.5f);
  std::vector<S> x(size), y(size);
  for (size_t i = 0; i < size; i++) {
    x[i] = sizeof(S) == 2 ? (S)half_of(drawn[i]) : (S)drawn[i];
    y[i] = x[size / 2 > i ? i + size / 2 : i];
  }
  const halves narrow_x(size);
  const phibal_cuda_norm norm = {rows, 1, n, 1e-6f, type};
  with_each_beside("RMSNorm", 0, [&](places &p, const phibal_cuda *call) {
    return phibal_cuda_norm_forward(&norm, p.put(x), n, p.put(w), type, p.put(y), n, p.put(inverse),
                                    call);
  });
  if (type == PHIBAL_ROWS_F32) {
    with_each_beside("RMSNorm, rounded", 0, [&](places &p, const phibal_cuda *call) {
      return phibal_cuda_norm_forward(&norm, p.put(drawn), n, p.put(w), PHIBAL_ROWS_BF16,
                                      p.put(narrow_x), n, p.put(inverse), call);
    });
    with_each_beside("RMSNorm, both", 0, [&](places &p, const phibal_cuda *call) {
      return phibal_cuda_norm_forward_both(&norm, p.put(drawn), n, p.put(w), p.put(drawn),
                                           p.put(narrow_x), n, p.put(inverse), call);
    });
  }
  for (int add = 0; add < 2; add++)
    with_each_beside("RMSNorm backward", phibal_cuda_norm_backward_workspace(&norm),
                     [&](places &p, const phibal_cuda *call) {
                       return phibal_cuda_norm_backward(&norm, p.put(x), n, p.put(w),
                                                        p.put(inverse), p.put(y), n, add, p.put(x),
                                                        n, p.put(w), call);
                     });
  const phibal_cuda_rope_shape rope = {rows, 2, 1, n, n, n, false, type};
  with_each_beside("RoPE", 0, [&](places &p, const phibal_cuda *call) {
    return phibal_cuda_rope(&rope, p.put(w), p.put(w), 1.0f, p.put(x), call);
  });
  const phibal_cuda_loss loss = {rows, n, 0, type, 1, 0.5};
  const std::vector<int32_t> targets = {3, -1, 0, 7};
  const std::vector<double> row_loss((size_t)rows);
  with_each_beside(
      "cross-entropy", 0,
      [&](places &p, const phibal_cuda *call) {
        static double sum;
        static int64_t correct, counted;
        return phibal_cuda_cross_entropy(&loss, p.put(targets), p.put(x), p.put(row_loss), &sum,
                                         &correct, &counted, call);
      },
      false);
}

Test(cuda_trainer, arrays_that_begin_beside_a_vectors_place) {
  beside_of_type<float>(PHIBAL_ROWS_F32);
  beside_of_type<uint16_t>(PHIBAL_ROWS_BF16);
  random_stream r = random_start(SEED, 31, 0);
  const floats x = numbers(&r, 32), w = numbers(&r, 32);
  const halves narrow_w(32);
  const std::vector<int32_t> tokens = {2, 0, -1, 2};
  const std::vector<int64_t> ends = {32};
  const std::vector<uint8_t> decays = {1};
  with_each_beside("embedding", 0, [&](places &p, const phibal_cuda *call) {
    return phibal_cuda_embedding_forward(4, 8, p.put(tokens), 0.5f, p.put(w), p.put(x), call);
  });
  with_each_beside("embedding backward", 0, [&](places &p, const phibal_cuda *call) {
    return phibal_cuda_embedding_backward(4, 8, p.put(tokens), 0.5f, p.put(x), p.put(w), call);
  });
  with_each_beside("conversion", 0, [&](places &p, const phibal_cuda *call) {
    return phibal_cuda_narrow(32, p.put(x), p.put(narrow_w), call);
  });
  phibal_cuda_adamw step = {};
  step.parameters = 32, step.segments = 1, step.end = ends.data(), step.decays = decays.data();
  step.lr = 0.1, step.beta1 = 0.9, step.beta2 = 0.95, step.epsilon = 1e-8;
  step.first_scale = step.second_scale = 1.5;
  for (bool narrow_too : {false, true})
    with_each_beside("AdamW", 0, [&](places &p, const phibal_cuda *call) {
      return phibal_cuda_adamw_update(&step, nullptr, p.put(x), p.put(w), p.put(floats(32, 0.5f)),
                                      p.put(w), narrow_too ? p.put(narrow_w) : nullptr, call);
    });
}

/* Rows 2^31 numbers and more apart, of which there is what is touched: the results are those of
   neighbours. */
Test(cuda_trainer, strides_beyond_32_bits) {
  enum { MEMORIES = 4 };
  const int64_t far = ((int64_t)1 << 31) + 8;
  const size_t bytes = (size_t)(2 * far + 64) * sizeof(float);
  float *m[MEMORIES];
  for (float *&p : m) {
    p = (float *)mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if ((void *)p == MAP_FAILED) cr_skip_test("no %zu bytes of addresses", bytes);
  }
  floats results[2];
  for (int i = 0; i < 2; i++) {
    const int64_t stride = i ? far : 8;
    const auto row = [&](float *p, int64_t n) { return p + n * stride; };
    random_stream r = random_start(SEED, 32, 0);
    const floats w = numbers(&r, 8);
    floats inverse(3), dw(8);
    const auto keep = [&](float *p) {
      for (int64_t n = 0; n < 3; n++) results[i].insert(results[i].end(), row(p, n), row(p, n) + 8);
    };
    for (float *p : m) memset(p, 0, 3 * 8 * sizeof *p); /* of the neighbours */
    for (int j = 0; j < MEMORIES; j++)
      for (int64_t n = 0; n < 3; n++) {
        const floats x = numbers(&r, 8);
        memcpy(row(m[j], n), x.data(), 32);
      }
    const phibal_cuda_norm norm = {3, 1, 8, 1e-6f, PHIBAL_ROWS_F32};
    device d(phibal_cuda_norm_backward_workspace(&norm));
    OK(phibal_cuda_norm_forward(&norm, m[0], stride, w.data(), PHIBAL_ROWS_F32, m[1], stride,
                                inverse.data(), &d.call));
    OK(phibal_cuda_norm_backward(&norm, m[0], stride, w.data(), inverse.data(), m[1], stride, 0,
                                 m[2], stride, dw.data(), &d.call));
    const phibal_cuda_rope_shape rope = {3, 3, 1, 4, 4, stride, false, PHIBAL_ROWS_F32};
    OK(phibal_cuda_rope(&rope, w.data(), w.data() + 2, 1.0f, m[3], &d.call));
    keep(m[1]), keep(m[2]), keep(m[3]);
    results[i].insert(results[i].end(), dw.begin(), dw.end());
    const phibal_router router = {3, 1, PHIBAL_GATE_TOPK_SOFTMAX, 1};
    const floats logits = numbers(&r, 6);
    OK(phibal_cuda_quantile_required(&router, 2, logits.data(), nullptr, nullptr, stride, m[0],
                                     &d.call));
    floats quantile(3), of_rounds(3), range = {-20, 20};
    OK(phibal_cuda_quantile(3, 2, stride, m[0], 2, quantile.data(), &d.call));
    std::vector<int32_t> low(3), high(3);
    std::vector<uint64_t> counts(3 * PHIBAL_CUDA_QUANTILE_BOUNDS), bins(15);
    for (int32_t round = 0; round <= PHIBAL_CUDA_QUANTILE_ROUNDS; round++)
      OK(phibal_cuda_quantile_round(round, 3, 2, stride, m[0], 2, low.data(), high.data(),
                                    counts.data(), of_rounds.data(), &d.call));
    cr_expect(same(quantile, of_rounds));
    OK(phibal_cuda_quantile_histogram(3, 2, stride, m[0], range.data(), 5, bins.data(), &d.call));
    for (uint64_t n : bins) results[i].push_back((float)n);
    keep(m[0]);
    results[i].insert(results[i].end(), quantile.begin(), quantile.end());
    const std::vector<int32_t> tokens = {i ? (int32_t)(2 * far / 8) : 2, -1};
    floats x(16);
    OK(phibal_cuda_embedding_forward(2, 8, tokens.data(), 0.5f, m[1], x.data(), &d.call));
    OK(phibal_cuda_embedding_backward(2, 8, tokens.data(), 0.5f, x.data(), m[2], &d.call));
    results[i].insert(results[i].end(), x.begin(), x.begin() + 8);
    keep(m[2]);
    OK(phibal_cuda_result(&d.call));
  }
  cr_expect(same(results[0], results[1]), "strides beyond 32 bits");
  for (float *p : m) munmap(p, bytes);
}
