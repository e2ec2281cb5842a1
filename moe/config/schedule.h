/* The learning rate of a run whose number of steps was changed midway.

   A plan is a number of steps. The warm-up is a fraction of the first plan's, and comes once. From
   there each step has the rate that a run of the plan in force would have at that step: the cosine
   of the new plan, at the place that has been reached. nanoGPT, transformers' Trainer and Megatron
   do the same when a run is continued with another number of steps.

   training.steps is the last plan; training.continued lists the earlier ones, "PLAN@STEP, ...":
   PLAN was in force until STEP. So a configuration determines its whole schedule. */
#ifndef PHIBAL_MOE_SCHEDULE_H
#define PHIBAL_MOE_SCHEDULE_H

#include "moe/model/optimizer.h"
#include <stddef.h>

/* Learning rate of step 0 .. steps-1: with w = round(warmup steps), peak (step + 1) / w while
   step < w, then the cosine from peak to final_lr peak, which the last step has exactly. */
double learning_rate(const optimizer_config *config, int64_t step, int64_t steps);
/* w above; and the same with another warm-up than that. */
int64_t learning_rate_warmup(const optimizer_config *config, int64_t steps);
double learning_rate_after(const optimizer_config *config, int64_t step, int64_t steps,
                           int64_t warmup);

enum { SCHEDULE_PLANS_MAX = 64 };

typedef struct schedule {
  int32_t earlier;
  struct {
    int64_t steps, until; /* rising untils; until <= steps, and <= the run's steps */
  } plan[SCHEDULE_PLANS_MAX];
  int64_t steps; /* the last plan */
} schedule;

/* Of training.steps and training.continued. PHIBAL_ERROR_FORMAT, PHIBAL_ERROR_ARGUMENT (an order
   that cannot be). */
phibal_status schedule_read(const char *continued, int64_t steps, schedule *s);
/* The rate of step 0 .. steps-1. */
double schedule_rate(const schedule *s, const optimizer_config *config, int64_t step);
/* Steps of the warm-up. */
int64_t schedule_warmup(const schedule *s, const optimizer_config *config);

/* Gives a run of *planned steps that has done `step` of them another number, `steps`; continued
   [capacity], training.continued, remembers the plan until then. PHIBAL_ERROR_ARGUMENT where more
   steps than that have been taken. */
phibal_status schedule_continue(int64_t step, int64_t steps, int64_t *planned, char *continued,
                                size_t capacity);

#endif
