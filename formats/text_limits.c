#include "text_limits.h"

static const struct {
  const char *what;
  size_t mebibytes;
} limits[] = {
#define ROW(kind, what, mebibytes) [TEXT_##kind] = {what, mebibytes},
    TEXT_LIMITS(ROW)
#undef ROW
};

phibal_status text_within(text_kind kind, const char *name, size_t bytes) {
  if (bytes <= limits[kind].mebibytes << 20) return PHIBAL_OK;
  return phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: %zu bytes; %s has at most %zu MiB", name,
                           bytes, limits[kind].what, limits[kind].mebibytes);
}

phibal_status text_line_within(const char *path, int64_t line, size_t bytes) {
  char name[4096];
  snprintf(name, sizeof name, "%s:%lld", path, (long long)line);
  return text_within(TEXT_JSON_LINE, name, bytes);
}

phibal_status file_read_text(const char *path, text_kind kind, text_buffer *buffer) {
  size_t bytes;
  phibal_status status = file_read_most(path, limits[kind].mebibytes << 20, buffer, &bytes);
  return status ? status : text_within(kind, path, bytes);
}

phibal_status file_read_json(const char *path, text_kind kind, size_t flags, json_t **json) {
  text_buffer text = {0};
  json_error_t error;
  *json = NULL;
  phibal_status status = file_read_text(path, kind, &text);
  if (!status && !(*json = json_loadb(text.bytes, text.count, flags, &error)))
    status = phibal_status_set(PHIBAL_ERROR_FORMAT, "%s:%d: %s", path, error.line, error.text);
  text_buffer_free(&text);
  return status;
}
