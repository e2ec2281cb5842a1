#include "rope.h"

#include <math.h>

#define PI 3.14159265358979323846

/* Of YaRN: the pair, not whole, that turns so many times over the original positions. */
static double pair_of_turns(const rope_frequencies *f, int32_t n, double turns) {
  return (double)n * log(f->original / (turns * 2.0 * PI)) / (2.0 * log(f->theta));
}

/* How much of f_i / factor is in the frequency of pair i, 0 .. 1. */
static double interpolated(const rope_frequencies *f, int32_t n, int32_t i) {
  double low = pair_of_turns(f, n, f->fast), high = pair_of_turns(f, n, f->slow);
  if (f->whole) low = floor(low), high = ceil(high);
  low = fmax(low, 0.0), high = fmin(high, (double)n - 1.0);
  /* As the reference implementation avoids a division by zero. */
  if (low == high) high += 0.001;
  return fmin(fmax(((double)i - low) / (high - low), 0.0), 1.0);
}

void rope_table(int32_t sequence, int32_t n, const rope_frequencies *frequencies, float *cosine,
                float *sine) {
  int32_t half = n / 2;
  double magnitude = frequencies->magnitude > 0 ? frequencies->magnitude : 1.0;
  for (int32_t i = 0; i < half; i++) {
    double frequency = pow(frequencies->theta, -2.0 * (double)i / (double)n);
    if (frequencies->factor > 0) {
      double part = interpolated(frequencies, n, i);
      frequency = frequency / frequencies->factor * part + frequency * (1.0 - part);
    }
    for (int32_t s = 0; s < sequence; s++) {
      double angle = (double)s * frequency;
      cosine[(int64_t)s * half + i] = (float)(magnitude * cos(angle));
      sine[(int64_t)s * half + i] = (float)(magnitude * sin(angle));
    }
  }
}

/* One head. The two of a pair are `apart` from each other, pairs `next`. */
static inline void rotate_head(int64_t half, int64_t apart, int64_t next, const float *restrict c,
                               const float *restrict s, float direction, float *x) {
  float *restrict low = x, *restrict high = x + apart;
  for (int64_t j = 0; j < half; j++) {
    float turn = direction * s[j];
    float u = low[j * next] * c[j] - high[j * next] * turn;
    high[j * next] = high[j * next] * c[j] + low[j * next] * turn;
    low[j * next] = u;
  }
}

void rope_apply(const rope_shape *shape, const float *cosine, const float *sine, float direction,
                float *x) {
  const int64_t half = shape->n / 2, heads = shape->heads;
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < shape->rows; i++) {
    const float *restrict c = cosine + i % shape->sequence * half;
    const float *restrict s = sine + i % shape->sequence * half;
    for (int64_t head = 0; head < heads; head++) {
      float *at = x + i * shape->row_stride + head * shape->head_stride;
      if (shape->interleaved)
        rotate_head(half, 1, 2, c, s, direction, at);
      else
        rotate_head(half, half, 1, c, s, direction, at);
    }
  }
}
