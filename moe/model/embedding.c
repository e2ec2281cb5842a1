#include "embedding.h"

/* Columns that one thread adds for all rows. */
#define BLOCK_COLUMNS 32

void embedding_forward(int64_t rows, int32_t width, const int32_t *tokens, float scale,
                       const float *weight, float *x) {
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < rows; i++) {
    const float *restrict in = weight + (tokens[i] < 0 ? 0 : (int64_t)tokens[i] * width);
    for (int64_t j = 0; j < width; j++) x[i * width + j] = scale * in[j];
  }
}

void embedding_backward(int64_t rows, int32_t width, const int32_t *tokens, float scale,
                        const float *x_gradient, float *weight_gradient) {
#pragma omp parallel for schedule(dynamic)
  for (int64_t first = 0; first < width; first += BLOCK_COLUMNS) {
    int64_t end = first + BLOCK_COLUMNS < width ? first + BLOCK_COLUMNS : width;
    for (int64_t i = 0; i < rows; i++) {
      if (tokens[i] < 0) continue;
      const float *restrict in = x_gradient + i * width;
      float *restrict out = weight_gradient + (int64_t)tokens[i] * width;
      for (int64_t j = first; j < end; j++) out[j] += scale * in[j];
    }
  }
}
