/* Router forward against MPFR, and its promises: ties, padding, failures, the same bits always. */
#include "router_oracle.h"
#include <criterion/criterion.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>

static const phibal_gate gates[] = {PHIBAL_GATE_TOPK_SOFTMAX, PHIBAL_GATE_PROBABILITY,
                                    PHIBAL_GATE_SIGMOID, PHIBAL_GATE_SQRT_SOFTPLUS};
enum { GATE_KINDS = sizeof gates / sizeof *gates };

typedef struct batch {
  phibal_router router;
  int64_t tokens;
  float *logits, *bias, *probabilities, *gates, *logsumexp;
  uint8_t *mask;
  int32_t *experts;
  phibal_loads loads;
} batch;

/* Outputs have room for one token more, and a pattern everywhere that no result has. */
static batch batch_create(phibal_router router, int64_t tokens) {
  size_t T = (size_t)tokens + 1, E = (size_t)router.experts, k = (size_t)router.active;
  batch b = {.router = router, .tokens = tokens};
  b.logits = calloc(T * E, sizeof(float));
  b.bias = calloc(E, sizeof(float));
  b.mask = malloc(T);
  memset(b.mask, 1, T);
  b.probabilities = malloc(T * E * sizeof(float));
  b.gates = malloc(T * k * sizeof(float));
  b.logsumexp = malloc(T * sizeof(float));
  b.experts = malloc(T * k * sizeof(int32_t));
  memset(b.probabilities, 0xee, T * E * sizeof(float));
  memset(b.gates, 0xee, T * k * sizeof(float));
  memset(b.logsumexp, 0xee, T * sizeof(float));
  memset(b.experts, 0xee, T * k * sizeof(int32_t));
  cr_assert_eq(phibal_loads_create(&router, &b.loads), PHIBAL_OK);
  return b;
}

static void batch_destroy(batch *b) {
  free(b->logits);
  free(b->bias);
  free(b->mask);
  free(b->probabilities);
  free(b->gates);
  free(b->logsumexp);
  free(b->experts);
  phibal_loads_destroy(&b->loads);
}

static phibal_status batch_part(batch *b, const float *bias, const uint8_t *mask, int64_t from,
                                int64_t to) {
  int64_t E = b->router.experts, k = b->router.active;
  return phibal_router_forward(&b->router, to - from, b->logits + from * E, bias,
                               mask ? mask + from : NULL, b->probabilities + from * E,
                               b->experts + from * k, b->gates + from * k, b->logsumexp + from,
                               &b->loads);
}

static void untouched(const void *after, size_t bytes) {
  for (size_t i = 0; i < bytes; i++)
    cr_assert_eq(((const uint8_t *)after)[i], 0xee, "written beyond the last token");
}

/* Every output of every token against the oracle; the promised bounds. */
static void compare(batch *b, const float *bias, const char *what) {
  int64_t T = b->tokens, E = b->router.experts, k = b->router.active;
  cr_assert_eq(batch_part(b, bias, NULL, 0, T), PHIBAL_OK, "%s", phibal_status_message());
  oracle o;
  oracle_create(&o, &b->router);
  int64_t *count = calloc((size_t)E, sizeof *count);
  for (int64_t t = 0; t < T; t++) {
    const float *x = b->logits + t * E;
    oracle_forward(&o, &b->router, x, bias);
    for (int64_t e = 0; e < E; e++) {
      double ulps = oracle_ulps(b->probabilities[t * E + e], o.p[e]);
      /* Half an ULP and the error of a 2^-45 evaluation. */
      cr_assert_leq(ulps, 0.5001, "%s E %d k %d token %d expert %d: %g ULP", what, (int)E, (int)k,
                    (int)t, (int)e, ulps);
    }
    for (int64_t s = 0; s < k; s++) {
      cr_assert_eq(b->experts[t * k + s], o.selected[s], "%s E %d k %d token %d slot %d: %d not %d",
                   what, (int)E, (int)k, (int)t, (int)s, b->experts[t * k + s], o.selected[s]);
      cr_assert_leq(oracle_ulps(b->gates[t * k + s], o.gate[s]), 0.5001, "%s E %d k %d gate", what,
                    (int)E, (int)k);
      count[o.selected[s]]++;
    }
    double largest = 0;
    for (int64_t e = 0; e < E; e++) largest = fmax(largest, fabs((double)x[e]));
    mpfr_d_sub(o.a, (double)b->logsumexp[t], o.lse, MPFR_RNDN);
    double slack = 0x1p-45 * (largest + log((double)E));
    if (fabs(mpfr_get_d(o.a, MPFR_RNDN)) > slack)
      cr_assert_leq(oracle_ulps(b->logsumexp[t], o.lse), 1.0, "%s E %d logsumexp %a", what, (int)E,
                    (double)b->logsumexp[t]);
  }
  cr_assert_eq(b->loads.tokens, T);
  for (int64_t e = 0; e < E; e++) cr_assert_eq(b->loads.count[e], count[e]);
  untouched(b->probabilities + T * E, (size_t)E * sizeof(float));
  untouched(b->gates + T * k, (size_t)k * sizeof(float));
  untouched(b->experts + T * k, (size_t)k * sizeof(int32_t));
  untouched(b->logsumexp + T, sizeof(float));
  free(count);
  oracle_destroy(&o);
}

Test(router_forward, agrees_with_mpfr) {
  static const int32_t shapes[][2] = {{1, 1},  {2, 1},   {3, 2},    {7, 7},   {8, 2},   {8, 8},
                                      {16, 1}, {31, 5},  {32, 32},  {33, 33}, {48, 7},  {64, 8},
                                      {65, 1}, {100, 3}, {129, 64}, {256, 8}, {333, 20}};
  uint64_t state = 1;
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    for (int g = 0; g < GATE_KINDS; g++) {
      for (int kind = 0; kind < LOGITS_KINDS; kind++) {
        /* 19 is not a multiple of anything tokens are grouped by. */
        int64_t tokens = shapes[i][0] > 64 ? 2 : 19;
        batch b =
            batch_create((phibal_router){shapes[i][0], shapes[i][1], gates[g], 2.446f}, tokens);
        random_logits(&state, kind, tokens * b.router.experts, b.logits);
        for (int32_t e = 0; e < b.router.experts; e++)
          b.bias[e] = (float)(random_unit(&state) * (e % 3 == 0 ? 2 : 0.01) - 0.5);
        compare(&b, NULL, "without bias");
        batch_destroy(&b);
        b = batch_create((phibal_router){shapes[i][0], shapes[i][1], gates[g], 1}, tokens);
        random_logits(&state, kind, tokens * b.router.experts, b.logits);
        for (int32_t e = 0; e < b.router.experts; e++)
          b.bias[e] = (float)(random_unit(&state) * (e % 3 == 0 ? 2 : 0.01) - 0.5);
        compare(&b, b.bias, "with bias");
        batch_destroy(&b);
      }
    }
  }
}

Test(router_forward, all_experts_of_the_largest_router) {
  uint64_t state = 2;
  for (int g = 0; g < GATE_KINDS; g++) {
    batch b = batch_create((phibal_router){1024, g == 0 ? 1024 : 32, gates[g], 1}, 1);
    random_logits(&state, g, 1024, b.logits);
    compare(&b, NULL, "largest");
    batch_destroy(&b);
  }
}

/* One dominating logit near 0: the logsumexp is what the others add, far below the ULP of 1. */
Test(router_forward, small_logsumexp) {
  for (int32_t experts = 8; experts <= 72; experts += 64) {
    batch b = batch_create((phibal_router){experts, 1, PHIBAL_GATE_TOPK_SOFTMAX, 1}, 40);
    for (int64_t t = 0; t < 40; t++)
      for (int32_t e = 0; e < experts; e++)
        b.logits[t * experts + e] = e == 3 ? 0.0f : -(float)(10 + 2 * t + e);
    compare(&b, NULL, "small logsumexp");
    oracle o;
    oracle_create(&o, &b.router);
    for (int64_t t = 0; t < 40; t++) {
      oracle_probabilities(&o, b.router.gate, b.logits + t * experts);
      cr_assert_leq(oracle_ulps(b.logsumexp[t], o.lse), 0.51, "token %d: %a", (int)t,
                    (double)b.logsumexp[t]);
    }
    oracle_destroy(&o);
    batch_destroy(&b);
  }
}

Test(router_forward, ties_go_to_the_lower_index) {
  static const int32_t sizes[] = {4, 70};
  for (int i = 0; i < 2; i++) {
    int32_t E = sizes[i];
    batch b = batch_create((phibal_router){E, 3, PHIBAL_GATE_TOPK_SOFTMAX, 1}, 3);
    for (int32_t e = 0; e < E; e++) {
      b.logits[e] = e % 2 == 0 ? -0.0f : 0.0f;          /* equal zeros */
      b.logits[E + e] = e == 1 || e == 3 ? 1.0f : 0.5f; /* two pairs */
      b.logits[2 * E + e] = -5.0f;
    }
    cr_assert_eq(batch_part(&b, NULL, NULL, 0, 3), PHIBAL_OK);
    static const int32_t expected[] = {0, 1, 2, 1, 3, 0, 0, 1, 2};
    cr_assert_arr_eq(b.experts, expected, sizeof expected);
    cr_assert_eq(b.gates[0], b.gates[1]);
    cr_assert_eq(b.gates[3], b.gates[4]);
    cr_assert_gt(b.gates[4], b.gates[5]);
    batch_destroy(&b);
  }
}

/* -0 + -0 is -0 too. */
Test(router_forward, zeros_of_logits_and_bias_are_equal) {
  batch b = batch_create((phibal_router){9, 9, PHIBAL_GATE_TOPK_SOFTMAX, 1}, 1);
  for (int32_t e = 0; e < 9; e++) {
    b.logits[e] = e % 3 == 0 ? 0.0f : -0.0f;
    b.bias[e] = e % 2 == 0 ? -0.0f : 0.0f;
  }
  cr_assert_eq(batch_part(&b, b.bias, NULL, 0, 1), PHIBAL_OK);
  for (int32_t s = 0; s < 9; s++) cr_assert_eq(b.experts[s], s);
  batch_destroy(&b);
}

/* Scores that differ only in the last bits of binary64, with the better one at the higher index: a
   comparison in binary32, or of truncated keys, takes the lower index. */
Test(router_forward, bias_is_added_in_binary64) {
  static const int32_t sizes[] = {5, 70};
  for (int i = 0; i < 2; i++) {
    int32_t E = sizes[i];
    batch b = batch_create((phibal_router){E, 4, PHIBAL_GATE_TOPK_SOFTMAX, 1}, 2);
    for (int32_t e = 0; e < E; e++) {
      b.bias[e] = -1.0f;
      b.logits[e] = (float)e * 0x1p-50f;
      b.logits[E + e] = e == 2 ? 0x1p-53f : 0.0f; /* -1 + 2^-53 is a binary64 */
    }
    cr_assert_eq(batch_part(&b, b.bias, NULL, 0, 2), PHIBAL_OK);
    for (int32_t s = 0; s < 4; s++) cr_assert_eq(b.experts[s], E - 1 - s);
    static const int32_t second[] = {2, 0, 1, 3};
    cr_assert_arr_eq(b.experts + 4, second, sizeof second);
    batch_destroy(&b);
  }
}

/* The bias chooses, but is no part of a gate, even when all the chosen are hopeless. */
Test(router_forward, bias_only_selects) {
  for (int g = 0; g < GATE_KINDS; g++) {
    batch b = batch_create((phibal_router){6, 2, gates[g], 1}, 1);
    static const float x[] = {1000, 0, -1, -2, 999, 0};
    memcpy(b.logits, x, sizeof x);
    static const float bias[] = {-1e4f, 0, 1, 3.5f, -1e4f, -7};
    compare(&b, bias, "only selects");
    cr_assert_eq(b.experts[0], 3);
    cr_assert_eq(b.experts[1], g >= 2 ? 2 : 1);
    if (g == 0) cr_assert_float_eq(b.gates[0], 0.11920292f, 1e-7f);
    if (g == 1) cr_assert_eq(b.gates[0], 0.0f);
    batch_destroy(&b);
  }
}

Test(router_forward, one_active_expert_has_its_probability) {
  batch b = batch_create((phibal_router){4, 1, PHIBAL_GATE_TOPK_SOFTMAX, 2}, 1);
  static const float x[] = {0, 1, 3, 2};
  memcpy(b.logits, x, sizeof x);
  cr_assert_eq(batch_part(&b, NULL, NULL, 0, 1), PHIBAL_OK);
  cr_assert_eq(b.experts[0], 2);
  cr_assert_eq(b.gates[0], 2 * b.probabilities[2]); /* a power of two scales exactly */
  cr_assert_lt(b.gates[0], 1.5f);
  batch_destroy(&b);
}

/* Padding may hold anything, and the rest comes out as if it were not there. */
Test(router_forward, padding_counts_in_nothing) {
  static const int32_t sizes[] = {8, 70};
  for (int i = 0; i < 2; i++) {
    for (int g = 0; g < GATE_KINDS; g++) {
      int32_t E = sizes[i], k = 3;
      int64_t T = 100, kept = 0;
      uint64_t state = 7;
      phibal_router router = {E, k, gates[g], 1};
      batch b = batch_create(router, T), dense = batch_create(router, T);
      random_logits(&state, LOGITS_ORDINARY, T * E, b.logits);
      for (int32_t e = 0; e < E; e++) b.bias[e] = (float)random_unit(&state);
      const float *bias = i == g % 2 ? b.bias : NULL;
      for (int64_t t = 0; t < T; t++) {
        /* Anything but 0 is a token. */
        b.mask[t] = random_bits(&state) % 3 != 0 ? (uint8_t)(1 + 2 * t) : 0;
        if (b.mask[t])
          memcpy(dense.logits + kept++ * E, b.logits + t * E, (size_t)E * sizeof(float));
        else
          b.logits[t * E + t % E] = t % 2 ? NAN : INFINITY;
      }
      cr_assert_eq(batch_part(&b, bias, b.mask, 0, T), PHIBAL_OK, "%s", phibal_status_message());
      cr_assert_eq(batch_part(&dense, bias, NULL, 0, kept), PHIBAL_OK);
      int64_t n = 0;
      for (int64_t t = 0; t < T; t++) {
        if (b.mask[t]) {
          cr_assert_arr_eq(b.probabilities + t * E, dense.probabilities + n * E, (size_t)E * 4);
          cr_assert_arr_eq(b.experts + t * k, dense.experts + n * k, (size_t)k * 4);
          cr_assert_arr_eq(b.gates + t * k, dense.gates + n * k, (size_t)k * 4);
          cr_assert_eq(b.logsumexp[t], dense.logsumexp[n]);
          n++;
        } else {
          for (int32_t s = 0; s < k; s++) {
            cr_assert_eq(b.experts[t * k + s], -1);
            cr_assert_eq(b.gates[t * k + s], 0.0f);
          }
          for (int32_t e = 0; e < E; e++) cr_assert_eq(b.probabilities[t * E + e], 0.0f);
          cr_assert_eq(b.logsumexp[t], 0.0f);
        }
      }
      cr_assert_eq(b.loads.tokens, kept);
      cr_assert_arr_eq(b.loads.count, dense.loads.count, (size_t)E * 8);
      cr_assert_arr_eq(b.loads.probability, dense.loads.probability,
                       (size_t)E * PHIBAL_LOAD_LIMBS * 8);
      batch_destroy(&b);
      batch_destroy(&dense);
    }
  }
}

static void same(const batch *a, const batch *b) {
  size_t T = (size_t)a->tokens, E = (size_t)a->router.experts, k = (size_t)a->router.active;
  cr_assert_arr_eq(a->probabilities, b->probabilities, T * E * 4);
  cr_assert_arr_eq(a->experts, b->experts, T * k * 4);
  cr_assert_arr_eq(a->gates, b->gates, T * k * 4);
  cr_assert_arr_eq(a->logsumexp, b->logsumexp, T * 4);
  cr_assert_eq(a->loads.tokens, b->loads.tokens);
  cr_assert_arr_eq(a->loads.count, b->loads.count, E * 8);
  cr_assert_arr_eq(a->loads.probability, b->loads.probability, E * PHIBAL_LOAD_LIMBS * 8);
}

/* Any number of threads, any cut: the same bits. 20000 tokens overflow what a thread adds up before
   it empties its accumulator. */
Test(router_forward, the_same_bits_always) {
  static const int32_t shapes[][2] = {{8, 2}, {33, 4}, {200, 8}};
  for (int i = 0; i < 3; i++) {
    for (int g = 0; g < GATE_KINDS; g += g == 0 ? 2 : 1) {
      int64_t T = 20000;
      uint64_t state = 11;
      phibal_router router = {shapes[i][0], shapes[i][1], gates[g], 1};
      batch whole = batch_create(router, T), cut = batch_create(router, T);
      for (int64_t t = 0; t < T; t++)
        random_logits(&state, t % 5 == 0 ? LOGITS_80 : LOGITS_ORDINARY, router.experts,
                      whole.logits + t * router.experts);
      memcpy(cut.logits, whole.logits, (size_t)(T * router.experts) * sizeof(float));
      for (int64_t t = 0; t < T; t += 17) whole.mask[t] = 0;
      omp_set_num_threads(1);
      cr_assert_eq(batch_part(&whole, NULL, whole.mask, 0, T), PHIBAL_OK);
      omp_set_num_threads(3);
      cr_assert_eq(batch_part(&cut, NULL, whole.mask, 0, T), PHIBAL_OK);
      same(&whole, &cut);
      phibal_loads_clear(&cut.loads);
      static const int64_t ends[] = {1, 1, 18, 5000, 19999, 20000};
      for (int64_t from = 0, j = 0; from < T; from = ends[j++])
        cr_assert_eq(batch_part(&cut, NULL, whole.mask, from, ends[j]), PHIBAL_OK);
      same(&whole, &cut);
      batch_destroy(&whole);
      batch_destroy(&cut);
    }
  }
}

/* Up to 64 experts, tokens go side by side and by fours: for every rest of tokens, experts and
   slots, each token comes out as it does alone, where the tile's other lanes are empty. Ties, a
   bias. */
Test(router_forward, a_token_among_others_as_alone) {
  static const int32_t sizes[] = {1, 2, 3, 4, 5, 6, 7, 9, 12, 31, 63, 64, 65};
  uint64_t state = 12;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    int32_t E = sizes[i];
    for (int32_t k = 1; k <= E; k = k < 8 ? k + 1 : k < E - 1 ? E - 1 : k + 1) {
      for (int64_t T = 1; T <= 35; T = T < 18 ? T + 1 : T + 17) {
        phibal_router router = {E, k, gates[(T + k) % GATE_KINDS], 1.5f};
        batch together = batch_create(router, T), alone = batch_create(router, T);
        random_logits(&state, LOGITS_ORDINARY, T * E, together.logits);
        for (int64_t j = 0; j < T * E; j += 3) together.logits[j] = 0.25f;
        for (int32_t e = 0; e < E; e++) together.bias[e] = (float)(e % 4) * 0.125f;
        memcpy(alone.logits, together.logits, (size_t)(T * E) * sizeof(float));
        const float *bias = T % 2 ? together.bias : NULL;
        cr_assert_eq(batch_part(&together, bias, NULL, 0, T), PHIBAL_OK);
        for (int64_t t = 0; t < T; t++)
          cr_assert_eq(batch_part(&alone, bias, NULL, t, t + 1), PHIBAL_OK);
        same(&together, &alone);
        untouched(together.probabilities + T * E, (size_t)E * sizeof(float));
        untouched(together.experts + T * k, (size_t)k * sizeof(int32_t));
        untouched(together.gates + T * k, (size_t)k * sizeof(float));
        untouched(together.logsumexp + T, sizeof(float));
        batch_destroy(&together);
        batch_destroy(&alone);
      }
    }
  }
}

Test(router_forward, names_the_first_number_that_is_not_finite) {
  static const int32_t sizes[] = {8, 70};
  static const float bad[] = {NAN, INFINITY, -INFINITY};
  for (int i = 0; i < 2; i++) {
    for (int threads = 1; threads <= 4; threads++) {
      int32_t E = sizes[i];
      int64_t T = 30000;
      batch b = batch_create((phibal_router){E, 2, PHIBAL_GATE_TOPK_SOFTMAX, 1}, T);
      uint64_t state = 5;
      random_logits(&state, LOGITS_ORDINARY, T * E, b.logits);
      cr_assert_eq(batch_part(&b, NULL, NULL, 0, 10), PHIBAL_OK);
      size_t bytes = (size_t)E * PHIBAL_LOAD_LIMBS * sizeof(uint64_t);
      uint64_t *before = malloc(bytes);
      memcpy(before, b.loads.probability, bytes);
      int64_t counts[70];
      memcpy(counts, b.loads.count, (size_t)E * sizeof *counts);
      b.mask[3] = 0;
      b.logits[3 * E] = NAN;
      b.logits[29999 * E] = NAN;
      b.logits[20007 * E + 6] = bad[threads % 3];
      b.logits[20007 * E + 2] = bad[(threads + i) % 3];
      b.logits[20008 * E + 1] = NAN;
      omp_set_num_threads(threads);
      cr_assert_eq(batch_part(&b, NULL, b.mask, 0, T), PHIBAL_ERROR_NONFINITE);
      cr_assert(strstr(phibal_status_message(), "token 20007 for expert 2 "), "%s",
                phibal_status_message());
      cr_assert_arr_eq(b.loads.probability, before, bytes);
      cr_assert_arr_eq(b.loads.count, counts, (size_t)E * sizeof *counts);
      cr_assert_eq(b.loads.tokens, 10);
      /* The last element of the last token, alone in its call. */
      cr_assert_eq(batch_part(&b, NULL, NULL, 29998, 29999), PHIBAL_OK);
      b.logits[29998 * E + E - 1] = bad[threads % 3];
      cr_assert_eq(batch_part(&b, NULL, NULL, 29998, 29999), PHIBAL_ERROR_NONFINITE);
      b.bias[E - 1] = NAN;
      cr_assert_eq(batch_part(&b, b.bias, NULL, 0, 2), PHIBAL_ERROR_NONFINITE);
      free(before);
      batch_destroy(&b);
    }
  }
}

/* A late failure that is met early must not hide an early one that is met late, nor the reverse:
   tried at distances around what a thread takes at a time. */
Test(router_forward, names_the_first_of_many_whatever_the_timing) {
  int64_t T = 16384;
  batch b = batch_create((phibal_router){8, 2, PHIBAL_GATE_TOPK_SOFTMAX, 1}, T);
  uint64_t state = 6;
  for (int i = 0; i < 200; i++) {
    int64_t first = (int64_t)(random_bits(&state) % 8192);
    int64_t second = first + 1 + (int64_t)(random_bits(&state) % 8191);
    b.logits[first * 8 + 1] = b.logits[second * 8] = NAN;
    omp_set_num_threads(2 + i % 3);
    cr_assert_eq(batch_part(&b, NULL, NULL, 0, T), PHIBAL_ERROR_NONFINITE);
    char expected[64];
    snprintf(expected, sizeof expected, "token %d for expert 1 ", (int)first);
    cr_assert(strstr(phibal_status_message(), expected), "%s", phibal_status_message());
    b.logits[first * 8 + 1] = b.logits[second * 8] = 0;
  }
  batch_destroy(&b);
}

Test(router_forward, accepts_no_tokens_and_refuses_nonsense) {
  batch b = batch_create((phibal_router){8, 2, PHIBAL_GATE_TOPK_SOFTMAX, 1}, 1);
  cr_assert_eq(
      phibal_router_forward(&b.router, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, &b.loads),
      PHIBAL_OK);
  cr_assert_eq(b.loads.tokens, 0);
  cr_assert_eq(phibal_router_forward(&b.router, 1, b.logits, NULL, NULL, NULL, b.experts, b.gates,
                                     NULL, &b.loads),
               PHIBAL_OK);
  untouched(b.probabilities, 8 * sizeof(float));
  phibal_router bad[] = {b.router, b.router, b.router, b.router, b.router};
  bad[0].experts = 9; /* not what the loads were made for */
  bad[1].active = 0;
  bad[2].active = 9;
  bad[3].gate = (phibal_gate)7;
  bad[4].scale = NAN;
  for (int i = 0; i < 5; i++)
    cr_assert_eq(phibal_router_forward(&bad[i], 1, b.logits, NULL, NULL, NULL, b.experts, b.gates,
                                       NULL, &b.loads),
                 PHIBAL_ERROR_ARGUMENT);
  cr_assert_eq(phibal_router_forward(&b.router, -1, b.logits, NULL, NULL, NULL, b.experts, b.gates,
                                     NULL, &b.loads),
               PHIBAL_ERROR_ARGUMENT);
  cr_assert_eq(phibal_router_forward(&b.router, 1, NULL, NULL, NULL, NULL, b.experts, b.gates, NULL,
                                     &b.loads),
               PHIBAL_ERROR_ARGUMENT);
  cr_assert_eq(phibal_router_forward(&b.router, 1, b.logits, NULL, NULL, NULL, b.experts, b.gates,
                                     NULL, NULL),
               PHIBAL_ERROR_ARGUMENT);
  batch_destroy(&b);
}
