/* The reference's expert layer around the FFN, (E1), (E4), (E5), against Arb. */
#include "reference_expert.h"
#include <string.h>

/* (E1): every slot that is not padding has one row, in its expert's range, and rows of one expert
   keep the order of the slots. */
static void check_permutation(int64_t tokens, int32_t k, int32_t n, const int32_t *experts) {
  int64_t offsets[12], source[64], row[64], slots = tokens * k, real = 0;
  memset(source, 0x7f, sizeof source);
  cr_assert_eq(phibal_reference_permutation(tokens, k, n, experts, offsets, source, row),
               PHIBAL_OK);
  for (int64_t i = 0; i < slots; i++) {
    if (experts[i] < 0) {
      cr_assert_eq(row[i], -1);
      continue;
    }
    real++;
    cr_assert(row[i] >= offsets[experts[i]] && row[i] < offsets[experts[i] + 1]);
    cr_assert_eq(source[row[i]], i);
    for (int64_t j = 0; j < i; j++)
      if (experts[j] == experts[i]) cr_assert_lt(row[j], row[i]);
  }
  cr_assert_eq(offsets[0], 0);
  cr_assert_eq(offsets[n], real);
}

Test(reference_expert, permutation_is_the_stable_sort) {
  int32_t experts[64];
  uint64_t seed = 3u;
  for (int round = 0; round < 50; round++) {
    int32_t n = 1 + (int32_t)(random_next(&seed) % 11), k = 1 + (int32_t)(random_next(&seed) % 3);
    int64_t tokens = (int64_t)(random_next(&seed) % 21);
    for (int64_t i = 0; i < tokens * k; i++)
      experts[i] = (int32_t)(random_next(&seed) % (uint64_t)(n + 1)) - 1;
    check_permutation(tokens, k, n, experts);
  }
  int64_t offsets[4], source[2], row[2];
  const int32_t beyond[2] = {0, 3}, below[2] = {0, -2};
  cr_assert_eq(phibal_reference_permutation(2, 1, 3, beyond, offsets, source, row),
               PHIBAL_ERROR_ARGUMENT);
  cr_assert_eq(phibal_reference_permutation(1, 2, 3, below, offsets, source, row),
               PHIBAL_ERROR_ARGUMENT);
}

/* Products of every shape of stride, terms over the whole range of binary32. */
Test(reference_expert, product_agrees_with_arb) {
  enum { ROWS = 3, INNER = 7, COLUMNS = 5 };
  float a[ROWS * INNER], b[INNER * COLUMNS];
  uint64_t seed = 9u;
  phibal_enclosure *c = phibal_enclosure_vector(ROWS * COLUMNS, BITS);
  phibal_enclosure *condition = phibal_enclosure_vector(ROWS * COLUMNS, BITS);
  arb_t truth, magnitude;
  arb_init(truth);
  arb_init(magnitude);
  for (int round = 0; round < 24; round++) {
    int exponents = round % 3 == 2 ? 240 : 10;
    for (int i = 0; i < ROWS * INNER; i++)
      a[i] = ldexpf(random_float(&seed, 1.0),
                    (int)(random_uniform(&seed) * exponents) - exponents / 2);
    for (int i = 0; i < INNER * COLUMNS; i++)
      b[i] = ldexpf(random_float(&seed, 1.0),
                    (int)(random_uniform(&seed) * exponents) - exponents / 2);
    bool ta = round & 1, tb = round & 2;
    phibal_reference_matrix left = {a, ta ? 1 : INNER, ta ? ROWS : 1};
    phibal_reference_matrix right = {b, tb ? 1 : COLUMNS, tb ? INNER : 1};
    cr_assert_eq(phibal_reference_product(ROWS, INNER, COLUMNS, &left, &right, BITS, c,
                                          round == 5 ? NULL : condition),
                 PHIBAL_OK);
    for (int i = 0; i < ROWS; i++)
      for (int j = 0; j < COLUMNS; j++) {
        arb_zero(truth);
        arb_zero(magnitude);
        for (int l = 0; l < INNER; l++) {
          double x = (double)(ta ? a[l * ROWS + i] : a[i * INNER + l]);
          double y = (double)(tb ? b[j * INNER + l] : b[l * COLUMNS + j]);
          oracle_add_product(truth, x, y);
          oracle_add_product(magnitude, fabs(x), fabs(y));
        }
        cr_assert(oracle_contains(&c[i * COLUMNS + j], truth));
        /* 7 sums, each rounded twice by at most a unit of the sum of magnitudes */
        cr_assert(oracle_is_narrow(&c[i * COLUMNS + j], ldexp(14.0, 1 - BITS), magnitude));
        if (round != 5) cr_assert(oracle_contains(&condition[i * COLUMNS + j], magnitude));
      }
  }
  arb_clear(magnitude);
  arb_clear(truth);
  phibal_enclosure_vector_clear(condition, ROWS * COLUMNS);
  phibal_enclosure_vector_clear(c, ROWS * COLUMNS);
}

/* (E4), (E5) on 5 tokens of 2 slots with a padded token and a padded slot. */
enum { TOKENS = 5, SLOTS = 2, D = 3, USED = 7 };

static const int64_t rows[TOKENS * SLOTS] = {3, 0, -1, -1, 6, 1, 2, -1, 5, 4};

Test(reference_expert, combine_agrees_with_arb) {
  float gates[TOKENS * SLOTS], output[USED * D], before[TOKENS * D], back[TOKENS * D];
  uint64_t seed = 5u;
  floats_generate(TOKENS * SLOTS, gates, 1.0, &seed);
  floats_generate(USED * D, output, 3.0, &seed);
  floats_generate(TOKENS * D, before, 3.0, &seed);
  floats_generate(TOKENS * D, back, 3.0, &seed);
  phibal_reference_result y = result_create(TOKENS * D), gathered = result_create(TOKENS * D);
  phibal_reference_result gate = result_create(TOKENS * SLOTS), expert = result_create(USED * D);
  phibal_reference_combination combination = {TOKENS, SLOTS, D, rows, gates, output};
  phibal_reference_combination ungated = {TOKENS, SLOTS, D, rows, NULL, output};
  cr_assert_eq(phibal_reference_combine(combination, before, BITS, y), PHIBAL_OK);
  cr_assert_eq(phibal_reference_combine(ungated, NULL, BITS, gathered), PHIBAL_OK);
  cr_assert_eq(phibal_reference_combine_backward(combination, back, BITS, expert.value, gate),
               PHIBAL_OK);
  arb_t truth, magnitude;
  arb_init(truth);
  arb_init(magnitude);
  for (int t = 0; t < TOKENS; t++)
    for (int j = 0; j < D; j++) {
      arb_set_d(truth, (double)before[t * D + j]);
      arb_abs(magnitude, truth);
      for (int s = 0; s < SLOTS; s++) {
        int64_t row = rows[t * SLOTS + s];
        if (row < 0) continue;
        oracle_add_product(truth, (double)gates[t * SLOTS + s], (double)output[row * D + j]);
        oracle_add_product(magnitude, fabs((double)gates[t * SLOTS + s]),
                           fabs((double)output[row * D + j]));
      }
      cr_assert(oracle_contains(&y.value[t * D + j], truth), "token %d, column %d", t, j);
      cr_assert(oracle_contains(&y.condition[t * D + j], magnitude));
      arb_zero(truth);
      for (int s = 0; s < SLOTS; s++)
        if (rows[t * SLOTS + s] >= 0)
          oracle_add_product(truth, 1.0, (double)output[rows[t * SLOTS + s] * D + j]);
      cr_assert(oracle_contains(&gathered.value[t * D + j], truth));
    }
  for (int i = 0; i < TOKENS * SLOTS; i++) {
    arb_zero(truth);
    arb_zero(magnitude);
    for (int j = 0; j < D && rows[i] >= 0; j++) {
      double dy = (double)back[i / SLOTS * D + j], o = (double)output[rows[i] * D + j];
      oracle_add_product(truth, dy, o);
      oracle_add_product(magnitude, fabs(dy), fabs(o));
      phibal_enclosure *e = &expert.value[rows[i] * D + j];
      cr_assert(phibal_enclosure_is_exact(e) && mpfr_cmp_d(e->lo, (double)gates[i] * dy) == 0);
    }
    cr_assert(oracle_contains(&gate.value[i], truth), "slot %d", i);
    cr_assert(oracle_contains(&gate.condition[i], magnitude), "slot %d", i);
    if (rows[i] < 0) cr_assert(phibal_enclosure_is_zero(&gate.value[i]));
  }
  arb_clear(magnitude);
  arb_clear(truth);
  result_destroy(&expert, USED * D);
  result_destroy(&gate, TOKENS * SLOTS);
  result_destroy(&gathered, TOKENS * D);
  result_destroy(&y, TOKENS * D);
}

Test(reference_expert, wrong_arguments_are_refused) {
  const float good[4] = {1.0f, 2.0f, 3.0f, 4.0f}, bad[4] = {1.0f, NAN, 3.0f, 4.0f};
  phibal_reference_matrix left = {good, 2, 1}, right = {bad, 2, 1};
  phibal_enclosure *z = phibal_enclosure_vector(4, 64);
  cr_assert_eq(phibal_reference_product(2, 2, 2, &left, &right, 64, z, NULL),
               PHIBAL_ERROR_NONFINITE);
  cr_assert(strstr(phibal_status_message(), "(0, 1) of the right"));
  right.data = NULL;
  cr_assert_eq(phibal_reference_product(2, 2, 2, &left, &right, 64, z, NULL),
               PHIBAL_ERROR_ARGUMENT);
  cr_assert_eq(phibal_reference_activation((phibal_activation)7, 1.0f, 64, z, NULL, NULL),
               PHIBAL_ERROR_ARGUMENT);
  cr_assert_eq(phibal_reference_product(0, 2, 2, &left, &left, 64, NULL, NULL), PHIBAL_OK);
  phibal_enclosure_vector_clear(z, 4);
}
