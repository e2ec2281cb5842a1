/* Router backward against MPFR within its derived bound, and against differences of the loss. */
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
  float *logits, *price, *gate_gradient, *gradient;
  int32_t *experts;
  uint8_t *mask;
} batch;

/* Logits of one kind, routed by the forward pass under a bias, so that the selection need not be
   the largest logits; the gradient has room for one token more. */
static batch batch_create(phibal_router router, int64_t tokens, int kind, uint64_t seed) {
  size_t T = (size_t)tokens + 1, E = (size_t)router.experts, k = (size_t)router.active;
  uint64_t state = seed;
  batch b = {.router = router, .tokens = tokens};
  b.logits = calloc(T * E, sizeof(float));
  b.price = malloc(E * sizeof(float));
  b.gate_gradient = malloc(T * k * sizeof(float));
  b.gradient = malloc(T * E * sizeof(float));
  memset(b.gradient, 0xee, T * E * sizeof(float));
  b.experts = malloc(T * k * sizeof(int32_t));
  b.mask = malloc(T);
  memset(b.mask, 1, T);
  random_logits(&state, kind, tokens * router.experts, b.logits);
  for (size_t e = 0; e < E; e++) b.price[e] = (float)(random_unit(&state) + 0.25);
  for (size_t i = 0; i < T * k; i++) b.gate_gradient[i] = (float)(random_unit(&state) * 3);
  float *unused = malloc(T * k * sizeof(float)), *bias = malloc(E * sizeof(float));
  for (size_t e = 0; e < E; e++) bias[e] = (float)random_unit(&state);
  phibal_loads loads;
  cr_assert_eq(phibal_loads_create(&router, &loads), PHIBAL_OK);
  cr_assert_eq(phibal_router_forward(&router, tokens, b.logits, bias, NULL, NULL, b.experts, unused,
                                     NULL, &loads),
               PHIBAL_OK);
  phibal_loads_destroy(&loads);
  free(unused);
  free(bias);
  return b;
}

static void batch_destroy(batch *b) {
  free(b->logits);
  free(b->price);
  free(b->gate_gradient);
  free(b->gradient);
  free(b->experts);
  free(b->mask);
}

enum { GATES = 1, PRICE = 2, Z = 4 }; /* which parts of the loss there are */

static phibal_status backward(const batch *b, int parts, const uint8_t *mask, int64_t from,
                              int64_t to, float *gradient) {
  int64_t E = b->router.experts, k = b->router.active;
  return phibal_router_backward(
      &b->router, to - from, b->logits + from * E, mask ? mask + from : NULL, b->experts + from * k,
      parts & GATES ? b->gate_gradient + from * k : NULL, parts & PRICE ? b->price : NULL, 0.7,
      parts & Z ? 0.3 : 0.0, gradient + from * E);
}

/* The bound derived in router_backward.c, sharper than the 8 u promised: u (1 + 2^-18) of the sum
   of the absolute values of the terms, or half the smallest subnormal. */
static void compare(const batch *b, int parts, const char *what) {
  int64_t T = b->tokens, E = b->router.experts, k = b->router.active;
  cr_assert_eq(backward(b, parts, NULL, 0, T, b->gradient), PHIBAL_OK, "%s",
               phibal_status_message());
  oracle o;
  oracle_create(&o, &b->router);
  for (int64_t t = 0; t < T; t++) {
    oracle_backward(&o, &b->router, b->logits + t * E, b->experts + t * k,
                    parts & GATES ? b->gate_gradient + t * k : NULL,
                    parts & PRICE ? b->price : NULL, 0.7, parts & Z ? 0.3 : 0.0);
    for (int64_t e = 0; e < E; e++) {
      float got = b->gradient[t * E + e];
      mpfr_sub_d(o.a, o.gradient[e], (double)got, MPFR_RNDN);
      double error = fabs(mpfr_get_d(o.a, MPFR_RNDN));
      double bound = mpfr_get_d(o.condition[e], MPFR_RNDU) * 0x1p-24 * (1 + 0x1p-18) + 0x1p-150;
      cr_assert(error <= bound, "%s E %d k %d gate %d parts %d token %d expert %d: %a not %a", what,
                (int)E, (int)k, (int)b->router.gate, parts, (int)t, (int)e, (double)got,
                mpfr_get_d(o.gradient[e], MPFR_RNDN));
    }
  }
  for (int64_t i = T * E * 4; i < (T + 1) * E * 4; i++)
    cr_assert_eq(((uint8_t *)b->gradient)[i], 0xee, "written beyond the last token");
  oracle_destroy(&o);
}

Test(router_backward, agrees_with_mpfr) {
  static const int32_t shapes[][2] = {{1, 1},   {2, 1},   {2, 2},   {7, 3},   {8, 2},
                                      {16, 16}, {31, 1},  {32, 8},  {33, 33}, {64, 8},
                                      {65, 1},  {100, 7}, {256, 8}, {333, 64}};
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
    for (int g = 0; g < GATE_KINDS; g++)
      for (int kind = 0; kind < LOGITS_KINDS; kind++)
        for (int parts = 0; parts < (oracle_has_scores(gates[g]) ? 4 : 8); parts++) {
          phibal_router router = {shapes[i][0], shapes[i][1], gates[g], 1.5f};
          batch b = batch_create(router, shapes[i][0] > 64 ? 1 : 17, kind, i * 100 + (size_t)kind);
          compare(&b, parts, "random");
          batch_destroy(&b);
        }
}

Test(router_backward, the_largest_router) {
  for (int g = 0; g < GATE_KINDS; g++) {
    batch b = batch_create((phibal_router){1024, g == 1 ? 1024 : 32, gates[g], 1}, 1, g, 3);
    compare(&b, GATES | PRICE, "largest");
    batch_destroy(&b);
  }
}

/* Prices and gates only move probability about: their gradients add up to 0 over the experts of a
   softmax router. Each element is rounded by u of itself at most, before that by nothing that
   shows. */
Test(router_backward, rows_add_up_to_nothing) {
  static const int32_t sizes[] = {16, 200};
  for (int i = 0; i < 2; i++) {
    for (int g = 0; g < 2; g++) {
      int32_t E = sizes[i];
      batch b = batch_create((phibal_router){E, 3, gates[g], 1}, 50, LOGITS_ORDINARY, 9);
      cr_assert_eq(backward(&b, GATES | PRICE, NULL, 0, 50, b.gradient), PHIBAL_OK);
      for (int64_t t = 0; t < 50; t++) {
        double sum = 0, magnitude = 0;
        for (int32_t e = 0; e < E; e++) {
          sum += (double)b.gradient[t * E + e];
          magnitude += fabs((double)b.gradient[t * E + e]);
        }
        cr_assert_gt(magnitude, 1e-3);
        cr_assert_leq(fabs(sum), magnitude * 0x1.01p-24);
      }
      batch_destroy(&b);
    }
  }
}

/* The loss of one token, from the definitions and not from (G2): what the gradient is of. */
static long double loss(const batch *b, const long double *x, int parts) {
  int32_t E = b->router.experts, k = b->router.active;
  bool sigmoid = b->router.gate == PHIBAL_GATE_SIGMOID;
  bool root = b->router.gate == PHIBAL_GATE_SQRT_SOFTPLUS;
  long double p[16], total = 0, sum_exp = 0, result = 0, chosen = 0;
  for (int32_t e = 0; e < E; e++) {
    p[e] = root ? sqrtl(log1pl(expl(x[e]))) : sigmoid ? 1 / (1 + expl(-x[e])) : expl(x[e]);
    total += p[e];
    sum_exp += expl(x[e]);
  }
  for (int32_t s = 0; s < k; s++) chosen += p[b->experts[s]];
  if (b->router.gate == PHIBAL_GATE_PROBABILITY || (k == 1 && !sigmoid && !root)) chosen = total;
  for (int32_t s = 0; parts & GATES && s < k; s++)
    result +=
        (long double)b->gate_gradient[s] * (long double)b->router.scale * p[b->experts[s]] / chosen;
  for (int32_t e = 0; parts & PRICE && e < E; e++)
    result += 0.7L * (long double)b->price[e] * p[e] / total;
  if (parts & Z) result += 0.3L / 2 * logl(sum_exp) * logl(sum_exp);
  return result;
}

/* Central differences at h and h/2, extrapolated: the error is of order h^4 times fifth
   derivatives, which are below 200 here: 2^-40 * 200 / 30 < 2^-36, and 2^-64 |loss| / h < 2^-50
   from rounding. */
Test(router_backward, is_the_gradient_of_the_loss) {
  for (int g = 0; g < GATE_KINDS; g++) {
    for (int32_t k = 1; k <= 4; k += 3) {
      int parts = oracle_has_scores(gates[g]) ? GATES | PRICE : GATES | PRICE | Z;
      batch b = batch_create((phibal_router){9, k, gates[g], 1.25f}, 1, LOGITS_ORDINARY, 21);
      cr_assert_eq(backward(&b, parts, NULL, 0, 1, b.gradient), PHIBAL_OK);
      for (int32_t j = 0; j < 9; j++) {
        long double slope[2];
        for (int i = 0; i < 2; i++) {
          long double h = i == 0 ? 0x1p-10L : 0x1p-11L, x[9];
          for (int32_t e = 0; e < 9; e++) x[e] = (long double)b.logits[e];
          x[j] += h;
          slope[i] = loss(&b, x, parts);
          x[j] -= 2 * h;
          slope[i] = (slope[i] - loss(&b, x, parts)) / (2 * h);
        }
        double expected = (double)((4 * slope[1] - slope[0]) / 3);
        cr_assert_leq(fabs(expected - (double)b.gradient[j]), fabs(expected) * 0x1p-24 + 0x1p-36,
                      "gate %d k %d expert %d: %g not %g", g, k, j, (double)b.gradient[j],
                      expected);
      }
      batch_destroy(&b);
    }
  }
}

/* Only differences of prices matter, so a constant added exactly changes little: nothing but the
   rounding of larger terms. */
Test(router_backward, prices_matter_by_their_differences) {
  batch b = batch_create((phibal_router){24, 2, gates[0], 1}, 30, LOGITS_ORDINARY, 4);
  for (int32_t e = 0; e < 24; e++) b.price[e] = (float)e / 32;
  cr_assert_eq(backward(&b, PRICE, NULL, 0, 30, b.gradient), PHIBAL_OK);
  float *shifted = malloc(30 * 24 * sizeof(float));
  for (int32_t e = 0; e < 24; e++) b.price[e] += 1024;
  cr_assert_eq(backward(&b, PRICE, NULL, 0, 30, shifted), PHIBAL_OK);
  /* Two roundings to binary32, and 2^-42 of 2 * 1024 * 0.7. */
  for (int i = 0; i < 30 * 24; i++)
    cr_assert_leq(fabs((double)(shifted[i] - b.gradient[i])),
                  fabs((double)b.gradient[i]) * 0x1p-23 + 0x1p-31);
  free(shifted);
  batch_destroy(&b);
}

Test(router_backward, the_same_bits_always) {
  static const int32_t sizes[] = {8, 70};
  for (int i = 0; i < 2; i++) {
    for (int g = 0; g < GATE_KINDS; g++) {
      int64_t T = 9001, E = sizes[i];
      int parts = oracle_has_scores(gates[g]) ? GATES | PRICE : GATES | PRICE | Z;
      batch b = batch_create((phibal_router){sizes[i], 4, gates[g], 1}, T, LOGITS_ORDINARY, 77);
      float *cut = malloc((size_t)(T * E) * sizeof(float));
      omp_set_num_threads(1);
      cr_assert_eq(backward(&b, parts, NULL, 0, T, b.gradient), PHIBAL_OK);
      omp_set_num_threads(3);
      cr_assert_eq(backward(&b, parts, NULL, 0, T, cut), PHIBAL_OK);
      cr_assert_arr_eq(cut, b.gradient, (size_t)(T * E) * sizeof(float));
      memset(cut, 0, (size_t)(T * E) * sizeof(float));
      static const int64_t ends[] = {3, 4, 20, 7000, 9001};
      for (int64_t from = 0, j = 0; from < T; from = ends[j++])
        cr_assert_eq(backward(&b, parts, NULL, from, ends[j], cut), PHIBAL_OK);
      cr_assert_arr_eq(cut, b.gradient, (size_t)(T * E) * sizeof(float));
      free(cut);
      batch_destroy(&b);
    }
  }
}

/* As of the forward pass: each token comes out as it does alone, for every rest of tokens, experts
   and slots. */
Test(router_backward, a_token_among_others_as_alone) {
  static const int32_t sizes[] = {1, 2, 3, 4, 5, 6, 7, 9, 12, 31, 63, 64, 65};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    int32_t E = sizes[i];
    for (int32_t k = 1; k <= E; k = k < 8 ? k + 1 : k < E - 1 ? E - 1 : k + 1) {
      for (int64_t T = 1; T <= 35; T = T < 18 ? T + 1 : T + 17) {
        phibal_router router = {E, k, gates[(T + k) % GATE_KINDS], 1.5f};
        int parts = oracle_has_scores(router.gate) ? GATES | PRICE : GATES | PRICE | Z;
        batch b = batch_create(router, T, LOGITS_ORDINARY, (uint64_t)(T * 64 + k));
        float *alone = malloc((size_t)(T * E) * sizeof(float));
        cr_assert_eq(backward(&b, parts, NULL, 0, T, b.gradient), PHIBAL_OK);
        for (int64_t t = 0; t < T; t++)
          cr_assert_eq(backward(&b, parts, NULL, t, t + 1, alone), PHIBAL_OK);
        cr_assert_arr_eq(b.gradient, alone, (size_t)(T * E) * sizeof(float));
        for (int64_t j = T * E * 4; j < (T + 1) * E * 4; j++)
          cr_assert_eq(((uint8_t *)b.gradient)[j], 0xee, "written beyond the last token");
        free(alone);
        batch_destroy(&b);
      }
    }
  }
}

Test(router_backward, padding_has_no_gradient) {
  static const int32_t sizes[] = {8, 70};
  for (int i = 0; i < 2; i++) {
    int64_t T = 37, E = sizes[i], k = 2;
    batch b = batch_create((phibal_router){sizes[i], 2, gates[0], 1}, T, LOGITS_ORDINARY, 78);
    float *whole = malloc((size_t)(T * E) * sizeof(float));
    cr_assert_eq(backward(&b, GATES | PRICE | Z, NULL, 0, T, whole), PHIBAL_OK);
    for (int64_t t = 0; t < T; t += 3) {
      b.mask[t] = 0;
      b.logits[t * E + 1] = NAN;
      b.experts[t * k] = b.experts[t * k + 1] = t % 2 ? -1 : 12345;
      b.gate_gradient[t * k] = INFINITY;
    }
    cr_assert_eq(backward(&b, GATES | PRICE | Z, b.mask, 0, T, b.gradient), PHIBAL_OK, "%s",
                 phibal_status_message());
    for (int64_t j = 0; j < T * E; j++)
      cr_assert_eq(b.gradient[j], (j / E) % 3 == 0 ? 0.0f : whole[j]);
    free(whole);
    batch_destroy(&b);
  }
}

Test(router_backward, names_what_is_wrong) {
  static const int32_t sizes[] = {8, 70};
  for (int i = 0; i < 2; i++) {
    for (int threads = 1; threads <= 3; threads++) {
      int64_t T = 20000, E = sizes[i];
      omp_set_num_threads(threads);
      batch b = batch_create((phibal_router){sizes[i], 2, gates[0], 1}, T, LOGITS_ORDINARY, 78);
      b.logits[15000 * E + 5] = -INFINITY;
      b.logits[19000 * E] = NAN;
      cr_assert_eq(backward(&b, GATES, NULL, 0, T, b.gradient), PHIBAL_ERROR_NONFINITE);
      cr_assert(strstr(phibal_status_message(), "token 15000 for expert 5 "), "%s",
                phibal_status_message());
      b.experts[14000 * 2 + 1] = sizes[i];
      b.experts[14001 * 2] = -1;
      cr_assert_eq(backward(&b, GATES, NULL, 0, T, b.gradient), PHIBAL_ERROR_ARGUMENT);
      char expected[64];
      snprintf(expected, sizeof expected, "token 14000 is routed to expert %d,", sizes[i]);
      cr_assert(strstr(phibal_status_message(), expected), "%s", phibal_status_message());
      batch_destroy(&b);
    }
  }
  batch b = batch_create((phibal_router){8, 2, gates[2], 1}, 1, LOGITS_ORDINARY, 78);
  cr_assert_eq(backward(&b, Z, NULL, 0, 1, b.gradient), PHIBAL_ERROR_ARGUMENT);
  b.price[7] = NAN;
  cr_assert_eq(backward(&b, PRICE, NULL, 0, 1, b.gradient), PHIBAL_ERROR_NONFINITE);
  cr_assert_eq(backward(&b, 0, NULL, 0, 0, b.gradient), PHIBAL_OK);
  cr_assert_eq(phibal_router_backward(&b.router, 1, b.logits, NULL, NULL, b.gate_gradient, NULL, 0,
                                      0, b.gradient),
               PHIBAL_ERROR_ARGUMENT);
  cr_assert_eq(
      phibal_router_backward(&b.router, 1, b.logits, NULL, NULL, NULL, NULL, NAN, 0, b.gradient),
      PHIBAL_OK); /* no price, so its scale is not used */
  cr_assert_eq(
      phibal_router_backward(&b.router, 1, b.logits, NULL, NULL, NULL, b.price, NAN, 0, b.gradient),
      PHIBAL_ERROR_ARGUMENT);
  batch_destroy(&b);
}
