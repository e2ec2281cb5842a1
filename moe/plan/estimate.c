#include "estimate.h"
#include "moe/lora/lora.h"
#include <math.h>
#include <unistd.h>

/* Both at most INT64_MAX, which stands for whatever cannot be addressed. */
static int64_t bytes_sum(int64_t a, int64_t b) {
  return a > INT64_MAX - b ? INT64_MAX : a + b;
}

/* Of so many sequences at once. */
static int64_t activation_bytes(const run_config *config, bool on_device, int32_t sequences) {
  const model_config *m = &config->model;
  const int64_t bytes = model_activation_bytes(m, config->balance.method,
                                               config->training.precision, on_device, sequences);
  const int64_t dropout =
      config->lora.rank && config->lora.dropout > 0
          ? lora_dropout_bytes(m, config->lora.rank, (int64_t)sequences * m->sequence)
          : 0;
  return bytes_sum(bytes, dropout);
}

/* What quantile balancing keeps of the step's so many sequences (L7): a number for each token,
   expert and layer. A device has room for whole micro-batches, and for one layer's bins. */
static int64_t required_bytes(const run_config *config, bool on_device, int32_t sequences) {
  const model_config *m = &config->model;
  const balance_config *b = &config->balance;
  if (b->method != BALANCE_QUANTILE) return 0;
  const double most = config->batch.micro_sequences, micro = most < sequences ? most : sequences;
  const double kept = on_device ? ceil(sequences / micro) * micro : sequences;
  const double bins = on_device ? (double)sizeof(int64_t) * m->experts * b->quantile_bins : 0;
  const double bytes =
      (double)sizeof(float) * (m->layers - m->dense_layers) * m->experts * kept * m->sequence +
      bins;
  return bytes < 0x1p62 ? (int64_t)bytes : INT64_MAX;
}

/* Of the routes of the step's so many sequences on the host, those that are read and those that are
   written. */
static int64_t routes_bytes(const run_config *config, int32_t sequences) {
  const model_config *m = &config->model;
  const int files = (*config->training.record_routes != 0) + (*config->training.replay_routes != 0);
  const double bytes = (double)sizeof(uint16_t) * files * (m->layers - m->dense_layers) *
                       m->active * (double)sequences * m->sequence;
  return bytes < 0x1p62 ? (int64_t)bytes : INT64_MAX;
}

/* Of one weight: in bfloat16 it is there twice. */
static int64_t weight_size(const run_config *config) {
  return config->training.precision == PRECISION_BFLOAT16 ? 6 : 4;
}

/* Of a token, beside training_flops: every layer but the last makes its attention and FFN again, on
   a device without the product outward. What of the forward pass is neither FFN nor router nor head
   is attention, in each layer the same. */
static double recomputed_flops(const run_config *config, bool on_device, double forward) {
  const model_config *m = &config->model;
  if (m->recompute != RECOMPUTE_LAYERS) return 0;
  const double d = m->width;
  const double real = (double)m->active * model_real_experts(m) / m->experts;
  const double routed = (double)m->hidden * (real + m->shared_experts);
  double attention = forward - 2 * d * m->vocabulary, again = 0;
  for (int32_t layer = 0; layer < m->layers; layer++) {
    const bool dense = layer < m->dense_layers || config->balance.method == BALANCE_DENSE;
    const double product = 2 * d * (dense ? (double)m->dense_hidden : routed);
    attention -= 3 * product + (dense ? 0 : 2 * d * m->experts);
    if (layer + 1 < m->layers) again += (on_device ? 2 : 3) * product;
  }
  return again + attention * (m->layers - 1) / m->layers;
}

/* The weights that they are added to; A, B, their gradients and two moments, on a device also s B
   and s A^T, and s I. */
static int64_t adapters_bytes(const run_config *config, bool on_device) {
  const double r = config->lora.rank;
  const lora_config adapters = {config->lora.rank, config->lora.alpha, config->lora.targets, 0};
  double base, factors;
  if (!lora_size(&adapters, &config->model, config->balance.method, &base, &factors))
    return INT64_MAX;
  const double bytes = (base + (on_device ? 5 * factors + r * r : 4 * factors)) * sizeof(float);
  return bytes < 0x1p63 ? (int64_t)bytes : INT64_MAX;
}

run_estimate run_estimate_compute(const run_config *config, bool on_device) {
  const model_config *m = &config->model;
  run_estimate e = {0};
  model_count(m, config->balance.method, &e.total, &e.active);
  const int64_t bytes = (int64_t)sizeof(float);
  e.weight_bytes = e.total * weight_size(config);
  e.gradient_bytes = e.total * bytes;
  e.moment_bytes = config->lora.rank ? adapters_bytes(config, on_device) : 2 * e.total * bytes;
  int64_t norms = (int64_t)m->width * (2 * (int64_t)m->layers + 1);
  if (m->qk_norm == QK_NORM_HEADS) norms += 2 * (int64_t)m->layers * m->head_width;
  if (m->qk_norm == QK_NORM_PROJECTION)
    norms += (int64_t)m->layers * (m->heads + m->key_value_heads) * m->head_width;
  norms += (int64_t)m->layers * (m->latent_width + m->query_latent_width);
  if (m->qkv_bias)
    norms += (int64_t)m->layers * (m->heads + 2 * m->key_value_heads) * m->head_width;
  norms += (int64_t)m->layers * ((m->output_bias ? m->width : 0) + (m->sinks ? m->heads : 0));
  if (m->expert_limit > 0)
    norms += (int64_t)m->layers *
             (m->experts + (int64_t)m->active * (2 * (int64_t)m->hidden + m->width));
  if (m->expert_factor) norms += (int64_t)(m->layers - m->dense_layers) * m->experts;
  const int32_t value_width = m->latent_width ? m->value_width : m->head_width;
  const double heads = (double)m->heads * ((double)m->head_width + (double)value_width);
  if (m->untied_head) norms += m->width; /* the embedding's row, which multiplies nothing */
  e.forward_flops =
      2.0 * (double)(e.active - norms) + (double)m->layers * heads * ((double)m->sequence + 1.0);
  e.training_flops = 3.0 * e.forward_flops;
  e.recomputed_flops = recomputed_flops(config, on_device, e.forward_flops);
  e.step_tokens = (int64_t)config->batch.sequences * m->sequence;
  e.activation_bytes = bytes_sum(activation_bytes(config, on_device, config->batch.micro_sequences),
                                 required_bytes(config, on_device, config->batch.sequences));
  if (!on_device)
    e.activation_bytes =
        bytes_sum(e.activation_bytes, routes_bytes(config, config->batch.sequences));
  return e;
}

int64_t run_estimate_bytes(const run_estimate *e) {
  const int64_t state = bytes_sum(e->weight_bytes + e->gradient_bytes, e->moment_bytes);
  return bytes_sum(state, e->activation_bytes);
}

run_estimate run_estimate_of_rank(const run_config *config, int32_t ranks, bool on_device) {
  run_estimate e = run_estimate_compute(config, on_device);
  const model_config *m = &config->model;
  if (ranks < 2) return e;
  const bool moe = config->balance.method != BALANCE_DENSE;
  const int64_t experts = moe ? 3 * (int64_t)(m->layers - m->dense_layers) * model_real_experts(m) *
                                    m->hidden * m->width
                              : 0;
  const int64_t parameters = e.total - experts + experts / config->parallel.experts;
  e.weight_bytes = parameters * weight_size(config);
  e.gradient_bytes = parameters * (int64_t)sizeof(float);
  if (!config->lora.rank) /* whose adapters every rank has */
    e.moment_bytes = 2 * (config->parallel.shard_optimizer ? e.total / ranks : parameters) *
                     (int64_t)sizeof(float);
  const int32_t own = config->batch.sequences / ranks, micro = config->batch.micro_sequences;
  e.activation_bytes =
      bytes_sum(activation_bytes(config, on_device, own && own < micro ? own : micro),
                required_bytes(config, on_device, own));
  if (!on_device) e.activation_bytes = bytes_sum(e.activation_bytes, routes_bytes(config, own));
  return e;
}

phibal_status run_estimate_check(const run_config *config, int32_t ranks) {
  run_config host = *config; /* which computes in binary32 */
  host.training.precision = PRECISION_BINARY32;
  const run_estimate e = run_estimate_of_rank(&host, ranks, false);
  const double needed = (double)run_estimate_bytes(&e);
  const double present = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
  if (needed <= present) return PHIBAL_OK;
  return phibal_status_set(PHIBAL_ERROR_MEMORY,
                           "the run needs %.1f GiB and this machine has %.1f GiB; --dry-run gives "
                           "a breakdown (batch.micro_sequences limits the activations)",
                           needed * 0x1p-30, present * 0x1p-30);
}
