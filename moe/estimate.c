#include "estimate.h"

run_estimate run_estimate_compute(const run_config *config) {
  const model_config *m = &config->model;
  run_estimate e = {0};
  model_count(m, config->balance.method, &e.total, &e.active);
  const int64_t bytes = (int64_t)sizeof(float);
  e.weight_bytes = e.total * bytes;
  e.gradient_bytes = e.total * bytes;
  e.moment_bytes = 2 * e.total * bytes;
  int64_t norms = (int64_t)m->width * (2 * (int64_t)m->layers + 1);
  if (m->qk_norm) norms += 2 * (int64_t)m->layers * m->head_width;
  const double heads = (double)m->heads * (double)m->head_width;
  e.forward_flops = 2.0 * (double)(e.active - norms) +
                    2.0 * (double)m->layers * heads * ((double)m->sequence + 1.0);
  e.training_flops = 3.0 * e.forward_flops;
  e.step_tokens = (int64_t)config->batch.sequences * m->sequence;
  e.activation_bytes =
      model_activation_bytes(m, config->balance.method, config->batch.micro_sequences);
  return e;
}
