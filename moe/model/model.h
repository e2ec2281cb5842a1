/* The decoder-only MoE transformer: parameters, one training step, evaluation. Written by hand,
   forward and backward; binary32 throughout; the same bits for any number of threads. */
#ifndef PHIBAL_MOE_MODEL_H
#define PHIBAL_MOE_MODEL_H

#include <phibal/balance.h>
#include <phibal/capacity.h>
#include <phibal/expert.h>
#include <phibal/router.h>
#include "formats/sha256.h"
#include "rope.h"
#include <stdbool.h>

typedef enum qk_norm_kind {
  QK_NORM_NONE,
  QK_NORM_HEADS,      /* of each head by itself, one weight for all */
  QK_NORM_PROJECTION, /* of all heads' queries together, and of all keys */
} qk_norm_kind;

typedef enum model_recompute { RECOMPUTE_NONE, RECOMPUTE_LAYERS } model_recompute;

/* What experts without weights return for a token, as phibal_zero_output: its row of the FFN's
   input, which is the default and so comes first, or 0. */
typedef enum model_zero_output { ZERO_IDENTITY, ZERO_NOTHING } model_zero_output;

typedef struct model_config {
  int32_t vocabulary;      /* V */
  int32_t width;           /* d */
  int32_t layers;          /* L */
  int32_t heads;           /* query heads */
  int32_t key_value_heads; /* divides heads */
  int32_t head_width;      /* even */
  int32_t sequence;        /* S, the longest sequence */
  int32_t experts;         /* E */
  int32_t zero_experts;    /* Z: the last so many have no weights (E10) */
  int32_t active;          /* k */
  int32_t hidden;          /* f of one expert */
  int32_t shared_experts;  /* always-on experts of width hidden each, added unscaled; 0 for none */
  int32_t dense_layers;    /* the first so many layers have a dense FFN instead of experts */
  int32_t dense_hidden;    /* f of a dense FFN */
  phibal_activation activation;
  phibal_gate gate;
  phibal_score selection_score; /* (R2p): what a bias is added to, and experts are selected by */
  float route_scale;            /* gates are multiplied by this */
  phibal_normalisation gate_normalisation;
  float gate_epsilon;
  /* Above 0: the least that the sum is taken for which divides gates (ERNIE 4.5), y / max(sum y,
     floor) with gate_normalisation sum. */
  float gate_floor;
  phibal_zero_gates zero_gates; /* (R5z) */
  model_zero_output zero_output;
  /* Experts lie in so many groups of equal size, 0 or 1 for none, and a token's experts come from
     its `active_groups` best. A group_score of none stands for that of the gate: the largest score
     of a softmax router, the sum of the two largest scores, bias included, of a sigmoid router
     (DeepSeek-V2, V3). */
  int32_t expert_groups, active_groups;
  phibal_group_score group_score;
  bool selection_bias; /* a bias for each expert in the selection, whatever the balancing */
  /* In the first hash_layers of the layers with experts a token's experts depend on its id alone
     (model_given.c). */
  int32_t hash_layers;
  int64_t hash_seed;
  float rope_theta;
  bool rope_interleaved; /* pairs are neighbours (rope.h) */
  /* Extended contexts: rope_factor 0 for none (rope.h). */
  rope_scaling rope_scaling;
  float rope_factor, rope_fast, rope_slow;
  int32_t rope_original;      /* positions that the frequencies were trained on */
  bool rope_fraction;         /* the ramp's ends are not rounded to whole pairs */
  float rope_magnitude;       /* of cosine and sine; 0: 1 */
  float attention_multiplier; /* of the scores, beside 1 / sqrt(head_width); 0: 1 */
  float norm_epsilon;
  float logit_softcap;  /* logits = cap tanh(logits / cap); 0 for none */
  qk_norm_kind qk_norm; /* RMSNorm of queries and keys */
  bool qkv_bias;        /* queries, keys and values of plain heads have a bias */
  bool post_norm;       /* RMSNorm of what a branch adds to the stream, not of what it reads */
  bool shared_gate; /* the shared experts' output is scaled by a sigmoid of its own for a token */
  bool embedding_scale; /* embeddings are multiplied by sqrt(d) (Gemma) */
  bool untied_head;     /* the output head is a matrix of its own */
  /* Multi-head latent attention (MLA; DeepSeek-V2, section 2.1): the keys and values of all heads
     are made from the RMSNorm of latent_width numbers a token, but for the last rope_width of a
     head's head_width, which are one key for all heads; only those are turned. 0: plain heads, of
     which the first rope_width numbers are turned, or with 0 all. */
  int32_t latent_width;
  int32_t rope_width;
  int32_t value_width;        /* of a head, in MLA; else head_width */
  int32_t query_latent_width; /* of MLA's queries; 0: they are made from the stream itself */
  float latent_norm_epsilon;
  /* Of every full_attention_every layers all but the last see only the last `window` positions,
     their own among them; 0: all layers do. window 0: none does. */
  int32_t window, full_attention_every;
  bool sinks;       /* each head's softmax has one score more, which is learnt and has no value */
  bool output_bias; /* attention's output projection has a bias */
  /* Above 0: the router and the experts have biases, and with g and u an expert's gate and up
     projections, g at most the limit and u within it both ways, h = (u + 1) g sigmoid(slope g), in
     place of the activation (gpt-oss). */
  float expert_limit, expert_slope;
  bool expert_factor; /* the gates of each expert have a factor that is learnt (SPEC.md R5f) */
  /* RECOMPUTE_LAYERS: a layer keeps its place in the residual stream, its routes with their logits,
     and its price. Its backward pass makes the rest again, to the same bits, in memory that all
     layers share, where the last layer's still is. Loads, losses and prices are made once. */
  model_recompute recompute;
} model_config;

/* E - Z: those with weights, which are the first. */
static inline int32_t model_real_experts(const model_config *config) {
  return config->experts - config->zero_experts;
}

/* Of the weights and rows that matrix products multiply on a device (device.h). */
typedef enum model_precision { PRECISION_BINARY32, PRECISION_BFLOAT16 } model_precision;

typedef enum balance_method {
  BALANCE_PHI,
  BALANCE_SWITCH,        /* f and P of the micro-batch */
  BALANCE_SWITCH_GLOBAL, /* f of the global batch so far */
  BALANCE_SEQUENCE,
  BALANCE_LOSS_FREE,
  BALANCE_PHI_BIAS, /* the prices of a potential as a bias in the selection (L9) */
  BALANCE_QUANTILE, /* (L7), or with bins (L8) */
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
  const char *source; /* the file it was made from, for the run's folder; null: not known */
} model_potential;

typedef struct balance_config {
  balance_method method;
  phibal_potential potential;
  const model_potential *external; /* stands for `potential`; null: none. Outlives the model */
  float eta;
  double alpha;          /* the coefficient of the balancing loss */
  balance_track track;   /* what m averages */
  balance_start start;   /* m before the first step; corrected: m / (1 - (1 - eta)^t) is priced */
  double z_coefficient;  /* of the router z-loss; 0 for none */
  float bias_rate;       /* loss-free: u */
  double bias_scale;     /* phi-bias: c */
  float quantile_eta;    /* quantile: the weight of a step's biases in their average */
  int32_t quantile_bins; /* quantile: of the histogram (L8); 0: the exact one (L7) */
  /* (E7), (E8) of each call of model_forward_backward by itself; factor 0: nothing is dropped.
     Evaluation and generation drop nothing. */
  float capacity_factor;
  int64_t capacity_minimum;
  phibal_capacity_policy capacity_policy;
} balance_config;

/* Methods that take prices from a potential, and those that set a bias in the selection. */
static inline bool balance_has_potential(balance_method method) {
  return method == BALANCE_PHI || method == BALANCE_PHI_BIAS;
}

static inline bool balance_sets_bias(balance_method method) {
  return method == BALANCE_LOSS_FREE || method == BALANCE_PHI_BIAS || method == BALANCE_QUANTILE;
}

typedef struct model_tensor {
  char name[64];  /* as Hugging Face names it: model.layers.0.mlp.experts.gate_proj ... */
  int64_t offset; /* into parameters and gradients */
  int64_t shape[3];
  int32_t dimensions; /* 1 .. 3 */
  bool decay;         /* weight decay applies (matrices, not norms) */
  /* Of experts divided over ranks: the whole tensor has `whole` experts, this one those from
     `first` on. Elsewhere whole is shape[0] and first 0. */
  int64_t whole, first;
} model_tensor;

/* What a batch holds: tokens that are not padding (-1), and those of them that have a target. A
   token without one, as a prompt's, is routed, attended to and counted in the loads all the same;
   padding takes part in nothing. */
typedef struct model_batch {
  int64_t targets, tokens;
} model_batch;

/* tokens, targets [n] */
model_batch model_batch_count(int64_t n, const int32_t *tokens, const int32_t *targets);

/* What one call measured; sums over the unignored targets. */
typedef struct model_losses {
  double cross_entropy; /* sum, nats */
  int64_t correct;      /* targets that were the most probable token */
  int64_t targets;
  double balance; /* the balancing loss, summed over layers, weighted by the call's share of
                     the global batch's tokens (so that a step's calls add up to the step's loss) */
  double z;       /* likewise */
  int64_t routes, dropped; /* over all layers, where there is a capacity; otherwise 0 */
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

/* How the ranks that divide the experts of a model exchange rows (parallel.h). Rank r of R has the
   experts r E/R .. (r + 1) E/R - 1 of every layer. */
typedef struct model_expert_ranks {
  const void *context;
  int32_t rank, ranks; /* ranks divides the experts */
  void (*counts)(const void *context, int32_t n, const int64_t *send, int64_t *receive);
  phibal_status (*rows)(const void *context, int32_t width, const int64_t *to, const float *send,
                        const int64_t *from, float *receive);
  void (*broadcast)(const void *context, int64_t *x); /* x of rank 0 */
} model_expert_ranks;

/* model_create for one of these ranks, which has the parameters of its own experts only; null: all.
   The ranks have to make the same calls of forward_backward. Rank 0 alone evaluates; the others
   lend it their experts meanwhile. `ranks` outlives the model. */
phibal_status model_create_part(const model_config *config, const balance_config *balance,
                                int32_t batch, uint64_t seed, const model_expert_ranks *ranks,
                                model **created);
/* On the other ranks: takes part in each model_evaluate of rank 0 until that calls
   model_serve_end. */
phibal_status model_serve_experts(model *m);
void model_serve_end(model *m);

int64_t model_parameter_count(const model *m);
float *model_parameters(model *m); /* one arena, in the order of the tensors */
float *model_gradients(model *m);  /* the same layout */
int32_t model_tensor_count(const model *m);
const model_tensor *model_tensors(const model *m);
int32_t model_moe_layers(const model *m);
float *model_balance_state(model *m, int32_t moe_layer); /* [E], the balancing state */
/* [E], the selection's bias, of the methods that set one and of selection_bias; else zeros */
float *model_bias(model *m, int32_t moe_layer);
bool model_has_bias(const model_config *config, balance_method method);

/* Optimizer steps finished. It decides the correction of START_ZERO_CORRECTED, so that a resumed
   run must set it as it was, together with m and the bias. */
int64_t *model_steps(model *m);

/* How the ranks of a job that trains one model add up (parallel.h): to += the sum of every rank's
   `own`, exactly; the sum of a number, and of n numbers. */
typedef struct model_ranks {
  const void *context;
  phibal_status (*add_loads)(const void *context, const phibal_loads *own, phibal_loads *to);
  void (*sum)(const void *context, int64_t *x);
  void (*sums)(const void *context, int64_t n, int64_t *x);
} model_ranks;

/* Trains as one of several ranks, each with its part of every micro-batch; null (as at first):
   alone. The loads that m, the prices and the bias follow, and the count of targets, are then those
   of all ranks; gradients and losses are this rank's, to be added up. Every rank has to make the
   same calls of forward_backward. `ranks` outlives the model. */
void model_set_ranks(model *m, const model_ranks *ranks);

/* PHIBAL_ERROR_ARGUMENT names options that contradict each other: of latent attention, of groups,
   of YaRN. */
phibal_status model_config_check(const model_config *config);

/* PHIBAL_ERROR_ARGUMENT where weights, and what is kept for so many sequences at once, are more
   numbers than any memory holds; the line says which sizes make them. Sizes are positive. What the
   functions below compute then fits in their types. */
phibal_status model_check_size(const model_config *config, int64_t sequences);

/* PHIBAL_ERROR_NONFINITE names the first weight that is NaN or infinite, and its place. */
phibal_status model_check_weights(const model *m);
/* Of the first call of forward_backward whose losses were not finite: what was first not finite, of
   the weights or of what the call had made from them, in the order in which it was made; "" where
   there was none. A failure says it in its message. */
const char *model_origin(const model *m);

/* Elements at .. at + n - 1 of a tensor whose experts ranks divide, counted in the whole tensor,
   into `to` [n] on the rank that computes the digest; the others give theirs. */
typedef struct model_gathering {
  const void *context;
  void (*gather)(const void *context, const model_tensor *tensor, int64_t at, int64_t n, float *to);
} model_gathering;

/* What a model is: the SHA-256 of, in the order of their names, all tensors, with the selection
   bias of each layer where there is one (model.layers.N.mlp.gate.e_score_correction_bias), and last
   the balancing state, "balance.m" [moe layers][E], where there are experts. Of each come its name,
   a zero byte, the number of its dimensions, these, as 64-bit integers, and its binary32 numbers,
   all bytes from the lowest up. Where ranks divide the experts all of them call it; null: every
   rank has them. */
phibal_status model_digest(const model *m, const model_gathering *gathering,
                           char digest[SHA256_TEXT]);

/* The parameters of a configuration without allocating them: in all, and those a token touches. */
void model_count(const model_config *config, balance_method method, int64_t *total,
                 int64_t *active);
/* Bytes of activations and scratch for batches of up to `batch` sequences, likewise, on the host or
   a device; INT64_MAX where they cannot be addressed. Parameters and gradients come on top, 4 bytes
   each. */
int64_t model_activation_bytes(const model_config *config, balance_method method,
                               model_precision precision, bool on_device, int32_t batch);

/* One optimizer step is: begin, one forward_backward for each micro-batch (SPEC.md (M5)), finish.
   However a batch is split, m, the bias and the loads come out the same, to the bit.
   begin zeroes the gradients; `global` is what the whole global batch holds: the cross-entropy is
   divided by its targets, losses of the router by its tokens. finish refuses if the micro-batches
   held another number of either; it sets m to m^(A) and updates the bias of the methods that set
   one. */
phibal_status model_step_begin(model *m, model_batch global);
/* Several documents in a sequence, which do not see each other: starts [batch][S] of the calls that
   follow, the first position that each one attends to, at most its own; null (as at first): 0. It
   has to be there until another is set. */
void model_set_starts(model *m, const int32_t *starts);
/* A product y [rows][stride] = x [rows][..] W^T of the forward pass, with a matrix of the model. */
typedef struct model_product {
  const float *weight; /* where W begins among the parameters */
  int64_t rows, stride;
  int64_t first_token;   /* a number that the caller gave the first token of the call */
  const int64_t *source; /* [rows] row i is of token source[i] / active of the call; null: i */
  int32_t active;
  const float *x;
} model_product;

/* What is added to such products in training, and to the gradients of their x. */
typedef struct model_adapters {
  void *context;
  void (*forward)(void *context, const model_product *p, float *y);
  void (*backward)(void *context, const model_product *p, const float *y_gradient,
                   float *x_gradient);
} model_adapters;

/* Of the calls of forward_backward that follow; null (as at first): none. `adapters` outlive the
   model. Not where ranks divide the experts. */
void model_set_adapters(model *m, const model_adapters *adapters, int64_t first_token);

/* Routes of the calls of forward_backward that follow: experts [batch][layers with experts][S][k]
   in the order of their slots, 65535 for padding. Those that are given are trained on in the place
   of those that the model would select; those of a call are left in `taken`. Null (as at first):
   none. They have to be there until others are set. Evaluation knows nothing of them. Given experts
   that are not k different ones of a token's are PHIBAL_ERROR_ARGUMENT. */
void model_set_routes(model *m, const uint16_t *given, uint16_t *taken);

/* Of a layer with hash routing, its number among those with experts: the k experts of a token, in
   the order of their slots. */
void model_hash_experts(const model_config *config, int32_t moe_layer, int32_t token,
                        int32_t *experts);

/* tokens, targets [batch][S]. A target of -1 is none. A token of -1 is padding: it has no target,
   and only padding follows it in its sequence, so that no token attends to it. losses are set, not
   added to. */
phibal_status model_forward_backward(model *m, int32_t batch, const int32_t *tokens,
                                     const int32_t *targets, model_losses *losses);
phibal_status model_step_finish(model *m);
/* The exact loads of the step so far, one for each MoE layer (valid until the next begin). */
const phibal_loads *model_step_loads(const model *m, int32_t moe_layer);

/* Forward only, balancing state untouched. loads [moe layers] are added to (null for none). */
phibal_status model_evaluate(model *m, int32_t batch, const int32_t *tokens, const int32_t *targets,
                             model_losses *losses, phibal_loads *loads);

/* Of the last call of model_evaluate: how many tokens of its sequence number `sequence` selected
   each expert of a MoE layer, into counts [E]. Returns the tokens of the sequence; padding is none
   of them. */
int64_t model_sequence_counts(const model *m, int32_t moe_layer, int32_t sequence, int64_t *counts);

/* Forward only, of one sequence without targets: the `count` tokens from position `first` on, at
   most S in all. Keys and values of the positions before are those that earlier calls with the same
   weights left, of this function or of model_evaluate's first sequence, so that a text grows by a
   token at the cost of one row. Each row has the bits that a call for the whole text gives it.
   PHIBAL_ERROR_ARGUMENT: no call has made the positions before, or there are not so many;
   PHIBAL_ERROR_UNSUPPORTED: layers are recomputed, or ranks divide the experts. */
phibal_status model_continue(model *m, int32_t first, int32_t count, const int32_t *tokens);

/* [batch][S] what each position of the last call added to its cross_entropy, in nats; 0 where the
   target was -1. Valid until the next call. */
const double *model_position_losses(const model *m);

/* logits [V] of one position of the last call, position i being token i of its [batch][S], before
   the loss is taken; of model_continue, i of its own tokens. */
void model_logits(const model *m, int64_t position, float *logits);

const model_times *model_step_times(const model *m); /* of the step since begin */

#endif
