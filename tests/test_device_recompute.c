/* Training on a device where layers are recomputed, on the host's CUDA: ten steps have the bits of
   ten steps without, in losses, norms, loads, weights, moments, m and biases. Loads or losses that
   are counted again, another price, a layer that is not made again or in too little room: each
   shows. */
#include "device_internal.h"

#include <criterion/criterion.h>
#include <string.h>

enum { BATCH = 2, SEQUENCES = 5, LENGTH = 8, TOKENS = SEQUENCES * LENGTH, V = 37, STEPS = 10 };

static const model_config plain = {.vocabulary = V,
                                   .width = 12,
                                   .layers = 4,
                                   .heads = 2,
                                   .key_value_heads = 1,
                                   .head_width = 6,
                                   .sequence = LENGTH,
                                   .experts = 5,
                                   .active = 2,
                                   .hidden = 10,
                                   .gate = PHIBAL_GATE_TOPK_SOFTMAX,
                                   .route_scale = 1.0f,
                                   .rope_theta = 1e4f,
                                   .norm_epsilon = 1e-6f};
static const optimizer_config adamw = {
    .weight_decay = 0.1, .beta1 = 0.9, .beta2 = 0.95, .epsilon = 1e-8, .clip = 0.5};

static int32_t tokens[TOKENS], targets[TOKENS];

/* Other ones each step, some without a target, and padding at the end of the fourth sequence. */
static model_batch make_batch(int step) {
  for (int i = 0; i < TOKENS; i++) {
    tokens[i] = (i * i + 5 * step + i / LENGTH) % V;
    targets[i] = i % 11 == 5 ? -1 : ((i + 1) * (i + 1) + 5 * step + i / LENGTH) % V;
    if (i / LENGTH == 3 && i % LENGTH >= LENGTH - 3) tokens[i] = targets[i] = -1;
  }
  return model_batch_count(TOKENS, tokens, targets);
}

typedef struct training {
  model *host;
  optimizer optimizer;
  device *device;
  model_losses losses;
  double norm;
} training;

static void start(const model_config *config, const balance_config *balance,
                  model_precision precision, model_recompute recompute, training *t) {
  *t = (training){0};
  cr_assert_eq(model_create(config, balance, BATCH, 3, &t->host), PHIBAL_OK, "%s",
               phibal_status_message());
  cr_assert_eq(optimizer_create(&adamw, model_tensor_count(t->host), model_tensors(t->host),
                                model_parameter_count(t->host), &t->optimizer),
               PHIBAL_OK);
  cr_assert_eq(device_create("host-cuda", t->host, &t->optimizer, precision, recompute,
                             (SEQUENCES + BATCH - 1) / BATCH, NULL, &t->device),
               PHIBAL_OK, "%s", phibal_status_message());
}

/* In calls of two sequences, and a last one of one. */
static void step(training *t, model_batch batch) {
  cr_assert_eq(device_step_begin(t->device, batch), PHIBAL_OK);
  for (int32_t i = 0; i < SEQUENCES; i += BATCH) {
    const int32_t n = SEQUENCES - i < BATCH ? SEQUENCES - i : BATCH;
    cr_assert_eq(device_forward_backward(t->device, n, tokens + i * LENGTH, targets + i * LENGTH),
                 PHIBAL_OK, "%s", phibal_status_message());
  }
  cr_assert_eq(device_step_finish(t->device, 3e-3, &t->losses, &t->norm), PHIBAL_OK, "%s",
               phibal_status_message());
}

static void finish(training *t) {
  device_destroy(t->device);
  optimizer_destroy(&t->optimizer);
  model_destroy(t->host);
}

#define SAME(a, b, n, ...) cr_assert_eq(memcmp((a), (b), sizeof *(a) * (size_t)(n)), 0, __VA_ARGS__)

static void compare(const model_config *config, const balance_config *balance,
                    model_precision precision) {
  training a, b;
  start(config, balance, precision, RECOMPUTE_NONE, &a);
  start(config, balance, precision, RECOMPUTE_LAYERS, &b);
  const layer_activations *on = b.device->model.layers;
  for (int32_t l = 1; l < config->layers; l++)
    cr_assert(on[l].qkv == on[0].qkv && on[l].x != on[0].x, "layer %d keeps what it has", l);
  const int64_t n = model_parameter_count(a.host);
  const int64_t E = config->experts, layers = model_moe_layers(a.host);
  for (int i = 0; i < STEPS; i++) {
    const model_batch batch = make_batch(i);
    step(&a, batch);
    step(&b, batch);
    cr_assert(a.losses.cross_entropy == b.losses.cross_entropy &&
                  a.losses.balance == b.losses.balance && a.losses.z == b.losses.z &&
                  a.losses.correct == b.losses.correct && a.losses.targets == b.losses.targets &&
                  a.norm == b.norm,
              "step %d: losses or norm", i);
    for (int32_t l = 0; l < layers; l++) {
      const phibal_loads *one = model_step_loads(a.host, l), *other = model_step_loads(b.host, l);
      cr_assert_eq(one->tokens, other->tokens, "step %d, layer %d", i, l);
      SAME(one->count, other->count, E, "step %d, layer %d: loads", i, l);
      SAME(one->probability, other->probability, E * PHIBAL_LOAD_LIMBS, "step %d, layer %d", i, l);
    }
  }
  cr_assert_eq(device_fetch(a.device), PHIBAL_OK);
  cr_assert_eq(device_fetch(b.device), PHIBAL_OK);
  SAME(a.host->parameters, b.host->parameters, n, "weights");
  SAME(a.optimizer.first, b.optimizer.first, n, "first moments");
  SAME(a.optimizer.second, b.optimizer.second, n, "second moments");
  SAME(a.host->m, b.host->m, layers * E, "m");
  SAME(a.host->bias, b.host->bias, layers * E, "biases");
  finish(&b);
  finish(&a);
}

static const balance_config phi = {.method = BALANCE_PHI,
                                   .potential = {PHIBAL_POTENTIAL_NEGENTROPY, 0},
                                   .eta = 0.6f,
                                   .alpha = 0.01,
                                   .z_coefficient = 1e-3};

/* Layers that are alike; a dense first one, smaller and larger than the experts' rows, with all
   that a layer may have besides. */
Test(device_recompute, has_the_bits_of_training_without) {
  for (int half = 0; half < 2; half++) {
    const model_precision precision = half ? PRECISION_BFLOAT16 : PRECISION_BINARY32;
    compare(&plain, &phi, precision);
    model_config mixed = plain;
    mixed.dense_layers = 1;
    mixed.dense_hidden = 7;
    mixed.shared_experts = 2;
    mixed.qk_norm = QK_NORM_HEADS;
    mixed.logit_softcap = 20.0f;
    mixed.untied_head = true;
    compare(&mixed, &phi, precision);
    mixed.dense_layers = 2;
    mixed.dense_hidden = 90;
    compare(&mixed, &phi, precision);
  }
}

Test(device_recompute, with_other_balancing) {
  const balance_config others[] = {{.method = BALANCE_SWITCH, .alpha = 0.01},
                                   {.method = BALANCE_LOSS_FREE, .bias_rate = 1e-3f},
                                   {.method = BALANCE_NONE}};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    compare(&plain, &others[i], PRECISION_BINARY32);
  model_config dense = plain;
  dense.dense_hidden = 20;
  compare(&dense, &(balance_config){.method = BALANCE_DENSE}, PRECISION_BFLOAT16);
}
