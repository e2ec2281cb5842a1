/* Adapters in the format of PEFT. */
#include "lora.h"

#include "formats/file.h"
#include "formats/json_text.h"
#include "moe/hf/hf_internal.h"

#include "kernels/cpu/gemm.h"

#include <stdlib.h>
#include <string.h>

#define PREFIX "base_model.model."
#define FROM_TRAINING "lora."
#define LORA_A ".lora_A.weight"
#define LORA_B ".lora_B.weight"

static phibal_status memory_error(void) {
  return phibal_status_set(PHIBAL_ERROR_MEMORY, "no memory for the adapters");
}

/* The last words of the names of all matrices that have an adapter. */
static json_t *target_modules(const safetensors_file *training) {
  json_t *targets = json_array();
  for (int64_t i = 0; i < training->count; i++) {
    const char *name = training->tensors[i].name, *end = strstr(name, LORA_A), *word = end;
    if (!end || strncmp(name, FROM_TRAINING, sizeof FROM_TRAINING - 1)) continue;
    while (word > name && word[-1] != '.') word--;
    json_t *target = json_stringn(word, (size_t)(end - word)), *other;
    size_t j;
    bool known = false;
    json_array_foreach(targets, j, other) known |= json_equal(other, target);
    if (!known) json_array_append(targets, target);
    json_decref(target);
  }
  return targets;
}

static json_t *make_config(const lora_config *config, const char *base,
                           const safetensors_file *training) {
  return json_pack("{s:s, s:s, s:i, s:f, s:o, s:f, s:s, s:b, s:b, s:o}", "peft_type", "LORA",
                   "task_type", "CAUSAL_LM", "r", config->rank, "lora_alpha", config->alpha,
                   "target_modules", target_modules(training), "lora_dropout", config->dropout,
                   "bias", "none", "fan_in_fan_out", 0, "inference_mode", 1,
                   "base_model_name_or_path", json_text(base));
}

static phibal_status write_tensors(const char *path, const safetensors_file *training) {
  static const safetensors_entry format = {"format", "pt"};
  safetensors_tensor *tensors = calloc((size_t)training->count + 1, sizeof *tensors);
  int64_t count = 0;
  phibal_status status = tensors ? PHIBAL_OK : memory_error();
  for (int64_t i = 0; i < training->count && !status; i++) {
    const char *name = training->tensors[i].name;
    if (strncmp(name, FROM_TRAINING, sizeof FROM_TRAINING - 1)) continue;
    status = safetensors_check_finite(training->name, &training->tensors[i]);
    if (status) break;
    tensors[count] = training->tensors[i];
    tensors[count].name = string_format("%s%s", PREFIX, name + sizeof FROM_TRAINING - 1);
    if (!tensors[count++].name) status = memory_error();
  }
  if (!status && !count)
    status = phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: a run without adapters (lora.rank)",
                               training->name);
  if (!status) status = safetensors_write(path, tensors, count, &format, 1);
  for (int64_t i = 0; i < count; i++) free((void *)(uintptr_t)tensors[i].name);
  free(tensors);
  return status;
}

phibal_status lora_save(const char *folder, const lora_config *config, const char *base,
                        const safetensors_file *training) {
  phibal_status status = hf_folder_create(folder);
  char *path = string_format("%s/adapter_model.safetensors", folder);
  json_t *json = make_config(config, base, training);
  if (!status && (!path || !json)) status = memory_error();
  if (!status) status = write_tensors(path, training);
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

static phibal_status read_config(const char *folder, int32_t *rank, float *alpha) {
  static const char *const variants[] = {"use_dora",          "use_rslora",       "rank_pattern",
                                         "alpha_pattern",     "modules_to_save",  "fan_in_fan_out",
                                         "layer_replication", "target_parameters"};
  json_t *json = NULL;
  char *path = string_format("%s/adapter_config.json", folder);
  if (!path) return memory_error();
  phibal_status status = hf_json_read(path, &json);
  char shown[HF_SHOWN];
  const json_t *type = json_object_get(json, "peft_type"), *bias = json_object_get(json, "bias");
  if (!status && (!json_is_string(type) || strcmp(json_string_value(type), "LORA")))
    status = phibal_status_set(PHIBAL_ERROR_UNSUPPORTED, "%s: adapters of type %s", path,
                               hf_json_show(type, shown));
  if (!status && bias && !json_is_null(bias) &&
      (!json_is_string(bias) || strcmp(json_string_value(bias), "none")))
    status = phibal_status_set(PHIBAL_ERROR_UNSUPPORTED, "%s: 'bias' is %s", path,
                               hf_json_show(bias, shown));
  for (size_t i = 0; i < sizeof variants / sizeof *variants && !status; i++)
    if (says(json, variants[i]))
      status = phibal_status_set(PHIBAL_ERROR_UNSUPPORTED, "%s: '%s'", path, variants[i]);
  if (!status) status = hf_json_integer(json, path, "r", true, rank);
  if (!status) status = hf_json_real(json, path, "lora_alpha", true, alpha);
  if (!status && *rank < 1)
    status = phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: 'r' is %d", path, *rank);
  json_decref(json);
  free(path);
  return status;
}

/* The matrix that a factor belongs to; null for none. */
static const hf_part *part_of(const char *name, const hf_part *parts, int64_t count) {
  const size_t whole = strlen(name), prefix = sizeof PREFIX - 1, end = sizeof LORA_A - 1;
  if (whole <= prefix + end || strncmp(name, PREFIX, prefix)) return NULL;
  if (strcmp(name + whole - end, LORA_A) && strcmp(name + whole - end, LORA_B)) return NULL;
  const size_t stem = whole - prefix - end;
  for (int64_t i = 0; i < count; i++)
    if (!strncmp(parts[i].name, name + prefix, stem) && !strcmp(parts[i].name + stem, ".weight"))
      return parts[i].dimensions == 2 ? &parts[i] : NULL;
  return NULL;
}

/* W += s B A */
static phibal_status merge_matrix(const safetensors_file *file, const char *a_name,
                                  const char *b_name, const hf_part *part, int32_t rank,
                                  float scale) {
  const int64_t rows = part->shape[0], columns = part->shape[1];
  const int64_t a_shape[] = {rank, columns}, b_shape[] = {rows, rank};
  const safetensors_tensor *a, *b;
  phibal_status status = safetensors_get(file, a_name, SAFETENSORS_F32, 2, a_shape, &a);
  if (!status) status = safetensors_get(file, b_name, SAFETENSORS_F32, 2, b_shape, &b);
  if (!status) status = safetensors_check_finite(file->name, a);
  if (!status) status = safetensors_check_finite(file->name, b);
  if (status) return status;
  float *product = malloc((size_t)(rows * columns) * sizeof *product);
  if (!product) return memory_error();
  phibal_gemm_nn(rows, columns, rank, b->data, rank, a->data, columns, false, product, columns);
  for (int64_t i = 0; i < rows * columns; i++) part->data[i] = part->data[i] + scale * product[i];
  free(product);
  return PHIBAL_OK;
}

phibal_status lora_merge(const char *folder, const hf_architecture *architecture,
                         const model_config *model_options, model *m) {
  int32_t rank = 0;
  float alpha = 0;
  int64_t count = 0;
  safetensors_file file = {0};
  phibal_status status = read_config(folder, &rank, &alpha);
  char *path = string_format("%s/adapter_model.safetensors", folder);
  hf_part *parts = hf_parts_make(architecture, model_options, m, &count);
  if (!status && (!path || !parts)) status = memory_error();
  if (!status) status = safetensors_open(path, &file);
  for (int64_t i = 0; i < file.count && !status; i++) {
    const safetensors_tensor *tensor = &file.tensors[i];
    const hf_part *part = part_of(tensor->name, parts, count);
    char shown[HF_SHOWN], partner[160];
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
      status = merge_matrix(&file, tensor->name, partner, part, rank, alpha / (float)rank);
    else if (!safetensors_find(&file, partner))
      status = phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: no tensor '%s'", path, partner);
  }
  safetensors_close(&file);
  free(parts);
  free(path);
  return status;
}
