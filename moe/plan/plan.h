/* Plans for a compute budget, by the scaling law of the paper's budgets (appendix
   "Hyperparameters", after Tian et al. 2025): with C the FLOPs of a whole training run,
     M = 0.1915 C^0.5095 FLOPs a token, D = 5.2232 C^0.4905 tokens.
   M D = 1.0002 C, so M counts the forward and the backward pass. The paper calls D / M = 27.3
   C^-0.019 tokens per parameter; it is tokens per FLOP a token, and a parameter takes six of these.
 */
#ifndef PHIBAL_MOE_PLAN_H
#define PHIBAL_MOE_PLAN_H

#include "estimate.h"

double plan_law_token_flops(double flops);      /* M of C */
double plan_law_tokens(double flops);           /* D of C */
double plan_law_flops(double token_flops);      /* C of M: the inverse */
double plan_law_tokens_for(double token_flops); /* D of M */

/* Compares a configuration with the law. The paper does not say whether M counts the output head;
   the law is read both ways. */
typedef struct plan {
  run_estimate estimate;          /* on a device */
  double tokens, flops;           /* as the run file says: steps of whole batches; 6 N-like FLOPs */
  double token_flops;             /* M: of training, with the head */
  double body_token_flops;        /* without it */
  double law_tokens, body_tokens; /* D of each */
} plan;

plan plan_compute(const run_config *config);

/* Steps of `batch` tokens that hold `tokens`: rounded up. */
int64_t plan_steps(double tokens, int64_t batch);
/* Hours of `flops` on devices of `peak` FLOP/s each that reach the fraction `mfu` of it. */
double plan_hours(double flops, double peak, double mfu, int32_t devices);

#endif
