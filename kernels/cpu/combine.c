/* Weighted combination of the experts' outputs, and its gradients (E4, E5). One thread does a token
   whole: the same bits for any number of threads. */
#include "../core/core.h"

#include <phibal/environment.h>
#include <phibal/expert.h>

#define LANES 16

static phibal_status combine_check(int64_t tokens, int32_t active, int64_t width) {
  if (tokens < 0 || active < 1 || width < 1)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "combine: tokens %lld must not be negative, active %d and width %lld "
                             "must be positive",
                             (long long)tokens, active, (long long)width);
  return phibal_environment_check("combine");
}

phibal_status phibal_combine(int64_t tokens, int32_t active, int64_t width, const int64_t *row,
                             const float *gates, const float *expert_output, float *y) {
  phibal_status status = combine_check(tokens, active, width);
  if (status) return status;
  if (tokens == 0) return PHIBAL_OK;
  if (!row || !gates || !expert_output || !y)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "combine: null array");
#pragma omp parallel
  {
    phibal_environment_watch("a thread of OpenMP began");
#pragma omp for schedule(static)
    for (int64_t t = 0; t < tokens; t++) {
      float *restrict out = y + t * width;
      for (int64_t route = t * active; route < (t + 1) * active; route++) {
        if (row[route] < 0) continue;
        const float *restrict in = expert_output + row[route] * width;
        float gate = gates[route];
        for (int64_t j = 0; j < width; j++) out[j] = __builtin_fmaf(gate, in[j], out[j]);
      }
    }
  }
  return phibal_environment_check("combine");
}

/* <x, y> in binary64, where products of binary32 numbers are exact: LANES interleaved sums, then a
   halving tree. At most n / LANES + 1 + log2(LANES) additions touch a term, so the error is below
   (n / 16 + 5) 2^-53 sum |x_j y_j|, and once rounded to binary32 at most
   (1 + (n / 16 + 5) 2^-29) u sum |x_j y_j|. */
static double dot(int64_t n, const float *restrict x, const float *restrict y) {
  double sum[LANES] = {0};
  int64_t j = 0;
  for (; j + LANES <= n; j += LANES)
    for (int64_t l = 0; l < LANES; l++)
      sum[l] = CORE_FMA((double)x[j + l], (double)y[j + l], sum[l]);
  for (int64_t l = 0; j + l < n; l++) sum[l] = CORE_FMA((double)x[j + l], (double)y[j + l], sum[l]);
  for (int s = LANES / 2; s >= 1; s /= 2)
    for (int l = 0; l < s; l++) sum[l] += sum[l + s];
  return sum[0];
}

phibal_status phibal_combine_backward(int64_t tokens, int32_t active, int64_t width,
                                      const int64_t *row, const float *gates,
                                      const float *expert_output, const float *y_gradient,
                                      float *expert_gradient, float *gate_gradient) {
  phibal_status status = combine_check(tokens, active, width);
  if (status) return status;
  if (tokens == 0) return PHIBAL_OK;
  if (!row || !gates || !expert_output || !y_gradient || !expert_gradient || !gate_gradient)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "combine backward: null array");
#pragma omp parallel
  {
    phibal_environment_watch("a thread of OpenMP began");
#pragma omp for schedule(static)
    for (int64_t t = 0; t < tokens; t++) {
      const float *restrict gradient = y_gradient + t * width;
      for (int64_t route = t * active; route < (t + 1) * active; route++) {
        if (row[route] < 0) {
          gate_gradient[route] = 0.0f;
          continue;
        }
        gate_gradient[route] = (float)dot(width, gradient, expert_output + row[route] * width);
        float *restrict out = expert_gradient + row[route] * width;
        float gate = gates[route];
        for (int64_t j = 0; j < width; j++) out[j] = gate * gradient[j];
      }
    }
  }
  return phibal_environment_check("combine");
}
