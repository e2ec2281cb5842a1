/* The kernels of a training step beside the CPU's: norm, rotation and optimizer bit for bit; the
   experts' FFN, whose sums are cuBLAS's, stage by stage within gamma_(n+1) of binary64; the
   cross-entropy within its bound. */
#include <cstdio>

#include "kernels/cuda/power_of_2.h"
#include "verify/attention_judged.h"
#include "verify/recompute.h"
#include "verify/summed.h"
#include "gpu.h"
#include <cmath>
#include <vector>
extern "C" {
#include "moe/device/device_adamw.h"
#include "moe/model/norm.h"
#include "moe/model/rope.h"
#include "verify/random.h"
}

namespace {

typedef std::vector<float> floats;
int wrong, groups;

void expect(bool good, const char *what) {
  groups++;
  if (good) return;
  wrong++;
  printf("DIFFERS %s: %s\n", what, phibal_status_message());
}

floats numbers(uint64_t stream, size_t n) {
  random_stream r = random_start(7, 7, stream);
  floats x(n);
  for (float &v : x) v = (float)random_normal(&r);
  return x;
}

void check_norm(int64_t rows, int32_t n) {
  const size_t size = (size_t)(rows * n);
  const norm_shape cpu = {rows, 1, n, 1e-6f};
  const phibal_cuda_norm gpu = {rows, 1, n, 1e-6f, PHIBAL_ROWS_F32};
  floats x = numbers(1, size), w = numbers(2, (size_t)n), dy = numbers(3, size), y(size);
  floats inverse((size_t)rows), dx(size, 0.5f), dw((size_t)n, 0.25f);
  std::vector<double> scratch((size_t)norm_scratch(rows, n));
  device_call d(phibal_cuda_norm_backward_workspace(&gpu));
  device_array<float> x2(size, x.data()), w2((size_t)n, w.data()), dy2(size, dy.data()), y2(size);
  device_array<float> inverse2((size_t)rows), dx2(size, dx.data()), dw2((size_t)n, dw.data());
  norm_forward(&cpu, x.data(), n, w.data(), y.data(), n, inverse.data());
  norm_backward(&cpu, x.data(), n, w.data(), inverse.data(), dy.data(), n, 1, dx.data(), n,
                dw.data(), scratch.data());
  bool good = d.good(phibal_cuda_norm_forward(&gpu, (float *)x2, n, w2, PHIBAL_ROWS_F32,
                                              (float *)y2, n, inverse2, &d.call));
  expect(good && y2.same(y.data()) && inverse2.same(inverse.data()), "RMSNorm");
  good = d.good(phibal_cuda_norm_backward(&gpu, (float *)x2, n, w2, inverse2, (float *)dy2, n, 1,
                                          (float *)dx2, n, dw2, &d.call));
  expect(good && dx2.same(dx.data()) && dw2.same(dw.data()), "RMSNorm backward");
}

uint16_t half_of(float x) {
  const uint32_t u = core_bits32(x);
  return (uint16_t)((u + 0x7fffu + (u >> 16 & 1u)) >> 16);
}

/* Binary32 rounded to bfloat16: by a norm, by itself; and added from there. */
void check_narrow(int64_t rows, int32_t n) {
  const size_t size = (size_t)(rows * n);
  const norm_shape cpu = {rows, 1, n, 1e-6f};
  const phibal_cuda_norm gpu = {rows, 1, n, 1e-6f, PHIBAL_ROWS_F32};
  const floats x = numbers(21, size), w = numbers(22, (size_t)n);
  floats y(size), sum = x, inverse((size_t)rows);
  std::vector<uint16_t> want(size);
  device_call d(0);
  device_array<float> x2(size, x.data()), w2((size_t)n, w.data()), inverse2((size_t)rows);
  device_array<uint16_t> y2(size);
  norm_forward(&cpu, x.data(), n, w.data(), y.data(), n, inverse.data());
  for (size_t i = 0; i < size; i++) want[i] = half_of(y[i]);
  bool good = d.good(phibal_cuda_norm_forward(&gpu, (float *)x2, n, w2, PHIBAL_ROWS_BF16,
                                              (uint16_t *)y2, n, inverse2, &d.call));
  expect(good && y2.same(want.data()), "RMSNorm to bfloat16");
  for (size_t i = 0; i < size; i++) want[i] = half_of(x[i]);
  good = d.good(phibal_cuda_narrow((int64_t)size, x2, (uint16_t *)y2, &d.call));
  expect(good && y2.same(want.data()), "bfloat16 of binary32");
  for (size_t i = 0; i < size; i++) sum[i] += core_float((uint32_t)want[i] << 16);
  good = d.good(
      phibal_cuda_add((int64_t)size, PHIBAL_ROWS_BF16, (uint16_t *)y2, (float *)x2, &d.call));
  expect(good && x2.same(sum.data()), "addition of bfloat16");
}

void check_rope() {
  const int64_t rows = 300;
  const int32_t sequence = 100, heads = 3, n = 64;
  const size_t size = (size_t)(rows * heads * n), table = (size_t)(sequence * n / 2);
  const rope_frequencies frequencies = {10000, 0, ROPE_YARN, 0, 0, 0, false, 0};
  floats cosine(table), sine(table), x = numbers(4, size);
  rope_table(sequence, n, &frequencies, cosine.data(), sine.data());
  device_call d(0);
  device_array<float> c2(table, cosine.data()), s2(table, sine.data());
  for (int interleaved = 0; interleaved < 2; interleaved++) {
    const rope_shape cpu = {rows, sequence, heads, n, n, heads * n, interleaved != 0};
    const phibal_cuda_rope_shape gpu = {rows, sequence,  heads,       n,
                                        n,    heads * n, interleaved, PHIBAL_ROWS_F32};
    device_array<float> x2(size, x.data());
    rope_apply(&cpu, cosine.data(), sine.data(), 1.0f, x.data());
    const bool good = d.good(phibal_cuda_rope(&gpu, c2, s2, 1.0f, (float *)x2, &d.call));
    expect(good && x2.same(x.data()), "RoPE");
  }
}

void check_optimizer() {
  const int64_t n = 50001, ends[] = {20000, n};
  const uint8_t decays[] = {1, 0};
  model_tensor tensors[2] = {};
  std::vector<int64_t> begin;
  for (int t = 0; t < 2; t++) {
    tensors[t].offset = t ? ends[0] : 0;
    tensors[t].shape[0] = ends[t] - tensors[t].offset;
    tensors[t].dimensions = 1;
    tensors[t].decay = decays[t];
    for (int64_t i = tensors[t].offset; i < ends[t]; i += OPTIMIZER_BLOCK) begin.push_back(i);
  }
  const int64_t blocks = (int64_t)begin.size();
  begin.push_back(n);
  optimizer_config config = {};
  config.weight_decay = 0.1;
  config.beta1 = 0.9;
  config.beta2 = 0.95;
  config.epsilon = 1e-8;
  config.clip = 1;
  optimizer o;
  if (optimizer_create(&config, 2, tensors, n, &o) != PHIBAL_OK) exit(2);
  floats w = numbers(5, (size_t)n), g = numbers(6, (size_t)n);
  device_call d(phibal_cuda_gradient_norm_workspace(blocks));
  device_array<float> w2((size_t)n, w.data()), g2((size_t)n, g.data()), m((size_t)n), v((size_t)n);
  device_array<double> norm2(1);
  device_array<int64_t> begin2(begin.size(), begin.data()), ends2(2, ends);
  device_array<uint8_t> decays2(2, decays);
  double norm = 0;
  optimizer_norm(&o, g.data(), &norm);
  bool good = d.good(phibal_cuda_gradient_norm(blocks, begin2, g2, norm2, &d.call));
  expect(good && norm2.same(&norm), "gradient norm");
  optimizer_update(&o, 1e-3, clip_scale(config.clip, norm), g.data(), w.data());
  phibal_cuda_adamw step = device_adamw(&config);
  step.parameters = n;
  step.lr = 1e-3;
  step.first_scale = 1 / (1 - o.beta1_power);
  step.second_scale = 1 / (1 - o.beta2_power);
  step.segments = 2;
  step.end = ends2;
  step.decays = decays2;
  good = d.good(phibal_cuda_adamw_update(&step, norm2, g2, m, v, w2, nullptr, &d.call));
  expect(good && w2.same(w.data()) && m.same(o.first) && v.same(o.second), "AdamW");
  optimizer_destroy(&o);
}

float wide(uint16_t h) {
  return core_float((uint32_t)h << 16);
}

/* Of every step-th binary32 from -126 to 0, or from 0 to 100: how far power_of_2 is off at the
   most, relatively, as the complement of a binary64's bits; exp2 is good to a few 2^-53. */
__global__ void __launch_bounds__(256)
    power_kernel(uint32_t sign, uint32_t last, uint32_t step, device_sum *least) {
  double most = 0;
  for (uint64_t i = ((uint64_t)blockIdx.x * 256 + threadIdx.x) * step; i <= last;
       i += (uint64_t)gridDim.x * 256 * step) {
    const float t = core_float(sign | (uint32_t)i);
    const double exact = exp2((double)t), off = core_abs((double)power_of_2(t) / exact - 1.0);
    if (!(off <= most)) most = off;
  }
  atomicMin(least, ~(device_sum)core_bits64(most));
}

void check_power() {
  const uint32_t step = strcmp(device_name(), "host") == 0 ? 50021 : 1;
  const struct { uint32_t sign, last; } parts[] = {{0x80000000u, 0x42fc0000u}, {0, 0x42c80000u}};
  for (auto part : parts) {
    device_call d(0);
    device_sum bits = ~(device_sum)0;
    device_array<device_sum> least(1, &bits);
    const launch_shape shape = {blocks_for(&d.call, 1 << 20, 8), 256, 0};
    const bool good = d.good(launch("powers of two", power_kernel, shape, &d.call, part.sign,
                                    part.last, step, (device_sum *)least)) &&
                      !device_copy(&bits, (device_sum *)least, sizeof bits);
    const double most = core_double(~(uint64_t)bits);
    printf("powers of two from %s: off by 2^%.3f at most\n", part.sign ? "-126" : "0 to 100",
           std::log2(most));
    expect(good && most <= 0x1p-22, "powers of two");
  }
}

/* Two blocks for five rows: each has several, one after another. */
void check_loss(bool half, int32_t V) {
  const int64_t rows = 5;
  const double scale = 0.25;
  const double s = (0.07 * V + 52) * 0x1p-53 + (half ? (9 + 2.3 * std::log(V)) * 0x1p-24 : 0);
  floats z = numbers(8, (size_t)rows * V), g = z;
  std::vector<uint16_t> h(z.size());
  for (size_t i = 0; i < z.size() && half; i++) {
    h[i] = (uint16_t)(core_bits32(z[i]) >> 16);
    z[i] = wide(h[i]);
  }
  std::vector<int32_t> targets = {0, 17, -1, V - 1, 5};
  device_call d(0);
  d.call.most_blocks = 2;
  device_array<float> z2(z.size(), z.data());
  if (half) device_copy((float *)z2, h.data(), h.size() * 2);
  device_array<int32_t> targets2((size_t)rows, targets.data());
  device_array<double> row_loss2((size_t)rows), loss2(1);
  device_array<int64_t> correct2(1), counted2(1);
  const phibal_cuda_loss shape = {rows, V, 0, half ? PHIBAL_ROWS_BF16 : PHIBAL_ROWS_F32, 1, scale};
  bool good = d.good(phibal_cuda_cross_entropy(&shape, targets2, (float *)z2, row_loss2, loss2,
                                               correct2, counted2, &d.call));
  double row_loss[5];
  if (half)
    device_copy(h.data(), (float *)z2, h.size() * 2);
  else
    device_copy(g.data(), (float *)z2, g.size() * 4);
  for (size_t i = 0; i < g.size() && half; i++) g[i] = wide(h[i]);
  device_copy(row_loss, (double *)row_loss2, sizeof row_loss);
  const double step = half ? 0x1.02p-8 : 0x1.01p-24;
  for (size_t i = 0; i < (size_t)rows && good; i++) {
    const float *row = z.data() + i * (size_t)V;
    long double sum = 0;
    for (size_t j = 0; j < (size_t)V; j++) sum += expl((long double)row[j]);
    for (size_t j = 0; j < (size_t)V; j++) {
      const bool at = (int32_t)j == targets[i];
      const double exact =
          targets[i] < 0 ? 0 : scale * (double)(expl((long double)row[j]) / sum - (at ? 1 : 0));
      good &= std::fabs((double)g[i * (size_t)V + j] - exact) <=
              step * std::fabs(exact) + (at ? s * scale : 0);
    }
    const double exact = targets[i] < 0 ? 0 : (double)(logl(sum) - (long double)row[targets[i]]);
    good &= std::fabs(row_loss[i] - exact) <= s + 0x1p-50 * (1 + std::fabs(exact));
  }
  expect(good, half ? "cross-entropy, bfloat16" : "cross-entropy");
}

/* Rows in either type on the device, as binary32 here. */
struct matrix {
  bool half;
  size_t n;
  device_array<unsigned char> p;
  matrix(bool half_, const floats &x) : half(half_), n(x.size()), p(x.size() * 4) {
    std::vector<uint16_t> narrow(n);
    for (size_t i = 0; i < n; i++) narrow[i] = (uint16_t)(core_bits32(x[i]) >> 16);
    if (half ? device_copy(p, narrow.data(), n * 2) : device_copy(p, x.data(), n * 4)) exit(2);
  }
  floats get() const {
    floats x(n);
    std::vector<uint16_t> narrow(n);
    if (half ? device_copy(narrow.data(), p, n * 2) : device_copy(x.data(), p, n * 4)) exit(2);
    for (size_t i = 0; i < n && half; i++) x[i] = wide(narrow[i]);
    return x;
  }
};

floats rounded(bool half, floats x) {
  for (float &v : x)
    if (half) v = wide((uint16_t)(core_bits32(v) >> 16));
  return x;
}

/* dL/dx of rows, two products of which the second adds to what the first has rounded. */
bool near_inputs(const phibal_ffn &ffn, const std::vector<int64_t> &offsets, const floats w[3],
                 const floats &a, const floats &b, const floats &dx, bool half) {
  const int64_t d = ffn.width, f = ffn.hidden;
  bool good = true;
  for (int64_t e = 0; e < ffn.experts; e++)
    for (int64_t n = offsets[(size_t)e]; n < offsets[(size_t)e + 1]; n++)
      for (int64_t j = 0; j < d; j++) {
        summed gate, up;
        for (int64_t i = 0; i < f; i++) {
          const size_t at = (size_t)((e * f + i) * d + j), in = (size_t)(n * f + i);
          gate.add((double)a[in] * (double)w[0][at]);
          up.add((double)b[in] * (double)w[1][at]);
        }
        const double both = gate.value + up.value, got = (double)dx[(size_t)(n * d + j)];
        const double sums = 1.001 * (double)(2 * f + 2) * 0x1p-24 * (gate.size + up.size);
        const double stored = half ? 0x1p-8 * 1.01 * (std::fabs(gate.value) + std::fabs(both)) : 0;
        good &= std::fabs(got - both) <= sums + stored;
      }
  return good;
}

/* The stages that are products; the activation between them has its own check. `kept`: h is, else
   it is made again, and x overwritten with its gradient. */
void check_ffn(bool half, bool kept) {
  const int E = 5, d = 64, f = 48;
  const std::vector<int64_t> offsets = {0, 33, 33, 100, 101, 160};
  const int64_t rows = offsets.back();
  const phibal_ffn ffn = {E, d, f, PHIBAL_ACTIVATION_SILU};
  const size_t wide_rows = (size_t)(rows * d), thin = (size_t)(rows * f),
               weights = (size_t)(E * d * f);
  const floats x = rounded(half, numbers(9, wide_rows)), dy = rounded(half, numbers(10, wide_rows));
  floats w[3], zero(weights);
  for (int i = 0; i < 3; i++) w[i] = rounded(half, numbers(11 + (uint64_t)i, weights));
  device_call c(phibal_cuda_ffn_workspace(&ffn), 0, true);
  device_array<int64_t> offsets2(offsets.size(), offsets.data());
  matrix x2(half, x), dy2(half, dy), gate(half, w[0]), up(half, w[1]), down(half, w[2]);
  matrix a(half, floats(thin)), b(half, floats(thin)), h(half, floats(thin)), y(half, x);
  matrix dh(half, floats(thin)), dx(half, x);
  device_array<float> dw[3] = {device_array<float>(weights), device_array<float>(weights),
                               device_array<float>(weights)};
  const phibal_rows type = half ? PHIBAL_ROWS_BF16 : PHIBAL_ROWS_F32;
  const phibal_cuda_groups at = {offsets2, offsets.data(), 0};
  bool good = c.good(phibal_cuda_ffn_forward(&ffn, type, offsets2, offsets.data(), x2.p, gate.p,
                                             up.p, down.p, a.p, b.p, h.p, y.p, &c.call));
  const floats A = a.get(), H = h.get(), Y = y.get(), gates = numbers(20, (size_t)rows);
  device_array<float> gates2(gates.size(), gates.data()), gate_gradient(gates.size());
  const phibal_cuda_routes routes = {rows, 1, nullptr, gates2, gate_gradient};
  good &= c.good(kept ? phibal_cuda_ffn_backward(&ffn, type, offsets2, offsets.data(), x2.p, gate.p,
                                                 up.p, down.p, a.p, b.p, h.p, dy2.p, dh.p, dx.p,
                                                 dw[0], dw[1], dw[2], &c.call)
                      : phibal_cuda_ffn_backward_recompute(&ffn, type, &at, &routes, x2.p, gate.p,
                                                           up.p, down.p, a.p, b.p, dy2.p, dh.p,
                                                           x2.p, dw[0], dw[1], dw[2], 1, &c.call));
  const floats DA = a.get(), DB = b.get(), DH = dh.get(), DX = (kept ? dx : x2).get();
  const floats &of_down_rows = kept ? H : DH; /* gate h */
  floats DW(weights), DOWN(weights);
  device_copy(DW.data(), (float *)dw[0], weights * 4);
  device_copy(DOWN.data(), (float *)dw[2], weights * 4);
  for (int e = 0; e < E && good; e++) {
    for (int64_t n = offsets[(size_t)e]; n < offsets[(size_t)e + 1]; n++)
      for (int j = 0; j < d; j++) {
        summed of_y;
        for (int i = 0; i < f; i++) {
          const size_t in = (size_t)((e * f + i) * d + j), out = (size_t)((e * d + j) * f + i);
          of_y.add((double)H[(size_t)(n * f + i)] * (double)w[2][out]);
          if (j == 0) {
            summed of_a, of_dh;
            for (int k = 0; k < d; k++) {
              of_a.add((double)x[(size_t)(n * d + k)] * (double)w[0][in + (size_t)k]);
              of_dh.add((double)dy[(size_t)(n * d + k)] *
                        (double)w[2][(size_t)((e * d + k) * f + i)]);
            }
            good &= of_a.holds((double)A[(size_t)(n * f + i)], half);
            good &= !kept || of_dh.holds((double)DH[(size_t)(n * f + i)], half);
          }
        }
        good &= of_y.holds((double)Y[(size_t)(n * d + j)], half);
      }
    for (int i = 0; i < f; i++)
      for (int j = 0; j < d; j++) {
        summed of_gate, of_down;
        for (int64_t n = offsets[(size_t)e]; n < offsets[(size_t)e + 1]; n++) {
          of_gate.add((double)DA[(size_t)(n * f + i)] * (double)x[(size_t)(n * d + j)]);
          of_down.add((double)dy[(size_t)(n * d + j)] * (double)of_down_rows[(size_t)(n * f + i)]);
        }
        good &= of_gate.holds((double)DW[(size_t)((e * f + i) * d + j)], false);
        good &= of_down.holds((double)DOWN[(size_t)((e * d + j) * f + i)], false);
      }
  }
  expect(good && near_inputs(ffn, offsets, w, DA, DB, DX, half),
         half ? "experts' FFN in bfloat16" : "experts' FFN in binary32");
}

/* The activation's backward of a and b alone, with gates; every seventh slot has no row. */
void check_recompute(bool half, int64_t f) {
  const int64_t T = 61, k = 3, slots = T * k;
  std::vector<int64_t> row((size_t)slots, -1);
  int64_t rows = 0;
  for (int64_t i = 0; i < slots; i++) /* 5 and T k have no common factor */
    if (const int64_t s = i * 5 % slots; s % 7) row[(size_t)s] = rows++;
  const size_t n = (size_t)(rows * f);
  floats a = rounded(half, numbers(16, n)), b = rounded(half, numbers(17, n));
  floats h = rounded(half, numbers(18, n)), gates = numbers(19, row.size()), want(row.size());
  matrix a2(half, a), b2(half, b), h2(half, h);
  device_array<int64_t> row2(row.size(), row.data());
  device_array<float> gates2(row.size(), gates.data()), gradient(row.size(), gates.data());
  const phibal_cuda_routes routes = {T, (int32_t)k, row2, gates2, gradient};
  device_call c(0);
  bool good = c.good(phibal_cuda_activate_backward_recompute(
      PHIBAL_ACTIVATION_SILU, half ? PHIBAL_ROWS_BF16 : PHIBAL_ROWS_F32, rows, f, &routes, a2.p,
      b2.p, h2.p, &c.call));
  for (size_t s = 0; s < row.size(); s++)
    if (const size_t at = (size_t)(row[s] * f); row[s] >= 0)
      want[s] = (half ? recompute_row16 : recompute_row)(PHIBAL_ACTIVATION_SILU, f, gates[s],
                                                         &a[at], &b[at], &h[at]);
  for (floats *x : {&a, &b, &h})
    for (float &v : *x)
      if (half) v = wide(half_of(v));
  expect(good && gradient.same(want.data()) && a2.get() == a && b2.get() == b && h2.get() == h,
         half ? "activation and gates backward in bfloat16" : "activation and gates backward");
}

/* In bfloat16 by cuDNN where it has a plan, and by products besides. */
void check_attention(bool half, bool by_library) {
  const phibal_cuda_attention shape = {
      2, 140, 6, 2, 64, half ? PHIBAL_ROWS_BF16 : PHIBAL_ROWS_F32, nullptr};
  const size_t rows = 2 * 140, of_out = rows * 6 * 64, of_qkv = rows * 10 * 64;
  const floats qkv = rounded(half, numbers(14, of_qkv)), dout = rounded(half, numbers(15, of_out));
  phibal_cuda plans = {};
  if (by_library && phibal_cuda_attention_create(&shape, &plans)) exit(2);
  const char *by = phibal_cuda_attention_by(&shape, &plans);
  const bool fused = strncmp(by, "cuDNN", 5) == 0;
  if (by_library) printf("attention in bfloat16: %s\n", by);
  device_call c(phibal_cuda_attention_workspace(&shape, &plans), 0, true);
  c.call.attention = plans.attention;
  matrix qkv2(half, qkv), dout2(half, dout), out(half, floats(of_out)), dqkv(half, floats(of_qkv));
  device_array<float> logsumexp(rows * 6);
  bool good = c.good(phibal_cuda_attention_forward(&shape, qkv2.p, out.p, logsumexp, &c.call)) &&
              c.good(phibal_cuda_attention_backward(&shape, qkv2.p, out.p, logsumexp, dout2.p,
                                                    dqkv.p, &c.call));
  const attention_judged exact(shape, qkv.data(), dout.data(), fused);
  floats kept(rows * 6);
  device_copy(kept.data(), (float *)logsumexp, kept.size() * 4);
  const floats gradient = dqkv.get();
  good = good && exact.out.first_wrong(out.get(), half) < 0 &&
         exact.logsumexp.first_wrong(kept, false) < 0 &&
         exact.gradient.first_wrong(gradient, half) < 0;
  for (int again = 0; again < 4 && good; again++) /* the same bits each time */
    good = c.good(phibal_cuda_attention_backward(&shape, qkv2.p, out.p, logsumexp, dout2.p, dqkv.p,
                                                 &c.call)) &&
           dqkv.get() == gradient;
  phibal_cuda_attention_destroy(&plans);
  expect(good, !half ? "attention in binary32" : "attention in bfloat16");
}

} // namespace

int gpu_check_step() {
  check_norm(300, 96);
  check_norm(130, 1027);
  check_narrow(300, 96);
  check_narrow(130, 1027);
  check_rope();
  check_optimizer();
  check_power();
  check_loss(false, 3000);
  check_loss(true, 3000);
  check_loss(false, 102400); /* beyond shared memory */
  check_loss(true, 151936);
  for (bool half : {false, true})
    for (bool kept : {false, true}) check_ffn(half, kept);
  for (bool half : {false, true}) {
    check_recompute(half, 256);
    check_recompute(half, 67);
  }
  check_attention(false, false);
  check_attention(true, false);
  check_attention(true, true);
  printf("kernels of a training step on %s: %d of %d groups differ\n", device_name(), wrong,
         groups);
  return wrong;
}
