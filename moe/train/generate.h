/* The next token of a text, drawn from a model's logits; the same on every machine. */
#ifndef PHIBAL_MOE_GENERATE_H
#define PHIBAL_MOE_GENERATE_H

#include <phibal/status.h>
#include <stdint.h>

/* Tokens are ordered by falling logit z, equal ones by their id. Their weights are
     w_i = exp((z_i - z_0) / temperature),
   in binary64 with a relative error of at most 2^-42, and 0 below e^-700. Of them the first top_k
   stay, and of these the shortest beginning whose weights are at least top_p of the sum. The token
   is the first whose weight, with those before it, is above u times the sum of what stayed; u in
   [0, 1) is a multiple of 2^-53 that depends on seed and index alone. */
typedef struct generate_options {
  double temperature; /* 0: the first token, always */
  int32_t top_k;      /* 0: all */
  double top_p;       /* (0, 1] */
  uint64_t seed;
} generate_options;

/* *token of logits [vocabulary]; `index` counts the draws. PHIBAL_ERROR_NONFINITE names a logit
   that is NaN or infinite. */
phibal_status generate_next(const generate_options *options, int32_t vocabulary,
                            const float *logits, uint64_t index, int32_t *token);

#endif
