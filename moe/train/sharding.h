/* Which rank of a job has, sums, updates and saves which part of a model. With R ranks and
   parallel.experts = N, ranks g N .. g N + N - 1 form group g and divide the experts of each layer
   among them; everything else every rank has. So all ranks add up the gradients of what is shared,
   and those R / N that have the same experts add up theirs. With parallel.shard_optimizer the ranks
   that add up a gradient also divide its moments: each gets the sums of its part (reduce-scatter),
   updates it, and gives the weights to the others (all-gather). A sum is formed in the order of the
   ranks in binary64 and rounded once, and elements are updated one by one: the weights have the
   bits that they have without. */
#ifndef PHIBAL_MOE_SHARDING_H
#define PHIBAL_MOE_SHARDING_H

#include "moe/config/config.h"
#include "moe/parallel/parallel.h"

/* A stretch of neighbouring parameters that the same ranks have. */
typedef struct sharding_run {
  int64_t begin, end;
  bool experts;
} sharding_run;

typedef struct sharding {
  const parallel *world;
  parallel group;    /* the ranks that divide the experts */
  parallel replicas; /* the ranks with the same experts */
  bool experts, optimizer;
  model_expert_ranks expert_ranks;
  model *model;
  int64_t run_count;
  sharding_run *runs;
  int64_t *starts; /* [runs][ranks + 1]: where each rank's part of a run begins; null: no parts */
  optimizer_part *parts; /* [run_count], this rank's; null: all parameters */
  double *sums;          /* [blocks] of the gradient's norm */
} sharding;

/* Divides the ranks. PHIBAL_ERROR_ARGUMENT where parallel.experts does not divide them, or there
   are no experts. The world outlives the sharding. */
phibal_status sharding_create(const run_config *config, const parallel *world, sharding *s);
/* Divides the model, which was created with sharding_expert_ranks. */
phibal_status sharding_divide(sharding *s, model *m);
void sharding_destroy(sharding *s);

/* For model_create_part: null where every rank has every expert. */
const model_expert_ranks *sharding_expert_ranks(const sharding *s);
/* Whether a rank holds what others do not. */
bool sharding_is_divided(const sharding *s);

/* After the backward pass: the gradients become the sums over the ranks, of this rank's parts at
   least. */
phibal_status sharding_sum_gradients(const sharding *s);
/* optimizer_norm of the whole model's gradient, the same on every rank. */
phibal_status sharding_norm(const sharding *s, const optimizer *o, double *norm);
/* After the update: every rank gets what it has not updated itself. */
void sharding_gather_weights(const sharding *s);

/* model_digest, on rank 0; every rank calls it. */
phibal_status sharding_digest(const sharding *s, char digest[SHA256_TEXT]);

/* Copies of a tensor's elements at .. at + n - 1, counted in the whole tensor, those that this rank
   has. `moments`: `array` is an optimizer's first or second, else the parameters. take: what this
   rank alone of all is to give goes into `to`, whose other elements stay; else: from `from` into
   the array. */
void sharding_take(const sharding *s, const model_tensor *tensor, const float *array, bool moments,
                   int64_t at, int64_t n, float *to);
void sharding_put(const sharding *s, const model_tensor *tensor, float *array, bool moments,
                  int64_t at, int64_t n, const float *from);

#endif
