/* Token embeddings in and out: rows of the tied matrix [V][d]. Padding, a token of -1, has token
   0's row, which is as finite as any, and gives it no gradient. */
#ifndef PHIBAL_MOE_EMBEDDING_H
#define PHIBAL_MOE_EMBEDDING_H

#include <stdint.h>

/* x [rows][width] = scale weight[tokens[row]] */
void embedding_forward(int64_t rows, int32_t width, const int32_t *tokens, float scale,
                       const float *weight, float *x);
/* weight_gradient[tokens[row]] += scale x_gradient[row], rows in order: the same bits for any
   number of threads. */
void embedding_backward(int64_t rows, int32_t width, const int32_t *tokens, float scale,
                        const float *x_gradient, float *weight_gradient);

#endif
