/* A token file as it is, and once more with its size and checksum made right, without which nothing
   but the checksum would be tested. */
#include "data/token_format.h"
#include "target.h"

static void contents_check(const token_file *f) {
  for (int64_t i = 0; i < f->tokens; i++) {
    int32_t token = token_file_at(f, i);
    FUZZ_REQUIRE(token >= 0 && token < f->vocabulary, "token %d", token);
    int64_t d = token_file_document(f, i);
    FUZZ_REQUIRE(d >= 0 && d < f->documents && f->table[d].start <= i &&
                     i - f->table[d].start < f->table[d].length,
                 "token %lld, document %lld", (long long)i, (long long)d);
    FUZZ_REQUIRE(f->table[d].domain >= 0 && f->table[d].domain < f->domains, "domain %d",
                 f->table[d].domain);
  }
  for (int32_t d = 0; d < f->domains; d++)
    FUZZ_REQUIRE(*f->domain_names[d] && strlen(f->domain_names[d]) <= TOKEN_FORMAT_MAX_NAME,
                 "domain %d", d);
  double nats;
  if (f->tokens >= 2 && !token_file_bigram_entropy(f, -1, &nats))
    FUZZ_REQUIRE(nats >= 0 && nats < 40, "%g nats", nats);
}

static void try(const void *bytes, size_t size) {
  token_file f;
  if (token_file_view(bytes, size, "input", &f))
    FUZZ_REQUIRE_MESSAGE();
  else
    contents_check(&f);
  token_file_close(&f);
}

static void repair(char *bytes, size_t size) {
  if (size % 8 || size < sizeof(token_header) + 8) return;
  token_header header;
  memcpy(&header, bytes, sizeof header);
  memcpy(header.magic, TOKEN_FORMAT_MAGIC, sizeof header.magic);
  header.version = TOKEN_FORMAT_VERSION;
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
