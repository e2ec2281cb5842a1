#include "checksum.h"
#include "file.h"
#include <zlib.h>

phibal_status file_checksum(const char *path, int64_t *bytes, uint32_t *crc32) {
  void *mapping;
  size_t n;
  phibal_status status = file_map(path, &mapping, &n);
  if (status) return status;
  *bytes = (int64_t)n;
  *crc32 = (uint32_t)crc32_z(0, mapping, n);
  file_unmap(mapping, n);
  return PHIBAL_OK;
}
