/* Training where layers are recomputed, on the CPU and on the host's CUDA: ten steps have the bits
   of ten steps without, in losses, norms, loads, weights, moments, m and biases. Loads or losses
   that are counted again, another price, a layer that is not made again or in too little room: each
   shows. */
#include "moe/device/device_internal.h"
#include "trained_models.h"

#include <criterion/criterion.h>
#include <string.h>

enum { BATCH = 2, SEQUENCES = 5, LENGTH = 8, TOKENS = SEQUENCES * LENGTH, V = 37, STEPS = 10 };

static const model_config plain = {EXPERTS_MODEL, .layers = 4};

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

/* A null kind: the CPU. */
static void start(const char *kind, const model_config *config, const balance_config *balance,
                  model_precision precision, model_recompute recompute, training *t) {
  *t = (training){0};
  model_config c = *config;
  c.recompute = recompute;
  cr_assert_eq(model_create(&c, balance, BATCH, 3, &t->host), PHIBAL_OK, "%s",
               phibal_status_message());
  cr_assert_eq(optimizer_create(&adamw, model_tensor_count(t->host), model_tensors(t->host),
                                model_parameter_count(t->host), &t->optimizer),
               PHIBAL_OK);
  if (kind)
    cr_assert_eq(device_create(kind, t->host, NULL, &t->optimizer, precision,
                               (SEQUENCES + BATCH - 1) / BATCH, NULL, &t->device),
                 PHIBAL_OK, "%s", phibal_status_message());
}

static void call(training *t, int32_t n, const int32_t *from, const int32_t *to) {
  if (t->device) {
    cr_assert_eq(device_forward_backward(t->device, n, from, to), PHIBAL_OK, "%s",
                 phibal_status_message());
    return;
  }
  model_losses l;
  cr_assert_eq(model_forward_backward(t->host, n, from, to, &l), PHIBAL_OK, "%s",
               phibal_status_message());
  t->losses.cross_entropy += l.cross_entropy;
  t->losses.balance += l.balance;
  t->losses.z += l.z;
  t->losses.correct += l.correct;
  t->losses.targets += l.targets;
}

/* In calls of two sequences, and a last one of one. */
static void step(training *t, model_batch batch) {
  const double rate = 3e-3;
  t->losses = (model_losses){0};
  cr_assert_eq(t->device ? device_step_begin(t->device, batch) : model_step_begin(t->host, batch),
               PHIBAL_OK);
  for (int32_t i = 0; i < SEQUENCES; i += BATCH)
    call(t, SEQUENCES - i < BATCH ? SEQUENCES - i : BATCH, tokens + i * LENGTH,
         targets + i * LENGTH);
  if (t->device) {
    cr_assert_eq(device_step_finish(t->device, rate, &t->losses, &t->norm), PHIBAL_OK, "%s",
                 phibal_status_message());
    return;
  }
  cr_assert_eq(model_step_finish(t->host), PHIBAL_OK);
  cr_assert_eq(optimizer_norm(&t->optimizer, model_gradients(t->host), &t->norm), PHIBAL_OK);
  optimizer_update(&t->optimizer, rate, 1.0, model_gradients(t->host), t->host->parameters);
}

static void finish(training *t) {
  device_destroy(t->device);
  optimizer_destroy(&t->optimizer);
  model_destroy(t->host);
}

#define SAME(a, b, n, ...) cr_assert_eq(memcmp((a), (b), sizeof *(a) * (size_t)(n)), 0, __VA_ARGS__)

static void compare(const char *kind, const model_config *config, const balance_config *balance,
                    model_precision precision) {
  training a, b;
  start(kind, config, balance, precision, RECOMPUTE_NONE, &a);
  start(kind, config, balance, precision, RECOMPUTE_LAYERS, &b);
  const layer_activations *on = kind ? b.device->model.layers : b.host->layers;
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
  if (kind) {
    cr_assert_eq(device_fetch(a.device), PHIBAL_OK);
    cr_assert_eq(device_fetch(b.device), PHIBAL_OK);
  }
  SAME(a.host->parameters, b.host->parameters, n, "weights");
  SAME(a.optimizer.first, b.optimizer.first, n, "first moments");
  SAME(a.optimizer.second, b.optimizer.second, n, "second moments");
  SAME(a.host->m, b.host->m, layers * E, "m");
  SAME(a.host->bias, b.host->bias, layers * E, "biases");
  finish(&b);
  finish(&a);
}

/* Layers that are alike; a dense first one, smaller and larger than the experts' rows, with all
   that a layer may have besides. */
static void compare_models(const char *kind, model_precision precision) {
  compare(kind, &plain, &phi, precision);
  model_config mixed = plain;
  mixed.dense_layers = 1;
  mixed.dense_hidden = 7;
  mixed.shared_experts = 2;
  mixed.qk_norm = QK_NORM_HEADS;
  mixed.logit_softcap = 20.0f;
  mixed.untied_head = true;
  compare(kind, &mixed, &phi, precision);
  mixed.dense_layers = 2;
  mixed.dense_hidden = 90;
  compare(kind, &mixed, &phi, precision);
}

static const balance_config others[] = {{.method = BALANCE_SWITCH, .alpha = 0.01},
                                        {.method = BALANCE_LOSS_FREE, .bias_rate = 1e-3f},
                                        {.method = BALANCE_NONE},
                                        {.method = BALANCE_SWITCH_GLOBAL, .alpha = 0.01},
                                        {.method = BALANCE_SEQUENCE, .alpha = 0.01}};

static void compare_balancing(const char *kind, size_t count) {
  for (size_t i = 0; i < count; i++) compare(kind, &plain, &others[i], PRECISION_BINARY32);
  model_config dense = plain;
  dense.dense_hidden = 20;
  compare(kind, &dense, &(balance_config){.method = BALANCE_DENSE}, PRECISION_BINARY32);
}

Test(recompute, on_the_host) {
  compare_models(NULL, PRECISION_BINARY32);
  compare_balancing(NULL, sizeof others / sizeof *others);
  model_config latent = plain;
  latent.key_value_heads = latent.heads;
  latent.latent_width = 5;
  latent.query_latent_width = 7;
  latent.rope_width = 2;
  latent.value_width = 3;
  latent.latent_norm_epsilon = 1e-6f;
  compare(NULL, &latent, &phi, PRECISION_BINARY32);
}

Test(recompute, experts_divided_over_ranks_are_refused) {
  model_config c = plain;
  c.recompute = RECOMPUTE_LAYERS;
  const model_expert_ranks ranks = {.rank = 0, .ranks = c.experts};
  model *m;
  cr_expect_eq(model_create_part(&c, &phi, BATCH, 3, &ranks, &m), PHIBAL_ERROR_UNSUPPORTED);
  cr_expect(strstr(phibal_status_message(), "training.recompute"), "%s", phibal_status_message());
}

#ifdef HAVE_CUDA_ON_HOST
Test(recompute, on_a_device) {
  compare_models("host-cuda", PRECISION_BINARY32);
  compare_models("host-cuda", PRECISION_BFLOAT16);
}

Test(recompute, on_a_device_with_other_balancing) {
  compare_balancing("host-cuda", sizeof others / sizeof *others);
}
#endif
