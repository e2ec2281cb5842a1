/* Tokens a second of `phibal generate` at several lengths of the text: with the keys and values of
   earlier tokens, and by a pass over the whole text for each token. The model is that of a run
   file, with random weights and tokens; the least of COUNT times.
     usage: bench_generate CONFIG COUNT LENGTH... */
#include "moe/config/config.h"
#include "moe/machine/clock.h"
#include "moe/model/model.h"
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

static void require(phibal_status status) {
  if (status == PHIBAL_OK) return;
  fprintf(stderr, "bench_generate: %s\n", phibal_status_message());
  exit(1);
}

/* The least time of a token, the last of `length`. */
static double measure(model *m, bool kept, int count, int32_t length, const int32_t *tokens,
                      const int32_t *targets, float *logits) {
  model_losses losses;
  double least = INFINITY;
  if (kept && length > 1) require(model_continue(m, 0, length - 1, tokens));
  for (int i = 0; i < count; i++) {
    const double from = seconds_now();
    if (kept)
      require(model_continue(m, length - 1, 1, tokens + length - 1));
    else
      require(model_evaluate(m, 1, tokens, targets, &losses, NULL));
    model_logits(m, kept ? 0 : length - 1, logits);
    least = fmin(least, seconds_now() - from);
  }
  return least;
}

int main(int argc, char **argv) {
  if (argc < 4 || atoi(argv[2]) < 1) {
    fprintf(stderr, "usage: bench_generate CONFIG COUNT LENGTH...\n");
    return 2;
  }
  for (int i = 3; i < argc; i++) {
    const config_override set[] = {{"model.sequence", argv[i], "LENGTH"}};
    run_config c;
    require(run_config_load(argv[1], set, 1, &c));
    const balance_config none = {.method = BALANCE_NONE};
    const int32_t n = c.model.sequence;
    model *m;
    require(model_create(&c.model, &none, 1, 1, &m));
    int32_t *tokens = malloc(2 * (size_t)n * sizeof *tokens);
    float *logits = malloc((size_t)c.model.vocabulary * sizeof *logits);
    if (!tokens || !logits) require(phibal_status_set(PHIBAL_ERROR_MEMORY, "out of memory"));
    uint64_t state = 88172645463325252u;
    for (int32_t t = 0; t < n; t++) {
      state ^= state << 13, state ^= state >> 7, state ^= state << 17;
      tokens[t] = (int32_t)(state % (uint64_t)c.model.vocabulary);
      tokens[n + t] = -1;
    }
    const double kept = measure(m, true, atoi(argv[2]), n, tokens, tokens + n, logits);
    const double whole = measure(m, false, atoi(argv[2]), n, tokens, tokens + n, logits);
    printf("%s, %d threads, token %d: %.1f tokens/s, by whole passes %.2f: %.0f times\n", c.name,
           omp_get_max_threads(), n, 1 / kept, 1 / whole, whole / kept);
    free(tokens);
    free(logits);
    model_destroy(m);
  }
  return 0;
}
