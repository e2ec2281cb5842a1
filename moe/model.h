/* The decoder-only MoE transformer: parameters, one training step, evaluation. Written by hand,
   forward and backward; binary32 throughout; the same bits for any number of threads. */
#ifndef PHIBAL_MOE_MODEL_H
#define PHIBAL_MOE_MODEL_H

#include <phibal/balance.h>
#include <phibal/expert.h>
#include <phibal/router.h>
#include <stdbool.h>

typedef struct model_config {
  int32_t vocabulary;      /* V */
  int32_t width;           /* d */
  int32_t layers;          /* L */
  int32_t heads;           /* query heads */
  int32_t key_value_heads; /* divides heads */
  int32_t head_width;      /* even */
  int32_t sequence;        /* S, the longest sequence */
  int32_t experts;         /* E */
  int32_t active;          /* k */
  int32_t hidden;          /* f of one expert */
  int32_t shared_experts;  /* always-on experts of width hidden each, added unscaled; 0 for none */
  int32_t dense_layers;    /* the first so many layers have a dense FFN instead of experts */
  int32_t dense_hidden;    /* f of a dense FFN */
  phibal_activation activation;
  phibal_gate gate;
  float route_scale; /* gates are multiplied by this */
  float rope_theta;
  float norm_epsilon;
  float logit_softcap;  /* logits = cap tanh(logits / cap); 0 for none */
  bool qk_norm;         /* RMSNorm of each head's queries and keys */
  bool embedding_scale; /* embeddings are multiplied by sqrt(d) (Gemma) */
} model_config;

typedef enum balance_method {
  BALANCE_PHI,
  BALANCE_SWITCH,        /* f and P of the micro-batch */
  BALANCE_SWITCH_GLOBAL, /* f of the global batch so far */
  BALANCE_SEQUENCE,
  BALANCE_LOSS_FREE,
  BALANCE_NONE,
  BALANCE_DENSE, /* every layer dense: the baseline without experts */
} balance_method;

typedef enum balance_track { TRACK_PROBABILITY, TRACK_FREQUENCY } balance_track;
typedef enum balance_start { START_ZERO, START_UNIFORM, START_ZERO_CORRECTED } balance_start;

/* A potential from outside the catalogue: its prices (M2), (M3), by functions that the caller has,
   as those of a kernel generated from a file. They take 1 .. 1024 loads and return 0, or -1 for
   their number, or e + 1 where load e is none; `floored` may be null. */
typedef struct model_potential {
  char name[64];
  uint64_t hash; /* of the kernel's text */
  int (*price)(int experts, const float *m, float *price, int *floored);
  int (*price_centred)(int experts, const float *m, float *centred, int *floored);
} model_potential;

typedef struct balance_config {
  balance_method method;
  phibal_potential potential;
  const model_potential *external; /* stands for `potential`; null: none. Outlives the model */
  float eta;
  double alpha;         /* the coefficient of the balancing loss */
  balance_track track;  /* what m averages */
  balance_start start;  /* m before the first step; corrected: m / (1 - (1 - eta)^t) is priced */
  double z_coefficient; /* of the router z-loss; 0 for none */
  float bias_rate;      /* loss-free: u */
} balance_config;

typedef struct model_tensor {
  char name[64];  /* as Hugging Face names it: model.layers.0.mlp.experts.gate_proj ... */
  int64_t offset; /* into parameters and gradients */
  int64_t shape[3];
  int32_t dimensions; /* 1 .. 3 */
  bool decay;         /* weight decay applies (matrices, not norms) */
} model_tensor;

/* What one call measured; sums over the unignored targets. */
typedef struct model_losses {
  double cross_entropy; /* sum, nats */
  int64_t correct;      /* targets that were the most probable token */
  int64_t targets;
  double balance; /* the balancing loss, summed over layers, weighted by the call's share of
                     the global batch (so that a step's calls add up to the step's loss) */
  double z;       /* likewise */
} model_losses;

/* Where a step's time went, in seconds. */
typedef struct model_times {
  double embedding, attention, router, permutation, experts, head, total;
} model_times;

typedef struct model model;

/* Allocates everything once: for batches of up to `batch` sequences of config.sequence tokens. The
   seed decides the initial parameters. */
phibal_status model_create(const model_config *config, const balance_config *balance, int32_t batch,
                           uint64_t seed, model **created);
void model_destroy(model *m);

int64_t model_parameter_count(const model *m);
float *model_parameters(model *m); /* one arena, in the order of the tensors */
float *model_gradients(model *m);  /* the same layout */
int32_t model_tensor_count(const model *m);
const model_tensor *model_tensors(const model *m);
int32_t model_moe_layers(const model *m);
float *model_m(model *m, int32_t moe_layer);    /* [E], the balancing state */
float *model_bias(model *m, int32_t moe_layer); /* [E], the loss-free bias; zeros otherwise */

/* Optimizer steps finished. It decides the correction of START_ZERO_CORRECTED, so that a resumed
   run must set it as it was, together with m and the bias. */
int64_t *model_steps(model *m);

/* How the ranks of a job that trains one model add up (parallel.h): to += the sum of every rank's
   `own`, exactly; and the sum of a number. */
typedef struct model_ranks {
  const void *context;
  phibal_status (*add_loads)(const void *context, const phibal_loads *own, phibal_loads *to);
  void (*sum)(const void *context, int64_t *x);
} model_ranks;

/* Trains as one of several ranks, each with its part of every micro-batch; null (as at first):
   alone. The loads that m, the prices and the bias follow, and the count of targets, are then those
   of all ranks; gradients and losses are this rank's, to be added up. Every rank has to make the
   same calls of forward_backward. `ranks` outlives the model. */
void model_set_ranks(model *m, const model_ranks *ranks);

/* The parameters of a configuration without allocating them: in all, and those a token touches. */
void model_count(const model_config *config, balance_method method, int64_t *total,
                 int64_t *active);
/* Bytes of activations and scratch for batches of up to `batch` sequences, likewise; INT64_MAX
   where they cannot be addressed. Parameters and gradients come on top, 4 bytes each. */
int64_t model_activation_bytes(const model_config *config, balance_method method, int32_t batch);

/* One optimizer step is: begin, one forward_backward for each micro-batch (SPEC.md (M5)), finish.
   However a batch is split, m, the bias and the loads come out the same, to the bit.
   begin zeroes the gradients; global_targets is the number of unignored targets of the whole global
   batch, by which every loss is divided. finish refuses if the micro-batches held another number of
   targets; it sets m to m^(A) and updates the loss-free bias. */
phibal_status model_step_begin(model *m, int64_t global_targets);
/* tokens, targets [batch][S]; a target of -1 is ignored, and its token counts as padding in the
   router. losses are set, not added to. */
phibal_status model_forward_backward(model *m, int32_t batch, const int32_t *tokens,
                                     const int32_t *targets, model_losses *losses);
phibal_status model_step_finish(model *m);
/* The exact loads of the step so far, one for each MoE layer (valid until the next begin). */
const phibal_loads *model_step_loads(const model *m, int32_t moe_layer);

/* Forward only, balancing state untouched. loads [moe layers] are added to (null for none). */
phibal_status model_evaluate(model *m, int32_t batch, const int32_t *tokens, const int32_t *targets,
                             model_losses *losses, phibal_loads *loads);

/* [batch][S] what each position of the last call added to its cross_entropy, in nats; 0 where the
   target was -1. Valid until the next call. */
const double *model_position_losses(const model *m);

const model_times *model_step_times(const model *m); /* of the step since begin */

#endif
