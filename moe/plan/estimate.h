/* Memory and FLOPs of a configuration, without allocating it. */
#ifndef PHIBAL_MOE_ESTIMATE_H
#define PHIBAL_MOE_ESTIMATE_H

#include "moe/config/config.h"

/* Floating-point operations of one token, a multiplication and an addition counted as two:
     forward = 2 (active parameters that multiply: all but the norms)
               + L heads (head_width + value width) (S + 1)
   The embedding counts in the output head only. The last term is QK^T and AV, 2 heads head_width
   and 2 heads value width (head_width without latent attention) operations a key, over the
   (S + 1) / 2 keys that a causal token sees on average.
   A training step takes three times that: the backward pass forms two products for each of the
   forward pass's. Softmax, norms, RoPE, and the recomputation of attention scores in the backward
   pass are left out, and what training.recompute computes again, is a number of its own: the
   attention and FFN of all layers but the last, on a device without the product outward. */
typedef struct run_estimate {
  int64_t total, active;                /* parameters */
  int64_t weight_bytes, gradient_bytes; /* in bfloat16: with the binary32 master weights */
  /* Of AdamW; with adapters theirs, A, B and their gradients, and the weights that they are added
     to (lora_size). */
  int64_t moment_bytes;
  int64_t activation_bytes;                               /* of one micro-batch, scratch included */
  double forward_flops, training_flops, recomputed_flops; /* of one token */
  int64_t step_tokens;
} run_estimate;

/* On a device, or on the host in binary32. */
run_estimate run_estimate_compute(const run_config *config, bool on_device);
/* Weights, gradients, moments and activations, at most INT64_MAX. */
int64_t run_estimate_bytes(const run_estimate *e);
/* The first with the bytes of one rank of so many, as the run file divides the experts and the
   moments. Where ranks divide the experts, the activations are those of evenly loaded ones; on a
   device the rows that travel take room besides. */
run_estimate run_estimate_of_rank(const run_config *config, int32_t ranks, bool on_device);
/* PHIBAL_ERROR_MEMORY where a rank needs more than this machine has: an allocation beyond that may
   succeed, and the process be killed when it is used. */
phibal_status run_estimate_check(const run_config *config, int32_t ranks);

#endif
