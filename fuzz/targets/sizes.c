/* A model of any sizes: refused by name, or its layout, its memory and its plan are counted without
   an overflow. Each byte chooses a key's size: the least, the most, or one between. */
#include "moe/config/config.h"
#include "moe/plan/estimate.h"
#include "moe/plan/plan.h"
#include "target.h"

/* One of 16: the ends of its range, powers of two between, and one less than them. */
static long long size_of(const config_key *key, uint8_t byte) {
  const double least = key->low > 0 ? key->low : 1, most = key->high;
  double value = least;
  for (int i = 0; i < (byte >> 1) % 16 && value * 2 <= most; i++) value *= 2;
  if (byte > 223) value = most;
  if (byte < 8) value = key->low;
  if (byte & 1 && value > least) value -= 1;
  return (long long)value;
}

static void lower(int32_t *value, int32_t most) {
  if (*value > most) *value = most;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char text[] =
      "model: {vocabulary: 2, width: 1, layers: 1, heads: 1, head_width: 2, sequence: 1, experts: "
      "1,\n"
      "  active: 1, hidden: 1}\n"
      "batch: {sequences: 1}\noptimizer: {peak_lr: 1}\ntraining: {steps: 1000000000000}\n";
  static run_config config;
  FUZZ_REQUIRE(!run_config_parse(text, "input", NULL, 0, &config), "%s", phibal_status_message());
  model_config *m = &config.model;
  size_t at = 0;
  for (size_t i = 0; i < config_key_count; i++) {
    const config_key *key = &config_keys[i];
    if (key->kind != CONFIG_INTEGER32 ||
        (strcmp(key->section, "model") && strcmp(key->section, "batch") &&
         strcmp(key->section, "parallel")))
      continue;
    *(int32_t *)((char *)&config + key->offset) = (int32_t)size_of(key, at < size ? data[at] : 64);
    at++;
  }
  const uint8_t last = at < size ? data[at] : 0;
  config.training.precision = last & 1 ? PRECISION_BFLOAT16 : PRECISION_BINARY32;
  m->recompute = last & 2 ? RECOMPUTE_LAYERS : RECOMPUTE_NONE;
  /* What must hold between keys, whatever the sizes are. */
  lower(&m->active, m->experts);
  lower(&m->dense_layers, m->layers);
  lower(&config.batch.micro_sequences, config.batch.sequences);
  if (!config.batch.micro_sequences) config.batch.micro_sequences = config.batch.sequences;
  if (!m->key_value_heads || m->heads % m->key_value_heads || last & 8)
    m->key_value_heads = m->heads;
  lower(&m->zero_experts, m->experts - 1);
  lower(&m->hash_layers, m->layers - m->dense_layers);
  if (model_real_experts(m) % config.parallel.experts) config.parallel.experts = 1;
  m->expert_groups = m->active_groups = 0;
  m->head_width += m->head_width % 2;
  m->post_norm = last & 128;
  m->shared_gate = m->shared_experts && last & 128;
  m->qkv_bias = false;
  m->expert_limit = !m->shared_experts && !m->dense_layers && !m->zero_experts && last & 64 ? 7 : 0;
  m->expert_slope = 1.702f;
  m->expert_factor = last & 32 && config.balance.method != BALANCE_DENSE;
  m->sinks = m->output_bias = false;
  m->qk_norm = last & 16 ? QK_NORM_PROJECTION : last & 32 ? QK_NORM_HEADS : QK_NORM_NONE;
  if (last & 8 && m->latent_width) {
    lower(&m->rope_width, m->head_width);
    m->rope_width = m->rope_width < 2 ? 2 : m->rope_width / 2 * 2;
    m->value_width += !m->value_width;
    m->qk_norm = QK_NORM_NONE;
  } else {
    m->latent_width = m->query_latent_width = m->rope_width = m->value_width = 0;
    m->qkv_bias = m->sinks = m->output_bias = last & 64;
    m->rope_width = last & 64 ? m->head_width / 4 * 2 : 0;
  }
  FUZZ_REQUIRE(!model_config_check(m), "%s", phibal_status_message());
  if (model_check_size(m, config.batch.micro_sequences)) {
    FUZZ_REQUIRE_MESSAGE();
    return 0;
  }
  /* Adapters, which the schema wants a model for. Their tensors are listed, layer by layer. */
  config.lora.rank = last & 4 && m->layers < 32 ? 4096 : 0;
  config.lora.dropout = 0.5;
  for (int device = 0; device < 2; device++) {
    const run_estimate e = run_estimate_compute(&config, device);
    FUZZ_REQUIRE(e.total > 0 && e.active > 0 && e.active <= e.total && e.activation_bytes > 0 &&
                     run_estimate_bytes(&e) > e.weight_bytes,
                 "refuse it or count it");
  }
  const int32_t ranks = config.parallel.experts;
  for (int device = 0; device < 2; device++) {
    const run_estimate e = run_estimate_of_rank(&config, ranks, device);
    FUZZ_REQUIRE(run_estimate_bytes(&e) > 0, "refuse it or count it");
  }
  (void)run_estimate_check(&config, ranks);
  const plan p = plan_compute(&config);
  FUZZ_REQUIRE(p.tokens >= 1 && plan_steps(p.law_tokens, p.estimate.step_tokens) > 0,
               "refuse it or count it");
  return 0;
}
