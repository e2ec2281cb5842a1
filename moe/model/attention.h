/* Causal attention with grouped queries, for a batch of sequences of one length, on whole
   sequences. Rows of scores are made in blocks and never all kept: the backward pass makes them
   again from the maximum and the sum of each row, so that memory grows with S and not with S^2. The
   same bits for any number of threads. */
#ifndef PHIBAL_MOE_ATTENTION_H
#define PHIBAL_MOE_ATTENTION_H

#include <stdint.h>

typedef struct attention_shape {
  int32_t batch, sequence;
  int32_t heads, key_value_heads; /* query head h reads key and value head h / (heads / kv heads) */
  int32_t head_width;             /* n, of queries and keys */
  int32_t value_width;            /* v; 0: n */
  double multiplier;              /* of the scores, beside 1 / sqrt(n); 0: 1 */
  const int32_t *starts;          /* [batch S] the first position that each one sees; null: 0 */
  /* Of one sequence, forward: the `rows` positions from `first` on alone, which see the keys and
     values of those before; rows 0: all positions. */
  int32_t first, rows;
  int32_t window;     /* the most positions that one sees, its own the last; 0: all */
  const float *sinks; /* [heads] a score of each head beside the keys', with no value
                         and not divided by sqrt(n); null: none */
} attention_shape;

/* Numbers of scratch for one thread; the arrays below hold that many for each of `threads`. */
int64_t attention_scratch(const attention_shape *shape);

/* Numbers in a row of qkv. */
int64_t attention_row(const attention_shape *shape);

/* qkv [batch S][(heads + kv heads) n + kv heads v]: the queries, keys and values of a row side by
   side; out [batch S][heads v]; largest, inverse_sum [batch S][heads]: max_j <q, k_j> and
   1 / sum_j exp((<q, k_j> - max) multiplier / sqrt(n)) over the positions j from the row's start
   up to its own; with shape->rows, these three [rows][..] and qkv [S][..] still. A row has the same
   bits either way, zeros of out perhaps another sign. With sinks the largest is at least
   sink sqrt(n) / multiplier, and the sum has exp(sink - max multiplier / sqrt(n)) too. Outside of a
   parallel region a call takes `threads` threads; inside, each of its threads, at most so many, has
   to make the call. */
void attention_forward(const attention_shape *shape, const float *qkv, float *out, float *largest,
                       float *inverse_sum, int threads, float *scratch);

/* qkv_gradient, laid out as qkv, is overwritten, and so is sink_gradient [batch S][heads], what
   each row adds to the gradients of the sinks; null without. */
void attention_backward(const attention_shape *shape, const float *qkv, const float *out,
                        const float *largest, const float *inverse_sum, const float *out_gradient,
                        float *qkv_gradient, float *sink_gradient, int threads, float *scratch);

#endif
