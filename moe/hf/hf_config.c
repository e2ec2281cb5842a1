/* config.json to the options of a model, and back. */
#include "formats/file.h"
#include "hf_internal.h"
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Tensors of a layer as most architectures call them. */
#define USUAL_NAMES                                                                                \
  .router = "mlp.gate.weight", .bias = "mlp.gate.e_score_correction_bias",                         \
  .expert = "mlp.experts", .gate = "gate_proj", .up = "up_proj", .down = "down_proj"
/* As Mixtral calls them. */
#define MIXTRAL_NAMES                                                                              \
  .router = "block_sparse_moe.gate.weight", .expert = "block_sparse_moe.experts", .gate = "w1",    \
  .up = "w3", .down = "w2"
#define SHARED_NAME .shared = "mlp.shared_experts"

const hf_architecture hf_architectures[] = {
    {
        .model_type = "olmoe",
        .class_name = "OlmoeForCausalLM",
        .flag = HF_OLMOE,
        .normalisation = HF_BY_KEY,
        .qk_norm = QK_NORM_PROJECTION,
        USUAL_NAMES,
    },
    {
        .model_type = "mixtral",
        .class_name = "MixtralForCausalLM",
        .flag = HF_MIXTRAL,
        .normalisation = HF_NORMALISED,
        MIXTRAL_NAMES,
    },
    {
        .model_type = "qwen3_moe",
        .class_name = "Qwen3MoeForCausalLM",
        .flag = HF_QWEN3,
        .normalisation = HF_BY_KEY,
        .qk_norm = QK_NORM_HEADS,
        USUAL_NAMES,
    },
    {
        .model_type = "deepseek",
        .class_name = "DeepseekForCausalLM",
        .flag = HF_DEEPSEEK,
        .normalisation = HF_BY_KEY,
        .own_code = true,
        USUAL_NAMES,
        SHARED_NAME,
    },
    {
        .model_type = "deepseek_v2",
        .class_name = "DeepseekV2ForCausalLM",
        .flag = HF_DEEPSEEK2,
        .normalisation = HF_NOT_NORMALISED,
        .latent = true,
        .interleaved = true,
        USUAL_NAMES,
        SHARED_NAME,
    },
    {
        .model_type = "deepseek_v3",
        .class_name = "DeepseekV3ForCausalLM",
        .flag = HF_DEEPSEEK3,
        .sigmoid = true,
        .normalisation = HF_BY_KEY,
        .epsilon = 1e-20f,
        .latent = true,
        .interleaved = true,
        USUAL_NAMES,
        SHARED_NAME,
    },
    {
        .model_type = "dots1",
        .class_name = "Dots1ForCausalLM",
        .flag = HF_DOTS1,
        .sigmoid = true,
        .normalisation = HF_BY_KEY,
        .epsilon = 1e-20f,
        .qk_norm = QK_NORM_HEADS,
        USUAL_NAMES,
        SHARED_NAME,
    },
    {
        .model_type = "glm4_moe",
        .class_name = "Glm4MoeForCausalLM",
        .flag = HF_GLM4,
        .sigmoid = true,
        .normalisation = HF_BY_KEY,
        .epsilon = 1e-20f,
        USUAL_NAMES,
        SHARED_NAME,
    },
    {
        .model_type = "glm4_moe_lite",
        .class_name = "Glm4MoeLiteForCausalLM",
        .flag = HF_GLM4_LITE,
        .sigmoid = true,
        .normalisation = HF_BY_KEY,
        .epsilon = 1e-20f,
        .latent = true,
        .interleaved = true,
        USUAL_NAMES,
        SHARED_NAME,
    },
    {
        .model_type = "qwen2_moe",
        .class_name = "Qwen2MoeForCausalLM",
        .flag = HF_QWEN2,
        .normalisation = HF_BY_KEY,
        .shared_gate = true,
        USUAL_NAMES,
        .shared = "mlp.shared_expert",
    },
    {
        .model_type = "minimax_m2",
        .class_name = "MiniMaxM2ForCausalLM",
        .flag = HF_MINIMAX,
        .sigmoid = true,
        .normalisation = HF_NORMALISED,
        .qk_norm = QK_NORM_PROJECTION,
        MIXTRAL_NAMES,
        .bias = "block_sparse_moe.e_score_correction_bias",
    },
    {
        .model_type = "flex_olmo",
        .class_name = "FlexOlmoForCausalLM",
        .flag = HF_FLEX,
        .normalisation = HF_BY_KEY,
        .qk_norm = QK_NORM_PROJECTION,
        .post_norm = true,
        USUAL_NAMES,
    },
    {
        .model_type = "gpt_oss",
        .class_name = "GptOssForCausalLM",
        .flag = HF_GPT_OSS,
        .normalisation = HF_NORMALISED,
        .transposed = true,
        .router = "mlp.router.weight",
        .expert = "mlp.experts",
        .gate = "gate_proj",
        .up = "up_proj",
        .down = "down_proj",
    },
    {
        .model_type = "ernie4_5_moe",
        .class_name = "Ernie4_5_MoeForCausalLM",
        .flag = HF_ERNIE,
        .by_probability = true,
        .normalisation = HF_NORMALISED,
        .interleaved = true,
        .router = "mlp.gate.weight",
        .bias = "mlp.moe_statics.e_score_correction_bias",
        .expert = "mlp.experts",
        .gate = "gate_proj",
        .up = "up_proj",
        .down = "down_proj",
        SHARED_NAME,
    },
    /* DeepSeek-V3 by another name. */
    {
        .model_type = "kimi_k2",
        .class_name = "DeepseekV3ForCausalLM",
        .flag = HF_DEEPSEEK3,
        .sigmoid = true,
        .normalisation = HF_BY_KEY,
        .epsilon = 1e-20f,
        .latent = true,
        .interleaved = true,
        USUAL_NAMES,
        SHARED_NAME,
    },
};
const int hf_architecture_count = sizeof hf_architectures / sizeof *hf_architectures;

const hf_foreign hf_foreigners[] = {
    {"qwen3_next", "Qwen3-Next",
     "gated delta networks, a recurrence, in the place of attention in most layers; a gate of "
     "attention's output; norms whose weight is 1 + w"},
    {"llama4 llama4_text", "Llama 4",
     "attention in chunks, layers without rotary positions whose queries are scaled by position; "
     "queries and keys normed without weights after the rotation; a gate that scales the expert's "
     "input; dense and MoE layers in turn; experts in one transposed tensor"},
    {"gemma4 gemma4_text", "Gemma 4",
     "sliding windows, with other heads and rotary positions in the layers without; a dense FFN "
     "beside the experts, with norms of their own before and after each; a router with its own "
     "norm and scales; an embedding for each layer; keys that are values; layers that share keys "
     "and values"},
    {"deepseek_v32", "DeepSeek-V3.2",
     "an indexer that chooses for each token the 2048 others that it attends to"},
    {"deepseek_v4", "DeepSeek-V4",
     "several residual streams mixed by hyper-connections; attention to compressed keys and an "
     "indexer, with sinks and sliding windows; an output projection in groups; routers that hash "
     "tokens; a clamped activation"},
    {"longcat_flash", "LongCat-Flash",
     "two attentions and two dense FFNs in each layer, and experts beside them whose output is "
     "added at the layer's end; queries and latents scaled by sqrt(width / rank)"},
};
const int hf_foreigner_count = sizeof hf_foreigners / sizeof *hf_foreigners;

/* Whole numbers that go straight into an option. Where two rows of one option are both in a file,
   they have to agree; the first is written. */
typedef struct integer_key {
  unsigned architectures;
  const char *name;
  size_t offset;
  int32_t least;
  const char *none; /* what an option of 0 is written as, in JSON; null: 0 */
} integer_key;

#define OPTION(field) offsetof(model_config, field)
static const integer_key integer_keys[] = {
    {HF_ALL, "vocab_size", OPTION(vocabulary), 1, NULL},
    {HF_ALL, "hidden_size", OPTION(width), 1, NULL},
    {HF_ALL, "num_hidden_layers", OPTION(layers), 1, NULL},
    {HF_ALL, "num_attention_heads", OPTION(heads), 1, NULL},
    {HF_ALL, "num_key_value_heads", OPTION(key_value_heads), 1, NULL},
    {HF_ALL, "max_position_embeddings", OPTION(sequence), 1, NULL},
    {HF_ALL & ~(HF_ALL_DEEPSEEK | HF_GLM4_LITE), "head_dim", OPTION(head_width), 1, NULL},
    {HF_ERNIE, "moe_num_experts", OPTION(experts), 1, NULL},
    {HF_OLMOE | HF_QWEN2 | HF_QWEN3 | HF_FLEX | HF_ERNIE, "num_experts", OPTION(experts), 1, NULL},
    {HF_OLMOE | HF_QWEN3 | HF_MIXTRAL | HF_MINIMAX | HF_FLEX | HF_GPT_OSS, "num_local_experts",
     OPTION(experts), 1, NULL},
    {HF_ALL_DEEPSEEK | HF_GROUPED, "n_routed_experts", OPTION(experts), 1, NULL},
    {HF_MIXTRAL | HF_DEEPSEEK2 | HF_MINIMAX | HF_GPT_OSS, "num_experts", OPTION(experts), 1, NULL},
    {HF_GROUPED & ~HF_DEEPSEEK2, "num_local_experts", OPTION(experts), 1, NULL},
    {HF_ERNIE, "moe_k", OPTION(active), 1, NULL},
    {HF_ALL, "num_experts_per_tok", OPTION(active), 1, NULL},
    {HF_GPT_OSS, "experts_per_token", OPTION(active), 1, NULL},
    {HF_OLMOE | HF_MIXTRAL | HF_MINIMAX | HF_FLEX | HF_GPT_OSS, "intermediate_size", OPTION(hidden),
     1, NULL},
    {HF_QWEN2 | HF_QWEN3 | HF_ALL_DEEPSEEK | HF_GROUPED | HF_ERNIE, "moe_intermediate_size",
     OPTION(hidden), 1, NULL},
    {HF_QWEN2 | HF_QWEN3 | HF_ALL_DEEPSEEK | HF_GROUPED | HF_ERNIE, "intermediate_size",
     OPTION(dense_hidden), 0, NULL},
    {HF_ALL_DEEPSEEK | HF_GROUPED, "n_shared_experts", OPTION(shared_experts), 0, NULL},
    {HF_ALL_DEEPSEEK | HF_DOTS1 | HF_GLM4, "first_k_dense_replace", OPTION(dense_layers), 0, NULL},
    {HF_ERNIE, "moe_num_shared_experts", OPTION(shared_experts), 0, NULL},
    {HF_ERNIE, "moe_layer_start_index", OPTION(dense_layers), 0, NULL},
    {HF_LATENT, "kv_lora_rank", OPTION(latent_width), 1, NULL},
    {HF_LATENT, "q_lora_rank", OPTION(query_latent_width), 1, "null"},
    {HF_LATENT, "qk_rope_head_dim", OPTION(rope_width), 1, NULL},
    {HF_LATENT, "v_head_dim", OPTION(value_width), 1, NULL},
    {HF_GROUPED, "n_group", OPTION(expert_groups), 0, "1"},
    {HF_GROUPED, "topk_group", OPTION(active_groups), 0, "1"},
};
enum { INTEGER_KEYS = sizeof integer_keys / sizeof *integer_keys };

bool hf_is_checkpoint(const char *folder) {
  return folder_has(folder, "config.json");
}

void hf_architectures_list(char *text, size_t size) {
  size_t used = 0;
  for (int i = 0; i < hf_architecture_count && used < size; i++) {
    bool told = false; /* two types may have one class */
    for (int j = 0; j < i; j++)
      told |= !strcmp(hf_architectures[j].class_name, hf_architectures[i].class_name);
    if (!told)
      used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "",
                               hf_architectures[i].class_name);
  }
}

static phibal_status find_architecture(const json_t *json, const char *path,
                                       const hf_architecture **found) {
  const char *type = json_string_value(json_object_get(json, "model_type"));
  /* A file need not say a class; where it does, each of them has to be the one. */
  const json_t *classes = json_object_get(json, "architectures");
  const bool none = !classes || json_is_null(classes);
  for (int i = 0; i < hf_architecture_count; i++) {
    const hf_architecture *a = &hf_architectures[i];
    if (!type || strcmp(type, a->model_type)) continue;
    bool fits = none || json_array_size(classes) > 0;
    for (size_t j = 0; j < json_array_size(classes); j++) {
      const char *name = json_string_value(json_array_get(classes, j));
      fits &= name && !strcmp(name, a->class_name);
    }
    if (!fits) continue;
    *found = a;
    return PHIBAL_OK;
  }
  for (int i = 0; type && i < hf_foreigner_count; i++)
    if (hf_is_listed(hf_foreigners[i].model_types, type, ' '))
      return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                               "%s: 'model_type' is \"%s\"; phibal does not have for it: %s", path,
                               type, hf_foreigners[i].lacks);
  char known[512], type_shown[HF_SHOWN], name_shown[HF_SHOWN];
  hf_architectures_list(known, sizeof known);
  return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                           "%s: 'model_type' is %s, 'architectures' %s; phibal has %s", path,
                           hf_json_show(json_object_get(json, "model_type"), type_shown),
                           hf_json_show(json_object_get(json, "architectures"), name_shown), known);
}

static phibal_status parse_integers(const json_t *json, const char *path, unsigned flag,
                                    model_config *c) {
  for (int i = 0; i < INTEGER_KEYS; i++) {
    const integer_key *key = &integer_keys[i];
    if (!(key->architectures & flag)) continue;
    int32_t *option = (int32_t *)((char *)c + key->offset), before = *option;
    phibal_status status = hf_json_integer(json, path, key->name, false, option);
    if (status) return status;
    const json_t *given = json_object_get(json, key->name);
    if (json_is_integer(given) && *option < key->least)
      return phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: '%s' is %d; the minimum is %d", path,
                               key->name, *option, key->least);
    if (before && *option != before)
      return phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: '%s' is %d, and another key says %d", path,
                               key->name, *option, before);
  }
  return PHIBAL_OK;
}

/* Gates (SPEC.md R3 to R5e; gate_floor is ERNIE's). DeepSeek-V2's own code divides by the sum or
   multiplies by the factor, transformers' always multiplies: only what both agree on is read. */
static phibal_status parse_gate(const json_t *json, const char *path, const hf_architecture *a,
                                model_config *c) {
  bool normalised = a->normalisation == HF_NORMALISED;
  phibal_status status = hf_json_boolean(json, path, "norm_topk_prob", &normalised);
  c->route_scale = 1.0f;
  if (!status && a->flag & HF_GROUPED)
    status = hf_json_real(json, path, "routed_scaling_factor", false, &c->route_scale);
  if (status) return status;
  if ((a->normalisation == HF_NORMALISED && !normalised) ||
      (a->normalisation == HF_NOT_NORMALISED && normalised))
    return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                             "%s: 'norm_topk_prob' is %s; phibal has %s "
                             "with the other value only",
                             path, normalised ? "true" : "false", a->class_name);
  /* One expert's gate divided by itself is 1; DeepSeek leaves it as it is. */
  if (normalised && c->active == 1 && !a->sigmoid && a->flag != HF_DEEPSEEK)
    return phibal_status_set(
        PHIBAL_ERROR_UNSUPPORTED,
        "%s: one expert per token with a gate of 1, which gives the router no gradient", path);
  c->gate = a->sigmoid                    ? PHIBAL_GATE_SIGMOID
            : normalised && c->active > 1 ? PHIBAL_GATE_TOPK_SOFTMAX
                                          : PHIBAL_GATE_PROBABILITY;
  if (a->sigmoid && a->epsilon > 0) {
    c->gate_normalisation = normalised ? PHIBAL_NORMALISATION_SUM : PHIBAL_NORMALISATION_NONE;
    c->gate_epsilon = normalised ? a->epsilon : 0;
  }
  c->selection_bias = a->sigmoid || a->by_probability;
  if (!a->by_probability) return PHIBAL_OK;
  c->gate = PHIBAL_GATE_PROBABILITY;
  c->selection_score = PHIBAL_SCORE_PROBABILITY;
  c->gate_normalisation = PHIBAL_NORMALISATION_SUM;
  status = hf_json_real(json, path, "moe_norm_min", true, &c->gate_floor);
  if (!status && !(c->gate_floor > 0 && c->gate_floor <= 1))
    status = phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                               "%s: 'moe_norm_min' is %g; phibal has it above 0 and at most 1",
                               path, (double)c->gate_floor);
  return status;
}

static phibal_status parse_groups(const json_t *json, const char *path, const hf_architecture *a,
                                  model_config *c) {
  const json_t *method = json_object_get(json, "topk_method");
  const bool none = !method || json_is_null(method);
  const char *name = none ? "greedy" : json_is_string(method) ? json_string_value(method) : "";
  char shown[HF_SHOWN], other[HF_SHOWN];
  if (a->flag == HF_DEEPSEEK2 && strcmp(name, "greedy") && strcmp(name, "group_limited_greedy"))
    return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED, "%s: 'topk_method' is %s", path,
                             hf_json_show(method, shown));
  if (!(a->flag & HF_GROUPED) || (a->flag == HF_DEEPSEEK2 && !strcmp(name, "greedy"))) {
    c->expert_groups = c->active_groups = 0;
    return PHIBAL_OK;
  }
  if (!c->expert_groups || !c->active_groups || c->active_groups > c->expert_groups)
    return phibal_status_set(PHIBAL_ERROR_FORMAT,
                             "%s: 'topk_group' is %s of 'n_group', %s, groups of experts", path,
                             hf_json_show(json_object_get(json, "topk_group"), shown),
                             hf_json_show(json_object_get(json, "n_group"), other));
  if (c->expert_groups == 1) c->expert_groups = c->active_groups = 0;
  return PHIBAL_OK;
}

/* Whether a list has a value for each of so many layers: the first `before` times one, then the
   other; both are JSON. */
static bool is_list_of(const json_t *list, int32_t layers, int32_t before, const json_t *one,
                       const json_t *other) {
  if (!json_is_array(list) || json_array_size(list) != (size_t)layers) return false;
  for (int32_t i = 0; i < layers; i++)
    if (!json_equal(json_array_get(list, (size_t)i), i < before ? one : other)) return false;
  return true;
}

/* ERNIE's layers from the first with experts to the last, which has to be the model's. */
static phibal_status parse_first_and_last(const json_t *json, const char *path, model_config *c) {
  const json_t *end = json_object_get(json, "moe_layer_end_index");
  int32_t last = -1;
  phibal_status status = PHIBAL_OK;
  if (!json_is_integer(end) || json_integer_value(end) != -1)
    status = hf_json_integer(json, path, "moe_layer_end_index", true, &last);
  if (c->dense_layers > c->layers) c->dense_layers = c->layers;
  if (!status && last != -1 && last < c->layers - 1)
    status =
        phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                          "%s: 'moe_layer_end_index' is %d; phibal has dense layers only as the "
                          "first of %d",
                          path, last, c->layers);
  return status;
}

/* Only the first layers may be dense. */
static phibal_status parse_dense(const json_t *json, const char *path, const hf_architecture *a,
                                 model_config *c) {
  const char *key = a->flag == HF_GLM4_LITE ? "mlp_layer_types" : "mlp_only_layers";
  const json_t *list = json_object_get(json, key);
  const bool none = !list || json_is_null(list);
  char shown[HF_SHOWN], other[HF_SHOWN];
  bool first = true;
  if (a->flag == HF_ERNIE) return parse_first_and_last(json, path, c);
  if (!hf_keys_reads(a, key)) return PHIBAL_OK;
  if (a->flag == HF_GLM4_LITE) {
    json_t *dense = json_string("dense"), *sparse = json_string("sparse");
    c->dense_layers = none ? 1 : 0;
    while (!none && json_equal(json_array_get(list, (size_t)c->dense_layers), dense))
      c->dense_layers++;
    first = none || is_list_of(list, c->layers, c->dense_layers, dense, sparse);
    json_decref(dense);
    json_decref(sparse);
  } else if (!none) {
    first = json_is_array(list) && json_array_size(list) <= (size_t)c->layers;
    for (size_t i = 0; first && i < json_array_size(list); i++) {
      const json_t *layer = json_array_get(list, i);
      first = json_is_integer(layer) && json_integer_value(layer) == (json_int_t)i;
    }
    c->dense_layers = (int32_t)json_array_size(list);
  }
  if (!first)
    return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                             "%s: '%s' is %s; phibal has dense layers only as the first of %d",
                             path, key, hf_json_show(list, shown), c->layers);
  /* A name that says the same, which transformers passes over. */
  const json_t *count = json_object_get(json, "first_k_dense_replace");
  if (a->flag == HF_GLM4_LITE && count && !json_is_null(count) &&
      (!json_is_integer(count) || json_integer_value(count) != c->dense_layers))
    return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                             "%s: 'first_k_dense_replace' is %s, and 'mlp_layer_types' %s", path,
                             hf_json_show(count, shown), hf_json_show(list, other));
  return PHIBAL_OK;
}

/* gpt-oss: the kind of each layer, where none is given every other one from the first has a window;
   and attention's other parts that others have not. */
static phibal_status parse_gpt_oss(const json_t *json, const char *path, model_config *c) {
  const json_t *list = json_object_get(json, "layer_types");
  const bool none = !list || json_is_null(list);
  int32_t window = 0, full = 0, every = 0;
  char shown[HF_SHOWN];
  phibal_status status = hf_json_integer(json, path, "sliding_window", true, &window);
  if (!status) status = hf_json_boolean(json, path, "attention_bias", &c->output_bias);
  if (!status) status = hf_json_real(json, path, "swiglu_limit", true, &c->expert_limit);
  if (!status) status = hf_json_real(json, path, "swiglu_alpha", true, &c->expert_slope);
  if (status) return status;
  if (window < 1)
    return phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: 'sliding_window' is %d; the minimum is 1",
                             path, window);
  if (!(c->expert_limit > 0) || !(c->expert_slope > 0))
    return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                             "%s: 'swiglu_limit' is %g, and 'swiglu_alpha' %g; phibal has them "
                             "above 0",
                             path, (double)c->expert_limit, (double)c->expert_slope);
  c->sinks = true;
  c->qkv_bias = c->output_bias;
  json_t *types[2] = {json_string("sliding_attention"), json_string("full_attention")};
  bool fits = none || json_array_size(list) == (size_t)c->layers;
  if (none) every = c->layers > 1 ? 2 : 0;
  for (int32_t i = 0; i < c->layers && fits && !none; i++) {
    const json_t *type = json_array_get(list, (size_t)i);
    const bool is_full = json_equal(type, types[1]);
    if (is_full && !every) every = i + 1;
    fits = is_full == (every && (i + 1) % every == 0) && (is_full || json_equal(type, types[0]));
    full += is_full;
  }
  json_decref(types[0]);
  json_decref(types[1]);
  if (!fits)
    return phibal_status_set(
        PHIBAL_ERROR_UNSUPPORTED,
        "%s: 'layer_types' is %s; phibal has \"sliding_attention\" for each of "
        "%d layers but every n-th, which is \"full_attention\"",
        path, hf_json_show(list, shown), c->layers);
  if (full == c->layers) return PHIBAL_OK; /* without windows */
  c->window = window;
  c->full_attention_every = every;
  return PHIBAL_OK;
}

/* Every layer attends to the whole sequence. */
static phibal_status parse_windows(const json_t *json, const char *path, const hf_architecture *a,
                                   model_config *c) {
  if (a->flag == HF_GPT_OSS) return parse_gpt_oss(json, path, c);
  static const struct {
    const char *key, *each;
  } lists[] = {{"layer_types", "\"full_attention\""}, {"attn_type_list", "1"}};
  char shown[HF_SHOWN];
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
    const json_t *list = json_object_get(json, lists[i].key);
    if (!hf_keys_reads(a, lists[i].key) || !list || json_is_null(list)) continue;
    json_t *each = json_loads(lists[i].each, JSON_DECODE_ANY, NULL);
    const bool full = is_list_of(list, c->layers, 0, NULL, each);
    json_decref(each);
    if (!full)
      return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                               "%s: '%s' is %s; phibal has %s for each of %d "
                               "layers only",
                               path, lists[i].key, hf_json_show(list, shown), lists[i].each,
                               c->layers);
  }
  const json_t *types = json_object_get(json, "layer_types");
  const json_t *window = json_object_get(json, "sliding_window");
  int32_t from = 0;
  if (!hf_keys_reads(a, "max_window_layers") || json_is_null(window)) return PHIBAL_OK;
  phibal_status status = hf_json_integer(json, path, "max_window_layers", true, &from);
  if (!status && json_is_null(types) && from < c->layers)
    status = phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                               "%s: 'sliding_window' is %s for the layers from %d of %d on; phibal "
                               "has sliding windows for gpt_oss only",
                               path, hf_json_show(window, shown), from, c->layers);
  return status;
}

/* The part of a head that is turned. Its width is what transformers makes of the factor. */
static phibal_status parse_rotary(const json_t *json, const char *path, const hf_architecture *a,
                                  model_config *c) {
  const double n = c->head_width;
  double factor = 1;
  int32_t width = 0;
  phibal_status status = PHIBAL_OK;
  if (!hf_keys_reads(a, "partial_rotary_factor")) return PHIBAL_OK;
  status = hf_json_integer(json, path, "rotary_dim", false, &width);
  const json_t *given;
  if (!status) status = hf_rope_find(json, path, "partial_rotary_factor", &given);
  if (status) return status;
  const bool has_factor = given && !json_is_null(given);
  if (has_factor && !json_is_number(given)) {
    char shown[HF_SHOWN];
    return phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: 'partial_rotary_factor' is %s", path,
                             hf_json_show(given, shown));
  }
  if (has_factor) factor = json_number_value(given);
  if (json_is_integer(json_object_get(json, "rotary_dim"))) {
    if (has_factor && factor != (double)width / n)
      return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                               "%s: 'rotary_dim' is %d of %d, and 'partial_rotary_factor' %g", path,
                               width, c->head_width, factor);
    factor = (double)width / n;
  }
  const double turned = floor(n * factor);
  if (!(turned >= 2 && turned <= n && fmod(turned, 2) == 0))
    return phibal_status_set(
        PHIBAL_ERROR_UNSUPPORTED,
        "%s: rotary positions of %g numbers of a head's %d; phibal has an even "
        "number from 2",
        path, turned, c->head_width);
  c->rope_width = turned < n ? (int32_t)turned : 0;
  return PHIBAL_OK;
}

/* Qwen2-MoE has shared experts as one of any width; phibal as a number of experts. */
static phibal_status parse_shared(const json_t *json, const char *path, model_config *c) {
  int32_t width = 0;
  phibal_status status =
      hf_json_integer(json, path, "shared_expert_intermediate_size", true, &width);
  if (!status && (width < 1 || width % c->hidden))
    status =
        phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                          "%s: 'shared_expert_intermediate_size' is %d; phibal has multiples of "
                          "'moe_intermediate_size', %d",
                          path, width, c->hidden);
  if (!status) c->shared_experts = width / c->hidden;
  return status;
}

static phibal_status parse_heads(const json_t *json, const char *path, const hf_architecture *a,
                                 model_config *c) {
  if (!c->key_value_heads) c->key_value_heads = c->heads;
  c->latent_norm_epsilon = 1e-6f; /* whatever rms_norm_eps is: a constant of their code */
  if (!a->latent) {
    if (!c->head_width) c->head_width = c->width / c->heads;
    if (c->head_width) return PHIBAL_OK;
    return phibal_status_set(PHIBAL_ERROR_FORMAT,
                             "%s: 'num_attention_heads' is %d, and 'hidden_size' %d", path,
                             c->heads, c->width);
  }
  int32_t plain = 0;
  phibal_status status = hf_json_integer(json, path, "qk_nope_head_dim", true, &plain);
  if (!status && plain > INT32_MAX - c->rope_width)
    status = phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: 'qk_nope_head_dim' is %d", path, plain);
  if (!status) c->head_width = plain + c->rope_width;
  /* V3's class lets a file set it, and takes it for the width of the rotation. */
  int32_t turned = c->rope_width;
  if (!status && a->flag != HF_DEEPSEEK2)
    status = hf_json_integer(json, path, "head_dim", false, &turned);
  if (!status && turned != c->rope_width)
    status =
        phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                          "%s: 'head_dim' is %d; phibal has it as 'qk_rope_head_dim', %d, only",
                          path, turned, c->rope_width);
  return status;
}

/* transformers refuses padding beyond the vocabulary, where a file without the key may put it. */
static phibal_status check_padding(const json_t *json, const char *path, const hf_architecture *a,
                                   const model_config *c) {
  const json_t *padding = json_object_get(json, "pad_token_id");
  if (!hf_keys_reads(a, "pad_token_id") || json_is_null(padding)) return PHIBAL_OK;
  int32_t token = 0;
  phibal_status status = hf_json_integer(json, path, "pad_token_id", true, &token);
  if (!status && (token < 0 || token >= c->vocabulary))
    status =
        phibal_status_set(PHIBAL_ERROR_FORMAT,
                          "%s: 'pad_token_id' is %d (without the key, that of the architecture), "
                          "and the vocabulary has %d tokens",
                          path, token, c->vocabulary);
  return status;
}

/* DeepSeek's FP8: E4M3 with a scale for each block, by which transformers' FP8 kernels multiply
   too; these also round what the weights are multiplied with, which phibal does not. And gpt-oss's
   MXFP4, of whose numbers each is one of 16 times the power of two of its block. */
static phibal_status parse_quantised(const json_t *json, const char *path, hf_config *config) {
  const hf_architecture *a = config->architecture;
  static const struct {
    const char *key, *values; /* " value value "; null: looked at elsewhere */
  } known[] = {{"quant_method", " fp8 "},
               {"fmt", " e4m3 float8_e4m3fn "},
               {"activation_scheme", " dynamic "},
               {"weight_block_size", NULL},
               {"modules_to_not_convert", NULL}};
  static const char *const packed[] = {"quant_method", "modules_to_not_convert"};
  const json_t *quantised = json_object_get(json, "quantization_config");
  const char *key, *what = "no FP8 with blocks";
  json_t *value;
  if (!quantised || json_is_null(quantised)) return PHIBAL_OK;
  const char *method = json_string_value(json_object_get(quantised, "quant_method"));
  config->packed = a->transposed && method && !strcmp(method, "mxfp4");
  if (config->packed) json_object_foreach((json_t *)(uintptr_t)quantised, key, value) {
      char word[HF_SHOWN];
      if (!strcmp(key, packed[0]) || !strcmp(key, packed[1])) continue;
      return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                               "%s: 'quantization_config' has %s, which phibal does not know of "
                               "mxfp4",
                               path, hf_json_show_text(key, word));
    }
  if (config->packed) return PHIBAL_OK;
  const json_t *block = json_object_get(quantised, "weight_block_size");
  bool fits = json_object_get(quantised, "quant_method") && json_array_size(block) == 2;
  for (size_t i = 0; fits && i < 2; i++) {
    const json_t *size = json_array_get(block, i);
    fits = json_is_integer(size) && json_integer_value(size) > 0 &&
           json_integer_value(size) <= INT32_MAX;
    if (fits) config->block[i] = (int32_t)json_integer_value(size);
  }
  json_object_foreach((json_t *)(uintptr_t)quantised, key, value) {
    bool good = false;
    char word[64] = "";
    snprintf(word, sizeof word, " %s ", json_is_string(value) ? json_string_value(value) : "?");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
      good |= !strcmp(key, known[i].key) && (!known[i].values || strstr(known[i].values, word));
    if (!good) what = key;
    fits &= good;
  }
  char shown[HF_SHOWN], word[HF_SHOWN];
  if (fits) return PHIBAL_OK;
  return phibal_status_set(
      PHIBAL_ERROR_UNSUPPORTED,
      "%s: 'quantization_config' is %s: %s; phibal reads quant_method fp8 in e4m3, "
      "with weight_block_size, and for gpt_oss mxfp4",
      path, hf_json_show(quantised, shown), hf_json_show_text(what, word));
}

static phibal_status parse_complete(const json_t *json, const char *path, hf_config *config) {
  model_config *c = &config->model;
  bool tied = false;
  const hf_architecture *a = config->architecture;
  c->activation = PHIBAL_ACTIVATION_SILU;
  c->qk_norm = a->qk_norm;
  c->rope_interleaved = a->interleaved;
  c->post_norm = a->post_norm;
  c->shared_gate = a->shared_gate;
  bool normed = false;
  phibal_status status = parse_integers(json, path, a->flag, c);
  if (!status) status = hf_json_real(json, path, "rms_norm_eps", true, &c->norm_epsilon);
  if (!status) status = hf_json_boolean(json, path, "tie_word_embeddings", &tied);
  if (!status && hf_keys_reads(a, "rope_interleave"))
    status = hf_json_boolean(json, path, "rope_interleave", &c->rope_interleaved);
  if (!status && hf_keys_reads(a, "qkv_bias"))
    status = hf_json_boolean(json, path, "qkv_bias", &c->qkv_bias);
  if (!status && hf_keys_reads(a, "attention_bias"))
    status = hf_json_boolean(json, path, "attention_bias", &c->qkv_bias);
  if (!status && hf_keys_reads(a, "use_qk_norm"))
    status = hf_json_boolean(json, path, "use_qk_norm", &normed);
  if (normed) c->qk_norm = QK_NORM_HEADS;
  if (!status) status = parse_heads(json, path, a, c);
  if (!status) status = parse_gate(json, path, a, c);
  if (!status) status = parse_groups(json, path, a, c);
  if (!status) status = parse_dense(json, path, a, c);
  if (!status) status = parse_windows(json, path, a, c);
  if (!status) status = parse_rotary(json, path, a, c);
  if (!status && a->flag == HF_QWEN2) status = parse_shared(json, path, c);
  if (!status) status = hf_rope_parse(json, path, a, c);
  if (!status) status = check_padding(json, path, a, c);
  if (!status) status = parse_quantised(json, path, config);
  for (int i = 0; i < 2 && !status; i++) {
    static const char *const names[] = {"num_nextn_predict_layers", "num_mtp_layers"};
    if (hf_keys_reads(a, names[i]))
      status = hf_json_integer(json, path, names[i], false, &config->prediction_layers);
  }
  if (status) return status;
  const struct {
    const char *key;
    float value;
  } above_0[] = {{"rms_norm_eps", c->norm_epsilon},
                 {"rope_theta", c->rope_theta},
                 {"routed_scaling_factor", c->route_scale}};
  for (size_t i = 0; i < sizeof above_0 / sizeof *above_0; i++)
    if (!(above_0[i].value > 0))
      return phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: '%s' is %g, and must be above 0", path,
                               above_0[i].key, (double)above_0[i].value);
  c->untied_head = !tied;
  status = model_config_check(c);
  return status ? phibal_status_set(status, "%s: %s", path, phibal_status_message()) : PHIBAL_OK;
}

phibal_status hf_config_parse(const json_t *given, const char *path, const char *ignored,
                              hf_config *config) {
  *config = (hf_config){0};
  phibal_status status = find_architecture(given, path, &config->architecture);
  if (status) return status;
  json_t *json = json_copy((json_t *)(uintptr_t)given);
  if (!json) return phibal_status_set(PHIBAL_ERROR_MEMORY, "out of memory");
  status = hf_keys_complete(json, path, config->architecture, ignored, NULL);
  if (!status) status = parse_complete(json, path, config);
  json_decref(json);
  return status;
}

phibal_status hf_config_read(const char *folder, const char *ignored, hf_config *config) {
  json_t *json = NULL;
  char *path = string_format("%s/config.json", folder);
  if (!path) return phibal_status_set(PHIBAL_ERROR_MEMORY, "out of memory");
  phibal_status status = hf_json_read(path, &json);
  if (!status) status = hf_config_parse(json, path, ignored, config);
  json_decref(json);
  free(path);
  return status;
}

phibal_status hf_config_explain(const char *folder, const char *ignored, hf_config *config,
                                string_list *reasons) {
  *config = (hf_config){0};
  json_t *json = NULL;
  char *path = string_format("%s/config.json", folder);
  if (!path) return phibal_status_set(PHIBAL_ERROR_MEMORY, "out of memory");
  phibal_status status = hf_json_read(path, &json);
  if (!status && (find_architecture(json, path, &config->architecture) ||
                  (status = hf_keys_complete(json, path, config->architecture, ignored, reasons)) ||
                  parse_complete(json, path, config)))
    status = string_list_append(reasons, phibal_status_message());
  json_decref(json);
  free(path);
  return status;
}

static void make_integers(unsigned flag, const model_config *c, json_t *json) {
  for (int i = 0; i < INTEGER_KEYS; i++) {
    const integer_key *key = &integer_keys[i];
    bool written = key->architectures & flag;
    for (int j = 0; j < i; j++)
      written &= !(integer_keys[j].offset == key->offset && integer_keys[j].architectures & flag);
    const int32_t option = *(const int32_t *)((const char *)c + key->offset);
    if (!written) continue;
    json_object_set_new(json, key->name,
                        !option && key->none ? json_loads(key->none, JSON_DECODE_ANY, NULL)
                                             : json_integer(option));
  }
}

/* The dense layers' numbers, or the kind of each layer. */
static json_t *make_layers(const model_config *c, bool kinds) {
  json_t *list = json_array();
  for (int32_t i = 0; i < (kinds ? c->layers : c->dense_layers); i++)
    json_array_append_new(list, !kinds                ? json_integer(i)
                                : i < c->dense_layers ? json_string("dense")
                                                      : json_string("sparse"));
  return list;
}

/* Which of the layers have a window, as parse_gpt_oss reads it. */
static json_t *make_windows(const model_config *c) {
  json_t *list = json_array();
  const int32_t every = c->full_attention_every;
  for (int32_t i = 0; i < c->layers; i++) {
    const bool full = !c->window || (every && (i + 1) % every == 0);
    json_array_append_new(list, json_string(full ? "full_attention" : "sliding_attention"));
  }
  return list;
}

/* The factor of which parse_rotary makes rope_width again. */
static double rotary_factor(const model_config *c) {
  const double n = c->head_width, width = c->rope_width ? c->rope_width : n;
  const double factor = width / n;
  return floor(n * factor) < width ? nextafter(factor, 2) : factor;
}

json_t *hf_config_make(const hf_architecture *a, const model_config *options) {
  model_config made = *options;
  const model_config *c = &made;
  if (made.expert_groups <= 1) made.expert_groups = made.active_groups = 0; /* one is none */
  json_t *json = json_pack("{s:[s], s:s, s:f, s:b, s:f, s:f, s:b}", "architectures", a->class_name,
                           "model_type", a->model_type, "rms_norm_eps", (double)c->norm_epsilon,
                           "tie_word_embeddings", !c->untied_head, "attention_dropout", 0.0,
                           "initializer_range", 0.02, "use_cache", 1);
  hf_keys_make_fixed(a->flag, json);
  make_integers(a->flag, c, json);
  hf_rope_make(a, c, json);
  if (a->latent)
    json_object_set_new(json, "qk_nope_head_dim", json_integer(c->head_width - c->rope_width));
  const struct {
    const char *key;
    json_t *value;
  } values[] = {
      {"norm_topk_prob",
       json_boolean(c->gate == PHIBAL_GATE_TOPK_SOFTMAX || a->normalisation == HF_NORMALISED ||
                    c->gate_normalisation == PHIBAL_NORMALISATION_SUM ||
                    (a->sigmoid && c->gate_normalisation == PHIBAL_NORMALISATION_OF_GATE))},
      {"routed_scaling_factor", json_real((double)c->route_scale)},
      {"topk_method", json_string(c->expert_groups ? "group_limited_greedy" : "greedy")},
      {"rope_interleave", json_boolean(c->rope_interleaved)},
      {"mlp_only_layers", make_layers(c, false)},
      {"mlp_layer_types", make_layers(c, true)},
      {"attention_bias", json_boolean(c->qkv_bias)},
      {"qkv_bias", json_boolean(c->qkv_bias)},
      {"use_qk_norm", json_boolean(c->qk_norm == QK_NORM_HEADS)},
      {"partial_rotary_factor", json_real(rotary_factor(c))},
      {"shared_expert_intermediate_size", json_integer((json_int_t)c->shared_experts * c->hidden)},
      {"sliding_window",
       a->flag != HF_GPT_OSS ? json_null() : json_integer(c->window ? c->window : 128)},
      {"swiglu_alpha", json_real((double)c->expert_slope)},
      {"swiglu_limit", json_real((double)c->expert_limit)},
      {"pad_token_id", json_null()},
      {"moe_layer_end_index", json_integer(-1)},
      {"moe_norm_min", json_real((double)c->gate_floor)},
  };
  for (size_t i = 0; i < sizeof values / sizeof *values; i++)
    if (hf_keys_reads(a, values[i].key))
      json_object_set_new(json, values[i].key, values[i].value);
    else
      json_decref(values[i].value);
  if (a->flag == HF_GPT_OSS) {
    json_object_set_new(json, "layer_types", make_windows(c));
    json_object_set_new(json, "experts_per_token", json_integer(c->active));
  }
  if (a->flag == HF_DEEPSEEK3)
    json_object_set_new(json, "num_nextn_predict_layers", json_integer(0));
  return json;
}
