/* The keys of a config.json, family by family: those that are read, with what transformers'
   configuration class has where one is missing; those that must have one value; and those that
   change nothing of what a model computes. Any other key is an error. */
#include "hf_internal.h"
#include "formats/file.h"
#include <string.h>

/* A family is the place of its flag's bit. */
enum {
  OLMOE,
  MIXTRAL,
  QWEN3,
  DEEPSEEK,
  DEEPSEEK2,
  DEEPSEEK3,
  DOTS1,
  GLM4,
  GLM4_LITE,
  QWEN2,
  MINIMAX,
  FLEX,
  GPT_OSS,
  ERNIE,
  FAMILIES
};
_Static_assert(HF_ALL == (1u << FAMILIES) - 1, "a flag for each family");

#define NEEDED ""
#define ABSENT "null"
#define GPT_OSS_ROPE                                                                               \
  "{\"rope_type\": \"yarn\", \"factor\": 32.0, \"beta_fast\": 32.0, \"beta_slow\": 1.0, "          \
  "\"truncate\": false, \"original_max_position_embeddings\": 4096}"

/* `missing` is the value, in JSON, of a key that a file leaves out; NEEDED: an error; a null
   pointer: the family has no such key. */
static const struct {
  const char *name;
  const char *missing[FAMILIES]; /* without a name: of OLMOE to DEEPSEEK3 */
  unsigned null;                 /* families in which null is a value, the same as none */
  const char *other_name;        /* by which a file may say it too */
} read_keys[] = {
    {"model_type",
     {NEEDED, NEEDED, NEEDED, NEEDED, NEEDED,
      NEEDED, [DOTS1] = NEEDED, [GLM4] = NEEDED, [GLM4_LITE] = NEEDED, [QWEN2] = NEEDED,
      [MINIMAX] = NEEDED, [FLEX] = NEEDED, [GPT_OSS] = NEEDED, [ERNIE] = NEEDED},
     0,
     NULL},
    {"architectures",
     {ABSENT, ABSENT, ABSENT, ABSENT, ABSENT,
      ABSENT, [DOTS1] = ABSENT, [GLM4] = ABSENT, [GLM4_LITE] = ABSENT, [QWEN2] = ABSENT,
      [MINIMAX] = ABSENT, [FLEX] = ABSENT, [GPT_OSS] = ABSENT, [ERNIE] = ABSENT},
     HF_ALL,
     NULL},
    {"vocab_size",
     {"50304", "32000", "151936", NEEDED, "102400",
      "129280", [DOTS1] = "152064", [GLM4] = "151552", [GLM4_LITE] = "154880", [QWEN2] = "151936",
      [MINIMAX] = "200064", [FLEX] = "100352", [GPT_OSS] = "201088", [ERNIE] = "103424"},
     0,
     NULL},
    {"hidden_size",
     {"2048", "4096", "2048", NEEDED, "4096",
      "7168", [DOTS1] = "4608", [GLM4] = "4096", [GLM4_LITE] = "2048", [QWEN2] = "2048",
      [MINIMAX] = "3072", [FLEX] = "4096", [GPT_OSS] = "2880", [ERNIE] = "2560"},
     0,
     NULL},
    {"num_hidden_layers",
     {"16", "32", "24", NEEDED, "32", "61", [DOTS1] = "62", [GLM4] = "46", [GLM4_LITE] = "47",
      [QWEN2] = "24", [MINIMAX] = "62", [FLEX] = "32", [GPT_OSS] = "36", [ERNIE] = "28"},
     0,
     NULL},
    {"num_attention_heads",
     {"16", "32", "32", NEEDED, "32", "128", [DOTS1] = "32", [GLM4] = "96", [GLM4_LITE] = "20",
      [QWEN2] = "16", [MINIMAX] = "48", [FLEX] = "32", [GPT_OSS] = "64", [ERNIE] = "20"},
     0,
     NULL},
    {"num_key_value_heads",
     {ABSENT, "8", "4", ABSENT, ABSENT, "128", [DOTS1] = "32", [GLM4] = "8", [GLM4_LITE] = "20",
      [QWEN2] = "16", [MINIMAX] = "8", [FLEX] = ABSENT, [GPT_OSS] = "8", [ERNIE] = "4"},
     HF_ALL & ~(HF_QWEN3 | HF_GLM4 | HF_GLM4_LITE | HF_MINIMAX | HF_GPT_OSS | HF_ERNIE),
     NULL},
    {"max_position_embeddings",
     {"4096", "131072", "32768", NEEDED, "2048",
      "4096", [DOTS1] = "2048", [GLM4] = "131072", [GLM4_LITE] = "202752", [QWEN2] = "32768",
      [MINIMAX] = "196608", [FLEX] = "4096", [GPT_OSS] = "131072", [ERNIE] = "131072"},
     0,
     NULL},
    {"head_dim",
     {ABSENT, ABSENT, ABSENT, NULL, NULL,
      ABSENT, [DOTS1] = ABSENT, [GLM4] = ABSENT, [GLM4_LITE] = ABSENT, [QWEN2] = ABSENT,
      [MINIMAX] = "128", [FLEX] = ABSENT, [GPT_OSS] = "64", [ERNIE] = ABSENT},
     HF_MIXTRAL,
     NULL},
    {"num_experts",
     {"64", ABSENT, "128", NULL, ABSENT, [QWEN2] = "60", [MINIMAX] = ABSENT, [FLEX] = "7",
      [GPT_OSS] = ABSENT, [ERNIE] = ABSENT},
     0,
     "num_local_experts"},
    {"num_local_experts",
     {ABSENT, "8", ABSENT, NULL, NULL, ABSENT, [DOTS1] = ABSENT, [GLM4] = ABSENT,
      [GLM4_LITE] = ABSENT, [MINIMAX] = "256", [FLEX] = ABSENT, [GPT_OSS] = "128"},
     0,
     "num_experts"},
    {"moe_num_experts", {[ERNIE] = "64"}, 0, "num_experts"},
    {"moe_k", {[ERNIE] = "6"}, 0, "num_experts_per_tok"},
    {"moe_num_shared_experts", {[ERNIE] = "2"}, 0, NULL},
    {"moe_layer_start_index", {[ERNIE] = "1"}, 0, NULL},
    {"moe_layer_end_index", {[ERNIE] = "-1"}, 0, NULL},
    {"moe_norm_min", {[ERNIE] = "1e-12"}, 0, NULL},
    {"n_routed_experts", {NULL, NULL, NULL, NEEDED, "64", NULL}, 0, "num_experts"},
    {"n_routed_experts",
     {[DEEPSEEK3] = "256", [DOTS1] = NEEDED, [GLM4] = "128", [GLM4_LITE] = "64"},
     0,
     "num_local_experts"},
    {"num_experts_per_tok",
     {"8", "2", "8", NEEDED, NEEDED, "8", [DOTS1] = NEEDED, [GLM4] = "8", [GLM4_LITE] = "4",
      [QWEN2] = "4", [MINIMAX] = "8", [FLEX] = "5", [GPT_OSS] = "4", [ERNIE] = ABSENT},
     0,
     NULL},
    {"intermediate_size",
     {"2048", "14336", "6144", NEEDED, "11008",
      "18432", [DOTS1] = "10944", [GLM4] = "10944", [GLM4_LITE] = "10240", [QWEN2] = "5632",
      [MINIMAX] = "1536", [FLEX] = "11008", [GPT_OSS] = "2880", [ERNIE] = "12288"},
     0,
     NULL},
    {"moe_intermediate_size",
     {NULL, NULL, "768", NEEDED, "1407", "2048", [DOTS1] = "1408", [GLM4] = "1408",
      [GLM4_LITE] = "1536", [QWEN2] = "1408", [ERNIE] = "1536"},
     0,
     NULL},
    {"n_shared_experts",
     {NULL, NULL, NULL, ABSENT, "2", "1", [DOTS1] = NEEDED, [GLM4] = "1", [GLM4_LITE] = "1"},
     HF_DEEPSEEK,
     NULL},
    {"first_k_dense_replace",
     {NULL, NULL, NULL, "0", "0", "3", [DOTS1] = "0", [GLM4] = "1", [GLM4_LITE] = ABSENT},
     0,
     NULL},
    {"kv_lora_rank", {NULL, NULL, NULL, NULL, "512", "512", [GLM4_LITE] = "512"}, 0, NULL},
    {"q_lora_rank", {NULL, NULL, NULL, NULL, "1536", "1536", [GLM4_LITE] = "768"}, HF_ALL, NULL},
    {"qk_nope_head_dim", {NULL, NULL, NULL, NULL, "128", "128", [GLM4_LITE] = "192"}, 0, NULL},
    {"qk_rope_head_dim", {NULL, NULL, NULL, NULL, "64", "64", [GLM4_LITE] = "64"}, 0, NULL},
    {"v_head_dim", {NULL, NULL, NULL, NULL, "128", "128", [GLM4_LITE] = "256"}, 0, NULL},
    {"n_group",
     {NULL, NULL, NULL, NULL, ABSENT, "8", [DOTS1] = "1", [GLM4] = "1", [GLM4_LITE] = "1"},
     HF_DEEPSEEK2,
     NULL},
    {"topk_group",
     {NULL, NULL, NULL, NULL, ABSENT, "4", [DOTS1] = "1", [GLM4] = "1", [GLM4_LITE] = "1"},
     HF_DEEPSEEK2,
     NULL},
    {"topk_method", {NULL, NULL, NULL, NULL, "\"greedy\"", NULL}, 0, NULL},
    {"norm_topk_prob",
     {"false", "true", "false", "false", "false", "true", [DOTS1] = "false", [GLM4] = "true",
      [GLM4_LITE] = "true", [QWEN2] = "false", [FLEX] = "false"},
     0,
     NULL},
    {"routed_scaling_factor",
     {NULL, NULL, NULL, NULL, "1.0", "2.5", [DOTS1] = "1.0", [GLM4] = "1.0", [GLM4_LITE] = "1.8"},
     0,
     NULL},
    {"rms_norm_eps",
     {"1e-5", "1e-5", "1e-6", NEEDED, "1e-6",
      "1e-6", [DOTS1] = "1e-6", [GLM4] = "1e-5", [GLM4_LITE] = "1e-5", [QWEN2] = "1e-6",
      [MINIMAX] = "1e-6", [FLEX] = "1e-6", [GPT_OSS] = "1e-5", [ERNIE] = "1e-5"},
     0,
     NULL},
    {"tie_word_embeddings",
     {"false", "false", "false", "false", "false",
      "false", [DOTS1] = "false", [GLM4] = "false", [GLM4_LITE] = "false", [QWEN2] = "false",
      [MINIMAX] = "false", [FLEX] = "false", [GPT_OSS] = "false", [ERNIE] = "true"},
     0,
     NULL},
    {"mlp_only_layers", {NULL, NULL, ABSENT, [QWEN2] = ABSENT}, HF_ALL, NULL},
    {"rope_interleave", {NULL, NULL, NULL, NULL, NULL, "true", [GLM4_LITE] = "true"}, 0, NULL},
    {"rope_theta",
     {"1e4", "1e6", "1e4", NEEDED, "1e4",
      "1e4", [DOTS1] = "1e4", [GLM4] = "1e4", [GLM4_LITE] = "1e4", [QWEN2] = "1e4",
      [MINIMAX] = "5e6", [FLEX] = "5e5", [GPT_OSS] = "150000", [ERNIE] = "5e5"},
     0,
     NULL},
    {"rope_scaling",
     {ABSENT, ABSENT, ABSENT, ABSENT, ABSENT,
      ABSENT, [DOTS1] = ABSENT, [GLM4] = ABSENT, [GLM4_LITE] = ABSENT, [QWEN2] = ABSENT,
      [MINIMAX] = ABSENT, [FLEX] = ABSENT, [GPT_OSS] = ABSENT, [ERNIE] = ABSENT},
     HF_ALL,
     NULL},
    {"rope_parameters",
     {ABSENT, ABSENT, ABSENT, ABSENT, ABSENT,
      ABSENT, [DOTS1] = ABSENT, [GLM4] = ABSENT, [GLM4_LITE] = ABSENT, [QWEN2] = ABSENT,
      [MINIMAX] = ABSENT, [FLEX] = ABSENT, [ERNIE] = ABSENT},
     HF_ALL,
     NULL},
    {"rope_parameters", {[GPT_OSS] = GPT_OSS_ROPE}, 0, "rope_scaling"},
    {"original_max_position_embeddings",
     {ABSENT, ABSENT, ABSENT, ABSENT, ABSENT,
      ABSENT, [DOTS1] = ABSENT, [GLM4] = ABSENT, [GLM4_LITE] = ABSENT, [QWEN2] = ABSENT,
      [MINIMAX] = ABSENT, [FLEX] = ABSENT, [GPT_OSS] = ABSENT, [ERNIE] = ABSENT},
     0,
     NULL},
    {"layer_types", {[DOTS1] = ABSENT, [QWEN2] = ABSENT, [GPT_OSS] = ABSENT}, HF_ALL, NULL},
    {"sliding_window", {[DOTS1] = "4096", [GPT_OSS] = "128"}, HF_DOTS1, NULL},
    {"swiglu_alpha", {[GPT_OSS] = "1.702"}, 0, NULL},
    {"swiglu_limit", {[GPT_OSS] = "7.0"}, 0, NULL},
    {"experts_per_token", {[GPT_OSS] = ABSENT}, 0, NULL},
    {"max_window_layers", {[DOTS1] = "62"}, 0, NULL},
    {"mlp_layer_types", {[GLM4_LITE] = ABSENT}, HF_ALL, NULL},
    {"attention_bias", {[GLM4] = "false", [GPT_OSS] = "true"}, 0, NULL},
    {"qkv_bias", {[QWEN2] = "true"}, 0, NULL},
    {"use_qk_norm", {[GLM4] = "false"}, 0, NULL},
    {"partial_rotary_factor", {[GLM4] = "0.5", [MINIMAX] = ABSENT}, HF_MINIMAX, NULL},
    {"rotary_dim", {[MINIMAX] = ABSENT}, HF_MINIMAX, NULL},
    {"attn_type_list", {[MINIMAX] = ABSENT}, HF_MINIMAX, NULL},
    {"shared_expert_intermediate_size", {[QWEN2] = "5632"}, 0, NULL},
    {"quantization_config",
     {ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT,
      ABSENT, [GPT_OSS] = ABSENT, [ERNIE] = ABSENT},
     HF_ALL,
     NULL},
    {"num_nextn_predict_layers",
     {[DEEPSEEK3] = ABSENT,
      [DOTS1] = ABSENT,
      [GLM4] = ABSENT,
      [GLM4_LITE] = ABSENT,
      [ERNIE] = ABSENT},
     HF_ALL,
     "num_mtp_layers"},
    {"num_mtp_layers",
     {[DEEPSEEK3] = ABSENT, [DOTS1] = ABSENT, [GLM4] = ABSENT, [GLM4_LITE] = ABSENT},
     HF_ALL,
     "num_nextn_predict_layers"},
    {"pad_token_id", {[FLEX] = "100277", [ERNIE] = "0"}, HF_ALL, NULL},
};

/* Keys that have one value here, which is also the one of a file without them: as JSON. */
static const struct {
  unsigned architectures;
  const char *name, *value;
  bool written;
} fixed_keys[] = {
    {HF_ALL, "hidden_act", "\"silu\"", true},
    {HF_ALL & ~(HF_GLM4 | HF_GPT_OSS | HF_ERNIE), "attention_bias", "false", true},
    {HF_ALL, "is_causal", "true", false},
    {HF_ALL, "per_layer_config", "null", false},
    {HF_ALL & ~(HF_GLM4 | HF_MINIMAX), "partial_rotary_factor", "1", false},
    {HF_ALL, "is_encoder_decoder", "false", false},
    {HF_ALL, "add_cross_attention", "false", false},
    {HF_ALL, "pruned_heads", "{}", false},
    {HF_OLMOE, "clip_qkv", "null", true},
    {HF_OLMOE, "sliding_window", "null", false},
    {HF_MIXTRAL, "sliding_window", "null", true},
    {HF_QWEN2 | HF_QWEN3, "use_sliding_window", "false", true},
    {HF_QWEN2 | HF_QWEN3, "decoder_sparse_step", "1", true},
    {HF_QWEN3, "qkv_bias", "false", false},
    {HF_QWEN3, "shared_expert_intermediate_size", "0", false},
    {HF_QWEN3, "use_qk_norm", "true", false},
    {HF_ALL_DEEPSEEK, "mlp_bias", "false", false},
    {HF_ALL_DEEPSEEK, "moe_layer_freq", "1", true},
    {HF_DEEPSEEK | HF_DEEPSEEK2, "scoring_func", "\"softmax\"", true},
    {HF_DEEPSEEK3, "scoring_func", "\"sigmoid\"", true},
    {HF_DEEPSEEK3, "topk_method", "\"noaux_tc\"", true},
    {HF_GLM4 | HF_GLM4_LITE | HF_MINIMAX, "scoring_func", "\"sigmoid\"", false},
    /* As its config.json calls the sigmoid, which transformers has without asking. */
    {HF_DOTS1, "scoring_func", "\"noaux_tc\"", false},
    {HF_DOTS1, "use_sliding_window", "false", false},
    {HF_DOTS1 | HF_GLM4 | HF_GLM4_LITE, "topk_method", "\"noaux_tc\"", false},
    {HF_DOTS1 | HF_GLM4 | HF_GLM4_LITE, "moe_layer_freq", "1", false},
    {HF_MINIMAX, "sliding_window", "null", false},
    {HF_MINIMAX, "use_qk_norm", "true", false},
    {HF_MINIMAX, "qk_norm_type", "\"per_layer\"", false},
    {HF_MINIMAX, "use_routing_bias", "true", false},
    {HF_MINIMAX, "shared_intermediate_size", "0", false},
    {HF_MINIMAX, "layernorm_full_attention_beta", "1", false},
    {HF_MINIMAX, "layernorm_linear_attention_beta", "1", false},
    {HF_MINIMAX, "layernorm_mlp_beta", "1", false},
    {HF_ERNIE, "use_bias", "false", true},
    {HF_ERNIE, "moe_layer_interval", "1", true},
    {HF_ERNIE, "moe_gate", "\"topk\"", false},
    {HF_ERNIE, "moe_use_aux_free", "true", false},
};

/* Names apart by spaces. */
static const struct {
  unsigned architectures;
  const char *names;
} harmless_keys[] = {
    /* Where the file comes from, and how the numbers are stored, which the tensors say themselves.
     */
    {HF_ALL, " _name_or_path name_or_path _commit_hash transformers_version auto_map "
             "unsloth_fixed unsloth_version "},
    /* Numbers of special tokens. */
    {HF_ALL, " bos_token_id eos_token_id pad_token_id sep_token_id unk_token_id "
             "decoder_start_token_id tokenizer_class prefix "},
    /* How transformers computes and what it returns: the logits are the same. */
    {HF_ALL, " use_cache attn_implementation _attn_implementation _attn_implementation_autoset "
             "experts_implementation _experts_implementation torchscript use_bfloat16 "
             "chunk_size_feed_forward pretraining_tp ep_size return_dict use_return_dict "
             "output_attentions output_hidden_states output_router_logits tie_last_hidden_states "
             "is_decoder cross_attention_hidden_size tie_encoder_decoder "},
    /* Training, which the run file describes. */
    {HF_ALL, " attention_dropout initializer_range router_aux_loss_coef aux_loss_alpha seq_aux "
             "router_jitter_noise "},
    /* Heads of other classes. */
    {HF_ALL, " id2label label2id num_labels problem_type finetuning_task task_specific_params "},
    /* How text is generated. */
    {HF_ALL,
     " do_sample num_beams num_beam_groups num_return_sequences temperature top_k top_p top_h "
     "min_p typical_p epsilon_cutoff eta_cutoff repetition_penalty encoder_repetition_penalty "
     "diversity_penalty length_penalty no_repeat_ngram_size encoder_no_repeat_ngram_size "
     "max_length min_length max_new_tokens min_new_tokens early_stopping bad_words_ids "
     "forced_bos_token_id forced_eos_token_id remove_invalid_values suppress_tokens "
     "begin_suppress_tokens exponential_decay_length_penalty output_scores "
     "return_dict_in_generate renormalize_logits "},
    /* Follow from others, or are about what is not switched on. */
    {HF_QWEN2 | HF_QWEN3, " sliding_window max_window_layers "},
    {HF_DEEPSEEK2, " head_dim qk_head_dim "},
    {HF_DEEPSEEK3 | HF_GLM4_LITE, " qk_head_dim "},
    {HF_MINIMAX, " shared_moe_mode mlp_intermediate_size use_mtp mtp_transformer_layers "
                 "num_mtp_modules "},
    {HF_GPT_OSS, " initial_context_length "},
};

bool hf_is_listed(const char *list, const char *name, char separator) {
  const size_t n = strchr(name, separator) ? 0 : strlen(name);
  for (const char *at = list; n && (at = strstr(at, name)); at++)
    if ((at == list || at[-1] == separator) && (at[n] == separator || !at[n])) return true;
  return false;
}

static int family_of(const hf_architecture *a) {
  int family = 0;
  while (a->flag >> family != 1) family++;
  return family;
}

bool hf_keys_reads(const hf_architecture *a, const char *name) {
  for (size_t i = 0; i < sizeof read_keys / sizeof *read_keys; i++)
    if (read_keys[i].missing[family_of(a)] && !strcmp(read_keys[i].name, name)) return true;
  return false;
}

static bool is_harmless(const char *name, unsigned flag) {
  for (size_t i = 0; i < sizeof harmless_keys / sizeof *harmless_keys; i++)
    if (harmless_keys[i].architectures & flag && hf_is_listed(harmless_keys[i].names, name, ' '))
      return true;
  return false;
}

static bool same_value(const json_t *a, const json_t *b) {
  if (json_is_number(a) && json_is_number(b)) return json_number_value(a) == json_number_value(b);
  return json_equal(a, b);
}

/* The end of the reading, or one more of all reasons that are collected. */
static phibal_status refuse(phibal_status status, string_list *all) {
  return all ? string_list_append(all, phibal_status_message()) : status;
}

static phibal_status check_fixed(const json_t *json, const char *path, unsigned flag,
                                 string_list *all) {
  for (size_t i = 0; i < sizeof fixed_keys / sizeof *fixed_keys; i++) {
    const json_t *value = json_object_get(json, fixed_keys[i].name);
    if (!(fixed_keys[i].architectures & flag) || !value) continue;
    json_t *wanted = json_loads(fixed_keys[i].value, JSON_DECODE_ANY, NULL);
    const bool equal = wanted && same_value(value, wanted);
    json_decref(wanted);
    if (equal) continue;
    char shown[HF_SHOWN];
    phibal_status status = phibal_status_set(
        PHIBAL_ERROR_UNSUPPORTED, "%s: '%s' is %s; phibal has it as %s only", path,
        fixed_keys[i].name, hf_json_show(value, shown), fixed_keys[i].value);
    status = refuse(status, all);
    if (status) return status;
  }
  return PHIBAL_OK;
}

/* A type of the numbers, by PyTorch's name; the tensors say it themselves. */
static phibal_status check_types(const json_t *json, const char *path, string_list *all) {
  static const char *const keys[] = {"dtype", "torch_dtype"};
  static const char types[] = " float32 float bfloat16 float16 half float64 double auto ";
  phibal_status status = PHIBAL_OK;
  for (int i = 0; i < 2 && !status; i++) {
    const json_t *value = json_object_get(json, keys[i]);
    const char *name = json_string_value(value);
    char shown[HF_SHOWN];
    if (!value || json_is_null(value) || (name && hf_is_listed(types, name, ' '))) continue;
    status = refuse(phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                                      "%s: '%s' is %s, which is no type of "
                                      "PyTorch's that phibal knows",
                                      path, keys[i], hf_json_show(value, shown)),
                    all);
  }
  return status;
}

/* A key with null says nothing, unless the family reads it. */
static phibal_status check_unknown(const json_t *json, const char *path, const hf_architecture *a,
                                   const char *ignored, string_list *all) {
  const char *name;
  json_t *value;
  json_object_foreach((json_t *)(uintptr_t)json, name, value) {
    bool known = json_is_null(value) || is_harmless(name, a->flag) || hf_keys_reads(a, name) ||
                 !strcmp(name, "dtype") || !strcmp(name, "torch_dtype");
    for (size_t i = 0; i < sizeof fixed_keys / sizeof *fixed_keys && !known; i++)
      known = fixed_keys[i].architectures & a->flag && !strcmp(fixed_keys[i].name, name);
    if (known || (ignored && hf_is_listed(ignored, name, ','))) continue;
    char shown[HF_SHOWN], shown_value[HF_SHOWN];
    phibal_status status = phibal_status_set(
        PHIBAL_ERROR_UNSUPPORTED,
        "%s: %s is %s: a key that phibal does not know for %s, and that may "
        "change what is computed; --ignore-key goes on without it",
        path, hf_json_show_text(name, shown), hf_json_show(value, shown_value), a->model_type);
    status = refuse(status, all);
    if (status) return status;
  }
  return PHIBAL_OK;
}

/* These may be in either object of rotary positions. */
static bool is_inside(const json_t *json, const char *name) {
  return (!strcmp(name, "rope_theta") || !strcmp(name, "partial_rotary_factor")) &&
         (json_object_get(json_object_get(json, "rope_parameters"), name) ||
          json_object_get(json_object_get(json, "rope_scaling"), name));
}

phibal_status hf_keys_complete(json_t *json, const char *path, const hf_architecture *a,
                               const char *ignored, string_list *all) {
  const int family = family_of(a);
  phibal_status status = check_fixed(json, path, a->flag, all);
  if (!status) status = check_types(json, path, all);
  if (!status) status = check_unknown(json, path, a, ignored, all);
  for (size_t i = 0; i < sizeof read_keys / sizeof *read_keys && !status; i++) {
    const char *name = read_keys[i].name, *missing = read_keys[i].missing[family];
    const json_t *value = json_object_get(json, name);
    if (!missing) continue;
    if (value) {
      if (json_is_null(value) && !(read_keys[i].null & a->flag))
        status = phibal_status_set(PHIBAL_ERROR_FORMAT,
                                   "%s: '%s' is null, which is no value of it for %s", path, name,
                                   a->model_type);
      continue;
    }
    const char *other = read_keys[i].other_name;
    const json_t *said = other && hf_keys_reads(a, other) ? json_object_get(json, other) : NULL;
    if ((said && !json_is_null(said)) || is_inside(json, name)) continue;
    if (!*missing)
      status = phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: '%s' is missing", path, name);
    else if (json_object_set_new(json, name, json_loads(missing, JSON_DECODE_ANY, NULL)))
      status = phibal_status_set(PHIBAL_ERROR_MEMORY, "out of memory");
  }
  return status;
}

void hf_keys_make_fixed(unsigned flag, json_t *json) {
  for (size_t i = 0; i < sizeof fixed_keys / sizeof *fixed_keys; i++)
    if (fixed_keys[i].architectures & flag && fixed_keys[i].written)
      json_object_set_new(json, fixed_keys[i].name,
                          json_loads(fixed_keys[i].value, JSON_DECODE_ANY, NULL));
}
