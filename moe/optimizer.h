/* AdamW, the learning rate's schedule, and the norm of the gradient. The same bits for any number
   of threads: elements are independent, and the norm is summed in fixed blocks. */
#ifndef PHIBAL_MOE_OPTIMIZER_H
#define PHIBAL_MOE_OPTIMIZER_H

#include "model.h"

typedef struct optimizer_config {
  double peak_lr;
  double final_lr; /* of the last step, as a fraction of peak_lr */
  double warmup;   /* fraction of the steps */
  double weight_decay;
  double beta1, beta2;
  double epsilon;
  double clip; /* largest global norm; 0: no clipping */
} optimizer_config;

typedef struct optimizer {
  optimizer_config config;
  int32_t tensor_count;
  const model_tensor *tensors; /* not owned */
  int64_t parameters;
  float *first, *second;           /* [parameters], the moments */
  double beta1_power, beta2_power; /* beta^t after t updates */
} optimizer;

/* Learning rate of step 0 .. steps-1: with w = round(warmup steps), peak (step + 1) / w while
   step < w, then the cosine from peak to final_lr peak, which the last step has exactly. */
double learning_rate(const optimizer_config *config, int64_t step, int64_t steps);

phibal_status optimizer_create(const optimizer_config *config, int32_t tensor_count,
                               const model_tensor *tensors, int64_t parameters, optimizer *created);
void optimizer_destroy(optimizer *o);

/* Euclidean norm of the whole gradient, within (n + 2) 2^-53 relative, n = 4096 + parameters /
   4096. PHIBAL_ERROR_NONFINITE names the first tensor and element that is not finite. */
phibal_status optimizer_norm(const optimizer *o, const float *gradients, double *norm);

/* What the gradient is multiplied by so that its norm is at most `clip`. */
double clip_scale(double clip, double norm);

/* One AdamW step on g = scale * gradients, t = 1, 2, ... :
     m <- b1 m + (1 - b1) g;  v <- b2 v + (1 - b2) g^2
     theta <- theta - lr (m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + epsilon) + decay theta)
   decay is weight_decay for tensors that decay, 0 for others. Computed in binary64; m, v and theta
   are each rounded once. The unrounded m and v give theta. */
void optimizer_update(optimizer *o, double lr, double scale, const float *gradients,
                      float *parameters);

#endif
