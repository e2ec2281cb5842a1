/* Quantile balancing (L7), (L8) against sorting, counting by hand, and refusals. */
#include <criterion/criterion.h>
#include <math.h>
#include <phibal/balance.h>
#include <phibal/quantile.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define MOST 4096 /* tokens x experts */

static uint64_t state = 1;
static double uniform(void) { /* -1 to 1 */
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (double)(state >> 11) * 0x1p-52 - 1;
}

static int ascending(const void *x, const void *y) {
  const float a = *(const float *)x, b = *(const float *)y;
  return (a > b) - (a < b);
}

static double sigmoid32(float x) { /* (R2): correctly rounded but for the rarest of cases */
  return (double)(float)(1 / (1 + exp(-(double)x)));
}

static double score(phibal_gate gate, float x) {
  if (gate == PHIBAL_GATE_SQRT_SOFTPLUS) return (double)(float)sqrt(log1p(exp((double)x)));
  return gate == PHIBAL_GATE_SIGMOID ? sigmoid32(x) : (double)x;
}

typedef struct batch {
  phibal_router router;
  int32_t tokens;
  float logits[MOST], bias[PHIBAL_MAX_EXPERTS];
  uint8_t mask[MOST];
} batch;

static void make(batch *b, int32_t experts, int32_t active, phibal_gate gate, int32_t tokens) {
  b->router = (phibal_router){experts, active, gate, 1.0f};
  b->tokens = tokens;
  for (int32_t e = 0; e < experts; e++) b->bias[e] = (float)(uniform() * 0.5);
  for (int32_t i = 0; i < tokens * experts; i++) b->logits[i] = (float)(3 * uniform());
  /* Ties, which leave the cut-off what it is. */
  for (int32_t t = 0; t < tokens; t += 3)
    for (int32_t e = 0; e + 1 < experts; e += 2) b->logits[t * experts + e + 1] = 0.25f;
  for (int32_t t = 0; t < tokens; t++) b->mask[t] = t % 5 != 3;
}

/* Of one token, by its definition: the cut-off is the score with fewer than k + 1 above it and at
   least k + 1 not below it. */
static double cutoff(const batch *b, int32_t t, bool biased) {
  const int32_t experts = b->router.experts, k = b->router.active;
  double z[PHIBAL_MAX_EXPERTS];
  for (int32_t e = 0; e < experts; e++) {
    const float x = b->logits[t * experts + e];
    z[e] = score(b->router.gate, x) + (biased ? (double)b->bias[e] : 0);
  }
  for (int32_t e = 0; e < experts; e++) {
    int32_t above = 0, reach = 0;
    for (int32_t o = 0; o < experts; o++) {
      above += z[o] > z[e];
      reach += z[o] >= z[e];
    }
    if (above < k + 1 && reach >= k + 1) return z[e];
  }
  cr_assert_fail("no cut-off");
  return 0;
}

Test(quantile, required_by_definition_in_pieces) {
  static batch b;
  static float all[MOST + PHIBAL_MAX_EXPERTS * 8], part[MOST + PHIBAL_MAX_EXPERTS * 8];
  const struct {
    int32_t experts, active, tokens;
  } shapes[] = {{2, 1, 70}, {3, 2, 31}, {8, 2, 200}, {64, 8, 60}, {65, 64, 20}, {1024, 8, 3}};
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
    for (int variant = 0; variant < 16; variant++) {
      const bool biased = variant & 1, masked = variant & 2;
      make(&b, shapes[i].experts, shapes[i].active, (phibal_gate)(variant / 4), shapes[i].tokens);
      const int32_t experts = b.router.experts;
      const int64_t stride = b.tokens + variant % 3;
      const float *bias = biased ? b.bias : NULL;
      const uint8_t *mask = masked ? b.mask : NULL;
      cr_assert_eq(phibal_quantile_required(&b.router, b.tokens, b.logits, bias, mask, stride, all),
                   PHIBAL_OK, "%s", phibal_status_message());
      for (int32_t t = 0; t < b.tokens; t++) {
        const double a = cutoff(&b, t, biased);
        for (int32_t e = 0; e < experts; e++) {
          const float x = b.logits[t * experts + e], got = all[e * stride + t];
          const double s = score(b.router.gate, x);
          const float want = masked && !b.mask[t] ? INFINITY : (float)(a - s);
          cr_assert_eq(got, want, "E = %d, token %d, expert %d: %.9g, not %.9g", experts, t, e,
                       (double)got, (double)want);
        }
      }
      const int64_t first = b.tokens / 3;
      phibal_quantile_required(&b.router, first, b.logits, bias, mask, stride, part);
      phibal_quantile_required(&b.router, b.tokens - first, b.logits + first * experts, bias,
                               mask ? mask + first : NULL, stride, part + first);
      for (int32_t e = 0; e < experts; e++)
        cr_assert_eq(memcmp(all + e * stride, part + e * stride, (size_t)b.tokens * sizeof *all),
                     0);
    }
}

/* Two ranks, as threads that meet for each sum. */
typedef struct rank {
  pthread_barrier_t *barrier;
  int64_t *sum; /* shared, [E] */
  bool first;
  int32_t experts;
  int64_t tokens, stride, place;
  const float *required;
  float quantile[PHIBAL_MAX_EXPERTS];
  phibal_status status;
} rank;

static void meet(const void *context, int64_t n, int64_t *x) {
  const rank *r = context;
  if (r->first) memcpy(r->sum, x, (size_t)n * sizeof *x);
  pthread_barrier_wait(r->barrier);
  if (!r->first)
    for (int64_t i = 0; i < n; i++) r->sum[i] += x[i];
  pthread_barrier_wait(r->barrier);
  memcpy(x, r->sum, (size_t)n * sizeof *x);
  pthread_barrier_wait(r->barrier);
}

static void *search(void *argument) {
  rank *r = argument;
  const phibal_quantile_ranks ranks = {r, meet};
  r->status =
      phibal_quantile(r->experts, r->tokens, r->stride, r->required, r->place, &ranks, r->quantile);
  return NULL;
}

static void on_two_ranks(rank *a, rank *b) {
  pthread_barrier_t barrier;
  int64_t sum[PHIBAL_MAX_EXPERTS];
  pthread_barrier_init(&barrier, NULL, 2);
  a->barrier = b->barrier = &barrier;
  a->sum = b->sum = sum;
  a->first = true;
  b->first = false;
  pthread_t thread;
  cr_assert_eq(pthread_create(&thread, NULL, search, a), 0);
  search(b);
  pthread_join(thread, NULL);
  pthread_barrier_destroy(&barrier);
}

/* Every place of rows with ties, zeros of both signs, the least and the greatest numbers, and
   padding: by sorting, alone and on two ranks of which one may have nothing. */
Test(quantile, every_place) {
  enum { EXPERTS = 5, TOKENS = 41, STRIDE = 44 };
  float x[EXPERTS * STRIDE], sorted[TOKENS], quantile[EXPERTS];
  const float special[] = {0.0f, -0.0f, 0x1p-149f, -0x1p-149f, 0x1.fffffep127f, -0x1.fffffep127f};
  for (int32_t e = 0; e < EXPERTS; e++)
    for (int32_t t = 0; t < STRIDE; t++)
      x[e * STRIDE + t] = t >= TOKENS      ? NAN /* not this row's */
                          : t % 9 == 4     ? INFINITY
                          : t % 4 == e % 4 ? special[(t + e) % 6]
                                           : (float)(uniform() * (e == 1 ? 1e30 : 1));
  int finite = 0;
  for (int32_t t = 0; t < TOKENS; t++) finite += t % 9 != 4;
  for (int place = 1; place <= finite; place++) {
    cr_assert_eq(phibal_quantile(EXPERTS, TOKENS, STRIDE, x, place, NULL, quantile), PHIBAL_OK);
    const int64_t cut = place % 3 == 0 ? 0 : place % TOKENS;
    rank a = {.experts = EXPERTS, .tokens = cut, .stride = STRIDE, .place = place, .required = x};
    rank b = a;
    b.tokens = TOKENS - cut;
    b.required = x + cut;
    on_two_ranks(&a, &b);
    cr_assert(a.status == PHIBAL_OK && b.status == PHIBAL_OK);
    cr_assert_eq(memcmp(a.quantile, quantile, sizeof quantile), 0);
    cr_assert_eq(memcmp(b.quantile, quantile, sizeof quantile), 0);
    for (int32_t e = 0; e < EXPERTS; e++) {
      memcpy(sorted, x + e * STRIDE, sizeof sorted);
      qsort(sorted, TOKENS, sizeof *sorted, ascending);
      cr_assert_eq(quantile[e], sorted[place - 1], "place %d of expert %d", place, e);
      cr_assert(!signbit(quantile[e]) || quantile[e] < 0, "-0");
    }
  }
  cr_assert_eq(phibal_quantile(EXPERTS, TOKENS, STRIDE, x, finite + 1, NULL, quantile),
               PHIBAL_ERROR_DOMAIN);
  cr_assert(strstr(phibal_status_message(), "expert 0 has fewer than 37 tokens"), "%s",
            phibal_status_message());
  /* One rank's NaN ends both. */
  rank a = {.experts = EXPERTS, .tokens = 2, .stride = STRIDE, .place = 1, .required = x};
  rank b = a;
  x[STRIDE + 1] = NAN;
  b.required = x + 2;
  on_two_ranks(&a, &b);
  cr_assert(a.status == PHIBAL_ERROR_DOMAIN && b.status == PHIBAL_ERROR_DOMAIN);
}

/* (L8) against counting, and at most a bin away from (L7). */
Test(quantile, histogram) {
  enum { EXPERTS = 4, TOKENS = 300 };
  float x[EXPERTS * TOKENS], exact[EXPERTS], near[EXPERTS];
  static int64_t count[EXPERTS * 1000];
  const int32_t bins[] = {1, 2, 7, 1000};
  for (int round = 0; round < 40; round++) {
    for (int i = 0; i < EXPERTS * TOKENS; i++)
      x[i] = round % 4 == 3 && i % TOKENS % 6 == 0 ? INFINITY : (float)(uniform() * uniform());
    const int64_t n = round % 4 == 3 ? TOKENS - TOKENS / 6 : TOKENS;
    const int32_t B = bins[round / 4 % 4], active = 1 + round % 3;
    const float low = -1.0f, high = 1.0f;
    memset(count, 0, sizeof count);
    cr_assert_eq(phibal_quantile_histogram(EXPERTS, 100, TOKENS, x, low, high, B, count),
                 PHIBAL_OK);
    cr_assert_eq(
        phibal_quantile_histogram(EXPERTS, TOKENS - 100, TOKENS, x + 100, low, high, B, count),
        PHIBAL_OK);
    cr_assert_eq(phibal_quantile_interpolated(EXPERTS, active, low, high, B, count, near),
                 PHIBAL_OK, "%s", phibal_status_message());
    cr_assert_eq(phibal_quantile(EXPERTS, TOKENS, TOKENS, x,
                                 phibal_quantile_place(EXPERTS, active, n), NULL, exact),
                 PHIBAL_OK);
    const double width = 2.0 / B, share = (double)active * (double)n / EXPERTS;
    for (int e = 0; e < EXPERTS; e++) {
      double before = 0, want = NAN;
      for (int i = 0; i < B && isnan(want); i++) {
        double in = 0;
        for (int t = 0; t < TOKENS; t++)
          in += fmin(B - 1, floor(((double)x[e * TOKENS + t] + 1) / width)) == i &&
                isfinite(x[e * TOKENS + t]);
        if (before + in >= share) want = -1 + width * (i + (share - before) / in);
        before += in;
      }
      cr_assert_float_eq((double)near[e], want, 1e-7, "%d bins: %.9g, not %.9g", B, (double)near[e],
                         want);
      cr_assert(fabs((double)near[e] - (double)exact[e]) <= width * (1 + 0x1p-20) + 0x1p-24);
    }
  }
  cr_assert_eq(phibal_quantile_histogram(EXPERTS, TOKENS, TOKENS, x, -1e-3f, 1, 7, count),
               PHIBAL_ERROR_DOMAIN);
  cr_assert(strstr(phibal_status_message(), "outside -0.001 to 1"), "%s", phibal_status_message());
  int64_t uneven[2] = {3, 4};
  cr_assert_eq(phibal_quantile_interpolated(2, 1, 0, 1, 1, uneven, near), PHIBAL_ERROR_DOMAIN);
  uneven[0] = uneven[1] = 0;
  cr_assert_eq(phibal_quantile_interpolated(2, 1, 0, 1, 1, uneven, near), PHIBAL_ERROR_DOMAIN);
}

Test(quantile, bias) {
  const float quantile[3] = {0.5f, -1.5f, 4.0f};
  float bias[3] = {1, 2, 3};
  cr_assert_eq(phibal_quantile_bias(3, 1, quantile, bias), PHIBAL_OK);
  for (int e = 0; e < 3; e++) cr_assert_eq(bias[e], quantile[e] - 1.0f);
  cr_assert_eq(phibal_quantile_bias(3, 0.25f, (const float[]){3, 0, 0}, bias), PHIBAL_OK);
  for (int e = 0; e < 3; e++)
    cr_assert_eq(bias[e], 0.75f * (quantile[e] - 1.0f) + 0.25f * (e == 0 ? 2.0f : -1.0f));
  cr_assert_eq(phibal_quantile_bias(3, 0, quantile, bias), PHIBAL_ERROR_ARGUMENT);
  cr_assert_eq(phibal_quantile_bias(3, NAN, quantile, bias), PHIBAL_ERROR_ARGUMENT);
  bias[1] = INFINITY;
  cr_assert_eq(phibal_quantile_bias(3, 1, quantile, bias), PHIBAL_ERROR_DOMAIN);
}

/* Does a token select the expert? */
static bool selects(const phibal_router *router, const float *logits, const float *bias,
                    int32_t expert) {
  int32_t experts[PHIBAL_MAX_EXPERTS];
  float gates[PHIBAL_MAX_EXPERTS];
  phibal_loads loads;
  cr_assert_eq(phibal_loads_create(router, &loads), PHIBAL_OK);
  cr_assert_eq(
      phibal_router_forward(router, 1, logits, bias, NULL, NULL, experts, gates, NULL, &loads),
      PHIBAL_OK, "%s", phibal_status_message());
  phibal_loads_destroy(&loads);
  for (int32_t s = 0; s < router->active; s++)
    if (experts[s] == expert) return true;
  return false;
}

/* What SPEC.md says of a bias above r, and that it is as much as can be said. */
Test(quantile, what_a_bias_selects) {
  const phibal_router router = {12, 3, PHIBAL_GATE_TOPK_SOFTMAX, 1.0f};
  int kept = 0, lost = 0, got = 0, not_yet = 0;
  for (int t = 0; t < 50; t++) {
    float x[12], bias[12], required[12], z[12];
    for (int e = 0; e < 12; e++) {
      x[e] = (float)(3 * uniform());
      bias[e] = (float)uniform();
      z[e] = -(x[e] + bias[e]);
    }
    qsort(z, 12, sizeof *z, ascending);
    const float gap = z[3] - z[2];
    if (gap < 1e-3f) continue;
    cr_assert_eq(phibal_quantile_required(&router, 1, x, bias, NULL, 1, required), PHIBAL_OK);
    for (int e = 0; e < 12; e++) {
      const bool selected = selects(&router, x, bias, e);
      const float before = bias[e], least = required[e] + (selected ? 0 : gap);
      bias[e] = least + 1e-4f;
      const bool above = selects(&router, x, bias, e);
      bias[e] = least - 1e-4f;
      const bool below = selects(&router, x, bias, e);
      bias[e] = before;
      kept += selected && above;
      lost += selected && !below;
      got += !selected && above;
      not_yet += !selected && !below;
    }
  }
  cr_expect(kept > 100 && kept == lost, "%d kept, %d lost", kept, lost);
  cr_expect(got == 3 * kept && not_yet == got, "%d selected, %d not", got, not_yet);
}

/* The example of SPEC.md, and the refusal that it is for. */
Test(quantile, groups_have_no_cut_off) {
  phibal_router router = {.experts = 4,
                          .active = 2,
                          .gate = PHIBAL_GATE_TOPK_SOFTMAX,
                          .scale = 1,
                          .group_score = PHIBAL_GROUP_LARGEST,
                          .groups = 2,
                          .active_groups = 1};
  const float x[4] = {5, 4, 4.5f, 1};
  float bias[4] = {0, 0, 0, 4 - 1 + 0.5f}, required[4] = {9, 9, 9, 9};
  cr_expect(selects(&router, x, bias, 0) && selects(&router, x, bias, 1), "above the third of all");
  bias[3] = 4;
  cr_expect_not(selects(&router, x, bias, 3), "a tie of groups");
  bias[3] = 4.125f;
  cr_expect(selects(&router, x, bias, 3) && selects(&router, x, bias, 2), "with its group");
  cr_expect_eq(phibal_quantile_required(&router, 1, x, NULL, NULL, 1, required),
               PHIBAL_ERROR_UNSUPPORTED);
  cr_expect(strstr(phibal_status_message(), "groups"), "%s", phibal_status_message());
  cr_expect_eq(required[0], 9, "something was written");
}

Test(quantile, refusals) {
  phibal_router router = {2, 2, PHIBAL_GATE_TOPK_SOFTMAX, 1};
  float x[4] = {1, 2, 3, 4}, required[4];
#define REFUSED(status, text, ...)                                                                 \
  do {                                                                                             \
    cr_assert_eq(phibal_quantile_required(__VA_ARGS__), status);                                   \
    cr_assert(strstr(phibal_status_message(), text), "%s", phibal_status_message());               \
  } while (0)
  REFUSED(PHIBAL_ERROR_ARGUMENT, "all 2 experts", &router, 2, x, NULL, NULL, 2, required);
  router.active = 1;
  REFUSED(PHIBAL_ERROR_ARGUMENT, "rows of 1", &router, 2, x, NULL, NULL, 1, required);
  REFUSED(PHIBAL_ERROR_NONFINITE, "bias of expert 1 is inf", &router, 2, x,
          ((const float[]){0, INFINITY}), NULL, 2, required);
  x[3] = NAN;
  REFUSED(PHIBAL_ERROR_NONFINITE, "token 1 for expert 1 is nan", &router, 2, x, NULL, NULL, 2,
          required);
  cr_assert_eq(phibal_quantile_required(&router, 2, x, NULL, (const uint8_t[]){1, 0}, 2, required),
               PHIBAL_OK, "padding");
  x[2] = 0x1.8p127f, x[3] = -0x1.8p127f;
  REFUSED(PHIBAL_ERROR_NONFINITE, "token 1 less its score for expert 0 is beyond binary32", &router,
          2, x, NULL, NULL, 2, required);
  cr_assert_eq(phibal_quantile_required(&router, 0, NULL, NULL, NULL, 0, NULL), PHIBAL_OK);
}
