/* What must hold between the options of a model. */
#include "model_internal.h"

#define refuse(...) return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "model: " __VA_ARGS__)

static phibal_status check_latent(const model_config *c) {
  if (c->latent_width < 1) {
    if (c->query_latent_width || c->rope_width || c->value_width)
      refuse("query_latent_width, rope_width and value_width are for latent attention, and "
             "latent_width is 0");
    return PHIBAL_OK;
  }
  if (c->rope_width < 2 || c->rope_width % 2 || c->rope_width > c->head_width)
    refuse("rope_width %d: an even number from 2 to head_width %d is wanted", c->rope_width,
           c->head_width);
  if (c->value_width < 1) refuse("latent attention needs value_width");
  if (c->key_value_heads != c->heads)
    refuse("latent attention has a key for each of %d heads, not %d key_value_heads", c->heads,
           c->key_value_heads);
  if (c->qk_norm) refuse("latent attention has norms of its own: no qk_norm");
  if (!(c->latent_norm_epsilon >= 0)) refuse("latent_norm_epsilon must not be negative");
  return PHIBAL_OK;
}

static phibal_status check_groups(const model_config *c) {
  const int32_t groups = c->expert_groups;
  if (groups <= 1) return PHIBAL_OK;
  if (c->experts % groups) refuse("%d expert_groups do not divide %d experts", groups, c->experts);
  if (c->active_groups < 1 || c->active_groups > groups)
    refuse("active_groups %d: 1 to %d are possible", c->active_groups, groups);
  const int32_t each = c->experts / groups;
  if (c->active_groups * each < c->active)
    refuse("%d active_groups of %d experts do not hold %d active ones", c->active_groups, each,
           c->active);
  if (c->gate == PHIBAL_GATE_SIGMOID && each < 2)
    refuse("a sigmoid router scores a group by its two best experts, and groups have one");
  return PHIBAL_OK;
}

static phibal_status check_rope(const model_config *c) {
  if (c->rope_factor == 0) return PHIBAL_OK;
  if (!(c->rope_factor > 0) || c->rope_original < 1 || !(c->rope_fast > 0) || !(c->rope_slow > 0))
    refuse("YaRN: rope_factor, rope_original, rope_fast and rope_slow must be positive");
  if (!(c->rope_theta > 1)) refuse("YaRN: rope_theta must be above 1");
  return PHIBAL_OK;
}

phibal_status model_config_check(const model_config *c) {
  if (!(c->attention_multiplier >= 0) || !(c->rope_magnitude >= 0))
    refuse("attention_multiplier and rope_magnitude must not be negative");
  phibal_status status = check_latent(c);
  if (!status) status = check_groups(c);
  return status ? status : check_rope(c);
}
