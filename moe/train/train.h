/* A training run: data, model, optimizer, evaluations, and the folder they are written to. */
#ifndef PHIBAL_MOE_TRAIN_H
#define PHIBAL_MOE_TRAIN_H

#include "checkpoint.h"
#include "evaluate.h"
#include "moe/parallel/parallel.h"
#include <jansson.h>
#include <signal.h>

/* What one step reports. Losses are means over the step's targets. */
typedef struct train_progress {
  int64_t step, steps; /* 1 .. steps: how many are done */
  double loss, balance, z;
  double lr, gradient_norm;
  bool limited;             /* there is a capacity, which */
  double dropped;           /* this share of the step's routes, over all layers, went beyond */
  double maxvio;            /* from loads, the mean over the MoE layers */
  double tokens_per_second; /* since the start, without evaluations */
  double seconds_left;      /* at that rate */
} train_progress;

typedef struct train_observer {
  void *context;
  void (*step)(void *context, const train_progress *progress);                  /* may be null */
  void (*evaluated)(void *context, int64_t step, const evaluation *evaluation); /* may be null */
  /* How examples came into windows, of data.train and data.validation; may be null. */
  void (*packed)(void *context, const char *key, int32_t sequence,
                 const mixture_examples *examples);
  void (*attention)(void *context, const char *by); /* on a device in bfloat16; may be null */
  void (*note)(void *context, const char *line);    /* what a reader should know; may be null */
} train_observer;

/* What *train_options.stop asks for after the current step, which is saved first: a signal's
   number; an interrupt evaluates, SIGTERM and all others do not. */
enum { TRAIN_STOP_EVALUATED = SIGINT, TRAIN_STOP_AT_ONCE = SIGTERM };

typedef struct train_options {
  const char *out; /* the run folder */
  bool overwrite;
  bool resume;                       /* goes on in the folder that is there: */
  const checkpoint *from;            /* from this checkpoint, or (null) from the first step */
  const volatile sig_atomic_t *stop; /* 0: go on; may be null */
  int *stopped_by;                   /* may be null; the same on all ranks: what has stopped the run
                                        before its last step (the largest, of several), or 0 */
  train_observer observer;           /* of the first rank */
  const parallel *parallel;          /* null: one process */
  const char *device;                /* null: the CPU; else as device_create has it */
} train_options;

/* Runs to the end, or to the stop, and writes the run folder. *result is what result.json holds
   (the caller decrefs it). Errors name the step; nothing is read or written before the
   configuration and the data have been checked against each other. A run that is resumed, however
   often, gives the metrics, weights and results of one that was never stopped, to the bit. What a
   stop evaluates is in the result and not in metrics.jsonl.

   Of several ranks each computes an equal part of every global batch, whose sequences they must
   divide (PHIBAL_ERROR_ARGUMENT); all keep the whole model and optimizer, and the first one
   evaluates and writes (*result is null on the others). Loads, m and biases after a step from the
   same weights do not depend on the number of ranks, to the bit; gradients are rounded once more,
   so that losses part after the first step. A checkpoint may be resumed on any number of ranks. A
   rank that fails returns an error and leaves the others waiting: the caller ends the job
   (parallel_abort).

   On a device (device.h) evaluations are the host's, and results agree with the CPU's within
   roundings. */
phibal_status train_run(const run_config *config, const train_options *options, json_t **result);

#endif
