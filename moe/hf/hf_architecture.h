/* What an architecture is, and the tensors that a checkpoint of it has: the part of hf that needs
   no JSON. */
#ifndef PHIBAL_MOE_HF_ARCHITECTURE_H
#define PHIBAL_MOE_HF_ARCHITECTURE_H

#include "moe/model/model.h"

/* How an architecture differs from the others, where options of the model alone do not say it. */
typedef enum hf_normalisation {
  HF_NORMALISED,     /* gates are always divided by their sum */
  HF_BY_KEY,         /* norm_topk_prob says */
  HF_NOT_NORMALISED, /* norm_topk_prob has to be false */
} hf_normalisation;

typedef struct hf_architecture {
  const char *model_type, *class_name;
  unsigned flag;
  bool sigmoid; /* scores; then gates are normalised and scaled, and there is a selection bias */
  /* Softmax probabilities, to which a selection bias is added, and gates over max(sum,
     moe_norm_min). */
  bool by_probability;
  hf_normalisation normalisation;
  /* Of sigmoid routers, added to the sum of the gates; 0: none, and gates are always normalised. */
  float epsilon;
  qk_norm_kind qk_norm;
  bool latent;      /* MLA */
  bool interleaved; /* rotary pairs, unless a key says otherwise */
  bool post_norm;   /* OLMo 2's place of the norms */
  bool shared_gate;
  bool transposed; /* experts are in the files as gpt-oss has them (hf_parts.c), and only so */
  bool own_code;   /* its class comes with its checkpoints; transformers does not write them */
  /* Below "model.layers.N.": the router's matrix, its selection bias, an expert's three, and the
     shared experts. */
  const char *router, *bias, *expert, *gate, *up, *down, *shared;
} hf_architecture;

/* Where a matrix or vector lies in a tensor that may hold more: element (i, j) is number
   first + i row + j column. */
typedef struct hf_place {
  char name[96]; /* of the tensor; empty: nowhere */
  int32_t dimensions;
  int64_t shape[3]; /* of the tensor */
  int64_t first, row, column;
} hf_place;

/* hf_parts.c: a tensor of a checkpoint, and where its numbers are in a model. */
typedef struct hf_part {
  char name[96];
  int32_t dimensions;
  int64_t shape[2];
  float *data; /* null: an expert of another rank */
  bool wide;   /* always F32 */
  /* Where it may be instead: as transformers 5 holds it in memory, and writes it with
     save_original_format=False, the experts of a layer in one tensor. */
  hf_place other;
  bool elsewhere; /* it is only there */
} hf_part;

/* The list, to be freed; null when out of memory. */
hf_part *hf_parts_make(const hf_architecture *architecture, const model_config *config, model *m,
                       int64_t *count);

#endif
