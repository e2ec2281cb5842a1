/* Times of the kernels of a training step beside the router's, by bytes; and of the experts'
   products, by FLOPs beside a dense product of as many, measured in the same run. */
#include "gpu_time.h"

#include "kernels/cuda/products.h"
#include "kernels/cuda/trainer.h"

namespace {

typedef device_array<uint16_t> halves;

void measure_rows(int64_t T, int32_t d) {
  const size_t n = (size_t)(T * d);
  const std::vector<float> host = logits_like(n);
  device_array<float> x(n, host.data()), y(n), w((size_t)d, host.data()), inverse((size_t)T);
  device_array<float> dw((size_t)d), dx(n), table((size_t)(T * 32), host.data());
  const phibal_cuda_norm norm = {T, 1, d, 1e-6f, PHIBAL_ROWS_F32};
  device_call s(phibal_cuda_norm_backward_workspace(&norm));
  line("RMSNorm", T, d, 0, cost_norm((double)n, PHIBAL_ROWS_F32, PHIBAL_ROWS_F32), [&](int) {
    return phibal_cuda_norm_forward(&norm, (float *)x, d, w, PHIBAL_ROWS_F32, (float *)y, d,
                                    inverse, &s.call);
  });
  line("RMSNorm to bfloat16", T, d, 0, cost_norm((double)n, PHIBAL_ROWS_F32, PHIBAL_ROWS_BF16),
       [&](int) {
         return phibal_cuda_norm_forward(&norm, (float *)x, d, w, PHIBAL_ROWS_BF16, (float *)y, d,
                                         inverse, &s.call);
       });
  line("RMSNorm backward", T, d, 0, cost_norm_backward((double)n, PHIBAL_ROWS_F32, false),
       [&](int) {
         return phibal_cuda_norm_backward(&norm, (float *)x, d, w, inverse, (float *)y, d, 0,
                                          (float *)dx, d, dw, &s.call);
       });
  const phibal_cuda_rope_shape rope = {T, (int32_t)T, d / 64, 64, 64, d, 0, PHIBAL_ROWS_F32};
  line("RoPE, heads of 64", T, d, 0, cost_rope((double)n, PHIBAL_ROWS_F32),
       [&](int) { return phibal_cuda_rope(&rope, table, table, 1.0f, (float *)x, &s.call); });
  std::vector<uint16_t> half(n);
  std::vector<int32_t> some((size_t)T);
  for (size_t i = 0; i < n; i++) half[i] = (uint16_t)(core_bits32(host[i]) >> 16);
  for (size_t i = 0; i < some.size(); i++)
    some[i] = (int32_t)(i * i % 50000 % (bench.small ? 8 : 50000));
  halves narrow(n, half.data());
  const phibal_cuda_rope_shape rope_half = {T, (int32_t)T, d / 64, 64, 64, d, 0, PHIBAL_ROWS_BF16};
  line("RoPE, heads of 64, bfloat16", T, d, 0, cost_rope((double)n, PHIBAL_ROWS_BF16), [&](int) {
    return phibal_cuda_rope(&rope_half, table, table, 1.0f, (uint16_t *)narrow, &s.call);
  });
  line("addition of bfloat16 rows", T, d, 0, cost_add((double)n, PHIBAL_ROWS_BF16), [&](int) {
    return phibal_cuda_add((int64_t)n, PHIBAL_ROWS_BF16, (uint16_t *)narrow, y, &s.call);
  });
  const size_t words = bench.small ? 8 : 50000;
  device_array<int32_t> tokens(some.size(), some.data());
  device_array<float> table_of(words * (size_t)d), table_gradient(words * (size_t)d);
  line("embedding", T, d, 0, cost_embedding((double)n), [&](int) {
    return phibal_cuda_embedding_forward(T, d, tokens, 1.0f, table_of, y, &s.call);
  });
  line("embedding backward", T, d, 0, cost_embedding_backward((double)n), [&](int) {
    return phibal_cuda_embedding_backward(T, d, tokens, 1.0f, x, table_gradient, &s.call);
  });
  finish(s, "rows");
}

void measure_loss(int64_t T, int32_t V, bool half) {
  const size_t n = (size_t)(T * V);
  const size_t some = 1 << 20; /* numbers, again and again */
  const std::vector<float> host = logits_like(some);
  std::vector<uint16_t> narrow(some);
  for (size_t i = 0; i < some; i++) narrow[i] = (uint16_t)(core_bits32(host[i]) >> 16);
  device_array<float> z(half ? n / 2 : n);
  for (size_t i = 0; i < n; i += some) {
    const size_t count = n - i < some ? n - i : some;
    if (half)
      device_copy((uint16_t *)(float *)z + i, narrow.data(), count * 2);
    else
      device_copy((float *)z + i, host.data(), count * 4);
  }
  device_array<int32_t> targets((size_t)T);
  device_array<double> row_loss((size_t)T), loss(1);
  device_array<int64_t> correct(1), counted(1);
  device_call s(0);
  const phibal_cuda_loss shape = {
      T, V, 0, half ? PHIBAL_ROWS_BF16 : PHIBAL_ROWS_F32, 1, 1.0 / (double)T};
  line(half ? "cross-entropy, bfloat16" : "cross-entropy", T, V, 0,
       cost_cross_entropy((double)n, half ? PHIBAL_ROWS_BF16 : PHIBAL_ROWS_F32), [&](int) {
         return phibal_cuda_cross_entropy(&shape, targets, (float *)z, row_loss, loss, correct,
                                          counted, &s.call);
       });
  finish(s, "cross-entropy");
}

void measure_optimizer(int64_t n) {
  const size_t size = (size_t)n;
  std::vector<int64_t> begin;
  for (int64_t i = 0; i < n; i += 4096) begin.push_back(i);
  const int64_t blocks = (int64_t)begin.size();
  begin.push_back(n);
  const uint8_t yes = 1;
  device_array<float> w(size), g(size), m(size), v(size);
  halves narrow(size);
  device_array<int64_t> begin2(begin.size(), begin.data()), end(1, &n);
  device_array<uint8_t> decays(1, &yes);
  device_array<double> norm(1);
  device_call s(phibal_cuda_gradient_norm_workspace(blocks));
  phibal_cuda_adamw step = {n, 1e-3, 0.9, 0.95, 1e-8, 0.1, 1, 1, 1, 1, end, decays};
  line("gradient norm, M in T", n / 1000000, 0, 0, cost_gradient_norm((double)n),
       [&](int) { return phibal_cuda_gradient_norm(blocks, begin2, g, norm, &s.call); });
  line("AdamW and bfloat16, M in T", n / 1000000, 0, 0, cost_adamw((double)n),
       [&](int) { return phibal_cuda_adamw_update(&step, norm, g, m, v, w, narrow, &s.call); });
  finish(s, "optimizer");
}

void flops_line(const char *what, int64_t T, int E, int k, double flops, double us, double dense) {
  const double rate = us > 0 ? flops / us * 1e-6 : 0;
  if (!bench.architecture) {
    printf("%-28s %7lld %5d %3d not measured %8.3f TFLOP\n", what, (long long)T, E, k,
           flops * 1e-12);
    return;
  }
  printf("%-28s %7lld %5d %3d %12.2f us %8.1f TFLOP/s", what, (long long)T, E, k, us, rate);
  if (dense > 0) printf(" %6.1f %% of the dense product", 100 * rate / dense);
  putchar('\n');
  fflush(stdout);
}

/* Rows of each expert: equal, or four times as many for the first half as for the second. */
std::vector<int64_t> groups(int64_t rows, int E, bool skewed) {
  std::vector<int64_t> offsets((size_t)E + 1);
  const double unit = (double)rows / (E * 2.5);
  for (int e = 0; e < E; e++) {
    const double own = !skewed ? (double)rows / E : e < E / 2 ? 4 * unit : unit;
    offsets[(size_t)e + 1] = e + 1 == E ? rows : offsets[(size_t)e] + (int64_t)own;
  }
  return offsets;
}

/* The experts' FFN in bfloat16, forward and backward, without gather and combine. */
void measure_experts(int64_t T, int32_t d, int32_t f, int E, int k, bool skewed) {
  const int64_t rows = T * k;
  const size_t wide = (size_t)(rows * d), thin = (size_t)(rows * f),
               weights = (size_t)E * (size_t)(d * f);
  const std::vector<int64_t> offsets = groups(rows, E, skewed);
  const phibal_ffn ffn = {E, d, f, PHIBAL_ACTIVATION_SILU};
  halves x(wide), y(wide), dy(wide), dx(wide), a(thin), b(thin), h(thin), dh(thin);
  halves gate(weights), up(weights), down(weights);
  device_array<float> dgate(weights), dup(weights), ddown(weights);
  device_array<int64_t> on_device(offsets.size(), offsets.data());
  const phibal_cuda_groups at = {on_device, offsets.data(), 0};
  device_call s(phibal_cuda_ffn_workspace(&ffn), 0, true);
  /* As many FLOPs as one of the forward pass's three products. */
  const double one = 2.0 * (double)rows * (double)d * (double)f;
  product dense = {PRODUCT_FORWARD, PHIBAL_ROWS_BF16, PHIBAL_ROWS_BF16, f,    d,
                   (uint16_t *)x,   (uint16_t *)gate, (uint16_t *)a,    false};
  const double dense_us = median_microseconds(
      [&](int) { return products_dense("dense", dense, rows, dense.result, &s.call); });
  const double rate = dense_us > 0 ? one / dense_us * 1e-6 : 0;
  flops_line("dense product, bfloat16", T, 1, 1, one, dense_us, rate);
  flops_line(skewed ? "experts forward, skewed 4:1" : "experts forward", T, E, k, 3 * one,
             median_microseconds([&](int) {
               return phibal_cuda_ffn_forward(&ffn, PHIBAL_ROWS_BF16, on_device, offsets.data(),
                                              (uint16_t *)x, (uint16_t *)gate, (uint16_t *)up,
                                              (uint16_t *)down, (uint16_t *)a, (uint16_t *)b,
                                              (uint16_t *)h, (uint16_t *)y, &s.call);
             }),
             rate);
  flops_line(skewed ? "experts backward, skewed 4:1" : "experts backward", T, E, k, 6 * one,
             median_microseconds([&](int) {
               return phibal_cuda_ffn_backward(&ffn, PHIBAL_ROWS_BF16, on_device, offsets.data(),
                                               (uint16_t *)x, (uint16_t *)gate, (uint16_t *)up,
                                               (uint16_t *)down, (uint16_t *)a, (uint16_t *)b,
                                               (uint16_t *)h, (uint16_t *)dy, (uint16_t *)dh,
                                               (uint16_t *)dx, dgate, dup, ddown, &s.call);
             }),
             rate);
  const std::vector<float> ones((size_t)rows, 1.0f);
  device_array<float> gates(ones.size(), ones.data()), gate_gradient(ones.size());
  const phibal_cuda_routes routes = {rows, 1, nullptr, gates, gate_gradient};
  flops_line(skewed ? "  h made again, skewed 4:1" : "  h made again, with gates", T, E, k, 6 * one,
             median_microseconds([&](int) {
               return phibal_cuda_ffn_backward_recompute(
                   &ffn, PHIBAL_ROWS_BF16, &at, &routes, (uint16_t *)x, (uint16_t *)gate,
                   (uint16_t *)up, (uint16_t *)down, (uint16_t *)a, (uint16_t *)b, (uint16_t *)dy,
                   (uint16_t *)dh, (uint16_t *)dx, dgate, dup, ddown, 1, &s.call);
             }),
             rate);
  finish(s, "experts");
}

/* The backward pass of the activation, with h kept, and from a and b alone with the gates of T
   tokens; E stands for the experts' width f. */
void measure_activation(int64_t T, int32_t f, int32_t k) {
  const int64_t rows = T * k;
  const size_t n = (size_t)(rows * f);
  std::vector<float> host = logits_like(n);
  std::vector<int64_t> any((size_t)rows);
  for (int64_t i = 0; i < rows; i++) any[(size_t)i] = i / k + i % k * T; /* slots are far apart */
  device_array<float> a(n, host.data()), b(n, host.data()), h(n, host.data());
  device_array<float> gates((size_t)rows, host.data()), gate_gradient((size_t)rows);
  device_array<int64_t> row(any.size(), any.data());
  const phibal_cuda_routes routes = {T, k, row, gates, gate_gradient};
  device_call s(0);
  for (phibal_rows type : {PHIBAL_ROWS_F32, PHIBAL_ROWS_BF16}) {
    const bool half = type == PHIBAL_ROWS_BF16;
    line(half ? "activation, bfloat16" : "activation", T, f, k, cost_activate((double)n, type),
         [&](int) {
           return phibal_cuda_activate(PHIBAL_ACTIVATION_SILU, type, rows * f, (float *)a,
                                       (float *)b, (float *)h, &s.call);
         });
    line(half ? "activation back., bfloat16" : "activation backward", T, f, k,
         cost_activate_backward((double)n, type), [&](int) {
           return phibal_cuda_activate_backward(PHIBAL_ACTIVATION_SILU, type, rows * f, (float *)a,
                                                (float *)b, (float *)h, &s.call);
         });
    for (bool gated : {false, true})
      line(gated ? (half ? "  with gates, bfloat16" : "  with gates, h made again")
                 : (half ? "  h made again, bfloat16" : "  h made again"),
           T, f, k, cost_activate_recompute((double)n, gated ? (double)rows : 0, type), [&](int) {
             return phibal_cuda_activate_backward_recompute(PHIBAL_ACTIVATION_SILU, type, rows, f,
                                                            gated ? &routes : nullptr, (float *)a,
                                                            (float *)b, (float *)h, &s.call);
           });
  }
  finish(s, "activation");
}

/* Causal attention, by the library where it has a plan (of bfloat16), and by products; FLOPs of the
   triangle alone: 4 S (S + 1) n / 2 a head forward, and 5/2 of that backward. */
void measure_attention(int32_t batch, int32_t sequence, int32_t heads, int32_t n, bool half) {
  const phibal_rows type = half ? PHIBAL_ROWS_BF16 : PHIBAL_ROWS_F32;
  const phibal_cuda_attention shape = {batch, sequence, heads, heads, n, type, nullptr};
  const size_t rows = (size_t)batch * (size_t)sequence, width = (size_t)(heads * n);
  const std::vector<float> host = logits_like(3 * rows * width);
  std::vector<uint16_t> narrow(host.size());
  for (size_t i = 0; i < host.size(); i++) narrow[i] = (uint16_t)(core_bits32(host[i]) >> 16);
  device_array<float> qkv(host.size(), half ? nullptr : host.data()), out(rows * width),
      dqkv(host.size()), logsumexp(rows * (size_t)heads);
  if (half) device_copy((float *)qkv, narrow.data(), 2 * narrow.size());
  const double flops = 2.0 * (double)rows * (double)(sequence + 1) * (double)width;
  for (int library = half; library >= 0; library--) {
    phibal_cuda plans = {};
    if (library && phibal_cuda_attention_create(&shape, &plans)) bench.failed = true;
    device_call s(phibal_cuda_attention_workspace(&shape, &plans), 0, true);
    s.call.attention = plans.attention;
    printf("attention%s by %s\n", half ? " in bfloat16" : "",
           library ? phibal_cuda_attention_by(&shape, &plans) : "matrix products");
    flops_line("attention forward", (int64_t)rows, heads, n, flops, median_microseconds([&](int) {
                 return phibal_cuda_attention_forward(&shape, (float *)qkv, (float *)out, logsumexp,
                                                      &s.call);
               }),
               0);
    flops_line(
        "attention backward", (int64_t)rows, heads, n, 2.5 * flops, median_microseconds([&](int) {
          return phibal_cuda_attention_backward(&shape, (float *)qkv, (float *)out, logsumexp,
                                                (float *)out, (float *)dqkv, &s.call);
        }),
        0);
    finish(s, "attention");
    phibal_cuda_attention_destroy(&plans);
  }
  among_others(half ? "attention's softmax bfloat16" : "attention's softmax float");
  among_others(half ? "attention's softmax backward bfloat16"
                    : "attention's softmax backward float");
  if (half) among_others("rounding of keys' and values' sums");
}

} // namespace

void gpu_bench_step() {
  const bool small = bench.small;
  printf("kernels of a training step; E stands for the width or the vocabulary\n");
  for (int64_t T : {(int64_t)4096, (int64_t)65536})
    if (wanted(T)) measure_rows(small ? T / 1024 : T, 1024);
  measure_loss(small ? 4 : 4096, small ? 2056 : 102400, false);
  measure_loss(small ? 4 : 4096, small ? 2056 : 102400, true);
  measure_loss(small ? 2 : 2048, small ? 2056 : 102400, true); /* of the trainer's blocks of rows */
  measure_optimizer(small ? 20000 : 111000000);
  const int64_t T = small ? 16 : 40960;
  const int32_t d = small ? 32 : 768;
  measure_activation(T, small ? 16 : 1024, 2);
  measure_activation(T, small ? 16 : 256, 8);
  for (bool skewed : {false, true}) {
    measure_experts(T, d, small ? 16 : 1024, small ? 4 : 32, 2, skewed);
    measure_experts(T, d, small ? 16 : 256, small ? 8 : 128, small ? 2 : 8, skewed);
  }
  for (bool half : {true, false})
    measure_attention(small ? 1 : 8, small ? 24 : 2048, small ? 2 : 8, 64, half);
}
