/* Weights from the files of a checkpoint. */
#include "formats/file.h"
#include "hf_internal.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where a part is read from. */
typedef struct read_part {
  const safetensors_tensor *tensor, *scale; /* of FP8 and MXFP4; else null */
  hf_place place;
} read_part;

static phibal_status memory_error(const char *folder) {
  return phibal_status_set(PHIBAL_ERROR_MEMORY, "%s: no memory to read it", folder);
}

/* The different files of an index, in *names, and where it has each tensor, in *map (to be freed).
   Names with a '/' could lead anywhere. */
static phibal_status index_files(const char *path, string_list *names, json_t **map) {
  json_t *json = NULL, *value, *seen = json_object();
  const char *tensor;
  phibal_status status = hf_json_read(path, &json);
  *map = json_incref(json_object_get(json, "weight_map"));
  if (!status && !seen) status = memory_error(path);
  if (!status && (!json_is_object(*map) || !json_object_size(*map)))
    status = phibal_status_set(PHIBAL_ERROR_FORMAT,
                               "%s: 'weight_map' is not an object with tensors", path);
  if (!status) json_object_foreach(*map, tensor, value) {
      const char *name = json_string_value(value);
      char shown[HF_SHOWN];
      if (!name || !*name || strchr(name, '/'))
        status = phibal_status_set(PHIBAL_ERROR_FORMAT,
                                   "%s: 'weight_map': %s is not a file of the folder", path,
                                   hf_json_show(value, shown));
      else if (!json_object_get(seen, name) && json_object_set_new(seen, name, json_true()))
        status = memory_error(path);
      if (status) break;
    }
  if (!status) json_object_foreach(seen, tensor, value) {
      status = string_list_append(names, tensor);
      if (status) break;
    }
  json_decref(seen);
  json_decref(json);
  return status;
}

/* Each tensor is in the file that the index names for it, and the index has every tensor of the
   files, but for frequencies, which are made anew. */
static phibal_status check_index(const char *path, const json_t *map, const string_list *names,
                                 const hf_checkpoint *c) {
  char shown[HF_SHOWN], file[HF_SHOWN];
  int64_t placed = 0;
  for (size_t i = 0; i < names->count; i++)
    for (int64_t t = 0; t < c->file[i].count; t++) {
      const char *tensor = c->file[i].tensors[t].name;
      const char *has = json_string_value(json_object_get(map, tensor));
      if (!has && string_ends_with(tensor, ".rotary_emb.inv_freq")) continue;
      if (!has || strcmp(has, names->items[i]))
        return phibal_status_set(PHIBAL_ERROR_FORMAT,
                                 "%s: tensor %s is in %s, the index has it %s%s", path,
                                 hf_json_show_text(tensor, shown), c->file[i].name,
                                 has ? "in " : "nowhere", has ? hf_json_show_text(has, file) : "");
      placed++;
    }
  if (placed == (int64_t)json_object_size(map)) return PHIBAL_OK;
  const char *tensor;
  json_t *value;
  json_object_foreach((json_t *)(uintptr_t)map, tensor, value) {
    bool found = false;
    for (size_t i = 0; i < names->count && !found; i++)
      found = !strcmp(names->items[i], json_string_value(value)) &&
              safetensors_find(&c->file[i], tensor);
    if (!found)
      return phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: tensor %s is not in %s", path,
                               hf_json_show_text(tensor, shown), hf_json_show(value, file));
  }
  return PHIBAL_OK;
}

static phibal_status open_files(const char *folder, hf_checkpoint *c) {
  string_list names = {0};
  json_t *map = NULL;
  char *index = string_format("%s/model.safetensors.index.json", folder);
  phibal_status status = index ? PHIBAL_OK : memory_error(folder);
  if (!status && folder_has(folder, "model.safetensors"))
    status = string_list_append(&names, "model.safetensors");
  else if (!status && folder_has(folder, "model.safetensors.index.json"))
    status = index_files(index, &names, &map);
  else if (!status)
    status = phibal_status_set(PHIBAL_ERROR_IO,
                               "%s: neither model.safetensors nor model.safetensors.index.json "
                               "(older .bin files are not read)",
                               folder);
  if (!status && !(c->file = calloc(names.count, sizeof *c->file))) status = memory_error(folder);
  for (size_t i = 0; !status && i < names.count; i++) {
    char *path = string_format("%s/%s", folder, names.items[i]);
    status = path ? safetensors_open(path, &c->file[i]) : memory_error(folder);
    if (!status) c->files++;
    free(path);
  }
  if (!status && map) status = check_index(index, map, &names, c);
  string_list_free(&names);
  json_decref(map);
  free(index);
  return status;
}

phibal_status hf_open(const char *folder, const char *ignored, hf_checkpoint *c) {
  *c = (hf_checkpoint){0};
  phibal_status status = hf_config_read(folder, ignored, &c->config);
  if (!status && !(c->folder = string_format("%s", folder))) status = memory_error(folder);
  if (!status) status = open_files(folder, c);
  if (status) hf_close(c);
  return status;
}

void hf_close(hf_checkpoint *c) {
  for (int32_t i = 0; i < c->files; i++) safetensors_close(&c->file[i]);
  free(c->file);
  free(c->folder);
  *c = (hf_checkpoint){0};
}

static float from_half(uint16_t half) {
  const uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 31;
  const uint32_t fraction = half & 1023;
  union {
    uint32_t bits;
    float value;
  } made;
  if (exponent == 31) {
    made.bits = sign | 0x7f800000 | fraction << 13;
  } else if (exponent) {
    made.bits = sign | (exponent + 112) << 23 | fraction << 13;
  } else {
    made.value = (float)fraction * 0x1p-24f;
    made.bits |= sign;
  }
  return made.value;
}

bool hf_reads_weights(const hf_checkpoint *c, safetensors_dtype type) {
  return hf_reads(type) || (type == SAFETENSORS_F8_E4M3 && c->config.block[0] > 0) ||
         (type == SAFETENSORS_U8 && c->config.packed);
}

bool hf_reads(safetensors_dtype type) {
  return type == SAFETENSORS_F32 || type == SAFETENSORS_BF16 || type == SAFETENSORS_F16;
}

void hf_numbers(const safetensors_tensor *from, float *to) {
  const int64_t n = from->elements;
  const uint16_t *half = from->data;
  if (from->dtype == SAFETENSORS_F32) {
    memcpy(to, from->data, (size_t)n * sizeof *to);
  } else if (from->dtype == SAFETENSORS_BF16) {
    uint32_t *bits = (uint32_t *)(void *)to;
    for (int64_t i = 0; i < n; i++) bits[i] = (uint32_t)half[i] << 16;
  } else {
    for (int64_t i = 0; i < n; i++) to[i] = from_half(half[i]);
  }
}

/* FP8 E4M3, without infinities: s e e e e m m m. NaN for the one number that is none. */
static float from_e4m3(uint8_t bits) {
  const int exponent = bits >> 3 & 15, fraction = bits & 7;
  if (exponent == 15 && fraction == 7) return NAN;
  const float size =
      exponent ? ldexpf((float)(8 + fraction), exponent - 10) : ldexpf((float)fraction, -9);
  return bits & 128 ? -size : size;
}

/* Each number times the scale of its block; a product of 4 bits and 24 is rounded once. */
static void from_blocks(const int32_t block[2], const safetensors_tensor *from,
                        const safetensors_tensor *scale, float *to) {
  const int64_t rows = from->shape[0], columns = from->shape[1];
  const uint8_t *bits = from->data;
  const float *scales = scale->data;
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns; j++)
      to[i * columns + j] =
          from_e4m3(bits[i * columns + j]) * scales[i / block[0] * scale->shape[1] + j / block[1]];
}

/* MXFP4 (OCP Microscaling Formats 1.0): 32 numbers of E2M1, two a byte, the first in the low half,
   and a power of two for them. A part's row of n numbers is n / 32 blocks of the tensor's, which is
   not transposed: row r is the `row`-th of its expert. Each is exact, or beyond binary32. */
enum { MXFP4_BLOCK = 32, MXFP4_BYTES = MXFP4_BLOCK / 2 };
static void from_packed(const hf_part *part, const hf_place *place, const safetensors_tensor *from,
                        const safetensors_tensor *scale, float *to) {
  static const float values[16] = {0.0f,  0.5f,  1.0f,  1.5f,  2.0f,  3.0f,  4.0f,  6.0f,
                                   -0.0f, -0.5f, -1.0f, -1.5f, -2.0f, -3.0f, -4.0f, -6.0f};
  const int64_t rows = part->shape[0], columns = part->shape[1], blocks = columns / MXFP4_BLOCK;
  const int64_t wide = place->shape[2]; /* rows of an expert */
  const int64_t expert = place->first / (columns * wide), first = place->first % (columns * wide);
  const uint8_t *bits = from->data, *exponents = scale->data;
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns; j++) {
      const int64_t row = expert * wide + first + i * place->row;
      const int64_t block = row * blocks + j / MXFP4_BLOCK, within = j % MXFP4_BLOCK;
      const int half = bits[block * MXFP4_BYTES + within / 2] >> within % 2 * 4 & 15;
      to[i * columns + j] =
          exponents[block] == 255 ? NAN : ldexpf(values[half], exponents[block] - 127);
    }
}

/* The tensor of a name in whichever file has it. */
static phibal_status find_tensor(const hf_checkpoint *c, const char *name,
                                 const safetensors_tensor **found) {
  *found = NULL;
  for (int32_t i = 0; i < c->files; i++) {
    const safetensors_tensor *tensor = safetensors_find(&c->file[i], name);
    if (tensor && *found)
      return phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: tensor '%s' is in two files", c->folder,
                               name);
    if (tensor) *found = tensor;
  }
  return PHIBAL_OK;
}

/* The scales of an FP8 weight: "NAME.weight_scale_inv". */
static phibal_status find_scale(const hf_checkpoint *c, const safetensors_tensor *t,
                                const safetensors_tensor **scale) {
  const int64_t rows = t->shape[0], columns = t->dimensions > 1 ? t->shape[1] : 0;
  const int64_t down = (rows - 1) / c->config.block[0] + 1;
  const int64_t across = (columns - 1) / c->config.block[1] + 1;
  char *name = string_format("%s_scale_inv", t->name);
  if (!name) return memory_error(c->folder);
  phibal_status status = find_tensor(c, name, scale);
  const safetensors_tensor *s = *scale;
  if (!status && (!s || t->dimensions != 2 || s->dtype != SAFETENSORS_F32 || s->dimensions != 2 ||
                  s->shape[0] != down || s->shape[1] != across))
    status = phibal_status_set(PHIBAL_ERROR_FORMAT,
                               "%s: tensor '%s' is FP8, and '%s' is not F32 [%lld, %lld]",
                               c->folder, t->name, name, (long long)down, (long long)across);
  if (!status) status = safetensors_check_finite(c->folder, s);
  free(name);
  return status;
}

/* "[2, 3]" */
static const char *show_shape(int32_t dimensions, const int64_t *shape, char text[80]) {
  size_t used = (size_t)snprintf(text, 80, "[");
  for (int32_t d = 0; d < dimensions && used < 78; d++)
    used += (size_t)snprintf(text + used, 79 - used, "%s%lld", d ? ", " : "", (long long)shape[d]);
  snprintf(text + (used < 78 ? used : 78), 2, "]");
  return text;
}

/* The two tensors of an expert's matrix in MXFP4: NAME_blocks [E][rows][columns / 32][16] and
   NAME_scales [E][rows][columns / 32], where others have NAME [E][columns][rows]. */
static phibal_status find_packed(const hf_checkpoint *c, const hf_part *part, read_part *found) {
  const hf_place *place = &part->other;
  const int64_t wanted[4] = {place->shape[0], place->shape[2], place->shape[1] / MXFP4_BLOCK,
                             MXFP4_BYTES};
  const safetensors_tensor **tensors[2] = {&found->tensor, &found->scale};
  phibal_status status = PHIBAL_OK;
  if (place->shape[1] % MXFP4_BLOCK)
    return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                             "%s: tensor '%s' in MXFP4 has rows of %lld numbers, which are no "
                             "blocks of %d",
                             c->folder, place->name, (long long)place->shape[1], MXFP4_BLOCK);
  for (int i = 0; i < 2 && !status; i++) {
    char has[80], wants[80];
    char *name = string_format("%s%s", place->name, i ? "_scales" : "_blocks");
    status = name ? find_tensor(c, name, tensors[i]) : memory_error(c->folder);
    const safetensors_tensor *t = *tensors[i];
    const int32_t dimensions = 4 - i;
    bool fits = t && t->dtype == SAFETENSORS_U8 && t->dimensions == dimensions;
    for (int32_t d = 0; fits && d < dimensions; d++) fits = t->shape[d] == wanted[d];
    if (!status && !t)
      status =
          phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: tensor '%s' is missing", c->folder, name);
    else if (!status && !fits)
      status = phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: tensor '%s' is %s %s; expected U8 %s",
                                 c->folder, name, safetensors_dtype_name(t->dtype),
                                 show_shape(t->dimensions, t->shape, has),
                                 show_shape(dimensions, wanted, wants));
    free(name);
  }
  found->place = *place;
  return status;
}

/* The tensor that has a part, and where in it: *place is the part's own name for all of a tensor,
   or its other place. */
static phibal_status find_part(const hf_checkpoint *c, const hf_part *part, read_part *found) {
  const safetensors_tensor *own, *other = NULL;
  const bool also = *part->other.name && !part->elsewhere;
  *found = (read_part){.place = {.dimensions = part->dimensions,
                                 .shape = {part->shape[0], part->shape[1]},
                                 .row = part->dimensions > 1 ? part->shape[1] : 1,
                                 .column = 1}};
  phibal_status status = PHIBAL_OK;
  if (part->elsewhere)
    own = NULL;
  else
    status = find_tensor(c, part->name, &own);
  if (!status && *part->other.name) status = find_tensor(c, part->other.name, &other);
  if (status) return status;
  if (!own && !other)
    return phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: tensor '%s' is missing%s%s%s", c->folder,
                             part->elsewhere ? part->other.name : part->name,
                             also ? ", and so is '" : "", also ? part->other.name : "",
                             also ? "'" : "");
  if (own && other)
    return phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: tensor '%s' is there, and in '%s' too",
                             c->folder, part->name, part->other.name);
  if (other) found->place = part->other;
  snprintf(found->place.name, sizeof found->place.name, "%s", own ? part->name : part->other.name);
  found->tensor = own ? own : other;
  return PHIBAL_OK;
}

static phibal_status check_part(const hf_checkpoint *c, const hf_part *part, read_part *found) {
  if (c->config.packed && part->other.dimensions == 3) return find_packed(c, part, found);
  phibal_status status = find_part(c, part, found);
  if (status) return status;
  const safetensors_tensor *t = found->tensor;
  const hf_place *place = &found->place;
  bool fits = t->dimensions == place->dimensions;
  for (int32_t d = 0; fits && d < place->dimensions; d++) fits = t->shape[d] == place->shape[d];
  char has[80], wants[80];
  if (!fits)
    return phibal_status_set(PHIBAL_ERROR_FORMAT,
                             "%s: tensor '%s' is %s; the configuration wants %s", c->folder,
                             place->name, show_shape(t->dimensions, t->shape, has),
                             show_shape(place->dimensions, place->shape, wants));
  if (t->dtype == SAFETENSORS_F8_E4M3 && c->config.block[0] > 0 && place->dimensions <= 2)
    return find_scale(c, t, &found->scale);
  if (!hf_reads(t->dtype))
    return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                             "%s: tensor '%s' is of type %s; F32, BF16 and F16 are read", c->folder,
                             place->name, safetensors_dtype_name(t->dtype));
  return PHIBAL_OK;
}

/* The numbers of a part that is not made of whole rows of its tensor: by runs along the smaller of
   its two strides, of which every `stride`-th number is taken. */
static void gather_numbers(const hf_part *part, const hf_place *place,
                           const safetensors_tensor *from, int64_t bytes) {
  enum { RUN = 1024 };
  float numbers[RUN];
  const bool along = place->column <= place->row; /* the part's rows; else its columns */
  const int64_t columns = part->dimensions > 1 ? part->shape[1] : 1;
  const int64_t runs = along ? part->shape[0] : columns;
  const int64_t length = along ? columns : part->shape[0];
  const int64_t next = along ? place->row : place->column;
  const int64_t stride = along ? place->column : place->row;
  const int64_t at_once = stride < RUN ? RUN / stride : 1;
  for (int64_t r = 0; r < runs; r++)
    for (int64_t first = 0; first < length; first += at_once) {
      const int64_t n = length - first < at_once ? length - first : at_once;
      safetensors_tensor run = *from;
      run.data = (const char *)from->data + (place->first + r * next + first * stride) * bytes;
      run.elements = (n - 1) * stride + 1;
      hf_numbers(&run, numbers);
      for (int64_t i = 0; i < n; i++)
        part->data[along ? r * columns + first + i : (first + i) * columns + r] =
            numbers[i * stride];
    }
}

/* The numbers of a part, in the order of its own rows. */
static void read_numbers(const hf_checkpoint *c, const hf_part *part, const read_part *from) {
  const hf_place *place = &from->place;
  const int64_t columns = part->dimensions > 1 ? part->shape[1] : 1;
  const int64_t bytes = safetensors_dtype_bytes(from->tensor->dtype);
  if (from->scale && c->config.packed) {
    from_packed(part, place, from->tensor, from->scale, part->data);
  } else if (from->scale) {
    from_blocks(c->config.block, from->tensor, from->scale, part->data);
  } else if (place->column == 1 && place->row == columns) {
    safetensors_tensor rows = *from->tensor;
    rows.data = (const char *)rows.data + place->first * bytes;
    rows.elements = part->shape[0] * columns;
    hf_numbers(&rows, part->data);
  } else {
    gather_numbers(part, place, from->tensor, bytes);
  }
}

static int by_address(const void *a, const void *b) {
  const uintptr_t x = (uintptr_t) * (const void *const *)a,
                  y = (uintptr_t) * (const void *const *)b;
  return (x > y) - (x < y);
}

/* Whether a tensor is of the layers after the model's own. */
static bool predicts_more(const hf_checkpoint *c, const safetensors_tensor *tensor) {
  static const char before[] = "model.layers.";
  char *end = NULL;
  /* ERNIE's are beside them, by names that transformers leaves out too. */
  if (c->config.architecture->flag == HF_ERNIE)
    return c->config.prediction_layers > 0 && !strncmp(tensor->name, "model.mtp_", 10);
  if (strncmp(tensor->name, before, sizeof before - 1)) return false;
  const char *digits = tensor->name + sizeof before - 1;
  const long layer = *digits >= '0' && *digits <= '9' ? strtol(digits, &end, 10) : -1;
  return layer >= c->config.model.layers &&
         layer - c->config.model.layers < c->config.prediction_layers && *end == '.';
}

int64_t hf_prediction_tensors(const hf_checkpoint *c) {
  int64_t count = 0;
  for (int32_t i = 0; i < c->files; i++)
    for (int64_t t = 0; t < c->file[i].count; t++)
      count += predicts_more(c, &c->file[i].tensors[t]);
  return count;
}

/* What files hold besides: multi-token prediction; in old ones frequencies, which are made anew,
   and a tied head once more. */
static bool is_spare(const hf_checkpoint *c, const safetensors_tensor *tensor) {
  if (string_ends_with(tensor->name, ".rotary_emb.inv_freq")) return true;
  if (predicts_more(c, tensor)) return true;
  const safetensors_tensor *embedding = NULL;
  if (c->config.model.untied_head || strcmp(tensor->name, "lm_head.weight")) return false;
  if (find_tensor(c, "model.embed_tokens.weight", &embedding) || !embedding) return false;
  return tensor->bytes == embedding->bytes && tensor->dtype == embedding->dtype &&
         !memcmp(tensor->data, embedding->data, (size_t)tensor->bytes);
}

/* `known` are the tensors that are read, sorted by address. */
static phibal_status check_unknown(const hf_checkpoint *c, const safetensors_tensor **known,
                                   int64_t count) {
  for (int32_t i = 0; i < c->files; i++)
    for (int64_t t = 0; t < c->file[i].count; t++) {
      const safetensors_tensor *tensor = &c->file[i].tensors[t];
      if (bsearch(&tensor, known, (size_t)count, sizeof *known, by_address) || is_spare(c, tensor))
        continue;
      char shown[HF_SHOWN];
      return phibal_status_set(PHIBAL_ERROR_FORMAT,
                               "%s: tensor %s: not part of %s as described by config.json",
                               c->file[i].name, hf_json_show_text(tensor->name, shown),
                               c->config.architecture->class_name);
    }
  return PHIBAL_OK;
}

phibal_status hf_load(const char *folder, const char *ignored, const model_config *config,
                      model *m) {
  hf_checkpoint c;
  phibal_status status = hf_open(folder, ignored, &c);
  if (!status) status = hf_restore(&c, config, m);
  hf_close(&c);
  return status;
}

phibal_status hf_restore(const hf_checkpoint *c, const model_config *config, model *m) {
  int64_t count = 0;
  hf_part *parts = hf_parts_make(c->config.architecture, config, m, &count);
  if (!parts) return memory_error(c->folder);
  read_part *found = calloc((size_t)count, sizeof *found);
  const safetensors_tensor **known = calloc(2 * (size_t)count, sizeof *known);
  phibal_status status = found && known ? PHIBAL_OK : memory_error(c->folder);
  /* All shapes before the first copy. */
  for (int64_t i = 0; i < count && !status; i++) {
    status = check_part(c, &parts[i], &found[i]);
    known[2 * i] = found[i].tensor, known[2 * i + 1] = found[i].scale;
  }
  if (!status) {
    qsort(known, 2 * (size_t)count, sizeof *known, by_address);
    status = check_unknown(c, known, 2 * count);
  }
  if (!status) {
    int64_t bad = count;
#pragma omp parallel for schedule(dynamic) reduction(min : bad)
    for (int64_t i = 0; i < count; i++) {
      if (!parts[i].data) continue;
      read_numbers(c, &parts[i], &found[i]);
      /* The numbers as they are read: in FP8 and MXFP4 a scale makes them. */
      const int64_t columns = parts[i].dimensions > 1 ? parts[i].shape[1] : 1;
      const safetensors_tensor read = {.name = parts[i].name,
                                       .dtype = SAFETENSORS_F32,
                                       .dimensions = parts[i].dimensions,
                                       .shape = {parts[i].shape[0], parts[i].shape[1]},
                                       .data = parts[i].data,
                                       .elements = parts[i].shape[0] * columns};
      if (safetensors_nonfinite(&read) >= 0 && i < bad) bad = i;
    }
    if (bad < count && found[bad].scale)
      status =
          phibal_status_set(PHIBAL_ERROR_NONFINITE, "%s: tensor '%s': a number of it is not finite",
                            c->folder, parts[bad].name);
    else if (bad < count)
      status = safetensors_check_finite(c->folder, found[bad].tensor);
  }
  const int64_t left = status ? 0 : hf_prediction_tensors(c);
  if (left)
    fprintf(stderr, "phibal: %s: %lld tensors of multi-token prediction are left out\n", c->folder,
            (long long)left);
  free(known);
  free(found);
  free(parts);
  return status;
}
