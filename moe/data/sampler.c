/* Windows of a token file in a shuffled order, without a permutation array. */
#include "sampler.h"

/* The finaliser of splitmix64 (Steele, Lea and Flood, OOPSLA 2014): a bijection of 64 bits. */
static uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
  return x ^ (x >> 31);
}

/* Position `i` of a pseudo-random permutation of 0 .. n-1 that `key` chooses. A balanced Feistel
   network permutes 0 .. 4^half - 1 whatever its round function is; walking along its cycle until
   the value is below n makes that a permutation of 0 .. n-1. As 4^half < 4 n, a walk takes fewer
   than four steps on average. */
static int64_t permute(int64_t i, int64_t n, uint64_t key) {
  enum { ROUNDS = 8 };
  int half = 1;
  while (half < 31 && ((uint64_t)1 << (2 * half)) < (uint64_t)n) half++;
  const uint64_t mask = ((uint64_t)1 << half) - 1;
  uint64_t x = (uint64_t)i;
  do {
    uint64_t left = x >> half, right = x & mask;
    for (uint64_t round = 0; round < ROUNDS; round++) {
      uint64_t next = left ^ (mix(key + mix(right + (round << 56))) & mask);
      left = right;
      right = next;
    }
    x = left << half | right;
  } while (x >= (uint64_t)n);
  return (int64_t)x;
}

phibal_status sampler_create(const token_file *file, int32_t sequence, uint64_t seed, sampler *s) {
  if (sequence < 1)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "sequence length %d: must be at least 1",
                             sequence);
  if (file->tokens < 2)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "the token file has only %lld token, so no target",
                             (long long)file->tokens);
  int64_t windows = (file->tokens - 1 + sequence - 1) / sequence;
  *s = (sampler){.file = file, .sequence = sequence, .seed = seed, .windows = windows};
  return PHIBAL_OK;
}

void sampler_evaluation_sequence(const sampler *s, int64_t index, int32_t *tokens, int32_t *targets,
                                 int32_t *domains) {
  const token_file *file = s->file;
  const int64_t start = index * s->sequence;
  int64_t document = token_file_document(file, start);
  for (int32_t i = 0; i < s->sequence; i++) {
    int64_t at = start + i;
    tokens[i] = at < file->tokens ? token_file_at(file, at) : -1;
    targets[i] = at + 1 < file->tokens ? token_file_at(file, at + 1) : -1;
    while (document + 1 < file->documents && file->table[document + 1].start <= at) document++;
    if (domains) domains[i] = file->table[document].domain;
  }
}

int64_t sampler_shuffled(uint64_t seed, int64_t index, int64_t n) {
  const uint64_t epoch = (uint64_t)(index / n);
  return permute(index % n, n, mix(seed + mix(epoch + UINT64_C(0x9e3779b97f4a7c15))));
}

void sampler_training_sequence(const sampler *s, int64_t index, int32_t *tokens, int32_t *targets,
                               int32_t *domains) {
  sampler_evaluation_sequence(s, sampler_shuffled(s->seed, index, s->windows), tokens, targets,
                              domains);
}
