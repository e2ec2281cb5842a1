/* Scripts of events, for traces: what happens to a layer's balancing over a few optimizer steps.
   operation_trace.c asks for the state between steps, operation_loss_trace.c for the losses and
   gradients of each step. A case adds none, one, two or all of its features to the script. */
#ifndef PHIBAL_VERIFY_TRACE_SCRIPT_H
#define PHIBAL_VERIFY_TRACE_SCRIPT_H

#include "operation.h"

enum { TRACE_STEPS = 3 };

/* Their numbers are in the tensor `events`. */
typedef enum trace_event {
  TRACE_FORWARD,   /* of a micro-batch, in training */
  TRACE_RECOMPUTE, /* the same forward pass again, for the backward pass */
  TRACE_EVALUATE,  /* a forward pass outside training */
  TRACE_STEP,      /* the optimizer step, on all ranks */
  TRACE_RELOAD,    /* the state is saved, and a new instance loads it */
  TRACE_CAST,      /* the module is cast to bfloat16 */
} trace_event;

/* FEATURE(ID, flag). Traces of states have those before TRACE_STATES. */
#define TRACE_FEATURE_LIST(FEATURE)                                                                \
  FEATURE(MICRO_BATCHES, FLAG_MICRO_BATCHES)                                                       \
  FEATURE(RANKS, FLAG_RANKS)                                                                       \
  FEATURE(PADDING, FLAG_PADDING)   /* as much of it as falls to each micro-batch */                \
  FEATURE(NO_TOKEN, FLAG_NO_TOKEN) /* micro-batches of nothing but padding */                      \
  FEATURE(RECOMPUTATION, FLAG_RECOMPUTATION)                                                       \
  FEATURE(EVALUATION, FLAG_EVALUATION) /* in a step's midst, and between two */                    \
  FEATURE(RELOADING, FLAG_RELOADING)                                                               \
  FEATURE(CASTING, FLAG_CASTING)                                                                   \
  FEATURE(BIAS, FLAG_ROUTING_MAP)       /* of the selection */                                     \
  FEATURE(SHIFTED, FLAG_SHIFTED_LOGITS) /* all logits are very negative */

enum {
#define FEATURE(ID, flag) TRACE_HAS_##ID,
  TRACE_FEATURE_LIST(FEATURE)
#undef FEATURE
      TRACE_FEATURES,
  TRACE_STATES = TRACE_HAS_BIAS
};

/* Of n features none, each, each pair, all: how many sets, and the i-th. */
enum {
#define TRACE_SETS(n) (1 + (n) + (n) * ((n)-1) / 2 + 1)
  TRACE_STATE_SETS = TRACE_SETS(TRACE_STATES),
  TRACE_LOSS_SETS = TRACE_SETS(TRACE_FEATURES)
};
uint32_t trace_feature_set(uint64_t i, int n);
/* The flag of the first feature; FLAG_ORDINARY for none. */
flag_id trace_first_flag(uint32_t features);

/* The script while it is written: first counted, then put down. */
typedef struct trace_script {
  random_stream r;
  uint32_t features;
  int64_t sequences; /* that a micro-batch consists of, each with padding of its own at its end */
  int64_t T, E;
  bool crowded;    /* nearly all tokens go to the first expert */
  bool balanced;   /* as equally many tokens as can be to each expert */
  int64_t k;       /* for that */
  int64_t batches; /* micro-batches of the step after the cast, if not as few as of others */
  int64_t events, forwards;
  int64_t observed;      /* events after which the state is asked for */
  bool between;          /* two steps */
  int32_t *event, *rank; /* [N]; null while counting */
  uint8_t *observe;      /* [N], or null */
  float *logits;         /* [N][T][E] */
  uint8_t *mask;         /* [N][T] */
} trace_script;

static inline bool trace_has(const trace_script *s, int feature) {
  return s->features >> feature & 1;
}

/* events, rank, event-logits and event-mask of the script as inputs of the case, `observe` too if
   asked for, and the features' flags. */
phibal_status trace_write(operation_case *c, trace_script *s, bool observe);
/* Other tokens for the same script. */
void trace_draw(trace_script *s);

#endif
