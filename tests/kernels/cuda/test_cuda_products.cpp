/* The expert FFN by grouped products on the host, under AddressSanitizer and UBSan. In binary32 its
   forward pass has the CPU's bits (the host's library sums as phibal_gemm_nt does); in bfloat16
   each stage is judged from the stage before, in binary64. */
extern "C" {
#include "verify/cases.h"
}
#include "verify/summed.h"
#include "kernels/cuda/products.h"
#include "kernels/cuda/trainer.h"
#include "cuda_device.h"
#include <cmath>

static constexpr uint64_t SEED = 79;

static halves draw_halves(random_stream *r, int64_t n) {
  halves h((size_t)n);
  for (uint16_t &x : h) x = (uint16_t)(core_bits32((float)random_normal(r)) >> 16);
  return h;
}

static floats widened(const halves &h) {
  floats x(h.size());
  for (size_t i = 0; i < h.size(); i++) x[i] = wide(h[i]);
  return x;
}

/* Groups of 0 to `most` rows, every third empty. */
static std::vector<int64_t> groups_of(random_stream *r, int E, int64_t most) {
  std::vector<int64_t> offsets((size_t)E + 1);
  for (size_t e = 0; e < (size_t)E; e++)
    offsets[e + 1] = offsets[e] + (e % 3 == 1 ? 0 : random_integer(r, 1, most));
  return offsets;
}

Test(cuda_products, forward_has_the_cpus_bits) {
  static const int shapes[][3] = {{1, 5, 7}, {5, 24, 17}, {70, 8, 4}, {1024, 2, 3}};
  for (const int *s : shapes) {
    const int E = s[0], d = s[1], f = s[2];
    random_stream r = random_start(SEED, 0, (uint64_t)E);
    const std::vector<int64_t> offsets = groups_of(&r, E, 5);
    const size_t rows = (size_t)offsets.back(), in = rows * (size_t)d, hidden = rows * (size_t)f;
    phibal_ffn ffn = {E, d, f, PHIBAL_ACTIVATION_GELU};
    const floats x = widened(draw_halves(&r, (int64_t)in));
    floats w[3];
    for (floats &v : w) v = widened(draw_halves(&r, (int64_t)E * d * f));
    floats a(hidden), b(hidden), h(hidden), y(in), a2 = a, b2 = b, h2 = h, y2 = y;
    OK(phibal_ffn_forward(&ffn, offsets.data(), x.data(), w[0].data(), w[1].data(), w[2].data(),
                          a.data(), b.data(), h.data(), y.data()));
    device c(phibal_cuda_ffn_workspace(&ffn));
    OK(phibal_cuda_ffn_forward(&ffn, PHIBAL_ROWS_F32, offsets.data(), offsets.data(), x.data(),
                               w[0].data(), w[1].data(), w[2].data(), a2.data(), b2.data(),
                               h2.data(), y2.data(), &c.call));
    cr_expect(same(a, a2) && same(b, b2) && same(h, h2) && same(y, y2), "E = %d", E);
  }
}

Test(cuda_products, every_stage_in_bfloat16) {
  const int E = 4, d = 20, f = 12;
  random_stream r = random_start(SEED, 1, 0);
  const std::vector<int64_t> offsets = groups_of(&r, E, 30);
  const int64_t rows = offsets.back();
  phibal_ffn ffn = {E, d, f, PHIBAL_ACTIVATION_SILU};
  const halves x = draw_halves(&r, rows * d), dy = draw_halves(&r, rows * d);
  const halves w_gate = draw_halves(&r, E * d * f), w_up = draw_halves(&r, E * d * f);
  const halves w_down = draw_halves(&r, E * d * f);
  halves a((size_t)(rows * f)), b = a, h = a, dh = a, y = x, dx = x;
  floats dw[3];
  for (floats &v : dw) v = widened(draw_halves(&r, E * d * f));
  const floats before[] = {dw[0], dw[1], dw[2]};
  device c(phibal_cuda_ffn_workspace(&ffn));
  OK(phibal_cuda_ffn_forward(&ffn, PHIBAL_ROWS_BF16, offsets.data(), offsets.data(), x.data(),
                             w_gate.data(), w_up.data(), w_down.data(), a.data(), b.data(),
                             h.data(), y.data(), &c.call));
  halves da = a, db = b;
  OK(phibal_cuda_ffn_backward(&ffn, PHIBAL_ROWS_BF16, offsets.data(), offsets.data(), x.data(),
                              w_gate.data(), w_up.data(), w_down.data(), da.data(), db.data(),
                              h.data(), dy.data(), dh.data(), dx.data(), dw[0].data(), dw[1].data(),
                              dw[2].data(), &c.call));
  auto at = [](const halves &m, int64_t i) { return (double)wide(m[(size_t)i]); };
  for (int64_t e = 0; e < E; e++)
    for (int64_t n = offsets[(size_t)e]; n < offsets[(size_t)e + 1]; n++) {
      for (int64_t j = 0; j < f; j++) {
        summed of_a, of_b, of_dh;
        for (int64_t i = 0; i < d; i++) {
          of_a.add(at(x, n * d + i) * at(w_gate, (e * f + j) * d + i));
          of_b.add(at(x, n * d + i) * at(w_up, (e * f + j) * d + i));
          of_dh.add(at(dy, n * d + i) * at(w_down, (e * d + i) * f + j));
        }
        const int64_t k = n * f + j;
        cr_assert(of_a.holds(at(a, k), true) && of_b.holds(at(b, k), true), "row %d", (int)n);
        cr_assert(of_dh.holds(at(dh, k), true), "dL/dh, row %d", (int)n);
        const double value = at(a, k) / (1 + std::exp(-at(a, k)));
        const double slope = 1 / (1 + std::exp(-at(a, k)));
        summed of_h, of_da, of_db;
        of_h.add(value * at(b, k));
        of_db.add(at(dh, k) * value);
        of_da.add(at(dh, k) * at(b, k) * slope * (1 + at(a, k) * (1 - slope)));
        cr_assert(of_h.holds(at(h, k), true) && of_db.holds(at(db, k), true), "row %d", (int)n);
        cr_assert(of_da.holds(at(da, k), true), "dL/da, row %d", (int)n);
      }
      for (int64_t i = 0; i < d; i++) {
        summed of_y, gate, up;
        for (int64_t j = 0; j < f; j++) {
          of_y.add(at(h, n * f + j) * at(w_down, (e * d + i) * f + j));
          gate.add(at(da, n * f + j) * at(w_gate, (e * f + j) * d + i));
          up.add(at(db, n * f + j) * at(w_up, (e * f + j) * d + i));
        }
        cr_assert(of_y.holds(at(y, n * d + i), true), "y, row %d", (int)n);
        /* Rounded to bfloat16 between the two products too. */
        const double got = at(dx, n * d + i), size = gate.size + up.size;
        cr_assert(std::fabs(got - gate.value - up.value) <=
                      1.001 * (2 * f + 2) * 0x1p-24 * size +
                          0x1p-8 * 1.01 *
                              (std::fabs(gate.value) + std::fabs(gate.value + up.value)),
                  "dL/dx, row %d", (int)n);
      }
    }
  for (int64_t e = 0; e < E; e++)
    for (int64_t j = 0; j < f; j++)
      for (int64_t i = 0; i < d; i++) {
        const size_t inward = (size_t)((e * f + j) * d + i),
                     outward = (size_t)((e * d + i) * f + j);
        summed gate, up, down;
        gate.add((double)before[0][inward]);
        up.add((double)before[1][inward]);
        down.add((double)before[2][outward]);
        for (int64_t n = offsets[(size_t)e]; n < offsets[(size_t)e + 1]; n++) {
          gate.add(at(da, n * f + j) * at(x, n * d + i));
          up.add(at(db, n * f + j) * at(x, n * d + i));
          down.add(at(dy, n * d + i) * at(h, n * f + j));
        }
        cr_assert(gate.holds((double)dw[0][inward], false), "gate's weights, expert %d", (int)e);
        cr_assert(up.holds((double)dw[1][inward], false), "up's weights, expert %d", (int)e);
        cr_assert(down.holds((double)dw[2][outward], false), "down's weights, expert %d", (int)e);
      }
}

Test(cuda_products, dense_products_are_a_group_of_one) {
  const int64_t rows = 13, out = 9, in = 6;
  random_stream r = random_start(SEED, 2, 0);
  const floats x = widened(draw_halves(&r, rows * in)), w = widened(draw_halves(&r, out * in));
  const floats dy = widened(draw_halves(&r, rows * out));
  const std::vector<int64_t> offsets = {0, rows};
  const product_groups one = {1, offsets.data(), offsets.data(), 0};
  device c(products_workspace(1));
  for (int form = 0; form < 3; form++)
    for (int add = 0; add < 2; add++) {
      floats y((size_t)(rows * out + rows * in + out * in), 0.5f), y2 = y;
      product p = {(product_form)form,
                   PHIBAL_ROWS_F32,
                   PHIBAL_ROWS_F32,
                   out,
                   in,
                   form == PRODUCT_FORWARD ? x.data() : dy.data(),
                   form == PRODUCT_WEIGHT_GRADIENT ? x.data() : w.data(),
                   y.data(),
                   add != 0};
      OK(products_dense("dense", p, rows, y.data(), &c.call));
      p.result = y2.data();
      OK(products_grouped("grouped", p, one, &c.call));
      cr_expect(same(y, y2), "form %d", form);
      cr_expect_neq(y[0], 0.5f);
    }
}

/* The sums are binary32's of the same numbers, whatever they are stored as; narrow ones are rounded
   once. */
Test(cuda_products, dense_products_of_bfloat16_add_up_in_binary32) {
  const int64_t rows = 13, out = 9, in = 6;
  random_stream r = random_start(SEED, 3, 0);
  const halves x = draw_halves(&r, rows * in), w = draw_halves(&r, out * in);
  const halves dy = draw_halves(&r, rows * out);
  const floats X = widened(x), W = widened(w), DY = widened(dy);
  device c(0);
  for (int add = 0; add < 2; add++) {
    const size_t n = (size_t)(rows * out);
    const floats to = numbers(&r, n);
    floats narrow_to = to;
    narrow(&narrow_to);
    const halves half_to = halves_of(narrow_to);
    floats y(n), y2(n), y3(n);
    halves y4(n);
    OK(phibal_cuda_linear(rows, out, in, PHIBAL_ROWS_F32, X.data(), W.data(),
                          add ? to.data() : nullptr, PHIBAL_ROWS_F32, y.data(), &c.call));
    OK(phibal_cuda_linear(rows, out, in, PHIBAL_ROWS_BF16, x.data(), w.data(),
                          add ? to.data() : nullptr, PHIBAL_ROWS_F32, y2.data(), &c.call));
    cr_expect(same(y, y2), "add %d", add);
    y2 = to; /* in place */
    OK(phibal_cuda_linear(rows, out, in, PHIBAL_ROWS_BF16, x.data(), w.data(),
                          add ? y2.data() : nullptr, PHIBAL_ROWS_F32, y2.data(), &c.call));
    cr_expect(same(y, y2), "add %d in place", add);
    OK(phibal_cuda_linear(rows, out, in, PHIBAL_ROWS_F32, X.data(), W.data(),
                          add ? narrow_to.data() : nullptr, PHIBAL_ROWS_F32, y3.data(), &c.call));
    OK(phibal_cuda_linear(rows, out, in, PHIBAL_ROWS_BF16, x.data(), w.data(),
                          add ? half_to.data() : nullptr, PHIBAL_ROWS_BF16, y4.data(), &c.call));
    cr_expect(same(halves_of(y3), y4), "add %d, rounded", add);
  }
  floats dx((size_t)(rows * in)), dx2 = dx, dw((size_t)(out * in), 0.3f), dw2 = dw;
  halves dx3(dx.size());
  OK(phibal_cuda_linear_input_gradient(rows, out, in, PHIBAL_ROWS_F32, DY.data(), W.data(),
                                       PHIBAL_ROWS_F32, dx.data(), &c.call));
  OK(phibal_cuda_linear_input_gradient(rows, out, in, PHIBAL_ROWS_BF16, dy.data(), w.data(),
                                       PHIBAL_ROWS_F32, dx2.data(), &c.call));
  OK(phibal_cuda_linear_input_gradient(rows, out, in, PHIBAL_ROWS_BF16, dy.data(), w.data(),
                                       PHIBAL_ROWS_BF16, dx3.data(), &c.call));
  cr_expect(same(dx, dx2) && same(halves_of(dx), dx3));
  OK(phibal_cuda_linear_weight_gradient(rows, out, in, PHIBAL_ROWS_F32, DY.data(), X.data(),
                                        dw.data(), 1, &c.call));
  OK(phibal_cuda_linear_weight_gradient(rows, out, in, PHIBAL_ROWS_BF16, dy.data(), x.data(),
                                        dw2.data(), 1, &c.call));
  cr_expect(same(dw, dw2));
  /* Without what was there: as if it had been 0. */
  floats dw3(dw.size());
  OK(phibal_cuda_linear_weight_gradient(rows, out, in, PHIBAL_ROWS_BF16, dy.data(), x.data(),
                                        dw3.data(), 1, &c.call));
  OK(phibal_cuda_linear_weight_gradient(rows, out, in, PHIBAL_ROWS_BF16, dy.data(), x.data(),
                                        dw2.data(), 0, &c.call));
  cr_expect(same(dw3, dw2) && !same(dw, dw2));
  OK(phibal_cuda_linear_weight_gradient(0, out, in, PHIBAL_ROWS_BF16, dy.data(), x.data(),
                                        dw2.data(), 0, &c.call));
  cr_expect(same(dw2, floats(dw2.size())));
  cr_expect_eq(phibal_cuda_linear(rows, out, in, PHIBAL_ROWS_F32, X.data(), W.data(), nullptr,
                                  PHIBAL_ROWS_BF16, dx3.data(), &c.call),
               PHIBAL_ERROR_ARGUMENT);
}

Test(cuda_products, misuse_is_refused) {
  phibal_ffn ffn = {2, 1, 1, PHIBAL_ACTIVATION_SILU};
  float x[3] = {0}, w[2] = {0};
  int64_t offsets[] = {0, 1, 3}, falling[] = {0, 2, 1}, late[] = {1, 2, 3};
  device c(phibal_cuda_ffn_workspace(&ffn));
  auto forward = [&](const int64_t *host, const float *first) {
    return phibal_cuda_ffn_forward(&ffn, PHIBAL_ROWS_F32, offsets, host, first, w, w, w, x, x, x, x,
                                   &c.call);
  };
  cr_expect_eq(forward(falling, x), PHIBAL_ERROR_ARGUMENT);
  cr_expect_eq(forward(late, x), PHIBAL_ERROR_ARGUMENT);
  cr_expect_eq(forward(offsets, nullptr), PHIBAL_ERROR_ARGUMENT);
  c.call.workspace_bytes = 7;
  cr_expect_eq(forward(offsets, x), PHIBAL_ERROR_MEMORY);
  c.call.workspace_bytes = phibal_cuda_ffn_workspace(&ffn);
  void *library = c.call.products;
  c.call.products = nullptr;
  cr_expect_eq(forward(offsets, x), PHIBAL_ERROR_ARGUMENT);
  c.call.products = library;
  ffn.experts = PHIBAL_MAX_EXPERTS + 1;
  cr_expect_eq(forward(offsets, x), PHIBAL_ERROR_ARGUMENT);
}

/* The host's library of products has cuBLAS's table, and what is grouped keeps to it. */
Test(cuda_products, grouped_as_cublas_groups) {
  cr_expect(library_groups({PHIBAL_ROWS_F32, PHIBAL_ROWS_F32, 0.0f}, 4));
  cr_expect(library_groups({PHIBAL_ROWS_BF16, PHIBAL_ROWS_BF16, 0.0f}, 16));
  cr_expect(!library_groups({PHIBAL_ROWS_BF16, PHIBAL_ROWS_BF16, 0.0f}, 8));
  cr_expect(!library_groups({PHIBAL_ROWS_BF16, PHIBAL_ROWS_F32, 0.0f}, 16));
  alignas(16) float a[8] = {0}, b[8] = {0}, c[8] = {0};
  const void *pa = a, *pb = b;
  void *pc = c;
  device d(0);
  library_product p = {false, false, 1, 1, 1, 1, 1, 1};
  const auto grouped = [&](phibal_rows out) {
    return library_grouped("x", 1, &p, {PHIBAL_ROWS_BF16, out, 0.0f}, &pa, &pb, &pc, &d.call);
  };
  OK(grouped(PHIBAL_ROWS_BF16));
  cr_expect_neq(grouped(PHIBAL_ROWS_F32), PHIBAL_OK);
  pb = b + 1;
  cr_expect_neq(grouped(PHIBAL_ROWS_BF16), PHIBAL_OK);
  pb = b;
  p.m = 2; /* in columns that are 1 long */
  cr_expect_neq(grouped(PHIBAL_ROWS_BF16), PHIBAL_OK);
}

extern "C" int64_t cuda_on_host_separate_flops;

/* From so many FLOPs of the average expert on products are made each by itself; with the same
   bits. Experts without rows do not count. */
Test(cuda_products, separate_from_a_size_on) {
  static const int64_t offsets[] = {0, 0, 3, 8, 8, 12};
  const int64_t out = 8, in = 16, average = 2 * out * in * 4;
  random_stream r = random_start(SEED, 8, 0);
  const halves x = draw_halves(&r, 12 * in), w = draw_halves(&r, 5 * out * in);
  const floats wide_x = numbers(&r, (size_t)(12 * in)),
               wide_w = numbers(&r, (size_t)(5 * out * in));
  halves y[3] = {halves(12 * (size_t)out), y[0], y[0]};
  const int64_t from[] = {INT64_MAX, average + 1, average};
  for (int i = 0; i < 3; i++) {
    device c(products_workspace(5));
    cuda_on_host_separate_flops = from[i];
    const int64_t before = cuda_on_host_started[3];
    OK(products_grouped("x",
                        {PRODUCT_FORWARD, PHIBAL_ROWS_BF16, PHIBAL_ROWS_BF16, out, in, x.data(),
                         w.data(), y[i].data(), false},
                        {5, offsets, offsets, 12}, &c.call));
    OK(phibal_cuda_result(&c.call));
    cr_expect_eq(cuda_on_host_started[3] - before, i == 2, "separate from %ld on", (long)from[i]);
    cr_expect(same(y[i], y[0]), "separate from %ld on: other bits", (long)from[i]);
    floats wide_y(12 * (size_t)out);
    OK(products_grouped("x",
                        {PRODUCT_FORWARD, PHIBAL_ROWS_F32, PHIBAL_ROWS_F32, out, in, wide_x.data(),
                         wide_w.data(), wide_y.data(), false},
                        {5, offsets, offsets, 12}, &c.call));
    cr_expect_eq(cuda_on_host_started[3] - before, i == 2, "binary32 is grouped");
  }
  cuda_on_host_separate_flops = INT64_MAX;
}

extern "C" int32_t cuda_on_host_chunk_rows;

/* In chunks, the bits of one grouped call: forward and backward, added or not, of more experts than
   a warp has threads, with rows that are more, fewer or as many as a chunk's, in the workspace that
   is asked for. */
Test(cuda_products, chunks_of_the_rows) {
  const int32_t E = 70;
  const int64_t out = 8, in = 16;
  random_stream r = random_start(SEED, 9, 0);
  for (int64_t most : {30, 90, 200}) {
    const std::vector<int64_t> offsets = groups_of(&r, E, most);
    const int64_t rows = offsets.back();
    const halves x = draw_halves(&r, rows * out * in), w = draw_halves(&r, E * out * in);
    for (product_form form : {PRODUCT_FORWARD, PRODUCT_INPUT_GRADIENT})
      for (bool add : {false, true}) {
        const halves before = draw_halves(&r, rows * (form == PRODUCT_FORWARD ? out : in));
        halves y[2] = {before, before};
        for (int32_t chunk : {0, 1}) {
          device c(products_workspace(E));
          cuda_on_host_chunk_rows = chunk;
          const int64_t started = cuda_on_host_started[2];
          OK(products_grouped("x",
                              {form, PHIBAL_ROWS_BF16, PHIBAL_ROWS_BF16, out, in, x.data(),
                               w.data(), y[chunk].data(), add},
                              {E, offsets.data(), offsets.data(), rows}, &c.call));
          OK(phibal_cuda_result(&c.call));
          cr_expect_geq(cuda_on_host_started[2] - started, 1 + chunk * (most > 30));
          cuda_on_host_chunk_rows = 0;
        }
        cr_expect(same(y[0], y[1]), "form %d, add %d: other bits", (int)form, add);
      }
  }
}

extern "C" int cuda_on_host_reads_sizes;

/* Sizes on the device: all that the experts' FFN makes has the bits that it has with the offsets on
   the host, in arrays with room for more rows, and nothing is written behind the last one. */
Test(cuda_products, ragged_products_are_those_with_sizes_on_the_host) {
  static const int shapes[][3] = {{5, 24, 16}, {1, 8, 40}, {70, 16, 8}, {6, 8, 8}};
  for (const int *s : shapes) {
    const int E = s[0], d = s[1], f = s[2];
    random_stream r = random_start(SEED, 7, (uint64_t)E);
    std::vector<int64_t> offsets = groups_of(&r, E, 9);
    if (d == f) offsets.assign((size_t)E + 1, 0); /* no rows at all */
    const int64_t rows = offsets.back(), most = rows + 11;
    const phibal_ffn ffn = {E, d, f, PHIBAL_ACTIVATION_GELU};
    const halves x = draw_halves(&r, most * d), dy = draw_halves(&r, most * d);
    const halves gate = draw_halves(&r, E * d * f), up = draw_halves(&r, E * d * f);
    const halves down = draw_halves(&r, E * d * f), rest = draw_halves(&r, most * (d > f ? d : f));
    const floats gates = numbers(&r, (size_t)most), before = numbers(&r, (size_t)(E * d * f));
    struct result {
      halves a, b, h, y, dh, dx;
      floats dw[3], gate_gradient;
    } of[3];
    for (int add = 0; add < 2; add++) {
      /* Offsets on the host, added to 0 where the others overwrite what is there; then sizes on the
         device; then the host's again. */
      for (int which = 0; which < 3; which++) {
        const bool on_device = which == 1;
        result &o = of[which];
        o.a = o.b = o.h = o.dh = halves(rest.begin(), rest.begin() + most * f);
        o.y = o.dx = halves(rest.begin(), rest.begin() + most * d);
        o.dw[0] = o.dw[1] = o.dw[2] = which || add ? before : floats(before.size());
        o.gate_gradient = floats((size_t)rows);
        const phibal_cuda_routes routes = {rows, 1, nullptr, gates.data(), o.gate_gradient.data()};
        const phibal_cuda_groups at = {offsets.data(), on_device ? nullptr : offsets.data(), most};
        device c(phibal_cuda_ffn_workspace(&ffn));
        OK(phibal_cuda_ffn_forward_groups(&ffn, PHIBAL_ROWS_BF16, &at, x.data(), gate.data(),
                                          up.data(), down.data(), o.a.data(), o.b.data(),
                                          o.h.data(), o.y.data(), &c.call));
        OK(phibal_cuda_ffn_backward_recompute(
            &ffn, PHIBAL_ROWS_BF16, &at, &routes, x.data(), gate.data(), up.data(), down.data(),
            o.a.data(), o.b.data(), dy.data(), o.dh.data(), o.dx.data(), o.dw[0].data(),
            o.dw[1].data(), o.dw[2].data(), which ? add : 1, &c.call));
      }
      const result &a = of[0];
      for (const result &b : {of[1], of[2]}) {
        cr_expect(same(a.a, b.a) && same(a.b, b.b) && same(a.h, b.h) && same(a.y, b.y),
                  "ragged, forward, E = %d", E);
        cr_expect(same(a.dh, b.dh) && same(a.dx, b.dx) && same(a.gate_gradient, b.gate_gradient),
                  "ragged, gradients of rows, E = %d", E);
        for (int i = 0; i < 3; i++)
          cr_expect(same(a.dw[i], b.dw[i]), "ragged, gradient %d of weights, E = %d, add %d", i, E,
                    add);
        cr_expect_eq(memcmp(&b.y[(size_t)(rows * d)], rest.data() + rows * d, 22 * (size_t)d), 0,
                     "ragged, written behind the last row, E = %d", E);
      }
    }
  }
}

Test(cuda_products, sizes_on_the_device_are_refused_where_the_library_does_not_read_them) {
  const phibal_ffn ffn = {4, 24, 16, PHIBAL_ACTIVATION_SILU};
  device c(phibal_cuda_ffn_workspace(&ffn));
  const auto takes = [&](phibal_rows type, uintptr_t places) {
    return phibal_cuda_ffn_sizes_on_device(&ffn, type, 100, places, &c.call);
  };
  cr_expect_eq(takes(PHIBAL_ROWS_BF16, 16), 1);
  cr_expect_eq(takes(PHIBAL_ROWS_BF16, 8), 0);
  cr_expect_eq(takes(PHIBAL_ROWS_F32, 16), 0);
  const phibal_ffn narrow = {4, 24, 12, PHIBAL_ACTIVATION_SILU}; /* rows of 24 bytes */
  cr_expect_eq(phibal_cuda_ffn_sizes_on_device(&narrow, PHIBAL_ROWS_BF16, 100, 0, &c.call), 0);
  std::vector<int64_t> offsets = {0, 1, 2, 3, 4};
  floats x(4 * 24), w(4 * 24 * 16), a(4 * 16), b(4 * 16);
  const phibal_cuda_groups at = {offsets.data(), nullptr, 4};
  cr_expect_eq(phibal_cuda_ffn_gate_up(&ffn, PHIBAL_ROWS_F32, &at, x.data(), w.data(), w.data(),
                                       a.data(), b.data(), &c.call),
               PHIBAL_ERROR_UNSUPPORTED);
  cr_expect(strstr(phibal_status_message(), "needs the experts' offsets on the host"), "%s",
            phibal_status_message());
  cuda_on_host_reads_sizes = 0;
  cr_expect_eq(takes(PHIBAL_ROWS_BF16, 16), 0);
  cuda_on_host_reads_sizes = 1;
}
