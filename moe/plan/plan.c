#include "plan.h"
#include <math.h>

/* The paper's constants. */
static const double m_factor = 0.1915, m_power = 0.5095, d_factor = 5.2232, d_power = 0.4905;

double plan_law_token_flops(double flops) {
  return m_factor * pow(flops, m_power);
}

double plan_law_tokens(double flops) {
  return d_factor * pow(flops, d_power);
}

double plan_law_flops(double token_flops) {
  return pow(token_flops / m_factor, 1.0 / m_power);
}

double plan_law_tokens_for(double token_flops) {
  return plan_law_tokens(plan_law_flops(token_flops));
}

plan plan_compute(const run_config *config) {
  plan p = {.estimate = run_estimate_compute(config, true)};
  p.tokens = (double)p.estimate.step_tokens * (double)config->training.steps;
  p.token_flops = p.estimate.training_flops;
  /* The head is one product with [V][d] a token, forward and twice backward. */
  p.body_token_flops =
      p.token_flops - 6.0 * (double)config->model.vocabulary * (double)config->model.width;
  p.flops = p.tokens * p.token_flops;
  p.law_tokens = plan_law_tokens_for(p.token_flops);
  p.body_tokens = plan_law_tokens_for(p.body_token_flops);
  return p;
}

int64_t plan_steps(double tokens, int64_t batch) {
  return (int64_t)ceil(tokens / (double)batch);
}

double plan_hours(double flops, double peak, double mfu, int32_t devices) {
  return flops / (peak * mfu * (double)devices) / 3600.0;
}
