/* Weighted combination of the experts' outputs, and its gradients (E4, E5). One thread does a token
   whole: the same bits for any number of threads. */
#include "dot.h"

#include <phibal/environment.h>
#include <phibal/expert.h>

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
