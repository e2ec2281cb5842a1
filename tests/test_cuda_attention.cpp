/* Attention and embedding on the host, under AddressSanitizer and UBSan: attention within a bound
   carried along beside the same in binary64, the embedding with the CPU's bits. */
extern "C" {
#include <cases.h>
#include <embedding.h>
}
#include "../kernels/cuda/trainer.h"
#include "cuda_device.h"
#include <cmath>

static constexpr uint64_t SEED = 80;
static constexpr double U = 1.01 * 0x1p-24;

typedef std::vector<double> doubles;

/* Value and bound of an array that is summed up here in binary64. */
namespace {
struct judged {
  doubles value, bound;
  explicit judged(size_t n) : value(n), bound(n) {}
  void add(size_t i, double term, double error) {
    value[i] += term;
    bound[i] += error;
  }
  void expect(const floats &got, const char *what) const {
    for (size_t i = 0; i < got.size(); i++)
      cr_assert(std::fabs((double)got[i] - value[i]) <= bound[i] + 0x1p-140,
                "%s, element %d: %a and %a, bound %a", what, (int)i, (double)got[i], value[i],
                bound[i]);
  }
};
} // namespace

/* With u = 2^-24: scores err by (n + 1) u sum |q||k|, so probabilities by e := 2 scale of the most
   of that + 3 u relatively; a product of S terms adds (S + 1) u of the terms' sizes, more where the
   heads of a group add up. What a stage is given wrong is carried through by its derivatives. */
static void attention_case(const phibal_cuda_attention &s, int blocks) {
  random_stream r = random_start(SEED, 0, (uint64_t)(s.sequence + 100 * s.heads));
  const size_t n = (size_t)s.head_width, S = (size_t)s.sequence, H = (size_t)s.heads;
  const size_t group = H / (size_t)s.key_value_heads, KV = (size_t)s.key_value_heads;
  const size_t stride = (H + 2 * KV) * n, rows = (size_t)s.batch * S;
  const floats qkv = numbers(&r, rows * stride), dout = numbers(&r, rows * H * n);
  floats out(rows * H * n, -7.0f), dqkv(rows * stride, -7.0f);
  device d(phibal_cuda_attention_workspace(&s), blocks);
  OK(phibal_cuda_attention_forward(&s, qkv.data(), out.data(), &d.call));
  OK(phibal_cuda_attention_backward(&s, qkv.data(), dout.data(), dqkv.data(), &d.call));
  judged o(out.size()), g(dqkv.size());
  const double scale = 1 / std::sqrt((double)n), terms = (double)(S * group + 2) * U;
  for (size_t b = 0; b < (size_t)s.batch; b++)
    for (size_t h = 0; h < H; h++)
      for (size_t i = 0; i < S; i++) {
        const size_t row = b * S + i, q = row * stride + h * n, at = (row * H + h) * n;
        auto k_of = [&](size_t j) { return (b * S + j) * stride + (H + h / group) * n; };
        auto v_of = [&](size_t j) { return (b * S + j) * stride + (H + KV + h / group) * n; };
        doubles p(i + 1), dp(i + 1), dp_error(i + 1);
        double sum = 0, most = 0, largest = -1e30, along = 0;
        for (size_t j = 0; j <= i; j++) {
          double size = 0;
          for (size_t c = 0; c < n; c++) {
            const double term = (double)qkv[q + c] * (double)qkv[k_of(j) + c];
            p[j] += term * scale;
            size += std::fabs(term);
            const double up = (double)dout[at + c] * (double)qkv[v_of(j) + c];
            dp[j] += up;
            dp_error[j] += (double)(n + 1) * U * std::fabs(up);
          }
          most = std::fmax(most, size);
          largest = std::fmax(largest, p[j]);
        }
        for (double &x : p) sum += x = std::exp(x - largest);
        const double e = 2 * scale * (double)(n + 1) * U * most + 3 * U;
        double along_error = 0;
        for (size_t j = 0; j <= i; j++) {
          p[j] /= sum;
          along += p[j] * dp[j];
          along_error += 1.01 * p[j] * (e * std::fabs(dp[j]) + dp_error[j]);
        }
        for (size_t j = 0; j <= i; j++) {
          const double ds = p[j] * (dp[j] - along) * scale;
          const double ds_error =
              1.01 * scale * p[j] *
                  (e * (std::fabs(dp[j]) + std::fabs(along)) + dp_error[j] + along_error) +
              2 * U * std::fabs(ds);
          for (size_t c = 0; c < n; c++) {
            const double query = (double)qkv[q + c], key = (double)qkv[k_of(j) + c];
            const double value = (double)qkv[v_of(j) + c], up = (double)dout[at + c];
            const double ds_all = ds_error + terms * std::fabs(ds), p_all = p[j] * (e + terms);
            o.add(at + c, p[j] * value, p_all * std::fabs(value));
            g.add(q + c, ds * key, ds_all * std::fabs(key));
            g.add(k_of(j) + c, ds * query, ds_all * std::fabs(query));
            g.add(v_of(j) + c, p[j] * up, p_all * std::fabs(up));
          }
        }
      }
  o.expect(out, "attention");
  g.expect(dqkv, "attention backward");
}

Test(cuda_attention, attention_is_within_its_bound) {
  attention_case({1, 1, 1, 1, 2}, 0);
  attention_case({2, 5, 2, 2, 4}, 1);
  attention_case({1, 37, 4, 2, 6}, 2);
  attention_case({2, 33, 6, 1, 8}, 3);
}

Test(cuda_attention, misuse_is_refused) {
  phibal_cuda_attention s = {1, 4, 3, 2, 2};
  floats x(200), y(200);
  device d(phibal_cuda_attention_workspace(&s));
  cr_expect_eq(phibal_cuda_attention_forward(&s, x.data(), y.data(), &d.call),
               PHIBAL_ERROR_ARGUMENT);
  s.key_value_heads = 1;
  cr_expect_eq(phibal_cuda_attention_forward(&s, x.data(), nullptr, &d.call),
               PHIBAL_ERROR_ARGUMENT);
  d.call.workspace_bytes--;
  cr_expect_eq(phibal_cuda_attention_forward(&s, x.data(), y.data(), &d.call), PHIBAL_ERROR_MEMORY);
}

Test(cuda_attention, embedding_has_the_cpus_bits) {
  static const int32_t widths[] = {1, 8, 37, 300};
  for (int32_t width : widths) {
    const int64_t rows = 50;
    const size_t n = (size_t)(rows * width), of_table = 11 * (size_t)width;
    random_stream r = random_start(SEED, 1, (uint64_t)width);
    std::vector<int32_t> tokens((size_t)rows);
    for (int32_t &t : tokens) t = (int32_t)random_integer(&r, -1, 10); /* -1: padding */
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
    OK(phibal_cuda_add((int64_t)n, dx.data(), x2.data(), &d.call));
    cr_expect_eq(memcmp(x.data(), x2.data(), n * 4), 0);
  }
}
