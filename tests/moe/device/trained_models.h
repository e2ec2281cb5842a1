/* The models that tests of a device train, as initialisers, and what they read. */
#ifndef PHIBAL_TESTS_TRAINED_MODELS_H
#define PHIBAL_TESTS_TRAINED_MODELS_H

#include "moe/model/model.h"
#include "moe/model/optimizer.h"

/* Experts alone, to which members are added. */
#define EXPERTS_MODEL                                                                              \
  .vocabulary = 37, .width = 12, .heads = 2, .key_value_heads = 1, .head_width = 6, .sequence = 8, \
  .experts = 5, .active = 2, .hidden = 10, .gate = PHIBAL_GATE_TOPK_SOFTMAX, .route_scale = 1.0f,  \
  .rope_theta = 1e4f, .norm_epsilon = 1e-6f

/* A dense layer first, shared experts, and what attention and the head may have. */
#define MIXED_MODEL                                                                                \
  .vocabulary = 61, .width = 24, .heads = 4, .key_value_heads = 2, .head_width = 8,                \
  .sequence = 16, .experts = 5, .active = 2, .shared_experts = 1, .dense_layers = 1,               \
  .dense_hidden = 20, .gate = PHIBAL_GATE_TOPK_SOFTMAX, .route_scale = 1.0f, .rope_theta = 1e4f,   \
  .norm_epsilon = 1e-6f, .logit_softcap = 20.0f, .qk_norm = QK_NORM_HEADS,                         \
  .embedding_scale = true, .untied_head = true

static const balance_config phi = {.method = BALANCE_PHI,
                                   .potential = {PHIBAL_POTENTIAL_NEGENTROPY, 0},
                                   .eta = 0.6f,
                                   .alpha = 0.01,
                                   .z_coefficient = 1e-3};
static const optimizer_config adamw = {
    .weight_decay = 0.1, .beta1 = 0.9, .beta2 = 0.95, .epsilon = 1e-8, .clip = 0.5};

#endif
