#include "rope.h"

#include <math.h>

void rope_table(int32_t sequence, int32_t n, double theta, float *cosine, float *sine) {
  int32_t half = n / 2;
  for (int32_t s = 0; s < sequence; s++)
    for (int32_t i = 0; i < half; i++) {
      double angle = (double)s * pow(theta, -2.0 * (double)i / (double)n);
      cosine[(int64_t)s * half + i] = (float)cos(angle);
      sine[(int64_t)s * half + i] = (float)sin(angle);
    }
}

void rope_apply(int64_t rows, int32_t sequence, int32_t heads, int32_t n, const float *cosine,
                const float *sine, float direction, float *x, int64_t stride) {
  int64_t half = n / 2;
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < rows; i++) {
    const float *restrict c = cosine + i % sequence * half;
    const float *restrict s = sine + i % sequence * half;
    for (int64_t head = 0; head < heads; head++) {
      float *restrict low = x + i * stride + head * n;
      float *restrict high = low + half;
      for (int64_t j = 0; j < half; j++) {
        float turn = direction * s[j];
        float u = low[j] * c[j] - high[j] * turn;
        high[j] = high[j] * c[j] + low[j] * turn;
        low[j] = u;
      }
    }
  }
}
