#include "optimizer.h"
#include <math.h>
#include <stdlib.h>

double learning_rate(const optimizer_config *config, int64_t step, int64_t steps) {
  int64_t warmup = (int64_t)(config->warmup * (double)steps + 0.5);
  if (step < warmup) return config->peak_lr * (double)(step + 1) / (double)warmup;
  double floor = config->final_lr * config->peak_lr;
  /* The last step is progress 1; with no step after the warm-up there is nothing to divide by. */
  double progress = (double)(step + 1 - warmup) / (double)(steps - warmup);
  return floor + (config->peak_lr - floor) * 0.5 * (1.0 + cos(progress * 0x1.921fb54442d18p+1));
}

phibal_status optimizer_create(const optimizer_config *config, int32_t tensor_count,
                               const model_tensor *tensors, int64_t parameters,
                               optimizer *created) {
  optimizer o = {.config = *config,
                 .tensor_count = tensor_count,
                 .tensors = tensors,
                 .parameters = parameters,
                 .beta1_power = 1.0,
                 .beta2_power = 1.0};
  o.first = calloc((size_t)parameters, sizeof *o.first);
  o.second = calloc((size_t)parameters, sizeof *o.second);
  if (!o.first || !o.second) {
    optimizer_destroy(&o);
    return phibal_status_set(PHIBAL_ERROR_MEMORY,
                             "optimizer: no memory for the two moments of %lld parameters",
                             (long long)parameters);
  }
  *created = o;
  return PHIBAL_OK;
}

void optimizer_destroy(optimizer *o) {
  free(o->first);
  free(o->second);
  o->first = o->second = NULL;
}

static int64_t tensor_size(const model_tensor *tensor) {
  int64_t n = 1;
  for (int32_t i = 0; i < tensor->dimensions; i++) n *= tensor->shape[i];
  return n;
}

static phibal_status name_nonfinite(const optimizer *o, const float *gradients) {
  for (int32_t t = 0; t < o->tensor_count; t++) {
    int64_t n = tensor_size(&o->tensors[t]);
    for (int64_t i = 0; i < n; i++) {
      float g = gradients[o->tensors[t].offset + i];
      if (!isfinite(g))
        return phibal_status_set(PHIBAL_ERROR_NONFINITE,
                                 "the gradient of %s is %f at element %lld; a lower "
                                 "optimizer.peak_lr or optimizer.clip may help",
                                 o->tensors[t].name, (double)g, (long long)i);
    }
  }
  return phibal_status_set(PHIBAL_ERROR_NONFINITE, "the gradient is not finite");
}

/* Blocks have a fixed size and are added in order, so that the sum does not know how many threads
   computed it. A square of a binary32 is exact in binary64; a block of B squares errs by at most
   (B - 1) 2^-53 relative, the sum of the blocks by (blocks - 1) 2^-53 more; squares cannot
   overflow binary64 (2^256 times at most 2^63 of them). */
enum { NORM_BLOCK = 4096 };

phibal_status optimizer_norm(const optimizer *o, const float *gradients, double *norm) {
  int64_t n = o->parameters, blocks = (n + NORM_BLOCK - 1) / NORM_BLOCK;
  double *partial = malloc((size_t)(blocks > 0 ? blocks : 1) * sizeof *partial);
  if (!partial)
    return phibal_status_set(PHIBAL_ERROR_MEMORY, "norm of the gradient: out of memory");
#pragma omp parallel for schedule(static)
  for (int64_t b = 0; b < blocks; b++) {
    int64_t begin = b * NORM_BLOCK, end = begin + NORM_BLOCK < n ? begin + NORM_BLOCK : n;
    double lane[8] = {0};
    int64_t i = begin;
    for (; i + 8 <= end; i += 8)
      for (int j = 0; j < 8; j++) {
        double g = (double)gradients[i + j];
        lane[j] += g * g;
      }
    for (; i < end; i++) lane[0] += (double)gradients[i] * (double)gradients[i];
    partial[b] =
        ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
  }
  double sum = 0.0;
  for (int64_t b = 0; b < blocks; b++) sum += partial[b];
  free(partial);
  *norm = sqrt(sum);
  return isfinite(*norm) ? PHIBAL_OK : name_nonfinite(o, gradients);
}

double clip_scale(double clip, double norm) {
  return clip > 0.0 && norm > clip ? clip / norm : 1.0;
}

void optimizer_update(optimizer *o, double lr, double scale, const float *gradients,
                      float *parameters) {
  const double beta1 = o->config.beta1, beta2 = o->config.beta2, epsilon = o->config.epsilon;
  o->beta1_power *= beta1;
  o->beta2_power *= beta2;
  const double first_scale = 1.0 / (1.0 - o->beta1_power);
  const double second_scale = 1.0 / (1.0 - o->beta2_power);
  for (int32_t t = 0; t < o->tensor_count; t++) {
    const model_tensor *tensor = &o->tensors[t];
    const double decay = tensor->decay ? o->config.weight_decay : 0.0;
    const int64_t n = tensor_size(tensor);
    const float *restrict g = gradients + tensor->offset;
    float *restrict w = parameters + tensor->offset;
    float *restrict first = o->first + tensor->offset;
    float *restrict second = o->second + tensor->offset;
#pragma omp parallel for simd schedule(static) if (n > 16384)
    for (int64_t i = 0; i < n; i++) {
      double gradient = scale * (double)g[i], weight = (double)w[i];
      double m = beta1 * (double)first[i] + (1.0 - beta1) * gradient;
      double v = beta2 * (double)second[i] + (1.0 - beta2) * gradient * gradient;
      first[i] = (float)m;
      second[i] = (float)v;
      double step = m * first_scale / (sqrt(v * second_scale) + epsilon) + decay * weight;
      w[i] = (float)(weight - lr * step);
    }
  }
}
