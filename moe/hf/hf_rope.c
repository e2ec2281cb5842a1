/* Rotary positions in config.json: transformers 5 has one object, `rope_parameters`; before, there
   were `rope_theta` and `rope_scaling`, which every version reads, and which are written. */
#include "hf_internal.h"
#include "kernels/core/dd_elementary.h"
#include <math.h>
#include <string.h>

#define ROPE_FAST 32.0f /* the values that YaRN has where a file gives none */
#define ROPE_SLOW 1.0f

/* YaRN's temperature: 0.1 m log(s) + 1 (arXiv:2309.00071, equation 22, with DeepSeek's m). */
static double mscale(double factor, double m) {
  return factor <= 1 ? 1.0 : 0.1 * m * core_dd_log(factor).hi + 1.0;
}

/* The types of `rope_type`, and the keys that each reads; another type's key is an error. */
enum { DEFAULT = 1, YARN = 2, LINEAR = 4, LLAMA3 = 8 };
static const struct {
  const char *name;
  int type;
} types[] = {{"default", DEFAULT}, {"yarn", YARN}, {"linear", LINEAR}, {"llama3", LLAMA3}};

static phibal_status check_keys(const json_t *rope, const char *path, int type,
                                const hf_architecture *a) {
  static const struct {
    const char *key;
    int types;
  } known[] = {{"rope_type", ~0},
               {"type", ~0},
               {"rope_theta", ~0},
               {"factor", YARN | LINEAR | LLAMA3 | DEFAULT},
               {"original_max_position_embeddings", YARN | LLAMA3 | DEFAULT},
               {"beta_fast", YARN | DEFAULT},
               {"beta_slow", YARN | DEFAULT},
               {"mscale", YARN | DEFAULT},
               {"mscale_all_dim", YARN | DEFAULT},
               {"attention_factor", YARN | DEFAULT},
               {"truncate", YARN | DEFAULT},
               {"low_freq_factor", LLAMA3},
               {"high_freq_factor", LLAMA3}};
  const char *key;
  json_t *value;
  json_object_foreach((json_t *)rope, key, value) {
    const bool partial = !strcmp(key, "partial_rotary_factor");
    bool found = json_is_null(value) && !partial;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
      found |= (known[i].types & type) && !strcmp(key, known[i].key);
    /* Where the whole head is turned, saying so changes nothing. */
    found |= partial &&
             (json_number_value(value) == 1.0 || (json_is_number(value) && hf_keys_reads(a, key)));
    if (found) continue;
    char shown[HF_SHOWN];
    return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                             "%s: %s in 'rope_scaling' or 'rope_parameters'", path,
                             hf_json_show_text(key, shown));
  }
  return PHIBAL_OK;
}

/* cos and sin are multiplied by a ratio of two mscale, the scores by the square of one: DeepSeek
   has both, the others only the first. */
static phibal_status parse_yarn(const json_t *rope, const json_t *original, const char *path,
                                bool latent, model_config *c) {
  float m = 0, all = 0, magnitude = 0;
  bool truncate = true;
  phibal_status status = hf_json_real(rope, path, "factor", true, &c->rope_factor);
  if (!status)
    status = hf_json_integer(original, path, "original_max_position_embeddings", true,
                             &c->rope_original);
  if (!status) status = hf_json_real(rope, path, "beta_fast", false, &c->rope_fast);
  if (!status) status = hf_json_real(rope, path, "beta_slow", false, &c->rope_slow);
  if (!status) status = hf_json_real(rope, path, "mscale", false, &m);
  if (!status) status = hf_json_real(rope, path, "mscale_all_dim", false, &all);
  if (!status) status = hf_json_real(rope, path, "attention_factor", false, &magnitude);
  if (!status) status = hf_json_boolean(rope, path, "truncate", &truncate);
  if (status) return status;
  const bool has_factor = json_is_number(json_object_get(rope, "attention_factor"));
  if (json_is_null(json_object_get(rope, "truncate")))
    return phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: YaRN's 'truncate' is null", path);
  const struct {
    const char *key;
    float value;
    bool fits;
  } numbers[] = {
      {"factor", c->rope_factor, c->rope_factor > 0},
      {"original_max_position_embeddings", (float)c->rope_original, c->rope_original > 0},
      {"beta_fast", c->rope_fast, c->rope_fast > 0},
      {"beta_slow", c->rope_slow, c->rope_slow > 0},
      {"mscale", m, m >= 0},
      {"mscale_all_dim", all, all >= 0},
      /* 0 would make all rotated components 0, and does in transformers. */
      {"attention_factor", magnitude, magnitude > 0 || !has_factor}};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    if (!numbers[i].fits)
      return phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: YaRN's '%s' is %g", path, numbers[i].key,
                               (double)numbers[i].value);
  const double factor = (double)c->rope_factor;
  c->rope_fraction = !truncate;
  const double ratio = magnitude > 0 ? (double)magnitude
                       : m != 0 && all != 0
                           ? mscale(factor, (double)m) / mscale(factor, (double)all)
                           : mscale(factor, 1.0);
  c->rope_magnitude = (float)ratio == 1.0f ? 0.0f : (float)ratio;
  if (latent && all != 0) {
    const double temperature = mscale(factor, (double)all);
    c->attention_multiplier = (float)(temperature * temperature);
  }
  return PHIBAL_OK;
}

static phibal_status parse_linear(const json_t *rope, const char *path, model_config *c) {
  c->rope_scaling = ROPE_LINEAR;
  phibal_status status = hf_json_real(rope, path, "factor", true, &c->rope_factor);
  if (!status && !(c->rope_factor > 0))
    status = phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: linear's 'factor' is %g", path,
                               (double)c->rope_factor);
  return status;
}

static phibal_status parse_llama3(const json_t *rope, const json_t *original, const char *path,
                                  model_config *c) {
  c->rope_scaling = ROPE_LLAMA3;
  phibal_status status = hf_json_real(rope, path, "factor", true, &c->rope_factor);
  if (!status)
    status = hf_json_integer(original, path, "original_max_position_embeddings", true,
                             &c->rope_original);
  if (!status) status = hf_json_real(rope, path, "high_freq_factor", true, &c->rope_fast);
  if (!status) status = hf_json_real(rope, path, "low_freq_factor", true, &c->rope_slow);
  if (!status && (!(c->rope_factor > 0) || c->rope_original < 1 || !(c->rope_slow > 0) ||
                  !(c->rope_fast > c->rope_slow)))
    status = phibal_status_set(
        PHIBAL_ERROR_FORMAT,
        "%s: llama3: factor %g, original_max_position_embeddings %d, "
        "low_freq_factor %g, high_freq_factor %g; expected positive numbers, "
        "the last above the one before",
        path, (double)c->rope_factor, c->rope_original, (double)c->rope_slow, (double)c->rope_fast);
  return status;
}

/* A number may be said inside the object and beside it; *found has the one that says it. */
static phibal_status one_place(const json_t *json, const json_t *rope, const char *path,
                               const char *key, const json_t **found) {
  const json_t *inside = json_object_get(rope, key), *beside = json_object_get(json, key);
  char shown[HF_SHOWN], other[HF_SHOWN];
  *found = inside ? rope : json;
  if (!inside || !beside || json_is_null(beside)) return PHIBAL_OK;
  if (json_is_number(inside) && json_is_number(beside) &&
      json_number_value(inside) == json_number_value(beside))
    return PHIBAL_OK;
  return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                           "%s: '%s' is %s, and %s in the object of rotary positions", path, key,
                           hf_json_show(beside, shown), hf_json_show(inside, other));
}

/* The object of rotary positions, or null. */
static phibal_status find_object(const json_t *json, const char *path, const json_t **found) {
  static const char *const names[] = {"rope_parameters", "rope_scaling"};
  const json_t *rope = NULL;
  char shown[HF_SHOWN];
  for (int i = 0; i < 2; i++) {
    const json_t *object = json_object_get(json, names[i]);
    if (object && !json_is_null(object) && !json_is_object(object))
      return phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: '%s' is %s, expected an object", path,
                               names[i], hf_json_show(object, shown));
    if (!json_object_size(object)) continue;
    /* transformers 5 takes rope_scaling where both are there, other programs rope_parameters. */
    if (rope && !json_equal(rope, object))
      return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                               "%s: 'rope_scaling' is %s, and 'rope_parameters' something else; "
                               "remove one of them",
                               path, hf_json_show(object, shown));
    rope = object;
  }
  *found = rope;
  return PHIBAL_OK;
}

phibal_status hf_rope_find(const json_t *json, const char *path, const char *key,
                           const json_t **value) {
  const json_t *rope = NULL, *found = NULL;
  phibal_status status = find_object(json, path, &rope);
  if (!status) status = one_place(json, rope, path, key, &found);
  *value = json_object_get(found, key);
  return status;
}

phibal_status hf_rope_parse(const json_t *json, const char *path,
                            const hf_architecture *architecture, model_config *c) {
  const json_t *rope = NULL, *theta, *original;
  char shown[HF_SHOWN];
  phibal_status status = find_object(json, path, &rope);
  if (status) return status;
  c->rope_fast = ROPE_FAST;
  c->rope_slow = ROPE_SLOW;
  status = one_place(json, rope, path, "rope_theta", &theta);
  if (!status) status = hf_json_real(theta, path, "rope_theta", true, &c->rope_theta);
  if (!status) status = one_place(json, rope, path, "original_max_position_embeddings", &original);
  /* {} is none to transformers, which has another object then. */
  if (!status && !rope && architecture->flag == HF_GPT_OSS)
    status = phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                               "%s: 'rope_scaling' and 'rope_parameters' say nothing", path);
  if (status || !rope) return status;
  /* The older name counts where the other is not there. */
  const char *key = json_object_get(rope, "rope_type") ? "rope_type" : "type";
  const json_t *type = json_object_get(rope, key);
  const char *name = !type ? "default" : json_is_string(type) ? json_string_value(type) : "";
  int which = 0;
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (!strcmp(name, types[i].name)) which = types[i].type;
  if (!which)
    return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                             "%s: rotary positions: '%s' is %s; phibal has \"default\", \"yarn\", "
                             "\"linear\" and \"llama3\"",
                             path, key, hf_json_show(type, shown));
  status = check_keys(rope, path, which, architecture);
  if (status || which == DEFAULT) return status;
  return which == YARN     ? parse_yarn(rope, original, path, architecture->latent, c)
         : which == LINEAR ? parse_linear(rope, path, c)
                           : parse_llama3(rope, original, path, c);
}

void hf_rope_make(const hf_architecture *architecture, const model_config *c, json_t *json) {
  json_object_set_new(json, "rope_theta", json_real((double)c->rope_theta));
  if (!(c->rope_factor > 0)) {
    json_object_set_new(json, "rope_scaling",
                        architecture->flag == HF_GPT_OSS
                            ? json_pack("{s:s}", "rope_type", "default")
                            : json_null());
    return;
  }
  if (c->rope_scaling != ROPE_YARN) {
    const bool linear = c->rope_scaling == ROPE_LINEAR;
    json_t *rope = json_pack("{s:s, s:f}", "rope_type", linear ? "linear" : "llama3", "factor",
                             (double)c->rope_factor);
    if (!linear) {
      json_object_set_new(rope, "original_max_position_embeddings", json_integer(c->rope_original));
      json_object_set_new(rope, "low_freq_factor", json_real((double)c->rope_slow));
      json_object_set_new(rope, "high_freq_factor", json_real((double)c->rope_fast));
    }
    json_object_set_new(json, "rope_scaling", rope);
    return;
  }
  const double magnitude = c->rope_magnitude > 0 ? (double)c->rope_magnitude : 1.0;
  json_t *rope =
      json_pack("{s:s, s:f, s:i, s:f, s:f, s:f, s:b}", "rope_type", "yarn", "factor",
                (double)c->rope_factor, "original_max_position_embeddings", c->rope_original,
                "beta_fast", (double)c->rope_fast, "beta_slow", (double)c->rope_slow,
                "attention_factor", magnitude, "truncate", !c->rope_fraction);
  const double logarithm = core_dd_log((double)c->rope_factor).hi;
  if (architecture->latent && c->attention_multiplier > 0 && logarithm > 0) {
    const double all = (sqrt((double)c->attention_multiplier) - 1.0) / (0.1 * logarithm);
    json_object_set_new(rope, "mscale_all_dim", json_real(all));
  }
  json_object_set_new(json, "rope_scaling", rope);
}
