/* Capacity (E7), (E8), (E9): limits by hand, what is kept by counting, any number of threads, and
   refusals. The enclosures are in verify/operation_capacity.c. */
#include <criterion/criterion.h>
#include <math.h>
#include <omp.h>
#include <phibal/capacity.h>
#include <phibal/expert.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state = 1;
static uint64_t draw(uint64_t n) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (state >> 33) % n;
}

static int64_t limit_of(float factor, int64_t minimum, int64_t tokens, int32_t k, int32_t experts) {
  int64_t limit = -1;
  cr_assert_eq(phibal_capacity_limit(factor, minimum, tokens, k, experts, &limit), PHIBAL_OK, "%s",
               phibal_status_message());
  return limit;
}

Test(capacity, limits_by_hand) {
  cr_expect_eq(limit_of(1.0f, 0, 64, 2, 8), 16);
  cr_expect_eq(limit_of(1.25f, 0, 64, 2, 8), 20);
  cr_expect_eq(limit_of(1.0f, 0, 65, 1, 8), 9, "up, not to nearest");
  cr_expect_eq(limit_of(1.0f, 4, 8, 1, 8), 4);
  cr_expect_eq(limit_of(1.5f, 0, 12, 1, 15), 2, "1.2");
  cr_expect_eq(limit_of(0.0f, 0, 64, 2, 8), 0);
  cr_expect_eq(limit_of(1.0f, 0, 0, 2, 8), 0);
  cr_expect_eq(limit_of(1.1f, 0, 10, 1, 1), 12, "1.1f is above 1.1");
  cr_expect_eq(limit_of(0x1.fffffep-1f, 0, 10, 1, 1), 10);
  cr_expect_eq(limit_of(1.0f + 0x1p-23f, 0, 8, 1, 1), 9);
  cr_expect_eq(limit_of(0x1p-149f, 0, 1, 1, 1024), 1, "more than nothing");
  cr_expect_eq(limit_of(0x1p-140f, 0, (int64_t)1 << 38, 1, 1), 1);
  cr_expect_eq(limit_of(1024.0f, 0, (int64_t)1 << 38, 1, 1), (int64_t)1 << 48);
  cr_expect_eq(limit_of(1.0f, 0, ((int64_t)1 << 38) / 3, 3, 7),
               (((int64_t)1 << 38) / 3 * 3 + 6) / 7);
  /* Against products and quotients of whole numbers: multiples of 1/8 have no rounding. */
  for (int i = 0; i < 2000; i++) {
    const int64_t eighths = (int64_t)draw(64), tokens = (int64_t)draw(100000);
    const int32_t k = (int32_t)draw(16) + 1, experts = (int32_t)draw(300) + 1;
    const int64_t wanted = (eighths * k * tokens + 8 * experts - 1) / (8 * experts);
    cr_assert_eq(limit_of((float)eighths / 8, 0, tokens, k, experts), wanted);
  }
}

enum { TOKENS = 3000, ACTIVE = 4, EXPERTS = 37, SLOTS = TOKENS * ACTIVE };

typedef struct batch {
  int32_t experts[SLOTS], kept[SLOTS];
  float gates[SLOTS];
  int64_t offsets[EXPERTS + 1], source[SLOTS], row[SLOTS], place[SLOTS];
} batch;

static batch b;

static void make(void) {
  for (int t = 0; t < TOKENS; t++)
    for (int s = 0; s < ACTIVE; s++) {
      b.experts[t * ACTIVE + s] =
          t % 7 == 3 ? -1 : (int32_t)((draw(9) * ACTIVE + (uint64_t)s) % 36);
      b.gates[t * ACTIVE + s] = (float)draw(50) / 64;
    }
  cr_assert_eq(phibal_permutation(TOKENS, ACTIVE, EXPERTS, b.experts, b.offsets, b.source, b.row),
               0);
}

static bool before(phibal_capacity_policy policy, int i, int j) {
  const int by_slot = i % ACTIVE - j % ACTIVE;
  if (policy == PHIBAL_CAPACITY_SLOT && by_slot != 0) return by_slot < 0;
  if (policy == PHIBAL_CAPACITY_GATE && b.gates[i] != b.gates[j]) return b.gates[i] > b.gates[j];
  return i < j;
}

static void run(phibal_capacity_policy policy, int64_t limit) {
  memset(b.kept, 0x55, sizeof b.kept);
  memset(b.place, 0x55, sizeof b.place);
  cr_assert_eq(phibal_capacity(policy, TOKENS, ACTIVE, EXPERTS, limit, b.offsets, b.source, b.gates,
                               b.kept, b.place),
               PHIBAL_OK, "%s", phibal_status_message());
}

Test(capacity, fewer_than_the_limit_go_before_what_is_kept) {
  make();
  for (int policy = 0; policy < 3; policy++)
    for (int64_t limit = 0; limit <= 400; limit += 57) {
      run((phibal_capacity_policy)policy, limit);
      int64_t kept[EXPERTS] = {0};
      for (int i = 0; i < SLOTS; i += 11) {
        int64_t count = 0, place = 0;
        for (int j = 0; j < SLOTS; j++) {
          if (b.experts[j] != b.experts[i]) continue;
          count += before((phibal_capacity_policy)policy, j, i);
          place += b.kept[j] >= 0 &&
                   (policy == PHIBAL_CAPACITY_GATE ? j < i
                                                   : before((phibal_capacity_policy)policy, j, i));
        }
        const bool stays = b.experts[i] >= 0 && count < limit;
        cr_assert_eq(b.kept[i], stays ? b.experts[i] : -1, "policy %d, limit %d, route %d", policy,
                     (int)limit, i);
        cr_assert_eq(b.place[i], stays ? place : -1);
      }
      for (int i = 0; i < SLOTS; i++)
        if (b.kept[i] >= 0) kept[b.kept[i]]++;
      for (int e = 0; e < EXPERTS; e++) {
        const int64_t n = b.offsets[e + 1] - b.offsets[e];
        cr_assert_eq(kept[e], n < limit ? n : limit);
      }
    }
}

Test(capacity, any_number_of_threads) {
  static int32_t alone[SLOTS];
  static int64_t place[SLOTS];
  make();
  for (int policy = 0; policy < 3; policy++) {
    omp_set_num_threads(1);
    run((phibal_capacity_policy)policy, 100);
    memcpy(alone, b.kept, sizeof alone);
    memcpy(place, b.place, sizeof place);
    omp_set_num_threads(4);
    run((phibal_capacity_policy)policy, 100);
    cr_assert_eq(memcmp(alone, b.kept, sizeof alone), 0);
    cr_assert_eq(memcmp(place, b.place, sizeof place), 0);
  }
}

/* Zeros of both signs are equal, negative gates are in order, and the largest numbers too. */
Test(capacity, gates_of_every_sign) {
  const float gates[6] = {-0.0f, 0.0f, -2.0f, -1.0f, -3.4028234e38f, 3.4028234e38f};
  const int64_t offsets[2] = {0, 6}, source[6] = {0, 1, 2, 3, 4, 5};
  const int order[6] = {5, 0, 1, 3, 2, 4};
  int32_t kept[6];
  for (int limit = 0; limit <= 6; limit++) {
    cr_assert_eq(
        phibal_capacity(PHIBAL_CAPACITY_GATE, 6, 1, 1, limit, offsets, source, gates, kept, NULL),
        PHIBAL_OK);
    for (int n = 0; n < 6; n++)
      cr_expect_eq(kept[order[n]], n < limit ? 0 : -1, "%d, %d", limit, n);
  }
}

Test(capacity, gates_and_their_gradient) {
  const int32_t kept[6] = {3, -1, 4, -1, -1, -1};
  const float gates[6] = {0.5f, 0.25f, 0.25f, 0.5f, 0.25f, NAN};
  const float gradient[6] = {1.0f, 7.0f, 3.0f, 7.0f, 7.0f, 7.0f};
  float out[6];
  cr_assert_eq(phibal_capacity_gates(2, 3, false, kept, gates, out), PHIBAL_OK);
  const float copied[6] = {0.5f, 0, 0.25f};
  cr_expect_eq(memcmp(out, copied, sizeof out), 0);
  cr_assert_eq(phibal_capacity_gates(2, 3, true, kept, gates, out), PHIBAL_OK);
  const float divided[6] = {(float)(2.0 / 3), 0, (float)(1.0 / 3)};
  cr_expect_eq(memcmp(out, divided, sizeof out), 0);
  cr_assert_eq(phibal_capacity_gates_backward(2, 3, false, kept, gates, gradient, out), PHIBAL_OK);
  const float passed[6] = {1, 0, 3};
  cr_expect_eq(memcmp(out, passed, sizeof out), 0);
  /* (1 - 5/3) / .75 and (3 - 5/3) / .75 */
  cr_assert_eq(phibal_capacity_gates_backward(2, 3, true, kept, gates, gradient, out), PHIBAL_OK);
  cr_expect_float_eq((double)out[0], -8.0 / 9, 1e-6);
  cr_expect_float_eq((double)out[2], 16.0 / 9, 1e-6);
  cr_expect_eq(out[1], 0.0f);
  const float zeros[3] = {0, 0, 0};
  cr_assert_eq(phibal_capacity_gates(1, 3, true, kept, zeros, out), PHIBAL_OK);
  cr_expect_eq(memcmp(out, zeros, sizeof zeros), 0, "0 of a sum of 0");
}

Test(capacity, refusals) {
  int64_t offsets[3] = {0, 1, 2}, source[2] = {0, 1}, limit;
  int32_t kept[2] = {0, 1};
  float gates[2] = {1, NAN}, out[2];
  const phibal_capacity_policy by_gate = PHIBAL_CAPACITY_GATE, by_token = PHIBAL_CAPACITY_TOKEN;
  cr_expect_eq(phibal_capacity(by_gate, 1, 2, 2, 1, offsets, source, gates, kept, NULL),
               PHIBAL_ERROR_NONFINITE);
  cr_expect(strstr(phibal_status_message(), "expert 1"), "%s", phibal_status_message());
  cr_expect_eq(phibal_capacity(by_token, 1, 2, 2, 1, offsets, source, NULL, kept, NULL), PHIBAL_OK);
  cr_expect_eq(phibal_capacity(by_gate, 1, 2, 2, 1, offsets, source, NULL, kept, NULL),
               PHIBAL_ERROR_ARGUMENT);
  cr_expect_eq(phibal_capacity(by_token, 1, 2, 2, -1, offsets, source, NULL, kept, NULL),
               PHIBAL_ERROR_ARGUMENT);
  cr_expect_eq(
      phibal_capacity((phibal_capacity_policy)3, 1, 2, 2, 1, offsets, source, gates, kept, NULL),
      PHIBAL_ERROR_ARGUMENT);
  source[1] = 2;
  cr_expect_eq(phibal_capacity(by_token, 1, 2, 2, 1, offsets, source, NULL, kept, NULL),
               PHIBAL_ERROR_ARGUMENT);
  cr_expect(strstr(phibal_status_message(), "a row of expert 1"), "%s", phibal_status_message());
  offsets[1] = 3;
  cr_expect_eq(phibal_capacity(by_token, 1, 2, 2, 1, offsets, source, NULL, kept, NULL),
               PHIBAL_ERROR_ARGUMENT);
  kept[0] = 0, kept[1] = 1;
  cr_expect_eq(phibal_capacity_gates(1, 2, false, kept, gates, out), PHIBAL_ERROR_NONFINITE);
  gates[1] = -1;
  cr_expect_eq(phibal_capacity_gates(1, 2, false, kept, gates, out), PHIBAL_OK);
  cr_expect_eq(phibal_capacity_gates(1, 2, true, kept, gates, out), PHIBAL_ERROR_DOMAIN);
  const float factors[] = {-1, NAN, INFINITY, 1024.5f};
  for (size_t i = 0; i < sizeof factors / sizeof *factors; i++)
    cr_expect_eq(phibal_capacity_limit(factors[i], 0, 4, 1, 2, &limit), PHIBAL_ERROR_ARGUMENT);
  cr_expect_eq(phibal_capacity_limit(1, -1, 4, 1, 2, &limit), PHIBAL_ERROR_ARGUMENT);
  cr_expect_eq(phibal_capacity_limit(1, 0, ((int64_t)1 << 38) + 1, 1, 2, &limit),
               PHIBAL_ERROR_ARGUMENT);
  cr_expect_eq(phibal_capacity_limit(1, 0, 4, 1, 0, &limit), PHIBAL_ERROR_ARGUMENT);
}
