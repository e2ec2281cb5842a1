/* Shared by the files of the model. Shapes: T tokens of a call (batch times S), d the width, f a
   hidden width, E experts, k active, N = T k routes at most. */
#ifndef PHIBAL_MOE_MODEL_INTERNAL_H
#define PHIBAL_MOE_MODEL_INTERNAL_H

#include "moe/machine/arena.h"
#include "attention.h"
#include "head.h"
#include "model.h"

#include <phibal/quantile.h>

enum { MODEL_ORIGIN = 192 };

/* One layer's part of an array laid out as the tensors: parameters or gradients. Null where the
   layer has no such tensor. */
typedef struct layer_weights {
  float *attention_norm;  /* [d] */
  float *qkv;             /* [(heads + 2 kv heads) n][d]: q, k, v in a row; null with MLA */
  float *qkv_bias;        /* [(heads + 2 kv heads) n]; null without */
  float *q_norm, *k_norm; /* [n], or [heads n] and [kv heads n] */
  /* MLA: c the latent's width, cq the queries', r that of the shared key, v of a head's values. */
  float *q;                    /* [heads n][d], or [heads n][cq] */
  float *q_down, *q_down_norm; /* [cq][d], [cq]; null without cq */
  float *kv_down;              /* [c + r][d] */
  float *kv_down_norm;         /* [c] */
  float *kv_up;                /* [heads (n - r + v)][c] */
  float *o;                    /* [d][heads v] */
  float *o_bias;               /* [d]; null without output_bias */
  float *sinks;                /* [heads]; null without */
  float *ffn_norm;             /* [d] */
  float *router;               /* [E][d]; null: a dense layer */
  float *gate, *up, *down;     /* [E][f][d], [E][f][d], [E][d][f]; E = 1 if dense */
  float *router_bias, *gate_bias, *up_bias, *down_bias; /* [E], [E][f], [E][f], [E][d]; or null */
  float *factor;                                /* [E] of the gates; null without expert_factor */
  float *shared_gate, *shared_up, *shared_down; /* [f][d], [f][d], [d][f] */
  float *shared_scale;                          /* [d], whose product has the sigmoid; or null */
} layer_weights;

typedef struct model_weights {
  float *embedding; /* [V][d] */
  float *head;      /* [V][d]; the embedding where they are tied */
  layer_weights *layers;
  float *norm; /* [d] */
} model_weights;

/* Activations of a layer saved for the backward pass. Where layers are recomputed, x, the
   routes and the price are a layer's own, and the rest is one set for all. On a device in bfloat16
   the arrays of rows that products multiply hold that, whatever their pointers say: * behind their
   shapes. */
typedef struct layer_activations {
  float *x;                     /* [T][d] the residual stream into the layer */
  float *normed, *inverse;      /* [T][d]*, [T] */
  float *qkv;                   /* [T][attention_row]* after norm and rotation */
  float *qk_raw;                /* [T][(heads + kv heads) n]* before; null without qk_norm */
  float *q_inverse, *k_inverse; /* [T][heads], [T][kv heads], or [T] */
  float *latent;                /* [T][c + r], MLA's, before norm and rotation */
  float *latent_normed, *latent_inverse; /* [T][c], [T] */
  float *q_latent, *q_latent_normed;     /* [T][cq] */
  float *q_latent_inverse;               /* [T] */
  float *attended;                       /* [T][heads v]* */
  float *largest, *inverse_sum;      /* [T][heads]; null on a device, which has in their place */
  float *attention_logsumexp;        /* [T][heads] */
  float *middle;                     /* [T][d] the residual stream after attention */
  float *ffn_normed, *ffn_inverse;   /* [T][d]*, [T] */
  float *logits, *gates, *logsumexp; /* [T][E], [T][k], [T] */
  float *gate_sum;                   /* [T] what gate_floor is the least of; null without */
  float *scaled_gates;               /* [T][k]: gates times factors; null without expert_factor */
  int32_t *experts;                  /* [T][k] */
  int64_t *offsets, *source, *row;   /* [E+1], [N], [N] */
  float *gathered, *expert_output;   /* [N][d]* */
  float *a, *b, *h;                  /* [N][f]*; [T][f]* if dense */
  /* gathered, a, b, h are null where ranks divide the experts: model_exchange.c has theirs. On a
     device h, gathered and expert_output are null. */
  float *shared_a, *shared_b, *shared_h; /* [T][f]* */
  float *shared_logit, *shared_output;   /* [T], [T][d]; null without shared_gate */
  /* With post_norm, [T][d] what a branch adds, before its norm; normed and ffn_normed are x and
     middle themselves then. */
  float *attention_output, *ffn_output;
  float *price; /* [1][E], or [batch][E] for sequence-wise balancing; valid if has_price */
  bool has_price;
  bool given; /* the selection of the last call */
} layer_activations;

/* Used by one layer after another; * as above. */
typedef struct model_scratch {
  float *rotation_cosine, *rotation_sine; /* [S][rotated numbers / 2] */
  float *projected;              /* [T][..] MLA: queries, or keys and values, of all heads */
  float *latent_gradient;        /* [T][c + r], or [T][cq] */
  float *latent_normed_gradient; /* [T][c] */
  uint8_t *mask;                 /* [T] */
  float *stream_gradient;        /* [T][d] of the residual stream */
  float *normed_gradient;        /* [T][d] */
  float *branch_gradient;        /* [T][d] of a branch's output before its norm; post_norm only */
  float *branch;                 /* [T][d]* a branch's output, or its input's gradient */
  float *router_input;           /* [T][d] in bfloat16 only: the FFN's input unrounded */
  float *narrow_gradient;        /* [T][d]* in bfloat16 only: stream_gradient rounded */
  float *qkv_gradient, *attended_gradient;   /* * */
  float *sink_gradient;                      /* [T][heads]; null without sinks */
  float *attention;                          /* attention_scratch for each thread */
  float *route_gradient, *gathered_gradient; /* [N][d]* */
  float *h_gradient;                         /* [N][f]* */
  float *logit_gradient, *gate_gradient;     /* [T][E], [T][k] */
  float *output, *output_inverse;            /* [T][d]*, [T] the normed output of the last layer */
  float *head_logits;                        /* * */
  double *row_loss;                          /* [T] */
  double *norm;
} model_scratch;

typedef struct model_exchange model_exchange;

/* Quantile balancing: what each token of the step so far would need to select each expert, of one
   MoE layer. Grows to the step's tokens in the first step. */
typedef struct model_required {
  float *bias; /* [E][room] (L7) */
  int64_t tokens, room;
} model_required;

struct model {
  model_config config;
  balance_config balance;
  model_precision precision; /* binary32 but on a device */
  bool on_device;            /* the arrays are those of a device's mirror, which keeps fewer */
  int32_t batch;             /* the most sequences of one call */
  int threads;
  int32_t moe_layers, tensor_count;
  int64_t parameter_count;
  model_tensor *tensors;
  arena state;       /* parameters, gradients, m, bias */
  arena activations; /* the rest */
  float *parameters, *gradients;
  model_weights weights, weight_gradients;
  layer_activations *layers; /* [L] */
  float *last;               /* [T][d] the residual stream out of the last layer */
  model_scratch scratch;
  /* Balancing: one for each MoE layer. */
  float *m, *bias;                  /* [moe layers][E] */
  phibal_loads *step_loads, *loads; /* of the step so far, and of the call */
  model_required *required;         /* quantile: of the step so far; null */
  int64_t steps;                    /* finished */
  const int32_t *starts;            /* of the documents in the call's sequences; null */
  const int32_t *tokens;            /* of the call */
  const uint16_t *routes;           /* given to calls that train; null: none */
  uint16_t *taken;                  /* those of the call that trains; null */
  uint16_t *hash;                   /* [hash layers][V][k]; null: none, or on a device */
  /* Of a call of model_continue, the positions whose rows it makes; rows 0 elsewhere: all. */
  int32_t first, rows;
  int32_t held;                           /* positions whose keys and values are there for it */
  model_batch global, step;               /* of the step: announced, and seen so far */
  const model_ranks *ranks;               /* null: alone */
  const model_expert_ranks *expert_ranks; /* null: this rank has every expert */
  model_exchange *exchange;
  const model_adapters *adapters; /* null: none */
  int64_t first_token;            /* of the call, for the adapters */
  bool adapting;                  /* in a call of forward_backward */
  int32_t reached;                /* by the call: a layer, or all of them */
  char origin[MODEL_ORIGIN];      /* of the first call whose losses were not finite */
  model_times times;
};

/* model_layout.c */
bool layer_is_dense(const model_config *config, balance_method method, int32_t layer);
/* Fills tensors (if not null) and returns their number; *total and *active count parameters. */
int32_t model_layout(const model_config *config, balance_method method, model_tensor *tensors,
                     int64_t *total, int64_t *active);
/* Leaves rank `rank` of `ranks` its own part of the experts; returns the parameters that it has. */
int64_t model_layout_divide(int32_t count, model_tensor *tensors, int32_t rank, int32_t ranks);
/* Points `weights` into an array laid out as the tensors. */
void model_bind(const model *m, float *base, model_weights *weights);
void model_initialise(model *m, uint64_t seed);

/* model_pass.c: the order in which a model's layers are computed, once for all who compute them:
   the host (model.c) and a device (moe/device/device.c), each with a table of functions of its own.
   What a branch of a layer does in which order is theirs: they keep other activations for the
   backward pass, and a device takes prices only when all layers have routed.
   `of`: the caller's, of the call at hand, which has `batch` sequences. A failure ends the pass. */
typedef struct model_pass {
  phibal_status (*embedding)(void *of, int32_t batch); /* to the input of the first layer */
  phibal_status (*attention)(void *of, int32_t layer, int32_t batch);
  /* `out`: the residual stream after the layer; moe_layer: how many layers with experts come before
     it. */
  phibal_status (*ffn)(void *of, int32_t layer, int32_t moe_layer, int32_t batch, float *out);
  phibal_status (*norm)(void *of, int32_t batch); /* of the last layer's output */
  /* Makes a layer's activations again, of which its input and its routes were kept. */
  phibal_status (*recompute)(void *of, int32_t layer, int32_t batch);
  /* From the gradient of a branch's output to that of its input, in the residual stream's. */
  phibal_status (*ffn_backward)(void *of, int32_t layer, int32_t batch);
  phibal_status (*attention_backward)(void *of, int32_t layer, int32_t batch);
  phibal_status (*embedding_backward)(void *of, int32_t batch);
} model_pass;

/* Up to the normed output of the last layer; m says what the layers are, and where they write. */
phibal_status model_pass_forward(const model_pass *pass, void *of, const model *m, int32_t batch);
/* From the residual stream's gradient after the last layer to those of all weights. */
phibal_status model_pass_backward(const model_pass *pass, void *of, const model *m, int32_t batch);

/* model_memory.c: allocates every array of the activations from `a`, or measures (m->layers may
   then be null). */
void model_allocate_activations(model *m, arena *a);

/* model_finite.c: what is first not finite after a forward pass of `batch` sequences on the host,
   as far as it came; "" where nothing is found. Messages are lost. */
void model_name_origin(const model *m, int32_t batch, char text[MODEL_ORIGIN]);

/* model_check.c: whether a call's tokens and targets are what they may be; the mask [n] of those
   that are not padding. */
phibal_status model_check_call(const model_config *config, int32_t batch, const int32_t *tokens,
                               const int32_t *targets, uint8_t *mask);
phibal_status model_check_begin(model_batch global);
phibal_status model_check_finish(model_batch global, model_batch step);

/* Rows of logits made at once. A block reads and writes the head's gradient once, 8 V d bytes: on a
   device 2048 rows are enough work for it beside that, and their logits small beside the weights.
 */
enum { HEAD_ROWS_ON_DEVICE = 2048 };
static inline int64_t model_head_block(const model *m, const head_shape *head) {
  if (!m->on_device) return head_block(head);
  return head->rows < HEAD_ROWS_ON_DEVICE ? head->rows : HEAD_ROWS_ON_DEVICE;
}

/* Rows that a call computes. */
static inline int64_t model_call_rows(const model *m, int32_t batch) {
  return (int64_t)batch * (m->rows ? m->rows : m->config.sequence);
}

/* model_attention.c, model.c: what follows from the configuration. */
attention_shape model_attention_shape(const model *m, int32_t batch);
/* Rotary dimensions of a head. */
int32_t model_rope_width(const model_config *config);
/* model_check.c */
phibal_router model_router(const model_config *config);
/* model_given.c: that of a layer's last selection. Where it was given neither groups nor
   probabilities take part; gates and gradients are the same. */
phibal_router model_layer_router(const model_config *config, const layer_activations *on);
/* Fills m->hash. */
void model_fill_hash(model *m);
/* The routes [batch][S][k] of a layer to where model_set_routes has them. */
void model_take_routes(const model *m, int32_t moe_layer, int32_t batch, const int32_t *experts,
                       uint16_t *taken);
/* Whether the call's selection in a layer is given; then it is in on->experts. */
bool model_give(const model *m, layer_activations *on, int32_t moe_layer, int64_t tokens,
                bool training);
/* model_check.c */
/* Of the experts, of those that are shared, or of a dense layer, by their number and width. */
static inline phibal_ffn model_ffn_shape(const model_config *c, int32_t experts, int32_t hidden) {
  return (phibal_ffn){experts, c->width, hidden, c->activation};
}
/* The scale of embeddings. */
float model_embedding_scale(const model_config *config);

/* model_latent.c: on->normed to on->qkv before the rotation, and scratch.qkv_gradient, turned back,
   to scratch.normed_gradient, in place of plain projections. */
void latent_forward(model *m, int32_t layer, int32_t batch);
void latent_backward(model *m, int32_t layer, int32_t batch);

/* model_attention.c: to [rows][n] += x [rows][n], or with x_stride 0 one row for all; called by one
   thread, or by all of a parallel region. */
void model_add_rows(int64_t rows, int64_t n, const float *x, int64_t x_stride, float *to);
/* gradient [n] += the sum of x [rows][n], in the order of the rows, in binary64; likewise. */
void model_add_columns(int64_t rows, int64_t n, const float *x, float *gradient);
/* model_attention.c, model_ffn.c: one branch of a layer on T tokens. Backward turns
   scratch.stream_gradient from that of the branch's output into that of its input. */
void attention_branch_forward(model *m, int32_t layer, int32_t batch);
void attention_branch_backward(model *m, int32_t layer, int32_t batch);
/* `out` is the residual stream after the layer; moe_layer is -1 for a dense one. */
phibal_status ffn_branch_forward(model *m, int32_t layer, int32_t moe_layer, int32_t batch,
                                 bool training, model_losses *losses, float *out);
/* Recomputes activations that were not saved for the backward pass. */
phibal_status ffn_branch_recompute(model *m, int32_t layer, int32_t batch);
phibal_status ffn_branch_backward(model *m, int32_t layer, int32_t batch);

/* model_balance.c: routes of one layer, with its loads and (training) its price and losses; and the
   gradient of the logits. */
phibal_status balance_create(model *m);
void balance_destroy(model *m);
phibal_status balance_route(model *m, int32_t layer, int32_t moe_layer, int32_t batch,
                            bool training, model_losses *losses);
phibal_status balance_route_backward(model *m, int32_t layer, int32_t batch);
phibal_status balance_finish(model *m);
/* (M6) What m is divided by before it is priced: 1 - (1 - eta)^t, t updates in, or 1. */
double balance_correction(const model *m);
/* Whether m follows frequencies: a bias acts on selections alone, so that of phi-bias does. */
bool balance_tracks_frequency(const balance_config *balance);
/* Whether the method has a loss, and with it a price in the gradient of the logits. */
bool balance_has_loss(const model *m);
/* Whether a layer is balanced: where hashes route, neither prices nor biases act. */
static inline bool balance_acts(const model_config *c, int32_t moe_layer) {
  return moe_layer >= c->hash_layers;
}
/* Where quantiles need the probabilities that experts are selected by (R2p): scratch.logit_gradient
   [T][E], which has them until the call is through with the layer. Else null. */
float *balance_probabilities(const model *m);

/* model_adapted.c: whether adapters come between the products of this call. */
bool model_is_adapted(const model *m);
/* What adapters add to y = x W^T of the call's tokens, and to the gradient of x;
   nothing without adapters, and in an evaluation. */
void adapted_forward(const model *m, const float *weight, int64_t rows, const float *x,
                     int64_t stride, float *y);
void adapted_backward(const model *m, const float *weight, int64_t rows, const float *x,
                      int64_t stride, const float *y_gradient, float *x_gradient);

/* A gated FFN of rows by expert, with adapters or without: arrays as phibal_ffn_forward and
   phibal_ffn_backward have them, `source` as phibal_gather (null: row i is of token i). The
   gradients may be null in the forward pass. */
typedef struct ffn_call {
  phibal_ffn shape;
  const int64_t *offsets, *source;
  const float *x, *gate, *up, *down;
  float *a, *b, *h;
  float *gate_gradient, *up_gradient, *down_gradient;
  const layer_weights *weights, *gradients; /* with biases; else null */
} ffn_call;

phibal_status adapted_ffn_forward(const model *m, const ffn_call *call, float *y);
phibal_status adapted_ffn_backward(const model *m, const ffn_call *call, const float *y_gradient,
                                   float *h_gradient, float *x_gradient);

/* model_clamped.c: the same of experts with biases and clamped projections (expert_limit), which no
   adapters reach. */
void clamped_ffn_forward(const model *m, const ffn_call *call, float *y);
void clamped_ffn_backward(const model *m, const ffn_call *call, const float *y_gradient,
                          float *h_gradient, float *x_gradient);

/* model_exchange.c: the experts' FFN where ranks divide them. offsets [E + 1], x, y [N][d] and
   their gradients are those of this rank's tokens. */
phibal_status exchange_create(model *m);
void exchange_destroy(model *m);
phibal_status exchange_forward(model *m, int32_t layer, const int64_t *offsets, const float *x,
                               float *y);
phibal_status exchange_backward(model *m, int32_t layer, const float *y_gradient,
                                float *x_gradient);
/* Broadcasts from rank 0 whether it evaluates. */
void exchange_call(const model *m, int64_t *evaluates);

double model_now(void); /* seconds */
/* Adds the time since *mark to *section and moves *mark. */
void model_clock(double *mark, double *section);

#endif
