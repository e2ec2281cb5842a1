/* Causal attention (moe/model/attention.h) in binary64 with a running error bound for each number,
   for the checks of the CUDA kernels. */
#ifndef PHIBAL_VERIFY_ATTENTION_JUDGED_H
#define PHIBAL_VERIFY_ATTENTION_JUDGED_H

#include "kernels/cuda/trainer.h"
#include <cmath>
#include <vector>

/* An array that is summed up here: its value in binary64, and its bound. */
struct judged {
  std::vector<double> value, bound;
  explicit judged(size_t n) : value(n), bound(n) {}
  void add(size_t i, double term, double error) {
    value[i] += term;
    bound[i] += error;
  }
  /* The first element that exceeds its bound, or -1. `half`: results are rounded to bfloat16. The
     last terms are for numbers below the normal ones. */
  template <class T> int64_t first_wrong(const T &got, bool half) const {
    for (size_t i = 0; i < value.size(); i++) {
      const double rounded = half ? 0x1p-8 * (std::fabs(value[i]) + bound[i]) + 0x1p-120 : 0;
      if (!(std::fabs((double)got[i] - value[i]) <= bound[i] + rounded + 0x1p-140))
        return (int64_t)i;
    }
    return -1;
  }
};

/* With u = 2^-24 and h = 2^-8: scores err by (n + 1) u sum |q||k|, so probabilities by e := 2 scale
   of the most of that + 3 u relatively, and the logsumexp by half of that absolutely, and u of
   itself; a product of S terms adds (S + 1) u of the terms' sizes, more where the heads of a group
   add up. What a stage is given wrong is carried through by its derivatives. In bfloat16
   probabilities and the scores' gradients are rounded once more, to h of themselves, before they
   are multiplied; a factor 1.01 is for products of errors.

   `fused`, by a library: exponents are rounded to binary32 besides, scaled, less the maximum or the
   logsumexp, and times log2 e, and the exponential is good to a few units, by 8 u of 1 and of their
   sizes together; sum_j P dP is made from dO O, with O as it is stored; and where the heads of a
   group add up, each head's sum is rounded to h first. */
struct attention_judged {
  judged out, logsumexp, gradient;

  attention_judged(const phibal_cuda_attention &s, const float *qkv, const float *dout,
                   bool fused = false)
      : out((size_t)s.batch * (size_t)s.sequence * (size_t)(s.heads * s.head_width)),
        logsumexp((size_t)s.batch * (size_t)s.sequence * (size_t)s.heads),
        gradient((size_t)s.batch * (size_t)s.sequence *
                 (size_t)((s.heads + 2 * s.key_value_heads) * s.head_width)),
        shape(s), qkv_(qkv), dout_(dout), fused_(fused) {
    for (size_t b = 0; b < (size_t)s.batch; b++)
      for (size_t h = 0; h < (size_t)s.heads; h++)
        for (size_t i = 0; i < (size_t)s.sequence; i++) row(b, h, i);
  }

private:
  phibal_cuda_attention shape;
  const float *qkv_, *dout_;
  bool fused_;

  void row(size_t b, size_t h, size_t i) {
    const double U = 1.01 * 0x1p-24, half = shape.type == PHIBAL_ROWS_BF16 ? 1.01 * 0x1p-8 : 0;
    const size_t n = (size_t)shape.head_width, S = (size_t)shape.sequence;
    const size_t H = (size_t)shape.heads, KV = (size_t)shape.key_value_heads, group = H / KV;
    const size_t stride = (H + 2 * KV) * n, keys = (H + h / group) * n, values = keys + KV * n;
    const size_t first = b * S * stride, q = first + i * stride + h * n;
    const size_t at = ((b * S + i) * H + h) * n;
    const double scale = 1 / std::sqrt((double)n), terms = (double)(S * group + 2) * U;
    const size_t start = shape.starts ? (size_t)shape.starts[b * S + i] : 0;
    std::vector<double> p(i + 1), dp(i + 1), dp_error(i + 1);
    double sum = 0, most = 0, largest = -1e300, smallest = 1e300, along = 0, along_error = 0;
    for (size_t j = start; j <= i; j++) {
      double size = 0;
      for (size_t c = 0; c < n; c++) {
        const double term = (double)qkv_[q + c] * (double)qkv_[first + j * stride + keys + c];
        const double up = (double)dout_[at + c] * (double)qkv_[first + j * stride + values + c];
        p[j] += term * scale;
        size += std::fabs(term);
        dp[j] += up;
        dp_error[j] += (double)(n + 1) * U * std::fabs(up);
      }
      most = std::fmax(most, size);
      largest = std::fmax(largest, p[j]);
      smallest = std::fmin(smallest, p[j]);
    }
    for (size_t j = start; j <= i; j++) sum += p[j] = std::exp(p[j] - largest);
    const double total = largest + std::log(sum);
    const double exponents =
        fused_ ? 8 * U * (1 + std::fabs(largest) + std::fabs(smallest) + std::fabs(total)) : 0;
    const double of_scores = scale * (double)(n + 1) * U * most;
    const double e = 2 * of_scores + 3 * U + exponents;
    logsumexp.add((b * H + h) * S + i, total, of_scores + U * (std::fabs(total) + 1) + exponents);
    for (size_t j = start; j <= i; j++) {
      p[j] /= sum;
      along += p[j] * dp[j];
      along_error += 1.01 * p[j] * (e * std::fabs(dp[j]) + dp_error[j]);
    }
    for (size_t c = 0; c < n && fused_; c++) {
      double o = 0, o_error = 0;
      for (size_t j = start; j <= i; j++) {
        const double term = p[j] * (double)qkv_[first + j * stride + values + c];
        o += term;
        o_error += (e + terms + half) * std::fabs(term);
      }
      o_error += half * (std::fabs(o) + o_error) + (double)(n + 1) * U * std::fabs(o);
      along_error += 1.01 * o_error * std::fabs((double)dout_[at + c]);
    }
    for (size_t j = start; j <= i; j++) {
      const double ds = p[j] * (dp[j] - along) * scale;
      const double ds_error =
          1.01 * scale * p[j] *
              (e * (std::fabs(dp[j]) + std::fabs(along)) + dp_error[j] + along_error) +
          2 * U * std::fabs(ds);
      const double ds_all = ds_error + (terms + half) * (std::fabs(ds) + ds_error);
      const double p_all = p[j] * (e + terms + half), of_group = fused_ && group > 1 ? half : 0;
      for (size_t c = 0; c < n; c++) {
        const size_t k = first + j * stride + keys + c, v = first + j * stride + values + c;
        const double query = (double)qkv_[q + c], up = (double)dout_[at + c];
        out.add(at + c, p[j] * (double)qkv_[v], p_all * std::fabs((double)qkv_[v]));
        gradient.add(q + c, ds * (double)qkv_[k], ds_all * std::fabs((double)qkv_[k]));
        gradient.add(k, ds * query, (ds_all + of_group * std::fabs(ds)) * std::fabs(query));
        gradient.add(v, p[j] * up, (p_all + of_group * p[j]) * std::fabs(up));
      }
    }
  }
};

#endif
