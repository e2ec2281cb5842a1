#include "optimizer.h"
#include <math.h>
#include <stdlib.h>

phibal_status optimizer_create(const optimizer_config *config, int32_t tensor_count,
                               const model_tensor *tensors, int64_t parameters,
                               optimizer *created) {
  return optimizer_create_parts(config, tensor_count, tensors, parameters, NULL, 0, created);
}

phibal_status optimizer_create_parts(const optimizer_config *config, int32_t tensor_count,
                                     const model_tensor *tensors, int64_t parameters,
                                     const optimizer_part *parts, int64_t part_count,
                                     optimizer *created) {
  int64_t moments = parts ? 0 : parameters;
  for (int64_t i = 0; i < part_count; i++) moments += parts[i].end - parts[i].begin;
  optimizer o = {.config = *config,
                 .tensor_count = tensor_count,
                 .tensors = tensors,
                 .parameters = parameters,
                 .part_count = part_count,
                 .parts = parts,
                 .beta1_power = 1.0,
                 .beta2_power = 1.0};
  o.first = calloc((size_t)moments + 1, sizeof *o.first);
  o.second = calloc((size_t)moments + 1, sizeof *o.second);
  if (!o.first || !o.second) {
    optimizer_destroy(&o);
    return phibal_status_set(PHIBAL_ERROR_MEMORY,
                             "optimizer: no memory for the two moments of %lld parameters",
                             (long long)moments);
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

int64_t optimizer_unit(const model_tensor *tensor, int64_t *units, int64_t *elements) {
  *units = tensor->dimensions == 3 ? tensor->shape[0] : 1;
  *elements = *units ? tensor_size(tensor) / *units : 0;
  return (*elements + OPTIMIZER_BLOCK - 1) / OPTIMIZER_BLOCK;
}

int64_t optimizer_tensor_blocks(const model_tensor *tensor) {
  int64_t units, elements, blocks = optimizer_unit(tensor, &units, &elements);
  return blocks * (tensor->dimensions == 3 ? tensor->whole : 1);
}

int64_t optimizer_blocks(int32_t tensor_count, const model_tensor *tensors) {
  int64_t blocks = 0;
  for (int32_t t = 0; t < tensor_count; t++) blocks += optimizer_tensor_blocks(&tensors[t]);
  return blocks;
}

int64_t optimizer_own_blocks(int32_t tensor_count, const model_tensor *tensors, int64_t *begins) {
  int64_t n = 0, end = 0;
  for (int32_t t = 0; t < tensor_count; t++) {
    int64_t units, elements, blocks = optimizer_unit(&tensors[t], &units, &elements);
    for (int64_t i = 0; i < units * blocks && begins; i++)
      begins[n + i] = tensors[t].offset + i / blocks * elements + i % blocks * OPTIMIZER_BLOCK;
    n += units * blocks;
    end = tensors[t].offset + units * elements;
  }
  if (begins) begins[n] = end;
  return n;
}

/* The first part that ends after `at`; part_count if none does. */
static int64_t part_after(const optimizer *o, int64_t at) {
  int64_t low = 0, high = o->part_count;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (o->parts[middle].end > at)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

static bool is_own(const optimizer *o, int64_t at) {
  if (!o->parts) return true;
  int64_t part = part_after(o, at);
  return part < o->part_count && o->parts[part].begin <= at;
}

static double block_sum(const float *g, int64_t n) {
  double lane[8] = {0};
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int j = 0; j < 8; j++) {
      double x = (double)g[i + j];
      lane[j] += x * x;
    }
  for (; i < n; i++) lane[0] += (double)g[i] * (double)g[i];
  return ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
}

/* Blocks have a fixed size and are added in order, so that the sum does not know how many threads
   computed it. A square of a binary32 is exact in binary64; a block of B squares errs by at most
   (B - 1) 2^-53 relative, the sum of the blocks by (blocks - 1) 2^-53 more; squares cannot
   overflow binary64 (2^256 times at most 2^63 of them). */
void optimizer_block_sums(const optimizer *o, const float *gradients, double *sums) {
  for (int32_t t = 0; t < o->tensor_count; t++) {
    const model_tensor *tensor = &o->tensors[t];
    int64_t units, elements, blocks = optimizer_unit(tensor, &units, &elements);
    const int64_t all = optimizer_tensor_blocks(tensor);
    for (int64_t i = 0; i < all; i++) sums[i] = 0.0;
    double *own = sums + blocks * tensor->first;
#pragma omp parallel for schedule(static) if (units * blocks > 4)
    for (int64_t i = 0; i < units * blocks; i++) {
      const int64_t begin = i % blocks * OPTIMIZER_BLOCK, left = elements - begin;
      const int64_t at = tensor->offset + i / blocks * elements + begin;
      if (is_own(o, at))
        own[i] = block_sum(gradients + at, left < OPTIMIZER_BLOCK ? left : OPTIMIZER_BLOCK);
    }
    sums += all;
  }
}

phibal_status optimizer_norm_of(const optimizer *o, const double *sums, const float *gradients,
                                double *norm) {
  const int64_t blocks = optimizer_blocks(o->tensor_count, o->tensors);
  double sum = 0.0;
  for (int64_t b = 0; b < blocks; b++) sum += sums[b];
  *norm = sqrt(sum);
  return isfinite(*norm) ? PHIBAL_OK : name_nonfinite(o, gradients);
}

phibal_status optimizer_norm(const optimizer *o, const float *gradients, double *norm) {
  double *sums = malloc((size_t)(optimizer_blocks(o->tensor_count, o->tensors) + 1) * sizeof *sums);
  if (!sums) return phibal_status_set(PHIBAL_ERROR_MEMORY, "norm of the gradient: out of memory");
  optimizer_block_sums(o, gradients, sums);
  phibal_status status = optimizer_norm_of(o, sums, gradients, norm);
  free(sums);
  return status;
}

double clip_scale(double clip, double norm) {
  return clip > 0.0 && norm > clip ? clip / norm : 1.0;
}

/* What a step needs besides the elements. */
typedef struct adamw {
  double beta1, beta2, epsilon, first_scale, second_scale, lr, scale, decay;
} adamw;

static void update(const adamw *a, int64_t n, const float *restrict g, float *restrict w,
                   float *restrict first, float *restrict second) {
  const double beta1 = a->beta1, beta2 = a->beta2, epsilon = a->epsilon, decay = a->decay;
  const double first_scale = a->first_scale, second_scale = a->second_scale;
  const double lr = a->lr, scale = a->scale;
#pragma omp parallel for simd simdlen(8) schedule(static) if (n > 16384)
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

void optimizer_update(optimizer *o, double lr, double scale, const float *gradients,
                      float *parameters) {
  o->beta1_power *= o->config.beta1;
  o->beta2_power *= o->config.beta2;
  adamw a = {.beta1 = o->config.beta1,
             .beta2 = o->config.beta2,
             .epsilon = o->config.epsilon,
             .first_scale = 1.0 / (1.0 - o->beta1_power),
             .second_scale = 1.0 / (1.0 - o->beta2_power),
             .lr = lr,
             .scale = scale};
  const optimizer_part all = {0, o->parameters, 0};
  for (int32_t t = 0; t < o->tensor_count; t++) {
    const model_tensor *tensor = &o->tensors[t];
    a.decay = tensor->decay ? o->config.weight_decay : 0.0;
    const int64_t begin = tensor->offset, end = begin + tensor_size(tensor);
    const int64_t count = o->parts ? o->part_count : 1;
    for (int64_t i = o->parts ? part_after(o, begin) : 0; i < count; i++) {
      const optimizer_part *part = o->parts ? &o->parts[i] : &all;
      const int64_t from = part->begin > begin ? part->begin : begin;
      const int64_t to = part->end < end ? part->end : end;
      if (from >= to) break;
      const int64_t moments = part->at + from - part->begin;
      update(&a, to - from, gradients + from, parameters + from, o->first + moments,
             o->second + moments);
    }
  }
}
