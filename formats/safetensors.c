#include "safetensors_internal.h"
#include "file.h"
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
  const char *name;
  int64_t bytes;
} dtypes[] = {
#define DTYPE(ID, bytes) {#ID, bytes},
    SAFETENSORS_DTYPES(DTYPE)
#undef DTYPE
};

const char *safetensors_dtype_name(safetensors_dtype dtype) {
  return (unsigned)dtype < SAFETENSORS_DTYPE_COUNT ? dtypes[dtype].name : NULL;
}

int64_t safetensors_dtype_bytes(safetensors_dtype dtype) {
  return dtypes[dtype].bytes;
}

int32_t safetensors_measure(safetensors_tensor *t) {
  t->elements = 1;
  /* An extent of zero makes the rest harmless, but only once it has been seen not to be negative.
   */
  for (int32_t d = 0; d < t->dimensions; d++)
    if (t->shape[d] < 0 || __builtin_mul_overflow(t->elements, t->shape[d], &t->elements)) return d;
  if (__builtin_mul_overflow(t->elements, dtypes[t->dtype].bytes, &t->bytes))
    return t->dimensions - 1;
  return -1;
}

int safetensors_compare_names(const void *a, const void *b) {
  return strcmp(((const safetensors_tensor *)a)->name, ((const safetensors_tensor *)b)->name);
}

int safetensors_compare_keys(const void *a, const void *b) {
  return strcmp(((const safetensors_entry *)a)->key, ((const safetensors_entry *)b)->key);
}

safetensors_shown safetensors_show(const char *name) {
  safetensors_shown shown = {0};
  for (size_t i = 0; i < sizeof shown.text - 1 && name[i]; i++)
    shown.text[i] = (unsigned char)name[i] < ' ' || name[i] == 0x7f ? '?' : name[i];
  return shown;
}

/* What is known of a file while it is being read. */
typedef struct reading {
  safetensors_file *file;
  const char *data; /* where the tensors' data begin */
  int64_t data_bytes;
} reading;

static phibal_status memory_error(const safetensors_file *file) {
  return phibal_status_set(PHIBAL_ERROR_MEMORY, "%s: no memory for its header", file->name);
}

#define tensor_error(status, file, tensor, format, ...)                                            \
  phibal_status_set(status, "%s: tensor '%s': " format, (file)->name,                              \
                    safetensors_show((tensor)->name).text, __VA_ARGS__)

static phibal_status dtype_read(const safetensors_file *file, const json_t *value,
                                safetensors_tensor *t) {
  const char *name = json_string_value(value);
  if (!name) return tensor_error(PHIBAL_ERROR_FORMAT, file, t, "its %s is not a string", "dtype");
  for (int i = 0; i < SAFETENSORS_DTYPE_COUNT; i++)
    if (!strcmp(name, dtypes[i].name)) {
      t->dtype = (safetensors_dtype)i;
      return PHIBAL_OK;
    }
  return tensor_error(PHIBAL_ERROR_UNSUPPORTED, file, t, "the dtype '%.20s' cannot be read",
                      safetensors_show(name).text);
}

static phibal_status shape_read(const safetensors_file *file, const json_t *value,
                                safetensors_tensor *t) {
  size_t n = json_array_size(value);
  if (!json_is_array(value))
    return tensor_error(PHIBAL_ERROR_FORMAT, file, t, "its %s is not an array", "shape");
  if (n > SAFETENSORS_MAX_DIMENSIONS)
    return tensor_error(PHIBAL_ERROR_UNSUPPORTED, file, t,
                        "%zu dimensions, where at most %d can be read", n,
                        SAFETENSORS_MAX_DIMENSIONS);
  t->dimensions = (int32_t)n;
  for (size_t d = 0; d < n; d++) {
    const json_t *extent = json_array_get(value, d);
    if (!json_is_integer(extent))
      return tensor_error(PHIBAL_ERROR_FORMAT, file, t, "extent %zu of its shape is no integer", d);
    t->shape[d] = json_integer_value(extent);
  }
  int32_t bad = safetensors_measure(t);
  if (bad >= 0)
    return tensor_error(PHIBAL_ERROR_FORMAT, file, t,
                        "extent %d of its shape, %lld, is negative or too large", bad,
                        (long long)t->shape[bad]);
  return PHIBAL_OK;
}

static phibal_status offsets_read(const reading *r, const json_t *value, safetensors_tensor *t) {
  const json_t *first = json_array_get(value, 0), *second = json_array_get(value, 1);
  if (json_array_size(value) != 2 || !json_is_integer(first) || !json_is_integer(second))
    return tensor_error(PHIBAL_ERROR_FORMAT, r->file, t, "its %s are not two integers",
                        "data_offsets");
  long long begin = json_integer_value(first), end = json_integer_value(second);
  if (begin < 0 || end < begin || end > r->data_bytes)
    return tensor_error(
        PHIBAL_ERROR_FORMAT, r->file, t,
        "its data_offsets %lld to %lld are not within the file's %lld bytes of data", begin, end,
        (long long)r->data_bytes);
  if (end - begin != t->bytes)
    return tensor_error(PHIBAL_ERROR_FORMAT, r->file, t,
                        "its data_offsets give %lld bytes for %lld elements of %s, which take %lld",
                        end - begin, (long long)t->elements, dtypes[t->dtype].name,
                        (long long)t->bytes);
  if (begin % dtypes[t->dtype].bytes)
    return tensor_error(PHIBAL_ERROR_FORMAT, r->file, t,
                        "its data begin at offset %lld, unaligned for %s", begin,
                        dtypes[t->dtype].name);
  t->data = r->data + begin;
  return PHIBAL_OK;
}

static phibal_status tensor_read(const reading *r, const char *name, const json_t *info,
                                 safetensors_tensor *t) {
  t->name = name;
  if (!json_is_object(info))
    return tensor_error(PHIBAL_ERROR_FORMAT, r->file, t, "its entry is not an %s", "object");
  static const char *const keys[] = {"dtype", "shape", "data_offsets"};
  for (int i = 0; i < 3; i++)
    if (!json_object_get(info, keys[i]))
      return tensor_error(PHIBAL_ERROR_FORMAT, r->file, t, "'%s' is missing", keys[i]);
  if (json_object_size(info) != 3)
    return tensor_error(PHIBAL_ERROR_FORMAT, r->file, t, "its entry has more than %s",
                        "dtype, shape and data_offsets");
  phibal_status status = dtype_read(r->file, json_object_get(info, keys[0]), t);
  if (!status) status = shape_read(r->file, json_object_get(info, keys[1]), t);
  if (!status) status = offsets_read(r, json_object_get(info, keys[2]), t);
  return status;
}

static phibal_status metadata_read(safetensors_file *file, json_t *map) {
  if (!map) return PHIBAL_OK;
  if (!json_is_object(map))
    return phibal_status_set(PHIBAL_ERROR_FORMAT,
                             "%s: its " SAFETENSORS_METADATA " is not an object", file->name);
  file->metadata = calloc(json_object_size(map) + 1, sizeof *file->metadata);
  if (!file->metadata) return memory_error(file);
  const char *key;
  json_t *value;
  json_object_foreach(map, key, value) {
    if (!json_is_string(value))
      return phibal_status_set(PHIBAL_ERROR_FORMAT,
                               "%s: " SAFETENSORS_METADATA ": the value of '%s' is not a string",
                               file->name, safetensors_show(key).text);
    file->metadata[file->metadata_count++] = (safetensors_entry){key, json_string_value(value)};
  }
  qsort(file->metadata, (size_t)file->metadata_count, sizeof *file->metadata,
        safetensors_compare_keys);
  return PHIBAL_OK;
}

/* By where the data are; tensors without elements before those that begin in the same place. */
static int compare_places(const void *a, const void *b) {
  const safetensors_tensor *x = a, *y = b;
  uintptr_t p = (uintptr_t)x->data, q = (uintptr_t)y->data;
  if (p != q) return p < q ? -1 : 1;
  return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

/* Every byte of the data belongs to one tensor. */
static phibal_status places_check(const reading *r) {
  safetensors_file *file = r->file;
  qsort(file->tensors, (size_t)file->count, sizeof *file->tensors, compare_places);
  int64_t next = 0;
  for (int64_t i = 0; i < file->count; i++) {
    const safetensors_tensor *t = &file->tensors[i];
    long long begin = (const char *)t->data - r->data;
    if (begin != next)
      return tensor_error(PHIBAL_ERROR_FORMAT, file, t,
                          "its data begin at offset %lld, but those before it end at %lld (%s)",
                          begin, (long long)next, begin < next ? "they overlap" : "a gap");
    next += t->bytes;
  }
  if (next != r->data_bytes)
    return phibal_status_set(PHIBAL_ERROR_FORMAT,
                             "%s: %lld bytes follow the data of the last tensor", file->name,
                             (long long)(r->data_bytes - next));
  return PHIBAL_OK;
}

static phibal_status tensors_read(const reading *r, json_t *root) {
  safetensors_file *file = r->file;
  file->tensors = calloc(json_object_size(root) + 1, sizeof *file->tensors);
  if (!file->tensors) return memory_error(file);
  const char *name;
  json_t *info;
  json_object_foreach(root, name, info) {
    if (!strcmp(name, SAFETENSORS_METADATA)) continue;
    phibal_status status = tensor_read(r, name, info, &file->tensors[file->count]);
    if (status) return status;
    file->count++;
  }
  phibal_status status = places_check(r);
  qsort(file->tensors, (size_t)file->count, sizeof *file->tensors, safetensors_compare_names);
  return status;
}

/* What a file is whose beginning is no length of a header, and what makes safetensors of it; null:
   not known. */
static const char *foreign_format(const char *bytes, size_t n) {
  static const struct {
    const char *magic;
    size_t bytes;
    const char *what;
  } known[] = {
      {"\x93NUMPY", 6,
       "a NumPy .npy file; from Python: safetensors.numpy.save_file({'NAME': "
       "numpy.load('FILE')}, 'FILE.safetensors')"},
      {"GGUF", 4,
       "a GGUF file, whose tensors are quantised for llama.cpp; convert from the original"},
      {"\x89HDF\r\n", 6, "an HDF5 file; write its arrays with safetensors.numpy.save_file"},
      {"\x80\x02", 2,
       "a pickle, as old versions of torch.save write it; from Python: "
       "safetensors.torch.save_file(torch.load('FILE'), 'FILE.safetensors')"},
      {"\x80\x03", 2, "a pickle of Python"},
      {"\x80\x04", 2, "a pickle of Python"},
      {"\x80\x05", 2, "a pickle of Python"},
      {"version https://git-lfs", 23,
       "a pointer of Git LFS to a file that was not fetched: git lfs pull"},
      {"{", 1, "JSON"},
  };
  /* zip: the name of its first member tells which. */
  if (n > 30 && !memcmp(bytes, "PK\3\4", 4)) {
    const size_t given = (unsigned char)bytes[26] | (size_t)(unsigned char)bytes[27] << 8;
    const size_t name = given < n - 30 ? given : n - 30;
    if (name >= 4 && !memcmp(bytes + 30 + name - 4, ".npy", 4))
      return "a NumPy .npz file; from Python: "
             "safetensors.numpy.save_file(dict(numpy.load('FILE')), 'FILE.safetensors')";
    if (memmem(bytes + 30, name, "data.pkl", 8))
      return "a file of torch.save; from Python: "
             "safetensors.torch.save_file(torch.load('FILE'), 'FILE.safetensors')";
    return "a zip archive";
  }
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (n >= known[i].bytes && !memcmp(bytes, known[i].magic, known[i].bytes)) return known[i].what;
  return NULL;
}

/* The header's length and its JSON, which file->header then holds. */
static phibal_status header_read(safetensors_file *file, const char *bytes, size_t n,
                                 size_t *header_bytes) {
  if (n < 8)
    return phibal_status_set(
        PHIBAL_ERROR_FORMAT,
        "%s: %zu bytes: too short for a safetensors header: truncated, or not a safetensors file",
        file->name, n);
  uint64_t length = 0;
  for (int i = 7; i >= 0; i--) length = length << 8 | (unsigned char)bytes[i];
  const char *foreign = length > SAFETENSORS_MAX_HEADER ? foreign_format(bytes, n) : NULL;
  if (foreign)
    return phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: not safetensors but %s", file->name,
                             foreign);
  if (length > SAFETENSORS_MAX_HEADER)
    return phibal_status_set(PHIBAL_ERROR_FORMAT,
                             "%s: a header of %llu bytes, where at most %d are possible: not a "
                             "safetensors file",
                             file->name, (unsigned long long)length, SAFETENSORS_MAX_HEADER);
  if (length > n - 8)
    return phibal_status_set(PHIBAL_ERROR_FORMAT,
                             "%s: truncated: a header of %llu bytes, but only %zu are left",
                             file->name, (unsigned long long)length, n - 8);
  if (!length || bytes[8] != '{')
    return phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: its header does not begin with '{'",
                             file->name);
  json_error_t error;
  file->header = json_loadb(bytes + 8, length, JSON_REJECT_DUPLICATES, &error);
  if (!file->header)
    return phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: its header is not JSON: %s, at byte %d",
                             file->name, safetensors_show(error.text).text, error.position + 8);
  *header_bytes = length;
  return PHIBAL_OK;
}

/* Where the header's length leaves the data unaligned, a copy that is not. */
static phibal_status data_align(reading *r) {
  if ((uintptr_t)r->data % 8 == 0 || !r->data_bytes) return PHIBAL_OK;
  r->file->copy = malloc((size_t)r->data_bytes);
  if (!r->file->copy)
    return phibal_status_set(PHIBAL_ERROR_MEMORY,
                             "%s: no memory for a copy of its %lld bytes of data, which begin "
                             "unaligned",
                             r->file->name, (long long)r->data_bytes);
  memcpy(r->file->copy, r->data, (size_t)r->data_bytes);
  r->data = r->file->copy;
  return PHIBAL_OK;
}

static phibal_status contents_read(safetensors_file *file, const char *bytes, size_t n) {
  size_t header_bytes = 0;
  phibal_status status = header_read(file, bytes, n, &header_bytes);
  if (status) return status;
  reading r = {file, bytes + 8 + header_bytes, (int64_t)(n - 8 - header_bytes)};
  status = metadata_read(file, json_object_get(file->header, SAFETENSORS_METADATA));
  if (!status) status = data_align(&r);
  if (!status) status = tensors_read(&r, file->header);
  return status;
}

phibal_status safetensors_view(const void *bytes, size_t n, const char *name,
                               safetensors_file *file) {
  *file = (safetensors_file){.name = strdup(name)};
  phibal_status status =
      file->name ? contents_read(file, bytes, n)
                 : phibal_status_set(PHIBAL_ERROR_MEMORY, "%s: no memory for its name", name);
  if (status) safetensors_close(file);
  return status;
}

phibal_status safetensors_open(const char *path, safetensors_file *file) {
  *file = (safetensors_file){0};
  void *mapping;
  size_t bytes;
  phibal_status status = file_map(path, &mapping, &bytes);
  if (status) return status;
  status = safetensors_view(mapping, bytes, path, file);
  /* A copy made for alignment needs the mapping no longer. */
  if (status || file->copy) {
    file_unmap(mapping, bytes);
  } else {
    file->mapping = mapping;
    file->mapping_bytes = bytes;
  }
  return status;
}

void safetensors_close(safetensors_file *file) {
  file_unmap(file->mapping, file->mapping_bytes);
  json_decref(file->header);
  free(file->copy);
  free(file->tensors);
  free(file->metadata);
  free(file->name);
  *file = (safetensors_file){0};
}

const safetensors_tensor *safetensors_find(const safetensors_file *file, const char *name) {
  if (!file->count) return NULL;
  return bsearch(&(safetensors_tensor){.name = name}, file->tensors, (size_t)file->count,
                 sizeof *file->tensors, safetensors_compare_names);
}

const char *safetensors_metadata(const safetensors_file *file, const char *key) {
  if (!file->metadata_count) return NULL;
  const safetensors_entry *entry =
      bsearch(&(safetensors_entry){key, NULL}, file->metadata, (size_t)file->metadata_count,
              sizeof *file->metadata, safetensors_compare_keys);
  return entry ? entry->value : NULL;
}

phibal_status safetensors_get(const safetensors_file *file, const char *name,
                              safetensors_dtype dtype, int32_t dimensions, const int64_t *shape,
                              const safetensors_tensor **tensor) {
  *tensor = NULL;
  const safetensors_tensor *t = safetensors_find(file, name);
  if (!t)
    return phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: tensor '%s' is missing", file->name,
                             safetensors_show(name).text);
  if (t->dtype != dtype)
    return tensor_error(PHIBAL_ERROR_FORMAT, file, t, "it is %s, expected %s",
                        dtypes[t->dtype].name, dtypes[dtype].name);
  if (t->dimensions != dimensions)
    return tensor_error(PHIBAL_ERROR_FORMAT, file, t, "it has %d dimensions, expected %d",
                        t->dimensions, dimensions);
  for (int32_t d = 0; d < dimensions; d++)
    if (shape[d] != -1 && shape[d] != t->shape[d])
      return tensor_error(PHIBAL_ERROR_FORMAT, file, t,
                          "extent %d of its shape is %lld, expected %lld", d,
                          (long long)t->shape[d], (long long)shape[d]);
  *tensor = t;
  return PHIBAL_OK;
}

/* Whether any of x[n], unsigned numbers whose bits `mask` are an exponent, has all of them set. */
#define NONFINITE_IN(type)                                                                         \
  for (int64_t i = 0; i < n && at < 0; i += BLOCK) {                                               \
    const type *x = (const type *)t->data + i;                                                     \
    const int64_t end = n - i < BLOCK ? n - i : BLOCK;                                             \
    unsigned found = 0;                                                                            \
    for (int64_t j = 0; j < end; j++) found |= (x[j] & (type)mask) == (type)mask;                  \
    for (int64_t j = 0; found && j < end && at < 0; j++)                                           \
      if ((x[j] & (type)mask) == (type)mask) at = i + j;                                           \
  }

int64_t safetensors_nonfinite(const safetensors_tensor *t) {
  enum { BLOCK = 4096 };
  const int64_t n = t->elements;
  int64_t at = -1;
  const uint64_t mask = t->dtype == SAFETENSORS_F64    ? UINT64_C(0x7ff) << 52
                        : t->dtype == SAFETENSORS_F32  ? 0x7f800000
                        : t->dtype == SAFETENSORS_BF16 ? 0x7f80
                                                       : 0x7c00;
  if (t->dtype == SAFETENSORS_F64) {
    NONFINITE_IN(uint64_t)
  } else if (t->dtype == SAFETENSORS_F32) {
    NONFINITE_IN(uint32_t)
  } else if (t->dtype == SAFETENSORS_BF16 || t->dtype == SAFETENSORS_F16) {
    NONFINITE_IN(uint16_t)
  }
  return at;
}

phibal_status safetensors_check_finite(const char *file, const safetensors_tensor *t) {
  const int64_t at = safetensors_nonfinite(t);
  if (at < 0) return PHIBAL_OK;
  char index[24 * SAFETENSORS_MAX_DIMENSIONS] = "";
  int64_t left = at, size = t->elements;
  size_t used = 0;
  for (int32_t d = 0; d < t->dimensions; d++) {
    size /= t->shape[d];
    used += (size_t)snprintf(index + used, sizeof index - used, "[%lld]", (long long)(left / size));
    left %= size;
  }
  /* NaN has bits of a fraction beside those of its exponent. */
  const unsigned char *bits = (const unsigned char *)t->data + at * dtypes[t->dtype].bytes;
  uint64_t number = 0;
  memcpy(&number, bits, (size_t)dtypes[t->dtype].bytes);
  const int fraction = t->dtype == SAFETENSORS_F64    ? 52
                       : t->dtype == SAFETENSORS_F32  ? 23
                       : t->dtype == SAFETENSORS_BF16 ? 7
                                                      : 10;
  const bool nan = number & ((UINT64_C(1) << fraction) - 1);
  return phibal_status_set(PHIBAL_ERROR_NONFINITE, "%s: tensor '%s'%s is %s", file,
                           safetensors_show(t->name).text, index, nan ? "NaN" : "infinite");
}
