/* config.json and weights of Hugging Face models: what is read, what is refused, what is written.
   That the numbers mean what they should is test_huggingface.c's. */
#include "tests/data_files.h"
#include "moe/hf/hf_internal.h"
#include "parity.h"
#include "moe/export/hf_write.h"

#include <math.h>

#define LLAMA_LIKE                                                                                 \
  "\"hidden_act\": \"silu\", \"attention_bias\": false, \"rope_scaling\": null,"                   \
  " \"tie_word_embeddings\": false, "

/* The options of published models, as their config.json has them. */
static const struct {
  const char *name, *json;
  int64_t parameters; /* as published; Moonlight's is added up by hand from its shapes */
} published[] = {
    {"OLMoE-1B-7B",
     "{\"architectures\": [\"OlmoeForCausalLM\"], \"model_type\": \"olmoe\", " LLAMA_LIKE
     "\"clip_qkv\": null, \"hidden_size\": 2048, \"intermediate_size\": 1024, "
     "\"max_position_embeddings\": 4096, \"norm_topk_prob\": false, \"num_attention_heads\": 16, "
     "\"num_experts\": 64, \"num_experts_per_tok\": 8, \"num_hidden_layers\": 16, "
     "\"num_key_value_heads\": 16, \"rms_norm_eps\": 1e-05, \"rope_theta\": 10000.0, "
     "\"vocab_size\": 50304}",
     6919161856},
    {"Mixtral-8x7B",
     "{\"architectures\": [\"MixtralForCausalLM\"], \"model_type\": \"mixtral\", " LLAMA_LIKE
     "\"hidden_size\": 4096, \"intermediate_size\": 14336, \"max_position_embeddings\": 32768, "
     "\"num_attention_heads\": 32, \"num_experts_per_tok\": 2, \"num_hidden_layers\": 32, "
     "\"num_key_value_heads\": 8, \"num_local_experts\": 8, \"rms_norm_eps\": 1e-05, "
     "\"rope_theta\": 1000000.0, \"sliding_window\": null, \"vocab_size\": 32000}",
     46702792704},
    {"Qwen3-30B-A3B",
     "{\"architectures\": [\"Qwen3MoeForCausalLM\"], \"model_type\": \"qwen3_moe\", " LLAMA_LIKE
     "\"decoder_sparse_step\": 1, \"head_dim\": 128, \"hidden_size\": 2048, "
     "\"intermediate_size\": 6144, \"max_position_embeddings\": 40960, \"mlp_only_layers\": [], "
     "\"moe_intermediate_size\": 768, \"norm_topk_prob\": true, \"num_attention_heads\": 32, "
     "\"num_experts\": 128, \"num_experts_per_tok\": 8, \"num_hidden_layers\": 48, "
     "\"num_key_value_heads\": 4, \"rms_norm_eps\": 1e-06, \"rope_theta\": 1000000.0, "
     "\"sliding_window\": null, \"use_sliding_window\": false, \"vocab_size\": 151936}",
     30532122624},
    {"deepseek-moe-16b",
     "{\"architectures\": [\"DeepseekForCausalLM\"], \"model_type\": \"deepseek\", " LLAMA_LIKE
     "\"first_k_dense_replace\": 1, \"hidden_size\": 2048, \"intermediate_size\": 10944, "
     "\"max_position_embeddings\": 4096, \"moe_intermediate_size\": 1408, \"moe_layer_freq\": 1, "
     "\"n_routed_experts\": 64, \"n_shared_experts\": 2, \"norm_topk_prob\": false, "
     "\"num_attention_heads\": 16, \"num_experts_per_tok\": 6, \"num_hidden_layers\": 28, "
     "\"num_key_value_heads\": 16, \"rms_norm_eps\": 1e-06, \"rope_theta\": 10000, "
     "\"scoring_func\": \"softmax\", \"vocab_size\": 102400}",
     16375728128},
    {"DeepSeek-V2-Lite",
     "{\"architectures\": [\"DeepseekV2ForCausalLM\"], \"model_type\": \"deepseek_v2\", "
     "\"hidden_act\": \"silu\", \"attention_bias\": false, \"tie_word_embeddings\": false, "
     "\"first_k_dense_replace\": 1, \"hidden_size\": 2048, \"intermediate_size\": 10944, "
     "\"kv_lora_rank\": 512, \"max_position_embeddings\": 163840, "
     "\"moe_intermediate_size\": 1408, \"moe_layer_freq\": 1, \"n_group\": 1, "
     "\"n_routed_experts\": 64, \"n_shared_experts\": 2, \"norm_topk_prob\": false, "
     "\"num_attention_heads\": 16, \"num_experts_per_tok\": 6, \"num_hidden_layers\": 27, "
     "\"num_key_value_heads\": 16, \"q_lora_rank\": null, \"qk_nope_head_dim\": 128, "
     "\"qk_rope_head_dim\": 64, \"rms_norm_eps\": 1e-06, \"rope_scaling\": {\"beta_fast\": 32, "
     "\"beta_slow\": 1, \"factor\": 40, \"mscale\": 0.707, \"mscale_all_dim\": 0.707, "
     "\"original_max_position_embeddings\": 4096, \"type\": \"yarn\"}, \"rope_theta\": 10000, "
     "\"routed_scaling_factor\": 1.0, \"scoring_func\": \"softmax\", \"topk_group\": 1, "
     "\"topk_method\": \"greedy\", \"v_head_dim\": 128, \"vocab_size\": 102400}",
     15706484224},
    {"Moonlight-16B-A3B",
     "{\"architectures\": [\"DeepseekV3ForCausalLM\"], \"model_type\": \"deepseek_v3\", " LLAMA_LIKE
     "\"first_k_dense_replace\": 1, \"hidden_size\": 2048, \"intermediate_size\": 11264, "
     "\"kv_lora_rank\": 512, \"max_position_embeddings\": 8192, \"moe_intermediate_size\": 1408, "
     "\"moe_layer_freq\": 1, \"n_group\": 1, \"n_routed_experts\": 64, \"n_shared_experts\": 2, "
     "\"norm_topk_prob\": true, \"num_attention_heads\": 16, \"num_experts_per_tok\": 6, "
     "\"num_hidden_layers\": 27, \"num_key_value_heads\": 16, \"q_lora_rank\": null, "
     "\"qk_nope_head_dim\": 128, \"qk_rope_head_dim\": 64, \"rms_norm_eps\": 1e-05, "
     "\"rope_theta\": 50000.0, \"routed_scaling_factor\": 2.446, \"scoring_func\": \"sigmoid\", "
     "\"topk_group\": 1, \"topk_method\": \"noaux_tc\", \"v_head_dim\": 128, "
     "\"vocab_size\": 163840}",
     15960108544},
    {"Qwen1.5-MoE-A2.7B",
     "{\"architectures\": [\"Qwen2MoeForCausalLM\"], \"model_type\": \"qwen2_moe\", " LLAMA_LIKE
     "\"decoder_sparse_step\": 1, \"hidden_size\": 2048, \"intermediate_size\": 5632, "
     "\"max_position_embeddings\": 8192, \"moe_intermediate_size\": 1408, "
     "\"norm_topk_prob\": false, \"num_attention_heads\": 16, \"num_experts\": 60, "
     "\"num_experts_per_tok\": 4, \"num_hidden_layers\": 24, \"num_key_value_heads\": 16, "
     "\"rms_norm_eps\": 1e-06, \"rope_theta\": 1000000.0, "
     "\"shared_expert_intermediate_size\": 5632, \"use_sliding_window\": false, "
     "\"vocab_size\": 151936}",
     14315784192},
    {"gpt-oss-20b",
     "{\"architectures\": [\"GptOssForCausalLM\"], \"model_type\": \"gpt_oss\", "
     "\"attention_bias\": true, \"experts_per_token\": 4, \"head_dim\": 64, \"hidden_act\": "
     "\"silu\", \"hidden_size\": 2880, \"intermediate_size\": 2880, \"max_position_embeddings\": "
     "131072, \"num_attention_heads\": 64, \"num_experts_per_tok\": 4, \"num_hidden_layers\": 24, "
     "\"num_key_value_heads\": 8, \"num_local_experts\": 32, \"quantization_config\": "
     "{\"modules_to_not_convert\": [\"model.layers.*.self_attn\", \"lm_head\"], \"quant_method\": "
     "\"mxfp4\"}, \"rms_norm_eps\": 1e-05, \"rope_scaling\": {\"beta_fast\": 32.0, \"beta_slow\": "
     "1.0, \"factor\": 32.0, \"original_max_position_embeddings\": 4096, \"rope_type\": \"yarn\", "
     "\"truncate\": false}, \"rope_theta\": 150000, \"sliding_window\": 128, \"swiglu_limit\": "
     "7.0, \"tie_word_embeddings\": false, \"vocab_size\": 201088}",
     20914757184}};
enum { PUBLISHED = sizeof published / sizeof *published };

static phibal_status parse(const char *text, hf_config *config) {
  json_error_t error;
  json_t *json = json_loads(text, 0, &error);
  cr_assert(json, "%s: %s", error.text, text);
  phibal_status status = hf_config_parse(json, "config.json", NULL, config);
  json_decref(json);
  return status;
}

Test(huggingface_files, published_models) {
  for (int i = 0; i < PUBLISHED; i++) {
    hf_config config;
    int64_t total, active;
    must(parse(published[i].json, &config));
    model_count(&config.model, BALANCE_NONE, &total, &active);
    cr_expect_eq(total, published[i].parameters, "%s: %lld parameters, not %lld", published[i].name,
                 (long long)total, (long long)published[i].parameters);
  }
  hf_config lite;
  must(parse(published[4].json, &lite));
  /* The scores are multiplied by 192^-1/2 (0.1 0.707 log 40 + 1)^2, cosines by 1. */
  cr_expect_float_eq(lite.model.attention_multiplier, 1.5896262f, 1e-6f);
  cr_expect_eq(lite.model.rope_magnitude, 0);
  cr_expect_eq(lite.model.head_width, 192);
  hf_config moonlight;
  must(parse(published[5].json, &moonlight));
  cr_expect_eq(moonlight.model.latent_norm_epsilon, 1e-6f);
  cr_expect_eq(moonlight.model.norm_epsilon, 1e-5f);
  cr_expect_eq(moonlight.model.expert_groups, 0);
  cr_expect(moonlight.model.selection_bias && moonlight.model.rope_interleaved);
}

/* What is made from the options says the same again, and is recognised as the same architecture. */
Test(huggingface_files, config_both_ways) {
  for (int i = 0; i < PUBLISHED + parity_count; i++) {
    char folder[512];
    hf_config config, again;
    if (i < PUBLISHED) {
      must(parse(published[i].json, &config));
    } else {
      parity_folder(parity_names[i - PUBLISHED], folder);
      must(hf_config_read(folder, NULL, &config));
    }
    json_t *json = hf_config_make(config.architecture, &config.model);
    must(hf_config_parse(json, "made", NULL, &again));
    json_decref(json);
    cr_expect_eq(again.architecture, config.architecture);
    /* YaRN's temperature goes through a logarithm and a square. */
    cr_expect_float_eq(again.model.attention_multiplier, config.model.attention_multiplier, 2e-7f);
    again.model.attention_multiplier = config.model.attention_multiplier;
    cr_expect_eq(memcmp(&again.model, &config.model, sizeof config.model), 0, "config %d", i);
  }
}

/* So are extended contexts of other kinds than YaRN's. */
Test(huggingface_files, extended_contexts_both_ways) {
  static const struct {
    const char *text;
    rope_scaling scaling;
    float factor, fast, slow;
    int32_t original;
  } cases[] = {{"{\"type\": \"linear\", \"factor\": 2.5}", ROPE_LINEAR, 2.5f, 32, 1, 0},
               {"{\"rope_type\": \"llama3\", \"factor\": 8.0, \"low_freq_factor\": 1.5,"
                " \"high_freq_factor\": 4.0, \"original_max_position_embeddings\": 64}",
                ROPE_LLAMA3, 8, 4, 1.5f, 64}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    json_t *json = json_loads(published[0].json, 0, NULL);
    json_object_set_new(json, "rope_scaling", json_loads(cases[i].text, 0, NULL));
    for (int round = 0; round < 2; round++) {
      hf_config config;
      must(hf_config_parse(json, "config.json", NULL, &config));
      cr_expect_eq(config.model.rope_scaling, cases[i].scaling);
      cr_expect_eq(config.model.rope_factor, cases[i].factor);
      cr_expect_eq(config.model.rope_fast, cases[i].fast);
      cr_expect_eq(config.model.rope_slow, cases[i].slow);
      cr_expect_eq(config.model.rope_original, cases[i].original);
      json_decref(json);
      json = hf_config_make(config.architecture, &config.model);
    }
    json_decref(json);
  }
}

/* A key of a published config.json set to something else, or (null) taken away. */
static void expect_refused(int which, const char *key, const char *value, phibal_status status,
                           const char *message) {
  hf_config config;
  json_t *json = json_loads(published[which].json, 0, NULL);
  if (value)
    json_object_set_new(json, key, json_loads(value, JSON_DECODE_ANY, NULL));
  else
    json_object_del(json, key);
  cr_expect_eq(hf_config_parse(json, "config.json", NULL, &config), status, "%s = %s: %s", key,
               value, phibal_status_message());
  if (status) cr_expect(message_has(message), "'%s' not in: %s", message, phibal_status_message());
  json_decref(json);
}

Test(huggingface_files, refuses_what_it_has_not) {
  enum { OLMOE, MIXTRAL, QWEN, MOE16, LITE, MOONLIGHT };
  const phibal_status no = PHIBAL_ERROR_UNSUPPORTED, bad = PHIBAL_ERROR_FORMAT;
  expect_refused(OLMOE, "model_type", "\"llama\"", no, "llama");
  expect_refused(OLMOE, "model_type", "\"longcat_flash\"", no,
                 "two attentions and two dense FFNs in each layer");
  expect_refused(OLMOE, "model_type", "\"deepseek_v4\"", no,
                 "several residual streams mixed by hyper-connections");
  expect_refused(OLMOE, "model_type", NULL, no, "'model_type' is none");
  expect_refused(OLMOE, "architectures", "[\"OlmoeForSequenceClassification\"]", no,
                 "OlmoeForSequenceClassification");
  expect_refused(OLMOE, "clip_qkv", "8.0", no, "'clip_qkv' is 8.0");
  expect_refused(OLMOE, "hidden_act", "\"gelu\"", no, "'hidden_act'");
  expect_refused(OLMOE, "attention_bias", "true", no, "'attention_bias'");
  expect_refused(OLMOE, "quantization_config", "{\"quant_method\": \"fp8\"}", no, "fp8");
  expect_refused(OLMOE, "num_local_experts", "32", bad, "'num_local_experts' is 32");
  expect_refused(OLMOE, "hidden_size", "\"2048\"", bad, "'hidden_size' is a text");
  expect_refused(OLMOE, "hidden_size", "-1", bad, "'hidden_size' is -1");
  expect_refused(OLMOE, "hidden_size", "1e3", bad, "'hidden_size' is not whole");
  expect_refused(OLMOE, "rms_norm_eps", "1e40", bad, "'rms_norm_eps' is 1e+40");
  expect_refused(MOE16, "hidden_size", NULL, bad, "'hidden_size' is missing");
  expect_refused(MOE16, "rope_theta", NULL, bad, "'rope_theta' is missing");
  expect_refused(LITE, "num_experts_per_tok", NULL, bad, "'num_experts_per_tok' is missing");
  expect_refused(OLMOE, "norm_topk_prob", "1", bad, "'norm_topk_prob' is a number");
  expect_refused(OLMOE, "rope_scaling", "{\"rope_type\": \"dynamic\", \"factor\": 8}", no,
                 "dynamic");
  expect_refused(OLMOE, "rope_scaling", "{\"rope_type\": \"llama3\", \"factor\": 8}", bad,
                 "'original_max_position_embeddings' is missing");
  expect_refused(OLMOE, "rope_scaling",
                 "{\"rope_type\": \"llama3\", \"factor\": 8, \"low_freq_factor\": 4,"
                 " \"high_freq_factor\": 4, \"original_max_position_embeddings\": 64}",
                 bad, "high_freq_factor 4");
  expect_refused(OLMOE, "rope_scaling", "{\"rope_type\": \"linear\"}", bad, "'factor' is missing");
  expect_refused(OLMOE, "rope_scaling", "{\"rope_type\": \"linear\", \"factor\": 0}", bad,
                 "linear's 'factor' is 0");
  expect_refused(OLMOE, "rope_scaling",
                 "{\"rope_type\": \"linear\", \"factor\": 2, \"beta_fast\": 3}", no,
                 "\"beta_fast\"");
  expect_refused(OLMOE, "rope_scaling", "{\"rope_type\": \"yarn\", \"short_factor\": [1]}", no,
                 "\"short_factor\"");
  expect_refused(OLMOE, "rope_scaling", "{\"rope_type\": \"yarn\", \"factor\": 8}", bad,
                 "'original_max_position_embeddings' is missing");
  expect_refused(MIXTRAL, "sliding_window", "4096", no, "'sliding_window' is 4096");
  expect_refused(MIXTRAL, "num_experts_per_tok", "1", no, "a gate of 1");
  expect_refused(QWEN, "mlp_only_layers", "[0, 2]", no, "'mlp_only_layers'");
  expect_refused(QWEN, "decoder_sparse_step", "2", no, "'decoder_sparse_step' is 2");
  expect_refused(QWEN, "use_sliding_window", "true", no, "'use_sliding_window'");
  expect_refused(MOE16, "moe_layer_freq", "2", no, "'moe_layer_freq' is 2");
  expect_refused(MOE16, "scoring_func", "\"sigmoid\"", no, "'scoring_func'");
  expect_refused(LITE, "norm_topk_prob", "true", no, "'norm_topk_prob' is true");
  expect_refused(LITE, "topk_method", "\"noaux_tc\"", no, "'topk_method' is \"noaux_tc\"");
  expect_refused(LITE, "qk_rope_head_dim", "63", PHIBAL_ERROR_ARGUMENT, "rope_width 63");
  expect_refused(MOONLIGHT, "scoring_func", "\"softmax\"", no, "'scoring_func'");
  expect_refused(MOONLIGHT, "n_group", "3", PHIBAL_ERROR_ARGUMENT, "expert_groups");
}

/* What a missing or null key means in transformers 5: the default of the configuration class, and
   null only where that class has it for a value. */
Test(huggingface_files, defaults_of_missing_keys) {
  enum { OLMOE, MIXTRAL, QWEN, MOE16, LITE, MOONLIGHT };
  static const struct {
    int which;
    const char *key, *value; /* null: taken away */
    size_t option;
    double wanted;
    bool real;
  } cases[] = {
#define OPTION(field) offsetof(model_config, field)
      {OLMOE, "num_key_value_heads", NULL, OPTION(key_value_heads), 16, false},
      {OLMOE, "num_key_value_heads", "null", OPTION(key_value_heads), 16, false},
      {OLMOE, "rope_theta", NULL, OPTION(rope_theta), 1e4, true},
      {OLMOE, "num_experts", NULL, OPTION(experts), 64, false},
      {MIXTRAL, "rope_theta", NULL, OPTION(rope_theta), 1e6, true},
      {MIXTRAL, "num_key_value_heads", NULL, OPTION(key_value_heads), 8, false},
      {MIXTRAL, "num_key_value_heads", "null", OPTION(key_value_heads), 32, false},
      {QWEN, "num_key_value_heads", NULL, OPTION(key_value_heads), 4, false},
      {QWEN, "norm_topk_prob", NULL, OPTION(gate), PHIBAL_GATE_PROBABILITY, false},
      {QWEN, "head_dim", NULL, OPTION(head_width), 64, false},
      {LITE, "first_k_dense_replace", NULL, OPTION(dense_layers), 0, false},
      {LITE, "n_shared_experts", NULL, OPTION(shared_experts), 2, false},
      {LITE, "q_lora_rank", NULL, OPTION(query_latent_width), 1536, false},
      {LITE, "q_lora_rank", "null", OPTION(query_latent_width), 0, false},
      {MOONLIGHT, "routed_scaling_factor", NULL, OPTION(route_scale), 2.5, true},
      {MOONLIGHT, "first_k_dense_replace", NULL, OPTION(dense_layers), 3, false},
      {MOONLIGHT, "n_shared_experts", NULL, OPTION(shared_experts), 1, false},
      {MOONLIGHT, "norm_topk_prob", NULL, OPTION(gate_normalisation), PHIBAL_NORMALISATION_SUM,
       false},
      {MOONLIGHT, "norm_topk_prob", NULL, OPTION(gate_epsilon), (double)1e-20f, true},
      {MOONLIGHT, "norm_topk_prob", "false", OPTION(gate_normalisation), PHIBAL_NORMALISATION_NONE,
       false},
      {MOONLIGHT, "norm_topk_prob", "false", OPTION(gate_epsilon), 0, true},
      {MOONLIGHT, "rms_norm_eps", NULL, OPTION(norm_epsilon), (double)1e-6f, true},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    hf_config config;
    json_t *json = json_loads(published[cases[i].which].json, 0, NULL);
    if (cases[i].value)
      json_object_set_new(json, cases[i].key, json_loads(cases[i].value, JSON_DECODE_ANY, NULL));
    else
      json_object_del(json, cases[i].key);
    must(hf_config_parse(json, "config.json", NULL, &config));
    const void *option = (const char *)&config.model + cases[i].option;
    const double found = cases[i].real ? (double)*(const float *)option : *(const int32_t *)option;
    cr_expect_eq(found, cases[i].wanted, "%s: %s: %g", cases[i].key, cases[i].value, found);
    json_decref(json);
  }
  /* DeepSeek-V3 has 8 groups, of which a token chooses 4. */
  hf_config config;
  json_t *json = json_loads(published[MOONLIGHT].json, 0, NULL);
  json_object_del(json, "n_group"), json_object_del(json, "topk_group");
  must(hf_config_parse(json, "config.json", NULL, &config));
  cr_expect_eq(config.model.expert_groups, 8);
  cr_expect_eq(config.model.active_groups, 4);
  json_decref(json);
  const phibal_status bad = PHIBAL_ERROR_FORMAT, no = PHIBAL_ERROR_UNSUPPORTED;
  expect_refused(MOONLIGHT, "n_group", "null", bad, "'n_group' is null");
  expect_refused(MOONLIGHT, "n_group", "0", bad, "'n_group', 0");
  expect_refused(MOONLIGHT, "topk_group", NULL, bad, "'topk_group' is 4 of 'n_group', 1");
  expect_refused(MOONLIGHT, "norm_topk_prob", "null", bad, "'norm_topk_prob' is null");
  expect_refused(MOONLIGHT, "routed_scaling_factor", "null", bad, "is null");
  expect_refused(MOONLIGHT, "rope_interleave", "null", bad, "'rope_interleave' is null");
  expect_refused(LITE, "topk_method", "\"group_limited_greedy\"", PHIBAL_OK, "");
  expect_refused(LITE, "topk_method", "null", bad, "'topk_method' is null");
  expect_refused(QWEN, "num_key_value_heads", "null", bad, "'num_key_value_heads' is null");
  expect_refused(OLMOE, "tie_word_embeddings", "null", bad, "'tie_word_embeddings' is null");
  expect_refused(OLMOE, "hidden_act", "null", no, "'hidden_act' is null");
}

/* Whole files with what their makers put in besides: nothing of it is unknown. */
Test(huggingface_files, published_files_have_no_unknown_key) {
  static const char *const whole[] = {
      /* Qwen3-Coder-30B-A3B-Instruct */
      "{\"architectures\": [\"Qwen3MoeForCausalLM\"], \"attention_dropout\": 0.0, "
      "\"decoder_sparse_step\": 1, \"eos_token_id\": 151645, \"head_dim\": 128, "
      "\"hidden_act\": \"silu\", \"hidden_size\": 2048, \"initializer_range\": 0.02, "
      "\"intermediate_size\": 5472, \"max_position_embeddings\": 262144, "
      "\"max_window_layers\": 28, \"mlp_only_layers\": [], \"model_type\": \"qwen3_moe\", "
      "\"moe_intermediate_size\": 768, \"norm_topk_prob\": true, \"num_attention_heads\": 32, "
      "\"num_experts\": 128, \"num_experts_per_tok\": 8, \"num_hidden_layers\": 48, "
      "\"num_key_value_heads\": 4, \"output_router_logits\": false, \"qkv_bias\": false, "
      "\"rms_norm_eps\": 1e-06, \"rope_scaling\": null, \"rope_theta\": 10000000, "
      "\"router_aux_loss_coef\": 0.0, \"shared_expert_intermediate_size\": 0, "
      "\"sliding_window\": null, \"tie_word_embeddings\": false, \"torch_dtype\": \"bfloat16\", "
      "\"transformers_version\": \"4.52.3\", \"use_cache\": true, \"use_qk_norm\": true, "
      "\"use_sliding_window\": false, \"vocab_size\": 151936}",
  };
  for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
    hf_config config;
    int64_t total, active;
    must(parse(whole[i], &config));
    model_count(&config.model, BALANCE_NONE, &total, &active);
    cr_expect_eq(total, published[2].parameters, "%lld", (long long)total);
    cr_expect_eq(config.model.rope_theta, 1e7f);
  }
}

/* A key that is neither read nor known to change nothing. */
Test(huggingface_files, refuses_unknown_keys) {
  enum { OLMOE, MIXTRAL, QWEN, MOE16, LITE, MOONLIGHT };
  const phibal_status no = PHIBAL_ERROR_UNSUPPORTED;
  for (int which = 0; which < PUBLISHED; which++) {
    expect_refused(which, "is_causal", "false", no, "'is_causal' is false");
    expect_refused(which, "is_causal", "true", PHIBAL_OK, "");
    expect_refused(which, "per_layer_config", "{\"0\": {\"num_experts_per_tok\": 1}}", no,
                   "'per_layer_config'");
    expect_refused(which, "partial_rotary_factor", "0.5", no, "'partial_rotary_factor' is 0.5");
    expect_refused(which, "layer_scale", "0.5", no, "\"layer_scale\" is 0.5: a key that phibal");
    expect_refused(which, "layer_scale", "null", PHIBAL_OK, "");
    expect_refused(which, "use_cache attn_implementation", "true", no, "a key that phibal");
    expect_refused(which, "", "true", no, "a key that phibal");
    expect_refused(which, "use_cache", "true", PHIBAL_OK, "");
    expect_refused(which, "temperature", "0.6", PHIBAL_OK, "");
  }
  expect_refused(OLMOE, "sliding_window", "8", no, "'sliding_window' is 8");
  expect_refused(QWEN, "sliding_window", "8", PHIBAL_OK, "");
  expect_refused(MOE16, "head_dim", "64", no, "\"head_dim\" is 64");
  expect_refused(LITE, "num_experts", "32", PHIBAL_ERROR_FORMAT, "'num_experts' is 32");
  expect_refused(MOONLIGHT, "num_local_experts", "32", PHIBAL_ERROR_FORMAT,
                 "'num_local_experts' is 32");
  static const struct {
    const char *ignored;
    phibal_status status;
  } cases[] = {{"layer_scale", PHIBAL_OK},     {"a,layer_scale", PHIBAL_OK},
               {"layer_scale,a", PHIBAL_OK},   {"layer", PHIBAL_ERROR_UNSUPPORTED},
               {"", PHIBAL_ERROR_UNSUPPORTED}, {"xlayer_scale", PHIBAL_ERROR_UNSUPPORTED}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    hf_config config;
    json_t *json = json_loads(published[OLMOE].json, 0, NULL);
    json_object_set_new(json, "layer_scale", json_real(0.5));
    cr_expect_eq(hf_config_parse(json, "config.json", cases[i].ignored, &config), cases[i].status,
                 "'%s'", cases[i].ignored);
    /* What is known to change the model is not to be ignored. */
    json_object_del(json, "layer_scale");
    json_object_set_new(json, "is_causal", json_false());
    cr_expect_eq(hf_config_parse(json, "config.json", "is_causal", &config), no);
    json_decref(json);
  }
}

/* What mutants.py has found: configurations that were read, and of which transformers computes
   something else or nothing. */
Test(huggingface_files, former_findings_of_mutants) {
  enum { OLMOE, MIXTRAL, QWEN, MOE16, LITE, MOONLIGHT };
  const phibal_status no = PHIBAL_ERROR_UNSUPPORTED;
  /* V3's class has no head_dim of its own: a file's is the width that is rotated. */
  expect_refused(MOONLIGHT, "head_dim", "32", no, "'head_dim' is 32");
  expect_refused(MOONLIGHT, "head_dim", "null", PHIBAL_ERROR_FORMAT, "'head_dim' is null");
  expect_refused(MOONLIGHT, "head_dim", "64", PHIBAL_OK, "");
  expect_refused(LITE, "head_dim", "32", PHIBAL_OK, ""); /* V2's overwrites it */
  expect_refused(OLMOE, "rope_scaling", "{\"rope_type\": null, \"type\": \"default\"}", no,
                 "'rope_type' is null");
}

/* Rotary positions in both objects, inside and beside them. */
Test(huggingface_files, rotary_positions_in_two_places) {
  static const char start[] = "{\"rope_type\": \"yarn\", \"factor\": 4.0";
  static const struct {
    const char *parameters, *scaling, *theta, *original; /* null: not there */
    phibal_status status;
    const char *message;
    double wanted_theta;
    int32_t wanted_original;
  } cases[] = {
      {"{\"rope_theta\": 500.0}", NULL, NULL, NULL, PHIBAL_OK, "", 500, 0},
      {NULL, "{\"rope_type\": \"default\", \"rope_theta\": 500}", NULL, NULL, PHIBAL_OK, "", 500,
       0},
      {"{\"rope_theta\": 500.0}", "{}", "500", NULL, PHIBAL_OK, "", 500, 0},
      {"{\"rope_theta\": 500.0}", NULL, "10000", NULL, PHIBAL_ERROR_UNSUPPORTED,
       "'rope_theta' is 10000, and 500.0", 0, 0},
      {"{\"rope_theta\": null}", NULL, NULL, NULL, PHIBAL_ERROR_FORMAT, "'rope_theta' is missing",
       0, 0},
      {"{\"rope_type\": \"default\"}", "{\"rope_type\": \"yarn\"}", "500", NULL,
       PHIBAL_ERROR_UNSUPPORTED,
       "'rope_scaling' is {\"rope_type\":\"yarn\"}, and 'rope_parameters'", 0, 0},
      {"Y}", NULL, "500", "64", PHIBAL_OK, "", 500, 64},
      {"Y, \"rope_theta\": 500, \"original_max_position_embeddings\": 64}", NULL, NULL, "64",
       PHIBAL_OK, "", 500, 64},
      {NULL, "Y, \"original_max_position_embeddings\": 64}", NULL, "128", PHIBAL_ERROR_UNSUPPORTED,
       "'original_max_position_embeddings' is 128, and 64", 0, 0},
      {NULL, "Y}", NULL, NULL, PHIBAL_ERROR_FORMAT, "'original_max_position_embeddings' is missing",
       0, 0},
      {NULL, "Y, \"attention_factor\": 0}", NULL, "64", PHIBAL_ERROR_FORMAT,
       "'attention_factor' is 0", 0, 0},
      {NULL, "Y, \"attention_factor\": null}", NULL, "64", PHIBAL_OK, "", 1e4, 64},
      {NULL, "Y, \"truncate\": null}", NULL, "64", PHIBAL_ERROR_FORMAT, "'truncate' is null", 0, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    json_t *json = json_loads(published[0].json, 0, NULL);
    json_object_del(json, "rope_theta"), json_object_del(json, "rope_scaling");
    for (int k = 0; k < 4; k++) {
      static const char *const keys[] = {"rope_parameters", "rope_scaling", "rope_theta",
                                         "original_max_position_embeddings"};
      const char *const values[] = {cases[i].parameters, cases[i].scaling, cases[i].theta,
                                    cases[i].original};
      char value[256];
      if (!values[k]) continue;
      snprintf(value, sizeof value, "%s%s", *values[k] == 'Y' ? start : "",
               values[k] + (*values[k] == 'Y'));
      json_t *made = json_loads(value, JSON_DECODE_ANY, NULL);
      cr_assert(made, "%s", value);
      json_object_set_new(json, keys[k], made);
    }
    hf_config config;
    cr_expect_eq(hf_config_parse(json, "config.json", NULL, &config), cases[i].status,
                 "case %zu: %s", i, phibal_status_message());
    if (cases[i].status) {
      cr_expect(message_has(cases[i].message), "case %zu: %s", i, phibal_status_message());
    } else {
      cr_expect_eq((double)config.model.rope_theta, cases[i].wanted_theta, "case %zu", i);
      cr_expect_eq(config.model.rope_original, cases[i].wanted_original, "case %zu", i);
    }
    json_decref(json);
  }
}

/* What a fixture's config.json says with another value of a key (in the object of rotary positions
   after a dot; null: without the key). Findings of mutants.py among them. */
Test(huggingface_files, keys_of_one_family) {
  static const struct {
    const char *fixture, *key, *value, *message; /* null: no error */
  } cases[] = {
      {"kimi_k2", "dtype", "\"\"", "'dtype' is \"\", which is no type"},
      {"olmoe", "torch_dtype", "\"BFLOAT16\"", "'torch_dtype' is \"BFLOAT16\""},
      {"glm4_moe", ".partial_rotary_factor", "null", "partial_rotary_factor"},
      {"qwen3_moe", ".partial_rotary_factor", "null", "partial_rotary_factor"},
      {"qwen3_moe", ".partial_rotary_factor", "0.5", "partial_rotary_factor"},
      {"glm4_moe", ".partial_rotary_factor", NULL, NULL},
      {"glm4_moe", ".partial_rotary_factor", "0.4", "3 numbers of a head's 8"},
      {"glm4_moe", ".partial_rotary_factor", "0", "0 numbers of a head's 8"},
      {"glm4_moe", ".partial_rotary_factor", "2", "16 numbers of a head's 8"},
      {"glm4_moe", "partial_rotary_factor", "0.25", "'partial_rotary_factor' is 0.25, and 0.5"},
      {"minimax_m2", "rotary_dim", "4", NULL},
      {"minimax_m2", "rotary_dim", "2", "'rotary_dim' is 2 of 6, and 'partial_rotary_factor' 0.66"},
      {"minimax_m2", "attn_type_list", "[1, 1]", NULL},
      {"minimax_m2", "attn_type_list", "[1, 0]", "'attn_type_list' is [1,0]"},
      {"minimax_m2", "use_routing_bias", "false", "'use_routing_bias' is false"},
      {"dots1", "norm_topk_prob", "false", NULL},
      {"dots1", "scoring_func", "\"noaux_tc\"", NULL},
      {"dots1", "scoring_func", "\"softmax\"", "'scoring_func' is \"softmax\""},
      {"dots1", "use_sliding_window", "true", "'use_sliding_window' is true"},
      {"minimax_m2", "quantization_config",
       "{\"quant_method\": \"fp8\", \"fmt\": \"float8_e4m3fn\", \"weight_block_size\": [128, 128],"
       " \"modules_to_not_convert\": [\"gate\"], \"activation_scheme\": \"dynamic\"}",
       NULL},
      {"minimax_m2", "num_local_experts", NULL, NULL},
      {"minimax_m2", "quantization_config", "{\"quant_method\": \"awq\", \"bits\": 4}", "bits"},
      {"dots1", "n_shared_experts", "null", "'n_shared_experts' is null"},
      {"dots1", "layer_types", "[\"full_attention\", \"full_attention\"]", NULL},
      {"dots1", "layer_types", "[\"full_attention\", \"sliding_attention\"]", "'layer_types' is"},
      {"dots1", "layer_types", "[\"full_attention\"]", "for each of 2 layers only"},
      {"glm4_moe_lite", "mlp_layer_types", "[\"dense\", \"sparse\", \"dense\"]",
       "'mlp_layer_types' is"},
      {"glm4_moe_lite", "first_k_dense_replace", "2", NULL},
      {"glm4_moe_lite", "first_k_dense_replace", "1", "'first_k_dense_replace' is 1"},
      {"glm4_moe_lite", "head_dim", "6", "'head_dim' is 6"},
      {"qwen2_moe", "shared_expert_intermediate_size", "9", "phibal has multiples of"},
      {"qwen2_moe", "num_local_experts", "6", "num_local_experts"},
      {"qwen2_moe", "use_sliding_window", "true", "'use_sliding_window' is true"},
      {"flex_olmo", "pad_token_id", "40", "'pad_token_id' is 40"},
      {"flex_olmo", "pad_token_id", NULL, "'pad_token_id' is 100277"},
      {"flex_olmo", "clip_qkv", "1.5", "clip_qkv"},
      {"mixtral", "model_type", "\"qwen3_next\"", "phibal does not have for it: gated delta"},
      {"ernie4_5_moe", "moe_norm_min", "0", "'moe_norm_min' is 0; phibal has it above 0"},
      {"ernie4_5_moe", "moe_norm_min", "-1e-12", "'moe_norm_min' is -1e-12"},
      {"ernie4_5_moe", "moe_norm_min", "1.5", "'moe_norm_min' is 1.5"},
      {"ernie4_5_moe", "moe_norm_min", NULL, NULL},
      {"ernie4_5_moe", "moe_layer_end_index", "-1", NULL},
      {"ernie4_5_moe", "moe_layer_end_index", "7", NULL},
      {"ernie4_5_moe", "moe_layer_end_index", "1", "'moe_layer_end_index' is 1"},
      {"ernie4_5_moe", "moe_layer_end_index", "-2", "moe_layer_end_index"},
      {"ernie4_5_moe", "moe_layer_end_index", "null", "moe_layer_end_index"},
      {"ernie4_5_moe", "moe_layer_interval", "2", "'moe_layer_interval' is 2"},
      {"ernie4_5_moe", "moe_layer_start_index", "-1", "moe_layer_start_index"},
      {"ernie4_5_moe", "use_bias", "true", "'use_bias' is true"},
      {"ernie4_5_moe", "moe_k", "1", "a gate of 1"},
      {"ernie4_5_moe", "num_experts_per_tok", "3", "'num_experts_per_tok' is 3"},
      {"ernie4_5_moe", "num_experts", "5", "'num_experts' is 5"},
      {"ernie4_5_moe", "moe_gate", "\"top2_fused\"", "'moe_gate' is"},
      {"ernie4_5_moe", "num_nextn_predict_layers", "1", NULL},
      {"ernie4_5_moe", "moe_capacity", "[64, 64, 64]", "moe_capacity"},
      {"gpt_oss", "layer_types", NULL, NULL},
      {"gpt_oss", "layer_types", "[\"full_attention\", \"sliding_attention\", \"full_attention\"]",
       "but every n-th"},
      {"gpt_oss", "layer_types", "[\"sliding_attention\", \"full_attention\"]", "but every n-th"},
      {"gpt_oss", "layer_types",
       "[\"sliding_attention\", \"sliding_attention\", \"full_attention\"]", NULL},
      {"gpt_oss", "layer_types", "[\"chunked_attention\", \"full_attention\", \"x\"]",
       "every n-th"},
      {"gpt_oss", "sliding_window", "null", "'sliding_window' is null"},
      {"gpt_oss", "sliding_window", "0", "'sliding_window' is 0"},
      {"gpt_oss", "swiglu_limit", "0", "'swiglu_limit' is 0"},
      {"gpt_oss", "swiglu_limit", "null", "'swiglu_limit' is null"},
      {"gpt_oss", "experts_per_token", "2", NULL},
      {"gpt_oss", "experts_per_token", "3", "'experts_per_token' is 3"},
      {"gpt_oss", "initial_context_length", "16", NULL},
      {"gpt_oss", "rope_parameters", "null", "'rope_parameters' is null"},
      {"gpt_oss", "rope_parameters", NULL, NULL},
      {"gpt_oss", "rope_parameters", "{}", "say nothing"},
      {"gpt_oss", "attention_bias", "null", "'attention_bias' is null"},
      {"gpt_oss", "quantization_config",
       "{\"quant_method\": \"mxfp4\", \"modules_to_not_convert\": [\"lm_head\"]}", NULL},
      {"gpt_oss", "quantization_config", "{\"quant_method\": \"mxfp4\", \"bits\": 4}", "bits"},
      {"mixtral", "quantization_config", "{\"quant_method\": \"mxfp4\"}", "for gpt_oss mxfp4"},
  };
  /* A name that the family does not have, with null, stands for nothing. */
  json_t *unnamed = json_loads(published[6].json, 0, NULL);
  hf_config with_default;
  json_object_del(unnamed, "num_experts");
  json_object_set_new(unnamed, "num_local_experts", json_null());
  must(hf_config_parse(unnamed, "config.json", NULL, &with_default));
  cr_expect_eq(with_default.model.experts, 60);
  json_decref(unnamed);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char folder[512];
    json_t *json = NULL;
    hf_config config;
    parity_folder(cases[i].fixture, folder);
    char *path = string_format("%s/config.json", folder);
    must(hf_json_read(path, &json));
    const bool inside = *cases[i].key == '.';
    json_t *in = inside ? json_object_get(json, "rope_parameters") : json;
    if (cases[i].value)
      json_object_set_new(in, cases[i].key + inside,
                          json_loads(cases[i].value, JSON_DECODE_ANY, NULL));
    else
      json_object_del(in, cases[i].key + inside);
    const phibal_status status = hf_config_parse(json, "config.json", NULL, &config);
    cr_expect(status || config.model.experts > 0, "case %zu: no experts", i);
    cr_expect_eq(!status, !cases[i].message, "case %zu: %s", i,
                 status ? phibal_status_message() : "read");
    if (status && cases[i].message)
      cr_expect(message_has(cases[i].message), "case %zu: %s", i, phibal_status_message());
    json_decref(json);
    free(path);
  }
}

/* Every key of the published files, and those that only others have, with a value of every other
   kind: refused by the key's name. */
Test(huggingface_files, refuses_every_wrong_kind) {
  enum {

    REAL = 2,
    BOOLEAN = 4,

    LIST = 16,
    OBJECT = 32,
    NONE = 64,
    ZERO = 128
  };
  static const struct {
    const char *value;
    int kinds; /* of which it is a good value, or none that is looked at here */
  } values[] = {{"null", NONE},
                {"true", BOOLEAN},
                {"false", BOOLEAN},
                {"0", ZERO},
                {"-1", 0},
                {"0.5", REAL},
                {"2147483648", REAL},
                {"9223372036854775807", REAL},
                {"-9223372036854775808", 0},
                {"1e300", 0},
                {"\"\"", 0},
                {"\"8\"", 0},
                {"\"softmax \"", 0},
                {"[]", LIST},
                {"[1]", 0},
                {"[1, 2]", 0},
                {"[null]", 0},
                {"[[\"OlmoeForCausalLM\"]]", 0},
                {"{}", OBJECT},
                {"{\"a\": 1}", 0}};
  static const struct {
    const char *key;
    int kind; /* NONE: null is as good as no key; ZERO: it may be 0 */
  } keys[] = {{"architectures", NONE},
              {"model_type", 0},
              {"hidden_act", 0},
              {"attention_bias", BOOLEAN},
              {"mlp_bias", BOOLEAN},
              {"quantization_config", NONE},
              {"rope_scaling", OBJECT | NONE},
              {"rope_parameters", OBJECT | NONE},
              {"tie_word_embeddings", BOOLEAN},
              {"clip_qkv", NONE},
              {"hidden_size", 0},
              {"intermediate_size", ZERO},
              {"max_position_embeddings", 0},
              {"norm_topk_prob", BOOLEAN},
              {"num_attention_heads", 0},
              {"num_experts", 0},
              {"num_local_experts", 0},
              {"num_experts_per_tok", 0},
              {"num_hidden_layers", 0},
              {"num_key_value_heads", NONE},
              {"head_dim", NONE},
              {"rms_norm_eps", REAL},
              {"rope_theta", REAL},
              {"vocab_size", 0},
              {"sliding_window", NONE},
              {"decoder_sparse_step", 0},
              {"mlp_only_layers", LIST | NONE},
              {"moe_intermediate_size", 0},
              {"use_sliding_window", BOOLEAN},
              {"first_k_dense_replace", ZERO},
              {"moe_layer_freq", 0},
              {"n_routed_experts", 0},
              {"n_shared_experts", NONE | ZERO},
              {"scoring_func", 0},
              {"kv_lora_rank", 0},
              {"n_group", NONE | ZERO},
              {"topk_group", NONE | ZERO},
              {"q_lora_rank", NONE},
              {"qk_nope_head_dim", ZERO},
              {"qk_rope_head_dim", 0},
              {"v_head_dim", 0},
              {"routed_scaling_factor", REAL},
              {"topk_method", 0},
              {"swiglu_limit", REAL},
              {"experts_per_token", NONE},
              {"shared_expert_intermediate_size", 0},
              {"rope_interleave", BOOLEAN}};
  enum { KEYS = sizeof keys / sizeof *keys };
  /* Which of the published files read a key that is not among theirs. */
  static const struct {
    const char *key;
    int which;
  } others[] = {{"quantization_config", 0}, {"num_local_experts", 0}, {"head_dim", 0},
                {"rope_parameters", 0},     {"mlp_bias", 3},          {"rope_interleave", 5}};
  int looked_at = 0;
  for (int which = 0; which < PUBLISHED; which++)
    for (int k = 0; k < KEYS; k++) {
      json_t *json = json_loads(published[which].json, 0, NULL);
      bool read = json_object_get(json, keys[k].key);
      for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        read |= others[i].which == which && !strcmp(others[i].key, keys[k].key);
      /* Moot beside use_sliding_window. */
      if (which == 2 && !strcmp(keys[k].key, "sliding_window")) read = false;
      looked_at += read;
      for (size_t v = 0; read && v < sizeof values / sizeof *values; v++) {
        if (values[v].kinds & keys[k].kind) continue;
        hf_config config;
        char named[64];
        snprintf(named, sizeof named, "'%s'", keys[k].key);
        json_object_set_new(json, keys[k].key, json_loads(values[v].value, JSON_DECODE_ANY, NULL));
        cr_expect_neq(hf_config_parse(json, "config.json", NULL, &config), PHIBAL_OK, "%s: %s: %s",
                      published[which].name, keys[k].key, values[v].value);
        cr_expect(message_has(named), "%s: %s: %s", keys[k].key, values[v].value,
                  phibal_status_message());
      }
      json_decref(json);
    }
  cr_expect_geq(looked_at, 100);
  /* No key of a published file is left out above. */
  for (int which = 0; which < PUBLISHED; which++) {
    json_t *json = json_loads(published[which].json, 0, NULL), *value;
    const char *key;
    json_object_foreach(json, key, value) {
      int k = 0;
      while (k < KEYS && strcmp(keys[k].key, key)) k++;
      cr_expect_lt(k, KEYS, "%s", key);
    }
    json_decref(json);
  }
}

Test(huggingface_files, refuses_every_wrong_kind_of_yarn) {
  static const char *const keys[] = {"factor",           "original_max_position_embeddings",
                                     "beta_fast",        "beta_slow",
                                     "mscale",           "mscale_all_dim",
                                     "attention_factor", "truncate",
                                     "rope_type",        "type"};
  static const char *const values[] = {"\"1\"", "[1]", "{}", "-1", "1e300"};
  for (int parameters = 0; parameters < 2; parameters++)
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
      for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
        hf_config config;
        json_t *json = json_loads(published[4].json, 0, NULL);
        json_t *rope = json_deep_copy(json_object_get(json, "rope_scaling"));
        char named[64];
        snprintf(named, sizeof named, "'%s'", keys[k]);
        json_object_set_new(rope, keys[k], json_loads(values[v], JSON_DECODE_ANY, NULL));
        json_object_del(json, "rope_scaling");
        json_object_set_new(json, parameters ? "rope_parameters" : "rope_scaling", rope);
        cr_expect_neq(hf_config_parse(json, "config.json", NULL, &config), PHIBAL_OK, "%s: %s",
                      keys[k], values[v]);
        cr_expect(message_has(named), "%s: %s: %s", keys[k], values[v], phibal_status_message());
        json_decref(json);
      }
}

/* A copy of a fixture in which tensors may be changed before it is written. */
typedef struct copy {
  char *folder;
  safetensors_file from;
  safetensors_tensor tensors[200];
  int64_t count;
} copy;

static copy copy_begin(const char *name) {
  char folder[512], path[600];
  text_buffer text = {0};
  copy c = {.folder = scratch_folder()};
  parity_folder(name, folder);
  snprintf(path, sizeof path, "%s/config.json", folder);
  must(file_read_all(path, &text));
  put_file(c.folder, "config.json", text.bytes, text.count);
  text_buffer_free(&text);
  snprintf(path, sizeof path, "%s/model.safetensors", folder);
  must(safetensors_open(path, &c.from));
  c.count = c.from.count;
  cr_assert_leq(c.count, 199);
  memcpy(c.tensors, c.from.tensors, (size_t)c.count * sizeof *c.tensors);
  return c;
}

static safetensors_tensor *tensor_of(copy *c, const char *name) {
  int64_t i = 0;
  while (i < c->count && strcmp(c->tensors[i].name, name)) i++;
  cr_assert_lt(i, c->count, "no %s", name);
  return &c->tensors[i];
}

static phibal_status copy_load(copy *c, hf_checkpoint *opened, model **m) {
  const balance_config none = {.method = BALANCE_NONE};
  char path[600];
  snprintf(path, sizeof path, "%s/model.safetensors", c->folder);
  must(safetensors_write(path, c->tensors, c->count, NULL, 0));
  must(hf_open(c->folder, NULL, opened));
  opened->config.model.sequence = 4;
  must(model_create(&opened->config.model, &none, 1, 3, m));
  return hf_restore(opened, &opened->config.model, *m);
}

static void copy_end(copy *c, hf_checkpoint *opened, model *m) {
  model_destroy(m);
  hf_close(opened);
  safetensors_close(&c->from);
  folder_remove(c->folder);
  free(c->folder);
}

static void expect_load_refused(copy *c, phibal_status status, const char *message) {
  hf_checkpoint opened;
  model *m;
  cr_expect_eq(copy_load(c, &opened, &m), status);
  cr_expect(message_has(message), "'%s' not in: %s", message, phibal_status_message());
  copy_end(c, &opened, m);
}

Test(huggingface_files, refuses_tensors) {
  static const float numbers[1024];
  copy c = copy_begin("olmoe");
  c.tensors[c.count++] =
      (safetensors_tensor){.name = "model.layers.0.mlp.shared_expert_gate.weight",
                           .dtype = SAFETENSORS_F32,
                           .dimensions = 1,
                           .shape = {16},
                           .data = numbers};
  expect_load_refused(&c, PHIBAL_ERROR_FORMAT, "\"model.layers.0.mlp.shared_expert_gate.weight\"");
  c = copy_begin("olmoe");
  *tensor_of(&c, "model.layers.1.mlp.experts.3.up_proj.weight") = c.tensors[--c.count];
  expect_load_refused(&c, PHIBAL_ERROR_FORMAT,
                      "'model.layers.1.mlp.experts.3.up_proj.weight' is missing");
  c = copy_begin("olmoe");
  tensor_of(&c, "model.layers.1.self_attn.k_norm.weight")->shape[0] = 4;
  expect_load_refused(&c, PHIBAL_ERROR_FORMAT, "'model.layers.1.self_attn.k_norm.weight' is [4]");
}

/* ERNIE's multi-token prediction, which lies beside its layers, and its selection bias, a matrix of
   one row. */
Test(huggingface_files, ernie_beside_its_layers) {
  static const float numbers[6] = {1, 2, 3, 4, 5, 6};
  const char *bias = "model.layers.2.mlp.moe_statics.e_score_correction_bias";
  for (int predicts = 0; predicts < 2; predicts++) {
    copy c = copy_begin("ernie4_5_moe");
    hf_checkpoint opened;
    model *m;
    json_t *json = NULL;
    char *path = string_format("%s/config.json", c.folder);
    must(hf_json_read(path, &json));
    json_object_set_new(json, "num_nextn_predict_layers", json_integer(predicts));
    cr_assert_eq(json_dump_file(json, path, 0), 0);
    c.tensors[c.count++] = (safetensors_tensor){.name = "model.mtp_emb_norm.0.weight",
                                                .dtype = SAFETENSORS_F32,
                                                .dimensions = 1,
                                                .shape = {6},
                                                .data = numbers};
    tensor_of(&c, bias)->data = numbers;
    const phibal_status status = copy_load(&c, &opened, &m);
    cr_expect_eq(status, predicts ? PHIBAL_OK : PHIBAL_ERROR_FORMAT, "%s", phibal_status_message());
    if (predicts)
      cr_expect_arr_eq(model_bias(m, 1), numbers, sizeof numbers);
    else
      cr_expect(message_has("\"model.mtp_emb_norm.0.weight\""), "%s", phibal_status_message());
    cr_expect_eq(hf_prediction_tensors(&opened), predicts);
    copy_end(&c, &opened, m);
    json_decref(json);
    free(path);
  }
  copy c = copy_begin("ernie4_5_moe");
  tensor_of(&c, bias)->dimensions = 1;
  tensor_of(&c, bias)->shape[0] = 6;
  expect_load_refused(&c, PHIBAL_ERROR_FORMAT, "e_score_correction_bias");
}

/* Transposed where they are not square, of a type that is not read, a tied head that is another. */
Test(huggingface_files, refuses_shapes_and_types) {
  static const double wide[1024];
  copy c = copy_begin("deepseek_v2");
  safetensors_tensor *tensor = tensor_of(&c, "model.layers.1.mlp.experts.0.down_proj.weight");
  tensor->shape[0] = 6, tensor->shape[1] = 16;
  expect_load_refused(&c, PHIBAL_ERROR_FORMAT, "is [6, 16]; the configuration wants [16, 6]");
  c = copy_begin("deepseek_v2");
  tensor = tensor_of(&c, "model.norm.weight");
  tensor->dtype = SAFETENSORS_F64, tensor->data = wide;
  expect_load_refused(&c, PHIBAL_ERROR_UNSUPPORTED, "'model.norm.weight' is of type F64");
  c = copy_begin("qwen3_moe");
  c.tensors[c.count] = *tensor_of(&c, "model.embed_tokens.weight");
  c.tensors[c.count].name = "lm_head.weight";
  c.tensors[c.count++].data = wide;
  expect_load_refused(&c, PHIBAL_ERROR_FORMAT, "\"lm_head.weight\"");
}

/* A tied head that is there once more; binary16, subnormals and signs included. */
Test(huggingface_files, reads_what_old_files_have) {
  static const uint16_t half[16] = {0x0000, 0x8000, 0x3c00, 0xbc00, 0x3c01, 0x7bff, 0x0001, 0x83ff,
                                    0x0400, 0x3555, 0xc000, 0x4248, 0x2e66, 0x6400, 0xfbff, 0x1400};
  static const float value[16] = {
      0.0f,     -0.0f,       1.0f,  -1.0f,     0x1.004p0f,  65504.0f, 0x1p-24f,  -0x3ffp-24f,
      0x1p-14f, 0x1.554p-2f, -2.0f, 3.140625f, 0x1.998p-4f, 1024.0f,  -65504.0f, 0x1p-10f};
  hf_checkpoint opened;
  model *m;
  copy c = copy_begin("qwen3_moe");
  c.tensors[c.count] = *tensor_of(&c, "model.embed_tokens.weight");
  c.tensors[c.count++].name = "lm_head.weight";
  safetensors_tensor *norm = tensor_of(&c, "model.norm.weight");
  norm->dtype = SAFETENSORS_F16, norm->data = half;
  must(copy_load(&c, &opened, &m));
  const float *read = model_parameters(m) + parity_tensor(m, "model.norm.weight")->offset;
  cr_expect_eq(memcmp(read, value, sizeof value), 0);
  copy_end(&c, &opened, m);
}

Test(huggingface_files, refuses_folders) {
  hf_checkpoint c;
  char *folder = scratch_folder();
  cr_expect_not(hf_is_checkpoint(folder));
  cr_expect_eq(hf_open(folder, NULL, &c), PHIBAL_ERROR_IO);
  put_text(folder, "config.json", "{\"model_type\": ");
  cr_expect(hf_is_checkpoint(folder));
  cr_expect_eq(hf_open(folder, NULL, &c), PHIBAL_ERROR_FORMAT);
  put_text(folder, "config.json", "[]");
  cr_expect_eq(hf_open(folder, NULL, &c), PHIBAL_ERROR_FORMAT);
  put_text(folder, "config.json", published[0].json);
  cr_expect_eq(hf_open(folder, NULL, &c), PHIBAL_ERROR_IO);
  cr_expect(message_has("neither model.safetensors nor"), "%s", phibal_status_message());
  put_text(folder, "model.safetensors.index.json", "{\"weight_map\": {\"a\": \"../b\"}}");
  cr_expect_eq(hf_open(folder, NULL, &c), PHIBAL_ERROR_FORMAT);
  put_text(folder, "model.safetensors.index.json", "{\"weight_map\": {}}");
  cr_expect_eq(hf_open(folder, NULL, &c), PHIBAL_ERROR_FORMAT);
  put_text(folder, "model.safetensors.index.json", "{\"weight_map\": {\"a\": \"none\"}}");
  cr_expect_eq(hf_open(folder, NULL, &c), PHIBAL_ERROR_IO);
  folder_remove(folder);
  free(folder);
}

/* An index against its files, of which each has half of the tensors. */
Test(huggingface_files, refuses_another_index) {
  static const struct {
    const char *tensor; /* and the file that the index has it in; null: it has it not */
    const char *file, *message;
  } cases[] = {
      {NULL, NULL, NULL},
      {"model.norm.weight", "b.safetensors", "tensor \"model.norm.weight\" is in "},
      {"model.norm.weight", NULL, "the index has it nowhere"},
      {"lm_head.weights", "a.safetensors",
       "tensor \"lm_head.weights\" is not in \"a.safetensors\""},
      {"model.norm.weight", "", "\"\" is not a file of the folder"},
      {"model.norm.weight", "[\"a.safetensors\"]", "is not a file of the folder"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    copy c = copy_begin("olmoe");
    hf_checkpoint opened;
    json_t *map = json_object();
    safetensors_tensor *half = c.tensors;
    int64_t n = c.count / 2;
    for (int file = 0; file < 2; file++) {
      char path[600];
      const char *name = file ? "b.safetensors" : "a.safetensors";
      snprintf(path, sizeof path, "%s/%s", c.folder, name);
      if (file) half += n, n = c.count - n;
      must(safetensors_write(path, half, n, NULL, 0));
      for (int64_t t = 0; t < n; t++) {
        const bool moved = cases[i].tensor && !strcmp(half[t].name, cases[i].tensor);
        /* Whichever file has it, the index says the other one. */
        const char *has = moved && cases[i].file && strstr(cases[i].file, "b.safe")
                              ? file ? "a.safetensors" : "b.safetensors"
                              : name;
        if (!moved || cases[i].file) json_object_set_new(map, half[t].name, json_string(has));
      }
    }
    if (cases[i].tensor && cases[i].file && !strstr(cases[i].file, "b.safe"))
      json_object_set_new(map, cases[i].tensor,
                          *cases[i].file == '[' ? json_loads(cases[i].file, 0, NULL)
                                                : json_string(cases[i].file));
    json_t *index = json_pack("{s:o}", "weight_map", map);
    must(hf_json_write(c.folder, "model.safetensors.index.json", index));
    json_decref(index);
    const phibal_status status = hf_open(c.folder, NULL, &opened);
    cr_expect_eq(status, cases[i].message ? PHIBAL_ERROR_FORMAT : PHIBAL_OK, "case %zu: %s", i,
                 phibal_status_message());
    if (cases[i].message)
      cr_expect(message_has(cases[i].message), "case %zu: %s", i, phibal_status_message());
    copy_end(&c, &opened, NULL);
  }
}

/* Written, in one file or many, and read again: the same bits. The fixtures' weights are bfloat16
   numbers, so that type loses nothing of them; the bias, which stays F32, gets others. */
Test(huggingface_files, written_and_read_again) {
  for (int i = 0; i < 3 * parity_count; i++) {
    parity p = {0};
    parity_open(parity_names[i / 3], NULL, &p);
    if (p.config.selection_bias) model_bias(p.m, 0)[1] = 0.123456789f;
    char *folder = scratch_folder();
    const hf_save_options options = {.like = i % 3 == 2 ? p.folder : NULL,
                                     .dtype = i % 3 ? HF_BFLOAT16 : HF_FLOAT32,
                                     .shard_bytes = i % 3 == 1 ? 5000 : 1 << 30};
    must(hf_save(folder, &p.config, p.m, &options));
    hf_checkpoint c;
    model *again;
    const balance_config none = {.method = BALANCE_NONE};
    must(hf_open(folder, NULL, &c));
    cr_expect_eq(c.files > 2, i % 3 == 1);
    /* Without a config.json to follow, two names of DeepSeek-V3's architecture become that. */
    const bool renamed = i % 3 != 2 && (!strcmp(parity_names[i / 3], "kimi_k2") ||
                                        !strcmp(parity_names[i / 3], "glm4_moe_lite"));
    cr_expect_str_eq(c.config.architecture->model_type,
                     renamed ? "deepseek_v3" : p.checkpoint.config.architecture->model_type);
    must(model_create(&p.config, &none, 1, 3, &again));
    must(hf_restore(&c, &p.config, again));
    cr_expect_eq(memcmp(model_parameters(again), model_parameters(p.m),
                        (size_t)model_parameter_count(again) * sizeof(float)),
                 0);
    cr_expect_eq(
        memcmp(model_bias(again, 0), model_bias(p.m, 0), (size_t)p.config.experts * sizeof(float)),
        0);
    cr_expect_eq(hf_save(folder, &p.config, p.m, &options), PHIBAL_ERROR_ARGUMENT);
    cr_expect(message_has("not empty"));
    /* Of the folder it is like, all but weights comes along. */
    char *beside = string_format("%s/expected.safetensors", folder);
    cr_expect(access(beside, F_OK), "weights must not come along");
    free(beside);
    model_destroy(again);
    hf_close(&c);
    parity_close(&p);
    folder_remove(folder);
    free(folder);
  }
}

/* A checkpoint like DeepSeek-V3's published one: a weight in FP8 with scales of blocks that do not
   divide it, and a layer of multi-token prediction. `code` is the weight's first number. */
static phibal_status read_quantised(const char *quantised, uint8_t code, bool scaled,
                                    float first[16], int64_t *left) {
  enum { ROWS = 16, COLUMNS = 20, DOWN = 3, ACROSS = 3 };
  static const char weight[] = "model.layers.0.self_attn.o_proj.weight";
  static uint8_t codes[ROWS * COLUMNS];
  static float scales[DOWN * ACROSS];
  parity p = {0};
  json_t *json = NULL;
  parity_open("deepseek_v3", NULL, &p);
  const safetensors_file *from = &p.checkpoint.file[0];
  safetensors_tensor *tensors = calloc((size_t)from->count + 2, sizeof *tensors);
  int64_t n = 0;
  for (int64_t i = 0; i < from->count; i++) {
    tensors[n] = from->tensors[i];
    if (!strcmp(tensors[n].name, weight)) {
      cr_assert(tensors[n].shape[0] == ROWS && tensors[n].shape[1] == COLUMNS);
      tensors[n].dtype = SAFETENSORS_F8_E4M3;
      tensors[n].data = codes;
    }
    n++;
  }
  for (int i = 0; i < ROWS * COLUMNS; i++) codes[i] = (uint8_t)(i % 127 + i % 2 * 128);
  for (int i = 0; i < DOWN * ACROSS; i++) scales[i] = 0.5f + (float)i;
  codes[0] = code;
  if (scaled)
    tensors[n++] = (safetensors_tensor){.name = "model.layers.0.self_attn.o_proj.weight_scale_inv",
                                        .dtype = SAFETENSORS_F32,
                                        .dimensions = 2,
                                        .shape = {DOWN, ACROSS},
                                        .data = scales};
  tensors[n++] = (safetensors_tensor){.name = "model.layers.2.enorm.weight",
                                      .dtype = SAFETENSORS_F32,
                                      .dimensions = 1,
                                      .shape = {4},
                                      .data = scales};
  char *folder = scratch_folder();
  char *path = string_format("%s/model.safetensors", folder);
  char *source = string_format("%s/config.json", p.folder);
  must(safetensors_write(path, tensors, n, NULL, 0));
  must(hf_json_read(source, &json));
  json_object_set_new(json, "num_nextn_predict_layers", json_integer(1));
  json_object_set_new(json, "quantization_config", json_loads(quantised, 0, NULL));
  must(hf_json_write(folder, "config.json", json));
  hf_checkpoint c;
  phibal_status status = hf_open(folder, NULL, &c);
  *left = status ? 0 : hf_prediction_tensors(&c);
  if (!status) status = hf_restore(&c, &p.config, p.m);
  const float *read = model_parameters(p.m) + parity_tensor(p.m, weight)->offset;
  memcpy(first, read, 16 * sizeof *first);
  /* Each is what its bits say, times the scale of its block of 7 rows and 9 columns. */
  for (int i = 0; i < ROWS * COLUMNS && !status; i++) {
    const int exponent = codes[i] >> 3 & 15, fraction = codes[i] & 7;
    const double size =
        exponent ? (1 + fraction / 8.0) * pow(2, exponent - 7) : fraction * pow(2, -9);
    const int block = i / COLUMNS / 7 * ACROSS + i % COLUMNS / 9;
    cr_expect_eq(read[i], (float)((codes[i] & 128 ? -size : size) * (double)scales[block]), "%d",
                 i);
  }
  hf_close(&c);
  parity_close(&p);
  json_decref(json);
  folder_remove(folder);
  free(tensors), free(folder), free(path), free(source);
  return status;
}

Test(huggingface_files, fp8_weights_and_multi_token_prediction) {
#define FP8 "{\"quant_method\": \"fp8\", \"fmt\": \"e4m3\", \"activation_scheme\": \"dynamic\""
  static const char good[] = FP8 ", \"weight_block_size\": [7, 9]}";
  static const struct {
    const char *config, *message;
    uint8_t code;
    bool scaled;
  } refused[] = {
      {good, "'model.layers.0.self_attn.o_proj.weight': a number of it is not finite", 0x7f, true},
      {good, "'model.layers.0.self_attn.o_proj.weight_scale_inv' is not F32 [3, 3]", 0, false},
      {FP8 ", \"weight_block_size\": [4, 9]}", "is not F32 [4, 3]", 0, true},
      {FP8 "}", "'quantization_config'", 0, true},
      {FP8 ", \"weight_block_size\": [7, 0]}", "'quantization_config'", 0, true},
      {FP8 ", \"weight_block_size\": [7, 9], \"scale_fmt\": \"ue8m0\"}", "scale_fmt", 0, true},
      {"{\"quant_method\": \"gptq\", \"weight_block_size\": [7, 9]}", "quant_method", 0, true},
      {"null", "is of type F8_E4M3", 0, true}};
  float first[16];
  int64_t left;
  must(read_quantised(good, 0x7e, true, first, &left));
  cr_expect_eq(first[0], 448 * 0.5f, "the largest is 448");
  cr_expect_eq(first[1], -0x1p-9f * 0.5f, "the smallest is 2^-9");
  cr_expect_eq(left, 1);
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    cr_expect(read_quantised(refused[i].config, refused[i].code, refused[i].scaled, first, &left),
              "case %zu", i);
    cr_expect(message_has(refused[i].message), "case %zu: %s", i, phibal_status_message());
  }
}

/* What read_fused changes beside. */
typedef enum fused_fault {
  FUSED_WELL,
  FUSED_DOWN_ALONE, /* down_proj only: not a fault */
  FUSED_TWICE,      /* an expert's matrix beside the tensor that has it too */
  FUSED_SHAPE,      /* [E][d][2 f] */
  FUSED_NAN,        /* in the last expert's up */
  FUSED_FP8,
} fused_fault;

/* Reads a fixture whose layers have their experts in gate_up_proj [E][2 f][d] and down_proj
   [E][d][f], as transformers 5 writes them with save_original_format=False. */
static phibal_status read_fused(parity *p, const hf_part *parts, int64_t count, fused_fault fault) {
  safetensors_tensor *tensors = calloc((size_t)count, sizeof *tensors);
  char(*names)[96] = calloc((size_t)count, sizeof *names);
  float *numbers = calloc((size_t)model_parameter_count(p->m) + 1, sizeof *numbers);
  const int64_t experts = p->config.experts, f = p->config.hidden, d = p->config.width;
  int64_t used = 0, n = 0, layers = 0;
  for (int64_t i = 0; i < count; i++) {
    char *dot = strstr(parts[i].name, "experts.");
    const bool is_expert = dot && !strstr(parts[i].name, "shared_expert");
    const bool down = is_expert && (string_ends_with(parts[i].name, ".down_proj.weight") ||
                                    string_ends_with(parts[i].name, ".w2.weight"));
    const bool alone = fault == FUSED_DOWN_ALONE && !down;
    safetensors_tensor *to = &tensors[n];
    if (is_expert && !alone &&
        (!strstr(parts[i].name, "experts.0.") || strstr(parts[i].name, "up_proj") ||
         strstr(parts[i].name, ".w3.")))
      continue; /* all of a layer with the first's gate or down */
    snprintf(names[n], sizeof *names, "%s", parts[i].name);
    char *block = strstr(names[n], "block_sparse_moe");
    *to = (safetensors_tensor){.name = names[n],
                               .dtype = SAFETENSORS_F32,
                               .dimensions = parts[i].dimensions,
                               .shape = {parts[i].shape[0], parts[i].shape[1]},
                               .data = parts[i].data};
    n++;
    if (block && !(is_expert && alone)) {
      char rest[96];
      snprintf(rest, sizeof rest, "%s", block + strlen("block_sparse_moe"));
      snprintf(block, (size_t)(names[n - 1] + sizeof *names - block), "mlp%s", rest);
    }
    if (!is_expert || alone) continue;
    layers += down;
    float *all = numbers + used;
    snprintf(strstr(names[n - 1], "experts."), 32, "experts.%s",
             down ? "down_proj" : "gate_up_proj");
    const int64_t rows = down ? d : 2 * f, columns = down ? f : d;
    used += experts * rows * columns;
    to->dimensions = 3;
    to->shape[0] = experts, to->shape[1] = rows, to->shape[2] = columns;
    to->data = all;
    /* The parts of one projection follow each other; up's come after gate's. */
    for (int64_t e = 0; e < experts; e++) {
      const size_t each = (size_t)(f * d) * sizeof(float);
      memcpy(all + e * rows * columns, parts[i + e].data, each);
      if (!down) memcpy(all + e * rows * columns + f * d, parts[i + experts + e].data, each);
    }
    if (fault == FUSED_SHAPE && !down) to->shape[1] = columns, to->shape[2] = rows;
    if (fault == FUSED_NAN && !down) all[experts * rows * columns - 1] = NAN;
    if (fault == FUSED_FP8) to->dtype = SAFETENSORS_F8_E4M3;
    if (fault == FUSED_TWICE && down && layers == 1)
      tensors[n++] = (safetensors_tensor){.name = parts[i].name,
                                          .dtype = SAFETENSORS_F32,
                                          .dimensions = 2,
                                          .shape = {d, f},
                                          .data = parts[i].data};
  }
  char *folder = scratch_folder(), *path = string_format("%s/model.safetensors", folder);
  json_t *json = hf_config_make(p->checkpoint.config.architecture, &p->config);
  if (fault == FUSED_FP8)
    json_object_set_new(
        json, "quantization_config",
        json_loads("{\"quant_method\": \"fp8\", \"weight_block_size\": [7, 9]}", 0, NULL));
  must(safetensors_write(path, tensors, n, NULL, 0));
  must(hf_json_write(folder, "config.json", json));
  float *bias = p->config.selection_bias ? model_bias(p->m, 0) : NULL;
  float kept = bias ? *bias : 0;
  for (int64_t i = 0; i < model_parameter_count(p->m); i++) model_parameters(p->m)[i] = -7;
  if (bias) *bias = -7;
  phibal_status status = hf_load(folder, NULL, &p->config, p->m);
  if (bias) cr_expect(status || *bias == kept);
  json_decref(json);
  folder_remove(folder);
  free(tensors), free(names), free(numbers), free(folder), free(path);
  return status;
}

Test(huggingface_files, fused_experts) {
  static const struct {
    fused_fault fault;
    const char *message; /* null: read, to the same bits */
  } cases[] = {{FUSED_WELL, NULL},
               {FUSED_DOWN_ALONE, NULL},
               {FUSED_TWICE, "is there, and in 'model.layers."},
               {FUSED_SHAPE, "experts.gate_up_proj' is ["},
               {FUSED_NAN, NULL},
               {FUSED_FP8, "is of type F8_E4M3"}};
  for (int i = 0; i < parity_count; i++) {
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
      parity p = {0};
      int64_t count;
      parity_open(parity_names[i], NULL, &p);
      const hf_architecture *a = p.checkpoint.config.architecture;
      if (a->transposed) { /* whose own files are so, otherwise */
        parity_close(&p);
        continue;
      }
      hf_part *parts = hf_parts_make(a, &p.config, p.m, &count);
      const size_t bytes = (size_t)model_parameter_count(p.m) * sizeof(float);
      float *before = malloc(bytes);
      memcpy(before, model_parameters(p.m), bytes);
      /* Where gate_up_proj is square there is no other shape. */
      const bool square = 2 * p.config.hidden == p.config.width && cases[k].fault == FUSED_SHAPE;
      const phibal_status status =
          square ? PHIBAL_OK : read_fused(&p, parts, count, cases[k].fault);
      char place[96];
      snprintf(place, sizeof place, "experts.gate_up_proj'[%d][%d][%d] is NaN",
               p.config.experts - 1, 2 * p.config.hidden - 1, p.config.width - 1);
      const char *message =
          a->own_code ? "experts.0.down_proj.weight' is missing" : cases[k].message;
      if (a->own_code && cases[k].fault != FUSED_DOWN_ALONE) message = "is missing";
      if (square)
        ;
      else if (message)
        cr_expect(status && message_has(message), "%s, case %zu: %s", parity_names[i], k,
                  status ? phibal_status_message() : "read");
      else if (cases[k].fault == FUSED_NAN)
        cr_expect(status == PHIBAL_ERROR_NONFINITE && message_has(place), "%s: %s", parity_names[i],
                  status ? phibal_status_message() : "read");
      else
        cr_expect(!status && !memcmp(before, model_parameters(p.m), bytes), "%s, case %zu: %s",
                  parity_names[i], k, status ? phibal_status_message() : "other bits");
      free(before);
      free(parts);
      parity_close(&p);
    }
  }
}

/* gpt-oss with experts in MXFP4: what a number is follows from its four bits, its block's byte, and
   its place, which is not transposed. */
typedef enum packed_fault {
  PACKED_WELL,
  PACKED_NO_SCALES,
  PACKED_OTHER_SCALES, /* of half as many blocks */
  PACKED_NAN,          /* E8M0's byte for it */
  PACKED_UNSAID,       /* without quantization_config */
  PACKED_UNEVEN,       /* a width that is no blocks */
} packed_fault;

static phibal_status read_packed(packed_fault fault, char folder[512]) {
  enum { D = 64, F = 96, E = 3 };
  static const double values[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  static uint8_t bits[2][E * 2 * F * D / 2], scales[2][E * 2 * F * D / 32];
  parity p = {0};
  parity_open("gpt_oss", NULL, &p);
  model_config c = p.config;
  c.layers = 1, c.width = fault == PACKED_UNEVEN ? D + 2 : D, c.hidden = F, c.experts = E;
  model *m;
  const balance_config none = {.method = BALANCE_NONE};
  must(model_create(&c, &none, 1, 3, &m));
  for (int k = 0; k < 2; k++) {
    for (size_t i = 0; i < sizeof bits[k]; i++) bits[k][i] = (uint8_t)(i * 37 + i / 91 + (size_t)k);
    for (size_t i = 0; i < sizeof scales[k]; i++) scales[k][i] = (uint8_t)(120 + i % 13);
  }
  scales[0][0] = 0, scales[0][1] = 250;
  if (fault == PACKED_NAN) scales[1][5] = 255;
  int64_t count, n = 0;
  hf_part *parts = hf_parts_make(p.checkpoint.config.architecture, &c, m, &count);
  safetensors_tensor *tensors = calloc((size_t)count + 4, sizeof *tensors);
  float *zero = calloc(E * 2 * F * 2, sizeof *zero);
  for (int64_t i = 0; i < count; i++) {
    const bool apart = parts[i].elsewhere;
    if (apart && (parts[i].other.first || parts[i].other.dimensions == 3)) continue;
    tensors[n++] = (safetensors_tensor){
        .name = apart ? parts[i].other.name : parts[i].name,
        .dtype = SAFETENSORS_F32,
        .dimensions = parts[i].dimensions,
        .shape = {parts[i].shape[0], apart ? parts[i].other.shape[1] : parts[i].shape[1]},
        .data = apart ? zero : parts[i].data};
  }
  static const char *const names[2][2] = {{"model.layers.0.mlp.experts.gate_up_proj_blocks",
                                           "model.layers.0.mlp.experts.gate_up_proj_scales"},
                                          {"model.layers.0.mlp.experts.down_proj_blocks",
                                           "model.layers.0.mlp.experts.down_proj_scales"}};
  for (int k = 0; k < 2; k++) {
    const int64_t rows = k ? D : 2 * F, blocks = (k ? F : D) / 32;
    const int64_t few = fault == PACKED_OTHER_SCALES && k ? 1 : blocks;
    tensors[n++] = (safetensors_tensor){.name = names[k][0],
                                        .dtype = SAFETENSORS_U8,
                                        .dimensions = 4,
                                        .shape = {E, rows, blocks, 16},
                                        .data = bits[k]};
    if (fault == PACKED_NO_SCALES && k) continue;
    tensors[n++] = (safetensors_tensor){.name = names[k][1],
                                        .dtype = SAFETENSORS_U8,
                                        .dimensions = 3,
                                        .shape = {E, rows, few},
                                        .data = scales[k]};
  }
  char *scratch = scratch_folder(), *path = string_format("%s/model.safetensors", scratch);
  json_t *json = hf_config_make(p.checkpoint.config.architecture, &c);
  if (fault != PACKED_UNSAID)
    json_object_set_new(json, "quantization_config",
                        json_loads("{\"quant_method\": \"mxfp4\"}", 0, NULL));
  must(safetensors_write(path, tensors, n, NULL, 0));
  must(hf_json_write(scratch, "config.json", json));
  phibal_status status = hf_load(scratch, NULL, &c, m);
  snprintf(folder, 512, "%s", scratch);
  for (int k = 0; k < 3 && !status; k++) {
    static const char *const own[] = {"gate_proj", "up_proj", "down_proj"};
    char name[96];
    snprintf(name, sizeof name, "model.layers.0.mlp.experts.%s.weight", own[k]);
    const float *read = model_parameters(m) + parity_tensor(m, name)->offset;
    const int64_t rows = k == 2 ? D : F, columns = k == 2 ? F : D;
    for (int64_t i = 0; i < E * rows * columns; i++) {
      const int64_t e = i / (rows * columns), row = i / columns % rows, j = i % columns;
      const int64_t at = k == 2 ? e * rows + row : e * 2 * rows + 2 * row + k;
      const int code = bits[k == 2][(at * columns + j) / 2] >> (j % 2 ? 4 : 0) & 15;
      const double scale = ldexp(1, scales[k == 2][(at * columns + j) / 32] - 127);
      cr_assert_eq((double)read[i], (code & 8 ? -1 : 1) * values[code & 7] * scale, "%s %lld", name,
                   (long long)i);
    }
  }
  json_decref(json);
  folder_remove(scratch);
  free(parts), free(tensors), free(zero), free(scratch), free(path);
  model_destroy(m);
  parity_close(&p);
  return status;
}

Test(huggingface_files, mxfp4_weights) {
  static const struct {
    packed_fault fault;
    const char *message;
  } cases[] = {{PACKED_NO_SCALES, "experts.down_proj_scales' is missing"},
               {PACKED_OTHER_SCALES, "experts.down_proj_scales' is U8 [3, 64, 1]; expected U8 "
                                     "[3, 64, 3]"},
               {PACKED_NAN, "experts.0.down_proj.weight': a number of it is not finite"},
               {PACKED_UNSAID, "experts.gate_up_proj' is missing"},
               {PACKED_UNEVEN, "rows of 66 numbers"}};
  char folder[512];
  must(read_packed(PACKED_WELL, folder));
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    cr_expect(read_packed(cases[i].fault, folder), "case %zu", i);
    cr_expect(message_has(cases[i].message), "case %zu: %s", i, phibal_status_message());
  }
}

/* To nearest, ties to even; what would not be finite is refused, and no folder made. */
Test(huggingface_files, bfloat16_rounds_to_nearest) {
  static const float given[] = {1.0f,       0x1.01p0f,       0x1.010002p0f, 0x1.03p0f,
                                -0x1.01p0f, 0x1.fefffep127f, 0x1p-133f,     0x1.8p-134f};
  static const float wanted[] = {1.0f,  1.0f,        0x1.02p0f, 0x1.04p0f,
                                 -1.0f, 0x1.fep127f, 0x1p-133f, 0x1p-133f};
  static const float refused[] = {0x1.fffffep127f, -0x1.ffp127f, INFINITY, NAN};
  enum { N = sizeof given / sizeof *given };
  parity p = {0};
  parity_open("olmoe", NULL, &p);
  memcpy(model_parameters(p.m), given, sizeof given);
  char *folder = scratch_folder();
  float *last = &model_parameters(p.m)[N], kept = *last;
  for (int i = 0; i < 4; i++) {
    char inside[600];
    snprintf(inside, sizeof inside, "%s/inside", folder);
    *last = refused[i];
    cr_expect_eq(hf_save(inside, &p.config, p.m,
                         &(hf_save_options){.dtype = HF_BFLOAT16, .shard_bytes = 1 << 30}),
                 PHIBAL_ERROR_NONFINITE, "%a", (double)refused[i]);
    cr_expect(message_has("'model.embed_tokens.weight'"), "%s", phibal_status_message());
    cr_expect(access(inside, F_OK));
  }
  *last = kept;
  must(hf_save(folder, &p.config, p.m,
               &(hf_save_options){.dtype = HF_BFLOAT16, .shard_bytes = 1 << 30}));
  must(hf_load(folder, NULL, &p.config, p.m));
  for (int i = 0; i < N; i++)
    cr_expect_eq(model_parameters(p.m)[i], wanted[i], "%a gives %a", (double)given[i],
                 (double)model_parameters(p.m)[i]);
  folder_remove(folder);
  free(folder);
  parity_close(&p);
}

/* The tokenizer goes along; a model that is another, or that no architecture is, is refused. */
Test(huggingface_files, like_another) {
  parity p = {0};
  char *like = scratch_folder(), *folder = scratch_folder();
  parity_open("olmoe", NULL, &p);
  const hf_save_options options = {.like = like, .shard_bytes = 1 << 30};
  json_t *json = hf_config_make(p.checkpoint.config.architecture, &p.config);
  json_object_set_new(json, "eos_token_id", json_integer(31));
  char *text = json_dumps(json, 0);
  put_text(like, "config.json", text);
  put_text(like, "tokenizer.json", "{}");
  put_text(like, "pytorch_model.bin", "weights");
  must(hf_save(folder, &p.config, p.m, &options));
  free(text);
  json_decref(json);
  cr_expect_eq(count_names(folder), 3); /* and config.json, model.safetensors */
  char *path = string_format("%s/config.json", folder);
  must(hf_json_read(path, &json));
  cr_expect_eq(json_integer_value(json_object_get(json, "eos_token_id")), 31);
  cr_expect_str_eq(json_string_value(json_object_get(json, "torch_dtype")), "float32");
  json_decref(json);
  free(path);
  folder_remove(folder);
  p.config.rope_theta = 7;
  cr_expect_eq(hf_save(folder, &p.config, p.m, &options), PHIBAL_ERROR_ARGUMENT);
  cr_expect(message_has("model.rope_theta (7, there 5e+01)"), "%s", phibal_status_message());
  p.config.embedding_scale = true;
  cr_expect_eq(hf_save(folder, &p.config, p.m, &(hf_save_options){.shard_bytes = 1 << 30}),
               PHIBAL_ERROR_UNSUPPORTED);
  cr_expect(message_has("OlmoeForCausalLM, differs in: model.embedding_scale (true, there false)"),
            "%s", phibal_status_message());
  p.config.embedding_scale = false;
  p.config.selection_score = PHIBAL_SCORE_PROBABILITY;
  cr_expect_eq(hf_save(folder, &p.config, p.m, &(hf_save_options){.shard_bytes = 1 << 30}),
               PHIBAL_ERROR_UNSUPPORTED);
  cr_expect(message_has("model.selection_score (probability, there of_gate)"), "%s",
            phibal_status_message());
  cr_expect_eq(count_names(folder), -1, "nothing is written before that");
  folder_remove(like);
  free(like);
  free(folder);
  parity_close(&p);
}
