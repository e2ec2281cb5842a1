/* A file of recorded routes: as it is, and with its CRC-32 numbers made right. Whatever opens gives
   the experts that stand in it, or refuses; a run that goes on in it leaves whole steps. */
#include "moe/train/routes.h"
#include "target.h"
#include <zlib.h>

static const routes_shape shape = {
    .experts = 4, .active = 2, .layers = 2, .sequence = 3, .sequences = 2};
enum { HEADER = 64, RECORD = 8 + 2 * 2 * 2 * 3, HEAD = 8 };
static const int32_t tokens[3] = {5, 7, -1};

static uint32_t crc_of(const void *data, size_t bytes) {
  return (uint32_t)crc32_z(0, data, bytes);
}

static void try(const unsigned char *bytes, size_t size) {
  uint16_t experts[2 * 3 * 2];
  const char *path = fuzz_file("routes", bytes, size);
  routes_file f;
  if (routes_open(path, &shape, 0, 0, &f)) {
    FUZZ_REQUIRE_MESSAGE();
    FUZZ_REQUIRE(!f.open && !f.record, "left open");
  } else {
    FUZZ_REQUIRE((int64_t)size == HEADER + f.steps * 2 * RECORD, "%lld steps", (long long)f.steps);
    for (int64_t step = 0; step < f.steps; step++)
      for (int32_t place = 0; place < 2; place++)
        if (routes_read(&f, f.before + step, place, tokens, experts))
          FUZZ_REQUIRE_MESSAGE();
        else
          FUZZ_REQUIRE(
              !memcmp(experts, bytes + HEADER + (2 * step + place) * RECORD + HEAD, sizeof experts),
              "other experts");
  }
  routes_close(&f);
  if (routes_continue(path, &shape, 1, &f)) {
    FUZZ_REQUIRE_MESSAGE();
    return;
  }
  const int64_t kept = HEADER + (1 - f.before) * 2 * RECORD;
  routes_close(&f);
  text_buffer left = {0};
  FUZZ_REQUIRE(!file_read_all(path, &left), "cannot be read");
  FUZZ_REQUIRE((int64_t)left.count == kept && kept <= (int64_t)size &&
                   !memcmp(left.bytes, bytes, left.count),
               "%zu bytes are left", left.count);
  text_buffer_free(&left);
}

static void repair(unsigned char *bytes, size_t size) {
  if (size < HEADER) return;
  uint32_t crc = crc_of(bytes, HEADER - 4);
  memcpy(bytes + HEADER - 4, &crc, sizeof crc);
  for (size_t at = HEADER; at + RECORD <= size; at += RECORD) {
    crc = crc_of(bytes + at + HEAD, RECORD - HEAD);
    memcpy(bytes + at + 4, &crc, sizeof crc);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  unsigned char *bytes = fuzz_bytes(data, size);
  try(bytes, size);
  repair(bytes, size);
  try(bytes, size);
  free(bytes);
  return 0;
}
