/* Rotary position embedding: at position s rotates pair i of n numbers by the angle s f_i,
   f_i = theta^(-2 i / n). The pair is (x_i, x_(i + n/2)), as in Hugging Face's
   rotate_half, or (x_(2 i), x_(2 i + 1)), interleaved, as DeepSeek-V2 and V3 have it. */
#ifndef PHIBAL_MOE_ROPE_H
#define PHIBAL_MOE_ROPE_H

#include <stdbool.h>
#include <stdint.h>

/* How a context is extended, where a factor is above 0. A pair with more than `fast` rotations over
   `original` positions keeps f_i, one with less than `slow` gets f_i / factor; between them the
   share of f_i / factor falls from 1 to 0. */
typedef enum rope_scaling {
  ROPE_YARN,   /* linearly in i (Peng et al., arXiv:2309.00071, section 3.2) */
  ROPE_LINEAR, /* every pair gets f_i / factor (Chen et al., arXiv:2306.15595) */
  ROPE_LLAMA3, /* linearly in the number of rotations (Llama 3.1) */
} rope_scaling;

typedef struct rope_frequencies {
  double theta;
  double factor; /* 0: as above, not extended */
  rope_scaling scaling;
  double original, fast, slow;
  bool whole;       /* YaRN: the ramp's ends are rounded outwards to whole pairs, as is usual */
  double magnitude; /* cosine and sine are multiplied by it; 0: 1 */
} rope_frequencies;

/* cosine, sine [sequence][n/2] */
void rope_table(int32_t sequence, int32_t n, const rope_frequencies *frequencies, float *cosine,
                float *sine);

typedef struct rope_shape {
  int64_t rows; /* row i is at position i % sequence */
  int32_t sequence;
  int32_t heads;
  int32_t n;           /* numbers that are turned in each head */
  int64_t head_stride; /* from one head to the next in a row */
  int64_t row_stride;
  bool interleaved;
} rope_shape;

/* Rotates x in place. `direction` is 1, or -1 for the backward pass: a rotation's transpose is its
   inverse. Outside of a parallel region a call takes all threads; inside, each of its threads has
   to make the call. */
void rope_apply(const rope_shape *shape, const float *cosine, const float *sine, float direction,
                float *x);

#endif
