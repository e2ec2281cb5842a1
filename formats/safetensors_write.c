#include "file.h"
#include "safetensors_internal.h"
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define tensor_error(path, tensor, format, ...)                                                    \
  phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: tensor '%s': " format, path,                       \
                    safetensors_show((tensor)->name).text, __VA_ARGS__)

/* The layout of the format's library: wide elements first, so that all are aligned; then by name.
 */
static int compare_layout(const void *a, const void *b) {
  const safetensors_tensor *x = a, *y = b;
  if (x->dtype != y->dtype) return x->dtype > y->dtype ? -1 : 1;
  return strcmp(x->name, y->name);
}

static phibal_status tensor_check(const char *path, safetensors_tensor *t, bool has_source) {
  if (!t->name)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: a tensor without a name", path);
  if (!strcmp(t->name, SAFETENSORS_METADATA))
    return tensor_error(path, t, "%s", "the format reserves this name");
  if (!safetensors_dtype_name(t->dtype))
    return tensor_error(path, t, "there is no dtype %d", (int)t->dtype);
  if (t->dimensions < 0 || t->dimensions > SAFETENSORS_MAX_DIMENSIONS)
    return tensor_error(path, t, "%d dimensions, where 0 to %d are possible", t->dimensions,
                        SAFETENSORS_MAX_DIMENSIONS);
  int32_t bad = safetensors_measure(t);
  if (bad >= 0)
    return tensor_error(path, t, "extent %d of its shape, %lld, is negative or too large", bad,
                        (long long)t->shape[bad]);
  if (!t->data && t->bytes && !has_source) return tensor_error(path, t, "%s", "its data are null");
  return PHIBAL_OK;
}

/* Checks the tensors and puts them in the order of the file. */
static phibal_status tensors_arrange(const char *path, safetensors_tensor *tensors, int64_t count,
                                     bool has_source) {
  for (int64_t i = 0; i < count; i++) {
    phibal_status status = tensor_check(path, &tensors[i], has_source);
    if (status) return status;
  }
  qsort(tensors, (size_t)count, sizeof *tensors, safetensors_compare_names);
  for (int64_t i = 1; i < count; i++)
    if (!strcmp(tensors[i - 1].name, tensors[i].name))
      return tensor_error(path, &tensors[i], "%s", "the name is duplicated");
  qsort(tensors, (size_t)count, sizeof *tensors, compare_layout);
  return PHIBAL_OK;
}

static phibal_status memory_error(const char *path) {
  return phibal_status_set(PHIBAL_ERROR_MEMORY, "%s: no memory for its header", path);
}

/* Adds the metadata, by their keys. */
static phibal_status metadata_describe(const char *path, const safetensors_entry *metadata,
                                       int64_t count, json_t *root) {
  if (!count) return PHIBAL_OK;
  safetensors_entry *sorted = calloc((size_t)count, sizeof *sorted);
  if (!sorted) return memory_error(path);
  memcpy(sorted, metadata, (size_t)count * sizeof *sorted);
  qsort(sorted, (size_t)count, sizeof *sorted, safetensors_compare_keys);
  json_t *map = json_object();
  phibal_status status = PHIBAL_OK;
  for (int64_t i = 0; i < count && !status; i++) {
    const char *key = sorted[i].key;
    if (i && !strcmp(sorted[i - 1].key, key))
      status = phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: metadata: the key '%s' is duplicated",
                                 path, safetensors_show(key).text);
    else if (json_object_set_new(map, key, json_string(sorted[i].value)))
      status =
          phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s: metadata: '%s' or its value is not UTF-8",
                            path, safetensors_show(key).text);
  }
  free(sorted);
  if (status) {
    json_decref(map);
    return status;
  }
  return json_object_set_new(root, SAFETENSORS_METADATA, map) ? memory_error(path) : PHIBAL_OK;
}

static phibal_status tensor_describe(const char *path, const safetensors_tensor *t, int64_t begin,
                                     json_t *root) {
  json_t *shape = json_array();
  for (int32_t d = 0; d < t->dimensions; d++)
    json_array_append_new(shape, json_integer(t->shape[d]));
  json_t *info =
      json_pack("{s:s, s:o, s:[I, I]}", "dtype", safetensors_dtype_name(t->dtype), "shape", shape,
                "data_offsets", (json_int_t)begin, (json_int_t)(begin + t->bytes));
  if (!info) return memory_error(path);
  if (json_object_set_new(root, t->name, info))
    return tensor_error(path, t, "%s", "its name is not UTF-8, or there is no memory for it");
  return PHIBAL_OK;
}

/* The header's text, to be freed, padded with spaces so that the data begin at a multiple of 8. */
static phibal_status header_make(const char *path, const safetensors_tensor *tensors, int64_t count,
                                 const safetensors_entry *metadata, int64_t metadata_count,
                                 char **text, size_t *bytes) {
  json_t *root = json_object();
  phibal_status status = root ? PHIBAL_OK : memory_error(path);
  if (!status) status = metadata_describe(path, metadata, metadata_count, root);
  int64_t end = 0;
  for (int64_t i = 0; i < count && !status; i++) {
    status = tensor_describe(path, &tensors[i], end, root);
    if (!status && __builtin_add_overflow(end, tensors[i].bytes, &end))
      status = tensor_error(path, &tensors[i], "%s", "with it, the file has over 2^63 bytes");
  }
  char *compact = status ? NULL : json_dumps(root, JSON_COMPACT);
  json_decref(root);
  if (status) return status;
  if (!compact) return memory_error(path);
  *bytes = (strlen(compact) + 7) / 8 * 8;
  if (*bytes > SAFETENSORS_MAX_HEADER)
    status = phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                               "%s: a header of %zu bytes, where at most %d are possible", path,
                               *bytes, SAFETENSORS_MAX_HEADER);
  else if (!(*text = string_format("%-*s", (int)*bytes, compact)))
    status = memory_error(path);
  free(compact);
  return status;
}

static phibal_status write_error(const char *path) {
  return phibal_status_set(PHIBAL_ERROR_IO, "%s: cannot write: %s", path, strerror(errno));
}

static phibal_status tensor_copy(const char *path, int fd, const safetensors_tensor *t,
                                 const safetensors_source *source) {
  const int64_t block = SAFETENSORS_BLOCK;
  void *buffer = malloc(SAFETENSORS_BLOCK);
  phibal_status status = buffer ? PHIBAL_OK : memory_error(path);
  for (int64_t at = 0; at < t->bytes && !status; at += block) {
    const int64_t n = t->bytes - at < block ? t->bytes - at : block;
    status = source->read(source->context, t, at, n, buffer);
    if (!status && !file_write_all(fd, buffer, (size_t)n)) status = write_error(path);
  }
  free(buffer);
  return status;
}

static phibal_status file_fill(const char *path, int fd, const char *header, size_t header_bytes,
                               const safetensors_tensor *tensors, int64_t count,
                               const safetensors_source *source) {
  unsigned char length[8];
  for (int i = 0; i < 8; i++) length[i] = (unsigned char)(header_bytes >> 8 * i);
  if (!file_write_all(fd, length, sizeof length) || !file_write_all(fd, header, header_bytes))
    return write_error(path);
  for (int64_t i = 0; i < count; i++) {
    const safetensors_tensor *t = &tensors[i];
    phibal_status status = PHIBAL_OK;
    if (!t->data && t->bytes)
      status = tensor_copy(path, fd, t, source);
    else if (!file_write_all(fd, t->data, (size_t)t->bytes))
      status = write_error(path);
    if (status) return status;
  }
  return file_sync(fd) ? PHIBAL_OK : write_error(path);
}

static phibal_status file_make(const char *path, const char *header, size_t header_bytes,
                               const safetensors_tensor *tensors, int64_t count,
                               const safetensors_source *source) {
  char *temporary;
  int fd;
  phibal_status status = file_create_temporary(path, &temporary, &fd);
  if (!status) status = file_fill(path, fd, header, header_bytes, tensors, count, source);
  if (fd >= 0) close(fd);
  if (!status) status = file_publish(temporary, path);
  if (status && temporary) unlink(temporary);
  free(temporary);
  return status;
}

phibal_status safetensors_write(const char *path, const safetensors_tensor *tensors, int64_t count,
                                const safetensors_entry *metadata, int64_t metadata_count) {
  return safetensors_write_from(path, tensors, count, metadata, metadata_count, NULL);
}

phibal_status safetensors_write_from(const char *path, const safetensors_tensor *tensors,
                                     int64_t count, const safetensors_entry *metadata,
                                     int64_t metadata_count, const safetensors_source *source) {
  safetensors_tensor *sorted = calloc((size_t)count + 1, sizeof *sorted);
  if (!sorted) return memory_error(path);
  if (count) memcpy(sorted, tensors, (size_t)count * sizeof *sorted);
  char *header = NULL;
  size_t header_bytes = 0;
  phibal_status status = tensors_arrange(path, sorted, count, source);
  if (!status)
    status = header_make(path, sorted, count, metadata, metadata_count, &header, &header_bytes);
  if (!status) {
    status = file_make(path, header, header_bytes, sorted, count, source);
    free(header);
  }
  free(sorted);
  return status;
}
