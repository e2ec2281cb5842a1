/* Token files of other programs, read from a path. The first byte's lowest bit: is there an index?
   Then its length, two bytes, the index, and what is left is NAME.bin. The other bits choose what
   ends a document. */
#include "token_contents.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 3) return 0;
  const int how = data[0];
  const size_t most = size - 3, wanted = how & 1 ? (size_t)(data[1] | data[2] << 8) : 0;
  const size_t index = wanted < most ? wanted : most;
  if (how & 1)
    fuzz_file("input.idx", data + 3, index);
  else
    fuzz_file_remove("input.idx");
  const char *path = fuzz_file("input.bin", data + 3 + index, most - index);
  token_file f;
  if (token_file_open_with(path, (how >> 1) - 1, &f))
    FUZZ_REQUIRE_MESSAGE();
  else
    token_contents_check(&f);
  token_file_close(&f);
  return 0;
}
