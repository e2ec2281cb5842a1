/* The permutation by expert and the copies that follow it, against their definitions. All exact. */
#include "router_oracle.h"
#include <criterion/criterion.h>
#include <omp.h>
#include <phibal/expert.h>
#include <string.h>

/* Random routes with padding; `used` experts only, so that others stay empty. */
static int32_t *random_routes(uint64_t *state, int64_t slots, int32_t active, int32_t used) {
  int32_t *experts = malloc(((size_t)slots + 1) * sizeof *experts);
  for (int64_t i = 0; i < slots; i++) {
    bool padding = i % active == 0 ? random_bits(state) % 5 == 0 : experts[i - 1] < 0;
    experts[i] = padding ? -1 : (int32_t)(random_bits(state) % (uint64_t)used);
  }
  return experts;
}

static void check(int64_t tokens, int32_t active, int32_t E, const int32_t *experts) {
  int64_t slots = tokens * active;
  int64_t *offsets = malloc(((size_t)E + 2) * sizeof *offsets);
  int64_t *source = malloc(((size_t)slots + 1) * sizeof *source);
  int64_t *row = malloc(((size_t)slots + 1) * sizeof *row);
  offsets[E + 1] = -77;
  for (int64_t i = 0; i <= slots; i++) source[i] = row[i] = -77;
  cr_assert_eq(phibal_permutation(tokens, active, E, experts, offsets, source, row), PHIBAL_OK,
               "%s", phibal_status_message());
  int64_t n = 0;
  for (int32_t e = 0; e < E; e++) {
    cr_assert_eq(offsets[e], n);
    for (int64_t i = 0; i < slots; i++) {
      if (experts[i] != e) continue;
      cr_assert_eq(source[n], i);
      cr_assert_eq(row[i], n);
      n++;
    }
  }
  cr_assert_eq(offsets[E], n);
  for (int64_t i = 0; i < slots; i++)
    if (experts[i] < 0) cr_assert_eq(row[i], -1);
  for (int64_t i = n; i <= slots; i++) cr_assert_eq(source[i], -77, "written beyond the last row");
  cr_assert_eq(row[slots], -77);
  cr_assert_eq(offsets[E + 1], -77);
  free(offsets);
  free(source);
  free(row);
}

Test(permutation, sorts_stably_by_expert) {
  static const struct {
    int64_t tokens;
    int32_t active, experts, used;
  } shapes[] = {{0, 1, 1, 1},  {1, 1, 1, 1},     {1, 8, 8, 8},
                {7, 2, 9, 3},  {100, 8, 64, 64}, {50, 3, 1024, 1},
                {33, 5, 6, 6}, {1000, 1, 2, 2},  {9, 1024, 1024, 1024}};
  uint64_t state = 1;
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    int32_t *experts = random_routes(&state, shapes[i].tokens * shapes[i].active, shapes[i].active,
                                     shapes[i].used);
    check(shapes[i].tokens, shapes[i].active, shapes[i].experts, experts);
    free(experts);
  }
  static const int32_t padding[6] = {-1, -1, -1, -1, -1, -1};
  check(3, 2, 4, padding);
  static const int32_t last[4] = {4, 4, 0, 4};
  check(4, 1, 5, last);
}

Test(permutation, names_an_expert_that_does_not_exist) {
  int64_t offsets[5], source[6], row[6];
  int32_t experts[6] = {0, 1, 3, 2, 4, -2};
  cr_assert_eq(phibal_permutation(3, 2, 4, experts, offsets, source, row), PHIBAL_ERROR_ARGUMENT);
  cr_assert(strstr(phibal_status_message(), "slot 0 of token 2 is routed to expert 4"), "%s",
            phibal_status_message());
  experts[4] = 3;
  cr_assert_eq(phibal_permutation(3, 2, 4, experts, offsets, source, row), PHIBAL_ERROR_ARGUMENT);
  cr_assert(strstr(phibal_status_message(), "slot 1 of token 2 is routed to expert -2"));
  cr_assert_eq(phibal_permutation(-1, 2, 4, experts, offsets, source, row), PHIBAL_ERROR_ARGUMENT);
  cr_assert_eq(phibal_permutation(1, 0, 4, experts, offsets, source, row), PHIBAL_ERROR_ARGUMENT);
  cr_assert_eq(phibal_permutation(1, 2, 4, NULL, offsets, source, row), PHIBAL_ERROR_ARGUMENT);
}

/* Copies keep every bit, NaNs and signed zeros included; sums are made in the order of the slots on
   top of what was there, one rounding an addition. */
Test(permutation, gathers_and_adds_back) {
  static const struct {
    int64_t tokens, width;
    int32_t active, experts;
  } shapes[] = {{1, 1, 1, 1}, {13, 7, 2, 5}, {300, 129, 4, 16}, {2, 1000, 3, 3}};
  uint64_t state = 6;
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    int64_t T = shapes[i].tokens, d = shapes[i].width, k = shapes[i].active, slots = T * k;
    int32_t E = shapes[i].experts;
    int32_t *experts = random_routes(&state, slots, shapes[i].active, E);
    if (T == 1) experts[0] = 0;
    int64_t *offsets = malloc(((size_t)E + 1) * sizeof *offsets);
    int64_t *source = malloc((size_t)slots * sizeof *source);
    int64_t *row = malloc((size_t)slots * sizeof *row);
    cr_assert_eq(phibal_permutation(T, shapes[i].active, E, experts, offsets, source, row),
                 PHIBAL_OK);
    int64_t N = offsets[E];
    float *x = malloc((size_t)(T * d) * sizeof *x);
    float *gathered = malloc(((size_t)(N * d) + 1) * sizeof *gathered);
    for (int64_t j = 0; j < T * d; j++) {
      uint32_t bits = (uint32_t)random_bits(&state);
      memcpy(&x[j], &bits, sizeof bits);
    }
    gathered[N * d] = 1234.5f;
    for (int threads = 1; threads <= 3; threads++) {
      omp_set_num_threads(threads);
      memset(gathered, 0, (size_t)(N * d) * sizeof *gathered);
      cr_assert_eq(phibal_gather(N, shapes[i].active, d, source, x, gathered), PHIBAL_OK);
      for (int64_t s = 0; s < slots; s++)
        if (experts[s] >= 0)
          cr_assert_arr_eq(gathered + row[s] * d, x + s / k * d, (size_t)d * sizeof *x);
      cr_assert_eq(gathered[N * d], 1234.5f);
    }
    float *gradient = malloc(((size_t)(T * d) + 1) * sizeof *gradient);
    for (int64_t j = 0; j < N * d; j++)
      gathered[j] = (float)(random_unit(&state) * (j % 3 == 0 ? 1e6 : 1));
    for (int threads = 1; threads <= 3; threads++) {
      omp_set_num_threads(threads);
      for (int64_t j = 0; j <= T * d; j++) gradient[j] = (float)j / 7;
      cr_assert_eq(phibal_gather_backward(T, shapes[i].active, d, row, gathered, gradient),
                   PHIBAL_OK);
      for (int64_t j = 0; j < T * d; j++) {
        float sum = (float)j / 7;
        for (int64_t s = 0; s < k; s++) {
          int64_t slot = j / d * k + s;
          if (experts[slot] >= 0) sum += gathered[row[slot] * d + j % d];
        }
        cr_assert_eq(gradient[j], sum);
      }
      cr_assert_eq(gradient[T * d], (float)(T * d) / 7);
    }
    free(experts);
    free(offsets);
    free(source);
    free(row);
    free(x);
    free(gathered);
    free(gradient);
  }
  cr_assert_eq(phibal_gather(0, 1, 4, NULL, NULL, NULL), PHIBAL_OK);
  cr_assert_eq(phibal_gather(-1, 1, 4, NULL, NULL, NULL), PHIBAL_ERROR_ARGUMENT);
  cr_assert_eq(phibal_gather(1, 1, 4, NULL, NULL, NULL), PHIBAL_ERROR_ARGUMENT);
  cr_assert_eq(phibal_gather_backward(0, 1, 4, NULL, NULL, NULL), PHIBAL_OK);
  cr_assert_eq(phibal_gather_backward(1, 1, 0, NULL, NULL, NULL), PHIBAL_ERROR_ARGUMENT);
}
