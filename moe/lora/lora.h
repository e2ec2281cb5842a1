/* Low-rank adapters (LoRA; Hu et al., arXiv:2106.09685): a matrix W [m][n] that is not trained
   itself becomes W + s B A with A [r][n] and B [m][r], s = alpha / r, and only A and B are trained.

   The model computes with the sum, formed anew after each step from the W that was read. So every
   matrix can have an adapter, experts and the router included, and the gradients are exact:
   dA = s B^T dW, dB = s dW A^T. Gradients of W are formed in full; adapters save AdamW's moments
   and give small files.

   With dropout the adapter reads D x, where each number of x is 0 with probability p and else
   divided by 1 - p: y = W x + s B A D x. What training adds to the product with the sum is
   s B A (D - 1) x (lora_dropout.c). D is drawn by counter, from the seed, the matrix, the token's
   number in the run and the column: it does not depend on threads, ranks or micro-batches, and an
   expert's matrices have it for each of its tokens. Evaluations have no dropout. */
#ifndef PHIBAL_MOE_LORA_H
#define PHIBAL_MOE_LORA_H

#include "moe/hf/hf.h"
#include "moe/model/optimizer.h"

typedef struct lora_config {
  int32_t rank; /* 0: no adapters */
  double alpha;
  const char *targets; /* names of matrices, with commas between; see lora_create */
  double dropout;      /* p, in [0, 1): see lora_dropout_create */
} lora_config;

typedef struct lora_matrix {
  float *weight;         /* [rows][columns] in the model's parameters */
  const float *gradient; /* likewise */
  int64_t rows, columns;
  int64_t base; /* where in lora.base W begins */
  int64_t a, b; /* where in lora.parameters A and B do */
} lora_matrix;

/* All zeros is none. */
typedef struct lora {
  int32_t rank;
  float scale;
  int32_t count;
  lora_matrix *matrices;
  model_tensor *tensors; /* [2 count]: A and B of each, "model....q_proj.lora_A.weight" */
  int64_t parameter_count;
  float *parameters, *gradients;
  float *base;    /* W of all matrices */
  double dropout; /* 0: none, and what follows is not there */
  uint64_t seed;
  float *changed, *gathered, *narrow; /* of a product's rows */
  model_adapters adapters;
} lora;

/* Adapters for a model that has the weights they are added to; `architecture` names its matrices.
   A target is the last word of a matrix's name without ".weight" (q_proj, gate_proj, gate, w1), or
   more words of its end; each has to fit one matrix at least (PHIBAL_ERROR_ARGUMENT names it), but
   for q_proj, k_proj and v_proj with latent attention. gate_proj, up_proj and down_proj are an
   expert's matrices whatever the architecture calls them.
   A is drawn with PEFT's variance, 1 / (3 n), B is 0: the model does not change. */
phibal_status lora_create(const lora_config *config, const hf_architecture *architecture,
                          const model_config *model_options, model *m, uint64_t seed, lora *l);
void lora_destroy(lora *l);
/* What the adapters of such a model hold, without it: the numbers of all W, and of all A and B.
   Every matrix counts where a target is none of the names that phibal itself has, an expert's
   number or an architecture's own name: then it is at most that. False when out of memory. */
bool lora_size(const lora_config *config, const model_config *model_options, balance_method method,
               double *base, double *factors);

/* Dropout for these adapters: model_set_adapters takes l->adapters, and as first_token the number
   of sequences read before the call's times S. `rows`: the most tokens of a call. The lora must not
   move afterwards. */
phibal_status lora_dropout_create(lora *l, double dropout, uint64_t seed, int64_t rows);
/* Bytes that it takes, at most: no matrix of the model has a longer side than the widest. */
int64_t lora_dropout_bytes(const model_config *model_options, int32_t rank, int64_t rows);
/* Whether the adapter of matrix `matrix` reads column `column` of a token. */
bool lora_keeps(const lora *l, int32_t matrix, int64_t token, int64_t column);
/* Before the first call of a step. */
void lora_step_begin(lora *l);

/* The model's gradients to those of the adapters; with dropout, they are added to what the calls
   have left in l->gradients, which several ranks have to have added up. */
void lora_gradients(lora *l);
/* Adds the adapters to the model's weights. The same bits for any number of threads. */
void lora_apply(const lora *l);

/* Adapters in the layout of PEFT: adapter_config.json and adapter_model.safetensors, with the names
   that modules have in a checkpoint (experts one by one; read also as PEFT saves fused ones).

   Writes those of a checkpoint's training.safetensors into a folder, which must not be there or be
   empty, in such a way that PEFT loads all of them where transformers 5 has the experts fused;
   `base` is the model they belong to, `model_options` its options. */
phibal_status lora_save(const char *folder, const lora_config *config,
                        const model_config *model_options, const char *base,
                        const safetensors_file *training);
/* Adds adapters to the weights of a model; with use_dora, row i of W + s B A becomes
   magnitude_i of its own length. PHIBAL_ERROR_UNSUPPORTED: variants, that is every key of
   adapter_config.json that is neither read nor known to change nothing (modules saved whole, PiSSA,
   aLoRA), DoRA of experts and of the embedding, and a module that it leaves out;
   PHIBAL_ERROR_FORMAT names a tensor without its partner, or that fits no matrix;
   PHIBAL_ERROR_NONFINITE a row of DoRA that is 0. */
phibal_status lora_merge(const char *folder, const hf_architecture *architecture,
                         const model_config *model_options, model *m);

#endif
