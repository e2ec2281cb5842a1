/* Loads over a batch: mean probabilities (R6), counts and frequencies (R7). */
#include "operation.h"
#include <stdlib.h>

/* Tokens are summed in this many runs whatever the number of threads, and the runs are then added
   in order: the enclosures never depend on the threads. */
#define LOADS_RUNS 64

/* One run's tokens and what they add up to. */
typedef struct loads_run {
  int64_t first, end; /* tokens first .. end-1 */
  int64_t counted;
  int64_t *count;        /* [E] */
  phibal_enclosure *sum; /* [E], or null */
  phibal_status status;
} loads_run;

typedef struct loads_batch {
  const phibal_router *router;
  const float *logits, *bias;
  const uint8_t *mask;
  bool probabilities; /* are means wanted? */
} loads_batch;

static phibal_status loads_add_token(phibal_reference_token *t, const loads_batch *batch,
                                     const float *logits, loads_run *run) {
  TRY(phibal_reference_token_select(t, batch->router, logits, batch->bias));
  for (int32_t s = 0; s < t->active; s++) run->count[t->selection[s]]++;
  run->counted++;
  if (!batch->probabilities) return PHIBAL_OK;
  TRY(reference_token_probabilities(t, batch->router, logits));
  for (int32_t e = 0; e < t->experts; e++)
    TRY(phibal_enclosure_add(&run->sum[e], &run->sum[e], &t->probability[e]));
  return PHIBAL_OK;
}

static phibal_status loads_add_run(phibal_reference_token *t, const loads_batch *batch,
                                   loads_run *run) {
  for (int64_t i = run->first; i < run->end; i++) {
    if (batch->mask && !batch->mask[i]) continue;
    TRY(loads_add_token(t, batch, batch->logits + i * t->experts, run));
  }
  return PHIBAL_OK;
}

/* Shares `tokens` tokens out; sum null: no means. */
static void loads_runs_init(loads_run *runs, int64_t *count, phibal_enclosure *sum, int32_t experts,
                            int64_t tokens) {
  for (int r = 0; r < LOADS_RUNS; r++) {
    int64_t share = tokens / LOADS_RUNS, rest = tokens % LOADS_RUNS;
    int64_t first = share * r + (r < rest ? r : rest);
    runs[r] = (loads_run){.first = first,
                          .end = first + share + (r < rest),
                          .count = count + (size_t)r * (size_t)experts,
                          .sum = sum ? sum + (size_t)r * (size_t)experts : NULL,
                          .status = PHIBAL_OK};
  }
}

static phibal_status loads_run_all(const loads_batch *batch, mpfr_prec_t precision,
                                   loads_run *runs) {
#pragma omp parallel
  {
    phibal_reference_token t;
    phibal_status ready =
        phibal_reference_token_init(&t, batch->router->experts, batch->router->active, precision);
#pragma omp for schedule(dynamic)
    for (int r = 0; r < LOADS_RUNS; r++)
      runs[r].status = ready == PHIBAL_OK ? loads_add_run(&t, batch, &runs[r]) : ready;
    if (ready == PHIBAL_OK) phibal_reference_token_clear(&t);
  }
  for (int r = 0; r < LOADS_RUNS; r++)
    if (runs[r].status != PHIBAL_OK)
      return phibal_status_set(runs[r].status,
                               "phibal_reference_loads: tokens %lld to %lld could not be computed "
                               "(memory, or the precision cap of a sigmoid score)",
                               (long long)runs[r].first, (long long)runs[r].end - 1);
  return PHIBAL_OK;
}

static int64_t loads_counted(const loads_run *runs) {
  int64_t counted = 0;
  for (int r = 0; r < LOADS_RUNS; r++) counted += runs[r].counted;
  return counted;
}

static void loads_counts(const loads_run *runs, int32_t experts, int64_t *count) {
  for (int32_t e = 0; e < experts; e++) {
    count[e] = 0;
    for (int r = 0; r < LOADS_RUNS; r++) count[e] += runs[r].count[e];
  }
}

/* (R6) mean_e = sum over the runs / counted. */
static phibal_status loads_mean(const loads_run *runs, int32_t experts, int64_t counted,
                                phibal_enclosure *divisor, phibal_enclosure *total,
                                phibal_enclosure *mean) {
  phibal_enclosure_set_si(divisor, (long)counted);
  for (int32_t e = 0; e < experts; e++) {
    phibal_enclosure_set_si(total, 0);
    for (int r = 0; r < LOADS_RUNS; r++) TRY(phibal_enclosure_add(total, total, &runs[r].sum[e]));
    TRY(phibal_enclosure_div(&mean[e], total, divisor));
  }
  return PHIBAL_OK;
}

static phibal_status loads_compute(const loads_batch *batch, int64_t tokens, mpfr_prec_t precision,
                                   int64_t *run_count, phibal_enclosure *scratch,
                                   phibal_enclosure *mean, int64_t *count, int64_t *counted) {
  int32_t experts = batch->router->experts;
  loads_run runs[LOADS_RUNS];
  loads_runs_init(runs, run_count, mean ? scratch + 2 : NULL, experts, tokens);
  TRY(loads_run_all(batch, precision, runs));
  int64_t n = loads_counted(runs);
  if (counted) *counted = n;
  if (count) loads_counts(runs, experts, count);
  if (!mean) return PHIBAL_OK;
  if (n == 0)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "phibal_reference_loads: no unmasked token, so there is no mean");
  return loads_mean(runs, experts, n, &scratch[0], &scratch[1], mean);
}

static phibal_status loads_check(const phibal_router *router, int64_t tokens, const float *logits,
                                 const float *bias, const uint8_t *mask, mpfr_prec_t precision) {
  const char *name = "phibal_reference_loads";
  if (!router || (!logits && tokens > 0) || tokens < 0)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: null router or logits, or %lld tokens",
                             name, (long long)tokens);
  TRY(operation_check_experts(name, router->experts, precision));
  if (router->active < 1 || router->active > router->experts)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: %d active experts; there must be 1 to %d",
                             name, (int)router->active, (int)router->experts);
  if (bias) TRY(operation_check_finite(name, "the bias", router->experts, bias));
  for (int64_t i = 0; i < tokens; i++)
    for (int32_t e = 0; e < router->experts && (!mask || mask[i]); e++)
      if (!isfinite(logits[i * router->experts + e]))
        return phibal_status_set(PHIBAL_ERROR_NONFINITE,
                                 "%s: the logit of token %lld, expert %d is %g; it must be finite",
                                 name, (long long)i, (int)e,
                                 (double)logits[i * router->experts + e]);
  return PHIBAL_OK;
}

phibal_status phibal_reference_loads(const phibal_router *router, int64_t tokens,
                                     const float *logits, const float *bias, const uint8_t *mask,
                                     mpfr_prec_t precision, phibal_enclosure *mean, int64_t *count,
                                     int64_t *counted) {
  TRY(loads_check(router, tokens, logits, bias, mask, precision));
  size_t cells = (size_t)router->experts * LOADS_RUNS;
  phibal_enclosure *scratch;
  TRY(operation_scratch("phibal_reference_loads", 2 + (mean ? cells : 0), precision, &scratch));
  int64_t *run_count = calloc(cells, sizeof *run_count);
  loads_batch batch = {router, logits, bias, mask, mean != NULL};
  phibal_status status =
      run_count ? loads_compute(&batch, tokens, precision, run_count, scratch, mean, count, counted)
                : phibal_status_set(PHIBAL_ERROR_MEMORY,
                                    "phibal_reference_loads: no memory for %zu counts", cells);
  free(run_count);
  operation_scratch_clear(scratch, 2 + (mean ? cells : 0));
  return status;
}

phibal_status phibal_reference_frequency(int32_t experts, int32_t active, int64_t tokens,
                                         const int64_t *count, phibal_enclosure *frequency) {
  const char *name = "phibal_reference_frequency";
  if (!count || !frequency || experts < 1 || active < 1 || tokens < 1)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "%s: null argument, or %d experts, %d active, %lld tokens; each must "
                             "be at least 1",
                             name, (int)experts, (int)active, (long long)tokens);
  mpq_t q;
  mpq_init(q);
  for (int32_t e = 0; e < experts; e++) {
    mpz_set_si(mpq_numref(q), (long)count[e]);
    mpz_set_si(mpq_denref(q), (long)tokens);
    mpz_mul_si(mpq_denref(q), mpq_denref(q), (long)active);
    mpq_canonicalize(q);
    phibal_enclosure_set_q(&frequency[e], q);
  }
  mpq_clear(q);
  return PHIBAL_OK;
}
