/* The output head: logits = x E^T with E [V][d], the embedding where they are tied, optionally
   capped, and the cross-entropy. Logits exist for a block of rows at a time. The same bits for any
   number of threads. */
#ifndef PHIBAL_MOE_HEAD_H
#define PHIBAL_MOE_HEAD_H

#include <stdint.h>

typedef struct head_shape {
  int64_t rows;
  int32_t width, vocabulary;
  float softcap; /* logits = cap tanh(logits / cap); 0 for none */
} head_shape;

/* Rows of logits made at once, and numbers of scratch for them. */
int64_t head_block(const head_shape *shape);
int64_t head_scratch(const head_shape *shape);

/* logits [rows][V], capped where there is a cap. */
void head_logits(const head_shape *shape, const float *x, const float *weight, float *logits);

/* Cross-entropy of the rows whose target is not -1: the sum in nats, the rows whose target is the
   most probable token (the lowest on ties), and how many rows there are. Each row's loss is formed
   in binary64, and the rows are added in order. With x_gradient (not null), also the gradients of
   scale times the sum: x_gradient [rows][width] is overwritten, weight_gradient [V][width] added
   to. row_loss [rows] is scratch. */
void head_loss(const head_shape *shape, const float *x, const float *weight, const int32_t *targets,
               double scale, float *x_gradient, float *weight_gradient, float *logits,
               double *row_loss, double *loss, int64_t *correct, int64_t *counted);

#endif
