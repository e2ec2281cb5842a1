/* Adapters in the format of PEFT. */
#include "lora.h"

#include "formats/file.h"
#include "formats/json_text.h"
#include "moe/hf/hf_internal.h"

#include "kernels/cpu/gemm.h"

#include <math.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "base_model.model."
#define FROM_TRAINING "lora."
#define LORA_A ".lora_A.weight"
#define LORA_B ".lora_B.weight"
#define MAGNITUDE ".lora_magnitude_vector"
#define EMBEDDING "model.embed_tokens"
#define EMBEDDING_A ".lora_embedding_A"
#define EMBEDDING_B ".lora_embedding_B"
#define HEAD "lm_head"

static phibal_status memory_error(void) {
  return phibal_status_set(PHIBAL_ERROR_MEMORY, "no memory for the adapters");
}

/* Whether transformers 5 holds the experts of this model in one tensor, from which PEFT (0.19 and
   later) takes all of gate_proj, up_proj and down_proj for names of parameters: of every
   architecture but DeepseekForCausalLM, whose code comes with its checkpoint, and Qwen2-MoE
   (shared_gate), whose experts PEFT gives no adapters at all. */
static bool holds_fused(const model_config *model_options, const char *word) {
  return *word == 'w' || model_options->latent_width || model_options->qk_norm != QK_NORM_NONE ||
         model_options->gate == PHIBAL_GATE_SIGMOID ||
         model_options->selection_score == PHIBAL_SCORE_PROBABILITY;
}

/* "model.layers.0.mlp.up_proj" of a tensor of training, without "lora." and ".lora_A.weight"; false
   for what is no first factor. */
static bool first_factor(const char *name, char stem[160]) {
  const size_t from = sizeof FROM_TRAINING - 1;
  if (strncmp(name, FROM_TRAINING, from) || !string_ends_with(name, LORA_A)) return false;
  snprintf(stem, 160, "%.*s", (int)(strlen(name) - from - (sizeof LORA_A - 1)), name + from);
  return true;
}

static const char *last_word(const char *stem) {
  const char *dot = strrchr(stem, '.');
  return dot ? dot + 1 : stem;
}

/* The matrices of an expert that PEFT wants adapters of, or zeros, beside those of gate_proj or
   up_proj: the other, which is fused with it, and down_proj, whose module is around theirs. An
   empty text: none. */
static void companions_of(const char *stem, char other[160], char down[160]) {
  static const char *const names[][3] = {{"gate_proj", "up_proj", "down_proj"},
                                         {"up_proj", "gate_proj", "down_proj"},
                                         {"w1", "w3", "w2"},
                                         {"w3", "w1", "w2"}};
  const char *word = last_word(stem);
  *other = *down = 0;
  for (size_t i = 0; i < 4 && strstr(stem, ".experts."); i++) {
    if (strcmp(word, names[i][0])) continue;
    snprintf(other, 160, "%.*s%s", (int)(word - stem), stem, names[i][1]);
    snprintf(down, 160, "%.*s%s", (int)(word - stem), stem, names[i][2]);
  }
}

static bool has_adapter(const safetensors_file *training, const char *stem) {
  char name[256];
  snprintf(name, sizeof name, FROM_TRAINING "%s" LORA_A, stem);
  return safetensors_find(training, name);
}

static void append_once(json_t *list, const char *text) {
  json_t *one = json_text(text), *other;
  size_t i;
  bool known = false;
  json_array_foreach(list, i, other) known |= json_equal(other, one);
  if (!known) json_array_append(list, one);
  json_decref(one);
}

/* What PEFT is to add adapters to: modules by the last words of their names; but the FFN of a dense
   layer and a shared expert beside fused ones, which PEFT would leave out, by their parameters. */
static void list_targets(const safetensors_file *training, const model_config *model_options,
                         json_t *modules, json_t *parameters, bool *ffn) {
  *ffn = false;
  for (int64_t i = 0; i < training->count; i++) {
    char stem[160], other[160], down[160], parameter[192];
    if (!first_factor(training->tensors[i].name, stem)) continue;
    const char *word = last_word(stem), *mlp = strstr(stem, ".mlp.");
    *ffn |= strstr(stem, "mlp.") || strstr(stem, "moe.");
    companions_of(stem, other, down);
    const bool fused = holds_fused(model_options, word);
    const bool alone = mlp && !strstr(stem, ".experts.") && strcmp(word, "gate");
    snprintf(parameter, sizeof parameter, "%s.weight", mlp ? mlp + 1 : "");
    if (fused && alone)
      append_once(parameters, parameter);
    else
      append_once(modules, word);
    if (fused && *other) append_once(modules, last_word(other));
    if (fused && *down) append_once(modules, last_word(down));
    if (!strcmp(stem, EMBEDDING) && !model_options->untied_head) append_once(modules, HEAD);
  }
}

static json_t *make_config(const lora_config *config, const model_config *model_options,
                           const char *base, const safetensors_file *training) {
  json_t *modules = json_array(), *parameters = json_array();
  bool ffn;
  list_targets(training, model_options, modules, parameters, &ffn);
  /* PEFT has no dropout before adapters of parameters, and refuses it. */
  json_t *json = json_pack("{s:s, s:s, s:i, s:f, s:o, s:f, s:s, s:b, s:b, s:o}", "peft_type",
                           "LORA", "task_type", "CAUSAL_LM", "r", config->rank, "lora_alpha",
                           config->alpha, "target_modules", modules, "lora_dropout",
                           ffn ? 0.0 : config->dropout, "bias", "none", "fan_in_fan_out", 0,
                           "inference_mode", 1, "base_model_name_or_path", json_text(base));
  if (json_array_size(parameters)) json_object_set(json, "target_parameters", parameters);
  json_decref(parameters);
  return json;
}

/* Tensors to be written, with names that are theirs, and numbers where they are not the run's. */
typedef struct factors {
  safetensors_tensor *tensors;
  int64_t count;
  float **numbers;
} factors;

static phibal_status add_factor(factors *f, const safetensors_tensor *from, int64_t rows,
                                int64_t columns, float *numbers, char *name) {
  safetensors_tensor *to = &f->tensors[f->count];
  *to = *from;
  to->name = name;
  to->shape[0] = rows, to->shape[1] = columns;
  f->numbers[f->count++] = numbers;
  if (numbers) to->data = numbers;
  return name ? PHIBAL_OK : memory_error();
}

static float *transposed(const float *from, int64_t rows, int64_t columns) {
  float *to = malloc((size_t)(rows * columns) * sizeof *to);
  for (int64_t i = 0; to && i < rows; i++)
    for (int64_t j = 0; j < columns; j++) to[j * rows + i] = from[i * columns + j];
  return to;
}

/* Adapters of a matrix [m][n] that do nothing; a and b are any others of the same rank. */
static phibal_status add_zeros(factors *f, const safetensors_tensor *a, const safetensors_tensor *b,
                               int64_t n, int64_t m, const char *stem) {
  const int64_t r = a->shape[0];
  float *first = calloc((size_t)(r * n), sizeof *first);
  float *second = calloc((size_t)(m * r), sizeof *second);
  if (!first || !second) {
    free(first), free(second);
    return memory_error();
  }
  phibal_status status = add_factor(f, a, r, n, first, string_format("%s%s" LORA_A, PREFIX, stem));
  const phibal_status after =
      add_factor(f, b, m, r, second, string_format("%s%s" LORA_B, PREFIX, stem));
  return status ? status : after;
}

/* The factors A [r][n] and B [m][r] of one matrix. PEFT has those of an embedding transposed, and
   its head apart even where it is tied. */
static phibal_status add_adapter(factors *f, const model_config *model_options,
                                 const safetensors_file *training, const char *stem,
                                 const safetensors_tensor *a, const safetensors_tensor *b) {
  const int64_t r = a->shape[0], n = a->shape[1], m = b->shape[0];
  char other[160], down[160];
  phibal_status status = PHIBAL_OK;
  const bool embeds = !strcmp(stem, EMBEDDING);
  companions_of(stem, other, down);
  if (embeds) {
    float *first = transposed(b->data, m, r), *second = transposed(a->data, r, n);
    if (!first || !second) {
      free(first), free(second);
      return memory_error();
    }
    status = add_factor(f, b, r, m, first, string_format("%s%s" EMBEDDING_A, PREFIX, stem));
    const phibal_status after =
        add_factor(f, a, n, r, second, string_format("%s%s" EMBEDDING_B, PREFIX, stem));
    if (!status) status = after;
  }
  const char *name = embeds ? HEAD : stem;
  if (!status && (!embeds || !model_options->untied_head)) {
    status = add_factor(f, a, r, n, NULL, string_format("%s%s" LORA_A, PREFIX, name));
    if (!status) status = add_factor(f, b, m, r, NULL, string_format("%s%s" LORA_B, PREFIX, name));
  }
  if (status || !holds_fused(model_options, last_word(stem))) return status;
  if (*other && !has_adapter(training, other)) status = add_zeros(f, a, b, n, m, other);
  const char *word = last_word(stem);
  const bool is_first =
      !strcmp(word, "gate_proj") || !strcmp(word, "w1") || !has_adapter(training, other);
  if (!status && *down && is_first && !has_adapter(training, down))
    status = add_zeros(f, a, b, m, n, down);
  return status;
}

static phibal_status write_tensors(const char *path, const model_config *model_options,
                                   const safetensors_file *training) {
  static const safetensors_entry format = {"format", "pt"};
  const size_t most = 6 * ((size_t)training->count + 1);
  factors f = {calloc(most, sizeof *f.tensors), 0, calloc(most, sizeof *f.numbers)};
  phibal_status status = f.tensors && f.numbers ? PHIBAL_OK : memory_error();
  for (int64_t i = 0; i < training->count && !status; i++) {
    char stem[160], second[256];
    const safetensors_tensor *a = &training->tensors[i];
    if (!first_factor(a->name, stem)) continue;
    snprintf(second, sizeof second, FROM_TRAINING "%s" LORA_B, stem);
    const safetensors_tensor *b = safetensors_find(training, second);
    if (!b)
      status = phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: no tensor '%s'", training->name, second);
    if (!status) status = safetensors_check_finite(training->name, a);
    if (!status) status = safetensors_check_finite(training->name, b);
    if (!status) status = add_adapter(&f, model_options, training, stem, a, b);
  }
  if (!status && !f.count)
    status = phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: a run without adapters (lora.rank)",
                               training->name);
  if (!status) status = safetensors_write(path, f.tensors, f.count, &format, 1);
  for (int64_t i = 0; i < f.count; i++) {
    free((void *)(uintptr_t)f.tensors[i].name);
    free(f.numbers[i]);
  }
  free(f.tensors);
  free((void *)f.numbers);
  return status;
}

static phibal_status check_loadable(const model_config *model_options,
                                    const safetensors_file *training) {
  for (int64_t i = 0; i < training->count; i++) {
    char stem[160];
    if (!first_factor(training->tensors[i].name, stem)) continue;
    if (string_ends_with(stem, ".mlp.router"))
      return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                               "%s: adapters of %s: PEFT has none of gpt-oss's routers; export the "
                               "whole model, or leave them out of lora.targets",
                               training->name, stem);
    if (!model_options->shared_gate) continue;
    if (strstr(stem, ".experts.") || string_ends_with(stem, ".mlp.gate"))
      return phibal_status_set(
          PHIBAL_ERROR_UNSUPPORTED,
          "%s: adapters of %s: PEFT has none of Qwen2-MoE's experts and routers; "
          "export the whole model, or leave them out of lora.targets",
          training->name, stem);
  }
  return PHIBAL_OK;
}

phibal_status lora_save(const char *folder, const lora_config *config,
                        const model_config *model_options, const char *base,
                        const safetensors_file *training) {
  phibal_status status = check_loadable(model_options, training);
  if (!status) status = hf_folder_create(folder);
  char *path = string_format("%s/adapter_model.safetensors", folder);
  json_t *json = make_config(config, model_options, base, training);
  if (!status && (!path || !json)) status = memory_error();
  if (!status) status = write_tensors(path, model_options, training);
  if (!status) status = hf_json_write(folder, "adapter_config.json", json);
  json_decref(json);
  free(path);
  return status;
}

/* Whether a key is there with something in it. */
static bool says(const json_t *json, const char *key) {
  const json_t *value = json_object_get(json, key);
  return value && !json_is_null(value) && !json_is_false(value) &&
         !(json_is_object(value) && !json_object_size(value)) &&
         !(json_is_array(value) && !json_array_size(value));
}

/* A pattern of Python for whole names as one of POSIX, after `begin`: those that are the same in
   both but for groups without a number and for laziness, which does not matter to whether all of a
   name fits. False for any other. */
static bool translate(const char *begin, const char *from, char to[512]) {
  size_t n = (size_t)snprintf(to, 512, "^%s(", begin);
  for (; *from && n < 500; from++) {
    const char before = to[n - 1];
    if (!strncmp(from, "(?:", 3)) {
      to[n++] = '(';
      from += 2;
    } else if (*from == '?' && (before == '*' || before == '+')) {
      continue;
    } else if ((*from == '?' && before == '(') || (*from == '\\' && from[1] != '.')) {
      return false;
    } else {
      to[n++] = *from;
    }
  }
  snprintf(to + n, 512 - n, ")$");
  return !*from;
}

/* Whether a pattern of a key fits a module; PHIBAL_ERROR_UNSUPPORTED for one that phibal does not
   read. */
static phibal_status matches(const char *path, const char *key, const char *begin,
                             const char *pattern, const char *module, bool *fits) {
  char posix[512], shown[HF_SHOWN];
  regex_t compiled;
  if (!translate(begin, pattern, posix) || regcomp(&compiled, posix, REG_EXTENDED | REG_NOSUB))
    return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                             "%s: '%s' has %s, a pattern that phibal does not read", path, key,
                             hf_json_show_text(pattern, shown));
  *fits = !regexec(&compiled, module, 0, NULL, 0);
  regfree(&compiled);
  return PHIBAL_OK;
}

/* r and alpha of a module: the first pattern that fits the end of its name, or those of all. The
   product is scaled by alpha / r, or with rsLoRA by alpha / sqrt(r). */
static phibal_status find_scale(const json_t *config, const char *path, const char *module,
                                int32_t *rank, float *scale) {
  float alpha = 0;
  const char *pattern;
  json_t *value;
  bool fits = false, special = false;
  phibal_status status = hf_json_integer(config, path, "r", true, rank);
  if (!status) status = hf_json_real(config, path, "lora_alpha", true, &alpha);
  for (int k = 0; k < 2 && !status; k++) {
    const char *key = k ? "alpha_pattern" : "rank_pattern";
    json_object_foreach(json_object_get(config, key), pattern, value) {
      status = matches(path, key, "(.*\\.)?", pattern, module, &fits);
      if (!status && fits)
        status = k ? hf_json_real(json_object_get(config, key), path, pattern, true, &alpha)
                   : hf_json_integer(json_object_get(config, key), path, pattern, true, rank);
      special |= fits;
      if (status || fits) break;
    }
  }
  if (!status && *rank < 1)
    status = phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: 'r' is %d", path, *rank);
  if (status) return status;
  const bool stabilised = json_is_true(json_object_get(config, "use_rslora"));
  /* PEFT joins an expert's gate and up to one adapter of rank 2 r: sqrt(2 r), and no pattern. What
     it has saved of fused experts says what they have. */
  const bool one = strstr(module, ".experts.") &&
                   !string_ends_with(module, ".experts.gate_up_proj") &&
                   !string_ends_with(module, ".experts.down_proj");
  if ((special || stabilised) && one)
    return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                             "%s: use_rslora, rank_pattern or alpha_pattern of experts, which PEFT "
                             "scales by other factors where transformers 5 has them fused",
                             path);
  const float r = (float)*rank;
  *scale = alpha / (stabilised ? sqrtf(r) : r);
  return PHIBAL_OK;
}

/* What init_lora_weights may say: how A and B began. All else ("pissa", "olora", "corda", "loftq",
   "lora_ga") takes something off the base's weights when the adapters are made, and PEFT again
   when they are loaded: W + s B A is not their model. */
static bool begins_beside(const json_t *how) {
  static const char *const names[] = {"gaussian", "eva", "orthogonal"};
  bool known = !how || json_is_null(how) || json_is_boolean(how);
  for (size_t i = 0; i < sizeof names / sizeof *names && json_is_string(how); i++)
    known |= !strcmp(json_string_value(how), names[i]);
  return known;
}

/* The parameters of a layer's experts, in the order in which PEFT wraps them. */
static const char *const fused_names[] = {"gate_up_proj", "down_proj"};

/* Parameters that are matrices of their own, which the names in the file say, or hold experts. */
static bool are_known(const json_t *parameters) {
  bool all = json_is_array(parameters);
  for (size_t i = 0; i < json_array_size(parameters); i++) {
    const char *name = json_string_value(json_array_get(parameters, i));
    const char *word = name ? last_word(name) : "";
    all &=
        !strcmp(word, "weight") || !strcmp(word, fused_names[0]) || !strcmp(word, fused_names[1]);
  }
  return all;
}

/* *config, which is to be released, is the whole of it. */
static phibal_status read_config(const char *folder, json_t **config) {
  /* These change nothing of what the tensors say. Any other key that says something is a variant
     that phibal does not have: alora_invocation_tokens, lora_bias ... */
  static const char *const plain[] = {"peft_type",         "r",
                                      "lora_alpha",        "auto_mapping",
                                      "peft_version",      "base_model_name_or_path",
                                      "revision",          "inference_mode",
                                      "task_type",         "target_modules",
                                      "exclude_modules",   "layers_to_transform",
                                      "lora_dropout",      "loftq_config",
                                      "eva_config",        "corda_config",
                                      "lora_ga_config",    "megatron_core",
                                      "qalora_group_size", "runtime_config",
                                      "rank_pattern",      "alpha_pattern",
                                      "use_rslora",        "use_dora"};
  json_t *json = NULL, *value;
  const char *key;
  char *path = string_format("%s/adapter_config.json", folder);
  if (!path) return memory_error();
  phibal_status status = hf_json_read(path, &json);
  char shown[HF_SHOWN], name[HF_SHOWN];
  const json_t *type = json_object_get(json, "peft_type"), *bias = json_object_get(json, "bias");
  if (!status && (!json_is_string(type) || strcmp(json_string_value(type), "LORA")))
    status = phibal_status_set(PHIBAL_ERROR_UNSUPPORTED, "%s: adapters of type %s", path,
                               hf_json_show(type, shown));
  if (!status) json_object_foreach(json, key, value) {
      bool fits = !says(json, key);
      for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) fits |= !strcmp(plain[i], key);
      if (!strcmp(key, "init_lora_weights")) fits = begins_beside(value);
      if (!strcmp(key, "target_parameters")) fits |= are_known(value);
      if (value == bias) fits = json_is_string(bias) && !strcmp(json_string_value(bias), "none");
      if (fits) continue;
      status = phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                                 "%s: '%.*s' is %s: a kind of adapters that phibal does not have",
                                 path, (int)strlen(hf_json_show_text(key, name)) - 2, name + 1,
                                 hf_json_show(value, shown));
      break;
    }
  static const char *const objects[] = {"rank_pattern", "alpha_pattern"};
  for (int i = 0; i < 2 && !status; i++) {
    const json_t *object = json_object_get(json, objects[i]);
    if (object && !json_is_null(object) && !json_is_object(object))
      status = phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: '%s' is %s, expected an object", path,
                                 objects[i], hf_json_show(object, shown));
  }
  bool said;
  int32_t rank;
  float scale;
  if (!status) status = hf_json_boolean(json, path, "use_rslora", &said);
  if (!status) status = hf_json_boolean(json, path, "use_dora", &said);
  if (!status) status = find_scale(json, path, "", &rank, &scale);
  *config = json;
  free(path);
  return status;
}

/* Whether a module is one of a list, or the end of its name is; null is no list. */
static bool is_named(const json_t *list, const char *module) {
  for (size_t i = 0; i < json_array_size(list); i++) {
    const char *name = json_string_value(json_array_get(list, i));
    const size_t n = strlen(module), end = name ? strlen(name) : n + 1;
    if (end <= n && !strcmp(module + n - end, name) && (end == n || module[n - end - 1] == '.'))
      return true;
  }
  return false;
}

/* PEFT passes over adapters of modules that its configuration does not name: such a file is another
   model than its tensors say. */
static phibal_status check_named(const json_t *config, const char *path, const char *module) {
  const json_t *modules = json_object_get(config, "target_modules");
  const json_t *layers = json_object_get(config, "layers_to_transform");
  const json_t *excluded = json_object_get(config, "exclude_modules");
  char parameter[176], shown[HF_SHOWN];
  snprintf(parameter, sizeof parameter, "%s.weight", module);
  bool listed = is_named(modules, module) ||
                is_named(json_object_get(config, "target_parameters"), parameter);
  if (!listed && json_is_string(modules)) {
    const char *pattern = json_string_value(modules);
    phibal_status status = PHIBAL_OK;
    if (!strcmp(pattern, "all-linear"))
      listed = true;
    else
      status = matches(path, "target_modules", "", pattern, module, &listed);
    if (status) return status;
  }
  if (!listed)
    return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED, "%s: %s is not among its 'target_modules'",
                             path, hf_json_show_text(module, shown));
  if (json_is_string(excluded) || is_named(excluded, module))
    return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED, "%s: %s may be among its 'exclude_modules'",
                             path, hf_json_show_text(module, shown));
  bool within =
      !layers || json_is_null(layers) || (json_is_array(layers) && !json_array_size(layers));
  const char *number = strstr(module, "layers.");
  const json_int_t layer = number ? (json_int_t)strtoll(number + strlen("layers."), NULL, 10) : -1;
  within |= json_is_integer(layers) && json_integer_value(layers) == layer;
  for (size_t i = 0; i < json_array_size(layers); i++)
    within |= json_integer_value(json_array_get(layers, i)) == layer;
  return within ? PHIBAL_OK
                : phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                                    "%s: %s is of no layer of 'layers_to_transform'", path,
                                    hf_json_show_text(module, shown));
}

/* The matrix that a factor belongs to; null for none. */
static const hf_part *part_of(const char *name, const hf_part *parts, int64_t count) {
  const size_t whole = strlen(name), prefix = sizeof PREFIX - 1, end = sizeof LORA_A - 1;
  if (whole <= prefix + end || strncmp(name, PREFIX, prefix)) return NULL;
  if (strcmp(name + whole - end, LORA_A) && strcmp(name + whole - end, LORA_B)) return NULL;
  const size_t stem = whole - prefix - end;
  for (int64_t i = 0; i < count; i++) /* an expert of a tensor that holds all has no name */
    if (parts[i].elsewhere)
      continue;
    else if (!strncmp(parts[i].name, name + prefix, stem) &&
             !strcmp(parts[i].name + stem, ".weight"))
      return parts[i].dimensions == 2 ? &parts[i] : NULL;
  return NULL;
}

/* A factor of a shape, or with no columns a vector, in a type that hf_reads: *numbers is to be
   freed. */
static phibal_status take_factor(const safetensors_file *file, const char *name, int64_t rows,
                                 int64_t columns, float **numbers) {
  const int64_t shape[] = {rows, columns};
  const size_t count = (size_t)(rows * (columns ? columns : 1));
  const safetensors_tensor *t = safetensors_find(file, name);
  *numbers = NULL;
  const safetensors_dtype type = t && hf_reads(t->dtype) ? t->dtype : SAFETENSORS_F32;
  phibal_status status = safetensors_get(file, name, type, columns ? 2 : 1, shape, &t);
  if (!status) status = safetensors_check_finite(file->name, t);
  if (!status && !(*numbers = malloc(count * sizeof **numbers))) status = memory_error();
  if (!status) hf_numbers(t, *numbers);
  return status;
}

/* W [m][n] += s B A */
static phibal_status add_product(float *w, int64_t m, int64_t n, int32_t rank, const float *b,
                                 const float *a, float scale) {
  float *product = malloc((size_t)(m * n) * sizeof *product);
  if (!product) return memory_error();
  phibal_gemm_nn(m, n, rank, b, rank, a, n, false, product, n);
  for (int64_t i = 0; i < m * n; i++) w[i] = w[i] + scale * product[i];
  free(product);
  return PHIBAL_OK;
}

/* DoRA (Liu et al., arXiv:2402.09353, equation 5): row i of w, which has the product, becomes
   magnitude_i w_i / |w_i|; the norm is within 2^-50 of itself, and three roundings follow. */
static phibal_status set_magnitudes(const safetensors_file *file, const char *a_name, float *w,
                                    int64_t m, int64_t n) {
  char name[256], longer[256];
  float *magnitude = NULL;
  snprintf(name, sizeof name, "%.*s" MAGNITUDE, (int)(strlen(a_name) - (sizeof LORA_A - 1)),
           a_name);
  snprintf(longer, sizeof longer, "%.240s.weight", name);
  phibal_status status =
      take_factor(file, safetensors_find(file, longer) ? longer : name, m, 0, &magnitude);
  for (int64_t i = 0; i < m && !status; i++) {
    double square = 0;
    for (int64_t j = 0; j < n; j++) square += (double)w[i * n + j] * (double)w[i * n + j];
    if (square <= 0)
      status =
          phibal_status_set(PHIBAL_ERROR_NONFINITE,
                            "%s: '%s': row %lld of the matrix with its adapter is 0, which has "
                            "no direction",
                            file->name, name, (long long)i);
    const float factor = square > 0 ? (float)((double)magnitude[i] / sqrt(square)) : 0;
    for (int64_t j = 0; j < n; j++) w[i * n + j] *= factor;
  }
  free(magnitude);
  return status;
}

static phibal_status merge_matrix(const safetensors_file *file, const char *a_name,
                                  const char *b_name, const hf_part *part, int32_t rank,
                                  float scale, bool dora) {
  const int64_t m = part->shape[0], n = part->shape[1];
  float *a = NULL, *b = NULL;
  phibal_status status = take_factor(file, a_name, rank, n, &a);
  if (!status) status = take_factor(file, b_name, m, rank, &b);
  if (!status) status = add_product(part->data, m, n, rank, b, a, scale);
  if (!status && dora) status = set_magnitudes(file, a_name, part->data, m, n);
  free(a);
  free(b);
  return status;
}

/* Adapters of the experts that transformers 5 holds in one tensor P [E][out][in], which PEFT wraps
   around the module `experts`: A [E r][in] has the rows of expert e at e r, B [out][r E] its
   columns at k E + e, and P_e += s B_e A_e. Around both parameters down_proj's are outside, and
   gate_up_proj's in base_layer; gate_up_proj has the gate's rows before the up's. `module` ends in
   `experts` or `experts.base_layer`. */
static phibal_status merge_fused(const safetensors_file *file, const json_t *config,
                                 const char *path, const char *name, const char *module,
                                 const hf_part *parts, int64_t count) {
  static const char base[] = ".base_layer";
  char stem[160], fused[192], partner[256], shown[HF_SHOWN];
  const bool inner = string_ends_with(module, base), is_a = string_ends_with(name, LORA_A);
  snprintf(stem, sizeof stem, "%.*s", (int)(strlen(module) - (inner ? sizeof base - 1 : 0)),
           module);
  snprintf(partner, sizeof partner, PREFIX "%s%s" LORA_A, stem, base);
  const json_t *named = json_object_get(config, "target_parameters");
  bool has[2];
  for (int i = 0; i < 2; i++) {
    snprintf(fused, sizeof fused, "%s.%s", stem, fused_names[i]);
    has[i] = is_named(named, fused);
  }
  if (json_is_true(json_object_get(config, "use_dora")) ||
      json_array_size(json_object_get(config, "layers_to_transform")) ||
      says(config, "exclude_modules"))
    return phibal_status_set(
        PHIBAL_ERROR_UNSUPPORTED,
        "%s: 'use_dora', 'layers_to_transform' or 'exclude_modules' beside %s, "
        "adapters of experts in one tensor",
        path, hf_json_show_text(module, shown));
  const bool both = has[0] && has[1];
  if (both != (inner || safetensors_find(file, partner)) || (!has[0] && !has[1]))
    return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                             "%s: tensor %s is not what its 'target_parameters' name", path,
                             hf_json_show_text(name, shown));
  const char *parameter = fused_names[both ? !inner : has[1]];
  snprintf(fused, sizeof fused, "%s.%s", stem, parameter);
  snprintf(partner, sizeof partner, "%.*s%s", (int)(strlen(name) - (sizeof LORA_A - 1)), name,
           is_a ? LORA_B : LORA_A);
  if (!is_a)
    return safetensors_find(file, partner)
               ? PHIBAL_OK
               : phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: no tensor '%s'", path, partner);
  int32_t rank = 0;
  float scale = 0, *a = NULL, *b = NULL, *own = NULL;
  phibal_status status = find_scale(config, path, fused, &rank, &scale);
  const hf_place *place = NULL;
  for (int64_t i = 0; i < count && !place; i++)
    if (!strcmp(parts[i].other.name, fused) && !parts[i].elsewhere) place = &parts[i].other;
  if (!status && !place)
    status =
        phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                          "%s: adapters of %s, which this model does not have as [experts][out]"
                          "[in]",
                          path, hf_json_show_text(fused, shown));
  const int64_t experts = place ? place->shape[0] : 0, out = place ? place->shape[1] : 0;
  const int64_t in = place ? place->shape[2] : 0;
  if (!status) status = take_factor(file, name, experts * rank, in, &a);
  if (!status) status = take_factor(file, partner, out, experts * rank, &b);
  if (!status && !(own = malloc((size_t)(out * rank) * sizeof *own))) status = memory_error();
  for (int64_t i = 0; i < count && !status; i++) {
    if (strcmp(parts[i].other.name, fused)) continue;
    const int64_t e = parts[i].other.first / (out * in), rows = parts[i].shape[0];
    const int64_t from = parts[i].other.first % (out * in) / in;
    for (int64_t row = 0; row < rows; row++)
      for (int64_t k = 0; k < rank; k++)
        own[row * rank + k] = b[(from + row) * experts * rank + k * experts + e];
    status = add_product(parts[i].data, rows, in, rank, own, a + e * rank * in, scale);
  }
  free(a), free(b), free(own);
  return status;
}

/* The embedding's factors, which PEFT has transposed: W [V][d] += s (B A)^T. A tied head is the
   same matrix here and another module in PEFT: there have to be the same adapters for it. */
static phibal_status merge_embedding(const safetensors_file *file,
                                     const model_config *model_options, const hf_part *parts,
                                     int64_t count, int32_t rank, float scale) {
  const hf_part *part = NULL;
  for (int64_t i = 0; i < count; i++)
    if (!strcmp(parts[i].name, EMBEDDING ".weight")) part = &parts[i];
  const int64_t m = part->shape[0], n = part->shape[1];
  float *b_turned = NULL, *a_turned = NULL, *a = NULL, *b = NULL, *head_a = NULL, *head_b = NULL;
  phibal_status status = take_factor(file, PREFIX EMBEDDING EMBEDDING_A, rank, m, &b_turned);
  if (!status) status = take_factor(file, PREFIX EMBEDDING EMBEDDING_B, n, rank, &a_turned);
  if (!status && (!(b = transposed(b_turned, rank, m)) || !(a = transposed(a_turned, n, rank))))
    status = memory_error();
  if (!status && !model_options->untied_head &&
      (take_factor(file, PREFIX HEAD LORA_A, rank, n, &head_a) ||
       take_factor(file, PREFIX HEAD LORA_B, m, rank, &head_b) ||
       memcmp(head_a, a, (size_t)(rank * n) * sizeof *a) ||
       memcmp(head_b, b, (size_t)(m * rank) * sizeof *b)))
    status = phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                               "%s: adapters of embed_tokens, and not the same of lm_head, whose "
                               "matrix is tied to it",
                               file->name);
  if (!status) status = add_product(part->data, m, n, rank, b, a, scale);
  free(b_turned), free(a_turned), free(a), free(b), free(head_a), free(head_b);
  return status;
}

/* A tied head's adapters go with the embedding's. */
static bool is_of_embedding(const safetensors_file *file, const model_config *model_options,
                            const char *name) {
  if (!strcmp(name, PREFIX EMBEDDING EMBEDDING_A) || !strcmp(name, PREFIX EMBEDDING EMBEDDING_B))
    return true;
  return !model_options->untied_head && safetensors_find(file, PREFIX EMBEDDING EMBEDDING_A) &&
         (!strcmp(name, PREFIX HEAD LORA_A) || !strcmp(name, PREFIX HEAD LORA_B));
}

/* DoRA of a matrix's own module is read; of parameters (experts, and what is listed beside them)
   PEFT has none, and the embedding's magnitudes are of columns. */
static phibal_status check_dora(const json_t *config, const char *path, const char *module) {
  char parameter[176], shown[HF_SHOWN];
  snprintf(parameter, sizeof parameter, "%s.weight", module);
  if (!strstr(module, ".experts.") && strcmp(module, EMBEDDING) &&
      !is_named(json_object_get(config, "target_parameters"), parameter))
    return PHIBAL_OK;
  return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                           "%s: 'use_dora' of %s: of experts, of 'target_parameters' and of the "
                           "embedding phibal has none",
                           path, hf_json_show_text(module, shown));
}

/* PEFT saves an embedding and a head along with their adapters: the name of such a tensor in the
   model; null for any other. */
static const char *saved_whole(const char *name) {
  static const char *const names[][2] = {
      {PREFIX EMBEDDING ".base_layer.weight", EMBEDDING ".weight"},
      {PREFIX EMBEDDING ".weight", EMBEDDING ".weight"},
      {PREFIX HEAD ".base_layer.weight", HEAD ".weight"},
      {PREFIX HEAD ".weight", HEAD ".weight"}};
  for (int i = 0; i < 4; i++)
    if (!strcmp(name, names[i][0])) return names[i][1];
  return NULL;
}

/* It has to be the model's own, before any adapter is added. */
static phibal_status check_saved(const safetensors_file *file, const safetensors_tensor *t,
                                 const hf_part *parts, int64_t count) {
  const char *own = saved_whole(t->name);
  const hf_part *part = NULL;
  if (!own) return PHIBAL_OK;
  /* A tied head is the embedding. */
  for (int64_t i = 0; i < count; i++)
    if (!strcmp(parts[i].name, own) || (!part && !strcmp(parts[i].name, EMBEDDING ".weight")))
      part = &parts[i];
  float *numbers = NULL;
  const size_t bytes = part ? (size_t)(part->shape[0] * part->shape[1]) * sizeof *numbers : 0;
  phibal_status status =
      part ? take_factor(file, t->name, part->shape[0], part->shape[1], &numbers) : PHIBAL_OK;
  if (!status && (!part || memcmp(numbers, part->data, bytes)))
    status = phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                               "%s: tensor '%s' is not the model's own: a matrix saved whole",
                               file->name, t->name);
  free(numbers);
  return status;
}

phibal_status lora_merge(const char *folder, const hf_architecture *architecture,
                         const model_config *model_options, model *m) {
  int32_t rank = 0, embedding_rank = 0;
  float scale = 0, embedding_scale = 0, head_scale = 0;
  int64_t count = 0;
  safetensors_file file = {0};
  json_t *config = NULL;
  phibal_status status = read_config(folder, &config);
  const bool dora = json_is_true(json_object_get(config, "use_dora"));
  char *path = string_format("%s/adapter_model.safetensors", folder);
  hf_part *parts = hf_parts_make(architecture, model_options, m, &count);
  if (!status && (!path || !parts)) status = memory_error();
  if (!status) status = safetensors_open(path, &file);
  for (int64_t i = 0; i < file.count && !status; i++)
    status = check_saved(&file, &file.tensors[i], parts, count);
  for (int64_t i = 0; i < file.count && !status; i++) {
    const safetensors_tensor *tensor = &file.tensors[i];
    if (saved_whole(tensor->name)) continue;
    const bool prefixed = !strncmp(tensor->name, PREFIX, sizeof PREFIX - 1);
    const char *begin = tensor->name + (prefixed ? sizeof PREFIX - 1 : 0);
    const char *end = strstr(begin, ".lora_");
    char module[160];
    snprintf(module, sizeof module, "%.*s", end ? (int)(end - begin) : 0, begin);
    if (string_ends_with(module, ".experts") || string_ends_with(module, ".experts.base_layer")) {
      status = merge_fused(&file, config, path, tensor->name, module, parts, count);
      continue;
    }
    if (*module) status = check_named(config, path, module);
    if (!status) status = find_scale(config, path, module, &rank, &scale);
    if (!status && dora) status = check_dora(config, path, module);
    if (status) break;
    if (is_of_embedding(&file, model_options, tensor->name)) {
      if (!strcmp(module, EMBEDDING))
        embedding_rank = rank, embedding_scale = scale;
      else
        head_scale = scale;
      continue;
    }
    char shown[HF_SHOWN], partner[160];
    if (dora && *module && !strncmp(end, MAGNITUDE, sizeof MAGNITUDE - 1)) {
      snprintf(partner, sizeof partner, "%.*s" LORA_A, (int)(end - tensor->name), tensor->name);
      if (!safetensors_find(&file, partner))
        status = phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: no tensor '%s'", path, partner);
      continue;
    }
    const hf_part *part = part_of(tensor->name, parts, count);
    if (!part) {
      status =
          phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: tensor %s matches no matrix of the model",
                            path, hf_json_show_text(tensor->name, shown));
      break;
    }
    const bool is_a = string_ends_with(tensor->name, LORA_A);
    snprintf(partner, sizeof partner, "%.*s%s", (int)(strlen(tensor->name) - (sizeof LORA_A - 1)),
             tensor->name, is_a ? LORA_B : LORA_A);
    /* B's turn comes with its A. */
    if (is_a)
      status = merge_matrix(&file, tensor->name, partner, part, rank, scale, dora);
    else if (!safetensors_find(&file, partner))
      status = phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: no tensor '%s'", path, partner);
  }
  if (!status && head_scale != 0 && head_scale != embedding_scale)
    status = phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                               "%s: adapters of embed_tokens and of lm_head, which is tied to it, "
                               "are scaled by %g and %g",
                               path, (double)embedding_scale, (double)head_scale);
  if (!status && embedding_rank)
    status = merge_embedding(&file, model_options, parts, count, embedding_rank, embedding_scale);
  safetensors_close(&file);
  json_decref(config);
  free(parts);
  free(path);
  return status;
}
