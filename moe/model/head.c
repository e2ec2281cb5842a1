#include "head.h"

#include "moe/machine/lanes.h"

#include "kernels/core/exp64.h"
#include "kernels/core/log64.h"
#include "kernels/core/softcap.h"
#include "kernels/cpu/gemm.h"

/* About 16 MiB of logits, in whole tiles of the products. */
#define LOGITS_AT_ONCE ((int64_t)1 << 22)

int64_t head_block(const head_shape *shape) {
  int64_t tiles = LOGITS_AT_ONCE / shape->vocabulary / GEMM_TILE_ROWS;
  int64_t block = (tiles > 1 ? tiles : 1) * GEMM_TILE_ROWS;
  return block < shape->rows ? block : shape->rows;
}

int64_t head_scratch(const head_shape *shape) {
  return head_block(shape) * shape->vocabulary;
}

static void cap_row(int64_t n, double cap, float *z) {
  if (cap > 0)
    for (int64_t j = 0; j < n; j++) z[j] = core_softcap(z[j], cap);
}

void head_logits(const head_shape *shape, const float *x, const float *weight, float *logits) {
  phibal_gemm_linear(shape->rows, shape->vocabulary, shape->width, x, weight, false, logits);
  cap_row(shape->rows * shape->vocabulary, (double)shape->softcap, logits);
}

/* sum_j exp(z_j - largest), in the order of lanes.h. */
static double exponential_sum(int64_t n, const float *z, double largest) {
  double sum[LANES] = {0};
  int64_t j = 0;
  for (; j + LANES <= n; j += LANES)
    for (int64_t l = 0; l < LANES; l++) sum[l] += core_exp64((double)z[j + l] - largest);
  for (int64_t l = 0; j + l < n; l++) sum[l] += core_exp64((double)z[j + l] - largest);
  return lanes_reduce(sum);
}

/* Whether `target` is the first of the largest. */
static int is_first(const float *z, int32_t target, float largest) {
  if (z[target] != largest) return 0;
  for (int32_t j = 0; j < target; j++)
    if (z[j] == largest) return 0;
  return 1;
}

/* One row of logits [V]: returns its loss, and with `gradient` leaves in z the gradient of
   scale times it. */
static double row_loss_of(int64_t n, double cap, int32_t target, int gradient, double scale,
                          float *restrict z, int *right) {
  cap_row(n, cap, z);
  float largest = lanes_max(n, z);
  *right = is_first(z, target, largest);
  double sum = exponential_sum(n, z, (double)largest);
  double loss = core_log64(sum) + ((double)largest - (double)z[target]);
  if (!gradient) return loss;
  double kept = (double)z[target], factor = scale / sum;
  float at_target = (float)(scale * (core_exp64(kept - (double)largest) / sum - 1.0));
  if (cap > 0) {
    /* d(cap tanh(x / cap)) = 1 - tanh^2 = 1 - (z / cap)^2. */
    for (int64_t j = 0; j < n; j++) {
      double t = (double)z[j] / cap;
      z[j] = (float)(factor * core_exp64((double)z[j] - (double)largest) * (1.0 - t * t));
    }
    at_target = (float)((double)at_target * (1.0 - kept / cap * (kept / cap)));
  } else {
    for (int64_t j = 0; j < n; j++)
      z[j] = (float)(factor * core_exp64((double)z[j] - (double)largest));
  }
  z[target] = at_target;
  return loss;
}

void head_loss(const head_shape *shape, const float *x, const float *weight, const int32_t *targets,
               double scale, float *x_gradient, float *weight_gradient, float *logits,
               double *row_loss, double *loss, int64_t *correct, int64_t *counted) {
  int64_t d = shape->width, n = shape->vocabulary, block = head_block(shape);
  int64_t right_rows = 0, rows_counted = 0;
  for (int64_t first = 0; first < shape->rows; first += block) {
    int64_t rows = block < shape->rows - first ? block : shape->rows - first;
    phibal_gemm_linear(rows, n, d, x + first * d, weight, false, logits);
#pragma omp parallel for schedule(static) reduction(+ : right_rows, rows_counted)
    for (int64_t i = 0; i < rows; i++) {
      float *z = logits + i * n;
      int32_t target = targets[first + i];
      if (target < 0) {
        row_loss[first + i] = 0.0;
        if (x_gradient)
          for (int64_t j = 0; j < n; j++) z[j] = 0.0f;
        continue;
      }
      int right;
      row_loss[first + i] =
          row_loss_of(n, (double)shape->softcap, target, x_gradient != 0, scale, z, &right);
      right_rows += right;
      rows_counted++;
    }
    if (!x_gradient) continue;
#pragma omp parallel
    {
      phibal_gemm_linear_input_gradient(rows, n, d, logits, weight, false, x_gradient + first * d);
      phibal_gemm_linear_weight_gradient(rows, n, d, logits, x + first * d, weight_gradient);
    }
  }
  double sum = 0.0;
  for (int64_t i = 0; i < shape->rows; i++) sum += row_loss[i];
  *loss = sum;
  *correct = right_rows;
  *counted = rows_counted;
}
