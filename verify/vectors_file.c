#include "vectors_file.h"
#include "formats/file.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *vectors_manifest_path(const char *path) {
  static const char *const endings[] = {".safetensors", ".npz"};
  size_t n = strlen(path);
  for (int i = 0; i < 2; i++)
    if (n > strlen(endings[i]) && string_ends_with(path, endings[i])) {
      n -= strlen(endings[i]);
      break;
    }
  char *to = NULL;
  return asprintf(&to, "%.*s.json", (int)n, path) < 0 ? NULL : to;
}

phibal_status vectors_digest(const char *path, uint64_t *digest) {
  FILE *f = fopen(path, "rb");
  if (!f) return phibal_status_set(PHIBAL_ERROR_IO, "%s: cannot be read", path);
  uint64_t hash = 0xcbf29ce484222325u;
  unsigned char buffer[1 << 16];
  for (size_t n; (n = fread(buffer, 1, sizeof buffer, f)) > 0;)
    for (size_t i = 0; i < n; i++) hash = (hash ^ buffer[i]) * 0x100000001b3u;
  bool failed = ferror(f) != 0;
  fclose(f);
  if (failed) return phibal_status_set(PHIBAL_ERROR_IO, "%s: cannot be read", path);
  *digest = hash;
  return PHIBAL_OK;
}

const safetensors_tensor *vectors_find(const safetensors_file *f, const char *prefix,
                                       const char *folder, const char *name) {
  char path[200];
  snprintf(path, sizeof path, "%s/%s/%s", prefix, folder, name);
  return safetensors_find(f, path);
}
