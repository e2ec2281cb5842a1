/* Attention and embedding on the host, under AddressSanitizer and UBSan: attention within a bound
   carried along beside the same in binary64, the embedding with the CPU's bits. */
extern "C" {
#include "verify/cases.h"
#include "moe/model/embedding.h"
}
#include "verify/attention_judged.h"
#include "cuda_device.h"

static constexpr uint64_t SEED = 80;

namespace {
/* Rows in either type; what is kept is what binary32 has of them. */
struct matrix {
  bool half;
  floats x;
  halves h;
  matrix(bool half_, floats from) : half(half_), x(std::move(from)), h(x.size()) {
    for (size_t i = 0; i < x.size(); i++) h[i] = (uint16_t)(core_bits32(x[i]) >> 16);
    read();
  }
  void *data() {
    return half ? (void *)h.data() : x.data();
  }
  void read() {
    for (size_t i = 0; i < x.size() && half; i++) x[i] = wide(h[i]);
  }
};
} // namespace

static void expect(const judged &exact, const floats &got, bool half, const char *what) {
  const int64_t i = exact.first_wrong(got, half);
  cr_assert_lt(i, 0, "%s, element %d, bfloat16 %d: %a and %a, bound %a", what, (int)i, half,
               (double)got[(size_t)i], exact.value[(size_t)i], exact.bound[(size_t)i]);
}

static void attention_case(phibal_cuda_attention s, int blocks) {
  const size_t rows = (size_t)s.batch * (size_t)s.sequence, n = (size_t)s.head_width;
  const size_t heads = (size_t)s.heads, wide_rows = rows * (heads + 2 * (size_t)s.key_value_heads);
  for (int half = 0; half < 2; half++) {
    s.type = half ? PHIBAL_ROWS_BF16 : PHIBAL_ROWS_F32;
    random_stream r = random_start(SEED, 0, (uint64_t)(s.sequence + 100 * s.heads));
    matrix qkv(half, numbers(&r, wide_rows * n)), dout(half, numbers(&r, rows * heads * n));
    matrix out(half, floats(rows * heads * n, -7.0f)), dqkv(half, floats(wide_rows * n, -7.0f));
    floats logsumexp(rows * heads, -7.0f);
    device d(phibal_cuda_attention_workspace(&s, nullptr), blocks);
    OK(phibal_cuda_attention_forward(&s, qkv.data(), out.data(), logsumexp.data(), &d.call));
    OK(phibal_cuda_attention_backward(&s, qkv.data(), out.data(), logsumexp.data(), dout.data(),
                                      dqkv.data(), &d.call));
    out.read();
    dqkv.read();
    const attention_judged exact(s, qkv.x.data(), dout.x.data());
    expect(exact.out, out.x, half, "attention");
    expect(exact.logsumexp, logsumexp, false, "logsumexp");
    expect(exact.gradient, dqkv.x, half, "attention backward");
    if (half) continue;
    const floats out_before = out.x, dqkv_before = dqkv.x;
    OK(phibal_cuda_attention_forward(&s, qkv.data(), out.data(), nullptr, &d.call));
    OK(phibal_cuda_attention_backward(&s, qkv.data(), nullptr, nullptr, dout.data(), dqkv.data(),
                                      &d.call));
    cr_expect(same(out.x, out_before) && same(dqkv.x, dqkv_before));
  }
}

Test(cuda_attention, attention_is_within_its_bound) {
  attention_case({1, 1, 1, 1, 2, PHIBAL_ROWS_F32, nullptr}, 0);
  attention_case({2, 5, 2, 2, 4, PHIBAL_ROWS_F32, nullptr}, 1);
  attention_case({1, 37, 4, 2, 6, PHIBAL_ROWS_F32, nullptr}, 2);
  attention_case({2, 33, 6, 1, 8, PHIBAL_ROWS_F32, nullptr}, 3);
  attention_case({1, 97, 2, 1, 3, PHIBAL_ROWS_F32, nullptr}, 0);
}

/* Documents of 1, 2, 4 .. positions in the first sequence, of 3 in the second, one in the third. */
Test(cuda_attention, documents_do_not_see_each_other) {
  for (int32_t length : {5, 33, 70}) {
    std::vector<int32_t> starts((size_t)(3 * length));
    int32_t begin = 0;
    for (int32_t i = 0; i < length; i++) {
      if (i >= 2 * begin + 1) begin = i;
      starts[(size_t)i] = begin;
      starts[(size_t)(length + i)] = i - i % 3;
    }
    attention_case({3, length, 4, 2, 4, PHIBAL_ROWS_F32, starts.data()}, 2);
  }
}

Test(cuda_attention, misuse_is_refused) {
  phibal_cuda_attention s = {1, 4, 3, 2, 2, PHIBAL_ROWS_F32, nullptr};
  floats x(200), y(200), z(200);
  device d(phibal_cuda_attention_workspace(&s, nullptr));
  auto forward = [&](void *out, float *logsumexp) {
    return phibal_cuda_attention_forward(&s, x.data(), out, logsumexp, &d.call);
  };
  cr_expect_eq(forward(y.data(), nullptr), PHIBAL_ERROR_ARGUMENT);
  s.key_value_heads = 1;
  cr_expect_eq(forward(nullptr, nullptr), PHIBAL_ERROR_ARGUMENT);
  s.type = PHIBAL_ROWS_BF16;
  cr_expect_eq(forward(y.data(), nullptr), PHIBAL_ERROR_ARGUMENT);
  cr_expect_eq(forward(y.data(), z.data()), PHIBAL_ERROR_MEMORY); /* sums besides */
  cr_expect_eq(
      phibal_cuda_attention_backward(&s, x.data(), nullptr, z.data(), y.data(), y.data(), &d.call),
      PHIBAL_ERROR_ARGUMENT);
  s.type = PHIBAL_ROWS_F32;
  d.call.workspace_bytes = phibal_cuda_attention_workspace(&s, nullptr) - 1;
  cr_expect_eq(forward(y.data(), nullptr), PHIBAL_ERROR_MEMORY);
}

Test(cuda_attention, embedding_has_the_cpus_bits) {
  /* The last in two windows of rows, of three tokens (embedding.cu). */
  static const int32_t shapes[][2] = {{50, 1}, {50, 8}, {50, 37}, {50, 300}, {4200, 5}};
  for (const int32_t *shape : shapes) {
    const int64_t rows = shape[0];
    const int32_t width = shape[1];
    const size_t n = (size_t)(rows * width), of_table = 11 * (size_t)width;
    random_stream r = random_start(SEED, 1, (uint64_t)width);
    std::vector<int32_t> tokens((size_t)rows);
    for (int32_t &t : tokens) /* -1: padding */
      t = (int32_t)random_integer(&r, -1, rows > 50 ? 2 : 10);
    const floats w = numbers(&r, of_table), dx = numbers(&r, n);
    floats x(n), x2(n), dw = numbers(&r, of_table), dw2 = dw;
    device d(0, width % 3);
    embedding_forward(rows, width, tokens.data(), 1.7f, w.data(), x.data());
    OK(phibal_cuda_embedding_forward(rows, width, tokens.data(), 1.7f, w.data(), x2.data(),
                                     &d.call));
    cr_expect_eq(memcmp(x.data(), x2.data(), n * 4), 0);
    embedding_backward(rows, width, tokens.data(), 1.7f, dx.data(), dw.data());
    OK(phibal_cuda_embedding_backward(rows, width, tokens.data(), 1.7f, dx.data(), dw2.data(),
                                      &d.call));
    cr_expect_eq(memcmp(dw.data(), dw2.data(), of_table * 4), 0);
    for (size_t i = 0; i < n; i++) x[i] += dx[i];
    OK(phibal_cuda_add((int64_t)n, PHIBAL_ROWS_F32, dx.data(), x2.data(), &d.call));
    cr_expect_eq(memcmp(x.data(), x2.data(), n * 4), 0);
  }
}
