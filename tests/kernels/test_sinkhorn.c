/* Sinkhorn's scaling (L10): sums of rows and columns, shifts, any number of threads, refusals. The
   enclosures are in verify/operation_sinkhorn.c. */
#include <criterion/criterion.h>
#include <math.h>
#include <omp.h>
#include <phibal/sinkhorn.h>
#include <string.h>

enum { TOKENS = 600, EXPERTS = 24 };

static float logits[TOKENS * EXPERTS], plan[TOKENS * EXPERTS], other[TOKENS * EXPERTS];
static uint8_t mask[TOKENS];

static void make(void) {
  uint64_t state = 1;
  for (int i = 0; i < TOKENS * EXPERTS; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    /* Multiples of 2^-10: a shift by a whole number is exact. */
    logits[i] = (float)((int)(state >> 53) - 1024) / 1024;
  }
  for (int t = 0; t < TOKENS; t++) mask[t] = t % 5 != 2;
}

static void run(int32_t rounds, float *to) {
  cr_assert_eq(phibal_sinkhorn(TOKENS, EXPERTS, rounds, logits, mask, to), PHIBAL_OK, "%s",
               phibal_status_message());
}

Test(sinkhorn, rows_and_columns) {
  make();
  run(50, plan);
  for (int e = 0; e < EXPERTS; e++) {
    double sum = 0;
    for (int t = 0; t < TOKENS; t++) sum += (double)plan[t * EXPERTS + e];
    cr_expect_float_eq(sum, 1.0 / EXPERTS, 1e-8);
  }
  for (int t = 0; t < TOKENS; t++) {
    double sum = 0;
    for (int e = 0; e < EXPERTS; e++) sum += (double)plan[t * EXPERTS + e];
    cr_expect_float_eq(sum, mask[t] ? 1.0 / (TOKENS / 5 * 4) : 0, 1e-9, "row %d: %g", t, sum);
  }
}

Test(sinkhorn, threads_and_shifts_change_no_bit) {
  make();
  omp_set_num_threads(1);
  run(7, plan);
  omp_set_num_threads(3);
  run(7, other);
  cr_expect_eq(memcmp(plan, other, sizeof plan), 0, "threads");
  for (int i = 0; i < TOKENS * EXPERTS; i++) logits[i] += (float)(i / EXPERTS % 7) * 500 - 1000;
  for (int i = 0; i < TOKENS; i++)
    if (!mask[i]) logits[i * EXPERTS] = NAN;
  run(7, other);
  cr_expect_eq(memcmp(plan, other, sizeof plan), 0, "shifts, and what stands in padding");
}

Test(sinkhorn, refusals) {
  const float wide[2] = {-2048, 2049}, good[2] = {-2048, 2048}, bad[2] = {0, INFINITY};
  float out[2];
  cr_expect_eq(phibal_sinkhorn(1, 2, 3, good, NULL, out), PHIBAL_OK);
  cr_expect_eq(phibal_sinkhorn(1, 2, 3, wide, NULL, out), PHIBAL_ERROR_DOMAIN);
  cr_expect_eq(phibal_sinkhorn(1, 2, 3, bad, NULL, out), PHIBAL_ERROR_NONFINITE);
  const uint8_t none[1] = {0};
  cr_expect_eq(phibal_sinkhorn(1, 2, 3, bad, none, out), PHIBAL_OK);
  cr_expect_eq(out[0], 0.0f);
  cr_expect_eq(phibal_sinkhorn(1, 2, 0, good, NULL, out), PHIBAL_ERROR_ARGUMENT);
  cr_expect_eq(phibal_sinkhorn(1, 2, 51, good, NULL, out), PHIBAL_ERROR_ARGUMENT);
  cr_expect_eq(phibal_sinkhorn(1, 0, 1, good, NULL, out), PHIBAL_ERROR_ARGUMENT);
  cr_expect_eq(phibal_sinkhorn(0, 2, 1, NULL, NULL, NULL), PHIBAL_OK);
}
