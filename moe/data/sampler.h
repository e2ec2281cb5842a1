/* Batches from a token file. Stateless: sequence `index` of the order given by `seed` is a pure
   function of (file, sequence length, seed, index), so a number is enough to reproduce and resume a
   run.

   Documents are concatenated, each followed by its end-of-document token; window w has the tokens w
   S .. w S + S - 1 of that stream, so a window may cross documents, and attention within it sees
   both. */
#ifndef PHIBAL_MOE_SAMPLER_H
#define PHIBAL_MOE_SAMPLER_H

#include "token_file.h"

typedef struct sampler {
  const token_file *file; /* must outlive the sampler */
  int32_t sequence;       /* S */
  uint64_t seed;
  int64_t windows; /* sequences in one epoch: ceil((tokens - 1) / S), so that each has a target */
} sampler;

/* PHIBAL_ERROR_ARGUMENT: sequence < 1, or a file of fewer than two tokens. */
phibal_status sampler_create(const token_file *file, int32_t sequence, uint64_t seed, sampler *s);

/* Sequence number `index` (0, 1, 2 ... without end; every window once an epoch, in an order that
   the seed and the epoch decide): tokens[S], targets[S] (the next tokens; -1 for the last of the
   data), domains[S] (of each token; may be null). Past the end of the data tokens and targets are
   -1, in the last document's domain. */
void sampler_training_sequence(const sampler *s, int64_t index, int32_t *tokens, int32_t *targets,
                               int32_t *domains);
/* The same windows in file order, for evaluation: 0 <= index < windows. */
void sampler_evaluation_sequence(const sampler *s, int64_t index, int32_t *tokens, int32_t *targets,
                                 int32_t *domains);

/* Number `index` of that order of n >= 1 things. */
int64_t sampler_shuffled(uint64_t seed, int64_t index, int64_t n);

#endif
