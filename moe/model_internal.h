/* What the files of the model share. Shapes: T tokens of a call (batch times S), d the width, f a
   hidden width, E experts, k active, N = T k routes at most. */
#ifndef PHIBAL_MOE_MODEL_INTERNAL_H
#define PHIBAL_MOE_MODEL_INTERNAL_H

#include "arena.h"
#include "attention.h"
#include "head.h"
#include "model.h"

/* One layer's part of an array laid out as the tensors: parameters or gradients. Null where the
   layer has no such tensor. */
typedef struct layer_weights {
  float *attention_norm;   /* [d] */
  float *qkv;              /* [(heads + 2 kv heads) n][d]: q, k, v in a row */
  float *q_norm, *k_norm;  /* [n] */
  float *o;                /* [d][heads n] */
  float *ffn_norm;         /* [d] */
  float *router;           /* [E][d]; null: a dense layer */
  float *gate, *up, *down; /* [E][f][d], [E][f][d], [E][d][f]; E = 1 if dense */
  float *shared_gate, *shared_up, *shared_down; /* [f][d], [f][d], [d][f] */
} layer_weights;

typedef struct model_weights {
  float *embedding; /* [V][d] */
  layer_weights *layers;
  float *norm; /* [d] */
} model_weights;

/* What the forward pass of a layer keeps for the backward pass. */
typedef struct layer_activations {
  float *x;                          /* [T][d] the residual stream into the layer */
  float *normed, *inverse;           /* [T][d], [T] */
  float *qkv;                        /* [T][(heads + 2 kv heads) n] after norm and rotation */
  float *qk_raw;                     /* [T][(heads + kv heads) n] before; null without qk_norm */
  float *q_inverse, *k_inverse;      /* [T][heads], [T][kv heads] */
  float *attended;                   /* [T][heads n] */
  float *largest, *inverse_sum;      /* [T][heads] */
  float *middle;                     /* [T][d] the residual stream after attention */
  float *ffn_normed, *ffn_inverse;   /* [T][d], [T] */
  float *logits, *gates, *logsumexp; /* [T][E], [T][k], [T] */
  int32_t *experts;                  /* [T][k] */
  int64_t *offsets, *source, *row;   /* [E+1], [N], [N] */
  float *gathered, *expert_output;   /* [N][d] */
  float *a, *b, *h;                  /* [N][f]; [T][f] if dense */
  float *shared_a, *shared_b, *shared_h; /* [T][f] */
  float *price; /* [1][E], or [batch][E] for sequence-wise balancing; valid if has_price */
  bool has_price;
} layer_activations;

/* Used by one layer after another. */
typedef struct model_scratch {
  float *rotation_cosine, *rotation_sine; /* [S][n/2] */
  uint8_t *mask;                          /* [T] */
  float *stream_gradient;                 /* [T][d] of the residual stream */
  float *normed_gradient;                 /* [T][d] */
  float *branch;                          /* [T][d] a branch's output, or its input's gradient */
  float *qkv_gradient, *attended_gradient;
  float *attention;                          /* attention_scratch for each thread */
  float *route_gradient, *gathered_gradient; /* [N][d] */
  float *h_gradient;                         /* [N][f] */
  float *logit_gradient, *gate_gradient;     /* [T][E], [T][k] */
  float *output, *output_inverse;            /* [T][d], [T] the normed output of the last layer */
  float *head_logits;
  double *row_loss; /* [T] */
  double *norm;
} model_scratch;

struct model {
  model_config config;
  balance_config balance;
  int32_t batch; /* the most sequences of one call */
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
  int64_t steps;                    /* finished */
  int64_t global_targets, step_targets;
  const model_ranks *ranks; /* null: alone */
  model_times times;
};

/* model_layout.c */
bool layer_is_dense(const model_config *config, balance_method method, int32_t layer);
/* Fills tensors (if not null) and returns their number; *total and *active count parameters. */
int32_t model_layout(const model_config *config, balance_method method, model_tensor *tensors,
                     int64_t *total, int64_t *active);
/* Points `weights` into an array laid out as the tensors. */
void model_bind(const model *m, float *base, model_weights *weights);
void model_initialise(model *m, uint64_t seed);

/* model_memory.c: cuts every array of the activations out of `a`, or measures (m->layers may then
   be null). */
void model_cut(model *m, arena *a);

/* model_attention.c, model_ffn.c: one branch of a layer on T tokens. Backward turns
   scratch.stream_gradient from that of the branch's output into that of its input. */
void attention_branch_forward(model *m, int32_t layer, int32_t batch);
void attention_branch_backward(model *m, int32_t layer, int32_t batch);
/* `out` is the residual stream after the layer; moe_layer is -1 for a dense one. */
phibal_status ffn_branch_forward(model *m, int32_t layer, int32_t moe_layer, int32_t batch,
                                 bool training, model_losses *losses, float *out);
phibal_status ffn_branch_backward(model *m, int32_t layer, int32_t batch);

/* model_balance.c: routes of one layer, with its loads and (training) its price and losses; and the
   gradient of the logits. */
phibal_status balance_create(model *m);
void balance_destroy(model *m);
phibal_status balance_route(model *m, int32_t layer, int32_t moe_layer, int32_t batch,
                            bool training, model_losses *losses);
phibal_status balance_route_backward(model *m, int32_t layer, int32_t batch);
phibal_status balance_finish(model *m);

double model_now(void); /* seconds */
/* Adds the time since *mark to *section and moves *mark. */
void model_clock(double *mark, double *section);

#endif
