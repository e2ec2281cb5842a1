#include "tensorboard.h"
#include "formats/file.h"
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* CRC-32C (Castagnoli), reflected. */
static uint32_t crc32c(const unsigned char *bytes, size_t n) {
  uint32_t crc = ~UINT32_C(0);
  for (size_t i = 0; i < n; i++) {
    crc ^= bytes[i];
    for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0x82f63b78) : 0);
  }
  return ~crc;
}

/* TFRecord masks its sums, since a sum over data that hold their own sum is worth little. */
static uint32_t masked(const void *bytes, size_t n) {
  const uint32_t crc = crc32c(bytes, n);
  return (crc >> 15 | crc << 17) + UINT32_C(0xa282ead8);
}

/* Protocol buffers: a field's key is its number and its kind. */
enum { KIND_VARINT = 0, KIND_64 = 1, KIND_BYTES = 2, KIND_32 = 5 };
enum { EVENT_TIME = 1, EVENT_STEP, EVENT_VERSION, EVENT_SUMMARY = 5 };
enum { SUMMARY_VALUE = 1, VALUE_TAG = 1, VALUE_SIMPLE = 2 };

static phibal_status put(text_buffer *to, const void *bytes, size_t n) {
  return text_buffer_append(to, bytes, n);
}

static phibal_status put_varint(text_buffer *to, uint64_t value) {
  unsigned char bytes[10];
  size_t n = 0;
  do {
    bytes[n] = (unsigned char)((value & 127) | (value > 127 ? 128 : 0));
    n++;
  } while (value >>= 7);
  return put(to, bytes, n);
}

static phibal_status put_field(text_buffer *to, unsigned field, unsigned kind) {
  return put_varint(to, field << 3 | kind);
}

static phibal_status put_bytes(text_buffer *to, unsigned field, const void *bytes, size_t n) {
  phibal_status status = put_field(to, field, KIND_BYTES);
  if (!status) status = put_varint(to, n);
  return status ? status : put(to, bytes, n);
}

static phibal_status put_value(text_buffer *summary, const char *tag, float number) {
  text_buffer value = {0};
  phibal_status status = put_bytes(&value, VALUE_TAG, tag, strlen(tag));
  if (!status) status = put_field(&value, VALUE_SIMPLE, KIND_32);
  if (!status) status = put(&value, &number, sizeof number);
  if (!status) status = put_bytes(summary, SUMMARY_VALUE, value.bytes, value.count);
  text_buffer_free(&value);
  return status;
}

/* Every number under `json`, its path behind `tag`. */
static phibal_status put_numbers(text_buffer *summary, const char *tag, const json_t *json) {
  if (json_is_number(json)) return put_value(summary, tag, (float)json_number_value(json));
  phibal_status status = PHIBAL_OK;
  void *member = json_object_iter((json_t *)json);
  for (; member && !status; member = json_object_iter_next((json_t *)json, member)) {
    char *below = string_format("%s/%s", tag, json_object_iter_key(member));
    status = below ? put_numbers(summary, below, json_object_iter_value(member))
                   : phibal_status_set(PHIBAL_ERROR_MEMORY, "TensorBoard's events: out of memory");
    free(below);
  }
  for (size_t i = 0; i < json_array_size(json) && !status; i++) {
    const json_t *item = json_array_get(json, i);
    if (!json_is_object(item)) continue;
    char *below = string_format("%s/%zu", tag, i);
    status = below ? put_numbers(summary, below, item)
                   : phibal_status_set(PHIBAL_ERROR_MEMORY, "TensorBoard's events: out of memory");
    free(below);
  }
  return status;
}

static phibal_status begin_event(text_buffer *event) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  const double seconds = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
  phibal_status status = put_field(event, EVENT_TIME, KIND_64);
  return status ? status : put(event, &seconds, sizeof seconds);
}

static phibal_status write_record(FILE *file, const text_buffer *event) {
  const uint64_t length = event->count;
  const uint32_t length_crc = masked(&length, sizeof length);
  const uint32_t crc = masked(event->bytes, event->count);
  fwrite(&length, sizeof length, 1, file);
  fwrite(&length_crc, sizeof length_crc, 1, file);
  fwrite(event->bytes, 1, event->count, file);
  fwrite(&crc, sizeof crc, 1, file);
  if (!fflush(file) && !ferror(file)) return PHIBAL_OK;
  return phibal_status_set(PHIBAL_ERROR_IO, "%s: cannot write: %s", TENSORBOARD_FILE,
                           strerror(errno));
}

phibal_status tensorboard_write(FILE *file, const json_t *line) {
  const char *type = json_string_value(json_object_get(line, "type"));
  json_t *numbers = json_copy((json_t *)line);
  json_object_del(numbers, "step");
  text_buffer summary = {0}, event = {0};
  const bool training = type && !strcmp(type, "step");
  phibal_status status = put_numbers(&summary, training ? "train" : "validation", numbers);
  if (!status) status = begin_event(&event);
  if (!status) status = put_field(&event, EVENT_STEP, KIND_VARINT);
  if (!status)
    status = put_varint(&event, (uint64_t)json_integer_value(json_object_get(line, "step")));
  if (!status) status = put_bytes(&event, EVENT_SUMMARY, summary.bytes, summary.count);
  if (!status) status = write_record(file, &event);
  text_buffer_free(&summary);
  text_buffer_free(&event);
  json_decref(numbers);
  return status;
}

phibal_status tensorboard_create(const char *folder, const json_t *lines, FILE **file) {
  static const char version[] = "brain.Event:2";
  char *path = string_format("%s/%s", folder, TENSORBOARD_FILE);
  *file = path ? fopen(path, "wb") : NULL;
  phibal_status status = PHIBAL_OK;
  if (!*file)
    status = phibal_status_set(PHIBAL_ERROR_IO, "%s/%s: cannot write: %s", folder, TENSORBOARD_FILE,
                               strerror(errno));
  free(path);
  text_buffer event = {0};
  if (!status) status = begin_event(&event);
  if (!status) status = put_bytes(&event, EVENT_VERSION, version, strlen(version));
  if (!status) status = write_record(*file, &event);
  text_buffer_free(&event);
  for (size_t i = 0; i < json_array_size(lines) && !status; i++)
    status = tensorboard_write(*file, json_array_get(lines, i));
  if (status && *file) {
    fclose(*file);
    *file = NULL;
  }
  return status;
}
