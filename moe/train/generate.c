#include "generate.h"
#include "moe/machine/random.h"
#include "kernels/core/exp64.h"
#include <math.h>
#include <stdlib.h>

/* The stream of these draws; those of initial weights and of LoRA are others. */
#define STREAM (UINT64_C(5) << 32)

typedef struct candidate {
  float logit;
  int32_t token;
} candidate;

static int by_logit(const void *a, const void *b) {
  const candidate *p = a, *q = b;
  if (p->logit != q->logit) return p->logit > q->logit ? -1 : 1;
  return p->token < q->token ? -1 : p->token > q->token;
}

phibal_status generate_next(const generate_options *options, int32_t vocabulary,
                            const float *logits, uint64_t index, int32_t *token) {
  *token = 0;
  for (int32_t i = 0; i < vocabulary; i++) {
    if (!isfinite(logits[i]))
      return phibal_status_set(PHIBAL_ERROR_NONFINITE, "the logit of token %d is %g", i,
                               (double)logits[i]);
    if (logits[i] > logits[*token]) *token = i;
  }
  if (options->temperature <= 0) return PHIBAL_OK;

  candidate *order = malloc((size_t)vocabulary * sizeof *order);
  double *weight = malloc((size_t)vocabulary * sizeof *weight);
  if (!order || !weight) {
    free(order);
    free(weight);
    return phibal_status_set(PHIBAL_ERROR_MEMORY, "no memory for %d logits", vocabulary);
  }
  for (int32_t i = 0; i < vocabulary; i++) order[i] = (candidate){logits[i], i};
  qsort(order, (size_t)vocabulary, sizeof *order, by_logit);

  int32_t n = options->top_k > 0 && options->top_k < vocabulary ? options->top_k : vocabulary;
  double sum = 0;
  for (int32_t i = 0; i < n; i++) {
    /* Two roundings: 700 2^-52 of the weight at most; exp64 adds 2^-51. */
    const double x = ((double)order[i].logit - (double)order[0].logit) / options->temperature;
    weight[i] = x < -700 ? 0 : core_exp64(x);
    sum += weight[i];
  }
  double kept = weight[0];
  int32_t stay = 1;
  while (stay < n && kept < options->top_p * sum) kept += weight[stay++];

  const double u = (double)(random_bits(options->seed, STREAM, index) >> 11) * 0x1p-53;
  int32_t chosen = 0;
  for (double before = weight[0]; chosen + 1 < stay && before <= u * kept;)
    before += weight[++chosen];
  *token = order[chosen].token;
  free(order);
  free(weight);
  return PHIBAL_OK;
}
