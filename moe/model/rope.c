#include "rope.h"

#include "kernels/core/dd_elementary.h"
#include "kernels/core/dd_sine.h"
#include <math.h>
#include <omp.h>

#define PI 3.14159265358979323846

/* YaRN: the fractional index of the pair with this many rotations over the original positions. */
static double pair_of_turns(const rope_frequencies *f, int32_t n, double turns) {
  const double turned = core_dd_log(f->original / (turns * 2.0 * PI)).hi;
  return (double)n * turned / (2.0 * core_dd_log(f->theta).hi);
}

/* How much of f_i / factor is in the frequency f_i of pair i, 0 .. 1. */
static double interpolated(const rope_frequencies *f, int32_t n, int32_t i, double frequency) {
  if (f->scaling == ROPE_LINEAR) return 1.0;
  if (f->scaling == ROPE_LLAMA3) {
    const double turns = f->original * frequency / (2.0 * PI);
    return turns <= f->slow   ? 1.0
           : turns >= f->fast ? 0.0
                              : (f->fast - turns) / (f->fast - f->slow);
  }
  double low = pair_of_turns(f, n, f->fast), high = pair_of_turns(f, n, f->slow);
  if (f->whole) low = floor(low), high = ceil(high);
  if (low < 0.0) low = 0.0;
  if (high > (double)n - 1.0) high = (double)n - 1.0;
  /* As the reference implementation avoids a division by zero. */
  if (low == high) high += 0.001;
  const double part = ((double)i - low) / (high - low);
  return part < 0.0 ? 0.0 : part > 1.0 ? 1.0 : part;
}

void rope_table(int32_t sequence, int32_t n, const rope_frequencies *frequencies, float *cosine,
                float *sine) {
  int32_t half = n / 2;
  double magnitude = frequencies->magnitude > 0 ? frequencies->magnitude : 1.0;
#pragma omp parallel for schedule(static)
  for (int32_t i = 0; i < half; i++) {
    double frequency = core_dd_power(frequencies->theta, -2.0 * (double)i / (double)n).hi;
    if (frequencies->factor > 0) {
      double part = interpolated(frequencies, n, i, frequency);
      frequency = frequency / frequencies->factor * part + frequency * (1.0 - part);
    }
    for (int32_t s = 0; s < sequence; s++) {
      double angle = (double)s * frequency;
      core_dd c = core_dd_mul_d(core_dd_cos(angle), magnitude);
      core_dd d = core_dd_mul_d(core_dd_sin(angle), magnitude);
      cosine[(int64_t)s * half + i] = core_dd_to_float(c);
      sine[(int64_t)s * half + i] = core_dd_to_float(d);
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
  if (!omp_get_level()) {
#pragma omp parallel
    rope_apply(shape, cosine, sine, direction, x);
    return;
  }
  const int64_t half = shape->n / 2, heads = shape->heads;
#pragma omp for schedule(static)
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
