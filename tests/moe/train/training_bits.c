/* Small training runs, one for each method of balancing and for each part of the model that
   computes differently, made of the kernels, the model and the optimizer alone. Prints a line for
   each: its name and the SHA-256 of what it has computed, which are the digest of the model, the
   adapters, the losses, the norm of the gradient and the metrics of every step, and an evaluation.
   training_bits.sh compiles it for several processors in several ways: the lines must be the same.

   usage: training_bits [NAME]    the run of this name alone; - for no run */
#include "formats/sha256.h"
#include "moe/config/schedule.h"
#include "moe/hf/hf_architecture.h"
#include "moe/lora/lora.h"
#include "moe/machine/random.h"
#include <phibal/isa.h>
#include <phibal/metrics.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VOCABULARY = 61, LENGTH = 20, SEQUENCES = 4, MICRO = 2, STEPS = 6, SEED = 2026 };

static const model_config plain = {.vocabulary = VOCABULARY,
                                   .width = 24,
                                   .layers = 3,
                                   .heads = 4,
                                   .key_value_heads = 2,
                                   .head_width = 6,
                                   .sequence = LENGTH,
                                   .experts = 6,
                                   .active = 2,
                                   .hidden = 20,
                                   .shared_experts = 1,
                                   .dense_layers = 1,
                                   .dense_hidden = 28,
                                   .activation = PHIBAL_ACTIVATION_GELU,
                                   .gate = PHIBAL_GATE_TOPK_SOFTMAX,
                                   .route_scale = 1.0f,
                                   .rope_theta = 1e4f,
                                   .norm_epsilon = 1e-6f,
                                   .logit_softcap = 20.0f,
                                   .qk_norm = QK_NORM_HEADS,
                                   .embedding_scale = true};
static const balance_config phi = {.method = BALANCE_PHI,
                                   .potential = {PHIBAL_POTENTIAL_NEGENTROPY, 0},
                                   .eta = 0.6f,
                                   .alpha = 0.05,
                                   .z_coefficient = 1e-3,
                                   .bias_rate = 1e-2f,
                                   .bias_scale = 0.5,
                                   .quantile_eta = 0.75f};
static const optimizer_config adamw = {.peak_lr = 1e-2,
                                       .final_lr = 0.1,
                                       .warmup = 0.3,
                                       .weight_decay = 0.1,
                                       .beta1 = 0.9,
                                       .beta2 = 0.95,
                                       .epsilon = 1e-8,
                                       .clip = 1.0};
/* The names that most architectures have. */
static const hf_architecture named = {.model_type = "bits",
                                      .class_name = "Bits",
                                      .router = "mlp.gate.weight",
                                      .expert = "mlp.experts",
                                      .gate = "gate_proj",
                                      .up = "up_proj",
                                      .down = "down_proj",
                                      .shared = "mlp.shared_experts"};

typedef struct run {
  const char *name;
  model_config model;
  balance_config balance;
  bool adapters;
  double dropout;
} run;

static void check(phibal_status status, const char *name) {
  if (!status) return;
  fprintf(stderr, "training_bits: %s: %s\n", name, phibal_status_message());
  exit(1);
}

/* Bytes from the lowest up. */
static void add_integer(sha256 *h, uint64_t x) {
  uint8_t bytes[8];
  for (int i = 0; i < 8; i++) bytes[i] = (uint8_t)(x >> (8 * i));
  sha256_add(h, bytes, sizeof bytes);
}

static void add_number(sha256 *h, double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  add_integer(h, bits);
}

/* Each sequence a walk that half of the time repeats what followed the token before, so that there
   is something to learn; a target left out here and there, and every third sequence padded. */
static void draw_batch(int64_t first, int32_t *tokens, int32_t *targets) {
  for (int64_t s = 0; s < SEQUENCES; s++) {
    int32_t at = 0;
    for (int64_t i = 0; i <= LENGTH; i++) {
      const uint64_t bits = random_bits(SEED, (uint64_t)(first + s), (uint64_t)i);
      at = bits & 1 ? (at * 7 + 3) % VOCABULARY : (int32_t)((bits >> 8) % VOCABULARY);
      if (i < LENGTH) tokens[s * LENGTH + i] = at;
      if (i) targets[s * LENGTH + i - 1] = bits >> 60 ? at : -1;
    }
    for (int64_t i = LENGTH - 2; s % 3 == 2 && i < LENGTH; i++)
      tokens[s * LENGTH + i] = targets[s * LENGTH + i] = -1;
  }
}

static void add_losses(sha256 *h, const model_losses *losses) {
  add_number(h, losses->cross_entropy);
  add_number(h, losses->balance);
  add_number(h, losses->z);
  add_integer(h, (uint64_t)losses->correct);
  add_integer(h, (uint64_t)losses->targets);
}

/* MaxVio, Gini and entropy of the step's loads. */
static void add_metrics(sha256 *h, const model *m, const char *name) {
  for (int32_t layer = 0; layer < model_moe_layers(m); layer++) {
    const phibal_loads *loads = model_step_loads(m, layer);
    float mean[PHIBAL_MAX_EXPERTS];
    double wide[PHIBAL_MAX_EXPERTS], metric[3];
    check(phibal_loads_mean(loads, mean), name);
    for (int32_t e = 0; e < loads->experts; e++) wide[e] = (double)mean[e];
    check(phibal_maxvio_mean(loads->experts, mean, &metric[0]), name);
    check(phibal_gini(loads->experts, wide, &metric[1]), name);
    check(phibal_entropy(loads->experts, wide, &metric[2]), name);
    for (int i = 0; i < 3; i++) add_number(h, metric[i]);
  }
}

static void train(const run *r) {
  int32_t tokens[SEQUENCES * LENGTH], targets[SEQUENCES * LENGTH];
  model *m;
  optimizer o;
  lora l = {0};
  sha256 h;
  char digest[SHA256_TEXT];
  sha256_begin(&h);
  check(model_config_check(&r->model), r->name);
  check(model_create(&r->model, &r->balance, MICRO, SEED, &m), r->name);
  if (r->adapters) {
    const lora_config config = {3, 6.0, "q_proj,gate_proj,down_proj,gate", r->dropout};
    check(lora_create(&config, &named, &r->model, m, SEED, &l), r->name);
    if (r->dropout > 0) check(lora_dropout_create(&l, r->dropout, SEED, MICRO * LENGTH), r->name);
    check(optimizer_create(&adamw, 2 * l.count, l.tensors, l.parameter_count, &o), r->name);
  } else {
    check(optimizer_create(&adamw, model_tensor_count(m), model_tensors(m),
                           model_parameter_count(m), &o),
          r->name);
  }
  float *parameters = r->adapters ? l.parameters : model_parameters(m);
  float *gradients = r->adapters ? l.gradients : model_gradients(m);
  for (int64_t step = 0; step < STEPS; step++) {
    draw_batch(step * SEQUENCES, tokens, targets);
    check(model_step_begin(m, model_batch_count(SEQUENCES * LENGTH, tokens, targets)), r->name);
    lora_step_begin(&l);
    for (int64_t s = 0; s < SEQUENCES; s += MICRO) {
      model_losses losses;
      model_set_adapters(m, r->dropout > 0 ? &l.adapters : NULL, (step * SEQUENCES + s) * LENGTH);
      check(model_forward_backward(m, MICRO, tokens + s * LENGTH, targets + s * LENGTH, &losses),
            r->name);
      add_losses(&h, &losses);
    }
    check(model_step_finish(m), r->name);
    if (r->adapters) lora_gradients(&l);
    double norm;
    check(optimizer_norm(&o, gradients, &norm), r->name);
    add_number(&h, norm);
    optimizer_update(&o, learning_rate(&adamw, step, STEPS), clip_scale(adamw.clip, norm),
                     gradients, parameters);
    if (r->adapters) lora_apply(&l);
    add_metrics(&h, m, r->name);
  }
  model_losses losses;
  model_set_adapters(m, NULL, 0);
  check(model_evaluate(m, MICRO, tokens, targets, &losses, NULL), r->name);
  add_losses(&h, &losses);
  for (int64_t i = 0; i < l.parameter_count; i++) add_number(&h, (double)l.parameters[i]);
  check(model_digest(m, NULL, digest), r->name);
  sha256_add(&h, digest, strlen(digest));
  sha256_end(&h, digest);
  printf("%-28s %s\n", r->name, digest);
  optimizer_destroy(&o);
  lora_destroy(&l);
  model_destroy(m);
}

static const char *only; /* the one run that is wanted; null: all */

static void train_if(const run *r) {
  if (!only || !strcmp(only, r->name)) train(r);
}

static void train_potentials(void) {
  for (int id = 0; id < PHIBAL_POTENTIAL_COUNT; id++) {
    const phibal_potential_info *info = phibal_potential_describe((phibal_potential_id)id);
    char name[64];
    run r = {name, plain, phi, false, 0};
    r.balance.potential = (phibal_potential){(phibal_potential_id)id, info->fallback};
    snprintf(name, sizeof name, "phi, %s", info->name);
    train_if(&r);
  }
}

static void train_methods(void) {
  static const char *const names[] = {"phi",      "switch",    "switch-global",
                                      "sequence", "loss-free", "phi-bias",
                                      "quantile", "none",      "dense"};
  for (int method = BALANCE_SWITCH; method <= BALANCE_DENSE; method++) {
    run r = {names[method], plain, phi, false, 0};
    r.balance.method = (balance_method)method;
    train_if(&r);
  }
  run r = {"phi, frequency, corrected", plain, phi, false, 0};
  r.balance.track = TRACK_FREQUENCY;
  r.balance.start = START_ZERO_CORRECTED;
  train_if(&r);
  r = (run){"quantile, sigmoid, bins", plain, phi, false, 0};
  r.balance.method = BALANCE_QUANTILE;
  r.balance.quantile_bins = 50;
  r.balance.z_coefficient = 0;
  r.model.gate = PHIBAL_GATE_SIGMOID;
  train_if(&r);
}

static void train_models(void) {
  run r = {"recomputed layers", plain, phi, false, 0};
  r.model.recompute = RECOMPUTE_LAYERS;
  train_if(&r);

  r = (run){"silu, probability, untied", plain, phi, false, 0};
  r.model.activation = PHIBAL_ACTIVATION_SILU;
  r.model.gate = PHIBAL_GATE_PROBABILITY;
  r.model.qk_norm = QK_NORM_PROJECTION;
  r.model.untied_head = true;
  r.model.logit_softcap = 0;
  train_if(&r);

  r = (run){"latent, sigmoid, groups", plain, phi, false, 0};
  r.balance.method = BALANCE_LOSS_FREE;
  r.balance.z_coefficient = 0;
  r.model.activation = PHIBAL_ACTIVATION_SILU;
  r.model.gate = PHIBAL_GATE_SIGMOID;
  r.model.route_scale = 1.5f;
  r.model.qk_norm = QK_NORM_NONE;
  r.model.expert_groups = 3, r.model.active_groups = 2;
  r.model.selection_bias = true;
  r.model.key_value_heads = 4;
  r.model.head_width = 8;
  r.model.latent_width = 10, r.model.rope_width = 4, r.model.value_width = 6;
  r.model.query_latent_width = 12;
  r.model.latent_norm_epsilon = 1e-6f;
  r.model.rope_interleaved = true;
  r.model.rope_factor = 8, r.model.rope_fast = 32, r.model.rope_slow = 1;
  r.model.rope_original = 16;
  r.model.rope_magnitude = 1.2f, r.model.attention_multiplier = 1.1f;
  train_if(&r);

  r = (run){"biases, gated, post norm", plain, phi, false, 0};
  r.model.qkv_bias = r.model.shared_gate = r.model.post_norm = true;
  r.model.rope_width = 4;
  train_if(&r);
  r.name = "the same, recomputed";
  r.model.recompute = RECOMPUTE_LAYERS;
  train_if(&r);

  r = (run){"windows, sinks, clamped", plain, phi, false, 0};
  r.model.window = 5, r.model.full_attention_every = 2;
  r.model.sinks = r.model.qkv_bias = r.model.output_bias = true;
  r.model.shared_experts = r.model.dense_layers = 0;
  r.model.expert_limit = 0.5f, r.model.expert_slope = 1.702f;
  train_if(&r);
  r.name = "windows, recomputed";
  r.model.recompute = RECOMPUTE_LAYERS;
  train_if(&r);

  train_if(&(run){"adapters", plain, phi, true, 0});
  train_if(&(run){"adapters with dropout", plain, phi, true, 0.25});
}

int main(int argc, char **argv) {
  only = argc > 1 ? argv[1] : NULL;
  check(phibal_isa_check(), "instruction set");
  train_potentials();
  train_methods();
  train_models();
  return 0;
}
