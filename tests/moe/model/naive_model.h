/* The whole training loss of a step in binary64, in plain loops over the equations of SPEC.md and
   the description in moe/model/model.h; it shares nothing with the model but the names of the
   tensors. Small shapes only. */
#ifndef PHIBAL_TESTS_NAIVE_MODEL_H
#define PHIBAL_TESTS_NAIVE_MODEL_H

#include "moe/model/model.h"

#define NAIVE_TOKENS 16 /* of one call */
#define NAIVE_WIDTH 24  /* of the model, of all heads together, of a hidden layer */
#define NAIVE_EXPERTS 8
#define NAIVE_LAYERS 3
#define NAIVE_CALLS 3
#define NAIVE_VOCABULARY 24

typedef struct naive_model {
  model_config config;
  balance_config balance;
  const model_tensor *tensors;
  int32_t tensor_count;
  int32_t calls, batch; /* micro-batches, and sequences of each */
  int32_t tokens[NAIVE_CALLS][NAIVE_TOKENS], targets[NAIVE_CALLS][NAIVE_TOKENS];
  int64_t updates; /* steps before this one */
  double m[NAIVE_LAYERS][NAIVE_EXPERTS], bias[NAIVE_LAYERS][NAIVE_EXPERTS]; /* by layer */

  /* Prices are computed and kept while `hold` is false, and left as they are while it is true. */
  bool hold;
  double price[NAIVE_CALLS][NAIVE_LAYERS][NAIVE_TOKENS][NAIVE_EXPERTS];

  /* Results of the last evaluation. */
  double cross_entropy, balance_loss, z_loss;
  double next_m[NAIVE_LAYERS][NAIVE_EXPERTS];
  int64_t count[NAIVE_LAYERS][NAIVE_EXPERTS];
  /* (L7) by layer and token of the step: the cut-off less the scores. */
  double required[NAIVE_LAYERS][NAIVE_CALLS * NAIVE_TOKENS][NAIVE_EXPERTS];
  int routed[NAIVE_LAYERS];
  bool dropped[NAIVE_TOKENS][NAIVE_EXPERTS]; /* (E8), of the call's layer at hand */
  int64_t routes, drops;
  double margin; /* the smallest gap between a selected and an unselected score, or a
                    kept and a dropped gate */
  int64_t correct, target_count, token_count;
  double largest_logit;
} naive_model;

/* Mean cross-entropy + balancing loss + z-loss of the step, with the prices as constants. */
double naive_loss(naive_model *n, const double *parameters);

/* After it: the bias [E] of a layer that the next step selects with, by (L6), (L7), (L8) or (L9).
 */
void naive_next_bias(naive_model *n, int layer, double *bias);

#endif
