/* The exact loads: what the kernels add up, to the bit, and the one rounding at the end. */
#include "kernels/core/exact_sum.h"
#include "kernels/core/exp64.h"
#include "kernels/core/quotient.h"
#include "kernels/core/tree.h"
#include "router_oracle.h"
#include <criterion/criterion.h>
#include <omp.h>
#include <string.h>

static void forward(const phibal_router *router, int64_t tokens, const float *logits,
                    phibal_loads *loads) {
  size_t slots = (size_t)(tokens * router->active);
  int32_t *experts = malloc(slots * sizeof *experts);
  float *gates = malloc(slots * sizeof *gates);
  cr_assert_eq(
      phibal_router_forward(router, tokens, logits, NULL, NULL, NULL, experts, gates, NULL, loads),
      PHIBAL_OK, "%s", phibal_status_message());
  free(experts);
  free(gates);
}

/* SPEC.md's sum, the plain way: each probability in binary64, one core_exact_add a time. */
static void plain_sum(int32_t experts, int64_t tokens, const float *logits, uint64_t *limb) {
  double weight[PHIBAL_MAX_EXPERTS], tree[PHIBAL_MAX_EXPERTS];
  memset(limb, 0, (size_t)experts * PHIBAL_LOAD_LIMBS * sizeof *limb);
  for (int64_t t = 0; t < tokens; t++) {
    const float *x = logits + t * experts;
    double largest = (double)x[0];
    for (int32_t e = 1; e < experts; e++)
      if ((double)x[e] > largest) largest = (double)x[e];
    for (int32_t e = 0; e < experts; e++) tree[e] = weight[e] = core_exp64((double)x[e] - largest);
    double inverse = 1.0 / core_tree_sum(tree, experts);
    for (int32_t e = 0; e < experts; e++)
      core_exact_add(limb + e * PHIBAL_LOAD_LIMBS, PHIBAL_LOAD_LIMBS, 0, weight[e] * inverse);
  }
  for (int32_t e = 0; e < experts; e++)
    core_exact_carry(limb + e * PHIBAL_LOAD_LIMBS, PHIBAL_LOAD_LIMBS);
}

/* Probabilities from 1 down to far below 2^-160, in every shape of tile. */
Test(loads, are_the_specified_sums_to_the_bit) {
  static const int32_t sizes[] = {1, 2, 5, 8, 16, 31, 33, 63, 64, 65, 100, 1024};
  uint64_t state = 1;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    for (int kind = 0; kind < LOGITS_KINDS; kind++) {
      int32_t E = sizes[i];
      int64_t T = E > 64 ? 20 : 333;
      phibal_router router = {E, 1, PHIBAL_GATE_TOPK_SOFTMAX, 1};
      float *x = malloc((size_t)(T * E) * sizeof *x);
      uint64_t *limb = malloc((size_t)E * PHIBAL_LOAD_LIMBS * sizeof *limb);
      random_logits(&state, kind, T * E, x);
      phibal_loads loads;
      cr_assert_eq(phibal_loads_create(&router, &loads), PHIBAL_OK);
      forward(&router, T, x, &loads);
      plain_sum(E, T, x, limb);
      for (int32_t j = 0; j < E * PHIBAL_LOAD_LIMBS; j++)
        cr_assert_eq(loads.probability[j], limb[j], "E %d kind %d limb %d", E, kind, j);
      phibal_loads_destroy(&loads);
      free(limb);
      free(x);
    }
  }
}

/* One expert takes nearly all of 40000 tokens: more than a thread's accumulator holds exactly. With
   64 experts or fewer each of 16 accumulators would hold a part. */
Test(loads, are_exact_for_long_batches) {
  enum { T = 40000, E = 65 };
  static float x[T * E];
  static uint64_t limb[E * PHIBAL_LOAD_LIMBS];
  uint64_t state = 2;
  random_logits(&state, LOGITS_ORDINARY, T * E, x);
  for (int64_t t = 0; t < T; t++) x[t * E + 7] += 20;
  phibal_router router = {E, 1, PHIBAL_GATE_TOPK_SOFTMAX, 1};
  phibal_loads loads;
  cr_assert_eq(phibal_loads_create(&router, &loads), PHIBAL_OK);
  omp_set_num_threads(1);
  forward(&router, T, x, &loads);
  plain_sum(E, T, x, limb);
  cr_assert_arr_eq(loads.probability, limb, sizeof limb);
  phibal_loads_destroy(&loads);
}

/* 100000 tokens, within 1 ULP of the mean of the exact probabilities: sums in binary32 are off by
   hundreds. Every third expert is rare, so that small sums grow beside large ones. */
Test(loads, mean_of_many_tokens) {
  enum { T = 100000, E = 7 };
  static float x[T * E];
  uint64_t state = 3;
  random_logits(&state, LOGITS_ORDINARY, T * E, x);
  for (int64_t i = 0; i < T * E; i++)
    if (i % E % 3 == 2) x[i] -= 15;
  phibal_router router = {E, 2, PHIBAL_GATE_TOPK_SOFTMAX, 1};
  phibal_loads loads;
  cr_assert_eq(phibal_loads_create(&router, &loads), PHIBAL_OK);
  forward(&router, T, x, &loads);
  oracle o;
  oracle_create(&o, &router);
  mpfr_t *sum = oracle_vector(E);
  int64_t count[E] = {0};
  for (int e = 0; e < E; e++) mpfr_set_zero(sum[e], 1);
  for (int64_t t = 0; t < T; t++) {
    oracle_forward(&o, &router, x + t * E, NULL);
    for (int e = 0; e < E; e++) mpfr_add(sum[e], sum[e], o.p[e], MPFR_RNDN);
    for (int s = 0; s < 2; s++) count[o.selected[s]]++;
  }
  float mean[E], frequency[E];
  cr_assert_eq(phibal_loads_mean(&loads, mean), PHIBAL_OK);
  cr_assert_eq(phibal_loads_frequency(&loads, frequency), PHIBAL_OK);
  for (int e = 0; e < E; e++) {
    mpfr_div_ui(sum[e], sum[e], T, MPFR_RNDN);
    cr_assert_leq(oracle_ulps(mean[e], sum[e]), 0.5001, "expert %d: %a", e, (double)mean[e]);
    cr_assert_eq(loads.count[e], count[e]);
    mpfr_set_si(o.a, count[e], MPFR_RNDN);
    mpfr_div_ui(o.a, o.a, 2 * T, MPFR_RNDN);
    cr_assert_eq(frequency[e], mpfr_get_flt(o.a, MPFR_RNDN));
  }
  cr_assert_eq(loads.tokens, T);
  oracle_vector_free(sum, E);
  oracle_destroy(&o);
  phibal_loads_destroy(&loads);
}

/* limbs / tokens rounded to nearest, ties to even, by MPFR: ordinary, tiny, subnormal and vanishing
   means, and counts of tokens up to 2^62. */
Test(loads, mean_is_correctly_rounded) {
  phibal_router router = {1, 1, PHIBAL_GATE_TOPK_SOFTMAX, 1};
  phibal_loads loads;
  cr_assert_eq(phibal_loads_create(&router, &loads), PHIBAL_OK);
  mpfr_t exact;
  mpfr_init2(exact, 400);
  uint64_t state = 8;
  for (int i = 0; i < 200000; i++) {
    loads.tokens = (int64_t)(random_bits(&state) >> (2 + random_bits(&state) % 62)) + 1;
    int first = (int)(random_bits(&state) % PHIBAL_LOAD_LIMBS);
    int last = (int)(random_bits(&state) % PHIBAL_LOAD_LIMBS);
    for (int j = 0; j < PHIBAL_LOAD_LIMBS; j++)
      loads.probability[j] = j < first || j > last ? 0 : random_bits(&state) >> 32;
    if (first == 0) loads.probability[0] = random_bits(&state) % (uint64_t)loads.tokens;
    mpfr_set_zero(exact, 1);
    for (int j = 0; j < PHIBAL_LOAD_LIMBS; j++) {
      mpfr_mul_2ui(exact, exact, 32, MPFR_RNDN);
      mpfr_add_ui(exact, exact, loads.probability[j], MPFR_RNDN);
    }
    mpfr_div_2ui(exact, exact, 160, MPFR_RNDN);
    mpfr_div_si(exact, exact, loads.tokens, MPFR_RNDN);
    /* 400 bits, then binary32: twice rounded, but a quotient by less than 2^63 cannot come closer
       than 2^-63 of itself to a boundary without lying on it. */
    float mean;
    cr_assert_eq(phibal_loads_mean(&loads, &mean), PHIBAL_OK);
    cr_assert_eq(mean, mpfr_get_flt(exact, MPFR_RNDN), "%a not %a", (double)mean,
                 (double)mpfr_get_flt(exact, MPFR_RNDN));
  }
  mpfr_clear(exact);
  phibal_loads_destroy(&loads);
}

/* The halves between two neighbours, and just beside them. */
Test(loads, mean_rounds_halves_to_even) {
  phibal_router router = {1, 1, PHIBAL_GATE_TOPK_SOFTMAX, 1};
  phibal_loads loads;
  cr_assert_eq(phibal_loads_create(&router, &loads), PHIBAL_OK);
  static const struct {
    uint64_t limb[PHIBAL_LOAD_LIMBS];
    int64_t tokens;
    float mean;
  } cases[] = {
      {{0, 0x80000080}, 1, 0x1.0p-1f},                  /* 1/2 + 2^-25: to even, down */
      {{0, 0x80000080, 0, 0, 0, 1}, 1, 0x1.000002p-1f}, /* 2^-160 more */
      {{0, 0x80000080, 1}, 1, 0x1.000002p-1f},          /* 2^-64 more */
      {{0, 0x80000180}, 1, 0x1.000004p-1f},             /* to even, up */
      {{0, 0x8000017f, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, 1, 0x1.000002p-1f},
      {{0, 1, 0x100}, 1, 0x1p-32f}, /* the half in the second digit */
      {{0, 1, 0x100, 0, 0, 1}, 1, 0x1.000002p-32f},
      {{0, 3, 0x300}, 3, 0x1p-32f},
      {{0, 3, 0x301}, 3, 0x1.000002p-32f}, /* a third of 2^-64 more: the rest */
      {{3, 0, 0, 0, 0, 0}, 3, 1.0f},
      {{(uint64_t)1 << 40, 0, 0, 0, 0, 0}, (int64_t)1 << 40, 1.0f},
      {{1, 0, 0, 0, 0, 0}, 3, 0x1.555556p-2f},
      {{0, 0, 0, 0, 0, 1 << 10}, 1, 0.0f}, /* 2^-150: half the smallest */
      {{0, 0, 0, 0, 0, (1 << 10) + 1}, 1, 0x1p-149f},
      {{0, 0, 0, 0, 0, 3 << 10}, 1, 0x1p-148f}, /* 1.5 2^-149: to even */
      {{0, 0, 0, 0, 0, 9 << 10}, 3, 0x1p-148f},
      {{0, 0, 0, 0, 0x3ffffff, 0xfffffc00}, 1, 0x1p-102f},
      {{0, 0, 0, 0, 0, 0}, 7, 0.0f},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    memcpy(loads.probability, cases[i].limb, sizeof cases[i].limb);
    loads.tokens = cases[i].tokens;
    float mean;
    cr_assert_eq(phibal_loads_mean(&loads, &mean), PHIBAL_OK);
    cr_assert_eq(mean, cases[i].mean, "case %d: %a", (int)i, (double)mean);
  }
  phibal_loads_destroy(&loads);
}

/* Divisors below 2^32 are divided by in 64 bits; the same quotient, a power of two over both, is
   not. */
Test(loads, quotients_do_not_depend_on_the_width) {
  uint64_t state = 7;
  for (int i = 0; i < 200000; i++) {
    uint64_t limb[PHIBAL_LOAD_LIMBS], wide[PHIBAL_LOAD_LIMBS], bits[PHIBAL_LOAD_LIMBS + 1];
    for (int j = 0; j <= PHIBAL_LOAD_LIMBS; j++) {
      state ^= state << 13, state ^= state >> 7, state ^= state << 17;
      bits[j] = i % 3 ? state : state >> (state % 64);
    }
    const uint64_t divisor = i % 5 ? (bits[0] >> 32 >> i % 32) + 1 : UINT32_MAX - (uint64_t)i % 3;
    const int shift = 32 - i % 8; /* a wide divisor in every case but the smallest */
    limb[0] = wide[0] = bits[1] >> 33;
    for (int j = 1; j < PHIBAL_LOAD_LIMBS; j++) limb[j] = (uint32_t)bits[j + 1];
    wide[0] = limb[0] << shift;
    for (int j = 1; j < PHIBAL_LOAD_LIMBS; j++) {
      wide[j - 1] += limb[j] << shift >> 32;
      wide[j] = limb[j] << shift & UINT32_MAX;
    }
    const float narrow = core_limbs_quotient(limb, divisor);
    const float same = core_limbs_quotient(wide, (unsigned __int128)divisor << shift);
    cr_assert_arr_eq(&narrow, &same, sizeof same, "case %d, divisor %lu", i,
                     (unsigned long)divisor);
  }
}

Test(loads, frequency_is_correctly_rounded) {
  uint64_t state = 4;
  mpfr_t exact;
  mpfr_init2(exact, 400);
  for (int i = 0; i < 20000; i++) {
    int32_t E = (int32_t)(random_bits(&state) % PHIBAL_MAX_EXPERTS) + 1;
    phibal_router router = {E, (int32_t)(random_bits(&state) % (uint64_t)E) + 1, 0, 1};
    phibal_loads loads;
    cr_assert_eq(phibal_loads_create(&router, &loads), PHIBAL_OK);
    loads.tokens = (int64_t)(random_bits(&state) >> (2 + random_bits(&state) % 62)) + 1;
    loads.count[E - 1] = (int64_t)(random_bits(&state) % ((uint64_t)loads.tokens + 1));
    loads.count[0] = loads.tokens;
    float *frequency = malloc((size_t)E * sizeof *frequency);
    cr_assert_eq(phibal_loads_frequency(&loads, frequency), PHIBAL_OK);
    for (int32_t e = 0; e<E; e += E> 1 ? E - 1 : 1) {
      mpfr_set_si(exact, loads.count[e], MPFR_RNDN);
      mpfr_div_si(exact, exact, loads.tokens, MPFR_RNDN);
      mpfr_div_si(exact, exact, router.active, MPFR_RNDN);
      cr_assert_eq(frequency[e], mpfr_get_flt(exact, MPFR_RNDN));
    }
    free(frequency);
    phibal_loads_destroy(&loads);
  }
  mpfr_clear(exact);
}

Test(loads, add_up_to_the_whole) {
  enum { T = 500, E = 40 };
  static float x[T * E];
  uint64_t state = 3;
  random_logits(&state, LOGITS_80, T * E, x);
  phibal_router router = {E, 5, PHIBAL_GATE_PROBABILITY, 1}, other = {E, 4, 0, 1};
  phibal_loads whole, first, second, wrong;
  cr_assert_eq(phibal_loads_create(&router, &whole), PHIBAL_OK);
  cr_assert_eq(phibal_loads_create(&router, &first), PHIBAL_OK);
  cr_assert_eq(phibal_loads_create(&router, &second), PHIBAL_OK);
  cr_assert_eq(phibal_loads_create(&other, &wrong), PHIBAL_OK);
  forward(&router, T, x, &whole);
  forward(&router, 123, x, &first);
  forward(&router, T - 123, x + 123 * E, &second);
  cr_assert_eq(phibal_loads_add(&second, &first), PHIBAL_OK);
  cr_assert_eq(second.tokens, T);
  cr_assert_arr_eq(second.probability, whole.probability, E * PHIBAL_LOAD_LIMBS * 8);
  cr_assert_arr_eq(second.count, whole.count, E * 8);
  for (int i = 0; i < E * PHIBAL_LOAD_LIMBS; i++)
    if (i % PHIBAL_LOAD_LIMBS) cr_assert_lt(whole.probability[i], (uint64_t)1 << 32);
  cr_assert_eq(phibal_loads_add(&wrong, &whole), PHIBAL_ERROR_ARGUMENT);
  /* Frequencies are at most 1. */
  float frequency[E];
  const int64_t counted = whole.count[1];
  const int64_t routes = whole.tokens * whole.active;
  whole.count[1] = routes;
  cr_assert_eq(phibal_loads_frequency(&whole, frequency), PHIBAL_OK);
  cr_assert_float_eq(frequency[1], 1, 0);
  whole.count[1] = routes + 1;
  cr_assert_eq(phibal_loads_frequency(&whole, frequency), PHIBAL_ERROR_ARGUMENT);
  whole.count[1] = -1;
  cr_assert_eq(phibal_loads_frequency(&whole, frequency), PHIBAL_ERROR_ARGUMENT);
  whole.count[1] = counted;
  phibal_loads_clear(&whole);
  cr_assert_eq(whole.tokens, 0);
  float mean[E];
  cr_assert_eq(phibal_loads_mean(&whole, mean), PHIBAL_ERROR_ARGUMENT);
  cr_assert_eq(phibal_loads_frequency(&whole, mean), PHIBAL_ERROR_ARGUMENT);
  for (int i = 0; i < E; i++) cr_assert_eq(whole.count[i], 0);
  for (int i = 0; i < E * PHIBAL_LOAD_LIMBS; i++) cr_assert_eq(whole.probability[i], 0);
  phibal_loads_destroy(&whole);
  phibal_loads_destroy(&first);
  phibal_loads_destroy(&second);
  phibal_loads_destroy(&wrong);
}

Test(loads, refuse_impossible_routers) {
  static const phibal_router bad[] = {
      {0, 1, 0, 1}, {-3, 1, 0, 1}, {1025, 1, 0, 1}, {8, 0, 0, 1}, {8, 9, 0, 1}};
  phibal_loads loads;
  for (int i = 0; i < 5; i++)
    cr_assert_eq(phibal_loads_create(&bad[i], &loads), PHIBAL_ERROR_ARGUMENT);
}
