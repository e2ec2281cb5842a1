/* Experts that compute nothing (E10): by hand, slots that are not touched, any number of threads,
   refusals. The enclosures are in verify/operation_zero_experts.c. */
#include <criterion/criterion.h>
#include <math.h>
#include <omp.h>
#include <phibal/expert.h>
#include <phibal/zero_experts.h>
#include <string.h>

/* Of four experts 2 and 3 compute nothing. */
static const int32_t experts[6] = {3, 2, 0, 1, -1, 2};
static const float gates[6] = {0.5f, 0.25f, 0.5f, 0.5f, 7, 2};
static const float x[6] = {1, 2, 3, 4, -1, 5}, y[6] = {10, 20, 30, 40, 50, 60};
static const float y_gradient[6] = {1, -1, 2, 2, 4, 3},
                   x_gradient[6] = {100, 200, 300, 400, 500, 600};

Test(zero_experts, by_hand) {
  int32_t real[6];
  float out[6], back[6], of_gates[6] = {9, 9, 9, 9, 9, 9};
  cr_assert_eq(phibal_zero_experts_dispatch(3, 2, 4, 2, experts, real), PHIBAL_OK);
  const int32_t left[6] = {-1, -1, 0, 1, -1, -1};
  cr_expect_eq(memcmp(real, left, sizeof left), 0);
  /* What is left is what a layer of two experts takes. */
  int64_t offsets[3], source[6], row[6];
  cr_assert_eq(phibal_permutation(3, 2, 2, real, offsets, source, row), PHIBAL_OK);
  cr_expect(offsets[2] == 2 && source[0] == 2 && source[1] == 3 && row[0] == -1);
  memcpy(out, y, sizeof y);
  memcpy(back, x_gradient, sizeof x_gradient);
  cr_assert_eq(phibal_zero_experts(PHIBAL_ZERO_IDENTITY, 3, 2, 4, 2, 2, experts, gates, x, out),
               PHIBAL_OK);
  const float sum[6] = {10.75f, 21.5f, 30, 40, 48, 70};
  cr_expect_eq(memcmp(out, sum, sizeof sum), 0);
  cr_assert_eq(phibal_zero_experts_backward(PHIBAL_ZERO_IDENTITY, 3, 2, 4, 2, 2, experts, gates, x,
                                            y_gradient, back, of_gates),
               PHIBAL_OK);
  const float backs[6] = {100.75f, 199.25f, 300, 400, 508, 606}, dots[6] = {-1, -1, 9, 9, 9, 11};
  cr_expect_eq(memcmp(back, backs, sizeof backs), 0);
  cr_expect_eq(memcmp(of_gates, dots, sizeof dots), 0, "other slots are not touched");
  /* Null experts give nothing, and their gates have no gradient. */
  memcpy(out, y, sizeof y);
  memcpy(back, x_gradient, sizeof x_gradient);
  cr_assert_eq(phibal_zero_experts(PHIBAL_ZERO_NULL, 3, 2, 4, 2, 2, experts, gates, x, out),
               PHIBAL_OK);
  cr_assert_eq(phibal_zero_experts_backward(PHIBAL_ZERO_NULL, 3, 2, 4, 2, 2, experts, gates, x,
                                            y_gradient, back, of_gates),
               PHIBAL_OK);
  const float nothing[6] = {0, 0, 9, 9, 9, 0};
  cr_expect(!memcmp(out, y, sizeof y) && !memcmp(back, x_gradient, sizeof back));
  cr_expect_eq(memcmp(of_gates, nothing, sizeof nothing), 0);
}

enum { TOKENS = 500, WIDTH = 37, ACTIVE = 4, EXPERTS = 12 };

Test(zero_experts, threads_change_no_bit) {
  static int32_t of[TOKENS * ACTIVE];
  static float g[TOKENS * ACTIVE], from[TOKENS * WIDTH], to[2][TOKENS * WIDTH];
  static float back[2][TOKENS * WIDTH], of_gates[2][TOKENS * ACTIVE];
  uint64_t state = 1;
  for (int i = 0; i < TOKENS * WIDTH; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    from[i] = (float)((int)(state >> 40) - (1 << 23)) * 0x1p-20f;
    if (i >= TOKENS * ACTIVE) continue;
    of[i] = (int32_t)(state >> 33) % (EXPERTS + 1) - 1;
    g[i] = (float)(state >> 50) * 0x1p-14f;
  }
  for (int run = 0; run < 2; run++) {
    omp_set_num_threads(1 + 2 * run);
    memset(to[run], 0, sizeof to[run]);
    memset(back[run], 0, sizeof back[run]);
    cr_assert_eq(phibal_zero_experts(PHIBAL_ZERO_IDENTITY, TOKENS, ACTIVE, EXPERTS, 5, WIDTH, of, g,
                                     from, to[run]),
                 PHIBAL_OK);
    cr_assert_eq(phibal_zero_experts_backward(PHIBAL_ZERO_IDENTITY, TOKENS, ACTIVE, EXPERTS, 5,
                                              WIDTH, of, g, from, from, back[run], of_gates[run]),
                 PHIBAL_OK);
  }
  cr_expect(!memcmp(to[0], to[1], sizeof to[0]) && !memcmp(back[0], back[1], sizeof back[0]) &&
            !memcmp(of_gates[0], of_gates[1], sizeof of_gates[0]));
}

Test(zero_experts, refusals) {
  int32_t real[6], beyond[2] = {0, 4}, below[2] = {-2, 0};
  float out[6] = {9};
  cr_expect_eq(phibal_zero_experts_dispatch(1, 2, 4, 2, beyond, real), PHIBAL_ERROR_ARGUMENT);
  cr_expect(strstr(phibal_status_message(), "slot 1 of token 0"), "%s", phibal_status_message());
  cr_expect_eq(phibal_zero_experts_dispatch(1, 2, 4, 2, below, real), PHIBAL_ERROR_ARGUMENT);
  cr_expect_eq(phibal_zero_experts_dispatch(1, 2, 4, 5, experts, real), PHIBAL_ERROR_ARGUMENT);
  cr_expect_eq(phibal_zero_experts_dispatch(1, 2, 4, -1, experts, real), PHIBAL_ERROR_ARGUMENT);
  cr_expect_eq(phibal_zero_experts_dispatch(1, 2, 4, 4, experts, real), PHIBAL_OK, "all of them");
  cr_expect_eq(phibal_zero_experts_dispatch(0, 2, 4, 2, NULL, NULL), PHIBAL_OK, "no tokens");
  cr_expect_eq(phibal_zero_experts((phibal_zero_output)2, 1, 2, 4, 2, 2, experts, gates, x, out),
               PHIBAL_ERROR_ARGUMENT);
  cr_expect_eq(phibal_zero_experts(PHIBAL_ZERO_IDENTITY, 1, 2, 4, 2, 2, experts, gates, NULL, out),
               PHIBAL_ERROR_ARGUMENT);
  cr_expect_eq(phibal_zero_experts(PHIBAL_ZERO_IDENTITY, 1, 2, 4, 2, 2, beyond, gates, x, out),
               PHIBAL_ERROR_ARGUMENT);
  cr_expect_eq(out[0], 9, "something was written");
  cr_expect_eq(phibal_zero_experts_backward(PHIBAL_ZERO_IDENTITY, 1, 2, 4, 2, 2, experts, gates, x,
                                            y_gradient, out, NULL),
               PHIBAL_ERROR_ARGUMENT);
}
