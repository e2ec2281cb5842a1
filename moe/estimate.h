/* What a configuration costs, without allocating it. */
#ifndef PHIBAL_MOE_ESTIMATE_H
#define PHIBAL_MOE_ESTIMATE_H

#include "config.h"

/* Floating-point operations of one token, a multiplication and an addition counted as two:
     forward = 2 (active parameters that multiply: all but the norms) + 2 L heads head_width (S + 1)
   The tied embedding counts once, in the output head. The last term is QK^T and AV, each 2 heads
   head_width operations a key, over the (S + 1) / 2 keys that a causal token sees on average.
   A training step takes three times that: the backward pass forms two products for each of the
   forward pass's. Softmax, norms, RoPE, and the recomputation of attention scores in the backward
   pass are left out. */
typedef struct run_estimate {
  int64_t total, active; /* parameters */
  int64_t weight_bytes, gradient_bytes, moment_bytes;
  int64_t activation_bytes;             /* of one micro-batch, scratch included */
  double forward_flops, training_flops; /* of one token */
  int64_t step_tokens;
} run_estimate;

run_estimate run_estimate_compute(const run_config *config);

#endif
