/* A token file as it is, and once more with its size and checksum made right, without which nothing
   but the checksum would be tested. */
#include "moe/data/token_file_internal.h"
#include "token_contents.h"

static void try(const void *bytes, size_t size) {
  token_file f;
  if (token_file_view(bytes, size, "input", &f))
    FUZZ_REQUIRE_MESSAGE();
  else
    token_contents_check(&f);
  token_file_close(&f);
}

static void repair(char *bytes, size_t size) {
  if (size % 8 || size < sizeof(token_header) + 8) return;
  token_header header;
  memcpy(&header, bytes, sizeof header);
  memcpy(header.magic, TOKEN_FORMAT_MAGIC, sizeof header.magic);
  if (header.version != TOKEN_FORMAT_VERSION_LEARNED) header.version = TOKEN_FORMAT_VERSION;
  header.file_bytes = (int64_t)size;
  memcpy(bytes, &header, sizeof header);
  int64_t words = (int64_t)(size - 8 - sizeof header) / 8;
  uint64_t sum = token_checksum(0, (const uint64_t *)(bytes + sizeof header), words);
  sum = token_checksum(sum, (const uint64_t *)bytes, (int64_t)sizeof header / 8);
  memcpy(bytes + size - 8, &sum, 8);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *bytes = fuzz_bytes(data, size);
  try(bytes, size);
  repair(bytes, size);
  try(bytes, size);
  free(bytes);
  return 0;
}
