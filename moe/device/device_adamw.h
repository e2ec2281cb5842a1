/* The optimizer's coefficients as a device takes them. */
#ifndef PHIBAL_MOE_DEVICE_ADAMW_H
#define PHIBAL_MOE_DEVICE_ADAMW_H

#include "moe/model/optimizer.h"

#include "kernels/cuda/trainer.h"
#include <string.h>

/* What stays from step to step; parameters, stretches, rate and scales are for the caller. */
static inline phibal_cuda_adamw device_adamw(const optimizer_config *c) {
  phibal_cuda_adamw step;
  memset(&step, 0, sizeof step);
  step.beta1 = c->beta1;
  step.beta2 = c->beta2;
  step.epsilon = c->epsilon;
  step.weight_decay = c->weight_decay;
  step.clip = c->clip;
  return step;
}

#endif
