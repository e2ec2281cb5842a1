/* A factor for each expert (R5f): by hand, sums that only an exact accumulator gets right, any
   number of threads and any order of tokens, and refusals. The enclosures are in
   verify/operation_gate_factor.c. */
#include <criterion/criterion.h>
#include <math.h>
#include <omp.h>
#include <phibal/gate_factor.h>
#include <string.h>

Test(gate_factor, by_hand) {
  const int32_t experts[6] = {2, 0, -1, -1, 0, -1};
  const float gates[6] = {0.75f, 0.25f, 5, NAN, 1, 3}, factor[3] = {2, 7, -0.5f};
  const float gradient[6] = {4, 8, 5, 6, 3, INFINITY};
  float scaled[6], gate_gradient[6], factor_gradient[3];
  cr_assert_eq(phibal_gate_factor(3, 2, 3, experts, gates, factor, scaled), PHIBAL_OK);
  const float right[6] = {-0.375f, 0.5f, 0, 0, 2, 0};
  cr_expect_eq(memcmp(scaled, right, sizeof right), 0);
  cr_assert_eq(phibal_gate_factor_backward(3, 2, 3, experts, gates, factor, gradient, gate_gradient,
                                           factor_gradient),
               PHIBAL_OK);
  const float back[6] = {-2, 16, 0, 0, 6, 0}, sums[3] = {5, 0, 3};
  cr_expect_eq(memcmp(gate_gradient, back, sizeof back), 0);
  cr_expect_eq(memcmp(factor_gradient, sums, sizeof sums), 0);
  /* In place. */
  memcpy(scaled, gates, sizeof scaled);
  cr_assert_eq(phibal_gate_factor(3, 2, 3, experts, scaled, factor, scaled), PHIBAL_OK);
  cr_expect_eq(memcmp(scaled, right, sizeof right), 0);
}

static float sum_of(int64_t n, const float *gates, const float *gradient) {
  static int32_t experts[64];
  const float factor = 1;
  float gate_gradient[64], sum;
  cr_assert_leq(n, 64);
  cr_assert_eq(
      phibal_gate_factor_backward(n, 1, 1, experts, gates, &factor, gradient, gate_gradient, &sum),
      PHIBAL_OK, "%s", phibal_status_message());
  return sum;
}

/* Sums whose value is known, and that no floating-point accumulator holds. */
Test(gate_factor, exact_sums) {
  const float big = 0x1.fffffep127f, small = 0x1p-149f;
#define SUM(n, ...)                                                                                \
  sum_of(n, (const float[][n]){__VA_ARGS__}[0], (const float[][n]){__VA_ARGS__}[1])
  cr_expect_eq(SUM(3, {big, 1, big}, {big, 1, -big}), 1, "what is left of 2^256");
  cr_expect_eq(SUM(3, {big, small, -big}, {big, 1, big}), small);
  cr_expect_eq(SUM(2, {big, big}, {big, -0x1.fffffcp127f}), INFINITY, "2^231 has no binary32");
  cr_expect_eq(SUM(2, {big, big}, {big, -big}), 0);
  cr_expect_eq(SUM(2, {small, 0x1p-74f}, {small, 0x1p-76f}), small, "2^-150 and a bit more");
  cr_expect_eq(SUM(1, {0x1p-74f}, {0x1p-76f}), 0, "2^-150 is a tie");
  cr_expect_eq(SUM(1, {0x1.8p-74f}, {0x1p-75f}), 2 * small, "a tie, to even");
  cr_expect_eq(SUM(2, {0x1.8p-74f, -small}, {0x1p-75f, small}), small, "just below the tie");
  cr_expect_eq(SUM(2, {1, 0x1p-12f}, {1, 0x1p-12f}), 1, "a tie");
  cr_expect_eq(SUM(3, {1, 0x1p-12f, small}, {1, 0x1p-12f, small}), 1 + 0x1p-23f);
  cr_expect_eq(SUM(3, {-1, -0x1p-12f, -small}, {1, 0x1p-12f, small}), -(1 + 0x1p-23f));
  cr_expect_eq(SUM(2, {0x1.fffffep0f, 0x1p-12f}, {1, 0x1p-12f}), 2, "a carry into the exponent");
  cr_expect_eq(SUM(2, {big, 0x1p63f}, {1, 0x1p40f}), INFINITY, "2^128 - 2^103");
  cr_expect_eq(SUM(3, {big, 0x1p63f, -small}, {1, 0x1p40f, small}), big, "just below it");
  cr_expect_eq(SUM(3, {0x1.fffffcp-127f, small, 0x1p-75f}, {1, 1, 0x1p-75f}), 0x1p-126f,
               "from the subnormals to the normal numbers");
#undef SUM
}

enum { TOKENS = 3000, ACTIVE = 4, EXPERTS = 37, SLOTS = TOKENS * ACTIVE };

Test(gate_factor, threads_and_order_change_no_bit) {
  static int32_t experts[SLOTS], turned[SLOTS];
  static float gates[SLOTS], gradient[SLOTS], to[SLOTS], other_gates[SLOTS], other_gradient[SLOTS];
  float factor[EXPERTS], sum[EXPERTS], other[EXPERTS];
  uint64_t state = 1;
  for (int i = 0; i < SLOTS; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    experts[i] = (int32_t)(state >> 33) % (EXPERTS + 1) - 1;
    gates[i] = ldexpf((float)(state >> 40), -24 - (int)(state >> 20 & 63));
    gradient[i] = (float)((int)(state >> 36 & 0xffff) - 0x8000);
  }
  for (int e = 0; e < EXPERTS; e++) factor[e] = (float)e - 3;
  omp_set_num_threads(1);
  cr_assert_eq(phibal_gate_factor_backward(TOKENS, ACTIVE, EXPERTS, experts, gates, factor,
                                           gradient, to, sum),
               PHIBAL_OK);
  for (int i = 0; i < SLOTS; i++) {
    turned[i] = experts[SLOTS - 1 - i];
    other_gates[i] = gates[SLOTS - 1 - i];
    other_gradient[i] = gradient[SLOTS - 1 - i];
  }
  for (int threads = 1; threads <= 3; threads++) {
    omp_set_num_threads(threads);
    cr_assert_eq(phibal_gate_factor_backward(TOKENS, ACTIVE, EXPERTS, turned, other_gates, factor,
                                             other_gradient, to, other),
                 PHIBAL_OK);
    cr_expect_eq(memcmp(sum, other, sizeof sum), 0, "%d threads", threads);
  }
}

Test(gate_factor, refusals) {
  const int32_t experts[2] = {0, -1}, beyond[2] = {0, 2}, below[2] = {0, -2};
  const float good[2] = {1, 1}, nan[2] = {1, NAN}, bad_gate[2] = {INFINITY, 1};
  float out[2] = {9, 9}, sum[2] = {9, 9};
  cr_expect_eq(phibal_gate_factor(1, 2, 2, experts, good, nan, out), PHIBAL_ERROR_NONFINITE);
  cr_expect(strstr(phibal_status_message(), "expert 1"), "%s", phibal_status_message());
  cr_expect_eq(phibal_gate_factor(1, 2, 2, beyond, good, good, out), PHIBAL_ERROR_ARGUMENT);
  cr_expect_eq(phibal_gate_factor(1, 2, 2, below, good, good, out), PHIBAL_ERROR_ARGUMENT);
  cr_expect(strstr(phibal_status_message(), "slot 1 of token 0"), "%s", phibal_status_message());
  cr_expect_eq(phibal_gate_factor(1, 2, 2, experts, bad_gate, good, out), PHIBAL_ERROR_NONFINITE);
  cr_expect_eq(phibal_gate_factor(1, 2, 2, experts, nan, good, out), PHIBAL_OK, "of padding");
  out[0] = 9;
  cr_expect_eq(phibal_gate_factor_backward(1, 2, 2, experts, good, good, bad_gate, out, sum),
               PHIBAL_ERROR_NONFINITE);
  cr_expect(strstr(phibal_status_message(), "gradient"), "%s", phibal_status_message());
  cr_expect_eq(phibal_gate_factor_backward(1, 2, 2, experts, good, nan, good, out, sum),
               PHIBAL_ERROR_NONFINITE);
  cr_expect(out[0] == 9 && sum[0] == 9 && sum[1] == 9, "something was written");
  cr_expect_eq(phibal_gate_factor(1, 0, 2, experts, good, good, out), PHIBAL_ERROR_ARGUMENT);
  cr_expect_eq(phibal_gate_factor(-1, 1, 2, experts, good, good, out), PHIBAL_ERROR_ARGUMENT);
  cr_expect_eq(phibal_gate_factor(1, 2, 2, NULL, good, good, out), PHIBAL_ERROR_ARGUMENT);
  cr_expect_eq(phibal_gate_factor(1, 2, 2, experts, good, NULL, out), PHIBAL_ERROR_ARGUMENT);
  cr_expect_eq(phibal_gate_factor_backward(1, 2, 2, experts, good, good, good, out, NULL),
               PHIBAL_ERROR_ARGUMENT);
  cr_expect_eq(phibal_gate_factor(0, 2, 2, NULL, NULL, good, NULL), PHIBAL_OK, "no tokens");
}
