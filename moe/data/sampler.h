/* Batches out of a token file. Stateless: batch b of epoch order `seed` is a pure function of
   (file, sequence, seed, index), so that a run reproduces and resumes by a number. */
#ifndef PHIBAL_MOE_SAMPLER_H
#define PHIBAL_MOE_SAMPLER_H

#include "token_file.h"

typedef struct sampler {
  const token_file *file;
  int32_t sequence; /* S */
  uint64_t seed;
  int64_t windows;  /* sequences in one epoch */
} sampler;

phibal_status sampler_create(const token_file *file, int32_t sequence, uint64_t seed, sampler *s);

/* Sequence number `index` (0, 1, 2 ... without end; every window once an epoch, in an order that the
   seed and the epoch decide): tokens[S], targets[S] (the next tokens; -1 past the end of the data),
   domains[S] (of each token; may be null). */
void sampler_training_sequence(const sampler *s, int64_t index, int32_t *tokens, int32_t *targets,
                               int32_t *domains);
/* The same windows in file order, for evaluation: index < windows. */
void sampler_evaluation_sequence(const sampler *s, int64_t index, int32_t *tokens,
                                 int32_t *targets, int32_t *domains);

/* Conditional byte-bigram (token-bigram) entropy of the file in nats: -sum p(a,b) log p(b|a), from
   its own counts; what a perfect bigram model of the file would reach. */
phibal_status token_file_bigram_entropy(const token_file *file, double *nats);

#endif
