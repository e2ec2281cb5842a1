/* Models of Hugging Face against transformers: small checkpoints of each architecture, and what
   transformers computed with them (make_fixtures.py). What is off is measured in parts
   of the largest number of its kind; both sides compute in binary32, and are off by some 1e-6. */
#include "parity.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void check(const char *name) {
  parity p = {0};
  parity_errors e;
  parity_open(name, NULL, &p);
  parity_measure(&p, &e);
  cr_expect_leq(e.logits, 1e-4, "%s: logits are off by %g", name, e.logits);
  cr_expect_leq(e.loss, 1e-4, "%s: the loss is off by %g", name, e.loss);
  cr_expect_leq(e.router_logits, 1e-4, "%s: router logits are off by %g", name, e.router_logits);
  cr_expect_leq(e.gates, 1e-4, "%s: gates are off by %g", name, e.gates);
  cr_expect_eq(e.other_experts, 0, "%s: %d other experts", name, e.other_experts);
  cr_expect_leq(e.gradients, 1e-3, "%s: gradients of %s are off by %g", name, e.worst, e.gradients);
  parity_close(&p);
}

Test(huggingface, same_as_transformers) {
  for (int i = 0; i < parity_count; i++) check(parity_names[i]);
}

/* Mistakes that have been made elsewhere, none of which a shape would show. */
static void normalised(model_config *c) {
  c->gate = PHIBAL_GATE_TOPK_SOFTMAX;
}
static void not_normalised(model_config *c) {
  c->gate = PHIBAL_GATE_PROBABILITY;
}
static void not_scaled(model_config *c) {
  c->route_scale = 1;
}
static void other_theta(model_config *c) {
  c->rope_theta = 10000;
}
static void other_pairs(model_config *c) {
  c->rope_interleaved = !c->rope_interleaved;
}
static void no_yarn(model_config *c) {
  c->rope_factor = 0;
}
static void ramp_not_rounded(model_config *c) {
  c->rope_fraction = true;
}
static void no_magnitude(model_config *c) {
  c->rope_magnitude = 0;
}
static void no_temperature(model_config *c) {
  c->attention_multiplier = 0;
}
static void one_temperature(model_config *c) {
  c->attention_multiplier = sqrtf(c->attention_multiplier);
}
static void no_groups(model_config *c) {
  c->expert_groups = 0;
}
static void one_group(model_config *c) {
  c->active_groups = 2;
  c->expert_groups = 2;
}
static void no_bias(model_config *c) {
  c->selection_bias = false;
}
static void whole_heads(model_config *c) {
  c->rope_width = 0;
}
static void other_part(model_config *c) {
  c->rope_width = 2;
}
static void no_window(model_config *c) {
  c->window = 0;
}
static void window_beside_its_own(model_config *c) {
  c->window++;
}
static void windows_everywhere(model_config *c) {
  c->full_attention_every = 0;
}
static void usual_limit(model_config *c) {
  c->expert_limit = 7;
}
static void plain_sigmoid(model_config *c) {
  c->expert_slope = 1;
}
static void ramp_rounded(model_config *c) {
  c->rope_fraction = false;
}
static void no_floor(model_config *c) {
  c->gate_floor = 0;
}
static void added_floor(model_config *c) {
  c->gate_epsilon = c->gate_floor;
  c->gate_floor = 0;
}
static void by_logits(model_config *c) {
  c->selection_score = PHIBAL_SCORE_OF_GATE;
}
static void one_epsilon(model_config *c) {
  c->latent_norm_epsilon = c->norm_epsilon;
}

Test(huggingface, mistakes_show) {
  static const struct {
    const char *name;
    void (*change)(model_config *config);
  } mistakes[] = {{"olmoe", normalised},
                  {"olmoe", other_theta},
                  {"mixtral", not_normalised},
                  {"qwen3_moe", not_normalised},
                  {"qwen3_moe", no_yarn},
                  {"qwen3_moe", no_magnitude},
                  {"qwen3_moe", ramp_not_rounded},
                  {"deepseek", other_pairs},
                  {"deepseek", normalised},
                  {"deepseek_v2", other_pairs},
                  {"deepseek_v2", not_scaled},
                  {"deepseek_v2", normalised},
                  {"deepseek_v2", no_yarn},
                  {"deepseek_v2", no_temperature},
                  {"deepseek_v2", one_temperature},
                  {"deepseek_v2_groups", no_groups},
                  {"deepseek_v2_groups", one_group},
                  {"moonlight", not_scaled},
                  {"moonlight", no_bias},
                  {"moonlight", one_epsilon},
                  {"kimi_k2", no_yarn},
                  {"kimi_k2", one_temperature},
                  {"dots1", not_scaled},
                  {"dots1", other_pairs},
                  {"dots1", no_bias},
                  {"glm4_moe", whole_heads},
                  {"glm4_moe", other_part},
                  {"glm4_moe", other_pairs},
                  {"glm4_moe", no_groups},
                  {"glm4_moe_lite", one_epsilon},
                  {"glm4_moe_lite", other_pairs},
                  {"qwen2_moe", normalised},
                  {"minimax_m2", whole_heads},
                  {"minimax_m2", other_part},
                  {"minimax_m2", no_bias},
                  {"flex_olmo", other_theta},
                  {"gpt_oss", no_window},
                  {"gpt_oss", window_beside_its_own},
                  {"gpt_oss", windows_everywhere},
                  {"gpt_oss", usual_limit},
                  {"gpt_oss", plain_sigmoid},
                  {"gpt_oss", ramp_rounded},
                  {"gpt_oss", no_magnitude},
                  {"gpt_oss", not_normalised},
                  {"ernie4_5_moe", no_floor},
                  {"ernie4_5_moe", added_floor},
                  {"ernie4_5_moe", by_logits},
                  {"ernie4_5_moe", no_bias},
                  {"ernie4_5_moe", other_pairs},
                  {"deepseek_v3", no_groups},
                  {"deepseek_v3", one_group},
                  {"deepseek_v3", no_bias},
                  {"deepseek_v3", no_temperature}};
  for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
    parity p = {0};
    parity_errors e;
    parity_open(mistakes[i].name, mistakes[i].change, &p);
    parity_measure(&p, &e);
    cr_expect_geq(e.logits, 1e-2, "mistake %zu, %s: logits are off by %g only", i, mistakes[i].name,
                  e.logits);
    parity_close(&p);
  }
}

/* Square experts read as their transposes, and gate read as up, fit every shape. */
Test(huggingface, misread_experts_show) {
  parity p = {0};
  parity_errors e;
  parity_open("olmoe", NULL, &p);
  const model_tensor *tensor = parity_tensor(p.m, "model.layers.0.mlp.experts.down_proj.weight");
  float *down = model_parameters(p.m) + tensor->offset;
  const int64_t n = tensor->shape[1];
  cr_assert_eq(n, tensor->shape[2]);
  for (int64_t expert = 0; expert < tensor->shape[0]; expert++)
    for (int64_t i = 0; i < n; i++)
      for (int64_t j = 0; j < i; j++) {
        float *a = down + (expert * n + i) * n + j, *b = down + (expert * n + j) * n + i, kept = *a;
        *a = *b;
        *b = kept;
      }
  parity_measure(&p, &e);
  cr_expect_geq(e.logits, 1e-2);
  parity_close(&p);
  parity_open("mixtral", NULL, &p);
  cr_assert_eq(2 * p.config.hidden, p.config.width);
  float *gate = model_parameters(p.m) +
                parity_tensor(p.m, "model.layers.0.mlp.experts.gate_proj.weight")->offset;
  tensor = parity_tensor(p.m, "model.layers.0.mlp.experts.up_proj.weight");
  float *up = model_parameters(p.m) + tensor->offset;
  for (int64_t i = 0; i < tensor->shape[0] * tensor->shape[1] * tensor->shape[2]; i++) {
    const float kept = gate[i];
    gate[i] = up[i];
    up[i] = kept;
  }
  parity_measure(&p, &e);
  cr_expect_geq(e.logits, 1e-2);
  parity_close(&p);
}
