/* Sinkhorn's scaling (L10), in logarithms, so that no exponential overflows and no sum vanishes.

   With x the logits less each token's largest and b = 0, a round is a_i = log sum_e exp(x_ie - b_e)
   and then b_e = log sum_i exp(x_ie - a_i); factors of T and E cancel until the end, where the plan
   is exp(x_ie - a_i - b_e) / E. Sums over experts are halving trees; over tokens they are kept with
   their rounding errors. Threads divide tokens, or experts: the bits do not depend on them.

   Error, u = 2^-53, X the spread of a token's logits: |b| <= 2 X + 30 and |a| <= 3 X + 30, so that
   the exponents are off by at most 6 u X + 60 u, and a logarithm of a sum of exponentials by no
   more than its exponents, relative errors of the exponentials and sums (14 u), and its own
   rounding (3 u X
   + 30 u). b takes over a's error, and a b's, unmagnified: after n rounds, and the plan's own
   exponent, at most (2 n + 1) (9 u X + 104 u). With n <= 50 and X <= 4096 that is below 2^-31.1 of
   the plan, 0.008 ULP, and it is rounded once. */
#include <math.h>
#include <phibal/environment.h>
#include <phibal/router.h>
#include <phibal/sinkhorn.h>
#include <stdbool.h>
#include <stdlib.h>
#include "../core/exp64.h"
#include "../core/log64.h"
#include "../core/tree.h"

typedef struct sinkhorn {
  int64_t tokens;
  int32_t experts;
  const float *logits;
  const uint8_t *mask;
  double *top, *a; /* [T]: each token's largest logit, and a */
  double b[PHIBAL_MAX_EXPERTS];
} sinkhorn;

static bool is_padding(const sinkhorn *s, int64_t t) {
  return s->mask && s->mask[t] == 0;
}

static double logit(const sinkhorn *s, int64_t t, int32_t e) {
  return (double)s->logits[t * s->experts + e] - s->top[t];
}

/* The token's largest logit; false where one is not finite or they are too far apart. */
static bool largest(const sinkhorn *s, int64_t t, double *top) {
  float low = INFINITY, high = -INFINITY;
  bool finite = true;
  for (int32_t e = 0; e < s->experts; e++) {
    const float x = s->logits[t * s->experts + e];
    finite &= isfinite(x);
    low = x < low ? x : low;
    high = x > high ? x : high;
  }
  *top = (double)high;
  return finite && (double)high - (double)low <= (double)PHIBAL_SINKHORN_MOST_SPREAD;
}

static double token_log_sum(const sinkhorn *s, int64_t t) {
  double x[PHIBAL_MAX_EXPERTS], high = -INFINITY;
  for (int32_t e = 0; e < s->experts; e++) {
    x[e] = logit(s, t, e) - s->b[e];
    high = x[e] > high ? x[e] : high;
  }
  for (int32_t e = 0; e < s->experts; e++) x[e] = core_exp64(x[e] - high);
  return high + core_log64(core_tree_sum(x, s->experts));
}

static double expert_log_sum(const sinkhorn *s, int32_t e) {
  double high = -INFINITY, sum = 0, lost = 0;
  for (int64_t t = 0; t < s->tokens; t++) {
    if (is_padding(s, t)) continue;
    const double x = logit(s, t, e) - s->a[t];
    high = x > high ? x : high;
  }
  for (int64_t t = 0; t < s->tokens; t++) {
    if (is_padding(s, t)) continue;
    const double term = core_exp64(logit(s, t, e) - s->a[t] - high), next = sum + term;
    const double part = next - sum;
    lost += (sum - (next - part)) + (term - part);
    sum = next;
  }
  return high + core_log64(sum + lost);
}

phibal_status phibal_sinkhorn(int64_t tokens, int32_t experts, int32_t rounds, const float *logits,
                              const uint8_t *mask, float *plan) {
  const char *function = "phibal_sinkhorn";
  if (tokens < 0 || tokens > (int64_t)1 << 40 || experts < 1 || experts > PHIBAL_MAX_EXPERTS ||
      rounds < 1 || rounds > PHIBAL_SINKHORN_MOST_ROUNDS)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: %lld tokens, %d experts, %d rounds",
                             function, (long long)tokens, (int)experts, (int)rounds);
  if (tokens > 0 && (!logits || !plan))
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null argument", function);
  phibal_status status = phibal_environment_check(function);
  if (status) return status;
  sinkhorn s = {.tokens = tokens, .experts = experts, .logits = logits, .mask = mask};
  int64_t live = 0;
  s.top = calloc((size_t)(2 * tokens) + 1, sizeof *s.top);
  if (!s.top) return phibal_status_set(PHIBAL_ERROR_MEMORY, "%s: out of memory", function);
  s.a = s.top + tokens;
  for (int64_t t = 0; !status && t < tokens; t++) {
    if (is_padding(&s, t)) continue;
    live++;
    if (!largest(&s, t, &s.top[t]))
      status = phibal_status_set(isfinite(s.top[t]) ? PHIBAL_ERROR_DOMAIN : PHIBAL_ERROR_NONFINITE,
                                 "%s: the logits of token %lld are not all finite, or more than %g "
                                 "apart",
                                 function, (long long)t, (double)PHIBAL_SINKHORN_MOST_SPREAD);
  }
  for (int32_t round = 0; !status && live > 0 && round < rounds; round++) {
#pragma omp parallel for schedule(static) if (tokens * experts > 4096)
    for (int64_t t = 0; t < tokens; t++)
      if (!is_padding(&s, t)) s.a[t] = token_log_sum(&s, t);
#pragma omp parallel for schedule(static) if (tokens * experts > 4096)
    for (int32_t e = 0; e < experts; e++) s.b[e] = expert_log_sum(&s, e);
  }
#pragma omp parallel for schedule(static) if (tokens * experts > 4096)
  for (int64_t t = 0; t < tokens; t++)
    for (int32_t e = 0; !status && e < experts; e++)
      plan[t * experts + e] =
          is_padding(&s, t)
              ? 0.0f
              : (float)(core_exp64(logit(&s, t, e) - s.a[t] - s.b[e]) / (double)experts);
  free(s.top);
  return status;
}
