#include "hf_write.h"
#include "moe/config/config.h"
#include "formats/file.h"
#include "moe/hf/hf_internal.h"
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DIFFERENCES = 512 };

static phibal_status memory_error(void) {
  return phibal_status_set(PHIBAL_ERROR_MEMORY, "no memory to write the model");
}

/* What an option means where another has switched it off. */
static model_config plain_options(const model_config *config) {
  model_config c = *config;
  c.sequence = 1;
  if (!c.dense_layers) c.dense_hidden = 0;
  if (!c.rope_factor) c.rope_scaling = ROPE_YARN;
  if (!c.rope_factor || c.rope_scaling == ROPE_LINEAR)
    c.rope_original = 0, c.rope_fast = c.rope_slow = 0;
  if (!c.rope_factor || c.rope_scaling != ROPE_YARN) c.rope_fraction = false;
  if (!c.latent_width) c.latent_norm_epsilon = 0;
  if (!c.hash_layers) c.hash_seed = 0;
  if (!c.window) c.full_attention_every = 0;
  if (!(c.expert_limit > 0)) c.expert_slope = 0;
  if (c.expert_groups <= 1) c.expert_groups = c.active_groups = 0;
  if (!c.latent_width && c.rope_width == c.head_width) c.rope_width = 0;
  if (c.rope_magnitude == 1) c.rope_magnitude = 0;
  if (c.attention_multiplier == 1) c.attention_multiplier = 0;
  /* The router multiplies the gates of both by the same softmax. */
  if (c.gate == PHIBAL_GATE_TOPK_SOFTMAX && c.active == 1) c.gate = PHIBAL_GATE_PROBABILITY;
  return c;
}

/* Lists the options in which two models differ, "model.width (16, there 32), ..."; returns their
   number. `options` (or null) gets what training takes to have none, " --set model.width=32 ...".
 */
static int differences(const model_config *a, const model_config *b, char text[DIFFERENCES],
                       char options[DIFFERENCES]) {
  static run_config first, second;
  int count = 0;
  size_t used = 0, set = 0;
  first.model = plain_options(a);
  second.model = plain_options(b);
  *text = 0;
  if (options) *options = 0;
  for (size_t i = 0; i < config_key_count; i++) {
    const config_key *key = &config_keys[i];
    char one[64], other[64];
    if (strcmp(key->section, "model")) continue;
    run_config_format(&first, key, one, sizeof one);
    run_config_format(&second, key, other, sizeof other);
    if (!strcmp(one, other)) continue;
    if (used < DIFFERENCES)
      used += (size_t)snprintf(text + used, DIFFERENCES - used, "%smodel.%s (%s, there %s)",
                               count ? ", " : "", key->name, one, other);
    /* A bias is loss-free balancing's, whatever the key says. */
    if (options && set < DIFFERENCES)
      set += strcmp(key->name, "selection_bias")
                 ? (size_t)snprintf(options + set, DIFFERENCES - set, " --set model.%s=%s",
                                    key->name, other)
                 : (size_t)snprintf(options + set, DIFFERENCES - set,
                                    " --method phi (or any but loss-free)");
    count++;
  }
  return count;
}

/* The first architecture whose config.json, read again, is the model. */
static phibal_status choose(const model_config *config, json_t **json, hf_config *chosen) {
  char text[DIFFERENCES], least[DIFFERENCES] = "", set[DIFFERENCES], options[DIFFERENCES] = "";
  const char *nearest = "";
  int fewest = INT32_MAX;
  for (int i = 0; i < hf_architecture_count; i++) {
    const hf_architecture *a = &hf_architectures[i];
    *json = hf_config_make(a, config);
    if (!*json) return memory_error();
    const bool read = !hf_config_parse(*json, "config.json", NULL, chosen);
    const int count = read ? differences(config, &chosen->model, text, set) : INT32_MAX;
    if (!count) return PHIBAL_OK;
    json_decref(*json);
    *json = NULL;
    if (count >= fewest) continue;
    fewest = count;
    nearest = a->class_name;
    memcpy(least, text, sizeof least);
    memcpy(options, set, sizeof options);
  }
  return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                           "no transformers architecture known to phibal matches this model; the "
                           "nearest, %s, differs in: %s; a model trained with%s can be exported",
                           nearest, least, options);
}

/* The config.json of `like`, which has to describe the same model. */
static phibal_status take(const char *like, const char *ignored, const model_config *config,
                          json_t **json, hf_config *chosen) {
  char text[DIFFERENCES];
  char *path = string_format("%s/config.json", like);
  if (!path) return memory_error();
  phibal_status status = hf_json_read(path, json);
  if (!status) status = hf_config_parse(*json, path, ignored, chosen);
  if (!status && differences(config, &chosen->model, text, NULL))
    status = phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s is another model: %s", path, text);
  if (status) {
    json_decref(*json);
    *json = NULL;
  }
  free(path);
  return status;
}

static uint16_t to_bfloat16(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  if ((bits & 0x7fffffff) > 0x7f800000) return (uint16_t)(bits >> 16 | 0x40);
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* A tensor of the files: one part, or several that lie in it (elsewhere). */
typedef struct file_tensor {
  const char *name;
  int32_t dimensions;
  int64_t shape[3];
  int64_t elements;
  bool wide;
  int64_t part; /* the first of its parts */
} file_tensor;

/* What transformers calls a shard: tensors first .. end - 1 in one file. */
typedef struct shard {
  int64_t first, end;
} shard;

static int64_t part_elements(const hf_part *part) {
  return part->shape[0] * (part->dimensions > 1 ? part->shape[1] : 1);
}

/* Into tensors [count]; returns their number. */
static int64_t gather_tensors(const hf_part *parts, int64_t count, file_tensor *tensors) {
  int64_t n = 0;
  for (int64_t i = 0; i < count; i++) {
    const hf_part *part = &parts[i];
    file_tensor *to = &tensors[n];
    if (!part->elsewhere) {
      *to = (file_tensor){part->name,          part->dimensions, {part->shape[0], part->shape[1]},
                          part_elements(part), part->wide,       i};
      n++;
      continue;
    }
    /* The others of its tensor are near. */
    int64_t same = n - 1;
    while (same >= 0 && strcmp(tensors[same].name, part->other.name)) same--;
    if (same >= 0) continue;
    *to = (file_tensor){.name = part->other.name, .dimensions = part->other.dimensions, .part = i};
    to->elements = 1;
    for (int d = 0; d < to->dimensions; d++) to->elements *= to->shape[d] = part->other.shape[d];
    n++;
  }
  return n;
}

static int64_t tensor_bytes(const file_tensor *tensor, hf_dtype dtype) {
  return tensor->elements * (dtype == HF_BFLOAT16 && !tensor->wide ? 2 : 4);
}

/* The numbers of a tensor, in `scratch` where it has several parts. */
static const float *tensor_numbers(const file_tensor *tensor, const hf_part *parts, int64_t count,
                                   float *scratch) {
  if (!parts[tensor->part].elsewhere) return parts[tensor->part].data;
  for (int64_t p = tensor->part; p < count; p++) {
    const hf_place *place = &parts[p].other;
    if (!parts[p].elsewhere || strcmp(place->name, tensor->name)) continue;
    for (int64_t i = 0; i < parts[p].shape[0]; i++)
      for (int64_t j = 0; j < parts[p].shape[1]; j++)
        scratch[place->first + i * place->row + j * place->column] =
            parts[p].data[i * parts[p].shape[1] + j];
  }
  return scratch;
}

static phibal_status write_shard(const char *path, const file_tensor *from, int64_t n,
                                 const hf_part *parts, int64_t count, hf_dtype dtype) {
  static const safetensors_entry format = {"format", "pt"};
  phibal_status status = PHIBAL_OK;
  safetensors_tensor *tensors = calloc((size_t)n, sizeof *tensors);
  void **owned = calloc((size_t)n, sizeof *owned);
  if (!tensors || !owned) status = memory_error();
  for (int64_t i = 0; i < n && !status; i++) {
    const bool round = dtype == HF_BFLOAT16 && !from[i].wide;
    const bool gathered = parts[from[i].part].elsewhere;
    const size_t elements = (size_t)from[i].elements;
    float *scratch = gathered ? malloc(elements * sizeof *scratch) : NULL;
    uint16_t *rounded = round ? malloc(elements * sizeof *rounded) : NULL;
    if ((gathered && !scratch) || (round && !rounded)) status = memory_error();
    const float *numbers = status ? NULL : tensor_numbers(&from[i], parts, count, scratch);
    for (size_t j = 0; round && numbers && j < elements; j++) rounded[j] = to_bfloat16(numbers[j]);
    tensors[i] =
        (safetensors_tensor){.name = from[i].name,
                             .dtype = round ? SAFETENSORS_BF16 : SAFETENSORS_F32,
                             .dimensions = from[i].dimensions,
                             .shape = {from[i].shape[0], from[i].shape[1], from[i].shape[2]},
                             .data = round ? (const void *)rounded : numbers};
    if (round) free(scratch);
    owned[i] = round ? (void *)rounded : scratch;
  }
  if (!status) status = safetensors_write(path, tensors, n, &format, 1);
  for (int64_t i = 0; owned && i < n; i++) free(owned[i]);
  free((void *)owned);
  free(tensors);
  return status;
}

/* Before anything is written: every number is finite, in bfloat16 too. */
static phibal_status check_finite(const hf_part *parts, int64_t count, hf_dtype dtype) {
  for (int64_t i = 0; i < count; i++) {
    const hf_part *part = &parts[i];
    const safetensors_tensor tensor = {.name = part->name,
                                       .dtype = SAFETENSORS_F32,
                                       .dimensions = part->dimensions,
                                       .shape = {part->shape[0], part->shape[1]},
                                       .data = part->data,
                                       .elements = part_elements(part)};
    phibal_status status = safetensors_check_finite("the model", &tensor);
    for (int64_t j = 0; dtype == HF_BFLOAT16 && !part->wide && j < tensor.elements && !status; j++)
      if ((to_bfloat16(part->data[j]) & 0x7fff) == 0x7f80)
        status = phibal_status_set(PHIBAL_ERROR_NONFINITE,
                                   "the model: tensor '%s': element %lld, %g, would be infinite in "
                                   "bfloat16",
                                   part->name, (long long)j, (double)part->data[j]);
    if (status) return status;
  }
  return PHIBAL_OK;
}

/* Cuts the tensors into shards of at most `most` bytes; returns their number. */
static int64_t cut(const file_tensor *tensors, int64_t count, int64_t most, hf_dtype dtype,
                   shard *shards) {
  int64_t n = 0, bytes = 0;
  for (int64_t i = 0; i < count; i++) {
    const int64_t own = tensor_bytes(&tensors[i], dtype);
    if (n && bytes + own <= most) {
      shards[n - 1].end = i + 1;
      bytes += own;
    } else {
      shards[n++] = (shard){i, i + 1};
      bytes = own;
    }
  }
  return n;
}

static phibal_status write_weights(const char *folder, const hf_part *parts, int64_t count,
                                   const hf_save_options *o) {
  shard *shards = calloc((size_t)count, sizeof *shards);
  file_tensor *tensors = calloc((size_t)count, sizeof *tensors);
  if (!shards || !tensors) {
    free(shards);
    free(tensors);
    return memory_error();
  }
  const int64_t n =
      cut(tensors, gather_tensors(parts, count, tensors), o->shard_bytes, o->dtype, shards);
  json_t *map = json_object();
  int64_t total = 0;
  phibal_status status = PHIBAL_OK;
  for (int64_t i = 0; i < n && !status; i++) {
    char name[64] = "model.safetensors";
    if (n > 1)
      snprintf(name, sizeof name, "model-%05lld-of-%05lld.safetensors", (long long)i + 1,
               (long long)n);
    for (int64_t p = shards[i].first; p < shards[i].end; p++) {
      json_object_set_new(map, tensors[p].name, json_string(name));
      total += tensor_bytes(&tensors[p], o->dtype);
    }
    char *path = string_format("%s/%s", folder, name);
    status = path ? write_shard(path, tensors + shards[i].first, shards[i].end - shards[i].first,
                                parts, count, o->dtype)
                  : memory_error();
    free(path);
  }
  if (!status && n > 1) {
    json_t *index =
        json_pack("{s:{s:I}, s:O}", "metadata", "total_size", (json_int_t)total, "weight_map", map);
    status = hf_json_write(folder, "model.safetensors.index.json", index);
    json_decref(index);
  }
  json_decref(map);
  free(tensors);
  free(shards);
  return status;
}

/* Not weights, and nothing of them. */
static bool goes_along(const char *name) {
  const char *end = strrchr(name, '.');
  return *name != '.' && strcmp(name, "config.json") && !strstr(name, ".safetensors") &&
         !strstr(name, ".bin") &&
         !(end && (!strcmp(end, ".pt") || !strcmp(end, ".pth") || !strcmp(end, ".gguf") ||
                   !strcmp(end, ".onnx")));
}

/* The tokenizer and whatever else lies beside the weights. */
static phibal_status copy_beside(const char *like, const char *folder) {
  DIR *d = opendir(like);
  phibal_status status = PHIBAL_OK;
  if (!d)
    return phibal_status_set(PHIBAL_ERROR_IO, "%s: cannot list it: %s", like, strerror(errno));
  for (struct dirent *entry; !status && (entry = readdir(d));) {
    struct stat found;
    char *from = string_format("%s/%s", like, entry->d_name);
    char *to = string_format("%s/%s", folder, entry->d_name);
    text_buffer text = {0};
    if (!from || !to) status = memory_error();
    if (!status && goes_along(entry->d_name) && !stat(from, &found) && S_ISREG(found.st_mode)) {
      status = file_read_all(from, &text);
      if (!status) status = file_write(to, text.bytes, text.count);
    }
    text_buffer_free(&text);
    free(to);
    free(from);
  }
  closedir(d);
  return status;
}

/* Files of another model would be loaded with this one. */
phibal_status hf_folder_create(const char *folder) {
  phibal_status status = folder_may_write(folder, false, "name another");
  return status ? status : folder_create(folder);
}

phibal_status hf_save(const char *folder, const model_config *config, model *m,
                      const hf_save_options *o) {
  json_t *json = NULL;
  hf_config chosen;
  phibal_status status =
      o->like ? take(o->like, o->ignored, config, &json, &chosen) : choose(config, &json, &chosen);
  if (status) return status;
  if (!o->like && o->positions > 0)
    json_object_set_new(json, "max_position_embeddings", json_integer(o->positions));
  /* Neither FP8, MXFP4 nor multi-token prediction is written. */
  json_object_del(json, "quantization_config");
  for (int i = 0; i < 2; i++) {
    static const char *const names[] = {"num_nextn_predict_layers", "num_mtp_layers"};
    if (json_is_integer(json_object_get(json, names[i])))
      json_object_set_new(json, names[i], json_integer(0));
  }
  int64_t count = 0;
  hf_part *parts = hf_parts_make(chosen.architecture, config, m, &count);
  const char *dtype = o->dtype == HF_BFLOAT16 ? "bfloat16" : "float32";
  /* The one that the file has, or both: transformers 5 says dtype, older ones torch_dtype. */
  const bool old = json_object_get(json, "torch_dtype"), new = json_object_get(json, "dtype");
  if (old || !new) json_object_set_new(json, "torch_dtype", json_string(dtype));
  if (new) json_object_set_new(json, "dtype", json_string(dtype));
  status = parts ? check_finite(parts, count, o->dtype) : memory_error();
  if (!status) status = hf_folder_create(folder);
  if (!status) status = write_weights(folder, parts, count, o);
  if (!status && o->like) status = copy_beside(o->like, folder);
  if (!status) status = hf_json_write(folder, "config.json", json);
  free(parts);
  json_decref(json);
  return status;
}
