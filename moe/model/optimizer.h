/* AdamW and the norm of the gradient. The same bits for any number of threads and of ranks:
   elements are independent, and the norm is summed in fixed blocks. */
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

/* Elements begin .. end - 1 of the parameters; their moments begin at `at`. */
typedef struct optimizer_part {
  int64_t begin, end, at;
} optimizer_part;

typedef struct optimizer {
  optimizer_config config;
  int32_t tensor_count;
  const model_tensor *tensors; /* not owned */
  int64_t parameters;
  int64_t part_count;              /* the parts that this rank updates, by rising begin */
  const optimizer_part *parts;     /* not owned; null: all parameters */
  float *first, *second;           /* the moments: [parameters], or of the parts */
  double beta1_power, beta2_power; /* beta^t after t updates */
} optimizer;

phibal_status optimizer_create(const optimizer_config *config, int32_t tensor_count,
                               const model_tensor *tensors, int64_t parameters, optimizer *created);
/* The same with the moments of these parts only, which outlive the optimizer; null: of all. */
phibal_status optimizer_create_parts(const optimizer_config *config, int32_t tensor_count,
                                     const model_tensor *tensors, int64_t parameters,
                                     const optimizer_part *parts, int64_t part_count,
                                     optimizer *created);
void optimizer_destroy(optimizer *o);

/* The gradient's squares are added up in blocks: of 4096 elements of a tensor, or of one expert of
   a tensor of experts, so that a block is the same one on whichever rank it lies. */
enum { OPTIMIZER_BLOCK = 4096 };
/* Blocks of one expert of a tensor, or of the whole tensor if it has none; and how many of these
   units this rank has. */
int64_t optimizer_unit(const model_tensor *tensor, int64_t *units, int64_t *elements);
/* Blocks of a tensor, and of so many, whichever ranks they lie on. */
int64_t optimizer_tensor_blocks(const model_tensor *tensor);
int64_t optimizer_blocks(int32_t tensor_count, const model_tensor *tensors);
/* How many blocks this rank has. begins [that + 1], or null: where they begin in its arrays, and
   where the last ends. */
int64_t optimizer_own_blocks(int32_t tensor_count, const model_tensor *tensors, int64_t *begins);
/* sums [blocks]: of those in this rank's parts; 0 elsewhere. A part begins and ends where a block
   does. */
void optimizer_block_sums(const optimizer *o, const float *gradients, double *sums);
/* Euclidean norm of the whole gradient from its blocks, within (n + 2) 2^-53 relative, n = 4096 +
   blocks. PHIBAL_ERROR_NONFINITE names the first tensor and element here that is not finite. */
phibal_status optimizer_norm_of(const optimizer *o, const double *sums, const float *gradients,
                                double *norm);
/* All of it on one rank. */
phibal_status optimizer_norm(const optimizer *o, const float *gradients, double *norm);

/* What the gradient is multiplied by so that its norm is at most `clip`. */
double clip_scale(double clip, double norm);

/* On the parts: one AdamW step on g = scale * gradients, t = 1, 2, ... :
     m <- b1 m + (1 - b1) g;  v <- b2 v + (1 - b2) g^2
     theta <- theta - lr (m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + epsilon) + decay theta)
   decay is weight_decay for tensors that decay, 0 for others. Computed in binary64; m, v and theta
   are each rounded once. The unrounded m and v give theta. */
void optimizer_update(optimizer *o, double lr, double scale, const float *gradients,
                      float *parameters);

#endif
