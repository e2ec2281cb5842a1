/* What must hold between the options of a model, and of the tokens that it is given. */
#include "model_internal.h"

#include "kernels/core/router_form.h"

#define refuse(...) return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "model: " __VA_ARGS__)

static phibal_status check_latent(const model_config *c) {
  if (c->latent_width < 1) {
    if (c->query_latent_width || c->value_width)
      refuse("query_latent_width and value_width are for latent attention, and latent_width is 0");
    if (c->rope_width < 0 || c->rope_width % 2 || c->rope_width > c->head_width)
      refuse("rope_width %d: expected 0, or an even number up to head_width %d", c->rope_width,
             c->head_width);
    return PHIBAL_OK;
  }
  if (c->rope_width < 2 || c->rope_width % 2 || c->rope_width > c->head_width)
    refuse("rope_width %d: expected an even number from 2 to head_width %d", c->rope_width,
           c->head_width);
  if (c->value_width < 1) refuse("latent attention needs value_width");
  if (c->key_value_heads != c->heads)
    refuse("latent attention has a key for each of %d heads, not %d key_value_heads", c->heads,
           c->key_value_heads);
  if (c->qk_norm) refuse("latent attention has its own norms: no qk_norm");
  if (c->qkv_bias) refuse("latent attention has no qkv_bias");
  if (c->output_bias || c->sinks) refuse("latent attention has no output_bias and no sinks");
  if (!(c->latent_norm_epsilon >= 0)) refuse("latent_norm_epsilon must not be negative");
  return PHIBAL_OK;
}

static phibal_status check_clamped(const model_config *c) {
  if (c->window < 0 || c->full_attention_every < 0)
    refuse("window and full_attention_every must not be negative");
  if (!(c->expert_limit >= 0)) refuse("expert_limit must not be negative");
  if (c->expert_limit == 0) return PHIBAL_OK;
  if (!(c->expert_slope > 0)) refuse("expert_limit needs expert_slope above 0");
  if (c->dense_layers || c->shared_experts)
    refuse("expert_limit is for experts alone: no dense_layers, no shared_experts");
  return PHIBAL_OK;
}

phibal_router model_router(const model_config *c) {
  phibal_router router = {.experts = c->experts,
                          .active = c->active,
                          .gate = c->gate,
                          .scale = c->route_scale,
                          .score = c->selection_score,
                          .normalisation = c->gate_normalisation,
                          .epsilon = c->gate_epsilon,
                          .zero_experts = c->zero_experts,
                          .zero_gates = c->zero_gates};
  /* model_balance.c divides them, and multiplies by the scale. */
  if (c->gate_floor > 0) {
    router.normalisation = PHIBAL_NORMALISATION_NONE;
    router.scale = 1;
  }
  if (c->expert_groups <= 1) return router;
  router.groups = c->expert_groups;
  router.active_groups = c->active_groups;
  router.group_score = c->group_score                  ? c->group_score
                       : core_gate_has_scores(c->gate) ? PHIBAL_GROUP_TWO_LARGEST
                                                       : PHIBAL_GROUP_LARGEST;
  return router;
}

static phibal_status check_router(const model_config *c) {
  if (c->selection_score == PHIBAL_SCORE_PROBABILITY && core_gate_has_scores(c->gate))
    refuse("selection_score probability is for gates of a softmax, and gate has scores of its own");
  if (c->zero_experts < 0 || c->zero_experts >= c->experts)
    refuse("%d zero_experts of %d experts, and one needs weights", c->zero_experts, c->experts);
  if (c->zero_gates == PHIBAL_ZERO_GATES_LEFT_OUT && !c->zero_experts)
    refuse("zero_gates left_out, and there are no zero_experts");
  if (c->zero_output == ZERO_NOTHING && !c->zero_experts)
    refuse("zero_output zero, and there are no zero_experts");
  if (c->zero_experts && c->expert_limit > 0)
    refuse("expert_limit is for experts that all have weights: no zero_experts");
  if (c->hash_layers < 0 || c->hash_layers > c->layers - c->dense_layers)
    refuse("%d hash_layers of %d with experts", c->hash_layers, c->layers - c->dense_layers);
  if (!(c->gate_floor >= 0 && c->gate_floor <= 1))
    refuse("gate_floor %g is not in [0, 1]", (double)c->gate_floor);
  if (c->gate_floor > 0 &&
      (c->gate_normalisation != PHIBAL_NORMALISATION_SUM || c->gate_epsilon != 0))
    refuse("gate_floor is for gate_normalisation sum, without gate_epsilon");
  const phibal_router router = model_router(c);
  const char *fault = core_router_fault(&router);
  if (fault && c->expert_groups > 1)
    refuse("%d experts in %d expert_groups, %d active in %d active_groups: %s", c->experts,
           c->expert_groups, c->active, c->active_groups, fault);
  if (fault)
    refuse("gate, gate_normalisation and gate_epsilon %g: %s", (double)c->gate_epsilon, fault);
  return PHIBAL_OK;
}

static phibal_status check_rope(const model_config *c) {
  /* No frequency is above 1 then, and no angle above 2^31 (dd_sine.h). */
  if (!(c->rope_theta >= 1)) refuse("rope_theta must be 1 or more");
  if (c->rope_factor == 0) return PHIBAL_OK;
  if (!(c->rope_factor >= 1)) refuse("rope_factor must be 1 or more");
  if (c->rope_scaling == ROPE_LINEAR) return PHIBAL_OK;
  if (c->rope_original < 1 || !(c->rope_fast > 0) || !(c->rope_slow > 0))
    refuse("rope_original, rope_fast and rope_slow must be positive");
  if (c->rope_scaling == ROPE_LLAMA3 && !(c->rope_fast > c->rope_slow))
    refuse("llama3: rope_fast must be above rope_slow");
  if (c->rope_scaling == ROPE_YARN && !(c->rope_theta > 1))
    refuse("YaRN: rope_theta must be above 1");
  return PHIBAL_OK;
}

phibal_status model_config_check(const model_config *c) {
  if (!(c->attention_multiplier >= 0) || !(c->rope_magnitude >= 0))
    refuse("attention_multiplier and rope_magnitude must not be negative");
  if (c->shared_gate && c->shared_experts < 1) refuse("shared_gate needs shared_experts");
  phibal_status status = check_latent(c);
  if (!status) status = check_clamped(c);
  if (!status) status = check_router(c);
  return status ? status : check_rope(c);
}

/* Whatever has such sizes is a mistake. Below, no product of sizes overflows int64_t, here, in
   model_layout.c, model_memory.c and estimate.c: each is a factor of a term, and 18 bytes for each
   number are 2^61. */
#define MOST_NUMBERS 0x1p56

phibal_status model_check_size(const model_config *c, int64_t sequences) {
  const double d = c->width, layers = c->layers, experts = c->experts, hidden = c->hidden;
  const double vocabulary = c->vocabulary, dense = c->dense_hidden, heads = c->heads;
  const double head = (double)c->head_width + c->rope_width + c->value_width;
  const double latent = (double)c->latent_width + c->query_latent_width + c->rope_width;
  const double tokens = (double)sequences * c->sequence, active = c->active;
  const double shared = (double)c->shared_experts * hidden;
  const struct {
    const char *what;
    double numbers;
  } terms[] = {
      {"vocabulary x width", 2 * vocabulary * d},
      {"hash_layers x vocabulary x active", (double)c->hash_layers * vocabulary * active},
      {"layers x heads x head_width x width", 4 * layers * heads * head * d},
      {"layers x latent_width x (width + heads x head_width)",
       2 * layers * latent * (d + heads * head)},
      {"layers x experts x width", layers * experts * d},
      {"layers x experts x hidden x width", 3 * layers * experts * hidden * d},
      {"layers x shared_experts x hidden x width", 3 * layers * shared * d},
      {"layers x dense_hidden x width", 3 * layers * dense * d},
      {"micro_sequences x sequence x layers x width", 16 * tokens * layers * d},
      {"micro_sequences x sequence x layers x heads x head_width",
       8 * tokens * layers * heads * head},
      {"micro_sequences x sequence x layers x latent_width", 6 * tokens * layers * latent},
      {"micro_sequences x sequence x layers x experts", 4 * tokens * layers * experts},
      {"micro_sequences x sequence x layers x active x (width + hidden)",
       4 * tokens * layers * active * (2 * d + hidden + 2)},
      {"micro_sequences x sequence x layers x shared_experts x hidden",
       4 * tokens * layers * shared},
      {"micro_sequences x sequence x layers x dense_hidden", 4 * tokens * layers * dense},
  };
  double all = 0;
  size_t largest = 0;
  for (size_t i = 0; i < sizeof terms / sizeof *terms; i++) {
    all += terms[i].numbers;
    if (terms[i].numbers > terms[largest].numbers) largest = i;
  }
  if (!(all > MOST_NUMBERS)) return PHIBAL_OK;
  refuse("too large for any memory: %.2g numbers, %.2g of them for %s", all, terms[largest].numbers,
         terms[largest].what);
}

model_batch model_batch_count(int64_t n, const int32_t *tokens, const int32_t *targets) {
  model_batch counted = {0, 0};
  for (int64_t i = 0; i < n; i++) {
    counted.targets += targets[i] >= 0;
    counted.tokens += tokens[i] >= 0;
  }
  return counted;
}

phibal_status model_check_call(const model_config *c, int32_t batch, const int32_t *tokens,
                               const int32_t *targets, uint8_t *mask) {
  for (int64_t i = 0; i < (int64_t)batch * c->sequence; i++) {
    const long long at = i;
    if (tokens[i] < -1 || tokens[i] >= c->vocabulary)
      refuse("token %d at position %lld is neither -1 (padding) nor below the vocabulary %d",
             tokens[i], at, c->vocabulary);
    if (targets[i] < -1 || targets[i] >= c->vocabulary)
      refuse("target %d at position %lld is neither -1 nor below the vocabulary %d", targets[i], at,
             c->vocabulary);
    mask[i] = tokens[i] >= 0;
    if (!mask[i] && targets[i] >= 0) refuse("padding at position %lld has a target", at);
    if (mask[i] && i % c->sequence && !mask[i - 1])
      refuse("the token at position %lld follows padding in its sequence", at);
  }
  return PHIBAL_OK;
}

phibal_status model_check_begin(model_batch global) {
  if (global.targets < 1 || global.tokens < global.targets)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "model step: %lld targets of %lld tokens in the global batch; at "
                             "least one target is needed, and a token for each",
                             (long long)global.targets, (long long)global.tokens);
  return PHIBAL_OK;
}

phibal_status model_check_finish(model_batch global, model_batch step) {
  if (step.targets != global.targets || step.tokens != global.tokens)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "model step: its micro-batches held %lld targets of %lld tokens, but "
                             "it began with %lld of %lld, by which every loss was divided",
                             (long long)step.targets, (long long)step.tokens,
                             (long long)global.targets, (long long)global.tokens);
  return PHIBAL_OK;
}
