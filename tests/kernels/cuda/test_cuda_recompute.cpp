/* The FFN's backward pass of a and b alone, on the host under AddressSanitizer and UBSan: its
   kernel beside sums in the order that activation.cu states, to the bit, and in long double within
   their bound; the whole beside gradients in long double within (E6b) of ffn.cu. */
extern "C" {
#include "verify/cases.h"
}
#include "verify/recompute.h"
#include "kernels/cuda/trainer.h"
#include "cuda_device.h"
#include <cmath>

static constexpr uint64_t SEED = 83;

typedef long double real;

namespace {
/* T tokens of k slots, some of which have no row. */
struct routing {
  int64_t tokens;
  int32_t active;
  std::vector<int64_t> offsets, source, row;
  floats gates, gate_gradient;
  routing(random_stream *r, int64_t T, int32_t k, int E, bool nowhere)
      : tokens(T), active(k), offsets((size_t)E + 1), source((size_t)(T * k)), row(source.size()),
        gates(numbers(r, source.size())), gate_gradient(source.size(), 7.0f) {
    std::vector<int32_t> experts(source.size());
    for (int32_t &e : experts) e = nowhere ? -1 : (int32_t)random_integer(r, -1, E - 1);
    OK(phibal_permutation(T, k, E, experts.data(), offsets.data(), source.data(), row.data()));
    source.resize((size_t)offsets[(size_t)E]);
  }
  int64_t rows() const {
    return offsets.back();
  }
  phibal_cuda_routes get() {
    return {tokens, active, row.data(), gates.data(), gate_gradient.data()};
  }
  /* By row, and 0 where there is none. */
  floats of_rows(const floats &of_slots) const {
    floats x(source.size());
    for (size_t n = 0; n < x.size(); n++) x[n] = of_slots[(size_t)source[n]];
    return x;
  }
};

struct truth {
  real value, slope;
};
} // namespace

/* x sigma(z), z = x, or twice tanh's argument. */
static truth act(phibal_activation activation, float a) {
  const bool silu = activation == PHIBAL_ACTIVATION_SILU;
  const real x = a, c = silu ? 1 : 2 * std::sqrt(2 / acosl(-1.0L)), cube = silu ? 0 : 0.044715L;
  const real s = 1 / (1 + expl(-c * (x + cube * x * x * x)));
  const real other = 1 / (1 + expl(c * (x + cube * x * x * x)));
  return {x * s, s * (1 + x * other * c * (1 + 3 * cube * x * x))};
}

/* Within 2^-39 of the terms, as (E6b), and the rounding to binary32. */
static bool near(float got, real want, real terms) {
  return std::fabs((real)got - want) <=
         0x1p-39L * terms + 0x1p-24L * std::fabs(want) * (1 + 0x1p-38L) + 0x1p-149L;
}

namespace {
/* Rows in either type, `shift` numbers past an aligned place, with nothing behind. */
struct rows_of {
  size_t shift;
  floats f;
  halves h;
  rows_of(const floats &from, bool half, size_t shift_) : shift(shift_) {
    const size_t n = shift + from.size();
    f.resize(half ? 0 : n), h.resize(half ? n : 0);
    for (size_t i = 0; i < from.size(); i++)
      if (half)
        h[shift + i] = half_of(from[i]);
      else
        f[shift + i] = from[i];
  }
  void *data() {
    return h.empty() ? (void *)(f.data() + shift) : h.data() + shift;
  }
  floats get() const {
    floats x(f.begin() + (f.empty() ? 0 : (long)shift), f.end());
    for (size_t i = shift; i < h.size(); i++) x.push_back(wide(h[i]));
    return x;
  }
};
} // namespace

static floats stored(const floats &x, bool half) {
  floats y = x;
  if (half) narrow(&y);
  return y;
}

static void kernel_case(int64_t f, bool half, phibal_activation activation, int blocks,
                        size_t shift, bool nowhere) {
  random_stream r = random_start(SEED, 0, (uint64_t)(8 * f) + shift);
  routing at(&r, 1 + f % 23, 1 + (int32_t)(f % 3), 4, nowhere);
  const size_t size = (size_t)(at.rows() * f);
  const floats a = stored(numbers(&r, size, 2), half), b = stored(numbers(&r, size), half),
               dh = stored(numbers(&r, size), half), gates = at.of_rows(at.gates);
  rows_of a2(a, half, shift), b2(b, half, shift), h2(dh, half, shift);
  device c(0, blocks);
  const phibal_cuda_routes routes = at.get();
  OK(phibal_cuda_activate_backward_recompute(
      activation, half ? PHIBAL_ROWS_BF16 : PHIBAL_ROWS_F32, at.rows(), f, &routes,
      size ? a2.data() : nullptr, size ? b2.data() : nullptr, size ? h2.data() : nullptr, &c.call));
  const floats got = at.of_rows(at.gate_gradient), da = a2.get(), db = b2.get(), gh = h2.get();
  rows_of a3(a, half, shift), b3(b, half, shift), h3(dh, half, shift);
  floats by_row(gates.size());
  const phibal_cuda_routes in_order = {at.rows(), 1, nullptr, gates.data(), by_row.data()};
  OK(phibal_cuda_activate_backward_recompute(activation, half ? PHIBAL_ROWS_BF16 : PHIBAL_ROWS_F32,
                                             at.rows(), f, &in_order, a3.data(), b3.data(),
                                             h3.data(), &c.call));
  cr_assert(same(got, by_row) && same(da, a3.get()) && same(db, b3.get()) && same(gh, h3.get()));
  floats want_a = a, want_b = b, want_h = dh;
  for (size_t n = 0; n < gates.size(); n++) {
    const size_t first = n * (size_t)f;
    real sum = 0, terms = 0, off = 0; /* off: what (E2n) allows h, in bfloat16 */
    for (size_t i = first; i < first + (size_t)f; i++) {
      const truth of = act(activation, a[i]);
      const real h = of.value * b[i], dg = (real)gates[n] * dh[i];
      sum += dh[i] * h, terms += std::fabs(dh[i] * h);
      const real x = a[i], w = activation == PHIBAL_ACTIVATION_SILU
                                   ? 0
                                   : std::fabs(1.5957691216057307L * x * (1 + 0.044715L * x * x));
      off += 0x1p-24L * (17.1L + 5 * w) * std::fabs(dh[i] * h);
      if (half) continue;
      cr_assert(near(da[i], dg * b[i] * of.slope, std::fabs(dg * b[i])), "a's gradient, row %zu",
                n);
      cr_assert(near(db[i], dg * of.value, std::fabs(dg * of.value)), "b's gradient, row %zu", n);
      cr_assert(near(gh[i], gates[n] * h, std::fabs(gates[n] * h)), "gate h, row %zu", n);
    }
    cr_assert(near(got[n], sum, half ? terms + off * 0x1p39L : terms),
              "gate's gradient, row %zu of width %d", n, (int)f);
    const float bits = (half ? recompute_row16 : recompute_row)(
        activation, f, gates[n], &want_a[first], &want_b[first], &want_h[first]);
    cr_assert_eq(core_bits32(got[n]), core_bits32(bits), "row %zu of width %d", n, (int)f);
  }
  cr_assert(same(stored(want_a, half), da) && same(stored(want_b, half), db) &&
                same(stored(want_h, half), gh),
            "width %d, bfloat16 %d", (int)f, half);
  for (size_t s = 0; s < at.row.size(); s++)
    cr_assert(at.row[s] >= 0 || core_bits32(at.gate_gradient[s]) == 0, "slot %zu without a row", s);
}

/* Widths that go by four and that do not, one row and none, rows that do not begin where four can
   be loaded at once; slots without rows. */
Test(cuda_recompute, kernel_in_its_order_and_within_its_bound) {
  static const int64_t widths[] = {1, 3, 4, 5, 8, 60, 63, 64, 65, 68, 129, 256};
  for (int64_t f : widths)
    for (int half = 0; half < 2; half++)
      for (int gelu = 0; gelu < 2; gelu++)
        kernel_case(f, half != 0, gelu ? PHIBAL_ACTIVATION_GELU : PHIBAL_ACTIVATION_SILU,
                    (int)(f % 4), (size_t)(f / 4 % 2), false);
  kernel_case(8, false, PHIBAL_ACTIVATION_SILU, 0, 0, true);
  device c(0);
  const phibal_cuda_routes none = {0, 2, nullptr, nullptr, nullptr};
  OK(phibal_cuda_activate_backward_recompute(PHIBAL_ACTIVATION_SILU, PHIBAL_ROWS_F32, 0, 5, &none,
                                             nullptr, nullptr, nullptr, &c.call));
}

namespace {
struct ffn_arrays {
  phibal_ffn ffn;
  std::vector<int64_t> offsets;
  floats x, w[3], a, b, h, y, dy;
  ffn_arrays(random_stream *r, phibal_ffn ffn_, const std::vector<int64_t> &offsets_, bool half)
      : ffn(ffn_), offsets(offsets_) {
    const size_t n = (size_t)offsets.back(), d = (size_t)ffn.width, f = (size_t)ffn.hidden;
    x = stored(numbers(r, n * d), half);
    for (floats &v : w) v = stored(numbers(r, (size_t)ffn.experts * d * f, 0.3), half);
    a.resize(n * f), b = h = a, y.resize(n * d);
    dy = stored(numbers(r, n * d), half);
  }
};

/* What a backward pass leaves. */
struct gradients {
  rows_of a, b, h, x;
  floats w[3];
  gradients(const ffn_arrays &of, bool half)
      : a(of.a, half, 0), b(of.b, half, 0), h(of.h, half, 0), x(of.x, half, 0) {
    for (floats &v : w) v = floats(of.w[0].size(), 0.5f);
  }
  bool same_but_h(const gradients &o) const {
    return same(a.get(), o.a.get()) && same(b.get(), o.b.get()) && same(x.get(), o.x.get()) &&
           same(w[0], o.w[0]) && same(w[1], o.w[1]) && same(w[2], o.w[2]);
  }
};
} // namespace

static void recompute(const ffn_arrays &of, bool half, const phibal_cuda_routes *routes,
                      gradients *g) {
  const phibal_rows type = half ? PHIBAL_ROWS_BF16 : PHIBAL_ROWS_F32;
  rows_of w0(of.w[0], half, 0), w1(of.w[1], half, 0), w2(of.w[2], half, 0), dy(of.dy, half, 0);
  device c(phibal_cuda_ffn_workspace(&of.ffn));
  const phibal_cuda_groups groups = {of.offsets.data(), of.offsets.data(), 0};
  OK(phibal_cuda_ffn_backward_recompute(&of.ffn, type, &groups, routes, g->x.data(), w0.data(),
                                        w1.data(), w2.data(), g->a.data(), g->b.data(), dy.data(),
                                        g->h.data(), g->x.data(), g->w[0].data(), g->w[1].data(),
                                        g->w[2].data(), 1, &c.call));
}

static void forward(ffn_arrays *of, bool half) {
  rows_of x(of->x, half, 0), w0(of->w[0], half, 0), w1(of->w[1], half, 0), w2(of->w[2], half, 0);
  rows_of a(of->a, half, 0), b(of->b, half, 0), h(of->h, half, 0), y(of->y, half, 0);
  device c(phibal_cuda_ffn_workspace(&of->ffn));
  OK(phibal_cuda_ffn_forward(&of->ffn, half ? PHIBAL_ROWS_BF16 : PHIBAL_ROWS_F32,
                             of->offsets.data(), of->offsets.data(), x.data(), w0.data(), w1.data(),
                             w2.data(), a.data(), b.data(), h.data(), y.data(), &c.call));
  of->a = a.get(), of->b = b.get(), of->h = h.get(), of->y = y.get();
}

/* Without gates, and with gates of 1: as where h was kept, to the bit, in place of x. */
Test(cuda_recompute, without_gates_as_with_h_kept) {
  for (int half = 0; half < 2; half++) {
    random_stream r = random_start(SEED, 1, 0);
    routing at(&r, 17, 2, 3, false);
    ffn_arrays of(&r, {3, 10, 7, PHIBAL_ACTIVATION_GELU}, at.offsets, half != 0);
    forward(&of, half != 0);
    gradients kept(of, half != 0), dense = kept, gated = kept;
    rows_of x(of.x, half != 0, 0), dy(of.dy, half != 0, 0), dh(of.h, half != 0, 0);
    rows_of w0(of.w[0], half != 0, 0), w1(of.w[1], half != 0, 0), w2(of.w[2], half != 0, 0);
    device c(phibal_cuda_ffn_workspace(&of.ffn));
    OK(phibal_cuda_ffn_backward(&of.ffn, half ? PHIBAL_ROWS_BF16 : PHIBAL_ROWS_F32,
                                at.offsets.data(), at.offsets.data(), x.data(), w0.data(),
                                w1.data(), w2.data(), kept.a.data(), kept.b.data(), kept.h.data(),
                                dy.data(), dh.data(), kept.x.data(), kept.w[0].data(),
                                kept.w[1].data(), kept.w[2].data(), &c.call));
    recompute(of, half != 0, nullptr, &dense);
    for (float &g : at.gates) g = 1.0f;
    const phibal_cuda_routes routes = at.get();
    recompute(of, half != 0, &routes, &gated);
    cr_expect(kept.same_but_h(dense) && same(kept.h.get(), dense.h.get()), "bfloat16 %d", half);
    cr_expect(kept.same_but_h(gated) && same(kept.h.get(), gated.h.get()), "bfloat16 %d", half);
    cr_expect_neq(kept.w[2][0], 0.5f);
  }
}

namespace {
/* A number and how far from it (E6b) allows to be. */
struct bounded {
  real value = 0, error = 0;
  real most() const {
    return std::fabs(value) + error;
  }
  bool holds(float got) const {
    return std::fabs((real)got - value) <= error + 0x1p-140L;
  }
};

/* A sum in binary32 of products of a bounded number and one that is exact. */
struct bounded_sum {
  real value = 0, error = 0, size = 0;
  int64_t terms = 0;
  void add(const bounded &x, real by) {
    value += x.value * by, error += x.error * std::fabs(by), size += x.most() * std::fabs(by);
    terms++;
  }
  bool holds(float got) const {
    const real gamma = 1.001L * (real)(terms + 1) * 0x1p-24L;
    return std::fabs((real)got - value) <= error + gamma * size + 0x1p-140L;
  }
};

/* One number of the hidden layer, back from dh = W_down^T dL/dy. */
struct hidden_gradients {
  bounded dh, h, a, b, gated;
  hidden_gradients(phibal_activation activation, float gate, float a_, float b_, bounded dh_)
      : dh(dh_) {
    const real u = 0x1p-24L, g = std::fabs((real)gate), up = std::fabs((real)b_);
    const truth of = act(activation, a_);
    const real value = std::fabs(of.value), slope = std::fabs(of.slope);
    h.value = of.value * b_;
    a.value = (real)gate * dh.value * b_ * of.slope;
    b.value = (real)gate * dh.value * of.value;
    gated.value = gate * h.value;
    a.error = up * slope * g * dh.error + (u * slope + 0x1p-41L) * up * g * dh.most();
    b.error = value * g * dh.error + (u + 0x1p-40L) * value * g * dh.most();
    gated.error = (u + 0x1p-40L) * std::fabs(gated.value);
  }
};
} // namespace

/* In long double from a and b, within (E6b): every gradient of rows with gates; and a gate's also
   is its token's gradient times the expert's output. */
Test(cuda_recompute, gradients_within_their_bounds) {
  const int64_t d = 11, f = 9;
  const real u = 0x1p-24L;
  random_stream r = random_start(SEED, 2, 0);
  routing at(&r, 19, 3, 4, false);
  ffn_arrays of(&r, {4, (int32_t)d, (int32_t)f, PHIBAL_ACTIVATION_SILU}, at.offsets, false);
  forward(&of, false);
  gradients g(of, false);
  const phibal_cuda_routes routes = at.get();
  recompute(of, false, &routes, &g);
  const floats gates = at.of_rows(at.gates), got = at.of_rows(at.gate_gradient);
  const floats a = g.a.get(), b = g.b.get(), h = g.h.get(), x = g.x.get();
  auto inward = [&](int64_t e, int64_t j, int64_t i) { return (size_t)((e * f + j) * d + i); };
  auto outward = [&](int64_t e, int64_t i, int64_t j) { return (size_t)((e * d + i) * f + j); };
  std::vector<bounded_sum> of_gate(of.w[0].size()), of_up = of_gate, of_down = of_gate;
  for (std::vector<bounded_sum> *w : {&of_gate, &of_up, &of_down})
    for (bounded_sum &sum : *w) sum.value = sum.size = 0.5L; /* what was there */
  for (int64_t e = 0, n = 0; e < 4; e++)
    for (; n < at.offsets[(size_t)e + 1]; n++) {
      const float *dy = &of.dy[(size_t)(n * d)], *in = &of.x[(size_t)(n * d)];
      real sum = 0, terms = 0, error = 0, output = 0, all = 0;
      std::vector<bounded_sum> dx((size_t)d);
      for (int64_t j = 0; j < f; j++) {
        const size_t k = (size_t)(n * f + j);
        bounded_sum product;
        for (int64_t i = 0; i < d; i++) product.add({dy[i], 0}, of.w[2][outward(e, i, j)]);
        const bounded dh = {product.value, 1.001L * (real)d * u * product.size};
        const hidden_gradients back(of.ffn.activation, gates[(size_t)n], of.a[k], of.b[k], dh);
        cr_assert(back.a.holds(a[k]), "a's gradient, row %d", (int)n);
        cr_assert(back.b.holds(b[k]), "b's gradient, row %d", (int)n);
        cr_assert(back.gated.holds(h[k]), "gate h, row %d", (int)n);
        const real made = std::fabs(back.h.value);
        sum += dh.value * back.h.value;
        error += made * dh.error, terms += made * dh.most(), all += made * product.size;
        for (int64_t i = 0; i < d; i++) {
          dx[(size_t)i].add(back.a, of.w[0][inward(e, j, i)]);
          dx[(size_t)i].add(back.b, of.w[1][inward(e, j, i)]);
          of_gate[inward(e, j, i)].add(back.a, in[i]);
          of_up[inward(e, j, i)].add(back.b, in[i]);
          of_down[outward(e, i, j)].add(back.gated, dy[i]);
        }
      }
      for (int64_t i = 0; i < d; i++) {
        output += (real)dy[i] * of.y[(size_t)(n * d + i)];
        cr_assert(dx[(size_t)i].holds(x[(size_t)(n * d + i)]), "dL/dx, row %d", (int)n);
      }
      const bounded gate = {sum, error + 0x1p-39L * terms + u * (std::fabs(sum) + error)};
      cr_assert(gate.holds(got[(size_t)n]), "gate of row %d: %g, not %Lg", (int)n,
                (double)got[(size_t)n], sum);
      /* y is a sum of f terms, and h in it is rounded. */
      cr_assert(std::fabs(output - sum) <= 1.001L * (real)(f + 1) * u * all, "row %d: %Lg, %Lg",
                (int)n, output, sum);
    }
  for (size_t i = 0; i < of_gate.size(); i++)
    cr_assert(of_gate[i].holds(g.w[0][i]) && of_up[i].holds(g.w[1][i]) &&
                  of_down[i].holds(g.w[2][i]),
              "weights' gradient, number %zu", i);
}

/* Gradients of gates that lead nowhere are 0 though no expert has a row, and weights' stay. */
Test(cuda_recompute, no_rows_at_all) {
  random_stream r = random_start(SEED, 3, 0);
  routing at(&r, 5, 2, 3, true);
  ffn_arrays of(&r, {3, 4, 6, PHIBAL_ACTIVATION_SILU}, at.offsets, false);
  gradients g(of, false);
  const phibal_cuda_routes routes = at.get();
  recompute(of, false, &routes, &g);
  for (float x : at.gate_gradient) cr_expect_eq(x, 0.0f, "a gate without a row");
  for (const floats &w : g.w)
    for (float x : w) cr_expect_eq(x, 0.5f);
}

Test(cuda_recompute, misuse_is_refused) {
  random_stream r = random_start(SEED, 4, 0);
  routing at(&r, 5, 2, 3, false);
  floats a((size_t)at.rows() * 4), b = a, h = a;
  device c(0);
  phibal_cuda_routes routes = at.get();
  auto call = [&](float *first, int64_t hidden) {
    return phibal_cuda_activate_backward_recompute(PHIBAL_ACTIVATION_SILU, PHIBAL_ROWS_F32,
                                                   at.rows(), hidden, &routes, first, b.data(),
                                                   h.data(), &c.call);
  };
  cr_expect_eq(call(nullptr, 4), PHIBAL_ERROR_ARGUMENT);
  cr_expect_eq(call(a.data(), 0), PHIBAL_ERROR_ARGUMENT);
  routes.gates = nullptr;
  cr_expect_eq(call(a.data(), 4), PHIBAL_ERROR_ARGUMENT);
  routes = at.get();
  routes.active = 0;
  cr_expect_eq(call(a.data(), 4), PHIBAL_ERROR_ARGUMENT);
}
