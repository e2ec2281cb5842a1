/* Rotary position embedding: at position s the pair (x_i, x_(i + n/2)) of a head of width n is
   turned by the angle s theta^(-2 i / n), as in Hugging Face's rotate_half. */
#ifndef PHIBAL_MOE_ROPE_H
#define PHIBAL_MOE_ROPE_H

#include <stdint.h>

/* cosine, sine [sequence][n/2] */
void rope_table(int32_t sequence, int32_t n, double theta, float *cosine, float *sine);
/* Turns `heads` heads side by side in each of `rows` rows, in place; row i is at position
   i % sequence. `direction` is 1, or -1 for the backward pass: a rotation's transpose is its
   inverse. */
void rope_apply(int64_t rows, int32_t sequence, int32_t heads, int32_t n, const float *cosine,
                const float *sine, float direction, float *x, int64_t stride);

#endif
