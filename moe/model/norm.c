#include "norm.h"

#include "moe/machine/lanes.h"

#include <math.h>
#include <omp.h>

/* Rows whose share of the weight's gradient is summed by one thread, in order; the shares are then
   added in order. Fixed, so that threads do not show. */
#define BLOCK_ROWS 128

void norm_forward(const norm_shape *shape, const float *x, int64_t x_stride, const float *weight,
                  float *y, int64_t y_stride, float *inverse) {
  if (!omp_get_level()) {
#pragma omp parallel
    norm_forward(shape, x, x_stride, weight, y, y_stride, inverse);
    return;
  }
  int64_t n = shape->n, heads = shape->heads;
#pragma omp for schedule(static)
  for (int64_t i = 0; i < shape->rows; i++)
    for (int64_t head = 0; head < heads; head++) {
      const float *in = x + i * x_stride + head * n;
      float *out = y + i * y_stride + head * n;
      double square = lanes_dot(n, in, in) / (double)n;
      float r = (float)(1.0 / sqrt(square + (double)shape->epsilon));
      inverse[i * heads + head] = r;
      for (int64_t j = 0; j < n; j++) out[j] = in[j] * r * weight[j];
    }
}

int64_t norm_scratch(int64_t rows, int32_t n) {
  return (rows + BLOCK_ROWS - 1) / BLOCK_ROWS * n;
}

/* One vector; `share` [n] gathers the weight's gradient. */
static void vector_backward(int64_t n, const float *x, const float *weight, float r,
                            const float *dy, int add, float *dx, double *restrict share) {
  double sum[LANES] = {0};
  int64_t j = 0;
  for (; j + LANES <= n; j += LANES)
    for (int64_t l = 0; l < LANES; l++)
      sum[l] += (double)weight[j + l] * (double)dy[j + l] * (double)x[j + l];
  for (int64_t l = 0; j + l < n; l++)
    sum[l] += (double)weight[j + l] * (double)dy[j + l] * (double)x[j + l];
  float along = (float)(lanes_reduce(sum) * (double)r * (double)r / (double)n);
  for (j = 0; j < n; j++) share[j] += (double)(dy[j] * (x[j] * r));
  if (add)
    for (j = 0; j < n; j++) dx[j] += r * (weight[j] * dy[j] - x[j] * along);
  else
    for (j = 0; j < n; j++) dx[j] = r * (weight[j] * dy[j] - x[j] * along);
}

void norm_backward(const norm_shape *shape, const float *x, int64_t x_stride, const float *weight,
                   const float *inverse, const float *y_gradient, int64_t y_stride, int add,
                   float *x_gradient, int64_t gradient_stride, float *weight_gradient,
                   double *scratch) {
  if (!omp_get_level()) {
#pragma omp parallel
    norm_backward(shape, x, x_stride, weight, inverse, y_gradient, y_stride, add, x_gradient,
                  gradient_stride, weight_gradient, scratch);
    return;
  }
  int64_t n = shape->n, heads = shape->heads;
  int64_t blocks = (shape->rows + BLOCK_ROWS - 1) / BLOCK_ROWS;
#pragma omp for schedule(static)
  for (int64_t block = 0; block < blocks; block++) {
    double *share = scratch + block * n;
    for (int64_t j = 0; j < n; j++) share[j] = 0.0;
    for (int64_t i = block * BLOCK_ROWS; i < (block + 1) * BLOCK_ROWS && i < shape->rows; i++)
      for (int64_t head = 0; head < heads; head++)
        vector_backward(n, x + i * x_stride + head * n, weight, inverse[i * heads + head],
                        y_gradient + i * y_stride + head * n, add,
                        x_gradient + i * gradient_stride + head * n, share);
  }
#pragma omp for schedule(static)
  for (int64_t j = 0; j < n; j++) {
    double sum = 0.0;
    for (int64_t block = 0; block < blocks; block++) sum += scratch[block * n + j];
    weight_gradient[j] += (float)sum;
  }
}
