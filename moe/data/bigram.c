/* Conditional bigram entropy, in memory proportional to the tokens, not to the squared vocabulary.
 */
#include "token_file.h"
#include "kernels/core/log64.h"
#include <stdlib.h>

/* Whether the pair (token i, token i + 1) counts; `*document` tracks i, which must increase. */
static int pair_counts(const token_file *file, int32_t domain, int64_t i, int64_t *document) {
  while (*document + 1 < file->documents && file->table[*document + 1].start <= i) ++*document;
  return domain < 0 || file->table[*document].domain == domain;
}

/* sum over b of n_ab log(n_a / n_ab), n_ab being how often b is among next[n_a]. counts[] is all
   zeros before and after. Every term is >= 0, so nothing cancels; terms come in the order of b's
   first appearance, which makes the sum reproducible. */
static double entropy_after(const uint32_t *next, int64_t n, int64_t *counts) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++) counts[next[i]]++;
  for (int64_t i = 0; i < n; i++) {
    int64_t count = counts[next[i]];
    if (count) sum += (double)count * core_log64((double)n / (double)count);
    counts[next[i]] = 0;
  }
  return sum;
}

phibal_status token_file_bigram_entropy(const token_file *file, int32_t domain, double *nats) {
  const size_t vocabulary = (size_t)file->vocabulary;
  int64_t *ends =
      calloc(vocabulary + 1, sizeof *ends); /* of each first token's stretch of next[] */
  int64_t *counts = calloc(vocabulary, sizeof *counts);
  uint32_t *next = malloc((size_t)file->tokens * sizeof *next + 1);
  phibal_status status = PHIBAL_OK;
  if (!ends || !counts || !next) {
    status = phibal_status_set(PHIBAL_ERROR_MEMORY,
                               "no memory for the bigrams of %lld tokens (%lld bytes)",
                               (long long)file->tokens, 4LL * file->tokens);
    goto done;
  }
  int64_t pairs = 0, document = 0;
  for (int64_t i = 0; i + 1 < file->tokens; i++)
    if (pair_counts(file, domain, i, &document)) {
      ends[token_file_at(file, i) + 1]++;
      pairs++;
    }
  if (!pairs) {
    status = phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                               "no two neighbouring tokens to take a bigram entropy of");
    goto done;
  }
  for (size_t a = 0; a < vocabulary; a++) ends[a + 1] += ends[a];
  /* Here ends[a] is where a's stretch begins; filling it moves ends[a] to where it stops. */
  document = 0;
  for (int64_t i = 0; i + 1 < file->tokens; i++)
    if (pair_counts(file, domain, i, &document))
      next[ends[token_file_at(file, i)]++] = (uint32_t)token_file_at(file, i + 1);
  double sum = 0;
  for (size_t a = 0; a < vocabulary; a++) {
    int64_t begin = a ? ends[a - 1] : 0;
    sum += entropy_after(next + begin, ends[a] - begin, counts);
  }
  *nats = sum / (double)pairs;
done:
  free(ends);
  free(counts);
  free(next);
  return status;
}
